//! Windows whose memory comes and goes while they are used (MPI-5.0 section 12.2.5).
//!
//! An origin looks at its target's list before each access, and the target may take memory off that list at any time
//! in between. So memory that others may use is never the program's: the window allocates it, and keeps what was
//! detached until all ranks have agreed that the window is freed. A late access meets memory that nobody uses.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::memory::Span;
use super::{Fence, Lock, LockAll, LockKind, State, TargetMemory, Window, element};
use crate::Buffer;
use crate::{Communicator, Datatype, Destination, ErrorClass, Info, Result};

/// A window without memory, to which each rank attaches some when it needs it, without the others' help
/// (MPI_Win_create_dynamic). Whoever is told of an [`Attached`] can use it.
#[doc = example!(2
    "use rwmpi::one_sided::{Attached, DynamicWindow};"
    "let window = DynamicWindow::create(world)?;"
    "let own = window.attach(3, rank)?;"
    "let mut words = vec![0; 2 * 3];"
    "world.allgather(&own.to_words(), &mut words)?;"
    "let other = Attached::from_words(words[3 * (1 - rank)..][..3].try_into().unwrap());"
    "let epoch = window.lock_all()?;"
    "epoch.attached(other)?.put_value(2, 7)?;"
    "assert_eq!((epoch.attached(other)?.get_value(0)?, other.rank(), other.len()), (1 - rank, 1 - rank, 3));"
    "assert!(!other.is_empty());"
    "epoch.unlock()?;"
    "world.barrier()?;"
    "assert_eq!(window.lock(rank, rwmpi::LockKind::Shared)?.attached(own)?.get_value(2)?, 7);"
    "window.detach(own)?;"
    "window.free()?;"
)]
#[doc(alias = "MPI_Win_create_dynamic")]
pub struct DynamicWindow<T: Datatype> {
    window: Window<'static, T>,
    /// All that was ever attached.
    blocks: RefCell<Vec<Buffer<u8>>>,
}

/// Where elements lie that a rank has attached to a [`DynamicWindow`]: a name that any rank may be told. One that names
/// nothing, or no longer does, makes accesses errors.
pub struct Attached<T> {
    rank: usize,
    part: Part,
    elements: PhantomData<fn() -> T>,
}

/// The place of such elements in their rank's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) address: u64,
    pub(super) len: usize,
}

impl<T> Clone for Attached<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Attached<T> {}

impl<T> std::fmt::Debug for Attached<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Attached").field("rank", &self.rank).field("part", &self.part).finish()
    }
}

impl<T> Attached<T> {
    /// Whose memory it is.
    pub fn rank(self) -> usize {
        self.rank
    }

    /// How many elements there are.
    pub fn len(self) -> usize {
        self.part.len
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// What to tell other ranks, for [`Attached::from_words`].
    pub fn to_words(self) -> [u64; 3] {
        [self.rank as u64, self.part.address, self.part.len as u64]
    }

    /// What another rank has told.
    pub fn from_words([rank, address, len]: [u64; 3]) -> Self {
        Attached { rank: rank as usize, part: Part { address, len: len as usize }, elements: PhantomData }
    }
}

impl<T: Datatype> DynamicWindow<T> {
    /// One without memory. Collective (MPI_Win_create_dynamic, MPI-5.0 section 12.2.5).
    ///
    /// # Errors
    /// As [`Window::allocate`].
    pub fn create(communicator: &Communicator) -> Result<Self> {
        const { element::<T>() };
        let untyped = communicator.create_dynamic_window(&Info::new());
        let window = untyped.and_then(|untyped| {
            let own = Span::of_window(&untyped, 0)?;
            Window::new(untyped, own)
        });
        let met = Window::meet_as_made(communicator, window.as_ref().ok());
        let window = DynamicWindow { window: window?, blocks: RefCell::default() };
        met.map(|()| window)
    }

    /// Attaches `len` elements, all of them `value`. Not collective (MPI_Win_attach).
    ///
    /// # Errors
    /// There is no memory left.
    #[doc(alias = "MPI_Win_attach")]
    pub fn attach(&self, len: usize, value: T) -> Result<Attached<T>> {
        self.window.check_usable()?;
        let untyped = &self.window.untyped;
        // Without a byte there would be no place.
        let bytes = len.max(1).checked_mul(size_of::<T>());
        let heap = untyped.communicator().process().engine().heap().clone();
        let memory = bytes.and_then(|bytes| Buffer::<u8>::shared(&heap, bytes));
        let no_memory = || untyped.error(ErrorClass::NoMemory, format!("there is no memory for {len} elements"));
        let mut memory = memory.ok_or_else(no_memory)?;
        let own = Span::<T>::of_block(&mut memory);
        own.fill(value);
        own.attach(untyped)?;
        self.blocks.borrow_mut().push(memory);
        let part = Part { address: own.address() as u64, len };
        Ok(Attached { rank: untyped.rank(), part, elements: PhantomData })
    }

