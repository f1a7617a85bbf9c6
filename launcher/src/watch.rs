//! Watches a job from its start to its end: one loop, one thread, woken by what happens.

mod asking;
mod hanging;
mod noted;
mod spawned;
mod survived;
mod viewing;

use crate::error::{LaunchError, MOST_RANKS, exit_code};
use crate::faults::Backtrace;
use crate::job_spec::{JobSpec, Outcome, Output};
use crate::lanes;
use crate::output::Outputs;
use crate::poll::poll;
use crate::rank_state::{Ending, RankEnd, RankSeen};
use crate::redirect::Readers;
use crate::report::{self, Failure, Verdict};
use crate::signals::Signals;
use crate::site::Site;
use crate::spawn::RankInputKind;
use crate::standard_input::{self, StandardInput};
use crate::this_machine;
use crate::wire::{Event, Order};
use asking::Question;
use hanging::Hanging;
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;
use spawned::Spawned;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};
use viewing::Viewing;

/// How often is looked at what only the clock can tell, and a host at its job's shared page.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// From SIGTERM to SIGKILL when a rank has failed: all must be over within a second.
const END_GRACE: Duration = Duration::from_millis(300);
/// How long those who still communicate may go on after a rank that had finalized exits with an error. Those who do not
/// may for ever.
const FINALIZED_GRACE: Duration = Duration::from_millis(500);
/// From SIGINT to SIGTERM, and from there to SIGKILL, when the user interrupts: time to save something.
const INTERRUPT_GRACE: Duration = Duration::from_secs(2);
/// A rank that gives up may do so because another host is in trouble, of which we have yet to hear.
const CAUSE_GRACE: Duration = Duration::from_millis(500);
/// How long a host may take to be done once its ranks have been sent SIGKILL.
const HOST_GRACE: Duration = Duration::from_secs(2);

/// A job under way. Dropping it ends the job.
pub(crate) struct Watch {
    spec: Rc<JobSpec>,
    section_of: Vec<usize>,
    sites: Vec<Site>,
    outputs: Outputs,
    input: StandardInput,
    signals: Signals,
    started: Instant,
    /// Whether ranks read what the launcher reads.
    passes_input: bool,
    /// How many hosts have yet to take the last piece of input.
    untaken: usize,
    /// Whether the ranks were told to start.
    running: bool,
    /// Whether all ranks have ended.
    finishing: bool,
    /// Whether the user wants the end more than what is left of the output.
    impatient: bool,
    /// What happened first, once something has.
    verdict: Option<Verdict>,
    /// What may be the verdict, unless a cause for it becomes known by then.
    suspicion: Option<(Instant, Verdict)>,
    /// A rank has exited with an error after it had finalized: what it says, if nothing worse happens, once all have
    /// ended. By then nobody is to communicate any more.
    failed_late: Option<(Instant, Verdict)>,
    /// Signals still to be sent to all ranks, soonest first.
    escalation: VecDeque<(Instant, Signal)>,
    /// Until when the hosts are waited for.
    patience: Option<Instant>,
    question: Option<Question>,
    hanging: Hanging,
    /// The live table, if there is one.
    viewing: Option<Viewing>,
    /// A rank that has ended and had never joined.
    absent: Option<RankEnd>,
    /// How ranks have ended, if that is to be said.
    endings: Vec<(usize, Ending)>,
    /// Those that have died in a job that goes on.
    died: Vec<Failure>,
    /// Where ranks were that faults of their own have killed.
    backtraces: Vec<Backtrace>,
    /// The jobs that ranks of this one have asked for.
    spawned: Vec<Spawned>,
    /// What this one is called where several are spoken of.
    title: String,
    /// What the ranks have noted, with their hosts.
    notes: noted::Notes,
}

fn check_threads(spec: &JobSpec) -> Result<(), LaunchError> {
    match spec.threads {
        0 => Err(LaunchError::Threads("give at least 1")),
        1 => Ok(()),
        _ if !spec.hosts.is_empty() => Err(LaunchError::Threads("leave out --hosts and --hostfile")),
        _ if spec.is_over_tcp() => Err(LaunchError::Threads("leave out the transport tcp")),
        _ => Ok(()),
    }
}

/// Whether a rank that ended like that was not moved to it by the end of another: who hears of such a one reports an
/// error.
fn is_cause(ending: Ending) -> bool {
    matches!(ending, Ending::Killed { .. } | Ending::Exited { code: 0 } | Ending::Vanished { .. })
}

