//! How a file is opened.

use rwmpi_core::Info;

use crate::Mode;

/// How all ranks open a [`File`](super::File): the same at all of them.
///
/// It is called as `std::fs::OpenOptions` is. If a file is created, one rank does it.
#[doc = example!(2
    "use rwmpi::{File, OpenOptions};"
    "# let path = std::env::temp_dir().join(format!(\"rwmpi-options-{}\", std::process::id()));"
    "# let path = path.to_str().unwrap();"
    "let new = OpenOptions::new().write(true).create_new(true).permissions(0o600).hint(\"access_style\", \"write_once\");"
    "File::<u8>::open(world, path, &new)?.close()?;"
    "let error = File::<u8>::open(world, path, &new).err().unwrap();"
    "assert_eq!(error.class(), rwmpi::ErrorClass::FileExists);"
    "let last = OpenOptions::new().read(true).write(true).append(true).create(true).delete_on_close(true);"
    "File::<u8>::open(world, path, &last)?.close()?;"
)]
#[derive(Clone, Debug, Default)]
#[doc(alias = "MPI_MODE_RDONLY")]
#[doc(alias = "MPI_MODE_WRONLY")]
#[doc(alias = "MPI_MODE_RDWR")]
pub struct OpenOptions {
    reads: bool,
    writes: bool,
    mode: Mode,
    hints: Vec<(String, String)>,
}

impl OpenOptions {
    /// For nothing yet.
    pub fn new() -> Self {
        OpenOptions::default()
    }

    /// The file is read.
    #[must_use]
    pub fn read(self, reads: bool) -> Self {
        OpenOptions { reads, ..self }
    }

    /// The file is written.
    #[must_use]
    pub fn write(self, writes: bool) -> Self {
        OpenOptions { writes, ..self }
    }

    /// It is made if there is none.
    #[must_use]
    #[doc(alias = "MPI_MODE_CREATE")]
    pub fn create(mut self, creates: bool) -> Self {
        self.mode.create = creates;
        self
    }

    /// It is made, and there must be none.
    #[must_use]
    #[doc(alias = "MPI_MODE_EXCL")]
    pub fn create_new(mut self, creates: bool) -> Self {
        (self.mode.create, self.mode.exclusive) = (creates, creates);
        self
    }

    /// Calls without an offset begin at its end.
    #[must_use]
    #[doc(alias = "MPI_MODE_APPEND")]
    pub fn append(mut self, appends: bool) -> Self {
        self.mode.append = appends;
        self
    }

    /// It is gone when it is closed.
    #[must_use]
    #[doc(alias = "MPI_MODE_DELETE_ON_CLOSE")]
    pub fn delete_on_close(mut self, deletes: bool) -> Self {
        self.mode.delete_on_close = deletes;
        self
    }

    /// Who may use it if it is made, before the process's mask.
    #[must_use]
    pub fn permissions(self, bits: u32) -> Self {
        self.hint("file_perm", &format!("{bits:o}"))
    }

    /// What else is to be known about it (MPI-5.0 section 14.2.8).
    #[must_use]
    pub fn hint(mut self, key: &str, value: &str) -> Self {
        self.hints.push((key.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn mode(&self) -> Mode {
        let (reads, writes) = (self.reads, self.writes);
        Mode { read_only: reads && !writes, write_only: writes && !reads, read_write: reads && writes, ..self.mode }
    }

    pub(super) fn info(&self) -> rwmpi_core::Result<Info> {
        let mut info = Info::new();
        self.hints.iter().try_for_each(|(key, value)| info.set(key, value))?;
        Ok(info)
    }
}
