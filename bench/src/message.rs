//! Messages that change from use to use, so that no cache holds the next one already.

use anyhow::{Result, ensure};
use std::ops::{Deref, DerefMut};

/// Bytes between two stamps.
const LINE: usize = 64;

/// The bytes of a message.
pub enum Message {
    /// In the heap that all ranks of the node reach.
    Shared(rwmpi::Buffer<u8>),
    /// In this process only.
    Private(Vec<u8>),
}

impl Deref for Message {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Message::Shared(bytes) => bytes,
            Message::Private(bytes) => bytes,
        }
    }
}

impl DerefMut for Message {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Message::Shared(bytes) => bytes,
            Message::Private(bytes) => bytes,
        }
    }
}

/// Changes every cache line of `bytes`: its first word becomes `serial`.
pub fn stamp(bytes: &mut [u8], serial: u64) {
    let word = serial.to_le_bytes();
    for line in bytes.chunks_mut(LINE) {
        let len = line.len().min(word.len());
        line[..len].copy_from_slice(&word[..len]);
    }
}

/// Looks at every cache line of `bytes`, as any receiver would, and makes sure that it is `serial`'s.
pub fn check(bytes: &[u8], serial: u64) -> Result<()> {
    let word = serial.to_le_bytes();
    let right = |line: &[u8]| {
        let len = line.len().min(word.len());
        line[..len] == word[..len]
    };
    let wrong = bytes.chunks(LINE).position(|line| !right(line));
    ensure!(
        wrong.is_none(),
        "message {serial} of {} bytes has arrived with other contents than were sent, from byte {} on",
        bytes.len(),
        wrong.unwrap_or(0) * LINE
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamped_message_passes_and_any_changed_line_fails() {
        for len in [0, 1, 7, 8, 64, 65, 200] {
            let mut bytes = vec![0; len];
            stamp(&mut bytes, 0x0102_0304_0506_0708);
            check(&bytes, 0x0102_0304_0506_0708).unwrap();
            for line in 0..len.div_ceil(LINE) {
                let mut damaged = bytes.clone();
                damaged[line * LINE] ^= 1;
                assert!(check(&damaged, 0x0102_0304_0506_0708).is_err(), "{len} bytes, line {line}");
            }
        }
    }
}
