//! `mpif.h`, valid in fixed and in free form: what is Fortran starts in column 7, no line is longer than 72 columns or
//! goes on in the next.

use std::fmt::Write;

use super::{ATTRIBUTE_OBJECTS, NO_CONVERSION};
use crate::constant::{Constant, sections};
use crate::function::{Base, functions};
use crate::{Interface, Section};

/// What the value of a constant is as an INTEGER.
///
/// # Panics
/// If it is none.
fn integer(value: &str) -> i64 {
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).map(|bits| i64::from(bits.cast_signed())),
        None => value.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("the constant's value {value:?} is no integer"))
}

/// A constant's name and value in Fortran.
pub(super) fn constant(one: &Constant, interface: Interface) -> Option<(String, i64)> {
    let value = integer(one.value(interface)?);
    let name = one.name;
    let name_in_fortran = match name {
        "MPI_F_SOURCE" | "MPI_F_TAG" | "MPI_F_ERROR" | "MPI_F_STATUS_SIZE" => name.replacen("_F_", "_", 1),
        _ => name.to_string(),
    };
    let value = match name {
        // Places in the status count from one.
        "MPI_F_SOURCE" | "MPI_F_TAG" | "MPI_F_ERROR" => value + 1,
        // No zero byte at the end.
        _ if name.starts_with("MPI_MAX_") => value - 1,
        _ if is_predefined_key(name) && interface == Interface::Mpich => value + 1,
        _ => value,
    };
    Some((name_in_fortran, value))
}

/// Whether it is the key of an attribute that communicators or windows have from the start. In the MPICH ABI Fortran
/// knows them by other values than C.
fn is_predefined_key(name: &str) -> bool {
    const KEYS: [&str; 12] = [
        "TAG_UB",
        "IO",
        "HOST",
        "WTIME_IS_GLOBAL",
        "APPNUM",
        "LASTUSEDCODE",
        "UNIVERSE_SIZE",
        "WIN_BASE",
        "WIN_DISP_UNIT",
        "WIN_SIZE",
        "WIN_CREATE_FLAVOR",
        "WIN_MODEL",
    ];
    KEYS.contains(&name.trim_start_matches("MPI_"))
}

/// Whether Fortran has the constants of that section as integers.
fn has_integers(section: &Section) -> bool {
    match section.kind {
        "int" | "int errors" => true,
        kind if kind.contains('*') || kind.contains(' ') || kind.starts_with("MPI_T_") || kind == "Offset" => false,
        kind => matches!(Base::of(kind), Base::Handle | Base::File),
    }
}

fn parameter(text: &mut String, kind: &str, name: &str, value: &str) {
    let _ = writeln!(text, "      {kind} {name}\n      PARAMETER ({name}={value})");
}

/// The constants that are addresses. Programs and library find each other's by the names of these blocks, which are
/// those that the MPICH ABI has.
pub(super) const BLOCKS: &str = "      INTEGER MPI_BOTTOM, MPI_IN_PLACE
      INTEGER MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
      COMMON /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE
      SAVE /MPIPRIV1/
      INTEGER MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)
      INTEGER MPI_ERRCODES_IGNORE(1)
      COMMON /MPIPRIV2/ MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE
      SAVE /MPIPRIV2/
      CHARACTER*1 MPI_ARGVS_NULL(1,1), MPI_ARGV_NULL(1)
      COMMON /MPIPRIVC/ MPI_ARGVS_NULL, MPI_ARGV_NULL
      SAVE /MPIPRIVC/
      INTEGER MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)
      COMMON /MPIFCMB5/ MPI_UNWEIGHTED
      SAVE /MPIFCMB5/
      COMMON /MPIFCMB9/ MPI_WEIGHTS_EMPTY
      SAVE /MPIFCMB9/
      INTEGER MPI_BUFFER_AUTOMATIC
      COMMON /MPIFCMBa/ MPI_BUFFER_AUTOMATIC
      SAVE /MPIFCMBa/
