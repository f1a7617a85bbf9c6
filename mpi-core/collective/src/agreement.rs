//! Ranks that disagree about how long a collective's data are may choose different algorithms, and would wait for
//! messages that never come. So whose data are long says first how long they are, by the messages of the algorithm for
//! short data. Whoever has short data is met by a message of another length than it expects, as by any such mistake;
//! whoever has announced learns whether all have, and the same.
//!
//! Short data cost nothing by that, but for those that are as long as an announcement: they are announced, too, so that
//! neither can be taken for the other. Where there are slots, these do it ([`Team::agrees`]).

use std::cell::Cell;

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Mark;
use crate::engine::Failure;
use crate::reduction::Reduction;
use crate::team::Team;

/// Bytes of an announcement: a length that few data have.
pub(crate) const LEN: usize = 29;
/// What an announcement ends with.
const SIGN: &[u8; 17] = b"long data to come";

/// How long a rank's data are.
pub(crate) struct Announcement([u8; LEN]);

impl Announcement {
    pub(crate) fn new(team: Team<'_>, len: usize) -> Self {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&(len as u64).to_ne_bytes());
        bytes[8..12].copy_from_slice(&team.peers[team.rank].to_ne_bytes());
        bytes[12..].copy_from_slice(SIGN);
        Announcement(bytes)
    }

    /// Room for one.
    pub(crate) fn none() -> Self {
        Announcement([0; LEN])
    }

    /// Whether it has become one.
    pub(crate) fn is_one(&self) -> bool {
        self.0.ends_with(SIGN)
    }

    /// What `bytes` are, if it is one.
    pub(crate) fn heard(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Announcement).filter(Announcement::is_one)
    }

    /// The one that has arrived in place of the `expected` bytes that `room` begins with, if there is one. It is taken
    /// away.
    pub(crate) fn take(room: WriteSpan<'_>, expected: usize) -> Option<Self> {
        if expected == LEN || room.len() < LEN {
            return None;
        }
        let (mut heard, room) = (Announcement::none(), room.part(0, LEN));
        room.as_read().copy_to(heard.place());
        if !heard.is_one() {
            return None;
        }
        Announcement::none().read().copy_to(room);
        Some(heard)
    }

    /// It is what has gone wrong; true.
    pub(crate) fn note(&self, team: Team<'_>, own: usize) -> bool {
        self.differs(own).into_iter().for_each(|failure| team.note_instead(failure));
        true
    }

    pub(crate) fn read(&self) -> ReadSpan<'_> {
        ReadSpan::from(&self.0[..])
    }

    pub(crate) fn place(&mut self) -> WriteSpan<'_> {
        WriteSpan::from(&mut self.0[..])
    }

    /// How long the data are.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from_ne_bytes(std::array::from_fn(|place| self.0[place]))
    }

    /// What is wrong if the data that it announces are not as long as this rank's.
    pub(crate) fn differs(&self, own: usize) -> Option<Failure> {
        let source = u32::from_ne_bytes(std::array::from_fn(|place| self.0[8 + place]));
        match (self.bytes(), own as u64) {
            (bytes, expected) if bytes == expected => None,
            (0, _) => Some(Failure::Nothing { source }),
            (bytes, expected) => Some(Failure::WrongLength { source, bytes, expected }),
        }
    }
}

/// Whether data of that length are announced, where those of `border` bytes and more take another way than shorter
/// ones.
pub(crate) fn is_announced(len: usize, border: usize) -> bool {
    len >= border || len == LEN
}

impl Team<'_> {
    /// The same ranks, for announcements.
    pub(crate) fn announcing(self) -> Self {
        Team { mark: Mark::NONE, spreads_trouble: true, ..self }
    }
}

/// Goes through with announcements what is to be reduced later: fails if they differ.
pub(crate) struct Same {
    own: usize,
    differs: Cell<Option<Failure>>,
}

impl Same {
    pub(crate) fn new(own: usize) -> Self {
        Same { own, differs: Cell::default() }
    }
}

impl Reduction for Same {
    fn append(&self, _: &mut [u8], later: &[u8]) {
        let differs = Announcement::heard(later).and_then(|heard| heard.differs(self.own));
        self.differs.set(self.differs.get().or(differs));
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        self.append(kept, earlier);
    }

    fn element(&self) -> usize {
        LEN
    }

    fn failure(&self) -> Option<Failure> {
        self.differs.get()
    }
}

/// What each rank has announced: whether all are as long as this one's.
pub(crate) fn all_agree(team: Team<'_>, heard: &[u8], own: usize) -> bool {
    let announcements = heard.chunks_exact(LEN).filter_map(Announcement::heard);
    announcements.filter_map(|heard| heard.differs(own)).for_each(|failure| team.note(failure));
    !team.is_in_trouble()
}
