//! The functions that a library exports, as Rust source: each calls its body in its turn, and turns the body's result into an error code
//! when the turn is over. What the program's error handlers throw passes through them.
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
//! | a function | `Function` |
//! | `char **` and deeper | the pointer |
//!
//! Both forms of a function share a body, except where the table lists the large form on its own.

use std::fmt::Write;

use crate::bodies::Bodies;
use crate::function::{Base, Form, Function, Parameter};
use crate::place::place;

/// What a library does when it is loaded, before any of its functions is called.
pub(crate) const AT_LOADING: &str = "#[used]\n#[unsafe(link_section = \".init_array\")]\n\
     static AT_LOADING: extern \"C\" fn() = rwmpi_abi::report_panics;\n";

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

/// The expression that is the function's result.
fn expression(form: &Form<'_>, arguments: &[Argument], bodies: &Bodies) -> String {
    let function = form.function;
    let name = form.name();
    let Some(path) = bodies.path(function) else {
        assert_eq!(function.result, "int", "{name} has no error code to say that it has no body");
        if function.is_tool() {
            return "rwmpi_abi::unsupported_tool::<A>()".to_string();
        }
        let subjects = [("Comm", "Communicator"), ("Win", "Window"), ("File", "File")];
        let subject = subjects.iter().find_map(|(base, kind)| {
            let found = function.parameters.iter().find(|one| one.base == *base && one.pointers == 0)?;
            Some(format!("{kind}({})", found.name))
        });
        let subject = subject.unwrap_or("Nothing".to_string());
        return format!(
            "rwmpi_abi::conclude::<A>(rwmpi_abi::in_turn(|| rwmpi_abi::unsupported::<A>(\"{name}\", rwmpi_abi::Subject::{subject})))"
        );
    };
    let passed: Vec<&str> = arguments.iter().map(|argument| argument.passed.as_str()).collect();
    let call = format!("rwmpi_abi{path}::<A>({})", passed.join(", "));
    if function.result == "int" {
        let body = format!("|| rwmpi_abi::settle::<A>(\"{name}\", {call})");
        let settled = match place(function, arguments) {
            Some(place) => format!("rwmpi_abi::in_turn_at(|| rwmpi_abi::Place::{place}, {body})"),
            None => format!("rwmpi_abi::in_turn({body})"),
        };
        format!("rwmpi_abi::conclude::<A>({settled})")
    } else {
        call
    }
}

/// Every function of the table under its `MPI_` and `PMPI_` names, as Rust source. It expects in scope the type `A` of the
/// interface and everything in `rwmpi_abi::argument`.
pub fn exports(functions: &[Function], bodies: &Bodies) -> String {
    let mut text = String::from("#[allow(unsafe_code, clippy::all)]\npub mod exported {\nuse super::*;\n");
    text.push_str(AT_LOADING);
    for form in functions.iter().flat_map(Function::forms) {
        let arguments: Vec<Argument> = form.function.parameters.iter().map(|one| argument(one, form.large)).collect();
        let declared: Vec<String> = arguments.iter().map(|one| format!("{}: {}", one.name, one.declared)).collect();
        let expression = expression(&form, &arguments, bodies);
        for prefix in ["", "P"] {
            let _ = write!(
                text,
                "#[unsafe(no_mangle)]\npub unsafe extern \"C-unwind\" fn {prefix}{}({}) -> {} {{\n    \
                 // SAFETY: the program passes what the standard asks for.\n    unsafe {{ {expression} }}\n}}\n",
                form.name(),
                declared.join(", "),
                result(form.function),
            );
        }
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_body_names_itself() {
        let functions = crate::functions();
        let send: Vec<Function> = functions.into_iter().filter(|function| function.name == "MPI_Send").collect();
        let text = exports(&send, &Bodies::default());
        assert_eq!(
            text.matches(
                "in_turn(|| rwmpi_abi::unsupported::<A>(\"MPI_Send\", rwmpi_abi::Subject::Communicator(comm))"
            )
            .count(),
            2
        );
        assert_eq!(
            text.matches(
                "in_turn(|| rwmpi_abi::unsupported::<A>(\"MPI_Send_c\", rwmpi_abi::Subject::Communicator(comm))"
            )
            .count(),
            2
        );
        assert!(text.contains("fn PMPI_Send_c(buf: *mut c_void, count: i64, datatype: <A as Abi>::Handle"));
    }
}
