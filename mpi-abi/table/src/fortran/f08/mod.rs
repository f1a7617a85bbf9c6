//! The module `mpi_f08` (MPI-5.0 section 19.1.2): typed handles, error codes that may be left out, buffers that may be
//! sections of arrays, and both widths of counts under one name.
//!
//! The module has interfaces and no code, like `mpi`. What differs from `mpi` for the machine is little: types of
//! handles and of statuses are laid out like the integers there, so the procedures behind both are the same, but for
//! buffers, which come here as the compiler's descriptors. So a procedure of this module is exported under a name of
//! its own (section 19.1.5), resolves its buffers, and goes on as that of `mpi`.

mod export;
mod module;
mod types;

pub(super) use export::{exports, has_own_body};
pub use module::fortran_module_2008;

use super::{Kind, has_error_code, is_bound, kind};
use crate::function::{Function, Parameter};

/// What a buffer is to a procedure: what may take the place of a section that does not lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Its address is all that is used.
    Address,
    /// Memory that the library keeps: it must lie side by side.
    Kept,
    /// As many elements as the argument there says, of the datatype there: these are the whole buffer.
    Whole { count: usize, datatype: usize },
    /// Elements of the datatype there, in blocks whose places follow from its extent; as many in each as the argument
    /// there says, if one does.
    Blocks { count: Option<usize>, datatype: usize },
    /// No one datatype describes it.
    Loose,
}

/// Procedures that the module has not: of them the standard says that they are for older programs.
const OLD: [&str; 5] = ["MPI_Attr_delete", "MPI_Attr_get", "MPI_Attr_put", "MPI_Keyval_create", "MPI_Keyval_free"];
/// Procedures that touch one element, or none: its place is enough.
const OF_ONE_PLACE: [&str; 7] = [
    "MPI_Abi_get_fortran_booleans",
    "MPI_Abi_set_fortran_booleans",
    "MPI_Compare_and_swap",
    "MPI_Fetch_and_op",
    "MPI_Free_mem",
    "MPI_Get_address",
    "MPI_Win_detach",
];

/// The name without the mark of large counts.
fn plain_name(function: &Function) -> &'static str {
    function.name.strip_suffix("_c").unwrap_or(function.name)
}

/// Whether the module has the function.
pub(crate) fn is_in_module_2008(function: &Function) -> bool {
    let plain = plain_name(function);
    let is_listed_form = function.name.ends_with("_c");
    let is_old = OLD.contains(&plain) || function.until.is_some();
    (is_bound(function) || is_listed_form) && !is_old
}

/// The large-count form as a function of its own.
fn large(function: &Function) -> Function {
    let name = format!("{}_c", function.name).leak();
    let widened = |one: &Parameter| Parameter { base: one.base(true), large: None, ..one.clone() };
    Function { name, parameters: function.parameters.iter().map(widened).collect(), ..function.clone() }
}

/// The name under which programs call it. Where only a procedure as argument differs, compilers can't tell the forms
/// apart, and the standard has two names.
fn generic_name(function: &Function) -> &'static str {
    const NAMED: [&str; 2] = ["MPI_Op_create_c", "MPI_Register_datarep_c"];
    if NAMED.contains(&function.name) { function.name } else { plain_name(function) }
}

/// Every procedure of the module: of a function with a large-count form both, unless these have the same arguments, as
/// MPI_ADDRESS_KIND is MPI_COUNT_KIND.
pub(super) fn specifics(functions: &[Function]) -> Vec<Function> {
    let mut all: Vec<Function> = Vec::new();
    for function in functions.iter().filter(|one| is_in_module_2008(one) && has_error_code(one)) {
        all.push(function.clone());
        all.extend(function.has_large_form().then(|| large(function)));
    }
    let first = |one: &Function| functions.iter().find(|other| other.name == generic_name(one));
    let is_another = |one: &Function| {
        first(one).is_none_or(|other| other.name == one.name || types::list(other) != types::list(one))
    };
    let kept: Vec<bool> = all.iter().map(is_another).collect();
    all.into_iter().zip(kept).filter_map(|(one, is_kept)| is_kept.then_some(one)).collect()
}

/// Whether it has buffers.
fn has_buffers(function: &Function) -> bool {
    function.parameters.iter().any(|one| kind(function, one) == Kind::Choice)
}

/// Whether the operation goes on when the call is over, so that buffers can't be copies. What accesses a window is
/// over when its epoch is.
fn goes_on(function: &Function) -> bool {
    let name = plain_name(function).trim_start_matches("MPI_");
    let accesses = ["Put", "Get", "Accumulate", "Get_accumulate", "Rput", "Rget", "Raccumulate", "Rget_accumulate"];
    let has_request = function.parameters.iter().any(|one| one.base == "Request" && one.pointers == 1);
    has_request || name.ends_with("_begin") || accesses.contains(&name)
}

/// Whether the procedure may be asynchronous to the program's accesses of the buffer, so that the compiler has to know.
fn is_asynchronous(function: &Function) -> bool {
    let name = plain_name(function);
    let keeps = name.ends_with("_attach") || name.ends_with("_attach_buffer") || name.ends_with("_end");
    let access = ["MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Win_create", "MPI_Free_mem", "MPI_Get_address"];
    goes_on(function) || keeps || access.contains(&name)
}

