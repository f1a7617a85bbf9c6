//! Point-to-point communication: matching, modes, completion, cancelling, probing, errors.

use rwmpi::{
    ANY_SOURCE, ANY_TAG, ErrorClass, PROC_NULL, Result, Source, Universe, scope, test_all, test_some, wait_all,
    wait_any, wait_some,
};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("messages_of_every_length_arrive_whole", messages_of_every_length_arrive_whole),
    ("receives_posted_first_are_served_too", receives_posted_first_are_served_too),
    ("tags_select_in_any_order", tags_select_in_any_order),
    ("messages_do_not_overtake", messages_do_not_overtake),
    ("wildcards_take_what_comes", wildcards_take_what_comes),
    ("wildcards_and_named_sources_mix", wildcards_and_named_sources_mix),
    ("every_send_mode_delivers", every_send_mode_delivers),
    ("synchronous_sends_wait_for_their_receive", synchronous_sends_wait_for_their_receive),
    ("completion_in_all_its_forms", completion_in_all_its_forms),
    ("pending_receives_can_be_cancelled", pending_receives_can_be_cancelled),
    ("probes_see_what_a_receive_would_get", probes_see_what_a_receive_would_get),
    ("messages_to_self", messages_to_self),
    ("nobody_is_a_partner_too", nobody_is_a_partner_too),
    ("exchanges_around_a_ring", exchanges_around_a_ring),
    ("persistent_requests_start_again_and_again", persistent_requests_start_again_and_again),
    ("too_long_a_message_is_reported", too_long_a_message_is_reported),
    ("arguments_are_checked", arguments_are_checked),
];

/// Bytes: around a line, a cell's payload, the thresholds of the protocol, and far beyond a ring.
pub(super) const LENGTHS: [usize; 17] =
    [0, 1, 8, 39, 40, 41, 64, 1000, 8191, 8192, 8193, 16_384, 16_385, 65_536, 262_144, 1_000_003, 3_000_000];

/// Recognisable contents.
pub(super) fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|place| (place * 31 + place / 251 + seed * 17) as u8).collect()
}

/// Each rank's partner: neighbours in pairs; the last of an odd number has none.
fn partner(universe: &Universe) -> Option<usize> {
    let partner = universe.world().rank() ^ 1;
    (partner < universe.world().size()).then_some(partner)
}

/// Runs `first` on one rank of each pair and `second` on the other; both get the partner.
pub(super) fn in_pairs(
    universe: &Universe,
    first: impl Fn(usize) -> Result<()>,
    second: impl Fn(usize) -> Result<()>,
) -> Result<()> {
    match partner(universe) {
        Some(other) if other > universe.world().rank() => first(other)?,
        Some(other) => second(other)?,
        None => {}
    }
    universe.world().barrier()
}

fn messages_of_every_length_arrive_whole(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for shared in [false, true] {
        let send = |other| {
            for (tag, len) in LENGTHS.into_iter().enumerate() {
                let mut data = universe.alloc::<u8>(len);
                data.copy_from_slice(&pattern(tag, len));
                if shared {
                    world.send(&data, other, tag as i32)?
                } else {
                    let private = data.to_vec();
                    world.send(&private, other, tag as i32)?
                }
            }
            Ok(())
        };
        let receive = |other| {
            for (tag, len) in LENGTHS.into_iter().enumerate() {
                let mut in_heap = universe.alloc::<u8>(len + 5);
                let mut ordinary = vec![0; len + 5];
                let buffer = if shared { &mut in_heap[..] } else { &mut ordinary[..] };
                let status = world.recv(buffer, other, tag as i32)?;
                assert_eq!(status.count::<u8>(), Some(len));
                assert_eq!((status.source(), status.tag()), (Some(other), Some(tag as i32)));
                assert!(buffer[..len] == pattern(tag, len)[..], "{len} bytes arrived damaged");
                assert_eq!(buffer[len..], [0; 5], "bytes beyond the message were touched");
            }
            Ok(())
        };
        in_pairs(universe, send, receive)?;
        in_pairs(universe, receive, send)?;
    }
    Ok(())
}

