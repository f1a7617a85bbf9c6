//! The functions that a library exports, as Rust source: each calls its body in its turn, and turns the body's result
//! into an error code when the turn is over. What the program's error handlers throw passes through them.
//!
//! What a body gets for a parameter:
//!
//! | in C | in the body |
//! |---|---|
//! | `int`, MPI_Aint, MPI_Count, MPI_Offset | `c_int`; `i64` |
//! | `int` that is MPI_Count in the large form | `i64` in both |
//! | a handle | `A::Handle`; MPI_File: `A::File` |
//! | `const void *`, `void *` | `Memory` |
//! | `const char *`, `char *` | `Text`, `TextOut` |
//! | `T *` | `Out<T>`; `IntegerOut` if it is wider in the large form |
//! | `const T []`, `T []` | `Array<T>`, `OutArray<T>`; `Integers` if it is wider in the large form |
//! | `const MPI_Status *`, `MPI_Status *`, `MPI_Status []` | `StatusIn<A>`, `StatusOut<A>`, `StatusArray<A>` |
//! | `char *[]`, `char **[]` | `TextList`, `TextTable` |
//! | a function | `Function` |
//! | `char ***` | the pointer |
//!
//! Both forms of a function share a body, except where the table lists the large form on its own.

use std::fmt::Write;

use crate::bodies::Bodies;
use crate::function::{Base, Form, Function, Parameter};
use crate::place::place;

/// Has a library call that function when it is loaded, before any of its own is called.
pub(crate) fn at_loading(function: &str) -> String {
    format!("#[used]\n#[unsafe(link_section = \".init_array\")]\nstatic AT_LOADING: extern \"C\" fn() = {function};\n")
}

const KEYWORDS: &[&str] = &["type", "in", "ref", "fn", "match", "loop", "move", "use"];

/// A parameter as the exported function declares it and as it hands it on.
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) declared: String,
    passed: String,
}

/// The Rust type of one element.
fn element(base: Base) -> &'static str {
    match base {
        Base::Int => "c_int",
        Base::Wide => "i64",
        Base::Char => "c_char",
        Base::Void | Base::Tool => "*mut c_void",
        Base::Address => "*mut c_void",
        Base::Handle => "<A as Abi>::Handle",
        Base::File => "<A as Abi>::File",
        Base::Status => "<A as Abi>::Status",
        Base::Function => "Function",
    }
}

pub(crate) fn argument(parameter: &Parameter, large: bool) -> Argument {
    let base = Base::of(parameter.base(large));
    // Wider in the large form, for the machine and not only in name.
    let varies = parameter.large.is_some_and(|large| Base::of(large) != Base::of(parameter.base));
    let width = if large { "wide" } else { "narrow" };
    let mut name = parameter.name.to_string();
    if KEYWORDS.contains(&parameter.name) {
        name.push('_');
    }
    let kind = element(base);
    let depth = parameter.pointers + parameter.array.matches('[').count();
    let array = !parameter.array.is_empty();
    let (declared, passed) = match (depth, base) {
        (0, _) if varies => (kind.to_string(), format!("i64::from({name})")),
        (0, _) => (kind.to_string(), name.clone()),
        (1, Base::Function) => ("Function".to_string(), name.clone()),
        (1, Base::Void) => ("*mut c_void".to_string(), format!("Memory::new({name})")),
        (1, Base::Address) => ("*mut *mut c_void".to_string(), format!("Out::new({name})")),
        (1, Base::Char) => {
            let wrapper = if parameter.constant { "Text" } else { "TextOut" };
            ("*mut c_char".to_string(), format!("{wrapper}::new({name})"))
        }
        (1, Base::Status) => {
            let wrapper = match (parameter.constant, array) {
                (true, _) => "StatusIn",
                (false, false) => "StatusOut",
                (false, true) => "StatusArray",
            };
            (format!("*mut {kind}"), format!("{wrapper}::<A>::new({name})"))
        }
        (1, _) => {
            let wrapper = match (varies, array, parameter.constant) {
                (true, true, _) => format!("Integers::{width}({name})"),
                (true, false, _) => format!("IntegerOut::{width}({name})"),
                (false, true, true) => format!("Array::new({name})"),
                (false, true, false) => format!("OutArray::new({name})"),
                (false, false, true) => format!("Array::new({name})"),
                (false, false, false) => format!("Out::new({name})"),
            };
            (format!("*mut {kind}"), wrapper)
        }
        (2, Base::Char) if array => ("*mut *mut c_char".to_string(), format!("TextList::new({name})")),
        (3, Base::Char) if array => ("*mut *mut *mut c_char".to_string(), format!("TextTable::new({name})")),
        (_, _) if parameter.array == "[][3]" => ("*mut [c_int; 3]".to_string(), format!("Array::new({name})")),
        (depth, _) => (format!("{}{kind}", "*mut ".repeat(depth)), name.clone()),
    };
    Argument { name, declared, passed }
}

