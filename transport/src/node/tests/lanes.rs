//! Jobs of several lanes: what they keep apart, and what they have in common.

use super::*;
use crate::layout::{PEERS_WITHOUT_HINTS, Part};
use crate::{
    Arena, Fabric, JobShape, Queues, ReadSpan, Reading, RemoteAddress, RemoteError, RemoteMemory, SharedMemory, Signal,
    Waiting, WriteSpan,
};

/// The fabrics of two peers in two lanes: by peer, then lane.
fn pairs() -> [[NodeFabric; 2]; 2] {
    let mut fabrics = NodeFabric::threads_with_lanes(2, 2).unwrap().into_iter().flatten();
    [(); 2].map(|()| [(); 2].map(|()| fabrics.next().unwrap()))
}

fn block(fabric: &NodeFabric) -> std::ptr::NonNull<u8> {
    fabric.heap().allocate(std::alloc::Layout::new::<[u64; 8]>()).unwrap()
}

#[test]
fn peers_are_numbered_alike_in_all_lanes() {
    for (peer, lanes) in pairs().iter().enumerate() {
        for fabric in lanes {
            assert_eq!((fabric.me(), fabric.peers()), (peer, 2));
            assert_eq!((fabric.job().peers(), fabric.job().lanes()), (2, 2));
        }
    }
    assert_eq!(NodeFabric::threads(3).unwrap()[0].job().lanes(), 1);
}

#[test]
fn a_message_is_seen_in_its_lane_only() {
    for lane in [0, 1] {
        let [mut a, mut b] = pairs();
        push(&mut a[lane], 1, 100);
        assert_eq!(b[1 - lane].ready(Queue::Messages), None);
        assert!(matches!(b[1 - lane].front(0, Queue::Messages), Ok(None)));
        assert_eq!(b[lane].ready(Queue::Messages), Some(0));
        assert!(matches!(b[lane].front(0, Queue::Messages), Ok(Some(arrival)) if arrival.len == 100));
        // A peer's own lanes are as far from each other as those of two.
        push(&mut a[lane], 0, 0);
        assert_eq!(a[1 - lane].ready(Queue::Messages), None);
        assert_eq!(a[lane].ready(Queue::Messages), Some(0));
    }
}

#[test]
fn hints_are_left_in_their_lane() {
    let peers = PEERS_WITHOUT_HINTS + 1;
    let mut fabrics = NodeFabric::threads_with_lanes(peers, 3).unwrap();
    push(&mut fabrics[7][2], 0, 0);
    let heard = |fabric: &mut NodeFabric| (0..peers).find_map(|_| fabric.ready(Queue::Messages));
    let heard: Vec<_> = fabrics[0].iter_mut().map(heard).collect();
    assert_eq!(heard, [None, None, Some(7)]);
}

#[test]
fn claims_and_signals_are_of_their_lane() {
    let [mut a, mut b] = pairs();
    b[0].set_claim(0, 5);
    b[1].set_claim(0, 6);
    assert_eq!(a[1].swap_claim(1, 0, 6, 7), Ok(()));
    assert_eq!(a[0].swap_claim(1, 0, 7, 8), Err(5));
    assert_eq!(a[1].add_to_claim(1, 0, 1), 7);
    a[1].signal(1, Signal::Wake);
    assert_eq!(b[0].take_signals(), SignalSet::default());
    assert_eq!(b[1].take_signals(), SignalSet(Signal::Wake as u32));
}

#[test]
fn who_sleeps_is_woken_from_its_lane() {
    let [mut a, mut b] = pairs();
    assert!(a.iter_mut().all(|fabric| fabric.arm_doorbell(true)));
    let sleep = |fabric: &NodeFabric| fabric.control(0).sleeping.load(Ordering::Relaxed) != AWAKE;
    push(&mut b[1], 0, 0);
    assert_eq!(a.each_ref().map(sleep), [true, false]);
    b[0].wake(0);
    assert_eq!(a.each_ref().map(sleep), [false; 2]);
}

