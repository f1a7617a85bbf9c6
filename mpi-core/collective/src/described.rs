//! A collective of one group, described once for everybody who calls it: C and Fortran, typed buffers and values of
//! Rust, whether the caller waits for it or goes on.
//!
//! A description holds where a rank's bytes are and where those go that it gets. By slots it is two steps, and each is
//! done once: this rank *posts* what it gives, and *reads* what others have posted. For a caller that waits, one step
//! follows the other; otherwise the second is done when the others have posted (`slots/nonblocking.rs`). What slots
//! have no room for goes another way, which is the same for all callers.

use rwmpi_transport::ReadSpan;

use crate::activity::Call;
use crate::select::Collective;
use crate::slots::{Epoch, Slots};
use crate::team::{Team, Trouble};
use crate::told::Told;
use crate::{Mark, Outcome};

/// A collective of one group, with this rank's data.
pub trait Described {
    /// The call that it is.
    const CALL: Call;

    /// How many bytes this rank gives: for those who watch.
    fn bytes(&self) -> usize;

    /// What all ranks have to do alike.
    fn told(&self) -> Told;

    /// What its way by slots depends on, among so many ranks; `None`: it has none in two steps.
    fn kind(&self, ranks: usize) -> Option<Collective>;

    /// Whether all ranks have to give or expect as many bytes, so that those that don't are to come to the end, and to
    /// hear of it.
    fn is_of_one_length(&self) -> bool {
        true
    }

    /// What this rank posts, one behind the other.
    fn given(&self, team: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone;

    /// Whether rank `me` reads what `rank` posts.
    fn reads_from(&self, _me: usize, _rank: usize) -> bool {
        true
    }

    /// Reads what the others post.
    fn read(&self, epoch: &Epoch<'_>) -> Outcome;

    /// Does all of it, whichever way it goes.
    fn run(&self, team: Team<'_>) -> impl Future<Output = Outcome>;

    /// What has come of it at the end, apart from what its team has noted.
    fn finish(self) -> Outcome
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// Of values, what is said about their type: what goes wrong on one rank all learn. `None`: bytes.
pub type Typed = Option<Mark>;

/// A team to which data are passed like this, and which notes what goes wrong with them.
#[inline(always)]
pub fn passing<'a>(team: Team<'a>, typed: Typed, trouble: &'a Trouble) -> Team<'a> {
    match typed {
        Some(mark) => Team { mark, trouble: Some(trouble), spreads_trouble: true, ..team },
        None => team,
    }
}

/// Does something with a team to which data are passed like this.
#[inline(always)]
pub(crate) fn while_passing(team: Team<'_>, typed: Typed, work: impl FnOnce(&Team<'_>) -> Outcome) -> Outcome {
    let trouble = Trouble::default();
    work(&passing(team, typed, &trouble))?;
    trouble.outcome()
}

/// Does a collective, whichever way it goes.
pub async fn run(team: Team<'_>, typed: Typed, described: impl Described) -> Outcome {
    let trouble = Trouble::default();
    let mark = typed.unwrap_or(Mark::NONE);
    let noted = Team { mark, trouble: Some(&trouble), spreads_trouble: true, ..team };
    described.run(if typed.is_some() || described.is_of_one_length() { noted } else { team }).await?;
    described.finish()?;
    trouble.outcome()
}

impl Slots {
    /// Does a collective for which there is room, and whose caller waits.
    #[inline(always)]
    pub fn complete(&self, team: &Team<'_>, described: &impl Described) -> Outcome {
        if self.are_alone() {
            return described.read(&Epoch::new(team, self, 0));
        }
        let mut epoch = self.next_epoch(team);
        epoch.post(described.given(team))?;
        described.read(&epoch)
    }
}
