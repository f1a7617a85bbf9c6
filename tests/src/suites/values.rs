//! Values of any type: sent, received, and by every collective; and what happens where a value is none.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rwmpi::message::{CodecError, Reader, Writer};
use rwmpi::{ANY_SOURCE, ANY_TAG, Datatype, ErrorClass, Message, PROC_NULL, Result, Serialized, Universe, op};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("values_of_any_type_arrive", values_of_any_type_arrive),
    ("vectors_and_slices_are_one_message", vectors_and_slices_are_one_message),
    ("values_of_unknown_length_come_from_anywhere", values_of_unknown_length_come_from_anywhere),
    ("values_of_unknown_length_keep_their_order", values_of_unknown_length_keep_their_order),
    ("requests_for_values_make_room_when_they_come", requests_for_values_make_room_when_they_come),
    ("neighbours_exchange_long_values", neighbours_exchange_long_values),
    ("the_wrong_type_is_an_error", the_wrong_type_is_an_error),
    ("any_value_is_broadcast", any_value_is_broadcast),
    ("any_values_are_combined_in_rank_order", any_values_are_combined_in_rank_order),
    ("lists_of_any_length_are_gathered_and_scattered", lists_of_any_length_are_gathered_and_scattered),
    ("a_value_that_can_not_be_sent_hangs_nobody", a_value_that_can_not_be_sent_hangs_nobody),
    ("an_operation_that_panics_hangs_nobody", an_operation_that_panics_hangs_nobody),
];

#[derive(Clone, Debug, PartialEq, Message)]
enum Task {
    Stop,
    Factor { number: u128, name: String },
    Many(Vec<Task>, HashMap<String, Vec<f64>>),
}

/// The best value so far and where it is: plain data with padding.
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Best {
    value: f64,
    place: u32,
}

fn task(rank: usize) -> Task {
    let factor = Task::Factor { number: rank as u128, name: "n".repeat(rank * 100) };
    Task::Many(vec![factor, Task::Stop], HashMap::from([(format!("rank {rank}"), vec![0.5; rank])]))
}

fn values_of_any_type_arrive(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    macro_rules! around {
        ($($value:expr),* $(,)?) => {$({
            let value = |rank: usize| $value(rank);
            let (received, status) = world.sendrecv_value(&value(rank), right, 3, left, 3)?;
            assert_eq!(received, value(left));
            assert_eq!((status.source(), status.tag()), (Some(left), Some(3)));
        })*};
    }
    around!(
        |rank: usize| rank as f32,
        |rank: usize| Best { value: 0.1, place: rank as u32 },
        |rank: usize| (rank, 'x', [true; 3]),
        |rank: usize| format!("I am {rank}"),
        |rank: usize| vec![format!("{rank}"); rank],
        |rank: usize| vec![vec![rank as f64; rank]; 3],
        |rank: usize| BTreeMap::from([(rank, Some("here".to_string()))]),
        |_: usize| (),
        task,
        |rank: usize| Serialized(std::time::Duration::from_secs(rank as u64)),
    );
    Ok(())
}

fn vectors_and_slices_are_one_message(universe: &Universe) -> Result<()> {
    let me = universe.this_rank();
    me.buffered_send(&[1.5, 2.5], 0, 1)?;
    assert_eq!(me.recv_value::<Vec<f64>>(0, 1)?.0, [1.5, 2.5]);
    me.buffered_send("größer".as_bytes(), 0, 1)?;
    assert_eq!(me.recv_value::<String>(0, 1)?.0, "größer");
    let mut numbers = [0_u16; 3];
    rwmpi::scope(|s| {
        let incoming = me.irecv(s, &mut numbers, 0, 1)?;
        me.send_value(&vec![7_u16, 8, 9], 0, 1)?;
        incoming.wait()
    })?;
    assert_eq!(numbers, [7, 8, 9]);
    Ok(())
}

