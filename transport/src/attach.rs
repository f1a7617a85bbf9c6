//! Attaching: how a peer takes its place in a job, meets the others, and finds out how to reach them.
//!
//! Two meetings of all peers. Before the first, each fills in its control block. Between the two, each tries a real
//! transfer to and from the private memory of every other; so after the second, all know every way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{PTracer, Pid};

use crate::address_space::address_space;
use crate::ancestors::is_ancestor;
use crate::job::{Job, JobShape, is_aborted};
use crate::job_error::JobError;
use crate::node::NodeFabric;
use crate::remote_memory::{self, ProbeWords, Reach};
use crate::{primitive, settings, slice, wait};

/// Why others must not go on waiting.
const OTHERS_GONE: &str = "a job has ended before all of its ranks had come to the meeting with another job";
/// How often a peer that waits for the others looks whether the job was aborted.
const ABORT_CHECK: Duration = Duration::from_millis(100);

impl NodeFabric {
    /// Attaches to `job` as peer `me`. Returns when all peers have attached and know how they reach each other.
    ///
    /// # Errors
    /// If there is no such place, or somebody else has taken it, or the job is aborted meanwhile.
    pub fn attach(job: &Job, me: usize) -> Result<NodeFabric, JobError> {
        NodeFabric::attach_while(job, me, &|| true)
    }

    /// The same, as long as whoever else is to come is `expected`.
    ///
    /// # Errors
    /// As for [`NodeFabric::attach`], or if they are no longer. Then the job is aborted, for whoever waits there, too.
    pub(crate) fn attach_while(job: &Job, me: usize, expected: &dyn Fn() -> bool) -> Result<NodeFabric, JobError> {
        let joined = Joined::meet(job, me, expected)?;
        Ok(joined.into_lanes().next().expect("every job has a lane"))
    }

    /// The same in all lanes of the job: one fabric for each.
    ///
    /// # Errors
    /// As for [`NodeFabric::attach`].
    pub fn attach_lanes(job: &Job, me: usize) -> Result<Vec<NodeFabric>, JobError> {
        Ok(Joined::meet(job, me, &|| true)?.into_lanes().collect())
    }

    /// A job of its own within this process: one fabric for each of `peers` threads.
    ///
    /// # Errors
    /// As for [`Job::create`].
    pub fn threads(peers: usize) -> Result<Vec<NodeFabric>, JobError> {
        Ok(Self::threads_with_lanes(peers, 1)?.into_iter().flatten().collect())
    }

    /// The same with so many lanes: for each thread, its fabric in each lane.
    ///
    /// # Errors
    /// As for [`Job::create`].
    pub fn threads_with_lanes(peers: usize, lanes: usize) -> Result<Vec<Vec<NodeFabric>>, JobError> {
        NodeFabric::threads_of(&Job::create_shaped(&JobShape { lanes, ..JobShape::of(peers) }, None)?)
    }

    /// The fabrics of all peers of a job, in each lane, for threads of this process.
    ///
    /// # Errors
    /// If somebody has taken a place of the job.
    pub fn threads_of(job: &Job) -> Result<Vec<Vec<NodeFabric>>, JobError> {
        let joined: Vec<Joined> = (0..job.peers()).map(|me| Joined::new(job, me)).collect::<Result<_, _>>()?;
        joined.iter().for_each(Joined::probe);
        Ok(joined.into_iter().map(|peer| peer.into_lanes().collect()).collect())
    }
}

/// A peer that has taken its place but does not know the others yet.
struct Joined {
    me: usize,
    job: Job,
    probe_words: ProbeWords,
}

/// Who may copy from this process under Yama's restricted mode. Its peers are its siblings, and the kernel accepts one
/// process, with all that descend from it, or everybody: the launcher if this process descends from it, else everybody.
fn tracer(creator: u32) -> PTracer {
    Pid::from_raw(creator as i32).filter(|_| is_ancestor(creator)).map_or(PTracer::Any, PTracer::ProcessID)
}

impl Joined {
    /// Takes the place of `me`. Returns when all peers have attached and have probed.
    fn meet(job: &Job, me: usize, expected: &dyn Fn() -> bool) -> Result<Joined, JobError> {
        let joined = Joined::new(job, me)?;
        await_all(job, &job.segment.header().attached, expected)?;
        joined.probe();
        await_all(job, &job.segment.header().probed, expected)?;
        Ok(joined)
    }

    /// The fabrics of this peer, by lane. Only when all have probed.
    fn into_lanes(self) -> impl Iterator<Item = NodeFabric> {
        let probe_words = Arc::new(self.probe_words);
        (0..self.job.lanes()).map(move |lane| NodeFabric::new(self.me, lane, &self.job, probe_words.clone()))
    }

