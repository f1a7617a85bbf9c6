//! Memory-Based Signal, sleeping and waking.
//!
//! A wake-up that gets lost costs a sleeper its safety net, about a second. The rounds here are so many that a defect
//! which loses them regularly runs into the watchdog of whoever runs the suite.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rwmpi_transport::{Backoff, Enqueue, Fabric, Queue, ReadSpan, Signal, WriteSpan};

use super::Subject;
use super::support::{barrier, hear, hear_address, pattern, pull, push, tell, tell_address, try_pull};

const ROUNDS: u32 = 400;

/// Long enough for a waiting peer to fall asleep, in most rounds; in others it is caught on its way.
fn let_it_sleep(round: u32) {
    std::thread::sleep(Duration::from_millis([0, 1, 3, 5][round as usize % 4]));
}

/// Waits until `done` says so.
fn idle_until<F: Fabric>(fabric: &mut F, mut done: impl FnMut(&mut F) -> bool) {
    let mut backoff = Backoff::default();
    while !done(fabric) {
        fabric.idle(&mut backoff);
    }
}

/// Signals arrive one and all, and wake a peer that waits for nothing else.
pub(super) fn signals_arrive_and_wake<S: Subject>(fabric: &mut S) {
    assert_eq!(fabric.take_signals().0, 0, "a signal that nobody sent");
    barrier(fabric);
    if fabric.me() == 0 {
        for round in 0..ROUNDS {
            let_it_sleep(round);
            fabric.signal(1, Signal::Wake);
            fabric.signal(1, Signal::Cancel);
            hear(fabric, 1, round);
        }
        return;
    }
    for round in 0..ROUNDS {
        let mut seen = 0;
        let both = Signal::Wake as u32 | Signal::Cancel as u32;
        idle_until(fabric, |fabric| {
            seen |= fabric.take_signals().0;
            seen == both
        });
        tell(fabric, 0, round);
    }
    assert_eq!(fabric.take_signals().0, 0, "a signal that nobody sent");
}

/// A handler runs while its peer computes without calling the library.
pub(super) fn a_signal_interrupts_a_busy_peer<S: Subject>(fabric: &mut S) {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    if fabric.me() == 0 {
        hear(fabric, 1, 1);
        fabric.signal(1, Signal::Cancel);
        return;
    }
    let works = fabric.interrupt_on_signal(|signals| {
        INTERRUPTED.fetch_or(signals.contains(Signal::Cancel), Ordering::Relaxed);
    });
    tell(fabric, 0, 1);
    while works && !INTERRUPTED.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    idle_until(fabric, |fabric| fabric.take_signals().contains(Signal::Cancel));
}

/// A push wakes its receiver, whichever queue it is for.
pub(super) fn pushes_wake_sleepers<S: Subject>(fabric: &mut S) {
    let peer = 1 - fabric.me();
    for round in 0..2 * ROUNDS {
        let queue = if round % 3 == 0 { Queue::Requests } else { Queue::Messages };
        if round as usize % 2 == fabric.me() {
            let_it_sleep(round);
            push(fabric, peer, queue, [round; 4], &[]);
        } else {
            assert_eq!(pull(fabric, peer, queue).0, [round; 4]);
        }
    }
}

/// A sender that met a full queue sleeps until there is room.
pub(super) fn pops_wake_who_waits_for_room<S: Subject>(fabric: &mut S) {
    for round in 0..ROUNDS {
        if fabric.me() == 0 {
            let try_next = |fabric: &mut S| {
                fabric.try_push(1, Queue::Messages, Enqueue::Next, [round; 4], ReadSpan::EMPTY).is_ok()
            };
            while try_next(fabric) {}
            tell(fabric, 1, round);
            push(fabric, 1, Queue::Messages, [round; 4], b"last");
            hear(fabric, 1, round);
        } else {
            hear(fabric, 0, round);
            let_it_sleep(round);
            while pull(fabric, 0, Queue::Messages).1 != b"last" {}
            tell(fabric, 0, round);
        }
    }
}

/// A sender that waits for its cell to be taken is woken by the pop.
pub(super) fn pops_wake_who_waits_for_acceptance<S: Subject>(fabric: &mut S) {
    for round in 0..ROUNDS {
        if fabric.me() == 0 {
            push(fabric, 1, Queue::Messages, [round; 4], &[]);
            if fabric.accepted(1).is_some() {
                idle_until(fabric, |fabric| fabric.accepted(1) == Some(u64::from(round) + 1));
            }
        } else {
            let_it_sleep(round);
            pull(fabric, 0, Queue::Messages);
        }
    }
    barrier(fabric);
}

