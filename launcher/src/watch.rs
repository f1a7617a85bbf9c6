//! Watches a job from its start to its end: one loop, one thread, woken by what happens.

use crate::error::LaunchError;
use crate::explain;
use crate::job_spec::{JobSpec, Outcome, Output};
use crate::output::{Outputs, Pumped};
use crate::plan::Plan;
use crate::pmi::PmiServer;
use crate::report::{self, Ending, Failure, RankState, Verdict};
use crate::shared_heap;
use crate::signals::Signals;
use crate::spawn::{Lifeline, RankProcess, Spawner};
use crate::standard_input::{self, StandardInput};
use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::process::{Signal, WaitIdStatus};
use rwmpi_core::Wait;
use rwmpi_transport::{Job, monotonic_nanoseconds};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How often the job's shared page is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// From SIGTERM to SIGKILL when a rank has failed: all must be over within a second.
const END_GRACE: Duration = Duration::from_millis(300);
/// How long the others may go on after a rank that had finalized exits with an error: they are about to exit too.
const FINALIZED_GRACE: Duration = Duration::from_millis(500);
/// From SIGINT to SIGTERM, and from there to SIGKILL, when the user interrupts: time to save something.
const INTERRUPT_GRACE: Duration = Duration::from_secs(2);
/// How long a pipe that somebody still holds open must be silent to be taken as finished, after the job's end.
const DRAIN_SILENCE: Duration = Duration::from_millis(100);
/// How long such a pipe is read at most.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// A job under way. Dropping it ends the job.
pub(crate) struct Watch<'a> {
    spec: &'a JobSpec,
    plan: &'a Plan,
    job: Job,
    pmi: PmiServer,
    ranks: Vec<Rank>,
    running: usize,
    /// Readable when a rank has ended.
    exits: OwnedFd,
    outputs: Outputs,
    input: StandardInput,
    signals: Signals,
    started: Instant,
    /// Whether the ranks' ways to copy are still to be explained.
    explain_copies: bool,
    /// What happened first, once something has.
    verdict: Option<Verdict>,
    /// Signals still to be sent to all ranks, soonest first.
    escalation: VecDeque<(Instant, Signal)>,
    /// Dropped last: closing it has the kernel kill whatever is left.
    _lifeline: Lifeline,
}

struct Rank {
    process: RankProcess,
    ending: Option<Ending>,
}

impl<'a> Watch<'a> {
    /// Starts all ranks.
    pub(crate) fn start(spec: &'a JobSpec, plan: &'a Plan) -> Result<Self, LaunchError> {
        let job = create_job(spec, plan.ranks())?;
        let mut outputs = Outputs::new(spec.output == Output::Capture)?;
        for line in explain::lines(spec, plan) {
            outputs.note(&line);
        }
        if spec.explain {
            outputs.note(&shared_heap::explain(&job, &plan.sections[0].environment));
        }
        let signals = if spec.forward_signals { Signals::collect()? } else { Signals::ignored() };
        let exits = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(LaunchError::system("watch the ranks"))?;
        let spawner = Spawner::new(plan, &job, spec.output, standard_input::choose(spec.output))?;
        let started = Instant::now();
        let mut ranks = Vec::with_capacity(plan.ranks());
        let mut rank_0_input = None;
        let mut pmi = PmiServer::new(&plan.nodes)?;
        for rank in 0..plan.ranks() {
            let (process, mut pipes) = spawner.start(rank, pmi.add(plan.section_of[rank])?)?;
            epoll::add(&exits, &process.pidfd, epoll::EventData::new_u64(rank as u64), epoll::EventFlags::IN)
                .map_err(LaunchError::system("watch a rank"))?;
            ranks.push(Rank { process, ending: None });
            rank_0_input = rank_0_input.or(pipes.stdin.take());
            outputs.add(pipes, spec.prefix.then(|| format!("[{rank}] ").into_bytes()))?;
        }
        let lifeline = spawner.into_lifeline();
        Ok(Watch {
            spec,
            plan,
            job,
            pmi,
            running: ranks.len(),
            ranks,
            exits,
            outputs,
            input: StandardInput::new(rank_0_input),
            signals,
            started,
            explain_copies: spec.explain && plan.ranks() > 1,
            verdict: None,
            escalation: VecDeque::new(),
            _lifeline: lifeline,
        })
    }

