//! Joining and leaving a job.

use std::cell::RefCell;
use std::rc::Rc;

use rwmpi_collective::{Team, barrier};
use rwmpi_rank::Lanes;
use rwmpi_transport::{JobFabric, Membership, NodeFabric, settings};

use crate::Result;
use crate::activity::{Call, Target};
use crate::communicator::{Communicator, LEAVING, THIS_RANK, WORLD};
use crate::error::{Error, ErrorClass};
use crate::group::Group;
use crate::process::Process;
use crate::profile::Recorder;
use crate::profile::recorded::WAYS;
use crate::tuning::Tuning;
use crate::universe::{Protocol, ThreadLevel, TrafficCounters, Universe, refused};

impl Universe {
    /// A member of the job that `fabric` belongs to.
    pub(crate) fn new(fabric: JobFabric, protocol: Protocol, tuning: &Tuning, thread_level: ThreadLevel) -> Universe {
        Universe::noting(fabric, (protocol, tuning), thread_level, None)
    }

    /// The same, and it may take notes.
    fn noting(
        fabric: JobFabric,
        (protocol, tuning): (Protocol, &Tuning),
        thread_level: ThreadLevel,
        recorder: Option<Rc<Recorder>>,
    ) -> Universe {
        let lanes = Rc::new(Lanes::checked(is_checked_job()));
        let process = Rc::new(Process::new(fabric, protocol.rule(), tuning, (lanes, 0), recorder));
        let (me, peers) = process.me_and_peers();
        drop(process.enter(Call::Init, Target::NONE, 0, 0));
        Universe {
            world: Communicator::new(process.clone(), Group::new((0..peers).collect(), Some(me)), WORLD),
            this_rank: Communicator::new(process, Group::new(vec![me], Some(me)), THIS_RANK),
            other_lanes: Vec::new(),
            protocol,
            thread_level,
            starter: RefCell::default(),
            ports: RefCell::default(),
            published: RefCell::default(),
            parents: None,
        }
    }

    /// A member that has taken its place; `with_lanes` if its threads can use several lanes. They have them if all
    /// members can.
    pub(crate) fn of_member(
        Membership { fabric, lanes, starter, parents, records }: Membership,
        (protocol, tuning): (Protocol, &Tuning),
        thread_level: ThreadLevel,
        with_lanes: bool,
    ) -> Result<Universe> {
        let (activity, peers) = (fabric.activity(), fabric.peers());
        let recorder = records.map(|records| Rc::new(Recorder::new(records, activity, peers, with_lanes)));
        let mut universe = Universe::noting(fabric, (protocol, tuning), thread_level, recorder);
        *universe.starter.borrow_mut() = starter;
        if !lanes.is_empty() && universe.world.allreduce_value(with_lanes, |one, other| *one && *other)? {
            universe.add_lanes(lanes);
        }
        if let Some(parents) = parents {
            universe.parents = Some(universe.meet_parents(&parents)?);
        }
        Ok(universe)
    }

    /// Gives the rank further lanes, as all others do. No communicator has been made yet.
    pub(crate) fn add_lanes(&mut self, fabrics: Vec<NodeFabric>) {
        let alone = |process| Communicator::new(process, self.this_rank.group().detached(), THIS_RANK);
        let lanes = Lanes::add(self.world.process(), fabrics, self.protocol.rule());
        self.other_lanes = lanes.into_iter().map(alone).collect();
    }

    /// Waits until all ranks have arrived here, and leaves the job. What was sent arrives. Before anything else, the
    /// attributes of [`Universe::this_rank`] are deleted, the last first, so that libraries learn of the end (MPI-5.0
    /// section 11.2.4).
    pub fn finalize(self) -> Result<()> {
        self.name_what_rust_leaves()?;
        self.delete_attributes()?;
        let process = self.world.process();
        if !process.begin_finalize() {
            return Ok(());
        }
        // Others may wait for this rank: they learn that it will not come.
        let left = process.leave_joined().map_err(self.world.failed(Call::Finalize));
        left.and_then(|()| self.leave_together()).inspect_err(|_| process.engine().leave())?;
        self.starter.borrow_mut().finish();
        Ok(())
    }

