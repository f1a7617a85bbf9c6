//! What `mpiexec --info` says about this build: scripts and test suites ask launchers what they are.

use clap::Command;
use rwmpi_core::Protocol;
use std::env::consts::{ARCH, OS};

/// The answer, a line for each thing that somebody may want to know, in the form in which clap gives its own.
pub(crate) fn of_build() -> clap::Error {
    let protocols = [Protocol::Auto, Protocol::Sr, Protocol::Nsr].map(|protocol| protocol.name()).join(" ");
    let build = if cfg!(debug_assertions) { "with assertions, for tests" } else { "for use" };
    let details = format!(
        "build details:\n\
         \x20   Version:                         {version}\n\
         \x20   Built for:                       {ARCH} {OS}, {build}\n\
         \x20   Interfaces:                      MPI standard ABI (libmpi_abi.so.1), MPICH ABI (libmpi.so.12)\n\
         \x20   Process managers served:         PMI-1\n\
         \x20   Process managers understood:     PMI-1 PMIx\n\
         \x20   Launchers available:             ssh rsh, any command by --launch-agent\n\
         \x20   Protocols:                       {protocols}\n\
         \x20   Transports:                      auto tcp",
        version = env!("CARGO_PKG_VERSION"),
    );
    // Clap wants words that stay; they are asked for once.
    let command = Command::new("rwmpi").version(&*details.leak());
    command.try_get_matches_from(["rwmpi", "--version"]).expect_err("clap shows the version by an error")
}
