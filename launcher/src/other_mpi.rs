//! Programs of MPI libraries that do not know of this launcher: each of their ranks takes itself for a job of its own.
//!
//! Whether a program is one is seen in its file, if it is linked with the library; of what loads it later, such as
//! Python, in what the running process has mapped.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Beginnings of the names of their libraries, and whose they are. (Those of MPICH and its relatives understand us.)
const LIBRARIES: [(&str, &str); 5] = [
    ("libmpi.so.40", "Open MPI"),
    ("libmpi.so.20", "Open MPI"),
    ("libmpi_mpifh.so", "Open MPI"),
    ("libopen-pal.so", "Open MPI"),
    ("liboshmem.so", "Open MPI"),
];
/// Names of libraries stand near the beginning of a program's file.
const LOOKED_AT_BYTES: u64 = 1 << 20;

/// A library of another MPI, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherMpi {
    library: &'static str,
    name: &'static str,
}

impl OtherMpi {
    /// What to say about a program with it.
    pub(crate) fn warning(self, program: &str) -> String {
        format!(
            "{program} uses {} ({}), which does not know of this launcher: each rank takes itself for a job of one. \
             Compile it with this mpicc, or start it with the mpiexec of {}",
            self.name, self.library, self.name
        )
    }

    fn named(name: &[u8]) -> Option<OtherMpi> {
        // A version may follow; anything else does in a program that has the names above in it.
        let is_version = |rest: &[u8]| rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        let known =
            LIBRARIES.into_iter().find(|(library, _)| name.strip_prefix(library.as_bytes()).is_some_and(is_version));
        known.map(|(library, name)| OtherMpi { library, name })
    }
}

/// What a program's file is linked with.
pub(crate) fn linked_with(program: &Path) -> Option<OtherMpi> {
    let mut bytes = Vec::new();
    File::open(program).ok()?.take(LOOKED_AT_BYTES).read_to_end(&mut bytes).ok()?;
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    bytes.split(|&byte| byte == 0).find_map(OtherMpi::named)
}

/// What a running process has loaded.
pub(crate) fn loaded_by(pid: i32) -> Option<OtherMpi> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    maps.lines().find_map(|line| OtherMpi::named(line.rsplit('/').next()?.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_are_recognized() {
        let name = |library: &str| OtherMpi::named(library.as_bytes()).map(|other| other.name);
        assert_eq!(name("libmpi.so.40.40.7"), Some("Open MPI"));
        for ours in
            ["libmpi.so.12", "libmpi_abi.so.1", "libmpi.so", "libmpich.so.12", "libm.so.6", "libmpi.so.40libmpi.so.20"]
        {
            assert_eq!(name(ours), None, "{ours}");
        }
        let warning = OtherMpi::named(b"libmpi.so.40").unwrap().warning("./a.out");
        assert!(warning.contains("./a.out uses Open MPI (libmpi.so.40)"), "{warning}");
    }

    #[test]
    fn programs_without_any_are_left_alone() {
        assert_eq!(linked_with(Path::new("/bin/sh")), None);
        assert_eq!(linked_with(Path::new("/no/such/program")), None);
        assert_eq!(loaded_by(std::process::id() as i32), None);
    }

    #[test]
    fn a_name_in_a_program_is_found() {
        let path = std::env::temp_dir().join(format!("rwmpi-other-{}", std::process::id()));
        fs::write(&path, b"\x7fELF....\0libc.so.6\0libmpi.so.40\0").unwrap();
        assert_eq!(linked_with(&path).map(|other| other.name), Some("Open MPI"));
        fs::write(&path, b"#!/bin/sh\0libmpi.so.40\0").unwrap();
        assert_eq!(linked_with(&path), None);
        fs::remove_file(&path).unwrap();
    }
}
