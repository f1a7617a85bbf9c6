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
//! It takes memory that all ranks share, to ask by. Over TCP a message may be on its way where nobody sees it, so the
//! answers also say how many bytes have been sent and taken in: at the moment of the proof the sums must be the same.
//! Between hosts, and in jobs of several lanes, nothing is said.

use rwmpi_core::Answer;
use rwmpi_transport::Threads;
use std::time::{Duration, Instant};

/// How long all must have waited before they are called.
pub(crate) const SETTLED: Duration = Duration::from_secs(2);
/// From one call to the next.
const INTERVAL: Duration = Duration::from_millis(250);
/// So many calls follow each other like that. Ranks that could not prove it by then wait for something else, or are
/// stopped.
const QUICK_CALLS: u32 = 8;
/// Longest time from one call to the next.
const LONGEST_INTERVAL: Duration = Duration::from_secs(30);
/// Answers that each has to give.
const ANSWERS: u32 = 2;

/// What can be learnt of the ranks.
pub(crate) trait Ranks {
    /// The ranks that may still do something, if each of them has waited for so long.
    fn all_waiting(&self, least: Duration) -> Option<Vec<usize>>;
    /// What a rank has answered last.
    fn answer(&self, rank: usize) -> Answer;
    /// Has it answer again.
    fn call(&self, rank: usize);
    /// What the threads of a rank's process are about, if they can be seen.
    fn threads(&self, rank: usize) -> Option<Threads>;
    /// Whether it has begun to leave the job: whatever it waits for helps nobody.
    fn is_leaving(&self, rank: usize) -> bool;
}

/// The check of one job.
#[derive(Default)]
pub(crate) struct HangCheck {
    is_off: bool,
    next_look: Option<Instant>,
    calls: u32,
    called: Option<Called>,
}

/// All ranks have been called.
struct Called {
    ranks: Vec<usize>,
    /// In which periods they were before that.
    periods: Vec<u32>,
    /// How often they had answered, after all periods had been read.
    given: Vec<u32>,
    /// What the threads were about, where other threads of the program may be the rank, too.
    threads: Vec<Option<Threads>>,
}

impl HangCheck {
    pub(crate) fn new(is_on: bool) -> HangCheck {
        HangCheck { is_off: !is_on, ..HangCheck::default() }
    }

    /// What the ranks have answered, once it is proved that they hang; once.
    pub(crate) fn look(&mut self, now: Instant, ranks: &impl Ranks) -> Option<Vec<(usize, Answer)>> {
        if self.is_off || self.next_look.is_some_and(|next| now < next) {
            return None;
        }
        self.next_look = Some(now + INTERVAL);
        let Some(waiting) = ranks.all_waiting(SETTLED) else {
            (self.called, self.calls) = (None, 0);
            return None;
        };
        let answers: Vec<Answer> = waiting.iter().map(|&rank| ranks.answer(rank)).collect();
        match self.called.take().filter(|called| called.are_quiet(&waiting, &answers)) {
            Some(called) if !called.have_all_answered(&answers) => self.called = Some(called),
            Some(called) if Called::has_all_arrived(&answers) && called.are_closed(ranks, &answers) => {
                self.is_off = true;
                return Some(waiting.into_iter().zip(answers).collect());
            }
            // Threads that were awake may be asleep by now: from here on all is looked at anew.
            _ => self.called = Some(Called::begin(ranks, &waiting, &answers)),
        }
        self.calls += 1;
        let doublings = self.calls.saturating_sub(QUICK_CALLS).min(16);
        self.next_look = Some(now + (INTERVAL * (1 << doublings)).min(LONGEST_INTERVAL));
        waiting.iter().for_each(|&rank| ranks.call(rank));
        None
    }
}

impl Called {
    /// Before they are called: what they have answered so far.
    fn begin(ranks: &impl Ranks, waiting: &[usize], answers: &[Answer]) -> Called {
        let threads = waiting.iter().zip(answers).map(|(&rank, answer)| threads_of(ranks, rank, answer)).collect();
        let periods = answers.iter().map(|answer| answer.period).collect();
        // After all periods have been read.
        let given = waiting.iter().map(|&rank| ranks.answer(rank).given).collect();
        Called { ranks: waiting.to_vec(), periods, given, threads }
    }

    /// Whether they are the same ranks, and in all nothing has happened since.
    fn are_quiet(&self, ranks: &[usize], answers: &[Answer]) -> bool {
        self.ranks == ranks && self.periods.iter().eq(answers.iter().map(|answer| &answer.period))
    }

    fn have_all_answered(&self, answers: &[Answer]) -> bool {
        self.given.iter().zip(answers).all(|(given, answer)| answer.given >= given + ANSWERS)
    }

    /// Whether nothing is under way on a network: all that was sent has been taken in.
    fn has_all_arrived(answers: &[Answer]) -> bool {
        let sum = |way: usize| answers.iter().map(|answer| u128::from(answer.carried[way])).sum::<u128>();
        sum(0) == sum(1)
    }

    /// Whether nothing else can help any of those that have not begun to leave.
    fn are_closed(&self, ranks: &impl Ranks, answers: &[Answer]) -> bool {
        let all = self.ranks.iter().zip(answers).zip(&self.threads);
        let mut staying = all.filter(|((rank, _), _)| !ranks.is_leaving(**rank)).peekable();
        staying.peek().is_some()
            && staying.all(|((&rank, answer), before)| {
                let is_alone = || {
                    let now = threads_of(ranks, rank, answer);
                    now.as_ref().is_some_and(Threads::is_one_alone) && now == *before
                };
                answer.is_closed && (!answer.is_shared || is_alone())
            })
    }
}

