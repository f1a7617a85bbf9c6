//! Remote Write, remote read, claim words.

use rwmpi_transport::{
    Backoff, Fabric, Notice, Queue, ReadSpan, Reading, RemoteAddress, RemoteError, Way, WriteSpan, Written,
};

use super::Subject;
use super::support::{Block, barrier, hear, hear_address, pattern, pull, push, tell, tell_address};

/// The kinds of memory that a peer can hand out.
fn blocks<S: Subject>(fabric: &S, len: usize) -> Vec<Block> {
    [Some(Block::private(len)), fabric.shared_block(len)].into_iter().flatten().collect()
}

/// The blocks of peer 1 that peer 0 can write to, and their addresses, told to peer 0. What peer 1 gets has a block of
/// its own; peer 0 gets addresses only.
fn exchange<S: Subject>(fabric: &mut S, len: usize) -> Vec<(RemoteAddress, Option<Block>)> {
    exchange_reachable(fabric, len, |_| true)
}

/// The same, of those blocks only that are reached by a `wanted` way.
fn exchange_reachable<S: Subject>(
    fabric: &mut S,
    len: usize,
    wanted: fn(Way) -> bool,
) -> Vec<(RemoteAddress, Option<Block>)> {
    if fabric.me() == 1 {
        let mut reachable = Vec::new();
        for block in blocks(fabric, len) {
            let address = fabric.hand_out(0, block.span());
            if fabric.way_from(0, &address).is_some_and(wanted) {
                reachable.push((address, Some(block)));
            }
        }
        tell(fabric, 0, reachable.len() as u32);
        for &(address, _) in &reachable {
            tell_address(fabric, 0, address);
        }
        return reachable;
    }
    let ([count, ..], _) = pull(fabric, 1, Queue::Requests);
    (0..count).map(|_| (hear_address(fabric, 1), None)).collect()
}

/// Writes all of `bytes`, however often that takes; by which way.
fn write<F: Fabric>(fabric: &mut F, peer: usize, address: &RemoteAddress, offset: u64, bytes: &[u8]) -> Way {
    let mut backoff = Backoff::default();
    let mut done = 0;
    loop {
        let rest = ReadSpan::from(&bytes[done..]);
        let written = fabric.remote_write(peer, address, offset + done as u64, rest, None).expect("a way");
        done += written.len;
        if done == bytes.len() {
            return written.way;
        }
        fabric.idle(&mut backoff);
    }
}

/// The same, and pushes an empty cell behind it, at once with its end where that can be had.
fn write_and_push<F: Fabric>(fabric: &mut F, peer: usize, address: &RemoteAddress, offset: u64, bytes: &[u8]) {
    let mut backoff = Backoff::default();
    let mut done = 0;
    loop {
        let rest = ReadSpan::from(&bytes[done..]);
        let notice = Notice { header: [0; 4], payload: ReadSpan::EMPTY };
        let written = fabric.remote_write(peer, address, offset + done as u64, rest, Some(notice)).expect("a way");
        done += written.len;
        assert!(!written.told || done == bytes.len());
        if written.told {
            return;
        }
        if done == bytes.len() {
            return push(fabric, peer, Queue::Messages, [0; 4], &[]);
        }
        fabric.idle(&mut backoff);
    }
}

/// A cell pushed after a write, or with it, is never seen before the written bytes.
pub(super) fn writes_are_visible_before_later_cells<S: Subject>(fabric: &mut S) {
    const ROUNDS: u64 = 300;
    const LEN: usize = 3000;
    for (address, block) in exchange(fabric, LEN + 7) {
        for round in 1..=ROUNDS {
            let bytes = pattern(round, LEN);
            if let Some(block) = block {
                pull(fabric, 0, Queue::Messages);
                assert_eq!(block.contents()[7..], bytes, "round {round}");
                tell(fabric, 0, 1);
            } else {
                if round % 2 == 0 {
                    write(fabric, 1, &address, 7, &bytes);
                    push(fabric, 1, Queue::Messages, [0; 4], &[]);
                } else {
                    write_and_push(fabric, 1, &address, 7, &bytes);
                }
                hear(fabric, 1, 1);
            }
        }
    }
}

