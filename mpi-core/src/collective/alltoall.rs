//! All-to-all: all receives posted, then the sends, each rank beginning with its next neighbour so that no one is flooded.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::team::Team;
use crate::engine::Failure;

/// `sent` and `received` say where the part for and from each rank is.
pub(crate) async fn alltoall<'s, 'r>(
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Result<(), Failure> {
    let (me, size) = (team.rank, team.size());
    let mut flights = team.flights();
    for step in 1..size {
        let from = (me + size - step) % size;
        flights.receive(received(from), from)?;
    }
    for step in 1..size {
        let to = (me + step) % size;
        flights.send(sent(to), to)?;
    }
    team.copy(sent(me), received(me))?;
    flights.await
}
