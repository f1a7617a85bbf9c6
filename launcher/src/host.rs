//! The ranks of a job on one host: starts them, looks after them, and tells whoever watches the job what happens.
//!
//! It decides nothing: what an ending means and when the job is over is for `watch`, which knows all hosts. In a job on
//! one host both are in one process; otherwise a daemon has the host, and orders and events go through a link.

mod faulting;
mod hanging;

use crate::error::LaunchError;
use crate::explain;
use crate::faults::FaultPipe;
use crate::job_spec::{JobSpec, Output};
use crate::lanes;
use crate::other_mpi;
use crate::output::Which;
use crate::phrases::counted;
use crate::plan::{Plan, PlannedSection};
use crate::pmi::PmiServer;
use crate::profile::Notes;
use crate::rank_state::{Ending, RankEnd, RankSeen};
use crate::redirect;
use crate::repeats::Writer;
use crate::samples::{ProcessSample, Sample};
use crate::shared_heap;
use crate::sources::{Destinations, Lines, Sources};
use crate::spawn::{JobProcess, Lifeline, RankInputKind, Spawner};
use crate::standard_input::RankInputs;
use crate::streams::Prefix;
use crate::symbols::Question;
use crate::wire::{Event, Order};
use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::process::{Signal, WaitIdStatus};
use rwmpi_transport::{Job, JobShape, Lost, Presence, monotonic_nanoseconds};
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a pipe that somebody still holds open must be silent to be taken as finished, after the job's end.
const DRAIN_SILENCE: Duration = Duration::from_millis(100);
/// How long such a pipe is read at most.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// How often is looked for ranks that are gone though their process is not: it takes reading the kernel's list of what
/// a process has mapped.
const VANISHED_INTERVAL: Duration = Duration::from_millis(200);
/// Ranks that are looked at then.
const LOOKED_AT_MAX: usize = 4;
/// How often then it is looked whether ranks use another MPI: a program that starts slowly has loaded it by then.
const OTHERS_LOOKS_MAX: usize = 50;
/// How large a rank's heap is, and its arena, if all memory will be read, bytes.
const HEAP_UNDER_VALGRIND: usize = 8 << 20;

/// The ranks of one host. Dropping it ends them.
pub(crate) struct Host {
    spec: JobSpec,
    plan: Plan,
    input_kind: RankInputKind,
    job: Job,
    /// Where the ranks take notes, if somebody wants them.
    notes: Option<Notes>,
    pmi: PmiServer,
    processes: Vec<Process>,
    /// Readable when a process has ended.
    exits: OwnedFd,
    sources: Sources,
    input: RankInputs,
    /// Whether the ranks' output is to be left where it is.
    held: bool,
    /// What is to be told.
    news: Vec<Event>,
    /// Whether the ranks' ways to copy are still to be explained.
    explain_copies: bool,
    told_in_job: bool,
    told_abort: bool,
    told_vanished: bool,
    /// How often is still looked whether ranks have loaded an MPI that does not know of us.
    looks_for_others: usize,
    /// When and from which place on ranks are looked at that may be gone.
    next_look: Instant,
    look_from: usize,
    /// When it is looked again whether all ranks wait, and whether they did as far as has been told.
    next_look_at_waits: Instant,
    told_all_wait: bool,
    /// Where ranks say where a fault has killed them, if they are to.
    faults: Option<FaultPipe>,
    /// Names for these places have been asked for; and the ranks of each backtrace.
    naming: Option<(Question, Vec<Vec<usize>>)>,
    drain: Option<Drain>,
    /// Dropped last: closing it has the kernel kill whatever is left.
    lifeline: Option<Lifeline>,
}

struct Process {
    process: JobProcess,
    ended: bool,
}

/// Reading what the ranks wrote before they ended. A process that escaped its group may keep a pipe open for ever, so
/// the end of the pipes is not waited for.
struct Drain {
    begun: Instant,
    last_read: Instant,
}

