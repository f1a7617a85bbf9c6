//! A collective of one group, described once for everybody who calls it: C and Fortran, typed buffers and values of
//! Rust, whether the caller waits for it or goes on.
//!
//! A description holds where a rank's bytes are and where those go that it gets. By slots it is two steps, and each is
//! done once: this rank *posts* what it gives, and *reads* what others have posted. For a caller that waits, one step
//! follows the other; otherwise the second is done when the others have posted (`slots/nonblocking.rs`). What slots
//! have no room for goes another way, which is the same for all callers.

use rwmpi_transport::ReadSpan;

use super::Outcome;
use super::checking::{CallForm, Told};
use super::slots::{Epoch, Slots};
use super::team::{Team, Trouble};
use crate::activity::Call;
use crate::apart::apart;
use crate::select::Collective;
use crate::{Communicator, Mark, Result};

/// A collective of one group, with this rank's data.
pub(crate) trait Described {
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
    async fn run(&self, team: Team<'_>) -> Outcome;

    /// What has come of it at the end, apart from what its team has noted.
    fn finish(self) -> Outcome
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// Of values, what is said about their type: what goes wrong on one rank all learn. `None`: bytes.
pub(crate) type Typed = Option<Mark>;

/// A team to which data are passed like this, and which notes what goes wrong with them.
#[inline(always)]
fn passing<'a>(team: Team<'a>, typed: Typed, trouble: &'a Trouble) -> Team<'a> {
    match typed {
        Some(mark) => Team { mark, trouble: Some(trouble), spreads_trouble: true, ..team },
        None => team,
    }
}

/// Does something with a team to which data are passed like this.
#[inline(always)]
pub(super) fn while_passing(team: Team<'_>, typed: Typed, work: impl FnOnce(&Team<'_>) -> Outcome) -> Outcome {
    let trouble = Trouble::default();
    work(&passing(team, typed, &trouble))?;
    trouble.outcome()
}

/// Does a collective, whichever way it goes.
pub(super) async fn run(team: Team<'_>, typed: Typed, described: impl Described) -> Outcome {
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
    pub(super) fn complete(&self, team: &Team<'_>, described: &impl Described) -> Outcome {
        if self.are_alone() {
            return described.read(&Epoch::new(team, self, 0));
        }
        let mut epoch = self.next_epoch(team);
        epoch.post(described.given(team))?;
        described.read(&epoch)
    }
}

impl Communicator {
    /// The slots by which a collective goes whose caller waits, if they are known and have room.
    #[inline(always)]
    pub(crate) fn slots_for(&self, described: &impl Described) -> Option<&Slots> {
        self.slots_of_kind(described.kind(self.size())?)
    }

    /// Does a collective by slots with room for it, and waits. There is no way back.
    #[inline(always)]
    pub(crate) fn complete_on_slots<D: Described>(&self, slots: &Slots, typed: Typed, described: D) -> Result<()> {
        self.begin(D::CALL, described.bytes());
        // Without a closure, which would be a function of its own.
        let trouble = Trouble::default();
        let team = passing(self.team(self.next_collective(), true), typed, &trouble);
        let done = slots.complete(&team, &described);
        done.and_then(|()| described.finish()).and_then(|()| trouble.outcome()).map_err(self.failed(D::CALL))
    }

    /// Does a collective that does not go by slots, as far as is known, and waits.
    #[inline(never)]
    pub(crate) fn complete_otherwise<D: Described>(&self, typed: Typed, described: D) -> Result<()> {
        self.check_one_group(D::CALL)?;
        self.begin(D::CALL, described.bytes());
        self.compare_calls(CallForm::Blocking, || described.told()).map_err(self.failed(D::CALL))?;
        let team = self.team(self.next_collective(), true);
        self.process().block_on(|| run(team, typed, described)).map_err(self.failed(D::CALL))
    }

    /// Starts one that does not go by slots at once: what is to be done as a task.
    pub(crate) fn start_otherwise<'a, D: Described + 'a>(
        &self,
        typed: Typed,
        described: D,
    ) -> Result<impl Future<Output = Outcome> + use<'a, D>> {
        self.check_one_group(D::CALL)?;
        self.begin(D::CALL, described.bytes());
        let (communicator, number) = (self.clone(), self.next_nonblocking_collective());
        let to_compare = self.to_compare(CallForm::Nonblocking, || described.told());
        let collective = async move |team: Team<'_>| run(team, typed, described).await;
        Ok(async move {
            if let Some(to_compare) = to_compare {
                apart(|| to_compare.compare()).await?;
            }
            communicator.run_nonblocking(number, collective).await
        })
    }
}
