//! One rank's membership of a job: what it is told, and what it has of it. Joining and leaving are in `joining`.

use std::alloc::Layout;
use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Instant;

use rwmpi_protocol::Rule;
use rwmpi_transport::port::Port;
use rwmpi_transport::spawning::{Command, ToldOfParents};
use rwmpi_transport::{BigLocks, JobError, PublishedName, Starter};

use crate::communicator::Communicator;
use crate::error::{Error, ErrorClass};
use crate::event::Observer;
use crate::profile::Recorder;
use crate::tuning::Tuning;
use crate::{Buffer, Pod, Result};

/// How messages travel (MPI/MBCF thesis, chapter 3 and section 4.1).
#[doc = example!(1
    "use rwmpi::Protocol;"
    "let ranks = rwmpi::run_threads(2, Protocol::Nsr, |universe| universe.protocol())?;"
    "assert_eq!(ranks, [Protocol::Nsr; 2]);"
    "assert_eq!((Protocol::Nsr.name(), Protocol::VARIABLE), (\"nsr\", \"RWMPI_PROTOCOL\"));"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Receivers send requests, senders answer them by remote write, as the thesis has it.
    Sr,
    /// No requests: every message goes through the FIFO.
    Nsr,
    /// Whichever way pays, message by message.
    Auto,
}

impl Protocol {
    /// The environment variable that chooses it for a job.
    pub const VARIABLE: &'static str = rwmpi_transport::settings::PROTOCOL;

    /// Its name: `sr`, `nsr` or `auto`.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Sr => "sr",
            Protocol::Nsr => "nsr",
            Protocol::Auto => "auto",
        }
    }

    /// What an engine makes of it.
    pub(crate) fn rule(self) -> Rule {
        match self {
            Protocol::Sr => Rule::Sr,
            Protocol::Nsr => Rule::Nsr,
            Protocol::Auto => Rule::Auto { claims: true },
        }
    }

    pub(crate) fn of_job() -> Result<Protocol> {
        match std::env::var(Protocol::VARIABLE) {
            Ok(name) => name.parse(),
            Err(_) => Ok(Protocol::Auto),
        }
    }
}

impl FromStr for Protocol {
    type Err = Error;

    fn from_str(name: &str) -> Result<Protocol> {
        [Protocol::Sr, Protocol::Nsr, Protocol::Auto].into_iter().find(|protocol| protocol.name() == name).ok_or_else(
            || Error::new(ErrorClass::Other, format!("there is no protocol {name:?}: choose sr, nsr or auto")),
        )
    }
}

/// What this rank has sent so far, and by which way.
#[doc = example!(2
    "world.sendrecv(&[1.5], 1 - rank, 0, &mut [0.0], 1 - rank, 0)?;"
    "let rwmpi::TrafficCounters { messages, bytes, .. } = universe.traffic();"
    "assert!(messages >= 1 && bytes >= 8);"
    "assert_eq!(universe.traffic_by_peer()[rank], (0, 0));"
    "assert_eq!(universe.unexpected(), (0, 0));"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounters {
    /// Messages sent, collectives' messages included.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Messages of these that were remote-written into the receiver's buffer.
    pub remote_write_messages: u64,
    /// Bytes in them.
    pub remote_write_bytes: u64,
    /// Messages of at least 8 KiB.
    pub large_messages: u64,
    /// Bytes in them.
    pub large_bytes: u64,
    /// Bytes of them that moved by a single copy (remote-written by the sender, fetched by the receiver, or sent to
    /// this rank itself and copied from buffer to buffer).
    pub large_single_copy_bytes: u64,
    /// Requests for send posted by this rank as a receiver.
    pub requests_posted: u64,
    /// Of these, posted again.
    pub requests_reposted: u64,
    /// Requests that this rank as a sender answered by remote write.
    pub requests_used: u64,
    /// Requests found stale: a message had overtaken them.
    pub requests_stale: u64,
    /// Requests ignored because an earlier one was missing (SR).
    pub requests_skipped: u64,
    /// Requests that did not match and were discarded (SR), were declined, or did not fit into the queue.
    pub requests_dropped: u64,
}

