//! The rank that this process is: what belongs to it, and the objects that its handles stand for.
//!
//! There is one in a process, and this is the only place where it is reached ([`rank`]). Its objects are for one thread
//! at a time: the one that has the lock ([`crate::big_lock`]).
#![allow(unsafe_code)]

mod blame;
mod communicators;
mod datatypes;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use rwmpi_core::datatype::Datatype;
use rwmpi_core::reduction::Operation;
use rwmpi_core::untyped::{Endpoint, Generalized, Partitioned};
use rwmpi_core::{BigLock, Communicator, Error, ErrorClass, Group, MOST_LANES, ProgressThread, Result, Universe};

use crate::big_lock::{self, BIG_LOCKS};
use crate::entry::{CommunicatorEntry, DatatypeRecords, FileEntry, ForFiles, MessageEntry, SessionEntry, WindowEntry};
use crate::error::ErrorHandler;
use crate::handle_table::{Kind, Table, lane_of};
use crate::interface::Abi;
use crate::keyval::AnyKeyval;
use crate::packed::PackedDatatypes;
use crate::process::end_at_once;
use crate::request_table::RequestTable;

pub(crate) use blame::blame_nobody;
use datatypes::predefined_datatypes;

/// Everything that the process has of MPI between MPI_Init and MPI_Finalize, as one of the rank's lanes sees it: its
/// own, for who has its lock, and through it what belongs to no lane, for who has all locks.
// Lanes share no cache line.
#[repr(align(128))]
pub struct Rank {
    common: &'static Common,
    lane: usize,
    pub(crate) lock: &'static BigLock,
    /// MPI_COMM_WORLD and MPI_COMM_SELF, which are in the first lane.
    predefined: [Rc<CommunicatorEntry>; 2],
    /// By which codes these are found.
    found: [Cell<u32>; 2],
    /// The lane's other communicators.
    pub(crate) communicators: Table<Rc<CommunicatorEntry>>,
    /// Predefined datatypes, each at the place that its code gives it ([`Abi::datatype_place`]).
    predefined_datatypes: Vec<Option<(u32, Datatype)>>,
    /// Those of them that short operations take.
    pub(crate) packed: PackedDatatypes,
    /// What other lanes than the first use of the program's datatypes.
    datatype_copies: RefCell<HashMap<u32, Datatype>>,
    /// The lane's requests.
    pub(crate) requests: RequestTable,
    /// Messages that matched probes took.
    pub(crate) messages: Table<MessageEntry>,
    /// Untyped communication.
    pub(crate) endpoint: Endpoint,
}

/// What belongs to no lane.
pub struct Common {
    /// The rank, by lane.
    lanes: OnceCell<Box<[Rank]>>,
    /// The membership of the job; none once the rank has left.
    pub(crate) universe: RefCell<Option<Universe>>,
    /// Thread level that was given, as the interface's constant.
    pub(crate) thread_level: Cell<i32>,
    /// The thread that called MPI_Init, as the kernel knows it.
    pub(crate) main_thread: rustix::thread::Pid,
    /// The code of the handle for those who have spawned this job; 0: nobody has.
    pub(crate) parents: Cell<u32>,
    /// Groups.
    pub(crate) groups: Table<Group>,
    /// Sessions.
    pub(crate) sessions: Table<Rc<SessionEntry>>,
    /// Windows.
    pub(crate) windows: Table<Rc<WindowEntry>>,
    /// Files.
    pub(crate) files: Table<Rc<FileEntry>>,
    /// Keyvals of all kinds.
    pub(crate) keyvals: Table<AnyKeyval>,
    /// Where programs find the values of predefined attributes.
    pub(crate) predefined_attributes: [Cell<i32>; 7],
    /// All other datatypes.
    pub(crate) datatypes: Table<Datatype>,
    /// What C knows about some of them besides.
    pub(crate) datatype_records: DatatypeRecords,
    /// Reduction operations that the program made.
    pub(crate) operations: Table<Operation>,
    /// Whether the program ever made one.
    pub(crate) has_operations: Cell<bool>,
    /// Generalized requests that the program has not completed yet, by the code of their handle. It completes or
    /// cancels them while it waits for them in another thread, or after it has freed them.
    pub(crate) generalized: RefCell<HashMap<u32, Rc<Generalized>>>,
    /// Partitioned operations, by the code of their handle.
    pub(crate) partitioned: RefCell<HashMap<u32, Partitioned>>,
    /// What happens to errors of files that are not open: MPI_FILE_NULL's handler.
    pub(crate) file_error_handler: RefCell<ErrorHandler>,
    /// What files have in common.
    pub(crate) for_files: ForFiles,
    /// The threads that make progress meanwhile.
    pub(crate) progress_threads: RefCell<Vec<ProgressThread>>,
    /// Memory from MPI_Alloc_mem for which the shared heap had no room, by its address.
    pub(crate) private_memory: RefCell<HashMap<usize, Box<[u128]>>>,
}

