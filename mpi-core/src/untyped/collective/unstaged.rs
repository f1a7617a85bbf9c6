//! Blocking collectives of one group, on data that lie side by side, so that nothing has to be staged.
//!
//! What is wrong with arguments is for the long way to say.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::perform::places;
use super::staged::Staged;
use super::{Blocks, Collective, Elements};
use crate::activity::Call;
use crate::collective::{
    Root, Team, allgather, allreduce, alltoall, broadcast, exscan, gather, reduce, reduce_scatter, scan, scatter,
};
use crate::engine::Failure;
use crate::{Communicator, Result};

impl Communicator {
    /// Does it, if this is the way for it; `None`: nothing has happened.
    #[inline]
    pub(super) fn collective_unstaged(&self, collective: &Collective) -> Option<Result<()>> {
        match collective {
            Collective::Broadcast { data, root: Root::Rank(root) } if *root < self.size() => {
                let data = data.write_span()?;
                self.drive_plan(collective, data.len(), async |team| broadcast(team, data, *root).await)
            }
            Collective::Reduce { .. }
            | Collective::Allreduce { .. }
            | Collective::ReduceScatter { .. }
            | Collective::Scan { .. } => self.reduction_unstaged(collective),
            Collective::Gather { part, all, root: Root::Rank(root), even } if self.is_root_here(*root) => {
                self.gather_unstaged(collective, part, all, *root, *even)
            }
            _ => self.collective_by_messages(collective),
        }
    }

    /// The same of reductions.
    #[inline]
    fn reduction_unstaged(&self, collective: &Collective) -> Option<Result<()>> {
        match collective {
            Collective::Reduce { data, result, operation, root: Root::Rank(root) } if *root < self.size() => {
                let op = operation.on(data.as_ref().or(result.as_ref())?.datatype()).ok()?;
                let place = match result {
                    Some(result) if *root == self.rank() => result.write_span()?,
                    _ => WriteSpan::EMPTY,
                };
                let data = data_or(data, place)?;
                let plan = async |team: Team<'_>| reduce(team, data, place, &op, *root).await;
                self.drive_plan(collective, data.len(), plan)
            }
            Collective::Allreduce { data, result, operation } => {
                let (op, place) = (operation.on(result.datatype()).ok()?, result.write_span()?);
                let data = data_or(data, place).filter(|data| data.len() == place.len())?;
                let plan = async |team: Team<'_>| allreduce(team, data, place, &op).await;
                self.drive_plan(collective, data.len(), plan)
            }
            Collective::ReduceScatter { data, result, counts, operation } if self.counts_fit(counts, data, result) => {
                let (op, places) = (operation.on(result.datatype()).ok()?, places(counts, result));
                let (data, place) = (data.read_span()?, result.write_span()?);
                let plan = async |team: Team<'_>| reduce_scatter(team, data, |rank| places[rank], place, &op).await;
                self.drive_plan(collective, data.len(), plan)
            }
            Collective::Scan { data, result, operation, exclusive } => {
                let (op, place) = (operation.on(result.datatype()).ok()?, result.write_span()?);
                let data = data_or(data, place).filter(|data| data.len() == place.len())?;
                self.drive_plan(collective, data.len(), async |team| match exclusive {
                    true => exscan(team, data, place, &op).await,
                    false => scan(team, data, place, &op).await,
                })
            }
            _ => None,
        }
    }

    fn gather_unstaged(
        &self,
        collective: &Collective,
        part: &Option<Elements>,
        all: &Option<Blocks>,
        root: usize,
        even: bool,
    ) -> Option<Result<()>> {
        let part = match part {
            Some(part) => Some(part.read_span()?),
            None => None,
        };
        let all = if root == self.rank() { Some(self.runs(all.as_ref()?)?) } else { None };
        let place = |rank| all.as_ref().map_or(WriteSpan::EMPTY, |all| all.span(rank));
        let len = if root == self.rank() { place(root).len() } else { part.map_or(0, ReadSpan::len) };
        if even {
            return self.drive_plan(collective, len, async |team| gather(team, part, place, root, even).await);
        }
        let team = self.team_of_messages(collective.call(), len);
        let done = self.process().block_on(|| gather(team, part, place, root, even));
        Some(done.map_err(self.failed(collective.call())))
    }

    /// Those of one group whose ranks have to agree on the length, so that all of them come to the end.
    fn drive_plan(
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
                let team = self.team_of_messages(collective.call(), part.map_or(0, WriteSpan::len));
                let place = |rank| all.as_ref().map_or(ReadSpan::EMPTY, |all| all.span(rank).as_read());
                self.process().block_on(|| scatter(team, place, part, *root, *even))
            }
            Collective::Allgather { part, all } if !self.is_inter() => {
                let all = self.runs(all)?;
                let own = all.span(self.rank());
                let part = match part {
                    Some(part) => part.read_span().filter(|part| part.len() == own.len())?,
                    None => own.as_read(),
                };
                let team = self.team_of_messages(collective.call(), part.len());
                self.process().block_on(|| allgather(team, part, |rank| all.span(rank)))
            }
            Collective::Alltoall { sent: Some(sent), received } if !self.is_inter() => {
                let even = matches!((sent, received), (Blocks::Even(_), Blocks::Even(_)));
                let (sent, received) = (self.runs(sent)?, self.runs(received)?);
                let team = self.team_of_messages(collective.call(), sent.span(self.rank()).len());
                let parts = |rank| sent.span(rank).as_read();
                self.process().block_on(|| alltoall(team, parts, |rank| received.span(rank), even))
            }
            _ => return None,
        };
        Some(done.map_err(self.failed(collective.call())))
    }

    pub(super) fn is_root_here(&self, root: usize) -> bool {
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
    pub(super) fn team_of_messages(&self, call: Call, bytes: usize) -> Team<'_> {
        self.begin(call, bytes);
        self.team(self.next_collective(), true)
    }
}

/// What this rank gives, if it lies side by side; in place, it stands where the result goes.
fn data_or(data: &Option<Elements>, place: WriteSpan<'static>) -> Option<ReadSpan<'static>> {
    match data {
        Some(data) => data.read_span(),
        None => Some(place.as_read()),
    }
}
