//! The wakers that wait for requests of a rank which drives futures itself.

use std::cell::RefCell;
use std::task::Waker;

use crate::waiting::Awaited;

/// Whoever waits for requests of this rank, if it drives futures ([`crate::driver`]).
#[derive(Default)]
pub struct Wakers(RefCell<Option<Waiting>>);

/// Whom a rank wakes when an operation has completed.
#[derive(Default)]
pub struct Waiting {
    wakers: Vec<Waker>,
    /// For what, all of them together.
    awaited: Vec<Awaited>,
}

impl Wakers {
    /// Keeps a waker that waits for `awaited`; false if the rank drives no futures.
    pub(crate) fn add(&self, waker: &Waker, awaited: Awaited) -> bool {
        let Some(waiting) = &mut *self.0.borrow_mut() else { return false };
        if !waiting.wakers.iter().any(|known| known.will_wake(waker)) {
            waiting.wakers.push(waker.clone());
        }
        if !waiting.awaited.contains(&awaited) {
            waiting.awaited.push(awaited);
        }
        true
    }

    /// Wakes all, and forgets them.
    pub(crate) fn wake_all(&self) {
        let waiting = self.0.borrow_mut().as_mut().map(std::mem::take);
        waiting.into_iter().for_each(|waiting| waiting.wakers.into_iter().for_each(Waker::wake));
    }

    /// How many there are, and for what they wait; `None`: the rank drives no futures.
    pub(crate) fn waiting(&self) -> Option<(usize, Vec<Awaited>)> {
        self.0.borrow().as_ref().map(|waiting| (waiting.wakers.len(), waiting.awaited.clone()))
    }

    /// From now on there are these; returns those that there were.
    pub(crate) fn replace(&self, waiting: Option<Waiting>) -> Option<Waiting> {
        self.0.replace(waiting)
    }
}
