//! Parts of which only two ranks know how long they are: the one that gives them and the one that gets them. Where
//! there are slots they are posted there, or where their owner has them, without any message.

use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use crate::Outcome;
use crate::direct_access::ExposedAddress;
use crate::engine::Failure;
use crate::slots::{self, Comes, Slots};
use crate::team::Team;

/// What is to go by messages. The giver and the one who gets it agree.
pub(crate) struct Left {
    /// Whether all does that this rank gives.
    pub(crate) gives: bool,
    /// By rank, whether that does which this rank gets from it.
    pub(crate) gets: SmallVec<[bool; 16]>,
    /// What has become of the rest.
    pub(crate) outcome: Outcome,
}

impl Left {
    pub(crate) fn is_nothing(&self) -> bool {
        !self.gives && !self.gets.contains(&true)
    }
}

/// Exchanges parts: `sent` and `received` say where those are that this rank gives and gets. Does `meanwhile` once the
/// others can take theirs. What has no room in a slot, and lies where others can't read it, is left.
pub(crate) fn exchange<'s, 'r>(
    slots: &Slots,
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
    meanwhile: impl FnOnce() -> Outcome,
) -> Result<Left, Failure> {
    let (me, size) = (team.rank, team.size());
    let part = |rank| if rank == me { ReadSpan::EMPTY } else { sent(rank) };
    let parts: SmallVec<[ReadSpan<'s>; 16]> = (0..size).map(part).collect();
    let bytes = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()));
    let (mut exposes, mut gives) = (false, false);
    let epoch = if slots.limits().have_room_for(slots::parts(bytes, size)) {
        let mut epoch = slots.next_epoch(&team);
        epoch.post_parts(&parts)?;
        epoch
    } else {
        let address =
            |&part: &ReadSpan<'_>| if part.is_empty() { ExposedAddress::NOTHING } else { team.address_of(part) };
        let mut addresses: SmallVec<[ExposedAddress; 16]> = parts.iter().map(address).collect();
        exposes = addresses.iter().all(|address| address.is_readable());
        gives = !exposes;
        if gives {
            addresses.fill(ExposedAddress::UNREADABLE);
        }
        slots.announce(&team, bytes, &addresses)?
    };
    // If something is wrong here, others wait for this rank all the same.
    let mut outcome = meanwhile();
    epoch.let_all_come()?;
    let working_set = bytes.saturating_mul(2 * size);
    let (mut reads, mut gets) = (false, SmallVec::from_elem(false, size));
    for rank in team.others_in_turn() {
        match epoch.read_part(rank, received(rank), working_set) {
            Ok(comes) => (reads, gets[rank]) = (reads || comes == Comes::FromThere, comes == Comes::ByMessage),
            Err(failure) => (reads, outcome) = (true, outcome.and(Err(failure))),
        }
    }
    if reads {
        epoch.leave();
    }
    if exposes {
        epoch.all_leave()?;
    }
    Ok(Left { gives, gets, outcome })
}
