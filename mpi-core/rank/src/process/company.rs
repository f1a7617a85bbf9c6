//! The engines that a rank has beside that of its job: one for each meeting with ranks of another job, which spawned
//! its own or was spawned, or has come to a port.
//!
//! Whoever waits in one of them makes progress in all. It does not sleep: what it waits for may come by any of them,
//! and who brings it knows of one only. If one of them fails, as the connection with another job is broken, that
//! concerns nobody who waits in another.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use rwmpi_transport::{Backoff, JobFabric, Presence};

use super::Process;
use crate::engine::Failure;
use crate::numbers::Numbers;

/// All engines of a rank that has several.
pub struct Company {
    /// That of its job, in the first lane.
    first: Weak<Process>,
    /// The others, until the rank parts from those with whom it has them.
    joined: RefCell<Vec<Rc<Process>>>,
}

impl Company {
    /// All of them. They are not borrowed: to make progress may call functions of the program.
    fn all(&self) -> Vec<Rc<Process>> {
        self.first.upgrade().into_iter().chain(self.joined.borrow().iter().cloned()).collect()
    }

    /// Leaves all files together with the others there, who do the same when they finalize.
    fn leave(&self) -> Result<(), Failure> {
        let joined = self.joined.borrow().clone();
        // First it says so in all of them: they may be left in any order.
        joined.iter().try_for_each(|process| process.begin_to_part())?;
        let are_left = |process: &Rc<Process>| process.wait_for(|| process.have_others_left().then_some(()));
        joined.iter().try_for_each(are_left)?;
        joined.iter().for_each(|process| process.engine().begin_to_finish());
        joined.iter().try_for_each(|process| process.part())
    }
}

impl Process {
    /// A further engine of the rank that this engine is one of, over that fabric, whose peers have these numbers.
    pub fn join(self: &Rc<Self>, fabric: JobFabric, numbers: Numbers) -> Rc<Process> {
        let first = self.first();
        let made = || Rc::new(Company { first: Rc::downgrade(&first), joined: RefCell::default() });
        let company = first.company.get_or_init(made);
        let place = (Rc::default(), 0);
        let process = Rc::new(Process::new(fabric, self.rule, self.tuning(), place, None));
        let _ = process.company.set(company.clone());
        let _ = process.numbers.set(numbers);
        if let Some(lock) = first.lock.get() {
            let _ = process.lock.set(lock);
        }
        // Who waits in this one may have the locks of all lanes, and gives back all of them or none.
        if let Some(locks) = first.locks.get() {
            let _ = process.locks.set(locks);
        }
        company.joined.borrow_mut().push(process.clone());
        process.has_others.set(true);
        first.has_others.set(true);
        process
    }

    /// The engine of the rank's job, in the first lane.
    fn first(self: &Rc<Self>) -> Rc<Process> {
        let of_company = self.company.get().and_then(|company| company.first.upgrade());
        of_company.or_else(|| self.lanes.all().next()).unwrap_or_else(|| self.clone())
    }

    /// Whose numbers its peers have, if not those of the job.
    pub fn numbers(&self) -> Option<&Numbers> {
        self.numbers.get()
    }

    /// Whether it is an engine beside that of the job.
    pub fn is_joined(&self) -> bool {
        self.company.get().is_some_and(|company| !std::ptr::eq(company.first.as_ptr(), self))
    }

    /// Whether the rank has engines beside that of its job.
    pub(super) fn has_joined(&self) -> bool {
        self.company.get().is_some_and(|company| !company.joined.borrow().is_empty())
    }

    /// As [`Process::progress`], in all engines of the rank that this thread has.
    #[cold]
    pub(super) fn progress_with_others(&self) -> Result<bool, Failure> {
        let mut moved = match self.locks_of_all().is_some() && !self.is_joined() {
            true => self.lanes.all().try_fold(false, |moved, process| Ok(process.progress()? || moved))?,
            false => self.progress()?,
        };
        for process in self.company.get().map_or(Vec::new(), |company| company.all()) {
            moved |= !std::ptr::eq(&*process, self) && self.concerned_by(&process, process.progress(), false)?;
        }
        Ok(moved)
    }

    /// What came of something in that engine; `otherwise` if it has failed, and that is another job's end.
    fn concerned_by<R>(&self, process: &Process, came: Result<R, Failure>, otherwise: R) -> Result<R, Failure> {
        match came {
            Err(_) if process.is_joined() && !std::ptr::eq(process, self) => Ok(otherwise),
            came => came,
        }
    }

