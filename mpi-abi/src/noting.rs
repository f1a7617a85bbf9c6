//! Notes of the program's calls, if somebody wants them: when each began, and when it ended.
//!
//! A rank that takes notes has every call take all locks ([`rwmpi_core::BigLocks::observe`]): that is the long way, on
//! which there is time to ask. Calls that take the short way are not asked anything.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rwmpi_core::Observer;
use rwmpi_core::profile::{Begun, Recorder};

use crate::big_lock::BIG_LOCKS;
use crate::rank::peek;

thread_local! {
    /// The name of the call that is about to take its lock.
    static NAME: Cell<Option<&'static str>> = const { Cell::new(None) };
    /// The calls in which this thread is, the innermost last; nothing stands for one that is not noted.
    static CALLS: RefCell<Vec<Option<Noted>>> = const { RefCell::new(Vec::new()) };
}

/// A call that has begun.
struct Noted {
    recorder: Rc<Recorder>,
    begun: Begun,
}

/// From now on notes are taken of calls.
pub(crate) fn start() {
    BIG_LOCKS.observe(Observer { begins, ends });
}

/// A call of that name is about to take its lock; whether notes are taken of it.
pub(crate) fn announce(name: &'static str) -> bool {
    let is_noted = BIG_LOCKS.are_observed();
    if is_noted {
        NAME.set(Some(name));
    }
    is_noted
}

fn begins() {
    let recorder = || peek().ok()?.universe.try_borrow().ok()?.as_ref()?.recorder();
    let name = NAME.take();
    // At the end of the process there are no calls any more.
    let _ = CALLS.try_with(|calls| {
        let mut calls = calls.borrow_mut();
        let outer = calls.last().and_then(|outer| Some(outer.as_ref()?.begun.call));
        let noted = name.zip(recorder()).map(|(name, recorder)| Noted { begun: recorder.begin(name, outer), recorder });
        calls.push(noted);
    });
}

fn ends() {
    let noted = CALLS.try_with(|calls| calls.borrow_mut().pop());
    if let Ok(Some(Some(Noted { recorder, begun }))) = noted {
        recorder.end(begun);
    }
}
