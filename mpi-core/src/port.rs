//! Ports for Rust programs: jobs that were started apart meet there (MPI-5.0 section 11.9).

use std::time::Duration;

use rwmpi_transport::port::PortPlace;

use crate::{Communicator, Result, Universe};

/// A place at which ranks of other jobs can reach this one (MPI_Open_port). It is closed when it is dropped.
///
/// ```no_run
/// # extern crate rwmpi_core as rwmpi;
/// # fn main() -> rwmpi::Result<()> {
/// use rwmpi::Port;
/// let universe = rwmpi::init()?;
/// let world = universe.world();
/// // One job: its rank 0 opens a port, says where under the name of a service, and all wait for the others.
/// let port = if world.rank() == 0 { Some(Port::open(&universe)?) } else { None };
/// port.iter().try_for_each(|port| universe.publish("ocean", port.name()))?;
/// let others = Port::accept(port.as_ref(), &universe, world, 0)?;
/// // The other: whoever knows the name connects.
/// let name = if world.rank() == 0 { Some(universe.look_up("ocean")?) } else { None };
/// let others = Port::connect(name.as_deref(), &universe, world, 0, None)?;
/// assert!(others.is_inter());
/// others.disconnect()?;
/// universe.unpublish("ocean")?;
/// drop(port);
/// universe.finalize()
/// # }
/// ```
#[doc(alias = "MPI_Open_port")]
pub struct Port<'u> {
    universe: &'u Universe,
    name: String,
}

impl<'u> Port<'u> {
    /// Opens a port, where ranks of other hosts reach this one.
    ///
    /// # Errors
    /// If the system has no sockets.
    pub fn open(universe: &'u Universe) -> Result<Self> {
        Ok(Port { universe, name: universe.open_port(PortPlace::default())? })
    }

    /// What others need to connect. It is a secret as well: whoever has it is let in.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits for ranks that connect, and gives the intercommunicator with them (MPI_Comm_accept). Collective over
    /// `over`, whose rank `root` alone has the port.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root, or it has no port.
    #[doc(alias = "MPI_Comm_accept")]
    pub fn accept(
        port: Option<&Port<'_>>,
        universe: &Universe,
        over: &Communicator,
        root: usize,
    ) -> Result<Communicator> {
        universe.accept(over, root, Ok(port.map_or(String::new(), |port| port.name.clone())))
    }

    /// Connects to a port, and gives the intercommunicator with those who accept (MPI_Comm_connect), for whom it waits
    /// no longer than `limit`. Collective over `over`; the port's name and the limit are `root`'s to say.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root or port, or nobody has accepted in time.
    #[doc(alias = "MPI_Comm_connect")]
    pub fn connect(
        name: Option<&str>,
        universe: &Universe,
        over: &Communicator,
        root: usize,
        limit: Option<Duration>,
    ) -> Result<Communicator> {
        universe.connect(over, root, Ok(name.unwrap_or_default().to_owned()), limit)
    }
}

impl Drop for Port<'_> {
    fn drop(&mut self) {
        // It is there as long as this value.
        let _ = self.universe.close_port(&self.name);
    }
}
