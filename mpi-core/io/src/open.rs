//! Opening and closing (MPI-5.0 sections 14.2.1 to 14.2.3).
//!
//! No rank makes a file before all have come and ask for the same: whoever deletes an old one before that deletes no
//! new one. With MPI_MODE_EXCL the first rank opens the file before the others do, and alone creates it: so that it
//! means the same as for one process. Else each opens it for itself.

use std::cell::OnceCell;
use std::fs::{File as SystemFile, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rwmpi_core::{Communicator, ErrorClass, Info};

use crate::agreement::agree;
use crate::transfer::Scratch;
use crate::word::Word;
use crate::{Error, File, Mode, Result, Shared, View, collective, disk, hints};

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
    /// Whether it wants gaps to be written back.
    sieves: bool,
}

/// What all ranks have once each has opened the file.
struct Opened {
    communicator: Communicator,
    disk: SystemFile,
    word: Word,
    /// Whether all ranks want gaps to be written back.
    all_sieve: bool,
}

/// Opens the file at all ranks, or at none. With the shared pointer all tell whether they have opened it.
fn open_all(communicator: &Communicator, path: &str, asked: Result<Asked>) -> Result<Opened> {
    let error = |class, reason: String| Error::new(class, communicator.rank(), OPENING, path, reason);
    if communicator.is_inter() {
        return Err(error(ErrorClass::Communicator, "an intercommunicator can't open files".to_owned()));
    }
    // A rank that fails here must not leave the others waiting where they make the pointer's window.
    let here = all_or_none(communicator, path, open_each(communicator, path, asked))?;
    let OpenedHere { communicator, disk, all_sieve } = here;
    let word = Word::new(&communicator, disk.is_ok()).map_err(|lost| error(lost.class(), lost.to_string()))?;
    match (disk, word) {
        (Ok(disk), Some(word)) => Ok(Opened { communicator, disk, word, all_sieve }),
        (disk, _) => Err(failed(&communicator, path, disk.map(drop))),
    }
}

/// What a rank has before it knows whether the others could open the file.
struct OpenedHere {
    communicator: Communicator,
    disk: Result<SystemFile>,
    all_sieve: bool,
}

/// Each rank opens the file for itself, in contexts of the file's own.
fn open_each(communicator: &Communicator, path: &str, asked: Result<Asked>) -> Result<OpenedHere> {
    let rank = communicator.rank();
    let lost = |lost: rwmpi_core::Error| Error::new(lost.class(), rank, OPENING, path, lost.to_string());
    let communicator = communicator.private_twin().map_err(lost)?;
    let (asked, all_sieve) = match meet(&communicator, path, asked)? {
        Ok(met) => met,
        Err(mine) => return Err(failed(&communicator, path, mine)),
    };
    let open = |creates| {
        let opened = open(path, asked.mode, creates, asked.permissions);
        opened.map_err(|error| Error::of_system(rank, OPENING, path, &error))
    };
    let disk = match asked.mode.exclusive {
        // One rank makes it, before the others look for it.
        true => {
            let first = if rank == 0 { open(true).map(Some) } else { Ok(None) };
            agree(&communicator, OPENING, path, first)?.map_or_else(|| open(false), Ok)
        }
        false => open(true),
    };
    Ok(OpenedHere { communicator, disk, all_sieve })
}

/// Why the ranks have failed: this one for its own reason, if it has one, or for that of another.
fn failed(communicator: &Communicator, path: &str, mine: Result<()>) -> Error {
    let nobody_says = "a rank fails and does not say why".to_owned();
    let outcome = agree(communicator, OPENING, path, mine);
    outcome.err().unwrap_or_else(|| Error::new(ErrorClass::Internal, communicator.rank(), OPENING, path, nobody_says))
}

/// Where the job goes on when ranks die, one rank may fail and another succeed. This has all that live fail then.
fn all_or_none<T>(communicator: &Communicator, path: &str, mine: Result<T>) -> Result<T> {
    let error = |class, reason: String| Error::new(class, communicator.rank(), OPENING, path, reason);
    let all = communicator.all_succeed(mine.is_ok()).map_err(|lost| error(lost.class(), lost.to_string()))?;
    let opened = mine?;
    if all {
        return Ok(opened);
    }
    let class = if communicator.is_revoked() { ErrorClass::Revoked } else { ErrorClass::ProcessDied };
    Err(error(class, "another rank has failed, and says why".to_owned()))
}

