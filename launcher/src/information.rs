//! What `mpiexec --info` says about this build: scripts and test suites ask launchers what they are.

use rwmpi_core::Protocol;
use std::env::consts::{ARCH, OS};

/// The answer, a line for each thing that somebody may want to know, in lines.
pub(crate) fn of_build() -> String {
    let protocols = [Protocol::Auto, Protocol::Sr, Protocol::Nsr].map(|protocol| protocol.name()).join(" ");
    let build = if cfg!(debug_assertions) { "with assertions, for tests" } else { "for use" };
    format!(
        "rwmpi build details:\n\
         \x20   Version:                         {version}\n\
         \x20   Built for:                       {ARCH} {OS}, {build}\n\
         \x20   Interfaces:                      MPI standard ABI (libmpi_abi.so.1), MPICH ABI (libmpi.so.12)\n\
         \x20   Process managers served:         PMI-1\n\
         \x20   Process managers understood:     PMI-1 PMIx\n\
         \x20   Launchers available:             ssh rsh, any command by --launch-agent\n\
         \x20   Protocols:                       {protocols}\n\
         \x20   Transports:                      auto tcp\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}