/// How the threads of a process may take part in communication.
///
/// The typed API enforces it by types: a rank's values stay with its thread. Several threads communicate as several
/// ranks, each a thread (`mpiexec --threads`, [`crate::run`]); the levels for that are those that the McMPI thesis
/// proposes (section 2.2.3).
#[doc = example!(1
    "// Here ranks are threads among others of the program."
    "assert_eq!(universe.thread_level(), rwmpi::ThreadLevel::Filtered);"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadLevel {
    /// The process is one rank, and only the thread that joined the job communicates (MPI_THREAD_FUNNELED).
    Funneled,
    /// The process is several ranks, and all its threads are ranks (MPI_THREAD_AS_RANK).
    AsRank,
    /// The process is several ranks, each a thread, beside which it may have others that do not communicate
    /// (MPI_THREAD_FILTERED).
    Filtered,
}

/// This process's membership of the job, which ends with [`Universe::finalize`] on all ranks. A rank that drops it
/// instead has given up: where others still take part, that ends the job with an error.
#[doc = example!(2
    "// A program's own comes from `rwmpi::init` or `rwmpi::run`."
    "let (world, alone) = (universe.world(), universe.this_rank());"
    "assert_eq!((world.size(), alone.size()), (2, 1));"
    "let mut shared = universe.alloc::<f64>(100);"
    "world.bcast(&mut shared, 0)?;"
)]
pub struct Universe {
    pub(crate) world: Communicator,
    pub(crate) this_rank: Communicator,
    /// This rank alone, in each of its other lanes.
    pub(crate) other_lanes: Vec<Communicator>,
    pub(crate) protocol: Protocol,
    pub(crate) thread_level: ThreadLevel,
    pub(crate) starter: RefCell<Starter>,
    /// The ports that this process has opened, and the names that it has published.
    pub(crate) ports: RefCell<Vec<Port>>,
    pub(crate) published: RefCell<Vec<PublishedName>>,
    /// Those who have spawned this rank's job, if anybody has.
    pub(crate) parents: Option<Communicator>,
}

impl Universe {
    /// Which of the programs of its job this rank runs, if its launcher says so (MPI_APPNUM).
    #[doc(hidden)]
    pub fn program_number(&self) -> Option<i32> {
        let said = std::env::var(rwmpi_transport::PROGRAM_NUMBER).ok().filter(|_| self.has_launcher())?;
        said.parse().ok()
    }

    /// For how many ranks there is room (MPI_UNIVERSE_SIZE), as its launcher says; else as many as this machine has
    /// processors, or the job has ranks.
    #[doc(hidden)]
    pub fn universe_size(&self) -> usize {
        let said = std::env::var(rwmpi_transport::UNIVERSE_SIZE).ok().filter(|_| self.has_launcher());
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        said.and_then(|said| said.parse().ok()).unwrap_or_else(|| self.world().size().max(processors()))
    }

