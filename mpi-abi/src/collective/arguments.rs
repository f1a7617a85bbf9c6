//! From the arguments of C to the core's [`Collective`].

use std::cell::Cell;
use std::collections::HashSet;
use std::marker::PhantomData;
use std::rc::Rc;

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::untyped::Elements;
use rwmpi_core::untyped::collective::{Blocks, Collective, Root};
use rwmpi_core::{Communicator, Error, ErrorClass, Result};

use crate::argument::{Array, Integers, Memory, c_int};
use crate::entry::CommunicatorEntry;
use crate::interface::Abi;
use crate::rank::{Rank, rank};

/// Buffer, count, datatype.
pub(super) type Even<A> = (Memory, i64, <A as Abi>::Handle);
/// Buffer, counts, displacements in elements, datatype.
pub(super) type Varying<A> = (Memory, Integers, Integers, <A as Abi>::Handle);
/// Buffer, counts, displacements in bytes, datatypes.
pub(super) type Mixed<A> = (Memory, Integers, Integers, Array<<A as Abi>::Handle>);

/// A call of a collective: what its arguments are translated by.
pub(super) struct Call<A> {
    pub(super) rank: &'static Rank,
    pub(super) communicator: Rc<CommunicatorEntry>,
    /// Whether one buffer is given for two purposes.
    is_aliased: Cell<bool>,
    abi: PhantomData<A>,
}

fn buffer_error<T>(what: &str) -> Result<T> {
    Err(Error::new(ErrorClass::Buffer, what))
}

fn elements_of(memory: Memory, count: i64, datatype: &Datatype) -> Result<Elements> {
    elements_at(memory, memory, count, datatype)
}

/// The elements at `place`, if `base` says that there is memory: it is where the displacement counts from, or `place`
/// itself where displacements may be addresses.
fn elements_at(base: Memory, place: Memory, count: i64, datatype: &Datatype) -> Result<Elements> {
    let count =
        u64::try_from(count).map_err(|_| Error::new(ErrorClass::Count, format!("the count {count} is negative")))?;
    if base.is_none_for(count, datatype) {
        return buffer_error("the buffer is a null pointer");
    }
    Ok(place.elements(count, datatype.clone()))
}

fn refuse_in_place<A: Abi>(memory: Memory) -> Result<()> {
    if memory.is(A::IN_PLACE) {
        return buffer_error("MPI_IN_PLACE is not allowed for this buffer");
    }
    Ok(())
}

impl<A: Abi> Call<A> {
    pub(super) fn new(communicator: A::Handle) -> Result<Self> {
        let rank = rank()?;
        let communicator = rank.communicator::<A>(communicator)?;
        Ok(Call { rank, communicator, is_aliased: Cell::new(false), abi: PhantomData })
    }

    pub(super) fn core(&self) -> &Communicator {
        &self.communicator.core
    }

    pub(super) fn in_place(memory: Memory) -> bool {
        memory.is(A::IN_PLACE)
    }

    /// Whether two buffers begin at the same place, and should not. Between two groups it depends on the root whether
    /// both mean anything.
    fn is_same(&self, one: Memory, other: Memory) -> bool {
        one == other && !one.address().is_null() && !self.core().is_inter()
    }

    /// Notes whether both buffers are the same memory. Buffers of no elements may be anywhere.
    fn note_alias(&self, one: Memory, other: Memory, counts: [i64; 2]) {
        if self.is_same(one, other) && !counts.contains(&0) {
            self.is_aliased.set(true);
        }
    }

    /// The same of buffers that are divided: whether any block begins where one of the others does. Buffers may have
    /// their blocks in turns.
    fn note_alias_of_blocks(&self, [one, other]: [Memory; 2], blocks: &[Elements], others: &[Elements]) {
        if self.is_same(one, other) {
            let begins: HashSet<usize> = blocks.iter().filter_map(Elements::first_byte).collect();
            if others.iter().filter_map(Elements::first_byte).any(|begin| begins.contains(&begin)) {
                self.is_aliased.set(true);
            }
        }
    }

