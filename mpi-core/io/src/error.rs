//! What goes wrong with files, in the user's words: who, what, which file, where, why.

use std::io;

use rustix::io::Errno;
use rwmpi_core::ErrorClass;

/// An error with a file.
#[derive(Clone, Debug, thiserror::Error)]
#[error("rank {rank}, {operation} {path:?}{}: {reason}", .at.map_or(String::new(), |at| format!(" at byte {at}")))]
pub struct Error {
    class: ErrorClass,
    rank: usize,
    operation: &'static str,
    path: String,
    at: Option<u64>,
    transferred: u64,
    reason: String,
}

/// The result of a call about a file.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    #[cold]
    pub(crate) fn new(
        class: ErrorClass,
        rank: usize,
        operation: &'static str,
        path: &str,
        reason: impl Into<String>,
    ) -> Self {
        Error { class, rank, operation, path: path.to_owned(), at: None, transferred: 0, reason: reason.into() }
    }

    #[cold]
    pub(crate) fn of_system(rank: usize, operation: &'static str, path: &str, error: &io::Error) -> Self {
        let words = error.to_string();
        // Users know the sentence, not its number.
        let words = words.split_once(" (os error").map_or(words.as_str(), |parts| parts.0);
        Error::new(class_of(error), rank, operation, path, words)
    }

    /// The same, at that byte of the file.
    pub(crate) fn at(self, at: u64) -> Self {
        Error { at: Some(at), ..self }
    }

    /// The same, of an access that has transferred so many bytes before.
    pub(crate) fn after(self, bytes: u64) -> Self {
        Error { transferred: bytes, ..self }
    }

    /// Its class.
    pub fn class(&self) -> ErrorClass {
        self.class
    }

    /// The rank that has met it, in the file's group.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where in the file, if it is about a place there.
    pub fn offset(&self) -> Option<u64> {
        self.at
    }

    /// How many bytes the access had transferred, as far as this rank knows: those of its first elements. Where ranks
    /// read and write together none.
    pub fn transferred(&self) -> u64 {
        self.transferred
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl From<Error> for rwmpi_core::Error {
    fn from(error: Error) -> Self {
        rwmpi_core::Error::new(error.class, error.to_string())
    }
}

/// The class of what the operating system says.
fn class_of(error: &io::Error) -> ErrorClass {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => ErrorClass::NoSuchFile,
        Some(Errno::EXIST) => ErrorClass::FileExists,
        Some(Errno::ACCESS | Errno::PERM) => ErrorClass::Access,
        Some(Errno::ROFS) => ErrorClass::ReadOnly,
        Some(Errno::NOSPC) => ErrorClass::NoSpace,
        Some(Errno::DQUOT) => ErrorClass::Quota,
        Some(Errno::BUSY | Errno::TXTBSY) => ErrorClass::FileInUse,
        Some(Errno::ISDIR | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP) => ErrorClass::BadFile,
        // Locks are refused by one of these, as the file system likes.
        Some(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS) => ErrorClass::UnsupportedOperation,
        _ => ErrorClass::InputOutput,
    }
}
