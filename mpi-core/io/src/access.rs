//! Reading and writing (MPI-5.0 section 14.4).
//!
//! All forms come down to [`File::access`]: a place, a direction, elements. Collective forms are in `collective`. Split
//! collective accesses are done when they begin, and short nonblocking ones when they are started; long ones are the
//! `helper`'s.

use std::rc::Rc;

use rwmpi_core::untyped::Elements;
use rwmpi_core::{ErrorClass, op};

use crate::disk::Moved;
use crate::lock::Locked;
use crate::sieved::Sieved;
use crate::transfer::Scratch;
use crate::{Direction, File, Result, View, transfer};

/// Where an access begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At an offset of the view, in etypes.
    At(i64),
    /// At this rank's pointer, which moves on.
    Individual,
    /// At the pointer that all ranks share, which moves on.
    Shared,
}

/// The kinds of split collective accesses: what begins as one kind ends as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// At an offset.
    At,
    /// At the individual pointer.
    Individual,
    /// At the shared pointer, in the order of ranks.
    Ordered,
}

/// Where the bytes of an access are in the file.
pub(crate) struct Access {
    pub(crate) view: Rc<View>,
    pub(crate) position: u64,
    pub(crate) bytes: u64,
}

/// A split collective access that has begun, and what became of it.
pub(crate) struct Begun {
    split: Split,
    direction: Direction,
    outcome: Result<u64>,
}

impl File {
    /// Reads or writes elements (MPI_File_read_at, MPI_File_write and so on). Returns how many bytes of them were
    /// transferred: when reading, fewer than they have if the file ends before.
    ///
    /// # Errors
    /// The file was not opened for it; the elements are no whole number of etypes; the system does not do it. When
    /// writing, the bytes before the place that the error names have been written.
    pub fn access(&self, direction: Direction, place: Place, elements: &Elements) -> Result<u64> {
        let access = self.prepare(direction, place, elements)?;
        self.transfer(direction, &access, elements)
    }

    /// Finds out where an access is, and moves the pointer on.
    pub(crate) fn prepare(&self, direction: Direction, place: Place, elements: &Elements) -> Result<Access> {
        let operation = direction.words();
        self.may(direction)?;
        let view = self.view();
        let (bytes, etypes) = self.lengths(operation, &view, elements)?;
        let begin = match place {
            Place::At(offset) => {
                self.not_sequential(operation)?;
                u64::try_from(offset).map_err(|_| {
                    self.error(ErrorClass::Argument, operation, format!("the offset {offset} is negative"))
                })?
            }
            Place::Individual => {
                self.not_sequential(operation)?;
                let begin = self.shared.position.get();
                self.shared.position.set(begin.saturating_add(etypes));
                begin
            }
            Place::Shared => {
                let begin = self.shared.word.advance(etypes as i64).map_err(self.lost(operation))?;
                u64::try_from(begin).unwrap_or(0)
            }
        };
        self.accessed(operation, view, begin, bytes)
    }

    fn accessed(&self, operation: &'static str, view: Rc<View>, begin: u64, bytes: u64) -> Result<Access> {
        let position = begin.checked_mul(view.unit()).ok_or_else(|| {
            self.error(ErrorClass::Argument, operation, format!("no file has an offset of {begin} etypes"))
        })?;
        Ok(Access { view, position, bytes })
    }

    /// The same at the shared pointer, in the order of ranks (MPI_File_read_ordered, MPI_File_write_ordered).
    /// Collective: a rank whose arguments are wrong takes part with no elements, so that no other waits.
    ///
    /// # Errors
    /// As [`File::access`]; what is wrong with the elements.
    pub fn access_ordered(
        &self,
        direction: Direction,
        elements: &std::result::Result<Elements, rwmpi_core::Error>,
    ) -> Result<u64> {
        let (operation, communicator) = (direction.words(), &self.shared.communicator);
        let view = self.view();
        let lost = self.lost(operation);
        let mine = self.may(direction).and_then(|()| {
            let elements = elements.as_ref().map_err(|error| lost(error.clone()))?;
            Ok((elements, self.lengths(operation, &view, elements)?))
        });
        let etypes = mine.as_ref().map_or(0, |(_, (_, etypes))| *etypes);
        let before = communicator.exscan_value(etypes, op::sum).map_err(&lost)?.unwrap_or(0);
        // The last one knows how many they are together.
        let last = communicator.size() - 1;
        let begin = match communicator.rank() == last {
            true => self.shared.word.advance((before + etypes) as i64),
            false => Ok(0),
        };
        let begin = self.agree(operation, begin.map_err(&lost))?;
        let begin = communicator.bcast_value(begin, last).map_err(&lost)?;
        let begin = u64::try_from(begin).unwrap_or(0).saturating_add(before);
        let mine = mine
            .and_then(|(elements, (bytes, _))| Ok((self.accessed(operation, view.clone(), begin, bytes)?, elements)));
        self.transfer_all(direction, mine)
    }