    fn leave_together(&self) -> Result<()> {
        let (world, process) = (&self.world, self.world.process());
        for lane in 0..self.lanes() {
            self.in_lane(lane).process().tell(Call::Finalize, Target::NONE, 0, 0);
        }
        self.complete_all(true)?;
        process.engine().begin_to_leave();
        if process.keeps_going() {
            process.leave_with_living().map_err(world.failed(Call::Finalize))?;
        } else {
            let team = Team::new(process, (world.group().peers(), world.rank()), [LEAVING, 0], true, (None, None));
            process.block_on(|| barrier::tree(team)).map_err(world.failed(Call::Finalize))?;
        }
        self.flush(process)?;
        if let Some(recorder) = process.recorder() {
            recorder.finish(ways(&self.traffic()));
        }
        process.engine().finish();
        Ok(())
    }

    fn delete_attributes(&self) -> Result<()> {
        self.this_rank.attributes().delete_all(&self.this_rank)
    }

    /// Returns once everything that this rank has sent has left it, and, with `abandoned`, all that goes on by itself
    /// has ended.
    fn complete_all(&self, abandoned: bool) -> Result<()> {
        for process in (0..self.lanes()).map(|lane| self.in_lane(lane).process()) {
            process.collect_detached().map_err(self.world.failed(Call::Finalize))?;
            if abandoned {
                process.wait_for_abandoned().map_err(self.world.failed(Call::Finalize))?;
            }
            self.flush(process)?;
        }
        Ok(())
    }

    fn flush(&self, process: &Process) -> Result<()> {
        process.flush().map_err(self.world.failed(Call::Finalize))
    }

    /// Gives up: leaves without waiting for the others, who have, or get, what was sent to them.
    fn give_up(&self) {
        if self.world.process().begin_finalize() {
            // There is nobody left to tell; `finalize` tells.
            let _ = self.delete_attributes().and_then(|()| self.complete_all(false));
            self.world.process().leave_joined_alone();
            self.world.process().engine().leave();
        }
    }
}

impl Drop for Universe {
    fn drop(&mut self) {
        // A rank that panics has not come to its end: its job must not believe it.
        if !std::thread::panicking() {
            self.give_up();
        }
    }
}

/// Joins the job that the launcher started this process in (MPI_Init); started by hand, the process is a job of one
/// rank.
///
/// ```no_run
/// # extern crate rwmpi_core as rwmpi;
/// fn main() -> rwmpi::Result<()> {
///     let (universe, start) = (rwmpi::init()?, rwmpi::wtime());
///     let world = universe.world();
///     if world.size() < 2 {
///         universe.abort(2, "this takes two ranks at least");
///     }
///     println!("rank {} has taken {:.3} s", world.rank(), rwmpi::wtime() - start);
///     universe.finalize()
/// }
/// ```
///
/// # Errors
/// If the job can't be joined: the text says why. A process joins the job of a launcher once, even if it has left it
/// since.
#[doc(alias = "MPI_Init")]
pub fn init() -> Result<Universe> {
    init_member(false)
}

/// As [`init`], for front ends whose threads can use several lanes, if the job has them.
///
/// # Errors
/// As for [`init`].
#[doc(hidden)]
pub fn init_with_lanes() -> Result<Universe> {
    init_member(true)
}

fn init_member(with_lanes: bool) -> Result<Universe> {
    let (protocol, tuning) = (Protocol::of_job()?, tuning_of_job()?);
    let membership = Membership::from_environment().map_err(refused)?;
    Universe::of_member(membership, (protocol, &tuning), ThreadLevel::Funneled, with_lanes)
}

/// The values of the job that this process belongs to.
pub(crate) fn tuning_of_job() -> Result<Tuning> {
    Tuning::of_job().map_err(|what| Error::new(ErrorClass::Other, what))
}

/// Whether ranks of the job that this process belongs to are to be checked.
fn is_checked_job() -> bool {
    std::env::var_os(settings::CHECK).is_some_and(|value| value == "on")
}

/// For a profile, in the order of its [`WAYS`].
fn ways(traffic: &TrafficCounters) -> [u64; WAYS.len()] {
    [
        traffic.messages,
        traffic.bytes,
        traffic.remote_write_messages,
        traffic.remote_write_bytes,
        traffic.large_messages,
        traffic.large_bytes,
        traffic.large_single_copy_bytes,
        traffic.requests_posted,
        traffic.requests_reposted,
        traffic.requests_used,
        traffic.requests_stale,
        traffic.requests_skipped,
        traffic.requests_dropped,
    ]
}