fn receives_posted_first_are_served_too(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let receive = |other| {
        let mut buffers: Vec<Vec<u8>> = LENGTHS.iter().map(|&len| vec![0; len]).collect();
        scope(|s| {
            let mut requests = Vec::new();
            for (tag, buffer) in buffers.iter_mut().enumerate() {
                requests.push(world.irecv(s, buffer, other, tag as i32)?);
            }
            world.send_value(&1u8, other, 99)?;
            for (request, len) in requests.into_iter().zip(LENGTHS) {
                assert_eq!(request.wait()?.bytes(), len as u64);
            }
            Ok(())
        })?;
        for (tag, buffer) in buffers.iter().enumerate() {
            assert!(*buffer == pattern(tag, buffer.len()), "{} bytes arrived damaged", buffer.len());
        }
        Ok(())
    };
    let send = |other| {
        world.recv_value::<u8>(other, 99)?;
        // The other way round than the receives were posted.
        for (tag, len) in LENGTHS.into_iter().enumerate().rev() {
            world.send(&pattern(tag, len), other, tag as i32)?;
        }
        Ok(())
    };
    in_pairs(universe, receive, send)
}

fn tags_select_in_any_order(universe: &Universe) -> Result<()> {
    const MESSAGES: i32 = 500;
    let world = universe.world();
    let send = |other| {
        for tag in 0..MESSAGES {
            world.send(&[tag, -tag], other, tag)?;
        }
        world.send_value(&0, other, rwmpi::TAG_MAX)
    };
    let receive = |other| {
        world.recv_value::<i32>(other, rwmpi::TAG_MAX)?;
        for tag in (0..MESSAGES).rev() {
            let mut pair = [0; 2];
            world.recv(&mut pair, other, tag)?;
            assert_eq!(pair, [tag, -tag]);
        }
        Ok(())
    };
    in_pairs(universe, send, receive)
}

fn messages_do_not_overtake(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let lengths = [8, 100_000, 16, 5_000, 0, 20_000, 40];
    let send = |other| {
        scope(|s| {
            let data: Vec<Vec<u8>> = (0..70).map(|i| pattern(i, lengths[i % lengths.len()])).collect();
            let data = &*Box::leak(data.into_boxed_slice());
            let requests: Result<Vec<_>> = data.iter().map(|data| world.isend(s, data, other, 5)).collect();
            wait_all(requests?).map(drop)
        })
    };
    let receive = |other| {
        for i in 0..70 {
            let len = lengths[i % lengths.len()];
            let mut buffer = vec![0; 100_000];
            let status = if i % 3 == 0 {
                world.recv(&mut buffer, ANY_SOURCE, 5)?
            } else {
                world.recv(&mut buffer, other, ANY_TAG)?
            };
            assert_eq!(status.bytes(), len as u64, "message {i}");
            assert!(buffer[..len] == pattern(i, len)[..]);
        }
        Ok(())
    };
    in_pairs(universe, send, receive)
}

fn wildcards_take_what_comes(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for len in [1, 3_000, 50_000] {
        if world.rank() == 0 {
            let mut seen = vec![0; world.size()];
            for _ in 0..(world.size() - 1) * 10 {
                let mut buffer = vec![0; len];
                let status = world.recv(&mut buffer, ANY_SOURCE, ANY_TAG)?;
                let source = status.source().expect("somebody sent it");
                assert_eq!(status.tag(), Some(seen[source]), "messages of one source stay in order");
                assert!(buffer == pattern(source, len));
                seen[source] += 1;
            }
            assert!(seen[1..].iter().all(|&count| count == 10));
        } else {
            for tag in 0..10 {
                world.send(&pattern(world.rank(), len), 0, tag)?;
            }
        }
        world.barrier()?;
    }
    Ok(())
}

/// Receives from anybody and from somebody, posted in turn, each long enough to be advertised.
fn wildcards_and_named_sources_mix(universe: &Universe) -> Result<()> {
    let world = universe.world();
    const LEN: usize = 10_000;
    let receive = |other| {
        for round in 0..20 {
            let mut buffers = vec![vec![0; LEN]; 6];
            scope(|s| {
                let mut requests = Vec::new();
                for (place, buffer) in buffers.iter_mut().enumerate() {
                    let source = if place % 2 == round % 2 { ANY_SOURCE } else { Source::Rank(other) };
                    requests.push(world.irecv(s, buffer, source, 3)?);
                }
                world.send_value(&0u8, other, 4)?;
                wait_all(requests).map(drop)
            })?;
            for (place, buffer) in buffers.iter().enumerate() {
                assert!(*buffer == pattern(place + round, LEN), "round {round}, message {place}");
            }
        }
        Ok(())
    };
    let send = |other| {
        for round in 0..20 {
            if round % 3 > 0 {
                world.recv_value::<u8>(other, 4)?;
            }
            for place in 0..6 {
                world.send(&pattern(place + round, LEN), other, 3)?;
            }
            if round % 3 == 0 {
                world.recv_value::<u8>(other, 4)?;
            }
        }
        Ok(())
    };
    in_pairs(universe, receive, send)
}