/// More peers than cores pass a token around; all but one wait at any time.
pub(super) fn a_ring_of_many_waiters_turns<S: Subject>(fabric: &mut S) {
    let (me, peers) = (fabric.me(), fabric.peers());
    let (next, previous) = ((me + 1) % peers, (me + peers - 1) % peers);
    for round in 0..ROUNDS {
        if me == 0 {
            let_it_sleep(round);
            push(fabric, next, Queue::Messages, [round; 4], &[]);
        }
        assert_eq!(pull(fabric, previous, Queue::Messages).0, [round; 4]);
        if me != 0 {
            push(fabric, next, Queue::Messages, [round; 4], &[]);
        }
    }
    assert!(try_pull(fabric, previous, Queue::Messages).is_none());
}

/// Of several words that a peer watches, any that has come keeps it from sleeping, out of which nobody would wake it
/// here.
pub(super) fn any_of_several_words_prevents_sleep<S: Subject>(fabric: &mut S) {
    /// More than a peer keeps in mind.
    const WORDS: usize = 40;
    /// Beyond those that spin and yield, more than once.
    const IDLES: u32 = 10_000;
    let me = fabric.me();
    if !(0..fabric.peers()).any(|peer| peer != me && fabric.shares_memory_with(peer)) {
        // Nobody else could set them.
        return;
    }
    let Some(block) = fabric.shared_block(WORDS * 8) else { return };
    let address = fabric.address_of(block.span().as_read());
    let Some(shared) = fabric.shared_part(me, &address) else { return };
    let words: Vec<_> = (0..WORDS).map(|number| shared.word(number * 8).unwrap()).collect();
    for watched in [1, 2, 3, WORDS] {
        for come in [0, watched - 1] {
            words.iter().enumerate().for_each(|(number, &word)| fabric.set_word(word, u64::from(number == come)));
            let mut backoff = Backoff::default();
            for _ in 0..IDLES {
                words[..watched].iter().for_each(|&word| fabric.watch(word, 1));
                fabric.idle(&mut backoff);
            }
        }
    }
}

/// Whoever watches a word sees it change even in its sleep, and then sees what was written before.
pub(super) fn a_word_wakes_who_watches_it<S: Subject>(fabric: &mut S) {
    const DATA: usize = 64;
    if fabric.me() == 1 {
        let block = fabric.shared_block(DATA + 100);
        let address = block.map(|block| fabric.address_of(block.span().as_read()));
        let shared = address.and_then(|address| fabric.shared_part(1, &address));
        assert_eq!(shared.is_some(), fabric.shares_memory_with(0));
        tell(fabric, 0, u32::from(shared.is_some()));
        let (Some(address), Some(shared)) = (address, shared) else { return };
        assert_eq!(shared.len(), DATA + 100);
        assert_eq!(shared.word(DATA + 100), None, "a word outside");
        assert_eq!(shared.word(4), None, "a word that is not aligned");
        assert_eq!(shared.part(DATA, 101), None, "a part beyond the end");
        let (word, data) = (shared.word(0).unwrap(), shared.part(DATA, 100).unwrap());
        tell_address(fabric, 0, address);
        for round in 1..=ROUNDS {
            let_it_sleep(round);
            let bytes = pattern(round.into(), 100);
            fabric.write_shared(data, ReadSpan::from(&bytes[..]), round % 2 == 0);
            fabric.set_word(word, round.into());
            fabric.wake(0);
            hear(fabric, 0, round);
        }
        assert_eq!(fabric.word(word), u64::from(ROUNDS) + 5);
        return;
    }
    if pull(fabric, 1, Queue::Requests).0[0] == 0 {
        return;
    }
    let address = hear_address(fabric, 1);
    let shared = fabric.shared_part(1, &address).expect("the owner has one there");
    let (word, data) = (shared.word(0).unwrap(), shared.part(DATA, 100).unwrap());
    for round in 1..=ROUNDS {
        idle_until(fabric, |fabric| {
            fabric.watch(word, round.into());
            fabric.word(word) == round.into()
        });
        let mut bytes = [0; 100];
        fabric.shared_span(data).copy_to(WriteSpan::from(&mut bytes[..]));
        assert_eq!(bytes[..], pattern(round.into(), 100));
        if round == ROUNDS {
            fabric.add_to_word(word, 5);
        }
        tell(fabric, 1, round);
    }
}
