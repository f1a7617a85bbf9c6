//! LAMMPS: a program that computes most of the time, under the libraries that have the ABI for which it was made.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::figures::Found;
use crate::foreign::{Cache, lammps};

/// Cells along each edge, and so many steps of them: a second or less.
const MELTS: [(usize, usize); 2] = [(5, 2000), (10, 300)];

/// The program, and a folder with an input for each melt, named by its cells.
pub fn install(cache: &Cache) -> Result<(PathBuf, PathBuf)> {
    let folder = cache.scratch("lammps")?;
    for (edge, steps) in MELTS {
        let input = folder.join(edge.to_string());
        fs::write(&input, lammps::melt(edge, steps)).with_context(|| format!("cannot write {}", input.display()))?;
    }
    Ok((lammps::install(cache)?, folder))
}

/// The time of a step, of so many atoms in place of bytes, measured in that regime; `mark` is added to the benchmark's
/// name.
pub fn read(output: &str, regime: &str, mark: &str) -> Result<Vec<Found>> {
    let line = output.lines().find(|line| line.starts_with("Loop time")).context("the run did not end")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["Loop", "time", "of", seconds, "on", _, "procs", "for", steps, "steps", "with", atoms, "atoms"] = words[..]
    else {
        anyhow::bail!("LAMMPS wrote a strange line: {line:?}")
    };
    let time = seconds.parse::<f64>()? / steps.parse::<f64>()? * 1e6;
    let (benchmark, regime) = (format!("melt{mark}"), regime.to_owned());
    Ok(vec![Found { benchmark, bytes: atoms.parse()?, regime, min_us: time, median_us: time }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_its_part_of_the_loop() {
        let output =
            "Step Temp\n 0 3\nLoop time of 0.5 on 2 procs for 200 steps with 4000 atoms\n\nPerformance: 1 tau/day\n";
        let found = read(output, "near", ", LAMMPS").unwrap();
        let (benchmark, regime) = ("melt, LAMMPS".to_owned(), "near".to_owned());
        assert_eq!(found, [Found { benchmark, bytes: 4000, regime, min_us: 2500.0, median_us: 2500.0 }]);
        assert!(read("ERROR: no such file", "near", "").is_err());
    }
}
