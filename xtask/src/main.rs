//! The one entry point for work on the project: `cargo xtask COMMAND`.
//!
//! A command here is a short list of cargo calls and checks that a person could type. Nothing is kept between
//! runs: what was built or measured is on disk, under cargo's target folder or `bench/results`.
#![forbid(unsafe_code)]

mod bench;
mod beside_c;
mod compare;
mod counted;
mod coverage;
mod experiments;
mod foreign;
mod install;
mod manual;
mod memory;
mod page;
mod plots;
mod process;
mod races;
mod report;
mod sanitizer;
mod testing;
mod tidy;
mod verify;
mod wheel;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use install::{Profile, Programs};
use workspace::Workspace;

/// Work on rwmpi: test, check, measure, install.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that must pass before a change lands: format, conventions, lints, docs, all tests, of their modes a
    /// sample; or with NAMES, the tests of these names
    Test(testing::Arguments),
    /// What CI will do: clones the committed state into an empty folder and runs .ci/run there, builds from nothing
    Ci,
    /// Conventions of the project: layers, words, unsafe code, sizes, atomics, dead references
    Tidy,
    /// The protocol model check, deep: every interleaving of larger jobs than in `test`
    Model,
    /// Memory order of rings and sleep/wake under loom, deep: more preemptions than in `test`
    Loom,
    /// Memory errors: Miri if the nightly toolchain has it, else AddressSanitizer; then a small job under valgrind
    Memcheck,
    /// Data races: what has threads, under ThreadSanitizer
    Races,
    /// Measures this machine with mpi-bench; writes bench/results, and a page of them
    Bench {
        /// Only measurements whose names contain this
        #[arg(default_value = "")]
        wanted: String,
    },
    /// Draws target/pages/compare.html and experiments.html from what lies in bench/results, and says where they are
    Page,
    /// Builds the book into target/book, and looks at its pages in a browser, on a phone and in the dark
    Book,
    /// Measures other MPI libraries and ours side by side, installing them by package name; writes
    /// bench/results/compare.json, and a page of them
    Compare {
        /// Only benchmarks whose names contain this
        #[arg(default_value = "")]
        wanted: String,
        /// How often each is run; the libraries take turns. What has met them in different regimes is run up to three
        /// times more
        #[arg(long, default_value_t = 3)]
        rounds: usize,
    },
    /// Starts 2 to 256 ranks under other MPI libraries and ours; writes bench/results/scale.json and
    /// docs/performance/scale.svg
    Scale,
    /// Licences and sources of all dependencies, and, where its database can be had, known vulnerabilities: what
    /// deny.toml says
    Deny,
    /// Writes docs/mpi-coverage.md: which functions of MPI are supported, and which test calls them
    Coverage,
    /// Runs programs that others compiled or wrote on our libraries, installing them by package name
    Foreign {
        /// Only programs whose names contain this
        #[arg(default_value = "")]
        wanted: String,
        /// What carries messages: as for mpiexec
        #[arg(long)]
        transport: Option<String>,
    },
    /// Packs the packages for users as publishing would, and builds them from that; publishes nothing
    Publishable,
    /// Writes docs/book/src/options.md and settings.md, as the launcher lists them
    Options,
    /// Builds for release and packs target/wheel/rwmpi-VERSION-py3-none-manylinux_2_NN_x86_64.whl, for pip
    Wheel {
        /// Then installs it, with mpi4py, into an environment of its own, runs a job there, and takes it out again
        #[arg(long)]
        check: bool,
    },
    /// Builds for release and installs launcher, compiler wrappers, libraries, headers, manual pages and completions
    Install {
        /// Where to: DIR/bin, DIR/lib, DIR/include
        #[arg(long, value_name = "DIR")]
        prefix: PathBuf,
        /// The programs npb and mpi-bench, too, which nobody needs who only builds and runs programs
        #[arg(long)]
        with_benchmarks: bool,
    },
}

fn run(command: Command) -> Result<()> {
    let workspace = Workspace::find()?;
    match command {
        Command::Test(arguments) => testing::test(&workspace, &arguments),
        Command::Ci => verify::rehearse_ci(&workspace),
        Command::Tidy => tidy::run(&workspace),
        Command::Model => verify::model(&workspace),
        Command::Loom => verify::loom(&workspace),
        Command::Memcheck => memory::check(&workspace),
        Command::Races => races::check(&workspace),
        Command::Bench { wanted } => bench::run_all(&workspace, &wanted),
        Command::Page => experiments::draw(&workspace).and_then(|()| compare::draw_page(&workspace)),
        Command::Book => verify::book(&workspace),
        Command::Compare { wanted, rounds } => compare::run(&workspace, &wanted, rounds),
        Command::Scale => compare::scale(&workspace),
        Command::Deny => verify::dependencies(&workspace),
        Command::Coverage => coverage::write(&workspace),
        Command::Publishable => verify::publishable(&workspace),
        Command::Options => manual::write_book(&workspace),
        Command::Wheel { check } => wheel::run(&workspace, check),
        Command::Install { prefix, with_benchmarks } => {
            let programs = if with_benchmarks { Programs::WithBenchmarks } else { Programs::Launcher };
            install::run(&workspace, &prefix, Profile::Release, programs)
        }
        Command::Foreign { wanted, transport } => foreign::run(&workspace, &wanted, transport),
    }
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