/// Short ones and long ones, of which the receiver knows neither the lengths nor the order.
fn values_of_unknown_length_come_from_anywhere(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let text = |rank: usize, number: usize| format!("{rank}:{number}:").repeat([1, 40, 9000][number % 3]);
    if rank > 0 {
        (0..9).try_for_each(|number| world.send_value(&text(rank, number), 0, number as i32 % 2))?;
        return world.barrier();
    }
    let mut heard = vec![[0; 2]; size];
    for _ in 0..9 * (size - 1) {
        let (received, status) = world.recv_value::<String>(ANY_SOURCE, ANY_TAG)?;
        let (source, tag) = (status.source().unwrap(), status.tag().unwrap() as usize);
        let number = heard[source][tag] * 2 + tag;
        heard[source][tag] += 1;
        assert_eq!(received, text(source, number));
    }
    world.barrier()
}

/// Short ones, which are received as they are taken off the queue, long ones, which are not, and such as are not the
/// next to arrive.
fn values_of_unknown_length_keep_their_order(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let lengths = [0, 1, 70, 40_000, 3, 900, 200_000, 5];
    for backwards in [false, true] {
        let text = |tag: usize, of: usize| format!("{of}").repeat(lengths[tag]);
        let sent = (0..lengths.len()).map(|tag| world.isend_value(&text(tag, rank), right, tag as i32));
        let sent = sent.collect::<Result<Vec<_>>>()?;
        let mut tags: Vec<usize> = (0..lengths.len()).collect();
        if backwards {
            tags.reverse();
        }
        for tag in tags {
            let (received, status) =
                world.recv_value::<String>(left, if backwards { (tag as i32).into() } else { ANY_TAG })?;
            assert!(received == text(tag, left), "{} bytes from rank {left}", received.len());
            assert_eq!((status.tag(), status.bytes() as usize), (Some(tag as i32), received.len()));
        }
        sent.into_iter().try_for_each(|request| request.wait().map(drop))?;
    }
    // What is no value is an error, and gone.
    world.buffered_send(&[0xff_u8], right, 1)?;
    world.barrier()?;
    world.recv_value::<String>(left, 1).unwrap_err();
    assert!(world.probe_now(left, 1)?.is_none());
    world.barrier()
}

/// Whichever way a message takes, and whoever is first.
fn requests_for_values_make_room_when_they_come(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for early in [true, false] {
        for len in [0, 1, 7, 900, 30_000, 300_000] {
            let list = |rank: usize| (0..len).map(|place| (place + rank) as f64).collect::<Vec<_>>();
            let words = |rank: usize| vec![format!("of {rank}"); len / 10];
            let receive = || -> Result<_> {
                let source = if len % 2 == 0 { ANY_SOURCE } else { left.into() };
                let numbers = world.irecv_value::<Vec<f64>>(source, 1)?;
                let (texts, three) =
                    (world.irecv_value::<Vec<String>>(left, 2)?, world.irecv_value::<[usize; 3]>(left, 3)?);
                Ok((numbers, texts, three))
            };
            let posted = if early { Some(receive()?) } else { None };
            world.barrier()?;
            let sent = [
                world.isend_value(&list(rank), right, 1)?,
                world.isend_value(&words(rank), right, 2)?,
                world.isend_value(&[rank; 3], right, 3)?,
            ];
            if !early {
                world.barrier()?;
            }
            let (numbers, texts, three) = posted.map_or_else(receive, Ok)?;
            let (received, status) = numbers.wait()?;
            assert!(received == list(left), "{len} numbers, {} came", received.len());
            assert_eq!((status.source(), status.bytes()), (Some(left), 8 * len as u64));
            assert_eq!(texts.wait()?.0, words(left));
            assert_eq!(three.wait()?.0, [left; 3]);
            sent.into_iter().try_for_each(|request| request.wait().map(drop))?;
        }
    }
    // A request that nobody waits for keeps its room as long as somebody may write there.
    drop(world.irecv_value::<Vec<f64>>(left, 4)?);
    let forgotten = world.irecv_value::<Vec<f64>>(left, 5)?;
    world.barrier()?;
    let sent = world.isend_value(&vec![0.5; 300_000], right, 5)?;
    drop(forgotten);
    world.sendrecv(&[0_u8], right, 6, &mut [0_u8], left, 6)?;
    // It has gone to the request, or the request has been cancelled first.
    if let Some(message) = world.matched_probe_now(left.into(), 5)? {
        world.matched_recv(&mut vec![0.0; 300_000], message)?;
    }
    sent.wait().map(drop)
}

