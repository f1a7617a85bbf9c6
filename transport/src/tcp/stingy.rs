//! In tests, a kernel that takes and gives a few bytes at a time, or none for now, as chance will have it. A real one
//! cuts where it likes, but hardly ever everywhere.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::io;

use crate::tcp::tests::Random;
use crate::{ReadSpan, WriteSpan};

thread_local! {
    static CHANCE: RefCell<Option<Random>> = const { RefCell::new(None) };
}

/// For this thread, as long as this lives.
pub(crate) struct Stinginess(());

pub(crate) fn begin(chance: Random) -> Stinginess {
    CHANCE.set(Some(chance));
    Stinginess(())
}

impl Drop for Stinginess {
    fn drop(&mut self) {
        CHANCE.set(None);
    }
}

/// How many of `len` bytes move now.
fn some_of(len: usize) -> io::Result<usize> {
    CHANCE.with_borrow_mut(|chance| match chance {
        Some(chance) if len > 0 => match chance.below(8) {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            1 | 2 => Ok(len.min(1 + chance.below(80))),
            3 | 4 => Ok(1 + chance.below(len)),
            // All but what a header or a short cell may be.
            5 => Ok(len.saturating_sub(1 + chance.below(80)).max(1)),
            _ => Ok(len),
        },
        _ => Ok(len),
    })
}

/// The first of the bytes that are to be sent.
pub(crate) fn first_of<const N: usize>(mut parts: [ReadSpan<'_>; N]) -> io::Result<[ReadSpan<'_>; N]> {
    let mut rest = some_of(parts.iter().map(|part| part.len()).sum())?;
    for part in &mut parts {
        *part = part.part(0, rest.min(part.len()));
        rest -= part.len();
    }
    Ok(parts)
}

/// The first of the places where bytes are to be received.
pub(crate) fn first_places<'a>(
    first: WriteSpan<'a>,
    second: WriteSpan<'a>,
) -> io::Result<(WriteSpan<'a>, WriteSpan<'a>)> {
    let room = some_of(first.len() + second.len())?;
    let in_first = room.min(first.len());
    Ok((first.part(0, in_first), second.part(0, room - in_first)))
}
