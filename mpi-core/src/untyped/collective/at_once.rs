//! The short way: blocking collectives of one group, on data that lie side by side, so that nothing has to be staged. By shelves, if these have room.
//!
//! What is wrong with arguments is for the long way to say.

use std::pin::pin;

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::staged::Staged;
use super::{Blocks, Collective, Elements};
use crate::collective::at_once::Done;
use crate::collective::{Root, Team, allgather, allreduce, alltoall, at_once, broadcast, gather, reduce, scatter};
use crate::engine::Failure;
use crate::{Communicator, Result};

impl Communicator {
    /// Does it, if this is the way for it; `None`: nothing has happened.
    #[inline]
    pub(super) fn collective_at_once(&self, collective: &Collective) -> Option<Result<()>> {
        let done = match collective {
            Collective::Broadcast { data, root: Root::Rank(root) } if *root < self.size() => {
                let data = data.write_span()?;
                match self.team_at_once(collective, at_once::broadcast_bytes(data.len())) {
                    Some(team) => at_once::broadcast(team, data, *root),
                    None => {
                        return self.otherwise(collective, data.len(), async |team| broadcast(team, data, *root).await);
                    }
                }
            }
            Collective::Reduce { .. } | Collective::Allreduce { .. } | Collective::Scan { .. } => {
                return self.reduction_at_once(collective);
            }
            Collective::Allgather { part, all: all @ Blocks::Even(first) } => {
                let len = first.write_span()?.len();
                let part = match part {
                    Some(part) => Some(part.read_span().filter(|part| part.len() == len)?),
                    None => None,
                };
                let bytes = at_once::allgather_bytes(len * self.size(), len);
                let Some(team) = self.team_at_once(collective, bytes) else {
                    return self.collective_by_messages(collective);
                };
                let all = Staged::new(all, self.size());
                let own = part.unwrap_or(all.span(self.rank()).as_read());
                at_once::allgather(team, bytes, own, |rank| all.span(rank))
            }
            Collective::Alltoall { sent: Some(sent @ Blocks::Even(one)), received: received @ Blocks::Even(other) } => {
                let len = one.write_span()?.len();
                other.write_span().filter(|other| other.len() == len)?;
                let Some(team) = self.team_at_once(collective, at_once::alltoall_bytes(len, self.size())) else {
                    return self.collective_by_messages(collective);
                };
                let (sent, received) = (Staged::new(sent, self.size()), Staged::new(received, self.size()));
                at_once::alltoall(team, |rank| sent.span(rank).as_read(), |rank| received.span(rank))
            }
            Collective::Gather { part, all, root: Root::Rank(root), even } if self.is_root_here(*root) => {
                self.gather_at_once(collective, part, all, *root, *even)?
            }
            _ => return self.collective_by_messages(collective),
        };
        Some(done.map(drop).map_err(self.failed(collective.call())))
    }

    /// The same of reductions.
    #[inline]
    fn reduction_at_once(&self, collective: &Collective) -> Option<Result<()>> {
        let done = match collective {
            Collective::Reduce { data, result, operation, root: Root::Rank(root) } if *root < self.size() => {
                let op = operation.on(data.as_ref().or(result.as_ref())?.datatype()).ok()?;
                let place = match result {
                    Some(result) if *root == self.rank() => result.write_span()?,
                    _ => WriteSpan::EMPTY,
                };
                let data = data_or(data, place)?;
                match self.team_at_once(collective, at_once::reduction_bytes(data.len(), self.size())) {
                    Some(team) => at_once::reduce(team, data, place, &op, *root),
                    None => {
                        let plan = async |team: Team<'_>| reduce(team, data, place, &op, *root).await;
                        return self.otherwise(collective, data.len(), plan);
                    }
                }
            }
            Collective::Allreduce { data, result, operation } => {
                let (op, place) = (operation.on(result.datatype()).ok()?, result.write_span()?);
                let data = data_or(data, place).filter(|data| data.len() == place.len())?;
                match self.team_at_once(collective, at_once::reduction_bytes(data.len(), self.size())) {
                    Some(team) => at_once::allreduce(team, data, place, &op),
                    None => {
                        let plan = async |team: Team<'_>| allreduce(team, data, place, &op).await;
                        return self.otherwise(collective, data.len(), plan);
                    }
                }
            }
            Collective::Scan { data, result, operation, exclusive } => {
                let (op, place) = (operation.on(result.datatype()).ok()?, result.write_span()?);
                let data = data_or(data, place).filter(|data| data.len() == place.len())?;
                let end = self.rank() + usize::from(!exclusive);
                at_once::scan(self.team_at_once(collective, data.len())?, data, place, &op, end)
            }
            _ => return None,
        };
        Some(done.map(drop).map_err(self.failed(collective.call())))
    }

