//! Collectives on elements of datatypes, in all their forms, against a sequential computation.
#![allow(unsafe_code)]

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::reduction::{Operation, Predefined, UserOperation};
use rwmpi_core::untyped::collective::{Blocks, Collective, Root};
use rwmpi_core::untyped::{Elements, Endpoint, Persistent, Request};
use rwmpi_core::{Cartesian, Communicator, ErrorClass, Graph, Result, Universe};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("elements_find_their_places", elements_find_their_places),
    ("elements_in_place_find_their_places", elements_in_place_find_their_places),
    ("listed_elements_find_their_places", listed_elements_find_their_places),
    ("elements_are_combined_in_rank_order", elements_are_combined_in_rank_order),
    ("elements_in_place_are_combined", elements_in_place_are_combined),
    ("two_groups_exchange_data", two_groups_exchange_data),
    ("two_groups_combine_data", two_groups_combine_data),
    ("neighbours_exchange_data", neighbours_exchange_data),
    ("persistent_collectives_start_in_any_order", persistent_collectives_start_in_any_order),
    ("wrong_arguments_are_refused", wrong_arguments_are_refused),
];

/// Elements of two numbers each, one behind the other or with gaps.
pub(super) struct Shape {
    datatype: Datatype,
    /// Words of memory that an element takes, and in which of them the second number is.
    words: usize,
    second: usize,
}

const GAP: i64 = -7;
const COUNTS: [usize; 3] = [0, 5, 2_500];

pub(super) fn shapes() -> [Shape; 2] {
    let word = Datatype::basic(Basic::Int64);
    let dense = Datatype::contiguous(2, &word).unwrap();
    let sparse = Datatype::resized(&Datatype::vector(2, 1, 2, &word).unwrap(), 0, 32).unwrap();
    dense.commit();
    sparse.commit();
    [Shape { datatype: dense, words: 2, second: 1 }, Shape { datatype: sparse, words: 4, second: 2 }]
}

impl Shape {
    /// Memory that has these numbers.
    fn lay(&self, numbers: &[i64]) -> Vec<i64> {
        let mut memory = vec![GAP; numbers.len() / 2 * self.words];
        for (element, numbers) in memory.chunks_mut(self.words).zip(numbers.chunks(2)) {
            (element[0], element[self.second]) = (numbers[0], numbers[1]);
        }
        memory
    }

    /// The numbers; what lies between them must be as it was.
    fn read(&self, memory: &[i64]) -> Vec<i64> {
        let numbers: Vec<i64> =
            memory.chunks(self.words).flat_map(|element| [element[0], element[self.second]]).collect();
        assert_eq!(self.lay(&numbers), memory, "something was written between the elements");
        numbers
    }

    fn room(&self, count: usize) -> Vec<i64> {
        self.lay(&vec![-1; count * 2])
    }

    /// `count` elements from the `first` one in `memory` on.
    fn elements(&self, memory: &mut [i64], first: usize, count: usize) -> Elements {
        assert!((first + count) * self.words <= memory.len());
        let start = memory.as_mut_ptr().wrapping_add(first * self.words);
        // SAFETY: the memory has these elements, and every test waits for its collectives before it touches it again.
        unsafe { Elements::new(start.cast(), count as u64, self.datatype.clone()) }
    }

    pub(super) fn all(&self, memory: &mut [i64]) -> Elements {
        let count = memory.len() / self.words;
        self.elements(memory, 0, count)
    }
}

/// How a collective is called.
#[derive(Clone, Copy, Debug)]
enum Form {
    Blocking,
    Nonblocking,
    Persistent,
}

const FORMS: [Form; 3] = [Form::Blocking, Form::Nonblocking, Form::Persistent];

impl Form {
    fn run(self, universe: &Universe, communicator: &Communicator, collective: Collective) -> Result<()> {
        let endpoint = Endpoint::new(universe);
        match self {
            Form::Blocking => communicator.collective(collective),
            Form::Nonblocking => communicator.start_collective(collective)?.wait(&endpoint).map(drop),
            Form::Persistent => {
                let mut request = persistent(communicator, collective)?;
                request.as_persistent()?.start(communicator, &endpoint)?;
                request.wait(&endpoint).map(drop)
            }
        }
    }
}

