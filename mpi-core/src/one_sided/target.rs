//! The memory of a rank in an epoch: put and get (MPI-5.0 section 12.3).

use super::dynamic::Part;
use super::memory::{origin, result, some_value};
use super::{Window, lock};
use crate::window::Remote;
use crate::{Datatype, Destination, Error, ErrorClass, Result};

/// A rank's memory, as long as an epoch lets this rank use it. Places are numbers of elements. Memory of nobody
/// ([`PROC_NULL`](crate::PROC_NULL)) takes what is put there, and has no values.
#[doc = example!(2
    "use rwmpi::{LockKind, PROC_NULL, Window};"
    "let window = Window::allocate(world, 3, 0.0)?;"
    "if rank == 0 {"
    "    let other = window.lock(1, LockKind::Exclusive)?;"
    "    other.put(1, &[2.5, 3.5])?;"
    "    other.put_value(0, 1.5)?;"
    "    let mut all = [0.0; 3];"
    "    other.get(0, &mut all)?;"
    "    assert_eq!((all, other.get_value(2)?), ([1.5, 2.5, 3.5], 3.5));"
    "    assert_eq!((other.rank(), other.len()), (Some(1), 3));"
    "    assert!(other.put(2, &all).unwrap_err().to_string().contains(\"not within\"));"
    "}"
    "let epoch = window.lock_all()?;"
    "epoch.target(PROC_NULL)?.put(100, &[1.0])?;"
    "assert!(epoch.target(PROC_NULL)?.is_empty() && epoch.target(2).is_err());"
    "drop(epoch);"
    "window.free()?;"
)]
#[derive(Debug)]
pub struct TargetMemory<'e, T> {
    pub(super) window: &'e Window<'e, T>,
    pub(super) rank: Destination,
    /// What is meant of its memory, where that comes and goes; `None`: all of it.
    pub(super) part: Option<Part>,
}

impl<'e, T: Datatype> TargetMemory<'e, T> {
    /// # Errors
    /// There is no such rank.
    pub(super) fn new(window: &'e Window<'e, T>, rank: Destination) -> Result<Self> {
        window.untyped.checked_target(rank)?;
        Ok(TargetMemory { window, rank, part: None })
    }

    /// Whose memory it is; `None`: nobody's.
    pub fn rank(&self) -> Option<usize> {
        self.rank.rank()
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        match self.part {
            Some(part) => part.len,
            None => self.rank().and_then(|rank| self.window.len_of(rank)).unwrap_or(0),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies values to there, from number `at` on (MPI_Put). They may be used otherwise when this returns; the others
    /// see them when the epoch has ended, or after a flush.
    ///
    /// # Errors
    /// Not all of these elements are within the target's memory; it does not belong to the epoch.
    #[inline]
    #[doc(alias = "MPI_Put")]
    pub fn put(&self, at: usize, values: &[T]) -> Result<()> {
        let datatype = &self.window.datatype;
        self.window.untyped.put(&origin(values, datatype), self.remote(at, values.len())?)
    }

    /// Copies one value to there.
    ///
    /// # Errors
    /// As [`TargetMemory::put`].
    #[inline]
    pub fn put_value(&self, at: usize, value: T) -> Result<()> {
        self.put(at, &[value])
    }

    /// Copies values from there, which have come when this returns (MPI_Get and a flush).
    ///
    /// # Errors
    /// As [`TargetMemory::put`].
    #[inline]
    #[doc(alias = "MPI_Get")]
    pub fn get(&self, at: usize, values: &mut [T]) -> Result<()> {
        let (datatype, count) = (&self.window.datatype, values.len());
        self.window.untyped.get(&result(values, datatype), self.remote(at, count)?)
    }

    /// Copies one value from there.
    ///
    /// # Errors
    /// As [`TargetMemory::put`]; of nobody there is none.
    #[inline]
    pub fn get_value(&self, at: usize) -> Result<T> {
        self.check_somebody()?;
        let mut values = [some_value::<T>()];
        self.get(at, &mut values)?;
        Ok(values[0])
    }

    /// The same, as long as this is borrowed.
    pub(super) fn again(&self) -> TargetMemory<'_, T> {
        TargetMemory { window: self.window, ..*self }
    }

    /// Asks for values from there, which can be had when they are [waited](Requested::wait) for.
    pub(super) fn request(self, at: usize, count: usize) -> Result<Requested<'e, T>> {
        self.window.untyped.check_request(self.rank)?;
        // Before there is made room for what nobody has.
        if self.rank().is_some() {
            self.check_range(at, count)?;
        }
        let count = if self.rank().is_some() { count } else { 0 };
        let mut values = vec![some_value::<T>(); count];
        self.get(at, &mut values)?;
        Ok(Requested { target: self, values })
    }

    /// Whether so many elements are there.
    fn check_range(&self, at: usize, count: usize) -> Result<()> {
        if at <= self.len() && count <= self.len() - at {
            return Ok(());
        }
        let target = self.rank().map_or("nobody".to_owned(), |rank| format!("target {rank}"));
        let what = format!("{count} elements from number {at} on are not within the {} of {target}", self.len());
        Err(self.window.untyped.error(ErrorClass::RmaRange, what))
    }

    /// Whether it is somebody's.
    pub(super) fn check_somebody(&self) -> Result<()> {
        if self.rank().is_some() { Ok(()) } else { Err(self.nobody()) }
    }

    #[cold]
    fn nobody(&self) -> Error {
        self.window.untyped.error(ErrorClass::Rank, "there is no value to be had from nobody".to_owned())
    }

    /// Elements from number `at` on.
    ///
    /// # Errors
    /// They are not within the part that is meant; where all of a rank's memory is, the operation finds that out.
    #[inline]
    pub(super) fn remote(&self, at: usize, count: usize) -> Result<Remote<'e>> {
        // What is too large for that is beyond any memory.
        let mut displacement = i64::try_from(at).unwrap_or(i64::MAX);
        if let Some(part) = self.part {
            self.check_range(at, count)?;
            displacement = part.address.wrapping_add((at as u64).wrapping_mul(size_of::<T>() as u64)).cast_signed();
        }
        Ok(Remote { rank: self.rank, displacement, count: count as u64, datatype: &self.window.datatype })
    }
}

/// Values that have been asked for, and are there after a flush only (MPI_Rget). Made by
/// [`Lock::request_get`](lock::Lock::request_get).
#[doc = example!(2
    "let window = rwmpi::Window::allocate(world, 8, rank)?;"
    "let epoch = window.lock_all()?;"
    "let requested = [epoch.request_get(0, 0, 2)?, epoch.request_get(1, 6, 1)?];"
    "// Other work; then:"
    "let values: Vec<usize> = requested.into_iter().map(|got| got.wait()).collect::<rwmpi::Result<Vec<_>>>()?.concat();"
    "assert_eq!(values, [0, 0, 1]);"
    "drop(epoch);"
    "window.free()?;"
)]
#[must_use = "the values are had by waiting for them"]
#[derive(Debug)]
#[doc(alias = "MPI_Rget")]
pub struct Requested<'e, T> {
    target: TargetMemory<'e, T>,
    values: Vec<T>,
}

impl<T: Datatype> Requested<'_, T> {
    /// The values, when they have come. Of nobody there are none.
    ///
    /// # Errors
    /// The target can't be reached.
    #[doc(alias = "MPI_Wait")]
    pub fn wait(self) -> Result<Vec<T>> {
        lock::flush(&self.target)?;
        Ok(self.values)
    }
}
