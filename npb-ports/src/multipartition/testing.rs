//! Ranks as threads of one test, with messages through a common table: the decomposition is tested without a job.

use super::{Flow, Incoming, LineSolver, Messenger, Multipartition, Outgoing, Problem};
use crate::cfd::{Mesh, State};
use crate::verify::Verification;
use rwmpi::Result;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};

/// Communicator, sender, receiver, tag.
type Envelope = (usize, usize, usize, i32);

/// Messages sent and not yet received, and how many were sent of each length.
#[derive(Default)]
struct Table {
    waiting: HashMap<Envelope, VecDeque<Vec<f64>>>,
    sent: HashMap<usize, usize>,
}

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    arrived: Condvar,
}

struct ThreadMessenger {
    shared: Arc<Shared>,
    communicator: usize,
    rank: usize,
}

impl Messenger for ThreadMessenger {
    type Buffer = Vec<f64>;

    fn buffer(&self, length: usize) -> Vec<f64> {
        vec![0.0; length]
    }

    fn exchange<'a>(
        &self,
        incoming: impl IntoIterator<Item = Incoming<'a>>,
        outgoing: impl IntoIterator<Item = Outgoing<'a>>,
        meanwhile: impl FnOnce(),
    ) -> Result<()> {
        let mut table = self.shared.table.lock().unwrap();
        for Outgoing { destination, tag, data } in outgoing {
            *table.sent.entry(8 * data.len()).or_default() += usize::from(self.rank == 0);
            let envelope = (self.communicator, self.rank, destination, tag);
            table.waiting.entry(envelope).or_default().push_back(data.to_vec());
            self.shared.arrived.notify_all();
        }
        drop(table);
        meanwhile();
        for Incoming { source, tag, buffer } in incoming {
            let envelope = (self.communicator, source, self.rank, tag);
            let mut table = self.shared.table.lock().unwrap();
            let data = loop {
                if let Some(data) = table.waiting.get_mut(&envelope).and_then(VecDeque::pop_front) {
                    break data;
                }
                table = self.shared.arrived.wait(table).unwrap();
            };
            buffer.copy_from_slice(&data);
        }
        Ok(())
    }
}

/// What a whole run leaves.
pub struct Finished {
    /// Against the reference.
    pub verification: Verification,
    /// How many messages of each length in bytes rank 0 sent, by length.
    pub sent: Vec<(usize, usize)>,
}

/// Runs a class on `ranks` threads, with the warm-up, falsified on the last rank if `corrupt`.
pub fn run<S: LineSolver>(problem: Problem, solver: impl Fn() -> S + Sync, ranks: usize, corrupt: bool) -> Finished {
    let shared = Arc::new(Shared::default());
    let run_rank = |rank: usize| -> [State; 2] {
        let messenger = |communicator| ThreadMessenger { shared: shared.clone(), communicator, rank };
        let partition = Multipartition::new(Mesh { n: problem.n }, rank, ranks);
        let mut flow = Flow::new(partition, problem.time_step, solver(), messenger(0), messenger(1));
        flow.step().unwrap();
        flow.reset();
        if corrupt && rank + 1 == ranks {
            flow.corrupt();
        }
        (0..problem.steps).for_each(|_| flow.step().unwrap());
        [flow.error_squares(), flow.residual_squares().unwrap()]
    };
    let sums = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || run_rank(rank))).collect();
        let parts = threads.into_iter().map(|thread| thread.join().unwrap());
        parts.fold([[0.0; 5]; 2], |sums, part| [0, 1].map(|i| [0, 1, 2, 3, 4].map(|m| sums[i][m] + part[i][m])))
    });
    let table = shared.table.lock().unwrap();
    assert!(table.waiting.values().all(VecDeque::is_empty), "messages were sent that nobody received");
    let mut sent: Vec<_> = table.sent.iter().map(|(&bytes, &count)| (bytes, count)).collect();
    sent.sort_unstable();
    Finished { verification: problem.verify(sums[0], sums[1]), sent }
}
