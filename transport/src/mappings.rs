//! Where this process has mapped a file: the kernel's list, read.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;

/// The address at which the first `len` bytes of `file` are mapped, readable, writable and shared, in one piece; `None` if they are not, or
/// the kernel does not say.
pub(crate) fn find(file: &File, len: usize) -> Option<NonNull<u8>> {
    let metadata = file.metadata().ok()?;
    let device = rustix::fs::Dev::from(metadata.dev());
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    let list = fs::read_to_string("/proc/self/maps").ok()?;
    find_in(&list, &device, metadata.ino(), len).map(NonNull::with_exposed_provenance)
}

/// As [`find`], in this list. What is mapped in one piece may be listed in several, which then follow each other.
fn find_in(list: &str, device: &str, inode: u64, len: usize) -> Option<std::num::NonZero<usize>> {
    // Where a candidate starts, and how much of it was seen.
    let mut seen: Option<(usize, usize)> = None;
    for line in list.lines() {
        let part = Part::parse(line).filter(|part| part.device == device && part.inode == inode && part.is_shared);
        seen = match (part, seen) {
            (Some(part), Some((start, end))) if part.start == start + end && part.offset == end => {
                Some((start, end + part.len))
            }
            (Some(part), _) if part.offset == 0 => Some((part.start, part.len)),
            _ => None,
        };
        if let Some((start, end)) = seen
            && end >= len
        {
            return start.try_into().ok();
        }
    }
    None
}

/// A line of the list.
struct Part<'a> {
    start: usize,
    len: usize,
    is_shared: bool,
    offset: usize,
    device: &'a str,
    inode: u64,
}

impl<'a> Part<'a> {
    fn parse(line: &'a str) -> Option<Part<'a>> {
        let mut words = line.split_ascii_whitespace();
        let hexadecimal = |text: &str| usize::from_str_radix(text, 16).ok();
        let (start, end) = words.next()?.split_once('-')?;
        let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
        let is_shared = words.next()? == "rw-s";
        let offset = hexadecimal(words.next()?)?;
        let device = words.next()?;
        let inode = words.next()?.parse().ok()?;
        Some(Part { start, len: end.checked_sub(start)?, is_shared, offset, device, inode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::create_file;
    use memmap2::MmapOptions;

    const LIST: &str = "\
1000-2000 rw-s 00000000 00:01 7 /memfd:rwmpi job (deleted)
3000-4000 rw-p 00001000 00:01 7 /memfd:rwmpi job (deleted)
4000-5000 r--p 00000000 08:01 7 /usr/lib/libc.so
10000-12000 rw-s 00000000 00:01 7 /memfd:rwmpi job (deleted)
12000-13000 rw-s 00002000 00:01 7 /memfd:rwmpi job (deleted)
13000-15000 rw-s 00003000 00:01 7 /memfd:rwmpi job (deleted)
20000-30000 rw-p 00000000 00:00 0
";

    #[test]
    fn pieces_that_follow_each_other_are_one_mapping() {
        let found = |inode, len| find_in(LIST, "00:01", inode, len).map(std::num::NonZero::get);
        assert_eq!(found(7, 0x1000), Some(0x1000));
        assert_eq!(found(7, 0x2000), Some(0x10000));
        assert_eq!(found(7, 0x5000), Some(0x10000));
        assert_eq!(found(7, 0x5001), None);
        assert_eq!(found(8, 0x1000), None);
        assert_eq!(find_in("nonsense\n\n1-", "00:01", 7, 1), None);
    }

    #[test]
    fn the_real_list_has_what_was_mapped() {
        let file = create_file(None).unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(find(&file, 1 << 20), None);
        let map = MmapOptions::new().map_raw(&file).unwrap();
        assert_eq!(find(&file, 1 << 20).map(NonNull::as_ptr), Some(map.as_mut_ptr()));
    }
}
