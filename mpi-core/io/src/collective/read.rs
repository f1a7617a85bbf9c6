//! Reading together: in each round each rank reads a domain of the file by one call, and then all take what they want
//! of all of these.

use std::ops::Range;

use super::staging::Staged;
use super::team::{Fault, Part, Team, Told};
use crate::Direction;
use crate::disk::{Disk, read_all};

/// What became of it: how many bytes of this rank's were read before the file ends, or what has failed at any rank.
pub(super) type Outcome = Result<u64, Fault>;

/// Reads what all ranks want of a part of the file. All come out alike where it fails.
pub(super) fn read(
    team: &Team<'_>,
    disk: &impl Disk,
    part: &Range<u64>,
    mine: &Part<'_>,
) -> rwmpi_core::Result<Outcome> {
    let Part { view, positions, elements } = mine;
    let mut next = positions.start;
    for (half, round) in team.rounds_of_reading(part).enumerate() {
        let domain = round.domain(team.rank());
        let own = Staged { rank: team.rank(), half, from: domain.start };
        let moved = read_all(disk, domain.start, team.staging.span(own, domain));
        let heard = team.meet(Told::new(moved.bytes, moved.failure))?;
        if let Some(fault) = heard.fault() {
            return Ok(Err(fault));
        }
        for (rank, there) in heard.numbers().enumerate() {
            let domain = round.domain(rank);
            let staged = Staged { rank, half, from: domain.start };
            let len = domain.end - domain.start;
            let end = view.position_of(domain.start + there.min(len), next, positions.end);
            let at = next - positions.start;
            team.staging.copy(Direction::Read, staged, (view, next..end), (elements, at));
            next = end;
            if there < len {
                // The file ends here, for all.
                return Ok(Ok(next - positions.start));
            }
        }
    }
    Ok(Ok(next - positions.start))
}
