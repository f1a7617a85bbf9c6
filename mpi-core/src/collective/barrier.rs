//! Barrier. On one node all see on each other's shelves who has come. On several, their leaders meet for them. Else dissemination: in round `k`
//! each rank tells the one `2^k` ahead and waits for the one `2^k` behind, so after `log2` rounds everybody has heard, directly or not, of everybody.

use super::at_once;
use super::nodes;
use super::team::Team;
use crate::apart::apart;
use crate::engine::Failure;

pub(crate) async fn barrier(team: Team<'_>) -> Result<(), Failure> {
    if team.on_shelves(0, |_| true, at_once::barrier).await? {
        return Ok(());
    }
    match team.nodes() {
        Some(by) => apart(|| nodes::barrier(team, by)).await,
        None => apart(|| dissemination(team)).await,
    }
}

pub(super) async fn dissemination(team: Team<'_>) -> Result<(), Failure> {
    let size = team.size();
    for round in 0..size.next_power_of_two().trailing_zeros() {
        let distance = 1 << round;
        let from = (team.rank + size - distance) % size;
        if !team.tell(round, (team.rank + distance) % size, from)? {
            team.hear(round, from).await;
        }
    }
    Ok(())
}
