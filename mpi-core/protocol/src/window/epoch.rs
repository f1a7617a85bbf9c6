//! Which epochs a rank has open on a window (MPI-5.0 section 12.5), and which calls are therefore wrong.
//!
//! A fence opens an epoch only if something follows: until the rank has issued an operation, it may as well go on with
//! post, start or lock. What is wrong is a value, [`Misuse`], that says what was open and what was called.

use super::LockKind;

/// One rank's epochs on one window.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Epochs {
    access: Access,
    /// The rank has posted, and not waited for the end yet.
    is_posted: bool,
    /// By target: how the rank may access it in an epoch of particular targets.
    holds: Box<[Hold]>,
    /// How many targets are locked.
    locked: usize,
}

/// The access epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Access {
    Closed,
    /// After a fence that others may follow, and the rank has issued no operation since.
    Fence,
    /// To those targets of which the rank has a hold.
    Started,
    Locked,
    /// From here on, to all targets: after a fence, with operations issued since; with locks that have to be given
    /// back; without.
    UsedFence,
    AllLocked,
    AllUnchecked,
}

/// How a rank may access a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// Not at all, unless all targets are in the epoch.
    None,
    /// It belongs to the group of a start.
    Started,
    /// It is locked, with others that may have it, too.
    Shared,
    /// It is locked for this rank alone.
    Exclusive,
    /// The program says that nobody else locks it (MPI_MODE_NOCHECK): no lock is held.
    Unchecked,
}

impl Hold {
    /// The lock that is held, and has to be given back.
    #[inline]
    pub fn lock(self) -> Option<LockKind> {
        match self {
            Hold::Shared => Some(LockKind::Shared),
            Hold::Exclusive => Some(LockKind::Exclusive),
            Hold::None | Hold::Started | Hold::Unchecked => None,
        }
    }
}

impl From<LockKind> for Hold {
    #[inline]
    fn from(kind: LockKind) -> Hold {
        match kind {
            LockKind::Shared => Hold::Shared,
            LockKind::Exclusive => Hold::Exclusive,
        }
    }
}

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Open {
    /// No epoch.
    Nothing,
    /// One that a fence has begun.
    Fence,
    /// One that MPI_Win_start has begun.
    Start,
    /// One or more that MPI_Win_lock has begun.
    Lock,
    /// One that MPI_Win_lock_all has begun.
    LockAll,
    /// One that MPI_Win_post has begun.
    Post,
}

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Called {
    /// An operation on a target.
    Operation,
    /// One that gives a request: only in epochs of locks.
    OperationWithRequest,
    /// MPI_Win_fence.
    Fence,
    /// MPI_Win_start.
    Start,
    /// MPI_Win_complete.
    Complete,
    /// MPI_Win_post.
    Post,
    /// MPI_Win_wait or MPI_Win_test.
    Wait,
    /// MPI_Win_lock.
    Lock,
    /// MPI_Win_unlock.
    Unlock,
    /// MPI_Win_lock_all.
    LockAll,
    /// MPI_Win_unlock_all.
    UnlockAll,
    /// One of the flushes.
    Flush,
    /// MPI_Win_free.
    Free,
}

/// A call that is wrong in the present epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Misuse {
    /// What is open.
    pub open: Open,
    /// What was called.
    pub called: Called,
    /// With which target, if that matters.
    pub target: Option<usize>,
}

impl Epochs {
    /// Nothing is open, of a window of so many ranks.
    pub fn new(ranks: usize) -> Self {
        Epochs { access: Access::Closed, is_posted: false, holds: vec![Hold::None; ranks].into(), locked: 0 }
    }

    fn open(&self) -> Open {
        match self.access {
            Access::Closed if self.is_posted => Open::Post,
            Access::Closed => Open::Nothing,
            Access::Fence | Access::UsedFence => Open::Fence,
            Access::Started => Open::Start,
            Access::Locked => Open::Lock,
            Access::AllLocked | Access::AllUnchecked => Open::LockAll,
        }
    }

    #[cold]
    fn misuse(&self, called: Called, target: Option<usize>) -> Misuse {
        Misuse { open: self.open(), called, target }
    }