impl Host {
    /// Finds and checks everything that the ranks need.
    pub(crate) fn prepare(
        spec: JobSpec,
        ranks: Vec<usize>,
        nodes: Vec<usize>,
        input_kind: RankInputKind,
    ) -> Result<Host, LaunchError> {
        let plan = Plan::resolve(&spec, ranks, nodes)?;
        let job = create_job(&spec, &plan)?;
        let notes = Notes::of_job(&spec, plan.nodes.len())
            .map_err(LaunchError::system("make a file for notes of the ranks"))?;
        let mut news: Vec<Event> = explain::lines(&spec, &plan).into_iter().map(Event::Note).collect();
        if spec.explain {
            news.push(Event::Note(shared_heap::explain(&job, &plan.sections[0])));
        }
        let exits = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(LaunchError::system("watch the ranks"))?;
        let mut pmi = PmiServer::new(&plan.nodes)?;
        pmi.leave(&spec.left_for_ranks);
        let mut host = Host {
            explain_copies: spec.explain && plan.ranks.len() > 1,
            spec,
            pmi,
            plan,
            input_kind,
            job,
            notes,
            processes: Vec::new(),
            exits,
            sources: Sources::new()?,
            input: RankInputs::default(),
            looks_for_others: OTHERS_LOOKS_MAX,
            held: false,
            news,
            told_in_job: false,
            told_abort: false,
            told_vanished: false,
            next_look: Instant::now(),
            look_from: 0,
            next_look_at_waits: Instant::now(),
            told_all_wait: false,
            faults: None,
            naming: None,
            drain: None,
            lifeline: None,
        };
        host.faults = host.fault_pipe()?;
        Ok(host)
    }

    /// Starts all ranks.
    pub(crate) fn start(&mut self) -> Result<(), LaunchError> {
        let faults = self.faults.as_ref().map(FaultPipe::writer);
        let spawner = Spawner::new(&self.plan, (&self.job, self.notes.as_ref()), &self.spec, self.input_kind, faults)?;
        let mut files = Vec::new();
        let outputs = self.plan.processes.iter().map(|places| self.outputs_of(places, &mut files));
        let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        for ((index, places), (prefix, [stdout, stderr])) in self.plan.processes.iter().enumerate().zip(outputs) {
            let section = self.plan.section(places.start).number;
            let (process, pipes) = spawner.start(index, self.pmi.add(section)?)?;
            let writer = self.writer(places.start, process.pid(), prefix.as_ref());
            epoll::add(&self.exits, &process.end, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)
                .map_err(LaunchError::system("watch a rank"))?;
            self.processes.push(Process { process, ended: false });
            if let Some(pipe) = pipes.stdin {
                self.input.add(pipe.into());
            }
            if let Some(pipe) = pipes.stdout {
                self.sources.add(pipe, prefix.clone(), stdout, None)?;
            }
            if let Some(pipe) = pipes.stderr {
                self.sources.add(pipe, prefix, stderr, writer)?;
            }
        }
        self.lifeline = Some(spawner.into_lifeline());
        Ok(())
    }

    /// Who a rank is whose repetitions are told as a number, where the user reads them and a clock does not tell them
    /// apart.
    fn writer(&self, place: usize, pid: i32, prefix: Option<&Prefix>) -> Option<Writer> {
        let is_read = self.spec.output == Output::Forward && !self.spec.streams.timestamps;
        let prefix = prefix.map_or(0, |prefix| prefix.text.len());
        is_read.then(|| Writer { rank: self.plan.ranks[place], pid, prefix })
    }

    /// What goes before lines of a process with these ranks, and where they go; `files`: those that are open.
    fn outputs_of(
        &self,
        places: &Range<usize>,
        files: &mut Vec<(PathBuf, Rc<File>)>,
    ) -> Result<(Option<Prefix>, [Destinations; 2]), LaunchError> {
        let place = self.plan.owner_of_streams(places);
        let text = self.spec.streams.prefix(&place);
        let timed = self.spec.streams.timestamps;
        let prefix = (timed || text.is_some()).then(|| Prefix { text: text.unwrap_or_default().into_bytes(), timed });
        let mut destinations = Which::BOTH.map(Destinations::output);
        for (stream, paths) in self.spec.streams.paths(&place).into_iter().enumerate() {
            destinations[stream].shown = self.spec.streams.is_shown(stream);
            destinations[stream].files =
                paths.into_iter().map(|path| open_once(path, files)).collect::<Result<_, _>>()?;
        }
        Ok((prefix, destinations))
    }

