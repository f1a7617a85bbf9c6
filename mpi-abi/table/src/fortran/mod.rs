//! Fortran's view of the table (MPI-5.0 section 19.1): which functions Fortran has, what their arguments are there, and
//! what is made of that: the library's exports, `mpif.h` and the modules `mpi` and `mpi_f08`.
//!
//! What differs from C by rule: every argument comes by reference, handles are INTEGER, texts have a hidden length
//! behind all other arguments, and the error code is the last argument. What differs by function is here.

mod export;
mod f08;
mod header;
mod module;

pub use export::fortran_exports;
pub use f08::fortran_module_2008;
pub(crate) use f08::is_in_module_2008;
pub use header::fortran_header;
pub use module::fortran_module;

use crate::function::{Base, Function, Parameter};

/// What an argument is in Fortran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// INTEGER.
    Integer,
    /// LOGICAL: to gfortran an `int` that is 0 or 1.
    Logical,
    /// INTEGER of the kind with that name.
    Wide(&'static str),
    /// INTEGER where C has MPI_Aint: what MPI-3.0 removed.
    Narrowed,
    /// INTEGER that counts from one, and from zero in C.
    Index,
    /// INTEGER that is the length of a text: in C with the zero byte at its end.
    TextLength,
    /// INTEGER: the key of an attribute.
    Key,
    /// INTEGER array: weights of edges, or a constant that stands for none.
    Weights,
    /// INTEGER array: error codes, or the constant that ignores them.
    ErrorCodes,
    /// INTEGER that is a handle.
    Handle,
    /// INTEGER that is the handle of a file.
    File,
    /// INTEGER array of MPI_STATUS_SIZE.
    Status,
    /// CHARACTER(*).
    Text,
    /// CHARACTER(*) array: ends with a blank text.
    Texts,
    /// CHARACTER(*) array with as many texts as another argument says.
    CountedTexts,
    /// CHARACTER(*) array of two dimensions: for each of a number of commands, texts that end with a blank one.
    TextTable,
    /// A buffer of any type.
    Choice,
    /// A buffer that the standard declares but gives no meaning.
    Unused,
    /// INTEGER of address size, or C_PTR: where memory begins.
    Place,
    /// INTEGER of address size, in C a pointer: an attribute or what callbacks get.
    Value,
    /// INTEGER, in C a pointer: likewise in MPI-1.
    NarrowValue,
    /// A procedure.
    Procedure,
    /// Only C has it.
    Absent,
}

/// Whether Fortran has the function under its plain name: handles are integers there already. Large-count forms are for
/// the module `mpi_f08` alone.
pub(crate) fn is_bound(function: &Function) -> bool {
    let name = function.name;
    let conversion = name.ends_with("_toint") || name.ends_with("_fromint");
    !(function.is_tool() || conversion || name.ends_with("_c"))
}

/// Whether its last argument is the error code.
pub(crate) fn has_error_code(function: &Function) -> bool {
    function.result == "int" && function.name != "MPI_Pcontrol"
}

/// What that argument of that function is.
pub(crate) fn kind(function: &Function, parameter: &Parameter) -> Kind {
    let first_attributes = ["MPI_Attr_put", "MPI_Attr_get", "MPI_Keyval_create"].contains(&function.name);
    let value = if first_attributes { Kind::NarrowValue } else { Kind::Value };
    let depth = parameter.pointers + parameter.array.matches('[').count();
    match (Base::of(parameter.base), parameter.name) {
        (_, "argc") => Kind::Absent,
        (Base::Char, "argv") if function.name != "MPI_Comm_spawn" => Kind::Absent,
        (Base::Char, "argv") => Kind::Texts,
        (Base::Char, "array_of_commands") => Kind::CountedTexts,
        (Base::Char, "array_of_argv") => Kind::TextTable,
        (Base::Char, _) => Kind::Text,
        (Base::Void, "extra_state" | "attribute_val") | (Base::Address, "attribute_val") => value,
        (Base::Void, _) => Kind::Choice,
        (Base::Address, "buffer_addr") => Kind::Unused,
        (Base::Address, _) => Kind::Place,
        (Base::Handle, _) => Kind::Handle,
        (Base::File, _) => Kind::File,
        (Base::Status, _) => Kind::Status,
        (Base::Function, _) => Kind::Procedure,
        (Base::Wide, _) if function.until.is_some() => Kind::Narrowed,
        (Base::Wide, _) => Kind::Wide(match parameter.base {
            "Count" => "MPI_COUNT_KIND",
            "Offset" => "MPI_OFFSET_KIND",
            _ => "MPI_ADDRESS_KIND",
        }),
        (Base::Int, "buflen" | "pset_len") => Kind::TextLength,
        (Base::Int, "array_of_errcodes") => Kind::ErrorCodes,
        (Base::Int, "weighted") => Kind::Logical,
        (Base::Int, name) if name.ends_with("weights") => Kind::Weights,
        (Base::Int, name) if name.ends_with("keyval") && depth == 0 => Kind::Key,
        (Base::Int, _) if parameter.base == "bool" => Kind::Logical,
        (Base::Int, _) if parameter.base == "index" => Kind::Index,
        (Base::Int, _) => Kind::Integer,
        (Base::Tool, _) => unreachable!("tool functions have no Fortran form"),
    }
}