/// A process may use its memory in any lane, whichever lane's heap it is of.
#[test]
fn a_block_is_reached_in_every_lane() {
    for [owner, user] in [[0, 1], [1, 0], [1, 1]] {
        let [mut a, b] = pairs();
        let block = block(&b[owner]);
        let address = address(&b[user], block, 64);
        assert_eq!(address, super::address(&b[owner], block, 64));
        assert_ne!(address.space, PRIVATE_SPACE);
        let bytes = [7; 64];
        a[user].remote_write(1, &address, 0, ReadSpan::from(&bytes[..]), None).unwrap();
        let mut read = [0; 64];
        a[1 - user].remote_read(1, &address, 0, WriteSpan::from(&mut read[..]), Reading::alone(0)).unwrap();
        assert_eq!(read, bytes);
        assert_eq!(b[0].job().copied(), [128, 0], "counted in whichever lane");
        let nobodys = RemoteAddress { space: PRIVATE_SPACE + 1 + 4, ..address };
        let refused = a[user].remote_write(1, &nobodys, 0, ReadSpan::from(&bytes[..]), None);
        assert_eq!(refused, Err(RemoteError::Refused));
    }
}

/// There is one arena for the process, and its record is with the first lane's end.
#[test]
fn the_arena_is_reached_in_every_lane() {
    let [mut a, b] = pairs();
    let job = b[0].job();
    assert!(Arena::take(job.as_fd(), 2).is_err(), "the third end is no peer");
    let mut arena = Arena::take(job.as_fd(), 1).unwrap();
    assert!(arena.publish(4096, 4096) && job.segment.has(Part::Arena, 1, 4096));
    let start = job.segment.at(job.segment.layout().arena(1));
    let address = address(&b[1], start, 4096);
    assert_eq!(address.space, PRIVATE_SPACE + 1 + 1);
    a[1].remote_write(1, &address, 8, ReadSpan::from(&[9; 8][..]), None).unwrap();
    let mut read = [0; 10];
    a[0].remote_read(1, &address, 7, WriteSpan::from(&mut read[..]), Reading::alone(0)).unwrap();
    assert_eq!(read, [0, 9, 9, 9, 9, 9, 9, 9, 9, 0]);
}

#[test]
fn heaps_are_apart() {
    let [a, b] = pairs();
    let blocks = [&a, &b].map(|lanes| lanes.each_ref().map(block));
    let places: std::collections::BTreeSet<_> = blocks.iter().flatten().collect();
    assert_eq!(places.len(), 4);
    assert!(!a[1].heap().free(blocks[0][0]) && a[0].heap().free(blocks[0][0]));
}

#[test]
fn an_abort_is_seen_in_every_lane() {
    let [mut a, mut b] = pairs();
    b[1].abort(7, "enough");
    assert_eq!(a[0].job().abort_record().unwrap().peer, Some(1));
    for fabric in a.iter_mut().chain(&mut b) {
        assert!(fabric.job_aborted());
        assert_eq!(fabric.take_signals(), SignalSet(Signal::Abort as u32));
    }
}

#[test]
fn launchers_ask_for_peers() {
    let job = &Job::create_shaped(&JobShape { lanes: 2, ..JobShape::of(2) }, None).unwrap();
    assert_eq!(job.kernel_pairs(), None);
    let fabrics = std::thread::scope(|scope| {
        let attach = |me| scope.spawn(move || NodeFabric::attach_lanes(job, me).unwrap());
        [0, 1].map(attach).map(|thread| thread.join().unwrap())
    });
    assert!(fabrics.iter().all(|lanes| lanes.len() == 2));
    assert_eq!((job.peers(), job.lanes(), job.kernel_pairs()), (2, 2, Some(0)));
    assert!((0..2).all(|peer| job.attached(peer) && job.pid(peer) == Some(std::process::id())));
    fabrics[1][1].finish();
    assert!(!job.finished(1), "the first lane speaks for the process");
    fabrics[1][0].finish();
    assert!(job.finished(1) && !job.finished(0));
}
