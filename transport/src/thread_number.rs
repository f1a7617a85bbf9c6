//! A number for each thread of the process, asked for twice in each call of MPI: read from a register, where the
//! processor has one for that.
#![allow(unsafe_code)]

/// Tells threads of this process apart; not 0, and a multiple of 8: the address of what is kept for the thread.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn this_thread() -> u64 {
    let block: u64;
    // SAFETY: on Linux the segment of `fs` begins with what is kept for the thread, whose first word is its own address
    // (the ABI of thread-local storage). Nothing is changed.
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) block, options(pure, nomem, nostack, preserves_flags)) };
    block
}

/// The same from the system's library.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn this_thread() -> u64 {
    nix::sys::pthread::pthread_self()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::this_thread;

    #[test]
    fn threads_have_numbers_of_their_own() {
        let numbers: HashSet<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| [this_thread(), this_thread()])).collect();
            let numbers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            assert!(numbers.iter().all(|[first, second]| first == second && *first != 0 && first.is_multiple_of(8)));
            numbers.into_iter().flatten().collect()
        });
        assert!(!numbers.contains(&this_thread()), "the thread that goes on");
    }
}
