//! Files for Rust programs: files of elements of one type, whose misuse does not compile, or is an error.
//!
//! A [`File`] is a file of elements, as a slice is memory of elements. What a rank sees of it, its [`FileView`] says;
//! offsets count elements of what it sees. A file that is just dropped stays open, since others may go on using it: it
//! is closed by all ranks together.
#![allow(unsafe_code)]

mod options;
mod view;

use std::marker::PhantomData;

use rwmpi_core::datatype::{Basic, Datatype as Untyped};
use rwmpi_core::untyped::Elements;
use rwmpi_core::{Communicator, Datatype, Info};

pub use self::options::OpenOptions;
pub use self::view::FileView;
use crate::{Direction, Place, Representation, Result, View, Whence};

/// Whatever bytes a file has are elements of such a type, and all bytes of these are written.
const fn element<T: Datatype>() {
    assert!(
        T::DIRECT && T::SIZE > 0,
        "elements of a file are plain data without padding, of which any bits are a value: numbers, arrays of them, structures with \
         #[repr(C)] and #[derive(Datatype)]"
    );
}

/// A file of elements that all ranks of a communicator have open (MPI-5.0 chapter 14).
///
/// Its elements are plain data without padding, of which any bits are a value: numbers, arrays of them, structures with
/// `#[repr(C)]` and `#[derive(Datatype)]`. Calls that end in `_all` are made by all ranks together, each with elements
/// of its own, and perhaps with none: short pieces that lie between each other's are read and written together then, in
/// long calls.
#[doc = example!(2
    "use rwmpi::{File, FileView, OpenOptions};"
    "# let path = std::env::temp_dir().join(format!(\"rwmpi-typed-{}\", std::process::id()));"
    "# let path = path.to_str().unwrap();"
    "let options = OpenOptions::new().read(true).write(true).create(true);"
    "let mut file = File::<f64>::open(world, path, &options)?;"
    "// Rank 0 has the elements 0, 2, 4, 6, and rank 1 those between."
    "file.set_view(&FileView::blocks(1, 2).from_byte(8 * rank as u64))?;"
    "file.write_at_all(0, &[rank as f64; 4])?;"
    "// Now all see all of it."
    "file.set_view(&FileView::all())?;"
    "let mut all = [0.5; 9];"
    "assert_eq!(file.read_at_all(0, &mut all)?, 8, \"the file ends there\");"
    "assert_eq!(all, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.5]);"
    "file.close()?;"
    "# world.barrier()?;"
    "if rank == 0 {"
    "    rwmpi::delete_file(path)?;"
    "}"
)]
///
/// Errors say which file, where and why:
#[doc = example!(2
    "use rwmpi::{File, OpenOptions};"
    "let error = File::<u8>::open(world, \"/nowhere/at/all\", &OpenOptions::new().read(true)).err().unwrap();"
    "assert_eq!((error.class(), error.path()), (rwmpi::ErrorClass::NoSuchFile, \"/nowhere/at/all\"));"
    "assert_eq!((error.offset(), error.reason()), (None, \"No such file or directory\"));"
)]
#[doc(alias = "MPI_File")]
pub struct File<T> {
    untyped: crate::File,
    is_closed: bool,
    elements: PhantomData<T>,
}

impl<T: Datatype> File<T> {
    /// Opens a file at all ranks, or at none. Collective. All see all of it at first.
    ///
    /// # Errors
    /// The ranks don't ask for the same; the system does not open it, for one of them.
    #[doc(alias = "MPI_File_open")]
    pub fn open(communicator: &Communicator, path: &str, options: &OpenOptions) -> Result<Self> {
        const { element::<T>() };
        let (mode, info) = (options.mode(), options.info());
        let info = info.map_err(|error| crate::File::refuse_open(communicator, &error))?;
        let untyped = crate::File::open(communicator, path, mode, &info)?;
        let file = File { untyped, is_closed: false, elements: PhantomData };
        let view = Self::element_type().and_then(|element| {
            View::new(0, &element, &element, Representation::Native, mode.writes())
                .map_err(|(class, what)| rwmpi_core::Error::new(class, what))
        });
        // No other rank has to know of it.
        file.untyped.shared.view.replace(view.map_err(file.untyped.lost("opening"))?.into());
        Ok(file)
    }

    /// The datatype of an element: its bytes.
    fn element_type() -> rwmpi_core::Result<Untyped> {
        Untyped::contiguous(size_of::<T>() as i64, &Untyped::basic(Basic::Byte))
    }

