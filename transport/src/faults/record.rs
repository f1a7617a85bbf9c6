//! What a process writes of its fault, made in memory that is there: no allocation, no lock, so that a signal handler
//! may do it.
//!
//! A line with the place of the process, the signal and the address, then a line for each frame, the innermost first:
//! the address in it, the place in the file that is mapped there, and that file. Numbers are hexadecimal, but for the
//! first two.
#![forbid(unsafe_code)]

/// Longest record: what a pipe takes in one piece, so that records of several processes never mix.
pub(super) const RECORD_MAX: usize = 4096;
/// Frames at most: where it happened, and who has called that.
pub(super) const FRAMES_MAX: usize = 32;
/// A longer line of the kernel's list is left out.
const LINE_MAX: usize = 512;
/// Bytes for the names of all files.
const NAMES_MAX: usize = 2048;

/// A frame: where its call goes on, or its fault has happened.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    address: usize,
    /// Where in which file that is: the name's place and length, the latter 0 if it is not known.
    offset: usize,
    name: (usize, usize),
}

/// Frames, and where they lie.
pub(super) struct Frames {
    frames: [Frame; FRAMES_MAX],
    count: usize,
    names: [u8; NAMES_MAX],
    names_len: usize,
}

impl Frames {
    pub(super) const fn new() -> Frames {
        let frame = Frame { address: 0, offset: 0, name: (0, 0) };
        Frames { frames: [frame; FRAMES_MAX], count: 0, names: [0; NAMES_MAX], names_len: 0 }
    }

    /// Adds the next outer one; false: there is no room for more.
    pub(super) fn push(&mut self, address: usize) -> bool {
        if let Some(frame) = self.frames.get_mut(self.count) {
            *frame = Frame { address, ..Frame::default() };
            self.count += 1;
        }
        self.count < FRAMES_MAX
    }

    /// Leaves out the frames of the handler, which lie within the one where the fault has happened. Where a call has
    /// gone nowhere, that one is not among them, or the last: then `caller` is all that is known of the others.
    pub(super) fn begin_at(&mut self, fault: usize, caller: Option<usize>) {
        let known = &self.frames[..self.count];
        if let Some(first) = known.iter().position(|frame| frame.address == fault) {
            self.frames.copy_within(first..self.count, 0);
            self.count -= first;
        } else {
            self.count = 0;
            self.push(fault);
        }
        if self.count == 1 {
            caller.map(|caller| self.push(caller));
        }
    }

    /// Takes in a line of the kernel's list of what is mapped.
    fn place(&mut self, line: &[u8]) {
        let Some(Mapped { start, end, offset, name }) = Mapped::parse(line) else { return };
        let mut stored = None;
        for frame in &mut self.frames[..self.count] {
            if !(start..end).contains(&frame.address) {
                continue;
            }
            let at = self.names_len;
            let Some(room) = self.names.get_mut(at..at + name.len()) else { return };
            room.copy_from_slice(name);
            frame.offset = (frame.address - start).wrapping_add(offset);
            frame.name = *stored.get_or_insert((at, name.len()));
        }
        if stored.is_some() {
            self.names_len += name.len();
        }
    }

    /// Takes in the whole list, which `read` gives piece by piece; 0 bytes: it is at its end.
    pub(super) fn place_all(&mut self, mut read: impl FnMut(&mut [u8]) -> usize) {
        let (mut line, mut len, mut piece) = ([0; LINE_MAX], 0, [0; LINE_MAX]);
        loop {
            let count = read(&mut piece);
            for &byte in piece.get(..count).unwrap_or_default() {
                if byte == b'\n' {
                    self.place(line.get(..len).unwrap_or_default());
                    len = 0;
                } else {
                    if let Some(place) = line.get_mut(len) {
                        *place = byte;
                    }
                    len += 1;
                }
            }
            if count == 0 {
                return;
            }
        }
    }

    /// Writes the record; as many frames as it has room for.
    pub(super) fn record<'a>(
        &self,
        place: usize,
        signal: u32,
        address: usize,
        room: &'a mut [u8; RECORD_MAX],
    ) -> &'a [u8] {
        let mut text = Text { room, len: 0 };
        let head = text.number(place, 10) && text.number(signal as usize, 10) && text.hexadecimal(address);
        if head && text.bytes(b"\n") {
            for frame in &self.frames[..self.count] {
                let before = text.len;
                let (at, len) = frame.name;
                let name = self.names.get(at..at + len).unwrap_or_default();
                let numbers = text.hexadecimal(frame.address) && text.hexadecimal(frame.offset);
                if !(numbers && text.bytes(name) && text.bytes(b"\n")) {
                    text.len = before;
                    break;
                }
            }
        }
        // The empty line that ends it fits: each number leaves a byte.
        let len = text.len;
        room[len] = b'\n';
        &room[..=len]
    }
}

