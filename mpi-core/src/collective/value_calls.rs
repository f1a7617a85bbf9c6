//! Collectives of values, as programs call them. Each has a blocking form and one that gives a request, which owns all
//! it needs.

use std::pin::pin;

use rwmpi_collective::{Sibling, Team, Told, Trouble};

use super::checking::{CallForm, named};
use super::own_messages::are_messages;
use super::places::Parcels;
use super::values::Values;
use crate::activity::Call;
use crate::message::Parcel;
use crate::owned::spawn;
use crate::{Communicator, Message, Neighbours, Request, Result};

/// What a collective of values does: called with the ranks that take part.
trait ValuePlan<R>: AsyncFnOnce(Values<'_>) -> Result<R> {}
impl<R, P: AsyncFnOnce(Values<'_>) -> Result<R>> ValuePlan<R> for P {}

fn broadcast<T: Message>(value: T, root: usize) -> impl ValuePlan<T> {
    async move |all: Values<'_>| all.of::<T>().broadcast(value, root).await
}

fn allreduce<T: Message>(value: T, op: impl Fn(&T, &T) -> T) -> impl ValuePlan<T> {
    async move |all: Values<'_>| all.of::<T>().allreduce(value, op).await
}

fn reduce<T: Message>(value: T, op: impl Fn(&T, &T) -> T, root: usize) -> impl ValuePlan<Option<T>> {
    async move |all: Values<'_>| all.of::<T>().reduce(value, op, root).await
}

/// With this rank's value, and without.
fn scan<T: Message>(value: T, op: impl Fn(&T, &T) -> T) -> impl ValuePlan<(T, Option<T>)> {
    async move |all: Values<'_>| all.of::<T>().scan(value, op).await
}

fn scanning<F>(sibling: Sibling, op: &F) -> Told {
    Told::new(Call::Scan).sibling(sibling).operation(named(op))
}

impl Communicator {
    /// The blocking form of a collective of values.
    fn complete_values<R>(&self, told: Told, size: usize, plan: impl ValuePlan<R>) -> Result<R> {
        let call = told.call;
        self.check_one_group(call)?;
        self.begin(call, size);
        let trouble = Trouble::default();
        let team = Team { trouble: Some(&trouble), ..self.next_team().map_err(self.failed(call))? };
        self.compare_calls(CallForm::Blocking, || told).map_err(self.failed(call))?;
        let collective = plan(Values { communicator: self, call, team });
        let mut collective = pin!(collective);
        let driven =
            self.process().drive(pin!(std::future::poll_fn(|context| collective.as_mut().poll(context).map(Ok))));
        driven.map_err(self.failed(call)).and_then(|result| self.settled(call, result, &trouble))
    }

    /// The nonblocking one.
    fn start_values<R: 'static>(
        &self,
        told: Told,
        size: usize,
        plan: impl ValuePlan<R> + 'static,
    ) -> Result<Request<'static, R>> {
        let call = told.call;
        self.check_one_group(call)?;
        self.begin(call, size);
        let to_compare = self.to_compare(CallForm::Nonblocking, || told);
        let collective = async move |communicator: &Communicator, team: Team<'_>| {
            let trouble = Trouble::default();
            let team = Team { trouble: Some(&trouble), ..team };
            let result = plan(Values { communicator, call, team }).await;
            Ok(communicator.settled(call, result, &trouble))
        };
        let (communicator, done) = (self.clone(), self.next_nonblocking(to_compare, collective));
        spawn(self, call, async move { done.await.map_err(communicator.failed(call))? })
    }

    /// What a collective has come to, unless this rank was sent what it could not expect.
    fn settled<R>(&self, call: Call, result: Result<R>, trouble: &Trouble) -> Result<R> {
        result.and_then(|result| trouble.outcome().map(|()| result).map_err(self.failed(call)))
    }

    /// `root`'s value to all; what the others give is ignored.
    ///
    /// # Errors
    /// As [`Communicator::bcast`], or if `root`'s value can't be made into bytes, or these are no such value elsewhere.
    #[doc = example!(3
        "let text = if rank == 1 { \"any value\".to_string() } else { String::new() };"
        "assert_eq!(world.bcast_value(text, 1)?, \"any value\");"
    )]
    pub fn bcast_value<T: Message>(&self, value: T, root: usize) -> Result<T> {
        self.check_root(Call::Broadcast, root)?;
        match are_messages::<T>() {
            true => self.bcast_message(value, root),
            false => {
                self.complete_values(Told::new(Call::Broadcast).root(root), size_of::<T>(), broadcast(value, root))
            }
        }
    }

    /// As [`Communicator::bcast_value`], without waiting.
    #[doc = example!(3
        "let text = if rank == 1 { \"any value\".to_string() } else { String::new() };"
        "let request = world.ibcast_value(text, 1)?;"
        "assert_eq!(request.wait()?, \"any value\");"
    )]
    pub fn ibcast_value<T: Message + 'static>(&self, value: T, root: usize) -> Result<Request<'static, T>> {
        self.check_root(Call::Broadcast, root)?;
        self.start_values(Told::new(Call::Broadcast).root(root), size_of::<T>(), broadcast(value, root))
    }

    /// The value that `op` makes of all ranks' values, in rank order, on all.
    ///
    /// # Errors
    /// As [`Communicator::allreduce`], or if some rank's value can't be made into bytes, or these are no such value
    /// elsewhere.
    #[doc = example!(3
        "let join = |a: &String, b: &String| a.clone() + b;"
        "assert_eq!(world.allreduce_value(rank.to_string(), join)?, \"012\");"
    )]
    pub fn allreduce_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        match are_messages::<T>() {
            true => self.allreduce_message(value, op),
            false => self.complete_values(
                Told::new(Call::Allreduce).operation(named(&op)),
                size_of::<T>(),
                allreduce(value, op),
            ),
        }
    }

    /// As [`Communicator::allreduce_value`], without waiting.
    #[doc = example!(3
        "let join = |a: &String, b: &String| a.clone() + b;"
        "let request = world.iallreduce_value(rank.to_string(), join)?;"
        "assert_eq!(request.wait()?, \"012\");"
    )]
    pub fn iallreduce_value<T: Message + 'static>(
        &self,
        value: T,
        op: impl Fn(&T, &T) -> T + 'static,
    ) -> Result<Request<'static, T>> {
        self.start_values(Told::new(Call::Allreduce).operation(named(&op)), size_of::<T>(), allreduce(value, op))
    }

    /// As [`Communicator::allreduce_value`], at `root` only.
    ///
    /// # Errors
    /// As [`Communicator::allreduce_value`].
    #[doc = example!(3
        "assert_eq!(world.reduce_value(rank, op::sum, 0)?, (rank == 0).then_some(3));"
    )]
    pub fn reduce_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T, root: usize) -> Result<Option<T>> {
        self.check_root(Call::Reduce, root)?;
        match are_messages::<T>() {
            true => self.reduce_message(value, op, root),
            false => self.complete_values(
                Told::new(Call::Reduce).root(root).operation(named(&op)),
                size_of::<T>(),
                reduce(value, op, root),
            ),
        }
    }

    /// As [`Communicator::reduce_value`], without waiting.
    #[doc = example!(3
        "let request = world.ireduce_value(rank, op::sum, 0)?;"
        "assert_eq!(request.wait()?, (rank == 0).then_some(3));"
    )]
    pub fn ireduce_value<T: Message + 'static>(
        &self,
        value: T,
        op: impl Fn(&T, &T) -> T + 'static,
        root: usize,
    ) -> Result<Request<'static, Option<T>>> {
        self.check_root(Call::Reduce, root)?;
        self.start_values(
            Told::new(Call::Reduce).root(root).operation(named(&op)),
            size_of::<T>(),
            reduce(value, op, root),
        )
    }

    /// The value that `op` makes of the values of the ranks up to this one.
    ///
    /// # Errors
    /// As [`Communicator::allreduce_value`].
    #[doc = example!(3
        "assert_eq!(world.scan_value(rank, op::sum)?, [0, 1, 3][rank]);"
    )]
    pub fn scan_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        Ok(self.complete_values(scanning(Sibling::First, &op), size_of::<T>(), scan(value, op))?.0)
    }

    /// As [`Communicator::scan_value`], without waiting.
    #[doc = example!(3
        "let request = world.iscan_value(rank, op::sum)?;"
        "assert_eq!(request.wait()?, [0, 1, 3][rank]);"
    )]
    pub fn iscan_value<T: Message + 'static>(
        &self,
        value: T,
        op: impl Fn(&T, &T) -> T + 'static,
    ) -> Result<Request<'static, T>> {
        Ok(self.start_values(scanning(Sibling::First, &op), size_of::<T>(), scan(value, op))?.map(|both| both.0))
    }

    /// The value that `op` makes of the values of the ranks before this one; none at rank 0.
    ///
    /// # Errors
    /// As [`Communicator::allreduce_value`].
    #[doc = example!(3
        "assert_eq!(world.exscan_value(rank, op::sum)?, [None, Some(0), Some(1)][rank]);"
    )]
    pub fn exscan_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<Option<T>> {
        Ok(self.complete_values(scanning(Sibling::Second, &op), size_of::<T>(), scan(value, op))?.1)
    }

    /// As [`Communicator::exscan_value`], without waiting.
    #[doc = example!(3
        "let request = world.iexscan_value(rank, op::sum)?;"
        "assert_eq!(request.wait()?, [None, Some(0), Some(1)][rank]);"
    )]
    pub fn iexscan_value<T: Message + 'static>(
        &self,
        value: T,
        op: impl Fn(&T, &T) -> T + 'static,
    ) -> Result<Request<'static, Option<T>>> {
        Ok(self.start_values(scanning(Sibling::Second, &op), size_of::<T>(), scan(value, op))?.map(|both| both.1))
    }

    /// All ranks' values at `root`, in rank order. Gathering vectors gathers parts of any length.
    ///
    /// # Errors
    /// As [`Communicator::gatherv`], or if some rank's value can't be made into bytes, or these are no such value at
    /// `root`.
    #[doc = example!(3
        "assert_eq!(world.gather_values(&vec![rank; rank], 0)?, (rank == 0).then(|| vec![vec![], vec![1], vec![2, 2]]));"
    )]
    pub fn gather_values<T: Message>(&self, value: &T, root: usize) -> Result<Option<Vec<T>>> {
        self.check_root(Call::Gather, root)?;
        if are_messages::<T>() {
            return self.gather_messages(value, root);
        }
        let own = self.parcel(Call::Gather, value);
        self.complete_values(Told::new(Call::Gather).root(root), size_of::<T>(), async |all: Values<'_>| {
            all.of::<T>().gather(own, root).await
        })
    }

    /// As [`Communicator::gather_values`], without waiting.
    #[doc = example!(3
        "let request = world.igather_values(&vec![rank; rank], 0)?;"
        "assert_eq!(request.wait()?, (rank == 0).then(|| vec![vec![], vec![1], vec![2, 2]]));"
    )]
    pub fn igather_values<T: Message + 'static>(
        &self,
        value: &T,
        root: usize,
    ) -> Result<Request<'static, Option<Vec<T>>>> {
        self.check_root(Call::Gather, root)?;
        let own = self.owned_parcel(Call::Gather, value);
        self.start_values(Told::new(Call::Gather).root(root), size_of::<T>(), async move |all: Values<'_>| {
            all.of::<T>().gather(own, root).await
        })
    }

    /// All ranks' values on all, in rank order. Gathering vectors gathers parts of any length.
    ///
    /// # Errors
    /// As [`Communicator::gather_values`].
    #[doc = example!(3
        "assert_eq!(world.allgather_values(&vec![rank; rank])?, [vec![], vec![1], vec![2, 2]]);"
    )]
    pub fn allgather_values<T: Message>(&self, value: &T) -> Result<Vec<T>> {
        if are_messages::<T>() {
            return self.allgather_messages(value);
        }
        let own = self.parcel(Call::Allgather, value);
        self.complete_values(Told::new(Call::Allgather), size_of::<T>(), async |all: Values<'_>| {
            all.of::<T>().allgather(own).await
        })
    }

    /// As [`Communicator::allgather_values`], without waiting.
    #[doc = example!(3
        "let request = world.iallgather_values(&vec![rank; rank])?;"
        "assert_eq!(request.wait()?, [vec![], vec![1], vec![2, 2]]);"
    )]
    pub fn iallgather_values<T: Message + 'static>(&self, value: &T) -> Result<Request<'static, Vec<T>>> {
        let own = self.owned_parcel(Call::Allgather, value);
        self.start_values(Told::new(Call::Allgather), size_of::<T>(), async move |all: Values<'_>| {
            all.of::<T>().allgather(own).await
        })
    }

    /// To each rank the value at its place in `root`'s `values`, which are ignored elsewhere and may be empty there.
    /// Scattering vectors scatters parts of any length.
    ///
    /// # Errors
    /// As [`Communicator::scatterv`], or if some value can't be made into bytes, or these are no such value where they
    /// arrive.
    #[doc = example!(3
        "let words = [\"for\", \"each\", \"one\"].map(str::to_string);"
        "assert_eq!(world.scatter_values(&words, 0)?, words[rank]);"
    )]
    pub fn scatter_values<T: Message>(&self, values: &[T], root: usize) -> Result<T> {
        let data = Parcels::new(self.scattered(values, root)?, Parcel::new);
        let plan = async |all: Values<'_>| all.of::<T>().scatter(data, root).await;
        self.complete_values(Told::new(Call::Scatter).root(root), size_of::<T>(), plan)
    }

    /// As [`Communicator::scatter_values`], without waiting.
    #[doc = example!(3
        "let words = [\"for\", \"each\", \"one\"].map(str::to_string);"
        "let request = world.iscatter_values(&words, 0)?;"
        "assert_eq!(request.wait()?, words[rank]);"
    )]
    pub fn iscatter_values<T: Message + 'static>(&self, values: &[T], root: usize) -> Result<Request<'static, T>> {
        let data = Parcels::new(self.scattered(values, root)?, Parcel::owned);
        let plan = async move |all: Values<'_>| all.of::<T>().scatter(data, root).await;
        self.start_values(Told::new(Call::Scatter).root(root), size_of::<T>(), plan)
    }

    /// What this rank scatters.
    fn scattered<'a, T>(&self, values: &'a [T], root: usize) -> Result<&'a [T]> {
        self.check_root(Call::Scatter, root)?;
        if self.rank() != root {
            return Ok(&[]);
        }
        self.check_len(Call::Scatter, "the list of values", values.len(), self.size())?;
        Ok(values)
    }

    /// Value `i` of `values` to rank `i`; the result has at place `j` the one from rank `j`. Exchanging vectors
    /// exchanges parts of any length.
    ///
    /// # Errors
    /// As [`Communicator::alltoallv`], or if some value can't be made into bytes, or these are no such value where they
    /// arrive.
    #[doc = example!(3
        "let letters: Vec<String> = (0..size).map(|to| format!(\"{rank} to {to}\")).collect();"
        "assert_eq!(world.alltoall_values(&letters)?, [0, 1, 2].map(|from| format!(\"{from} to {rank}\")));"
    )]
    pub fn alltoall_values<T: Message>(&self, values: &[T]) -> Result<Vec<T>> {
        self.check_len(Call::Alltoall, "the list of values", values.len(), self.size())?;
        let data = Parcels::new(values, Parcel::new);
        let plan = async |all: Values<'_>| all.of::<T>().alltoall(data).await;
        self.complete_values(Told::new(Call::Alltoall), size_of_val(values), plan)
    }

    /// As [`Communicator::alltoall_values`], with neighbours, of which there are as many as values.
    pub(crate) fn exchange_values<T: Message>(&self, values: &[T], with: &Neighbours) -> Result<Vec<Option<T>>> {
        let data = Parcels::new(values, Parcel::new);
        let plan = async |all: Values<'_>| all.of::<T>().with_neighbours(data, with).await;
        self.complete_values(Told::new(Call::Alltoall), size_of_val(values), plan)
    }

    /// As [`Communicator::alltoall_values`], without waiting.
    #[doc = example!(3
        "let letters: Vec<String> = (0..size).map(|to| format!(\"{rank} to {to}\")).collect();"
        "let request = world.ialltoall_values(&letters)?;"
        "assert_eq!(request.wait()?, [0, 1, 2].map(|from| format!(\"{from} to {rank}\")));"
    )]
    pub fn ialltoall_values<T: Message + 'static>(&self, values: &[T]) -> Result<Request<'static, Vec<T>>> {
        self.check_len(Call::Alltoall, "the list of values", values.len(), self.size())?;
        let data = Parcels::new(values, Parcel::owned);
        let plan = async move |all: Values<'_>| all.of::<T>().alltoall(data).await;
        self.start_values(Told::new(Call::Alltoall), size_of_val(values), plan)
    }
}
