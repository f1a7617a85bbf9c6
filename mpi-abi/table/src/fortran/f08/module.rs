//! The source of the module.

use std::fmt::Write;

use super::super::module::{opening, size_of};
use super::super::{Kind, is_bound, keyword, kind, module};
use super::{generic_name, has_buffers, specifics, types};
use crate::function::Function;
use crate::{Interface, functions};

/// What a procedure of the module is called for the linker (MPI-5.0 section 19.1.5).
pub(super) fn specific_name(function: &Function) -> String {
    format!("{}_{}", function.name, if has_buffers(function) { "f08ts" } else { "f08" })
}

fn procedure(text: &mut String, function: &Function, prefix: &str) {
    let name = format!("{prefix}{}", specific_name(function));
    let of_fortran = || function.parameters.iter().filter(|one| kind(function, one) != Kind::Absent);
    let mut arguments: Vec<&str> = of_fortran().map(keyword).collect();
    arguments.push("ierror");
    *text += &opening("subroutine", &name, &arguments);
    *text += "    import\n";
    // An array's bound has to be declared before the array.
    let (late, early): (Vec<_>, Vec<_>) = of_fortran().partition(|one| kind(function, one) == Kind::TextTable);
    for declaration in early.into_iter().chain(late).filter_map(|one| types::declaration(function, one)) {
        let _ = writeln!(text, "    {declaration}");
    }
    let _ = writeln!(text, "    integer, optional, intent(out) :: ierror\n  end subroutine {name}");
}

/// `==` and `/=` of handles. The library has the functions, as the module has no code.
fn comparisons(text: &mut String) {
    for (operator, word) in [("==", "eq"), ("/=", "ne")] {
        let _ = writeln!(text, "  interface operator({operator})");
        for of in types::HANDLES {
            let name = format!("rwmpi_{}_{word}", of.to_lowercase());
            let _ = writeln!(
                text,
                "  elemental logical function {name}(x, y)\n    import\n    type(MPI_{of}), intent(in) :: x, y\n  end \
                 function {name}"
            );
        }
        *text += "  end interface\n";
    }
}

/// Statuses as integer arrays, and these as statuses.
fn conversions(text: &mut String, prefix: &str) {
    for (name, from, to) in [("f2f08", "f_status", "f08_status"), ("f082f", "f08_status", "f_status")] {
        let declared = |one: &str, intent: &str| match one {
            "f_status" => format!("    integer, intent({intent}) :: f_status(MPI_STATUS_SIZE)\n"),
            _ => format!("    type(MPI_Status), intent({intent}) :: f08_status\n"),
        };
        let _ = writeln!(
            text,
            "  subroutine {prefix}MPI_Status_{name}({from}, {to}, ierror)\n    import\n{}{}    integer, optional, \
             intent(out) :: ierror\n  end subroutine {prefix}MPI_Status_{name}",
            declared(from, "in"),
            declared(to, "out")
        );
    }
}

/// The source of the module `mpi_f08`.
pub fn fortran_module_2008(of: Interface) -> String {
    let mut text = String::from(
        "! rwmpi: MPI for Fortran. Generated: do not edit.\nmodule mpi_f08\n  use, intrinsic :: iso_c_binding, only: \
         c_int, c_ptr\n  implicit none\n  public\n  private :: c_int, c_ptr\n",
    );
    types::types(&mut text, of);
    types::constants(&mut text, of);
    types::procedures(&mut text);
    comparisons(&mut text);
    let (functions, mut specifics) = (functions(), specifics(&functions()));
    // Both forms side by side.
    specifics.sort_by_key(generic_name);
    for prefix in ["", "P"] {
        text += "  interface\n";
        let without_code = functions.iter().filter(|one| is_bound(one) && !super::has_error_code(one));
        without_code.for_each(|one| module::interface(&mut text, one, prefix));
        conversions(&mut text, prefix);
        let name = format!("{prefix}MPI_F_sync_reg");
        let _ = writeln!(
            text,
            "  subroutine {name}(buf)\n    type(*), dimension(..), asynchronous :: buf\n  end subroutine {name}\n  end \
             interface"
        );
        for forms in specifics.chunk_by(|one, next| generic_name(one) == generic_name(next)) {
            let _ = writeln!(text, "  interface {prefix}{}", generic_name(&forms[0]));
            forms.iter().for_each(|one| procedure(&mut text, one, prefix));
            text += "  end interface\n";
        }
        size_of(&mut text, prefix, "integer, optional, intent(out)");
    }
    text + "end module mpi_f08\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_procedure_has_typed_arguments() {
        let module = fortran_module_2008(Interface::Standard);
        assert!(module.lines().all(|line| line.len() <= 132));
        let irecv = "  interface MPI_Irecv\n  subroutine MPI_Irecv_f08ts(buf, count, datatype, source, tag, comm, request, \
                     ierror)\n    import\n    type(*), dimension(..), asynchronous :: buf\n    integer, intent(in) :: \
                     count\n    type(MPI_Datatype), intent(in) :: datatype\n    integer, intent(in) :: source\n    integer, \
                     intent(in) :: tag\n    type(MPI_Comm), intent(in) :: comm\n    type(MPI_Request), intent(out) :: \
                     request\n    integer, optional, intent(out) :: ierror\n  end subroutine MPI_Irecv_f08ts\n  \
                     subroutine MPI_Irecv_c_f08ts(";
        assert!(module.contains(irecv));
        for declaration in [
            "type(MPI_Comm), parameter :: MPI_COMM_WORLD = MPI_Comm(257)",
            "PARAMETER (MPI_SUBARRAYS_SUPPORTED=.TRUE.)",
            "TYPE(MPI_Status) MPI_STATUS_IGNORE\n",
            "procedure(MPI_Win_copy_attr_function) :: MPI_WIN_DUP_FN",
            "procedure(MPI_User_function_c) :: user_fn",
            "type(c_ptr), intent(out) :: baseptr",
            "integer, intent(in), asynchronous :: displs(*)",
        ] {
            assert!(module.contains(declaration), "{declaration}");
        }
    }
}