fn persistent(communicator: &Communicator, collective: Collective) -> Result<Request> {
    let prepared = communicator.persistent_collective(collective)?;
    Ok(Request::persistent(communicator, Persistent::collective(prepared)))
}

/// What `rank` gives to `to`.
fn numbers(rank: usize, to: usize, count: usize) -> Vec<i64> {
    (0..count as i64 * 2).map(|place| rank as i64 * 1_000_003 + to as i64 * 10_007 + place).collect()
}

/// What all of `ranks` give to `to`, one behind the other.
fn from_all(ranks: usize, to: usize, count: usize) -> Vec<i64> {
    (0..ranks).flat_map(|rank| numbers(rank, to, count)).collect()
}

fn to_all(rank: usize, ranks: usize, count: usize) -> Vec<i64> {
    (0..ranks).flat_map(|to| numbers(rank, to, count)).collect()
}

/// Calls `test` for every form, count, and shape of what is sent and of what is received.
fn in_all_ways(test: impl Fn(Form, usize, &Shape, &Shape) -> Result<()>) -> Result<()> {
    let [dense, sparse] = shapes();
    for form in FORMS {
        for count in COUNTS {
            for (sent, received) in [(&dense, &dense), (&sparse, &dense), (&dense, &sparse), (&sparse, &sparse)] {
                test(form, count, sent, received)?;
            }
        }
    }
    Ok(())
}

fn elements_find_their_places(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    in_all_ways(|form, count, sent, received| {
        let run = |collective| form.run(universe, world, collective);
        let (last, root) = (size - 1, Root::Rank(size - 1));
        let mut own = sent.lay(&numbers(rank, 0, count));
        let shape = if rank == last { sent } else { received };
        let mut data = if rank == last { own.clone() } else { shape.room(count) };
        run(Collective::Broadcast { data: shape.all(&mut data), root })?;
        assert_eq!(shape.read(&data), numbers(last, 0, count));

        let (part, mut all) = (Some(sent.all(&mut own)), received.room(count * size));
        let blocks = Blocks::Even(received.elements(&mut all, 0, count));
        run(Collective::Gather { part: part.clone(), all: (rank == last).then(|| blocks.clone()), root, even: true })?;
        let expected = if rank == last { from_all(size, 0, count) } else { vec![-1; count * size * 2] };
        assert_eq!(received.read(&all), expected);
        run(Collective::Allgather { part, all: blocks })?;
        assert_eq!(received.read(&all), from_all(size, 0, count));

        let (mut every, mut part) = (sent.lay(&to_all(rank, size, count)), received.room(count));
        let blocks = Blocks::Even(sent.elements(&mut every, 0, count));
        let at_root = (rank == last).then(|| blocks.clone());
        run(Collective::Scatter { all: at_root, part: Some(received.all(&mut part)), root, even: true })?;
        assert_eq!(received.read(&part), numbers(last, rank, count));
        let mut all = received.room(count * size);
        let incoming = Blocks::Even(received.elements(&mut all, 0, count));
        run(Collective::Alltoall { sent: Some(blocks), received: incoming })?;
        assert_eq!(received.read(&all), from_all(size, rank, count));
        run(Collective::Barrier)
    })
}

fn elements_in_place_find_their_places(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    in_all_ways(|form, count, sent, received| {
        let run = |collective| form.run(universe, world, collective);
        let root = Root::Rank(0);
        let own = numbers(rank, 0, count);
        let mut prepared = vec![-1; count * size * 2];
        prepared[rank * count * 2..][..count * 2].copy_from_slice(&own);
        let (mut part, mut all) = (sent.lay(&own), received.lay(&prepared));
        let blocks = Blocks::Even(received.elements(&mut all, 0, count));
        let given = (rank != 0).then(|| sent.all(&mut part));
        run(Collective::Gather { part: given, all: (rank == 0).then(|| blocks.clone()), root, even: true })?;
        assert_eq!(received.read(&all), if rank == 0 { from_all(size, 0, count) } else { prepared });
        run(Collective::Allgather { part: None, all: blocks })?;
        assert_eq!(received.read(&all), from_all(size, 0, count));

        let (mut every, mut part) = (sent.lay(&to_all(rank, size, count)), received.room(count));
        let blocks = Blocks::Even(sent.elements(&mut every, 0, count));
        let taken = (rank != 0).then(|| received.all(&mut part));
        run(Collective::Scatter { all: (rank == 0).then(|| blocks.clone()), part: taken, root, even: true })?;
        assert_eq!(received.read(&part), if rank == 0 { vec![-1; count * 2] } else { numbers(0, rank, count) });
        run(Collective::Alltoall { sent: None, received: blocks })?;
        assert_eq!(sent.read(&every), from_all(size, rank, count));
        Ok(())
    })
}