/// All ranks meet before any of them makes a file, and must ask for the same. Also tells whether all want gaps to be
/// written back. If one can't be asked, all have to agree on why, each with what is returned.
fn meet(
    communicator: &Communicator,
    path: &str,
    asked: Result<Asked>,
) -> Result<std::result::Result<(Asked, bool), Result<()>>> {
    const NOTHING: u32 = u32::MAX;
    let error = |class, reason: String| Error::new(class, communicator.rank(), OPENING, path, reason);
    let number = asked.as_ref().map_or(NOTHING, |asked| asked.mode.number());
    let sieves = asked.as_ref().is_ok_and(|asked| asked.sieves);
    let mut all = vec![0; 2 * communicator.size()];
    let told = [number, u32::from(sieves)];
    communicator.allgather(&told, &mut all).map_err(|failed| error(failed.class(), failed.to_string()))?;
    let (numbers, sieve): (Vec<u32>, Vec<u32>) = all.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
    if numbers.contains(&NOTHING) {
        return Ok(Err(asked.map(drop)));
    }
    match numbers.iter().position(|number| *number != numbers[0]) {
        Some(rank) => {
            let what = format!("rank {rank} passes another mode than rank 0; all ranks must pass the same");
            Err(error(ErrorClass::NotSame, what))
        }
        None => asked.map(|asked| Ok((asked, sieve.iter().all(|&sieves| sieves == 1)))),
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
            None => Ok(Asked { mode, permissions: hints::permissions(info), sieves: hints::want_sieving(info) }),
        };
        let Opened { communicator: own, disk, word, all_sieve } = open_all(communicator, path, asked)?;
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
                is_sieved: false.into(),
                scratch: Scratch::new(own.file_ways()).into(),
                means: OnceCell::new(),
                communicator: own,
            }
            .into(),
        };
        file.keep_hints(info);
        if !all_sieve && !mode.append {
            return Ok(file);
        }
        let sieved = if all_sieve { file.agree_on_sieving(OPENING) } else { Ok(()) };
        let begun = sieved.and_then(|()| if mode.append { file.go_to_end() } else { Ok(()) });
        all_or_none(communicator, path, begun.map(|()| file))
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
    /// A split collective access has not ended: then it stays open. The system could not write what it had taken, or
    /// delete the file; a rank has died.
    pub fn close(&self) -> Result<()> {
        const CLOSING: &str = "closing";
        if self.shared.split.borrow().is_some() {
            let what = "a split collective access to it has not ended";
            return Err(self.error(ErrorClass::Request, CLOSING, what));
        }
        let open = self.shared.disk.borrow_mut().take();
        // What a network file system could not write, it says at the end.
        let closed = open.map_or(Ok(()), disk::close);
        let left = self.shared.word.left_by_all();
        let mine = closed.map_err(|error| self.failed(CLOSING, &error));
        let mut outcome = self.agree(CLOSING, mine);
        if self.shared.mode.delete_on_close {
            let deleted = match self.is_first_living() {
                true => std::fs::remove_file(&self.shared.path).map_err(|error| self.failed("deleting", &error)),
                false => Ok(()),
            };
            outcome = outcome.and(self.agree("deleting", deleted));
        }
        if left.is_some() {
            return outcome;
        }
        let means = self.shared.means.get().map_or(Ok(()), collective::Means::free);
        outcome.and(self.shared.word.free().and(means).map_err(self.lost(CLOSING)))
    }

    /// Whether it has been closed, perhaps with an error.
    pub fn is_closed(&self) -> bool {
        self.shared.disk.borrow().is_none()
    }

    fn is_first_living(&self) -> bool {
        let communicator = &self.shared.communicator;
        communicator.group().difference(&communicator.failed_ranks()).rank() == Some(0)
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
        assert_eq!(opened(|_| ("none", old)), [lost(0, "none"), lost(1, "none"), lost(2, "none")]);
    }

    /// Whether a file was left behind; it is gone then.
    fn is_left(name: &str) -> bool {
        std::fs::remove_file(std::env::temp_dir().join(format!("rwmpi-open-{}-{name}", std::process::id()))).is_ok()
    }

    #[test]
    fn an_error_of_another_rank_names_its_file() {
        let old = Mode { create: false, exclusive: false, ..NEW };
        assert_eq!(opened(|_| ("there", Mode { delete_on_close: false, ..NEW })), [None, None, None]);
        let lost = || Some((ErrorClass::NoSuchFile, 2, "absent".to_owned()));
        let twice = |rank| if rank == 2 { ("absent", old) } else { ("there", old) };
        assert_eq!(opened(twice), [lost(), lost(), lost()]);
        assert!(is_left("there"));
    }

    #[test]
    fn ranks_that_ask_for_different_things_make_no_file() {
        let other = |rank| ("modes", if rank == 1 { Mode { append: true, ..NEW } } else { NEW });
        let refused = |rank| Some((ErrorClass::NotSame, rank, "modes".to_owned()));
        assert_eq!(opened(other), [refused(0), refused(1), refused(2)]);
        let wrong = |rank| ("faults", if rank == 2 { Mode { read_only: true, ..NEW } } else { NEW });
        let refused = || Some((ErrorClass::AccessMode, 2, "faults".to_owned()));
        assert_eq!(opened(wrong), [refused(), refused(), refused()]);
        assert!(!is_left("modes") && !is_left("faults"));
    }
}
