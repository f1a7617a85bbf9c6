//! What happens to messages while one side is elsewhere: a receive that was posted completes without its rank's help.

use std::sync::atomic::{AtomicUsize, Ordering};

use rwmpi::{Result, Universe, scope};

/// Of messages that the receiver would fetch if it were there, that both would copy, and that are pages long.
const LENGTHS: [usize; 4] = [9000, 16 << 10, 30_000, 1 << 20];

#[rwmpi::test(ranks = 2)]
fn a_receive_that_was_posted_needs_nothing_of_its_rank(universe: &Universe) -> Result<()> {
    static SENT: AtomicUsize = AtomicUsize::new(0);
    let world = universe.world();
    for (number, len) in LENGTHS.into_iter().enumerate() {
        if world.rank() == 0 {
            world.recv(&mut [0_u8; 0], 1, 1)?;
            world.send(&vec![number as u8 + 1; len], 1, 0)?;
            SENT.store(number + 1, Ordering::Release);
            continue;
        }
        let mut buffer = vec![0_u8; len];
        scope(|s| {
            let request = world.irecv(s, &mut buffer[..], 0, 0)?;
            world.send(&[0_u8; 0], 0, 1)?;
            while SENT.load(Ordering::Acquire) <= number {
                std::thread::yield_now();
            }
            request.wait().map(drop)
        })?;
        assert!(buffer.iter().all(|&byte| byte == number as u8 + 1), "{len} bytes");
    }
    Ok(())
}
