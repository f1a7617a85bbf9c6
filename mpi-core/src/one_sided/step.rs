//! The steps that all ranks of a window take together, and how they find out that they do not.

use crate::activity::Call;
use crate::{Communicator, Result};

/// What a rank has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Something is wrong with it.
    Mistake,
    /// It has made the window, with elements of so many bytes.
    Made {
        bytes: usize,
    },
    /// It begins epochs of fences, comes to a fence between them, ends them.
    Opening,
    Fence,
    Closing,
    /// It begins to use its own memory while nobody else does, and has done so.
    Local,
    LocalEnd,
    /// It begins to read all ranks' memory while nobody changes any, and has done so.
    Reading,
    ReadingEnd,
    /// It frees the window.
    Freed,
}

/// How a meeting has ended, at all ranks alike.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// All are at the same step, and nothing is wrong.
    Same,
    /// Otherwise: in words.
    Different(String),
}

const STEP_BITS: u32 = 8;

impl Step {
    fn word(self) -> u64 {
        match self {
            Step::Mistake => 0,
            Step::Made { bytes } => 1 | (bytes as u64) << STEP_BITS,
            Step::Opening => 2,
            Step::Fence => 3,
            Step::Closing => 4,
            Step::Local => 5,
            Step::LocalEnd => 6,
            Step::Freed => 7,
            Step::Reading => 8,
            Step::ReadingEnd => 9,
        }
    }

    /// The call that the user has made.
    fn call(self) -> Call {
        match self {
            Step::Made { .. } => Call::CreateWindow,
            Step::Freed => Call::FreeWindow,
            _ => Call::Fence,
        }
    }
}

fn words(step: u64) -> String {
    match step & ((1 << STEP_BITS) - 1) {
        0 => "has met an error".to_owned(),
        1 => format!("has made it of elements of {} bytes", step >> STEP_BITS),
        2 => "begins epochs of fences".to_owned(),
        3 => "is at a fence".to_owned(),
        4 => "ends epochs of fences".to_owned(),
        5 => "begins to use its memory alone".to_owned(),
        6 => "has used its memory alone".to_owned(),
        7 => "frees it".to_owned(),
        8 => "begins to read the memory of all".to_owned(),
        _ => "has read the memory of all".to_owned(),
    }
}

/// Waits for all ranks. What they have done before has been done when this returns.
///
/// # Errors
/// The ranks can't be reached: nobody knows then what others have heard.
pub(super) fn meet(communicator: &Communicator, step: Step) -> Result<Meeting> {
    let word = step.word();
    // The least, and the complement of the largest.
    let mut ends = [word, !word];
    communicator.as_part_of(step.call(), |all| all.allreduce_in_place(&mut ends, |a, b| *a.min(b)))?;
    Ok(meeting(ends))
}

fn meeting([least, most]: [u64; 2]) -> Meeting {
    let others = match least == !most {
        true if least != Step::Mistake.word() => return Meeting::Same,
        true => "all others have".to_owned(),
        false => format!("another {}", words(!most)),
    };
    Meeting::Different(format!(
        "its ranks are not at the same step: one {}, and {others}. From now on nobody can use it",
        words(least)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_differs_is_noticed_whatever_the_others_do_and_so_are_mistakes_of_all() {
        let steps = [
            Step::Mistake,
            Step::Made { bytes: 4 },
            Step::Made { bytes: 8 },
            Step::Opening,
            Step::Fence,
            Step::Closing,
            Step::Local,
            Step::LocalEnd,
            Step::Freed,
            Step::Reading,
            Step::ReadingEnd,
        ];
        for a in steps {
            for b in steps {
                let met = meeting([a.word().min(b.word()), (!a.word()).min(!b.word())]);
                assert_eq!(met == Meeting::Same, a == b && a != Step::Mistake, "{a:?} and {b:?}: {met:?}");
            }
        }
    }

    #[test]
    fn words_say_what_the_ranks_are_at() {
        let ends = [Step::Made { bytes: 4 }.word(), !Step::Made { bytes: 24 }.word()];
        let Meeting::Different(what) = meeting(ends) else { panic!("they differ") };
        assert!(what.contains("elements of 4 bytes") && what.contains("elements of 24 bytes"), "{what}");
    }
}