/// Whether the buffer at that place is one of blocks, each of as many elements as the count says: one for each rank,
/// neighbor or partition.
fn is_of_blocks(function: &Function, at: usize) -> bool {
    let name = plain_name(function).trim_start_matches("MPI_");
    let name = name.strip_suffix("_init").unwrap_or(name).to_lowercase();
    let is = |word: &str| name == word || name.strip_prefix('i') == Some(word);
    let receives = function.parameters[at].name.starts_with("recv");
    match receives {
        true => ["gather", "allgather", "alltoall", "neighbor_allgather", "neighbor_alltoall"].into_iter().any(is),
        false => ["scatter", "alltoall", "neighbor_alltoall"].into_iter().any(is),
    }
}

/// What the buffer at that place is to the procedure.
pub(super) fn role(function: &Function, at: usize) -> Role {
    let name = plain_name(function);
    if OF_ONE_PLACE.contains(&name) || name.ends_with("_end") {
        return Role::Address;
    }
    if name == "MPI_Win_create" || name.ends_with("_attach") || name.ends_with("_attach_buffer") {
        return Role::Kept;
    }
    // Where counts come behind two buffers, they are about both.
    let is_buffer = |place: &usize| kind(function, &function.parameters[*place]) == Kind::Choice;
    let count = (at + 1..function.parameters.len()).find(|place| !is_buffer(place)).unwrap_or(at);
    let Some(datatype) = (count + 1..=count + 2).find(|&place| {
        let one = function.parameters.get(place);
        one.is_some_and(|one| one.base == "Datatype")
    }) else {
        return Role::Loose;
    };
    if !function.parameters[datatype].array.is_empty() {
        return Role::Loose;
    }
    let counts = &function.parameters[count];
    let is_scattered = name.contains("educe_scatter");
    if datatype > count + 1 || !counts.array.is_empty() || is_scattered || is_of_blocks(function, at) {
        // MPI_Unpack has the size of its buffer there.
        let is_size = counts.name.ends_with("size");
        let are_even = function.parameters[datatype - 1].array.is_empty();
        let count = are_even.then_some(datatype - 1);
        return if is_size { Role::Loose } else { Role::Blocks { count, datatype } };
    }
    Role::Whole { count, datatype }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specific(name: &str) -> Option<Function> {
        specifics(&crate::functions()).into_iter().find(|function| function.name == name)
    }

    fn roles(name: &str) -> Vec<Role> {
        let function = specific(name).unwrap();
        let buffers =
            (0..function.parameters.len()).filter(|&at| kind(&function, &function.parameters[at]) == Kind::Choice);
        buffers.map(|at| role(&function, at)).collect()
    }

    #[test]
    fn forms_that_compilers_tell_apart_are_there() {
        for name in [
            "MPI_Send",
            "MPI_Send_c",
            "MPI_Op_create_c",
            "MPI_Register_datarep_c",
            "MPI_Type_contiguous_c",
            "MPI_Win_shared_query_c",
        ] {
            assert!(specific(name).is_some(), "{name}");
        }
        for name in ["MPI_Type_get_extent_c", "MPI_Type_create_resized_c", "MPI_Attr_put", "MPI_Address", "MPI_Wtime"] {
            assert!(specific(name).is_none(), "{name}");
        }
        assert!(specifics(&crate::functions()).len() > 550);
    }

    #[test]
    fn buffers_have_the_roles_that_the_standard_gives_them() {
        use Role::{Address, Blocks, Kept, Loose, Whole};
        let whole = |count| Whole { count, datatype: count + 1 };
        let even = |datatype| Blocks { count: Some(datatype - 1), datatype };
        let uneven = |datatype| Blocks { count: None, datatype };
        assert_eq!(roles("MPI_Isend"), [whole(1)]);
        assert_eq!(roles("MPI_File_iread_at_c"), [whole(3)]);
        assert_eq!(roles("MPI_Sendrecv"), [whole(1), whole(6)]);
        assert_eq!(roles("MPI_Allreduce"), [whole(2), whole(2)]);
        assert_eq!(roles("MPI_Ireduce_scatter"), [uneven(3), uneven(3)]);
        assert_eq!(roles("MPI_Reduce_scatter_block"), [even(3), even(3)]);
        assert_eq!(roles("MPI_Igather"), [whole(1), even(5)]);
        assert_eq!(roles("MPI_Scatter_init"), [even(2), whole(4)]);
        assert_eq!(roles("MPI_Allgatherv_c"), [whole(1), uneven(6)]);
        assert_eq!(roles("MPI_Ineighbor_alltoall"), [even(2), even(5)]);
        assert_eq!(roles("MPI_Alltoallv"), [uneven(3), uneven(7)]);
        assert_eq!(roles("MPI_Alltoallw"), [Loose, Loose]);
        assert_eq!(roles("MPI_Psend_init"), [even(3)]);
        assert_eq!(roles("MPI_Pack"), [whole(1), Loose]);
        assert_eq!(roles("MPI_Unpack"), [Loose, whole(4)]);
        assert_eq!(roles("MPI_Unpack_external"), [Loose, whole(5)]);
        assert_eq!(roles("MPI_Rget_accumulate"), [whole(1), whole(4)]);
        assert_eq!((roles("MPI_Win_attach"), roles("MPI_Get_address")), (vec![Kept], vec![Address]));
    }
}
