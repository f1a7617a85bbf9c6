//! Lanes: several ends of the fabric that one rank has, each with an engine of its own, so that threads that use
//! different communicators have nothing in common.
//!
//! Every communicator belongs to one lane, which follows from its context, so that all its members agree without a
//! word. The world and what this rank has alone are in the first lane, nonblocking duplicates in the lane of what they
//! were made from. What a lane's engine and communicators hold is shared with no other lane, not even a count of
//! references: whoever has a lane's lock may use all of it. To make communicators takes the locks of all lanes.

use std::cell::{Cell, OnceCell};
use std::rc::{Rc, Weak};

use rwmpi_protocol::Rule;
use rwmpi_transport::{JobFabric, NodeFabric};

use super::Process;
use crate::checks::Checks;
use crate::context::{NONE_LEFT, lane_of, nth_given};

/// What the lanes of a rank have in common.
#[derive(Default)]
pub struct Lanes {
    /// How many blocks of contexts this rank has given out. A creation gives one as it begins, also where nobody waits
    /// for its end.
    contexts: Cell<u32>,
    /// One for each lane, if there are several.
    processes: OnceCell<Box<[Weak<Process>]>>,
    checks: Checks,
}

impl Lanes {
    /// Those of a rank whose calls are checked, or are not.
    pub fn checked(is_on: bool) -> Lanes {
        Lanes { checks: Checks::new(is_on), ..Lanes::default() }
    }

    /// What is said of the rank's calls.
    pub fn checks(&self) -> &Checks {
        &self.checks
    }

    /// Gives the rank that has had one lane these besides, and returns them.
    pub fn add(first: &Rc<Process>, fabrics: Vec<NodeFabric>, rule: Rule) -> Vec<Rc<Process>> {
        let process = |(lane, fabric)| {
            let place = (first.lanes().clone(), lane);
            let recorder = first.recorder().cloned();
            Rc::new(Process::new(JobFabric::Node(fabric), rule, first.tuning(), place, recorder))
        };
        let others: Vec<_> = (1..).zip(fabrics).map(process).collect();
        first.lanes().processes.get_or_init(|| std::iter::once(first).chain(&others).map(Rc::downgrade).collect());
        others
    }

    /// Whether there are several.
    pub fn are_several(&self) -> bool {
        self.processes.get().is_some()
    }

    /// The first context of a block that nobody else has, for a rank with that number among so many, or [`NONE_LEFT`].
    fn new_context(&self, (me, peers): (u32, u32)) -> u32 {
        let given = self.contexts.get();
        let context = nth_given(given, me, peers).inspect(|_| self.contexts.set(given + 1));
        context.unwrap_or(NONE_LEFT)
    }

    /// For tests: so many blocks have been given out.
    #[doc(hidden)]
    pub fn set_given(&self, given: u32) {
        self.contexts.set(given);
    }

    /// All of them. For a thread that has all lanes.
    pub fn all(&self) -> impl Iterator<Item = Rc<Process>> {
        self.processes.get().into_iter().flatten().filter_map(Weak::upgrade)
    }

    /// The lane of the communicator with that context, in a job of so many ranks.
    pub fn of(&self, context: u32, peers: u32) -> Option<Rc<Process>> {
        let processes = self.processes.get()?;
        processes[lane_of(context, peers, processes.len())].upgrade()
    }
}

impl Process {
    /// What it has in common with the rank's other lanes.
    pub fn lanes(&self) -> &Rc<Lanes> {
        &self.lanes
    }

    /// The number of this lane.
    pub fn lane(&self) -> usize {
        self.lane
    }

    /// A new block of contexts, given out by this rank.
    pub fn give_context(&self) -> u32 {
        self.lanes.new_context(self.me_and_peers())
    }

    /// A new block, if the caller is the first of these peers; the others will hear of it.
    pub fn given_by_first(&self, peers: &[u32]) -> u32 {
        let (me, _) = self.me_and_peers();
        if peers.first() == Some(&me) { self.give_context() } else { 0 }
    }
}
