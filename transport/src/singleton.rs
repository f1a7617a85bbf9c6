//! A launcher for a process that nobody has started (a singleton) and that wants others started (MPI-5.0 section
//! 11.8).
//!
//! The process starts `mpiexec` with a socket as its standard input. The one process that this launcher has to start
//! stands in for it: it sends its connection to the launcher over that socket, and ends when the process does. From
//! then on the process asks for what it wants as one does that the launcher has started. If it ends without a word, its
//! stand-in fails, and the launcher ends what it has started.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use crate::descriptor::raised;
use crate::environment::{self, CONNECTION_FD};
use crate::pmi::Pmi;

/// The argument with which `mpiexec` starts a launcher for the process at the other end of its standard input, and
/// ends: the process gets no child that it does not know of.
pub const FOR_SINGLETON: &str = "--for-singleton";
/// What `mpiexec --version` says of ours.
const OURS: &str = "mpiexec of rwmpi ";
/// What both sides say, the one with its connection, the other when it ends in good order.
const WELL: &[u8] = b".";

/// The launcher of a process that it has not started.
#[derive(Debug)]
pub(crate) struct OwnLauncher {
    /// To the stand-in. Nothing more comes from there.
    stand_in: UnixStream,
    pmi: Pmi,
}

impl OwnLauncher {
    /// Starts it.
    ///
    /// # Errors
    /// Says in a sentence why there is none.
    pub(crate) fn start() -> Result<OwnLauncher, String> {
        let program = candidates().find(|program| is_ours(program)).ok_or(
            "this process was started without mpiexec, and there is no mpiexec of rwmpi beside its library or in PATH",
        )?;
        let failed = |what: String| format!("{} does not start a launcher for this process: {what}", program.display());
        let start = || -> io::Result<(UnixStream, Option<OwnedFd>)> {
            let (stand_in, theirs) = UnixStream::pair()?;
            let stand_in = UnixStream::from(raised(stand_in.into()));
            let theirs = Stdio::from(OwnedFd::from(theirs));
            let mut child = Command::new(&program).arg(FOR_SINGLETON).stdin(theirs).spawn()?;
            // Nobody learns how children of a process end that ignores SIGCHLD.
            if let Ok(status) = child.wait()
                && !status.success()
            {
                return Err(io::Error::other(status.to_string()));
            }
            let connection = receive_connection(&stand_in)?;
            Ok((stand_in, connection))
        };
        let (stand_in, connection) = start().map_err(|error| failed(error.to_string()))?;
        let connection = connection.ok_or_else(|| failed("it has ended".to_owned()))?;
        let pmi = Pmi::new(raised(connection)).map_err(|error| failed(error.to_string()))?;
        Ok(OwnLauncher { stand_in, pmi })
    }

    /// Has it start further processes, as that request says.
    ///
    /// # Errors
    /// Says in a sentence why none has been started.
    pub(crate) fn start_more(&mut self, request: &str) -> Result<bool, String> {
        self.pmi.start_more(request).map_err(|error| error.to_string())?
    }

    /// Whether it runs no more. It ends once what it has started fails.
    pub(crate) fn has_ended(&self) -> bool {
        let mut polled = [PollFd::new(&self.stand_in, PollFlags::IN)];
        matches!(rustix::event::poll(&mut polled, Some(&Timespec::default())), Ok(1..))
    }

    /// This process ends in good order: what was started may go on.
    pub(crate) fn finish(&mut self) {
        // A launcher that is gone needs not know.
        let _ = rustix::net::send(&self.stand_in, WELL, SendFlags::NOSIGNAL);
    }
}

/// Stands in for the process at the other end of standard input, for the launcher that was started for it, until it
/// ends; whether it has done so in good order.
///
/// # Errors
/// Says in a sentence why not: this process was started for something else.
pub fn stand_in() -> Result<bool, String> {
    let connection = environment::take(CONNECTION_FD, OFlags::RDWR).map_err(|error| error.to_string())?;
    let connection = connection.ok_or("no mpiexec has started this process")?;
    let serve = || -> io::Result<bool> {
        let mut socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
        send_connection(&socket, connection)?;
        let mut said = [0; WELL.len()];
        Ok(socket.read(&mut said)? > 0)
    };
    serve().map_err(|error| format!("no process that wants others started is at standard input: {error}"))
}

fn send_connection(socket: &UnixStream, connection: OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let connection = [connection.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&connection));
    rustix::net::sendmsg(socket, &[IoSlice::new(WELL)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// `None`: nobody is at the other end any more.
fn receive_connection(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut said = [0; WELL.len()];
    rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut said)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut messages = ancillary.drain();
    Ok(messages.find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}

/// Where `mpiexec` may be: beside the file that this code is in, a library or a program, then in PATH.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let beside = file_at(&maps, candidates as *const () as usize).and_then(|file| Some(file.parent()?.to_owned()));
    let beside = beside.into_iter().flat_map(|folder| [folder.clone(), folder.join("../bin")]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    beside.chain(in_path).map(|folder| folder.join("mpiexec"))
}

/// The file that is mapped at that address, as the kernel's list of mappings says.
fn file_at(maps: &str, address: usize) -> Option<&Path> {
    maps.lines().find_map(|line| {
        let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let is_there = (number(start)?..number(end)?).contains(&address);
        is_there.then(|| line.find('/').map(|at| Path::new(&line[at..])))?
    })
}

/// Whether a program is our `mpiexec`: others have that name.
fn is_ours(program: &Path) -> bool {
    if !program.is_file() {
        return false;
    }
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let mut said = String::new();
    let heard = child.stdout.take().map(|mut stdout| stdout.read_to_string(&mut said));
    let _ = child.wait();
    matches!(heard, Some(Ok(_))) && said.starts_with(OURS)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_connection_passes_through_a_socket() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut connection, passed) = UnixStream::pair().unwrap();
        send_connection(&there, passed.into()).unwrap();
        let mut received = UnixStream::from(receive_connection(&here).unwrap().unwrap());
        connection.write_all(b"x").unwrap();
        let mut heard = [0];
        received.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"x");
        drop(there);
        assert!(receive_connection(&here).unwrap().is_none());
    }

    #[test]
    fn this_code_is_in_a_file() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(file_at(&maps, this_code_is_in_a_file as *const () as usize), Some(&*own));
        assert_eq!(
            file_at("00400000-00452000 r-xp 0 08:02 17 /a b/c\nnonsense\n", 0x45_1fff),
            Some(Path::new("/a b/c"))
        );
        assert_eq!(file_at("00400000-00452000 r-xp 0 08:02 17 /a b/c\nnonsense\n", 0x45_2000), None);
    }

    #[test]
    fn others_of_that_name_are_told_apart() {
        assert!(!is_ours(Path::new("/no/such/file")) && !is_ours(Path::new("/bin/true")));
    }
}
