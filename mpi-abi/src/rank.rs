//! The rank that this process is: what belongs to it, and the objects that its handles stand for.
//!
//! There is one in a process, and this is the only place where it is reached ([`rank`]). Its objects are for one thread
//! at a time: the one that has the lock ([`crate::big_lock`]).
#![allow(unsafe_code)]

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::reduction::Operation;
use rwmpi_core::untyped::{Elements, Endpoint, Generalized, Partitioned, Run, Runs, TakenMessage};
use rwmpi_core::{BigLock, Communicator, Error, ErrorClass, Group, MOST_LANES, ProgressThread, Result, Universe};

use crate::argument::Memory;
use crate::attribute::AnyKeyval;
use crate::big_lock::{self, BIG_LOCKS};
use crate::datatype::DatatypeRecords;
use crate::error::{ErrorHandler, Object};
use crate::failures::revoked;
use crate::file::{FileEntry, ForFiles};
use crate::handle_table::{Kind, Table, lane_of};
use crate::interface::{Abi, DATATYPE_PLACES};
use crate::packed::PackedDatatypes;
use crate::process::end_at_once;
use crate::request_table::RequestTable;
use crate::session::SessionEntry;
use crate::window::WindowEntry;

/// Everything that the process has of MPI between MPI_Init and MPI_Finalize, as one of the rank's lanes sees it: its
/// own, for who has its lock, and through it what belongs to no lane, for who has all locks.
// Lanes share no cache line.
#[repr(align(128))]
pub struct Rank {
    common: &'static Common,
    lane: usize,
    pub(crate) lock: &'static BigLock,
    /// MPI_COMM_WORLD and MPI_COMM_SELF, which are in the first lane.
    pub(crate) predefined: [Rc<CommunicatorEntry>; 2],
    /// By which codes these are found.
    pub(crate) found: [Cell<u32>; 2],
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
    pub(crate) messages: Table<BigLockGuard>,
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

/// A communicator and what C has to know about it.
pub struct CommunicatorEntry {
    /// The communicator itself.
    pub core: Communicator,
    /// What happens to errors.
    pub(crate) error_handler: RefCell<ErrorHandler>,
}

/// A message that a matched probe took, with its communicator.
pub(crate) struct BigLockGuard {
    pub(crate) communicator: Communicator,
    pub(crate) message: TakenMessage,
}

/// What the present call is about ([`BigLock::note`]) is the code of a communicator, session, window or file, to whose
/// handler errors go, 0 for nothing, or this: files that are not open. No handle has it.
const FILES: u32 = u32::MAX;

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

/// The present call is about no object with an error handler; it may come at any time.
pub(crate) fn blame_nobody() {
    BIG_LOCKS.of(big_lock::lane()).set_note(0);
}

#[cold]
fn no_datatype<A: Abi>(code: u32) -> Error {
    let what = if code == A::DATATYPE_NULL {
        "the datatype is MPI_DATATYPE_NULL".to_string()
    } else {
        format!("{code:#x} is no datatype: it was freed or never was one")
    };
    Error::new(ErrorClass::Datatype, what)
}

#[cold]
fn not_committed() -> Error {
    Error::new(ErrorClass::Datatype, "the datatype is not committed: call MPI_Type_commit first")
}

#[cold]
fn negative_count(count: i64) -> Error {
    Error::new(ErrorClass::Count, format!("count {count} is negative"))
}

/// The predefined datatypes of the interface, each at its place.
fn predefined_datatypes<A: Abi>() -> Vec<Option<(u32, Datatype)>> {
    let mut datatypes = vec![None; DATATYPE_PLACES];
    for &(code, name) in A::DATATYPES {
        // Other names of a datatype have its code.
        if let Some(&basic) = Basic::ALL.iter().find(|basic| basic.name() == name) {
            let datatype = Datatype::basic(basic);
            datatype.set_handle(code);
            datatypes[A::datatype_place(code)] = Some((code, datatype));
        }
    }
    datatypes
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

    /// The communicator with that handle. Errors of the call go to its error handler from now on.
    ///
    /// # Errors
    /// MPI_ERR_COMM if there is none.
    #[inline]
    pub fn communicator<A: Abi>(&self, handle: A::Handle) -> Result<Rc<CommunicatorEntry>> {
        let code = A::code(handle);
        self.lock.set_note(code);
        if code == self.found[0].get() {
            return Ok(self.predefined[0].clone());
        }
        match self.communicators.get(code) {
            Some(entry) => Ok(entry),
            None => self.other_communicator::<A>(code),
        }
    }

    #[cold]
    fn other_communicator<A: Abi>(&self, code: u32) -> Result<Rc<CommunicatorEntry>> {
        if self.hidden::<A>(code).is_some() {
            return Err(revoked());
        }
        if code == A::COMM_SELF {
            return Ok(self.predefined[1].clone());
        }
        if let Some(entry) = self.lane_of(code).communicators.get(code) {
            return Ok(entry);
        }
        self.lock.set_note(0);
        let what = if code == A::COMM_NULL {
            "the communicator is MPI_COMM_NULL".to_string()
        } else {
            format!("{code:#x} is no communicator: it was freed or never was one")
        };
        Err(Error::new(ErrorClass::Communicator, what))
    }

    /// A handle for a new communicator, which takes on the error handler of the one it was made from.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM if there are no more handles.
    pub fn add_communicator<A: Abi>(&self, core: Communicator, parent: &CommunicatorEntry) -> Result<A::Handle> {
        let error_handler = parent.error_handler.clone();
        self.add_entry::<A>(CommunicatorEntry { core, error_handler })
    }

    /// A handle for a new communicator.
    pub(crate) fn add_entry<A: Abi>(&self, entry: CommunicatorEntry) -> Result<A::Handle> {
        let core = entry.core.clone();
        let code = self.lane(core.lane()).communicators.insert(Rc::new(entry))?;
        core.set_mark(code as usize);
        Ok(A::handle(code))
    }

    /// The handle of a communicator that has one.
    pub fn handle_of<A: Abi>(&self, communicator: &Communicator) -> A::Handle {
        A::handle(communicator.mark() as u32)
    }

    /// Forgets a communicator that the program made.
    ///
    /// # Errors
    /// MPI_ERR_COMM if it is none that the program made.
    pub fn remove_communicator<A: Abi>(&self, handle: A::Handle) -> Result<Rc<CommunicatorEntry>> {
        let code = A::code(handle);
        if code == A::COMM_WORLD || code == A::COMM_SELF {
            return Err(Error::new(ErrorClass::Communicator, "MPI_COMM_WORLD and MPI_COMM_SELF can't be freed"));
        }
        self.lane_of(code).communicators.show(code);
        self.lane_of(code).communicators.remove(code).map_or_else(|| self.other_communicator::<A>(code), Ok)
    }

    /// The error handler for what went wrong in the present call: that of what it is about, or MPI_COMM_WORLD's.
    pub(crate) fn handler_of_present_call<A: Abi>(&self) -> (Object<A>, ErrorHandler) {
        let code = self.lock.note();
        if code == FILES {
            return (Object::File(A::file(A::FILE_NULL)), self.file_error_handler.borrow().clone());
        }
        if let Some(session) = self.sessions.get(code) {
            return (Object::Handle(A::handle(code)), session.error_handler.borrow().clone());
        }
        if let Some(window) = self.windows.get(code) {
            return (Object::Handle(A::handle(code)), window.error_handler.borrow().clone());
        }
        if let Some(file) = self.files.get(code) {
            return (Object::File(A::file(code)), file.error_handler.borrow().clone());
        }
        let entry = match code {
            _ if code == A::COMM_SELF => Some(self.predefined[1].clone()),
            _ => self.lane_of(code).communicators.get(code).or_else(|| self.hidden::<A>(code)),
        };
        match entry {
            Some(entry) => (Object::Handle(A::handle(code)), entry.error_handler.borrow().clone()),
            None => {
                let world = self.predefined[0].error_handler.borrow().clone();
                (Object::Handle(A::handle(A::COMM_WORLD)), world)
            }
        }
    }

    /// Lets errors of the present call go to MPI_FILE_NULL's handler.
    pub(crate) fn blame_files(&self) {
        self.lock.set_note(FILES);
    }

    /// Lets errors of the present call go to the handler of what has that code.
    #[inline]
    pub(crate) fn blame_code(&self, code: u32) {
        self.lock.set_note(code);
    }

    /// Lets errors of the present call go to that communicator's handler.
    #[inline]
    pub fn blame(&self, communicator: &Communicator) {
        self.lock.set_note(communicator.mark() as u32);
    }

    /// The datatype with that handle.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none.
    #[inline]
    pub fn datatype<A: Abi>(&self, handle: A::Handle) -> Result<Datatype> {
        match self.predefined_datatype::<A>(handle) {
            Some(datatype) => Ok(datatype.clone()),
            None => self.datatypes.get(A::code(handle)).ok_or_else(|| no_datatype::<A>(A::code(handle))),
        }
    }

    /// The same of a predefined one.
    #[inline]
    pub fn predefined_datatype<A: Abi>(&self, handle: A::Handle) -> Option<&Datatype> {
        let code = A::code(handle);
        let (found, datatype) = self.predefined_datatypes.get(A::datatype_place(code))?.as_ref()?;
        (*found == code).then_some(datatype)
    }

    /// The datatype with that handle, which must be committed.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none, or it is not.
    #[inline]
    pub fn committed_datatype<A: Abi>(&self, handle: A::Handle) -> Result<Datatype> {
        let datatype = self.datatype::<A>(handle)?;
        if !datatype.is_committed() {
            return Err(not_committed());
        }
        Ok(if self.lane == 0 { datatype } else { self.copy_of(datatype) })
    }

    /// What this lane uses of a datatype that the first one has.
    fn copy_of(&self, datatype: Datatype) -> Datatype {
        if datatype.named().is_some() {
            // It is from this lane's own table.
            return datatype;
        }
        let mut copies = self.datatype_copies.borrow_mut();
        copies.entry(datatype.handle()).or_insert_with(|| datatype.detached()).clone()
    }

    /// The program has no datatype with that handle any more.
    pub(crate) fn forget_copies(&self, code: u32) {
        for lane in self.lanes() {
            if let Some(copy) = lane.datatype_copies.borrow_mut().remove(&code) {
                copy.set_handle(0);
            }
        }
    }

    /// How so many elements of a predefined datatype lie, and the datatype; `None` if anything is out of the ordinary.
    #[inline(always)]
    pub(crate) fn run<A: Abi>(&self, count: i64, datatype: A::Handle) -> Option<(Run, &Datatype)> {
        let datatype = self.predefined_datatype::<A>(datatype)?;
        Some((Run::of(count.try_into().ok()?, datatype)?, datatype))
    }

    /// The same elements there.
    #[inline(always)]
    pub(crate) fn runs<A: Abi>(&self, memory: Memory, count: i64, datatype: A::Handle) -> Option<Runs> {
        memory.runs_unless_special::<A>(self.run::<A>(count, datatype)?.0)
    }

    /// The elements that a call is about.
    ///
    /// # Errors
    /// MPI_ERR_COUNT, MPI_ERR_TYPE or MPI_ERR_BUFFER for what can't be communicated.
    pub fn elements<A: Abi>(&self, memory: Memory, count: i64, datatype: A::Handle) -> Result<Elements> {
        let datatype = self.checked_datatype::<A>(memory, count, datatype)?;
        Ok(memory.elements(count as u64, datatype))
    }

    /// The same of a message, which goes to or comes from nobody if `nobody` says so: then it has no elements, whatever
    /// the program passes.
    ///
    /// # Errors
    /// As [`Rank::elements`].
    pub(crate) fn elements_unless<A: Abi>(
        &self,
        nobody: bool,
        memory: Memory,
        count: i64,
        datatype: A::Handle,
    ) -> Result<Elements> {
        match nobody {
            false => self.elements::<A>(memory, count, datatype),
            true if count < 0 => Err(negative_count(count)),
            true => Ok(memory.nothing()),
        }
    }

    /// The datatype of so many elements there, if there can be any.
    ///
    /// # Errors
    /// As [`Rank::elements`].
    pub(crate) fn checked_datatype<A: Abi>(&self, memory: Memory, count: i64, datatype: A::Handle) -> Result<Datatype> {
        let datatype = self.committed_datatype::<A>(datatype)?;
        let Ok(number) = u64::try_from(count) else { return Err(negative_count(count)) };
        if memory.is(A::IN_PLACE) {
            return Err(Error::new(ErrorClass::Buffer, "the buffer is MPI_IN_PLACE, which is for collectives only"));
        }
        if memory.is_none_for(number, &datatype) {
            return Err(Error::new(ErrorClass::Buffer, format!("the buffer is a null pointer, the count {count}")));
        }
        Ok(datatype)
    }
}
