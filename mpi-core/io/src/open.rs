//! Opening and closing (MPI-5.0 sections 14.2.1 to 14.2.3).
//!
//! The first rank opens the file before the others do, and alone creates it: so MPI_MODE_EXCL means the same as for one
//! process. Then the others open it, each for itself, as it is.

use std::cell::OnceCell;
use std::fs::{File as SystemFile, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rwmpi_core::{Communicator, ErrorClass, Info};

use crate::agreement::{agree, first_different};
use crate::transfer::Scratch;
use crate::word::Word;
use crate::{Error, File, Mode, Result, Shared, View, disk, hints};

const OPENING: &str = "opening";

/// Prefixes that name a kind of file system, which scripts write before names for ROMIO.
const PREFIXES: &[&str] = &["ufs:", "nfs:", "xfs:", "gpfs:", "lustre:", "panfs:", "pvfs2:", "daos:", "testfs:"];

/// The name as the system knows it.
fn system_name(path: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| path.strip_prefix(prefix)).unwrap_or(path)
}

/// Opens it for one rank, which creates it or not.
fn open(path: &str, mode: Mode, creates: bool, permissions: u32) -> io::Result<SystemFile> {
    let mut options = OpenOptions::new();
    options.read(mode.reads()).write(mode.writes()).mode(permissions);
    if creates && mode.create {
        options.create(true).create_new(mode.exclusive);
    }
    let file = options.open(path)?;
    // Nobody can write to a folder, but the system opens it for reading.
    match file.metadata()?.is_dir() {
        true => Err(io::Error::from_raw_os_error(libc::EISDIR)),
        false => Ok(file),
    }
}

/// Deletes a file that nobody has open (MPI_File_delete).
///
/// # Errors
/// There is none, or it can't be deleted.
pub fn delete(path: &str) -> Result<()> {
    let failed = |error: io::Error| Error::of_system(0, "deleting", path, &error);
    std::fs::remove_file(system_name(path)).map_err(failed)
}

/// Opens the file at all ranks, or at none.
fn open_all(communicator: &Communicator, path: &str, mode: Mode, permissions: u32) -> Result<SystemFile> {
    let rank = communicator.rank();
    let open =
        |creates| open(path, mode, creates, permissions).map_err(|error| Error::of_system(rank, OPENING, path, &error));
    let first = if rank == 0 { open(true).map(Some) } else { Ok(None) };
    if communicator.size() == 1 {
        return first.and_then(|file| file.map_or_else(|| open(false), Ok));
    }
    let first = agree(communicator, OPENING, path, first)?;
    agree(communicator, OPENING, path, first.map_or_else(|| open(false), Ok))
}

/// The communicator of a file with that name, which has contexts of its own. Collective.
fn twin(communicator: &Communicator, path: &str) -> Result<Communicator> {
    let error = |class, reason: String| Error::new(class, communicator.rank(), OPENING, path, reason);
    if communicator.is_inter() {
        return Err(error(ErrorClass::Communicator, "an intercommunicator can't open files".to_owned()));
    }
    communicator.private_twin().map_err(|failed| error(failed.class(), failed.to_string()))
}

impl File {
    /// Takes part in opening a file with arguments that can't be used, so that no other rank waits. Collective, with
    /// [`File::open`] at the others.
    #[cold]
    pub fn refuse_open(communicator: &Communicator, error: &rwmpi_core::Error) -> Error {
        const NO_NAME: &str = "";
        let mine = Error::new(error.class(), communicator.rank(), OPENING, NO_NAME, error.to_string());
        let met = twin(communicator, NO_NAME).and_then(|twin| agree::<()>(&twin, OPENING, NO_NAME, Err(mine.clone())));
        met.err().unwrap_or(mine)
    }

    /// Opens a file (MPI_File_open). Collective: all ranks have it, or none.
    ///
    /// # Errors
    /// The mode contradicts itself, or is not the same at all ranks; the system does not open the file.
    pub fn open(communicator: &Communicator, path: &str, mode: Mode, info: &Info) -> Result<File> {
        let path = system_name(path);
        let error = |class, reason: String| Error::new(class, communicator.rank(), OPENING, path, reason);
        let lost = |failed: rwmpi_core::Error| error(failed.class(), failed.to_string());
        let communicator = twin(communicator, path)?;
        let fault = mode.fault().map(|fault| error(ErrorClass::AccessMode, fault.to_owned()));
        agree(&communicator, OPENING, path, fault.map_or(Ok(()), Err))?;
        if let Some(rank) = first_different(&communicator, &[mode.number()]).map_err(lost)? {
            let what = format!("rank {rank} passes another mode than rank 0; all ranks must pass the same");
            return Err(error(ErrorClass::NotSame, what));
        }
        let disk = open_all(&communicator, path, mode, hints::permissions(info))?;
        let is_regular = disk.metadata().is_ok_and(|metadata| metadata.is_file());
        let word = agree(&communicator, OPENING, path, Word::new(&communicator).map_err(lost))?;
        let file = File {
            shared: Shared {
                path: path.to_owned(),
                mode,
                disk: Some(disk).into(),
                view: std::rc::Rc::new(View::bytes(0)).into(),
                position: 0.into(),
                word,
                is_atomic: false.into(),
                split: None.into(),
                hints: Info::new().into(),
                together: hints::Together::of(info).into(),
                is_regular,
                scratch: Scratch::new(communicator.file_ways()).into(),
                staging: OnceCell::new(),
                communicator,
            }
            .into(),
        };
        file.keep_hints(info);
        if mode.append {
            file.go_to_end()?;
        }
        Ok(file)
    }

    /// All pointers of a file that has just been opened go to its end.
    fn go_to_end(&self) -> Result<()> {
        let end = self.agree(OPENING, self.size())?;
        self.shared.position.set(end);
        self.set_shared_pointer(OPENING, end)
    }

    /// Closes it, and deletes it if it was opened so (MPI_File_close). Collective.
    ///
    /// # Errors
    /// A split collective access has not ended; the system could not write what it had taken, or delete the file.
    pub fn close(&self) -> Result<()> {
        const CLOSING: &str = "closing";
        if self.shared.split.borrow().is_some() {
            let what = "a split collective access to it has not ended";
            return Err(self.error(ErrorClass::Request, CLOSING, what));
        }
        let open = self.shared.disk.borrow_mut().take();
        // What a network file system could not write, it says at the end.
        let closed = open.map_or(Ok(()), disk::close);
        let mine = closed.map_err(|error| self.failed(CLOSING, &error));
        let mut outcome = self.agree(CLOSING, mine);
        if self.shared.mode.delete_on_close {
            let deleted = match self.shared.communicator.rank() {
                0 => std::fs::remove_file(&self.shared.path).map_err(|error| self.failed("deleting", &error)),
                _ => Ok(()),
            };
            outcome = outcome.and(self.agree("deleting", deleted));
        }
        let staging = match self.shared.staging.get() {
            Some(Some(staging)) => staging.free(),
            _ => Ok(()),
        };
        outcome.and(self.shared.word.free().and(staging).map_err(self.lost(CLOSING)))
    }
}
