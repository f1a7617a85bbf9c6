//! All environment variables that begin with `RWMPI_`, in one table: so that a name or a value that nobody understands
//! can be pointed out.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use crate::descriptor::JOB_FD;
use crate::environment::{
    CONNECTION_FD, FAULTS_FD, HOST, LANES, LIFELINE_FD, LISTEN, NODES, PARENTS, PLACE, PROGRAM_NUMBER, RANK,
    RECORDS_FD, SIZE, THREADS, TRANSPORT, UNIVERSE_SIZE,
};

/// How messages travel.
pub const PROTOCOL: &str = "RWMPI_PROTOCOL";
/// Who makes progress.
pub const PROGRESS: &str = "RWMPI_PROGRESS";
/// How large the library's buffer for sends is where a thread makes progress, bytes.
pub const SEND_BUFFER: &str = "RWMPI_SEND_BUFFER";
/// Whether large blocks of `malloc`, and static arrays, are shared.
pub const SHARED_HEAP: &str = "RWMPI_SHARED_HEAP";
/// Whether the kernel may copy between processes, as if it forbade it.
pub const KERNEL_COPY: &str = "RWMPI_KERNEL_COPY";
/// Whether a process that a fault of its own kills reports where it was.
pub const BACKTRACE: &str = "RWMPI_BACKTRACE";
/// Whether it is compared what the processes call together, and what is left at the end is named.
pub const CHECK: &str = "RWMPI_CHECK";
/// Which file gives the lengths from which other ways pay.
pub const TUNING: &str = "RWMPI_TUNING";
/// These lengths, from whoever has chosen them for the whole job.
pub const TUNING_TABLE: &str = "RWMPI_TUNING_TABLE";

const PREFIX: &str = "RWMPI_";
/// A name with at most so many letters wrong is taken for a misspelt one.
const WRONG_LETTERS_MAX: usize = 3;

/// What a setting can be.
#[derive(Debug)]
enum Values {
    OneOf(&'static [&'static str]),
    Number,
    /// Whatever reads it says what is wrong.
    Any,
}

/// A variable that users set.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it can be, in words.
    pub values: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
    checked: Values,
}

const SWITCH: Values = Values::OneOf(&["on", "off"]);

const fn setting(name: &'static str, checked: Values, [values, default, doc]: [&'static str; 3]) -> Setting {
    Setting { name, values, default, doc, checked }
}

/// What users set. Help, the manual page and the book are made from it.
pub const SETTINGS: &[Setting] = &[
    setting(
        PROTOCOL,
        Values::OneOf(&["sr", "nsr", "auto"]),
        ["auto, sr or nsr", "auto", "How messages travel; mpiexec --protocol says the same"],
    ),
    setting(
        TRANSPORT,
        Values::OneOf(&["auto", "tcp"]),
        ["auto or tcp", "auto", "What carries messages; mpiexec --transport says the same"],
    ),
    setting(
        LANES,
        Values::Number,
        ["1 to 8", "1", "Ways for threads that communicate at the same time; mpiexec --lanes says the same"],
    ),
    setting(
        PROGRESS,
        Values::OneOf(&["calls", "thread"]),
        [
            "calls or thread",
            "calls",
            "Whether messages of C and Fortran programs move while these compute, by a thread",
        ],
    ),
    setting(
        SEND_BUFFER,
        Values::Number,
        ["bytes", "as the library chooses", "How much of what is sent is copied where RWMPI_PROGRESS is thread"],
    ),
    setting(
        SHARED_HEAP,
        SWITCH,
        [
            "on or off",
            "on",
            "Whether large blocks of malloc, and static arrays, can be read and written by the others of a host",
        ],
    ),
    setting(
        KERNEL_COPY,
        SWITCH,
        ["on or off", "on", "Whether the kernel copies between processes, where it allows that"],
    ),
    setting(
        TUNING,
        Values::Any,
        [
            "a file",
            "a table for this processor",
            "Lengths from which other ways pay, name = number a line; mpiexec --explain lists them",
        ],
    ),
    setting(
        BACKTRACE,
        SWITCH,
        [
            "on or off",
            "on",
            "Whether mpiexec shows where a rank was that SIGSEGV or another fault of its own has killed",
        ],
    ),
    setting(
        CHECK,
        SWITCH,
        [
            "on or off",
            "off",
            "Whether collectives are compared between ranks, and what is left at the end is named; mpiexec --check says the same",
        ],
    ),
    setting(
        LISTEN,
        Values::Any,
        [
            "an address",
            "that of the login",
            "Where a process listens for those of other hosts; mpiexec --interface sets it",
        ],
    ),
    setting("RWMPI_CC", Values::Any, ["a compiler", "cc", "The C compiler of mpicc"]),
    setting("RWMPI_CXX", Values::Any, ["a compiler", "c++", "The C++ compiler of mpicxx"]),
    setting("RWMPI_FC", Values::Any, ["a compiler", "gfortran", "The Fortran compiler of mpifort"]),
];

/// What the launcher tells its processes.
const TOLD: &[&str] = &[
    JOB_FD,
    RANK,
    SIZE,
    PLACE,
    THREADS,
    LIFELINE_FD,
    CONNECTION_FD,
    FAULTS_FD,
    HOST,
    NODES,
    PARENTS,
    TUNING_TABLE,
    PROGRAM_NUMBER,
    UNIVERSE_SIZE,
    RECORDS_FD,
];