    /// Watches until no process of the job is left.
    pub(crate) fn run_to_end(mut self) -> Result<Outcome, LaunchError> {
        while self.running > 0 {
            self.wait()?;
            self.take_signals();
            self.serve_ranks();
            self.outputs.pump(Instant::now());
            self.take_exits()?;
            self.look_at_job();
            self.escalate();
        }
        let wall = self.started.elapsed();
        // Children that a rank left behind.
        self.signal_all(Signal::KILL);
        if self.spec.explain {
            shared_heap::result(&self.job).iter().for_each(|line| self.outputs.note(line));
        }
        self.drain()?;
        let program = |rank| report::command_line(self.plan.section(rank));
        let report = self.verdict.as_ref().map(|verdict| verdict.text(program));
        let exit_code = self.verdict.as_ref().map_or(0, Verdict::exit_code);
        let (stdout, stderr) = self.outputs.into_captured();
        Ok(Outcome { exit_code, report, stdout, stderr, wall })
    }

    /// Sleeps until something happens or is due; passes typed input on.
    fn wait(&mut self) -> Result<(), LaunchError> {
        let now = Instant::now();
        let due = [
            Some(now + LOOK_INTERVAL),
            self.escalation.front().map(|&(when, _)| when),
            self.deadline(),
            self.outputs.due(),
        ];
        let due = due.into_iter().flatten().min().map_or(Duration::ZERO, |due| due.saturating_duration_since(now));
        let input = self.input.poll();
        let input_waits = input.is_some();
        let mut polled: Vec<PollFd<'_>> = input.into_iter().collect();
        polled.push(PollFd::new(&self.exits, PollFlags::IN));
        polled.push(PollFd::from_borrowed_fd(self.pmi.readable(), PollFlags::IN));
        poll_for(polled, &self.signals, &self.outputs, due).map(|input_ready| {
            if input_waits && input_ready {
                self.input.pump();
            }
        })
    }

    /// Helps the ranks to find each other.
    fn serve_ranks(&mut self) {
        if self.pmi.serve().is_some() {
            self.pmi.release([]);
        }
    }

    /// Whether a rank has joined the job, as a program of this library or of another.
    fn joined(&self, rank: usize) -> bool {
        self.job.attached(rank) || self.pmi.joined(rank)
    }

    /// Whether it has left in good order.
    fn finished(&self, rank: usize) -> bool {
        self.job.finished(rank) || self.pmi.finished(rank)
    }

    /// When the time allowed is over.
    fn deadline(&self) -> Option<Instant> {
        if self.verdict.is_some() {
            return None;
        }
        self.spec.timeout.and_then(|timeout| self.started.checked_add(timeout))
    }

    fn take_signals(&mut self) {
        for signal in self.signals.take() {
            match signal {
                Signal::INT | Signal::TERM | Signal::HUP => self.interrupt(signal),
                Signal::QUIT => {
                    let text = format!(
                        "after {:.1} s:\n{}",
                        self.started.elapsed().as_secs_f64(),
                        report::table(&self.states())
                    );
                    self.outputs.note(&text);
                }
                Signal::TSTP => {
                    self.signal_all(Signal::TSTP);
                    // Stop as well; whoever continues us is heard as SIGCONT.
                    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
                }
                other => self.signal_all(other),
            }
        }
    }

    /// The user wants the job to end; the second time, at once.
    fn interrupt(&mut self, signal: Signal) {
        let now = Instant::now();
        match &self.verdict {
            None => {
                let mut escalation = vec![(now, signal), (now + INTERRUPT_GRACE, Signal::TERM)];
                if signal == Signal::TERM {
                    escalation.pop();
                }
                let last = escalation[escalation.len() - 1].0;
                escalation.push((last + INTERRUPT_GRACE, Signal::KILL));
                self.end(Verdict::Interrupted { signal: signal.as_raw() }, escalation);
            }
            Some(Verdict::Interrupted { .. }) => self.escalation = VecDeque::from([(now, Signal::KILL)]),
            Some(_) => {}
        }
    }