/// A read that follows a cell sees what the peer had written before it pushed the cell.
pub(super) fn reads_see_what_was_written_before_the_cell<S: Subject>(fabric: &mut S) {
    const LEN: usize = 5000;
    for (address, block) in exchange_reachable(fabric, LEN, Way::reads) {
        for round in 1..=300 {
            let bytes = pattern(round, LEN);
            if let Some(block) = block {
                block.fill(&bytes);
                push(fabric, 0, Queue::Messages, [0; 4], &[]);
                hear(fabric, 0, 1);
                assert_eq!(block.contents(), bytes, "changed by who has read it in round {round}");
            } else {
                pull(fabric, 1, Queue::Messages);
                // One that caches hold, and one that none can.
                for working_set in [0, u64::MAX] {
                    let mut read = vec![0; LEN - 100];
                    let way = fabric.remote_read(
                        1,
                        &address,
                        100,
                        WriteSpan::from(&mut read[..]),
                        Reading::alone(working_set),
                    );
                    assert!(way.is_ok(), "{way:?}");
                    assert_eq!(read, bytes[100..], "round {round}");
                }
                tell(fabric, 1, 1);
            }
        }
    }
}

/// One byte too many, at either end and by overflow: refused, and no byte changes.
pub(super) fn transfers_outside_are_refused_without_effect<S: Subject>(fabric: &mut S) {
    const LEN: u64 = 4096;
    for (mut address, block) in exchange(fabric, LEN as usize) {
        // Only the middle is handed out.
        address.place += 1000;
        address.len = 1000;
        if let Some(block) = block {
            hear(fabric, 0, 1);
            assert!(block.contents().iter().all(|&byte| byte == 0), "a refused write had an effect");
            tell(fabric, 0, 1);
            hear(fabric, 0, 2);
            let contents = block.contents();
            assert!((0..LEN as usize).all(|index| contents[index] == u8::from((1000..2000).contains(&index))));
            continue;
        }
        for (offset, len) in [(0, 1001), (1, 1000), (1000, 1), (1001, 0), (u64::MAX, 1), (u64::MAX - 1, 2)] {
            let mut bytes = vec![1_u8; len];
            let written = fabric.remote_write(1, &address, offset, ReadSpan::from(&bytes[..]), None);
            assert_eq!(written, Err(RemoteError::Refused), "write of {len} at {offset}");
            let read = fabric.remote_read(1, &address, offset, WriteSpan::from(&mut bytes[..]), Reading::alone(0));
            assert_eq!(read, Err(RemoteError::Refused), "read of {len} at {offset}");
            assert_eq!(bytes, vec![1; len], "a refused read had an effect");
        }
        tell(fabric, 1, 1);
        hear(fabric, 1, 1);
        let bytes = vec![1_u8; 1000];
        write(fabric, 1, &address, 0, &bytes);
        assert!(fabric.remote_write(1, &address, 1000, ReadSpan::EMPTY, None).is_ok());
        tell(fabric, 1, 2);
    }
}

/// Addresses that no peer handed out: outside its shared memory, in nobody's, running over the end of the address
/// space.
pub(super) fn made_up_addresses_are_refused<S: Subject>(fabric: &mut S) {
    let shared = fabric.shared_block(64).map(|block| fabric.address_of(block.span().as_read()));
    barrier(fabric);
    let peer = 1 - fabric.me();
    let private = fabric.address_of(Block::private(64).span().as_read());
    let mut made_up = vec![RemoteAddress { place: u64::MAX - 10, len: 100, ..private }];
    for address in shared.into_iter() {
        made_up.extend([
            RemoteAddress { place: 1 << 50, ..address },
            RemoteAddress { place: u64::MAX - 10, len: 64, ..address },
            RemoteAddress { len: 1 << 50, ..address },
            RemoteAddress { space: address.space + 1000, ..address },
            RemoteAddress { space: u64::MAX, ..address },
        ]);
    }
    for address in made_up {
        let mut bytes = [0_u8; 16];
        let written = fabric.remote_write(peer, &address, 0, ReadSpan::from(&bytes[..]), None);
        assert_eq!(written, Err(RemoteError::Refused), "{address:?}");
        let read = fabric.remote_read(peer, &address, 0, WriteSpan::from(&mut bytes[..]), Reading::alone(0));
        assert_eq!(read, Err(RemoteError::Refused), "{address:?}");
    }
    barrier(fabric);
}

