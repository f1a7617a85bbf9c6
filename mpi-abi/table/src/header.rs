//! `mpi.h` of each interface.

use std::fmt::Write;

use crate::constant::sections;
use crate::function::{Form, Function, Parameter};
use crate::{Interface, functions};

/// Handle types in the order of the standard.
const HANDLES: &[&str] =
    &["Comm", "Group", "Datatype", "Op", "Request", "Message", "Errhandler", "Info", "Win", "Session"];
const TOOL_HANDLES: &[&str] =
    &["enum", "cvar_handle", "pvar_handle", "pvar_session", "event_registration", "event_instance"];

/// A type as C has it.
fn c_type(name: &str) -> String {
    match name {
        "bool" | "index" | "number" => "int".to_string(),
        "address" => "void".to_string(),
        "int" | "char" | "void" | "double" => name.to_string(),
        _ if name.starts_with("MPI_") => name.to_string(),
        _ => format!("MPI_{name}"),
    }
}

fn parameter(one: &Parameter, large: bool) -> String {
    let constant = if one.constant { "const " } else { "" };
    let kind = c_type(one.base(large));
    // Of an array, compilers demand that its elements be there; some constants that programs may pass are no such
    // place.
    if one.array == "[]" && (one.base == "Status" || one.name.ends_with("weights")) {
        return format!("{constant}{kind} *{}{}", "*".repeat(one.pointers), one.name);
    }
    format!("{constant}{kind} {}{}{}", "*".repeat(one.pointers), one.name, one.array)
}

fn prototype(form: &Form<'_>, prefix: &str) -> String {
    let mut parameters: Vec<String> = form.function.parameters.iter().map(|one| parameter(one, form.large)).collect();
    if form.function.variadic {
        parameters.push("...".to_string());
    }
    if parameters.is_empty() {
        parameters.push("void".to_string());
    }
    format!("{} {prefix}{}({});\n", c_type(form.function.result), form.name(), parameters.join(", "))
}

fn types(text: &mut String, interface: Interface) {
    match interface {
        Interface::Standard => {
            *text += "typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\ntypedef MPI_Offset MPI_Count;\n\n";
            *text += "typedef struct {\n    int MPI_SOURCE;\n    int MPI_TAG;\n    int MPI_ERROR;\n    int MPI_internal[5];\n\
                      } MPI_Status;\n\n";
            for name in HANDLES.iter().chain(&["File"]) {
                let _ = writeln!(text, "typedef struct MPI_ABI_{name} *MPI_{name};");
            }
        }
        Interface::Mpich => {
            *text += "typedef long MPI_Aint;\ntypedef int MPI_Fint;\ntypedef long long MPI_Offset;\n\
                      typedef long long MPI_Count;\n\n";
            *text += "typedef struct MPI_Status {\n    int count_lo;\n    int count_hi_and_cancelled;\n    int MPI_SOURCE;\n    \
                      int MPI_TAG;\n    int MPI_ERROR;\n} MPI_Status;\n\n";
            for name in HANDLES {
                let _ = writeln!(text, "typedef int MPI_{name};");
            }
            *text += "typedef struct ADIOI_FileD *MPI_File;\n";
        }
    }
    for name in TOOL_HANDLES {
        let _ = writeln!(text, "typedef struct MPIR_T_{name} *MPI_T_{name};");
    }
    text.push('\n');
}

/// The declarations of symbols that are constants in the MPICH interface.
const MPICH_SYMBOLS: &str = "extern int *const MPI_UNWEIGHTED;\nextern int *const MPI_WEIGHTS_EMPTY;\n\
    extern MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES;\nextern MPI_Fint *MPI_F_STATUS_IGNORE;\n\
    extern MPI_Fint *MPI_F_STATUSES_IGNORE;\n\
    int MPIR_Dup_fn(MPI_Comm oldcomm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, \
    int *flag);\n\n";

/// What requests of files were called before they were requests like others, and programs of MPICH call them still.
const MPICH_FILE_REQUESTS: &str = "#define MPIO_USES_MPI_REQUEST\n#define MPIO_Request MPI_Request\n\
    #define MPIO_REQUEST_NULL MPI_REQUEST_NULL\n#define MPIO_Wait MPI_Wait\n#define MPIO_Test MPI_Test\n\
    #define PMPIO_Wait PMPI_Wait\n#define PMPIO_Test PMPI_Test\n\n";

