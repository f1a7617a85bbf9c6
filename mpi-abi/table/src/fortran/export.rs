//! The functions that a Fortran library exports, as Rust source: each makes C's arguments of Fortran's and calls the C
//! library.
//!
//! A procedure `mpi_x` calls `MPI_X`, and `pmpi_x` calls `PMPI_X`: a tool that stands in for functions of C sees
//! Fortran programs too, and one that stands in for procedures of Fortran is not counted twice.

use std::fmt::Write;

use super::f08::{self, specifics};
use super::{ATTRIBUTE_OBJECTS, Kind, NO_CONVERSION, has_error_code, is_bound, kind, sizes};
use crate::export::{argument, at_loading, result};
use crate::function::{Function, Parameter};

/// One argument: what it is in Fortran, and what is done for the call of C.
struct Bound {
    /// Name and Rust type in the exported function; none if only C has it.
    declared: Option<(String, &'static str)>,
    /// Whether a hidden length belongs to it.
    text: bool,
    before: String,
    passed: String,
    after: String,
}

/// The expression for the number of elements of an array of handles.
fn handles(function: &Function, parameter: &Parameter) -> String {
    let name = parameter.name;
    if name == "sendtypes" || name == "recvtypes" {
        if function.name.contains("eighbor") {
            return format!("i64::from(glue::neighbors::<A>(comm).{})", u8::from(name == "sendtypes"));
        }
        return "i64::from(glue::peers::<A>(comm))".to_string();
    }
    let counts = ["incount", "max_datatypes", "count"];
    let counted = |count: &&&str| function.parameters.iter().any(|one| one.name == **count);
    let count = counts.iter().find(counted).unwrap_or_else(|| panic!("{}: how many {name}?", function.name));
    format!("i64::from(*{count})")
}

/// The most bytes that C writes for a text, with the zero byte.
fn capacity(function: &Function) -> &'static str {
    match function.name {
        "MPI_Info_get" => "i64::from(*valuelen) + 1",
        "MPI_Info_get_string" => "glue::with_zero_byte(*buflen).into()",
        "MPI_Session_get_nth_pset" => "glue::with_zero_byte(*pset_len).into()",
        _ => "i64::from(A::MAX_LIBRARY_VERSION_STRING)",
    }
}

/// The function that C calls for a procedure of the program, or the procedure itself.
///
/// C calls reductions and error handlers with references to two objects at most. The integer of a handle is the lower
/// half of its place in memory, so Fortran finds there what it expects.
fn callback(base: &str, name: &str) -> String {
    let narrow = ["Copy_function", "Delete_function"].contains(&base);
    let count = if base.ends_with("_c") { "i64" } else { "c_int" };
    let value = if narrow { "c_int" } else { "i64" };
    match base {
        _ if base.ends_with("opy_function") || base.ends_with("copy_attr_function") => {
            format!("glue::copy_attribute::<A, {value}> as *const () as Function")
        }
        _ if base.ends_with("elete_function") || base.ends_with("delete_attr_function") => {
            format!("glue::delete_attribute::<A, {value}> as *const () as Function")
        }
        _ if base.starts_with("Datarep_conversion") => {
            let direction = if name.starts_with("read") { "read" } else { "write" };
            let called = format!("glue::{direction}_representation::<A, {count}> as *const () as Function");
            format!("glue::conversion({name}, {called})")
        }
        "Datarep_extent_function" => "glue::measure_representation::<A> as *const () as Function".to_string(),
        "Grequest_query_function" => "glue::query_request::<A> as *const () as Function".to_string(),
        "Grequest_free_function" => "glue::free_request as *const () as Function".to_string(),
        "Grequest_cancel_function" => "glue::cancel_request::<A> as *const () as Function".to_string(),
        _ => name.to_string(),
    }
}