impl Deref for Rank {
    type Target = Common;

    fn deref(&self) -> &Common {
        self.common
    }
}

/// The rank, by lane. Written by the thread that makes the rank (Release), read by all (Acquire).
static RANK: [AtomicPtr<Rank>; MOST_LANES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_LANES];
/// What the process has had of MPI, after the end: so that tools that look for lost memory find it. Written by the
/// thread that ends the rank (Relaxed), read by nobody else.
#[used]
static ENDED: AtomicPtr<Common> = AtomicPtr::new(std::ptr::null_mut());
/// How far the process has come with the world model: 0 before MPI_Init, 1 after it, 2 after MPI_Finalize. With a
/// session the process is a rank in any of them.
static PHASE: AtomicU8 = AtomicU8::new(0);
/// Whether nonblocking collectives are left to calls of the program ([`crate::progress_thread`]). Then each call makes
/// progress in all lanes. Written by a thread that has all locks; calls of other threads come after it, by the
/// program's promise, and progress threads see it with their lock (Relaxed).
static TASKS_IN_CALLS: AtomicBool = AtomicBool::new(false);

/// Says who goes on with nonblocking collectives: the program's calls alone, or progress threads, too.
pub(crate) fn have_tasks_in_calls(in_calls: bool) {
    TASKS_IN_CALLS.store(in_calls, Ordering::Relaxed);
}

/// Whether it is the program's calls alone.
pub(crate) fn are_tasks_in_calls() -> bool {
    TASKS_IN_CALLS.load(Ordering::Relaxed)
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Active,
    After,
}

pub(crate) fn phase() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Before,
        1 => Phase::Active,
        _ => Phase::After,
    }
}

/// The rank. The job ends if another thread is the rank at this time, as nothing of it can be relied on any more.
///
/// # Errors
/// If the program has not called MPI_Init, or has called MPI_Finalize.
#[inline(always)]
pub fn rank() -> Result<&'static Rank> {
    let rank = peek()?;
    if BIG_LOCKS.others_are_inside() {
        end_at_once(big_lock::BROKEN_PROMISE);
    }
    rank.lock.set_note(0);
    Ok(rank)
}

/// The rank, by a call that is about no communicator of its own: what the present call is about is not forgotten.
#[inline(always)]
pub(crate) fn peek() -> Result<&'static Rank> {
    let lane = if BIG_LOCKS.are_several() { big_lock::lane() } else { 0 };
    // SAFETY: the pointer is null or one that `begin` has leaked.
    unsafe { RANK[lane].load(Ordering::Acquire).as_ref() }.ok_or_else(not_active)
}

/// The rank in its first lane, if the process is a rank.
#[inline(always)]
pub(crate) fn first_lane() -> Option<&'static Rank> {
    // SAFETY: as in `peek`.
    unsafe { RANK[0].load(Ordering::Acquire).as_ref() }
}

#[cold]
fn not_active() -> Error {
    let what = match phase() {
        Phase::After => "called after MPI_Finalize",
        _ => "called before MPI_Init",
    };
    Error::new(ErrorClass::Other, what)
}