    fn gather_at_once(
        &self,
        collective: &Collective,
        part: &Option<Elements>,
        all: &Option<Blocks>,
        root: usize,
        even: bool,
    ) -> Option<Done> {
        let part = match part {
            Some(part) => Some(part.read_span()?),
            None => None,
        };
        let all = if root == self.rank() { Some(self.runs(all.as_ref()?)?) } else { None };
        let place = |rank| all.as_ref().map_or(WriteSpan::EMPTY, |all| all.span(rank));
        let len = if root == self.rank() { place(root).len() } else { part.map_or(0, ReadSpan::len) };
        if even {
            return Some(at_once::gather(self.team_at_once(collective, len)?, part, place, root));
        }
        let team = self.team_of_messages(collective, len);
        Some(self.process().drive(pin!(gather(team, part, place, root, even))).map(|()| true))
    }

    /// What shelves have no room for, or where there are none, of one group.
    fn otherwise(
        &self,
        collective: &Collective,
        bytes: usize,
        plan: impl AsyncFnOnce(Team<'_>) -> std::result::Result<(), Failure>,
    ) -> Option<Result<()>> {
        (!self.is_inter()).then(|| {
            self.begin(collective.call(), bytes);
            self.complete(collective.call(), plan)
        })
    }

    /// Those for which messages are the way.
    fn collective_by_messages(&self, collective: &Collective) -> Option<Result<()>> {
        let done = match collective {
            Collective::Scatter { all, part, root: Root::Rank(root), even } if self.is_root_here(*root) => {
                let part = match part {
                    Some(part) => Some(part.write_span()?),
                    None => None,
                };
                let all = if *root == self.rank() { Some(self.runs(all.as_ref()?)?) } else { None };
                let team = self.team_of_messages(collective, part.map_or(0, WriteSpan::len));
                let place = |rank| all.as_ref().map_or(ReadSpan::EMPTY, |all| all.span(rank).as_read());
                self.process().drive(pin!(scatter(team, place, part, *root, *even)))
            }
            Collective::Allgather { part, all } if !self.is_inter() => {
                let all = self.runs(all)?;
                let own = all.span(self.rank());
                let part = match part {
                    Some(part) => part.read_span().filter(|part| part.len() == own.len())?,
                    None => own.as_read(),
                };
                let team = self.team_of_messages(collective, part.len());
                self.process().drive(pin!(allgather(team, part, |rank| all.span(rank))))
            }
            Collective::Alltoall { sent: Some(sent), received } if !self.is_inter() => {
                let even = matches!((sent, received), (Blocks::Even(_), Blocks::Even(_)));
                let (sent, received) = (self.runs(sent)?, self.runs(received)?);
                let team = self.team_of_messages(collective, sent.span(self.rank()).len());
                let parts = |rank| sent.span(rank).as_read();
                self.process().drive(pin!(alltoall(team, parts, |rank| received.span(rank), even)))
            }
            _ => return None,
        };
        Some(done.map_err(self.failed(collective.call())))
    }

    fn is_root_here(&self, root: usize) -> bool {
        !self.is_inter() && root < self.size()
    }

    /// A block for each rank, if all lie side by side.
    fn runs(&self, blocks: &Blocks) -> Option<Staged> {
        match blocks {
            Blocks::Listed(blocks) if blocks.len() < self.size() => None,
            blocks => Some(Staged::new(blocks, self.size())).filter(Staged::are_runs),
        }
    }

    /// The team for it, which is going to exchange messages.
    fn team_of_messages(&self, collective: &Collective, bytes: usize) -> Team<'_> {
        self.begin(collective.call(), bytes);
        self.team(self.next_collective(), true)
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
