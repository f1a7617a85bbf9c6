//! What the tests that cross crates share.
pub mod conformance;

use std::path::PathBuf;

pub mod sample;
pub mod suites;

/// The program `name` (`mpiexec`, `npb`, `mpi-bench`), to be run by a test of whole jobs.
///
/// It is looked for in the folder that `RWMPI_BIN_DIR` names, as `cargo xtask test` does after it has built the
/// programs; without that variable, where cargo leaves programs of the test's own profile.
///
/// # Panics
/// If it is not there.
pub fn binary(name: &str) -> PathBuf {
    let folder = std::env::var_os("RWMPI_BIN_DIR").map_or_else(beside_the_tests, PathBuf::from);
    let program = folder.join(name);
    assert!(
        program.is_file(),
        "{} is not there: run the tests by `cargo xtask test`, or build it first: `cargo build --bin {name}`",
        program.display()
    );
    program
}

/// Tests lie in `deps`, beside the programs.
fn beside_the_tests() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    test.ancestors().nth(2).expect("a test lies in a folder of cargo's").to_path_buf()
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "cargo build --bin no-such-program")]
    fn a_program_that_was_not_built_is_missed_in_words() {
        super::binary("no-such-program");
    }
}
