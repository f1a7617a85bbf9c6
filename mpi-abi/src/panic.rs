//! Panics of the library: a fault of its own. Nothing unwinds into the program; the job ends with one sentence.

use std::panic::{Location, PanicHookInfo, set_hook};

use rwmpi_interface::panic::{at, own_fault};

use crate::big_lock::{BIG_LOCKS, BROKEN_PROMISE};
use crate::process::end_at_once;

/// Has the job end at a panic. Called when the library is loaded: the standard library that panics here is its own, so
/// that nobody else's panics come here.
pub extern "C" fn report_panics() {
    set_hook(Box::new(end_at_panic));
}

fn end_at_panic(panic: &PanicHookInfo<'_>) {
    let what = panic.payload_as_str().unwrap_or("no reason was given");
    end_at_once(&sentence(what, panic.location(), BIG_LOCKS.others_are_inside()))
}

/// What the user is told.
fn sentence(what: &str, place: Option<&Location<'_>>, with_others: bool) -> String {
    let what = what.replace('\n', " ");
    match with_others {
        true => format!("{BROKEN_PROMISE} (noticed{}: {what})", at(place)),
        false => own_fault(&what, place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_one_sentence_that_says_whose_fault_it_is() {
        let here = Location::caller();
        let text = sentence("left: 1\nright: 2", Some(here), false);
        let expected =
            format!("rwmpi has failed at {}:{}: left: 1 right: 2. This is a fault of rwmpi", file!(), here.line());
        assert!(text.starts_with(&expected) && !text.contains('\n'), "{text}");
        assert!(sentence("x", None, true).contains("MPI_THREAD_MULTIPLE"));
    }
}
