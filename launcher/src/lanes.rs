//! How many lanes the job has. A lane is a way between all ranks that shares nothing with the others, so that threads
//! of a rank can communicate at the same time.
//!
//! The ranks find the number in the file that they share: all agree on it, whatever becomes of their environment.

use crate::error::LaunchError;
use crate::job_spec::JobSpec;
use rwmpi_core::describe_wait;
use rwmpi_transport::{LANES, MOST_LANES};

const OPTION: &str = "--lanes";

/// What was asked for, and by what.
struct Asked {
    lanes: usize,
    by: &'static str,
}

impl Asked {
    /// What `spec` says, be it possible or not.
    fn of(spec: &JobSpec) -> Result<Asked, LaunchError> {
        if let Some(lanes) = spec.lanes {
            return Ok(Asked { lanes, by: OPTION });
        }
        let Some(text) = spec.setting(LANES) else { return Ok(Asked { lanes: 1, by: OPTION }) };
        match text.to_str().and_then(|text| text.parse().ok()) {
            Some(lanes) => Ok(Asked { lanes, by: LANES }),
            None => Err(LaunchError::Lanes { by: LANES, what: format!("{text:?} is not a number") }),
        }
    }

    fn check(self, spec: &JobSpec) -> Result<Asked, LaunchError> {
        let Asked { lanes, by } = self;
        let what = if !(1..=MOST_LANES).contains(&lanes) {
            format!("a job can have 1 to {MOST_LANES} lanes, not {lanes}")
        } else if lanes > 1 && spec.threads > 1 {
            "ranks that are threads of a process have one lane: leave out --threads".to_owned()
        } else {
            return Ok(self);
        };
        Err(LaunchError::Lanes { by, what })
    }
}

/// Whether the job can have as many as was asked for.
pub(crate) fn check(spec: &JobSpec) -> Result<(), LaunchError> {
    Asked::of(spec)?.check(spec).map(drop)
}

/// Whether messages go between hosts, or do as if: there is one way for these.
pub(crate) fn needs_network(spec: &JobSpec, nodes: &[usize]) -> bool {
    nodes.iter().any(|&node| node != nodes[0]) || (spec.is_over_tcp() && nodes.len() > 1)
}

/// How many lanes the job has whose ranks are on these nodes.
pub(crate) fn of_job(spec: &JobSpec, nodes: &[usize]) -> Result<usize, LaunchError> {
    let asked = Asked::of(spec)?.check(spec)?;
    Ok(if needs_network(spec, nodes) { 1 } else { asked.lanes })
}

/// Says how many there are, if somebody wanted several.
pub(crate) fn explain(spec: &JobSpec, lanes: usize) -> Option<String> {
    let asked = Asked::of(spec).ok().filter(|asked| asked.lanes > 1)?;
    let source = if asked.by == OPTION { "as asked".to_owned() } else { format!("from {}", asked.by) };
    Some(if lanes == asked.lanes {
        format!(
            "lanes: {lanes}, {source}: threads of a rank that use different communicators need not wait for each other"
        )
    } else {
        format!("lanes: {lanes} rather than {}, {source}: between hosts, and over TCP, there is one only", asked.lanes)
    })
}

/// What to tell of a rank that does this in its lanes: what has waited longest, as it may be why the job hangs; else
/// what the first lane does.
pub(crate) fn most_telling(activities: impl Iterator<Item = [u64; 8]>) -> Option<[u64; 8]> {
    activities.min_by_key(|activity| describe_wait(activity).map_or(u64::MAX, |wait| wait.since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_spec::{Section, Transport};

    fn spec() -> JobSpec {
        JobSpec::new(Section::new("true").ranks(2))
    }

    fn refusal(spec: &JobSpec) -> String {
        of_job(spec, &[0, 0]).unwrap_err().to_string()
    }

    #[test]
    fn the_option_wins_over_the_environment() {
        let set = spec().environment(LANES, "3");
        assert_eq!(of_job(&set, &[0, 0]).unwrap(), 3);
        assert_eq!(of_job(&set.clone().lanes(2), &[0, 0]).unwrap(), 2);
        assert!(explain(&set, 3).unwrap().contains("3, from RWMPI_LANES"));
        assert!(explain(&set.clone().lanes(2), 2).unwrap().contains("2, as asked"));
        assert_eq!(explain(&set.lanes(1), 1), None);
    }

    #[test]
    fn impossible_numbers_are_refused() {
        for lanes in [0, MOST_LANES + 1] {
            assert!(refusal(&spec().lanes(lanes)).starts_with("--lanes: a job can have 1 to 8 lanes, not"));
        }
        assert!(refusal(&spec().environment(LANES, "9")).starts_with("RWMPI_LANES: "));
        assert!(refusal(&spec().environment(LANES, "many")).contains("\"many\" is not a number"));
        assert!(refusal(&spec().lanes(2).threads(2)).contains("leave out --threads"));
        assert_eq!(of_job(&spec().lanes(1).threads(2), &[0, 0]).unwrap(), 1);
    }

    #[test]
    fn the_longest_wait_tells_most() {
        let told = |waits: &[u64]| {
            let of_lane = |(lane, &since): (usize, &u64)| [lane as u64, 0, since, 0, 0, 0, 0, 0];
            most_telling(waits.iter().enumerate().map(of_lane)).map(|[lane, ..]| lane)
        };
        assert_eq!(told(&[0, 0, 0]), Some(0));
        assert_eq!(told(&[0, 9, 5]), Some(2));
        assert_eq!(told(&[5, 9, 0]), Some(0));
    }

    #[test]
    fn there_is_one_where_the_network_is_needed() {
        let several = spec().lanes(4);
        assert_eq!(of_job(&several, &[0, 1]).unwrap(), 1);
        let over_tcp = several.clone().transport(Transport::Tcp);
        assert_eq!(of_job(&over_tcp, &[0, 0]).unwrap(), 1);
        assert_eq!(of_job(&over_tcp, &[0]).unwrap(), 4);
        assert!(explain(&several, 1).unwrap().contains("1 rather than 4"));
    }
}