    /// An error if one buffer was given for two purposes. Other ranks may know nothing of it: so that they do not wait
    /// for this one, it has first done what it was to do, with whatever result.
    pub(super) fn check_alias(&self) -> Result<()> {
        if self.is_aliased.get() {
            return buffer_error("both buffers are the same memory: pass MPI_IN_PLACE for one of them, or a copy");
        }
        Ok(())
    }

    fn datatype(&self, handle: A::Handle) -> Result<Datatype> {
        self.rank.committed_datatype::<A>(handle)
    }

    /// The datatype of so many elements: of none, MPI_DATATYPE_NULL will do.
    fn datatype_of(&self, count: i64, handle: A::Handle) -> Result<Datatype> {
        match A::code(handle) == A::DATATYPE_NULL && count == 0 {
            true => Ok(Datatype::basic(Basic::Byte)),
            false => self.datatype(handle),
        }
    }

    fn elements(&self, (memory, count, datatype): Even<A>) -> Result<Elements> {
        refuse_in_place::<A>(memory)?;
        elements_of(memory, count, &self.datatype_of(count, datatype)?)
    }

    /// What may be in place.
    fn unless_in_place(&self, given: Even<A>) -> Result<Option<Elements>> {
        if Self::in_place(given.0) { Ok(None) } else { self.elements(given).map(Some) }
    }

    /// How many ranks there are to exchange with.
    fn partners(&self) -> usize {
        self.core().remote_size().unwrap_or(self.core().size())
    }

    fn varying(&self, (memory, counts, displacements, datatype): Varying<A>, ranks: usize) -> Result<Vec<Elements>> {
        refuse_in_place::<A>(memory)?;
        let (counts, displacements) = (counts.to_vec(ranks)?, displacements.to_vec(ranks)?);
        let some = counts.iter().copied().find(|&count| count != 0).unwrap_or(0);
        let datatype = self.datatype_of(some, datatype)?;
        let block = |(count, displacement): (i64, i64)| {
            let place = memory.after(displacement.wrapping_mul(datatype.extent()));
            elements_at(memory, place, count, &datatype)
        };
        counts.into_iter().zip(displacements).map(block).collect()
    }

    fn mixed(&self, (memory, counts, displacements, datatypes): Mixed<A>, ranks: usize) -> Result<Vec<Elements>> {
        refuse_in_place::<A>(memory)?;
        // They are addresses behind MPI_BOTTOM, if they are wide enough.
        let may_be_addresses = matches!(displacements, Integers::Wide(_));
        let (counts, displacements) = (counts.to_vec(ranks)?, displacements.to_vec(ranks)?);
        let block = |((count, displacement), &datatype): ((i64, i64), &A::Handle)| {
            let place = memory.after(displacement);
            let base = if may_be_addresses { place } else { memory };
            elements_at(base, place, count, &self.datatype_of(count, datatype)?)
        };
        let all = counts.into_iter().zip(displacements).zip(datatypes.slice(ranks)?);
        all.map(block).collect()
    }

    /// The blocks of all, equally long, one of which goes to where `part` is, or comes from there.
    fn even_with_part(&self, all: Even<A>, part: Even<A>) -> Result<Blocks> {
        self.note_alias(part.0, all.0, [part.1, all.1]);
        self.elements(all).map(Blocks::Even)
    }

    /// The same of any length.
    fn varying_with_part(&self, all: Varying<A>, part: Even<A>) -> Result<Blocks> {
        let buffers = [all.0, part.0];
        let all = self.varying(all, self.partners())?;
        if self.is_same(buffers[0], buffers[1]) {
            self.note_alias_of_blocks(buffers, &all, &[self.elements(part)?]);
        }
        Ok(Blocks::Listed(all))
    }

