//! Making communicators from communicators and groups (MPI-5.0 section 7.4.2).
//!
//! Arguments that only the caller can judge are checked after the ranks have agreed where a check before would leave
//! the others waiting.

use crate::activity::Call;
use crate::apart::apart;
use crate::communicator::context::{Creators, SOME_MEMBERS, UNKNOWN, usable};
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::group::Group;
use crate::{Communicator, Info, Request, Result, Scope, Topology, untyped};

/// By what [`Communicator::split_type`] groups ranks (MPI-5.0 section 7.4.2).
#[doc = example!(2
    "let node = world.split_type(Some(rwmpi::SplitType::Shared), 0, &rwmpi::Info::new())?.expect(\"everybody is on a node\");"
    "assert_eq!(node.size(), size);"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitType {
    /// Who can share memory: the ranks of one node (MPI_COMM_TYPE_SHARED).
    Shared,
    /// Who shares the hardware that the hint `mpi_hw_resource_type` names (MPI_COMM_TYPE_HW_GUIDED and
    /// RESOURCE_GUIDED).
    Guided,
    /// Who shares the next smaller piece of hardware, if there is one (MPI_COMM_TYPE_HW_UNGUIDED).
    Unguided,
}

impl Communicator {
    /// The same ranks in new contexts, with copies of the attributes (MPI_Comm_dup). Collective.
    ///
    /// # Errors
    /// What an attribute's copy function says.
    #[doc = example!(2
        "let mine = world.dup()?;"
        "// Messages of one never meet receives of the other."
        "assert_eq!((mine.rank(), mine.size()), (rank, size));"
    )]
    #[doc(alias = "MPI_Comm_dup")]
    pub fn dup(&self) -> Result<Communicator> {
        self.dup_with_info(&Info::new())
    }

    /// As [`Communicator::dup`], with these hints (MPI_Comm_dup_with_info). Collective.
    ///
    /// # Errors
    /// As [`Communicator::dup`].
    #[doc = example!(2
        "let mut hints = rwmpi::Info::new();"
        "hints.set(\"mpi_assert_no_any_tag\", \"true\")?;"
        "let copy = world.dup_with_info(&hints)?;"
        "assert_eq!(copy.info().get(\"mpi_assert_no_any_tag\")?, Some(\"true\"));"
    )]
    #[doc(alias = "MPI_Comm_dup_with_info")]
    pub fn dup_with_info(&self, info: &Info) -> Result<Communicator> {
        self.begin_creation();
        let context = self.agree_on_context(&self.creators(), &mut [])?;
        let duplicate = self.twin(context, info);
        self.attributes().copy_to(self, duplicate.attributes(), &duplicate)?;
        Ok(duplicate)
    }

    /// The same ranks in new contexts, without attributes and hints, for what the library makes on them. Collective.
    ///
    /// # Errors
    /// As [`Communicator::dup`].
    #[doc(hidden)]
    pub fn private_twin(&self) -> Result<Communicator> {
        let context = self.agree_on_context(&self.creators(), &mut [])?;
        Ok(self.twin(context, &Info::new()))
    }

    /// As [`Communicator::dup_with_info`], without waiting: the duplicate is there when the request has completed
    /// (MPI_Comm_idup_with_info). Attributes are copied at once.
    ///
    /// # Errors
    /// As [`Communicator::dup`]. The other ranks' requests complete all the same.
    #[doc = example!(2
        "let mut copy = None;"
        "rwmpi::scope(|s| world.idup(s, &mut copy, &rwmpi::Info::new())?.wait())?;"
        "copy.expect(\"it has been made\").barrier()?;"
    )]
    #[doc(alias = "MPI_Comm_idup_with_info")]
    pub fn idup<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        duplicate: &'scope mut Option<Communicator>,
        info: &Info,
    ) -> Result<Request<'scope>> {
        let (twin, agreement, copied) = self.start_dup(info);
        let request = scope.begin(self, Call::CreateCommunicator, async move {
            agreement.await?;
            *duplicate = Some(twin);
            Ok(())
        })?;
        copied.map(|()| request)
    }

    /// As [`Communicator::idup`] for front ends of other languages, which give out the duplicate at once: it must not
    /// be used before the request has completed.
    ///
    /// # Errors
    /// As [`Communicator::idup`].
    #[doc(hidden)]
    pub fn start_duplicate(&self, info: &Info) -> Result<(Communicator, untyped::Request)> {
        let call = Call::CreateCommunicator;
        let (twin, agreement, copied) = self.start_dup(info);
        let task = self.process().tasks().start(apart(|| agreement)).map_err(self.failed(call))?;
        copied.map(|()| (twin, untyped::Request::collective(self, call, task)))
    }

    /// A duplicate that must not be used before the future has come to its end; and how copying the attributes went.
    fn start_dup(
        &self,
        info: &Info,
    ) -> (Communicator, impl Future<Output = std::result::Result<(), Failure>> + 'static, Result<()>) {
        self.begin_creation();
        let twin = self.twin(UNKNOWN, info);
        let copied = self.attributes().copy_to(self, twin.attributes(), &twin);
        let (creators, process, settled) = (self.creators(), self.process().clone(), twin.clone());
        let agreement = async move {
            settled.settle(creators.agree(&process, false, &mut []).await?);
            Ok(())
        };
        (twin, agreement, copied)
    }

    /// The same groups and topology in another context.
    fn twin(&self, context: u32, info: &Info) -> Communicator {
        let (local, remote) = (self.group().clone(), self.remote_group().cloned());
        let twin = self.child(local, remote, context, self.topology().cloned());
        twin.set_info(info);
        twin
    }

    /// A communicator for each colour, its ranks ordered by `key`, then by their rank here; `None` for those who give
    /// no colour (MPI_Comm_split). Collective. Of an intercommunicator, both groups are split, and a colour that is not
    /// given in both gets no communicator.
    #[doc = example!(4
        "let pair = world.split(Some(rank as u32 / 2), 0)?.expect(\"everybody has a colour\");"
        "assert_eq!((pair.rank(), pair.size()), (rank % 2, 2));"
    )]
    #[doc(alias = "MPI_Comm_split")]
    pub fn split(&self, colour: Option<u32>, key: i32) -> Result<Option<Communicator>> {
        self.begin_creation();
        if self.is_inter() {
            return self.split_both(colour, key);
        }
        let (context, part) = self.partition(colour, key)?;
        Ok(part.map(|part| self.child(part, None, context, None)))
    }

    /// Splits an intracommunicator: the context for all parts, and the caller's part.
    fn partition(&self, colour: Option<u32>, key: i32) -> Result<(u32, Option<Group>)> {
        let given = self.process().given_by_first(self.group().peers());
        let mine = [colour.map_or(-1, i64::from), i64::from(key), i64::from(given)];
        let mut all = vec![[0i64; 3]; self.size()];
        self.as_part_of(Call::CreateCommunicator, |parent| parent.allgather(&[mine], &mut all))?;
        let context = usable(all[0][2] as u32).map_err(self.failed(Call::CreateCommunicator))?;
        let Some(colour) = colour else { return Ok((context, None)) };
        let mut members: Vec<usize> = (0..self.size()).filter(|&rank| all[rank][0] == i64::from(colour)).collect();
        members.sort_by_key(|&rank| all[rank][1]);
        Ok((context, Some(self.group().incl(&members)?)))
    }

    /// As [`Communicator::split`], by what the ranks have in common (MPI_Comm_split_type); `None` where the caller
    /// gives no type, or shares nothing of the kind. Collective.
    #[doc = example!(2
        "// Ranks that share memory; none for those that want none."
        "let by = (rank == 0).then_some(rwmpi::SplitType::Shared);"
        "assert_eq!(world.split_type(by, 0, &rwmpi::Info::new())?.is_some(), rank == 0);"
    )]
    #[doc(alias = "MPI_Comm_split_type")]
    pub fn split_type(&self, by: Option<SplitType>, key: i32, info: &Info) -> Result<Option<Communicator>> {
        let (me, _) = self.process().me_and_peers();
        let is_near = |peer: &u32| *peer == me || self.process().engine().shares_memory_with(*peer);
        // The first of those who share memory: the same for all of them.
        let first = || self.group().peers().iter().copied().find(is_near);
        let is_divided = || !self.group().peers().iter().all(is_near);
        let colour = match by {
            Some(SplitType::Shared) => first(),
            Some(SplitType::Guided) => match info.get("mpi_hw_resource_type")? {
                Some("mpi_shared_memory") => first(),
                _ => None,
            },
            // Nodes are parts of the job; they have no parts that would matter.
            Some(SplitType::Unguided) => first().filter(|_| is_divided()),
            None => None,
        };
        self.split(colour, key)
    }

    /// A communicator of `group`, for which all of this communicator call; `None` for those who are not in it
    /// (MPI_Comm_create). Disjoint groups may be given by different ranks at the same time. Collective. Of an
    /// intercommunicator, `group` is a part of the local group, and the other side's part comes from the other side.
    ///
    /// # Errors
    /// If the group has members that do not belong to this communicator.
    #[doc = example!(3
        "let group = world.group().incl(&[2, 0])?;"
        "let some = world.create(&group)?;"
        "assert_eq!(some.map(|some| some.rank()), [Some(1), None, Some(0)][rank]);"
    )]
    #[doc(alias = "MPI_Comm_create")]
    pub fn create(&self, group: &Group) -> Result<Option<Communicator>> {
        self.begin_creation();
        if self.is_inter() {
            let place = group.rank().filter(|_| self.group().contains(group));
            let made = self.split_both(place.map(|_| 0), place.map_or(0, |place| place as i32));
            self.members(group)?;
            return made;
        }
        let context = self.agree_on_context(&self.creators(), &mut [])?;
        let group = self.members(group)?;
        Ok(group.rank().map(|_| self.child(group, None, context, None)))
    }

    /// As [`Communicator::create`], called by the members of `group` only; `tag` keeps apart what different groups with
    /// common members make at the same time (MPI_Comm_create_group).
    ///
    /// # Errors
    /// If the group has members that do not belong to this communicator, this is an intercommunicator, or the tag is
    /// negative.
    #[doc = example!(3
        "// Only its members call."
        "if rank != 1 {"
        "    let group = world.group().incl(&[2, 0])?;"
        "    let pair = world.create_group(&group, 7)?.expect(\"it is a member\");"
        "    assert_eq!((pair.size(), pair.rank()), (2, usize::from(rank == 0)));"
        "}"
    )]
    #[doc(alias = "MPI_Comm_create_group")]
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Communicator>> {
        let call = Call::CreateCommunicator;
        self.begin_creation();
        self.check_intra()?;
        let group = self.members(group)?;
        if tag < 0 {
            let what = format!("tag {tag} is negative; tags are 0 to {}", crate::TAG_MAX);
            return Err(Error::argument(ErrorClass::Tag, self, call, what));
        }
        if group.rank().is_none() {
            return Ok(None);
        }
        let creators = Creators::new(group.peers().to_vec(), self.context() + SOME_MEMBERS, tag as u32);
        Ok(Some(self.child(group, None, self.agree_on_context(&creators, &mut [])?, None)))
    }

    /// A communicator of the ranks in `members`, in that order, for which all of this communicator call; `None` for the
    /// others (MPI_Comm_create). Collective.
    #[doc = example!(3
        "let some = world.subset(&[2, 0])?;"
        "assert_eq!(some.map(|some| some.rank()), [Some(1), None, Some(0)][rank]);"
    )]
    #[doc(alias = "MPI_Comm_create")]
    pub fn subset(&self, members: &[usize]) -> Result<Option<Communicator>> {
        let group = self
            .group()
            .incl(members)
            .map_err(|error| Error::argument(error.class(), self, Call::CreateCommunicator, error.to_string()))?;
        self.create(&group)
    }

    /// The first `ranks` of this communicator with a topology; `None` for the others. Collective.
    pub(crate) fn with_topology(&self, ranks: usize, topology: Topology) -> Result<Option<Communicator>> {
        self.begin_creation();
        let context = self.agree_on_context(&self.creators(), &mut [])?;
        if self.rank() >= ranks {
            return Ok(None);
        }
        let members: Vec<usize> = (0..ranks).collect();
        Ok(Some(self.child(self.group().incl(&members)?, None, context, Some(topology))))
    }

    /// As [`Communicator::split`] of an intracommunicator where everybody has a colour, and with a topology.
    pub(crate) fn split_with_topology(&self, colour: u32, key: i32, topology: Topology) -> Result<Communicator> {
        self.begin_creation();
        let (context, part) = self.partition(Some(colour), key)?;
        let part = part.expect("who has a colour belongs to a part");
        Ok(self.child(part, None, context, Some(topology)))
    }

    pub(crate) fn check_intra(&self) -> Result<()> {
        if self.is_inter() {
            let what = "an intercommunicator can't be used here".to_string();
            return Err(Error::argument(ErrorClass::Communicator, self, Call::CreateCommunicator, what));
        }
        Ok(())
    }

    /// The group, by the numbers that its members have in this communicator.
    ///
    /// # Errors
    /// If some do not belong to it.
    pub(super) fn members(&self, group: &Group) -> Result<Group> {
        let known = group.as_numbered_by(self.group());
        known.filter(|group| self.group().contains(group)).ok_or_else(|| {
            let what = "the group has members that do not belong to the communicator".to_string();
            Error::argument(ErrorClass::Group, self, Call::CreateCommunicator, what)
        })
    }
}
