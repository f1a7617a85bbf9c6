//! Opening and closing (MPI-5.0 sections 14.2.1 to 14.2.3).
//!
//! The first rank opens the file before the others do, and alone creates it: so MPI_MODE_EXCL means the same as for one
//! process. Then the others open it, each for itself, as it is. All meet twice for that.

use std::cell::OnceCell;
use std::fs::{File as SystemFile, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rwmpi_core::{Communicator, ErrorClass, Info};

use crate::agreement::agree;
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

/// What a rank asks for.
#[derive(Clone, Copy)]
struct Asked {
    mode: Mode,
    permissions: u32,
}

impl Asked {
    fn open(self, path: &str, rank: usize) -> Result<SystemFile> {
        let opened = open(path, self.mode, rank == 0, self.permissions);
        opened.map_err(|error| Error::of_system(rank, OPENING, path, &error))
    }

    /// The same, by a rank that is not the first, whose mode has that number.
    fn open_as_first(self, path: &str, rank: usize, number: u32) -> Result<SystemFile> {
        if self.mode.number() != number {
            let what = "it passes another mode than rank 0; all ranks must pass the same";
            return Err(Error::new(ErrorClass::NotSame, rank, OPENING, path, what));
        }
        self.open(path, rank)
    }
}

/// What all ranks have once each has opened the file.
struct Opened {
    communicator: Communicator,
    disk: SystemFile,
    word: Word,
}

/// Opens the file at all ranks, or at none. They meet twice: with the file's communicator the first rank says whether it
/// has opened the file; with the shared pointer all do.
fn open_all(communicator: &Communicator, path: &str, asked: Result<Asked>) -> Result<Opened> {
    const FAILED: u32 = 1;
    let rank = communicator.rank();
    let lost = |failed: rwmpi_core::Error| Error::new(failed.class(), rank, OPENING, path, failed.to_string());
    if communicator.is_inter() {
        let what = "an intercommunicator can't open files";
        return Err(Error::new(ErrorClass::Communicator, rank, OPENING, path, what));
    }
    let number = asked.as_ref().map_or(0, |asked| asked.mode.number());
    let first = (rank == 0).then(|| asked.clone().and_then(|asked| asked.open(path, rank)));
    let mut words = [number, if matches!(first, Some(Err(_))) { FAILED } else { 0 }];
    let communicator = communicator.private_twin_with(&mut words).map_err(lost)?;
    let failed = |mine: Result<()>| {
        let outcome = agree(&communicator, OPENING, path, mine);
        outcome.and_then(|()| {
            Err(Error::new(ErrorClass::Internal, rank, OPENING, path, "a rank fails and does not say why"))
        })
    };
    if words[1] == FAILED {
        return failed(first.map_or(Ok(()), |first| first.map(drop)));
    }
    let mine = first.unwrap_or_else(|| asked.and_then(|asked| asked.open_as_first(path, rank, words[0])));
    let word = Word::new(&communicator, mine.is_ok()).map_err(lost)?;
    match (mine, word) {
        (Ok(disk), Some(word)) => Ok(Opened { communicator, disk, word }),
        (mine, _) => failed(mine.map(drop)),
    }
}

impl File {
    /// Takes part in opening a file with arguments that can't be used, so that no other rank waits. Collective, with
    /// [`File::open`] at the others.
    #[cold]
    pub fn refuse_open(communicator: &Communicator, error: &rwmpi_core::Error) -> Error {
        const NO_NAME: &str = "";
        let mine = Error::new(error.class(), communicator.rank(), OPENING, NO_NAME, error.to_string());
        open_all(communicator, NO_NAME, Err(mine.clone())).err().unwrap_or(mine)
    }

    /// Opens a file (MPI_File_open). Collective: all ranks have it, or none.
    ///
    /// # Errors
    /// The mode contradicts itself, or is not the same at all ranks; the system does not open the file.
    pub fn open(communicator: &Communicator, path: &str, mode: Mode, info: &Info) -> Result<File> {
        let path = system_name(path);
        let asked = match mode.fault() {
            Some(fault) => Err(Error::new(ErrorClass::AccessMode, communicator.rank(), OPENING, path, fault)),
            None => Ok(Asked { mode, permissions: hints::permissions(info) }),
        };
        let Opened { communicator, disk, word } = open_all(communicator, path, asked)?;
        let is_regular = disk.metadata().is_ok_and(|metadata| metadata.is_file());
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

#[cfg(test)]
mod tests {
    use rwmpi_core::{Protocol, run_threads};

    use super::*;

    /// What three ranks come out with that open these files with these modes: the class, the rank that has failed, the
    /// end of the path that the error names.
    fn opened(ask: impl Fn(usize) -> (&'static str, Mode) + Sync) -> Vec<Option<(ErrorClass, usize, String)>> {
        let open = |communicator: &Communicator| {
            let (name, mode) = ask(communicator.rank());
            let name = format!("rwmpi-open-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match File::open(communicator, path.to_str().expect("it has no odd letters"), mode, &Info::new()) {
                Ok(file) => file.close().map(|()| None),
                Err(error) => {
                    let name = error.path().rsplit('-').next().unwrap_or_default().to_owned();
                    Ok(Some((error.class(), error.rank(), name)))
                }
            }
        };
        let outcomes = run_threads(3, Protocol::Auto, |universe| open(universe.world())).expect("ranks can be had");
        outcomes.into_iter().map(|outcome| outcome.expect("it closes")).collect()
    }

    const NEW: Mode = Mode {
        read_only: false,
        write_only: false,
        read_write: true,
        create: true,
        exclusive: true,
        delete_on_close: true,
        unique_open: false,
        sequential: false,
        append: false,
    };

    #[test]
    fn all_open_a_file_or_none_does() {
        assert_eq!(opened(|_| ("new", NEW)), [None, None, None]);
        let old = Mode { create: false, exclusive: false, ..NEW };
        let lost = |rank, name: &str| Some((ErrorClass::NoSuchFile, rank, name.to_owned()));
        // Only the first has tried.
        assert_eq!(opened(|_| ("none", old)), [lost(0, "none"), lost(0, "none"), lost(0, "none")]);
    }

    #[test]
    fn an_error_of_another_rank_names_its_file() {
        let lost = || Some((ErrorClass::NoSuchFile, 2, "absent".to_owned()));
        let twice = |rank| if rank == 2 { ("absent", NEW) } else { ("there", NEW) };
        assert_eq!(opened(twice), [lost(), lost(), lost()]);
        // It was there for a moment.
        let path = std::env::temp_dir().join(format!("rwmpi-open-{}-there", std::process::id()));
        std::fs::remove_file(path).expect("rank 0 has made it");
    }

    #[test]
    fn a_rank_with_another_mode_is_named() {
        let other = |rank| ("modes", if rank == 1 { Mode { append: true, ..NEW } } else { NEW });
        let refused = || Some((ErrorClass::NotSame, 1, "modes".to_owned()));
        assert_eq!(opened(other), [refused(), refused(), refused()]);
        std::fs::remove_file(std::env::temp_dir().join(format!("rwmpi-open-{}-modes", std::process::id())))
            .expect("rank 0 has made it");
        let wrong = |rank| ("faults", if rank == 0 { Mode { read_only: true, ..NEW } } else { NEW });
        let refused = || Some((ErrorClass::AccessMode, 0, "faults".to_owned()));
        assert_eq!(opened(wrong), [refused(), refused(), refused()]);
    }
}
