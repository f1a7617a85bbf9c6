//! Programs in C and C++, compiled with our headers against both libraries and run under the real launcher, in modes
//! that have to make no difference.

use std::ffi::OsStr;
use std::path::Path;

use libtest_mimic::{Failed, Trial};
use rwmpi_abi_table::Interface;
use rwmpi_tests::sample::{Sample, Tier};

use crate::c_support::{Library, sources, text};
use crate::{name, options, programs, ranks, text_of};

/// In the quick tier it is one program in so many.
const QUICK_ONE_IN: usize = 8;

/// One way to run all programs.
struct Mode {
    name: &'static str,
    interface: Interface,
    environment: &'static [(&'static str, &'static str)],
    /// On which node each rank is; empty: all are on one.
    nodes: &'static [u32],
    /// What most programs do is what users do: a usual run takes every other number of ranks. The other modes repeat
    /// it: a usual run takes one number of ranks of them, and of the programs one in so many.
    one_in: Option<usize>,
}

const MODES: &[Mode] = &[
    Mode { name: "standard", interface: Interface::Standard, environment: &[], nodes: &[], one_in: None },
    Mode { name: "mpich", interface: Interface::Mpich, environment: &[], nodes: &[], one_in: Some(1) },
    Mode {
        name: "tcp",
        interface: Interface::Standard,
        environment: &[("RWMPI_TRANSPORT", "tcp")],
        nodes: &[],
        one_in: Some(2),
    },
    Mode { name: "nodes", interface: Interface::Mpich, environment: &[], nodes: &[0, 1, 1, 0], one_in: Some(2) },
    Mode {
        name: "nodes_progress_thread",
        interface: Interface::Standard,
        environment: &[("RWMPI_PROGRESS", "thread")],
        nodes: &[0, 0, 1, 1],
        one_in: Some(4),
    },
    Mode {
        name: "lanes",
        interface: Interface::Standard,
        environment: &[("RWMPI_LANES", "3")],
        nodes: &[],
        one_in: Some(2),
    },
    Mode {
        name: "progress_thread",
        interface: Interface::Standard,
        environment: &[("RWMPI_PROGRESS", "thread")],
        nodes: &[],
        one_in: Some(2),
    },
    Mode {
        name: "mpich_progress_thread",
        interface: Interface::Mpich,
        environment: &[("RWMPI_PROGRESS", "thread")],
        nodes: &[],
        one_in: Some(4),
    },
];

/// What these check holds on one node: which ranks share memory, who may close descriptors, in which order reductions
/// add up, and by which class lengths that differ are told.
const OF_ONE_NODE: [&str; 4] =
    ["collective_errors", "collective_reduce_scatter", "communicator_creation", "descriptors"];

impl Mode {
    /// Whether a program is for this mode.
    fn takes(&self, program: &str) -> bool {
        let is_on_one_node = self.nodes.is_empty() && self.name != "tcp";
        // Jobs that go on when a rank dies have all ranks on one host, and their memory.
        (self.nodes.is_empty() || !OF_ONE_NODE.contains(&program)) && (is_on_one_node || !program.starts_with("ft_"))
    }

    /// At which of its numbers of ranks the test of that name runs a program; none if it is left out.
    fn sample(&self, sample: Sample, test: &str, ranks: &[u32]) -> Vec<u32> {
        let taken = match (sample.tier(), self.one_in) {
            (Tier::Usual, None) | (Tier::All, _) => return sample.half(test, ranks),
            (Tier::Usual, Some(one_in)) => sample.takes(test, one_in),
            (Tier::Quick, None) => sample.takes(test, QUICK_ONE_IN),
            (Tier::Quick, Some(_)) => false,
        };
        if taken { sample.ways(test, ranks).to_vec() } else { Vec::new() }
    }
}

/// A test for each program in each mode.
pub fn trials(sample: Sample) -> Vec<Trial> {
    let mut trials = Vec::new();
    for source in programs(&sources(), &["c", "cc"]) {
        let all = ranks(&text_of(&source));
        for mode in MODES.iter().filter(|mode| mode.takes(&name(&source))) {
            let test = format!("c/{}/{}", mode.name, name(&source));
            let ranks = mode.sample(sample, &test, &all);
            let (left_out, source) = (ranks.is_empty(), source.clone());
            let run = {
                let test = test.clone();
                move || run(mode, &test, &source, &ranks)
            };
            trials.push(Trial::test(test, run).with_ignored_flag(left_out));
        }
    }
    trials
}

/// Runs a program at each of these numbers of ranks.
fn run(mode: &Mode, test: &str, source: &Path, ranks: &[u32]) -> Result<(), Failed> {
    let library = Library::for_test(mode.interface, test);
    let program = library.compile(source, &[]).map_err(|words| format!("it does not compile: {words}"))?;
    let text_of_source = text_of(source);
    let options = options(&text_of_source);
    let environment: Vec<_> = mode.environment.iter().map(|(name, value)| (*name, OsStr::new(value))).collect();
    for &ranks in ranks {
        let nodes: Vec<String> = mode.nodes.iter().take(ranks as usize).map(u32::to_string).collect();
        // More ranks than that are all on one.
        let nodes =
            (1..=mode.nodes.len()).contains(&(ranks as usize)).then(|| format!("RWMPI_NODES={}", nodes.join(",")));
        // The launcher keeps its own such variable from the ranks: it may be a rank's child.
        let words = nodes.iter().flat_map(|nodes| ["env", nodes.as_str()]).map(OsStr::new);
        let command: Vec<_> = options.iter().map(OsStr::new).chain(words).chain([program.as_os_str()]).collect();
        let output = library.run(ranks, &command, &environment);
        if !output.status.success() {
            let shown = environment.iter().map(|(name, value)| format!("{name}={} ", value.display()));
            let shown = shown.collect::<String>();
            return Err(format!(
                "{shown}mpiexec -n {ranks} {} {}: {}",
                nodes.unwrap_or_default(),
                program.display(),
                text(&output)
            )
            .into());
        }
    }
    Ok(())
}
