//! Ports: how ranks of jobs that know nothing of each other come together (MPI-5.0 section 11.9).
//!
//! The roots of both sides find each other through the port. If all members of both are on one machine, they agree on a
//! file that all have in common; else all say where they are (`meeting`). From there on it goes as with ranks
//! that were spawned (`spawn`). While a root waits for the other one it makes progress, as everybody else does who
//! waits for the root.

use std::io;
use std::time::{Duration, Instant};

use rwmpi_transport::port::{self, Call as Ringing, Caller, Line, Port, PortPlace};
use rwmpi_transport::{Backoff, Joint, PublishedName, look_up};

use crate::activity::{Call, Target};
use crate::error::{Error, ErrorClass};
use crate::meeting::Place;
use crate::meeting::apart::{APART, ApartSide};
use crate::meeting::told::{Told, told_by};
use crate::{Communicator, Result, Universe};

/// Why a port can't be used that others have, or nobody.
const NOT_OPENED: &str = "this process has opened no port with that name";

fn refused(over: &Communicator, why: impl std::fmt::Display) -> Error {
    Error::argument(ErrorClass::Port, over, Call::Meet, why.to_string())
}

/// Which of both sides a communicator is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// Whether it accepts: then its ranks are the first ones of both.
    accepts: bool,
    /// Of errors.
    class: ErrorClass,
}

impl Side {
    const ACCEPTING: Side = Side { accepts: true, class: ErrorClass::Port };
    const CONNECTING: Side = Side { accepts: false, class: ErrorClass::Port };
    /// That which has had the other one started.
    pub(crate) const SPAWNING: Side = Side { accepts: true, class: ErrorClass::Spawn };
}

/// How a root comes to the meeting, with the line to that of the other side, which is cut when its job ends.
pub(crate) struct Meeting {
    /// The file that all have in common, and where it is; `None`: they are not all on one machine.
    file: Option<(Joint, String)>,
    line: Line,
}

/// What an accepting root says to one that it meets like that, and of how many it speaks.
fn apart(members: usize) -> String {
    format!("{APART} {members}")
}

/// The number in what [`apart`] has said.
fn members_apart(said: &str) -> Option<usize> {
    said.strip_prefix(APART)?.trim().parse().ok()
}

impl Universe {
    /// Opens a port, at which ranks of this process can be reached (MPI_Open_port). Gives its name: whoever has that is
    /// let in; on this machine, if it is the same user's.
    ///
    /// # Errors
    /// If the system has no sockets, or none at that place.
    #[doc(hidden)]
    pub fn open_port(&self, place: PortPlace) -> Result<String> {
        let failed = |error| Error::new(ErrorClass::Port, format!("can't open a port: {error}"));
        let opened = Port::open(place).map_err(failed)?;
        let name = opened.name().to_owned();
        self.ports.borrow_mut().push(opened);
        Ok(name)
    }

    /// Closes a port (MPI_Close_port).
    ///
    /// # Errors
    /// If this process has opened none with that name.
    #[doc(hidden)]
    pub fn close_port(&self, name: &str) -> Result<()> {
        let mut ports = self.ports.borrow_mut();
        let place = ports
            .iter()
            .position(|port| port.name() == name)
            .ok_or_else(|| Error::new(ErrorClass::Port, NOT_OPENED))?;
        drop(ports.swap_remove(place));
        Ok(())
    }

