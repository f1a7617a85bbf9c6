//! Names under which processes leave words for other jobs of the same user on this machine, without a server.
//!
//! A name is a file in a directory that only the user can enter. Whoever has published it keeps it locked: the kernel
//! lets go of the lock when that process ends, however it ends, and then the name is taken for gone and may be taken
//! again. The file of a process that was killed stays until somebody asks for that name.
#![forbid(unsafe_code)]

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

/// Longest name, bytes: a file's name has two letters for each.
const NAME_MAX: usize = 120;
/// Longest word.
const WORD_MAX: u64 = 4096;
/// How often it is tried to publish a name on which somebody looks at that moment.
const MOST_TRIES: u32 = 1000;

/// A name that this process has published; dropping it takes it back.
#[derive(Debug)]
pub struct PublishedName {
    name: String,
    path: PathBuf,
    /// Locked.
    _file: File,
}

impl PublishedName {
    /// Publishes `word` under that name.
    ///
    /// # Errors
    /// `AlreadyExists` if another process has the name.
    pub fn new(name: &str, word: &str) -> io::Result<PublishedName> {
        Self::new_in(&directory()?, name, word)
    }

    fn new_in(directory: &Path, name: &str, word: &str) -> io::Result<PublishedName> {
        let path = path_of(directory, name)?;
        for _ in 0..MOST_TRIES {
            let mut file = options().write(true).create(true).truncate(false).open(&path)?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                // It may have been removed between the two steps.
                if fs::symlink_metadata(&path).is_ok_and(|data| is_same(&data, &file)) {
                    file.set_len(0)?;
                    file.write_all(word.as_bytes())?;
                    return Ok(PublishedName { name: name.to_owned(), path, _file: file });
                }
            } else if !is_gone(&file) {
                break;
            }
            std::thread::yield_now();
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for PublishedName {
    fn drop(&mut self) {
        // While it is locked nobody else has the name.
        let _ = fs::remove_file(&self.path);
    }
}

/// What a process that still runs has published under that name.
///
/// # Errors
/// `NotFound` if none has.
pub fn look_up(name: &str) -> io::Result<String> {
    look_up_in(&directory()?, name)
}

fn look_up_in(directory: &Path, name: &str) -> io::Result<String> {
    let path = path_of(directory, name)?;
    let file = options().open(&path)?;
    if is_gone(&file) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut word = String::new();
    (&file).take(WORD_MAX).read_to_string(&mut word)?;
    if word.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(word) }
}

/// Whether nobody keeps it locked.
fn is_gone(file: &File) -> bool {
    let is_free = flock(file, FlockOperation::NonBlockingLockShared).is_ok();
    if is_free {
        let _ = flock(file, FlockOperation::Unlock);
    }
    is_free
}

fn is_same(data: &fs::Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (data.dev(), data.ino()))
}

fn options() -> fs::OpenOptions {
    let mut options = File::options();
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    options.read(true).mode(0o600).custom_flags(flags.bits() as i32);
    options
}

fn path_of(directory: &Path, name: &str) -> io::Result<PathBuf> {
    if name.is_empty() || name.len() > NAME_MAX {
        let what = format!("a name has 1 to {NAME_MAX} bytes, this one {}", name.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    Ok(directory.join(format!("name-{digits}")))
}

/// Where the names of this user are.
fn directory() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| is_private(path, user));
    let path = own.map_or_else(|| std::env::temp_dir().join(format!("rwmpi-{user}")), |path| path.join("rwmpi"));
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if is_private(&path, user) {
        return Ok(path);
    }
    let what = format!("{} is not a directory of this user alone", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Whether it is a directory that only this user can enter.
fn is_private(path: &Path, user: u32) -> bool {
    let only_owner = |permissions: Permissions| permissions.mode() & 0o077 == 0;
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir() && data.uid() == user && only_owner(data.permissions()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of a test's own.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("rwmpi-test-{test}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn kind<T>(result: io::Result<T>) -> Option<io::ErrorKind> {
        result.err().map(|error| error.kind())
    }

    #[test]
    fn a_name_is_found_as_long_as_it_is_published() {
        let scratch = Scratch::new("published");
        assert_eq!(kind(look_up_in(&scratch.0, "a/b")), Some(io::ErrorKind::NotFound));
        let published = PublishedName::new_in(&scratch.0, "a/b", "the word").unwrap();
        assert_eq!(published.name(), "a/b");
        assert_eq!(look_up_in(&scratch.0, "a/b").unwrap(), "the word");
        assert_eq!(kind(PublishedName::new_in(&scratch.0, "a/b", "another")), Some(io::ErrorKind::AlreadyExists));
        drop(published);
        assert_eq!(kind(look_up_in(&scratch.0, "a/b")), Some(io::ErrorKind::NotFound));
        assert!(fs::read_dir(&scratch.0).unwrap().next().is_none(), "nothing is left");
    }

    #[test]
    fn the_name_of_a_process_that_was_killed_is_free() {
        let scratch = Scratch::new("killed");
        // What is left: a file that nobody has locked.
        fs::write(path_of(&scratch.0, "x").unwrap(), "old").unwrap();
        assert_eq!(kind(look_up_in(&scratch.0, "x")), Some(io::ErrorKind::NotFound));
        let _published = PublishedName::new_in(&scratch.0, "x", "n").unwrap();
        assert_eq!(look_up_in(&scratch.0, "x").unwrap(), "n");
    }

    #[test]
    fn names_that_no_file_can_have_are_refused() {
        let scratch = Scratch::new("refused");
        for name in ["", &"x".repeat(NAME_MAX + 1)] {
            assert_eq!(kind(PublishedName::new_in(&scratch.0, name, "")), Some(io::ErrorKind::InvalidInput));
        }
    }

    #[test]
    fn a_directory_of_others_is_not_trusted() {
        let scratch = Scratch::new("trusted");
        let user = rustix::process::geteuid().as_raw();
        fs::set_permissions(&scratch.0, Permissions::from_mode(0o700)).unwrap();
        assert!(is_private(&scratch.0, user) && !is_private(&scratch.0, user + 1));
        fs::set_permissions(&scratch.0, Permissions::from_mode(0o770)).unwrap();
        assert!(!is_private(&scratch.0, user));
        assert!(!is_private(&scratch.0.join("nothing"), user));
    }
}