pub(crate) fn result(function: &Function) -> &'static str {
    match function.result {
        "int" | "number" => "c_int",
        "double" => "f64",
        name => element(Base::of(name)),
    }
}

/// What only has a handle to go on, or else changes the one that it is given: `_free` and these.
const WITH_HANDLE: &[&str] =
    &["Cancel", "Comm_disconnect", "File_close", "Session_finalize", "Start", "Test", "Type_commit", "Wait"];

/// Whether it is a place for a handle of something new.
pub(crate) fn is_new_handle(function: &Function, parameter: &Parameter) -> bool {
    let short = function.name.trim_start_matches("MPI_");
    let is_place = parameter.pointers == 1 && parameter.array.is_empty() && !parameter.constant;
    let is_old = short.ends_with("_free")
        || WITH_HANDLE.contains(&short)
        || short.ends_with("recv") && parameter.base == "Message";
    is_place && matches!(Base::of(parameter.base), Base::Handle | Base::File) && !is_old
}

/// Statements for a call that fails: what it should have made is the null handle, so that programs that go on see that
/// there is nothing.
fn null_results(function: &Function, arguments: &[Argument]) -> String {
    let places = function.parameters.iter().zip(arguments).filter(|(parameter, _)| is_new_handle(function, parameter));
    let null = |(parameter, argument): (&Parameter, &Argument)| {
        let made = if parameter.base == "File" { "file" } else { "handle" };
        let null = format!("A::{made}(A::{}_NULL)", parameter.base.to_uppercase());
        // A program that passes no place is told so by the error.
        format!("let _ = {}.set({null});", argument.passed)
    };
    places.map(null).collect::<Vec<_>>().join(" ")
}

/// Why a function of the tool interface can't succeed while there is nothing that it could be about.
fn nothing_like_that(function: &Function) -> &'static str {
    let has = |base: Base, is_so: fn(&str) -> bool| {
        let mut values = function.parameters.iter().filter(|one| one.constant || one.pointers == 0);
        values.any(|one| Base::of(one.base) == base && is_so(one.name))
    };
    if has(Base::Int, |name| name.ends_with("_index")) {
        "T_ERR_INVALID_INDEX"
    } else if has(Base::Char, |name| name == "name") {
        "T_ERR_INVALID_NAME"
    } else {
        "T_ERR_INVALID_HANDLE"
    }
}

/// The expression that is the function's result.
fn expression(form: &Form<'_>, arguments: &[Argument], bodies: &Bodies) -> String {
    let function = form.function;
    let Some(path) = bodies.path(function) else {
        assert_eq!(function.result, "int", "{} has no error code to say that it has no body", form.name());
        if function.is_tool() {
            return format!("rwmpi_abi::tools::refuse::<A>(A::{})", nothing_like_that(function));
        }
        return format!("rwmpi_abi::conclude::<A>({})", unsupported(form, arguments));
    };
    if function.result == "int" && !function.is_tool() {
        format!("rwmpi_abi::conclude::<A>({})", settled(form, arguments, bodies, &path))
    } else {
        format!("rwmpi_abi{path}::<A>({})", passed(arguments))
    }
}

/// What becomes of a function that has no body.
fn unsupported(form: &Form<'_>, arguments: &[Argument]) -> String {
    let (function, name) = (form.function, form.name());
    let subjects = [("Comm", "Communicator"), ("Win", "Window"), ("File", "File")];
    let subject = subjects.iter().find_map(|(base, kind)| {
        let found = function.parameters.iter().find(|one| one.base == *base && one.pointers == 0)?;
        Some(format!("{kind}({})", found.name))
    });
    let subject = subject.unwrap_or("Nothing".to_string());
    let call = format!("rwmpi_abi::unsupported::<A>(\"{name}\", rwmpi_abi::Subject::{subject})");
    match null_results(function, arguments).as_str() {
        "" => format!("rwmpi_abi::in_turn(\"{name}\", || {call})"),
        nulls => format!("rwmpi_abi::in_turn(\"{name}\", || {{ {nulls} {call} }})"),
    }
}