    /// Whether an access epoch may begin.
    #[inline]
    fn is_closed(&self) -> bool {
        matches!(self.access, Access::Closed | Access::Fence)
    }

    /// Whether an operation on that target is legal and changes nothing here. If not, [`Epochs::operation`] knows more.
    #[inline(always)]
    pub fn is_open_to(&self, target: usize) -> bool {
        matches!(self.access, Access::UsedFence | Access::AllLocked | Access::AllUnchecked)
            || matches!(self.access, Access::Started | Access::Locked) && self.holds[target] != Hold::None
    }

    /// An operation on that target.
    ///
    /// # Errors
    /// If the target is in no access epoch.
    #[inline]
    pub fn operation(&mut self, target: usize) -> Result<(), Misuse> {
        if self.access == Access::Fence {
            self.access = Access::UsedFence;
        }
        if self.is_open_to(target) { Ok(()) } else { Err(self.misuse(Called::Operation, Some(target))) }
    }

    /// An operation that gives a request.
    ///
    /// # Errors
    /// If the target is not locked.
    pub fn operation_with_request(&self, target: usize) -> Result<(), Misuse> {
        self.check_locked(target).map_err(|misuse| Misuse { called: Called::OperationWithRequest, ..misuse })
    }

    /// Whether that target is locked.
    #[inline(always)]
    pub fn is_locked(&self, target: usize) -> bool {
        match self.access {
            Access::AllLocked | Access::AllUnchecked => true,
            Access::Locked => self.holds[target] != Hold::None,
            _ => false,
        }
    }

    /// A flush of one target.
    ///
    /// # Errors
    /// If it is not locked.
    #[inline]
    pub fn check_locked(&self, target: usize) -> Result<(), Misuse> {
        if self.is_locked(target) { Ok(()) } else { Err(self.misuse(Called::Flush, Some(target))) }
    }

    /// A flush of all targets.
    ///
    /// # Errors
    /// If none is locked.
    #[inline]
    pub fn check_any_locked(&self) -> Result<(), Misuse> {
        match self.access {
            Access::AllLocked | Access::AllUnchecked | Access::Locked => Ok(()),
            _ => Err(self.misuse(Called::Flush, None)),
        }
    }

    /// Whether a fence is legal now.
    ///
    /// # Errors
    /// If an epoch is open that no fence ends.
    pub fn check_fence(&self) -> Result<(), Misuse> {
        match self.access {
            Access::Closed | Access::Fence | Access::UsedFence if !self.is_posted => Ok(()),
            _ => Err(self.misuse(Called::Fence, None)),
        }
    }

    /// A fence has ended. Does anything follow (no MPI_MODE_NOSUCCEED)?
    pub fn fenced(&mut self, is_followed: bool) {
        self.access = if is_followed { Access::Fence } else { Access::Closed };
    }

    /// An access epoch for these targets begins.
    ///
    /// # Errors
    /// If another one is open.
    #[inline]
    pub fn start(&mut self, targets: impl IntoIterator<Item = usize>) -> Result<(), Misuse> {
        if !self.is_closed() {
            return Err(self.misuse(Called::Start, None));
        }
        self.access = Access::Started;
        targets.into_iter().for_each(|target| self.holds[target] = Hold::Started);
        Ok(())
    }

