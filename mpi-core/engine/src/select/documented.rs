//! The tables of `ARCHITECTURE.md`, made by asking for every length: what stands there is what the code does.

use rwmpi_protocol::Rule;
use rwmpi_transport::{Passable, Way as Reach};

use super::collective::without_slots;
use super::message::{Requested, Unrequested, announced, looks_for_request, requested, unrequested};
use super::{Collective, CollectiveWay, MessageWay, SlotLimits};
use crate::tuning::Tuning;

const TUNING: Tuning = Tuning::DEFAULT;
/// Beyond all borders.
const LONGEST: usize = 300 << 10;
/// What the cells of a ring carry at most.
const CELL: u64 = 8 << 10;
/// What one of many ranks posts is shorter than this.
const SHORT: usize = (2 << 10) + 1;

fn length(bytes: usize) -> String {
    if bytes.is_multiple_of(1 << 10) { format!("{} KiB", bytes >> 10) } else { format!("{bytes} B") }
}

/// What `way` says from which length on.
fn borders(way: impl Fn(usize) -> String) -> String {
    let mut last = way(0);
    let mut text = last.clone();
    for len in 1..LONGEST {
        let next = way(len);
        if next != last {
            text += &format!(", {next} from {}", length(len));
            last = next;
        }
    }
    text
}

fn name(way: CollectiveWay) -> String {
    match way {
        CollectiveWay::DirectAccess => "DirectAccess".to_owned(),
        CollectiveWay::Messages(messages) => format!("{messages:?}"),
    }
}

/// How a message goes that finds no request, and is fetched where it is announced.
fn sender_first(reach: Option<Reach>) -> String {
    borders(|len| {
        let len = len as u64;
        let message = Unrequested { len, may_wait: true, is_synchronous: false, cell: CELL };
        let way = unrequested(&TUNING, message, || reach, Passable::default);
        let way = if way == MessageWay::RendezvousRead { announced(&TUNING, len, true, false) } else { way };
        format!("{way:?}")
    })
}

/// How one goes whose receiver has asked for it.
fn receiver_first(reach: Reach) -> String {
    let with_claims = reach != Reach::Network;
    borders(|len| {
        let (len, rule) = (len as u64, Rule::Auto { claims: with_claims });
        if !looks_for_request(&TUNING, rule, len, with_claims, Passable::default) {
            return "as on the left".to_owned();
        }
        let message = Requested { len, can_share: with_claims, oversubscribed: false };
        format!("{:?}", requested(&TUNING, message, || Some(reach)))
    })
}

fn table_of_messages() -> String {
    let mut table = "| memory | sender first | receiver first |\n|---|---|---|\n".to_owned();
    for (memory, reach) in
        [("shared", Reach::SharedHeap), ("by the kernel", Reach::Kernel), ("network", Reach::Network)]
    {
        table += &format!("| {memory} | {} | {} |\n", sender_first(Some(reach)), receiver_first(reach));
    }
    table + &format!("| out of reach | {} | |\n", sender_first(None))
}

/// How a collective goes on one node, whose memory can be read or not.
fn on_node(what: impl Fn(usize) -> Collective, ranks: usize, processors: usize) -> String {
    let limits = SlotLimits::new(&TUNING, ranks, processors, SHORT);
    borders(|len| match what(len) {
        what if limits.have_room_for(what) => "Slots".to_owned(),
        what @ (Collective::Gather { .. } | Collective::Scan { .. }) => without(what, ranks, true),
        _ => "DirectAccess".to_owned(),
    })
}

fn without(what: Collective, ranks: usize, readable: bool) -> String {
    name(without_slots(&TUNING, what, ranks, readable))
}

type Kind = fn(usize, usize) -> Collective;

/// Each with what its length is, and where its mechanisms are called.
const KINDS: [(&str, Kind, &str); 8] = [
    ("broadcast", |len, _| Collective::Broadcast { len }, "broadcast"),
    ("reduce", |len, _| Collective::Reduce { len }, "reduce"),
    ("allreduce", |len, _| Collective::Allreduce { len }, "reduce"),
    ("scan", |len, _| Collective::Scan { len }, "scan"),
    ("reduce_scatter, all parts", |len, _| Collective::ReduceScatter { len }, "reduce"),
    ("gather, a part", |part, _| Collective::Gather { part }, "gather"),
    ("allgather, a part", |part, ranks| Collective::Allgather { total: ranks * part, longest: part }, "allgather"),
    ("alltoall, a part", |part, ranks| Collective::Alltoall { part, ranks }, "alltoall"),
];

fn table_of_collectives() -> String {
    let mut table = "| collective | 2 ranks | 8 ranks, 8 processors | 8 ranks, 2 processors | 17 ranks, 2 processors | 8 ranks, no shared memory | \
        file |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (title, kind, file) in KINDS {
        let on_node = |ranks, processors| on_node(|len| kind(len, ranks), ranks, processors);
        let cells = [on_node(2, 2), on_node(8, 8), on_node(8, 2), on_node(17, 2)].join(" | ");
        let messages = borders(|len| without(kind(len, 8), 8, false));
        table += &format!("| {title} | {cells} | {messages} | `{file}.rs` |\n");
    }
    table
}

#[test]
fn the_tables_of_the_architecture_say_what_the_code_does() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md")).unwrap();
    for table in [table_of_messages(), table_of_collectives()] {
        assert!(text.contains(&table), "ARCHITECTURE.md has to have this table:\n{table}");
    }
}
