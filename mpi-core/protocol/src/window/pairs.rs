//! Post and start, complete and wait: how the epochs of two ranks find each other.
//!
//! Every ordered pair of ranks has two words, one for posts and one for completions, which only one of the two changes:
//! it stores how often it has done that by now. So the post of the next epoch may come while this one goes on: it is a
//! higher number, which nobody takes for this epoch's.

/// What one rank has to count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pairs {
    /// By rank.
    counts: Box<[Counts]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Counts {
    /// Of exposure epochs for it.
    posts: u64,
    /// Of access epochs to it that have been begun.
    starts: u64,
    /// Of those that have been completed.
    completions: u64,
}

impl Pairs {
    /// Of a window of so many ranks.
    pub fn new(ranks: usize) -> Self {
        Pairs { counts: vec![Counts::default(); ranks].into() }
    }

    /// This rank posts for `origin`: the value to store in the word for posts, which `origin` reads.
    #[inline]
    pub fn post(&mut self, origin: usize) -> u64 {
        self.counts[origin].posts += 1;
        self.counts[origin].posts
    }

    /// This rank starts to access `target`: the value that the word for its posts is to have at least.
    #[inline]
    pub fn start(&mut self, target: usize) -> u64 {
        self.counts[target].starts = self.next_start(target);
        self.counts[target].starts
    }

    /// What [`Pairs::start`] would give.
    #[inline]
    pub fn next_start(&self, target: usize) -> u64 {
        self.counts[target].starts + 1
    }

    /// This rank completes its access to `target`: the value to store in the word for completions, which `target`
    /// reads.
    #[inline]
    pub fn complete(&mut self, target: usize) -> u64 {
        self.counts[target].completions += 1;
        self.counts[target].completions
    }

    /// The value that the word for `origin`'s completions is to have at least before this exposure epoch is over for
    /// it.
    #[inline]
    pub fn awaited(&self, origin: usize) -> u64 {
        self.counts[origin].posts
    }
}
