//! Finds out, unasked, that a job hangs, where that can be proved; says nothing where it can't.
//!
//! When all ranks have waited for a while they are called, and called again: each answers what it waits for, after a
//! look at everything that could end its wait. An answer carries the number of its *period*, in which nothing has
//! happened in that rank. The proof is: first all numbers are read, then all are called; if all have answered twice
//! since, under the same numbers, then nothing happened anywhere between the reading and the first of these answers,
//! and by the second one each has looked, later than that, and found nothing. So nothing is under way, nobody does
//! anything, and nothing will happen that would have somebody begin, if the waits are such as only other ranks end.
//! Nobody needs a clock for this: a machine that is slow, or a rank that is stopped, only takes longer to answer.
//!
//! Over a network a message may be on its way where nobody sees it, so the answers also say how many bytes have been
//! sent and taken in: at the moment of the proof the sums must be the same.
//!
//! This is the reasoning alone: whoever knows the ranks takes *looks* at them, each begun when the one before was
//! complete, wherever the ranks are, and calls them when told to. In jobs of several lanes nothing is said.

use rwmpi_core::Answer;
use rwmpi_transport::Threads;
use std::time::{Duration, Instant};

/// How long all must have waited before they are called.
pub(crate) const SETTLED: Duration = Duration::from_secs(2);
/// From one look to the next.
pub(crate) const INTERVAL: Duration = Duration::from_millis(250);
/// So many calls follow each other like that. Ranks that could not prove it by then wait for something else, or are
/// stopped.
const QUICK_CALLS: u32 = 8;
/// Longest time from a call to the next look.
const LONGEST_INTERVAL: Duration = Duration::from_secs(30);
/// Answers that each has to give.
const ANSWERS: u32 = 2;

/// A rank that may still do something, and has waited for [`SETTLED`], as a look has found it.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) rank: usize,
    /// What it has answered last.
    pub(crate) answer: Answer,
    /// What the threads of its process are about, if they matter and can be seen.
    pub(crate) threads: Option<Threads>,
    /// Whether it has begun to leave the job: whatever it waits for helps nobody.
    pub(crate) is_leaving: bool,
}

/// What is to be done after a look.
#[derive(Debug)]
pub(crate) enum Next {
    Nothing,
    /// Have all ranks answer again.
    Call,
    /// It is proved: what they have answered.
    Hangs(Vec<(usize, Answer)>),
}

/// The check of one job.
#[derive(Default)]
pub(crate) struct HangCheck {
    is_off: bool,
    next_look: Option<Instant>,
    calls: u32,
    suspicion: Option<Suspicion>,
}

/// All ranks wait. The ranks as a first look has found them: in which periods, and what the threads were about, where
/// other threads of the program may be the rank, too.
struct Suspicion {
    ranks: Vec<Waiting>,
    /// How often they had answered, in a look that was begun when all periods had been read.
    given: Option<Vec<u32>>,
}

impl HangCheck {
    pub(crate) fn new(is_on: bool) -> HangCheck {
        HangCheck { is_off: !is_on, ..HangCheck::default() }
    }

    /// Whether it is time for a look.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        !self.is_off && self.next_look.is_none_or(|next| now >= next)
    }

    /// A look has found these; `None`: some rank does not wait. That the job hangs is said once.
    pub(crate) fn take(&mut self, now: Instant, found: Option<Vec<Waiting>>) -> Next {
        self.next_look = Some(now + INTERVAL);
        let Some(found) = found.filter(|found| !found.is_empty()) else {
            (self.suspicion, self.calls) = (None, 0);
            return Next::Nothing;
        };
        match self.suspicion.take().filter(|suspicion| suspicion.are_quiet(&found)) {
            Some(mut suspicion) if !suspicion.have_all_answered(&found) => {
                suspicion.given.get_or_insert_with(|| found.iter().map(|one| one.answer.given).collect());
                self.suspicion = Some(suspicion);
                self.next_look = Some(now + self.count_call());
                Next::Call
            }
            Some(suspicion) if has_all_arrived(&found) && suspicion.are_closed(&found) => {
                self.is_off = true;
                Next::Hangs(found.into_iter().map(|one| (one.rank, one.answer)).collect())
            }
            // Threads that were awake may be asleep by now: from here on all is looked at anew.
            _ => {
                self.suspicion = Some(Suspicion { ranks: found, given: None });
                Next::Nothing
            }
        }
    }

    /// For how long a call is to be left to its effect.
    fn count_call(&mut self) -> Duration {
        self.calls += 1;
        let doublings = self.calls.saturating_sub(QUICK_CALLS).min(16);
        (INTERVAL * (1 << doublings)).min(LONGEST_INTERVAL)
    }
}