    fn root(&self, root: c_int) -> Result<Root> {
        match usize::try_from(root) {
            Ok(rank) => Ok(Root::Rank(rank)),
            Err(_) if root == A::ROOT => Ok(Root::Here),
            Err(_) if root == A::PROC_NULL => Ok(Root::Nobody),
            Err(_) => Err(Error::new(ErrorClass::Root, format!("the root {root} is negative"))),
        }
    }

    /// Whether the caller is the root.
    fn is_root(&self, root: Root) -> bool {
        match root {
            Root::Rank(rank) => !self.core().is_inter() && rank == self.core().rank(),
            Root::Here => true,
            Root::Nobody => false,
        }
    }

    /// What the caller gives to the root or gets from it.
    fn part(&self, part: Even<A>, root: Root) -> Result<Option<Elements>> {
        match root {
            Root::Rank(_) if self.is_root(root) => self.unless_in_place(part),
            Root::Rank(_) => self.elements(part).map(Some),
            Root::Here | Root::Nobody => Ok(None),
        }
    }

    pub(super) fn barrier(&self) -> Result<Collective> {
        Ok(Collective::Barrier)
    }

    pub(super) fn broadcast(&self, data: Even<A>, root: c_int) -> Result<Collective> {
        let root = self.root(root)?;
        let data = match root {
            // The arguments mean nothing.
            Root::Nobody => data.0.nothing(),
            _ => self.elements(data)?,
        };
        Ok(Collective::Broadcast { data, root })
    }

    /// What the caller gives to the root or gets from it, and the blocks of all, which the root has.
    fn with_root(
        &self,
        part: Even<A>,
        root: c_int,
        all: impl FnOnce() -> Result<Blocks>,
    ) -> Result<(Option<Elements>, Option<Blocks>, Root)> {
        let root = self.root(root)?;
        let all = self.is_root(root).then(all).transpose()?;
        Ok((self.part(part, root)?, all, root))
    }

    pub(super) fn gather(&self, part: Even<A>, all: Even<A>, root: c_int) -> Result<Collective> {
        let (part, all, root) = self.with_root(part, root, || self.even_with_part(all, part))?;
        Ok(Collective::Gather { part, all, root, even: true })
    }

    pub(super) fn gatherv(&self, part: Even<A>, all: Varying<A>, root: c_int) -> Result<Collective> {
        let (part, all, root) = self.with_root(part, root, || self.varying_with_part(all, part))?;
        Ok(Collective::Gather { part, all, root, even: false })
    }

    pub(super) fn scatter(&self, all: Even<A>, part: Even<A>, root: c_int) -> Result<Collective> {
        let (part, all, root) = self.with_root(part, root, || self.even_with_part(all, part))?;
        Ok(Collective::Scatter { all, part, root, even: true })
    }

    pub(super) fn scatterv(&self, all: Varying<A>, part: Even<A>, root: c_int) -> Result<Collective> {
        let (part, all, root) = self.with_root(part, root, || self.varying_with_part(all, part))?;
        Ok(Collective::Scatter { all, part, root, even: false })
    }

    pub(super) fn allgather(&self, part: Even<A>, all: Even<A>) -> Result<Collective> {
        Ok(Collective::Allgather { part: self.unless_in_place(part)?, all: self.even_with_part(all, part)? })
    }

    pub(super) fn allgatherv(&self, part: Even<A>, all: Varying<A>) -> Result<Collective> {
        let all = self.varying_with_part(all, part)?;
        Ok(Collective::Allgather { part: self.unless_in_place(part)?, all })
    }

    pub(super) fn alltoall(&self, sent: Even<A>, received: Even<A>) -> Result<Collective> {
        self.note_alias(sent.0, received.0, [sent.1, received.1]);
        let sent = self.unless_in_place(sent)?.map(Blocks::Even);
        Ok(Collective::Alltoall { sent, received: Blocks::Even(self.elements(received)?) })
    }

