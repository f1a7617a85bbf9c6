//! File pointers and views (MPI-5.0 sections 14.3 and 14.4): where the next access begins.
//!
//! Pointers count etypes of the view, from its displacement on.

use std::rc::Rc;

use rwmpi_core::datatype::Datatype;
use rwmpi_core::{ErrorClass, Info};

use crate::{Error, File, Representation, Result, View};

const SEEKING: &str = "moving a pointer of";
const VIEWING: &str = "setting the view of";

/// From where a pointer is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The beginning of the view: MPI_SEEK_SET.
    Set,
    /// Where it is: MPI_SEEK_CUR.
    Current,
    /// The end of the file: MPI_SEEK_END.
    End,
}

impl File {
    /// Sets what this rank sees (MPI_File_set_view). Collective; all pointers are at the beginning then. Without a
    /// displacement the view begins at the shared pointer (MPI_DISPLACEMENT_CURRENT).
    ///
    /// # Errors
    /// The ranks' etypes have different sizes; the view can't be used.
    pub fn set_view(
        &self,
        displacement: Option<i64>,
        etype: &Datatype,
        filetype: &Datatype,
        representation: &Representation,
        info: &Info,
    ) -> Result<()> {
        self.meet_if_sequential()?;
        let mine = self.new_view(displacement, etype, filetype, representation).and_then(|view| {
            if self.shared.communicator.rank() == 0 {
                self.shared.word.prepare(0).map_err(self.lost(VIEWING))?;
            }
            Ok(view)
        });
        let view = self.agree(VIEWING, mine)?;
        // Pointers that all ranks share need etypes that are one size for all.
        let told = [view.etype().extent(), view.unit() as i64];
        let is_same = self.check_same(VIEWING, &told);
        self.shared.word.turn();
        is_same?;
        self.keep_hints(info);
        self.shared.view.replace(Rc::new(view));
        self.shared.position.set(0);
        Ok(())
    }

    /// Takes part in setting views with arguments that can't be used, so that no other rank waits.
    #[cold]
    pub fn refuse_view(&self, error: &rwmpi_core::Error) -> Error {
        let mine = Err::<(), _>(self.error(error.class(), VIEWING, error.to_string()));
        match self.meet_if_sequential().and_then(|()| self.agree(VIEWING, mine)) {
            Ok(()) => self.error(ErrorClass::Internal, VIEWING, "the ranks agree on what one has refused"),
            Err(error) => error,
        }
    }

    /// Where the view begins at the shared pointer, no rank may move that any more.
    fn meet_if_sequential(&self) -> Result<()> {
        if self.shared.mode.sequential { self.agree(VIEWING, Ok(())) } else { Ok(()) }
    }

    fn new_view(
        &self,
        displacement: Option<i64>,
        etype: &Datatype,
        filetype: &Datatype,
        representation: &Representation,
    ) -> Result<View> {
        let displacement = match displacement {
            Some(displacement) if self.shared.mode.sequential => {
                let what =
                    format!("the displacement {displacement} is not MPI_DISPLACEMENT_CURRENT; the file is sequential");
                return Err(self.error(ErrorClass::Argument, VIEWING, what));
            }
            Some(displacement) => displacement,
            None if self.shared.mode.sequential => self.shared_byte()?,
            None => {
                let what = "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL";
                return Err(self.error(ErrorClass::Argument, VIEWING, what));
            }
        };
        let displacement = u64::try_from(displacement).map_err(|_| {
            self.error(ErrorClass::Argument, VIEWING, format!("the displacement {displacement} is negative"))
        })?;
        View::new(displacement, etype, filetype, representation.clone(), self.shared.mode.writes())
            .map_err(|(class, what)| self.error(class, VIEWING, what))
    }

    /// The byte of the file at the shared pointer.
    fn shared_byte(&self) -> Result<i64> {
        let position = self.shared.word.value().map_err(self.lost(VIEWING))?;
        self.byte_offset(position)
    }

    /// Which byte of the file that offset of the view is (MPI_File_get_byte_offset).
    ///
    /// # Errors
    /// It is negative, or no byte.
    pub fn byte_offset(&self, offset: i64) -> Result<i64> {
        const CONVERTING: &str = "converting an offset of";
        let view = self.view();
        let position = u64::try_from(offset).ok().and_then(|offset| offset.checked_mul(view.unit()));
        let byte = position.and_then(|position| view.place(position)).map(|place| place.0 as i64);
        byte.ok_or_else(|| {
            self.error(ErrorClass::Argument, CONVERTING, format!("the view has no byte at offset {offset}"))
        })
    }

    /// Moves this rank's pointer (MPI_File_seek).
    ///
    /// # Errors
    /// It would be before the beginning.
    pub fn seek(&self, offset: i64, whence: Whence) -> Result<()> {
        self.not_sequential(SEEKING)?;
        let position = self.target(offset, whence, || Ok(self.shared.position.get() as i64))?;
        self.shared.position.set(position);
        Ok(())
    }

    /// Where it is (MPI_File_get_position).
    ///
    /// # Errors
    /// The file is sequential.
    pub fn position(&self) -> Result<i64> {
        self.not_sequential("asking for a pointer of")?;
        Ok(self.shared.position.get() as i64)
    }

    /// Moves the shared pointer (MPI_File_seek_shared). Collective.
    ///
    /// # Errors
    /// As [`File::seek`]; the ranks don't say the same.
    pub fn seek_shared(&self, offset: i64, whence: Whence) -> Result<()> {
        self.check_same(SEEKING, &[offset, whence as i64])?;
        let value = || self.shared.word.value().map_err(self.lost(SEEKING));
        let mine = self.target(offset, whence, value);
        let position = self.agree(SEEKING, mine)?;
        self.set_shared_pointer(SEEKING, position)
    }

    /// The same for all ranks, which say the same.
    pub(crate) fn set_shared_pointer(&self, operation: &'static str, position: u64) -> Result<()> {
        let mine = match self.shared.communicator.rank() {
            0 => self.shared.word.prepare(position as i64).map_err(self.lost(operation)),
            _ => Ok(()),
        };
        let outcome = self.agree(operation, mine);
        self.shared.word.turn();
        outcome
    }

    /// Where the shared pointer is (MPI_File_get_position_shared).
    ///
    /// # Errors
    /// The ranks have no memory in common.
    pub fn shared_position(&self) -> Result<i64> {
        self.shared.word.value().map_err(self.lost("asking for the shared pointer of"))
    }

    fn target(&self, offset: i64, whence: Whence, current: impl FnOnce() -> Result<i64>) -> Result<u64> {
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => current()?,
            Whence::End => self.view().etypes_within(self.size()?) as i64,
        };
        let target = from.checked_add(offset).and_then(|target| u64::try_from(target).ok());
        target.ok_or_else(|| {
            let what = format!("offset {offset} from {from} is before the beginning of the view");
            self.error(ErrorClass::Argument, SEEKING, what)
        })
    }

    /// Bytes in the file from one element of a datatype to the next (MPI_File_get_type_extent).
    ///
    /// # Errors
    /// They exceed 64 bits; the program does not say how many a predefined datatype has.
    pub fn type_extent(&self, datatype: &Datatype) -> rwmpi_core::Result<i64> {
        Ok(self.view().representation().in_file(datatype)?.extent())
    }
}
