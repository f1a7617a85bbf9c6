//! MPI_Reduce_local of elements that lie side by side.

use rwmpi_collective::WhereItLies;

use super::Runs;
use crate::datatype::Datatype;
use crate::reduction::Predefined;

/// As [`reduce_local`](crate::reduction::reduce_local), of elements that lie side by side: the first block of each.
/// `None`: it is no arithmetic on such elements.
pub fn reduce_local_runs(operation: Predefined, datatype: &Datatype, from: Runs, inout: Runs) -> Option<()> {
    let (arithmetic, kept) = (operation.arithmetic_on(datatype)?, inout.block(0));
    arithmetic.combine(from.block(0).as_read().into(), kept.as_read().into(), kept);
    Some(())
}