fn neighbours_exchange_long_values(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let other = world.size() - 1 - world.rank();
    let list = |rank: usize| (0..20_000).map(|place| format!("{rank}-{place}")).collect::<Vec<_>>();
    let (received, _) = world.sendrecv_value(&list(world.rank()), other, 1, other, 1)?;
    assert_eq!(received, list(other));
    Ok(())
}

fn the_wrong_type_is_an_error(universe: &Universe) -> Result<()> {
    let me = universe.this_rank();
    let error = |error: rwmpi::Error, class, words: &str| {
        assert!(error.class() == class && error.to_string().contains(words), "{error}");
    };
    me.buffered_send(&[0xff_u8, 0xfe], 0, 1)?;
    error(me.recv_value::<String>(0, 1).unwrap_err(), ErrorClass::Datatype, "rank 0 are no alloc::string::String");
    me.buffered_send(&[1_u8, 2, 3], 0, 1)?;
    error(me.recv_value::<u64>(0, 1).unwrap_err(), ErrorClass::Datatype, "the 3 bytes from rank 0 are no u64");
    me.buffered_send(&[1_u64, 2], 0, 1)?;
    error(me.recv_value::<u64>(0, 1).unwrap_err(), ErrorClass::Truncate, "16 bytes");
    me.buffered_send(&[9_u8], 0, 1)?;
    error(me.recv_value::<Task>(0, 1).unwrap_err(), ErrorClass::Datatype, "there is no variant 9");
    error(me.recv_value::<Task>(PROC_NULL, 1).unwrap_err(), ErrorClass::Rank, "from nobody");
    me.send_value(&task(1), PROC_NULL, 1)
}

fn any_value_is_broadcast(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for root in 0..world.size() {
        let own = if world.rank() == root { task(root + 1) } else { Task::Stop };
        assert_eq!(world.bcast_value(own, root)?, task(root + 1));
        assert_eq!(world.bcast_value(world.rank() as u8, root)?, root as u8);
        let long = (world.rank() == root).then(|| "x".repeat(300_000));
        assert_eq!(world.bcast_value(long, root)?.map(|text| text.len()), Some(300_000));
    }
    Ok(())
}

fn any_values_are_combined_in_rank_order(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let word = |rank: usize| "abcdefgh"[rank % 8..rank % 8 + 1].repeat(rank + 1);
    let words = |ranks: std::ops::Range<usize>| ranks.map(word).collect::<String>();
    let concatenate = |a: &String, b: &String| a.clone() + b;
    assert_eq!(world.allreduce_value(word(rank), concatenate)?, words(0..size));
    for root in 0..size {
        let reduced = world.reduce_value(word(rank), concatenate, root)?;
        assert_eq!(reduced, (rank == root).then(|| words(0..size)));
        let sum = world.reduce_value(rank as u64, op::sum, root)?;
        assert_eq!(sum, (rank == root).then(|| (0..size as u64).sum()));
    }
    assert_eq!(world.scan_value(word(rank), concatenate)?, words(0..rank + 1));
    assert_eq!(world.exscan_value(word(rank), concatenate)?, (rank > 0).then(|| words(0..rank)));
    assert_eq!(world.scan_value(rank, op::sum)?, (0..=rank).sum());
    assert_eq!(world.exscan_value(rank, op::sum)?, (rank > 0).then(|| (0..rank).sum()));
    let best = Best { value: -(rank as f64 - 1.0).abs(), place: rank as u32 };
    let best = world.allreduce_value(best, |a, b| if b.value > a.value { *b } else { *a })?;
    assert_eq!(best.place, if size > 1 { 1 } else { 0 });
    assert_eq!(world.allreduce_value((rank, "x".to_string()), |a, b| (a.0 + b.0, b.1.clone()))?.0, (0..size).sum());
    Ok(())
}