    /// Sets what this rank sees of the file; offsets count from its beginning. Collective.
    ///
    /// # Errors
    /// There is no such view; another rank has met an error.
    #[doc(alias = "MPI_File_set_view")]
    pub fn set_view(&mut self, view: &FileView) -> Result<()> {
        let datatypes = Self::element_type().and_then(|element| Ok((view.filetype(&element)?, element)));
        let (filetype, element) = datatypes.map_err(|error| self.untyped.refuse_view(&error))?;
        let displacement = i64::try_from(view.displacement()).unwrap_or(i64::MAX);
        self.untyped.set_view(Some(displacement), &element, &filetype, &Representation::Native, &Info::new())
    }

    /// Reads elements from an offset on. Returns how many: fewer than there is room for if the file ends before.
    ///
    /// # Errors
    /// The file was not opened for reading; the system can't read it.
    #[doc = example!(1
        "# let path = std::env::temp_dir().join(format!(\"rwmpi-read-{}\", std::process::id()));"
        "# let path = path.to_str().unwrap();"
        "let options = rwmpi::OpenOptions::new().read(true).write(true).create(true).delete_on_close(true);"
        "let file = rwmpi::File::<u32>::open(world, path, &options)?;"
        "file.write_at(2, &[7, 8])?;"
        "let mut some = [1; 4];"
        "assert_eq!((file.read_at(1, &mut some)?, some), (3, [0, 7, 8, 1]));"
        "file.close()?;"
    )]
    #[doc(alias = "MPI_File_read_at")]
    pub fn read_at(&self, offset: u64, into: &mut [T]) -> Result<usize> {
        self.read_from(Place::At(number(offset)), into)
    }

    /// The same by all ranks together. Collective.
    ///
    /// # Errors
    /// As [`File::read_at`]; where ranks work together, what another of them has met.
    #[doc(alias = "MPI_File_read_at_all")]
    pub fn read_at_all(&self, offset: u64, into: &mut [T]) -> Result<usize> {
        self.read_all_from(Place::At(number(offset)), into)
    }

    /// Writes elements from an offset on.
    ///
    /// # Errors
    /// The file was not opened for writing; the system does not take all of them: where the error says, they end.
    #[doc(alias = "MPI_File_write_at")]
    pub fn write_at(&self, offset: u64, elements: &[T]) -> Result<()> {
        self.untyped.access(Direction::Write, Place::At(number(offset)), &written(elements)).map(drop)
    }

    /// The same by all ranks together. Collective.
    ///
    /// # Errors
    /// As [`File::write_at`]; where ranks work together, what another of them has met.
    #[doc(alias = "MPI_File_write_at_all")]
    pub fn write_at_all(&self, offset: u64, elements: &[T]) -> Result<()> {
        self.untyped.access_all(Direction::Write, Place::At(number(offset)), &Ok(written(elements))).map(drop)
    }

    /// Reads elements from where the last call of this rank without an offset has come to. Returns how many.
    ///
    /// # Errors
    /// As [`File::read_at`].
    #[doc = example!(1
        "# let path = std::env::temp_dir().join(format!(\"rwmpi-pointer-{}\", std::process::id()));"
        "# let path = path.to_str().unwrap();"
        "let options = rwmpi::OpenOptions::new().read(true).write(true).create(true).delete_on_close(true);"
        "let file = rwmpi::File::<u8>::open(world, path, &options)?;"
        "file.write(b\"one \")?;"
        "file.write(b\"two\")?;"
        "assert_eq!(file.position()?, 7);"
        "file.seek(4)?;"
        "let mut word = [0; 3];"
        "assert_eq!((file.read(&mut word)?, &word), (3, b\"two\"));"
        "file.close()?;"
    )]
    #[doc(alias = "MPI_File_read")]
    pub fn read(&self, into: &mut [T]) -> Result<usize> {
        self.read_from(Place::Individual, into)
    }

    /// Writes elements to where the last call of this rank without an offset has come to.
    ///
    /// # Errors
    /// As [`File::write_at`].
    #[doc(alias = "MPI_File_write")]
    pub fn write(&self, elements: &[T]) -> Result<()> {
        self.untyped.access(Direction::Write, Place::Individual, &written(elements)).map(drop)
    }

    /// Lets calls of this rank without an offset go on from this one.
    ///
    /// # Errors
    /// It is none that a file can have.
    #[doc(alias = "MPI_File_seek")]
    pub fn seek(&self, offset: u64) -> Result<()> {
        self.untyped.seek(number(offset), Whence::Set)
    }

    /// From where they go on.
    ///
    /// # Errors
    /// None.
    #[doc(alias = "MPI_File_get_position")]
    pub fn position(&self) -> Result<u64> {
        self.untyped.position().map(i64::cast_unsigned)
    }

    /// Writes elements of all ranks, behind what was written by such calls before: those of rank 0 first, then those of
    /// rank 1, and so on. Collective; all must see the same of the file.
    ///
    /// # Errors
    /// As [`File::write_at`].
    #[doc = example!(3
        "# let path = std::env::temp_dir().join(format!(\"rwmpi-ordered-{}\", std::process::id()));"
        "# let path = path.to_str().unwrap();"
        "let options = rwmpi::OpenOptions::new().read(true).write(true).create(true);"
        "let file = rwmpi::File::<u8>::open(world, path, &options)?;"
        "file.write_ordered(format!(\"line of rank {rank}\\n\").as_bytes())?;"
        "file.close()?;"
        "# world.barrier()?;"
        "if rank == 0 {"
        "    assert_eq!(std::fs::read_to_string(path).unwrap(), \"line of rank 0\\nline of rank 1\\nline of rank 2\\n\");"
        "    rwmpi::delete_file(path)?;"
        "}"
    )]
    #[doc(alias = "MPI_File_write_ordered")]
    pub fn write_ordered(&self, elements: &[T]) -> Result<()> {
        self.untyped.access_ordered(Direction::Write, &Ok(written(elements))).map(drop)
    }

    /// Its length in bytes.
    ///
    /// # Errors
    /// The system does not say.
    #[doc = example!(2
        "# let path = std::env::temp_dir().join(format!(\"rwmpi-size-{}\", std::process::id()));"
        "# let path = path.to_str().unwrap();"
        "let options = rwmpi::OpenOptions::new().read(true).write(true).create(true).delete_on_close(true);"
        "let file = rwmpi::File::<u64>::open(world, path, &options)?;"
        "file.set_size(80)?;"
        "assert_eq!((file.size()?, file.path()), (80, path));"
        "file.sync()?;"
        "file.close()?;"
    )]
    #[doc(alias = "MPI_File_get_size")]
    pub fn size(&self) -> Result<u64> {
        self.untyped.size()
    }

    /// Makes it so many bytes long. Collective.
    ///
    /// # Errors
    /// The ranks don't say the same; the system does not do it.
    #[doc(alias = "MPI_File_set_size")]
    pub fn set_size(&self, bytes: u64) -> Result<()> {
        self.untyped.set_size(number(bytes))
    }

    /// What this rank has written is on the disk when it returns, and other ranks see it. Collective.
    ///
    /// # Errors
    /// The system could not write it.
    #[doc(alias = "MPI_File_sync")]
    pub fn sync(&self) -> Result<()> {
        self.untyped.sync()
    }

    /// Its name.
    pub fn path(&self) -> &str {
        self.untyped.path()
    }

    /// Closes it. Collective. A file that is dropped otherwise stays open.
    ///
    /// # Errors
    /// The system could not write what it had taken, or delete a file that was to be deleted.
    #[doc(alias = "MPI_File_close")]
    pub fn close(mut self) -> Result<()> {
        self.is_closed = true;
        self.untyped.close()
    }

    fn read_from(&self, place: Place, into: &mut [T]) -> Result<usize> {
        self.untyped.access(Direction::Read, place, &room(into)).map(whole::<T>)
    }

    fn read_all_from(&self, place: Place, into: &mut [T]) -> Result<usize> {
        self.untyped.access_all(Direction::Read, place, &Ok(room(into))).map(whole::<T>)
    }
}

