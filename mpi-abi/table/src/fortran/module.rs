//! The module `mpi`: `mpif.h` with an interface for every procedure. Compiling it gives a `.mod` file and no code.

use std::fmt::Write;

use super::{Kind, has_error_code, header, is_bound, keyword, kind, sizes};
use crate::function::{Function, Parameter};
use crate::{Interface, functions};

/// The declarations of an argument.
fn declaration(function: &Function, one: &Parameter) -> String {
    let name = keyword(one);
    let array = !one.array.is_empty();
    let result = one.pointers > 0 || (array && !one.constant);
    let shape = if array { "(*)" } else { "" };
    let intent = if result { "" } else { ", intent(in)" };
    let any = |name: &str| format!("!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n    type(*), dimension(*) :: {name}");
    match kind(function, one) {
        Kind::Absent => String::new(),
        Kind::Choice | Kind::Unused | Kind::Place => any(name),
        Kind::Logical => format!("logical{intent} :: {name}{shape}"),
        Kind::Wide(kind) => format!("integer(kind={kind}){intent} :: {name}{shape}"),
        Kind::Value => {
            let intent = if one.base == "address" { "" } else { ", intent(in)" };
            format!("integer(kind=MPI_ADDRESS_KIND){intent} :: {name}")
        }
        Kind::Status if name.starts_with("array_of") => format!("integer :: {name}(MPI_STATUS_SIZE,*)"),
        Kind::Status => format!("integer :: {name}(MPI_STATUS_SIZE)"),
        Kind::Text if one.constant => format!("character(len=*), intent(in) :: {name}"),
        Kind::Text => format!("character(len=*) :: {name}"),
        Kind::Texts | Kind::CountedTexts => format!("character(len=*), intent(in) :: {name}(*)"),
        Kind::TextTable => format!("character(len=*), intent(in) :: {name}(count,*)"),
        Kind::Procedure => format!("external :: {name}"),
        Kind::Integer if one.array == "[][3]" => format!("integer, intent(in) :: {name}(3,*)"),
        // These stand for constants too, which are variables to the compiler.
        Kind::Weights | Kind::ErrorCodes => format!("integer :: {name}(*)"),
        _ => format!("integer{intent} :: {name}{shape}"),
    }
}

/// `subroutine NAME(…)` with its arguments, on as many lines as that takes.
pub(super) fn opening(kind: &str, name: &str, arguments: &[&str]) -> String {
    let mut text = format!("  {kind} {name}(");
    let mut column = text.len();
    for (index, argument) in arguments.iter().enumerate() {
        if column + argument.len() > 110 {
            text += "&\n      ";
            column = 6;
        }
        let comma = if index + 1 < arguments.len() { ", " } else { "" };
        let _ = write!(text, "{argument}{comma}");
        column += argument.len() + 2;
    }
    text + ")\n"
}

pub(super) fn interface(text: &mut String, function: &Function, prefix: &str) {
    let name = format!("{prefix}{}", function.name);
    let mut arguments: Vec<&str> =
        (function.parameters.iter()).filter(|one| kind(function, one) != Kind::Absent).map(keyword).collect();
    let result = match function.result {
        "int" => "subroutine",
        "double" => "double precision function",
        _ => "integer(kind=MPI_ADDRESS_KIND) function",
    };
    if has_error_code(function) {
        arguments.push("ierror");
    }
    *text += &opening(result, &name, &arguments);
    *text += "    import\n";
    // An array's bound has to be declared before the array.
    let (late, early): (Vec<&Parameter>, Vec<&Parameter>) =
        function.parameters.iter().partition(|one| kind(function, one) == Kind::TextTable);
    for one in early.into_iter().chain(late) {
        let declaration = declaration(function, one);
        if !declaration.is_empty() {
            let _ = writeln!(text, "    {declaration}");
        }
    }
    if has_error_code(function) {
        *text += "    integer :: ierror\n";
    }
    let _ = writeln!(text, "  end {} {name}", result.rsplit(' ').next().unwrap_or(result));
}

/// MPI_SIZEOF, which the compiler chooses by the type of the argument. `code`: what the error code is declared as.
pub(super) fn size_of(text: &mut String, prefix: &str, code: &str) {
    let _ = writeln!(text, "  interface {prefix}MPI_Sizeof");
    let character = ("character".to_string(), "character(len=*)".to_string());
    let kinds = sizes().map(|(name, kind, _)| (format!("{name}{kind}"), format!("{name}(kind={kind})")));
    for (name, kind) in kinds.chain([character]) {
        let name = format!("{prefix}MPI_Sizeof_{name}");
        let _ = writeln!(
            text,
            "  subroutine {name}(x, size, ierror)\n    {kind}, dimension(..) :: x\n    integer :: size\n    {code} :: \
             ierror\n  end subroutine {name}"
        );
    }
    *text += "  end interface\n";
}

/// The source of the module `mpi`.
pub fn fortran_module(of: Interface) -> String {
    let mut text = String::from(
        "! rwmpi: MPI for Fortran. Generated: do not edit.\nmodule mpi\n      implicit none\n      public\n",
    );
    text += &header::constants(of);
    text += "  interface\n";
    let functions = functions();
    for prefix in ["", "P"] {
        functions.iter().filter(|one| is_bound(one)).for_each(|one| interface(&mut text, one, prefix));
        let name = format!("{prefix}MPI_F_sync_reg");
        let _ = writeln!(
            text,
            "  subroutine {name}(buf)\n    !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf\n    type(*), dimension(*) :: buf\n  \
             end subroutine {name}"
        );
    }
    text += "  end interface\n";
    size_of(&mut text, "", "integer");
    size_of(&mut text, "P", "integer");
    text + "end module mpi\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_the_arguments_of_fortran() {
        let module = fortran_module(Interface::Standard);
        assert!(module.contains("  subroutine MPI_Waitany(count, array_of_requests, index, status, ierror)\n"));
        assert!(module.contains("  subroutine MPI_Pcontrol(level)\n"));
        assert!(module.contains("  double precision function PMPI_Wtime()\n"));
        assert!(module.lines().all(|line| line.len() <= 132));
    }
}
