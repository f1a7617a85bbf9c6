//! Fences, and epochs of post, start, complete and wait (MPI-5.0 sections 12.5.1 and 12.5.2).
//!
//! Every operation on memory of this node has been done when its call returns. What is left for the end of an epoch is
//! that others see it before they see that the epoch is over: the words by which they learn of that are stored with
//! Release, and a fence of the processor goes before. Ranks of other nodes are told such words behind the operations
//! that they have been asked for, and store them themselves.

use std::rc::Rc;

use rwmpi_transport::{SharedWord, full_fence};

use super::Window;
use crate::activity::{Call, Target};
use crate::engine::JobEngine;
use crate::error::ErrorClass;
use crate::waiting::Awaited;
use crate::{Group, Result};

impl Window {
    /// Ends and begins epochs of all ranks (MPI_Win_fence). Collective. There is always a barrier: whatever a rank says
    /// that it has not done, others may have to wait for its own loads and stores.
    ///
    /// # Errors
    /// Another epoch is open.
    pub fn fence(&self, is_followed: bool) -> Result<()> {
        self.shared.epochs.borrow().check_fence().map_err(|misuse| self.misuse(misuse))?;
        let settled = self.settle_all();
        self.order();
        self.shared.communicator.as_part_of(Call::Fence, |all| all.barrier())?;
        self.shared.epochs.borrow_mut().fenced(is_followed);
        settled
    }

    /// Begins an exposure epoch for the ranks of a group (MPI_Win_post). Does not wait.
    ///
    /// # Errors
    /// Another one is open; the group has others than ranks of the window.
    pub fn post(&self, group: &Group) -> Result<()> {
        let origins = self.ranks_of(group)?;
        self.shared.epochs.borrow_mut().post().map_err(|misuse| self.misuse(misuse))?;
        self.order();
        for &origin in origins.iter() {
            let count = self.shared.pairs.borrow_mut().post(origin);
            match &self.shared.controls[origin] {
                Some(control) => self.tell(origin, control.posts_of(self.rank()), count),
                None => self.posted_elsewhere(origin, count)?,
            }
        }
        *self.shared.posted.borrow_mut() = origins;
        Ok(())
    }

    /// Begins an access epoch to the ranks of a group, when they have posted, unless they are known to have
    /// (MPI_Win_start).
    ///
    /// # Errors
    /// Another one is open; the group has others than ranks of the window.
    pub fn start(&self, group: &Group, is_known: bool) -> Result<()> {
        let targets = self.ranks_of(group)?;
        let started = self.shared.epochs.borrow_mut().start(targets.iter().copied());
        started.map_err(|misuse| self.misuse(misuse))?;
        for &target in targets.iter() {
            let count = self.shared.pairs.borrow_mut().start(target);
            if !is_known {
                self.await_word(Call::StartEpoch, target, self.own().posts_of(target), count)?;
            }
        }
        *self.shared.started.borrow_mut() = targets;
        Ok(())
    }

    /// Ends it (MPI_Win_complete).
    ///
    /// # Errors
    /// There is none; a target can't be reached.
    pub fn complete(&self) -> Result<()> {
        self.shared.epochs.borrow_mut().complete().map_err(|misuse| self.misuse(misuse))?;
        self.order();
        let targets = self.shared.started.replace(Rc::new([]));
        for &target in targets.iter() {
            let count = self.shared.pairs.borrow_mut().complete(target);
            match &self.shared.controls[target] {
                Some(control) => self.tell(target, control.completions_of(self.rank()), count),
                None => self.completed_elsewhere(target, count)?,
            }
        }
        Ok(())
    }

    /// Waits until the exposure epoch is over (MPI_Win_wait).
    ///
    /// # Errors
    /// There is none.
    pub fn wait(&self) -> Result<()> {
        self.shared.epochs.borrow().check_posted().map_err(|misuse| self.misuse(misuse))?;
        let origins = self.shared.posted.borrow().clone();
        for &origin in origins.iter() {
            let count = self.shared.pairs.borrow().awaited(origin);
            self.await_word(Call::EndEpoch, origin, self.own().completions_of(origin), count)?;
        }
        self.shared.epochs.borrow_mut().waited();
        Ok(())
    }

    /// Whether the exposure epoch is over; if so, as [`Window::wait`] (MPI_Win_test).
    ///
    /// # Errors
    /// There is none.
    pub fn test(&self) -> Result<bool> {
        self.shared.epochs.borrow().check_posted().map_err(|misuse| self.misuse(misuse))?;
        // While it is looked, functions of the program may run.
        let completions: Vec<(SharedWord, u64)> = {
            let pairs = self.shared.pairs.borrow();
            let origins = self.shared.posted.borrow();
            origins.iter().map(|&origin| (self.own().completions_of(origin), pairs.awaited(origin))).collect()
        };
        let are_there =
            |engine: &mut JobEngine| completions.iter().all(|&(word, count)| engine.word(word) >= count).then_some(());
        let found = self.process().look_for(Awaited::Unknown, are_there);
        let is_over = found.map_err(|failure| self.failed(failure))?.is_some();
        if is_over {
            self.shared.epochs.borrow_mut().waited();
        }
        Ok(is_over)
    }

    /// Orders what this rank has done to memory before with what it does afterwards (MPI_Win_sync).
    ///
    /// # Errors
    /// Ranks can't be reached.
    #[inline]
    pub fn sync(&self) -> Result<()> {
        self.order();
        self.look()?;
        self.order();
        Ok(())
    }

    /// The same without serving anybody meanwhile.
    #[inline]
    pub(crate) fn order(&self) {
        full_fence();
    }

    /// This rank's words.
    pub(super) fn own(&self) -> &super::control::Control {
        self.shared.controls[self.rank()].as_ref().expect("a rank shares memory with itself")
    }

    /// Sets a word that `rank` may be waiting for.
    fn tell(&self, rank: usize, word: SharedWord, value: u64) {
        self.process().engine().set_words([(word, value)], &[self.shared.targets[rank].peer]);
    }

    /// Waits until `rank` has set a word to that value at least.
    fn await_word(&self, call: Call, rank: usize, word: SharedWord, value: u64) -> Result<()> {
        let (process, peer) = (self.process(), self.shared.targets[rank].peer);
        let mut engine = process.enter(call, Target::NONE, self.shared.communicator.context(), 0);
        let looks = process.looks(&engine);
        if engine.has_word(word, value, looks, None) {
            return Ok(());
        }
        drop(engine);
        let waited = process.wait_for_awaited(Awaited::Epoch(peer), || {
            let mut engine = process.engine();
            let looks = process.looks(&engine);
            engine.has_word(word, value, looks, None).then_some(())
        });
        waited.map_err(|failure| self.shared.communicator.failed(call)(failure))
    }

    /// The ranks here of the members of a group.
    fn ranks_of(&self, group: &Group) -> Result<Rc<[usize]>> {
        let ranks: Option<Rc<[usize]>> = group.peers().iter().map(|&peer| self.group().find_of(peer, group)).collect();
        ranks.ok_or_else(|| self.error(ErrorClass::Group, "the group has members that are no ranks of it".to_owned()))
    }
}