    /// Begins a split collective access (MPI_File_read_at_all_begin and so on).
    ///
    /// # Errors
    /// Another one has begun and not ended; the elements can't be used. What else goes wrong its end says.
    pub fn begin(
        &self,
        direction: Direction,
        split: Split,
        offset: i64,
        elements: std::result::Result<Elements, rwmpi_core::Error>,
    ) -> Result<()> {
        if self.shared.split.borrow().is_some() {
            let what = "a split collective access has begun and not ended";
            return Err(self.error(ErrorClass::Request, direction.words(), what));
        }
        let outcome = match split {
            Split::Ordered => self.access_ordered(direction, &elements),
            Split::At => self.access_all(direction, Place::At(offset), &elements),
            Split::Individual => self.access_all(direction, Place::Individual, &elements),
        };
        if elements.is_err() {
            return outcome.map(drop);
        }
        *self.shared.split.borrow_mut() = Some(Begun { split, direction, outcome });
        Ok(())
    }

    /// Ends it (MPI_File_read_at_all_end and so on).
    ///
    /// # Errors
    /// None of that kind has begun; as [`File::access`].
    pub fn end(&self, direction: Direction, split: Split) -> Result<u64> {
        let begun =
            self.shared.split.borrow_mut().take_if(|begun| (begun.split, begun.direction) == (split, direction));
        begun.map_or_else(
            || {
                let what = "no split collective access of this kind has begun";
                Err(self.error(ErrorClass::Request, direction.words(), what))
            },
            |begun| begun.outcome,
        )
    }

    fn may(&self, direction: Direction) -> Result<()> {
        match direction {
            Direction::Write => self.may_write(direction.words()),
            Direction::Read if !self.shared.mode.reads() => {
                let what = "it was opened with MPI_MODE_WRONLY";
                Err(self.error(ErrorClass::Access, direction.words(), what))
            }
            Direction::Read => Ok(()),
        }
    }

    pub(crate) fn not_sequential(&self, operation: &'static str) -> Result<()> {
        match self.shared.mode.sequential {
            true => {
                let what = "it was opened with MPI_MODE_SEQUENTIAL: only the shared pointer is for it";
                Err(self.error(ErrorClass::UnsupportedOperation, operation, what))
            }
            false => Ok(()),
        }
    }

    /// How many bytes elements have in the file, and how many etypes they are.
    fn lengths(&self, operation: &'static str, view: &View, elements: &Elements) -> Result<(u64, u64)> {
        let bytes = transfer::bytes_in_file(view, elements).map_err(self.lost(operation))?;
        match bytes.checked_rem(view.unit()) {
            Some(0) => Ok((bytes, bytes / view.unit())),
            _ => {
                let what = format!("{bytes} bytes are no whole number of etypes, which have {}", view.unit());
                Err(self.error(ErrorClass::InputOutput, operation, what))
            }
        }
    }

    /// This rank's access, by itself.
    pub(crate) fn transfer(&self, direction: Direction, access: &Access, elements: &Elements) -> Result<u64> {
        let Access { view, position, bytes } = access;
        if !view.representation().is_as_in_memory() {
            return self.transfer_converted(direction, access, elements);
        }
        self.exclusively(direction, |disk, scratch| match direction {
            Direction::Read => transfer::read(disk, view, *position, elements, scratch),
            Direction::Write => {
                transfer::write(disk, view, *position..position.saturating_add(*bytes), (elements, 0), &scratch.ways)
            }
        })
    }

    /// Moves bytes, while nobody else does if the file is atomic. Returns how many.
    pub(crate) fn exclusively(
        &self,
        direction: Direction,
        work: impl FnOnce(&Sieved<'_>, &mut Scratch) -> Moved,
    ) -> Result<u64> {
        let operation = direction.words();
        self.with_disk(operation, |disk| {
            let is_written = direction == Direction::Write;
            let locked = self.is_atomic().then(|| Locked::new(disk, is_written)).transpose();
            let locked = locked.map_err(|error| self.failed("locking", &error))?;
            let moved = work(&self.sieved(disk), &mut self.shared.scratch.borrow_mut());
            drop(locked);
            self.outcome(operation, moved)
        })
    }

    pub(crate) fn outcome(&self, operation: &'static str, Moved { bytes, failure }: Moved) -> Result<u64> {
        let Some(failure) = failure else { return Ok(bytes) };
        Err(self.failed(operation, &failure.error).at(failure.at).after(bytes))
    }
}