    pub(super) fn alltoallv(&self, sent: Varying<A>, received: Varying<A>) -> Result<Collective> {
        let ranks = self.partners();
        let given = (!Self::in_place(sent.0)).then(|| self.varying(sent, ranks)).transpose()?;
        Ok(self.exchanged([sent.0, received.0], given, self.varying(received, ranks)?))
    }

    pub(super) fn alltoallw(&self, sent: Mixed<A>, received: Mixed<A>) -> Result<Collective> {
        let ranks = self.partners();
        let given = (!Self::in_place(sent.0)).then(|| self.mixed(sent, ranks)).transpose()?;
        Ok(self.exchanged([sent.0, received.0], given, self.mixed(received, ranks)?))
    }

    fn exchanged(&self, buffers: [Memory; 2], sent: Option<Vec<Elements>>, received: Vec<Elements>) -> Collective {
        self.note_alias_of_blocks(buffers, sent.as_deref().unwrap_or(&[]), &received);
        Collective::Alltoall { sent: sent.map(Blocks::Listed), received: Blocks::Listed(received) }
    }

    pub(super) fn reduce(&self, data: Even<A>, result: Memory, op: A::Handle, root: c_int) -> Result<Collective> {
        let root = self.root(root)?;
        let operation = self.rank.operation::<A>(op)?;
        let (_, count, datatype) = data;
        let result = self.is_root(root).then(|| {
            self.note_alias(data.0, result, [count; 2]);
            self.elements((result, count, datatype))
        });
        Ok(Collective::Reduce { data: self.part(data, root)?, result: result.transpose()?, operation, root })
    }

    /// What every rank gives, unless that is in place, and as many elements for the result.
    fn given_and_result(&self, data: Even<A>, result: Memory) -> Result<(Option<Elements>, Elements)> {
        let (given, count, datatype) = data;
        self.note_alias(given, result, [count; 2]);
        refuse_in_place::<A>(result)?;
        let datatype = self.datatype(datatype)?;
        let result = elements_of(result, count, &datatype)?;
        let is_given = !Self::in_place(given);
        Ok((is_given.then(|| elements_of(given, count, &datatype)).transpose()?, result))
    }

    pub(super) fn allreduce(&self, data: Even<A>, result: Memory, op: A::Handle) -> Result<Collective> {
        let operation = self.rank.operation::<A>(op)?;
        let (data, result) = self.given_and_result(data, result)?;
        Ok(Collective::Allreduce { data, result, operation })
    }

    pub(super) fn scan(&self, data: Even<A>, result: Memory, op: A::Handle, exclusive: bool) -> Result<Collective> {
        let operation = self.rank.operation::<A>(op)?;
        let (data, result) = self.given_and_result(data, result)?;
        Ok(Collective::Scan { data, result, operation, exclusive })
    }

    fn scatter_reduced(
        &self,
        data: Memory,
        result: Memory,
        counts: &[i64],
        datatype: A::Handle,
        op: A::Handle,
    ) -> Result<Collective> {
        self.note_alias(data, result, [counts.iter().sum(); 2]);
        let operation = self.rank.operation::<A>(op)?;
        let unsigned = |&count: &i64| u64::try_from(count).ok();
        let counts: Option<Vec<u64>> = counts.iter().map(unsigned).collect();
        let counts = counts.ok_or_else(|| Error::new(ErrorClass::Count, "a count is negative"))?;
        let total = counts.iter().try_fold(0i64, |sum, &count| sum.checked_add_unsigned(count));
        let total = total.ok_or_else(|| Error::new(ErrorClass::Count, "the sum of the counts exceeds 63 bits"))?;
        let data = if Self::in_place(data) { result } else { data };
        let own = counts[self.core().rank()] as i64;
        Ok(Collective::ReduceScatter {
            data: self.elements((data, total, datatype))?,
            result: self.elements((result, own, datatype))?,
            counts,
            operation,
        })
    }

