//! Starting further ranks (MPI-5.0 section 11.8).
//!
//! The root of those who spawn makes a file for them and for the ranks to come, asks the launcher to start these, and
//! tells the others where the file is. All take their places there, which gives each a further engine
//! (`process/company`); the intercommunicator is the first communicator of it.

use rwmpi_transport::{Joint, Parents, spawning};

use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::group::Numbers;
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
    /// it can't say so. `ranks` gets to know how many ranks were asked for, wherever that is known.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root, or the programs can't be started.
    #[doc(hidden)]
    pub fn spawn(
        &self,
        over: &Communicator,
        root: usize,
        commands: Result<Vec<Command>>,
        ranks: &mut usize,
    ) -> Result<Communicator> {
        over.begin_meeting(Call::Spawn, root)?;
        let place = |_| Place { number: over.rank(), first: over.size() };
        if over.rank() != root {
            let told = told_by(over, root, Told::default())?;
            *ranks = told.ranks;
            if !told.is_well {
                return Err(failed(over, told.text));
            }
            let opened = Joint::open(&told.text).map_err(|error| error.to_string());
            return over.meet_in(opened, place, ErrorClass::Spawn);
        }
        *ranks = commands.iter().flatten().map(|command| command.ranks).fold(0, usize::saturating_add);
        match commands.and_then(|commands| self.start_children(over, commands)) {
            Ok(Started { joint, description }) => {
                told_by(over, root, Told { is_well: true, ranks: *ranks, text: description })?;
                over.meet_in(Ok(joint), place, ErrorClass::Spawn)
            }
            Err(error) => {
                told_by(over, root, Told { is_well: false, ranks: *ranks, text: error.to_string() })?;
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

    /// The intercommunicator with those who have had this job started. Collective over the world.
    pub(crate) fn meet_parents(&self, parents: &Parents) -> Result<Communicator> {
        let fabric = parents.joint.attach(parents.number + self.world().rank()).map_err(crate::universe::refused)?;
        let numbers = Numbers::new(parents.joint.members(), parents.number, self.world().group());
        let parents = Communicator::across(self.world().process().join(fabric, numbers), parents.number);
        parents.set_name("MPI_COMM_PARENT");
        Ok(parents)
    }
}

impl Communicator {
    /// The intercommunicator with those who have that file, too, or are on their way there. `place` says which place is
    /// this rank's in a file for so many.
    pub(crate) fn meet_in(
        &self,
        joint: std::result::Result<Joint, String>,
        place: impl FnOnce(usize) -> Place,
        class: ErrorClass,
    ) -> Result<Communicator> {
        let failed = |why: String| Error::argument(class, self, Call::Meet, why);
        let have_all = self.allreduce_value(joint.is_ok(), |one, other| *one && *other)?;
        let joint = joint.map_err(failed)?;
        if !have_all {
            let why = "one of these ranks can't open the file that they were to have in common with others";
            joint.give_up(why);
            return Err(failed(why.to_owned()));
        }
        let Place { number, first } = place(joint.members());
        let fabric = joint.attach(number).map_err(|error| failed(error.to_string()))?;
        let numbers = Numbers::new(joint.members(), number - self.rank(), self.group());
        Ok(Communicator::across(self.process().join(fabric, numbers), first))
    }
}

/// A rank's place in a file for the ranks of two jobs.
pub(crate) struct Place {
    pub(crate) number: usize,
    /// The number of the first rank of the second job.
    pub(crate) first: usize,
}

/// What the root tells all.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) is_well: bool,
    /// How many ranks were asked for.
    pub(crate) ranks: usize,
    /// Where the file is, or what went wrong.
    pub(crate) text: String,
}

pub(crate) fn told_by(over: &Communicator, root: usize, told: Told) -> Result<Told> {
    let mut head = [u64::from(told.is_well), told.ranks as u64, told.text.len() as u64];
    over.bcast(&mut head, root)?;
    let mut bytes = told.text.into_bytes();
    bytes.resize(head[2] as usize, 0);
    over.bcast(&mut bytes, root)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Told { is_well: head[0] != 0, ranks: head[1] as usize, text })
}
