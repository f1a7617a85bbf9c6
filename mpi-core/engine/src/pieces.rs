//! Data that do not lie side by side, packed and unpacked piece by piece as their message moves.
//!
//! Nowhere is a whole message packed: the sender packs what the next cell or remote write takes, the receiver unpacks
//! what it has just read. So both work at the same time, on bytes that are still in their caches. Such data have no
//! address that a peer could be told: they are neither announced nor advertised.
//!
//! Nor has memory that is only made for a message when its length is known.

use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;

use rwmpi_transport::{ReadSpan, WriteSpan};

/// Bytes that lie scattered in memory and have an order, in which they are packed.
pub trait Scattered: Debug {
    /// How many they are.
    fn len(&self) -> usize;

    /// Packs those from `at` on until `into` is full. There must be so many.
    fn pack(&self, at: usize, into: &mut [u8]);

    /// Puts `bytes` where those from `at` on belong. There must be so many.
    fn unpack(&self, at: usize, bytes: &[u8]);
}

/// Memory for a message, made when it is known how long that is.
pub trait Room: Debug {
    /// How long it may be, at most.
    fn limit(&self) -> usize;

    /// Room for so many bytes, which stays valid, and where it is, as long as `self` does; `None` if there is no
    /// memory.
    fn make(&mut self, len: usize) -> Option<WriteSpan<'static>>;
}

/// One that its owner looks at when the operation has completed, and that lives as long as either needs it.
impl<R: Room> Room for Rc<RefCell<R>> {
    fn limit(&self) -> usize {
        self.borrow().limit()
    }

    fn make(&mut self, len: usize) -> Option<WriteSpan<'static>> {
        self.borrow_mut().make(len)
    }
}

/// So many bytes at a time where the transport sets no limit.
const PIECE: usize = 64 << 10;

/// Scattered bytes, and room for a piece of them.
#[derive(Debug)]
pub struct Pieces {
    bytes: Box<dyn Scattered>,
    piece: Vec<u8>,
    /// Where `piece` begins, if it was packed.
    at: usize,
}

impl Pieces {
    fn new(bytes: Box<dyn Scattered>) -> Box<Self> {
        Box::new(Pieces { bytes, piece: Vec::new(), at: 0 })
    }
}

/// What a send sends.
#[derive(Debug)]
pub enum Source {
    Span(ReadSpan<'static>),
    Pieces(Box<Pieces>),
}

impl Source {
    pub fn scattered(bytes: Box<dyn Scattered>) -> Self {
        Source::Pieces(Pieces::new(bytes))
    }

    pub fn len(&self) -> usize {
        match self {
            Source::Span(span) => span.len(),
            Source::Pieces(pieces) => pieces.bytes.len(),
        }
    }

    /// The bytes, if they lie side by side.
    pub fn span(&self) -> Option<ReadSpan<'static>> {
        match self {
            Source::Span(span) => Some(*span),
            Source::Pieces(_) => None,
        }
    }

    /// How many bytes had better be asked for at a time.
    pub fn piece_len(&self) -> usize {
        self.span().map_or(PIECE, ReadSpan::len)
    }

    /// `len` bytes from `offset` on. Asked again for the same, it packs nothing.
    pub fn part(&mut self, offset: usize, len: usize) -> ReadSpan<'_> {
        match self {
            Source::Span(span) => span.part(offset, len),
            Source::Pieces(pieces) => {
                if (pieces.at, pieces.piece.len()) != (offset, len) {
                    pieces.piece.resize(len, 0);
                    pieces.bytes.pack(offset, &mut pieces.piece);
                    pieces.at = offset;
                }
                pieces.piece.as_slice().into()
            }
        }
    }
}

impl Default for Source {
    fn default() -> Self {
        Source::Span(ReadSpan::EMPTY)
    }
}

/// Where a receive puts its message.
#[derive(Debug)]
pub enum Sink {
    Span(WriteSpan<'static>),
    Pieces(Box<Pieces>),
    /// A room, and what it has been made to.
    Room(Box<dyn Room>, Option<WriteSpan<'static>>),
}

impl Sink {
    pub fn in_room(room: Box<dyn Room>) -> Self {
        Sink::Room(room, None)
    }

    /// A message of so many bytes comes: makes room, if that is to be done. If there is none, nothing of the message is
    /// kept.
    #[inline]
    pub fn expect(&mut self, len: u64) {
        if let Sink::Room(room, made) = self {
            let len = usize::try_from(len).unwrap_or(usize::MAX).min(room.limit());
            *made = Some(room.make(len).unwrap_or(WriteSpan::EMPTY));
        }
    }

    pub fn scattered(bytes: Box<dyn Scattered>) -> Self {
        Sink::Pieces(Pieces::new(bytes))
    }

    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Sink::Span(span) => span.len(),
            Sink::Pieces(pieces) => pieces.bytes.len(),
            Sink::Room(room, made) => made.map_or(room.limit(), WriteSpan::len),
        }
    }

    /// The memory, if it is one piece and there already.
    #[inline]
    pub fn span(&self) -> Option<WriteSpan<'static>> {
        match self {
            Sink::Span(span) => Some(*span),
            Sink::Pieces(_) => None,
            Sink::Room(_, made) => *made,
        }
    }

    /// How many bytes had better be put there at a time.
    pub fn piece_len(&self) -> usize {
        self.span().map_or(PIECE, WriteSpan::len)
    }

    /// Puts there what `read` reads: `len` bytes, from `offset` on.
    #[inline]
    pub fn put<R>(&mut self, offset: usize, len: usize, read: impl FnOnce(WriteSpan<'_>) -> R) -> R {
        match self {
            Sink::Span(span) => read(span.part(offset, len)),
            Sink::Pieces(pieces) => {
                pieces.piece.resize(len, 0);
                let result = read(pieces.piece.as_mut_slice().into());
                pieces.bytes.unpack(offset, &pieces.piece);
                result
            }
            Sink::Room(_, made) => read(made.unwrap_or(WriteSpan::EMPTY).part(offset, len)),
        }
    }
}

impl From<WriteSpan<'static>> for Sink {
    fn from(span: WriteSpan<'static>) -> Self {
        Sink::Span(span)
    }
}
