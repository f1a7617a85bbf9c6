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
    typedef struct {\n    MPI_Fint count_lo;\n    MPI_Fint count_hi_and_cancelled;\n    MPI_Fint MPI_SOURCE;\n    \
    MPI_Fint MPI_TAG;\n    MPI_Fint MPI_ERROR;\n} MPI_F08_status;\nextern MPI_F08_status *MPI_F08_STATUS_IGNORE;\n\
    extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;\nint MPIX_Query_cuda_support(void);\n\
    int MPIX_Query_hip_support(void);\nint MPIX_Query_ze_support(void);\n\
    #define MPIX_GPU_SUPPORT_CUDA 0\n#define MPIX_GPU_SUPPORT_ZE 1\n#define MPIX_GPU_SUPPORT_HIP 2\n\
    int MPIX_GPU_query_support(int gpu_type, int *is_supported);\n\
    typedef int MPIX_Stream;\n#define MPIX_STREAM_NULL ((MPIX_Stream)0x3c000000)\n\
    typedef struct MPIX_Iov {\n    void *iov_base;\n    MPI_Aint iov_len;\n} MPIX_Iov;\n\
    int MPIX_Type_iov_len(MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count *iov_len, MPI_Count *actual_iov_bytes);\n\
    int MPIX_Type_iov(MPI_Datatype datatype, MPI_Count iov_offset, MPIX_Iov *iov, MPI_Count max_iov_len, \
    MPI_Count *actual_iov_len);\n\
    int MPIX_Info_set_hex(MPI_Info info, const char *key, const void *value, int value_size);\n\
    int MPIX_Request_is_complete(MPI_Request request);\nint MPIX_Stream_progress(MPIX_Stream stream);\n\
    int MPIX_Comm_test_threadcomm(MPI_Comm comm, int *flag);\n\
    int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream *stream);\n\
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
    for function in &crate::function::callbacks() {
        let prototype = prototype(&Form { function, large: false }, "");
        let (result, rest) = prototype.split_once(' ').unwrap_or(("", ""));
        let (name, rest) = rest.split_once('(').unwrap_or(("", ""));
        let _ = write!(text, "typedef {result} ({name})({rest}");
    }
    for object in ["Comm", "File", "Win", "Session"] {
        let _ = writeln!(text, "typedef MPI_{object}_errhandler_function MPI_{object}_errhandler_fn;");
    }
    text.push('\n');
}

/// What is a type's handle called, and its functions.
fn handle_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let function = |name: &'static str| if name == "Datatype" { "Type" } else { name };
    HANDLES.iter().chain(&["File"]).map(move |&name| (name, function(name)))
}

/// Handles as Fortran integers, and statuses as arrays of them: what `MPI_X_c2f` and `MPI_X_f2c` are.
///
/// The standard ABI has no such symbols: there they are functions of the header, made of those that it has.
fn conversions(text: &mut String, interface: Interface) {
    if interface == Interface::Standard {
        *text += "/* Conversions between C and Fortran are no symbols of the standard ABI. */\ntypedef int MPI_Fint;\n";
        for (name, function) in handle_names() {
            let _ = writeln!(
                text,
                "static __inline__ MPI_Fint MPI_{function}_c2f(MPI_{name} handle) {{ return MPI_{function}_toint(handle); \
                 }}\nstatic __inline__ MPI_{name} MPI_{function}_f2c(MPI_Fint number) {{ return \
                 MPI_{function}_fromint(number); }}"
            );
        }
        *text += STANDARD_STATUSES;
        return;
    }
    for (name, function) in handle_names() {
        for prefix in ["", "P"] {
            let _ = writeln!(
                text,
                "MPI_Fint {prefix}MPI_{function}_c2f(MPI_{name} handle);\nMPI_{name} \
                 {prefix}MPI_{function}_f2c(MPI_Fint number);"
            );
            // A handle of a file is a pointer.
            if name != "File" {
                let _ = writeln!(
                    text,
                    "#define {prefix}MPI_{function}_c2f(handle) ((MPI_Fint)(handle))\n\
                     #define {prefix}MPI_{function}_f2c(number) ((MPI_{name})(number))"
                );
            }
        }
    }
    for prefix in ["", "P"] {
        let forms = [("c", "MPI_Status"), ("f", "MPI_Fint"), ("f08", "MPI_F08_status")];
        for ((from, of), (to, into)) in forms.iter().flat_map(|from| forms.iter().map(move |to| (from, to))) {
            if from != to {
                let _ = writeln!(text, "int {prefix}MPI_Status_{from}2{to}(const {of} *from, {into} *to);");
            }
        }
    }
    text.push('\n');
}

/// In the standard ABI a status is laid out alike in all forms.
const STANDARD_STATUSES: &str = "typedef MPI_Status MPI_F08_status;
static __inline__ int MPI_Status_c2f(const MPI_Status *from, MPI_Fint *to)
{
    int i;
    to[0] = from->MPI_SOURCE;
    to[1] = from->MPI_TAG;
    to[2] = from->MPI_ERROR;
    for (i = 3; i < 8; i++)
        to[i] = from->MPI_internal[i - 3];
    return MPI_SUCCESS;
}
static __inline__ int MPI_Status_f2c(const MPI_Fint *from, MPI_Status *to)
{
    int i;
    to->MPI_SOURCE = from[0];
    to->MPI_TAG = from[1];
    to->MPI_ERROR = from[2];
    for (i = 3; i < 8; i++)
        to->MPI_internal[i - 3] = from[i];
    return MPI_SUCCESS;
}
static __inline__ int MPI_Status_c2f08(const MPI_Status *from, MPI_F08_status *to) { *to = *from; return MPI_SUCCESS; }
static __inline__ int MPI_Status_f082c(const MPI_F08_status *from, MPI_Status *to) { *to = *from; return MPI_SUCCESS; }
static __inline__ int MPI_Status_f2f08(const MPI_Fint *from, MPI_F08_status *to) { return MPI_Status_f2c(from, to); }
static __inline__ int MPI_Status_f082f(const MPI_F08_status *from, MPI_Fint *to) { return MPI_Status_c2f(from, to); }

";

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