fn lists_of_any_length_are_gathered_and_scattered(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let numbers = |rank: usize| vec![rank as f64; rank * 700];
    let all: Vec<_> = (0..size).map(numbers).collect();
    assert_eq!(world.allgather_values(&numbers(rank))?, all);
    assert_eq!(world.allgather_values(&task(rank))?, (0..size).map(task).collect::<Vec<_>>());
    assert_eq!(world.allgather_values(&rank)?, (0..size).collect::<Vec<_>>());
    for root in 0..size {
        let gathered = world.gather_values(&numbers(rank), root)?;
        assert_eq!(gathered, (rank == root).then(|| all.clone()));
        let gathered = gathered.unwrap_or_default();
        assert_eq!(world.scatter_values(&gathered, root)?, numbers(rank));
        let pairs = world.gather_values(&(rank as u8, true), root)?;
        assert_eq!(pairs, (rank == root).then(|| (0..size).map(|rank| (rank as u8, true)).collect()));
        assert_eq!(world.scatter_values(&pairs.unwrap_or_default(), root)?, (rank as u8, true));
    }
    let letters: Vec<String> = (0..size).map(|to| format!("{rank} to {to}").repeat(to * 300)).collect();
    let expected: Vec<String> = (0..size).map(|from| format!("{from} to {rank}").repeat(rank * 300)).collect();
    assert_eq!(world.alltoall_values(&letters)?, expected);
    assert_eq!(world.alltoall_values(&vec![rank; size])?, (0..size).collect::<Vec<_>>());
    if world.scatter_values(&vec![0; size + 1], rank).is_ok() {
        panic!("a list for one rank more");
    }
    Ok(())
}

/// A value that can't be made into bytes where it is `false`.
#[derive(Clone, Debug, PartialEq)]
struct Moody(bool);

impl Message for Moody {
    fn encode(&self, to: &mut Writer) -> std::result::Result<(), CodecError> {
        to.put(&[0]);
        if self.0 { Ok(()) } else { Err(CodecError::new("it does not feel like it")) }
    }

    fn decode(from: &mut Reader<'_>) -> std::result::Result<Self, CodecError> {
        from.take(1).map(|_| Moody(true))
    }
}

fn a_value_that_can_not_be_sent_hangs_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let refused = |result: Result<()>, words: &str| {
        let error = result.expect_err(words);
        assert!(error.to_string().contains(words), "rank {rank}: {error}");
    };
    for moody in 0..size {
        let own = Moody(rank != moody);
        let words = if rank == moody { "it does not feel like it" } else { "had no" };
        refused(world.bcast_value(own.clone(), moody).map(drop), words);
        refused(world.allgather_values(&own).map(drop), words);
        let gathered = world.gather_values(&own, 0);
        if rank == 0 || rank == moody {
            refused(gathered.map(drop), words);
        } else {
            gathered?;
        }
        let reduced = world.allreduce_value(own.clone(), |a, b| Moody(a.0 && b.0));
        match (size, moody) {
            (1, _) => drop(reduced),
            (_, 0) => refused(reduced.map(drop), if rank == 0 { words } else { "had no" }),
            _ => refused(reduced.map(drop), if rank == moody { words } else { "had no" }),
        }
        if rank == moody {
            refused(world.send_value(&own, PROC_NULL, 0), words);
        }
        let list: Vec<Moody> = (0..size).map(|to| Moody(rank != moody || to != 0)).collect();
        let exchanged = world.alltoall_values(&list);
        assert_eq!(exchanged.is_err(), rank == 0, "{exchanged:?}");
        let scattered = world.scatter_values(&list, moody);
        assert_eq!(scattered.is_err(), rank == 0, "{scattered:?}");
    }
    world.barrier()
}

fn an_operation_that_panics_hangs_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let size = world.size();
    // Only rank 0 combines the last rank's text with those of the others.
    let last = size - 1;
    let text = format!("{}", world.rank());
    let combine = |a: &String, b: &String| {
        if last > 0 && b.ends_with(&last.to_string()) && a.starts_with('0') {
            std::panic::resume_unwind(Box::new("no more"));
        }
        a.clone() + b
    };
    let result = catch_unwind(AssertUnwindSafe(|| world.allreduce_value(text, combine)));
    match (result, world.rank()) {
        (Ok(Ok(text)), _) => assert_eq!(text, "0"),
        (Ok(Err(error)), 1..) => assert!(error.to_string().contains("had no"), "{error}"),
        (Err(panic), 0) => assert_eq!(panic.downcast_ref::<&str>(), Some(&"no more")),
        (other, rank) => panic!("rank {rank}: {other:?}"),
    }
    world.barrier()
}