/// What becomes of a call in its turn: the body at that path does it, or its short form, if it has one.
fn settled(form: &Form<'_>, arguments: &[Argument], bodies: &Bodies, path: &str) -> String {
    let (function, name) = (form.function, form.name());
    let passed = passed(arguments);
    let call = format!("rwmpi_abi{path}::<A>({passed})");
    let call = match bodies.short_path(function) {
        Some(short) => format!("rwmpi_abi::short_or_whole(|rank_| rwmpi_abi{short}::<A>(rank_, {passed}), || {call})"),
        None => call,
    };
    let call = match null_results(function, arguments).as_str() {
        "" => call,
        nulls => format!("{call}.inspect_err(|_| {{ {nulls} }})"),
    };
    let body = format!("|| rwmpi_abi::settle::<A>(\"{name}\", {call})");
    match place(function, arguments) {
        Some(place) => format!("rwmpi_abi::in_turn_at(\"{name}\", || rwmpi_abi::Place::{place}, {body})"),
        None => format!("rwmpi_abi::in_turn(\"{name}\", {body})"),
    }
}

/// The arguments as bodies get them.
fn passed(arguments: &[Argument]) -> String {
    arguments.iter().map(|one| one.passed.as_str()).collect::<Vec<_>>().join(", ")
}

/// The parameters as they are declared.
fn declared(arguments: &[Argument]) -> String {
    arguments.iter().map(|one| format!("{}: {}", one.name, one.declared)).collect::<Vec<_>>().join(", ")
}

/// The result of a function that has a short form. Where there is nothing to take for a call that is tried first. It
/// takes few instructions only where the rest is not beside it: that is a function of its own, from which the exported
/// one is returned to, so that reports find that on the stack.
fn with_short_form(text: &mut String, form: &Form<'_>, arguments: &[Argument], bodies: &Bodies, short: &str) -> String {
    let name = form.name();
    let path = bodies.path(form.function).unwrap_or_else(|| panic!("{name} has nothing but a short form"));
    let _ = write!(
        text,
        "#[inline(never)]\nunsafe fn rest_of_{name}({}) -> Result<(), rwmpi_abi::Failed<A>> {{\n    \
         // SAFETY: the program passes what the standard asks for.\n    unsafe {{ {} }}\n}}\n",
        declared(arguments),
        settled(form, arguments, bodies, &path),
    );
    let names: Vec<&str> = arguments.iter().map(|one| one.name.as_str()).collect();
    format!(
        "match rwmpi_abi::try_short(|rank_| rwmpi_abi{short}::<A>(rank_, {})) {{ Some(()) => A::SUCCESS, \
         None => rwmpi_abi::conclude::<A>(rest_of_{name}({})) }}",
        passed(arguments),
        names.join(", "),
    )
}

/// Every function of the table under its `MPI_` and `PMPI_` names, as Rust source. It expects in scope the type `A` of
/// the interface and everything in `rwmpi_abi::argument`.
pub fn exports(functions: &[Function], bodies: &Bodies) -> String {
    let mut text = String::from("#[allow(unsafe_code, clippy::all)]\npub mod exported {\nuse super::*;\n");
    text.push_str(&at_loading("rwmpi_abi::report_panics"));
    for form in functions.iter().flat_map(Function::forms) {
        let arguments: Vec<Argument> = form.function.parameters.iter().map(|one| argument(one, form.large)).collect();
        let expression = match bodies.short_path(form.function) {
            Some(short) => with_short_form(&mut text, &form, &arguments, bodies, &short),
            None => expression(&form, &arguments, bodies),
        };
        for prefix in ["", "P"] {
            let _ = write!(
                text,
                "#[unsafe(no_mangle)]\npub unsafe extern \"C-unwind\" fn {prefix}{}({}) -> {} {{\n    \
                 // SAFETY: the program passes what the standard asks for.\n    unsafe {{ {expression} }}\n}}\n",
                form.name(),
                declared(&arguments),
                result(form.function),
            );
        }
    }
    text.push_str(FOR_FORTRAN);
    text + "}\n"
}