impl Watch {
    /// Prepares everything, and says `notes`; starts the ranks if they are to run here.
    pub(crate) fn start(spec: Rc<JobSpec>, notes: &[String]) -> Result<Self, LaunchError> {
        if let Some(section) = spec.sections.iter().find(|section| section.ranks == 0) {
            return Err(LaunchError::NoRanks(section.program.clone()));
        }
        let ranks = spec.sections.iter().try_fold(0_usize, |sum, section| sum.checked_add(section.ranks));
        if ranks.is_none_or(|ranks| ranks > MOST_RANKS) {
            return Err(LaunchError::TooManyRanks);
        }
        check_threads(&spec)?;
        survived::check(&spec)?;
        lanes::check(&spec)?;
        let input_kind = standard_input::choose(&spec);
        let elsewhere = spec.output == Output::Forward
            && !spec.live
            && !spec.hosts.is_empty()
            && spec.streams.input != Readers::Nobody;
        // Before anything starts: what reaches us from now on must reach the ranks.
        let signals = if spec.forward_signals { Signals::collect()? } else { Signals::ignored() };
        let started = Instant::now();
        let mut watch = Watch {
            section_of: spec.section_of(),
            sites: Site::prepare_all(&spec, input_kind)?,
            outputs: Outputs::new(spec.output == Output::Capture),
            spec: spec.clone(),
            input: StandardInput::new(false),
            untaken: 0,
            passes_input: input_kind == RankInputKind::Piped || elsewhere,
            signals,
            started,
            running: false,
            finishing: false,
            impatient: false,
            verdict: None,
            suspicion: None,
            failed_late: None,
            escalation: VecDeque::new(),
            patience: None,
            question: None,
            hanging: Hanging::new(&spec),
            viewing: None,
            absent: None,
            endings: Vec::new(),
            died: Vec::new(),
            backtraces: Vec::new(),
            spawned: Vec::new(),
            title: String::new(),
            notes: Vec::new(),
        };
        if !spec.quiet {
            watch.point_out_settings();
        }
        if spec.shows_map {
            let lines: Vec<String> = watch.sites.iter().map(Site::map).collect();
            lines.iter().for_each(|line| watch.outputs.note(line));
        }
        notes.iter().for_each(|note| watch.outputs.note(note));
        watch.start_if_ready()?;
        Ok(watch)
    }

    /// Says which settings nobody understands.
    fn point_out_settings(&mut self) {
        let sections = self.spec.sections.iter().flat_map(|section| section.environment.iter());
        let set = self.spec.environment.iter().chain(sections).cloned();
        for remark in rwmpi_transport::settings::remarks(std::env::vars_os().chain(set)) {
            self.outputs.note(&format!("warning: {remark}"));
        }
    }

    /// Watches until no process of the job is left.
    pub(crate) fn run_to_end(mut self) -> Result<Outcome, LaunchError> {
        self.open_table();
        let mut wall = None;
        while !self.is_over() {
            self.wait()?;
            self.take_signals();
            if self.go_on()? {
                wall = Some(self.started.elapsed());
            }
            self.look_at_table();
            for which in self.outputs.write() {
                self.sites.iter_mut().for_each(|site| site.order(Order::Close(which)));
            }
        }
        self.tell_profile();
        let report = self.report();
        if report.is_some() {
            self.outputs.end_line();
            self.outputs.write().for_each(drop);
        }
        let exit_code = self.exit_code();
        let wall = wall.unwrap_or_else(|| self.started.elapsed());
        drop(self.sites);
        let (stdout, stderr) = self.outputs.into_captured();
        Ok(Outcome { exit_code, report, stdout, stderr, wall })
    }

    /// Deals with what has happened or is due; true when all ranks have just ended.
    fn go_on(&mut self) -> Result<bool, LaunchError> {
        self.hear()?;
        self.start_if_ready()?;
        self.look_at_clock();
        self.look_for_hang();
        self.escalate();
        let have_ended = self.finish_if_all_ended();
        self.look_after_spawned()?;
        Ok(have_ended)
    }

    /// What did not go well, if something did not.
    fn report(&self) -> Option<String> {
        let verdict = self.verdict.as_ref();
        let verdict = verdict.map(|verdict| self.text_of(verdict) + &report::backtraces(&self.backtraces));
        match (verdict, self.outputs.lost()) {
            (Some(verdict), Some(lost)) => Some(format!("{verdict}  {lost}\n")),
            (None, Some(lost)) => Some(format!("not all that the ranks wrote is there: {lost}\n")),
            (verdict, None) => verdict,
        }
    }

