//! A file that processes of several jobs have in common: of the one that starts another, and of the one that is
//! started.
//!
//! It is laid out like that of a job, for the members of both. One process makes it and says where it has it; the
//! others open it there, under `/proc`. It has no name, so nothing stays behind. Whoever can open it could read that
//! process's memory as well: the kernel asks for the same rights.
#![forbid(unsafe_code)]

use rustix::fs::OFlags;

use crate::board::Board;
use crate::descriptor::{HandedDown, handed_down};
use crate::environment::{self, CONNECTION_FD, PARENTS};
use crate::job::{Job, JobShape};
use crate::job_error::JobError;
use crate::node::NodeFabric;
use crate::pmi::Pmi;
use crate::spawning::PARENTS_ASKED_FOR;

/// Most bytes of each member's heap: a process can have many such files mapped at a time.
const HEAP: usize = 16 << 30;

/// Such a file.
pub struct Joint {
    job: Job,
}

impl Joint {
    /// Makes one for so many members.
    ///
    /// # Errors
    /// As for [`Job::create`].
    pub fn create(members: usize) -> Result<Joint, JobError> {
        let job = Job::create_shaped(&JobShape { heap_limit: HEAP, ..JobShape::of(members) }, None)?;
        Ok(Joint { job })
    }

    /// Where others find it, as long as this is there or a fabric that came of it: a word without spaces.
    ///
    /// # Errors
    /// What the system says.
    pub fn description(&self) -> Result<String, JobError> {
        handed_down(self.job.as_fd()).map_err(|source| JobError::Create { what: "describe", source })
    }

    /// The one that another process has made and described.
    ///
    /// # Errors
    /// If it is not there, or something else is.
    pub fn open(description: &str) -> Result<Joint, JobError> {
        let said = HandedDown::parse(description).ok_or(JobError::NotAJob("it is not described as one"))?;
        let opened = said.take(OFlags::RDWR);
        let file = opened.map_err(|source| JobError::Create { what: "open that of another process", source })?;
        Ok(Joint { job: Job::open(file)? })
    }

    /// How many members it is for.
    pub fn members(&self) -> usize {
        self.job.peers()
    }

    /// Takes the place of that member. Returns when all have taken theirs.
    ///
    /// # Errors
    /// As for [`NodeFabric::attach`].
    pub fn attach(&self, member: usize) -> Result<NodeFabric, JobError> {
        NodeFabric::attach(&self.job, member)
    }

    /// The same, as long as the members that have not come are `expected`.
    ///
    /// # Errors
    /// As for [`Joint::attach`], or if they are no longer; then nobody waits for them any more.
    pub fn attach_while(&self, member: usize, expected: &dyn Fn() -> bool) -> Result<NodeFabric, JobError> {
        NodeFabric::attach_while(&self.job, member, expected)
    }

    /// Nobody waits for members any more: some will not come.
    pub fn give_up(&self, why: &str) {
        self.job.set_aborted(1, why);
    }
}

/// Who has had this process's job started.
pub struct Parents {
    /// Where they are.
    pub place: WhereParents,
    /// How many they are: they come first, where both are together.
    pub number: usize,
}

/// Where those are who have had a job started.
pub enum WhereParents {
    /// On this machine, in a file that they have in common with this job.
    Here(Joint),
    /// Anywhere, with a port of that name, at which they wait for this job.
    AtPort(String),
}

impl Parents {
    /// What whoever starts processes for these parents says to them, for [`PARENTS`]; `place`: the file's description,
    /// or the port's name.
    pub fn said(number: usize, place: &str) -> String {
        format!("{number}/{place}")
    }

