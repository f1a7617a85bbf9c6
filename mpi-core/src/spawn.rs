//! Starting further ranks (MPI-5.0 section 11.8).
//!
//! The root of those who spawn makes a file for them and for the ranks to come, asks the launcher to start these, and
//! tells the others where the file is. All take their places there, which gives each a further engine
//! (`process/company`); the intercommunicator is the first communicator of it. If they may be on several machines, the
//! root opens a port besides, and if the launcher says so, both sides meet there as two jobs do (`ports`).

use rwmpi_transport::port::{Port, PortPlace};
use rwmpi_transport::spawning::{self, ToldOfParents};
use rwmpi_transport::{HOST, JobFabric, Joint, Parents, WhereParents};

use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::meeting::Place;
use crate::meeting::apart::APART;
use crate::meeting::told::{RanksStarted, Told, told_by};
use crate::ports::Side;
use crate::{Command, Communicator, Result, Universe};

fn failed(over: &Communicator, why: impl std::fmt::Display) -> Error {
    Error::argument(ErrorClass::Spawn, over, Call::Spawn, format!("no ranks were spawned: {why}"))
}

/// Where those come who were started.
enum Started {
    /// To a file of this machine.
    Here { joint: Joint, description: String },
    /// To a port of the root's.
    AtPort(Port),
}

impl Started {
    /// What the root tells the others.
    fn told(&self) -> String {
        match self {
            Started::Here { description, .. } => description.clone(),
            Started::AtPort(_) => APART.to_owned(),
        }
    }
}

impl Universe {
    /// Has these programs started as the ranks of a job of their own, and gives the intercommunicator of the callers
    /// and these (MPI_Comm_spawn_multiple). Collective over `over`; what is to be started is the root's to say, or why
    /// it can't say so. `ranks` gets to know how many ranks of each were asked for and started, wherever that is known.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root, or the programs can't be started.
    #[doc(hidden)]
    pub fn spawn(
        &self,
        over: &Communicator,
        root: usize,
        commands: Result<Vec<Command>>,
        ranks: &mut Vec<RanksStarted>,
    ) -> Result<Communicator> {
        over.begin_meeting(Call::Spawn, root)?;
        let place = |_| Place { number: over.rank(), first: over.size() };
        if over.rank() != root {
            let told = told_by(over, root, Told::default())?;
            ranks.clone_from(&told.ranks);
            if !told.is_well {
                return Err(failed(over, told.text));
            }
            if told.text == APART {
                return self.come_together(over, root, Side::SPAWNING, || Err(failed(over, "this is not the root")));
            }
            let opened = Joint::open(&told.text).map_err(|error| error.to_string());
            return over.meet_in(opened, place, ErrorClass::Spawn, &|| true);
        }
        let asked = |command: &Command| RanksStarted { asked: command.asked(), started: 0 };
        *ranks = commands.iter().flatten().map(asked).collect();
        let started = commands.and_then(|commands| self.start_children(over, commands, ranks));
        let text = started.as_ref().map_or_else(Error::to_string, Started::told);
        told_by(over, root, Told { is_well: started.is_ok(), ranks: ranks.clone(), text })?;
        match started? {
            Started::Here { joint, .. } => {
                over.meet_in(Ok(joint), place, ErrorClass::Spawn, &|| !self.has_launcher_ended())
            }
            Started::AtPort(mut port) => {
                self.come_together(over, root, Side::SPAWNING, || self.await_caller(over, || port.caller()))
            }
        }
    }

    /// What the root does alone.
    fn start_children(
        &self,
        over: &Communicator,
        commands: Vec<Command>,
        ranks: &mut [RanksStarted],
    ) -> Result<Started> {
        let commands = commands.into_iter().map(Command::told).collect::<Result<Vec<_>>>()?;
        let sum = commands.iter().try_fold(0_usize, |sum, command| sum.checked_add(command.processes));
        let members = sum.filter(|&sum| sum > 0).and_then(|sum| sum.checked_add(over.size()));
        let members = members.ok_or_else(|| failed(over, "at least one rank has to be asked for"))?;
        let together = over.is_on_one_machine();
        let here = if together { Some(Joint::create(members).map_err(|error| failed(over, error))?) } else { None };
        let description = here.as_ref().map(Joint::description).transpose().map_err(|error| failed(over, error))?;
        let port = match !together || self.has_launcher_of_others() || may_be_elsewhere(&commands) {
            true => Some(Port::open(PortPlace::default()).map_err(|error| failed(over, error))?),
            false => None,
        };
        let said = |place: &str| Parents::said(over.size(), place);
        let (here_said, port_said) = (description.as_deref().map(said), port.as_ref().map(|port| said(port.name())));
        let parents = ToldOfParents { here: here_said, elsewhere: port_said };
        let is_elsewhere = self.start_more(&commands, &parents).map_err(|why| failed(over, why))?;
        ranks.iter_mut().zip(&commands).for_each(|(ranks, command)| ranks.started = command.processes);
        match (is_elsewhere, here.zip(description), port) {
            (false, Some((joint, description)), _) => Ok(Started::Here { joint, description }),
            (true, _, Some(port)) => Ok(Started::AtPort(port)),
            _ => Err(failed(over, "mpiexec has not understood where the parents are")),
        }
    }

    /// The intercommunicator with those who have had this job started. Collective over the world.
    pub(crate) fn meet_parents(&self, parents: &Parents) -> Result<Communicator> {
        let world = self.world();
        let parents = match &parents.place {
            WhereParents::Here(joint) => {
                let fabric = joint.attach(parents.number + world.rank()).map_err(crate::universe::refused)?;
                let numbers = world.group().numbers_in_file(joint.members(), parents.number);
                Communicator::across(world.process().join(JobFabric::Node(fabric), numbers), parents.number)
            }
            WhereParents::AtPort(name) => self.connect(world, 0, Ok(name.clone()), None)?,
        };
        parents.set_name("MPI_COMM_PARENT");
        Ok(parents)
    }
}

/// Whether the launcher may start these on other machines: on hosts that they name, or on those of the job.
fn may_be_elsewhere(commands: &[spawning::Command]) -> bool {
    commands.iter().any(|command| spawning::hosts(&command.hints).is_some()) || std::env::var_os(HOST).is_some()
}
