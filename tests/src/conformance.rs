//! What every transport must do: one suite, generic over [`Fabric`].
//!
//! A case is a function that every peer of a small job runs with its own fabric; what it does depends on the peer's
//! number. How the peers come to be (threads, processes) is the business of whoever runs the suite. A case fails by a
//! panic of any peer, or by not coming to an end.

mod queues;
mod remote_memory;
mod support;
mod waiting;

pub use support::Block;

use rwmpi_transport::{ClusterFabric, Fabric, NodeFabric, SignalSet, TcpFabric};

/// A fabric with what the suite needs beside the trait.
pub trait Subject: Fabric {
    /// A block that peers reach by copying, never freed; `None` where there is no such memory.
    fn shared_block(&self, len: usize) -> Option<Block>;

    /// Has `handler` called on this thread when a signal arrives; `false` where that cannot be had.
    fn interrupt_on_signal(&self, handler: fn(SignalSet)) -> bool;
}

impl Subject for NodeFabric {
    fn shared_block(&self, len: usize) -> Option<Block> {
        let layout = std::alloc::Layout::from_size_align(len, 64).ok()?;
        self.heap().allocate(layout).map(|start| Block::shared(start, len))
    }

    fn interrupt_on_signal(&self, handler: fn(SignalSet)) -> bool {
        self.on_signal(handler).is_ok()
    }
}

impl Subject for TcpFabric {
    fn shared_block(&self, _: usize) -> Option<Block> {
        None
    }

    fn interrupt_on_signal(&self, _: fn(SignalSet)) -> bool {
        false
    }
}

/// Between nodes it has what [`TcpFabric`] has, else what [`NodeFabric`] has.
impl Subject for ClusterFabric {
    fn shared_block(&self, len: usize) -> Option<Block> {
        if self.node().peers() == self.peers() { self.node().shared_block(len) } else { None }
    }

    fn interrupt_on_signal(&self, handler: fn(SignalSet)) -> bool {
        self.node().peers() == self.peers() && self.node().interrupt_on_signal(handler)
    }
}

/// One case of the suite.
pub struct Case<S> {
    /// What it shows.
    pub name: &'static str,
    /// How many peers it needs.
    pub peers: usize,
    /// What every peer runs.
    pub run: fn(&mut S),
}

/// The whole suite.
pub fn cases<S: Subject>() -> Vec<Case<S>> {
    let case = |name, peers, run| Case { name, peers, run };
    vec![
        case("cells_arrive_in_order_from_everyone", 3, queues::cells_arrive_in_order_from_everyone),
        case("payloads_of_every_size_arrive_whole", 2, queues::payloads_of_every_size_arrive_whole),
        case("payloads_can_be_read_in_parts", 2, queues::payloads_can_be_read_in_parts),
        case("a_full_queue_refuses_until_the_retry", 2, queues::a_full_queue_refuses_until_the_retry),
        case("full_queues_of_long_payloads_lose_nothing", 2, queues::full_queues_of_long_payloads_lose_nothing),
        case("a_peer_can_push_to_itself", 1, queues::a_peer_can_push_to_itself),
        case("queues_are_independent", 2, queues::queues_are_independent),
        case("counters_of_accepted_cells_never_lie", 2, queues::counters_of_accepted_cells_never_lie),
        case("nobody_starves_among_many", 40, queues::nobody_starves_among_many),
        case("writes_are_visible_before_later_cells", 2, remote_memory::writes_are_visible_before_later_cells),
        case(
            "reads_see_what_was_written_before_the_cell",
            2,
            remote_memory::reads_see_what_was_written_before_the_cell,
        ),
        case(
            "transfers_outside_are_refused_without_effect",
            2,
            remote_memory::transfers_outside_are_refused_without_effect,
        ),
        case("made_up_addresses_are_refused", 2, remote_memory::made_up_addresses_are_refused),
        case("ways_are_as_announced", 3, remote_memory::ways_are_as_announced),
        case("large_transfers_arrive_whole", 2, remote_memory::large_transfers_arrive_whole),
        case("a_claim_has_one_winner", 4, remote_memory::a_claim_has_one_winner),
        case("additions_to_a_word_are_counted_once", 4, remote_memory::additions_to_a_word_are_counted_once),
        case("signals_arrive_and_wake", 2, waiting::signals_arrive_and_wake),
        case("a_signal_interrupts_a_busy_peer", 2, waiting::a_signal_interrupts_a_busy_peer),
        case("pushes_wake_sleepers", 2, waiting::pushes_wake_sleepers),
        case("pops_wake_who_waits_for_room", 2, waiting::pops_wake_who_waits_for_room),
        case("pops_wake_who_waits_for_acceptance", 2, waiting::pops_wake_who_waits_for_acceptance),
        case("a_word_wakes_who_watches_it", 2, waiting::a_word_wakes_who_watches_it),
        case("any_of_several_words_prevents_sleep", 4, waiting::any_of_several_words_prevents_sleep),
        case("a_ring_of_many_waiters_turns", 6, waiting::a_ring_of_many_waiters_turns),
    ]
}
