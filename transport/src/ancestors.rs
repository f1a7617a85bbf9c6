//! The processes that have started this one: the kernel is told of one of them whom it may trust, and whoever descends
//! from a member of a job is none itself.
#![forbid(unsafe_code)]

/// Whether `process` has started this one, or one that has, as far as those between them live.
pub(crate) fn is_ancestor(process: u32) -> bool {
    ancestors().any(|ancestor| ancestor == process)
}

/// The nearest first.
fn ancestors() -> impl Iterator<Item = u32> {
    let parent_of = |process: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name of the program stands before, in parentheses, and may contain anything.
        let parent = line.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()?;
        (parent > 1 && parent != *process).then_some(parent)
    };
    std::iter::successors(Some(std::os::unix::process::parent_id()), parent_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_started_this_process_is_one() {
        assert!(ancestors().count() < 1000, "they come to an end");
        assert!(is_ancestor(std::os::unix::process::parent_id()));
        assert!(!is_ancestor(std::process::id()) && !is_ancestor(0));
    }
}
