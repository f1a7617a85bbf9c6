//! Fences, and epochs of post, start, complete and wait (MPI-5.0 sections 12.5.1 and 12.5.2).
//!
//! Every operation on memory of this node has been done when its call returns. What is left for the end of an epoch is
//! that others see it before they see that the epoch is over: the words by which they learn of that are stored with
//! Release, and a fence of the processor goes before. Ranks of other nodes are told such words behind the operations
//! that they have been asked for, and store them themselves.

use std::cell::RefCell;
use std::rc::Rc;

use rwmpi_transport::{CountWord, SharedWord, full_fence};

use super::Window;
use super::control::Listed;
use crate::activity::{Call, Target};
use crate::engine::JobEngine;
use crate::error::ErrorClass;
use crate::waiting::Awaited;
use crate::{Group, Result};

/// A group with which a rank has begun an epoch, and the ranks in the window of its members.
pub(super) struct Members {
    group: Group,
    ranks: Rc<[usize]>,
}

impl Members {
    /// An epoch with them has begun.
    fn keep(kept: &RefCell<Option<Members>>, group: &Group, ranks: &Rc<[usize]>) {
        let mut kept = kept.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| Rc::ptr_eq(&kept.ranks, ranks)) {
            *kept = Some(Members { group: group.clone(), ranks: ranks.clone() });
        }
    }

    /// Those of that group, if it is the one that is kept.
    #[inline]
    fn known(kept: &RefCell<Option<Members>>, group: &Group) -> Option<Rc<[usize]>> {
        let kept = kept.borrow();
        let members = kept.as_ref().filter(|kept| kept.group.is_clone_of(group))?;
        Some(members.ranks.clone())
    }

    /// Those of the latest; nobody, if there has been none.
    fn ranks(kept: &RefCell<Option<Members>>) -> Rc<[usize]> {
        kept.borrow().as_ref().map_or_else(Rc::default, |members| members.ranks.clone())
    }
}

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
        let origins = self.ranks_of(&self.shared.posted, group)?;
        self.shared.epochs.borrow_mut().post().map_err(|misuse| self.misuse(misuse))?;
        Members::keep(&self.shared.posted, group, &origins);
        self.tell_posted(&origins)
    }

    /// The same, if the group is that of the latest post, and nobody has to be asked for anything; `None`: nothing has
    /// been done.
    #[inline]
    pub fn post_at_once(&self, group: &Group) -> Option<()> {
        let origins = self.known_ranks_of(&self.shared.posted, group)?;
        self.shared.epochs.borrow_mut().post().ok()?;
        self.tell_posted(&origins).ok()
    }

    #[inline]
    fn tell_posted(&self, origins: &[usize]) -> Result<()> {
        self.order();
        for &origin in origins {
            let count = self.shared.pairs.borrow_mut().post(origin);
            match &self.shared.controls[origin] {
                Some(control) => self.tell(origin, control.mapped(Listed::PostsOf(self.rank())), count),
                None => self.posted_elsewhere(origin, count)?,
            }
        }
        Ok(())
    }

    /// Begins an access epoch to the ranks of a group, when they have posted, unless they are known to have
    /// (MPI_Win_start).
    ///
    /// # Errors
    /// Another one is open; the group has others than ranks of the window.
    pub fn start(&self, group: &Group, is_known: bool) -> Result<()> {
        let targets = self.ranks_of(&self.shared.started, group)?;
        let started = self.shared.epochs.borrow_mut().start(targets.iter().copied());
        started.map_err(|misuse| self.misuse(misuse))?;
        Members::keep(&self.shared.started, group, &targets);
        for (number, &target) in targets.iter().enumerate() {
            let count = self.shared.pairs.borrow_mut().start(target);
            if !is_known {
                let posted = self.await_word(Call::StartEpoch, target, Listed::PostsOf(target), count);
                posted.inspect_err(|_| self.abandon_start(&targets[number + 1..]))?;
            }
        }
        Ok(())
    }

    /// A rank has died, so that this epoch, in which nothing has been done, ends before all targets were waited for.
    /// Those that live are told as if it had been completed: so posts and starts go on belonging together.
    #[cold]
    fn abandon_start(&self, others: &[usize]) {
        if self.shared.survival.is_some() {
            others.iter().for_each(|&target| _ = self.shared.pairs.borrow_mut().start(target));
            // Why it has failed is known.
            let _ = self.complete();
        }
    }

    /// The same, if the group is that of the latest start, and all have posted already; `None`: nothing has been done.
    #[inline]
    pub fn start_at_once(&self, group: &Group) -> Option<()> {
        let targets = self.known_ranks_of(&self.shared.started, group)?;
        let mut pairs = self.shared.pairs.borrow_mut();
        let has_posted =
            |&target: &usize| self.own().mapped(Listed::PostsOf(target)).load() >= pairs.next_start(target);
        if !targets.iter().all(has_posted) {
            return None;
        }
        self.shared.epochs.borrow_mut().start(targets.iter().copied()).ok()?;
        targets.iter().for_each(|&target| _ = pairs.start(target));
        Some(())
    }

    /// Ends it (MPI_Win_complete).
    ///
    /// # Errors
    /// There is none; a target can't be reached.
    pub fn complete(&self) -> Result<()> {
        self.shared.epochs.borrow_mut().complete().map_err(|misuse| self.misuse(misuse))?;
        self.tell_completed()?;
        // All other ways to end an epoch wait for an answer, behind everything that was lent.
        self.take_back_lent()?;
        self.check_touched(Members::ranks(&self.shared.started).iter().copied())
    }

    /// The same, if nobody has to be asked for anything; `None`: nothing has been done.
    #[inline]
    pub fn complete_at_once(&self) -> Option<()> {
        if !self.shared.is_plain {
            return None;
        }
        self.shared.epochs.borrow_mut().complete().ok()?;
        self.tell_completed().ok()
    }

    #[inline]
    fn tell_completed(&self) -> Result<()> {
        self.order();
        for &target in Members::ranks(&self.shared.started).iter() {
            let count = self.shared.pairs.borrow_mut().complete(target);
            match &self.shared.controls[target] {
                Some(control) => self.tell(target, control.mapped(Listed::CompletionsOf(self.rank())), count),
                None => self.completed_elsewhere(target, count)?,
            }
        }
        Ok(())
    }

    /// Waits until the exposure epoch is over (MPI_Win_wait).
    ///
    /// # Errors
    /// There is none; a rank has died, which ends it, too.
    pub fn wait(&self) -> Result<()> {
        self.shared.epochs.borrow().check_posted().map_err(|misuse| self.misuse(misuse))?;
        for &origin in Members::ranks(&self.shared.posted).iter() {
            let count = self.shared.pairs.borrow().awaited(origin);
            let completed = self.await_word(Call::EndEpoch, origin, Listed::CompletionsOf(origin), count);
            completed.inspect_err(|_| self.abandon_wait())?;
        }
        self.shared.epochs.borrow_mut().waited();
        Ok(())
    }

    /// A rank has died: the exposure epoch is over for this one.
    #[cold]
    fn abandon_wait(&self) {
        if self.shared.survival.is_some() {
            self.shared.epochs.borrow_mut().waited();
        }
    }

    /// The same, if it is over already; `None`: nothing has been done.
    #[inline]
    pub fn wait_at_once(&self) -> Option<()> {
        let mut epochs = self.shared.epochs.borrow_mut();
        epochs.check_posted().ok()?;
        let pairs = self.shared.pairs.borrow();
        let has_completed =
            |&origin: &usize| self.own().mapped(Listed::CompletionsOf(origin)).load() >= pairs.awaited(origin);
        if !Members::ranks(&self.shared.posted).iter().all(has_completed) {
            return None;
        }
        epochs.waited();
        Some(())
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
            let origins = Members::ranks(&self.shared.posted);
            let word = |origin| self.own().awaited(Listed::CompletionsOf(origin));
            origins.iter().map(|&origin| (word(origin), pairs.awaited(origin))).collect()
        };
        let are_there =
            |engine: &mut JobEngine| completions.iter().all(|&(word, count)| engine.word(word) >= count).then_some(());
        let found = self.process().look_for(Awaited::Unknown, are_there);
        let is_over = found.map_err(|failure| self.failed(failure))?.is_some();
        if is_over {
            self.shared.epochs.borrow_mut().waited();
        } else if let Some(failure) = self.interruption() {
            self.abandon_wait();
            return Err(self.failed(failure));
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
    #[inline]
    fn tell(&self, rank: usize, word: CountWord<'_>, value: u64) {
        word.set(value);
        if rank != self.rank() {
            self.process().engine().wake(self.shared.targets[rank].peer);
        }
    }

    /// Waits until `rank` has set a word of this rank's to that value at least.
    #[inline]
    fn await_word(&self, call: Call, rank: usize, word: Listed, value: u64) -> Result<()> {
        if self.own().mapped(word).load() >= value { Ok(()) } else { self.await_later_word(call, rank, word, value) }
    }

    #[cold]
    fn await_later_word(&self, call: Call, rank: usize, word: Listed, value: u64) -> Result<()> {
        let (process, peer, word) = (self.process(), self.shared.targets[rank].peer, self.own().awaited(word));
        let mut engine = process.enter(call, Target::NONE, self.shared.communicator.context(), 0);
        let looks = process.looks(&engine);
        if engine.has_word(word, value, looks, None) {
            return Ok(());
        }
        drop(engine);
        let waited = process.wait_for_awaited(Awaited::Epoch(peer), || {
            let mut engine = process.engine();
            let looks = process.looks(&engine);
            if engine.has_word(word, value, looks, None) { Some(Ok(())) } else { self.interruption().map(Err) }
        });
        waited.flatten().map_err(|failure| self.shared.communicator.failed(call)(failure))
    }

    /// The ranks here of the members of the group that is kept, if it is this one and nobody is elsewhere.
    #[inline]
    fn known_ranks_of(&self, kept: &RefCell<Option<Members>>, group: &Group) -> Option<Rc<[usize]>> {
        if self.shared.elsewhere.is_some() { None } else { Members::known(kept, group) }
    }

    /// The ranks here of the members of a group. As a rule it is the one that is kept of the latest epoch.
    fn ranks_of(&self, kept: &RefCell<Option<Members>>, group: &Group) -> Result<Rc<[usize]>> {
        if let Some(ranks) = Members::known(kept, group) {
            return Ok(ranks);
        }
        let ranks: Option<Rc<[usize]>> = group.peers().iter().map(|&peer| self.group().find_of(peer, group)).collect();
        ranks.ok_or_else(|| self.error(ErrorClass::Group, "the group has members that are no ranks of it".to_owned()))
    }
}
