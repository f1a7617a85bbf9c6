//! Waiting for descriptors, in the loops of the launcher and of its daemons.

use rustix::event::{PollFd, Timespec};
use std::io;
use std::time::Duration;

/// Waits until one of them is ready, at most `longest`.
pub(crate) fn poll(polled: &mut [PollFd<'_>], longest: Duration) -> io::Result<()> {
    // Rounded up, so that what is due is due when we wake.
    let longest = longest + Duration::from_micros(1);
    let timeout = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
    match rustix::event::poll(polled, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