fn listed_elements_find_their_places(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    in_all_ways(|form, scale, sent, received| {
        let run = |collective| form.run(universe, world, collective);
        let (scale, root) = (scale / 10 + 1, Root::Rank(size / 2));
        let is_root = rank == size / 2;
        // Rank r has r * scale elements; the last rank's stand first, with a gap of one element behind each part.
        let count = |rank: usize| rank * scale;
        let first = |rank: usize| (rank + 1..size).map(|after| count(after) + 1).sum::<usize>();
        let total = first(0) + count(0) + 1;
        let listed = |shape: &Shape, memory: &mut [i64]| {
            Blocks::Listed((0..size).map(|rank| shape.elements(memory, first(rank), count(rank))).collect())
        };
        let expected = |from: &dyn Fn(usize) -> Vec<i64>| {
            let mut expected = vec![-1; total * 2];
            (0..size).for_each(|rank| expected[first(rank) * 2..][..count(rank) * 2].copy_from_slice(&from(rank)));
            expected
        };
        let mut own = sent.lay(&numbers(rank, 0, count(rank)));
        let mut all = received.room(total);
        let blocks = listed(received, &mut all);
        let part = Some(sent.all(&mut own));
        run(Collective::Gather { part: part.clone(), all: is_root.then(|| blocks.clone()), root, even: false })?;
        let everything = expected(&|rank| numbers(rank, 0, count(rank)));
        assert_eq!(received.read(&all), if is_root { everything.clone() } else { vec![-1; total * 2] });
        run(Collective::Allgather { part, all: blocks })?;
        assert_eq!(received.read(&all), everything);

        let (mut every, mut part) = (sent.lay(&everything), received.room(count(rank)));
        let given = is_root.then(|| listed(sent, &mut every));
        run(Collective::Scatter { all: given, part: Some(received.all(&mut part)), root, even: false })?;
        assert_eq!(received.read(&part), numbers(rank, 0, count(rank)));

        // To rank t go count(t) elements, so every rank gets equally long parts.
        let mut every = sent.lay(&expected(&|to| numbers(rank, to, count(to))));
        let mut got = received.room(count(rank) * size);
        let parts = (0..size).map(|from| received.elements(&mut got, from * count(rank), count(rank))).collect();
        run(Collective::Alltoall { sent: Some(listed(sent, &mut every)), received: Blocks::Listed(parts) })?;
        assert_eq!(received.read(&got), from_all(size, rank, count(rank)));
        Ok(())
    })
}

const MODULUS: i64 = 1_000_007;

/// `x -> a x + b`, one function after the other: an associative operation that does not commute.
fn compose(first: [i64; 2], second: [i64; 2]) -> [i64; 2] {
    [first[0] * second[0] % MODULUS, (first[0] * second[1] + first[1]) % MODULUS]
}

/// The same as an operation of the program's, on elements as they lie in memory.
fn composition(shape: &Shape) -> Operation {
    let (words, second) = (shape.words, shape.second);
    let function = move |from: *const u8, inout: *mut u8, count: u64, _: &Datatype| {
        let (from, inout) = (from.cast::<i64>(), inout.cast::<i64>());
        for place in (0..count as usize).map(|element| element * words) {
            // SAFETY: the library passes elements as they lie in memory.
            unsafe {
                let first = [*from.add(place), *from.add(place + second)];
                let combined = compose(first, [*inout.add(place), *inout.add(place + second)]);
                (*inout.add(place), *inout.add(place + second)) = (combined[0], combined[1]);
            }
        }
        Ok(())
    };
    // SAFETY: the function touches nothing but the elements that it is given.
    Operation::User(unsafe { UserOperation::new(function, false) })
}

