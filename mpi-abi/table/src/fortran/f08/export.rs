//! What the library exports for the module.

use std::fmt::Write;

use super::super::export::{body, body_text, names, parameters, procedure};
use super::super::{Kind, keyword, kind};
use super::module::specific_name;
use super::types::HANDLES;
use super::{Role, goes_on, has_buffers, role, specifics};
use crate::export::argument;
use crate::function::{Function, Parameter};

/// The names that gfortran may call a procedure of the module by: capitals are for other compilers, which can't read
/// the module.
fn symbols(name: &str) -> [String; 3] {
    [format!("{name}_"), format!("{name}__"), name.to_string()]
}

/// The places of buffers among the parameters.
fn buffers(function: &Function) -> impl Iterator<Item = usize> {
    (0..function.parameters.len()).filter(|&at| kind(function, &function.parameters[at]) == Kind::Choice)
}

fn name_of(function: &Function, at: usize) -> String {
    argument(&function.parameters[at], false).name
}

/// Whose error handler hears of a buffer that can't be used.
fn subject(function: &Function) -> String {
    let subjects = [("Comm", "Communicator"), ("Win", "Window"), ("File", "File")];
    let found = |(base, kind)| {
        let is_it = |one: &&Parameter| one.base == base && one.pointers == 0;
        function.parameters.iter().find(is_it).map(|one| format!("glue::Subject::{kind}(*{})", one.name))
    };
    subjects.into_iter().find_map(found).unwrap_or("glue::Subject::Nothing".to_string())
}

/// A buffer with its role, for [`glue::with_sections`].
fn buffer(function: &Function, at: usize) -> String {
    let one = &function.parameters[at];
    let (count, datatype, role) = match role(function, at) {
        Role::Address => (None, None, "Address"),
        Role::Kept => (None, None, "Kept"),
        Role::Loose => (None, None, "Loose"),
        Role::Blocks { count, datatype } => (count, Some(datatype), "Blocks"),
        Role::Whole { count, datatype } => (Some(count), Some(datatype), "All"),
    };
    let count = count.map_or("None".to_string(), |at| format!("Some(i64::from(*{}))", name_of(function, at)));
    let datatype = datatype.map_or("std::ptr::null()".to_string(), |at| name_of(function, at));
    format!(
        "glue::Buffer {{ name: \"{}\", descriptor: {}.cast(), role: glue::Role::{role}, count: {count}, datatype: {datatype}, \
         is_written: {} }}",
        keyword(one),
        name_of(function, at),
        !one.constant
    )
}

/// What a procedure with buffers does: the procedure of the module `mpi` that does the same gets their addresses, and
/// for sections other counts and datatypes.
fn with_buffers(function: &Function, name: &str) -> String {
    let parameters: Vec<String> = parameters(function).into_iter().map(|(name, _)| name).collect();
    let places: Vec<usize> = buffers(function).collect();
    let plain: Vec<String> =
        places.iter().map(|&at| format!("glue::is_plain({}.cast())", name_of(function, at))).collect();
    let call = |replaced: &[(String, String)]| {
        let argument = |one: &String| {
            let found = replaced.iter().find(|(name, _)| name == one);
            found.map_or(one.clone(), |(_, by)| by.clone())
        };
        format!("body_of_{name}({})", parameters.iter().map(argument).collect::<Vec<_>>().join(", "))
    };
    let address = |at: &usize| (name_of(function, *at), format!("glue::base({}.cast())", name_of(function, *at)));
    let direct = call(&places.iter().map(address).collect::<Vec<_>>());
    let mut locals = String::new();
    let mut replaced = Vec::new();
    for (index, &at) in places.iter().enumerate() {
        replaced.push((name_of(function, at), format!("places[{index}].address")));
        let (count, datatype) = match role(function, at) {
            Role::Whole { count, datatype } => (Some(count), Some(datatype)),
            Role::Blocks { count, datatype } => (count, Some(datatype)),
            _ => (None, None),
        };
        for (at, field, of) in [(count, "count", None), (datatype, "datatype", Some("c_int"))] {
            let Some(name) = at.map(|at| name_of(function, at)) else { continue };
            if replaced.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let is_wide = at.is_some_and(|at| matches!(kind(function, &function.parameters[at]), Kind::Wide(_)));
            let of = of.unwrap_or(if is_wide { "i64" } else { "c_int" });
            let _ = write!(locals, "let mut {name}_c = places[{index}].{field} as {of};\n            ");
            replaced.push((name.clone(), format!("&raw mut {name}_c")));
        }
    }
    let of_them: Vec<String> = places.iter().map(|&at| buffer(function, at)).collect();
    let operation = function.parameters.iter().find(|one| one.base == "Op");
    let operation = operation.map_or("None".to_string(), |one| format!("Some(*{})", one.name));
    format!(
        "if {} {{ return {direct}; }}\n        let buffers = [{}];\n        let call = glue::Call {{ goes_on: {}, operation: \
         {operation}, subject: {} }};\n        glue::with_sections::<A, {}>(&buffers, &call, ierror, |places| {{\n            \
         {locals}{}\n        }});",
        plain.join(" && "),
        of_them.join(", "),
        goes_on(function),
        subject(function),
        places.len(),
        call(&replaced),
    )
}

