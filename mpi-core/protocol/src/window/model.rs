//! Locks, pairs and announcements in every interleaving of small jobs, and variants broken on purpose, which must be
//! found out.
//!
//! A step is what one rank does to one word in one go: between any two of them others may do anything. A rank that
//! sleeps does nothing until it is woken.

mod announced;
mod elsewhere;
mod lock;
mod pairs;
mod words;

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

/// A small job.
trait Job: Clone + Eq + Hash + Debug {
    fn ranks(&self) -> usize;
    /// Whether a rank has come to its end.
    fn is_done(&self, rank: usize) -> bool;
    /// Lets a rank do its next step; false if it can't at present.
    ///
    /// # Errors
    /// What must never be.
    fn step(&mut self, rank: usize) -> Result<bool, String>;
}

/// Follows all interleavings; how many states there are, or what is wrong with one.
fn explore(job: impl Job) -> Result<usize, String> {
    let mut seen = HashSet::from([job.clone()]);
    let mut open = vec![job];
    while let Some(state) = open.pop() {
        let mut is_stuck = true;
        for rank in (0..state.ranks()).filter(|&rank| !state.is_done(rank)) {
            let mut next = state.clone();
            if next.step(rank)? {
                is_stuck = false;
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        if is_stuck && !(0..state.ranks()).all(|rank| state.is_done(rank)) {
            return Err(format!("nobody can go on: {state:?}"));
        }
    }
    Ok(seen.len())
}