    /// Waits a little where any engine may be the next; `None`: there is but this one.
    #[cold]
    pub(super) fn stand_by(&self, backoff: &mut Backoff) -> Option<Result<(), Failure>> {
        if self.stand_aside(backoff) {
            return Some(self.take_signals());
        }
        (self.has_joined() || self.outside.get() > 0).then(|| self.stand_by_awake(backoff))
    }

    /// Waits a little for something that need not come by this engine: without sleeping in it.
    ///
    /// # Errors
    /// If the job has been aborted.
    #[cold]
    pub fn stand_by_awake(&self, backoff: &mut Backoff) -> Result<(), Failure> {
        if !self.let_others_in() {
            backoff.stand_by();
        }
        match self.company.get() {
            Some(company) => {
                let heed = |process: &Rc<Process>| self.concerned_by(process, process.take_signals(), ());
                company.all().iter().try_for_each(heed)
            }
            None => self.take_signals(),
        }
    }

    /// So many operations more, or less, are performed outside of all engines: while there are some, a wait may be for
    /// what no engine tells of.
    pub fn awaits_outside(&self, more: i32) {
        self.outside.set(self.outside.get() + more);
        self.settle_others();
    }

    /// Whether the rank has other engines than this one.
    pub fn has_several_engines(&self) -> bool {
        self.lanes.are_several() || self.company.get().is_some()
    }

    /// Whether whoever waits in this engine has to look at more than this.
    fn settle_others(&self) {
        self.has_others.set(self.locks.get().is_some() || self.has_joined() || self.outside.get() > 0);
    }

    /// One communicator more.
    pub fn has_communicator(&self) {
        self.communicators.set(self.communicators.get() + 1);
    }

    /// One communicator less.
    pub fn has_communicator_no_more(&self) {
        self.communicators.set(self.communicators.get() - 1);
    }

    /// A communicator is about to be given back, whose members have nothing more to say to each other: if it was the
    /// last of those with ranks of another job, this rank parts from them.
    pub fn part_if_last(&self) -> Result<(), Failure> {
        if self.communicators.get() > 1 || !self.is_joined() {
            return Ok(());
        }
        self.begin_to_part()?;
        self.part()
    }

    /// Parts from all ranks of other jobs when they do, too.
    pub fn leave_joined(&self) -> Result<(), Failure> {
        self.company.get().map_or(Ok(()), |company| company.leave())
    }

    /// Parts from all ranks of other jobs without waiting for them.
    pub fn leave_joined_alone(&self) {
        let joined = self.company.get().map(|company| company.joined.take());
        joined.into_iter().flatten().for_each(|process| process.engine().leave());
    }

    /// Sends what is on its way, and says that nothing more will come.
    fn begin_to_part(&self) -> Result<(), Failure> {
        self.begin_finalize();
        self.collect_detached()?;
        self.wait_for_abandoned()?;
        self.flush()?;
        self.engine().begin_to_leave();
        Ok(())
    }

    /// Lets go of the file.
    fn part(&self) -> Result<(), Failure> {
        self.flush()?;
        self.engine().finish();
        let Some(company) = self.company.get() else { return Ok(()) };
        company.joined.borrow_mut().retain(|process| !std::ptr::eq(&**process, self));
        if let Some(first) = company.first.upgrade().filter(|first| !first.has_joined()) {
            first.settle_others();
        }
        Ok(())
    }

    /// Returns when all that was sent has left.
    pub fn flush(&self) -> Result<(), Failure> {
        self.wait_until(|engine| engine.is_flushed().then_some(()))
    }

    /// Whether no other rank of this file takes part any more, or all are about to leave it.
    fn have_others_left(&self) -> bool {
        let (me, peers) = self.me_and_peers();
        (0..peers).all(|peer| peer == me || self.presence_of(peer) != Presence::Here)
    }

    /// Whether `peer` still takes part. Of a rank of another job nobody else would say that it has died.
    pub fn presence_of(&self, peer: u32) -> Presence {
        let presence = self.engine().presence(peer);
        let has_died = || self.is_joined() && self.engine().is_gone(peer);
        if presence == Presence::Here && has_died() { Presence::Left } else { presence }
    }
}