/// Whether its result is an address here, and nothing in `mpi`.
pub(in super::super) fn has_own_body(function: &Function) -> bool {
    with_address(function).is_some()
}

/// Such a function, with a place for the address.
fn with_address(function: &Function) -> Option<Function> {
    let at = function.parameters.iter().position(|one| kind(function, one) == Kind::Unused)?;
    let mut function = function.clone();
    function.parameters[at].name = "buffer_place";
    Some(function)
}

fn specific(text: &mut String, function: &Function) {
    for prefix in ["", "P"] {
        let plain = format!("{prefix}{}", function.name).to_lowercase();
        let own = format!("{prefix}{}", specific_name(function)).to_lowercase();
        let mut called = plain.clone();
        let mut parameters = parameters(function);
        if let Some(function) = with_address(function) {
            parameters = super::super::export::parameters(&function);
            body(text, &own, &parameters, "", &body_text(&function, prefix).1);
            called.clone_from(&own);
        } else if has_buffers(function) {
            body(text, &own, &parameters, "", &with_buffers(function, &plain));
            called.clone_from(&own);
        }
        names(text, &called, &parameters, "", &symbols(&own));
    }
}

/// Everything that the module's procedures are, as Rust source.
pub(in super::super) fn exports(text: &mut String, functions: &[Function]) {
    specifics(functions).iter().for_each(|one| specific(text, one));
    let owned = |name: &str, kind: &str| (name.to_string(), kind.to_string());
    let both = ["x", "y"].map(|name| owned(name, "*const c_int"));
    for (word, operator) in [("eq", "=="), ("ne", "!=")] {
        let name = format!("rwmpi_handles_{word}");
        body(text, &name, &both, " -> c_int", &format!("(*x {operator} *y).into()"));
        for of in HANDLES {
            let own = format!("rwmpi_{}_{word}", of.to_lowercase());
            names(text, &name, &both, " -> c_int", &symbols(&own));
        }
    }
    let copied = [owned("from", "*const c_int"), owned("to", "*mut c_int"), owned("ierror", "*mut c_int")];
    for prefix in ["", "p"] {
        for name in ["f2f08", "f082f"] {
            let body = "glue::copy_status::<A>(from, to);\n        glue::give_code(ierror, A::SUCCESS);";
            procedure(text, &format!("{prefix}mpi_status_{name}"), &copied, "", body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(name: &str) -> String {
        let function = specifics(&crate::functions()).into_iter().find(|one| one.name == name).unwrap();
        let mut text = String::new();
        specific(&mut text, &function);
        text
    }

    #[test]
    fn a_procedure_without_buffers_is_that_of_the_other_module() {
        let text = exported("MPI_Comm_rank");
        for name in ["mpi_comm_rank_f08_", "mpi_comm_rank_f08__", "mpi_comm_rank_f08", "pmpi_comm_rank_f08_"] {
            assert!(text.contains(&format!("fn {name}(comm: *mut c_int, rank: *mut c_int, ierror: *mut c_int)")));
        }
        assert!(text.contains("{ body_of_pmpi_comm_rank(comm, rank, ierror) }"), "{text}");
    }

    #[test]
    fn buffers_are_resolved() {
        let text = exported("MPI_Send_c");
        assert!(
            text.contains("if glue::is_plain(buf.cast()) { return body_of_mpi_send_c(glue::base(buf.cast()), count,")
        );
        assert!(text.contains("let mut count_c = places[0].count as i64;"), "{text}");
        assert!(
            text.contains("goes_on: false, operation: None, subject: glue::Subject::Communicator(*comm)"),
            "{text}"
        );
        let text = exported("MPI_Iallreduce");
        assert!(text.contains("goes_on: true, operation: Some(*op)"), "{text}");
        assert_eq!(text.matches("let mut datatype_c = places[0].datatype as c_int;").count(), 2, "{text}");
    }

    #[test]
    fn a_detached_buffer_has_an_address() {
        let text = exported("MPI_Buffer_detach");
        assert!(text.contains("MPI_Buffer_detach(buffer_place.cast(), size.cast())"), "{text}");
    }
}
