//! What programs do about failures: revoke, acknowledge, agree, shrink. The names are those of the coming standard, and
//! of what libraries have had before (User Level Failure Mitigation).

use std::rc::Rc;

use rwmpi_protocol::agreement::{Decision, Vote};
use rwmpi_rank::agreeing::Place;
use rwmpi_rank::notice;

use crate::activity::{Call, Target};
use crate::communicator::{context, usable};
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::group::Group;
use crate::process::Process;
use crate::{Communicator, Result, untyped};

/// What ranks have agreed on.
#[doc = example!(2
    "let agreed: rwmpi::Agreed = world.agree(0b1 << rank)?;"
    "assert_eq!((agreed.flags, agreed.has_new_failure), (0, false));"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The bits that all had who took part.
    pub flags: u32,
    /// Whether somebody has died whose death not all had acknowledged: the same at all ranks.
    pub has_new_failure: bool,
}

impl Communicator {
    /// Has all communication on it fail at all its ranks from now on, but for [`Communicator::agree`] and
    /// [`Communicator::shrink`]: so that nobody waits for ranks that have heard of a failure and do something else
    /// (MPIX_Comm_revoke). Not collective.
    ///
    /// # Errors
    /// If it has ranks on several hosts, or the job has had more revocations than it has room for.
    #[doc = example!(2
        "let work = world.dup()?;"
        "if rank == 0 {"
        "    work.revoke()?;"
        "    assert!(work.is_revoked());"
        "}"
        "world.barrier()?;"
        "assert!(work.is_revoked());"
        "assert_eq!(work.shrink()?.size(), 2);"
    )]
    pub fn revoke(&self) -> Result<()> {
        if self.is_revoked() {
            return Ok(());
        }
        let (process, (me, _)) = (self.process(), self.process().me_and_peers());
        process.tell(Call::Revoke, Target::NONE, self.context(), 0);
        if !process.engine().is_of_one_node() {
            let what = "communicators of a job on several hosts can't be revoked yet".to_owned();
            return Err(Error::argument(ErrorClass::UnsupportedOperation, self, Call::Revoke, what));
        }
        if !process.engine().leave_notice(notice(self.context(), me)) {
            let what = "no more communicators can be revoked in this job".to_owned();
            return Err(Error::argument(ErrorClass::NoMemory, self, Call::Revoke, what));
        }
        process.heed_failures().map(drop).map_err(self.failed(Call::Revoke))
    }

    /// Whether it has been revoked, as far as this rank can know (MPIX_Comm_is_revoked).
    #[doc = example!(1
        "assert!(!world.is_revoked());"
    )]
    pub fn is_revoked(&self) -> bool {
        // What can't be heard will be reported by whatever communicates next.
        let _ = self.process().heed_failures();
        self.process().is_revoked(self.context())
    }

    /// Which of its members have died, as far as this rank has heard (MPIX_Comm_get_failed).
    #[doc = example!(2
        "assert_eq!(world.failed_ranks().size(), 0);"
    )]
    pub fn failed_ranks(&self) -> Group {
        let _ = self.process().heed_failures();
        self.group_of_dead(usize::MAX)
    }

    /// Those of them whose deaths have been acknowledged (MPIX_Comm_failure_get_acked).
    #[doc = example!(2
        "assert_eq!(world.acknowledged_failures().size(), 0);"
    )]
    pub fn acknowledged_failures(&self) -> Group {
        self.group_of_dead(self.process().acknowledged(self.context()))
    }

    /// Acknowledges the deaths of up to so many of [`Communicator::failed_ranks`], the first ones, if not more are
    /// acknowledged already: then receives from any source go on without them. Says how many are
    /// (MPIX_Comm_ack_failed; with [`usize::MAX`] MPIX_Comm_failure_ack).
    #[doc = example!(2
        "assert_eq!(world.acknowledge_failures(usize::MAX), 0);"
    )]
    pub fn acknowledge_failures(&self, most: usize) -> usize {
        let _ = self.process().heed_failures();
        let (process, context) = (self.process(), self.context());
        let number = process.dead_of(context).len().min(most).max(process.acknowledged(context));
        process.acknowledge(context, number);
        number
    }

    /// Agrees with all its ranks that live on the bits that all have in `flags`; also if it was revoked
    /// (MPIX_Comm_agree). Collective.
    ///
    /// # Errors
    /// Whatever keeps the rank from communicating.
    #[doc = example!(3
        "let agreed = world.agree(if rank == 1 { 0b110 } else { 0b011 })?;"
        "assert_eq!((agreed.flags, agreed.has_new_failure), (0b010, false));"
    )]
    pub fn agree(&self, flags: u32) -> Result<Agreed> {
        self.agree_as(Call::Agree, flags)
    }

    /// Whether the job goes on when ranks die.
    #[doc(hidden)]
    pub fn keeps_going(&self) -> bool {
        self.process().keeps_going()
    }

    /// Where the job goes on when ranks die: whether all ranks that live succeed, on which they agree. Elsewhere,
    /// whether this rank does. Collective.
    ///
    /// # Errors
    /// As [`Communicator::agree`].
    #[doc(hidden)]
    pub fn all_succeed(&self, mine: bool) -> Result<bool> {
        self.all_succeed_in(Call::Agree, mine)
    }

    /// As [`Communicator::all_succeed`], as a part of that call.
    pub(crate) fn all_succeed_in(&self, call: Call, mine: bool) -> Result<bool> {
        if !self.keeps_going() {
            return Ok(mine);
        }
        Ok(self.agree_as(call, mine.into())?.flags == 1)
    }

    /// As [`Communicator::agree`], as a part of that call.
    pub(crate) fn agree_as(&self, call: Call, flags: u32) -> Result<Agreed> {
        let (process, tag) = (self.begin_agreement(call), self.next_agreement());
        let decided = process.block_on(|| self.decide(tag, flags, 0));
        Ok(agreed(&decided.map_err(self.failed(call))?))
    }

    /// As [`Communicator::agree`], without waiting; `done` is told what has come of it. An error of the request, if
    /// there is a new failure.
    ///
    /// # Errors
    /// As [`Communicator::agree`].
    #[doc(hidden)]
    pub fn start_agree(&self, flags: u32, done: impl FnOnce(Agreed) + 'static) -> Result<untyped::Request> {
        let (process, tag) = (self.begin_agreement(Call::Agree).clone(), self.next_agreement());
        let communicator = self.clone();
        let work = Box::pin(async move {
            let decision = communicator.decide(tag, flags, 0).await?;
            let agreed = agreed(&decision);
            done(agreed);
            match communicator.first_dead(&decision) {
                Some(peer) if agreed.has_new_failure => Err(Failure::Died { peer }),
                _ => Ok(()),
            }
        });
        let task = process.tasks().start(work).map_err(self.failed(Call::Agree))?;
        Ok(untyped::Request::collective(self, Call::Agree, task))
    }

    /// A communicator of those of its ranks that live, in their order; also if it was revoked (MPIX_Comm_shrink).
    /// Collective.
    ///
    /// # Errors
    /// Whatever keeps the rank from communicating.
    #[doc = example!(2
        "let rest = world.shrink()?;"
        "assert_eq!((rest.rank(), rest.size()), (rank, size));"
    )]
    pub fn shrink(&self) -> Result<Communicator> {
        let (process, tag) = (self.begin_agreement(Call::Shrink), self.next_agreement());
        let context = process.give_context();
        let shrunk = process.block_on(|| async { self.without(&self.decide(tag, u32::MAX, context).await?) });
        shrunk.map_err(self.failed(Call::Shrink))
    }

    /// As [`Communicator::shrink`], without waiting: `done` gets the communicator.
    ///
    /// # Errors
    /// As [`Communicator::shrink`].
    #[doc(hidden)]
    pub fn start_shrink(&self, done: impl FnOnce(Communicator) + 'static) -> Result<untyped::Request> {
        let (process, tag) = (self.begin_agreement(Call::Shrink).clone(), self.next_agreement());
        let (communicator, context) = (self.clone(), process.give_context());
        let work = Box::pin(async move {
            let decision = communicator.decide(tag, u32::MAX, context).await?;
            done(communicator.without(&decision)?);
            Ok(())
        });
        let task = process.tasks().start(work).map_err(self.failed(Call::Shrink))?;
        Ok(untyped::Request::collective(self, Call::Shrink, task))
    }

    fn begin_agreement(&self, call: Call) -> &Rc<Process> {
        let process = self.process();
        process.tell(call, Target::NONE, self.context() + context::COLLECTIVE, 0);
        process
    }

    async fn decide(&self, tag: u32, flags: u32, word: u32) -> std::result::Result<Decision, Failure> {
        let (process, peers) = (self.process(), self.all_peers());
        let dead = process.dead_of(self.context());
        let known = &dead[..process.acknowledged(self.context()).min(dead.len())];
        let acknowledged = peers.iter().map(|peer| known.contains(peer)).collect();
        let context = self.context() + context::COLLECTIVE;
        Place::new(process, &peers, context, tag).agree(Vote { flags, acknowledged, word }).await
    }

    /// The communicator of those who live according to that decision.
    fn without(&self, decision: &Decision) -> std::result::Result<Communicator, Failure> {
        let members = self.all_peers();
        let is_dead = |peer: &u32| members.iter().zip(&decision.dead).any(|(member, dead)| member == peer && *dead);
        let (me, _) = self.process().me_and_peers();
        let living = |group: &Group, me: Option<u32>| {
            Group::new(group.peers().iter().copied().filter(|peer| !is_dead(peer)).collect(), me)
        };
        let remote = self.remote_group().map(|remote| living(remote, None));
        Ok(self.child(living(self.group(), Some(me)), remote, usable(decision.word)?, None))
    }

    fn first_dead(&self, decision: &Decision) -> Option<u32> {
        self.all_peers().into_iter().zip(&decision.dead).find_map(|(peer, dead)| dead.then_some(peer))
    }

    fn group_of_dead(&self, most: usize) -> Group {
        let mut dead = self.process().dead_of(self.context());
        dead.truncate(most);
        Group::new(dead, None)
    }
}

fn agreed(decision: &Decision) -> Agreed {
    Agreed { flags: decision.flags, has_new_failure: !decision.all_acknowledged }
}
