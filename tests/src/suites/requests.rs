//! Requests that own what they use: kept, mixed, awaited, dropped, forgotten.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use rwmpi::{
    ANY_SOURCE, ANY_TAG, ErrorClass, PROC_NULL, Request, Result, Universe, op, owning, scope, wait_all, wait_any,
};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("collectives_of_values_need_not_be_waited_for", collectives_of_values_need_not_be_waited_for),
    ("values_are_received_in_the_order_of_their_receives", values_are_received_in_the_order_of_their_receives),
    ("buffers_are_given_back", buffers_are_given_back),
    ("requests_of_several_types_are_waited_for_together", requests_of_several_types_are_waited_for_together),
    ("any_executor_completes_requests", any_executor_completes_requests),
    ("a_rank_drives_several_futures", a_rank_drives_several_futures),
    ("a_sleeping_rank_is_woken_from_any_thread", a_sleeping_rank_is_woken_from_any_thread),
    ("what_others_wait_for_goes_on_without_its_request", what_others_wait_for_goes_on_without_its_request),
    ("a_dropped_receive_takes_no_message", a_dropped_receive_takes_no_message),
    ("forgotten_requests_harm_nobody", forgotten_requests_harm_nobody),
    ("a_cancelled_receive_gives_no_value", a_cancelled_receive_gives_no_value),
];

fn neighbours(universe: &Universe) -> (usize, usize) {
    let (rank, size) = (universe.world().rank(), universe.world().size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

/// Of lengths for each way that messages take.
fn text(rank: usize, number: usize) -> String {
    format!("{rank}:{number} ").repeat([1, 30, 9_000][number % 3])
}

fn collectives_of_values_need_not_be_waited_for(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let own = text(rank, rank);
    let all: Vec<String> = (0..size).map(|rank| text(rank, rank)).collect();
    let concatenate = |a: &String, b: &String| a.clone() + b;
    for root in 0..size {
        let broadcast = world.ibcast_value(own.clone(), root)?;
        let everywhere = world.iallreduce_value(own.clone(), concatenate)?;
        let here = world.ireduce_value(own.clone(), concatenate, root)?;
        let sum = world.iallreduce_value((rank, 1.5), |a, b| (a.0 + b.0, a.1 + b.1))?;
        let (inclusive, before) = (world.iscan_value(rank, op::sum)?, world.iexscan_value(rank, op::sum)?);
        let (gathered, known) = (world.igather_values(&own, root)?, world.iallgather_values(&own)?);
        let scattered = world.iscatter_values(if rank == root { &all } else { &[] }, root)?;
        let exchanged = world.ialltoall_values(&all)?;
        // In another order on each rank.
        let waited = if rank % 2 == 0 {
            (broadcast.wait()?, exchanged.wait()?)
        } else {
            let exchanged = exchanged.wait()?;
            (broadcast.wait()?, exchanged)
        };
        assert_eq!(waited, (all[root].clone(), vec![all[rank].clone(); size]));
        assert_eq!((gathered.wait()?, known.wait()?), ((rank == root).then(|| all.clone()), all.clone()));
        assert_eq!((inclusive.wait()?, before.wait()?), ((0..=rank).sum(), (rank > 0).then(|| (0..rank).sum())));
        assert_eq!((everywhere.wait()?, here.wait()?), (all.concat(), (rank == root).then(|| all.concat())));
        assert_eq!((sum.wait()?, scattered.wait()?), (((0..size).sum(), 1.5 * size as f64), all[rank].clone()));
    }
    Ok(())
}

fn values_are_received_in_the_order_of_their_receives(universe: &Universe) -> Result<()> {
    const NUMBER: usize = 9;
    let world = universe.world();
    let (left, right) = neighbours(universe);
    let mut receives: Vec<_> = (0..NUMBER).map(|_| world.irecv_value::<String>(left, 4)).collect::<Result<_>>()?;
    let mut last = vec![0_u8; text(left, NUMBER).len()];
    scope(|s| {
        let last = world.irecv(s, &mut last, left, ANY_TAG)?;
        let sends: Vec<_> =
            (0..=NUMBER).map(|number| world.isend_value(&text(world.rank(), number), right, 4)).collect();
        // The last first.
        last.wait()?;
        receives.reverse();
        for (place, receive) in receives.into_iter().enumerate() {
            let (received, status) = receive.wait()?;
            assert_eq!(
                (received, status.source(), status.tag()),
                (text(left, NUMBER - 1 - place), Some(left), Some(4))
            );
        }
        wait_all(sends.into_iter().collect::<Result<Vec<_>>>()?)
    })?;
    assert_eq!(last, text(left, NUMBER).as_bytes());
    world.barrier()
}

fn buffers_are_given_back(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (left, right) = neighbours(universe);
    let (rank, size) = (world.rank(), world.size());
    for len in [1, 500, 20_000] {
        // Requests that own may leave the function that made them.
        let receive = || owning(vec![(0, false); len], |s, buffer| world.irecv(s, buffer, left, 1));
        let (received, sent) = (receive()?, owning(vec![(rank, true); len], |s, data| world.isend(s, data, right, 1))?);
        let sum = owning((vec![rank; len], vec![0; len]), |s, (data, sum)| world.iallreduce(s, data, sum, op::sum))?;
        // Several in one.
        let both = owning([vec![rank as u8; len], vec![0; len]], |s, [data, halo]| {
            let halo = world.irecv(s, halo, left, 2)?;
            drop(world.isend(s, data, right, 2)?);
            Ok(halo)
        })?;
        let ((_, sum), _) = sum.wait()?;
        assert_eq!(sum, vec![(0..size).sum(); len]);
        let (buffer, status) = received.wait()?;
        assert_eq!((buffer, status.source()), (vec![(left, true); len], Some(left)));
        assert_eq!(both.wait()?.0, [vec![rank as u8; len], vec![left as u8; len]]);
        assert_eq!(sent.wait()?.0, vec![(rank, true); len]);
    }
    let refused = owning(vec![0_u8], |s, buffer| world.irecv(s, buffer, size, 1));
    assert_eq!(refused.map(drop).unwrap_err().class(), ErrorClass::Rank);
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Event {
    Text(String),
    Numbers(Vec<u64>),
    Sum(usize),
}

fn requests_of_several_types_are_waited_for_together(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (left, right) = neighbours(universe);
    let mut edge = [0_u8; 3];
    let mut seen = HashMap::new();
    scope(|s| {
        let mut requests: Vec<Request<'_, (u8, Option<Event>)>> = vec![
            world.irecv(s, &mut edge, left, 1)?.map(|_| (0, None)),
            world.irecv_value(left, 2)?.map(|(text, _)| (1, Some(Event::Text(text)))),
            owning(vec![0; 2], |s, buffer| world.irecv(s, buffer, left, 3))?
                .map(|(data, _)| (2, Some(Event::Numbers(data)))),
            world.iallreduce_value(1, op::sum)?.map(|sum| (3, Some(Event::Sum(sum)))),
        ];
        world.send(&[7_u8; 3], right, 1)?;
        world.send_value(&"text".to_string(), right, 2)?;
        world.send(&[8_u64, 9], right, 3)?;
        while let Some((_, (number, event))) = wait_any(&mut requests)? {
            assert_eq!(seen.insert(number, event), None);
        }
        Ok(())
    })?;
    assert_eq!((edge, seen.len(), &seen[&0]), ([7; 3], 4, &None));
    assert_eq!(seen[&1], Some(Event::Text("text".into())));
    assert_eq!(seen[&2], Some(Event::Numbers(vec![8, 9])));
    assert_eq!(seen[&3], Some(Event::Sum(world.size())));
    Ok(())
}

/// An executor that knows nothing of MPI: it polls what has been woken, and nothing else.
fn run<R>(future: impl Future<Output = R>) -> R {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let mut future = pin!(future);
    loop {
        assert!(
            woken.0.swap(false, Ordering::Relaxed),
            "a pending request has woken nobody: it would never be polled again"
        );
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&Waker::from(woken.clone()))) {
            return result;
        }
    }
}

