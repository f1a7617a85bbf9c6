//! Waits for ranks that have left.

use rwmpi_transport::{JobFabric, NodeFabric};

use crate::departure::TESTS_PER_LOOK;

use crate::{Protocol, Result, ThreadLevel, Universe};

/// What becomes of rank 0's `wait` beside rank 1, which has come to its end like that.
fn beside_one_that(end: fn(Universe) -> Result<()>, wait: fn(&Universe) -> Result<()>) -> Result<()> {
    let mut fabrics = NodeFabric::threads(2).unwrap();
    let join = |fabric| {
        Universe::new(JobFabric::Node(fabric), Protocol::Auto, &crate::tuning::Tuning::DEFAULT, ThreadLevel::Filtered)
    };
    let second = fabrics.pop().unwrap();
    let other = std::thread::spawn(move || {
        let universe = join(second);
        universe.world().barrier().unwrap();
        end(universe)
    });
    let universe = join(fabrics.pop().unwrap());
    universe.world().barrier().unwrap();
    let waited = wait(&universe);
    drop(universe);
    let _ = other.join().unwrap();
    waited
}

fn heard(end: fn(Universe) -> Result<()>, wait: fn(&Universe) -> Result<()>) -> String {
    beside_one_that(end, wait).unwrap_err().to_string()
}

type Wait = fn(&Universe) -> Result<()>;

fn leaves(universe: Universe) -> Result<()> {
    drop(universe);
    Ok(())
}

#[test]
fn who_waits_for_one_that_is_gone_hears_of_it() {
    let waits: [Wait; 8] = [
        |universe| universe.world().barrier(),
        |universe| universe.world().recv(&mut [0_u8], 1, 0).map(drop),
        |universe| universe.world().recv(&mut [0_u8], crate::ANY_SOURCE, 0).map(drop),
        |universe| universe.world().synchronous_send(&[0_u8], 1, 0),
        |universe| universe.world().allreduce_value(1, crate::op::sum).map(drop),
        |universe| {
            let world = universe.world();
            let mut requests = vec![
                world.irecv_value::<u64>(1, 0)?.map(drop),
                world.irecv_value::<u64>(1, 1)?.map(drop),
                world.iallreduce_value(1, crate::op::sum)?.map(drop),
            ];
            crate::wait_any(&mut requests).map(drop)
        },
        |universe| {
            let requests = [0, 1].map(|from| universe.world().irecv_value::<u64>(from, 0));
            crate::wait_all(requests.into_iter().collect::<Result<Vec<_>>>()?).map(drop)
        },
        |universe| {
            let world = universe.world();
            world.block_on(async { world.irecv_value::<u64>(1, 0)?.await.map(drop) })
        },
    ];
    for wait in waits {
        let error = heard(Universe::finalize, wait);
        assert!(error.contains("rank 1, which has finalized"), "{error}");
        let error = heard(leaves, wait);
        assert!(error.contains("rank 1, which has left the job without finalizing"), "{error}");
    }
    let error = heard(leaves, |universe| universe.this_rank().barrier().and_then(|()| universe.world().barrier()));
    assert!(error.contains("rank 1"), "{error}");
}

#[test]
fn who_tests_for_one_that_has_left_hears_of_it() {
    let tests: [Wait; 4] = [
        |universe| {
            let mut received = universe.world().irecv_value::<u64>(1, 0)?;
            while !received.test()? {}
            Ok(())
        },
        |universe| {
            let mut requests = vec![universe.world().irecv_value::<u64>(1, 0)?];
            while crate::test_any(&mut requests)?.is_none() {}
            Ok(())
        },
        |universe| {
            let mut requests = vec![universe.world().irecv_value::<u64>(1, 0)?];
            while crate::test_all(&mut requests)?.is_none() {}
            Ok(())
        },
        |universe| {
            while universe.world().probe_now(1, 0)?.is_none() {}
            Ok(())
        },
    ];
    for test in tests {
        let error = heard(leaves, test);
        assert!(error.contains("rank 1, which has left the job without finalizing"), "{error}");
    }
}

/// It may be in one of several that can still complete, be tested for and taken back, or be given up for something
/// else.
#[test]
fn what_a_correct_program_does_with_ranks_that_have_finalized_goes_well() {
    let tested = beside_one_that(Universe::finalize, |universe| {
        let world = universe.world();
        let mut stop = world.irecv_value::<u64>(1, 0)?;
        for _ in 0..50 * TESTS_PER_LOOK {
            assert!(!stop.test()?);
        }
        stop.cancel()?;
        assert!(stop.wait().is_err());
        let mut requests = vec![world.irecv_value::<u64>(1, 0)?, world.irecv_value::<u64>(0, 1)?];
        assert!(crate::test_any(&mut requests)?.is_none());
        let mut rounds = 0;
        let own = async {
            std::future::poll_fn(|context| {
                rounds += 1;
                context.waker().wake_by_ref();
                if rounds > 1000 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            })
            .await;
            world.isend_value(&7_u64, 0, 1)?.await
        };
        world.block_on(own)?;
        assert_eq!(crate::wait_any(&mut requests)?.map(|(place, (value, _))| (place, value)), Some((1, 7)));
        Ok(())
    });
    tested.unwrap();
}

#[test]
fn what_was_sent_before_the_end_still_arrives() {
    let all_in_order = crate::run_threads(2, Protocol::Auto, |universe| {
        let world = universe.world();
        if world.rank() == 1 {
            return world.send(&[7_u8], 0, 3);
        }
        // Time for the other to be gone.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut data = [0_u8];
        world.recv(&mut data, 1, 3)?;
        assert_eq!(data, [7]);
        Ok(())
    });
    all_in_order.unwrap().into_iter().for_each(|rank| rank.unwrap());
}
