//! Intercommunicators: two groups without common members, each of which talks to the other (MPI-5.0 section 7.6).
//!
//! Once both groups are known to all, creations go as in an intracommunicator: one list of everybody, whose first gives
//! out the context. Only where a group has yet to learn who the other is do leaders exchange lists.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::activity::Call;
use crate::communicator::context::{Creators, FROM_GROUPS, all_members, usable};
use crate::error::{Error, ErrorClass};
use crate::group::Group;
use crate::meeting::bridge::{Brought, Meeting};
use crate::{Communicator, Result};

impl Communicator {
    /// An intercommunicator of this communicator's group and another one (MPI_Intercomm_create). Collective over both.
    /// The ranks `local_leader` of both groups bring them together: they give a communicator to which both belong, and
    /// the other's rank there; the rest give `None`. `tag` is for the leaders' messages.
    ///
    /// # Errors
    /// If a rank or tag is out of range, the leader gives no bridge, the groups have common members, or this is an
    /// intercommunicator.
    #[doc = example!(4
        "// The first half and the second half, joined by their first ranks."
        "let half = world.split(Some(rank as u32 / 2), 0)?.expect(\"everybody is in a half\");"
        "let both = half.create_intercommunicator(0, Some((world, if rank < 2 { 2 } else { 0 })), 7)?;"
        "both.buffered_send(&[rank], half.rank(), 0)?;"
        "let mut heard = [0];"
        "both.recv(&mut heard, half.rank(), 0)?;"
        "assert_eq!(heard, [(rank + 2) % 4]);"
        "// The upper half comes last."
        "assert_eq!(both.merge(rank >= 2)?.rank(), rank);"
    )]
    #[doc(alias = "MPI_Intercomm_create")]
    pub fn create_intercommunicator(
        &self,
        local_leader: usize,
        bridge: Option<(&Communicator, usize)>,
        tag: i32,
    ) -> Result<Communicator> {
        let call = Call::CreateCommunicator;
        self.begin_creation();
        self.check_intra()?;
        if local_leader >= self.size() {
            let what = format!("local leader {local_leader} is out of range; the ranks are 0 to {}", self.size() - 1);
            return Err(Error::argument(ErrorClass::Rank, self, call, what));
        }
        // The leader tells its group how it went, so that nobody waits for a leader that has failed.
        let mut failure = None;
        let (mut words, mut brought) = (Vec::new(), Brought::default());
        if self.rank() == local_leader {
            match self.meet(bridge, tag) {
                Ok(met) => (words, brought) = met,
                Err(error) => failure = Some(error),
            }
        }
        let words = self.as_part_of(call, |group| {
            let mut len = [words.len()];
            group.bcast(&mut len, local_leader)?;
            words.resize(len[0], 0);
            group.bcast(&mut words, local_leader)?;
            Ok(words)
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some(meeting) = Meeting::read(&words) {
            let bridge = bridge.map(|(bridge, other)| (bridge, other, tag));
            return self.come_to(meeting, brought, local_leader, bridge);
        }
        let [context, peers @ ..] = &words[..] else {
            let what = format!("the leader, rank {local_leader}, could not reach the other group");
            return Err(Error::argument(ErrorClass::Communicator, self, call, what));
        };
        let remote = Group::new(peers.to_vec(), None);
        self.check_disjoint(&remote)?;
        let context = usable(*context).map_err(self.failed(call))?;
        Ok(self.child(self.group().clone(), Some(remote), context, None))
    }

    /// Exchanges groups with the other leader: the context of the new communicator, and who belongs to the other group.
    fn meet(&self, bridge: Option<(&Communicator, usize)>, tag: i32) -> Result<(Vec<u32>, Brought)> {
        let call = Call::CreateCommunicator;
        let Some((bridge, remote_leader)) = bridge else {
            let what = "the leader must give a communicator that leads to the other leader".to_string();
            return Err(Error::argument(ErrorClass::Communicator, self, call, what));
        };
        if bridge.is_joined() || self.is_joined() {
            return self.meet_over(&(bridge, remote_leader, tag));
        }
        let me = self.group().peers()[self.rank()];
        let Some(other) = bridge.checked_destination(call, remote_leader.into(), tag)? else {
            return Ok(Default::default());
        };
        let mine = if me < other { self.process().give_context() } else { 0 };
        let message: Vec<u32> = std::iter::once(mine).chain(self.group().peers().iter().copied()).collect();
        bridge.buffered_send(&message, remote_leader, tag)?;
        let len = bridge.probe(remote_leader, tag)?.count::<u32>().unwrap_or(0);
        let mut words = vec![0u32; len.max(1)];
        bridge.recv(&mut words, remote_leader, tag)?;
        if me < other {
            words[0] = mine;
        }
        Ok((words, Brought::default()))
    }

    /// An intercommunicator of two groups, without a communicator that leads from one to the other
    /// (MPI_Intercomm_create_from_groups). Called by all members of both; `text` keeps apart what is made at the same
    /// time. `self` is any communicator of the job.
    ///
    /// # Errors
    /// If the caller is not in `local`, the groups have common members, or one is empty.
    #[doc = example!(3
        "let first = world.group().incl(&[0])?;"
        "let others = world.group().excl(&[0])?;"
        "let (own, remote) = if rank == 0 { (&first, &others) } else { (&others, &first) };"
        "let both = world.create_intercommunicator_from_groups(own, remote, \"one and the others\")?;"
        "assert!(both.is_inter());"
    )]
    #[doc(alias = "MPI_Intercomm_create_from_groups")]
    pub fn create_intercommunicator_from_groups(
        &self,
        local: &Group,
        remote: &Group,
        text: &str,
    ) -> Result<Communicator> {
        self.begin_creation();
        if local.rank().is_none() || remote.size() == 0 {
            let what = "the local group must contain the caller, and the remote group somebody".to_string();
            return Err(Error::argument(ErrorClass::Group, self, Call::CreateCommunicator, what));
        }
        if local.intersection(remote).size() > 0 {
            return Err(self.not_disjoint());
        }
        let (local, remote) = (self.of_this_job(local)?, self.of_this_job(remote)?);
        let context = self.agree_without_parent(all_members(&local, &remote), text)?;
        Ok(self.child(local, Some(remote), context, None))
    }

    /// The group, by the numbers that its members have in the job.
    fn of_this_job(&self, group: &Group) -> Result<Group> {
        group.as_numbered_by(self.group()).ok_or_else(|| {
            let what =
                "without a communicator, ranks of different jobs can't make one: merge or create an intercommunicator";
            Error::argument(ErrorClass::Group, self, Call::CreateCommunicator, what.to_owned())
        })
    }

    /// An intracommunicator of `group`, without a parent (MPI_Comm_create_from_group). Called by all its members;
    /// `text` keeps apart what is made at the same time. `self` is any communicator of the job.
    ///
    /// # Errors
    /// If the caller is not in `group`.
    #[doc = example!(3
        "if rank > 0 {"
        "    let upper = world.create_from_group(&world.group().excl(&[0])?, \"the upper ones\")?;"
        "    assert_eq!((upper.rank(), upper.size()), (rank - 1, 2));"
        "}"
    )]
    #[doc(alias = "MPI_Comm_create_from_group")]
    pub fn create_from_group(&self, group: &Group, text: &str) -> Result<Communicator> {
        self.begin_creation();
        if group.rank().is_none() {
            let what = "the group must contain the caller".to_string();
            return Err(Error::argument(ErrorClass::Group, self, Call::CreateCommunicator, what));
        }
        let group = self.of_this_job(group)?;
        let context = self.agree_without_parent(group.peers().to_vec(), text)?;
        Ok(self.child(group, None, context, None))
    }

    fn agree_without_parent(&self, peers: Vec<u32>, text: &str) -> Result<u32> {
        let mut hasher = FxHasher::default();
        text.hash(&mut hasher);
        self.agree_on_context(&Creators::new(peers, FROM_GROUPS, hasher.finish() as u32), &mut [])
    }

    /// The union of both groups of an intercommunicator (MPI_Intercomm_merge). Collective over both. The group that
    /// gives `high` comes after the other; if both or none do, the library chooses.
    ///
    /// # Errors
    /// If this is no intercommunicator.
    #[doc(alias = "MPI_Intercomm_merge")]
    pub fn merge(&self, high: bool) -> Result<Communicator> {
        let call = Call::CreateCommunicator;
        self.begin_creation();
        let Some(remote) = self.remote_group() else {
            let what = "only an intercommunicator can be merged".to_string();
            return Err(Error::argument(ErrorClass::Communicator, self, call, what));
        };
        let local = self.group();
        let local_first = local.peer(0) < remote.peer(0);
        let (first, second) = if local_first { (local, remote) } else { (remote, local) };
        let creators = self.creators();
        let (process, team) = (self.process(), creators.team(self.process(), true));
        // The first member of the second group tells the first creator, who tells all.
        let mut second_goes_first = [0u32];
        if self.rank() == 0 && local_first {
            let mut second_high = [0u8];
            let heard = process.block_on(|| team.receive(second_high[..].as_mut().into(), first.size()));
            heard.map_err(self.failed(call))?;
            second_goes_first[0] = u32::from(high && second_high[0] == 0);
        } else if self.rank() == 0 {
            let told = [u8::from(high)];
            let told = process.block_on(|| team.send(told[..].into(), 0));
            told.map_err(self.failed(call))?;
        }
        let context = self.agree_on_context(&creators, &mut second_goes_first)?;
        let union = if second_goes_first[0] == 1 { second.union(first) } else { first.union(second) };
        Ok(self.child(union, None, context, None))
    }

    /// Splits both groups of an intercommunicator.
    pub(super) fn split_both(&self, colour: Option<u32>, key: i32) -> Result<Option<Communicator>> {
        let call = Call::CreateCommunicator;
        let Some(remote) = self.remote_group() else { return Ok(None) };
        let creators = self.creators();
        let mine = [u32::from(colour.is_some()), colour.unwrap_or(0), key as u32];
        let mut table = vec![0u32; creators.peers().len() * mine.len()];
        let (process, team) = (self.process(), creators.team(self.process(), true));
        let gathered = process.block_on(async || {
            if team.rank > 0 {
                return team.send(bytemuck::cast_slice::<u32, u8>(&mine).into(), 0).await;
            }
            let (first, others) = table.split_at_mut(mine.len());
            first.copy_from_slice(&mine);
            for (rank, row) in others.chunks_exact_mut(mine.len()).enumerate() {
                team.receive(bytemuck::cast_slice_mut::<u32, u8>(row).into(), rank + 1).await?;
            }
            Ok(())
        });
        gathered.map_err(self.failed(call))?;
        let context = self.agree_on_context(&creators, &mut table)?;
        let Some(colour) = colour else { return Ok(None) };
        let part = |group: &Group| {
            let mut members: Vec<(i32, u32)> = Vec::new();
            for &peer in &group.peers()[..] {
                let row = creators.peers().iter().position(|&creator| creator == peer).unwrap_or(0) * mine.len();
                if table[row] == 1 && table[row + 1] == colour {
                    members.push((table[row + 2] as i32, peer));
                }
            }
            members.sort_by_key(|&(key, _)| key);
            members.into_iter().map(|(_, peer)| peer).collect::<Vec<u32>>()
        };
        let (local, remote) = (part(self.group()), part(remote));
        let me = self.group().peer(self.rank());
        Ok((!remote.is_empty()).then(|| {
            self.child(
                Group::new(local, me).of_session(self.group().session()),
                Some(Group::new(remote, None)),
                context,
                None,
            )
        }))
    }

    fn check_disjoint(&self, remote: &Group) -> Result<()> {
        if self.group().intersection(remote).size() > 0 {
            return Err(self.not_disjoint());
        }
        Ok(())
    }

    #[cold]
    fn not_disjoint(&self) -> Error {
        let what = "the two groups of an intercommunicator must have no common members".to_string();
        Error::argument(ErrorClass::Communicator, self, Call::CreateCommunicator, what)
    }
}
