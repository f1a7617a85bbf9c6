//! A host that is reached through an agent (ssh, or what the user names), on which a daemon looks after the ranks.
//!
//! The agent is a child that dies with the launcher. It runs the daemon and joins its standard input and output with
//! ours; when either side ends, for whatever reason, the other reads the end of its input. What the agent or the daemon
//! says on standard error is shown as a line of that host.

use crate::daemon;
use crate::error::LaunchError;
use crate::output::Which;
use crate::pulse::{Diagnosis, LOST_AFTER, Pulse};
use crate::sources::{Destinations, Lines, Sources};
use crate::spawn::{self, JobProcess};
use crate::streams::Prefix;
use crate::wire::{Event, Link, Order};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Rlimit;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a login may print before the daemon speaks.
const CHATTER_BYTES_MAX: usize = 1 << 16;
/// Longest name of a version.
const VERSION_BYTES_MAX: usize = 100;
/// How long a daemon may take to go once all is over.
const TO_GO: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// ssh, which is not to ask for anything, and notices a machine that falls silent.
const SSH: [&str; 9] =
    ["ssh", "-x", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=10"];

/// What runs a command on a host.
#[derive(Clone, Copy)]
pub(crate) enum Agent<'a> {
    /// Nothing: the host is this machine.
    None,
    Ssh,
    Command(&'a [OsString]),
}

impl<'a> Agent<'a> {
    /// What the user names; without that, ssh.
    pub(crate) fn of(command: &'a [OsString]) -> Agent<'a> {
        if command.is_empty() { Agent::Ssh } else { Agent::Command(command) }
    }
}

/// The connection with a host's daemon.
pub(crate) struct Remote {
    link: Link,
    agent: JobProcess,
    agent_name: OsString,
    /// The agent's standard error.
    complaints: Sources,
    /// What to say once the daemon has said who it is.
    task: Option<Order>,
    greeted: bool,
    over: bool,
    pulse: Pulse,
}

impl Remote {
    /// Has the agent start the daemon on `host`, which will be given `task`.
    pub(crate) fn reach(host: &str, agent: Agent<'_>, task: Order, file_limit: Rlimit) -> Result<Remote, LaunchError> {
        let command = command_on(host, agent)?;
        let name = command.get_program().to_owned();
        let failed = |source: io::Error| {
            let hint = LaunchError::hint(&source);
            LaunchError::Agent { host: host.to_owned(), agent: name.clone(), source, hint }
        };
        let (process, pipes) = spawn::start_agent(command, file_limit).map_err(failed)?;
        let mut complaints = Sources::new()?;
        let prefix = Prefix { text: format!("[{host}] ").into_bytes(), timed: false };
        complaints.add(pipes.stderr, Some(prefix), Destinations::output(Which::Stderr), None)?;
        let link = Link::new(pipes.stdout, pipes.stdin).map_err(LaunchError::system("talk with an agent"))?;
        let pulse = Pulse::new(Instant::now());
        Ok(Remote {
            link,
            agent: process,
            agent_name: name,
            complaints,
            task: Some(task),
            greeted: false,
            over: false,
            pulse,
        })
    }

    /// Tells the daemon, once it is there. If it is lost, an event says so.
    pub(crate) fn order(&mut self, order: &Order) {
        if !self.greeted {
            return;
        }
        // A broken pipe is seen where its other half ends.
        let _ = self.link.send(order);
    }

    /// What to wait for.
    pub(crate) fn poll<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        if !self.over {
            self.link.poll(polled);
            polled.push(PollFd::new(&self.agent.end, PollFlags::IN));
        }
        polled.extend(self.complaints.readable().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    }

    /// What has happened since the last time.
    pub(crate) fn look(&mut self, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        if !self.over {
            let lost = self.listen(now, &mut events);
            self.over = events.iter().any(|event| matches!(event, Event::Over));
            events.extend(lost.filter(|_| !self.over).map(Event::Lost));
        }
        let mut lines = Lines::default();
        self.complaints.pump(now, &mut lines);
        if self.over {
            self.complaints.close_all(now, &mut lines);
        }
        let [_, lines] = lines;
        if !lines.is_empty() {
            // Before the news of its end.
            events.insert(0, Event::Output(Which::Stderr, lines));
        }
        events
    }

    /// Takes in what the daemon says; why it will never say anything again, if so.
    fn listen(&mut self, now: Instant, events: &mut Vec<Event>) -> Option<String> {
        // Looked at first, since what was said before it ended is read then.
        let ended = self.agent_ended();
        let _ = self.link.flush();
        let known = self.link.inbox().len();
        let open = self.link.read().unwrap_or(false);
        let quiet = self.link.inbox().len() == known;
        if let Err(error) = self.hear(events) {
            return Some(format!("its daemon makes no sense: {error}"));
        }
        if open {
            return ended.filter(|_| quiet).or_else(|| self.feel_pulse(now, !quiet));
        }
        // Why is known in a moment.
        let _ = rustix::event::poll(&mut [PollFd::new(&self.agent.end, PollFlags::IN)], Some(&TO_GO));
        Some(self.agent_ended().unwrap_or_else(|| "the connection with its daemon is closed".to_owned()))
    }

    /// Asks a daemon that has been silent; why it is lost, if it does not answer. (Until it has said who it is, that is
    /// the agent's matter.)
    fn feel_pulse(&mut self, now: Instant, heard: bool) -> Option<String> {
        match self.pulse.look(now, heard || !self.greeted) {
            Diagnosis::Well => None,
            Diagnosis::Ask => {
                self.order(&Order::Answer);
                None
            }
            Diagnosis::Lost => Some(format!("its daemon has not answered for {} s", LOST_AFTER.as_secs())),
        }
    }

    fn hear(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        if !self.greeted {
            self.greeted = is_greeting(self.link.inbox())?;
            if self.greeted
                && let Some(task) = self.task.take()
            {
                self.order(&task);
            }
        }
        if self.greeted {
            events.append(&mut self.link.messages()?);
        }
        Ok(())
    }

    fn agent_ended(&self) -> Option<String> {
        let status = self.agent.ended().ok()??;
        let name = self.agent_name.display();
        Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => format!("{name} exited with code {code}"),
            (_, Some(signal)) => format!("{name} was killed by {}", crate::signals::name(signal)),
            _ => format!("{name} ended"),
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Given a moment, it goes by itself once nobody speaks to it any more; it is killed otherwise.
        if self.over {
            let mut agent = [PollFd::new(&self.agent.end, PollFlags::IN)];
            let _ = rustix::event::poll(&mut agent, Some(&TO_GO));
        }
    }
}

/// The command by which the agent starts the daemon on `host`.
fn command_on(host: &str, agent: Agent<'_>) -> Result<Command, LaunchError> {
    let program = env::current_exe().map_err(LaunchError::system("find this program"))?;
    let mut words: Vec<&OsStr> = match agent {
        Agent::None => Vec::new(),
        Agent::Ssh => SSH.iter().map(OsStr::new).chain([OsStr::new(host)]).collect(),
        Agent::Command(words) => words.iter().map(OsString::as_os_str).chain([OsStr::new(host)]).collect(),
    };
    // What ssh is told it gives to a shell there.
    let by_shell = words.first().is_some_and(|agent| Path::new(agent).file_name() == Some(OsStr::new("ssh")));
    let program = if by_shell { quoted(program.as_os_str()) } else { program.into_os_string() };
    words.extend([program.as_os_str(), OsStr::new(daemon::OPTION)]);
    let mut command = Command::new(words[0]);
    // What the daemon finds there is to be of the agent's login, not of ours.
    command.args(&words[1..]).env_remove(daemon::LOGIN);
    Ok(command)
}

/// Finds out whether `host` is reached, by ssh or another agent, and has a daemon of this version; or why not.
pub(crate) fn try_out(host: &str, agent: &[OsString]) -> Result<(), String> {
    let mut command = command_on(host, Agent::of(agent)).map_err(|error| error.to_string())?;
    let name = command.get_program().to_owned();
    // A daemon to which nobody speaks says who it is, and goes.
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{}: {error}", name.display()))?;
    let mut said = output.stdout;
    match is_greeting(&mut said) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = complaints.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            Err(format!("{}: {last}", name.display()))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Whether the daemon has said who it is; takes that away, and what was said before.
fn is_greeting(said: &mut Vec<u8>) -> io::Result<bool> {
    let begin = said.windows(daemon::GREETING.len()).position(|words| words == daemon::GREETING);
    let Some(begin) = begin else {
        let too_much = said.len() > CHATTER_BYTES_MAX;
        return if too_much { Err(io::Error::other("it does not say who it is")) } else { Ok(false) };
    };
    let after = begin + daemon::GREETING.len();
    let Some(length) = said[after..].iter().take(VERSION_BYTES_MAX).position(|&byte| byte == b'\n') else {
        let too_much = said.len() - after >= VERSION_BYTES_MAX;
        return if too_much { Err(io::Error::other("it does not say of which version it is")) } else { Ok(false) };
    };
    let version = String::from_utf8_lossy(&said[after..after + length]).into_owned();
    said.drain(..=after + length);
    if version == daemon::VERSION {
        Ok(true)
    } else {
        Err(io::Error::other(format!("it is of rwmpi {version}, this launcher of {}", daemon::VERSION)))
    }
}

/// As one word of a shell.
fn quoted(word: &OsStr) -> OsString {
    // It refuses only what no path contains: a byte 0.
    shlex::bytes::try_quote(word.as_bytes()).map_or_else(|_| word.to_owned(), |it| OsString::from_vec(it.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_found_and_waited_for_with_patience_but_not_for_ever() {
        let greeting = [daemon::GREETING, daemon::VERSION.as_bytes(), b"\n"].concat();
        let said = [b"welcome\n", &greeting[..], b"more"].concat();
        for cut in 0..said.len() {
            let mut some = said[..cut].to_vec();
            assert_eq!(is_greeting(&mut some).unwrap(), cut >= said.len() - 4, "cut at {cut}");
        }
        let mut whole = said;
        assert!(is_greeting(&mut whole).unwrap() && whole == b"more");
        for nonsense in [vec![b'x'; CHATTER_BYTES_MAX + 1], [daemon::GREETING, &[b'x'; 200]].concat()] {
            assert!(is_greeting(&mut nonsense.clone()).unwrap_err().to_string().starts_with("it does not say"));
        }
        let other = [daemon::GREETING, b"9.9\n"].concat();
        assert!(is_greeting(&mut other.clone()).unwrap_err().to_string().contains("9.9"));
    }

    #[test]
    fn a_shell_takes_a_quoted_word_for_what_it_is() {
        for word in ["/usr/bin/mpiexec", "/opt/my programs/mpiexec", "it's $HOME; `x` \"y\" \\ *", "~x", "a\nb"] {
            let script = [OsStr::new("printf %s "), &quoted(OsStr::new(word))].into_iter().collect::<OsString>();
            let said = Command::new("sh").arg("-c").arg(script).output().unwrap().stdout;
            assert_eq!(String::from_utf8(said).unwrap(), word);
        }
    }
}