fn every_send_mode_delivers(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for len in [0, 10, 3_000, 30_000] {
        let send = |other| {
            let data = pattern(1, len);
            world.send(&data, other, 1)?;
            world.synchronous_send(&data, other, 2)?;
            world.ready_send(&data, other, 3)?;
            let mut kept = data.clone();
            world.buffered_send(&kept, other, 4)?;
            kept.fill(0);
            scope(|s| {
                wait_all([world.isend(s, &data, other, 5)?, world.synchronous_isend(s, &data, other, 6)?]).map(drop)
            })
        };
        let receive = |other| {
            for tag in 1..=6 {
                let mut buffer = vec![0; len];
                world.recv(&mut buffer, other, tag)?;
                assert!(buffer == pattern(1, len), "mode {tag}");
            }
            Ok(())
        };
        in_pairs(universe, send, receive)?;
    }
    // Buffered sends return although nobody receives yet, however much it is.
    if let Some(other) = partner(universe) {
        for _ in 0..50 {
            world.buffered_send(&pattern(2, 100_000), other, 7)?;
        }
        for _ in 0..50 {
            let mut buffer = vec![0; 100_000];
            world.recv(&mut buffer, other, 7)?;
            assert!(buffer == pattern(2, 100_000));
        }
    }
    world.barrier()
}

fn synchronous_sends_wait_for_their_receive(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for len in [1usize, 20_000] {
        let send = |other| {
            let data = pattern(3, len);
            scope(|s| {
                let mut request = world.synchronous_isend(s, &data, other, 1)?;
                for _ in 0..1000 {
                    assert!(!request.test()?, "nobody has received it");
                }
                world.send_value(&0u8, other, 2)?;
                request.wait().map(drop)
            })
        };
        let receive = |other| {
            world.recv_value::<u8>(other, 2)?;
            let mut buffer = vec![0; len];
            world.recv(&mut buffer, other, 1)?;
            assert!(buffer == pattern(3, len));
            Ok(())
        };
        in_pairs(universe, send, receive)?;
    }
    Ok(())
}

fn completion_in_all_its_forms(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let receive = |other| {
        let mut buffers = [[0u64; 4]; 12];
        scope(|s| {
            let mut requests = Vec::new();
            for (tag, buffer) in buffers.iter_mut().enumerate() {
                requests.push(world.irecv(s, buffer, other, tag as i32)?);
            }
            assert!(test_all(&mut requests)?.is_none() || requests.is_empty());
            world.send_value(&0u8, other, 50)?;
            let mut left: Vec<i32> = (0..12).collect();
            let (place, status) = wait_any(&mut requests)?.expect("twelve are pending");
            assert_eq!(status.tag(), Some(left.remove(place)));
            let some = wait_some(&mut requests)?;
            assert!(!some.is_empty());
            for (place, status) in some.iter().rev() {
                assert_eq!(status.tag(), Some(left.remove(*place)));
            }
            for (place, status) in test_some(&mut requests)?.iter().rev() {
                assert_eq!(status.tag(), Some(left.remove(*place)));
            }
            while !requests.is_empty() {
                if let Some(statuses) = test_all(&mut requests)? {
                    assert_eq!(statuses.iter().map(|status| status.tag().unwrap()).collect::<Vec<_>>(), left);
                }
            }
            assert!(wait_any(&mut requests)?.is_none());
            Ok(())
        })?;
        for (tag, buffer) in buffers.iter().enumerate() {
            assert_eq!(*buffer, [tag as u64 * 3; 4]);
        }
        Ok(())
    };
    let send = |other| {
        world.recv_value::<u8>(other, 50)?;
        (0..12u64).rev().try_for_each(|tag| world.send(&[tag * 3; 4], other, tag as i32))
    };
    in_pairs(universe, receive, send)
}