    /// Notes which ranks have ended, and judges the first failure among them.
    fn take_exits(&mut self) -> Result<(), LaunchError> {
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 64];
        let count = epoll::wait(&self.exits, &mut events[..], Some(&Timespec::default())).unwrap_or(0);
        let mut ended = Vec::new();
        for event in &events[..count] {
            let data = event.data;
            let index = data.u64() as usize;
            let rank = &mut self.ranks[index];
            let status = rank.process.ended().map_err(LaunchError::system("learn how a rank ended"))?;
            let Some(ending) = status.as_ref().and_then(ending) else { continue };
            rank.ending = Some(ending);
            self.running -= 1;
            epoll::delete(&self.exits, &rank.process.pidfd).map_err(LaunchError::system("let go of a rank"))?;
            ended.push((index, ending));
        }
        self.look_for_abort();
        if self.verdict.is_none()
            && let Some(&(rank, ending)) = ended
                .iter()
                .filter(|&&(rank, ending)| self.is_failure(rank, ending))
                // Of several at once, the one killed by a signal is the cause.
                .min_by_key(|(_, ending)| matches!(ending, Ending::Exited { .. }))
        {
            self.fail(rank, ending);
        }
        Ok(())
    }

    fn is_failure(&self, rank: usize, ending: Ending) -> bool {
        match ending {
            Ending::Exited { code: 0 } => self.joined(rank) && !self.finished(rank) && self.running > 0,
            Ending::Exited { .. } | Ending::Killed { .. } => true,
        }
    }

    fn fail(&mut self, rank: usize, ending: Ending) {
        let attached = self.joined(rank);
        let finished = self.finished(rank);
        let in_call = attached && !finished;
        let failure = Failure {
            rank,
            pid: self.ranks[rank].process.pid(),
            ending,
            attached,
            finished,
            call: in_call.then(|| (self.spec.describe_activity)(&self.job.activity(rank))).flatten(),
            others: self.running,
            output_broken: self.outputs.broken().map(ToString::to_string),
        };
        let orderly = finished && matches!(ending, Ending::Exited { .. });
        let first = Instant::now() + if orderly { FINALIZED_GRACE } else { Duration::ZERO };
        self.end(Verdict::Failed(failure), vec![(first, Signal::TERM), (first + END_GRACE, Signal::KILL)]);
    }

    /// Looks at what only the shared page and the clock can tell.
    fn look_at_job(&mut self) {
        if self.explain_copies
            && let Some(pairs) = self.job.kernel_pairs()
        {
            self.explain_copies = false;
            self.outputs.note(&explain::kernel_copies(self.plan.ranks(), pairs));
        }
        self.look_for_abort();
        if self.verdict.is_some() {
            return;
        }
        let now = Instant::now();
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            let verdict = Verdict::TimedOut { limit: self.spec.timeout.unwrap_or_default(), states: self.states() };
            self.end(verdict, vec![(now, Signal::TERM), (now + END_GRACE, Signal::KILL)]);
        } else if let Some((rank, ending)) = self.stayed_away() {
            self.fail(rank, ending);
        }
    }

    fn look_for_abort(&mut self) {
        if self.verdict.is_none()
            && let Some(record) = self.job.abort_record()
        {
            let now = Instant::now();
            let verdict = Verdict::Aborted { rank: record.peer, code: record.code, text: record.text };
            self.end(verdict, vec![(now, Signal::TERM), (now + END_GRACE, Signal::KILL)]);
        } else if self.verdict.is_none()
            && let Some((rank, code)) = self.pmi.abort()
        {
            let now = Instant::now();
            let verdict = Verdict::Aborted { rank: Some(rank), code, text: String::new() };
            self.end(verdict, vec![(now, Signal::TERM), (now + END_GRACE, Signal::KILL)]);
        }
    }

    /// A rank that has exited without joining the job while others that have joined will wait for it in vain.
    fn stayed_away(&self) -> Option<(usize, Ending)> {
        let mut ranks = self.ranks.iter().enumerate();
        let (absent, ending) =
            ranks.find_map(|(index, rank)| Some((index, rank.ending?)).filter(|_| !self.joined(index)))?;
        let waited_for = self
            .ranks
            .iter()
            .enumerate()
            .any(|(index, rank)| rank.ending.is_none() && self.joined(index) && !self.finished(index));
        waited_for.then_some((absent, ending))
    }

    /// Ends the job: the verdict stands, and the signals are sent when they are due.
    fn end(&mut self, verdict: Verdict, escalation: Vec<(Instant, Signal)>) {
        self.job.set_aborted(verdict.exit_code().into(), "the launcher ended the job");
        self.verdict = Some(verdict);
        self.escalation = escalation.into();
        self.escalate();
    }

    fn escalate(&mut self) {
        let now = Instant::now();
        while let Some(&(when, signal)) = self.escalation.front()
            && when <= now
        {
            self.escalation.pop_front();
            self.signal_all(signal);
        }
    }

    fn signal_all(&self, signal: Signal) {
        for rank in &self.ranks {
            rank.process.signal(signal);
        }
    }

    /// What each rank that still runs is doing.
    fn states(&self) -> Vec<RankState> {
        let running = self.ranks.iter().enumerate().filter(|(_, rank)| rank.ending.is_none());
        let state = |(rank, entry): (usize, &Rank)| RankState {
            rank,
            pid: entry.process.pid(),
            doing: self.doing(rank),
            wait: self.wait_of(rank),
            takes_part: !self.finished(rank),
        };
        running.map(state).collect()
    }

    /// What a rank waits for, and for how long it has.
    fn wait_of(&self, rank: usize) -> Option<(Wait, Duration)> {
        if !self.job.attached(rank) || self.job.finished(rank) {
            return None;
        }
        let wait = (self.spec.describe_wait)(&self.job.activity(rank))?;
        let waited = Duration::from_nanos(monotonic_nanoseconds().saturating_sub(wait.since));
        Some((wait, waited))
    }

    fn doing(&self, rank: usize) -> String {
        if !self.joined(rank) {
            return "running, has not joined the job".to_owned();
        }
        if self.finished(rank) {
            return "running, has left the job".to_owned();
        }
        if !self.job.attached(rank) {
            return "has joined the job by an MPI library that does not say more".to_owned();
        }
        match (self.spec.describe_activity)(&self.job.activity(rank)) {
            Some(call) => format!("last call: {call}"),
            None => "has made no call yet".to_owned(),
        }
    }

    /// Passes on what the ranks wrote before they ended. A process that escaped its group may keep a pipe open for ever, so the end
    /// of the pipes is not waited for; a slow reader of our own output is, unless the user interrupts.
    fn drain(&mut self) -> Result<(), LaunchError> {
        let mut last_read = Instant::now();
        let mut reading = Duration::ZERO;
        while !self.outputs.all_closed() && last_read.elapsed() < DRAIN_SILENCE && reading < DRAIN_MAX {
            let before = Instant::now();
            let congested = self.outputs.readable().is_none();
            poll_for(Vec::new(), &self.signals, &self.outputs, DRAIN_SILENCE)?;
            if self.told_to_end() {
                return Ok(());
            }
            if self.outputs.pump(Instant::now()) == Pumped::Read || congested {
                last_read = Instant::now();
            }
            if !congested {
                reading += before.elapsed();
            }
        }
        self.outputs.close_all();
        while !self.outputs.all_written() {
            poll_for(Vec::new(), &self.signals, &self.outputs, LOOK_INTERVAL)?;
            if self.told_to_end() {
                return Ok(());
            }
            self.outputs.pump(Instant::now());
        }
        Ok(())
    }

    fn told_to_end(&mut self) -> bool {
        self.signals.take().into_iter().any(|signal| matches!(signal, Signal::INT | Signal::TERM | Signal::HUP))
    }
}

