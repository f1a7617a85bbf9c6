//! Communicators: who takes part, in which order, separate from all others.
//!
//! There is one type for both kinds. An *intracommunicator* has one group. An *intercommunicator* has a local and a
//! remote group: rank and size are those of the local one, and point-to-point calls name ranks of the remote one.
//! Point-to-point looks ranks up in `partners`, which is the right group for either kind, so the kind costs it nothing.
//!
//! The modules: `context` keeps communicators apart, `team` is how their collectives see them, `hints` is what
//! programs promise, `topology` who is whose neighbour, `error` what is said of what goes wrong on them. What makes
//! communicators is in `creation`.

pub(crate) mod context;
mod error;
mod hints;
mod team;
mod topology;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rwmpi_collective::{OnceNodes, OnceSlots, barrier};

use crate::activity::Call;
use crate::attribute::Attributes;
use crate::group::{Comparison, Group};
use crate::process::Process;
use crate::select::file::FileWays;
use crate::{Info, Result, Topology};
use context::FIRST_GIVEN;
pub(crate) use context::{LEAVING, SOME_MEMBERS, THIS_RANK, WORLD, usable};
pub(crate) use team::{comparison_tag, nonblocking_tag};

/// A group of ranks with contexts of its own (MPI-5.0 chapter 7). Cheap to clone: clones are the same communicator.
///
/// It lives until the last clone is gone; operations in flight hold one, so that dropping (or [`Communicator::free`])
/// never takes a communicator away from them.
#[doc = example!(2
    "use rwmpi::{AttributeKind, AttributeValue, Communicator, Comparison, Keyval};"
    "let copy: Communicator = world.dup()?;"
    "assert_eq!((copy.rank(), copy.size(), copy.group().size()), (rank, 2, 2));"
    "assert_eq!((copy.compare(world), world.compare(world)), (Comparison::Congruent, Comparison::Identical));"
    "assert_eq!((copy.is_inter(), copy.remote_size(), copy.remote_group().is_none()), (false, None, true));"
    "assert_eq!(universe.this_rank().ranks_in(&copy), [Some(rank)]);"
    "// What programs and libraries keep with it."
    "copy.set_name(\"copy\");"
    "copy.set_mark(7);"
    "assert_eq!((copy.name().as_str(), copy.mark()), (\"copy\", 7));"
    "let keyval = Keyval::new(Keyval::copy_as_is(), None);"
    "copy.attributes().set(&copy, &keyval, AttributeValue::new(rank, AttributeKind::Address))?;"
    "// Its duplicates get copies."
    "let another = copy.dup()?;"
    "assert_eq!(another.attributes().get(&keyval).map(|value| value.word()), Some(rank));"
    "another.free()?;"
    "copy.disconnect()?;"
)]
#[derive(Clone)]
pub struct Communicator {
    shared: Rc<Shared>,
}

struct Shared {
    process: Rc<Process>,
    rank: usize,
    is_joined: bool,
    /// Not known while a nonblocking duplication is on its way.
    context: Cell<u32>,
    /// How many blocking collectives have begun, modulo the number of their tags.
    collectives: Cell<u32>,
    /// How many nonblocking ones.
    nonblocking_collectives: Cell<u64>,
    /// How many agreements.
    agreements: Cell<u32>,
    /// Whom point-to-point calls name: the remote group if there is one.
    partners: Group,
    local: Group,
    /// Whether it is an intercommunicator.
    inter: bool,
    /// Whether short collectives go a short way, on which nobody takes notes,
    has_short_way: bool,
    /// and those that are started.
    has_short_start: bool,
    /// Whether what its ranks call is compared.
    is_checked: bool,
    /// How many comparisons have begun, modulo the number of their tags.
    comparisons: Cell<u32>,
    topology: Option<Topology>,
    attributes: Attributes<Communicator>,
    name: RefCell<Option<String>>,
    hints: RefCell<Info>,
    slots: OnceSlots,
    /// Those of nonblocking collectives.
    nonblocking_slots: OnceSlots,
    nodes: OnceNodes,
    mark: Cell<usize>,
    /// What is told of collectives on it that are parts of a call of another name.
    told_as: Cell<Option<Call>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(context) = context::known(self.context.get()) {
            let mut engine = self.process.engine();
            engine.forget_group(context);
            engine.forget_group(context + context::COLLECTIVE);
            drop(engine);
            self.process.forget_members(context);
        }
        for slots in [self.slots.take(), self.nonblocking_slots.take()].into_iter().flatten().flatten() {
            slots.retire(&self.process);
        }
        if let Some(nodes) = self.nodes.take().flatten() {
            nodes.retire(&self.process);
        }
        self.process.has_communicator_no_more();
    }
}