impl Rank {
    /// Makes the process a rank.
    pub(crate) fn begin<A: Abi>(universe: Universe, thread_level: i32) -> &'static Rank {
        let entry = |core: &Communicator, code: u32| {
            core.set_mark(code as usize);
            Rc::new(CommunicatorEntry { core: core.clone(), error_handler: ErrorHandler::Fatal.into() })
        };
        let predefined = [entry(universe.world(), A::COMM_WORLD), entry(universe.this_rank(), A::COMM_SELF)];
        let lanes = universe.lanes();
        let endpoint = |lane| {
            universe.in_lane(lane).set_mark(A::COMM_WORLD as usize);
            Endpoint::in_lane(&universe, lane)
        };
        let endpoints: Vec<Endpoint> = (0..lanes).map(endpoint).collect();
        let common: &'static Common = Box::leak(Box::new(Common {
            lanes: OnceCell::new(),
            universe: RefCell::new(Some(universe)),
            thread_level: Cell::new(thread_level),
            main_thread: rustix::thread::gettid(),
            parents: Cell::new(0),
            groups: Table::new(Kind::Group),
            sessions: Table::new(Kind::Session),
            windows: Table::new(Kind::Window),
            files: Table::new(Kind::File),
            keyvals: Table::new(Kind::Keyval),
            predefined_attributes: Default::default(),
            datatypes: Table::new(Kind::Datatype),
            datatype_records: DatatypeRecords::default(),
            operations: Table::new(Kind::Operation),
            has_operations: Cell::new(false),
            generalized: RefCell::default(),
            partitioned: RefCell::default(),
            file_error_handler: ErrorHandler::Return.into(),
            for_files: ForFiles::default(),
            progress_threads: RefCell::default(),
            private_memory: RefCell::default(),
        }));
        let in_lane = |(lane, endpoint)| Rank {
            common,
            lane,
            lock: BIG_LOCKS.of(lane),
            predefined: predefined.clone(),
            found: [Cell::new(A::COMM_WORLD), Cell::new(A::COMM_SELF)],
            communicators: Table::new(Kind::Communicator).in_lane(lane, lanes),
            packed: PackedDatatypes::of(&predefined_datatypes::<A>()),
            predefined_datatypes: predefined_datatypes::<A>(),
            datatype_copies: RefCell::default(),
            requests: RequestTable::new(lane, lanes),
            messages: Table::new(Kind::Message).in_lane(lane, lanes),
            endpoint,
        };
        let ranks = common.lanes.get_or_init(|| endpoints.into_iter().enumerate().map(in_lane).collect());
        for (rank, place) in ranks.iter().zip(&RANK) {
            place.store(std::ptr::from_ref(rank).cast_mut(), Ordering::Release);
        }
        &ranks[0]
    }

    /// The same rank, in that lane.
    pub(crate) fn lane(&self, lane: usize) -> &'static Rank {
        &self.common.lanes.get().expect("the lanes are made with the rank")[lane]
    }

    /// The same rank, in all its lanes.
    pub(crate) fn lanes(&self) -> &'static [Rank] {
        self.common.lanes.get().map_or(&[], |lanes| lanes)
    }

    /// The same rank, in the lane to which belongs what has that code. If it is another, for who has all locks.
    pub(crate) fn lane_of(&self, code: u32) -> &Rank {
        if BIG_LOCKS.are_several() { self.lane(lane_of(code, self.lanes().len())) } else { self }
    }

    /// The program has called MPI_Init.
    pub(crate) fn enter_world(&self, thread_level: i32) {
        self.thread_level.set(thread_level);
        PHASE.store(1, Ordering::Release);
    }

    /// The program has called MPI_Finalize.
    pub(crate) fn leave_world(&self) {
        PHASE.store(2, Ordering::Release);
    }

    /// The process is no rank any more. What it had is not given back: the process is about to end.
    pub(crate) fn end(&self) {
        ENDED.store(std::ptr::from_ref(self.common).cast_mut(), Ordering::Relaxed);
        RANK.iter().for_each(|rank| rank.store(std::ptr::null_mut(), Ordering::Release));
    }
}
