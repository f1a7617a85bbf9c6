//! The live table of a job (`mpiexec --watch`): another program, `rwmpi-console`, draws it; this one tells it what
//! there is to be seen, and hears which keys were pressed.
//!
//! Nothing here waits for it: what it does not take is kept, and if that becomes too much, a snapshot is left out.

use crate::console;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

/// Above that much that it has yet to take it is told nothing more, bytes.
const UNTAKEN_MAX: usize = 4 << 20;
/// How long it may take to give the terminal back.
const CLOSING: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The end of the job.
    End,
    /// SIGQUIT for all ranks.
    Quit,
    /// No table any more.
    Leave,
}

/// The table. Dropping it closes it, and waits until the terminal is as it was.
#[derive(Debug)]
pub(crate) struct Live {
    child: Child,
    to: Option<OwnedFd>,
    from: OwnedFd,
    untaken: Vec<u8>,
    heard: Vec<u8>,
}

impl Live {
    /// Opens it.
    ///
    /// # Errors
    /// Says in a sentence why there is none.
    pub(crate) fn open() -> Result<Live, String> {
        if std::fs::File::options().read(true).write(true).open("/dev/tty").is_err() {
            return Err("there is no terminal".to_owned());
        }
        let mut command = console::command("watch").ok_or(
            "the program rwmpi-console is neither beside mpiexec nor in PATH; `cargo install rwmpi-console` brings it",
        )?;
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Live::of(child.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
    }

    fn of(mut child: Child) -> io::Result<Live> {
        let to: OwnedFd = child.stdin.take().expect("it was asked to be a pipe").into();
        let from: OwnedFd = child.stdout.take().expect("it was asked to be a pipe").into();
        rustix::fs::fcntl_setfl(&to, OFlags::NONBLOCK)?;
        rustix::fs::fcntl_setfl(&from, OFlags::NONBLOCK)?;
        Ok(Live { child, to: Some(to), from, untaken: Vec::new(), heard: Vec::new() })
    }

    /// What to wait for.
    pub(crate) fn poll<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        polled.push(PollFd::new(&self.from, PollFlags::IN));
        polled.extend(self.to.as_ref().filter(|_| !self.untaken.is_empty()).map(|to| PollFd::new(to, PollFlags::OUT)));
    }

    /// Tells it lines.
    pub(crate) fn tell(&mut self, lines: &str) {
        if self.untaken.len() < UNTAKEN_MAX {
            self.untaken.extend_from_slice(lines.as_bytes());
        }
        self.write();
    }

    /// Shows it what ranks have written.
    pub(crate) fn show_output(&mut self, written: &[u8]) {
        let text = String::from_utf8_lossy(written);
        let lines: String = text.lines().map(|line| format!("output\t{line}\n")).collect();
        self.tell(&lines);
    }

    fn write(&mut self) {
        let Some(to) = &self.to else { return };
        while !self.untaken.is_empty() {
            match rustix::io::write(to, &self.untaken) {
                Ok(count) => _ = self.untaken.drain(..count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.to = None,
            }
        }
    }

    /// What is wanted. It is [`Wish::Leave`] if the table has closed by itself.
    pub(crate) fn wishes(&mut self) -> Vec<Wish> {
        self.write();
        let mut piece = [0; 256];
        let is_open = loop {
            match rustix::io::read(&self.from, &mut piece) {
                Ok(count @ 1..) => self.heard.extend_from_slice(&piece[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break true,
                Ok(_) | Err(_) => break false,
            }
        };
        let whole = self.heard.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let heard: Vec<u8> = self.heard.drain(..whole).collect();
        let words = String::from_utf8_lossy(&heard);
        let wishes = words.lines().filter_map(|word| match word {
            "end" => Some(Wish::End),
            "quit" => Some(Wish::Quit),
            "leave" => Some(Wish::Leave),
            _ => None,
        });
        wishes.chain((!is_open).then_some(Wish::Leave)).collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It closes then.
        self.to = None;
        let mut ended = [PollFd::new(&self.from, PollFlags::empty())];
        let _ = rustix::event::poll(&mut ended, Some(&CLOSING));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn live(script: &str) -> Live {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Live::of(command.spawn().unwrap()).unwrap()
    }

    fn hear(live: &mut Live) -> Vec<Wish> {
        loop {
            let mut polled = Vec::new();
            live.poll(&mut polled);
            rustix::event::poll(&mut polled, None).unwrap();
            drop(polled);
            let wishes = live.wishes();
            if !wishes.is_empty() {
                return wishes;
            }
        }
    }

    #[test]
    fn wishes_are_words_and_its_end_is_one() {
        let mut live = live("read line; echo quit; echo nonsense; read line; echo $line");
        live.show_output(b"one\n");
        assert_eq!(hear(&mut live), [Wish::Quit]);
        live.tell("end\n");
        assert_eq!(hear(&mut live)[0], Wish::End);
        assert_eq!(hear(&mut live), [Wish::Leave]);
        // Telling it more does no harm.
        live.tell("more\n");
    }
}