impl Communicator {
    /// The intracommunicator of `group`, to which the caller belongs.
    pub(crate) fn new(process: Rc<Process>, group: Group, context: u32) -> Self {
        Communicator::build(process, group, None, context, None)
    }

    fn build(
        process: Rc<Process>,
        local: Group,
        remote: Option<Group>,
        context: u32,
        topology: Option<Topology>,
    ) -> Self {
        let local = local.numbered_by(process.numbers());
        let remote = remote.map(|remote| remote.numbered_by(process.numbers()));
        let rank = local.rank().expect("a process makes only communicators it belongs to");
        let inter = remote.is_some();
        let notes_collectives = process.recorder().is_some_and(|recorder| !recorder.has_front_end());
        let partners = remote.unwrap_or_else(|| local.clone());
        let is_checked = !inter && local.size() > 1 && process.lanes().checks().are_on();
        let shared = Shared {
            is_joined: process.is_joined(),
            process,
            rank,
            context: Cell::new(context::UNKNOWN),
            collectives: Cell::new(0),
            nonblocking_collectives: Cell::new(0),
            agreements: Cell::new(0),
            partners,
            local,
            inter,
            has_short_way: !inter && !notes_collectives && !is_checked,
            has_short_start: !inter && !is_checked,
            is_checked,
            comparisons: Cell::new(0),
            topology,
            attributes: Attributes::default(),
            name: RefCell::default(),
            hints: RefCell::default(),
            slots: OnceSlots::new(),
            nonblocking_slots: OnceSlots::new(),
            nodes: OnceNodes::new(),
            mark: Cell::new(0),
            told_as: Cell::new(None),
        };
        shared.process.has_communicator();
        let communicator = Communicator { shared: Rc::new(shared) };
        if let Some(context) = context::known(context) {
            communicator.settle(context);
        }
        communicator
    }

    /// The first communicator in a file that ranks of two jobs have in common: the first ones there are of one job, the
    /// others of the other.
    pub(crate) fn across(process: Rc<Process>, first: usize) -> Communicator {
        let (me, peers) = process.me_and_peers();
        let first = first as u32;
        let (one, other) = (Vec::from_iter(0..first), Vec::from_iter(first..peers));
        let (local, remote) = if me < first { (one, other) } else { (other, one) };
        // Its context is the first that this rank would give out.
        if me == 0 {
            process.give_context();
        }
        Communicator::build(process, Group::new(local, Some(me)), Some(Group::new(remote, None)), FIRST_GIVEN, None)
    }

    /// Gives it the context that its members have agreed on.
    pub(crate) fn settle(&self, context: u32) {
        let Shared { process, partners, .. } = &*self.shared;
        self.shared.context.set(context);
        let mut engine = process.engine();
        engine.register_group(context, partners.peers().clone());
        engine.register_group(context + context::COLLECTIVE, partners.peers().clone());
        drop(engine);
        let members = if self.is_inter() { self.all_peers().into() } else { partners.peers().clone() };
        process.note_members(context, members);
    }

    /// A new one of the same rank.
    pub(crate) fn child(&self, local: Group, remote: Option<Group>, context: u32, topology: Option<Topology>) -> Self {
        let process = self.process();
        if !process.lanes().are_several() {
            return Communicator::build(process.clone(), local, remote, context, topology);
        }
        let lane = context::known(context).and_then(|context| process.lanes().of(context, process.me_and_peers().1));
        let process = lane.unwrap_or_else(|| process.clone());
        Communicator::build(process, local.detached(), remote.map(|remote| remote.detached()), context, topology)
    }

    pub(crate) fn process(&self) -> &Rc<Process> {
        &self.shared.process
    }

    /// How files that its ranks open are read and written.
    #[doc(hidden)]
    pub fn file_ways(&self) -> FileWays {
        FileWays::new(self.process().tuning())
    }

    /// The number of its lane.
    #[doc(hidden)]
    pub fn lane(&self) -> usize {
        self.process().lane()
    }

    /// The group that the caller belongs to (MPI_Comm_group).
    #[doc(alias = "MPI_Comm_group")]
    pub fn group(&self) -> &Group {
        &self.shared.local
    }

    /// The other group of an intercommunicator (MPI_Comm_remote_group).
    #[doc(alias = "MPI_Comm_remote_group")]
    pub fn remote_group(&self) -> Option<&Group> {
        self.is_inter().then_some(&self.shared.partners)
    }

    /// Whom point-to-point calls name.
    #[inline]
    pub(crate) fn partners(&self) -> &Group {
        &self.shared.partners
    }

    pub(crate) fn context(&self) -> u32 {
        self.shared.context.get()
    }

    /// The rank here of a partner.
    pub(crate) fn rank_of(&self, peer: u32) -> usize {
        self.shared.partners.rank_of(peer)
    }