    pub(super) fn reduce_scatter(
        &self,
        data: Memory,
        result: Memory,
        counts: Integers,
        datatype: A::Handle,
        op: A::Handle,
    ) -> Result<Collective> {
        self.scatter_reduced(data, result, &counts.to_vec(self.core().size())?, datatype, op)
    }

    pub(super) fn reduce_scatter_block(
        &self,
        data: Memory,
        (result, count, datatype): Even<A>,
        op: A::Handle,
    ) -> Result<Collective> {
        self.scatter_reduced(data, result, &vec![count; self.core().size()], datatype, op)
    }

    /// How many neighbours send to the caller, and to how many it sends.
    fn degrees(&self) -> Result<(usize, usize)> {
        let neighbours = self.core().neighbours()?;
        Ok((neighbours.sources.len(), neighbours.destinations.len()))
    }

    /// What a block for each source is received into: a rank without one may pass anything.
    fn for_sources(&self, given: Even<A>) -> Result<Elements> {
        self.elements(given).or_else(|error| if self.degrees()?.0 == 0 { Ok(given.0.nothing()) } else { Err(error) })
    }

    /// What is sent to the destinations: likewise.
    fn for_destinations(&self, given: Even<A>) -> Result<Elements> {
        self.elements(given).or_else(|error| if self.degrees()?.1 == 0 { Ok(given.0.nothing()) } else { Err(error) })
    }

    pub(super) fn neighbour_allgather(&self, part: Even<A>, all: Even<A>) -> Result<Collective> {
        self.note_alias(part.0, all.0, [part.1, all.1]);
        let (part, all) = (self.for_destinations(part)?, self.for_sources(all)?);
        Ok(Collective::NeighbourAllgather { part, all: Blocks::Even(all) })
    }

    pub(super) fn neighbour_allgatherv(&self, part: Even<A>, all: Varying<A>) -> Result<Collective> {
        let buffers = [part.0, all.0];
        let (part, all) = (self.for_destinations(part)?, self.varying(all, self.degrees()?.0)?);
        self.note_alias_of_blocks(buffers, std::slice::from_ref(&part), &all);
        Ok(Collective::NeighbourAllgather { part, all: Blocks::Listed(all) })
    }

    pub(super) fn neighbour_alltoall(&self, sent: Even<A>, received: Even<A>) -> Result<Collective> {
        self.note_alias(sent.0, received.0, [sent.1, received.1]);
        let (sent, received) = (self.for_destinations(sent)?, self.for_sources(received)?);
        Ok(Collective::NeighbourAlltoall { sent: Blocks::Even(sent), received: Blocks::Even(received) })
    }

    pub(super) fn neighbour_alltoallv(&self, sent: Varying<A>, received: Varying<A>) -> Result<Collective> {
        let ((sources, destinations), buffers) = (self.degrees()?, [sent.0, received.0]);
        let (sent, received) = (self.varying(sent, destinations)?, self.varying(received, sources)?);
        Ok(self.exchanged_with_neighbours(buffers, sent, received))
    }

    pub(super) fn neighbour_alltoallw(&self, sent: Mixed<A>, received: Mixed<A>) -> Result<Collective> {
        let ((sources, destinations), buffers) = (self.degrees()?, [sent.0, received.0]);
        let (sent, received) = (self.mixed(sent, destinations)?, self.mixed(received, sources)?);
        Ok(self.exchanged_with_neighbours(buffers, sent, received))
    }

    fn exchanged_with_neighbours(
        &self,
        buffers: [Memory; 2],
        sent: Vec<Elements>,
        received: Vec<Elements>,
    ) -> Collective {
        self.note_alias_of_blocks(buffers, &sent, &received);
        Collective::NeighbourAlltoall { sent: Blocks::Listed(sent), received: Blocks::Listed(received) }
    }
}
