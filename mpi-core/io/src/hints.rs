//! Hints (MPI-5.0 section 14.2.8): what programs may say about how they use a file.
//!
//! None changes what a call does, as long as what it promises holds. `file_perm` says who may use a file that is
//! created;
//! `collective_buffering`, `romio_cb_read` and `romio_cb_write` can forbid ranks to work together, `cb_nodes` says on
//! how many nodes some do it for others; `romio_ds_read`, `romio_ds_write`, `ind_rd_buffer_size` and
//! `ind_wr_buffer_size` say how a rank by itself reads and writes short blocks. All that are given are kept and given
//! back, since libraries above look whether their values have arrived.

use rwmpi_core::{FileHint, FileWays, Info};

use crate::{Direction, File, Result};

/// Those with values of their own unless others are given: how this library behaves.
const PRESENT: &[(&str, &str)] = &[
    ("access_style", ""),
    ("collective_buffering", "true"),
    ("cb_block_size", "1048576"),
    ("cb_buffer_size", "1048576"),
    ("cb_nodes", "1"),
    ("file_perm", "0666"),
    ("num_io_nodes", "1"),
    ("striping_factor", "1"),
    ("striping_unit", "0"),
    ("romio_cb_read", "automatic"),
    ("romio_cb_write", "automatic"),
    ("romio_ds_read", "automatic"),
    ("romio_ds_write", "automatic"),
    ("ind_rd_buffer_size", "262144"),
    ("ind_wr_buffer_size", "1048576"),
];

/// Whether ranks may work together in collective accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Together {
    reads: bool,
    writes: bool,
    /// At most so many nodes have a rank that reads and writes for others.
    pub(crate) nodes: usize,
}

impl Together {
    pub(crate) fn of(hints: &Info) -> Together {
        let is = |key, value| hints.get(key).ok().flatten() == Some(value);
        let may = !is("collective_buffering", "false");
        let nodes = hints.get("cb_nodes").ok().flatten().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
        let (reads, writes) = (!is("romio_cb_read", "disable"), !is("romio_cb_write", "disable"));
        Together { reads: may && reads, writes: may && writes, nodes }
    }

    pub(crate) fn allows(self, direction: Direction) -> bool {
        match direction {
            Direction::Read => self.reads,
            Direction::Write => self.writes,
        }
    }
}

/// Has the ways of a file be as new hints say.
fn apply(hints: &Info, ways: &mut FileWays) {
    let value = |key| hints.get(key).ok().flatten();
    let choice = |key| match value(key) {
        Some("enable") => Some(true),
        Some("disable") => Some(false),
        _ => None,
    };
    let bytes = |key| value(key).and_then(|text| text.parse().ok());
    // How long gaps may be follows from the length of a window.
    let given = [
        bytes("ind_rd_buffer_size").map(FileHint::ReadWindow),
        choice("romio_ds_read").map(FileHint::ReadsAlong),
        bytes("ind_wr_buffer_size").map(FileHint::StoreWindow),
        choice("romio_ds_write").map(FileHint::Stores),
    ];
    given.into_iter().flatten().for_each(|hint| ways.take_hint(hint));
}

/// Whether a rank that opens a file wants gaps to be written back: that is done if all do.
pub(crate) fn want_sieving(hints: &Info) -> bool {
    hints.get("romio_ds_write").ok().flatten() == Some("enable")
}

/// Who may use a new file, before the process's mask: `file_perm`, octal.
pub(crate) fn permissions(info: &Info) -> u32 {
    let given = info.get("file_perm").ok().flatten();
    given.and_then(|text| u32::from_str_radix(text, 8).ok()).map_or(0o666, |bits| bits & 0o777)
}

impl File {
    /// All hints, with their present values (MPI_File_get_info).
    ///
    /// # Errors
    /// None, as long as the values fit.
    pub fn info(&self) -> rwmpi_core::Result<Info> {
        let mut info = Info::new();
        for (key, value) in PRESENT {
            if !value.is_empty() {
                info.set(key, value)?;
            }
        }
        let given = self.shared.hints.borrow();
        given.iter().try_for_each(|(key, value)| info.set(key, value))?;
        Ok(info)
    }

    /// Takes on hints (MPI_File_set_info). Collective.
    ///
    /// # Errors
    /// The ranks could not agree that all have come here.
    pub fn set_info(&self, info: &Info) -> Result<()> {
        self.keep_hints(info);
        self.agree("setting hints of", Ok(()))
    }

    /// Keeps them.
    pub(crate) fn keep_hints(&self, info: &Info) {
        let mut kept = self.shared.hints.borrow_mut();
        for (key, value) in info.iter() {
            // They were set in an info object before.
            let _ = kept.set(key, value);
        }
        self.shared.together.set(Together::of(&kept));
        apply(info, &mut self.shared.scratch.borrow_mut().ways);
    }
}