/// Polls both whenever either may go on.
async fn join<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut from_a, mut from_b) = (None, None);
    std::future::poll_fn(|context| {
        if from_a.is_none()
            && let Poll::Ready(result) = a.as_mut().poll(context)
        {
            from_a = Some(result);
        }
        if from_b.is_none()
            && let Poll::Ready(result) = b.as_mut().poll(context)
        {
            from_b = Some(result);
        }
        if from_a.is_some() && from_b.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (from_a.expect("both are ready"), from_b.expect("both are ready"))
}

async fn around(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (left, right) = neighbours(universe);
    for number in 0..6 {
        let (received, sent) =
            join(world.irecv_value::<String>(left, 1)?, world.isend_value(&text(world.rank(), number), right, 1)?)
                .await;
        assert_eq!(received?.0, text(left, number));
        sent?;
        assert_eq!(world.iallreduce_value(number, op::sum)?.await?, number * world.size());
    }
    Ok(())
}

fn any_executor_completes_requests(universe: &Universe) -> Result<()> {
    run(around(universe))?;
    run(join(around(universe), async {})).0
}

fn a_rank_drives_several_futures(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (left, right) = neighbours(universe);
    world.block_on(around(universe))?;
    // One future waits for what another does later.
    let receiver = async { world.irecv_value::<usize>(left, 5)?.await };
    let sender = async {
        world.iallreduce_value(1, op::sum)?.await?;
        world.isend_value(&world.rank(), right, 5)?.await
    };
    let (received, sent) = world.block_on(join(receiver, sender));
    assert_eq!(received?.0, left);
    sent?;
    // To oneself, without any progress in between.
    let me = universe.this_rank();
    let (received, sent) =
        me.block_on(join(async { me.irecv_value::<u8>(0, 1)?.await }, async { me.send(&[3_u8], 0, 1) }));
    sent?;
    assert_eq!(received?.0, 3);
    assert_eq!(me.block_on(async { me.block_on(async { 7 }) }), 7);
    world.barrier()
}

/// Handed to and fro between a rank and a thread that makes it wait long enough to fall asleep. A rank that nobody
/// wakes sleeps a second at a time: a minute in all.
fn a_sleeping_rank_is_woken_from_any_thread(universe: &Universe) -> Result<()> {
    const BIG_LOCKS: u32 = 60;
    let (ask, asked) = mpsc::channel::<Waker>();
    let answers = Arc::new(AtomicU32::new(0));
    let thread = thread::spawn({
        let answers = answers.clone();
        move || {
            for waker in asked {
                thread::sleep(Duration::from_millis(5));
                answers.fetch_add(1, Ordering::Release);
                waker.wake();
            }
        }
    });
    let start = Instant::now();
    universe.this_rank().block_on(async {
        for turn in 0..BIG_LOCKS {
            let mut has_asked = false;
            poll_fn(|context| {
                if answers.load(Ordering::Acquire) > turn {
                    return Poll::Ready(());
                }
                if !std::mem::replace(&mut has_asked, true) {
                    ask.send(context.waker().clone()).expect("the thread listens");
                }
                Poll::Pending
            })
            .await;
        }
    });
    drop(ask);
    thread.join().expect("the thread ends");
    assert!(start.elapsed() < Duration::from_secs(30), "{BIG_LOCKS} turns took {:?}", start.elapsed());
    universe.world().barrier()
}

fn what_others_wait_for_goes_on_without_its_request(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (left, right) = neighbours(universe);
    let own = vec![world.rank() as u64; 20_000];
    drop(world.isend_value(&own, right, 1)?);
    drop(owning(own.clone(), |s, data| world.isend(s, data, right, 2))?);
    // Rank 0 forgets what the others wait for.
    let sum = world.iallreduce_value(1, op::sum)?;
    let long = owning(own, |s, data| world.iallreduce_in_place(s, data, op::sum))?;
    if world.rank() == 0 {
        drop((sum, long));
    } else {
        assert_eq!(sum.wait()?, world.size());
        assert_eq!(long.wait()?.0, vec![(0..world.size() as u64).sum::<u64>(); 20_000]);
    }
    assert_eq!(world.recv_value::<Vec<u64>>(left, 1)?.0, vec![left as u64; 20_000]);
    assert_eq!(world.recv_value::<Vec<u64>>(left, 2)?.0, vec![left as u64; 20_000]);
    world.barrier()
}

fn a_dropped_receive_takes_no_message(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (left, right) = neighbours(universe);
    for len in [1, 20_000] {
        drop(world.irecv_value::<Vec<u32>>(left, 6)?);
        drop(world.irecv_value::<[u32; 20]>(ANY_SOURCE, 6)?);
        drop(owning(vec![0_u32; len], |s, buffer| world.irecv(s, buffer, left, 6))?);
        world.barrier()?;
        let sent = world.isend_value(&vec![9_u32; len], right, 6)?;
        assert_eq!(world.recv_value::<Vec<u32>>(left, 6)?.0, vec![9; len]);
        sent.wait()?;
    }
    world.barrier()
}

fn forgotten_requests_harm_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world().dup()?;
    let (left, right) = neighbours(universe);
    let mut buffer = vec![0_u16; 20_000];
    std::mem::forget(owning(buffer.clone(), |s, buffer| world.irecv(s, buffer, left, 7))?);
    std::mem::forget(world.irecv_value::<Vec<u16>>(left, 8)?);
    scope(|s| {
        std::mem::forget(world.irecv(s, &mut buffer, left, 9)?);
        for tag in [7, 8, 9] {
            world.isend_value(&vec![tag as u16; 20_000], right, tag)?.wait()?;
        }
        Ok(())
    })?;
    assert_eq!(buffer, vec![9; 20_000]);
    std::mem::forget(world.ibcast_value("x".repeat(20_000), 0)?);
    assert_eq!(world.allreduce_value(1, op::sum)?, world.size());
    universe.world().barrier()
}

fn a_cancelled_receive_gives_no_value(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (left, _) = neighbours(universe);
    let mut receive = world.irecv_value::<String>(left, 11)?;
    receive.cancel()?;
    let error = receive.wait().unwrap_err();
    assert!(error.class() == ErrorClass::Request && error.to_string().contains("cancelled"), "{error}");
    let error = world.irecv_value::<u8>(PROC_NULL, 1).map(drop).unwrap_err();
    assert!(error.to_string().contains("from nobody"), "{error}");
    let sum = world.iallreduce_value(1, op::sum)?;
    let mut sum = sum.map(|sum| sum + 1);
    if let Err(error) = sum.cancel() {
        assert!(error.to_string().contains("can't be cancelled"), "{error}");
    }
    while !sum.test()? {}
    assert!(sum.test()?, "asked again");
    assert_eq!(sum.wait()?, world.size() + 1);
    Ok(())
}
