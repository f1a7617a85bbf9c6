//! What a root tells its ranks of a meeting.

use crate::activity::Call;
use crate::{Communicator, Result};

/// How many ranks of a command were asked for, and how many are started.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanksStarted {
    /// Asked for, if all will do.
    pub asked: usize,
    /// Started.
    pub started: usize,
}

/// What the root tells all.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) is_well: bool,
    pub(crate) ranks: Vec<RanksStarted>,
    /// Where the file is, or what went wrong.
    pub(crate) text: String,
}

pub(crate) fn told_by(over: &Communicator, root: usize, told: Told) -> Result<Told> {
    over.as_part_of(Call::Spawn, |over| tell(over, root, told))
}

fn tell(over: &Communicator, root: usize, told: Told) -> Result<Told> {
    let mut head = [u64::from(told.is_well), told.ranks.len() as u64, told.text.len() as u64];
    over.bcast(&mut head, root)?;
    let mut ranks: Vec<[u64; 2]> = told.ranks.iter().map(|one| [one.asked as u64, one.started as u64]).collect();
    ranks.resize(head[1] as usize, [0; 2]);
    over.bcast(&mut ranks, root)?;
    let mut bytes = told.text.into_bytes();
    bytes.resize(head[2] as usize, 0);
    over.bcast(&mut bytes, root)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let started = |[asked, started]: [u64; 2]| RanksStarted { asked: asked as usize, started: started as usize };
    Ok(Told { is_well: head[0] != 0, ranks: ranks.into_iter().map(started).collect(), text })
}
