//! Neighbourhood collectives (MPI-5.0 section 8.6): every rank exchanges with its neighbours in a topology at once.
//!
//! Where a rank is a neighbour several times over, messages meet their places by their order. On a grid what goes down arrives
//! from above and the other way round; elsewhere the lists of both sides decide.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::team::Team;
use crate::engine::Failure;

/// `sources[i]` sends what belongs at `received(i)`, `destinations[i]` gets what is at `sent(i)`; where there is nobody, nothing is done.
/// `grid` says that the topology is one.
pub(crate) async fn exchange_with_neighbours<'s, 'r>(
    team: Team<'_>,
    sources: &[Option<usize>],
    destinations: &[Option<usize>],
    grid: bool,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Result<(), Failure> {
    let mut flights = team.flights();
    for number in 0..sources.len() {
        // Of each dimension of a grid, first what the rank above has sent down.
        let place = if grid { number ^ 1 } else { number };
        if let Some(from) = sources[place] {
            flights.receive(received(place), from)?;
        }
    }
    for (place, destination) in destinations.iter().enumerate() {
        if let Some(to) = *destination {
            flights.send(sent(place), to)?;
        }
    }
    flights.await
}