/// What the project's own tests are told.
const OF_TESTS: &[&str] = &[
    "RWMPI_BIN_DIR",
    "RWMPI_CC_OPTIONS",
    "RWMPI_FUZZ_CALLS",
    "RWMPI_FUZZ_SEED",
    "RWMPI_HYDRA",
    "RWMPI_MODEL",
    "RWMPI_MPICH",
    "RWMPI_PRTERUN",
    "RWMPI_SIMULATION_RUNS",
    "RWMPI_SIMULATION_SEED",
    "RWMPI_SSHD",
    "RWMPI_TEST_JOB",
    "RWMPI_TEST_SEED",
    "RWMPI_TEST_TIER",
    "RWMPI_WIRE_RUNS",
    "RWMPI_WIRE_SEED",
];

/// The text that says by which lengths this process chooses its ways, and where it is from: what it was told, else what
/// is in the file that the user names.
///
/// # Errors
/// Why that can't be read.
pub fn tuning() -> Result<Option<(String, String)>, String> {
    match std::env::var(TUNING_TABLE) {
        Ok(told) => Ok(Some((told, TUNING_TABLE.to_owned()))),
        Err(_) => std::env::var_os(TUNING).map_or(Ok(None), |file| tuning_file(&file).map(Some)),
    }
}

/// What is in that file, and its name for whoever has to say what is wrong there; nothing where the name is empty.
///
/// # Errors
/// Why it can't be read.
pub fn tuning_file(file: &OsStr) -> Result<(String, String), String> {
    let origin = format!("{TUNING}={}", file.to_string_lossy());
    if file.is_empty() {
        return Ok((String::new(), origin));
    }
    match std::fs::read_to_string(file) {
        Ok(text) => Ok((text, origin)),
        Err(error) => Err(format!("{origin}: {error}")),
    }
}

/// What is wrong with those of `variables` that are ours, a sentence each, without saying anything twice.
pub fn remarks(variables: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeSet<String> {
    variables.into_iter().filter_map(|(name, value)| remark(name.to_str()?, &value.to_string_lossy())).collect()
}

fn remark(name: &str, value: &str) -> Option<String> {
    if !name.starts_with(PREFIX) || TOLD.contains(&name) || OF_TESTS.contains(&name) {
        return None;
    }
    let Some(Setting { checked, .. }) = SETTINGS.iter().find(|known| known.name == name) else {
        let nearest = SETTINGS.iter().map(|known| (strsim::osa_distance(name, known.name), known.name)).min();
        let hint = match nearest {
            Some((wrong, known)) if wrong <= WRONG_LETTERS_MAX => format!("perhaps {known} is meant"),
            _ => format!("there are {}", listed(SETTINGS.iter().map(|known| known.name).collect())),
        };
        return Some(format!("{name} is no setting of rwmpi, and has no effect: {hint}"));
    };
    match checked {
        Values::OneOf(choices) if !value.is_empty() && !choices.contains(&value) => Some(format!(
            "{name}={value} is not understood: {name} can be {}",
            listed(choices.to_vec()).replace(" and ", " or ")
        )),
        Values::Number if !value.is_empty() && value.parse::<usize>().is_err() => {
            Some(format!("{name}={value} is not understood: {name} is a number"))
        }
        _ => None,
    }
}

/// `a, b and c`.
fn listed(mut names: Vec<&str>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last.to_owned() } else { format!("{} and {last}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, value: &str) -> String {
        remark(name, value).unwrap_or_default()
    }

    #[test]
    fn what_makes_sense_needs_no_remark() {
        for (name, value) in [
            (SHARED_HEAP, "off"),
            (SHARED_HEAP, "on"),
            (SHARED_HEAP, ""),
            (SEND_BUFFER, "1048576"),
            (PROGRESS, "thread"),
            (RANK, "3"),
            ("RWMPI_CC", "no compiler at all"),
            ("OTHER", "off"),
        ] {
            assert_eq!(remark(name, value), None, "{name}={value}");
        }
    }

    #[test]
    fn a_value_that_makes_no_sense_is_met_with_those_that_do() {
        assert_eq!(
            said(SHARED_HEAP, "no"),
            "RWMPI_SHARED_HEAP=no is not understood: RWMPI_SHARED_HEAP can be on or off"
        );
        assert!(said(KERNEL_COPY, "0").ends_with("can be on or off"));
        assert!(said(PROTOCOL, "SR").ends_with("can be sr, nsr or auto"));
        assert!(said(SEND_BUFFER, "1M").ends_with("is a number"));
    }

    #[test]
    fn a_misspelt_name_is_met_with_the_right_one() {
        assert!(said("RWMPI_SHARD_HEAP", "off").ends_with("perhaps RWMPI_SHARED_HEAP is meant"));
        assert!(said("RWMPI_PROTOCOLL", "sr").ends_with("perhaps RWMPI_PROTOCOL is meant"));
        assert!(said("RWMPI_FRUITS_OF_SUMMER", "1").contains("there are RWMPI_PROTOCOL, "));
    }

    #[test]
    fn nothing_is_said_twice() {
        let twice = [(SHARED_HEAP, "no"), ("HOME", "/"), (SHARED_HEAP, "no")];
        assert_eq!(remarks(twice.map(|(name, value)| (name.into(), value.into()))).len(), 1);
    }
}