/// What `rank` gives to a reduction.
fn functions(rank: usize, count: usize) -> Vec<i64> {
    (0..count as i64 * 2).map(|place| (rank as i64 * 71 + place * 13 + 2) % MODULUS).collect()
}

fn combined(ranks: std::ops::Range<usize>, count: usize, operation: &Operation) -> Vec<i64> {
    let mut all = ranks.map(|rank| functions(rank, count));
    let mut kept = all.next().expect("a rank");
    for next in all {
        for (kept, next) in kept.chunks_mut(2).zip(next.chunks(2)) {
            let sum = [kept[0] + next[0], kept[1] + next[1]];
            let composed = compose([kept[0], kept[1]], [next[0], next[1]]);
            kept.copy_from_slice(if matches!(operation, Operation::User(_)) { &composed } else { &sum });
        }
    }
    kept
}

fn elements_are_combined_in_rank_order(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    in_all_ways(|form, count, shape, other| {
        let run = |collective| form.run(universe, world, collective);
        // The second shape only chooses the operation.
        let operation = if other.words == 2 { Operation::Predefined(Predefined::Sum) } else { composition(shape) };
        let mut own = shape.lay(&functions(rank, count));
        let data = Some(shape.all(&mut own));
        for root in [0, size - 1] {
            let mut at_root = shape.room(count);
            let result = (rank == root).then(|| shape.all(&mut at_root));
            let (data, operation) = (data.clone(), operation.clone());
            run(Collective::Reduce { data, result, operation: operation.clone(), root: Root::Rank(root) })?;
            let expected = if rank == root { combined(0..size, count, &operation) } else { vec![-1; count * 2] };
            assert_eq!(shape.read(&at_root), expected);
        }
        let mut everywhere = shape.room(count);
        let result = shape.all(&mut everywhere);
        run(Collective::Allreduce { data: data.clone(), result, operation: operation.clone() })?;
        assert_eq!(shape.read(&everywhere), combined(0..size, count, &operation));

        for exclusive in [false, true] {
            let mut prefix = shape.room(count);
            let (data, operation, result) = (data.clone(), operation.clone(), shape.all(&mut prefix));
            run(Collective::Scan { data, result, operation: operation.clone(), exclusive })?;
            let expected = match rank + usize::from(!exclusive) {
                0 => vec![-1; count * 2],
                end => combined(0..end, count, &operation),
            };
            assert_eq!(shape.read(&prefix), expected);
        }

        // Rank r gets r * count / 10 elements.
        let counts: Vec<u64> = (0..size).map(|rank| (rank * count / 10) as u64).collect();
        let (total, first) = (counts.iter().sum::<u64>() as usize, counts[..rank].iter().sum::<u64>() as usize);
        let (mut wide, mut part) = (shape.lay(&functions(rank, total)), shape.room(counts[rank] as usize));
        let (data, result) = (shape.all(&mut wide), shape.all(&mut part));
        let expected = &combined(0..size, total, &operation)[first * 2..][..part.len() / shape.words * 2];
        run(Collective::ReduceScatter { data, result, counts, operation })?;
        assert_eq!(shape.read(&part), expected);
        Ok(())
    })
}

