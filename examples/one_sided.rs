//! Four uses of windows: a halo that is put where it is needed, a counter, a hash table that is spread over all ranks,
//! and work that idle ranks steal. In the last three nobody waits for a rank that computes.

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let hottest = heat(world, 1000, 500)?.into_iter().fold(0.0, f64::max);
    let tickets = numbered(world, 1000)?.len();
    let words = count_words(world, &["one", "sided", "or", "one", "way"])?;
    let done = steal(world, 1000)?.len();
    println!("rank {}: hottest {hottest:.4}, {tickets} tickets, {words:?}, {done} tasks", world.rank());
    universe.finalize()
}

// ANCHOR: halo
/// Heat in a rod, as in the chapter on neighbours: here each rank puts its outermost cells beside those of its
/// neighbours. Cells 0 and `len + 1` of a rank are theirs.
pub fn heat(world: &Communicator, cells: usize, steps: usize) -> rwmpi::Result<Vec<f64>> {
    let (rank, size) = (world.rank(), world.size());
    let first = |rank: usize| cells * rank / size;
    let len = first(rank + 1) - first(rank);
    let left = rank.checked_sub(1);
    let right = Some(rank + 1).filter(|&right| right < size);
    let mut rod = Window::allocate(world, len + 2, 0.0)?;
    let mut own = vec![0.0; len + 2];
    if (first(rank)..first(rank + 1)).contains(&(cells / 2)) {
        own[cells / 2 - first(rank) + 1] = 1.0;
    }
    rod.fence(|epoch| {
        for _ in 0..steps {
            if let Some(left) = left {
                epoch.target(left)?.put_value(first(rank) - first(left) + 1, own[1])?;
            }
            if let Some(right) = right {
                epoch.target(right)?.put_value(0, own[len])?;
            }
            // All have put; then all look.
            epoch.locally(|halo| {
                (own[0], own[len + 1]) = (halo[0], halo[len + 1]);
                let next = own.windows(3).map(|cells| cells[1] + 0.25 * (cells[0] - 2.0 * cells[1] + cells[2]));
                let next: Vec<f64> = next.collect();
                own[1..=len].copy_from_slice(&next);
            })?;
        }
        Ok(())
    })?;
    rod.free()?;
    Ok(own[1..=len].to_vec())
}
// ANCHOR_END: halo

// ANCHOR: counter
/// The numbers below `limit`, each given to one rank, whichever comes for it first.
pub fn numbered(world: &Communicator, limit: u64) -> rwmpi::Result<Vec<u64>> {
    // Only rank 0 has the counter.
    let counter = Window::allocate(world, usize::from(world.rank() == 0), 0_u64)?;
    let mut numbers = Vec::new();
    loop {
        let number = counter.lock(0, LockKind::Shared)?.fetch_add(0, 1)?;
        if number >= limit {
            break;
        }
        numbers.push(number);
    }
    counter.free()?;
    Ok(numbers)
}
// ANCHOR_END: counter

// ANCHOR: table
/// A hash table: rank by rank, places of a key and its count. A key's first place is anywhere; if that is taken by
/// another key, it is the next one, and so on.
struct Table<'m> {
    places: Window<'m, u64>,
    size: u64,
}

/// Places of each rank.
const PLACES: u64 = 64;

impl Table<'_> {
    /// Adds to the count of a key, which is not 0. `false`: the table is full.
    fn add(&self, key: u64, count: u64) -> rwmpi::Result<bool> {
        let all = self.places.lock_all()?;
        for probe in 0..PLACES * self.size {
            let place = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(probe) % (PLACES * self.size);
            let (rank, at) = ((place / PLACES) as usize, 2 * (place % PLACES) as usize);
            let memory = all.target(rank)?;
            // Whoever comes first with a key has the place; whoever brings the same key finds it there.
            match memory.compare_exchange(at, 0, key)? {
                Ok(_) => {}
                Err(found) if found == key => {}
                Err(_) => continue,
            }
            memory.fetch_add(at + 1, count)?;
            return Ok(true);
        }
        Ok(false)
    }
}

/// How often each word occurs in all ranks' words, at the rank where the table has it.
pub fn count_words(world: &Communicator, words: &[&str]) -> rwmpi::Result<Vec<(String, u64)>> {
    let places = Window::allocate(world, 2 * PLACES as usize, 0_u64)?;
    let mut table = Table { places, size: world.size() as u64 };
    for word in words {
        // A word of up to eight letters is its own key.
        let mut key = [0; 8];
        key.iter_mut().zip(word.bytes()).for_each(|(letter, byte)| *letter = byte);
        assert!(table.add(u64::from_ne_bytes(key), 1)?, "the table is full");
    }
    world.barrier()?;
    let own = table.places.lock_local()?;
    let word = |key: u64| key.to_ne_bytes().into_iter().filter(|byte| *byte != 0).map(char::from).collect();
    let taken = own.chunks_exact(2).filter(|place| place[0] != 0);
    let found = taken.map(|place| (word(place[0]), place[1])).collect();
    drop(own);
    table.places.free()?;
    Ok(found)
}
// ANCHOR_END: table

// ANCHOR: steal
/// All tasks from 0 to `tasks`, each done by one rank: the squares of those that this one has done. In the beginning
/// all tasks are rank 0's. A rank's tasks are one number, the first and the one behind the last, so they change hands
/// in one step.
pub fn steal(world: &Communicator, tasks: u32) -> rwmpi::Result<Vec<(u32, u64)>> {
    let both = |first: u32, end: u32| u64::from(first) << 32 | u64::from(end);
    let parts = |both: u64| ((both >> 32) as u32, both as u32);
    let (rank, size) = (world.rank(), world.size());
    let window = Window::allocate(world, 1, if rank == 0 { both(0, tasks) } else { 0 })?;
    let all = window.lock_all()?;
    let (own, mut done) = (all.target(rank)?, Vec::new());
    loop {
        // The next of its own, from the front.
        let seen = own.load(0)?;
        let (first, end) = parts(seen);
        if first < end {
            if own.compare_exchange(0, seen, both(first + 1, end))?.is_ok() {
                done.push((first, u64::from(first).pow(2)));
            }
            continue;
        }
        // Otherwise half of another's, from the back; the owner need not notice.
        let mut is_any = false;
        for victim in (1..size).map(|distance| (rank + distance) % size) {
            let victim = all.target(victim)?;
            let seen = victim.load(0)?;
            let (first, end) = parts(seen);
            is_any |= first < end;
            let middle = first + end.saturating_sub(first) / 2;
            if first < end && victim.compare_exchange(0, seen, both(first, middle))?.is_ok() {
                own.store(0, both(middle, end))?;
                break;
            }
        }
        // Nobody has any that is not in hand: whoever has taken some does them.
        if !is_any {
            break;
        }
    }
    drop(all);
    window.free()?;
    Ok(done)
}
// ANCHOR_END: steal