/// The name that programs may give with the argument.
pub(crate) fn keyword(parameter: &Parameter) -> &str {
    if parameter.name == "indx" { "index" } else { parameter.name }
}

/// Sizes of the intrinsic types whose variables MPI_SIZEOF takes, besides CHARACTER: type, kind, bytes.
pub(crate) fn sizes() -> impl Iterator<Item = (&'static str, u32, u32)> {
    let whole = ["integer", "logical"].into_iter().flat_map(|name| [1, 2, 4, 8, 16].map(|kind| (name, kind, kind)));
    // Kind 10 is the processor's extended precision, in 16 bytes.
    let real = [(4, 4), (8, 8), (10, 16), (16, 16)];
    whole
        .chain(real.map(|(kind, bytes)| ("real", kind, bytes)))
        .chain(real.map(|(kind, bytes)| ("complex", kind, 2 * bytes)))
}

/// Procedures that a program may pass where it has none of its own: the objects whose attributes they are for, as in
/// their names.
pub(crate) const ATTRIBUTE_OBJECTS: [&str; 4] = ["", "comm_", "type_", "win_"];

/// Procedures that a program passes where a representation needs no conversion, with their shapes; the first is for all
/// of Fortran, the other for the module `mpi_f08` alone.
pub(crate) const NO_CONVERSION: [(&str, &str); 2] = [
    ("MPI_CONVERSION_FN_NULL", "MPI_Datarep_conversion_function"),
    ("MPI_CONVERSION_FN_NULL_C", "MPI_Datarep_conversion_function_c"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(name: &str) -> Vec<Kind> {
        let functions = crate::functions();
        let function = functions.iter().find(|function| function.name == name).unwrap();
        function.parameters.iter().map(|parameter| kind(function, parameter)).collect()
    }

    #[test]
    fn arguments_are_what_the_standard_says() {
        use Kind::{Absent, Choice, Handle, Index, Integer, Key, Logical, NarrowValue, Narrowed, Status, Value};
        assert_eq!(kinds("MPI_Init"), [Absent, Absent]);
        assert_eq!(kinds("MPI_Recv"), [Choice, Integer, Handle, Integer, Integer, Handle, Status]);
        assert_eq!(kinds("MPI_Testany"), [Integer, Handle, Index, Logical, Status]);
        assert_eq!(kinds("MPI_Address"), [Choice, Narrowed]);
        assert_eq!(kinds("MPI_Get_address"), [Choice, Kind::Wide("MPI_ADDRESS_KIND")]);
        assert_eq!(kinds("MPI_Attr_get"), [Handle, Key, NarrowValue, Logical]);
        assert_eq!(kinds("MPI_Comm_get_attr"), [Handle, Key, Value, Logical]);
    }

    #[test]
    fn all_of_the_first_standard_is_bound() {
        let functions = crate::functions();
        assert_eq!(functions.iter().filter(|one| one.since == "1.0" && is_bound(one)).count(), 129);
        assert!(functions.iter().filter(|one| is_bound(one)).count() > 420);
    }
}
