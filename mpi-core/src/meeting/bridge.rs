//! Intercommunicators of groups whose ranks don't all know each other by one engine, as one group was spawned by some
//! of the other: the leaders agree on a file that all members have in common, as with ranks that are spawned; or, if
//! not all of them are on one machine, all say where they are (`apart`).

use rwmpi_transport::{JobSecret, Joint};

use super::Place;
use super::apart::{APART, ApartSide};
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Result};

/// What a leader tells its group instead of a context.
const BEGINNING: u32 = u32::MAX - 1;

/// A leader's way to the other one: a communicator to which both belong, the other's rank there, and a tag.
pub(crate) type Bridge<'a> = (&'a Communicator, usize, i32);

/// Where both groups meet.
pub(crate) struct Meeting {
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
    pub(crate) fn read(words: &[u32]) -> Option<Meeting> {
        let [BEGINNING, is_first, text @ ..] = words else { return None };
        let bytes = text.iter().map(|&word| word as u8).collect();
        Some(Meeting { is_first: *is_first != 0, description: String::from_utf8(bytes).ok()? })
    }
}

impl Communicator {
    /// The leader's part: agrees with the other one, and gives what it tells its group, and what it brings. Who is the
    /// first decide lots that both draw.
    pub(crate) fn meet_over(&self, bridge: &Bridge<'_>) -> Result<(Vec<u32>, Brought)> {
        let failed = |what: String| Error::argument(ErrorClass::Communicator, self, Call::CreateCommunicator, what);
        let lot = JobSecret::random().map_err(|error| failed(error.to_string()))?;
        let lot = u128::from_be_bytes(lot.to_bytes());
        let together = self.is_on_one_machine() && bridge.0.is_on_one_machine();
        let theirs = exchange(bridge, &format!("{}/{lot:032x}/{together}", self.size()))?;
        let wrong = || failed(format!("the other leader has said {theirs:?}"));
        let [size, their_lot, are_together] = *theirs.split('/').collect::<Vec<_>>().first_chunk().ok_or_else(wrong)?;
        let members = size.parse().ok().and_then(|size: usize| size.checked_add(self.size())).ok_or_else(wrong)?;
        let their_lot = u128::from_str_radix(their_lot, 16).map_err(|_| wrong())?;
        let is_first = lot < their_lot;
        if !together || are_together != "true" {
            let secret = JobSecret::from_bytes((lot ^ their_lot).to_be_bytes());
            let meeting = Meeting { is_first, description: APART.to_owned() };
            return Ok((meeting.words(), Brought { made: None, secret: Some(secret) }));
        }
        let made = match is_first {
            true => Some(Joint::create(members).map_err(|error| failed(error.to_string()))?),
            false => None,
        };
        let description =
            made.as_ref().map(Joint::description).transpose().map_err(|error| failed(error.to_string()))?;
        let said = exchange(bridge, description.as_deref().unwrap_or(""))?;
        let meeting = Meeting { is_first, description: description.unwrap_or(said) };
        Ok((meeting.words(), Brought { made, secret: None }))
    }

    /// The intercommunicator with the other group there; `bridge` and what is brought along are the leader's.
    pub(crate) fn come_to(
        &self,
        Meeting { is_first, description }: Meeting,
        Brought { made, secret }: Brought,
        leader: usize,
        bridge: Option<Bridge<'_>>,
    ) -> Result<Communicator> {
        if description == APART {
            let side = ApartSide { is_first, root: leader, class: ErrorClass::Communicator };
            let Some((secret, bridge)) = secret.zip(bridge) else { return self.meet_apart(side, None) };
            let mut say = |text: &str| exchange(&bridge, text).map_err(|error| error.to_string());
            return self.meet_apart(side, Some((secret, &mut say)));
        }
        let joint = made.map_or_else(|| Joint::open(&description).map_err(|error| error.to_string()), Ok);
        let place = |members: usize| match (is_first, members.saturating_sub(self.size())) {
            (true, _) => Place { number: self.rank(), first: self.size() },
            (false, first) => Place { number: first + self.rank(), first },
        };
        self.meet_in(joint, place, ErrorClass::Communicator, &|| true)
    }
}

/// What a leader brings to its group.
#[derive(Default)]
pub(crate) struct Brought {
    /// The file, if it has made it.
    made: Option<Joint>,
    /// What both leaders know, if there is no such file.
    secret: Option<JobSecret>,
}

/// Both leaders say something to each other.
fn exchange(&(bridge, other, tag): &Bridge<'_>, text: &str) -> Result<String> {
    bridge.buffered_send(text.as_bytes(), other, tag)?;
    let len = bridge.probe(other, tag)?.count::<u8>().unwrap_or(0);
    let mut bytes = vec![0_u8; len];
    bridge.recv(&mut bytes, other, tag)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
