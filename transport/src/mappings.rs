//! Where this process has mapped a file: the kernel's list, read.
//!
//! A mapping stands there in several parts once some of it is private, or something else is mapped over it.

use std::fs::{self, File};
use std::io;
use std::ptr::NonNull;

use memmap2::MmapOptions;

use crate::descriptor::{self, Identity};

/// Where a file is mapped, readable, writable and shared.
pub(crate) struct Mapped {
    /// Its first bytes, in one piece.
    pub(crate) start: NonNull<u8>,
    /// A part of it that other addresses have, too.
    pub(crate) again: Again,
}

/// A part of a file that is mapped a second time; none, if it has no length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Again {
    start: usize,
    len: usize,
    /// Of the part in the file.
    offset: usize,
}

impl Again {
    /// Where in the file `len` bytes from an address on lie, if they lie in the part.
    #[inline]
    pub(crate) fn offset_of(&self, address: usize, len: usize) -> Option<usize> {
        let place = address.wrapping_sub(self.start);
        (place < self.len && len <= self.len - place).then(|| self.offset + place)
    }
}

/// Where the first `len` bytes of `file` are mapped; `None` if they are not, or the kernel does not say.
pub(crate) fn find(file: &File, len: usize) -> Option<Mapped> {
    let (list, device, inode) = list_and_key(descriptor::identity(file).ok()?)?;
    let start = find_in(&list, &device, inode, len)?;
    let again = find_again(&list, &device, inode, start.get());
    Some(Mapped { start: NonNull::with_exposed_provenance(start), again })
}

/// Whether so many bytes of that file, from `offset` on, are mapped from that address on, shared by all.
pub(crate) fn is_shared_at(file: Identity, start: usize, offset: usize, len: usize) -> bool {
    list_and_key(file).is_some_and(|(list, device, inode)| is_shared_in(&list, &device, inode, (start, offset), len))
}

/// As [`is_shared_at`], in this list.
fn is_shared_in(list: &str, device: &str, inode: u64, place: (usize, usize), len: usize) -> bool {
    let has_all = |part: Part| part.is_shared && part.start <= place.0 && part.start + part.len >= place.0 + len;
    parts_at(list, device, inode, place).any(has_all)
}

/// The parts of that file that are mapped as if all of it were, with `offset` at that address.
fn parts_at<'a>(
    list: &'a str,
    device: &'a str,
    inode: u64,
    (start, offset): (usize, usize),
) -> impl Iterator<Item = Part<'a>> {
    let parts = list.lines().filter_map(Part::parse);
    let parts = parts.filter(move |part| part.device == device && part.inode == inode);
    parts.filter(move |part| part.start.wrapping_sub(part.offset) == start.wrapping_sub(offset))
}

/// How much of `most` bytes of that file, from `offset` on, is mapped from that address on. Parts of it may be the
/// process's own by now, or something else.
pub(crate) fn len_at(file: Identity, start: usize, offset: usize, most: usize) -> usize {
    list_and_key(file).map_or(0, |(list, device, inode)| len_in(&list, &device, inode, (start, offset), most))
}

/// As [`len_at`], in this list.
fn len_in(list: &str, device: &str, inode: u64, (start, offset): (usize, usize), most: usize) -> usize {
    let ends = parts_at(list, device, inode, (start, offset))
        .filter(|part| part.start < start + most)
        .map(|part| part.start + part.len);
    ends.max().map_or(0, |end| end.min(start + most).saturating_sub(start))
}

/// The kernel's list, and what a file is called there.
fn list_and_key(file: Identity) -> Option<(String, String, u64)> {
    Some((fs::read_to_string("/proc/self/maps").ok()?, device_text(file.0), file.1))
}

/// Whether another process has mapped any of `file`; `None` if that can't be told, as of one that has ended and is not
/// yet forgotten.
///
/// # Errors
/// If there is no such process, and what else keeps it from being looked at.
pub(crate) fn is_mapped_by(process: u32, file: Identity) -> io::Result<Option<bool>> {
    let list = || fs::read_to_string(format!("/proc/{process}/maps"));
    let device = device_text(file.0);
    let is_it = |part: Part<'_>| part.device == device && part.inode == file.1;
    if list()?.lines().filter_map(Part::parse).any(is_it) {
        return Ok(Some(true));
    }
    // The list is read in pieces: of a process that has ended meanwhile there may have been the first ones.
    Ok((!list()?.is_empty()).then_some(false))
}

/// As the list has it.
fn device_text(device: rustix::fs::Dev) -> String {
    format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device))
}

/// The name of an empty file that a process has mapped once it has joined a job.
const MARK: &str = "rwmpi has joined";

/// Whether this process has joined a job, by whatever library in it.
pub(crate) fn has_joined() -> bool {
    fs::read_to_string("/proc/self/maps").is_ok_and(|list| list.lines().any(|line| line.contains(MARK)))
}

/// Marks this process as one that has joined its job. The mark is one that every library in the process finds, no child
/// has after `exec`, and no program removes unasked. Without `/proc`, or memory files, there is none.
pub(crate) fn mark_as_joined() {
    let file = rustix::fs::memfd_create(MARK, rustix::fs::MemfdFlags::CLOEXEC);
    let map = file.map(|file| MmapOptions::new().len(1).map_raw_read_only(&File::from(file)));
    // Mapped for the life of the process.
    std::mem::forget(map);
}

