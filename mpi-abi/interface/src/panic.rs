//! What users are told of a panic, which is a fault of the library's own.

use std::panic::Location;

/// Where it was, as a part of a sentence.
pub fn at(place: Option<&Location<'_>>) -> String {
    place.map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()))
}

/// What has happened, and whose fault it is, in one line.
pub fn own_fault(what: &str, place: Option<&Location<'_>>) -> String {
    let what = what.replace('\n', " ");
    format!("rwmpi has failed{}: {what}. This is a fault of rwmpi, not of the program: please report it", at(place))
}
