//! Windows: memory of ranks that others read and change without their help (MPI-5.0 chapter 12), as front ends see it.
//!
//! Windows are the transport's Remote Write made visible. Whatever memory of a rank the others have mapped, be it of
//! the shared heap, of `malloc` or static, they use by loads, stores and atomic operations; other memory the kernel
//! copies for them. Nothing waits until its target calls MPI. All is done when a call returns, but for the order in
//! which others see it: that is what a flush is for. Ranks of other nodes are asked by messages, and do it when they
//! make progress; there a flush waits for their answer.
//!
//! - `create`: how the ranks tell each other where their memory lies;
//! - `target`: what a rank knows of another's memory, and whether an access stays within;
//! - `transfer`, `accumulate`, `element`: the operations; `short`, `packed_basic`: the same where nothing is out of the
//!   ordinary;
//! - `control`, `line`: the words of each rank that others read and change; `epochs`, `locks`, `overtaking`: what is
//!   done with them. Which call is legal when, whose turn it is, and which post belongs to which start, the protocol
//!   decides (`rwmpi_protocol::window`);
//! - `dynamic`: memory that comes and goes;
//! - `elsewhere`: targets on other nodes;
//! - `survival`: what is otherwise where the job goes on when ranks die;
//! - `typed`: what the API for Rust programs ([`crate::one_sided`]) needs besides.

mod accumulate;
mod control;
mod create;
mod dynamic;
mod element;
mod elsewhere;
mod epochs;
mod line;
mod locks;
mod overtaking;
mod packed_basic;
mod short;
mod survival;
mod target;
mod transfer;
mod typed;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rwmpi_protocol::window::{Called, Epochs, Misuse, Open, Pairs};

pub use packed_basic::{ElementChange, PackedBasic};
pub use rwmpi_protocol::window::LockKind;
pub use short::RemotePlace;
pub use transfer::Remote;

#[cfg(any(test, fuzzing))]
pub(crate) use elsewhere::read_request;

use crate::Buffer;
use crate::attribute::Attributes;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorClass};
use crate::{Destination, Group, Info, Result};
use control::Control;
use elsewhere::Elsewhere;
use epochs::Members;
use line::Held;
use overtaking::Overtaking;
use survival::Survival;
use target::Target;

/// How a window has come by its memory (MPI-5.0 section 12.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// It is the program's.
    Create,
    /// The library has allocated it.
    Allocate,
    /// The same, in one piece for all ranks.
    Shared,
    /// It is attached and detached.
    Dynamic,
}

/// A window. Cheap to clone: clones are the same window.
#[derive(Clone)]
pub struct Window {
    shared: Rc<Shared>,
}

struct Shared {
    communicator: Communicator,
    flavour: Flavour,
    /// Where the program sees this rank's memory.
    base: usize,
    /// By rank.
    targets: Box<[Target]>,
    /// By rank; `None`: it is on another node.
    controls: Box<[Option<Control>]>,
    /// What is between this rank and those on other nodes, if there are any.
    elsewhere: Option<Box<Elsewhere>>,
    /// What this rank keeps if the job goes on when ranks die.
    survival: Option<Box<Survival>>,
    /// There is neither `elsewhere` nor `survival`, so the short forms of calls are taken.
    is_plain: bool,
    epochs: RefCell<Epochs>,
    pairs: RefCell<Pairs>,
    /// The groups of the latest start and of the latest post.
    started: RefCell<Option<Members>>,
    posted: RefCell<Option<Members>>,
    /// The locks that this rank has, by target.
    held: Box<[Cell<Held>]>,
    /// Ranks outnumber processors, so the next rank in line for a lock may be asleep.
    is_oversubscribed: bool,
    overtaking: Cell<Option<Overtaking>>,
    /// This rank, as the engine knows it.
    own_peer: u32,
    attached: RefCell<dynamic::Attached>,
    attributes: Attributes<Window>,
    name: RefCell<String>,
    info: RefCell<Info>,
    mark: Cell<usize>,
    /// What the library has allocated for it: the words of `controls` that are this rank's, and, perhaps, memory for
    /// the program.
    _words: Buffer<u64>,
    _memory: Option<Buffer<u8>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let process = self.communicator.process();
        process.has_window_no_more();
        self.elsewhere.iter_mut().for_each(|elsewhere| elsewhere.abandon(process));
    }
}

impl Window {
    /// The ranks of the window (MPI_Win_get_group).
    pub fn group(&self) -> &Group {
        self.shared.communicator.group()
    }

    /// The caller's rank.
    pub fn rank(&self) -> usize {
        self.shared.communicator.rank()
    }

    /// How many ranks it has.
    pub fn size(&self) -> usize {
        self.shared.communicator.size()
    }

    /// How it has come by its memory.
    pub fn flavour(&self) -> Flavour {
        self.shared.flavour
    }

    /// The address of this rank's memory.
    pub fn base(&self) -> usize {
        self.shared.base
    }

    /// How many bytes it has, and how many make one of a displacement.
    pub fn extent(&self) -> (u64, i64) {
        let Target { size, unit, .. } = self.shared.targets[self.rank()];
        (size, unit)
    }

    /// What programs have attached to it (MPI-5.0 section 7.7).
    pub fn attributes(&self) -> &Attributes<Window> {
        &self.shared.attributes
    }

    /// Its name; empty if it has none (MPI_Win_get_name).
    pub fn name(&self) -> String {
        self.shared.name.borrow().clone()
    }

    /// Gives it a name, which errors use, too (MPI_Win_set_name).
    pub fn set_name(&self, name: &str) {
        name.clone_into(&mut self.shared.name.borrow_mut());
    }