/// What of the file that is mapped at `whole` is mapped elsewhere, too, from its first piece to the last. What lies
/// between them, and is something else by now, the arena's record has.
fn find_again(list: &str, device: &str, inode: u64, whole: usize) -> Again {
    let parts = list.lines().filter_map(Part::parse);
    let mut parts = parts.filter(|part| {
        let is_whole = part.start.wrapping_sub(part.offset) == whole || part.offset == 0;
        part.device == device && part.inode == inode && part.is_shared && !is_whole
    });
    let Some(first) = parts.next() else { return Again::default() };
    let distance = |part: &Part<'_>| part.start.wrapping_sub(part.offset);
    let end = parts.filter(|part| distance(part) == distance(&first)).map(|part| part.start + part.len).next_back();
    Again { start: first.start, len: end.unwrap_or(first.start + first.len) - first.start, offset: first.offset }
}

/// As [`find`], in this list: where the first bytes are shared, and the last ones lie in their place behind them.
fn find_in(list: &str, device: &str, inode: u64, len: usize) -> Option<std::num::NonZero<usize>> {
    let parts = || {
        let parts = list.lines().filter_map(Part::parse);
        parts.filter(|part| part.device == device && part.inode == inode)
    };
    let is_whole = |start: usize| {
        parts().any(|part| part.start.wrapping_sub(part.offset) == start && part.offset + part.len >= len)
    };
    let mut starts = parts().filter(|part| part.is_shared && part.offset == 0).map(|part| part.start);
    starts.find(|&start| is_whole(start))?.try_into().ok()
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
    fn pieces_at_the_same_distances_as_in_the_file_are_one_mapping() {
        let found = |inode, len| find_in(LIST, "00:01", inode, len).map(std::num::NonZero::get);
        assert_eq!(found(7, 0x1000), Some(0x1000));
        assert_eq!(found(7, 0x2000), Some(0x10000));
        assert_eq!(found(7, 0x5000), Some(0x10000));
        assert_eq!(found(7, 0x5001), None);
        assert_eq!(found(8, 0x1000), None);
        let without = |line: &str| find_in(&LIST.replace(line, ""), "00:01", 7, 0x5000).map(std::num::NonZero::get);
        assert_eq!(without("12000-13000 rw-s 00002000 00:01 7 /memfd:rwmpi job (deleted)\n"), Some(0x10000));
        assert_eq!(without("13000-15000 rw-s 00003000 00:01 7 /memfd:rwmpi job (deleted)\n"), None);
        assert_eq!(find_in("nonsense\n\n1-", "00:01", 7, 1), None);
    }

    #[test]
    fn a_part_ends_where_no_more_of_it_follows() {
        let len = |start, offset| len_in(LIST, "00:01", 7, (start, offset), 0x8000);
        assert_eq!([len(0x10000, 0), len(0x12800, 0x2800)], [0x5000, 0x2800]);
        assert_eq!([len(0x10000, 0x1000), len(0x15000, 0x5000)], [0; 2], "another part; behind");
        assert_eq!(len_in(LIST, "00:01", 7, (0x10000, 0), 0x1800), 0x1800, "only what was asked for");
        let private = LIST.replace("12000-13000 rw-s", "12000-13000 rw-p");
        let hole = LIST.replace("12000-13000 rw-s 00002000 00:01", "12000-13000 rw-p 00000000 00:00");
        assert_eq!([&private, &hole].map(|list| len_in(list, "00:01", 7, (0x10000, 0), 0x8000)), [0x5000; 2]);
        let is_shared = |list: &str, start, len| is_shared_in(list, "00:01", 7, (start, start - 0x10000), len);
        assert!(is_shared(LIST, 0x12000, 0x1000) && !is_shared(&private, 0x12000, 0x1000));
        assert!(!is_shared(LIST, 0x14800, 0x1000), "it ends before that");
    }

    #[test]
    fn what_is_mapped_again_is_told_from_what_is_left_of_the_whole() {
        let again = |list: &str| find_again(list, "00:01", 7, 0x10000);
        assert_eq!(again(LIST), Again::default(), "private, or part of the whole");
        let part = "8000-9000 rw-s 00004000 00:01 7 /memfd:rwmpi job (deleted)\n";
        let hole = "9000-a000 rw-p 00000000 00:00 0\n";
        let rest = "a000-c000 rw-s 00006000 00:01 7 /memfd:rwmpi job (deleted)\n";
        let found = again(&[part, hole, rest, LIST].concat());
        assert_eq!(found, Again { start: 0x8000, len: 0x4000, offset: 0x4000 });
        assert_eq!(
            [0x7fff, 0x8000, 0xbfff, 0xc000].map(|at| found.offset_of(at, 1)),
            [None, Some(0x4000), Some(0x7fff), None]
        );
        assert_eq!([0x1000, 0x1001].map(|len| found.offset_of(0xb000, len)), [Some(0x7000), None]);
        assert_eq!(again(&[LIST, part].concat()), Again { start: 0x8000, len: 0x1000, offset: 0x4000 });
    }

    #[test]
    fn a_mark_is_found() {
        mark_as_joined();
        assert!(has_joined());
    }

    #[test]
    fn the_real_list_has_what_was_mapped() {
        let file = create_file(None).unwrap();
        file.set_len(1 << 20).unwrap();
        let find = || find(&file, 1 << 20);
        assert!(find().is_none());
        let map = MmapOptions::new().map_raw(&file).unwrap();
        assert_eq!(find().unwrap().start.as_ptr(), map.as_mut_ptr());
        let part = MmapOptions::new().offset(1 << 19).len(1 << 16).map_raw(&file).unwrap();
        let found = find().unwrap();
        assert_eq!(found.start.as_ptr(), map.as_mut_ptr());
        assert_eq!(found.again.offset_of(part.as_ptr() as usize + 5, 1), Some((1 << 19) + 5));
    }
}
