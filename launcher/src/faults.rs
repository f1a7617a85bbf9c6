//! Where ranks were when a fault of their own killed them: what their handlers have written before they died
//! (`transport/src/faults.rs` has the format), read.
//!
//! A rank writes its record in one piece, which a pipe keeps together, and is dead when the launcher looks: nothing has
//! to be waited for.

use crate::error::LaunchError;
use rustix::pipe::PipeFlags;
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// More than ranks ever write.
const FRAMES_MAX: usize = 64;
const READ_BYTES: usize = 1 << 16;

/// The pipe of one host's ranks.
#[derive(Debug)]
pub(crate) struct FaultPipe {
    reader: OwnedFd,
    writer: OwnedFd,
    gathered: Vec<Fault>,
}

/// Where a rank was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its place among the ranks of its host.
    pub(crate) place: usize,
    /// Where it happened, and its callers.
    pub(crate) frames: Vec<Frame>,
}

/// Where the fault was, or where a call goes on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    /// The place in the file; if no file lies there, the address.
    pub(crate) offset: u64,
    pub(crate) file: Option<String>,
}

/// What is said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Backtrace {
    /// Whose it is: all that were at the same place.
    pub(crate) ranks: Vec<usize>,
    pub(crate) lines: Vec<String>,
}

impl FaultPipe {
    pub(crate) fn new() -> Result<FaultPipe, LaunchError> {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(LaunchError::system("create the pipe for faults of the ranks"))?;
        Ok(FaultPipe { reader, writer, gathered: Vec::new() })
    }

    /// What the ranks write to.
    pub(crate) fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    /// Takes in what has been written, so that there is room for more.
    pub(crate) fn gather(&mut self) {
        let (mut text, mut piece) = (Vec::new(), vec![0; READ_BYTES]);
        while let Ok(count @ 1..) = rustix::io::read(&self.reader, &mut piece) {
            text.extend_from_slice(&piece[..count]);
        }
        self.gathered.extend(parse(&String::from_utf8_lossy(&text)));
    }

    /// All that has been written so far.
    pub(crate) fn take(&mut self) -> Vec<Fault> {
        self.gather();
        std::mem::take(&mut self.gathered)
    }
}

/// Faults as they stand one after the other, an empty line behind each. What makes no sense is left out.
fn parse(text: &str) -> Vec<Fault> {
    text.split("\n\n").filter_map(parse_one).collect()
}

fn parse_one(record: &str) -> Option<Fault> {
    let mut lines = record.lines();
    let place = lines.next()?.split(' ').next()?.parse().ok()?;
    let frames = lines.take(FRAMES_MAX).map(parse_frame).collect::<Option<Vec<Frame>>>()?;
    (!frames.is_empty()).then_some(Fault { place, frames })
}

fn parse_frame(line: &str) -> Option<Frame> {
    let mut words = line.splitn(3, ' ');
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (address, offset) = (number()?, number()?);
    Some(match words.next() {
        Some(file) if !file.is_empty() => Frame { offset, file: Some(file.to_owned()) },
        _ => Frame { offset: address, file: None },
    })
}

/// Those at the same place together; of each, which places of ranks and where.
pub(crate) fn grouped(faults: Vec<Fault>) -> Vec<(Vec<usize>, Vec<Frame>)> {
    let mut groups: Vec<(Vec<usize>, Vec<Frame>)> = Vec::new();
    for Fault { place, frames } in faults {
        match groups.iter_mut().find(|(_, known)| *known == frames) {
            Some((places, _)) => places.push(place),
            None => groups.push((vec![place], frames)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(offset: u64, file: Option<&str>) -> Frame {
        Frame { offset, file: file.map(str::to_owned) }
    }

    #[test]
    fn records_are_read_as_ranks_write_them() {
        let mut pipe = FaultPipe::new().unwrap();
        let record = "3 11 0 \n55d0d123 1123 /usr/bin/a program\n0 0 \n\n";
        rustix::io::write(pipe.writer(), (record.to_owned() + &record.replace('3', "4")).as_bytes()).unwrap();
        let frames = vec![frame(0x1123, Some("/usr/bin/a program")), frame(0, None)];
        let faults = pipe.take();
        assert_eq!(faults[0], Fault { place: 3, frames });
        assert_eq!((faults.len(), faults[1].place), (2, 4));
        assert_eq!(pipe.take(), []);
    }

    #[test]
    fn nonsense_is_left_out() {
        for text in ["", "\n\n\n\n", "x 11 0 \n1 1 /a\n\n", "1 11 0 \nx 1 /a\n\n", "1 11 0 \n\n"] {
            assert_eq!(parse(text), [], "{text:?}");
        }
        let many = format!("1 11 0 \n{}\n", "1 1 /a\n".repeat(1000));
        assert_eq!(parse(&many)[0].frames.len(), FRAMES_MAX);
    }

    #[test]
    fn the_same_place_is_one_group() {
        let fault = |place, offset| Fault { place, frames: vec![frame(offset, Some("/a"))] };
        let groups = grouped(vec![fault(0, 1), fault(1, 2), fault(2, 1)]);
        assert_eq!(groups.iter().map(|(places, _)| places.clone()).collect::<Vec<_>>(), [vec![0, 2], vec![1]]);
    }
}
