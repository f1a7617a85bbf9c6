//! `mpi-bench tune`: finds this machine's values of the tuning table, and writes the file that `RWMPI_TUNING` names.
//!
//! A value says from which length on another way pays. So each is measured with all lengths near its default going one
//! way, and with all going the other: two jobs, which take turns, and of whose times the least counts. Where both cost
//! the same lies the value. Values that are found hold for those that are measured after them.

mod crossing;
mod measure;
mod subject;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rwmpi::tuning::{Row, Tuning};
use rwmpi_launcher::Output;

use crate::arguments::{Memory, Tune};
use crate::exchange::Exchange;
use crate::launch::Job;
use crate::machine;
use crossing::{Crossing, crossing};
pub use measure::measure;
use subject::{Kind, SUBJECTS, Subject};

/// How often the two ways take turns.
const ROUNDS: usize = 5;
/// How long each length is measured in a turn.
const TURN: Duration = Duration::from_millis(12);
/// Lengths from which a value that is no length is judged.
const LONG: [usize; 3] = [256 << 10, 1 << 20, 4 << 20];

/// Measures everything, or the values whose names contain what was asked for, and writes the file.
pub fn run(options: &Tune) -> Result<()> {
    let processors = machine::allowed_cores()?.len();
    let mut tuning = Tuning::DEFAULT;
    println!("{}, {processors} cores", machine::processor());
    let wanted = |subject: &&Subject| options.only.as_deref().is_none_or(|only| subject.row.contains(only));
    let subjects: Vec<&Subject> = SUBJECTS.iter().filter(wanted).collect();
    ensure!(!subjects.is_empty(), "there is no value to be measured with that in its name");
    for subject in subjects {
        let row = row(subject.row)?;
        let said = match subject.ranks.number(processors) {
            None => "left as it is: these ranks need more processors".to_owned(),
            Some(ranks) => {
                let mut bench = Bench { subject, ranks, tuning: &mut tuning, file: &options.out };
                match subject.kind {
                    Kind::Length => bench.length(row)?,
                    Kind::Portion => bench.portion(row)?,
                }
            }
        };
        println!("{:28} {:>8} {:>8} {}  {said}", row.name, row.default, tuning.get(row), row.unit.name());
    }
    fs::write(&options.out, tuning.to_toml()).with_context(|| format!("cannot write {}", options.out.display()))?;
    println!("jobs use these values with RWMPI_TUNING={}", options.out.display());
    Ok(())
}

fn row(name: &str) -> Result<&'static Row> {
    Tuning::ROWS.iter().find(|row| row.name == name).with_context(|| format!("the table has no {name}"))
}

/// One value being measured.
struct Bench<'a> {
    subject: &'a Subject,
    ranks: usize,
    tuning: &'a mut Tuning,
    /// Where the values of a job stand meanwhile.
    file: &'a Path,
}