fn pending_receives_can_be_cancelled(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for len in [8usize, 50_000] {
        let receive = |other| {
            let (mut never, mut kept) = (vec![0u8; len], vec![0u8; len]);
            scope(|s| {
                let mut first = world.irecv(s, &mut never, other, 1)?;
                let second = world.irecv(s, &mut kept, other, 1)?;
                first.cancel()?;
                assert!(first.wait()?.cancelled());
                world.send_value(&0u8, other, 2)?;
                assert!(!second.wait()?.cancelled());
                Ok(())
            })?;
            assert!(never.iter().all(|&byte| byte == 0), "a cancelled buffer was written");
            assert!(kept == pattern(4, len));
            // A scope that fails gives its buffers back too.
            let failed: Result<()> = scope(|s| {
                drop(world.irecv(s, &mut never, other, 9)?);
                Err(rwmpi::Error::new(ErrorClass::Other, "on purpose"))
            });
            assert_eq!(failed.unwrap_err().to_string(), "on purpose");
            Ok(())
        };
        let send = |other| {
            world.recv_value::<u8>(other, 2)?;
            world.send(&pattern(4, len), other, 1)
        };
        in_pairs(universe, receive, send)?;
    }
    Ok(())
}

fn probes_see_what_a_receive_would_get(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for len in [3usize, 70_000] {
        let send = |other| {
            scope(|s| {
                let (first, second) = (pattern(5, len), pattern(6, len + 1));
                let (first, second) = (&*Box::leak(first.into_boxed_slice()), &*Box::leak(second.into_boxed_slice()));
                let requests = [world.isend(s, first, other, 1)?, world.isend(s, second, other, 1)?];
                wait_all(requests).map(drop)
            })
        };
        let receive = |other| {
            let status = world.probe(ANY_SOURCE, ANY_TAG)?;
            assert_eq!((status.source(), status.tag(), status.bytes()), (Some(other), Some(1), len as u64));
            assert!(world.probe_now(other, 1)?.is_some());
            assert!(world.probe_now(other, 8)?.is_none());
            let message = world.matched_probe(Source::Rank(other), 1)?.expect("a message");
            assert_eq!(message.status().bytes(), len as u64);
            // The one that was taken can't be received any more.
            let mut buffer = vec![0; len + 1];
            assert_eq!(world.recv(&mut buffer, other, 1)?.bytes(), len as u64 + 1);
            assert!(buffer == pattern(6, len + 1));
            assert!(world.matched_probe_now(Source::Rank(other), 1)?.is_none());
            buffer.truncate(len);
            world.matched_recv(&mut buffer, message)?;
            assert!(buffer == pattern(5, len));
            Ok(())
        };
        in_pairs(universe, send, receive)?;
    }
    Ok(())
}

fn messages_to_self(universe: &Universe) -> Result<()> {
    for communicator in [universe.world(), universe.this_rank()] {
        let me = communicator.rank();
        for len in [0usize, 9, 100_000] {
            let data = pattern(7, len);
            let mut buffer = vec![0; len];
            scope(|s| {
                let incoming = communicator.irecv(s, &mut buffer, me, 1)?;
                communicator.send(&data, me, 1)?;
                assert_eq!(incoming.wait()?.source(), Some(me));
                Ok(())
            })?;
            assert!(buffer == data);
            // Send first, blocking: the library keeps it.
            communicator.send(&data, me, 2)?;
            buffer.fill(0);
            communicator.recv(&mut buffer, ANY_SOURCE, 2)?;
            assert!(buffer == data);
            buffer.fill(0);
            scope(|s| {
                let outgoing = communicator.synchronous_isend(s, &data, me, 3)?;
                communicator.recv(&mut buffer, me, 3)?;
                outgoing.wait().map(drop)
            })?;
            assert!(buffer == data);
        }
    }
    universe.world().barrier()
}

fn nobody_is_a_partner_too(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let mut buffer = [7u8; 3];
    world.send(&buffer, PROC_NULL, 0)?;
    let status = world.recv(&mut buffer, PROC_NULL, ANY_TAG)?;
    assert_eq!((status.source(), status.bytes(), buffer), (None, 0, [7; 3]));
    let status = world.sendrecv(&[1u8], PROC_NULL, 0, &mut buffer, PROC_NULL, 0)?;
    assert_eq!(status.source(), None);
    scope(|s| world.irecv(s, &mut buffer, PROC_NULL, 0)?.wait()).map(drop)
}