impl Suspicion {
    /// Whether they are the same ranks, and in all nothing has happened since.
    fn are_quiet(&self, found: &[Waiting]) -> bool {
        let is_same =
            |(before, now): (&Waiting, &Waiting)| before.rank == now.rank && before.answer.period == now.answer.period;
        self.ranks.len() == found.len() && self.ranks.iter().zip(found).all(is_same)
    }

    fn have_all_answered(&self, found: &[Waiting]) -> bool {
        let has = |(given, now): (&u32, &Waiting)| now.answer.given >= given + ANSWERS;
        self.given.as_ref().is_some_and(|given| given.iter().zip(found).all(has))
    }

    /// Whether nothing else can help any of those that have not begun to leave.
    fn are_closed(&self, found: &[Waiting]) -> bool {
        let mut staying = self.ranks.iter().zip(found).filter(|(_, now)| !now.is_leaving).peekable();
        staying.peek().is_some()
            && staying.all(|(before, now)| {
                let are_asleep = now.threads.as_ref().is_some_and(Threads::is_one_alone);
                now.answer.is_closed && (!now.answer.is_shared || (are_asleep && now.threads == before.threads))
            })
    }
}

/// Whether nothing is under way on a network: all that was sent has been taken in.
fn has_all_arrived(found: &[Waiting]) -> bool {
    let sum = |way: usize| found.iter().map(|one| u128::from(one.answer.carried[way])).sum::<u128>();
    sum(0) == sum(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// What a rank is about to do when it is called.
    #[derive(Clone, Copy)]
    enum Reaction {
        Answers,
        /// It answers that something has happened.
        Moves,
        /// It is stopped.
        Nothing,
    }

    struct Fakes {
        ranks: RefCell<Vec<Waiting>>,
        reactions: RefCell<Vec<Reaction>>,
        all_wait: Cell<bool>,
        /// What is seen of threads, look by look.
        threads: fn(u64) -> Option<Threads>,
        looks: Cell<u64>,
    }

    fn fakes(count: usize) -> Fakes {
        let answer = Answer {
            period: 7,
            given: 3,
            is_closed: true,
            is_shared: false,
            any: false,
            call: String::new(),
            collective: None,
            awaited: 0,
            first_awaited: Vec::new(),
            messages: 0,
            first_messages: Vec::new(),
            carried: [0, 0],
        };
        let waiting = |rank| Waiting { rank, answer: answer.clone(), threads: None, is_leaving: false };
        Fakes {
            ranks: RefCell::new((0..count).map(waiting).collect()),
            reactions: vec![Reaction::Answers; count].into(),
            all_wait: true.into(),
            threads: |_| None,
            looks: 0.into(),
        }
    }

    impl Fakes {
        fn look(&self) -> Option<Vec<Waiting>> {
            self.looks.set(self.looks.get() + 1);
            let mut found = self.ranks.borrow().clone();
            found.iter_mut().for_each(|one| one.threads = (self.threads)(self.looks.get()));
            self.all_wait.get().then_some(found)
        }

        fn call(&self) {
            for (one, reaction) in self.ranks.borrow_mut().iter_mut().zip(self.reactions.borrow().iter()) {
                let answer = &mut one.answer;
                match reaction {
                    Reaction::Answers => answer.given += 1,
                    Reaction::Moves => (answer.period, answer.given) = (answer.period + 1, 1),
                    Reaction::Nothing => {}
                }
            }
        }

        /// Whether the job is said to hang.
        fn take_part(&self, check: &mut HangCheck, now: Instant) -> bool {
            if !check.is_due(now) {
                return false;
            }
            match check.take(now, self.look()) {
                Next::Nothing => false,
                Next::Call => {
                    self.call();
                    false
                }
                Next::Hangs(_) => true,
            }
        }

        fn of_rank(&self, rank: usize, change: impl FnOnce(&mut Waiting)) {
            change(&mut self.ranks.borrow_mut()[rank]);
        }
    }

    /// After how many looks it says that the job hangs.
    fn looks(check: &mut HangCheck, fakes: &Fakes, most: usize) -> Option<usize> {
        let start = check.next_look.unwrap_or_else(Instant::now);
        (0..most).position(|look| fakes.take_part(check, start + LONGEST_INTERVAL * look as u32))
    }

    #[test]
    fn two_answers_of_each_prove_it_and_it_is_said_once() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(3));
        // Periods; how often they have answered by then; one answer more; two.
        assert_eq!(looks(&mut check, &fakes, 10), Some(3));
        assert_eq!(looks(&mut check, &fakes, 10), None);
        assert_eq!(looks(&mut HangCheck::new(false), &fakes, 10), None);
    }

    #[test]
    fn answers_count_from_when_all_periods_were_known() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(2));
        let start = Instant::now();
        let mut look = |seconds| fakes.take_part(&mut check, start + LONGEST_INTERVAL * seconds);
        assert!(!look(0));
        // Whoever has called them meanwhile, they may have answered before the last period was read.
        fakes.call();
        fakes.call();
        assert!(!look(1) && !look(2) && look(3));
    }

    #[test]
    fn whoever_moves_is_waited_for() {
        for reaction in [Reaction::Moves, Reaction::Nothing] {
            let (mut check, fakes) = (HangCheck::new(true), fakes(3));
            fakes.reactions.borrow_mut()[1] = reaction;
            assert_eq!(looks(&mut check, &fakes, 20), None);
            fakes.reactions.borrow_mut()[1] = Reaction::Answers;
            assert!(looks(&mut check, &fakes, 20).is_some());
        }
    }

    #[test]
    fn a_wait_that_something_else_may_end_proves_nothing() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(2));
        fakes.of_rank(1, |one| one.answer.is_closed = false);
        assert_eq!(looks(&mut check, &fakes, 20), None);
        fakes.of_rank(1, |one| one.is_leaving = true);
        assert!(looks(&mut check, &fakes, 20).is_some(), "one that leaves helps nobody, whatever it waits for");
    }

    #[test]
    fn what_is_under_way_between_ranks_may_end_a_wait() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(2));
        fakes.of_rank(0, |one| one.answer.carried = [100, 40]);
        fakes.of_rank(1, |one| one.answer.carried = [40, 68]);
        assert_eq!(looks(&mut check, &fakes, 20), None);
        fakes.of_rank(1, |one| one.answer.carried = [40, 100]);
        assert!(looks(&mut check, &fakes, 20).is_some());
    }

    #[test]
    fn other_threads_are_no_hindrance_as_long_as_they_sleep() {
        fn asleep(switches: u64) -> Threads {
            Threads { asleep: vec![(8, 3), (9, switches)], others: 1, catches: false }
        }
        let said = |seen: fn(u64) -> Option<Threads>| {
            let (mut check, fakes) = (HangCheck::new(true), Fakes { threads: seen, ..fakes(2) });
            (0..2).for_each(|rank| fakes.of_rank(rank, |one| one.answer.is_shared = true));
            looks(&mut check, &fakes, 20).is_some()
        };
        assert!(said(|_| Some(asleep(4))));
        assert!(!said(|look| Some(asleep(look))), "one is awake now and then");
        assert!(said(|look| Some(asleep(look.min(7)))), "it has gone to sleep");
        assert!(!said(|_| None), "nothing is known");
        assert!(!said(|_| Some(Threads { others: 2, ..asleep(4) })), "one may be about to send");
        assert!(!said(|_| Some(Threads { catches: true, ..asleep(4) })), "a timer may wake one");
    }

    #[test]
    fn a_rank_at_work_ends_the_suspicion() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(2));
        let start = Instant::now();
        let mut look = |seconds| fakes.take_part(&mut check, start + LONGEST_INTERVAL * seconds);
        assert!(!look(0) && !look(1) && !look(2));
        fakes.all_wait.set(false);
        assert!(!look(3));
        fakes.all_wait.set(true);
        assert!(!look(4) && !look(5) && !look(6) && look(7));
    }

    #[test]
    fn ranks_are_not_called_more_often_than_need_be() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(1));
        fakes.of_rank(0, |one| one.answer.is_closed = false);
        let start = Instant::now();
        let given = || fakes.ranks.borrow()[0].answer.given - 3;
        (0..1000).for_each(|step| _ = fakes.take_part(&mut check, start + Duration::from_millis(100) * step));
        assert!((QUICK_CALLS..20).contains(&given()), "{} calls in 100 s", given());
    }
}