    /// Those that the environment names; `None`: this process's job was started by nobody of another one. If they are
    /// elsewhere, our launcher is asked where, and keeps that out of the environment.
    ///
    /// # Errors
    /// If the environment makes no sense, or they are gone.
    pub(crate) fn from_environment(size: usize) -> Result<Option<Parents>, JobError> {
        // What another library spawns has none that this one could find.
        let Some(text) = environment::text_of(PARENTS)?.filter(|text| !text.is_empty()) else { return Ok(None) };
        if text == PARENTS_ASKED_FOR {
            let what = "mpiexec does not say where they are".to_owned();
            let silent = JobError::Environment { name: PARENTS, what };
            let Some(connection) = environment::take(CONNECTION_FD, OFlags::RDWR)? else { return Err(silent) };
            return Self::left_with(&mut Board::Pmi(Pmi::new(connection)?))?.map_or(Err(silent), |left| Ok(Some(left)));
        }
        let (number, place) = split(&text)?;
        let joint = Joint::open(place)?;
        if number.checked_add(size) != Some(joint.members()) {
            return Err(nonsense(&text));
        }
        Ok(Some(Parents { place: WhereParents::Here(joint), number }))
    }

    /// Those that have left word with the launcher.
    ///
    /// # Errors
    /// If the launcher is gone, or the word makes no sense.
    pub(crate) fn left_with(board: &mut Board) -> Result<Option<Parents>, JobError> {
        let Some(said) = board.left_by_parents()? else { return Ok(None) };
        let (number, place) = split(&said)?;
        Ok(Some(Parents { place: WhereParents::AtPort(place.to_owned()), number }))
    }
}

fn nonsense(said: &str) -> JobError {
    JobError::Environment { name: PARENTS, what: format!("{said:?} is not from this mpiexec") }
}

/// How many parents there are, and where.
fn split(said: &str) -> Result<(usize, &str), JobError> {
    let (number, place) = said.split_once('/').ok_or_else(|| nonsense(said))?;
    let number = number.parse().ok().filter(|&number| number > 0);
    Ok((number.ok_or_else(|| nonsense(said))?, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fabric;

    #[test]
    fn members_meet_in_what_was_described() {
        let joint = Joint::create(2).unwrap();
        let description = joint.description().unwrap();
        let fabrics = std::thread::scope(|scope| {
            let other = scope.spawn(|| Joint::open(&description).unwrap().attach(1).unwrap());
            [joint.attach(0).unwrap(), other.join().unwrap()]
        });
        assert_eq!(fabrics.each_ref().map(|fabric| (fabric.me(), fabric.peers())), [(0, 2), (1, 2)]);
    }

    #[test]
    fn nothing_else_is_taken_for_one() {
        for text in ["", "nonsense", "999999:1:1:1"] {
            assert!(Joint::open(text).is_err(), "{text}");
        }
        let file = rustix::fs::memfd_create("another", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        use std::os::fd::AsFd;
        let said = handed_down(file.as_fd()).unwrap();
        assert!(matches!(Joint::open(&said), Err(JobError::NotAJob(_))));
    }

    #[test]
    fn nobody_waits_for_members_that_are_no_longer_expected() {
        let joint = Joint::create(3).unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| joint.attach(1).err());
            let looks = std::cell::Cell::new(0);
            let expected = || looks.replace(looks.get() + 1) < 2;
            assert!(matches!(joint.attach_while(0, &expected), Err(JobError::OthersGone)));
            assert!(matches!(other.join().unwrap(), Some(JobError::Aborted)));
        });
    }

    #[test]
    fn members_that_have_come_may_go() {
        let joint = Joint::create(2).unwrap();
        let fabrics = std::thread::scope(|scope| {
            let other = scope.spawn(|| joint.attach(1).unwrap());
            let expected = || !other.is_finished();
            [joint.attach_while(0, &expected).unwrap(), other.join().unwrap()]
        });
        assert_eq!(fabrics[0].peers(), 2);
    }

    #[test]
    fn who_waits_for_members_that_do_not_come_is_told() {
        let joint = Joint::create(2).unwrap();
        joint.give_up("the program is not there");
        assert!(matches!(joint.attach(0), Err(JobError::Aborted)));
    }
}
