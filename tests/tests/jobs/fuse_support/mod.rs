//! A file system whose calls do little, are interrupted, find no room, or have no locks: mounted for one test.
//!
//! Its files are in the memory of the test. It is mounted in a namespace of the test's thread and of the processes that
//! this starts, so it is gone with them, also if they are killed.

pub mod messages;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{JoinHandle, spawn};

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;

use messages::{Answer, Asked, Attributes, NOT_CACHED, Request};

/// One call in so many is interrupted.
const INTERRUPTED_ONE_IN: usize = 3;
/// The kernel asks for no more in one message, and its header.
const MESSAGE_MAX: usize = (1 << 20) + 4096;
const ROOT: u64 = 1;

/// What the file system is bad at.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// A call transfers few bytes, and many are interrupted.
    pub is_short: bool,
    /// What each lock is refused with.
    pub locks: Option<Errno>,
    /// No file has room for more bytes.
    pub room: Option<usize>,
    /// Nothing fails but closing and flushing.
    pub is_late: bool,
}

/// The mounted file system, until it is dropped.
pub struct Mounted {
    pub folder: PathBuf,
    server: Option<JoinHandle<()>>,
}

impl Mounted {
    /// `None`, with a word about it, where this user or this machine cannot mount one.
    pub fn new(name: &str, faults: Faults) -> Option<Mounted> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuse-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("there is room for a folder");
        match mount(&folder) {
            Ok(device) => {
                let server = Some(spawn(move || FaultyFiles::new(faults).serve(&device)));
                Some(Mounted { folder, server })
            }
            Err(error) => {
                println!("skipped: no file system can be mounted here: {error}");
                fs::remove_dir(&folder).expect("it is empty");
                None
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: also if a test has failed and left a process in it.
        let unmounted = run(Command::new("umount").arg("--lazy").arg(&self.folder));
        let removed = fs::remove_dir(&self.folder);
        if !std::thread::panicking() {
            unmounted.and(removed).expect("nothing is left of it");
            self.server.take().expect("it serves").join().expect("it answers whatever is asked");
        }
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    let words = || io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    output.status.success().then_some(()).ok_or_else(words)
}

/// Mounts it where only this thread and its children see it. What the kernel asks comes from the device.
fn mount(folder: &Path) -> io::Result<File> {
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    run(Command::new("mount").args(["--make-rprivate", "/"]))?;
    let user = [rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()];
    let options = format!("fd=0,rootmode=40000,user_id={},group_id={}", user[0], user[1]);
    let mut mount = Command::new("mount");
    mount.args(["-i", "-t", "fuse", "-o", &options, "rwmpi-faulty"]).arg(folder);
    run(mount.stdin(device.try_clone()?))?;
    Ok(device)
}

/// A file or folder.
struct Node {
    is_folder: bool,
    bytes: Vec<u8>,
}

struct FaultyFiles {
    faults: Faults,
    /// The root is the first. What has been removed stays, for those who have it open.
    nodes: Vec<Node>,
    names: HashMap<(u64, Vec<u8>), u64>,
    calls: usize,
}

impl FaultyFiles {
    fn new(faults: Faults) -> FaultyFiles {
        let root = Node { is_folder: true, bytes: Vec::new() };
        FaultyFiles { faults, nodes: vec![root], names: HashMap::new(), calls: 0 }
    }

    /// Answers until it is not mounted any more.
    fn serve(&mut self, mut device: &File) {
        let mut message = vec![0; MESSAGE_MAX];
        loop {
            match device.read(&mut message) {
                Ok(bytes) => {
                    let request = Request::of(&message[..bytes]);
                    if let Some(answer) = self.answer(&request).transpose() {
                        // Who has asked may be dead.
                        let _ = device.write(&request.reply(answer));
                    }
                }
                Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => return,
                Err(error)
                    if [Errno::INTR, Errno::NOENT]
                        .map(io::Error::from)
                        .iter()
                        .any(|one| one.kind() == error.kind()) => {}
                Err(error) => panic!("the kernel does not ask: {error}"),
            }
        }
    }

    /// `None`: no answer is wanted.
    fn answer(&mut self, request: &Request<'_>) -> Result<Option<Answer>, Errno> {
        let node = request.node;
        Ok(Some(match request.asked {
            Asked::Nothing => return Ok(None),
            Asked::Start => Answer::Started { asks_for_locks: self.faults.locks.is_some() },
            Asked::Find { name } => Answer::Entry(self.attributes(self.find(node, name)?)),
            Asked::Attributes => Answer::Attributes(self.attributes(node)),
            Asked::Change { size } => {
                self.allowed(1)?;
                if let Some(size) = size {
                    self.bytes(node).resize(size as usize, 0);
                }
                Answer::Attributes(self.attributes(node))
            }
            Asked::MakeFolder { name } => Answer::Entry(self.add(node, name, true)),
            Asked::Remove { name } => {
                self.find(node, name)?;
                self.names.remove(&(node, name.to_vec()));
                Answer::Done
            }
            Asked::Create { name } => Answer::Created(self.add(node, name, false), self.open_flags()),
            Asked::Open => {
                self.allowed(1)?;
                Answer::Opened(self.open_flags())
            }
            Asked::Read { at, bytes } => {
                let most = self.allowed(bytes)?;
                let held = self.bytes(node);
                Answer::Bytes(held[held.len().min(at)..held.len().min(at + most)].to_vec())
            }
            Asked::Write { at, bytes } => Answer::Written(self.write(node, at, bytes)?),
            Asked::Reserve { end } => {
                self.allowed(1)?;
                if self.faults.room.is_some_and(|room| end > room) {
                    return Err(Errno::NOSPC);
                }
                let held = self.bytes(node);
                held.resize(held.len().max(end), 0);
                Answer::Done
            }
            Asked::Flush | Asked::Sync if self.faults.is_late => return Err(Errno::NOSPC),
            Asked::Sync => {
                self.allowed(1)?;
                Answer::Done
            }
            Asked::Flush | Asked::Close => Answer::Done,
            Asked::Lock => return self.faults.locks.map_or(Ok(Some(Answer::Done)), Err),
            Asked::Other => return Err(Errno::NOSYS),
        }))
    }

    /// How many bytes a call may transfer.
    fn allowed(&mut self, bytes: usize) -> Result<usize, Errno> {
        self.calls += 1;
        match self.calls {
            _ if !self.faults.is_short => Ok(bytes),
            call if call.is_multiple_of(INTERRUPTED_ONE_IN) => Err(Errno::INTR),
            call => Ok(if bytes > 1 { 1 + call * 7919 % bytes } else { bytes }),
        }
    }

    fn open_flags(&self) -> u32 {
        // Otherwise the kernel would take what is short for the end of the file.
        if self.faults.is_short { NOT_CACHED } else { 0 }
    }

    fn write(&mut self, node: u64, at: usize, bytes: &[u8]) -> Result<usize, Errno> {
        let most = self.allowed(bytes.len())?;
        let most = self.faults.room.map_or(most, |room| room.saturating_sub(at).min(most));
        if most == 0 {
            return Err(Errno::NOSPC);
        }
        let held = self.bytes(node);
        held.resize(held.len().max(at + most), 0);
        held[at..at + most].copy_from_slice(&bytes[..most]);
        Ok(most)
    }

    fn bytes(&mut self, node: u64) -> &mut Vec<u8> {
        &mut self.nodes[(node - ROOT) as usize].bytes
    }

    fn find(&self, folder: u64, name: &[u8]) -> Result<u64, Errno> {
        self.names.get(&(folder, name.to_vec())).copied().ok_or(Errno::NOENT)
    }

    fn add(&mut self, folder: u64, name: &[u8], is_folder: bool) -> Attributes {
        let node = ROOT + self.nodes.len() as u64;
        self.nodes.push(Node { is_folder, bytes: Vec::new() });
        self.names.insert((folder, name.to_vec()), node);
        self.attributes(node)
    }

    fn attributes(&self, node: u64) -> Attributes {
        let Node { is_folder, bytes } = &self.nodes[(node - ROOT) as usize];
        Attributes { node, is_folder: *is_folder, size: bytes.len() as u64 }
    }
}
