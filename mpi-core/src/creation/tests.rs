//! What needs a whole job, though only of threads.

use std::sync::Mutex;

use crate::attribute::{AttributeKind, AttributeValue, Keyval};
use crate::communicator::context;
use crate::{Communicator, Protocol, run_threads};

#[test]
fn the_attributes_of_a_rank_alone_go_when_it_leaves_the_last_first() {
    static DELETED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
    run_threads(2, Protocol::Auto, |universe| {
        let (alone, rank) = (universe.this_rank(), universe.world().rank());
        for word in 1..4 {
            let delete = move |communicator: &Communicator, value: &AttributeValue| {
                // The library still works.
                assert_eq!(communicator.dup()?.size(), 1);
                DELETED.lock().unwrap().push((rank, value.word()));
                Ok(())
            };
            let value = AttributeValue::new(word, AttributeKind::Pointer);
            alone.attributes().set(alone, &Keyval::new(None, Some(Box::new(delete))), value).unwrap();
        }
    })
    .unwrap();
    let deleted = DELETED.lock().unwrap();
    for rank in 0..2 {
        let words: Vec<usize> = deleted.iter().filter(|entry| entry.0 == rank).map(|entry| entry.1).collect();
        assert_eq!(words, [3, 2, 1]);
    }
}

#[test]
fn no_two_communicators_share_a_context() {
    let contexts = run_threads(3, Protocol::Auto, |universe| {
        let world = universe.world();
        let mut contexts = vec![world.context(), universe.this_rank().context()];
        for round in 0..5 {
            contexts.push(world.dup().unwrap().context());
            let pair: Vec<usize> = [round % 3, (round + 1) % 3].to_vec();
            if pair.contains(&world.rank()) {
                let group = world.group().incl(&pair).unwrap();
                contexts.push(world.create_group(&group, 0).unwrap().unwrap().context());
            }
            contexts.push(universe.this_rank().dup().unwrap().context());
        }
        contexts
    })
    .unwrap();
    for mine in contexts {
        let mut distinct = mine.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), mine.len());
        assert!(mine.iter().all(|context| context % context::BLOCK == 0));
    }
}

#[test]
fn running_out_of_contexts_is_an_error_for_all_members() {
    run_threads(2, Protocol::Auto, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.process().lanes().set_given(u32::MAX / (2 * context::BLOCK) - 1);
        }
        let mut made = 0;
        let error = loop {
            match world.dup() {
                Ok(_) => made += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.class(), crate::ErrorClass::NoMemory);
        assert!(made < 4, "{made} after the last");
        // Other ranks have some left.
        assert!(world.split(Some(world.rank() as u32), 0).is_err());
        let from_one = world.create_group(&world.group().incl(&[1, 0]).unwrap(), 0).unwrap().unwrap();
        assert_eq!(from_one.size(), 2);
    })
    .unwrap();
}
