//! How a file is opened (MPI-5.0 section 14.2.1).

/// What was asked for when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// MPI_MODE_RDONLY.
    pub read_only: bool,
    /// MPI_MODE_WRONLY.
    pub write_only: bool,
    /// MPI_MODE_RDWR.
    pub read_write: bool,
    /// MPI_MODE_CREATE.
    pub create: bool,
    /// MPI_MODE_EXCL.
    pub exclusive: bool,
    /// MPI_MODE_DELETE_ON_CLOSE.
    pub delete_on_close: bool,
    /// MPI_MODE_UNIQUE_OPEN.
    pub unique_open: bool,
    /// MPI_MODE_SEQUENTIAL.
    pub sequential: bool,
    /// MPI_MODE_APPEND.
    pub append: bool,
}

impl Mode {
    /// What is wrong with it, if anything is.
    pub(crate) fn fault(self) -> Option<&'static str> {
        let Mode { read_only, write_only, read_write, create, exclusive, sequential, .. } = self;
        match u32::from(read_only) + u32::from(write_only) + u32::from(read_write) {
            0 => Some("the mode has none of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR"),
            1 if read_only && (create || exclusive) => {
                Some("the mode has MPI_MODE_CREATE or MPI_MODE_EXCL with MPI_MODE_RDONLY")
            }
            1 if read_write && sequential => Some("the mode has MPI_MODE_SEQUENTIAL with MPI_MODE_RDWR"),
            1 => None,
            _ => Some("the mode has more than one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR"),
        }
    }

    /// All of it as a number, by which ranks compare theirs.
    pub(crate) fn number(self) -> u32 {
        let bits = [
            self.read_only,
            self.write_only,
            self.read_write,
            self.create,
            self.exclusive,
            self.delete_on_close,
            self.unique_open,
            self.sequential,
            self.append,
        ];
        bits.into_iter().fold(0, |number, bit| number << 1 | u32::from(bit))
    }

    /// Whether it may be read.
    pub fn reads(self) -> bool {
        !self.write_only
    }

    /// Whether it may be written.
    pub fn writes(self) -> bool {
        !self.read_only
    }
}

#[cfg(test)]
mod tests {
    use super::Mode;

    #[test]
    fn exactly_one_way_of_access() {
        let reading = Mode { read_only: true, ..Mode::default() };
        assert!(reading.fault().is_none());
        assert!(Mode::default().fault().is_some());
        assert!(Mode { write_only: true, ..reading }.fault().is_some());
        assert!(Mode { create: true, ..reading }.fault().is_some());
        assert!(Mode { exclusive: true, ..reading }.fault().is_some());
        assert!(Mode { sequential: true, ..reading }.fault().is_none());
        assert!(Mode { sequential: true, read_write: true, ..Mode::default() }.fault().is_some());
    }
}
