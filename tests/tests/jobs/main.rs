//! Whole jobs, one module for each matter: real programs under the real launcher, and what is left behind when they
//! end. What each test may take is in `.config/nextest.toml`; the programs come from the folder that
//! `rwmpi_tests::binary` finds.
//!
//! One program for all of them: linking takes longer than most of its tests do.

mod c_and_rust;
mod c_headers;
mod c_library;
mod c_support;
mod files;
mod files_fuse;
mod fortran_library;
mod fortran_support;
mod fuse_support;
mod hang_kinds;
mod keep_going;
mod launcher_arguments;
mod launcher_check;
mod launcher_failures;
mod launcher_faults;
mod launcher_foreign;
mod launcher_hangs;
mod launcher_hosts;
mod launcher_library;
mod launcher_mpi;
mod launcher_namespaces;
mod launcher_options;
mod launcher_output;
mod launcher_profile;
mod launcher_slurm;
mod launcher_ssh;
mod launcher_starters;
mod launcher_strangers;
mod launcher_support;
mod launcher_tcp;
mod launcher_watch;
mod membership;
mod npb_kernels;
mod npb_programs;
mod npb_sp_bt;
mod npb_study;
mod overlap;
mod progress;
mod rank_tests;
mod ranks_as_threads;
mod shared_heap;
mod spawning;
