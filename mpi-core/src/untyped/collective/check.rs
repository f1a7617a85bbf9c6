//! What can be said against a collective's arguments by one rank alone.

use super::{Blocks, Collective, Elements, Neighbourhood, Prepared, Root};
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Destination, Result, Source, Topology};

impl Communicator {
    /// Checks the arguments, as far as one rank can, and tells the watchers.
    pub(super) fn prepare(&self, collective: Collective) -> Result<Prepared> {
        let call = collective.call();
        let mut bytes = 0usize;
        for elements in collective.elements() {
            bytes = bytes.saturating_add(elements.packed_size()?);
        }
        self.begin(call, bytes);
        if let Some(root) = collective.root() {
            self.check_rooted(call, root)?;
        }
        let reduction = collective.reduction().and_then(|(operation, elements)| elements.map(|it| (operation, it)));
        let operation = reduction.map(|(operation, elements)| operation.on(elements.datatype())).transpose()?;
        let neighbourhood = match &collective {
            Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } => Some(self.neighbourhood()?),
            _ => None,
        };
        self.check_form(&collective)?;
        self.check_blocks(&collective, neighbourhood.as_ref())?;
        Ok(Prepared { collective, operation, neighbourhood })
    }

    fn refuse_collective<T>(&self, class: ErrorClass, collective: &Collective, what: &str) -> Result<T> {
        Err(Error::argument(class, self, collective.call(), what.to_string()))
    }

    fn check_rooted(&self, call: Call, root: Root) -> Result<()> {
        let ranks = self.remote_size().unwrap_or(self.size());
        let what = match root {
            Root::Rank(root) if root < ranks => return Ok(()),
            Root::Rank(root) => format!("root {root} is out of range; the ranks are 0 to {}", ranks - 1),
            _ if self.is_inter() => return Ok(()),
            _ => "MPI_ROOT and MPI_PROC_NULL name roots of intercommunicators only".to_string(),
        };
        Err(Error::argument(ErrorClass::Root, self, call, what))
    }

    /// Whether it exists for this kind of communicator.
    fn check_form(&self, collective: &Collective) -> Result<()> {
        let in_place = matches!(
            collective,
            Collective::Allgather { part: None, .. }
                | Collective::Alltoall { sent: None, .. }
                | Collective::Allreduce { data: None, .. }
        );
        match collective {
            Collective::Scan { .. } if self.is_inter() => {
                let what = "an intercommunicator has no order of ranks to scan along";
                self.refuse_collective(ErrorClass::Communicator, collective, what)
            }
            Collective::Reduce { data: None, result: None, .. } if !self.is_inter() => {
                self.refuse_collective(ErrorClass::Buffer, collective, "there are no data to combine")
            }
            _ if in_place && self.is_inter() => {
                self.refuse_collective(ErrorClass::Buffer, collective, "on an intercommunicator data can't be in place")
            }
            _ => Ok(()),
        }
    }

    /// Whether there is a block for every rank.
    fn check_blocks(&self, collective: &Collective, neighbourhood: Option<&Neighbourhood>) -> Result<()> {
        let ranks = self.remote_size().unwrap_or(self.size());
        let enough = |blocks: &Blocks, needed: usize| match blocks {
            Blocks::Even(_) => true,
            Blocks::Listed(blocks) => blocks.len() >= needed,
        };
        let sources = neighbourhood.map_or(ranks, |neighbourhood| neighbourhood.sources.len());
        let destinations = neighbourhood.map_or(ranks, |neighbourhood| neighbourhood.destinations.len());
        let complete = match collective {
            Collective::Gather { all, .. } | Collective::Scatter { all, .. } => {
                all.as_ref().is_none_or(|all| enough(all, ranks))
            }
            Collective::Allgather { all, .. } => enough(all, ranks),
            Collective::NeighbourAllgather { all, .. } => enough(all, sources),
            Collective::Alltoall { sent, received } => {
                sent.as_ref().is_none_or(|sent| enough(sent, ranks)) && enough(received, ranks)
            }
            Collective::NeighbourAlltoall { sent, received } => enough(sent, destinations) && enough(received, sources),
            Collective::ReduceScatter { data, result, counts, .. } => self.counts_fit(counts, data, result),
            _ => true,
        };
        if complete {
            return Ok(());
        }
        self.refuse_collective(ErrorClass::Count, collective, "the counts don't fit the ranks or the data")
    }

    /// Whether such counts divide `data` between all ranks, with `result` for this one.
    fn counts_fit(&self, counts: &[u64], data: &Elements, result: &Elements) -> bool {
        let sum = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
        counts.len() == self.size() && sum == Some(data.count()) && counts[self.rank()] == result.count()
    }

    fn neighbourhood(&self) -> Result<Neighbourhood> {
        let neighbours = self.neighbours()?;
        let source = |source: &Source| match *source {
            Source::Rank(rank) => Some(rank),
            _ => None,
        };
        let destination = |destination: &Destination| match *destination {
            Destination::Rank(rank) => Some(rank),
            Destination::Null => None,
        };
        Ok(Neighbourhood {
            sources: neighbours.sources.iter().map(source).collect(),
            destinations: neighbours.destinations.iter().map(destination).collect(),
            grid: matches!(self.topology(), Some(Topology::Cartesian(_))),
        })
    }
}
