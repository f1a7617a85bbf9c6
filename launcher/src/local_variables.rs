//! Variables by which scripts and libraries learn a rank's place on its host, under the names that other launchers give
//! them.

use crate::plan::Plan;
use rwmpi_transport::pmi::{PMI_NUMBER, PMI_SIZE};
use std::env;

/// Slurm's, which a job within an allocation inherits from its script: there they are of another process.
const SLURM_JOB: &str = "SLURM_JOB_ID";

/// What to set for the rank at that place among those of this host.
pub(crate) fn of(plan: &Plan, place: usize) -> Vec<(&'static str, String)> {
    let (rank, size) = (plan.ranks[place], plan.nodes.len());
    let node = plan.nodes[rank];
    let mut variables = vec![
        (PMI_NUMBER, rank),
        (PMI_SIZE, size),
        ("MPI_LOCALRANKID", place),
        ("MPI_LOCALNRANKS", plan.ranks.len()),
        ("OMPI_COMM_WORLD_RANK", rank),
        ("OMPI_COMM_WORLD_SIZE", size),
        ("OMPI_COMM_WORLD_LOCAL_RANK", place),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", plan.ranks.len()),
        ("OMPI_COMM_WORLD_NODE_RANK", place),
    ];
    if env::var_os(SLURM_JOB).is_some() {
        variables.extend([("SLURM_PROCID", rank), ("SLURM_LOCALID", place), ("SLURM_NODEID", node)]);
    }
    variables.into_iter().map(|(name, number)| (name, number.to_string())).collect()
}
