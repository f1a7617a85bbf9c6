//! An executor that makes progress.

use crate::Communicator;

impl Communicator {
    /// Runs a future to its end while this rank makes progress: requests, and whatever is made of them. The future may
    /// wait for other things, too: a rank that sleeps is woken by its waker, from any thread.
    ///
    /// ```
    /// # extern crate rwmpi_core as rwmpi;
    /// # fn main() -> rwmpi::Result<()> {
    /// # rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
    /// # let world = universe.world();
    /// let other = world.size() - 1 - world.rank();
    /// let heard = world.block_on(async {
    ///     world.isend_value(&world.rank(), other, 0)?.await?;
    ///     let (rank, _) = world.irecv_value::<usize>(other, 0)?.await?;
    ///     world.iallreduce_value(rank, rwmpi::op::sum)?.await
    /// })?;
    /// assert_eq!(heard, 1);
    /// # Ok(())
    /// # })?.into_iter().collect()
    /// # }
    /// ```
    pub fn block_on<R>(&self, future: impl Future<Output = R>) -> R {
        self.process().run(future)
    }
}
