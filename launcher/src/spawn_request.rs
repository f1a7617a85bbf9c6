//! What a rank asks for that wants further ranks started: the lines of PMI-1's command `spawn`, and what becomes of
//! them.

use crate::hosts::{self, Dealing, HostSlots};
use crate::job_spec::{JobSpec, Section};
use crate::redirect::Readers;
#[cfg(test)]
use rwmpi_transport::pmi::Message;
use rwmpi_transport::spawning::{
    self, BEGINNING, Command, ELSEWHERE, ENDING, ESCAPED, PARENTS_ASKED_FOR, PARENTS_ELSEWHERE_KEY, PARENTS_KEY,
    unescaped,
};
use rwmpi_transport::{NODES, PARENTS};
use serde::{Deserialize, Serialize};

/// Bytes that the lines of a request may have in all.
const BYTES_MAX: usize = 16 << 20;
/// Names by which a host may call itself.
const HERE: [&str; 2] = ["localhost", "127.0.0.1"];

/// What has become of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SpawnAnswer {
    /// The new ranks run, on the host of those who have asked for them.
    Here,
    /// They run, and meet those who have asked for them as ranks of other hosts do.
    Elsewhere,
    /// None was started, for that reason.
    Refused(String),
}

/// Programs to start as a job of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpawnRequest {
    commands: Vec<Wanted>,
    /// What the new ranks are told of those that have asked for them.
    parents: ParentsSaid,
}

/// What ranks can be told of those that have asked for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ParentsSaid {
    /// If all are on one host.
    here: Option<String>,
    /// Wherever they are.
    elsewhere: Option<String>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Wanted {
    program: String,
    arguments: Vec<String>,
    ranks: usize,
    hints: Vec<(String, String)>,
}

/// A request of which not all lines have come.
#[derive(Debug)]
pub(crate) struct UnfinishedRequest {
    request: SpawnRequest,
    command: Command,
    /// How many commands there will be.
    commands: usize,
    is_escaped: bool,
    is_within_command: bool,
    /// The last key, whose value comes next.
    key: String,
    bytes: usize,
}

/// What has become of a request with one more line.
#[derive(Debug)]
pub(crate) enum Progress {
    /// There are more to come.
    Unfinished(UnfinishedRequest),
    Finished(SpawnRequest),
    /// It is none.
    Nonsense,
}

/// Whether a request begins with that line.
pub(crate) fn begins(line: &str) -> bool {
    line.trim_end() == BEGINNING
}

impl UnfinishedRequest {
    /// One whose first line has come.
    pub(crate) fn new() -> Self {
        UnfinishedRequest {
            request: SpawnRequest::default(),
            command: Command::default(),
            commands: 1,
            is_escaped: false,
            is_within_command: true,
            key: String::new(),
            bytes: 0,
        }
    }

    /// Takes the next line.
    pub(crate) fn with(mut self, line: &str) -> Progress {
        self.bytes += line.len();
        if self.bytes > BYTES_MAX || begins(line) == self.is_within_command {
            return Progress::Nonsense;
        }
        self.is_within_command = true;
        if line.trim_end() == ENDING {
            self.is_within_command = false;
            let Command { program, arguments, processes, hints } = std::mem::take(&mut self.command);
            self.request.commands.push(Wanted { program, arguments, ranks: processes, hints });
            let is_complete = self.request.commands.len() >= self.commands;
            return if is_complete { Progress::Finished(self.request) } else { Progress::Unfinished(self) };
        }
        self.take_fact(line);
        Progress::Unfinished(self)
    }

    /// Takes a line in the middle of a command. What is of no use to us is left out.
    fn take_fact(&mut self, line: &str) {
        self.is_escaped |= line == ESCAPED;
        let Some((key, value)) = line.split_once('=') else { return };
        let value = if self.is_escaped { unescaped(value) } else { value.to_owned() };
        let is_numbered = |name: &str| key.strip_prefix(name).is_some_and(|number| number.parse::<usize>().is_ok());
        match key {
            "nprocs" => self.command.processes = value.parse().unwrap_or(0),
            "execname" => self.command.program = value,
            "totspawns" => self.commands = value.parse().unwrap_or(1),
            _ if is_numbered("arg") => self.command.arguments.push(value),
            _ if is_numbered("info_key_") || is_numbered("preput_key_") => self.key = value,
            _ if is_numbered("info_val_") => self.command.hints.push((std::mem::take(&mut self.key), value)),
            _ if is_numbered("preput_val_") && self.key == PARENTS_KEY => self.request.parents.here = Some(value),
            _ if is_numbered("preput_val_") && self.key == PARENTS_ELSEWHERE_KEY => {
                self.request.parents.elsewhere = Some(value);
            }
            _ => {}
        }
    }
}

