//! Intel's MPI Benchmarks, as others compiled them: a program that is not ours, under the libraries that have the ABI
//! for which it was made.
//!
//! They do not look how far the cores are from each other, so that is measured before and after, and what they say
//! counts where both agree.

use anyhow::{Context, Result};

use super::figures::Found;

/// The options of a run: sizes up to 1 MiB; long enough for short messages, short enough for long ones.
pub const OPTIONS: [&str; 6] = ["-msglog", "3:20", "-iter", "10000,100", "-time", "0.3"];

/// The time that counts: of one rank where only one looks at its clock, the mean of all otherwise.
const TIMES: [&str; 2] = ["t[usec]", "t_avg[usec]"];

/// What IMB-MPI1 wrote, measured in that regime; `mark` is added to the benchmarks' names.
pub fn read(output: &str, regime: &str, mark: &str) -> Result<Vec<Found>> {
    let (mut benchmark, mut columns, mut all) = ("", Vec::new(), Vec::new());
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["#", "Benchmarking", name] => (benchmark, columns) = (name, Vec::new()),
            [first, ..] if first.starts_with("#bytes") || first.starts_with("#repetitions") => columns = words,
            // Too slow a library has no time for all sizes.
            [_, said, ..] if said.starts_with("time-out") => {}
            [first, ..] if !columns.is_empty() && first.parse::<f64>().is_ok() => {
                let column = |wanted: &str| columns.iter().position(|&name| name == wanted);
                let time = TIMES.iter().find_map(|name| column(name)).context("there is no column of times")?;
                let word = |column: usize| words.get(column).with_context(|| format!("too few columns: {line:?}"));
                let bytes = column("#bytes").map_or(Ok(0), |column| anyhow::Ok(word(column)?.parse()?))?;
                let time = word(time)?.parse()?;
                let (benchmark, regime) = (format!("{benchmark}{mark}"), regime.to_owned());
                all.push(Found { benchmark, bytes, regime, min_us: time, median_us: time });
            }
            _ => {}
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "# Minimum message length in bytes:   0\n\n# Benchmarking PingPong \n# #processes = 2 \n\
         #bytes #repetitions      t[usec]   Mbytes/sec\n            0         1000         0.21         0.00\n\
         8         1000         0.20        39.47\n\n# Benchmarking Allreduce \n# #processes = 2 \n\
         #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n   16   1000    0.37   1.11   0.74\n\
         32 time-out.; Time limit is over\n\n\
         # Benchmarking Barrier \n# #processes = 2 \n #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n  1000  0.23 0.25 0.24\n";

    #[test]
    fn times_are_found_by_the_names_of_their_columns() {
        let all = read(OUTPUT, "near", ", IMB").unwrap();
        let short: Vec<_> = all.iter().map(|it| (it.benchmark.as_str(), it.bytes, it.median_us)).collect();
        let expected = [
            ("PingPong, IMB", 0, 0.21),
            ("PingPong, IMB", 8, 0.20),
            ("Allreduce, IMB", 16, 0.74),
            ("Barrier, IMB", 0, 0.24),
        ];
        assert_eq!(short, expected);
        assert!(all.iter().all(|it| it.regime == "near" && it.min_us == it.median_us));
    }

    #[test]
    fn a_table_without_times_is_an_error() {
        let error = read("# Benchmarking Uniband\n#bytes #repetitions Mbytes/sec Msg/sec\n0 10 1.0 2.0\n", "far", "")
            .unwrap_err();
        assert_eq!(error.to_string(), "there is no column of times");
    }
}