    fn text_of(&self, verdict: &Verdict) -> String {
        let program = |rank: usize| {
            let section = &self.spec.sections[self.section_of[rank]];
            report::command_line(&section.program, &section.arguments)
        };
        verdict.text(program, |rank| self.site_of(rank).map_or_else(this_machine::name, Site::host))
    }

    fn exit_code(&self) -> u8 {
        match (&self.verdict, self.outputs.lost()) {
            // It was killed because we take no more.
            (Some(verdict), Some(lost)) if verdict.is_broken_pipe() => lost.exit_code(),
            (Some(verdict), _) => verdict.exit_code(),
            (None, Some(lost)) => lost.exit_code(),
            (None, None) => 0,
        }
    }

    fn is_over(&self) -> bool {
        let all_read = self.finishing && self.sites.iter().all(|site| site.over);
        all_read && self.spawned.is_empty() && (self.outputs.all_written() || self.impatient)
    }

    /// Sleeps until something happens or is due; passes typed input on.
    fn wait(&mut self) -> Result<(), LaunchError> {
        let now = Instant::now();
        self.hold(self.outputs.congested());
        let longest = self.due(now);
        let input = self.input.poll();
        let input_waits = input.is_some();
        let mut polled: Vec<PollFd<'_>> = input.into_iter().collect();
        self.poll_sites(&mut polled);
        self.poll_table(&mut polled);
        polled.extend(self.signals.readable().map(|signals| PollFd::from_borrowed_fd(signals, PollFlags::IN)));
        let outputs = self.outputs.waiting_for_room();
        polled.extend(outputs.map(|output| PollFd::from_borrowed_fd(output, PollFlags::OUT)));
        let longest = longest.map_or(LOOK_INTERVAL, |due| due.min(LOOK_INTERVAL));
        poll(&mut polled, longest).map_err(LaunchError::system("wait for the ranks"))?;
        let input_ready = input_waits && !polled[0].revents().is_empty();
        drop(polled);
        if input_ready && let Some(piece) = self.input.read() {
            let readers = &self.spec.streams.input;
            let reads = |site: &&mut Site| site.ranks.iter().any(|&rank| readers.contain(rank));
            let sites = self.sites.iter_mut().filter(reads);
            self.untaken = sites.map(|site| site.order(Order::Input(piece.clone()))).count();
        }
        Ok(())
    }

    /// Lets the ranks start on all hosts once every host has found everything.
    fn start_if_ready(&mut self) -> Result<(), LaunchError> {
        if self.running || self.verdict.is_some() || !self.sites.iter().all(|site| site.ready) {
            return Ok(());
        }
        self.running = true;
        self.input = StandardInput::new(self.passes_input);
        if self.spec.starts_nothing {
            return Ok(());
        }
        self.sites.iter_mut().try_for_each(Site::start)
    }

    /// Takes in what the hosts have to say.
    fn hear(&mut self) -> Result<(), LaunchError> {
        let now = Instant::now();
        let mut ended = Vec::new();
        for index in 0..self.sites.len() {
            for event in self.sites[index].look(now)? {
                self.take_event(index, event, &mut ended);
            }
        }
        self.judge(ended);
        if self.sites.iter().all(|site| site.left.is_some()) {
            let left: Vec<_> = self.sites.iter_mut().filter_map(|site| site.left.take()).flatten().collect();
            self.sites.iter_mut().for_each(|site| site.order(Order::Release(left.clone())));
        }
        if self.question.is_some() && self.sites.iter().all(|site| site.over || site.states.is_some()) {
            self.answered();
        }
        Ok(())
    }

