//! Starting further ranks (MPI-5.0 section 11.8).
//!
//! The root of those who spawn makes a file for them and for the ranks to come, asks the launcher to start these, and
//! tells the others where the file is. All take their places there, which gives each a further engine
//! (`process/company`); the intercommunicator is the first communicator of it.

use rwmpi_transport::{Joint, Parents, spawning};

use crate::activity::{Call, Target};
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Info, Result, Universe};

/// A program to be spawned as several ranks.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Command {
    /// Its name.
    pub program: String,
    /// Its arguments, without the name.
    pub arguments: Vec<String>,
    /// How many ranks.
    pub ranks: usize,
    /// Hints: `wdir`, `path`, `host`.
    pub info: Info,
}

impl Command {
    /// As the launcher is told. Without a hint the working directory is that of the root.
    fn told(self) -> Result<spawning::Command> {
        let mut hints = Vec::new();
        for place in 0..self.info.len() {
            let key = self.info.key(place)?;
            hints.push((key.to_owned(), self.info.get(key)?.unwrap_or_default().to_owned()));
        }
        if let (None, Ok(here)) = (self.info.get("wdir")?, std::env::current_dir()) {
            hints.push(("wdir".to_owned(), here.to_string_lossy().into_owned()));
        }
        Ok(spawning::Command { program: self.program, arguments: self.arguments, processes: self.ranks, hints })
    }
}

fn failed(over: &Communicator, why: impl std::fmt::Display) -> Error {
    Error::argument(ErrorClass::Spawn, over, Call::Spawn, format!("no ranks were spawned: {why}"))
}

/// What the root has done before the others know.
struct Started {
    joint: Joint,
    description: String,
}

impl Universe {
    /// Has these programs started as the ranks of a job of their own, and gives the intercommunicator of the callers
    /// and these (MPI_Comm_spawn_multiple). Collective over `over`; what is to be started is the root's to say, or why
    /// it can't say so.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root, or the programs can't be started.
    #[doc(hidden)]
    pub fn spawn(&self, over: &Communicator, root: usize, commands: Result<Vec<Command>>) -> Result<Communicator> {
        drop(over.process().enter(Call::Spawn, Target::NONE, over.context(), 0));
        if over.is_inter() {
            let what = "ranks are spawned over an intracommunicator".to_owned();
            return Err(Error::argument(ErrorClass::Communicator, over, Call::Spawn, what));
        }
        if root >= over.size() {
            let what = format!("root {root} is out of range; the ranks are 0 to {}", over.size() - 1);
            return Err(Error::argument(ErrorClass::Root, over, Call::Spawn, what));
        }
        if over.rank() != root {
            let (has_started, text) = told_by(over, root, None)?;
            let joint = if has_started { Ok(text) } else { Err(failed(over, text)) };
            return self.meet_children(over, Joint::open(&joint?).map_err(|error| error.to_string()));
        }
        match commands.and_then(|commands| self.start_children(over, commands)) {
            Ok(Started { joint, description }) => {
                told_by(over, root, Some((true, description)))?;
                self.meet_children(over, Ok(joint))
            }
            Err(error) => {
                told_by(over, root, Some((false, error.to_string())))?;
                Err(error)
            }
        }
    }

    /// What the root does alone.
    fn start_children(&self, over: &Communicator, commands: Vec<Command>) -> Result<Started> {
        let ranks = commands.iter().try_fold(0_usize, |sum, command| sum.checked_add(command.ranks));
        let members = ranks.filter(|&ranks| ranks > 0).and_then(|ranks| ranks.checked_add(over.size()));
        let members = members.ok_or_else(|| failed(over, "at least one rank has to be asked for"))?;
        let commands = commands.into_iter().map(Command::told).collect::<Result<Vec<_>>>()?;
        let joint = Joint::create(members).map_err(|error| failed(over, error))?;
        let description = joint.description().map_err(|error| failed(over, error))?;
        let parents = Parents::said(over.size(), &description);
        self.start_more(&commands, &parents).map_err(|why| failed(over, why))?;
        Ok(Started { joint, description })
    }

    /// The intercommunicator with those who have been started, who are on their way.
    fn meet_children(&self, over: &Communicator, joint: std::result::Result<Joint, String>) -> Result<Communicator> {
        let have_all = over.allreduce_value(joint.is_ok(), |one, other| *one && *other)?;
        let joint = joint.map_err(|why| failed(over, why))?;
        if !have_all {
            let why = "one of those who spawn could not open the file that they have in common with the spawned";
            joint.give_up(why);
            return Err(failed(over, why));
        }
        let fabric = joint.attach(over.rank()).map_err(|error| failed(over, error))?;
        Ok(Communicator::across(self.world().process().join(fabric, self.protocol()), over.size()))
    }

    /// The intercommunicator with those who have had this job started. Collective over the world.
    pub(crate) fn meet_parents(&self, parents: &Parents) -> Result<Communicator> {
        let fabric = parents.joint.attach(parents.number + self.world().rank()).map_err(crate::universe::refused)?;
        let parents = Communicator::across(self.world().process().join(fabric, self.protocol()), parents.number);
        parents.set_name("MPI_COMM_PARENT");
        Ok(parents)
    }
}

/// What the root tells all: whether all went well, and a text.
fn told_by(over: &Communicator, root: usize, told: Option<(bool, String)>) -> Result<(bool, String)> {
    let (is_well, text) = told.unwrap_or_default();
    let mut head = [u64::from(is_well), text.len() as u64];
    over.bcast(&mut head, root)?;
    let mut bytes = text.into_bytes();
    bytes.resize(head[1] as usize, 0);
    over.bcast(&mut bytes, root)?;
    Ok((head[0] != 0, String::from_utf8_lossy(&bytes).into_owned()))
}
