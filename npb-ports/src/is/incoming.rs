//! Keys on their way to the owners of their buckets: as messages, or put into the owners' memory by those who have
//! them.

use crate::{Options, all_to_all};
use rwmpi::{Buffer, Communicator, Result, Universe, Window};
use std::ops::Range;

/// How many keys a rank makes room for at first: enough unless a single bucket is larger than the spare half.
pub fn capacity(keys_per_rank: usize, ranks: usize) -> usize {
    if ranks == 1 { 0 } else { keys_per_rank + keys_per_rank / 2 }
}

/// The keys that a rank gets from others, and how they come.
pub enum Incoming<'a> {
    /// A message from each other rank.
    Messages(Received<'a>),
    /// Nobody receives anything: whoever has keys for a rank reserves a place in its memory and puts them there.
    OneSided(Inbox<'a>),
}

impl<'a> Incoming<'a> {
    /// Collective.
    pub fn new(world: &'a Communicator, universe: &'a Universe, options: &Options, keys: usize) -> Result<Self> {
        let capacity = capacity(keys, world.size());
        Ok(match options.one_sided && world.size() > 1 {
            true => Incoming::OneSided(Inbox { world, window: Inbox::window(world, capacity)?, capacity }),
            false => Incoming::Messages(Received { world, universe, keys: universe.alloc(capacity), count: 0 }),
        })
    }

    /// Calls `sort` to put this rank's keys in order, and brings the range that `parts` has for each other rank there.
    /// No rank owns more than `most` keys, which all ranks know alike. Collective.
    pub fn exchange(
        &mut self,
        (sorted, parts): (&mut [u32], &[Range<usize>]),
        most: usize,
        sort: impl FnOnce(&mut [u32]),
    ) -> Result<()> {
        match self {
            Incoming::Messages(received) => received.exchange((sorted, parts), sort),
            Incoming::OneSided(inbox) => {
                sort(sorted);
                inbox.exchange((sorted, parts), most)
            }
        }
    }

    /// Calls `body` with the keys that have come.
    pub fn with_keys<R>(&mut self, body: impl FnOnce(&[u32]) -> R) -> Result<R> {
        match self {
            Incoming::Messages(received) => Ok(body(&received.keys[..received.count])),
            Incoming::OneSided(inbox) => {
                let memory = inbox.window.lock_local()?;
                Ok(body(&memory[KEYS..][..memory[COUNT] as usize]))
            }
        }
    }

    /// Lets go of what the ranks have together. Collective.
    pub fn close(self) -> Result<()> {
        match self {
            Incoming::Messages(_) => Ok(()),
            Incoming::OneSided(inbox) => inbox.window.free(),
        }
    }
}

/// Keys that come as messages.
pub struct Received<'a> {
    world: &'a Communicator,
    universe: &'a Universe,
    keys: Buffer<u32>,
    count: usize,
}

impl Received<'_> {
    fn exchange(
        &mut self,
        (sorted, parts): (&mut [u32], &[Range<usize>]),
        sort: impl FnOnce(&mut [u32]),
    ) -> Result<()> {
        if self.world.size() == 1 {
            sort(sorted);
            return Ok(());
        }
        let send_counts: Vec<u32> = parts.iter().map(|part| part.len() as u32).collect();
        let mut receive_counts = vec![0; send_counts.len()];
        self.world.alltoall(&send_counts, &mut receive_counts)?;
        receive_counts[self.world.rank()] = 0;
        self.count = receive_counts.iter().map(|&count| count as usize).sum();
        if self.count > self.keys.len() {
            self.keys = self.universe.alloc(self.count);
        }
        let incoming = parts_mut(&mut self.keys, &receive_counts);
        all_to_all::exchange(self.world, incoming, (sorted, parts), sort)
    }
}

fn parts_mut<'a>(mut numbers: &'a mut [u32], counts: &[u32]) -> Vec<&'a mut [u32]> {
    let part = |&count: &u32| numbers.split_off_mut(..count as usize).expect("there is room for all parts");
    counts.iter().map(part).collect()
}

/// Where the memory of an inbox has the number of keys that have come,
const COUNT: usize = 0;
/// and from where on it has the keys.
const KEYS: usize = 1;

/// Memory of each rank into which the others put keys.
pub struct Inbox<'a> {
    world: &'a Communicator,
    window: Window<'static, u32>,
    capacity: usize,
}

impl Inbox<'_> {
    fn window(world: &Communicator, capacity: usize) -> Result<Window<'static, u32>> {
        Window::allocate(world, KEYS + capacity, 0)
    }

    fn exchange(&mut self, (sorted, parts): (&[u32], &[Range<usize>]), most: usize) -> Result<()> {
        if most > self.capacity {
            let larger = Inbox::window(self.world, most)?;
            std::mem::replace(&mut self.window, larger).free()?;
            self.capacity = most;
        }
        let (rank, ranks) = (self.world.rank(), self.world.size());
        self.window.lock_local()?[COUNT] = 0;
        self.window.fence(|epoch| {
            // Each begins with another rank, so that not all of them ask for a place in the same memory at once.
            for destination in (1..ranks).map(|turn| (rank + turn) % ranks) {
                let keys = &sorted[parts[destination].clone()];
                let inbox = epoch.target(destination)?;
                let place = inbox.fetch_add(COUNT, keys.len() as u32)?;
                inbox.put(KEYS + place as usize, keys)?;
            }
            Ok(())
        })
    }
}