    /// Waits for ranks that connect to that port, and gives the intercommunicator with them (MPI_Comm_accept).
    /// Collective over `over`; the name matters at the root only.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root, or the root has not opened that port.
    #[doc(hidden)]
    pub fn accept(&self, over: &Communicator, root: usize, name: Result<String>) -> Result<Communicator> {
        let next = |name: &str| {
            let mut ports = self.ports.borrow_mut();
            let port = ports.iter_mut().find(|port| port.name() == name);
            port.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, NOT_OPENED))?.caller()
        };
        let met = |name: String| self.await_caller(over, || next(&name));
        self.come_together(over, root, Side::ACCEPTING, || name.and_then(met))
    }

    /// Connects to a port, and gives the intercommunicator with those who accept (MPI_Comm_connect). Collective over
    /// `over`; name and limit matter at the root only.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root or no such port, or nobody has accepted within that time.
    #[doc(hidden)]
    pub fn connect(
        &self,
        over: &Communicator,
        root: usize,
        name: Result<String>,
        limit: Option<Duration>,
    ) -> Result<Communicator> {
        let met = |name: String| call(over, &name, limit);
        self.come_together(over, root, Side::CONNECTING, || name.and_then(met))
    }

    /// The root meets the other side, and tells the others where. Those who accept are the first ones there.
    pub(crate) fn come_together(
        &self,
        over: &Communicator,
        root: usize,
        side: Side,
        meet: impl FnOnce() -> Result<Meeting>,
    ) -> Result<Communicator> {
        over.begin_meeting(Call::Meet, root)?;
        if over.rank() != root {
            let told = told_by(over, root, Told::default())?;
            if !told.is_well {
                return Err(Error::argument(side.class, over, Call::Meet, told.text));
            }
            return match &*told.text {
                APART => over.meet_apart(side.apart(root), None),
                place => over.meet_at(side, Joint::open(place).map_err(|error| error.to_string()), &|| true),
            };
        }
        let met = meet();
        let text = match &met {
            Ok(Meeting { file, .. }) => file.as_ref().map_or(APART, |(_, description)| description).to_owned(),
            Err(error) => error.to_string(),
        };
        told_by(over, root, Told { is_well: met.is_ok(), ranks: Vec::new(), text })?;
        let Meeting { file, mut line } = met?;
        match file {
            // If the other job ends before all have come, its root does, and this one tells the others here.
            Some((joint, _)) => over.meet_at(side, Ok(joint), &|| line.is_there()),
            None => {
                let secret = line.secret().clone();
                over.meet_apart(side.apart(root), Some((secret, &mut |text| exchange(over, &mut line, text))))
            }
        }
    }

    /// At the root of those who accept: where it meets the next caller that really comes, of those that `next` gives.
    pub(crate) fn await_caller(
        &self,
        over: &Communicator,
        mut next: impl FnMut() -> io::Result<Option<Caller>>,
    ) -> Result<Meeting> {
        let failed = |error: io::Error| refused(over, error);
        loop {
            let caller = look_until(over, None, &mut next)?.map_err(failed)?;
            let Some(Caller { mut line, members, is_here }) = caller else { continue };
            let file = match is_here && over.is_on_one_machine() {
                true => Some(make_file(over, members)?),
                false => None,
            };
            let place = file.as_ref().map_or_else(|| apart(over.size()), |(_, description)| description.clone());
            if line.say(&place).is_ok() && look_until(over, None, || line.hear())?.is_ok() {
                return Ok(Meeting { file, line });
            }
        }
    }

    /// Publishes a port's name (MPI_Publish_name), for all jobs of this user on this machine, until this process ends.
    ///
    /// # Errors
    /// If the service is published already, or its name can't be.
    #[doc(alias = "MPI_Publish_name")]
    #[doc = example!(1
        "let service = format!(\"an example of {}\", std::process::id());"
        "universe.publish(&service, \"where to find it\")?;"
        "assert_eq!(universe.look_up(&service)?, \"where to find it\");"
        "universe.unpublish(&service)?;"
        "assert!(universe.look_up(&service).is_err());"
    )]
    pub fn publish(&self, service: &str, name: &str) -> Result<()> {
        let published = PublishedName::new(service, name).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::new(ErrorClass::Service, format!("the service {service:?} is published already"))
            }
            _ => Error::new(ErrorClass::Service, format!("can't publish the service {service:?}: {error}")),
        })?;
        self.published.borrow_mut().push(published);
        Ok(())
    }

    /// Takes a published name back (MPI_Unpublish_name).
    ///
    /// # Errors
    /// If this process has not published it.
    #[doc(alias = "MPI_Unpublish_name")]
    pub fn unpublish(&self, service: &str) -> Result<()> {
        let mut published = self.published.borrow_mut();
        let place = published.iter().position(|one| one.name() == service).ok_or_else(|| {
            let what = format!("this process has not published the service {service:?}");
            Error::new(ErrorClass::Service, what)
        })?;
        drop(published.swap_remove(place));
        Ok(())
    }

    /// The name of the port that is published for a service (MPI_Lookup_name).
    ///
    /// # Errors
    /// If none is.
    #[doc(alias = "MPI_Lookup_name")]
    pub fn look_up(&self, service: &str) -> Result<String> {
        look_up(service).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "no process of this user on this machine has published it".to_owned(),
                _ => error.to_string(),
            };
            Error::new(ErrorClass::Name, format!("there is no service {service:?}: {why}"))
        })
    }

    /// Gives the intercommunicator with the rank at the other end of a connected socket (MPI_Comm_join), which is read
    /// and written to the end of one exchange.
    ///
    /// # Errors
    /// If nobody there does the same.
    #[doc(hidden)]
    pub fn join(&self, socket: i32) -> Result<Communicator> {
        let own = self.open_port(PortPlace::default())?;
        let other = port::exchange_names(socket, &own);
        let met = match other {
            Err(error) => Err(refused(self.this_rank(), format!("the socket is of no use: {error}"))),
            // Whose name comes first accepts.
            Ok(other) if own < other => self.accept(self.this_rank(), 0, Ok(own.clone())),
            Ok(other) => self.connect(self.this_rank(), 0, Ok(other), None),
        };
        self.close_port(&own)?;
        met
    }
}

