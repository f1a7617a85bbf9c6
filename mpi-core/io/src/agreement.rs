//! How all ranks come out of a collective call with the same outcome.

use rwmpi_core::{Communicator, ErrorClass, op};

use crate::{Error, File, Result};

/// The classes that an error of one rank can have at the others; the last one for all that are not here.
const CLASSES: &[ErrorClass] = &[
    ErrorClass::AccessMode,
    ErrorClass::Access,
    ErrorClass::Argument,
    ErrorClass::BadFile,
    ErrorClass::Datatype,
    ErrorClass::Displacement,
    ErrorClass::File,
    ErrorClass::FileExists,
    ErrorClass::FileInUse,
    ErrorClass::NoMemory,
    ErrorClass::NoSpace,
    ErrorClass::NoSuchFile,
    ErrorClass::NotSame,
    ErrorClass::Quota,
    ErrorClass::ReadOnly,
    ErrorClass::UnsupportedOperation,
    ErrorClass::UnsupportedRepresentation,
    ErrorClass::InputOutput,
];

/// All ranks meet. If one brings an error, all have it: each its own, or else that of the last rank that has one.
pub(crate) fn agree<T>(communicator: &Communicator, operation: &'static str, path: &str, mine: Result<T>) -> Result<T> {
    let lost =
        |error: rwmpi_core::Error| Error::new(error.class(), communicator.rank(), operation, path, error.to_string());
    let failed = if mine.is_err() { communicator.rank() as u64 + 1 } else { 0 };
    let failed = communicator.allreduce_value(failed, op::max).map_err(lost)?;
    let Some(teller) = failed.checked_sub(1).map(|rank| rank as usize) else { return mine };
    let (mut told, mut text) = ([0_u64; 3], Vec::new());
    if let Err(error) = &mine {
        let class = CLASSES.iter().position(|class| *class == error.class()).unwrap_or(CLASSES.len() - 1);
        text = [error.path(), error.reason()].concat().into_bytes();
        told = [class as u64, error.path().len() as u64, text.len() as u64];
    }
    communicator.bcast(&mut told, teller).map_err(lost)?;
    let [class, path_len, len] = told;
    // Names and reasons are short.
    text.resize(len.min(1 << 16) as usize, 0);
    communicator.bcast(&mut text, teller).map_err(lost)?;
    mine.and_then(|_| {
        let class = CLASSES.get(class as usize).copied().unwrap_or(ErrorClass::InputOutput);
        let (path, reason) = text.split_at(text.len().min(path_len as usize));
        Err(Error::new(class, teller, operation, &String::from_utf8_lossy(path), String::from_utf8_lossy(reason)))
    })
}

impl File {
    /// As [`agree`], of the ranks of the file.
    pub(crate) fn agree<T>(&self, operation: &'static str, mine: Result<T>) -> Result<T> {
        agree(&self.shared.communicator, operation, &self.shared.path, mine)
    }

    /// All ranks meet, and must bring the same values.
    pub(crate) fn check_same(&self, operation: &'static str, values: &[i64]) -> Result<()> {
        match first_different(&self.shared.communicator, values).map_err(self.lost(operation))? {
            None => Ok(()),
            Some(rank) => {
                let what = format!("rank {rank} passes other arguments than rank 0; all ranks must pass the same");
                Err(self.error(ErrorClass::NotSame, operation, what))
            }
        }
    }
}

/// The first rank that brings other values than rank 0, if one does.
pub(crate) fn first_different(communicator: &Communicator, values: &[i64]) -> rwmpi_core::Result<Option<usize>> {
    let mut all = vec![0; values.len() * communicator.size()];
    communicator.allgather(values, &mut all)?;
    let mut ranks = all.chunks_exact(values.len().max(1));
    let first = ranks.next();
    Ok(ranks.position(|rank| Some(rank) != first).map(|rank| rank + 1))
}
