//! Whether a host's daemon still answers: after some silence it is asked, after a long one it is taken for lost.
//!
//! Silence is counted in looks of this process, not by the clock: a launcher that was stopped for a while, with its
//! hosts or alone, finds their answers waiting and has nothing to complain of.

use std::time::{Duration, Instant};

/// After so much silence a daemon is asked whether it is there.
const ASKED_AFTER: Duration = Duration::from_secs(5);
/// After so much it is lost. A cable may be out for about as long as ssh lets it be.
pub(crate) const LOST_AFTER: Duration = Duration::from_secs(30);
/// No look counts for more: looks come every quarter of a second.
const ONE_LOOK: Duration = Duration::from_millis(500);

/// What follows from the silence so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Diagnosis {
    Well,
    /// It has been silent for a while: ask.
    Ask,
    /// It has not answered.
    Lost,
}

/// How long a daemon has been silent.
#[derive(Debug)]
pub(crate) struct Pulse {
    looked: Instant,
    silence: Duration,
    asked: bool,
}

impl Pulse {
    pub(crate) fn new(now: Instant) -> Pulse {
        Pulse { looked: now, silence: Duration::ZERO, asked: false }
    }

    /// A look at `now`; `heard`: the daemon has said something since the one before.
    pub(crate) fn look(&mut self, now: Instant, heard: bool) -> Diagnosis {
        let passed = now.saturating_duration_since(self.looked).min(ONE_LOOK);
        self.looked = now;
        if heard {
            (self.silence, self.asked) = (Duration::ZERO, false);
            return Diagnosis::Well;
        }
        self.silence += passed;
        if self.silence >= LOST_AFTER {
            return Diagnosis::Lost;
        }
        let asks = self.silence >= ASKED_AFTER && !self.asked;
        self.asked |= asks;
        if asks { Diagnosis::Ask } else { Diagnosis::Well }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_millis(250);

    /// What such a look every quarter of a second comes to, `looks` of them, if an answer to a question is heard with
    /// the next look.
    fn diagnoses(pulse: &mut Pulse, looks: u32, answers: bool) -> Vec<Diagnosis> {
        let mut heard = false;
        let look = |_| {
            let diagnosis = pulse.look(pulse.looked + LOOK, heard);
            heard = answers && diagnosis == Diagnosis::Ask;
            diagnosis
        };
        (0..looks).map(look).collect()
    }

    #[test]
    fn who_answers_is_asked_now_and_then() {
        let found = diagnoses(&mut Pulse::new(Instant::now()), 400, true);
        assert!(!found.contains(&Diagnosis::Lost));
        let asked = found.iter().filter(|&&diagnosis| diagnosis == Diagnosis::Ask).count();
        assert!((15..=20).contains(&asked), "{asked} times in 100 s");
    }

    #[test]
    fn who_does_not_is_asked_once_and_then_lost() {
        let found = diagnoses(&mut Pulse::new(Instant::now()), 120, false);
        assert_eq!(found.iter().position(|&diagnosis| diagnosis == Diagnosis::Lost), Some(119));
        assert_eq!(found.iter().filter(|&&diagnosis| diagnosis == Diagnosis::Ask).count(), 1);
    }

    #[test]
    fn a_launcher_that_was_stopped_complains_of_nobody() {
        let mut pulse = Pulse::new(Instant::now());
        assert_eq!(pulse.look(pulse.looked + 10 * LOST_AFTER, false), Diagnosis::Well);
    }
}
