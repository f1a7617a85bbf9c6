//! What is to be done before the program forks: the allocator behind its `malloc` learns that peers use none of its
//! memory, if that is so. It then need not copy what they have used (docs/decisions/0060).

use crate::big_lock::BIG_LOCKS;
use crate::interface::Abi;
use crate::process::before_fork;
use crate::rank::{Rank, peek};

/// Has it done from now on.
pub(crate) fn prepare<A: Abi>() {
    before_fork(take_memory_back::<A>);
}

/// Leaves all as it is where another thread may be in a call: that may lend memory just now.
extern "C" fn take_memory_back<A: Abi>() {
    let Ok(rank) = peek() else { return };
    if !BIG_LOCKS.are_trusted() {
        BIG_LOCKS.unless_called(|| forget_lent(rank));
    } else if is_the_one_that_calls::<A>(rank) {
        forget_lent(rank);
    }
}

/// Whether no other thread than this can be in a call, by what the program has promised, or as there is none.
fn is_the_one_that_calls<A: Abi>(rank: &Rank) -> bool {
    let is_main = rank.main_thread == rustix::thread::gettid();
    // The kernel counts a process's threads as links of this folder.
    let is_only = || rustix::fs::stat(c"/proc/self/task").is_ok_and(|folder| folder.st_nlink == 3);
    is_main && rank.thread_level.get() < A::THREAD_SERIALIZED || is_only()
}

fn forget_lent(rank: &Rank) {
    if rank.lanes().iter().all(|lane| lane.endpoint.is_idle()) {
        rank.endpoint.forget_lent();
    }
}
