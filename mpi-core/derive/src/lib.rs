//! The macros of rwmpi's typed API.
//!
//! What they write says everything with full paths of the crate `rwmpi`, and leaves all judgement about types to the
//! compiler: a field that is no plain data is an unsatisfied bound, at that field.

mod datatype;
mod fields;
mod message;
mod rank_test;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, ItemFn, parse_macro_input};

/// Makes plain data of a type: see the trait of the same name. For structs and enums, with and without fields and type
/// parameters, whose fields are plain data.
#[proc_macro_derive(Datatype)]
pub fn datatype(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    datatype::derive(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a message of a type: see the trait of the same name. For structs and enums whose fields are messages; with
/// `#[message(serde)]`, for whatever implements serde's `Serialize` and `Deserialize`.
#[proc_macro_derive(Message, attributes(message))]
pub fn message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::derive(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// A test that runs as a job of several ranks, each a thread: `#[rwmpi::test(ranks = 4)]` on a function that takes a
/// `&Universe` and returns nothing or a `Result`. It fails if any rank fails, and says which.
///
/// A test whose ranks all wait for each other fails after some seconds with a report of who waits for what. One that is
/// not over after a minute, or after `timeout = 5` seconds, fails with what each rank was doing.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let function = parse_macro_input!(function as ItemFn);
    rank_test::expand(arguments.into(), function).unwrap_or_else(Error::into_compile_error).into()
}
