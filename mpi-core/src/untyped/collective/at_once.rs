//! The short way: blocking collectives of one group, on data that lie side by side and that shelves have room for.
//!
//! What is wrong with arguments is for the long way to say.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::staged::Staged;
use super::{Blocks, Collective, Elements};
use crate::collective::{Root, Team, at_once};
use crate::{Communicator, Result};

impl Communicator {
    /// Does it, if this is the way for it; `None`: nothing has happened.
    #[inline]
    pub(super) fn collective_at_once(&self, collective: &Collective) -> Option<Result<()>> {
        let done = match collective {
            Collective::Broadcast { data, root: Root::Rank(root) } if *root < self.size() => {
                let data = data.write_span()?;
                at_once::broadcast(self.team_at_once(collective, data.len())?, data, *root)
            }
            Collective::Reduce { data, result, operation, root: Root::Rank(root) } if *root < self.size() => {
                let op = operation.on(data.as_ref().or(result.as_ref())?.datatype()).ok()?;
                let place = match result {
                    Some(result) if *root == self.rank() => result.write_span()?,
                    _ => WriteSpan::EMPTY,
                };
                let data = data_or(data, place)?;
                let team = self.team_at_once(collective, data.len())?;
                at_once::reduce(team, data, place, &op, *root)
            }
            Collective::Allreduce { data, result, operation } => {
                let (op, place) = (operation.on(result.datatype()).ok()?, result.write_span()?);
                let data = data_or(data, place).filter(|data| data.len() == place.len())?;
                at_once::allreduce(self.team_at_once(collective, data.len())?, data, place, &op)
            }
            Collective::Allgather { part, all: all @ Blocks::Even(first) } => {
                let len = first.write_span()?.len();
                let part = match part {
                    Some(part) => Some(part.read_span().filter(|part| part.len() == len)?),
                    None => None,
                };
                let all = Staged::new(all, self.size());
                let bytes = at_once::allgather_bytes(len * self.size(), len);
                let team = self.team_at_once(collective, bytes)?;
                let own = part.unwrap_or(all.span(self.rank()).as_read());
                at_once::allgather(team, bytes, own, |rank| all.span(rank))
            }
            Collective::Alltoall { sent: Some(sent @ Blocks::Even(one)), received: received @ Blocks::Even(other) } => {
                let len = one.write_span()?.len();
                other.write_span().filter(|other| other.len() == len)?;
                let (sent, received) = (Staged::new(sent, self.size()), Staged::new(received, self.size()));
                let team = self.team_at_once(collective, at_once::alltoall_bytes(len, self.size()))?;
                at_once::alltoall(team, |rank| sent.span(rank).as_read(), |rank| received.span(rank))
            }
            _ => return None,
        };
        Some(done.map(drop).map_err(self.failed(collective.call())))
    }

    /// The team for it, if that has shelves with room for so many bytes. There is no way back then.
    fn team_at_once(&self, collective: &Collective, bytes: usize) -> Option<Team<'_>> {
        if !self.has_shelves_for(bytes) {
            return None;
        }
        self.begin(collective.call(), bytes);
        Some(self.team(self.next_collective(), true))
    }
}

/// What this rank gives, if it lies side by side; in place, it stands where the result goes.
fn data_or(data: &Option<Elements>, place: WriteSpan<'static>) -> Option<ReadSpan<'static>> {
    match data {
        Some(data) => data.read_span(),
        None => Some(place.as_read()),
    }
}
