//! Barrier. On one node all see on each other's shelves who has come. Else dissemination: in round `k` each rank tells the one `2^k`
//! ahead and waits for the one `2^k` behind, so after `log2` rounds everybody has heard, directly or not, of everybody.

use super::at_once;
use super::team::Team;
use crate::engine::Failure;

pub(crate) async fn barrier(team: Team<'_>) -> Result<(), Failure> {
    meet(team, 0).await
}

/// A barrier whose rounds have numbers from `first_round` on: there may be several in one collective.
pub(super) async fn meet(team: Team<'_>, first_round: u32) -> Result<(), Failure> {
    if at_once::barrier(team)? {
        return Ok(());
    }
    Box::pin(dissemination(team, first_round)).await
}

async fn dissemination(team: Team<'_>, first_round: u32) -> Result<(), Failure> {
    let size = team.size();
    for power in 0..size.next_power_of_two().trailing_zeros() {
        let (round, distance) = (first_round + power, 1 << power);
        let from = (team.rank + size - distance) % size;
        if !team.tell(round, (team.rank + distance) % size, from)? {
            team.hear(round, from).await;
        }
    }
    Ok(())
}