    /// Fills in the control blocks, one in each lane, and counts itself in.
    fn new(job: &Job, me: usize) -> Result<Joined, JobError> {
        let (segment, peers) = (&job.segment, job.peers());
        if me >= peers {
            return Err(JobError::NoSuchPeer { me, peers });
        }
        slice::ask_for_shortest();
        if kernel_copy_allowed() {
            // Elsewhere it is unknown and refused, which is as good.
            let _ = rustix::process::set_ptracer(tracer(segment.header().creator.load(Ordering::Relaxed)));
        }
        let probe_words = ProbeWords::new(peers, me);
        let identity = &segment.control(me).identity;
        if identity.pid.compare_exchange(0, std::process::id(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Err(JobError::Twice(me));
        }
        identity.address_space.store(address_space(), Ordering::Relaxed);
        identity.probe_address.store(probe_words.address(), Ordering::Relaxed);
        for (word, bits) in identity.affinity.iter().zip(wait::affinity()) {
            word.store(bits, Ordering::Relaxed);
        }
        if !wait::register_for_barriers() {
            segment.header().fences_needed.store(1, Ordering::Release);
        }
        for lane in 0..job.lanes() {
            let identity = &segment.control(job.end(lane, me)).identity;
            identity.pid.store(std::process::id(), Ordering::Relaxed);
            identity.attached.store(1, Ordering::Release);
        }
        count_in(&segment.header().attached, peers);
        Ok(Joined { me, job: job.clone(), probe_words })
    }

    /// Finds out how to reach each peer's memory: it is the same in all lanes, and kept where the first has its control
    /// blocks. Only when all have joined.
    fn probe(&self) {
        let segment = &self.job.segment;
        let identity = |peer: usize| &segment.control(peer).identity;
        let allowed = kernel_copy_allowed();
        let own_space = identity(self.me).address_space.load(Ordering::Relaxed);
        for peer in 0..self.job.peers() {
            let reach = if identity(peer).address_space.load(Ordering::Relaxed) == own_space {
                Reach::SameProcess
            } else {
                let pid = identity(peer).pid.load(Ordering::Relaxed);
                let address = identity(peer).probe_address.load(Ordering::Relaxed);
                let works = allowed && remote_memory::probe(self.me, peer, pid, address);
                if works { Reach::Kernel } else { Reach::None }
            };
            segment.reach(self.me, peer).store(reach as u8, Ordering::Relaxed);
        }
        count_in(&segment.header().probed, self.job.peers());
    }
}

impl Job {
    /// Whether this process has been started by the one that has the place of `peer`: then it has inherited that one's
    /// variables, and is none of the job.
    ///
    /// # Errors
    /// If somebody else has the place.
    pub(crate) fn is_of_descendants(&self, peer: usize) -> Result<bool, JobError> {
        if peer >= self.peers() {
            return Err(JobError::NoSuchPeer { me: peer, peers: self.peers() });
        }
        let identity = &self.segment.control(peer).identity;
        let (holder, mine) = (identity.pid.load(Ordering::Acquire), address_space());
        if holder == 0 {
            return Ok(false);
        }
        let theirs = identity.address_space.load(Ordering::Relaxed);
        if theirs == mine {
            // It has become another program since.
            return Err(JobError::Joined);
        }
        if theirs >> 32 == mine >> 32 && is_ancestor(holder) { Ok(true) } else { Err(JobError::Twice(peer)) }
    }
}

fn kernel_copy_allowed() -> bool {
    std::env::var_os(settings::KERNEL_COPY).is_none_or(|value| value != "off")
}

/// Counts the caller in, and wakes the others if it is the last.
fn count_in(counter: &AtomicU32, peers: usize) {
    if counter.fetch_add(1, Ordering::AcqRel) + 1 == peers as u32 {
        primitive::futex_wake(counter);
    }
}

/// Waits until all peers have counted themselves in, or those that have not are no longer expected.
fn await_all(job: &Job, counter: &AtomicU32, expected: &dyn Fn() -> bool) -> Result<(), JobError> {
    let mut is_hopeless = false;
    loop {
        let count = counter.load(Ordering::Acquire);
        if count >= job.peers() as u32 {
            return Ok(());
        }
        if is_aborted(&job.segment) {
            return Err(JobError::Aborted);
        }
        if is_hopeless {
            job.set_aborted(1, OTHERS_GONE);
            return Err(JobError::OthersGone);
        }
        primitive::futex_wait(counter, count, ABORT_CHECK);
        // Who has counted himself in as the last one may go at once: so the counter is looked at after this.
        is_hopeless = !expected();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ancestor_is_named_to_the_kernel() {
        let parent = std::os::unix::process::parent_id();
        assert!(matches!(tracer(parent), PTracer::ProcessID(pid) if pid.as_raw_nonzero().get() as u32 == parent));
        // Not one's own ancestor; nobody.
        assert!(matches!(tracer(std::process::id()), PTracer::Any));
        assert!(matches!(tracer(0), PTracer::Any));
    }
}