fn exchanges_around_a_ring(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for len in [1usize, 9_000, 300_000] {
        let mut buffer = vec![0; len];
        world.sendrecv(&pattern(rank, len), right, 1, &mut buffer, left, 1)?;
        assert!(buffer == pattern(left, len));
        world.sendrecv_replace(&mut buffer, right, 2, left, 2)?;
        assert!(buffer == pattern((left + size - 1) % size, len));
    }
    Ok(())
}

fn persistent_requests_start_again_and_again(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for len in [4usize, 40_000] {
        let send = |other| {
            let mut request = world.persistent_send(universe.alloc::<u8>(len), other, 1)?;
            let mut synchronous = world.persistent_synchronous_send(vec![0u8; len], other, 2)?;
            let mut buffered = world.persistent_buffered_send(vec![9u8; len], other, 3)?;
            for round in 0..5 {
                request.buffer()?.copy_from_slice(&pattern(round, len));
                synchronous.buffer()?.copy_from_slice(&pattern(round + 1, len));
                request.start()?;
                synchronous.start()?;
                request.wait()?;
                buffered.start()?;
                buffered.wait()?;
                while synchronous.test()?.is_none() {}
            }
            Ok(())
        };
        let receive = |other| {
            let mut first = world.persistent_receive(vec![0u8; len], other, 1)?;
            let mut second = world.persistent_receive(universe.alloc::<u8>(len), ANY_SOURCE, 2)?;
            let mut third = world.persistent_receive(vec![0u8; len], other, 3)?;
            for round in 0..5 {
                first.start()?;
                assert_eq!(first.buffer().err().map(|error| error.class()), Some(ErrorClass::Request));
                second.start()?;
                third.start()?;
                first.wait()?;
                second.wait()?;
                third.wait()?;
                assert!(third.buffer()?.iter().all(|&byte| byte == 9));
                assert!(first.buffer()?[..] == pattern(round, len)[..]);
                assert!(second.buffer()?[..] == pattern(round + 1, len)[..]);
            }
            Ok(())
        };
        in_pairs(universe, send, receive)?;
    }
    Ok(())
}

fn too_long_a_message_is_reported(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for (len, capacity) in [(100usize, 60usize), (50_000, 49_999), (50_000, 100)] {
        for posted_first in [false, true] {
            let receive = |other| {
                let mut buffer = vec![0u8; capacity + 3];
                let outcome = scope(|s| {
                    if !posted_first {
                        world.send_value(&0u8, other, 2)?;
                        world.probe(other, 1)?;
                    }
                    let request = world.irecv(s, &mut buffer[..capacity], other, 1)?;
                    if posted_first {
                        world.send_value(&0u8, other, 2)?;
                    }
                    request.wait()
                });
                let error = outcome.expect_err("the message does not fit");
                assert_eq!(error.class(), ErrorClass::Truncate);
                let text = error.to_string();
                for part in [&format!("rank {other}"), "tag 1", &len.to_string(), &capacity.to_string(), "world"] {
                    assert!(text.contains(part), "{text:?} does not say {part:?}");
                }
                assert_eq!(buffer[capacity..], [0; 3]);
                Ok(())
            };
            let send = |other| {
                world.recv_value::<u8>(other, 2)?;
                world.send(&pattern(8, len), other, 1)
            };
            in_pairs(universe, receive, send)?;
        }
    }
    Ok(())
}

fn arguments_are_checked(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let class = |result: Result<()>| result.expect_err("the argument is wrong").class();
    assert_eq!(class(world.send(&[1u8], world.size(), 0)), ErrorClass::Rank);
    assert_eq!(class(world.send(&[1u8], 0, -1)), ErrorClass::Tag);
    assert_eq!(class(world.recv(&mut [1u8], world.size() + 5, 0).map(drop)), ErrorClass::Rank);
    assert_eq!(class(world.recv(&mut [1u8], 0, -7).map(drop)), ErrorClass::Tag);
    assert_eq!(class(world.bcast(&mut [1u8], world.size())), ErrorClass::Root);
    let error = world.send(&[1u8], world.size(), 0).unwrap_err().to_string();
    assert!(error.contains(&format!("destination {}", world.size())), "{error}");
    Ok(())
}
