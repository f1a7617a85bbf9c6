//! Programs in Fortran, compiled by gfortran with our `mpif.h` and module against the libraries of both interfaces.
//! Without gfortran there is nothing to test, and the tests say so.
//!
//! A line `options: -fno-underscoring` of a program's first comment makes it run once more, compiled with these
//! options, at the largest of its numbers of ranks.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use rwmpi_abi_table::Interface;
use rwmpi_tests::sample::{Sample, Tier};

use crate::fortran_support::{Libraries, has_compiler, sources, text};
use crate::{name, programs, ranks, remarks, text_of};

const INTERFACES: [(&str, Interface); 2] = [("standard", Interface::Standard), ("mpich", Interface::Mpich)];
/// In the quick tier it is one test in so many.
const QUICK_ONE_IN: usize = 8;

/// A test for each program on each ABI.
pub fn trials(sample: Sample) -> Vec<Trial> {
    let mut trials = Vec::new();
    for source in programs(&sources(), &["f90", "f"]) {
        for (abi, interface) in INTERFACES {
            let test = format!("fortran/{abi}/{}", name(&source));
            let left_out = sample.tier() == Tier::Quick && !sample.takes(&test, QUICK_ONE_IN);
            let (at, source) = (test.clone(), source.clone());
            let run = move || run(interface, &at, &source, sample);
            trials.push(Trial::test(test, run).with_ignored_flag(left_out));
        }
    }
    trials
}

/// Runs a program in all its ways; in a usual run, at every other number of ranks.
fn run(interface: Interface, test: &str, path: &Path, sample: Sample) -> Result<(), Failed> {
    if !has_compiler() {
        return Ok(());
    }
    let libraries = Libraries::for_test(interface, test);
    let source = text_of(path);
    for options in [""].into_iter().chain(remarks(&source, "options: ")) {
        let words: Vec<&str> = options.split_whitespace().collect();
        let compiled = libraries.compile(path, &words);
        let program = compiled.map_err(|words| format!("it does not compile, options '{options}': {words}"))?;
        let all = ranks(&source);
        let numbers = if options.is_empty() { sample.half(test, &all) } else { all[all.len() - 1..].to_vec() };
        for ranks in numbers {
            let output = libraries.run(ranks, &[program.as_os_str()], &[]);
            if !output.status.success() {
                return Err(format!("mpiexec -n {ranks} {}: {}", program.display(), text(&output)).into());
            }
        }
    }
    Ok(())
}
