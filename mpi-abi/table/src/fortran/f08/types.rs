//! Types, constants and the shapes of callbacks, and what an argument is declared as.

use std::fmt::Write;

use super::super::{ATTRIBUTE_OBJECTS, Kind, NO_CONVERSION, header, keyword, kind};
use super::{has_buffers, is_asynchronous};
use crate::Interface;
use crate::constant::sections;
use crate::export::is_new_handle;
use crate::function::{Base, Function, Parameter, callbacks};

/// The types that are handles.
pub(super) const HANDLES: [&str; 11] =
    ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win"];

/// The type of an argument; `None` if only C has it.
fn type_of(function: &Function, one: &Parameter) -> Option<String> {
    Some(match kind(function, one) {
        Kind::Absent => return None,
        Kind::Choice => "type(*), dimension(..)".to_string(),
        Kind::Unused | Kind::Place => "type(c_ptr)".to_string(),
        Kind::Logical => "logical".to_string(),
        Kind::Wide(kind) => format!("integer(kind={kind})"),
        Kind::Value => "integer(kind=MPI_ADDRESS_KIND)".to_string(),
        Kind::Handle | Kind::File | Kind::Status => format!("type(MPI_{})", one.base),
        Kind::Text | Kind::Texts | Kind::CountedTexts | Kind::TextTable => "character(len=*)".to_string(),
        Kind::Procedure => format!("procedure(MPI_{})", one.base),
        _ => "integer".to_string(),
    })
}

/// By what compilers tell procedures of one name apart: the types of their arguments. Kinds of the same width are one.
pub(super) fn list(function: &Function) -> Vec<String> {
    let types = function.parameters.iter().filter_map(|one| type_of(function, one));
    types.map(|one| one.replace("MPI_ADDRESS_KIND", "8").replace("MPI_COUNT_KIND", "8")).collect()
}

fn shape(function: &Function, one: &Parameter) -> &'static str {
    match kind(function, one) {
        Kind::Choice | Kind::Text => "",
        Kind::TextTable => "(count,*)",
        Kind::Texts | Kind::CountedTexts => "(*)",
        _ if one.array == "[][3]" => "(3,*)",
        _ if !one.array.is_empty() => "(*)",
        _ => "",
    }
}

/// What the procedure does with the argument, if compilers may rely on it. Where a constant may stand that is a
/// variable to them, they may not.
fn intent(function: &Function, one: &Parameter) -> &'static str {
    let kind = kind(function, one);
    let is_value = one.pointers == 0 && one.array.is_empty();
    let is_changed = one.name == "position" || function.name.contains("free") || kind == Kind::TextLength;
    let is_changed = is_changed || is_agreed_on(function, one);
    match kind {
        Kind::Procedure | Kind::ErrorCodes => "",
        Kind::Texts | Kind::CountedTexts | Kind::TextTable => ", intent(in)",
        Kind::Value if one.base != "address" => ", intent(in)",
        _ if is_value || one.constant => ", intent(in)",
        Kind::Status if function.name.starts_with("MPI_Status_") => ", intent(inout)",
        Kind::Choice | Kind::Status => "",
        _ if !one.array.is_empty() => "",
        Kind::Handle | Kind::File if !is_new_handle(function, one) => ", intent(inout)",
        _ if is_changed => ", intent(inout)",
        _ => ", intent(out)",
    }
}

/// Whether it is what ranks bring to an agreement, and get of it.
fn is_agreed_on(function: &Function, one: &Parameter) -> bool {
    function.name.ends_with("agree") && one.name == "flag"
}

/// The declaration of an argument.
pub(super) fn declaration(function: &Function, one: &Parameter) -> Option<String> {
    let kind = kind(function, one);
    let is_read_later = !one.array.is_empty() && has_buffers(function);
    let asynchronous =
        if is_asynchronous(function) && (kind == Kind::Choice || is_read_later || is_agreed_on(function, one)) {
            ", asynchronous"
        } else {
            ""
        };
    let (of, shape) = (type_of(function, one)?, shape(function, one));
    Some(format!("{of}{}{asynchronous} :: {}{shape}", intent(function, one), keyword(one)))
}