/// What the owner of memory says about the way to it is what the peer finds.
pub(super) fn ways_are_as_announced<S: Subject>(fabric: &mut S) {
    let (me, peers) = (fabric.me(), fabric.peers());
    for block in blocks(fabric, 100) {
        for peer in (0..peers).filter(|&peer| peer != me) {
            let address = fabric.hand_out(peer, block.span());
            let way = fabric.way_from(peer, &address);
            tell_address(fabric, peer, address);
            push(fabric, peer, Queue::Requests, [0; 4], format!("{way:?}").as_bytes());
        }
        for peer in (0..peers).filter(|&peer| peer != me) {
            let address = hear_address(fabric, peer);
            let (_, announced) = pull(fabric, peer, Queue::Requests);
            let bytes = [me as u8; 10];
            let written = fabric.remote_write(peer, &address, me as u64 * 10, ReadSpan::from(&bytes[..]), None);
            let mut back = [0_u8; 10];
            let read =
                fabric.remote_read(peer, &address, me as u64 * 10, WriteSpan::from(&mut back[..]), Reading::alone(0));
            match written {
                Ok(Written { way, len, .. }) => {
                    assert_eq!((format!("{:?}", Some(way)).as_bytes(), len), (&announced[..], bytes.len()));
                    assert_eq!(read, if way.reads() { Ok(way) } else { Err(RemoteError::NoWay) });
                    assert_eq!(back, if way.reads() { bytes } else { [0; 10] });
                }
                Err(error) => {
                    assert_eq!((error, read), (RemoteError::NoWay, Err(RemoteError::NoWay)));
                    assert_eq!(announced, b"None");
                }
            }
        }
        barrier(fabric);
    }
}

/// Some megabytes, in both directions at the same time.
pub(super) fn large_transfers_arrive_whole<S: Subject>(fabric: &mut S) {
    const LEN: usize = (5 << 20) + 13;
    for (address, block) in exchange(fabric, LEN) {
        if let Some(block) = block {
            hear(fabric, 0, 1);
            assert!(block.contents() == pattern(1, LEN));
            hear(fabric, 0, 2);
            assert!(block.contents() == pattern(1, LEN), "changed by who has read it");
            continue;
        }
        let bytes = pattern(1, LEN);
        let way = write(fabric, 1, &address, 0, &bytes);
        tell(fabric, 1, 1);
        if way.reads() {
            let mut back = vec![0; LEN];
            fabric
                .remote_read(1, &address, 0, WriteSpan::from(&mut back[..]), Reading::alone(2 * LEN as u64))
                .expect("a way");
            assert!(back == bytes);
        }
        tell(fabric, 1, 2);
    }
}

/// All who share memory with the words' owner race for them: each word has exactly one winner, whom the losers agree
/// on.
pub(super) fn a_claim_has_one_winner<S: Subject>(fabric: &mut S) {
    let (me, peers) = (fabric.me(), fabric.peers());
    let words = fabric.claim_words();
    for owner in 0..peers {
        for index in 0..words {
            if me == owner {
                fabric.set_claim(index, 1000 + index as u64);
            }
        }
        barrier(fabric);
        if fabric.shares_memory_with(owner) {
            let mine = 1 + me as u64;
            let winners: Vec<u8> = (0..words)
                .map(|index| match fabric.swap_claim(owner, index, 1000 + index as u64, mine) {
                    Ok(()) => mine as u8,
                    Err(found) => u8::try_from(found).expect("a peer's number"),
                })
                .collect();
            // Everyone must have seen the same winners.
            if me == owner {
                let rivals = rivals(fabric);
                for &rival in rivals.iter().filter(|&&rival| rival != me) {
                    assert_eq!(pull(fabric, rival, Queue::Messages).1, winners);
                }
                assert!(winners.iter().all(|&winner| rivals.contains(&(usize::from(winner) - 1))));
            } else {
                push(fabric, owner, Queue::Messages, [0; 4], &winners);
            }
        }
        barrier(fabric);
    }
}

/// Those that have claim words in common with this peer, itself included.
fn rivals<S: Subject>(fabric: &S) -> Vec<usize> {
    (0..fabric.peers()).filter(|&peer| fabric.shares_memory_with(peer)).collect()
}

/// All who can add to the same words at the same time: everyone sees other values, and nothing gets lost.
pub(super) fn additions_to_a_word_are_counted_once<S: Subject>(fabric: &mut S) {
    const EACH: u64 = 2000;
    let me = fabric.me();
    for index in [0, 1, fabric.claim_words().saturating_sub(1)] {
        if fabric.claim_words() == 0 {
            return;
        }
        if me == 1 {
            fabric.set_claim(index, 0);
        }
        barrier(fabric);
        if fabric.shares_memory_with(1) {
            let mut last = None;
            for _ in 0..EACH {
                let found = fabric.add_to_claim(1, index, 1);
                assert!(last < Some(found), "one value was given twice");
                last = Some(found);
            }
        }
        barrier(fabric);
        if fabric.shares_memory_with(1) {
            let total = EACH * rivals(fabric).len() as u64;
            assert_eq!(fabric.swap_claim(1, index, u64::MAX, 0), Err(total));
        }
        barrier(fabric);
    }
}