impl<T> Drop for File<T> {
    fn drop(&mut self) {
        if !self.is_closed {
            // Others may be using memory of this rank's that belongs to it.
            std::mem::forget(self.untyped.clone());
        }
    }
}

/// An offset as MPI counts: beyond all files if it is beyond that.
fn number(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

/// How many elements are whole in so many bytes.
fn whole<T>(bytes: u64) -> usize {
    bytes as usize / size_of::<T>()
}

/// The bytes of elements that are written.
fn written<T: Datatype>(elements: &[T]) -> Elements {
    // SAFETY: they are lent until the call returns, which only reads them; by `element` none of their bytes is padding.
    unsafe { bytes(elements.as_ptr().cast_mut().cast(), size_of_val(elements)) }
}

/// The bytes of elements that are read.
fn room<T: Datatype>(elements: &mut [T]) -> Elements {
    // SAFETY: they are lent until the call returns; by `element` any bytes are elements.
    unsafe { bytes(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// Bytes side by side.
///
/// # Safety
/// As of [`Elements::new`].
unsafe fn bytes(start: *mut u8, len: usize) -> Elements {
    // SAFETY: the caller's.
    unsafe { Elements::new(start, len as u64, Untyped::basic(Basic::Byte)) }
}

/// Deletes a file that nobody has open (MPI_File_delete). One rank is enough.
///
/// # Errors
/// There is none, or it can't be deleted.
#[doc = example!(1
    "assert!(rwmpi::delete_file(\"/nowhere/at/all\").is_err());"
)]
#[doc(alias = "MPI_File_delete")]
pub fn delete_file(path: &str) -> Result<()> {
    crate::delete(path)
}
