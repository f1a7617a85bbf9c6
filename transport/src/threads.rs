//! What the other threads of a process are about: whether something but the process itself may have one of them go on.
//!
//! A thread is *asleep* if it waits, without a limit, for a word that only threads of its own process can write and
//! wake for: a private futex, as behind condition variables, semaphores and mutexes. Threads of a pool that has nothing
//! to do are like that. If all threads of a process but one are asleep, they stay so until that one, or a handler of a
//! signal, wakes them.
#![forbid(unsafe_code)]

use std::fs;

/// The kernel's number of the system call `futex`.
const FUTEX: u64 = 202;
/// Waiting, in the operation of that call: for a word, and likewise with a mask.
const WAITS: [u64; 2] = [0, 9];
const PRIVATE: u64 = 128;
/// What an operation may have besides: a clock, which matters to limits only.
const CLOCK: u64 = 256;
/// Signals that tell of timers, input and children, and those that users send to programs: a handler of one may wake a
/// thread. (14 SIGALRM, 26 SIGVTALRM, 27 SIGPROF, 29 SIGIO, 17 SIGCHLD, 10 SIGUSR1, 12 SIGUSR2.)
const WAKING: [u32; 7] = [14, 26, 27, 29, 17, 10, 12];
/// So are those from this one on, but for two that the C library has for itself.
const FIRST_OF_FREE_USE: u32 = 34;

/// The threads of a process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Those that are asleep, by number, and how often each has left a processor so far.
    pub asleep: Vec<(u32, u64)>,
    /// How many are not.
    pub others: usize,
    /// Whether a signal may have the process do something.
    pub catches: bool,
}

impl Threads {
    /// Those of that process; `None`: it is gone, or the kernel does not say.
    pub(crate) fn of(pid: u32) -> Option<Threads> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let caught = u64::from_str_radix(field(&status, "SigCgt:")?, 16).ok()?;
        let mut threads = Threads { asleep: Vec::new(), others: 0, catches: catches(caught) };
        for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
            let entry = entry.ok()?;
            let number: u32 = entry.file_name().to_str()?.parse().ok()?;
            let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
            // What it waits for is looked at between: if it has gone on meanwhile, the count tells.
            let status = read("status")?;
            if is_asleep(&read("syscall")?) {
                threads.asleep.push((number, switches(&status)?));
            } else {
                threads.others += 1;
            }
        }
        threads.asleep.sort_unstable();
        Some(threads)
    }

    /// Whether all but one are asleep, and no signal wakes one.
    pub fn is_one_alone(&self) -> bool {
        self.others <= 1 && (self.asleep.is_empty() || !self.catches)
    }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// How often a thread has left a processor.
fn switches(status: &str) -> Option<u64> {
    let names = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
    names.into_iter().map(|name| field(status, name)?.parse::<u64>().ok()).sum()
}

/// Whether a thread of which the kernel says this is in such a wait.
fn is_asleep(call: &str) -> bool {
    let mut words = call.split_whitespace();
    if words.next().and_then(|number| number.parse().ok()) != Some(FUTEX) {
        return false;
    }
    let arguments: Option<Vec<u64>> =
        words.take(4).map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()).collect();
    // Where the word lies, what is done, what the word is to be, and the limit.
    let Some([_, operation, _, limit]) = arguments.as_deref() else { return false };
    // The kernel looks at 32 bits.
    let operation = operation & 0xffff_ffff;
    operation & PRIVATE != 0 && WAITS.contains(&(operation & !(PRIVATE | CLOCK))) && *limit == 0
}

/// Whether a process that has handlers for these signals may be woken by one.
fn catches(caught: u64) -> bool {
    let has = |signal: u32| caught & 1 << (signal - 1) != 0;
    WAKING.into_iter().any(has) || (FIRST_OF_FREE_USE..=64).any(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn only_private_waits_without_a_limit_are_sleep() {
        let asleep = |operation: u64, limit: u64| {
            is_asleep(&format!("202 0x7f00 {operation:#x} 0x2 {limit:#x} 0x0 0xffffffff 0x7ffc 0x7f8d\n"))
        };
        assert!(asleep(0x80, 0) && asleep(0x89, 0) && asleep(0x189, 0));
        assert!(!asleep(0x80, 0x7ff0) && !asleep(0x189, 1), "there is a limit");
        assert!(!asleep(0x00, 0) && !asleep(0x09, 0), "others may have the word, too");
        assert!(!asleep(0x81, 0) && !asleep(0x8b, 0), "it is no such wait");
        for call in ["230 0x0 0x80 0x2 0x0 0x0 0x0 0x1 0x1", "running", "-1 0x7ffc 0x7f8d", "", "202 0x7f00"] {
            assert!(!is_asleep(call), "{call:?}");
        }
    }

    #[test]
    fn handlers_that_may_wake_threads_are_known() {
        let bit = |signal: u32| 1_u64 << (signal - 1);
        assert!(!catches(bit(11) | bit(2) | bit(15) | bit(23) | bit(32) | bit(33)));
        for signal in [14, 29, 17, 10, 34, 64] {
            assert!(catches(bit(signal)), "{signal}");
        }
    }

    /// A thread that waits for a word, and one that only waits for some time.
    #[test]
    fn the_kernel_tells_sleepers_from_others() {
        let (wake, sleeper) = channel::<()>();
        let waiting = std::thread::spawn(move || sleeper.recv());
        let own = std::process::id();
        let count = |threads: &Threads| threads.asleep.len();
        let mut seen = Threads::of(own).unwrap();
        while count(&seen) == 0 {
            std::thread::yield_now();
            seen = Threads::of(own).unwrap();
        }
        // Beside this thread there is at least that of the test's harness.
        assert!(seen.others >= 1);
        let (limited, with_limit) = channel::<()>();
        let before = seen.others;
        let timed = std::thread::spawn(move || with_limit.recv_timeout(Duration::from_secs(60)));
        while Threads::of(own).unwrap().others <= before && !timed.is_finished() {
            std::thread::yield_now();
        }
        drop((wake, limited));
        let _ = (waiting.join(), timed.join());
    }
}