    /// The access epoch of a start ends.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn complete(&mut self) -> Result<(), Misuse> {
        if self.access != Access::Started {
            return Err(self.misuse(Called::Complete, None));
        }
        self.access = Access::Closed;
        self.holds.fill(Hold::None);
        Ok(())
    }

    /// An exposure epoch begins.
    ///
    /// # Errors
    /// If another one is open.
    #[inline]
    pub fn post(&mut self) -> Result<(), Misuse> {
        if self.is_posted || self.access == Access::UsedFence {
            return Err(self.misuse(Called::Post, None));
        }
        if self.access == Access::Fence {
            self.access = Access::Closed;
        }
        self.is_posted = true;
        Ok(())
    }

    /// Whether an exposure epoch may be waited for.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn check_posted(&self) -> Result<(), Misuse> {
        if self.is_posted { Ok(()) } else { Err(self.misuse(Called::Wait, None)) }
    }

    /// The exposure epoch has ended.
    #[inline]
    pub fn waited(&mut self) {
        self.is_posted = false;
    }

    /// Whether that target may be locked.
    ///
    /// # Errors
    /// If it is already, or an epoch is open that is none of locks.
    #[inline]
    pub fn check_lock(&self, target: usize) -> Result<(), Misuse> {
        let may = self.is_closed() || self.access == Access::Locked && self.holds[target] == Hold::None;
        if may { Ok(()) } else { Err(self.misuse(Called::Lock, Some(target))) }
    }

    /// The target has been locked like that.
    #[inline]
    pub fn locked(&mut self, target: usize, hold: Hold) {
        self.access = Access::Locked;
        self.holds[target] = hold;
        self.locked += 1;
    }

    /// How a target is locked that is about to be unlocked.
    ///
    /// # Errors
    /// If it is not locked.
    #[inline]
    pub fn unlock(&mut self, target: usize) -> Result<Hold, Misuse> {
        if self.access != Access::Locked || self.holds[target] == Hold::None {
            return Err(self.misuse(Called::Unlock, Some(target)));
        }
        self.locked -= 1;
        if self.locked == 0 {
            self.access = Access::Closed;
        }
        Ok(std::mem::replace(&mut self.holds[target], Hold::None))
    }

    /// Whether all targets may be locked.
    ///
    /// # Errors
    /// If an access epoch is open.
    #[inline]
    pub fn check_lock_all(&self) -> Result<(), Misuse> {
        if self.is_closed() { Ok(()) } else { Err(self.misuse(Called::LockAll, None)) }
    }

    /// All targets have been locked; are locks held for that, or does the program say that nobody else locks them?
    #[inline]
    pub fn all_locked(&mut self, is_held: bool) {
        self.access = if is_held { Access::AllLocked } else { Access::AllUnchecked };
    }

    /// All targets are about to be unlocked; whether locks are held.
    ///
    /// # Errors
    /// If they were not locked together.
    #[inline]
    pub fn unlock_all(&mut self) -> Result<bool, Misuse> {
        let is_held = self.access == Access::AllLocked;
        if !is_held && self.access != Access::AllUnchecked {
            return Err(self.misuse(Called::UnlockAll, None));
        }
        self.access = Access::Closed;
        Ok(is_held)
    }

    /// Whether the window may be freed.
    ///
    /// # Errors
    /// If an epoch is open.
    pub fn check_free(&self) -> Result<(), Misuse> {
        if self.is_closed() && !self.is_posted { Ok(()) } else { Err(self.misuse(Called::Free, None)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong<T: std::fmt::Debug>(result: Result<T, Misuse>) -> (Open, Called) {
        let misuse = result.unwrap_err();
        (misuse.open, misuse.called)
    }

    #[test]
    fn nothing_may_be_done_outside_of_epochs() {
        let mut epochs = Epochs::new(2);
        let before = epochs.clone();
        assert_eq!(wrong(epochs.operation(1)), (Open::Nothing, Called::Operation));
        assert_eq!(wrong(epochs.operation_with_request(1)), (Open::Nothing, Called::OperationWithRequest));
        assert_eq!(wrong(epochs.check_locked(0)), (Open::Nothing, Called::Flush));
        assert_eq!(wrong(epochs.check_any_locked()), (Open::Nothing, Called::Flush));
        assert_eq!(wrong(epochs.complete()), (Open::Nothing, Called::Complete));
        assert_eq!(wrong(epochs.check_posted()), (Open::Nothing, Called::Wait));
        assert_eq!(wrong(epochs.unlock(0)), (Open::Nothing, Called::Unlock));
        assert_eq!(wrong(epochs.unlock_all()), (Open::Nothing, Called::UnlockAll));
        assert_eq!(epochs, before, "what is refused has no effect");
        epochs.check_free().unwrap();
    }

    #[test]
    fn a_fence_opens_an_epoch_only_if_something_follows() {
        for next in [Called::Lock, Called::LockAll, Called::Start, Called::Post, Called::Free] {
            let mut epochs = Epochs::new(2);
            let may = |epochs: &mut Epochs| match next {
                Called::Lock => epochs.check_lock(0),
                Called::LockAll => epochs.check_lock_all(),
                Called::Start => epochs.start([0]),
                Called::Post => epochs.post(),
                _ => epochs.check_free(),
            };
            epochs.check_fence().unwrap();
            epochs.fenced(true);
            may(&mut epochs.clone()).unwrap();
            epochs.operation(0).unwrap();
            assert_eq!(wrong(may(&mut epochs.clone())), (Open::Fence, next));
            epochs.check_fence().unwrap();
            epochs.fenced(false);
            assert!(epochs.operation(0).is_err(), "after a fence that nothing succeeds");
            may(&mut epochs).unwrap();
        }
    }

    #[test]
    fn targets_are_locked_one_by_one_and_each_once() {
        let mut epochs = Epochs::new(3);
        for (target, hold) in [(0, Hold::Shared), (2, Hold::Unchecked)] {
            epochs.check_lock(target).unwrap();
            epochs.locked(target, hold);
        }
        assert_eq!(wrong(epochs.check_lock(2)), (Open::Lock, Called::Lock));
        assert_eq!(wrong(epochs.check_lock_all()), (Open::Lock, Called::LockAll));
        assert_eq!(wrong(epochs.check_fence()), (Open::Lock, Called::Fence));
        assert_eq!(wrong(epochs.start([1])), (Open::Lock, Called::Start));
        assert_eq!(wrong(epochs.check_free()), (Open::Lock, Called::Free));
        epochs.operation(2).unwrap();
        epochs.operation_with_request(0).unwrap();
        assert!(epochs.operation(1).is_err() && epochs.check_locked(1).is_err());
        assert_eq!(epochs.unlock(2), Ok(Hold::Unchecked));
        assert!(epochs.unlock(2).is_err() && epochs.check_locked(0).is_ok());
        assert_eq!(epochs.unlock(0).map(Hold::lock), Ok(Some(LockKind::Shared)));
        assert_eq!(epochs, Epochs::new(3), "nothing stays behind");
    }

    #[test]
    fn all_are_locked_and_unlocked_together() {
        let mut epochs = Epochs::new(2);
        epochs.check_lock_all().unwrap();
        epochs.all_locked(true);
        epochs.operation(1).unwrap();
        epochs.check_any_locked().unwrap();
        assert_eq!(wrong(epochs.check_lock(1)), (Open::LockAll, Called::Lock));
        assert_eq!(wrong(epochs.unlock(1)), (Open::LockAll, Called::Unlock));
        assert_eq!(epochs.unlock_all(), Ok(true));
        assert_eq!(epochs, Epochs::new(2));
        epochs.all_locked(false);
        assert_eq!(epochs.unlock_all(), Ok(false));
    }

    #[test]
    fn access_and_exposure_may_be_open_at_the_same_time() {
        let mut epochs = Epochs::new(3);
        epochs.post().unwrap();
        assert_eq!(wrong(epochs.post()), (Open::Post, Called::Post));
        assert_eq!(wrong(epochs.check_fence()), (Open::Post, Called::Fence));
        assert_eq!(wrong(epochs.check_free()), (Open::Post, Called::Free));
        epochs.start([1]).unwrap();
        assert_eq!(wrong(epochs.start([1])), (Open::Start, Called::Start));
        assert_eq!(wrong(epochs.check_lock(1)), (Open::Start, Called::Lock));
        epochs.operation(1).unwrap();
        assert_eq!(wrong(epochs.operation(2)), (Open::Start, Called::Operation));
        assert_eq!(wrong(epochs.operation_with_request(1)), (Open::Start, Called::OperationWithRequest));
        epochs.complete().unwrap();
        assert!(epochs.operation(1).is_err());
        epochs.check_posted().unwrap();
        epochs.waited();
        assert_eq!(epochs, Epochs::new(3));
    }
}
