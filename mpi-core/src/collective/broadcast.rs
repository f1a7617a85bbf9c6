//! Broadcast: a binomial tree for short data; for long data all read the root's memory, or, where they can't, the root scatters parts,
//! which all then gather, so that no rank sends everything more than once.

use rwmpi_transport::WriteSpan;

use super::allgather::allgather;
use super::at_once;
use super::gather::scatter;
use super::team::Team;
use crate::engine::Failure;

/// From this length on, in bytes, and from three ranks on, the root's memory is read.
const READ_FROM: usize = 16 << 10;
/// From this length on, and from three ranks on, parts are scattered.
const SCATTER_FROM: usize = 64 << 10;

/// `data` is read at the root and written elsewhere.
pub(crate) async fn broadcast(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Result<(), Failure> {
    if at_once::broadcast(team, data, root)? {
        return Ok(());
    }
    Box::pin(by_messages(team, data, root)).await
}

async fn by_messages(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Result<(), Failure> {
    if team.size() >= 3 && data.len() >= READ_FROM && team.may_publish() && read(team, data, root).await? {
        return Ok(());
    }
    if team.size() >= 3 && data.len() >= SCATTER_FROM {
        parts(team, data, root).await
    } else {
        tree(team, data, root).await
    }
}

/// False, on all ranks, if the root's memory can't be read.
async fn read(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Result<bool, Failure> {
    let Some(mut published) = team.publish_from(root, data.as_read()).await? else { return Ok(false) };
    if team.rank != root {
        published.read(root, 0, 0, data)?;
    }
    published.meet().await?;
    Ok(true)
}

pub(super) async fn tree(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Result<(), Failure> {
    let size = team.size();
    let relative = (team.rank + size - root) % size;
    // The lowest set bit says from whom the data come; all lower bits, to whom they go.
    let parent_bit = if relative == 0 { size.next_power_of_two() } else { 1 << relative.trailing_zeros() };
    if relative != 0 {
        team.receive(data, (relative - parent_bit + root) % size).await?;
    }
    let mut sends = team.flights();
    let mut bit = parent_bit >> 1;
    while bit > 0 {
        if relative + bit < size {
            sends.send(data.as_read(), (relative + bit + root) % size)?;
        }
        bit >>= 1;
    }
    sends.await
}

async fn parts(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Result<(), Failure> {
    // Whole cache lines, so that no two ranks write to one.
    let part = data.len().div_ceil(team.size()).next_multiple_of(64);
    let place = |rank: usize| {
        let start = (rank * part).min(data.len());
        data.part(start, part.min(data.len() - start))
    };
    let own = (team.rank != root).then(|| place(team.rank));
    scatter(team, |rank| place(rank).as_read(), own, root).await?;
    allgather(team, place).await
}
