//! The lengths by which ranks choose their ways: chosen once for the whole job, before anything starts, and handed down
//! to all ranks, since collectives on which these differed would wait for ever. A file that the user names is on this
//! host alone, so its values travel, not its name.

use std::fs;

use rwmpi_core::tuning::{Chosen, Processor, Row, Source, Tuning};

use crate::error::LaunchError;
use crate::job_spec::JobSpec;

/// What this job has: what the file says that the user names, else what suits this host's processor.
pub(crate) fn choose(spec: &JobSpec) -> Result<Chosen, LaunchError> {
    let file = spec.setting(Tuning::VARIABLE);
    let file =
        file.map(|file| rwmpi_transport::settings::tuning_file(&file)).transpose().map_err(LaunchError::Tuning)?;
    let (text, origin) = file.unwrap_or_default();
    Tuning::for_job(&processor(), &text).map_err(|what| LaunchError::Tuning(format!("{origin}: {what}")))
}

/// What was chosen, and why.
pub(crate) fn explain(chosen: &Chosen) -> Vec<String> {
    let Processor { vendor, family, model } = processor();
    let why = if chosen.is_known {
        "which this processor is".to_owned()
    } else {
        format!("the nearest that is known to this processor ({vendor}, family {family}, model {model})")
    };
    let head = format!("tuning: the table of {}, {why}", chosen.family);
    std::iter::once(head).chain(Tuning::ROWS.iter().map(|row| line(chosen, row))).collect()
}

fn line(chosen: &Chosen, row: &Row) -> String {
    let source = match chosen.source(row) {
        Source::Default => "the default".to_owned(),
        Source::Family(name) => format!("of {name}"),
        Source::File => format!("from {}", Tuning::VARIABLE),
    };
    let value = chosen.tuning.get(row);
    format!("  {} = {value} {}, {source}:{}", row.name, row.unit.name(), row.doc)
}

/// The processor of this host, as far as the kernel names it.
fn processor() -> Processor {
    processor_in(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

fn processor_in(text: &str) -> Processor {
    let said = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map_or("", |(_, value)| value.trim())
    };
    let number = |name| said(name).parse().unwrap_or(0);
    let vendor = said("vendor_id");
    let vendor = if vendor.is_empty() { "unknown" } else { vendor };
    Processor { vendor: vendor.to_owned(), family: number("cpu family"), model: number("model") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_the_processor() {
        let text =
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n";
        let milan = Processor { vendor: "AuthenticAMD".to_owned(), family: 25, model: 1 };
        assert_eq!(processor_in(text), milan);
        assert_eq!(processor_in("").vendor, "unknown");
    }

    #[test]
    fn every_value_is_explained_with_its_source() {
        let chosen = Tuning::for_job(&processor(), "slots_below = 4096").unwrap();
        let lines = explain(&chosen);
        assert_eq!(lines.len(), 1 + Tuning::ROWS.len());
        assert!(
            lines.iter().any(|line| line.starts_with("  slots_below = 4096 bytes, from RWMPI_TUNING: A rank puts"))
        );
        assert!(lines.iter().any(|line| line.starts_with("  pieces_min = 65536 bytes, the default: Data of at least")));
    }
}
