//! One-sided communication for Rust programs (MPI-5.0 chapter 12): windows whose misuse does not compile, or is an
//! error.
//!
//! A [`Window`] is memory of each rank that the others read and change without its help. What may be done with it when
//! is a matter of *epochs*, and each is a value here: a [`Lock`], a [`LockAll`], a [`Fence`], an [`Access`] or an
//! [`Exposure`]. Only these give away [`TargetMemory`], on which the operations are, and when they are dropped, the
//! epoch ends.
//!
//! What must always hold, whatever safe code does on any rank:
//!
//! - *No reference to memory that others may write.* A rank sees its own memory as a slice only while it alone can
//!   reach it: under an exclusive lock of itself ([`LocalLock`]), for which it borrows the window as mutable, so that
//!   no other epoch of this rank lets others in; or in [`Fence::locally`], where all ranks are in the same step. At
//!   other times it copies values to and fro ([`Local`]). It sees all ranks' memory as slices, to be read, while all
//!   are in the same step and change nothing ([`Fence::read_all`]).
//! - *No access to memory that is gone.* Memory of a window is given back when all ranks have agreed that the window is
//!   freed. A window that is just dropped leaves its memory behind for good. A borrowed slice ([`Window::create`]) is
//!   lent for the time of a closure, and if it can't be said whether a peer still uses it, the job ends. What comes and
//!   goes with a [`DynamicWindow`] is the window's own, and stays until all have freed that.
//! - *All ranks are at the same step.* Every collective call tells the others which it is (`step`). If these differ,
//!   because a rank has left a step out or has failed within one, all ranks get an error, and the window can't be used
//!   any more by anybody: so what is concluded from a step holds at all of them.
//!
//! A window has elements of which any bits are a value, so what ranks get that write to the same place at the same time
//! without atomic operations is some value, though MPI does not say which.

mod atomic;
mod dynamic;
mod fence;
mod general;
mod local;
mod lock;
mod memory;
mod shared;
mod step;
mod target;

use std::cell::Cell;
use std::marker::PhantomData;

pub use rwmpi_protocol::window::LockKind;

pub use crate::reduction::Predefined as AccumulateOperation;
pub use atomic::{AtomicInteger, AtomicNumber};
pub use dynamic::{Attached, DynamicWindow};
pub use fence::Fence;
pub use general::{Access, Exposure};
pub use local::{Local, LocalLock};
pub use lock::{Lock, LockAll};
pub use target::{Requested, TargetMemory};

use crate::datatype;
use crate::window::Window as Untyped;
use crate::{Communicator, Datatype, Error, ErrorClass, Info, Result};
use memory::Span;
use step::Step;

/// Memory of all ranks of a communicator that each of them can use, if need be without the others' help
/// (MPI-5.0 chapter 12).
///
/// Its elements are plain data without padding, of which any bits are a value: numbers, arrays of them, structures with
/// `#[repr(C)]` and `#[derive(Datatype)]`.
#[doc = example!(2
    "use rwmpi::{LockKind, Window};"
    "let mut window = Window::allocate(world, 4, 0_u64)?;"
    "// Rank 1 need not call anything for that."
    "window.lock(1, LockKind::Shared)?.fetch_add(2, 10)?;"
    "world.barrier()?;"
    "if rank == 1 {"
    "    assert_eq!(*window.lock_local()?, [0, 0, 20, 0]);"
    "}"
    "window.free()?;"
)]
///
/// Nobody keeps a window whose memory has been given back:
///
/// ```compile_fail,E0505
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::{LockKind, Window};
/// # fn misuse(window: Window<u64>) -> rwmpi::Result<()> {
/// let lock = window.lock(0, LockKind::Shared)?;
/// window.free()?;
/// lock.put(0, &[1])
/// # }
/// ```
///
/// Elements are not padded, and any bits are one:
///
/// ```compile_fail
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::{Communicator, Window};
/// # fn misuse(world: &Communicator) -> rwmpi::Result<()> {
/// Window::allocate(world, 4, false)?.free()
/// # }
/// # fn main() { rwmpi::run_threads(1, rwmpi::Protocol::Auto, |universe| misuse(universe.world())).unwrap(); }
/// ```
#[doc(alias = "MPI_Win")]
pub struct Window<'m, T> {
    untyped: Untyped,
    /// Of an element.
    datatype: datatype::Datatype,
    own: Span<T>,
    state: Cell<State>,
    lent: PhantomData<&'m mut [T]>,
}

/// What is known of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Usable,
    /// Something was wrong, and all ranks know: none uses it any more.
    Stopped,
    /// It can't be said what the others do.
    Lost,
    /// All have freed it.
    Freed,
}

