//! Where processes that cannot reach each other yet leave each other words: at their launcher, in the language that it
//! speaks.
#![forbid(unsafe_code)]

use crate::descriptor::JOB_FD;
use crate::environment::{self, PARENTS};
use crate::job_error::JobError;
use crate::mappings;
use crate::pmi::{self, PMI_FD, PMI_ID, PMI_NUMBER, PMI_PORT, PMI_SIZE, PMI_SPAWNED, Pmi};
use crate::pmix::{self, Pmix};
use crate::spawning::{self, Command, PARENTS_ELSEWHERE_KEY, Spelling, ToldOfParents};

/// The launcher, as a process speaks with it.
#[derive(Debug)]
pub(crate) enum Board {
    Pmi(Pmi),
    Pmix(Box<Pmix>),
}

/// What a launcher that is not ours says about a process.
#[derive(Debug)]
pub(crate) struct Introduced {
    pub(crate) board: Board,
    pub(crate) me: usize,
    /// For each process of the job a number that those of one node have in common; of others than this process's own it
    /// may be known only that they are not on this node.
    pub(crate) nodes: Vec<usize>,
}

impl Board {
    /// Introduces this process to the launcher that the environment names; `None`: to none that we know how to speak
    /// with.
    pub(crate) fn of_environment() -> Result<Option<Introduced>, JobError> {
        let is_introduced = [PMI_FD, PMI_PORT, pmix::NAMESPACE].into_iter().any(environment::is_set);
        if !is_introduced {
            return Ok(None);
        }
        environment::check_first()?;
        mappings::mark_as_joined();
        let (pmi, me, size) = if let Some(descriptor) = environment::number_of(PMI_FD)? {
            let pmi = Pmi::new(environment::take_connection(PMI_FD, descriptor)?)?;
            (pmi, environment::required(PMI_NUMBER)?, environment::required(PMI_SIZE)?)
        } else if let Some(address) = environment::text_of(PMI_PORT)? {
            Pmi::reach(&address, environment::required(PMI_ID)?)?
        } else {
            return Self::by_pmix().map(Some);
        };
        let mut board = Board::Pmi(pmi);
        let mapping = board.get(0, pmi::PROCESS_MAPPING)?;
        // Without one, nobody is known to share a node.
        let nodes = mapping.and_then(|mapping| pmi::nodes_of(&mapping, size)).unwrap_or_else(|| (0..size).collect());
        if me < size {
            Ok(Some(Introduced { board, me, nodes }))
        } else {
            Err(JobError::NoSuchPeer { me, peers: size })
        }
    }

    fn by_pmix() -> Result<Introduced, JobError> {
        let pmix = Box::new(Pmix::new()?);
        let (me, size) = (pmix.me(), pmix.size()?);
        let here = pmix.here()?.unwrap_or_else(|| vec![me]);
        if here.iter().chain([&me]).any(|&peer| peer >= size) || !here.contains(&me) {
            return Err(JobError::NoSuchPeer { me, peers: size });
        }
        let node_of = |peer| if here.contains(&peer) { here[0] } else { size + peer };
        Ok(Introduced { board: Board::Pmix(pmix), me, nodes: (0..size).map(node_of).collect() })
    }

    /// Leaves a text for the others, who see it after the next [`Board::meet`].
    pub(crate) fn put(&mut self, key: &str, text: &str) -> Result<(), JobError> {
        match self {
            Board::Pmi(pmi) => Ok(pmi.put(key, text)?),
            Board::Pmix(pmix) => Ok(pmix.put(key, text)?),
        }
    }

    /// What process `from` has left under `key`, if anything.
    pub(crate) fn get(&mut self, from: usize, key: &str) -> Result<Option<String>, JobError> {
        match self {
            Board::Pmi(pmi) => Ok(pmi.get(key)?),
            Board::Pmix(pmix) => Ok(pmix.get(from, key)?),
        }
    }

    /// Waits until all processes of the job are here.
    pub(crate) fn meet(&mut self) -> Result<(), JobError> {
        match self {
            Board::Pmi(pmi) => Ok(pmi.meet()?),
            Board::Pmix(pmix) => Ok(pmix.meet()?),
        }
    }

    /// What whoever has had this process's job started has left for it.
    pub(crate) fn left_by_parents(&mut self) -> Result<Option<String>, JobError> {
        match self {
            Board::Pmi(pmi) => {
                let is_ours = environment::is_set(JOB_FD);
                let is_spawned = is_ours || environment::number_of(PMI_SPAWNED)? == Some(1);
                if is_spawned { Ok(pmi.get(PARENTS_ELSEWHERE_KEY)?) } else { Ok(None) }
            }
            // What a spawned process starts inherits it: parents' name space and what they say are for one job.
            Board::Pmix(pmix) => {
                let (Some(parent), Some(left)) = (pmix.parent()?, environment::text_of(PARENTS)?) else {
                    return Ok(None);
                };
                let said = left.strip_prefix(&parent).and_then(|rest| rest.strip_prefix('/'));
                Ok(said.map(str::to_owned))
            }
        }
    }

    /// Has the launcher start further processes, which are told where their parents are.
    pub(crate) fn start_more(&mut self, commands: &[Command], parents: &ToldOfParents) -> Result<(), String> {
        match self {
            Board::Pmi(pmi) => {
                let parents = ToldOfParents { here: None, ..parents.clone() };
                let request = spawning::request(commands, &parents, Spelling::Plain)?;
                pmi.start_more(&request).map_err(|error| error.to_string())?.map(drop)
            }
            Board::Pmix(pmix) => {
                let said = parents.elsewhere.as_deref().ok_or("no port was opened for the new processes")?;
                // It has a secret, but only this user can read an environment; what PMIx needs to know is there, too.
                let setting = format!("{PARENTS}={}/{said}", pmix.namespace());
                pmix.spawn(commands, &setting).map_err(|error| error.to_string())
            }
        }
    }

    /// Says that this process ends in good order. Whoever does not hear it any more does not mind.
    pub(crate) fn finish(&mut self) {
        match self {
            Board::Pmi(pmi) => _ = pmi.finish(),
            Board::Pmix(pmix) => pmix.finish(),
        }
    }

    /// Has the launcher end the job.
    pub(crate) fn abort(&mut self, code: i32) {
        match self {
            Board::Pmi(pmi) => pmi.abort(code),
            Board::Pmix(pmix) => pmix.abort(code),
        }
    }
}
