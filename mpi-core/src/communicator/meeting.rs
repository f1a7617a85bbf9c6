//! Intercommunicators of groups whose ranks don't all know each other by one engine, as one group was spawned by some
//! of the other: the leaders agree on a file that all members have in common, as with ranks that are spawned.

use rwmpi_transport::{JobSecret, Joint};

use super::Communicator;
use crate::Result;
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::spawn::Place;

/// What a leader tells its group instead of a context.
const BEGINNING: u32 = u32::MAX - 1;

/// Where both groups meet.
pub(super) struct Meeting {
    /// Whether this group's ranks are the first ones there.
    is_first: bool,
    description: String,
}

impl Meeting {
    fn words(&self) -> Vec<u32> {
        let head = [BEGINNING, self.is_first.into()];
        head.into_iter().chain(self.description.bytes().map(u32::from)).collect()
    }

    /// What the leader has told, if it is that.
    pub(super) fn read(words: &[u32]) -> Option<Meeting> {
        let [BEGINNING, is_first, text @ ..] = words else { return None };
        let bytes = text.iter().map(|&word| word as u8).collect();
        Some(Meeting { is_first: *is_first != 0, description: String::from_utf8(bytes).ok()? })
    }
}

impl Communicator {
    /// The leader's part: agrees with the other one, which is that rank of `bridge`, and gives what it tells its group,
    /// and the file, if it is the one who has made it. Who that is decide lots that both draw.
    pub(super) fn meet_over(&self, bridge: &Communicator, other: usize, tag: i32) -> Result<(Vec<u32>, Option<Joint>)> {
        let failed = |what: String| Error::argument(ErrorClass::Communicator, self, Call::CreateCommunicator, what);
        let lot = JobSecret::random().map_err(|error| failed(error.to_string()))?;
        let mine = format!("{}/{:032x}", self.size(), u128::from_be_bytes(lot.to_bytes()));
        let theirs = exchange(bridge, other, tag, &mine)?;
        let wrong = || failed(format!("the other leader has said {theirs:?}"));
        let (size, their_lot) = theirs.split_once('/').ok_or_else(wrong)?;
        let members = size.parse().ok().and_then(|size: usize| size.checked_add(self.size())).ok_or_else(wrong)?;
        let is_first = mine.split_once('/').is_some_and(|(_, lot)| lot < their_lot);
        let made = match is_first {
            true => Some(Joint::create(members).map_err(|error| failed(error.to_string()))?),
            false => None,
        };
        let description =
            made.as_ref().map(Joint::description).transpose().map_err(|error| failed(error.to_string()))?;
        let said = exchange(bridge, other, tag, description.as_deref().unwrap_or(""))?;
        let meeting = Meeting { is_first, description: description.unwrap_or(said) };
        Ok((meeting.words(), made))
    }

    /// The intercommunicator with the other group there; the file, if this rank has made it.
    pub(super) fn come_to(
        &self,
        Meeting { is_first, description }: Meeting,
        made: Option<Joint>,
    ) -> Result<Communicator> {
        let joint = made.map_or_else(|| Joint::open(&description).map_err(|error| error.to_string()), Ok);
        let place = |members: usize| match (is_first, members.saturating_sub(self.size())) {
            (true, _) => Place { number: self.rank(), first: self.size() },
            (false, first) => Place { number: first + self.rank(), first },
        };
        self.meet_in(joint, place, ErrorClass::Communicator, &|| true)
    }
}

/// Both leaders say something to each other.
fn exchange(bridge: &Communicator, other: usize, tag: i32, text: &str) -> Result<String> {
    bridge.buffered_send(text.as_bytes(), other, tag)?;
    let len = bridge.probe(other, tag)?.count::<u8>().unwrap_or(0);
    let mut bytes = vec![0_u8; len];
    bridge.recv(&mut bytes, other, tag)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