/// What the threads of a process are about, if it matters: other threads of the program might call MPI. Where all of
/// them were asleep before the ranks were called, and have not left a processor since, none does.
fn threads_of(ranks: &impl Ranks, rank: usize, answer: &Answer) -> Option<Threads> {
    if answer.is_shared { ranks.threads(rank) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// What a rank is about to do when it is called.
    #[derive(Clone, Copy)]
    enum Next {
        Answers,
        /// It answers that something has happened.
        Moves,
        /// It is stopped.
        Nothing,
    }

    struct Fakes {
        answers: RefCell<Vec<Answer>>,
        next: RefCell<Vec<Next>>,
        all_wait: Cell<bool>,
        leaving: Cell<Option<usize>>,
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
        Fakes {
            answers: vec![answer; count].into(),
            next: vec![Next::Answers; count].into(),
            all_wait: true.into(),
            leaving: None.into(),
            threads: |_| None,
            looks: 0.into(),
        }
    }

    impl Ranks for Fakes {
        fn all_waiting(&self, _: Duration) -> Option<Vec<usize>> {
            self.all_wait.get().then(|| (0..self.answers.borrow().len()).collect())
        }

        fn answer(&self, rank: usize) -> Answer {
            self.answers.borrow()[rank].clone()
        }

        fn call(&self, rank: usize) {
            let answer = &mut self.answers.borrow_mut()[rank];
            match self.next.borrow()[rank] {
                Next::Answers => answer.given += 1,
                Next::Moves => (answer.period, answer.given) = (answer.period + 1, 1),
                Next::Nothing => {}
            }
        }

        fn threads(&self, _: usize) -> Option<Threads> {
            self.looks.set(self.looks.get() + 1);
            (self.threads)(self.looks.get())
        }

        fn is_leaving(&self, rank: usize) -> bool {
            self.leaving.get() == Some(rank)
        }
    }

    /// After how many looks it says that the job hangs.
    fn looks(check: &mut HangCheck, fakes: &Fakes, most: usize) -> Option<usize> {
        let start = check.next_look.unwrap_or_else(Instant::now);
        (0..most).position(|look| check.look(start + LONGEST_INTERVAL * look as u32, fakes).is_some())
    }

    #[test]
    fn two_answers_of_each_prove_it_and_it_is_said_once() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(3));
        assert_eq!(looks(&mut check, &fakes, 10), Some(2));
        assert_eq!(looks(&mut check, &fakes, 10), None);
        assert_eq!(looks(&mut HangCheck::new(false), &fakes, 10), None);
    }

    #[test]
    fn whoever_moves_is_waited_for() {
        for next in [Next::Moves, Next::Nothing] {
            let (mut check, fakes) = (HangCheck::new(true), fakes(3));
            fakes.next.borrow_mut()[1] = next;
            assert_eq!(looks(&mut check, &fakes, 20), None);
            fakes.next.borrow_mut()[1] = Next::Answers;
            assert!(looks(&mut check, &fakes, 20).is_some());
        }
    }

    #[test]
    fn a_wait_that_something_else_may_end_proves_nothing() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(2));
        fakes.answers.borrow_mut()[1].is_closed = false;
        assert_eq!(looks(&mut check, &fakes, 20), None);
        fakes.leaving.set(Some(1));
        assert!(looks(&mut check, &fakes, 20).is_some(), "one that leaves helps nobody, whatever it waits for");
    }

    #[test]
    fn what_is_under_way_between_ranks_may_end_a_wait() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(2));
        fakes.answers.borrow_mut()[0].carried = [100, 40];
        fakes.answers.borrow_mut()[1].carried = [40, 68];
        assert_eq!(looks(&mut check, &fakes, 20), None);
        fakes.answers.borrow_mut()[1].carried = [40, 100];
        assert!(looks(&mut check, &fakes, 20).is_some());
    }

    #[test]
    fn other_threads_are_no_hindrance_as_long_as_they_sleep() {
        fn asleep(switches: u64) -> Threads {
            Threads { asleep: vec![(8, 3), (9, switches)], others: 1, catches: false }
        }
        let said = |seen: fn(u64) -> Option<Threads>| {
            let (mut check, fakes) = (HangCheck::new(true), Fakes { threads: seen, ..fakes(2) });
            fakes.answers.borrow_mut().iter_mut().for_each(|answer| answer.is_shared = true);
            looks(&mut check, &fakes, 20).is_some()
        };
        assert!(said(|_| Some(asleep(4))));
        assert!(!said(|look| Some(asleep(look))), "one is awake now and then");
        assert!(said(|look| Some(asleep(look.min(6)))), "it has gone to sleep");
        assert!(!said(|_| None), "nothing is known");
        assert!(!said(|_| Some(Threads { others: 2, ..asleep(4) })), "one may be about to send");
        assert!(!said(|_| Some(Threads { catches: true, ..asleep(4) })), "a timer may wake one");
    }

    #[test]
    fn a_rank_at_work_ends_the_suspicion() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(2));
        let start = Instant::now();
        let mut look = |seconds| check.look(start + LONGEST_INTERVAL * seconds, &fakes).is_some();
        assert!(!look(0) && !look(1));
        fakes.all_wait.set(false);
        assert!(!look(2));
        fakes.all_wait.set(true);
        assert!(!look(3) && !look(4) && look(5));
    }

    #[test]
    fn ranks_are_not_called_more_often_than_need_be() {
        let (mut check, fakes) = (HangCheck::new(true), fakes(1));
        fakes.answers.borrow_mut()[0].is_closed = false;
        let start = Instant::now();
        let given = || fakes.answers.borrow()[0].given - 3;
        (0..1000).for_each(|step| _ = check.look(start + Duration::from_millis(100) * step, &fakes));
        assert!((QUICK_CALLS..20).contains(&given()), "{} calls in 100 s", given());
    }
}
