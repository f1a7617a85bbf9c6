//! What a rank asks for that wants further ranks started: the lines of PMI-1's command `spawn`, and what becomes of
//! them.

use crate::job_spec::{JobSpec, Section};
use crate::redirect::Readers;
use rwmpi_transport::PARENTS;
#[cfg(test)]
use rwmpi_transport::pmi::Message;
use rwmpi_transport::spawning::{BEGINNING, Command, ENDING, ESCAPED, PARENTS_KEY, unescaped};
use serde::{Deserialize, Serialize};

/// Bytes that the lines of a request may have in all.
const BYTES_MAX: usize = 16 << 20;
/// Names by which a host may call itself.
const HERE: [&str; 2] = ["localhost", "127.0.0.1"];

/// Programs to start as a job of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpawnRequest {
    commands: Vec<Wanted>,
    /// What the new ranks are told of those that have asked for them.
    parents: String,
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
            _ if is_numbered("preput_val_") && self.key == PARENTS_KEY => self.request.parents = value,
            _ => {}
        }
    }
}

impl SpawnRequest {
    /// The job that is asked for, by a rank of that one.
    ///
    /// # Errors
    /// What can't be done.
    pub(crate) fn job(&self, of: &JobSpec, here: &str) -> Result<JobSpec, String> {
        let sections: Vec<Section> = self.commands.iter().map(|one| one.section(here)).collect::<Result<_, _>>()?;
        let mut spec = JobSpec::new(Section::new(""));
        spec.sections = sections;
        spec.environment.clone_from(&of.environment);
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
        spec.quiet = true;
        Ok(spec.environment(PARENTS, &self.parents))
    }
}

impl Wanted {
    fn section(&self, here: &str) -> Result<Section, String> {
        let mut section = Section::new(&self.program).arguments(&self.arguments).ranks(self.ranks);
        for (key, value) in &self.hints {
            match key.as_str() {
                "wdir" => section = section.directory(value),
                "path" => section.search = Some(value.into()),
                "env" => {
                    let set = value.lines().filter_map(|line| line.split_once('='));
                    section = set.fold(section, |section, (name, value)| section.environment(name, value));
                }
                "host" | "hosts" if !HERE.contains(&value.as_str()) && value != here => {
                    return Err(format!(
                        "ranks can be spawned on the host of the spawning ones ({here}), not on {value}"
                    ));
                }
                _ => {}
            }
        }
        Ok(section)
    }
}

/// The answer to a request: what went wrong, if something did.
pub(crate) fn reply(failure: Option<&str>) -> String {
    const SENTENCE_MAX: usize = 1000;
    match failure {
        None => "cmd=spawn_result rc=0 jobid=rwmpi nerrs=0".to_owned(),
        Some(why) => {
            let cut = why.char_indices().nth(SENTENCE_MAX).map_or(why.len(), |(end, _)| end);
            let why = rwmpi_transport::spawning::escaped(&why[..cut]);
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
    use rwmpi_transport::spawning;

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

    fn job(hints: &[(&str, &str)]) -> Result<JobSpec, String> {
        let request = read(&spawning::request(&[command("x", hints)], "1/word").unwrap()).unwrap();
        request.job(&JobSpec::new(Section::new("y").ranks(5)).environment("A", "1"), "here")
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        let commands = [command("./one", &[("wdir", "/tmp")]), command("two", &[])];
        let request = read(&spawning::request(&commands, "3/word").unwrap()).unwrap();
        assert_eq!(request.parents, "3/word");
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
        assert_eq!((&*request.commands[0].program, &*request.parents), ("./child 50%20", ""));
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
        assert!(job(&[("host", "elsewhere")]).unwrap_err().contains("not on elsewhere"));
    }

    #[test]
    fn failures_are_one_word() {
        let failed = reply(Some(&"no such file ".repeat(500)));
        assert!(failed.len() < 4000 && !is_success(&failed) && is_success(&reply(None)), "{failed}");
    }
}