/// The job from which a request comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) job: &'a JobSpec,
    /// Its hosts, where they have names.
    pub(crate) hosts: &'a [Option<String>],
    /// That of the rank that asks, if it has a name.
    pub(crate) host: Option<&'a str>,
    /// What the launcher's own is called.
    pub(crate) here: &'a str,
}

impl SpawnRequest {
    /// The job that is asked for, and whether all its ranks will be on the host of all those who ask.
    ///
    /// # Errors
    /// What can't be done.
    pub(crate) fn job(&self, asking: Asking<'_>) -> Result<(JobSpec, bool), String> {
        let of = asking.job;
        let mut spec = JobSpec::new(Section::new(""));
        spec.sections = self.commands.iter().map(Wanted::section).collect();
        spec.environment.clone_from(&of.environment);
        // Who is where is said anew.
        spec.environment.retain(|(name, _)| name != NODES);
        spec.protocol = of.protocol;
        spec.transport = of.transport;
        spec.lanes = of.lanes;
        spec.universe_size = of.universe_size;
        spec.streams = of.streams.clone();
        spec.streams.input = Readers::Nobody;
        spec.output = of.output;
        spec.segment_directory.clone_from(&of.segment_directory);
        spec.describe_activity = of.describe_activity;
        spec.describe_wait = of.describe_wait;
        spec.launch_agent.clone_from(&of.launch_agent);
        spec.interface.clone_from(&of.interface);
        spec.quiet = true;
        self.choose_hosts(asking, &mut spec)?;
        let is_near = is_of_one_host(asking, &spec);
        match &self.parents {
            ParentsSaid { here: Some(parents), .. } if is_near => Ok((spec.environment(PARENTS, parents), true)),
            ParentsSaid { elsewhere: Some(parents), .. } => {
                spec.left_for_ranks.push((PARENTS_ELSEWHERE_KEY.to_owned(), parents.clone()));
                Ok((spec.environment(PARENTS, PARENTS_ASKED_FOR), false))
            }
            ParentsSaid { here: None, .. } => Ok((spec.environment(PARENTS, ""), false)),
            _ => Err("ranks on other hosts would not find those that have asked for them".to_owned()),
        }
    }

    /// Which hosts the new ranks are on: those that their hints name, or else those of the job that asks.
    fn choose_hosts(&self, asking: Asking<'_>, spec: &mut JobSpec) -> Result<(), String> {
        let (of, mut names, mut each) = (asking.job, Vec::<HostSlots>::new(), Vec::new());
        if self.commands.iter().all(|command| command.hosts().is_none()) {
            spec.hosts.clone_from(&of.hosts);
            spec.dealing.clone_from(&of.dealing);
            return Ok(());
        }
        for command in &self.commands {
            let hosts = match command.hosts() {
                Some(list) => hosts::parse_list(list)?.0,
                None if of.hosts.is_empty() => vec![HostSlots::named(asking.here.to_owned())],
                None => of.hosts.clone(),
            };
            let own = |name: String| match asking.host {
                Some(host) if HERE.contains(&&*name) => host.to_owned(),
                None if HERE.contains(&&*name) => asking.here.to_owned(),
                _ => name,
            };
            let hosts: Vec<_> = hosts.into_iter().map(|host| HostSlots { name: own(host.name), ..host }).collect();
            for share in hosts::deal(&hosts, &Dealing::default(), command.ranks) {
                let host = HostSlots::named(share.host.unwrap_or_default());
                let known = names.iter().position(|other| *other == host);
                let place = known.unwrap_or_else(|| {
                    names.push(host);
                    names.len() - 1
                });
                each.extend(share.ranks.iter().map(|_| place));
            }
        }
        // Where the job is on no named host, neither are those beside it.
        let are_unnamed = of.hosts.is_empty() && names.iter().all(|host| host.name == asking.here);
        if !are_unnamed {
            spec.hosts = names;
            spec.dealing.host_of_rank = each;
        }
        Ok(())
    }
}

/// Whether a job will be on the one host of the job that asks for it.
fn is_of_one_host(asking: Asking<'_>, spec: &JobSpec) -> bool {
    let [host] = asking.hosts else { return false };
    let ranks = spec.sections.iter().map(|section| section.ranks).sum();
    let shares = hosts::deal(&spec.hosts, &spec.dealing, ranks);
    shares.iter().all(|share| share.host == *host)
}

