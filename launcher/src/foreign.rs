//! Options of other launchers that have no effect here. They are accepted, with a word about it, so that scripts for
//! those run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// An option, and how many words after it belong to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreign {
    name: &'static str,
    pub(crate) values: usize,
    /// Why there is nothing to do, after the option's name; `None`: what it asks for is so anyway.
    why: Option<&'static str>,
}

const GPUS: &str = "has no effect: processors for graphics are not dealt out";
const HOSTS: &str = "has no effect: hosts are those of -hosts or -f";
const INNER: &str = "has no effect: it is about how another launcher works inside";
const MAPPED: &str = "has no effect: ranks are dealt out in blocks, as -ppn or the list of hosts says";
const MEMORY: &str = "has no effect: memory is where the rank that first touches it runs";
const OUTPUT: &str = "has no effect: output goes to the standard output and standard error of mpiexec";
const QUIET: &str = "has no effect: see --explain and --report-bindings";
const RECOVERY: &str = "has no effect: a rank that fails ends the job";
const UNIVERSE: &str = "has no effect: ranks do not start others";

/// Names, values, and why there is nothing to do.
const OPTIONS: &[(&[&str], usize, Option<&str>)] = &[
    (&["oversubscribe"], 0, Some("is not needed: there is no limit on ranks per core")),
    (&["allow-run-as-root"], 0, Some("is not needed: root may run jobs")),
    (&["genvall", "envall", "enable-auto-cleanup", "noprefix"], 0, None),
    (&["disable-auto-cleanup", "enable-recovery", "continuous"], 0, Some(RECOVERY)),
    (&["map-by", "rank-by", "rankmap", "mapping", "order-nodes", "cpus-per-proc", "cpus-per-rank"], 1, Some(MAPPED)),
    (&["rr", "bynode", "byslot", "nooversubscribe", "use-hwthread-cpus"], 0, Some(MAPPED)),
    (&["membind"], 1, Some(MEMORY)),
    (&["rmk"], 1, Some(HOSTS)),
    (&["topolib", "demux", "nameserver", "localhost", "personality", "am", "memory-alloc-kinds"], 1, Some(INNER)),
    (&["mca", "gmca", "prtemca", "pmixmca"], 2, Some(INNER)),
    (&["pmi-port", "hybrid-hosts", "profile", "enable-x", "disable-x"], 0, Some(INNER)),
    (&["enable-hostname-propagation", "disable-hostname-propagation"], 0, Some(INNER)),
    (&["gpus-per-proc", "gpu-subdevs-per-proc"], 1, Some(GPUS)),
    (&["usize"], 1, Some(UNIVERSE)),
    (&["outfile-pattern", "errfile-pattern", "outfile", "errfile", "output-filename", "output"], 1, Some(OUTPUT)),
    (&["prepend-pattern"], 1, Some("has no effect: -l writes the rank before each line")),
    (&["timestamp-output", "merge-stderr-to-stdout"], 0, Some(OUTPUT)),
    (&["stdin", "s"], 1, Some("has no effect: rank 0 reads standard input")),
    (&["verbose", "v", "q", "quiet", "debug", "display-map", "display-allocation"], 0, Some(QUIET)),
    (&["display", "runtime-options"], 1, Some(QUIET)),
    (&["arch", "soft"], 1, Some("has no effect: hosts are taken as they are, and as many ranks started as -n says")),
];

/// The option that `word` is, with one dash or two; its value may be attached by `=`.
pub(crate) fn find(word: &OsStr) -> Option<Foreign> {
    let word = word.to_str()?.strip_prefix('-')?;
    let (name, attached) = match word.strip_prefix('-').unwrap_or(word).split_once('=') {
        Some((name, _)) => (name, true),
        None => (word.strip_prefix('-').unwrap_or(word), false),
    };
    OPTIONS.iter().find_map(|&(names, values, why)| {
        let name = names.iter().find(|&&known| known == name)?;
        Some(Foreign { name, values: if attached { 0 } else { values }, why })
    })
}

impl Foreign {
    /// What to say about it.
    pub(crate) fn note(&self) -> Option<String> {
        let dashes = if self.name.len() == 1 { "-" } else { "--" };
        self.why.map(|why| format!("note: {dashes}{} {why}", self.name))
    }
}

/// What to say about a value of an option that has no effect, though others have.
pub(crate) fn note_on_value(option: &str, value: &OsStr, why: &str) -> String {
    format!("note: {option} {} has no effect: {why}", value.as_bytes().escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(word: &str) -> Option<(usize, Option<String>)> {
        find(OsStr::new(word)).map(|option| (option.values, option.note()))
    }

    #[test]
    fn they_are_known_with_one_dash_or_two_and_with_their_values() {
        let note = Some(format!("note: --map-by {MAPPED}"));
        assert_eq!(found("-map-by"), Some((1, note.clone())));
        assert_eq!(found("--map-by"), Some((1, note.clone())));
        assert_eq!(found("--map-by=socket"), Some((0, note)));
        assert_eq!(found("--mca").map(|(values, _)| values), Some(2));
        assert_eq!(found("-genvall"), Some((0, None)));
        assert!(found("-v").unwrap().1.unwrap().starts_with("note: -v has no effect"));
        for other in ["map-by", "---map-by", "--map", "-n", "--timeout", "-"] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names: Vec<&str> = OPTIONS.iter().flat_map(|(names, ..)| names.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