fn elements_in_place_are_combined(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    in_all_ways(|form, count, shape, other| {
        let run = |collective| form.run(universe, world, collective);
        let operation = if other.words == 2 { Operation::Predefined(Predefined::Sum) } else { composition(shape) };
        let own = shape.lay(&functions(rank, count));
        let mut data = own.clone();
        let (elements, root) = (Some(shape.all(&mut data)), Root::Rank(size / 2));
        let (given, result) = if rank == size / 2 { (None, elements) } else { (elements, None) };
        run(Collective::Reduce { data: given, result, operation: operation.clone(), root })?;
        let whole = combined(0..size, count, &operation);
        assert_eq!(shape.read(&data), if rank == size / 2 { whole.clone() } else { shape.read(&own) });

        let mut data = own.clone();
        let result = shape.all(&mut data);
        run(Collective::Allreduce { data: None, result, operation: operation.clone() })?;
        assert_eq!(shape.read(&data), whole);

        for exclusive in [false, true] {
            let mut data = own.clone();
            let (operation, result) = (operation.clone(), shape.all(&mut data));
            run(Collective::Scan { data: None, result, operation: operation.clone(), exclusive })?;
            let expected = match rank + usize::from(!exclusive) {
                0 => shape.read(&own),
                end => combined(0..end, count, &operation),
            };
            assert_eq!(shape.read(&data), expected);
        }

        let mut data = shape.lay(&functions(rank, count * size));
        let (all, result) = (shape.all(&mut data), shape.elements(&mut data, 0, count));
        let expected = combined(0..size, count * size, &operation)[rank * count * 2..][..count * 2].to_vec();
        let counts = vec![count as u64; size];
        run(Collective::ReduceScatter { data: all, result, counts, operation })?;
        assert_eq!(shape.read(&data)[..count * 2], expected);
        Ok(())
    })
}

/// The ranks in two groups, even and odd, as an intercommunicator; how many of the other group there are, and their
/// ranks in the world.
fn two_groups(universe: &Universe) -> Result<Option<(Communicator, Vec<usize>)>> {
    let world = universe.world();
    if world.size() == 1 {
        return Ok(None);
    }
    let odd = world.rank() % 2;
    let own = world.split(Some(odd as u32), 0)?.expect("everybody has a colour");
    let inter = own.create_intercommunicator(0, (own.rank() == 0).then_some((world, 1 - odd)), 5)?;
    Ok(Some((inter, (1 - odd..world.size()).step_by(2).collect())))
}

fn two_groups_exchange_data(universe: &Universe) -> Result<()> {
    let Some((inter, others)) = two_groups(universe)? else { return Ok(()) };
    let (me, odd) = (universe.world().rank(), universe.world().rank() % 2 == 1);
    // The root is the last of the odd ones.
    let root = match (odd, inter.rank() + 1 == inter.size()) {
        (false, _) => Root::Rank(others.len() - 1),
        (true, true) => Root::Here,
        (true, false) => Root::Nobody,
    };
    let root_in_world = if odd { inter.size() * 2 - 1 } else { others[others.len() - 1] };
    in_all_ways(|form, count, sent, received| {
        let run = |collective| form.run(universe, &inter, collective);
        let is_root = root == Root::Here;
        let shape = if is_root { sent } else { received };
        let mut data = if is_root { sent.lay(&numbers(me, 0, count)) } else { received.room(count) };
        run(Collective::Broadcast { data: shape.all(&mut data), root })?;
        let expected = if odd && !is_root { vec![-1; count * 2] } else { numbers(root_in_world, 0, count) };
        assert_eq!(shape.read(&data), expected);

        let given = |from: &[usize], to: usize| -> Vec<i64> {
            from.iter().flat_map(|&from| numbers(from, to, count)).collect()
        };
        let mut own = sent.lay(&numbers(me, 0, count));
        let part = Some(sent.all(&mut own));
        let mut all = received.room(count * others.len());
        let blocks = Blocks::Even(received.elements(&mut all, 0, count));
        let (given_part, at_root) = (part.clone().filter(|_| !odd), is_root.then(|| blocks.clone()));
        run(Collective::Gather { part: given_part, all: at_root, root, even: true })?;
        assert_eq!(
            received.read(&all),
            if is_root { given(&others, 0) } else { vec![-1; all.len() / received.words * 2] }
        );
        run(Collective::Allgather { part, all: blocks })?;
        assert_eq!(received.read(&all), given(&others, 0));

        let mut every = sent.lay(&others.iter().flat_map(|&to| numbers(me, to, count)).collect::<Vec<_>>());
        let blocks = Blocks::Even(sent.elements(&mut every, 0, count));
        let mut part = received.room(count);
        let taken = (!odd).then(|| received.all(&mut part));
        run(Collective::Scatter { all: is_root.then(|| blocks.clone()), part: taken, root, even: true })?;
        assert_eq!(received.read(&part), if odd { vec![-1; count * 2] } else { numbers(root_in_world, me, count) });
        let mut all = received.room(count * others.len());
        let incoming = Blocks::Even(received.elements(&mut all, 0, count));
        run(Collective::Alltoall { sent: Some(blocks), received: incoming })?;
        assert_eq!(received.read(&all), given(&others, me));
        run(Collective::Barrier)
    })
}

