//! Nonblocking and persistent collectives.

use std::rc::Rc;

use rwmpi_collective::Team;

use super::super::Request;
use super::perform::perform;
use super::{Collective, Prepared};
use crate::activity::Call;
use crate::apart::apart;
use crate::collective::CallForm;
use crate::task::Work;
use crate::{Communicator, Result};

/// Collectives that are started by a persistent request have tags from here on: all ranks make such requests in the
/// same order, but may start them in any.
const PERSISTENT: u32 = 1 << 31;

/// A collective that a persistent request starts any number of times (MPI-5.0 section 6.13).
pub struct PersistentCollective {
    prepared: Rc<Prepared>,
    communicator: Communicator,
    tag: u32,
}

impl Communicator {
    /// Starts it (MPI-5.0 section 6.12). It goes on whenever this rank waits or tests. All ranks
    /// start the collectives of a communicator, blocking or not, in the same order.
    ///
    /// # Errors
    /// As of [`Communicator::collective`].
    pub fn start_collective(&self, collective: Collective) -> Result<Request> {
        let prepared = self.prepare(collective)?;
        let call = prepared.collective.call();
        let to_compare = self.to_compare(CallForm::Nonblocking, || self.told(&prepared.collective));
        let collective =
            async move |communicator: &Communicator, team: Team<'_>| perform(&prepared, communicator.ranks(team)).await;
        self.launch(call, apart(|| self.next_nonblocking(to_compare, collective)))
    }

    /// Makes a request that does it whenever it is started. All ranks make the same requests in the same order.
    ///
    /// # Errors
    /// Arguments that can't be used.
    pub fn persistent_collective(&self, collective: Collective) -> Result<PersistentCollective> {
        let prepared = Rc::new(self.prepare(collective)?);
        let call = prepared.collective.call();
        self.compare_calls(CallForm::Persistent, || self.told(&prepared.collective)).map_err(self.failed(call))?;
        let tag = self.next_collective() | PERSISTENT;
        Ok(PersistentCollective { prepared, communicator: self.clone(), tag })
    }

    pub(super) fn launch(&self, call: Call, work: Work) -> Result<Request> {
        let started = self.process().tasks().start(work).map_err(self.failed(call))?;
        Ok(Request::collective(self, call, started))
    }
}

impl PersistentCollective {
    /// Starts it (MPI_Start).
    ///
    /// # Errors
    /// As of [`Communicator::start_collective`].
    pub(in super::super) fn start(&self) -> Result<Request> {
        let (prepared, communicator, tag) = (self.prepared.clone(), self.communicator.clone(), self.tag);
        let call = prepared.collective.call();
        self.communicator.begin(call, 0);
        let work = apart(|| async move {
            let team = communicator.team(tag, false);
            team.check_can_begin()?;
            perform(&prepared, communicator.ranks(team)).await
        });
        self.communicator.launch(call, work)
    }
}
