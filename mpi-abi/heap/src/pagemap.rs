//! What the kernel says about pages of this process.

use std::io;
use std::ops::Range;

use rustix::fs::{Mode, OFlags};

const WORD: usize = size_of::<u64>();
/// In memory, or swapped out.
const HAS_CONTENTS: u64 = 0b11 << 62;
/// A file's, memory files included.
const IS_FILES: u64 = 1 << 61;

/// Tells `visit` of all pages at these addresses that have memory, as many at a time as follow each other; those
/// without are not to get any by being read.
///
/// # Errors
/// What the system says.
pub(crate) fn touched(addresses: Range<usize>, page: usize, visit: impl FnMut(Range<usize>)) -> io::Result<()> {
    look(addresses, page, |word| word & HAS_CONTENTS != 0, visit)
}

/// As [`touched`], of those that are the process's own although a file is mapped there: it has written to them.
///
/// # Errors
/// What the system says.
pub(crate) fn own(addresses: Range<usize>, page: usize, visit: impl FnMut(Range<usize>)) -> io::Result<()> {
    look(addresses, page, |word| word & HAS_CONTENTS != 0 && word & IS_FILES == 0, visit)
}

fn look(
    addresses: Range<usize>,
    page: usize,
    is_wanted: impl Fn(u64) -> bool,
    mut visit: impl FnMut(Range<usize>),
) -> io::Result<()> {
    let list = rustix::fs::open(c"/proc/self/pagemap", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut words = [0; 512 * WORD];
    let mut at = addresses.start;
    let mut found = at..at;
    while at < addresses.end {
        let wanted = ((addresses.end - at) / page * WORD).min(words.len());
        let got = rustix::io::pread(&list, &mut words[..wanted], (at / page * WORD) as u64)? / WORD;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for word in words[..got * WORD].as_chunks().0 {
            if is_wanted(u64::from_ne_bytes(*word)) {
                if found.end != at {
                    report(&found, &mut visit);
                    found.start = at;
                }
                found.end = at + page;
            }
            at += page;
        }
    }
    report(&found, &mut visit);
    Ok(())
}

fn report(found: &Range<usize>, visit: &mut impl FnMut(Range<usize>)) {
    if !found.is_empty() {
        visit(found.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_written_to_are_found() {
        let page = crate::heap::page_size();
        let mut memory = vec![0_u8; 6 * page];
        let start = (memory.as_ptr() as usize).next_multiple_of(page);
        let first = start - memory.as_ptr() as usize;
        memory[first + page] = 1;
        memory[first + 2 * page] = 1;
        memory[first + 4 * page] = 1;
        let mut found = Vec::new();
        own(start..start + 5 * page, page, |pages| found.push(pages)).unwrap();
        assert!(found.contains(&(start + 4 * page..start + 5 * page)) || found.len() == 1, "{found:?}");
        assert!(found.iter().any(|pages| pages.contains(&(start + page)) && pages.contains(&(start + 2 * page))));
    }
}