impl<T: Datatype> Window<'static, T> {
    /// A window of memory that the library allocates, `len` elements of this rank's, all of them `value`. Collective;
    /// the ranks may have different lengths (MPI_Win_allocate, MPI-5.0 section 12.2.2).
    ///
    /// # Errors
    /// There is no memory left; the communicator's ranks have no memory in common; another rank has met an error.
    #[doc = example!(3
        "let window = rwmpi::Window::allocate(world, rank, 0.5)?;"
        "assert_eq!((window.rank(), window.size(), window.len_of(2)), (rank, 3, Some(2)));"
        "assert_eq!((window.len_of(3), window.name()), (None, String::new()));"
        "window.set_name(\"halo\");"
        "window.free()?;"
    )]
    #[doc(alias = "MPI_Win_allocate")]
    pub fn allocate(communicator: &Communicator, len: usize, value: T) -> Result<Self> {
        const { element::<T>() };
        let size = len.saturating_mul(size_of::<T>()) as u64;
        let untyped = communicator.allocate_window(size, size_of::<T>() as i64, &Info::new());
        Window::allocated(communicator, untyped, len, value)
    }

    /// What the library has allocated, if it could, filled and met by all.
    fn allocated(communicator: &Communicator, untyped: Result<Untyped>, len: usize, value: T) -> Result<Self> {
        let window = untyped.and_then(|untyped| {
            let own = Span::of_window(&untyped, len)?;
            own.fill(value);
            Window::new(untyped, own)
        });
        let met = Window::meet_as_made(communicator, window.as_ref().ok());
        let window = window?;
        met.map(|()| window)
    }
}

impl<'m, T: Datatype> Window<'m, T> {
    /// Calls `body` with a window of the program's own memory, to which nobody has access any more when this returns.
    /// Collective (MPI_Win_create, MPI-5.0 section 12.2.1). Memory that others can in no way reach is copied for that
    /// time.
    ///
    /// # Errors
    /// As [`Window::allocate`]; those of `body`; an epoch is left open, or other ranks are not at the end.
    #[doc = example!(2
        "let mut numbers = vec![0; 3];"
        "rwmpi::Window::create(world, &mut numbers, |window| {"
        "    window.fence(|epoch| epoch.target(1 - rank)?.put(1, &[rank + 7]))"
        "})?;"
        "assert_eq!(numbers, [0, 1 - rank + 7, 0]);"
    )]
    ///
    /// Meanwhile the memory is lent:
    ///
    /// ```compile_fail,E0499
    /// # extern crate rwmpi_core as rwmpi;
    /// # use rwmpi::{Communicator, Window};
    /// # fn misuse(world: &Communicator) -> rwmpi::Result<()> {
    /// let mut numbers = [0; 3];
    /// Window::create(world, &mut numbers, |window| {
    ///     numbers[0] = 1;
    ///     window.fence(|_| Ok(()))
    /// })
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `body` does, and when all other ranks have come to their next step of the window, where they get an error.
    #[doc(alias = "MPI_Win_create")]
    pub fn create<R>(
        communicator: &Communicator,
        memory: &mut [T],
        body: impl for<'a> FnOnce(&mut Window<'a, T>) -> Result<R>,
    ) -> Result<R> {
        const { element::<T>() };
        let own = Span::of(memory);
        let (window, staged) = match own.is_reachable(communicator) {
            true => (own.window(communicator).and_then(|untyped| Window::new(untyped, own)), None),
            false => (Window::of_copy(communicator, memory), Some(memory)),
        };
        let met = Window::meet_as_made(communicator, window.as_ref().ok());
        // Whatever happens from here on, the memory is taken back before it goes to the program.
        let mut lent = Lent { window: window?, staged };
        met?;
        let result = body(&mut lent.window)?;
        lent.window.end()?;
        Ok(result)
    }

    /// A window of a copy, for memory that others can't reach.
    fn of_copy(communicator: &Communicator, memory: &[T]) -> Result<Self> {
        let untyped = communicator.allocate_window(size_of_val(memory) as u64, size_of::<T>() as i64, &Info::new())?;
        let own = Span::of_window(&untyped, memory.len())?;
        own.write(0, memory);
        Window::new(untyped, own)
    }

    fn new(untyped: Untyped, own: Span<T>) -> Result<Self> {
        let datatype = match atomic::basic_of::<T>() {
            Some(basic) => datatype::Datatype::basic(basic),
            None => {
                let byte = datatype::Datatype::basic(datatype::Basic::Byte);
                datatype::Datatype::contiguous(size_of::<T>() as i64, &byte)?
            }
        };
        datatype.commit();
        Ok(Window { untyped, datatype, own, state: Cell::new(State::Usable), lent: PhantomData })
    }

    /// Meets the others when this rank has made its window, if it could: all have one of such elements, or none is
    /// used.
    fn meet_as_made(communicator: &Communicator, window: Option<&Self>) -> Result<()> {
        match window {
            Some(window) => window.outcome(step::meet(communicator, Step::Made { bytes: size_of::<T>() })),
            None => step::meet(communicator, Step::Mistake).map(drop),
        }
    }

    /// The caller's rank.
    pub fn rank(&self) -> usize {
        self.untyped.rank()
    }

    /// How many ranks it has.
    pub fn size(&self) -> usize {
        self.untyped.size()
    }

    /// How many elements of a rank it has; `None`: there is no such rank.
    pub fn len_of(&self, rank: usize) -> Option<usize> {
        Some(self.untyped.size_of(rank)? as usize / size_of::<T>())
    }

    /// Its name; empty if it has none.
    #[doc(alias = "MPI_Win_get_name")]
    pub fn name(&self) -> String {
        self.untyped.name()
    }

    /// Gives it a name, which errors use, too.
    #[doc(alias = "MPI_Win_set_name")]
    pub fn set_name(&self, name: &str) {
        self.untyped.set_name(name);
    }

    /// Gives its memory back, when all ranks have come here. Collective (MPI_Win_free). A window that is dropped
    /// otherwise leaves its memory behind, since others may go on using it.
    ///
    /// # Errors
    /// An epoch is open, since its guard has been forgotten; other ranks are elsewhere.
    #[doc = example!(2
        "let window = rwmpi::Window::allocate(world, 1, rank)?;"
        "window.lock(rank, rwmpi::LockKind::Exclusive)?.put(0, &[7])?;"
        "window.free()?;"
    )]
    #[doc(alias = "MPI_Win_free")]
    pub fn free(self) -> Result<()> {
        self.end()
    }

    /// Ends its use by all ranks.
    fn end(&self) -> Result<()> {
        self.meet(Step::Freed, self.untyped.check_no_epoch())?;
        self.state.set(State::Freed);
        Ok(())
    }

    /// Whether epochs may begin.
    fn check_usable(&self) -> Result<()> {
        match self.state.get() {
            State::Usable => Ok(()),
            _ => Err(self.untyped.failed_before()),
        }
    }

    /// Meets all others at a step of the window, or, if something is wrong here, says so to them.
    fn meet(&self, step: Step, checked: Result<()>) -> Result<()> {
        self.check_usable()?;
        let checked = checked.and(self.untyped.settle_all());
        self.untyped.order();
        let step = if checked.is_ok() { step } else { Step::Mistake };
        let met = self.outcome(step::meet(self.untyped.communicator(), step));
        checked.and(met)
    }

    /// What becomes of the window when ranks have met.
    fn outcome(&self, met: Result<step::Meeting>) -> Result<()> {
        let (state, error) = match met {
            Ok(step::Meeting::Same) => return Ok(()),
            Ok(step::Meeting::Different(what)) => (State::Stopped, self.untyped.error(ErrorClass::RmaSync, what)),
            Err(error) => (State::Lost, error),
        };
        self.state.set(state);
        self.untyped.forget_epochs();
        Err(error)
    }
}