impl Wanted {
    fn section(&self) -> Section {
        let section = Section::new(&self.program).arguments(&self.arguments).ranks(self.ranks);
        let set = spawning::environment(&self.hints).filter_map(|line| line.split_once('='));
        let mut section = set.fold(section, |section, (name, value)| section.environment(name, value));
        if let Some(directory) = spawning::directory(&self.hints) {
            section = section.directory(directory);
        }
        section.search = self.hints.iter().find(|(key, _)| key == "path").map(|(_, path)| path.into());
        section
    }

    /// Which hosts it is to be on, if it says so.
    fn hosts(&self) -> Option<&str> {
        spawning::hosts(&self.hints)
    }
}

/// The answer to a request, as a line.
pub(crate) fn reply(answer: &SpawnAnswer) -> String {
    const SENTENCE_MAX: usize = 1000;
    const WELL: &str = "cmd=spawn_result rc=0 jobid=rwmpi nerrs=0";
    match answer {
        SpawnAnswer::Here => WELL.to_owned(),
        SpawnAnswer::Elsewhere => format!("{WELL} {ELSEWHERE}"),
        SpawnAnswer::Refused(why) => {
            let cut = why.char_indices().nth(SENTENCE_MAX).map_or(why.len(), |(end, _)| end);
            let why = spawning::escaped(&why[..cut]);
            format!("cmd=spawn_result rc=-1 jobid=none nerrs=1 msg={why}")
        }
    }
}

