//! Prefix reductions: in round `k` each rank passes what it has combined so far to the rank `2^k` ahead.

use rwmpi_transport::WriteSpan;

use super::nodes;
use super::reduction::Reduction;
use super::scratch::{Scratch, prepend};
use super::team::Team;
use crate::engine::Failure;

/// `data` is this rank's contribution, afterwards that of all ranks up to this one; `before`, if asked for, becomes that of
/// the ranks before this one and is left alone at rank 0.
pub(crate) async fn scan(
    team: Team<'_>,
    data: WriteSpan<'_>,
    before: Option<WriteSpan<'_>>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    match team.nodes_in_order() {
        Some(by) => Box::pin(nodes::scan(team, by, data, before, op)).await,
        None => by_messages(team, data, before, op).await,
    }
}

async fn by_messages(
    team: Team<'_>,
    data: WriteSpan<'_>,
    before: Option<WriteSpan<'_>>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    let (rank, size) = (team.rank, team.size());
    let mut received = Scratch::new(team, data.len());
    let received = received.span();
    let mut distance = 1;
    while distance < size {
        let mut flights = team.flights();
        let is_advertised = team.process.engine().advertises(data.len());
        if rank >= distance && is_advertised {
            flights.receive(received, rank - distance)?;
        }
        if rank + distance < size {
            flights.send(data.as_read(), rank + distance)?;
        }
        if rank >= distance && !is_advertised {
            flights.receive_next(received, data.len(), rank - distance)?;
        }
        flights.await?;
        if rank >= distance {
            prepend(team, op, received.as_read(), data);
            match before {
                Some(before) if distance == 1 => received.as_read().copy_to(before),
                Some(before) => prepend(team, op, received.as_read(), before),
                None => {}
            }
        }
        distance *= 2;
    }
    Ok(())
}