";

/// Constants that are integers: the two that say what may be done with buffers of operations in flight, and those of
/// the sections of these kinds.
pub(super) fn integers(text: &mut String, interface: Interface, subarrays: &str, wanted: impl Fn(&str) -> bool) {
    let mut integers = vec![
        ("MPI_VERSION", 5),
        ("MPI_SUBVERSION", 0),
        ("MPI_INTEGER_KIND", 4),
        ("MPI_ADDRESS_KIND", 8),
        ("MPI_OFFSET_KIND", 8),
        ("MPI_COUNT_KIND", 8),
    ];
    if interface == Interface::Standard {
        integers.extend([("MPI_ABI_VERSION", 1), ("MPI_ABI_SUBVERSION", 0)]);
    }
    for (name, value) in integers {
        parameter(text, "INTEGER", name, &value.to_string());
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        parameter(text, "LOGICAL", name, subarrays);
    }
    let sections = sections();
    let with_integers = sections.iter().filter(|section| has_integers(section) && wanted(section.kind));
    for one in with_integers.flat_map(|section| &section.constants) {
        if let Some((name, value)) = constant(one, interface) {
            parameter(text, "INTEGER", &name, &value.to_string());
        }
    }
    for one in sections.iter().filter(|section| section.kind == "Offset").flat_map(|section| &section.constants) {
        if let Some(value) = one.value(interface) {
            parameter(text, "INTEGER(KIND=MPI_OFFSET_KIND)", one.name, value);
        }
    }
}

/// Constants and constant addresses: what `mpif.h` and the module `mpi` have in common.
pub(super) fn constants(interface: Interface) -> String {
    let mut text = String::new();
    integers(&mut text, interface, ".FALSE.", |_| true);
    text += BLOCKS;
    for object in ATTRIBUTE_OBJECTS {
        for what in ["DUP_FN", "NULL_COPY_FN", "NULL_DELETE_FN"] {
            let _ = writeln!(text, "      EXTERNAL MPI_{}{what}", object.to_uppercase());
        }
    }
    let _ = writeln!(text, "      EXTERNAL {}", NO_CONVERSION[0].0);
    text
}

/// The whole of `mpif.h`.
pub fn fortran_header(interface: Interface) -> String {
    let mut text = String::from("! rwmpi: MPI for Fortran. Generated: do not edit.\n");
    text += &constants(interface);
    for function in functions().iter().filter(|one| super::is_bound(one) && one.result != "int") {
        let kind = match function.result {
            "double" => "DOUBLE PRECISION",
            _ => "INTEGER(KIND=MPI_ADDRESS_KIND)",
        };
        for prefix in ["", "P"] {
            let name = format!("{prefix}{}", function.name).to_uppercase();
            let _ = writeln!(text, "      {kind} {name}\n      EXTERNAL {name}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_both_forms() {
        for interface in [Interface::Standard, Interface::Mpich] {
            for line in fortran_header(interface).lines() {
                assert!(line.len() <= 72 && (line.starts_with("      ") || line.starts_with('!')), "{line}");
            }
        }
    }

    #[test]
    fn values_are_those_of_fortran() {
        let [standard, mpich] = [Interface::Standard, Interface::Mpich].map(fortran_header);
        for (name, in_standard, in_mpich) in [
            ("MPI_STATUS_SIZE", 8, 5),
            ("MPI_SOURCE", 1, 3),
            ("MPI_ERROR", 3, 5),
            ("MPI_MAX_PROCESSOR_NAME", 255, 127),
            ("MPI_TAG_UB", 501, 1_681_915_906),
            ("MPI_INTEGER", 0x219, 1_275_069_467),
            ("MPI_SHORT_INT", 0x22c, -1_946_157_053),
        ] {
            assert!(standard.contains(&format!("({name}={in_standard})\n")), "{name}");
            assert!(mpich.contains(&format!("({name}={in_mpich})\n")), "{name}");
        }
    }
}