    /// The word that a front end keeps with the window, as its handle; 0 at first.
    pub fn mark(&self) -> usize {
        self.shared.mark.get()
    }

    /// Sets that word.
    pub fn set_mark(&self, mark: usize) {
        self.shared.mark.set(mark);
    }

    /// Where this process sees the memory of a rank, or of the first that has any: address, bytes, unit of
    /// displacements; a null address and no bytes if it does not see it (MPI_Win_shared_query).
    ///
    /// # Errors
    /// The window has no such rank, or its memory comes and goes.
    pub fn shared_query(&self, of: Destination) -> Result<(usize, u64, i64)> {
        if self.flavour() == Flavour::Dynamic {
            return Err(self.error(ErrorClass::RmaFlavour, "memory that is attached can't be queried".to_owned()));
        }
        let targets = &self.shared.targets;
        let rank = match self.checked_target(of)? {
            Some(rank) => rank,
            None => targets.iter().position(|target| target.size > 0).unwrap_or(0),
        };
        let target = &targets[rank];
        if rank == self.rank() && target.size > 0 {
            return Ok((self.base(), target.size, target.unit));
        }
        let seen = target.memory.as_ref().and_then(|memory| memory.direct()).filter(|span| !span.is_empty());
        Ok(seen.map_or((0, 0, target.unit), |span| (span.start().addr(), target.size, target.unit)))
    }

    /// Bytes of each rank's memory.
    #[doc(hidden)]
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.shared.targets.iter().map(|target| target.size)
    }

    /// The keys that have a meaning for windows, with their present values (MPI_Win_get_info).
    ///
    /// # Errors
    /// None, as long as the values fit.
    pub fn info(&self) -> Result<Info> {
        let mut info = Info::new();
        let given = self.shared.info.borrow();
        for (key, default) in create::INFO {
            info.set(key, given.get(key)?.unwrap_or(default))?;
        }
        Ok(info)
    }

    /// Takes on values for such keys; others are ignored (MPI_Win_set_info).
    ///
    /// # Errors
    /// None, as long as the values fit.
    pub fn set_info(&self, info: &Info) -> Result<()> {
        let mut given = self.shared.info.borrow_mut();
        let known = |key: &str| create::INFO.iter().any(|known| known.0 == key);
        info.iter().filter(|pair| known(pair.0)).try_for_each(|(key, value)| given.set(key, value))
    }

    /// Deletes its attributes, and lets go of it when all ranks have come here (MPI_Win_free). Collective.
    ///
    /// # Errors
    /// An epoch is open; a delete function says so.
    pub fn free(&self) -> Result<()> {
        if self.shared.survival.is_some() {
            return self.free_together();
        }
        self.check_freeable()?;
        self.attributes().delete_all(self)?;
        let settled = self.settle_all();
        self.order();
        self.shared.communicator.barrier()?;
        settled
    }

    fn check_freeable(&self) -> Result<()> {
        self.shared.epochs.borrow().check_free().map_err(|misuse| self.misuse(misuse))
    }

    /// The rank that an access names; `None`: nobody.
    ///
    /// # Errors
    /// The window has no such rank.
    pub(crate) fn checked_target(&self, target: Destination) -> Result<Option<usize>> {
        match target {
            Destination::Null => Ok(None),
            Destination::Rank(rank) if rank < self.shared.targets.len() => Ok(Some(rank)),
            Destination::Rank(rank) => {
                let what = format!("target {rank} is out of range; the window has {} ranks", self.size());
                Err(self.error(ErrorClass::Rank, what))
            }
        }
    }

    fn process(&self) -> &crate::process::Process {
        self.shared.communicator.process()
    }

    /// What errors call it.
    fn description(&self) -> String {
        match &*self.shared.name.borrow() {
            name if name.is_empty() => {
                format!("the window of {}", self.shared.communicator.description())
            }
            name => format!("window {name:?}"),
        }
    }

    #[cold]
    pub(crate) fn error(&self, class: ErrorClass, what: String) -> Error {
        Error::new(class, format!("rank {} in {}: {what}", self.rank(), self.description()))
    }

    #[cold]
    fn misuse(&self, misuse: Misuse) -> Error {
        let Misuse { open, called, target } = misuse;
        let target = target.map_or(String::new(), |target| format!(" for target {target}"));
        let what = format!("{}{target} was called while {} open", words_of_call(called), words_of_epoch(open));
        self.error(ErrorClass::RmaSync, what)
    }
}

fn words_of_call(called: Called) -> &'static str {
    match called {
        Called::Operation => "an operation",
        Called::OperationWithRequest => "an operation with a request, which needs a lock,",
        Called::Fence => "MPI_Win_fence",
        Called::Start => "MPI_Win_start",
        Called::Complete => "MPI_Win_complete",
        Called::Post => "MPI_Win_post",
        Called::Wait => "MPI_Win_wait or MPI_Win_test",
        Called::Lock => "MPI_Win_lock",
        Called::Unlock => "MPI_Win_unlock",
        Called::LockAll => "MPI_Win_lock_all",
        Called::UnlockAll => "MPI_Win_unlock_all",
        Called::Flush => "a flush",
        Called::Free => "MPI_Win_free",
    }
}

fn words_of_epoch(open: Open) -> &'static str {
    match open {
        Open::Nothing => "no epoch is",
        Open::Fence => "an epoch of MPI_Win_fence is",
        Open::Start => "an access epoch of MPI_Win_start is",
        Open::Lock => "an epoch of MPI_Win_lock is",
        Open::LockAll => "an epoch of MPI_Win_lock_all is",
        Open::Post => "an exposure epoch of MPI_Win_post, and no access epoch, is",
    }
}
