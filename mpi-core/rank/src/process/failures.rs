//! Failures that a job survives: which peers have died and which communicators were revoked, as far as this rank has
//! heard, and what comes of that for its operations and waits.
//!
//! The launcher says who has died, and revocations are notices in the job's file, so every rank hears of both, whoever
//! else dies. A rank looks for news when it is called, and now and then while it waits or tests in vain. Then it deals
//! with all that had arrived from the dead, and operations that nobody can end any more end with an error; the rest of
//! the engine goes on. Only receives from any source go on, too: waiting for them fails until the program has
//! acknowledged the deaths. Collectives look themselves ([`Process::interruption`]), since they depend on all ranks.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use rwmpi_transport::Presence;

use super::Process;
use crate::context::{BLOCK, SOME_MEMBERS};
use crate::engine::Failure;

/// What a rank has heard, in one of its engines.
#[derive(Default)]
pub struct Failures {
    /// Whether the job goes on when a rank dies.
    keeps_going: bool,
    /// The state of the news when it was heard last.
    news: Cell<u64>,
    /// In the order in which this rank has heard of them.
    dead: RefCell<Vec<u32>>,
    /// First contexts of this rank's communicators.
    revoked: RefCell<FxHashSet<u32>>,
    /// All members of each communicator, by its first context.
    members: RefCell<BTreeMap<u32, Rc<[u32]>>>,
    /// How many of the dead, by first context, the program has said that it knows.
    acknowledged: RefCell<FxHashMap<u32, usize>>,
    /// Whether there is anything that concerns collectives.
    interrupts: Cell<bool>,
}

impl Failures {
    pub fn new(keeps_going: bool) -> Self {
        Failures { keeps_going, ..Failures::default() }
    }
}

/// In place of a state of the news: they are to be heard anew.
const UNHEARD: u64 = u64::MAX;

/// A communicator's first context.
fn first_of(context: u32) -> u32 {
    context - context % BLOCK
}

/// What is left for all when a communicator is revoked: which, by one of its members, as others may have its context.
pub fn notice(context: u32, member: u32) -> u64 {
    u64::from(context + 1) << 32 | u64::from(member)
}

impl Process {
    /// Whether the job goes on when a rank dies.
    #[inline]
    pub fn keeps_going(&self) -> bool {
        self.failures.keeps_going
    }

    /// A communicator with that context has these members.
    pub fn note_members(&self, context: u32, members: Rc<[u32]>) {
        self.failures.members.borrow_mut().insert(context, members);
        // Another member may have revoked it already.
        self.failures.news.set(UNHEARD);
    }

    /// A communicator is no more.
    pub fn forget_members(&self, context: u32) {
        self.failures.members.borrow_mut().remove(&context);
        self.failures.acknowledged.borrow_mut().remove(&context);
    }

    fn members(&self, context: u32) -> Option<Rc<[u32]>> {
        self.failures.members.borrow().get(&first_of(context)).cloned()
    }

    /// Hears what there is to hear of deaths and revocations, and ends what is hopeless; true if there was anything.
    #[cold]
    pub fn heed_failures(&self) -> Result<bool, Failure> {
        let has_news = self.hear_news()?;
        if self.failures.dead.borrow().is_empty() && self.failures.revoked.borrow().is_empty() {
            return Ok(has_news);
        }
        Ok(self.engine().fail_hopeless(&|context| self.is_revoked(context)) || has_news)
    }

    /// True if there was anything: what the dead had sent may be what is waited for.
    fn hear_news(&self) -> Result<bool, Failure> {
        let news = self.engine().news();
        if news == self.failures.news.get() {
            return Ok(false);
        }
        let (me, peers) = self.me_and_peers();
        let mut has_news = false;
        for peer in (0..peers).filter(|&peer| peer != me && news != 0) {
            let has_died = self.engine().presence(peer) == Presence::Died;
            if has_died && !self.has_died(peer) {
                self.engine().bury(peer)?;
                self.failures.dead.borrow_mut().push(peer);
                has_news = true;
            }
        }
        let (notices, are_all) = self.engine().notices();
        for notice in notices {
            let (context, member) = ((notice >> 32) as u32 - 1, notice as u32);
            if self.members(context).is_some_and(|members| members.contains(&member)) {
                has_news |= self.failures.revoked.borrow_mut().insert(context);
            }
        }
        if are_all {
            self.failures.news.set(news);
        }
        if has_news && self.failures.keeps_going {
            self.failures.interrupts.set(true);
            // From now on waits look at once whether they are in vain.
            self.may_sleep_soon.set(true);
        }
        Ok(has_news)
    }

    fn has_died(&self, peer: u32) -> bool {
        self.failures.dead.borrow().contains(&peer)
    }

    /// Whether the communicator with one of these contexts was revoked, as far as this rank has heard.
    pub fn is_revoked(&self, context: u32) -> bool {
        self.failures.revoked.borrow().contains(&first_of(context))
    }

    /// Why a collective of that context among these peers can't be completed, if it can't.
    #[inline]
    pub fn interruption(&self, context: u32, peers: &[u32]) -> Option<Failure> {
        if self.failures.interrupts.get() { self.interruption_now(context, peers) } else { None }
    }

    #[cold]
    fn interruption_now(&self, context: u32, peers: &[u32]) -> Option<Failure> {
        if self.is_revoked(context) {
            return Some(Failure::Revoked);
        }
        // Both groups of an intercommunicator; but not those who take no part in what some members do.
        let members = self.members(context).filter(|_| context % BLOCK != SOME_MEMBERS);
        let concerns = |peer: &&u32| peers.contains(peer) || members.as_ref().is_some_and(|all| all.contains(peer));
        self.failures.dead.borrow().iter().find(concerns).map(|&peer| Failure::Died { peer })
    }

    /// The members of a communicator that have died, in the order in which this rank has heard of them.
    pub fn dead_of(&self, context: u32) -> Vec<u32> {
        let members = self.members(context);
        let is_member = |peer: &&u32| members.as_ref().is_some_and(|members| members.contains(peer));
        self.failures.dead.borrow().iter().filter(is_member).copied().collect()
    }

    /// How many of these the program has said that it knows.
    pub fn acknowledged(&self, context: u32) -> usize {
        self.failures.acknowledged.borrow().get(&first_of(context)).copied().unwrap_or(0)
    }

    /// From now on it knows of so many.
    pub fn acknowledge(&self, context: u32, number: usize) {
        self.failures.acknowledged.borrow_mut().insert(context, number);
    }

    /// What waiting for a message from anybody in that context fails with.
    pub fn unacknowledged(&self, context: u32) -> Option<Failure> {
        let peer = *self.dead_of(context).get(self.acknowledged(context))?;
        Some(Failure::Unacknowledged { peer })
    }

    /// The failure for a wait that is in vain. The engine is of no use any more, unless the job goes on.
    pub fn in_vain_by(&self, failure: Failure) -> Failure {
        if self.failures.keeps_going || failure.is_survived() { failure } else { self.engine().fail(failure) }
    }
}