impl Bench<'_> {
    /// A length from which another way pays.
    fn length(&mut self, row: &Row) -> Result<String> {
        let lengths = lengths(row);
        let (least, most) = (lengths[0], lengths[lengths.len() - 1]);
        let is_last = row.name.ends_with("_max");
        // Up to the value, or below it, lengths go the first way.
        let all_first = if is_last { most } else { most + 1 };
        let all_second = if is_last { least.saturating_sub(1) } else { least };
        let limit = |value: usize| value.clamp(*row.limits.start(), *row.limits.end());
        let times = self.times(row, &[limit(all_first), limit(all_second)], &lengths)?;
        let below = |&&length: &&usize| if is_last { length <= row.default } else { length < row.default };
        let now = lengths.iter().filter(below).count();
        let Crossing { place, gain } = crossing(&times[0], &times[1], now);
        if place == now {
            return Ok("as by default".to_owned());
        }
        let value = match (is_last, place) {
            (true, 0) => all_second,
            (true, place) => lengths[place - 1],
            (false, place) => lengths.get(place).copied().unwrap_or(all_first),
        };
        self.set(row, limit(value))?;
        Ok(format!("saves {:.0} % where it matters", gain * 100.0))
    }

    /// A length of pieces: the one with which long data take the least time.
    fn portion(&mut self, row: &Row) -> Result<String> {
        let candidates: Vec<usize> = lengths(row).into_iter().filter(|length| length.is_power_of_two()).collect();
        let times = self.times(row, &candidates, &LONG)?;
        let cost = |times: &Vec<f64>| times.iter().map(|time| time.ln()).sum::<f64>() / LONG.len() as f64;
        let costs: Vec<f64> = times.iter().map(cost).collect();
        let best = (0..costs.len()).min_by(|&one, &other| costs[one].total_cmp(&costs[other])).unwrap_or(0);
        let now = candidates.iter().position(|&candidate| candidate == row.default);
        let gain = now.map_or(0.0, |now| costs[now] - costs[best]);
        if gain < crossing::WORTH_IT {
            return Ok("as by default".to_owned());
        }
        self.set(row, candidates[best])?;
        Ok(format!("saves {:.0} % of long data", gain * 100.0))
    }

    fn set(&mut self, row: &Row, value: usize) -> Result<()> {
        self.tuning.set(row.name, value).map(drop).map_err(anyhow::Error::msg)
    }

    /// The least times of all lengths, µs, for each of these values; of several exchanges, the mean. The values take
    /// turns.
    fn times(&self, row: &Row, values: &[usize], lengths: &[usize]) -> Result<Vec<Vec<f64>>> {
        let exchanges = self.subject.exchanges;
        let mut least = vec![vec![f64::INFINITY; lengths.len() * exchanges.len()]; values.len()];
        for round in 0..ROUNDS {
            for turn in 0..values.len() {
                let turn = (round + turn) % values.len();
                let least = least[turn].chunks_mut(lengths.len());
                for (&exchange, least) in exchanges.iter().zip(least) {
                    let times = self.turn(row, values[turn], exchange, lengths)?;
                    least.iter_mut().zip(times).for_each(|(least, time)| *least = least.min(time));
                }
            }
        }
        Ok(least.iter().map(|least| means(least, lengths.len())).collect())
    }

    /// One job in which the row has that value.
    fn turn(&self, row: &Row, value: usize, exchange: Exchange, lengths: &[usize]) -> Result<Vec<f64>> {
        let mut tuning = *self.tuning;
        tuning.set(row.name, value).map_err(anyhow::Error::msg)?;
        fs::write(self.file, tuning.changes()).with_context(|| format!("cannot write {}", self.file.display()))?;
        let sizes = lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let memory = if self.subject.memory == Memory::Shared { "shared" } else { "private" };
        let seconds = TURN.as_secs_f64().to_string();
        let arguments = ["tune", "--exchange", exchange.name(), "--sizes", &sizes, "--memory", memory];
        let (figures, _) = Job {
            arguments: arguments.into_iter().chain(["--seconds", &seconds]).map(Into::into).collect(),
            ranks: self.ranks as u16,
            transport: Some(self.subject.transport),
            tuning: Some(PathBuf::from(self.file)),
            output: Output::Capture,
            ..Job::default()
        }
        .run()?;
        ensure!(figures.len() == lengths.len(), "a job has measured {} of {} lengths", figures.len(), lengths.len());
        figures.iter().map(|figure| figure.min_us.context("a job has left a length out")).collect()
    }
}

/// The geometric means of the times of each of so many lengths, which are given for one exchange after the other.
fn means(times: &[f64], lengths: usize) -> Vec<f64> {
    let exchanges = (times.len() / lengths) as f64;
    let product = |length: usize| times[length..].iter().step_by(lengths).product::<f64>();
    (0..lengths).map(|length| product(length).powf(exchanges.recip())).collect()
}

/// The lengths near the default: powers of two, and one between each two.
fn lengths(row: &Row) -> Vec<usize> {
    let near = row.default / 8..=row.default.saturating_mul(8);
    let powers = (1..usize::BITS - 2).map(|exponent| 1_usize << exponent);
    let all = powers.flat_map(|power| [power, power / 2 * 3]);
    all.filter(|length| *length > 1 && near.contains(length) && row.limits.contains(length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_count_alike() {
        assert_eq!(means(&[1.0, 2.0], 2), [1.0, 2.0]);
        assert_eq!(means(&[1.0, 2.0, 16.0, 8.0], 2), [4.0, 4.0]);
    }

    #[test]
    fn every_subject_is_a_row_with_lengths_on_both_sides_of_its_default() {
        for subject in SUBJECTS {
            let row = row(subject.row).unwrap();
            let lengths = lengths(row);
            assert!(lengths.is_sorted() && lengths.len() > 3, "{}: {lengths:?}", row.name);
            assert!(lengths[0] < row.default && *lengths.last().unwrap() >= row.default, "{}: {lengths:?}", row.name);
        }
    }
}
