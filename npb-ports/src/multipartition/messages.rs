//! How lines pass through the slabs, from rank to rank.
//!
//! At every stage a rank works on one of its cells, as the message from the stage before tells it to, and tells the
//! next rank how the lines stand. Every message has a receive of its own, which is posted again as soon as its last
//! message has been used, in the order in which messages come: so a sender always knows where its message goes.

use rwmpi::{Buffer, Communicator, PersistentReceive, Result, Universe, scope};

/// The messages about the lines along one axis, in one direction.
pub struct Passage {
    communicator: Communicator,
    to: usize,
    /// How many numbers each stage's message has.
    lengths: Vec<usize>,
    /// Those into all stages but the first.
    incoming: Vec<PersistentReceive<f64>>,
    outgoing: Buffer<f64>,
}

impl Passage {
    /// From rank `from` and to rank `to`, through stages the borders of which messages of so many numbers cross.
    pub fn new(
        universe: &Universe,
        communicator: &Communicator,
        [from, to]: [usize; 2],
        lengths: Vec<usize>,
    ) -> Result<Self> {
        let receive = |&length: &usize| communicator.persistent_receive(universe.alloc(length), from, 0);
        let mut incoming = lengths[1..].iter().map(receive).collect::<Result<Vec<_>>>()?;
        incoming.iter_mut().try_for_each(PersistentReceive::start)?;
        let outgoing = universe.alloc(lengths.iter().copied().max().unwrap_or(0));
        Ok(Passage { communicator: communicator.clone(), to, lengths, incoming, outgoing })
    }

    /// Passes through all stages. `work` gets a stage's number, the message that came to it (empty at the first) and
    /// the one that it is to fill (empty at the last). What `meanwhile` does need not be done before that is sent. Both
    /// work on `context`.
    pub fn run<C>(
        &mut self,
        context: &mut C,
        mut work: impl FnMut(&mut C, usize, &[f64], &mut [f64]),
        mut meanwhile: impl FnMut(&mut C, usize),
    ) -> Result<()> {
        let borders = self.incoming.len();
        for stage in 0..=borders {
            let length = if stage < borders { self.lengths[stage] } else { 0 };
            let outgoing = &mut self.outgoing[..length];
            match stage.checked_sub(1).map(|border| &mut self.incoming[border]) {
                None => work(context, stage, &[], outgoing),
                Some(receive) => {
                    receive.wait()?;
                    work(context, stage, receive.buffer()?, outgoing);
                    receive.start()?;
                }
            }
            scope(|scope| {
                if stage < borders {
                    // The scope waits for it.
                    let _sent = self.communicator.isend(scope, outgoing, self.to, 0)?;
                }
                meanwhile(context, stage);
                Ok(())
            })?;
        }
        Ok(())
    }
}
