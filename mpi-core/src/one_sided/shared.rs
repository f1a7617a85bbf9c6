//! Windows of memory that all ranks see, each rank's part behind the one before (MPI-5.0 section 12.2.3): their ranks
//! load and store in each other's parts, without an operation.

use super::memory::Span;
use super::step::Step;
use super::{Fence, Local, LockAll, Window, element};
use crate::{Communicator, Datatype, Destination, ErrorClass, Info, Result};

impl<T: Datatype> Window<'static, T> {
    /// A window of memory that all ranks see, `len` elements of this rank's, all of them `value`. Collective; the ranks
    /// may have different lengths, and must be of one node
    /// ([`Communicator::split_type`](crate::Communicator::split_type); MPI_Win_allocate_shared).
    ///
    /// # Errors
    /// As [`Window::allocate`]; the ranks have no memory in common.
    #[doc = example!(3
        "let mut window = rwmpi::Window::allocate_shared(world, rank + 1, rank)?;"
        "let sum = window.fence(|epoch| {"
        "    epoch.read_all(|parts| parts.iter().map(|part| part.iter().sum::<usize>()).sum::<usize>())"
        "})?;"
        "assert_eq!(sum, 0 + 2 * 1 + 3 * 2);"
        "window.free()?;"
    )]
    #[doc(alias = "MPI_Win_allocate_shared")]
    pub fn allocate_shared(communicator: &Communicator, len: usize, value: T) -> Result<Self> {
        const { element::<T>() };
        let size = len.saturating_mul(size_of::<T>()) as u64;
        let untyped = communicator.allocate_shared_window(size, size_of::<T>() as i64, &Info::new());
        Window::allocated(communicator, untyped, len, value)
    }
}

impl<'w, T: Datatype> Window<'w, T> {
    /// Where this process sees a rank's memory.
    fn seen(&self, rank: usize) -> Result<Span<T>> {
        if rank == self.rank() {
            return Ok(self.own);
        }
        let not_seen = || {
            let what = format!(
                "this process does not see the memory of rank {rank}: Window::allocate_shared makes windows where all do"
            );
            self.untyped.error(ErrorClass::RmaShared, what)
        };
        Span::of_rank(&self.untyped, rank).ok_or_else(not_seen)
    }
}

impl<T: Datatype> LockAll<'_, T> {
    /// The memory of a rank that this process sees, as it sees its own: loads and stores. Others may be changing it.
    ///
    /// # Errors
    /// It does not see it; there is no such rank.
    #[doc = example!(2
        "let window = rwmpi::Window::allocate_shared(world, 2, 0)?;"
        "let epoch = window.lock_all()?;"
        "epoch.seen(1 - rank)?.set(1, rank + 5)?;"
        "epoch.sync();"
        "world.barrier()?;"
        "assert_eq!(epoch.local().get(1)?, 1 - rank + 5);"
        "drop(epoch);"
        "window.free()?;"
    )]
    #[doc(alias = "MPI_Win_shared_query")]
    pub fn seen(&self, rank: usize) -> Result<Local<'_, T>> {
        self.window.untyped.checked_target(Destination::Rank(rank))?;
        Ok(Local::of(self.window, self.window.seen(rank)?))
    }
}

impl<T: Datatype> Fence<'_, T> {
    /// A fence, the memory of all ranks while nobody changes any, and another fence: slices, by rank. Collective; the
    /// window is one of [`Window::allocate_shared`], or its ranks see each other's memory for another reason.
    ///
    /// # Errors
    /// As [`Fence::fence`]; a rank does not see the memory of all.
    #[doc = example!(2
        "let mut window = rwmpi::Window::allocate_shared(world, 1, 0.5 + rank as f64)?;"
        "window.fence(|epoch| {"
        "    assert_eq!(epoch.read_all(|parts| parts.concat())?, [0.5, 1.5]);"
        "    epoch.locally(|own| own[0] += 1.0)?;"
        "    assert_eq!(epoch.read_all(|parts| parts[1][0])?, 2.5);"
        "    Ok(())"
        "})?;"
        "window.free()?;"
    )]
    ///
    /// The slices end with it:
    ///
    /// ```compile_fail
    /// # extern crate rwmpi_core as rwmpi;
    /// # use rwmpi::Window;
    /// # fn misuse(mut window: Window<u64>) -> rwmpi::Result<u64> {
    /// window.fence(|epoch| Ok(epoch.read_all(|parts| parts[0])?[0]))
    /// # }
    /// # fn main() {}
    /// ```
    pub fn read_all<R>(&mut self, body: impl FnOnce(&[&[T]]) -> R) -> Result<R> {
        let parts: Result<Vec<Span<T>>> = (0..self.window.size()).map(|rank| self.window.seen(rank)).collect();
        let (parts, seen) = match parts {
            Ok(parts) => (parts, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        self.window.meet(Step::Reading, seen)?;
        let value = Span::while_all_read(&parts, body);
        self.window.meet(Step::ReadingEnd, Ok(()))?;
        Ok(value)
    }
}
