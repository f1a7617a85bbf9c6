//! Writing together: in each round all ranks put what they have for a part of the file where it is written from, and
//! then few of them write it in long calls, while the others go on with the next round.
//!
//! What no rank has is not written. If the ranks' ranges don't fill the part of a round without a gap ([`cover`]), each
//! rank writes its own ranges of that part.

use std::ops::Range;

use super::cover;
use super::read::Outcome;
use super::staging::Staged;
use super::team::{Part, Round, Team, Told};
use crate::disk::{Disk, Failure, write_all};
use crate::{Direction, transfer};

/// Writes what all ranks have for a part of the file. All come out alike where it fails.
pub(super) fn write(
    team: &Team<'_>,
    disk: &impl Disk,
    part: &Range<u64>,
    mine: &Part<'_>,
) -> rwmpi_core::Result<Outcome> {
    let writers = team.ways.writers(team.communicator.size());
    let (mut next, mut failure) = (mine.positions.start, None);
    for (half, round) in team.rounds_of_writing(part, writers).enumerate() {
        let end = mine.view.position_of(round.part().end, next, mine.positions.end);
        put(team, (&round, half), mine, next..end, writers);
        let sum = cover::sum(mine.view, next..end);
        let heard = team.meet(Told::new(sum, failure.take()))?;
        if let Some(fault) = heard.fault() {
            return Ok(Err(fault));
        }
        failure = if cover::is_filled(&round.part(), heard.numbers()) {
            write_domain(team, disk, (&round, half), writers)
        } else {
            let own = (mine.elements, next - mine.positions.start);
            transfer::write(disk, mine.view, next..end, own, &team.ways).failure
        };
        next = end;
    }
    let heard = team.meet(Told::new(0, failure))?;
    Ok(heard.fault().map_or(Ok(next - mine.positions.start), Err))
}

/// Copies this rank's bytes of a round to where they are written from.
fn put(team: &Team<'_>, (round, half): (&Round, usize), mine: &Part<'_>, positions: Range<u64>, writers: usize) {
    let mut next = positions.start;
    for rank in 0..writers {
        let domain = round.domain(rank);
        let staged = Staged { rank, half, from: domain.start };
        let end = mine.view.position_of(domain.end, next, positions.end);
        let at = next - mine.positions.start;
        team.staging.copy(Direction::Write, staged, (mine.view, next..end), (mine.elements, at));
        next = end;
    }
}

/// Writes the domain of this rank, if it is one of the writers.
fn write_domain(team: &Team<'_>, disk: &impl Disk, (round, half): (&Round, usize), writers: usize) -> Option<Failure> {
    let rank = team.rank();
    if rank >= writers {
        return None;
    }
    let domain = round.domain(rank);
    let staged = Staged { rank, half, from: domain.start };
    write_all(disk, domain.start, team.staging.span(staged, domain)).failure
}
