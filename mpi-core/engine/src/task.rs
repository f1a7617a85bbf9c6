//! Nonblocking collectives in flight: futures that the rank polls whenever it makes progress.
//!
//! A task is polled in whatever call happens to wait, so nothing of it may come out there: its result, a panic of the
//! user's operation included, is kept for whoever asks for the task.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use slab::Slab;

use crate::waiting::Awaited;
use crate::{Failure, TaskId};

/// A collective as a task: one heap allocation for its whole state.
pub type Work = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;

/// The tasks of one rank.
#[derive(Default)]
pub struct Tasks {
    slots: RefCell<Slab<Slot>>,
    running: Cell<usize>,
}

enum Slot {
    /// And what it has waited for when it was polled last.
    Running(Work, Awaited),
    /// Being polled right now; what it calls must not poll it again.
    Polled,
    Done(thread::Result<Result<(), Failure>>),
}

impl Tasks {
    /// Takes charge of `work`, which begins at once; `Ok(None)`: it has come to its end already. If it fails at once
    /// because a rank has died, the call that completes it returns that error, as if the rank had died a moment later.
    pub fn start(&self, mut work: Work) -> Result<Option<TaskId>, Failure> {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(failure @ (Failure::Died { .. } | Failure::Unacknowledged { .. }))) => {
                Ok(Some(TaskId(self.slots.borrow_mut().insert(Slot::Done(Ok(Err(failure)))))))
            }
            Poll::Ready(result) => result.map(|()| None),
            Poll::Pending => {
                self.running.set(self.running.get() + 1);
                Ok(Some(TaskId(self.slots.borrow_mut().insert(Slot::Running(work, Awaited::Unknown)))))
            }
        }
    }

    /// Whether there are any that have not come to their end.
    pub fn are_running(&self) -> bool {
        self.running.get() > 0
    }

    /// How many there are whose results nobody has taken.
    pub fn open(&self) -> usize {
        self.slots.borrow().len()
    }

    /// Polls every task once; true if one came to its end. What a task waits for it says in `awaited`, which afterwards
    /// is what it was.
    #[inline]
    pub fn poll_all(&self, awaited: &Cell<Awaited>) -> bool {
        self.running.get() > 0 && self.poll_running(awaited)
    }

    fn poll_running(&self, awaited: &Cell<Awaited>) -> bool {
        let before = awaited.get();
        let mut ended = false;
        // Tasks that start meanwhile have been polled by their start.
        let end = self.slots.borrow().capacity();
        for key in 0..end {
            if let Some(work) = self.take(key) {
                awaited.set(Awaited::Unknown);
                ended |= self.poll(key, work, awaited);
            }
        }
        awaited.set(before);
        ended
    }

    fn take(&self, key: usize) -> Option<Work> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.get_mut(key).filter(|slot| matches!(slot, Slot::Running(..)))?;
        match std::mem::replace(slot, Slot::Polled) {
            Slot::Running(work, _) => Some(work),
            _ => None,
        }
    }

    fn poll(&self, key: usize, mut work: Work, awaited: &Cell<Awaited>) -> bool {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
        let after = match polled {
            Ok(Poll::Pending) => Slot::Running(work, awaited.get()),
            Ok(Poll::Ready(result)) => Slot::Done(Ok(result)),
            Err(panic) => Slot::Done(Err(panic)),
        };
        let ended = matches!(after, Slot::Done(_));
        if ended {
            self.running.set(self.running.get() - 1);
        }
        self.slots.borrow_mut()[key] = after;
        ended
    }

    /// What a task waits for, as far as it is known.
    pub fn awaited(&self, id: TaskId) -> Awaited {
        match self.slots.borrow().get(id.0) {
            Some(Slot::Running(_, awaited)) => *awaited,
            _ => Awaited::Unknown,
        }
    }

    /// The same of all that run.
    pub fn all_awaited(&self) -> Vec<Awaited> {
        let awaited =
            |(_, slot): (usize, &Slot)| if let Slot::Running(_, awaited) = slot { Some(*awaited) } else { None };
        self.slots.borrow().iter().filter_map(awaited).collect()
    }

    /// Whether a task has come to its end.
    pub fn is_done(&self, id: TaskId) -> bool {
        matches!(self.slots.borrow()[id.0], Slot::Done(_))
    }

    /// The result of a task that has come to its end, which is then forgotten; `None` while it runs.
    ///
    /// # Panics
    /// If the task did, with its message.
    pub fn collect(&self, id: TaskId) -> Option<Result<(), Failure>> {
        let mut slots = self.slots.borrow_mut();
        if !matches!(slots[id.0], Slot::Done(_)) {
            return None;
        }
        let Slot::Done(result) = slots.remove(id.0) else { return None };
        drop(slots);
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Forgets a task that has come to its end, whatever has come of it; false while it runs.
    pub fn discard(&self, id: TaskId) -> bool {
        let is_done = self.is_done(id);
        if is_done {
            self.cancel(id);
        }
        is_done
    }

    /// Ends a task where it stands: afterwards it uses no memory of anybody.
    pub fn cancel(&self, id: TaskId) {
        let slot = self.slots.borrow_mut().remove(id.0);
        if let Slot::Running(work, _) = slot {
            self.running.set(self.running.get() - 1);
            // Dropping it completes its operations, for which other tasks may have to be polled: the list is free by
            // now.
            drop(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// Where tasks say what they wait for.
    fn awaited() -> Cell<Awaited> {
        Cell::new(Awaited::Unknown)
    }

    /// Ready when polled for the `polls`-th time.
    fn after(polls: usize) -> Work {
        let mut left = polls;
        Box::pin(std::future::poll_fn(move |_| {
            left -= 1;
            if left == 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
        }))
    }

    #[test]
    fn tasks_end_in_their_own_time() {
        let tasks = Tasks::default();
        assert_eq!(tasks.start(after(1)), Ok(None));
        let slow = tasks.start(after(3)).unwrap().unwrap();
        let fast = tasks.start(after(2)).unwrap().unwrap();
        assert!(tasks.poll_all(&awaited()));
        assert_eq!(tasks.collect(slow), None);
        assert_eq!(tasks.collect(fast), Some(Ok(())));
        assert!(tasks.poll_all(&awaited()));
        assert_eq!(tasks.collect(slow), Some(Ok(())));
        assert!(!tasks.poll_all(&awaited()));
    }

    #[test]
    fn what_each_task_waits_for_is_known_and_what_its_rank_does_is_not_forgotten() {
        let (tasks, awaited) = (Tasks::default(), Rc::new(Cell::new(Awaited::Unknown)));
        let place = awaited.clone();
        let work = std::future::poll_fn(move |_| {
            place.set(Awaited::Step(7));
            Poll::Pending
        });
        let stepping = tasks.start(Box::pin(work)).unwrap().unwrap();
        let silent = tasks.start(after(3)).unwrap().unwrap();
        awaited.set(Awaited::Step(1));
        assert!(!tasks.poll_all(&awaited));
        assert_eq!(awaited.get(), Awaited::Step(1));
        assert_eq!((tasks.awaited(stepping), tasks.awaited(silent)), (Awaited::Step(7), Awaited::Unknown));
    }

    #[test]
    fn a_task_may_start_and_poll_others() {
        let tasks = Rc::new(Tasks::default());
        let inner = tasks.clone();
        let mut polls = 0;
        let nesting = tasks.start(Box::pin(std::future::poll_fn(move |_| {
            polls += 1;
            if polls == 1 {
                return Poll::Pending;
            }
            let nested = inner.start(after(2)).unwrap().unwrap();
            assert!(inner.poll_all(&awaited()));
            assert_eq!(inner.collect(nested), Some(Ok(())));
            Poll::Ready(Ok(()))
        })));
        let nesting = nesting.unwrap().unwrap();
        assert!(tasks.poll_all(&awaited()));
        assert_eq!(tasks.collect(nesting), Some(Ok(())));
    }

    #[test]
    fn a_panic_waits_for_whoever_asks_for_the_task() {
        let tasks = Tasks::default();
        let mut polls = 0;
        let started = tasks.start(Box::pin(std::future::poll_fn(move |_| {
            polls += 1;
            assert_eq!(polls, 1, "polled again");
            Poll::Pending
        })));
        let id = started.unwrap().unwrap();
        assert!(tasks.poll_all(&awaited()));
        assert!(catch_unwind(AssertUnwindSafe(|| tasks.collect(id))).is_err());
        assert!(!tasks.poll_all(&awaited()));
    }
}