/// A line of the kernel's list.
struct Mapped<'a> {
    start: usize,
    end: usize,
    offset: usize,
    name: &'a [u8],
}

impl Mapped<'_> {
    fn parse(line: &[u8]) -> Option<Mapped<'_>> {
        let mut words = line.splitn(6, |&byte| byte == b' ');
        let mut range = words.next()?.split(|&byte| byte == b'-');
        let (start, end) = (number(range.next()?)?, number(range.next()?)?);
        let offset = number(words.nth(1)?)?;
        let name = words.nth(2)?.trim_ascii_start();
        name.starts_with(b"/").then_some(Mapped { start, end, offset, name })
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    let digit = |&byte: &u8| char::from(byte).to_digit(16);
    digits.iter().try_fold(0_usize, |number, byte| number.checked_mul(16)?.checked_add(digit(byte)? as usize))
}

/// Text in memory of fixed length, of which the last byte is kept free.
struct Text<'a> {
    room: &'a mut [u8; RECORD_MAX],
    len: usize,
}

impl Text<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> bool {
        let end = self.len + bytes.len();
        if end >= RECORD_MAX {
            return false;
        }
        self.room[self.len..end].copy_from_slice(bytes);
        self.len = end;
        true
    }

    /// A number, and a space.
    fn number(&mut self, number: usize, base: usize) -> bool {
        let (mut digits, mut first, mut rest) = ([b' '; 24], 23, number);
        loop {
            first -= 1;
            digits[first] = b"0123456789abcdef"[rest % base];
            rest /= base;
            if rest == 0 {
                return self.bytes(&digits[first..]);
            }
        }
    }

    fn hexadecimal(&mut self, number: usize) -> bool {
        self.number(number, 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
55d0c000-55d0d000 r--p 00000000 08:01 77                         /usr/bin/a program
55d0d000-55d0e000 r-xp 00001000 08:01 77                         /usr/bin/a program
7f000000-7f001000 r-xp 00002000 08:01 78                         /lib/libmpi.so
7f100000-7f101000 rw-p 00000000 00:00 0 
";

    fn record(frames: &Frames) -> String {
        let mut room = [0; RECORD_MAX];
        String::from_utf8(frames.record(42, 11, 0x10, &mut room).to_vec()).unwrap()
    }

    fn placed(addresses: &[usize], list: &str) -> Frames {
        let mut frames = Frames::new();
        addresses.iter().for_each(|&address| _ = frames.push(address));
        let mut rest = list.as_bytes();
        frames.place_all(|piece| {
            // In pieces that end anywhere.
            let (now, later) = rest.split_at(rest.len().min(7).min(piece.len()));
            piece[..now.len()].copy_from_slice(now);
            rest = later;
            now.len()
        });
        frames
    }

    #[test]
    fn each_frame_has_its_file_and_its_place_there() {
        let frames = placed(&[0x7f00_0010, 0x55d0_d123, 0x7f10_0000], LIST);
        assert_eq!(
            record(&frames),
            "42 11 10 \n7f000010 2010 /lib/libmpi.so\n55d0d123 1123 /usr/bin/a program\n7f100000 0 \n\n"
        );
    }

    #[test]
    fn the_handler_is_not_part_of_the_story() {
        let mut frames = placed(&[1, 2, 3, 4], "");
        frames.begin_at(3, Some(9));
        assert_eq!(record(&frames), "42 11 10 \n3 0 \n4 0 \n\n");
        let mut ended = placed(&[1, 2, 0], "");
        ended.begin_at(0, Some(9));
        assert_eq!(record(&ended), "42 11 10 \n0 0 \n9 0 \n\n");
        frames.begin_at(0, Some(9));
        assert_eq!(record(&frames), "42 11 10 \n0 0 \n9 0 \n\n", "a call that has gone nowhere");
    }

    #[test]
    fn what_has_no_room_is_left_out() {
        let long = format!("1000-9000 r-xp 00000000 08:01 77 /{}\n", "x".repeat(400));
        let frames = placed(&[0x1000; FRAMES_MAX + 3], &long);
        let text = record(&frames);
        assert!(text.len() <= RECORD_MAX && text.ends_with("x\n\n"), "{text}");
        assert!(text.lines().count() < FRAMES_MAX);
        let unknown = placed(&[0x1000], &format!("1000-9000 r-xp 00000000 08:01 77 /{}\n", "x".repeat(600)));
        assert!(record(&unknown).starts_with("42 11 10 \n1000 0 "));
        assert!(record(&placed(&[0x1000], "1000-9000 nonsense\n1000-\n\nxyz\n")).ends_with("1000 0 \n\n"));
    }
}
