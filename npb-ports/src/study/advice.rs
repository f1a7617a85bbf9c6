//! What a reader needs besides the figures: what their words mean, what a class is good for, and what to do with the
//! outcome.

use super::format::{list, plural};
use super::plan::{Mode, title};
use super::record::Study;
use super::verdict::{Standing, Verdict};
use crate::Class;

/// What *spread* and *pairings* mean, in a line.
pub fn words(study: &Study) -> String {
    let repeats = study.settings.repeats;
    format!(
        "Spread is how much longer the slowest of {} of a kind took than the fastest. For pairings, each run of one mode is held against each \
         run of another ({} in all here); the better mode is named only if it wins clearly more of them than chance gives.",
        plural(repeats, "run"),
        repeats * repeats
    )
}

/// What is to be said of a class that is too small to measure with.
pub fn class(study: &Study) -> Option<String> {
    (study.settings.class == Class::S).then(|| {
        "Class S is a check, not a measurement: it shows that every benchmark runs and verifies its result, but its runs last milliseconds, so \
         their differences say little. To measure, take --class W or A on a quiet machine."
            .to_owned()
    })
}

/// What a user should do, a sentence each.
pub fn advice(study: &Study, verdicts: &[Verdict]) -> Vec<String> {
    let mut sentences = Vec::new();
    let compared: Vec<_> = verdicts.iter().filter_map(|it| Some((it, it.auto_to_better?))).collect();
    let is_known = |standing| standing != Standing::Unknown;
    if compared.iter().any(|(_, (comparison, _))| is_known(comparison.standing)) {
        sentences.push(mode(
            &compared
                .iter()
                .map(|(it, (comparison, better))| (title(it.benchmark), comparison.standing, *better))
                .collect::<Vec<_>>(),
        ));
    }
    if study.settings.class == Class::S {
        sentences.push("Repeat the study with --class A before you conclude anything from it.".to_owned());
    }
    if study.settings.ranks > study.settings.machine.cores {
        let cores = plural(study.settings.machine.cores, "core");
        sentences.push(format!("Judge speed by the runs with no more processes than this machine's {cores}."));
    }
    sentences.push(
        "Then measure your own program: mpiexec --protocol sr, nsr or auto before it; the benchmark that communicates most like it is a first guess."
            .to_owned(),
    );
    sentences
}

/// Which mode to take.
fn mode(compared: &[(String, Standing, Mode)]) -> String {
    let behind: Vec<String> = compared
        .iter()
        .filter(|(_, standing, _)| *standing == Standing::Slower)
        .map(|(name, _, better)| format!("{name} ({})", better.title()))
        .collect();
    if behind.is_empty() {
        return "Leave the mode at AUTO, the default: no other was faster beyond the spread in any benchmark."
            .to_owned();
    }
    format!(
        "Leave the mode at AUTO, the default, unless your program communicates like {}, where the mode in brackets was faster beyond the spread.",
        list(&behind)
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn advised(study: &Study) -> String {
        let verdicts: Vec<Verdict> = study.benchmarks().into_iter().map(|it| Verdict::on(study, it)).collect();
        advice(study, &verdicts).join(" ")
    }

    #[test]
    fn the_smallest_class_is_called_a_check() {
        let mut study = fixture::study(4, 5, 4);
        assert!(class(&study).unwrap().starts_with("Class S is a check"));
        assert!(advised(&study).contains("--class A"));
        study.settings.class = Class::A;
        assert_eq!(class(&study), None);
        assert!(!advised(&study).contains("--class A"));
    }

    #[test]
    fn a_mode_is_named_where_auto_is_behind() {
        let slower = |name: &str| (name.to_owned(), Standing::Slower, Mode::Nsr);
        let level = ("FT".to_owned(), Standing::Level, Mode::Sr);
        assert!(mode(std::slice::from_ref(&level)).contains("no other was faster"));
        assert!(mode(&[level, slower("CG"), slower("IS")]).contains("CG (NSR) and IS (NSR)"));
    }

    #[test]
    fn too_few_runs_advise_no_mode() {
        assert!(!advised(&fixture::study(4, 1, 4)).contains("Leave the mode"));
        assert!(advised(&fixture::study(4, 5, 2)).contains("no more processes than this machine's 2 cores"));
        assert!(words(&fixture::study(4, 5, 2)).contains("25 in all"));
    }
}