fn two_groups_combine_data(universe: &Universe) -> Result<()> {
    let Some((inter, others)) = two_groups(universe)? else { return Ok(()) };
    let odd = universe.world().rank() % 2 == 1;
    let me = inter.rank();
    let root = match (odd, me) {
        (false, 0) => Root::Here,
        (false, _) => Root::Nobody,
        (true, _) => Root::Rank(0),
    };
    in_all_ways(|form, count, shape, other| {
        let run = |collective| form.run(universe, &inter, collective);
        let operation = if other.words == 2 { Operation::Predefined(Predefined::Sum) } else { composition(shape) };
        let (mut own, mut result) = (shape.lay(&functions(me, count)), shape.room(count));
        let data = odd.then(|| shape.all(&mut own));
        let at_root = (root == Root::Here).then(|| shape.all(&mut result));
        run(Collective::Reduce { data, result: at_root, operation: operation.clone(), root })?;
        let whole = combined(0..others.len(), count, &operation);
        assert_eq!(shape.read(&result), if root == Root::Here { whole.clone() } else { vec![-1; count * 2] });

        let (data, everywhere) = (Some(shape.all(&mut own)), shape.all(&mut result));
        run(Collective::Allreduce { data, result: everywhere, operation: operation.clone() })?;
        assert_eq!(shape.read(&result), whole);

        // As much data in either group, which each distributes in nearly equal parts.
        let total = count * 6;
        let counts: Vec<u64> = (1..=inter.size())
            .map(|rank| (total * rank / inter.size() - total * (rank - 1) / inter.size()) as u64)
            .collect();
        let first = counts[..me].iter().sum::<u64>() as usize;
        let (mut wide, mut part) = (shape.lay(&functions(me, total)), shape.room(counts[me] as usize));
        let (data, result) = (shape.all(&mut wide), shape.all(&mut part));
        run(Collective::ReduceScatter { data, result, counts, operation: operation.clone() })?;
        let whole = combined(0..others.len(), total, &operation);
        assert_eq!(shape.read(&part), whole[first * 2..][..part.len() / shape.words * 2]);
        Ok(())
    })
}

fn neighbours_exchange_data(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let size = world.size();
    let ring = world.create_cartesian(&Cartesian::new(&[size, 1], &[true, false])?)?.expect("everybody is on the ring");
    let chain = world.create_cartesian(&Cartesian::new(&[size], &[false])?)?.expect("everybody is in the chain");
    let index: Vec<usize> = (1..=size).map(|rank| rank * size).collect();
    let edges: Vec<usize> = (0..size).flat_map(|_| 0..size).collect();
    let graph = world.create_graph(&Graph::new(&index, &edges)?)?.expect("everybody is in the graph");
    // To the next rank twice, to nobody else.
    let (next, before) = ((world.rank() + 1) % size, (world.rank() + size - 1) % size);
    let directed = world.create_distributed_graph_adjacent((&[before; 2], None), (&[next; 2], None))?;
    for communicator in [&ring, &chain, &graph, &directed] {
        let grid = communicator.cartesian().is_ok();
        let neighbours = communicator.neighbours()?;
        let (sources, destinations) = (neighbours.sources, neighbours.destinations);
        let rank = communicator.rank();
        in_all_ways(|form, count, sent, received| {
            let run = |collective| form.run(universe, communicator, collective);
            // Which of its places a rank sends from to where this one receives: on a grid the opposite one.
            let place_at_source = |place: usize| match (grid, communicator.graph().is_ok()) {
                (true, _) => place ^ 1,
                (false, true) => rank,
                (false, false) => place,
            };
            let expected = |from: &dyn Fn(usize, usize) -> Vec<i64>| -> Vec<i64> {
                let from = |place: usize| match sources[place] {
                    rwmpi_core::Source::Rank(source) => from(source, place_at_source(place)),
                    _ => vec![-1; count * 2],
                };
                (0..sources.len()).flat_map(from).collect()
            };
            let mut own = sent.lay(&numbers(rank, 0, count));
            let mut all = received.room(count * sources.len());
            let blocks = Blocks::Even(received.elements(&mut all, 0, count));
            run(Collective::NeighbourAllgather { part: sent.all(&mut own), all: blocks.clone() })?;
            assert_eq!(received.read(&all), expected(&|source, _| numbers(source, 0, count)));
            let mut every = sent.lay(&to_all(rank, destinations.len(), count));
            let outgoing = Blocks::Even(sent.elements(&mut every, 0, count));
            run(Collective::NeighbourAlltoall { sent: outgoing, received: blocks })?;
            assert_eq!(received.read(&all), expected(&|source, place| numbers(source, place, count)));
            Ok(())
        })?;
    }
    Ok(())
}