    fn take_event(&mut self, index: usize, event: Event, ended: &mut Vec<RankEnd>) {
        let site = &mut self.sites[index];
        match event {
            Event::Ready => site.ready = true,
            Event::Refused { text, code } => {
                // What was not started will not end.
                site.running = 0;
                let host = site.host();
                self.end_at_once(Verdict::NotStarted { host, text, code });
            }
            Event::Note(text) => {
                let text = site.name.as_ref().map_or(text.clone(), |name| format!("{name}: {text}"));
                self.show_written(text.as_bytes());
                self.outputs.note(&text);
            }
            Event::Output(which, lines) => {
                self.show_written(&lines);
                self.outputs.append(which, lines);
            }
            Event::Left(entries) => site.left = Some(entries),
            Event::Ended(end) => {
                site.running = site.running.saturating_sub(1);
                if self.spec.say_endings {
                    self.endings.push((end.seen.rank, end.ending));
                }
                ended.push(end);
            }
            Event::Died(end) => self.outlive(index, &end),
            Event::Vanished(end) => {
                if self.ranks_running() > 1 {
                    self.suspect(self.failure(&end), false);
                }
            }
            Event::InJob(in_job) => site.in_job = in_job,
            Event::Aborted { rank, code, text } => self.suspect(Verdict::Aborted { rank, code, text }, false),
            Event::Spawn { rank, process, request } => self.spawn(index, rank, process, &request),
            Event::Backtraces(all) => self.backtraces.extend(all),
            Event::Samples(samples) => site.samples = Some(samples),
            Event::States(states) => site.states = Some(states),
            Event::AllWait(all_wait) => site.all_wait = all_wait,
            Event::Waits(waits) => site.waits = Some(waits),
            Event::Answered => {}
            Event::Notes(notes) => self.notes.push((site.host(), notes)),
            Event::InputTaken => {
                self.untaken = self.untaken.saturating_sub(1);
                if self.untaken == 0 {
                    self.input.taken();
                }
            }
            Event::Over => site.over = true,
            Event::Lost(what) => {
                let (host, ranks, ran) = (site.host(), site.ranks.clone(), site.running > 0);
                site.give_up();
                if ran {
                    self.end_at_once(Verdict::HostLost { host, ranks, what });
                } else if !self.running {
                    self.end_at_once(Verdict::NotStarted { host, text: what, code: exit_code::NOT_STARTED });
                }
            }
        }
    }

    /// Judges the first failure among ranks that have ended together.
    fn judge(&mut self, ended: Vec<RankEnd>) {
        let is_late = |end: &&RankEnd| end.seen.finished && matches!(end.ending, Ending::Exited { .. });
        if let Some(end) = ended.iter().find(|end| is_late(end) && self.is_failure(end)) {
            let verdict = self.failure(end);
            self.failed_late.get_or_insert((Instant::now() + FINALIZED_GRACE, verdict));
        }
        let failed = ended
            .iter()
            .filter(|end| self.is_failure(end) && !is_late(end))
            // Of several at once, the one that no other can have moved to it is the cause.
            .min_by_key(|end| !is_cause(end.ending));
        if let Some(end) = failed {
            self.suspect(self.failure(end), end.seen.joined && end.seen.activity.is_none());
        }
        self.absent = self.absent.take().or_else(|| ended.into_iter().find(|end| !end.seen.joined));
        // It has exited without joining the job while others that have joined will wait for it in vain.
        if let Some(absent) = self.absent.as_ref().filter(|_| self.sites.iter().any(|site| site.in_job)) {
            let verdict = self.failure(absent);
            self.suspect(verdict, false);
        }
    }

    fn is_failure(&self, end: &RankEnd) -> bool {
        match end.ending {
            Ending::Exited { code: 0 } => end.seen.joined && !end.seen.finished && self.ranks_running() > 0,
            Ending::Exited { .. } | Ending::Killed { .. } | Ending::Vanished { .. } => true,
        }
    }

    fn ranks_running(&self) -> usize {
        self.sites.iter().map(|site| site.running).sum()
    }

    fn failure(&self, end: &RankEnd) -> Verdict {
        Verdict::Failed(self.failure_of(end))
    }

    fn failure_of(&self, end: &RankEnd) -> Failure {
        let RankSeen { rank, pid, joined, finished, activity, .. } = end.seen;
        let activity = activity.filter(|_| joined && !finished);
        Failure {
            rank,
            pid,
            ending: end.ending,
            attached: joined,
            finished,
            call: activity.and_then(|activity| (self.spec.describe_activity)(&activity)),
            others: self.ranks_running() - usize::from(matches!(end.ending, Ending::Vanished { .. })),
        }
    }

