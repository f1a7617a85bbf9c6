//! The daemon on a host of a job: `mpiexec` in a hidden mode, which an agent starts there.
//!
//! It reads orders from its standard input and writes events to its standard output. When the input ends, the launcher
//! is gone, and so are the ranks.

use crate::error::LaunchError;
use crate::host::Host;
use crate::job_spec::Output;
use crate::output::{UNWRITTEN_BYTES_MAX, say};
use crate::poll::poll;
use crate::spawn::RankInputKind;
use crate::wire::{Event, Link, Order, Task};
use rwmpi_transport::{HOST, LISTEN};
use std::env;
use std::io;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The option that chooses this mode.
pub(crate) const OPTION: &str = "--host-daemon";
/// What it says first, before its version: whatever comes before is of the login.
pub(crate) const GREETING: &[u8] = b"\nrwmpi host daemon ";
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How often the job's shared page is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Where ssh says between which addresses a login goes.
pub(crate) const LOGIN: &str = "SSH_CONNECTION";
/// Variables that say something about the launcher's host or login, and nothing about the job.
const NOT_CARRIED: [&str; 4] = ["HOSTNAME", LOGIN, "SSH_CLIENT", "SSH_TTY"];

/// Whether a variable is to be the same on all hosts.
pub(crate) fn is_carried(name: &std::ffi::OsStr) -> bool {
    !NOT_CARRIED.iter().any(|other| name == *other)
}

/// Serves until the job is over, or the launcher is gone.
pub(crate) fn serve() -> ExitCode {
    match connect().and_then(|link| Daemon { link, host: None, held: false }.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn connect() -> io::Result<Link> {
    let input = rustix::stdio::stdin().try_clone_to_owned()?;
    let output = rustix::stdio::stdout().try_clone_to_owned()?;
    let mut link = Link::new(input, output)?;
    link.send_bytes(&[GREETING, VERSION.as_bytes(), b"\n"].concat())?;
    Ok(link)
}

struct Daemon {
    link: Link,
    host: Option<Host>,
    /// Whether the launcher wants no output now.
    held: bool,
}

impl Daemon {
    fn run(mut self) -> io::Result<()> {
        loop {
            self.wait()?;
            self.link.flush()?;
            if !self.link.read()? {
                return Ok(());
            }
            for order in self.link.messages()? {
                if let Err(error) = self.obey(order) {
                    let (text, code) = (error.to_string(), error.exit_code());
                    self.link.send(&Event::Refused { text, code })?;
                }
            }
            if self.tell()? {
                return self.say_goodbye();
            }
        }
    }

    fn wait(&self) -> io::Result<()> {
        let mut polled = Vec::new();
        self.link.poll(&mut polled);
        let mut longest = LOOK_INTERVAL;
        if let Some(host) = &self.host {
            host.poll(&mut polled);
            longest = host.due(Instant::now()).map_or(longest, |due| due.min(longest));
        }
        poll(&mut polled, longest)
    }

    fn obey(&mut self, order: Order) -> Result<(), LaunchError> {
        match (order, &mut self.host) {
            (Order::Prepare(task), None) => {
                self.host = Some(prepare(*task)?);
                self.link.send(&Event::Ready).map_err(LaunchError::system("talk with the launcher"))?;
            }
            (Order::Start, Some(host)) => host.start()?,
            (Order::Hold(held), _) => self.held = held,
            (Order::Answer, _) => {
                self.link.send(&Event::Answered).map_err(LaunchError::system("talk with the launcher"))?;
            }
            (Order::Finish, None) => {
                self.link.send(&Event::Over).map_err(LaunchError::system("talk with the launcher"))?;
            }
            (order, Some(host)) => host.obey(order),
            (_, None) => {}
        }
        Ok(())
    }

    /// Says what has happened; whether that was the last.
    fn tell(&mut self) -> io::Result<bool> {
        let Some(host) = &mut self.host else { return Ok(false) };
        host.obey(Order::Hold(self.held || self.link.unwritten() > UNWRITTEN_BYTES_MAX));
        let events = host.look(Instant::now()).map_err(io::Error::other)?;
        for event in &events {
            self.link.send(event)?;
        }
        Ok(events.iter().any(|event| matches!(event, Event::Over)))
    }

    /// Ends once all that was said has left, or nobody listens.
    fn say_goodbye(mut self) -> io::Result<()> {
        drop(self.host.take());
        while self.link.unwritten() > 0 {
            self.wait()?;
            self.link.flush()?;
            if !self.link.read()? {
                break;
            }
        }
        Ok(())
    }
}

fn prepare(task: Task) -> Result<Host, LaunchError> {
    let Task { mut spec, ranks, nodes, directory, environment, name, neighbor } = task;
    env::set_current_dir(&directory).map_err(|source| LaunchError::Directory { directory, source })?;
    let listen = match &spec.interface {
        Some(interface) => {
            let address = rwmpi_transport::address_of_interface(interface);
            Some(address.ok_or_else(|| LaunchError::Interface(interface.clone()))?)
        }
        None => address_of_login().or_else(|| neighbor.and_then(|host| address_towards(&host))),
    };
    spec.carried = environment;
    // What the user set comes later, and wins.
    spec.environment.splice(0..0, listen.map(|address| (LISTEN.into(), address.to_string().into())));
    spec.environment.push((HOST.into(), name.unwrap_or_default().into()));
    let reads = ranks.iter().any(|&rank| spec.streams.input.contain(rank)) && spec.output == Output::Forward;
    Host::prepare(spec, ranks, nodes, if reads { RankInputKind::Piped } else { RankInputKind::Nothing })
}

/// The address of this host at which the launcher has reached it by ssh.
fn address_of_login() -> Option<IpAddr> {
    let connection = env::var(LOGIN).ok()?;
    let address: IpAddr = connection.split(' ').nth(2)?.parse().ok()?;
    (!address.is_loopback()).then_some(address)
}

/// The address of this host from which packets to that one leave.
fn address_towards(host: &str) -> Option<IpAddr> {
    let there = (host, 9).to_socket_addrs().ok()?.find(|address| !address.ip().is_loopback())?;
    let any: IpAddr = if there.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // Nothing is sent: this only asks the kernel for the way.
    socket.connect(there).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_loopback())
}