fn persistent_collectives_start_in_any_order(universe: &Universe) -> Result<()> {
    let (world, endpoint) = (universe.world(), Endpoint::new(universe));
    let (rank, size) = (world.rank(), world.size());
    let [dense, sparse] = shapes();
    let mut memory: Vec<Vec<i64>> = (0..4).map(|number| [&dense, &sparse][number % 2].room(40)).collect();
    let operation = Operation::Predefined(Predefined::Sum);
    let mut requests = Vec::new();
    for (number, memory) in memory.iter_mut().enumerate() {
        let result = [&dense, &sparse][number % 2].all(memory);
        let collective = match number {
            0 | 1 => Collective::Allreduce { data: None, result, operation: operation.clone() },
            _ => Collective::Broadcast { data: result, root: Root::Rank(number % size) },
        };
        requests.push(persistent(world, collective)?);
    }
    for round in 0..5 {
        for number in 0..4 {
            let values = numbers(rank, round * 10 + number, 40);
            memory[number].copy_from_slice(&[&dense, &sparse][number % 2].lay(&values));
        }
        // Each rank starts them in another order; none waits for anybody.
        for number in (0..4).map(|number| (number + rank + round) % 4) {
            requests[number].as_persistent()?.start(world, &endpoint)?;
        }
        assert_eq!(requests[0].as_persistent()?.start(world, &endpoint).unwrap_err().class(), ErrorClass::Request);
        for request in &mut requests {
            request.wait(&endpoint)?;
            // Inactive by now.
            request.wait(&endpoint)?;
        }
        for (number, memory) in memory.iter().enumerate() {
            let of = |rank| numbers(rank, round * 10 + number, 40);
            let sum = || (0..80).map(|place| (0..size).map(|rank| of(rank)[place]).sum()).collect();
            let expected = if number < 2 { sum() } else { of(number % size) };
            assert_eq!([&dense, &sparse][number % 2].read(memory), expected, "number {number} of round {round}");
        }
    }
    Ok(())
}

fn wrong_arguments_are_refused(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let [dense, _] = shapes();
    let mut memory = dense.room(4);
    let data = dense.all(&mut memory);
    let class = |collective: Collective| world.collective(collective).unwrap_err().class();
    let broadcast = |root| Collective::Broadcast { data: data.clone(), root };
    assert_eq!(class(broadcast(Root::Rank(world.size()))), ErrorClass::Root);
    assert_eq!(class(broadcast(Root::Here)), ErrorClass::Root);
    let operation = Operation::Predefined(Predefined::MaxLocation);
    let reduction = Collective::Allreduce { data: None, result: data.clone(), operation };
    assert_eq!(class(reduction), ErrorClass::Operation);
    let neighbours = Collective::NeighbourAllgather { part: data.clone(), all: Blocks::Even(data.clone()) };
    assert_eq!(class(neighbours), ErrorClass::Topology);
    assert_eq!(class(Collective::Allgather { part: None, all: Blocks::Listed(Vec::new()) }), ErrorClass::Count);
    // What a rank gives to itself does not fit.
    let alone = universe.this_rank();
    let short = Blocks::Even(dense.elements(&mut memory, 0, 1));
    let gather = Collective::Allgather { part: Some(data), all: short };
    assert_eq!(alone.collective(gather).unwrap_err().class(), ErrorClass::Truncate);
    world.barrier()
}
