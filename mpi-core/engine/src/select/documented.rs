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
    match (bytes >> 10, bytes % (1 << 10)) {
        (kibibytes, 0) => format!("{kibibytes}K"),
        (kibibytes, 1) => format!("{kibibytes}K+1"),
        _ => bytes.to_string(),
    }
}

/// What `way` says from which length on.
fn borders(way: impl Fn(usize) -> String) -> String {
    let mut last = way(0);
    let mut text = last.clone();
    for len in 1..LONGEST {
        let next = way(len);
        if next != last {
            text += &format!(", {next} ≥ {}", length(len));
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
fn sender_first(reach: Option<Reach>, len: usize) -> String {
    let len = len as u64;
    let message = Unrequested { len, may_wait: true, is_synchronous: false, cell: CELL };
    let way = unrequested(&TUNING, message, || reach, Passable::default);
    let way = if way == MessageWay::RendezvousRead { announced(&TUNING, len, true, false) } else { way };
    format!("{way:?}")
}

/// How one goes whose receiver has asked for it.
fn receiver_first(reach: Option<Reach>, len: usize) -> String {
    let with_claims = reach != Some(Reach::Network);
    let rule = Rule::Auto { claims: with_claims };
    if reach.is_none() || !looks_for_request(&TUNING, rule, len as u64, with_claims, Passable::default) {
        return sender_first(reach, len);
    }
    let message = Requested { len: len as u64, can_share: with_claims, oversubscribed: false };
    format!("{:?}", requested(&TUNING, message, || reach))
}

fn table_of_messages() -> String {
    let mut table = "| memory | sender first | receiver first |\n|---|---|---|\n".to_owned();
    let memories = [
        ("shared", Some(Reach::SharedHeap)),
        ("by the kernel", Some(Reach::Kernel)),
        ("network", Some(Reach::Network)),
        ("out of reach", None),
    ];
    for (memory, reach) in memories {
        let [first, second] = [sender_first, receiver_first].map(|way| borders(|len| way(reach, len)));
        table += &format!("| {memory} | {first} | {second} |\n");
    }
    table
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
    let mut table =
        "| collective | 2 ranks | 8 ranks, 8 cores | 8 ranks, 2 cores | 8 ranks, memory out of reach | file |\n\
        |---|---|---|---|---|---|\n"
            .to_owned();
    for (title, kind, file) in KINDS {
        let on_node = |ranks, processors| on_node(|len| kind(len, ranks), ranks, processors);
        let cells = [on_node(2, 2), on_node(8, 8), on_node(8, 2)].join(" | ");
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
