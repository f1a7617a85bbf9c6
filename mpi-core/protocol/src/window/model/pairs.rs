//! Epochs of post, start, complete and wait.

use super::{Job, explore};
use crate::window::Pairs;

/// What is done otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Broken {
    Nothing,
    /// The word for posts says only that there is one; whom it is for takes it back when it has completed, and so
    /// perhaps the next one.
    TakesBackThePost,
    /// Completion is told before the operation has been done.
    CompletesEarly,
    /// Nobody waits for posts.
    StartsEarly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Act {
    Post(usize),
    Start(usize),
    Operation(usize),
    Complete(usize),
    TakeBack(usize),
    Wait(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Exposing {
    broken: Broken,
    programs: Vec<Vec<Act>>,
    pairs: Vec<Pairs>,
    /// What a rank awaits that has begun to start.
    awaited: Vec<Option<u64>>,
    /// The words: by who writes them, and for whom.
    posts: Vec<Vec<u64>>,
    completions: Vec<Vec<u64>>,
    /// For whom a rank has its memory exposed.
    exposed: Vec<Vec<bool>>,
}

impl Exposing {
    fn new(programs: &[Vec<Act>], broken: Broken) -> Self {
        let ranks = programs.len();
        Exposing {
            broken,
            programs: programs.to_vec(),
            pairs: vec![Pairs::new(ranks); ranks],
            awaited: vec![None; ranks],
            posts: vec![vec![0; ranks]; ranks],
            completions: vec![vec![0; ranks]; ranks],
            exposed: vec![vec![false; ranks]; ranks],
        }
    }

    /// Whether a start has come to its end.
    fn start(&mut self, rank: usize, target: usize) -> bool {
        let awaited = self.awaited[rank].take().unwrap_or_else(|| self.pairs[rank].start(target));
        let has_come = match self.broken {
            Broken::StartsEarly => true,
            Broken::TakesBackThePost => self.posts[target][rank] > 0,
            _ => self.posts[target][rank] >= awaited,
        };
        if !has_come {
            self.awaited[rank] = Some(awaited);
        }
        has_come
    }
}

impl Job for Exposing {
    fn ranks(&self) -> usize {
        self.programs.len()
    }

    fn is_done(&self, rank: usize) -> bool {
        self.programs[rank].is_empty()
    }

    fn step(&mut self, rank: usize) -> Result<bool, String> {
        let has_moved = match self.programs[rank][0] {
            Act::Post(origin) => {
                let count = self.pairs[rank].post(origin);
                self.posts[rank][origin] = if self.broken == Broken::TakesBackThePost { 1 } else { count };
                self.exposed[rank][origin] = true;
                true
            }
            Act::Start(target) => self.start(rank, target),
            Act::Operation(target) if !self.exposed[target][rank] => {
                return Err(format!("rank {rank} uses memory of rank {target} that is not exposed"));
            }
            Act::Operation(_) => true,
            Act::Complete(target) => {
                self.completions[rank][target] = self.pairs[rank].complete(target);
                true
            }
            Act::TakeBack(target) => {
                self.posts[target][rank] = 0;
                true
            }
            Act::Wait(origin) => {
                let is_over = self.completions[origin][rank] >= self.pairs[rank].awaited(origin);
                self.exposed[rank][origin] &= !is_over;
                is_over
            }
        };
        if has_moved {
            self.programs[rank].remove(0);
        }
        Ok(has_moved)
    }
}

fn access(target: usize, broken: Broken) -> Vec<Act> {
    match broken {
        Broken::CompletesEarly => vec![Act::Start(target), Act::Complete(target), Act::Operation(target)],
        Broken::TakesBackThePost => {
            vec![Act::Start(target), Act::Operation(target), Act::Complete(target), Act::TakeBack(target)]
        }
        _ => vec![Act::Start(target), Act::Operation(target), Act::Complete(target)],
    }
}

/// So many epochs in which rank 0 uses rank 1's memory.
fn one_way(epochs: usize, broken: Broken) -> Exposing {
    let exposure = [Act::Post(0), Act::Wait(0)];
    Exposing::new(&[access(1, broken).repeat(epochs), exposure.repeat(epochs)], broken)
}

/// In which each of three uses its neighbours'.
fn all_ways(epochs: usize, broken: Broken) -> Exposing {
    let program = |rank: usize| {
        let (left, right) = ((rank + 2) % 3, (rank + 1) % 3);
        let posts = [Act::Post(left), Act::Post(right)];
        let waits = [Act::Wait(left), Act::Wait(right)];
        [&posts[..], &access(left, broken), &access(right, broken), &waits].concat().repeat(epochs)
    };
    Exposing::new(&[program(0), program(1), program(2)], broken)
}

#[test]
fn epochs_find_each_other() {
    assert!(explore(one_way(3, Broken::Nothing)).unwrap() > 15);
    assert!(explore(all_ways(2, Broken::Nothing)).unwrap() > 500);
}

#[test]
fn what_is_broken_is_found_out() {
    for (broken, what) in [
        (Broken::TakesBackThePost, "nobody can go on"),
        (Broken::CompletesEarly, "not exposed"),
        (Broken::StartsEarly, "not exposed"),
    ] {
        let found = explore(one_way(3, broken)).expect_err("it is broken");
        assert!(found.contains(what), "{broken:?}: {found}");
    }
}
