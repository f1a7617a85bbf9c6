//! Barrier: dissemination. In round `k` each rank tells the one `2^k` ahead and waits for the one `2^k` behind, so after
//! `log2` rounds everybody has heard, directly or not, of everybody.

use super::team::Team;
use crate::engine::Failure;

pub(crate) async fn barrier(team: Team<'_>) -> Result<(), Failure> {
    let size = team.size();
    for round in 0..size.next_power_of_two().trailing_zeros() {
        let distance = 1 << round;
        if !team.tell(round, (team.rank + distance) % size)? {
            team.hear(round, (team.rank + size - distance) % size).await;
        }
    }
    Ok(())
}