    /// Those who have spawned this rank's job, as they see it: an intercommunicator (MPI_Comm_get_parent).
    #[doc(alias = "MPI_Comm_get_parent")]
    #[doc = example!(1
        "assert!(universe.parents().is_none());"
    )]
    pub fn parents(&self) -> Option<&Communicator> {
        self.parents.as_ref()
    }

    /// Has the launcher start further ranks, which are told of their parents; whether as those who may be elsewhere.
    pub(crate) fn start_more(
        &self,
        commands: &[Command],
        parents: &ToldOfParents,
    ) -> std::result::Result<bool, String> {
        self.starter.borrow_mut().start_more(commands, parents)
    }

    /// Whether the launcher has ended that this rank has started to spawn others; then those do not come.
    pub(crate) fn has_launcher_ended(&self) -> bool {
        self.starter.borrow().has_ended()
    }

    /// Whether it is a launcher of others.
    pub(crate) fn has_launcher_of_others(&self) -> bool {
        self.starter.borrow().is_of_others()
    }

    /// Whether a launcher watches over the job, and says why it ended.
    #[doc = example!(1
        "assert!(!universe.has_launcher());"
    )]
    pub fn has_launcher(&self) -> bool {
        self.starter.try_borrow().is_ok_and(|starter| starter.watches())
    }

    /// How many lanes it has: ends of the fabric for threads that use different communicators.
    #[doc(hidden)]
    pub fn lanes(&self) -> usize {
        1 + self.other_lanes.len()
    }

    /// This rank alone, or, in the first lane, with all others, for whatever is about a lane and no other communicator.
    ///
    /// # Panics
    /// If there is no such lane.
    #[doc(hidden)]
    pub fn in_lane(&self, lane: usize) -> &Communicator {
        if lane == 0 { &self.world } else { &self.other_lanes[lane - 1] }
    }

    /// From now on several threads act as this rank, each while it has the lock, as the present one does now: whatever
    /// belongs to a lane of the rank is only for whoever has its lock, and the rest for who has all. Calls that wait
    /// give them up meanwhile. For front ends with MPI_THREAD_MULTIPLE.
    ///
    /// # Errors
    /// If the system has no descriptor left to wake threads by.
    #[doc(hidden)]
    pub fn share(&self, locks: &'static BigLocks) -> Result<()> {
        let refused = |error| Error::new(ErrorClass::Other, format!("can't have several threads communicate: {error}"));
        for lane in 0..self.lanes() {
            let _lock = locks.of(lane).take();
            self.in_lane(lane).process().share(locks, lane).map_err(refused)?;
        }
        locks.divide(self.lanes());
        Ok(())
    }

    /// Has `namer` name the function in which this rank is, when the launcher asks. For front ends.
    #[doc(hidden)]
    pub fn name_calls(&self, namer: fn() -> Option<String>) {
        (0..self.lanes()).for_each(|lane| self.in_lane(lane).process().answers.set_namer(namer));
    }

    /// All ranks of the job.
    pub fn world(&self) -> &Communicator {
        &self.world
    }

    /// This rank alone.
    pub fn this_rank(&self) -> &Communicator {
        &self.this_rank
    }

    /// The protocol of the job.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How the threads of this process may take part.
    pub fn thread_level(&self) -> ThreadLevel {
        self.thread_level
    }

    /// What was sent so far.
    pub fn traffic(&self) -> TrafficCounters {
        let mut sum = TrafficCounters::default();
        for lane in 0..self.lanes() {
            let mut engine = self.in_lane(lane).process().engine();
            let (traffic, counters) = (engine.traffic(), engine.counters());
            for (messages, bytes) in engine.traffic_by_peer() {
                sum.messages += messages;
                sum.bytes += bytes;
            }
            sum.remote_write_messages += traffic.remote_write_messages;
            sum.remote_write_bytes += traffic.remote_write_bytes;
            sum.large_messages += traffic.large_messages;
            sum.large_bytes += traffic.large_bytes;
            sum.large_single_copy_bytes += traffic.large_single_copy_bytes;
            sum.requests_posted += counters.posted;
            sum.requests_reposted += counters.reposted;
            sum.requests_used += counters.used;
            sum.requests_stale += counters.stale;
            sum.requests_skipped += counters.skipped;
            sum.requests_dropped += counters.dropped;
        }
        sum
    }

    /// Per world rank: messages and bytes that this rank sent to it.
    pub fn traffic_by_peer(&self) -> Vec<(u64, u64)> {
        let mut sums = self.world.process().engine().traffic_by_peer();
        for lane in 1..self.lanes() {
            let of_lane = self.in_lane(lane).process().engine().traffic_by_peer();
            sums.iter_mut().zip(of_lane).for_each(|(sum, sent)| *sum = (sum.0 + sent.0, sum.1 + sent.1));
        }
        sums
    }

    /// Unexpected messages that wait for their receives now, and the memory that they take, bytes.
    pub fn unexpected(&self) -> (u64, u64) {
        let of_lane = |lane| self.in_lane(lane).process().engine().unexpected();
        (0..self.lanes()).map(of_lane).fold((0, 0), |sum, held| (sum.0 + held.0, sum.1 + held.1))
    }

    /// Has `observer` told about what happens to messages of this rank, from now on; `None`: nobody. It is called
    /// within calls of this library, and must make none itself.
    #[doc(hidden)]
    pub fn observe(&self, observer: Option<Observer>) {
        (0..self.lanes()).for_each(|lane| self.in_lane(lane).process().engine().observe(observer));
    }

    /// Who takes notes of this rank, if somebody wants them.
    #[doc(hidden)]
    pub fn recorder(&self) -> Option<Rc<Recorder>> {
        self.world.process().recorder().cloned()
    }

    /// The values by which this job chooses its ways.
    #[doc(hidden)]
    pub fn tuning(&self) -> &Tuning {
        self.world.process().tuning()
    }

    /// Memory that every rank of the node can write into directly: `len` zeroed elements. Falls back to ordinary memory
    /// if the shared heap is exhausted. Messages received into or sent from it need no system call.
    #[doc = example!(1
        "let mut field: rwmpi::Buffer<f64> = universe.alloc(1000);"
        "field[1..].fill(0.5);"
        "assert_eq!((field.len(), field[0], field[999]), (1000, 0.0, 0.5));"
        "println!(\"neighbours on this node write straight into it: {}\", field.is_shared());"
    )]
    pub fn alloc<T: Pod>(&self, len: usize) -> Buffer<T> {
        Buffer::new(self.world.process().engine().heap(), len)
    }

    /// `bytes` bytes of such memory, with arbitrary contents, to be given back by [`Universe::free`]; `None` if the
    /// shared heap is exhausted.
    #[doc = example!(1
        "let block = universe.allocate(1 << 20).expect(\"there is room\");"
        "assert!(universe.free(block));"
        "assert!(!universe.free(Box::leak(Box::new(0_u8)).into()));"
    )]
    pub fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        let block = Layout::from_size_align(bytes, 64).ok()?;
        self.world.process().engine().heap().allocate(block)
    }

    /// Takes memory from [`Universe::allocate`] back; false if it is not such.
    pub fn free(&self, block: NonNull<u8>) -> bool {
        self.world.process().engine().heap().free(block)
    }

    /// Ends the job of a rank that is on its way out, for that reason.
    pub(crate) fn end_with(&self, reason: &str) {
        self.world.process().end_job(1, reason);
    }

    /// Ends the whole job now with exit code `code` (MPI_Abort).
    ///
    /// ```no_run
    /// # fn main() -> rwmpi_core::Result<()> {
    /// let universe = rwmpi_core::init()?;
    /// if universe.world().size() < 2 {
    ///     universe.abort(2, "this takes two ranks at least");
    /// }
    /// universe.finalize()
    /// # }
    /// ```
    #[doc(alias = "MPI_Abort")]
    pub fn abort(&self, code: i32, reason: &str) -> ! {
        self.end_job(code, reason);
        std::process::exit(code)
    }

    /// Has the whole job end, without this process. A signal handler may do so in the middle of another call.
    #[doc(hidden)]
    pub fn end_job(&self, code: i32, reason: &str) {
        // Before the others know: whoever sees them end because of it shall know why.
        if let Ok(mut starter) = self.starter.try_borrow_mut() {
            starter.abort(code, reason);
        }
        self.world.process().end_job(code, reason);
    }
}

pub(crate) fn refused(error: JobError) -> Error {
    Error::new(ErrorClass::Other, format!("can't join the job: {error}"))
}

/// Seconds since some fixed moment, from a clock that never goes back (MPI_Wtime).
#[doc = example!(1
    "let start = rwmpi::wtime();"
    "world.barrier()?;"
    "println!(\"the barrier took {:.9} s\", rwmpi::wtime() - start);"
)]
#[doc(alias = "MPI_Wtime")]
pub fn wtime() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