    /// Detaches elements of this rank's: whoever uses them from now on gets an error. Their memory is given back when
    /// the window is freed. Not collective (MPI_Win_detach).
    ///
    /// # Errors
    /// They are another's, or not attached.
    #[doc(alias = "MPI_Win_detach")]
    pub fn detach(&self, attached: Attached<T>) -> Result<()> {
        self.window.check_usable()?;
        let untyped = &self.window.untyped;
        if attached.rank != untyped.rank() {
            let what = format!("what rank {} has attached only that rank can detach", attached.rank);
            return Err(untyped.error(ErrorClass::RmaAttach, what));
        }
        untyped.detach(attached.part.address as *const u8)
    }

    /// As [`Window::lock`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "MPI_Win_lock")]
    pub fn lock(&self, target: impl Into<Destination>, kind: LockKind) -> Result<Lock<'_, T>> {
        self.window.lock(target, kind)
    }

    /// As [`Window::lock_all`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "MPI_Win_lock_all")]
    pub fn lock_all(&self) -> Result<LockAll<'_, T>> {
        self.window.lock_all()
    }

    /// As [`Window::fence`].
    ///
    /// # Errors
    /// As there.
    #[doc = example!(2
        "let mut window = rwmpi::one_sided::DynamicWindow::create(world)?;"
        "let own = window.attach(1, 0.5)?;"
        "let seen = window.fence(|epoch| {"
        "    epoch.attached(own)?.put_value(0, 1.5)?;"
        "    epoch.fence()?;"
        "    epoch.attached(own)?.get_value(0)"
        "})?;"
        "assert_eq!(seen, 1.5);"
        "window.free()?;"
    )]
    #[doc(alias = "MPI_Win_fence")]
    pub fn fence<R>(&mut self, body: impl FnOnce(&mut Fence<'_, T>) -> Result<R>) -> Result<R> {
        self.window.fence(body)
    }

    /// Gives all memory back, attached or not, when all ranks have come here. Collective (MPI_Win_free). As with
    /// [`Window::free`], it stays if the window is just dropped.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "MPI_Win_free")]
    pub fn free(self) -> Result<()> {
        self.window.end()
    }
}

impl<T: Datatype> Drop for DynamicWindow<T> {
    fn drop(&mut self) {
        if self.window.state.get() != State::Freed {
            // Others may use it at any time.
            std::mem::forget(self.blocks.take());
        }
    }
}

impl<T: Datatype> std::fmt::Debug for DynamicWindow<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DynamicWindow").field("window", &self.window).finish_non_exhaustive()
    }
}

impl<T: Datatype> Lock<'_, T> {
    /// What the locked rank has attached (see [`DynamicWindow`]).
    ///
    /// # Errors
    /// It is memory of another window's ranks.
    pub fn attached(&self, attached: Attached<T>) -> Result<TargetMemory<'_, T>> {
        of_attached(self.target.window, attached)
    }
}

impl<T: Datatype> LockAll<'_, T> {
    /// What a rank has attached (see [`DynamicWindow`]).
    ///
    /// # Errors
    /// There is no such rank.
    pub fn attached(&self, attached: Attached<T>) -> Result<TargetMemory<'_, T>> {
        of_attached(self.window, attached)
    }
}

impl<T: Datatype> Fence<'_, T> {
    /// What a rank has attached (see [`DynamicWindow`]).
    ///
    /// # Errors
    /// There is no such rank.
    pub fn attached(&self, attached: Attached<T>) -> Result<TargetMemory<'_, T>> {
        of_attached(self.window, attached)
    }
}

fn of_attached<'e, T: Datatype>(window: &'e Window<'e, T>, attached: Attached<T>) -> Result<TargetMemory<'e, T>> {
    let whole = TargetMemory::new(window, Destination::Rank(attached.rank))?;
    Ok(TargetMemory { part: Some(attached.part), ..whole })
}