fn constants(text: &mut String, interface: Interface) {
    let version = "#define MPI_VERSION 5\n#define MPI_SUBVERSION 0\n";
    *text += version;
    if interface == Interface::Standard {
        *text += "#define MPI_ABI_VERSION 1\n#define MPI_ABI_SUBVERSION 0\n";
    }
    for section in sections() {
        text.push('\n');
        let have = section.constants.iter().filter_map(|one| one.value(interface).map(|value| (one, value)));
        if let Some(name) = section.kind.strip_prefix("enum ") {
            let list: Vec<String> = have.map(|(one, value)| format!("    {} = {value}", one.name)).collect();
            let _ = writeln!(text, "typedef enum {name} {{\n{}\n}} {name};", list.join(",\n"));
            continue;
        }
        for (one, value) in have {
            if one.name == value {
                continue;
            }
            let value = match section.kind {
                kind if kind.starts_with("int") && !kind.contains('*') => format!("({value})"),
                "MPI_T_enum" | "MPI_T_cvar_handle" | "MPI_T_pvar_session" | "MPI_T_pvar_handle" => {
                    format!("(({}){value})", section.kind)
                }
                kind => {
                    let base = kind.trim_end_matches('*');
                    format!("(({}{}){value})", c_type(base), &kind[base.len()..])
                }
            };
            let _ = writeln!(text, "#define {} {value}", one.name);
        }
    }
    text.push('\n');
}

fn callbacks(text: &mut String) {
    for line in include_str!("../callbacks.txt").lines().filter(|line| !line.starts_with('#')) {
        let function = Function::parse_prototype(line).unwrap_or_else(|| panic!("{line}"));
        let prototype = prototype(&Form { function: &function, large: false }, "");
        let (result, rest) = prototype.split_once(' ').unwrap_or(("", ""));
        let (name, rest) = rest.split_once('(').unwrap_or(("", ""));
        let _ = write!(text, "typedef {result} ({name})({rest}");
    }
    for object in ["Comm", "File", "Win", "Session"] {
        let _ = writeln!(text, "typedef MPI_{object}_errhandler_function MPI_{object}_errhandler_fn;");
    }
    text.push('\n');
}

/// Handles as Fortran integers: what `MPI_X_c2f` and `MPI_X_f2c` are.
fn conversions(text: &mut String, interface: Interface) {
    if interface == Interface::Standard {
        *text += "/* The standard ABI has MPI_X_toint and MPI_X_fromint instead of these. */\n#ifdef RWMPI_FORTRAN_HANDLES\n\
                  typedef int MPI_Fint;\n";
    }
    for name in HANDLES {
        let _ = match interface {
            Interface::Standard => writeln!(
                text,
                "#define MPI_{name}_c2f(handle) ((MPI_Fint)MPI_{name}_toint(handle))\n\
                 #define MPI_{name}_f2c(number) (MPI_{name}_fromint(number))"
            ),
            Interface::Mpich => writeln!(
                text,
                "#define MPI_{name}_c2f(handle) ((MPI_Fint)(handle))\n#define MPI_{name}_f2c(number) ((MPI_{name})(number))\n\
                 #define PMPI_{name}_c2f(handle) ((MPI_Fint)(handle))\n\
                 #define PMPI_{name}_f2c(number) ((MPI_{name})(number))"
            ),
        };
    }
    if interface == Interface::Standard {
        *text += "#endif\n";
    }
    // The functions are named after the type, whose C name is longer.
    *text = text.replace("MPI_Datatype_c2f", "MPI_Type_c2f").replace("MPI_Datatype_f2c", "MPI_Type_f2c");
    *text = text.replace("MPI_Datatype_toint", "MPI_Type_toint").replace("MPI_Datatype_fromint", "MPI_Type_fromint");
    text.push('\n');
}

/// The declarations of those functions, under both names.
pub fn prototypes(wanted: impl Fn(&Function) -> bool) -> String {
    let mut text = String::new();
    let functions = functions();
    for prefix in ["", "P"] {
        let wanted = functions.iter().filter(|function| wanted(function));
        wanted.flat_map(Function::forms).for_each(|form| text += &prototype(&form, prefix));
        text.push('\n');
    }
    text
}

/// The whole of `mpi.h`.
pub fn header(interface: Interface) -> String {
    let what = match interface {
        Interface::Standard => "the standard ABI (MPI-5.0 chapter 20)",
        Interface::Mpich => "the MPICH ABI",
    };
    let mut text = format!("/* rwmpi: MPI for C and C++ on {what}. Generated: do not edit. */\n");
    text += "#ifndef RWMPI_MPI_H\n#define RWMPI_MPI_H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    types(&mut text, interface);
    constants(&mut text, interface);
    callbacks(&mut text);
    if interface == Interface::Mpich {
        text += MPICH_SYMBOLS;
        text += MPICH_FILE_REQUESTS;
    }
    text += &prototypes(|_| true);
    conversions(&mut text, interface);
    text += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    text
}