/// Waits until one of `polled`, a signal or output is ready, at most `longest`; whether the first of `polled` is.
fn poll_for<'a>(
    mut polled: Vec<PollFd<'a>>,
    signals: &'a Signals,
    outputs: &'a Outputs,
    longest: Duration,
) -> Result<bool, LaunchError> {
    polled.extend(signals.readable().map(|signals| PollFd::from_borrowed_fd(signals, PollFlags::IN)));
    polled.extend(outputs.readable().map(|pipes| PollFd::from_borrowed_fd(pipes, PollFlags::IN)));
    polled.extend(outputs.waiting_for_room().map(|output| PollFd::from_borrowed_fd(output, PollFlags::OUT)));
    // Rounded up, so that what is due is due when we wake.
    let longest = longest + Duration::from_micros(1);
    let timeout = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
    match rustix::event::poll(&mut polled, Some(&timeout)) {
        Ok(_) => Ok(polled.first().is_some_and(|first| !first.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(LaunchError::system("wait for the ranks")(error)),
    }
}

fn create_job(spec: &JobSpec, ranks: usize) -> Result<Job, LaunchError> {
    let directory = spec.segment_directory.as_deref();
    Job::create(ranks, directory).map_err(|source| LaunchError::SharedMemory {
        source,
        hint: directory
            .map(|path| format!("; the directory is {} (--segment-dir)", path.display()))
            .unwrap_or_default(),
    })
}

fn ending(status: &WaitIdStatus) -> Option<Ending> {
    if let Some(signal) = status.terminating_signal() {
        return Some(Ending::Killed { signal, core_dumped: status.dumped() });
    }
    status.exit_status().map(|code| Ending::Exited { code: (code & 0xff) as u8 })
}