/// Statuses and handles.
pub(super) fn types(text: &mut String, interface: Interface) {
    for name in HANDLES {
        let _ =
            writeln!(text, "  type, bind(C) :: MPI_{name}\n    integer(kind=c_int) :: MPI_VAL\n  end type MPI_{name}");
    }
    // Laid out as in C.
    let fields = match interface {
        Interface::Standard => {
            "    integer(kind=c_int) :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n    integer(kind=c_int), private :: internal(5)\n"
        }
        Interface::Mpich => {
            "    integer(kind=c_int), private :: internal(2)\n    integer(kind=c_int) :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n"
        }
    };
    let _ = write!(text, "  type, bind(C) :: MPI_Status\n{fields}  end type MPI_Status\n");
}

/// Constants: those of `mpif.h`, the handles among them with their types.
pub(super) fn constants(text: &mut String, interface: Interface) {
    header::integers(text, interface, ".TRUE.", |kind| !HANDLES.contains(&kind));
    for section in sections().iter().filter(|section| HANDLES.contains(&section.kind)) {
        for (name, value) in section.constants.iter().filter_map(|one| header::constant(one, interface)) {
            let of = section.kind;
            let _ = writeln!(text, "  type(MPI_{of}), parameter :: {name} = MPI_{of}({value})");
        }
    }
    let statuses = [
        ("INTEGER MPI_STATUS_IGNORE(MPI_STATUS_SIZE)", "TYPE(MPI_Status) MPI_STATUS_IGNORE"),
        ("INTEGER MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)", "TYPE(MPI_Status) MPI_STATUSES_IGNORE(1)"),
    ];
    let typed = |blocks: String, (plain, typed): (&str, &str)| blocks.replace(plain, typed);
    *text += &statuses.into_iter().fold(header::BLOCKS.to_string(), typed);
}

/// An argument of a callback.
fn callback_argument(function: &Function, one: &Parameter) -> String {
    let name = one.name;
    match Base::of(one.base) {
        Base::Void if name == "extra_state" || name.starts_with("attribute_val") => {
            format!("integer(kind=MPI_ADDRESS_KIND) :: {name}")
        }
        Base::Void => format!("type(c_ptr), value :: {name}"),
        Base::Int if name == "flag" || name == "complete" => format!("logical :: {name}"),
        _ => format!("{} :: {name}", type_of(function, one).unwrap_or_default()),
    }
}

/// The shapes of procedures that programs pass, and the procedures that they may pass where they have none.
pub(super) fn procedures(text: &mut String) {
    *text += "  abstract interface\n";
    let is_old = |one: &Function| ["MPI_Copy_function", "MPI_Delete_function"].contains(&one.name);
    for one in callbacks().iter().filter(|one| !one.is_tool() && !is_old(one)) {
        let mut arguments: Vec<&str> = one.parameters.iter().map(|parameter| parameter.name).collect();
        let mut declared: Vec<String> =
            one.parameters.iter().map(|parameter| callback_argument(one, parameter)).collect();
        if one.result == "int" {
            arguments.push("ierror");
            declared.push("integer :: ierror".to_string());
        }
        let _ = writeln!(
            text,
            "  subroutine {name}({})\n    import\n    {}\n  end subroutine {name}",
            arguments.join(", "),
            declared.join("\n    "),
            name = one.name
        );
    }
    *text += "  end interface\n";
    for object in ATTRIBUTE_OBJECTS.into_iter().filter(|object| !object.is_empty()) {
        let object = object.trim_end_matches('_');
        let name = format!("{}{}", object[..1].to_uppercase(), &object[1..]);
        for (shape, what) in [("copy", "DUP_FN"), ("copy", "NULL_COPY_FN"), ("delete", "NULL_DELETE_FN")] {
            let all = object.to_uppercase();
            let _ = writeln!(text, "  procedure(MPI_{name}_{shape}_attr_function) :: MPI_{all}_{what}");
        }
    }
    for (name, shape) in NO_CONVERSION {
        let _ = writeln!(text, "  procedure({shape}) :: {name}");
    }
}
