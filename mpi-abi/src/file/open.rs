//! Opening, closing and deleting files (MPI-5.0 section 14.2).

use rwmpi_io::{File, Mode};

use crate::argument::{Out, Text, c_int};
use crate::error::Outcome;
use crate::info::hints;
use crate::interface::Abi;
use crate::rank::rank;

/// The bits of a mode, in the order of the fields of [`Mode`].
fn bits<A: Abi>() -> [c_int; 9] {
    [
        A::MODE_RDONLY,
        A::MODE_WRONLY,
        A::MODE_RDWR,
        A::MODE_CREATE,
        A::MODE_EXCL,
        A::MODE_DELETE_ON_CLOSE,
        A::MODE_UNIQUE_OPEN,
        A::MODE_SEQUENTIAL,
        A::MODE_APPEND,
    ]
}

fn mode_of<A: Abi>(number: c_int) -> Mode {
    let [read_only, write_only, read_write, create, exclusive, delete_on_close, unique_open, sequential, append] =
        bits::<A>().map(|bit| number & bit != 0);
    Mode { read_only, write_only, read_write, create, exclusive, delete_on_close, unique_open, sequential, append }
}

pub(super) fn number_of<A: Abi>(mode: Mode) -> c_int {
    let Mode { read_only, write_only, read_write, create, exclusive, delete_on_close, unique_open, .. } = mode;
    let fields = [
        read_only,
        write_only,
        read_write,
        create,
        exclusive,
        delete_on_close,
        unique_open,
        mode.sequential,
        mode.append,
    ];
    bits::<A>().into_iter().zip(fields).map(|(bit, is_set)| if is_set { bit } else { 0 }).sum()
}

/// MPI_File_open (MPI-5.0 section 14.2.1): its errors go to MPI_FILE_NULL's handler.
pub fn file_open<A: Abi>(
    communicator: A::Handle,
    name: Text,
    mode: c_int,
    info: A::Handle,
    file: Out<A::File>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.communicator::<A>(communicator);
    rank.blame_files();
    let entry = entry?;
    let arguments = || {
        file.check_place("the new file")?;
        Ok((name.get()?, hints::<A>(info)?))
    };
    // What a rank passes wrong keeps none of the others waiting.
    let (name, info) = arguments().map_err(|error| File::refuse_open(&entry.core, &error))?;
    let opened = File::open(&entry.core, &name, mode_of::<A>(mode), &info)?;
    file.set(rank.add_file::<A>(opened)?)
}

/// MPI_File_close (MPI-5.0 section 14.2.2).
pub fn file_close<A: Abi>(file: Out<A::File>) -> Outcome {
    let rank = rank()?;
    rank.blame_files();
    let handle = file.get()?;
    let entry = rank.file::<A>(handle)?;
    let closed = entry.core.close();
    if entry.core.is_closed() {
        file.set(A::file(A::FILE_NULL))?;
    }
    // After an error the entry stays, as it holds the error handler that is called next.
    closed?;
    rank.files.remove(A::file_code(handle));
    Ok(())
}

/// MPI_File_delete (MPI-5.0 section 14.2.3): its errors go to MPI_FILE_NULL's handler.
pub fn file_delete<A: Abi>(name: Text, info: A::Handle) -> Outcome {
    let rank = rank()?;
    rank.blame_files();
    hints::<A>(info)?;
    Ok(rwmpi_io::delete(&name.get()?)?)
}