/// At the root of those who connect: where whoever accepts wants to meet.
fn call(over: &Communicator, name: &str, limit: Option<Duration>) -> Result<Meeting> {
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => refused(over, error),
        _ => refused(over, format!("whoever had opened the port has closed it: {error}")),
    };
    let late = || refused(over, "nobody has accepted in time (info key timeout)");
    let together = over.is_on_one_machine();
    let ringing = look_until(over, until, || Ringing::new(name, over.size(), together))?.map_err(failed)?;
    let mut ringing = ringing.ok_or_else(late)?;
    let mut line = look_until(over, until, || ringing.line())?.map_err(failed)?.ok_or_else(late)?;
    let place = look_until(over, until, || line.hear())?.map_err(failed)?.ok_or_else(late)?;
    // From here on the other side counts on this one.
    line.say("").map_err(failed)?;
    let file = match members_apart(&place) {
        Some(members) => {
            line.expect_of(members);
            None
        }
        None => Some((Joint::open(&place).map_err(|error| refused(over, error))?, place)),
    };
    Ok(Meeting { file, line })
}

/// A file for the ranks of a communicator and so many others, and where it is.
fn make_file(over: &Communicator, others: usize) -> Result<(Joint, String)> {
    let joint = Joint::create(others.saturating_add(over.size())).map_err(|error| refused(over, error))?;
    let description = joint.description().map_err(|error| refused(over, error))?;
    Ok((joint, description))
}

/// Says something to the root of the other side, and gives what that says.
fn exchange(over: &Communicator, line: &mut Line, text: &str) -> std::result::Result<String, String> {
    let gone = |error: io::Error| format!("the other job has ended before all of its ranks had come ({error})");
    line.say(text).map_err(gone)?;
    let heard = look_until(over, None, || line.hear()).map_err(|error| error.to_string())?;
    heard.map_err(gone)?.ok_or_else(|| "the other job has said nothing".to_owned())
}

impl Side {
    fn apart(self, root: usize) -> ApartSide {
        ApartSide { is_first: self.accepts, root, class: self.class }
    }
}

/// Looks until there is something, which comes from elsewhere than the engine, or until that time; meanwhile makes
/// progress.
fn look_until<R>(
    over: &Communicator,
    until: Option<Instant>,
    mut look: impl FnMut() -> io::Result<Option<R>>,
) -> Result<io::Result<Option<R>>> {
    let process = over.process();
    let mut backoff = Backoff::default();
    loop {
        match look() {
            Ok(None) => {}
            found => return Ok(found),
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            return Ok(Ok(None));
        }
        if process.progress_all().map_err(over.failed(Call::Meet))? {
            backoff.reset();
        }
        process.stand_by_awake(&mut backoff).map_err(over.failed(Call::Meet))?;
    }
}

impl Communicator {
    /// The intercommunicator with those who come to that file, too, as long as they are `expected`.
    fn meet_at(
        &self,
        side: Side,
        opened: std::result::Result<Joint, String>,
        expected: &dyn Fn() -> bool,
    ) -> Result<Communicator> {
        let place = |members: usize| match members.saturating_sub(self.size()) {
            _ if side.accepts => Place { number: self.rank(), first: self.size() },
            first => Place { number: first + self.rank(), first },
        };
        self.meet_in(opened, place, side.class, expected)
    }

    /// Begins a call by which these ranks come together with others.
    pub(crate) fn begin_meeting(&self, call: Call, root: usize) -> Result<()> {
        drop(self.process().enter(call, Target::NONE, self.context(), 0));
        if self.is_inter() {
            let what = "only ranks of an intracommunicator can come together with others".to_owned();
            return Err(Error::argument(ErrorClass::Communicator, self, call, what));
        }
        if root >= self.size() {
            let what = format!("root {root} is out of range; the ranks are 0 to {}", self.size() - 1);
            return Err(Error::argument(ErrorClass::Root, self, call, what));
        }
        Ok(())
    }
}