    /// Does as it is told. What is not for a host that is prepared has no effect.
    pub(crate) fn obey(&mut self, order: Order) {
        match order {
            Order::Signal(signal) => _ = Signal::from_named_raw(signal).map(|signal| self.signal_all(signal)),
            Order::Release(entries) => self.pmi.release(entries),
            Order::Spawned { process, answer } => self.pmi.answer_request(process, &answer),
            Order::Abort(code) => {
                self.sources.fail();
                self.job.set_aborted(code, "the launcher ended the job");
            }
            Order::SayStates => {
                let states = self.running().map(|place| self.seen(place)).collect();
                self.news.push(Event::States(states));
            }
            Order::SayWaits => self.say_waits(),
            Order::CallRanks => self.call_ranks(),
            Order::Sample => {
                let samples = self.running().map(|place| self.sample(place)).collect();
                self.news.push(Event::Samples(samples));
            }
            Order::Input(piece) => {
                self.input.give(&piece);
                self.write_input();
            }
            // What is left at the end is little, and to be read in time.
            Order::Hold(held) => self.held = held && self.drain.is_none(),
            Order::Close(which) => self.sources.give_up(which),
            Order::Finish => self.finish(),
            Order::Prepare(_) | Order::Start | Order::Answer => {}
        }
    }

    /// What to wait for.
    pub(crate) fn poll<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        polled.push(PollFd::new(&self.exits, PollFlags::IN));
        polled.push(PollFd::from_borrowed_fd(self.pmi.readable(), PollFlags::IN));
        polled.extend(
            self.sources.readable().filter(|_| !self.held).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        polled.extend(self.input.poll());
        polled.extend(self.naming.as_ref().and_then(|(question, _)| question.poll()));
    }

    /// How long to wait at most.
    pub(crate) fn due(&self, now: Instant) -> Option<Duration> {
        let drain = self.drain.as_ref().map(|_| DRAIN_SILENCE / 4);
        let lines = self.sources.due().map(|due| due.saturating_duration_since(now));
        [drain, lines, (!self.news.is_empty()).then_some(Duration::ZERO)].into_iter().flatten().min()
    }

    /// Looks at everything, and says what has happened since the last time.
    pub(crate) fn look(&mut self, now: Instant) -> Result<Vec<Event>, LaunchError> {
        self.serve_pmi();
        self.write_input();
        let mut lines = Lines::default();
        let read = !self.held && self.sources.pump(now, &mut lines);
        self.tell_output(&mut lines);
        self.look_at_exits()?;
        self.look_at_job();
        self.look_for_vanished(now);
        self.look_for_waits(now);
        self.tell_names(now);
        self.go_on_draining(now, read);
        Ok(std::mem::take(&mut self.news))
    }

    fn tell_output(&mut self, lines: &mut Lines) {
        for which in Which::BOTH {
            let lines = std::mem::take(&mut lines[which as usize]);
            if !lines.is_empty() {
                self.news.push(Event::Output(which, lines));
            }
        }
    }

    fn write_input(&mut self) {
        if self.input.write() {
            self.news.push(Event::InputTaken);
        }
    }