/// What the Fortran library calls besides the functions of MPI: it announces calls about attributes.
const FOR_FORTRAN: &str = "#[unsafe(no_mangle)]\npub extern \"C\" fn rwmpi_attribute_call(subject: usize, bytes: c_int) {\n    \
                           rwmpi_abi::language::announce(subject, bytes)\n}\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn nulls(name: &str) -> String {
        let functions = crate::functions();
        let function = functions.iter().find(|function| function.name == name).unwrap();
        let arguments: Vec<Argument> = function.parameters.iter().map(|one| argument(one, false)).collect();
        null_results(function, &arguments)
    }

    #[test]
    fn what_a_failed_call_should_have_made_is_null() {
        let duplicate = "let _ = Out::new(newcomm).set(A::handle(A::COMM_NULL));";
        assert_eq!(nulls("MPI_Comm_dup"), duplicate);
        let request = "let _ = Out::new(request).set(A::handle(A::REQUEST_NULL));";
        assert_eq!(nulls("MPI_Comm_idup"), format!("{duplicate} {request}"));
        assert_eq!((nulls("MPI_Isend"), nulls("MPI_Imrecv")), (request.to_string(), request.to_string()));
        assert_eq!(nulls("MPI_File_open"), "let _ = Out::new(fh).set(A::file(A::FILE_NULL));");
        for name in ["MPI_Comm_free", "MPI_Type_commit", "MPI_Wait", "MPI_Waitall", "MPI_Mrecv", "MPI_Session_finalize"]
        {
            assert_eq!(nulls(name), "", "{name}");
        }
    }

    #[test]
    fn tools_are_told_what_there_is_not() {
        let functions = crate::functions();
        let told = |name| nothing_like_that(functions.iter().find(|function| function.name == name).unwrap());
        assert_eq!(told("MPI_T_cvar_get_info"), "T_ERR_INVALID_INDEX");
        assert_eq!(told("MPI_T_pvar_handle_alloc"), "T_ERR_INVALID_INDEX");
        assert_eq!(told("MPI_T_pvar_get_index"), "T_ERR_INVALID_NAME");
        assert_eq!(told("MPI_T_pvar_read"), "T_ERR_INVALID_HANDLE");
        assert_eq!(told("MPI_T_enum_get_item"), "T_ERR_INVALID_HANDLE");
    }

    #[test]
    fn short_forms_come_first() {
        let functions = crate::functions();
        let flush: Vec<Function> = functions.into_iter().filter(|function| function.name == "MPI_Win_flush").collect();
        let text = exports(&flush, &Bodies::of(&["win_flush", "short_win_flush"]));
        let short = "try_short(|rank_| rwmpi_abi::chapter::short_win_flush::<A>(rank_, rank, win))";
        assert_eq!(
            (text.matches(short).count(), text.matches("conclude::<A>(rest_of_MPI_Win_flush(rank, win))").count()),
            (2, 2)
        );
        assert_eq!(text.matches("fn rest_of_MPI_Win_flush(rank: c_int, win: <A as Abi>::Handle)").count(), 1);
        assert_eq!(text.matches("in_turn(\"MPI_Win_flush\", || rwmpi_abi::settle").count(), 1);
        assert_eq!(text.matches("short_or_whole(|rank_| rwmpi_abi::chapter::short_win_flush").count(), 1);
    }

    #[test]
    fn what_has_no_body_names_itself() {
        let functions = crate::functions();
        let send: Vec<Function> = functions.into_iter().filter(|function| function.name == "MPI_Send").collect();
        let text = exports(&send, &Bodies::default());
        assert_eq!(
            text.matches(
                "in_turn(\"MPI_Send\", || rwmpi_abi::unsupported::<A>(\"MPI_Send\", rwmpi_abi::Subject::Communicator(comm))"
            )
            .count(),
            2
        );
        assert_eq!(
            text.matches(
                "in_turn(\"MPI_Send_c\", || rwmpi_abi::unsupported::<A>(\"MPI_Send_c\", rwmpi_abi::Subject::Communicator(comm))"
            )
            .count(),
            2
        );
        assert!(text.contains("fn PMPI_Send_c(buf: *mut c_void, count: i64, datatype: <A as Abi>::Handle"));
    }
}
