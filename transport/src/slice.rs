//! How long a thread may keep a processor that others want. The kernel lets whoever gives way wait for as long as its
//! own slice would have been, and whoever has the shorter slice goes first when it wakes. A peer that waits for others
//! gives way again and again, so it asks for the shortest slice: what it may compute in all is the same, but beside
//! other programs it waits less each time (docs/decisions/0061).
#![allow(unsafe_code)]

use nix::libc;

/// Nanoseconds; the kernel grants no shorter one.
const SHORTEST: u64 = 100_000;

/// Asks for the shortest slice for this thread, and those that it will start, unless it has a special policy or a slice
/// that is shorter still. Kernels before 6.12 ignore it.
pub(crate) fn ask_for_shortest() {
    let Some(present) = scheduling() else { return };
    if present.sched_policy == libc::SCHED_OTHER as u32 && present.sched_runtime > SHORTEST {
        schedule(&libc::sched_attr { sched_runtime: SHORTEST, ..present });
    }
}

/// How this thread is scheduled; `None` if the kernel does not say.
fn scheduling() -> Option<libc::sched_attr> {
    // SAFETY: zero is a value of every field.
    let mut present: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = size_of_val(&present) as u32;
    // SAFETY: the kernel writes no more than `size` bytes to where the value is.
    let failed = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut present, size, 0) };
    (failed == 0).then_some(present)
}

/// If the kernel refuses, all stays as it is.
fn schedule(wanted: &libc::sched_attr) {
    // SAFETY: the kernel reads as many bytes as the value says that it has, which it has from the kernel.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *wanted, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_is_short_and_nothing_else_changes() {
        std::thread::spawn(|| {
            let before = scheduling().unwrap();
            ask_for_shortest();
            let after = scheduling().unwrap();
            assert!(after.sched_runtime <= SHORTEST, "{} ns", after.sched_runtime);
            assert_eq!((before.sched_policy, before.sched_nice), (after.sched_policy, after.sched_nice));
            ask_for_shortest();
            assert_eq!(scheduling().unwrap().sched_runtime, after.sched_runtime);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn who_has_a_special_policy_keeps_it() {
        std::thread::spawn(|| {
            let mut batch = scheduling().unwrap();
            batch.sched_policy = libc::SCHED_BATCH as u32;
            schedule(&batch);
            let before = scheduling().unwrap();
            assert_eq!(before.sched_policy, libc::SCHED_BATCH as u32);
            ask_for_shortest();
            assert_eq!(scheduling().unwrap().sched_runtime, before.sched_runtime);
        })
        .join()
        .unwrap();
    }
}