/// Whether an answer says that all went well.
#[cfg(test)]
fn is_success(reply: &str) -> bool {
    Message::new(reply).get("rc") == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rwmpi_transport::spawning::{self, Spelling, ToldOfParents};

    fn read(lines: &str) -> Option<SpawnRequest> {
        let mut lines = lines.lines();
        assert!(begins(lines.next()?));
        let mut unfinished = UnfinishedRequest::new();
        for line in lines {
            match unfinished.with(line) {
                Progress::Unfinished(more) => unfinished = more,
                Progress::Finished(request) => return Some(request),
                Progress::Nonsense => return None,
            }
        }
        None
    }

    fn command(program: &str, hints: &[(&str, &str)]) -> Command {
        let hints = hints.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Command { program: program.to_owned(), arguments: vec!["a b\n".to_owned()], processes: 2, hints }
    }

    fn parents(here: Option<&str>, elsewhere: Option<&str>) -> ToldOfParents {
        ToldOfParents { here: here.map(str::to_owned), elsewhere: elsewhere.map(str::to_owned) }
    }

    /// The job that a rank of a job on those hosts asks for, being on the first one, and whether it is on its host.
    fn job_of(hosts: &[&str], hints: &[&[(&str, &str)]], parents: ToldOfParents) -> Result<(JobSpec, bool), String> {
        let commands: Vec<Command> = hints.iter().map(|hints| command("x", hints)).collect();
        let request = read(&spawning::request(&commands, &parents, Spelling::Escaped).unwrap()).unwrap();
        let mut of = JobSpec::new(Section::new("y").ranks(5)).environment("A", "1").environment(NODES, "0,1,0,1,0");
        of.hosts = hosts.iter().map(|name| HostSlots::named(name.to_string())).collect();
        let named: Vec<Option<String>> = hosts.iter().map(|name| Some(name.to_string())).collect();
        let hosts = if named.is_empty() { vec![None] } else { named };
        request.job(Asking { job: &of, hosts: &hosts, host: hosts[0].as_deref(), here: "here" })
    }

    fn job(hints: &[(&str, &str)]) -> Result<JobSpec, String> {
        job_of(&[], &[hints], parents(Some("1/word"), None)).map(|(spec, _)| spec)
    }

    /// The hosts of the new ranks, one for each.
    fn hosts_of(spec: &JobSpec) -> Vec<String> {
        let ranks = spec.sections.iter().map(|section| section.ranks).sum();
        let mut all = vec![String::new(); ranks];
        for share in hosts::deal(&spec.hosts, &spec.dealing, ranks) {
            share.ranks.iter().for_each(|&rank| all[rank] = share.host.clone().unwrap_or_default());
        }
        all
    }

    #[test]
    fn hints_name_hosts() {
        let both = || parents(Some("1/word"), Some("1/port"));
        for (hosts, hints, expected, is_here) in [
            (&[][..], &[&[][..]][..], &["", ""][..], true),
            (&[], &[&[("host", "localhost")]], &["", ""], true),
            (&[], &[&[("host", "b")]], &["b", "b"], false),
            (&[], &[&[("host", "b,c")], &[]], &["b", "c", "here", "here"], false),
            (&["a"], &[&[]], &["a", "a"], true),
            (&["a"], &[&[("host", "localhost")]], &["a", "a"], true),
            (&["a"], &[&[("host", "b:1,a:1")]], &["b", "a"], false),
            (&["a", "b"], &[&[]], &["a", "b"], false),
            (&["a", "b"], &[&[("host", "a")]], &["a", "a"], false),
        ] {
            let (spec, is_there) = job_of(hosts, hints, both()).unwrap();
            assert_eq!((&hosts_of(&spec)[..] == expected, is_there), (true, is_here), "{hosts:?} {hints:?}");
            let (told, left) = if is_here { ("1/word", None) } else { (PARENTS_ASKED_FOR, Some("1/port")) };
            assert_eq!(spec.setting(PARENTS).as_deref(), Some(told.as_ref()), "{hosts:?} {hints:?}");
            assert_eq!(spec.left_for_ranks.first().map(|(_, value)| value.as_str()), left);
            assert_eq!(spec.setting(NODES), None);
        }
        assert!(job_of(&[], &[&[("host", "a,,b")]], both()).unwrap_err().contains("without a name"));
    }

    #[test]
    fn who_can_be_found_here_only_spawns_here() {
        assert!(job(&[("host", "b")]).unwrap_err().contains("would not find"));
        let (spec, is_here) = job_of(&[], &[&[]], parents(None, Some("1/port"))).unwrap();
        assert_eq!((spec.left_for_ranks.len(), is_here), (1, false));
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        let commands = [command("./one", &[("wdir", "/tmp")]), command("two", &[])];
        let told = parents(Some("3/word"), Some("3/port"));
        let request = read(&spawning::request(&commands, &told, Spelling::Escaped).unwrap()).unwrap();
        let ParentsSaid { here, elsewhere } = request.parents;
        assert_eq!(ToldOfParents { here, elsewhere }, told);
        let found: Vec<_> =
            request.commands.iter().map(|one| (&*one.program, one.ranks, one.arguments.len())).collect();
        assert_eq!(found, [("./one", 2, 1), ("two", 2, 1)]);
        assert_eq!(request.commands[0].arguments[0], "a b\n");
        assert_eq!(request.commands[0].hints, [("wdir".to_owned(), "/tmp".to_owned())]);
    }

    #[test]
    fn other_libraries_lines_are_understood() {
        let lines = "mcmd=spawn\nnprocs=2\nexecname=./child 50%20\ntotspawns=1\nspawnssofar=1\narg1=x=y\nargcnt=1\npreput_num=1\n\
                     preput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$\ninfo_num=0\nendcmd\n";
        let request = read(lines).unwrap();
        assert_eq!((&*request.commands[0].program, request.parents), ("./child 50%20", ParentsSaid::default()));
        assert_eq!(request.commands[0].arguments, ["x=y"]);
    }

    #[test]
    fn nonsense_is_no_request() {
        assert_eq!(read("mcmd=spawn\nmcmd=spawn\nendcmd\n"), None);
        assert_eq!(read("mcmd=spawn\ntotspawns=2\nendcmd\nnprocs=1\nendcmd\n"), None);
    }

    #[test]
    fn hints_change_the_job() {
        let spec = job(&[("wdir", "/tmp"), ("path", "/bin"), ("host", "here"), ("unknown", "x")]).unwrap();
        assert_eq!(spec.sections[0].directory.as_deref(), Some("/tmp".as_ref()));
        assert_eq!(spec.sections[0].search.as_deref(), Some("/bin".as_ref()));
        assert_eq!(spec.setting(PARENTS).as_deref(), Some("1/word".as_ref()));
        assert_eq!(
            spec.setting("A").as_deref(),
            Some("1".as_ref()),
            "what was set for the ranks is set for these, too"
        );
    }

    #[test]
    fn failures_are_one_word() {
        let failed = reply(&SpawnAnswer::Refused("no such file ".repeat(500)));
        assert!(failed.len() < 4000 && !is_success(&failed) && is_success(&reply(&SpawnAnswer::Here)), "{failed}");
        assert!(is_success(&reply(&SpawnAnswer::Elsewhere)));
    }
}
