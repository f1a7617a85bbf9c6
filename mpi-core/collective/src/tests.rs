//! Ranks for tests of algorithms: threads that are a team.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::thread;

use rwmpi_protocol::Rule;
use rwmpi_rank::Lanes;
use rwmpi_transport::{Job, JobFabric, NodeFabric};

use crate::process::Process;
use crate::tuning::Tuning;
use crate::{Team, barrier};

/// What each of so many ranks makes of its team, in rank order.
pub(crate) fn on_teams<R: Send>(ranks: usize, rule: Rule, rank_main: impl Fn(Team<'_>) -> R + Sync) -> Vec<R> {
    let job = Job::create(ranks, None).expect("there is memory for a job");
    let fabrics = NodeFabric::threads_of(&job).expect("threads can be ranks").into_iter().flatten();
    let peers: Vec<u32> = (0..ranks as u32).collect();
    let (peers, rank_main) = (&peers, &rank_main);
    let on_team = |(rank, fabric)| {
        move || {
            let lanes = (Rc::new(Lanes::default()), 0);
            let process = Process::new(JobFabric::Node(fabric), rule, &Tuning::default(), lanes, None);
            let team = |tag| Team::new(&process, (peers, rank), [0, tag], true, (None, None));
            // The others do not wait for a rank that panics.
            let result = catch_unwind(AssertUnwindSafe(|| rank_main(team(0)))).unwrap_or_else(|panic| {
                process.end_job(1, "a rank panicked");
                resume_unwind(panic)
            });
            process.begin_finalize();
            process.engine().begin_to_leave();
            process.block_on(|| barrier::tree(team(1))).expect("all ranks come to their end");
            process.engine().finish();
            result
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = fabrics.enumerate().map(|rank| scope.spawn(on_team(rank))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}