/// What is done with an argument: its declared type, what comes before the call, what is passed, what comes after.
type Steps = (&'static str, String, String, String);

/// An argument that is passed as it is, or as one expression makes it.
fn passed(declared: &'static str, expression: String) -> Steps {
    (declared, String::new(), expression, String::new())
}

/// Whether it is one value that C does not change.
fn is_value(one: &Parameter) -> bool {
    one.pointers == 0 && !is_array(one)
}

fn is_array(one: &Parameter) -> bool {
    !one.array.is_empty() || (one.name.starts_with("array_of") && one.pointers > 0)
}

/// An attribute, or what callbacks get. The C library is told that calls about attributes are Fortran's, and how wide
/// its integers are.
fn value(function: &Function, one: &Parameter, name: &str, narrow: bool) -> Steps {
    let (declared, bytes) = if narrow { ("*mut c_int", 4) } else { ("*mut i64", 8) };
    let local = format!("{name}_c");
    let announce = |subject: &str| format!("rwmpi_attribute_call({subject} as usize, {bytes});");
    let over = "rwmpi_attribute_call(0, 0);";
    if name == "extra_state" {
        let procedures: Vec<&str> = (function.parameters.iter())
            .filter(|one| kind(function, one) == Kind::Procedure)
            .map(|one| one.name)
            .collect();
        let procedures_of_program = procedures.join(", ");
        if function.name.starts_with("MPI_Register_datarep") {
            return passed(declared, format!("glue::representation_state({procedures_of_program}, *{name})"));
        }
        if procedures.len() != 2 {
            return passed(declared, format!("glue::request_state({procedures_of_program}, {name})"));
        }
        let made = format!("let {local} = glue::attribute_state({procedures_of_program}, *{name});");
        return (declared, format!("{made}\n        {}", announce(&local)), local, over.to_string());
    }
    let key = function.parameters.iter().find(|one| one.name.ends_with("keyval")).map_or("", |one| one.name);
    let announced = announce(&format!("glue::key::<A>(*{key})"));
    if one.base == "address" {
        let before = format!("let mut {local} = std::ptr::null_mut();\n        {announced}");
        let given = format!("glue::give_attribute::<A, _>({name}, *{key}, {local});");
        let after = format!("{over}\n        if code_c == 0 && *flag != 0 {{ {given} }}");
        return (declared, before, format!("&raw mut {local}"), after);
    }
    (declared, announced, format!("glue::Value::pointer(*{name})"), over.to_string())
}

/// INTEGERs where C has MPI_Aint.
fn narrowed(one: &Parameter, name: &str) -> Steps {
    let local = format!("{name}_c");
    if is_value(one) {
        return passed("*mut c_int", format!("i64::from(*{name})"));
    }
    if is_array(one) {
        let before = format!("let mut {local} = glue::widened({name}, *count);");
        return ("*mut c_int", before, format!("{local}.as_mut_ptr()"), String::new());
    }
    let after = format!("if code_c == 0 {{ *{name} = {local} as c_int; }}");
    ("*mut c_int", format!("let mut {local} = 0_i64;"), format!("&raw mut {local}"), after)
}

/// Indices that count from one.
fn index(one: &Parameter, name: &str) -> Steps {
    let local = format!("{name}_c");
    if is_array(one) {
        let after = format!("glue::count_from_one::<A>({name}, *outcount);");
        return ("*mut c_int", "*outcount = A::UNDEFINED;".to_string(), name.to_string(), after);
    }
    let after = format!("*{name} = {local};\n        glue::count_from_one::<A>({name}, 1);");
    ("*mut c_int", format!("let mut {local} = A::UNDEFINED;"), format!("&raw mut {local}"), after)
}

fn handle(function: &Function, one: &Parameter, name: &str, which: &str) -> Steps {
    let local = format!("{name}_c");
    if is_value(one) {
        return passed("*mut c_int", format!("glue::{which}::<A>({name})"));
    }
    if is_array(one) {
        let before = format!("let mut {local} = glue::Handles::<A>::new({name}, {});", handles(function, one));
        let after = if one.constant { String::new() } else { format!("{local}.give_back();") };
        return ("*mut c_int", before, format!("{local}.as_mut_ptr()"), after);
    }
    let before = format!("let mut {local} = glue::{which}::<A>({name});");
    let after = format!("glue::give_{which}::<A>({name}, {local});");
    ("*mut c_int", before, format!("&raw mut {local}"), after)
}

/// Texts and arrays of them.
fn texts(function: &Function, one: &Parameter, name: &str) -> Steps {
    let local = format!("{name}_c");
    let mut after = String::new();
    let made = match kind(function, one) {
        Kind::Texts => format!("glue::Texts::until_blank({name}, {name}_len)"),
        Kind::CountedTexts => format!("glue::Texts::counted({name}, {name}_len, *count)"),
        Kind::TextTable => format!("glue::Texts::table({name}, {name}_len, *count)"),
        _ if one.constant => format!("glue::text({name}, {name}_len, {})", function.name.starts_with("MPI_Info_")),
        _ => {
            let flag = if function.parameters.iter().any(|one| one.name == "flag") { " && *flag != 0" } else { "" };
            after = format!("if code_c == 0{flag} {{ glue::give_text(&{local}, {name}, {name}_len); }}");
            format!("glue::text_place({})", capacity(function))
        }
    };
    ("*mut c_char", format!("let mut {local} = {made};"), format!("{local}.as_mut_ptr()"), after)
}

fn bound(function: &Function, one: &Parameter) -> Bound {
    let name = argument(one, false).name;
    let local = format!("{name}_c");
    let by_reference = || if is_value(one) { format!("*{name}") } else { format!("{name}.cast()") };
    let kind = kind(function, one);
    let (declared, before, passed, after) = match kind {
        Kind::Absent if is_value(one) => passed("", "0".to_string()),
        Kind::Absent => passed("", "std::ptr::null_mut()".to_string()),
        Kind::Integer | Kind::Logical => passed("*mut c_int", by_reference()),
        Kind::Wide(_) => passed("*mut i64", by_reference()),
        Kind::Narrowed => narrowed(one, &name),
        Kind::Index => index(one, &name),
        Kind::TextLength => {
            let after = format!("if code_c == 0 {{ *{name} = ({local} - 1).max(0); }}");
            let before = format!("let mut {local} = glue::with_zero_byte(*{name});");
            ("*mut c_int", before, format!("&raw mut {local}"), after)
        }
        Kind::Key => passed("*mut c_int", format!("glue::key::<A>(*{name})")),
        Kind::Weights => passed("*mut c_int", format!("glue::weights::<A>({name})")),
        Kind::ErrorCodes => passed("*mut c_int", format!("glue::error_codes::<A>({name})")),
        Kind::Handle => handle(function, one, &name, "handle"),
        Kind::File => handle(function, one, &name, "file"),
        Kind::Status => passed("*mut c_int", format!("glue::status::<A>({name})")),
        Kind::Text | Kind::Texts | Kind::CountedTexts | Kind::TextTable => texts(function, one, &name),
        Kind::Choice => passed("*mut c_void", format!("glue::choice::<A>({name})")),
        Kind::Unused => {
            ("*mut c_void", format!("let mut {local} = {name};"), format!("&raw mut {local}"), String::new())
        }
        Kind::Place => passed("*mut c_void", format!("{name}.cast()")),
        Kind::Value => value(function, one, &name, false),
        Kind::NarrowValue => value(function, one, &name, true),
        Kind::Procedure => passed("Function", callback(one.base, &name)),
    };
    let text = matches!(kind, Kind::Text | Kind::Texts | Kind::CountedTexts | Kind::TextTable);
    let declared = (kind != Kind::Absent).then_some((name, declared));
    Bound { declared, text, before, passed, after }
}

/// A procedure under every name that gfortran may call it by: with one underscore behind it; two, after
/// `-fsecond-underscore`; none, after `-fno-underscoring`; and in capitals, as other compilers do.
pub(super) fn procedure(text: &mut String, name: &str, parameters: &[(String, String)], result: &str, body: &str) {
    self::body(text, name, parameters, result, body);
    let symbols = [format!("{name}_"), format!("{name}__"), name.to_string(), name.to_uppercase()];
    names(text, name, parameters, result, &symbols);
}

/// `a: A, b: B`.
fn declared(parameters: &[(String, String)]) -> String {
    parameters.iter().map(|(name, kind)| format!("{name}: {kind}")).collect::<Vec<_>>().join(", ")
}

/// What a procedure does.
pub(super) fn body(text: &mut String, name: &str, parameters: &[(String, String)], result: &str, body: &str) {
    let declared = declared(parameters);
    let _ = writeln!(
        text,
        "#[inline(never)]\nunsafe fn body_of_{name}({declared}){result} {{\n    // SAFETY: the program passes what the standard asks for.\n    \
         unsafe {{\n        {body}\n    }}\n}}"
    );
}

/// Exports the body of that name under these symbols.
pub(super) fn names(text: &mut String, name: &str, parameters: &[(String, String)], result: &str, symbols: &[String]) {
    let declared = declared(parameters);
    let passed: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    let passed = passed.join(", ");
    for symbol in symbols {
        let _ = writeln!(
            text,
            "#[unsafe(no_mangle)]\npub unsafe extern \"C-unwind\" fn {symbol}({declared}){result} {{\n    \
             // SAFETY: as there.\n    unsafe {{ body_of_{name}({passed}) }}\n}}"
        );
    }
}

fn owned(parameters: &[(&str, &str)]) -> Vec<(String, String)> {
    parameters.iter().map(|(name, kind)| ((*name).to_string(), (*kind).to_string())).collect()
}

/// A procedure's parameters in Fortran's order: the error code behind all others, then the lengths of texts.
pub(super) fn parameters(function: &Function) -> Vec<(String, String)> {
    let arguments: Vec<Bound> = function.parameters.iter().map(|one| bound(function, one)).collect();
    let mut parameters: Vec<(String, String)> =
        arguments.iter().filter_map(|one| one.declared.clone()).map(|(name, kind)| (name, kind.to_string())).collect();
    let lengths: Vec<(String, String)> = (arguments.iter().filter(|one| one.text))
        .filter_map(|one| one.declared.as_ref())
        .map(|(name, _)| (format!("{name}_len"), "usize".to_string()))
        .collect();
    if has_error_code(function) {
        parameters.push(("ierror".to_string(), "*mut c_int".to_string()));
    }
    parameters.extend(lengths);
    parameters
}

/// What the procedure under that name does.
pub(super) fn body_text(function: &Function, prefix: &str) -> (String, String) {
    let arguments: Vec<Bound> = function.parameters.iter().map(|one| bound(function, one)).collect();
    let passed: Vec<&str> = arguments.iter().map(|one| one.passed.as_str()).collect();
    let call = format!("{prefix}{}({})", function.name, passed.join(", "));
    let mut lines: Vec<&str> =
        arguments.iter().map(|one| one.before.as_str()).filter(|line| !line.is_empty()).collect();
    if !has_error_code(function) {
        let (result, call) = match function.result {
            "int" => (String::new(), format!("{call};")),
            _ => (format!(" -> {}", result(function)), call),
        };
        lines.push(&call);
        return (result, lines.join("\n        "));
    }
    let call = format!("let code_c = {call};");
    lines.push(&call);
    lines.extend(arguments.iter().map(|one| one.after.as_str()).filter(|line| !line.is_empty()));
    lines.push("glue::give_code(ierror, code_c);");
    (String::new(), lines.join("\n        "))
}

fn function(text: &mut String, function: &Function) {
    let parameters = parameters(function);
    for prefix in ["", "P"] {
        let (result, body) = body_text(function, prefix);
        procedure(text, &format!("{prefix}{}", function.name).to_lowercase(), &parameters, &result, &body);
    }
}

/// The bodies alone: for what only the module `mpi_f08` has.
fn unnamed(text: &mut String, function: &Function) {
    let parameters = parameters(function);
    for prefix in ["", "P"] {
        let (result, body) = body_text(function, prefix);
        self::body(text, &format!("{prefix}{}", function.name).to_lowercase(), &parameters, &result, &body);
    }
}

/// The procedures that Fortran alone has, or passes by name.
fn further(text: &mut String) {
    for prefix in ["mpi", "pmpi"] {
        procedure(text, &format!("{prefix}_f_sync_reg"), &owned(&[("_buf", "*mut c_void")]), "", "");
        let mut parameters = owned(&[("_x", "*mut c_void"), ("size", "*mut c_int"), ("ierror", "*mut c_int")]);
        for (name, kind, bytes) in sizes() {
            let body = format!("*size = {bytes};\n        glue::give_code(ierror, A::SUCCESS);");
            procedure(text, &format!("{prefix}_sizeof_{name}{kind}"), &parameters, "", &body);
        }
        parameters.push(("x_len".to_string(), "usize".to_string()));
        let body = "*size = x_len as c_int;\n        glue::give_code(ierror, A::SUCCESS);";
        procedure(text, &format!("{prefix}_sizeof_character"), &parameters, "", body);
    }
    for object in ATTRIBUTE_OBJECTS {
        let value = if object.is_empty() { "*mut c_int" } else { "*mut i64" };
        let copy = [
            ("_object", "*mut c_int"),
            ("_keyval", "*mut c_int"),
            ("_extra_state", value),
            ("_value", value),
            ("_copy", value),
            ("flag", "*mut c_int"),
            ("ierror", "*mut c_int"),
        ];
        let done = "*ierror = A::SUCCESS;";
        let body = format!("*_copy = *_value;\n        *flag = 1;\n        {done}");
        procedure(text, &format!("mpi_{object}dup_fn"), &owned(&copy), "", &body);
        let body = format!("*flag = 0;\n        {done}");
        procedure(text, &format!("mpi_{object}null_copy_fn"), &owned(&copy), "", &body);
        let delete = [copy[0], copy[1], copy[3], copy[2], copy[6]];
        procedure(text, &format!("mpi_{object}null_delete_fn"), &owned(&delete), "", done);
    }
}

/// The procedures that stand for no conversion: nobody calls them.
fn no_conversion(text: &mut String) {
    for (name, _) in NO_CONVERSION {
        procedure(text, &name.to_lowercase(), &[], "", "");
    }
}

/// Every procedure of Fortran as Rust source. It expects in scope the type `A` of the interface, the crate with the
/// conversions as `glue`, and everything in `rwmpi_interface`.
pub fn fortran_exports(functions: &[Function]) -> String {
    let mut text = String::from("#[allow(unsafe_code, clippy::all)]\npub mod exported {\nuse super::*;\n");
    text.push_str(&at_loading("glue::report_panics"));
    text.push_str("unsafe extern \"C-unwind\" {\n");
    let only_there: Vec<Function> = specifics(functions).into_iter().filter(|function| !is_bound(function)).collect();
    for one in functions.iter().filter(|function| is_bound(function)).chain(&only_there) {
        let declared: Vec<String> = (one.parameters.iter())
            .map(|parameter| argument(parameter, false))
            .map(|argument| format!("{}: {}", argument.name, argument.declared))
            .chain(one.variadic.then(|| "...".to_string()))
            .collect();
        for prefix in ["", "P"] {
            let _ = writeln!(text, "    fn {prefix}{}({}) -> {};", one.name, declared.join(", "), result(one));
        }
    }
    // What the C library has for this one (`crate::export`).
    text += "    fn rwmpi_attribute_call(subject: usize, bytes: c_int);\n}\n";
    functions.iter().filter(|function| is_bound(function)).for_each(|one| self::function(&mut text, one));
    only_there.iter().filter(|one| !f08::has_own_body(one)).for_each(|one| unnamed(&mut text, one));
    further(&mut text);
    no_conversion(&mut text);
    f08::exports(&mut text, functions);
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(name: &str) -> String {
        let functions = crate::functions();
        fortran_exports(&functions.into_iter().filter(|function| function.name == name).collect::<Vec<_>>())
    }

    #[test]
    fn a_procedure_has_every_name() {
        let text = exported("MPI_Send");
        for name in ["mpi_send_", "mpi_send__", "mpi_send", "MPI_SEND", "pmpi_send_", "PMPI_SEND"] {
            assert!(
                text.contains(&format!("pub unsafe extern \"C-unwind\" fn {name}(buf: *mut c_void, count: *mut c_int"))
            );
        }
        assert_eq!(text.matches("let code_c = PMPI_Send(glue::choice::<A>(buf), *count,").count(), 1);
    }

    #[test]
    fn calls_about_attributes_are_announced() {
        for (name, subject, bytes) in [
            ("MPI_Comm_set_attr", "glue::key::<A>(*comm_keyval)", 8),
            ("MPI_Type_get_attr", "glue::key::<A>(*type_keyval)", 8),
            ("MPI_Attr_put", "glue::key::<A>(*keyval)", 4),
            ("MPI_Win_create_keyval", "extra_state_c", 8),
            ("MPI_Keyval_create", "extra_state_c", 4),
        ] {
            let text = exported(name);
            let announced = format!("rwmpi_attribute_call({subject} as usize, {bytes});\n        let code_c = {name}(");
            assert!(text.contains(&announced), "{text}");
            assert_eq!(text.matches("rwmpi_attribute_call(0, 0);").count(), 2, "{text}");
        }
    }

    #[test]
    fn lengths_of_texts_come_last() {
        let text = exported("MPI_Info_set");
        assert!(text.contains("ierror: *mut c_int, key_len: usize, value_len: usize)"), "{text}");
    }
}
