//! Neighbourhood collectives (MPI-5.0 section 8.6): every rank exchanges with its neighbours in a topology at once.
//!
//! Where a rank is a neighbour several times over, messages meet their places by their order. On a grid what goes down
//! arrives from above and the other way round; elsewhere the lists of both sides decide.

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Outcome;
use crate::team::Team;

/// `sources[i]` sends what belongs at `received(i)`, `destinations[i]` gets what is at `sent(i)`; where there is
/// nobody, nothing is done. `grid` says that the topology is one.
pub async fn exchange_with_neighbours<'s, 'r>(
    team: Team<'_>,
    sources: &[Option<usize>],
    destinations: &[Option<usize>],
    grid: bool,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Outcome {
    // Of each dimension of a grid, first what the rank above has sent down.
    let places = (0..sources.len()).map(|number| if grid { number ^ 1 } else { number });
    let incoming = || places.clone().filter_map(|place| sources[place].map(|from| (received(place), from)));
    // One rank may be a source several times: so all are posted first or none is.
    let is_advertised = incoming().any(|(into, _)| team.process.engine().advertises(into.len()));
    let mut flights = team.flights();
    if is_advertised {
        incoming().try_for_each(|(into, from)| flights.receive(into, from))?;
    }
    for (place, destination) in destinations.iter().enumerate() {
        if let Some(to) = *destination {
            flights.send(sent(place), to)?;
        }
    }
    if !is_advertised {
        incoming().try_for_each(|(into, from)| flights.receive_next(into, into.len(), from))?;
    }
    flights.await
}