    /// Ends the job for that reason, unless there is one already; not at once if it may be the consequence of something
    /// that another rank, or host, did: ranks hear of each other's ends by their connections, before us at times.
    /// Whether one does is not known if it `says_nothing`.
    fn suspect(&mut self, verdict: Verdict, says_nothing: bool) {
        let is_cause = matches!(&verdict, Verdict::Failed(Failure { ending, .. }) if is_cause(*ending));
        let hear_of_each_other = says_nothing || self.sites.len() > 1 || self.spec.is_over_tcp();
        if is_cause || !hear_of_each_other {
            self.end_at_once(verdict);
        } else {
            match &mut self.suspicion {
                Some((_, found)) if verdict.explains(found) => *found = verdict,
                Some(_) => {}
                none => *none = Some((Instant::now() + CAUSE_GRACE, verdict)),
            }
        }
    }

    fn end_at_once(&mut self, verdict: Verdict) {
        let now = Instant::now();
        self.end(verdict, vec![(now, Signal::TERM), (now + END_GRACE, Signal::KILL)]);
    }

    /// Ends the job, unless it is ending already: the verdict stands, and the signals are sent when they are due.
    fn end(&mut self, verdict: Verdict, escalation: Vec<(Instant, Signal)>) {
        if self.verdict.is_some() {
            return;
        }
        let code = verdict.exit_code().into();
        self.sites.iter_mut().for_each(|site| site.order(Order::Abort(code)));
        self.verdict = Some(verdict);
        self.suspicion = None;
        self.question = None;
        self.escalation = escalation.into();
        self.escalate();
    }

    /// Looks at what only the clock can tell.
    fn look_at_clock(&mut self) {
        let now = Instant::now();
        let is_due = |when: Option<Instant>| when.is_some_and(|when| when <= now);
        let nobody_left = self.ranks_running() == 0;
        if let Some((_, verdict)) = self.suspicion.take_if(|&mut (when, _)| when <= now || nobody_left) {
            self.end_at_once(verdict);
        }
        if self.sites.iter().any(|site| site.in_job)
            && let Some((_, verdict)) = self.failed_late.take_if(|&mut (when, _)| when <= now)
        {
            self.end_at_once(verdict);
        }
        if is_due(self.question.as_ref().map(|question| question.until)) {
            self.answered();
        }
        if is_due(self.deadline()) {
            self.ask(true);
        }
        if is_due(self.patience) {
            self.patience = None;
            // One that is here has only ranks that the kernel is slow to end.
            let unheard = self.sites.iter_mut().filter(|site| !site.over && site.name.is_some());
            unheard.for_each(Site::give_up);
        }
    }

    /// When the time allowed is over.
    fn deadline(&self) -> Option<Instant> {
        if self.verdict.is_some() || self.finishing || self.question.as_ref().is_some_and(|question| question.timed_out)
        {
            return None;
        }
        self.spec.timeout.and_then(|timeout| self.started.checked_add(timeout))
    }

    fn escalate(&mut self) {
        let now = Instant::now();
        while let Some(&(when, signal)) = self.escalation.front()
            && when <= now
        {
            self.escalation.pop_front();
            self.signal_all(signal);
            if self.escalation.is_empty() {
                self.patience = Some(now + HOST_GRACE);
            }
        }
    }

    fn signal_all(&mut self, signal: Signal) {
        self.sites.iter_mut().for_each(|site| site.order(Order::Signal(signal.as_raw())));
        self.spawned.iter_mut().for_each(|spawned| spawned.signal_all(signal));
    }

    /// Lets nothing be left once all ranks have ended; true at that moment.
    fn finish_if_all_ended(&mut self) -> bool {
        let all_ended = self.ranks_running() == 0 && (self.running || self.verdict.is_some());
        if self.finishing || !all_ended || self.suspicion.is_some() {
            return false;
        }
        self.finishing = true;
        self.close_table();
        self.verdict = self.verdict.take().or_else(|| self.failed_late.take().map(|(_, verdict)| verdict));
        self.say_who_died();
        if !self.endings.is_empty() {
            self.outputs.note(&report::endings(&self.endings));
        }
        self.patience = Some(Instant::now() + HOST_GRACE);
        self.sites.iter_mut().for_each(Site::finish);
        true
    }

    fn take_signals(&mut self) {
        for signal in self.signals.take() {
            match signal {
                Signal::INT | Signal::TERM | Signal::HUP => self.interrupt(signal),
                Signal::QUIT => self.ask(false),
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
        self.impatient = self.finishing || self.verdict.is_some();
        if self.finishing {
            return;
        }
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

    fn site_of(&self, rank: usize) -> Option<&Site> {
        self.sites.iter().find(|site| site.ranks.contains(&rank))
    }
}