    fn look_at_exits(&mut self) -> Result<(), LaunchError> {
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 64];
        let count = epoll::wait(&self.exits, &mut events[..], Some(&Timespec::default())).unwrap_or(0);
        let mut ended = Vec::new();
        for event in &events[..count] {
            let data = event.data;
            let index = data.u64() as usize;
            let process = &mut self.processes[index];
            let status = process.process.ended().map_err(LaunchError::system("learn how a rank ended"))?;
            let Some(ending) = status.as_ref().and_then(ending) else { continue };
            process.ended = true;
            epoll::delete(&self.exits, &process.process.end).map_err(LaunchError::system("let go of a rank"))?;
            ended.push((index, ending));
        }
        if ended.iter().any(|(_, ending)| !matches!(ending, Ending::Exited { code: 0 })) {
            self.sources.fail();
            self.faults.iter_mut().for_each(FaultPipe::gather);
        }
        // What was said before explains the endings.
        self.serve_pmi();
        self.look_for_abort();
        for (index, ending) in ended {
            let places = self.plan.processes[index].clone();
            let ends: Vec<Event> = places.map(|place| self.ended(place, ending)).collect();
            self.news.extend(ends);
        }
        Ok(())
    }

    /// A rank has ended. In a job that goes on without it, the others hear of it at once.
    fn ended(&self, place: usize, ending: Ending) -> Event {
        let end = RankEnd { seen: self.seen(place), ending };
        let is_outlived = self.job.keeps_going() && self.job.is_complete() && !end.seen.finished;
        if is_outlived {
            self.job.announce_death(place);
            return Event::Died(end);
        }
        Event::Ended(end)
    }

    fn serve_pmi(&mut self) {
        if let Some(entries) = self.pmi.serve() {
            self.news.push(Event::Left(entries));
        }
        for (process, request) in self.pmi.take_requests() {
            let rank = self.plan.ranks[self.plan.processes[process].start];
            self.news.push(Event::Spawn { rank, process, request });
        }
    }

    fn look_at_job(&mut self) {
        if self.explain_copies
            && let Some(pairs) = self.job.kernel_pairs()
        {
            self.explain_copies = false;
            self.news.push(Event::Note(explain::kernel_copies(&self.plan, pairs)));
        }
        let in_job = self.running().any(|place| self.takes_part(place));
        if in_job != self.told_in_job {
            self.told_in_job = in_job;
            self.news.push(Event::InJob(in_job));
        }
    }

    fn look_for_abort(&mut self) {
        if self.told_abort {
            return;
        }
        let record = self.job.abort_record().map(|record| (record.peer, record.code, record.text));
        let place_of = |process: usize| self.plan.processes.get(process).map(|places| places.start);
        let asked = || self.pmi.abort().map(|(process, code)| (place_of(process), code, String::new()));
        if let Some((place, code, text)) = record.or_else(asked) {
            self.told_abort = true;
            let rank = place.and_then(|place| self.plan.ranks.get(place).copied());
            self.news.push(Event::Aborted { rank, code, text });
        }
    }

    /// The places of ranks whose process runs.
    fn running(&self) -> impl Iterator<Item = usize> {
        let processes = self.processes.iter().zip(&self.plan.processes);
        processes.filter(|(process, _)| !process.ended).flat_map(|(_, places)| places.clone())
    }

    /// The process of the rank at that place.
    fn process_of(&self, place: usize) -> usize {
        self.plan.processes.partition_point(|places| places.end <= place)
    }

    /// Whether a rank has joined the job, as a program of this library or of another.
    fn joined(&self, place: usize) -> bool {
        self.job.attached(place) || self.pmi.joined(self.process_of(place))
    }

    /// Whether it has left in good order.
    fn finished(&self, place: usize) -> bool {
        self.job.finished(place) || self.pmi.finished(self.process_of(place))
    }

    /// Whether others may wait for it.
    fn takes_part(&self, place: usize) -> bool {
        if self.job.attached(place) {
            return self.job.presence(place) == Presence::Here;
        }
        self.joined(place) && !self.finished(place)
    }

    /// Looks whether a rank that has not joined uses another MPI: its ranks never will.
    fn look_for_other_mpi(&mut self) {
        let rank = if self.looks_for_others > 0 { self.running().next() } else { None };
        let Some(place) = rank.filter(|&place| self.plan.ranks.len() > 1 && !self.joined(place)) else { return };
        self.looks_for_others -= 1;
        if self.plan.section(place).other_mpi.is_some() {
            self.looks_for_others = 0;
        } else if let Some(other) = other_mpi::loaded_by(self.processes[self.process_of(place)].process.pid()) {
            self.looks_for_others = 0;
            let program = self.plan.section(place).name.to_string_lossy();
            self.news.push(Event::Note(format!("warning: {}", other.warning(&program))));
        }
    }

    /// Looks for ranks that are gone though their process is not, a few at a time.
    fn look_for_vanished(&mut self, now: Instant) {
        if self.told_vanished || now < self.next_look {
            return;
        }
        self.next_look = now + VANISHED_INTERVAL;
        self.look_for_other_mpi();
        let running: Vec<usize> = self.running().collect();
        let from = running.partition_point(|&place| place < self.look_from);
        let looked_at: Vec<usize> = running[from..].iter().copied().take(LOOKED_AT_MAX).collect();
        self.look_from = looked_at.last().map_or(0, |last| last + 1);
        let lost = looked_at.into_iter().find_map(|place| Some((place, self.job.lost(place)?)));
        if let Some((place, lost)) = lost {
            self.told_vanished = true;
            let ending = Ending::Vanished { replaced: lost == Lost::Replaced };
            self.news.push(Event::Vanished(RankEnd { seen: self.seen(place), ending }));
        }
    }

    fn seen(&self, place: usize) -> RankSeen {
        RankSeen {
            rank: self.plan.ranks[place],
            pid: self.processes[self.process_of(place)].process.pid(),
            joined: self.joined(place),
            finished: self.finished(place),
            activity: lanes::most_telling(self.job.activities(place)).filter(|_| self.job.attached(place)),
            now: monotonic_nanoseconds(),
        }
    }

    /// What there is to be seen of the rank at that place.
    fn sample(&self, place: usize) -> Sample {
        let seen = self.seen(place);
        let noted = self.notes.as_ref().and_then(|notes| notes.totals_of(self.plan.ranks[place])).map(Into::into);
        Sample { seen, noted, process: ProcessSample::of(seen.pid) }
    }

    /// Says it if more connections came to the ranks than the job's own. (Of two that open one to each other, one gives
    /// up.)
    fn report_strangers(&mut self) {
        let all = 0..self.plan.ranks.len();
        let most_of_own = self.plan.nodes.len() as u64;
        let turned_away = all.map(|place| (self.plan.ranks[place], self.job.turned_away(place)));
        let disturbed: Vec<_> = turned_away.filter(|&(_, count)| count > most_of_own).collect();
        let Some((rank, most)) = disturbed.iter().max_by_key(|(_, count)| count) else { return };
        let of_all = counted(disturbed.iter().map(|(_, count)| *count as usize).sum(), "connection");
        self.news.push(Event::Note(format!(
            "{of_all} from outside the job turned away, most by rank {rank} ({most}): somebody tries the ports of its ranks",
        )));
    }

    fn signal_all(&self, signal: Signal) {
        for process in &self.processes {
            process.process.signal(signal);
        }
    }

    fn finish(&mut self) {
        // Children that a rank left behind.
        self.signal_all(Signal::KILL);
        if self.spec.explain && !self.processes.is_empty() {
            self.news.extend(shared_heap::result(&self.job).into_iter().map(Event::Note));
            let windows: Vec<_> = (0..self.plan.ranks.len()).map(|place| self.job.windows(place)).collect();
            self.news.extend(explain::windows(&self.plan.ranks, &windows).into_iter().map(Event::Note));
        }
        let is_for_end = self.spec.profile.is_some() || self.spec.trace.is_some();
        if let Some(notes) = self.notes.take().filter(|_| is_for_end) {
            self.news.extend(notes.of_ranks(&self.plan.ranks).into_iter().map(Event::Notes));
        }
        self.report_strangers();
        self.ask_for_names();
        self.held = false;
        let now = Instant::now();
        self.drain.get_or_insert(Drain { begun: now, last_read: now });
    }

    /// Passes on what the ranks wrote before they ended.
    fn go_on_draining(&mut self, now: Instant, read: bool) {
        let Some(drain) = &mut self.drain else { return };
        if read {
            drain.last_read = now;
        }
        let silent = now.saturating_duration_since(drain.last_read) >= DRAIN_SILENCE;
        let is_read = self.sources.all_closed() || silent || now.saturating_duration_since(drain.begun) >= DRAIN_MAX;
        if is_read && self.naming.is_none() {
            let mut lines = Lines::default();
            self.sources.close_all(now, &mut lines);
            self.tell_output(&mut lines);
            self.news.push(Event::Over);
            self.drain = None;
        }
    }
}

/// The file of that name, one for all that write to it.
fn open_once(path: PathBuf, files: &mut Vec<(PathBuf, Rc<File>)>) -> Result<Rc<File>, LaunchError> {
    if let Some((_, file)) = files.iter().find(|(known, _)| *known == path) {
        return Ok(file.clone());
    }
    let file = redirect::create(&path).map_err(|source| LaunchError::OutputFile { path: path.clone(), source })?;
    let file = Rc::new(file);
    files.push((path, file.clone()));
    Ok(file)
}

fn create_job(spec: &JobSpec, plan: &Plan) -> Result<Job, LaunchError> {
    let directory = spec.segment_directory.as_deref();
    let reads_all = plan.sections.iter().any(PlannedSection::is_under_valgrind);
    let heap_limit = if reads_all { HEAP_UNDER_VALGRIND } else { usize::MAX };
    let shape = JobShape { peers: plan.ranks.len(), lanes: plan.lanes, heap_limit, keeps_going: spec.keeps_going };
    Job::create_shaped(&shape, directory).map_err(|source| LaunchError::SharedMemory {
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
