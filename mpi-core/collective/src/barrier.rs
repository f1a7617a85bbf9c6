//! Barrier. On one node all see in each other's slots who has come. On several, their leaders meet for them. Else
//! dissemination: in round `k` each rank tells the one `2^k` ahead and waits for the one `2^k` behind, so after `log2`
//! rounds everybody has heard, directly or not, of everybody.

use std::iter;

use rwmpi_transport::ReadSpan;

use crate::Outcome;
use crate::activity::Call;
use crate::apart::apart;
use crate::described::Described;
use crate::nodes;
use crate::select::Collective;
use crate::slots::Epoch;
use crate::team::Team;
use crate::told::Told;

/// Nobody leaves before all have come.
pub struct Barrier;

impl Described for Barrier {
    const CALL: Call = Call::Barrier;

    fn bytes(&self) -> usize {
        0
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL)
    }

    fn kind(&self, _: usize) -> Option<Collective> {
        Some(Collective::Barrier)
    }

    fn given(&self, _: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        iter::empty()
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        epoch.meet()
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        barrier(team).await
    }
}

pub async fn barrier(team: Team<'_>) -> Outcome {
    if team.on_slots(&Barrier).await? {
        return Ok(());
    }
    match team.nodes() {
        Some(by) => apart(|| nodes::barrier(team, by)).await,
        None => apart(|| dissemination(team)).await,
    }
}

/// In place of a round: all have come.
const ALL_HAVE_COME: u32 = 30;

/// All have come when this ends. Up a binomial tree and down again: where ranks share processors, messages cost more
/// than steps, and these are the fewest.
pub async fn tree(team: Team<'_>) -> Outcome {
    let levels = match team.rank {
        0 => team.size().next_power_of_two().trailing_zeros(),
        rank => rank.trailing_zeros(),
    };
    let children = (0..levels).map(|level| (level, team.rank + (1 << level)));
    let children = children.filter(|&(_, child)| child < team.size());
    for (level, child) in children.clone() {
        team.hear(level, child).await?;
    }
    if team.rank > 0 {
        let parent = team.rank - (1 << levels);
        team.say(levels, parent)?;
        team.hear(ALL_HAVE_COME, parent).await?;
    }
    children.rev().try_for_each(|(_, child)| team.say(ALL_HAVE_COME, child))
}

pub(crate) async fn dissemination(team: Team<'_>) -> Outcome {
    let size = team.size();
    for round in 0..size.next_power_of_two().trailing_zeros() {
        let distance = 1 << round;
        let from = (team.rank + size - distance) % size;
        if !team.tell(round, (team.rank + distance) % size, from)? {
            team.hear(round, from).await?;
        }
    }
    Ok(())
}
