//! What the kernel asks a file system for, and how it is answered: the part of `linux/fuse.h` that tests need. Numbers
//! are those of the machine, at these places of a message.

use rustix::io::Errno;
use rustix::process::{getgid, getuid};

/// The version of the interface that is spoken.
const VERSION: [u32; 2] = [7, 31];
const REQUEST_HEADER: usize = 40;
/// How long a write may be.
const WRITE_MAX: u32 = 1 << 20;
/// The file system is asked for locks.
const LOCKS: u32 = 1 << 1 | 1 << 10;
/// Writes may be longer than a page.
const LONG_WRITES: u32 = 1 << 5;
/// In what is changed of a file: its size.
const SIZE: u32 = 1 << 3;
/// Of an open file: each call is asked for, and its answer handed on as it is.
pub const NOT_CACHED: u32 = 1;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("it has 4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("it has 8 bytes"))
}

/// A name, up to its end.
fn name(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// What is asked for.
pub enum Asked<'a> {
    Start,
    Find {
        name: &'a [u8],
    },
    Attributes,
    Change {
        size: Option<u64>,
    },
    MakeFolder {
        name: &'a [u8],
    },
    Remove {
        name: &'a [u8],
    },
    Create {
        name: &'a [u8],
    },
    Open,
    Read {
        at: usize,
        bytes: usize,
    },
    Write {
        at: usize,
        bytes: &'a [u8],
    },
    Reserve {
        end: usize,
    },
    Flush,
    Sync,
    Close,
    Lock,
    /// No answer is wanted.
    Nothing,
    Other,
}

/// A message of the kernel's.
pub struct Request<'a> {
    number: u64,
    pub node: u64,
    pub asked: Asked<'a>,
}

impl<'a> Request<'a> {
    pub fn of(message: &'a [u8]) -> Request<'a> {
        let (header, body) = message.split_at(REQUEST_HEADER);
        let place = |at| u64_at(body, at) as usize;
        let asked = match u32_at(header, 4) {
            1 => Asked::Find { name: name(body) },
            2 | 36 | 42 => Asked::Nothing,
            3 => Asked::Attributes,
            4 => Asked::Change { size: (u32_at(body, 0) & SIZE != 0).then(|| u64_at(body, 16)) },
            9 => Asked::MakeFolder { name: name(&body[8..]) },
            10 | 11 => Asked::Remove { name: name(body) },
            14 | 27 => Asked::Open,
            15 => Asked::Read { at: place(8), bytes: u32_at(body, 16) as usize },
            16 => Asked::Write { at: place(8), bytes: &body[40..][..u32_at(body, 16) as usize] },
            18 | 29 => Asked::Close,
            20 => Asked::Sync,
            25 => Asked::Flush,
            26 => Asked::Start,
            31..=33 => Asked::Lock,
            35 => Asked::Create { name: name(&body[16..]) },
            43 => Asked::Reserve { end: place(8) + place(16) },
            _ => Asked::Other,
        };
        Request { number: u64_at(header, 8), node: u64_at(header, 16), asked }
    }

    /// The message that answers it.
    pub fn reply(&self, answer: Result<Answer, Errno>) -> Vec<u8> {
        let (error, body) = match answer {
            Ok(answer) => (0, answer.body()),
            Err(error) => (-error.raw_os_error(), Vec::new()),
        };
        let length = 16 + body.len() as u32;
        [&length.to_ne_bytes()[..], &error.to_ne_bytes(), &self.number.to_ne_bytes(), &body].concat()
    }
}

/// What the kernel is told of a file or folder.
pub struct Attributes {
    pub node: u64,
    pub is_folder: bool,
    pub size: u64,
}

impl Attributes {
    fn words(&self) -> Vec<u8> {
        let mode = if self.is_folder { 0o040_755 } else { 0o100_644 };
        let long = [self.node, self.size, self.size.div_ceil(512), 0, 0, 0];
        let short = [0, 0, 0, mode, 1, getuid().as_raw(), getgid().as_raw(), 0, 4096, 0];
        words(&long, &short)
    }

    /// The kernel keeps neither name nor attributes.
    fn entry(&self) -> Vec<u8> {
        [words(&[self.node, 0, 0, 0], &[0, 0]), self.words()].concat()
    }
}

fn words(long: &[u64], short: &[u32]) -> Vec<u8> {
    let long = long.iter().flat_map(|word| word.to_ne_bytes());
    long.chain(short.iter().flat_map(|word| word.to_ne_bytes())).collect()
}

/// What is answered.
pub enum Answer {
    Started { asks_for_locks: bool },
    Entry(Attributes),
    Attributes(Attributes),
    Created(Attributes, u32),
    Opened(u32),
    Bytes(Vec<u8>),
    Written(usize),
    Done,
}

impl Answer {
    fn body(self) -> Vec<u8> {
        match self {
            Answer::Started { asks_for_locks } => {
                let flags = LONG_WRITES | if asks_for_locks { LOCKS } else { 0 };
                let [major, minor] = VERSION;
                words(&[], &[major, minor, 0, flags, 0, WRITE_MAX, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }
            Answer::Entry(attributes) => attributes.entry(),
            Answer::Attributes(attributes) => [words(&[0], &[0, 0]), attributes.words()].concat(),
            Answer::Created(attributes, flags) => [attributes.entry(), words(&[0], &[flags, 0])].concat(),
            Answer::Opened(flags) => words(&[0], &[flags, 0]),
            Answer::Bytes(bytes) => bytes,
            Answer::Written(bytes) => words(&[], &[bytes as u32, 0]),
            Answer::Done => Vec::new(),
        }
    }
}
