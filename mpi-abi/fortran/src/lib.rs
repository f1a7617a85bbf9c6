//! What makes C's arguments of Fortran's (MPI-5.0 section 19.1).
//!
//! The Fortran libraries stand on the C libraries like any program: they call exported functions, so tools that stand
//! in for these see Fortran programs too. A procedure that they export is made of the table; it turns its arguments
//! with what is here and calls the function of C. All that they say to the C libraries besides is which calls about
//! attributes are Fortran's.
//!
//! As gfortran has it: arguments are addresses; INTEGER and LOGICAL are `int`s, a LOGICAL being 0 or 1, so neither has
//! to be converted; the length of a text is a `size_t` by value, behind all arguments; a procedure as argument is its
//! address.
//!
//! Whoever calls the unsafe functions (the exported procedures alone) vouches for what the standard asks of the
//! argument.

mod attribute;
mod buffers;
mod common;
mod description;
mod handle;
mod integer;
mod neighborhood;
mod panic;
mod refusal;
mod representation;
mod request;
mod section;
mod text;

pub use attribute::{attribute_state, copy_attribute, delete_attribute, give_attribute, key};
pub use buffers::{Buffer, Call, Place, Role, copy_status, give_code, with_sections};
pub use common::{Block, choice, error_codes, status, weights};
pub use handle::{Handles, file, give_file, give_handle, handle};
pub use integer::{Value, count_from_one, widened, with_zero_byte};
pub use neighborhood::{neighbors, peers};
pub use panic::report_panics;
pub use refusal::Subject;
pub use representation::{
    conversion, measure_representation, read_representation, representation_state, write_representation,
};
pub use request::{cancel_request, free_request, query_request, request_state};
pub use section::{Descriptor, base, is_plain};
pub use text::{Texts, give_text, text, text_place};