/// A window of borrowed memory, which goes back to the program when this is dropped: nobody uses it then any more.
struct Lent<'m, 's, T: Datatype> {
    window: Window<'m, T>,
    /// Where its elements go in the end, if it has a copy.
    staged: Option<&'s mut [T]>,
}

impl<T: Datatype> Drop for Lent<'_, '_, T> {
    fn drop(&mut self) {
        let window = &self.window;
        if window.state.get() == State::Usable {
            // Why that fails its state says.
            let _ = window.end();
        }
        let is_back = match window.untyped.left_by_all() {
            None => window.state.get() != State::Lost,
            Some(is_back) => {
                window.state.set(if is_back { State::Freed } else { State::Lost });
                is_back
            }
        };
        match &mut self.staged {
            Some(memory) => window.own.read(0, memory),
            None if !is_back => {
                window
                    .untyped
                    .end_job("memory of a window could not be taken back from its peers, so the job ends here");
            }
            None => {}
        }
    }
}

impl<T> Drop for Window<'_, T> {
    fn drop(&mut self) {
        if self.state.get() != State::Freed {
            // Others may use the words of its locks, and memory that is its own, at any time.
            std::mem::forget(self.untyped.clone());
        }
    }
}

impl<T> std::fmt::Debug for Window<'_, T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, state) = (self.untyped.name(), self.state.get());
        formatter.debug_struct("Window").field("name", &name).field("state", &state).finish_non_exhaustive()
    }
}

/// Refuses to compile for types that can't be elements of a window.
const fn element<T: Datatype>() {
    assert!(
        T::DIRECT,
        "elements of a window have no padding, and any bits are one: numbers, arrays and structures of them"
    );
    assert!(size_of::<T>() > 0, "elements of a window have at least one byte");
    assert!(align_of::<T>() <= 64, "elements of a window are aligned to at most 64 bytes");
}

/// An access beyond what there is.
#[cold]
fn out_of_range(untyped: &Untyped, at: usize, count: usize, len: usize) -> Error {
    untyped
        .error(ErrorClass::RmaRange, format!("{count} elements from number {at} on are not within this rank's {len}"))
}
