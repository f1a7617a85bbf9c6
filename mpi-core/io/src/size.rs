//! How long a file is, and what of it has reached the disk (MPI-5.0 sections 14.2.4 to 14.2.6 and 14.6.1).

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::{Errno, retry_on_intr};
use rwmpi_core::ErrorClass;

use crate::{File, Result};

/// A signal may interrupt it, where the file is on another machine.
fn resize(disk: &std::fs::File, size: u64) -> rustix::io::Result<()> {
    retry_on_intr(|| rustix::fs::ftruncate(disk, size))
}

impl File {
    /// Its length in bytes (MPI_File_get_size).
    ///
    /// # Errors
    /// The system does not say.
    pub fn size(&self) -> Result<u64> {
        const MEASURING: &str = "looking for the size of";
        self.with_disk(MEASURING, |disk| {
            let metadata = disk.metadata().map_err(|error| self.failed(MEASURING, &error))?;
            if metadata.is_file() {
                return Ok(metadata.len());
            }
            // Devices say where they end; pipes and terminals do not.
            Ok(seek(disk, SeekFrom::End(0)).unwrap_or(0))
        })
    }

    /// Makes it so long (MPI_File_set_size). Collective.
    ///
    /// # Errors
    /// The size is negative or not the same at all ranks; the system does not do it.
    pub fn set_size(&self, size: i64) -> Result<()> {
        const RESIZING: &str = "setting the size of";
        self.check_same(RESIZING, &[size])?;
        let mine = self.by_first(RESIZING, |disk| {
            let size = u64::try_from(size).map_err(|_| Errno::INVAL)?;
            Ok(resize(disk, size)?)
        });
        self.agree(RESIZING, self.not_negative(RESIZING, size).and(self.may_write(RESIZING)).and(mine))
    }

    /// Reserves space for so many bytes, and makes it so long unless it is longer (MPI_File_preallocate). Collective.
    /// Where the file system reserves nothing it only grows.
    ///
    /// # Errors
    /// As [`File::set_size`]; there is no space.
    pub fn preallocate(&self, size: i64) -> Result<()> {
        const RESERVING: &str = "reserving space for";
        self.check_same(RESERVING, &[size])?;
        let mine = self.by_first(RESERVING, |disk| {
            let size = u64::try_from(size).map_err(|_| Errno::INVAL)?;
            if size == 0 {
                return Ok(());
            }
            match retry_on_intr(|| fallocate(disk, FallocateFlags::empty(), 0, size)) {
                Err(Errno::OPNOTSUPP) if disk.metadata()?.len() < size => Ok(resize(disk, size)?),
                Err(Errno::OPNOTSUPP) => Ok(()),
                outcome => Ok(outcome?),
            }
        });
        self.agree(RESERVING, self.not_negative(RESERVING, size).and(self.may_write(RESERVING)).and(mine))
    }

    /// What this rank has written has reached the disk when it returns, and other ranks see it (MPI_File_sync).
    /// Collective.
    ///
    /// # Errors
    /// The system could not write it.
    pub fn sync(&self) -> Result<()> {
        const FLUSHING: &str = "flushing";
        let mine = self.with_disk(FLUSHING, |disk| match retry_on_intr(|| rustix::fs::fsync(disk)) {
            // What has no disk behind it.
            Ok(()) | Err(Errno::INVAL | Errno::ROFS) => Ok(()),
            Err(error) => Err(self.failed(FLUSHING, &error.into())),
        });
        self.agree(FLUSHING, mine)
    }

    fn by_first(
        &self,
        operation: &'static str,
        work: impl FnOnce(&std::fs::File) -> std::io::Result<()>,
    ) -> Result<()> {
        if self.shared.communicator.rank() != 0 || !self.shared.mode.writes() {
            return Ok(());
        }
        self.with_disk(operation, |disk| work(disk).map_err(|error| self.failed(operation, &error)))
    }

    fn not_negative(&self, operation: &'static str, size: i64) -> Result<()> {
        match size < 0 {
            true => Err(self.error(ErrorClass::Argument, operation, format!("the size {size} is negative"))),
            false => Ok(()),
        }
    }

    pub(crate) fn may_write(&self, operation: &'static str) -> Result<()> {
        match self.shared.mode.writes() {
            true => Ok(()),
            false => Err(self.error(ErrorClass::ReadOnly, operation, "it was opened with MPI_MODE_RDONLY")),
        }
    }
}