    /// The caller's rank in it.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// How many ranks it has; of an intercommunicator, the local group.
    #[inline]
    pub fn size(&self) -> usize {
        self.shared.local.size()
    }

    /// How many ranks the other group of an intercommunicator has (MPI_Comm_remote_size).
    #[doc(alias = "MPI_Comm_remote_size")]
    pub fn remote_size(&self) -> Option<usize> {
        self.remote_group().map(Group::size)
    }

    /// Whether it is an intercommunicator (MPI_Comm_test_inter).
    #[doc(alias = "MPI_Comm_test_inter")]
    pub fn is_inter(&self) -> bool {
        self.shared.inter
    }

    /// How the two relate; both groups of intercommunicators count (MPI_Comm_compare).
    #[doc(alias = "MPI_Comm_compare")]
    pub fn compare(&self, other: &Communicator) -> Comparison {
        if Rc::ptr_eq(&self.shared, &other.shared) {
            return Comparison::Identical;
        }
        if self.is_inter() != other.is_inter() {
            return Comparison::Unequal;
        }
        let groups = [self.group().compare(other.group()), self.partners().compare(other.partners())];
        if groups == [Comparison::Identical; 2] {
            Comparison::Congruent
        } else if groups.contains(&Comparison::Unequal) {
            Comparison::Unequal
        } else {
            Comparison::Similar
        }
    }

    /// For each rank here, its rank in `other`, if it belongs to it (MPI_Group_translate_ranks).
    #[doc(alias = "MPI_Group_translate_ranks")]
    pub fn ranks_in(&self, other: &Communicator) -> Vec<Option<usize>> {
        self.group().peers().iter().map(|&peer| other.group().find(peer)).collect()
    }

    /// What programs have attached to it (MPI-5.0 section 7.7).
    pub fn attributes(&self) -> &Attributes<Communicator> {
        &self.shared.attributes
    }

    /// The name that was given to it, or the standard's for those that have one; otherwise empty (MPI_Comm_get_name).
    #[doc(alias = "MPI_Comm_get_name")]
    pub fn name(&self) -> String {
        match (&*self.shared.name.borrow(), self.context()) {
            (Some(name), _) => name.clone(),
            (None, WORLD) => "MPI_COMM_WORLD".into(),
            (None, THIS_RANK) => "MPI_COMM_SELF".into(),
            _ => String::new(),
        }
    }

    /// Gives it a name, which errors use too (MPI_Comm_set_name).
    #[doc(alias = "MPI_Comm_set_name")]
    pub fn set_name(&self, name: &str) {
        *self.shared.name.borrow_mut() = Some(name.to_string());
    }

    /// A word that a front end may keep with the communicator, such as the handle by which its programs know it; 0 at
    /// first. Attribute callbacks get a communicator and must give the program a handle.
    pub fn mark(&self) -> usize {
        self.shared.mark.get()
    }

    /// Sets the word of [`Communicator::mark`].
    pub fn set_mark(&self, mark: usize) {
        self.shared.mark.set(mark);
    }

    /// Deletes its attributes and lets go of it (MPI_Comm_free). Operations in flight keep what they need of it.
    /// Dropping all clones does the same but for the attributes' delete functions.
    ///
    /// # Errors
    /// What a delete function says; the communicator can still be used by other clones.
    #[doc(alias = "MPI_Comm_free")]
    pub fn free(self) -> Result<()> {
        self.attributes().delete_all(&self)
    }

    /// As [`Communicator::free`], when everything sent on it has left this rank (MPI_Comm_disconnect). Of one with
    /// ranks of another job it is collective: if it is the last with them, they go their own ways from then on.
    ///
    /// # Errors
    /// As [`Communicator::free`], or if what was sent can't be delivered.
    #[doc(alias = "MPI_Comm_disconnect")]
    pub fn disconnect(self) -> Result<()> {
        let call = Call::FreeCommunicator;
        self.process().collect_detached().map_err(self.failed(call))?;
        if self.process().is_joined() {
            self.meet_to_part()?;
            self.attributes().delete_all(&self)?;
            return self.process().part_if_last().map_err(self.failed(call));
        }
        self.free()
    }

    /// Returns when all members have come here and have nothing more to send.
    fn meet_to_part(&self) -> Result<()> {
        let call = Call::FreeCommunicator;
        let (process, creators) = (self.process(), self.creators());
        process.flush().map_err(self.failed(call))?;
        process.block_on(|| barrier::tree(creators.team(process, true))).map_err(self.failed(call))
    }

    /// Whether it is with ranks of another job, which have another engine than those of this one.
    #[doc(hidden)]
    #[inline]
    pub fn is_joined(&self) -> bool {
        self.shared.is_joined
    }
}
