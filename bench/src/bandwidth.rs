//! One rank sends, the other receives: how many bytes, or small messages, a second.
//!
//! Usually a window of messages is in flight at once (isend, irecv) and the receiver says when it has them all. The
//! *stream* variant is that of the MPI/MBCF thesis, section 4.2.2: blocking calls one after the other, timed from the
//! first send to the end of a barrier after the last. Every message has a buffer of its own on both sides; all are
//! changed between two windows, and looked at by the receiver, outside the time.

use crate::arguments::{Bandwidth, Rate};
use crate::message::{Message, check, stamp};
use crate::session::{Limit, Session};
use anyhow::Result;
use rwmpi::{Communicator, scope, wait_all};
use std::time::Instant;

const DATA: i32 = 1;
const READY: i32 = 2;
const DONE: i32 = 3;

/// Messages in flight at once.
const WINDOW: usize = 64;
/// Larger messages get a smaller window, so that one side's buffers have this many bytes at most …
const WINDOW_BYTES: usize = 4 << 20;
/// … but never fewer messages than this.
const WINDOW_LEAST: usize = 4;
/// The message of `rate`.
const RATE_BYTES: usize = 8;

struct Flow {
    world: Communicator,
    sender: bool,
    peer: usize,
    messages: Vec<Message>,
    serial: u64,
    clock_us: f64,
}

impl Flow {
    fn new(session: &Session, bytes: usize) -> Self {
        let world = session.world();
        let rank = world.rank();
        let window = (WINDOW_BYTES / bytes.max(1)).clamp(WINDOW_LEAST, WINDOW);
        Flow {
            sender: rank == 0,
            peer: 1 - rank,
            messages: (0..window).map(|_| session.message(bytes)).collect(),
            serial: 0,
            clock_us: session.clock_us(),
            world,
        }
    }

    /// Windows by the given way, each a sample: the time of one message.
    fn windows(
        &mut self,
        iterations: u64,
        samples: &mut Vec<f64>,
        transfer: impl Fn(&mut Self) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..iterations {
            let first = self.serial;
            self.serial += self.messages.len() as u64;
            if self.sender {
                (first..).zip(&mut self.messages).for_each(|(serial, message)| stamp(message, serial));
                self.world.recv::<u8>(&mut [], self.peer, READY)?;
            } else {
                self.world.send::<u8>(&[], self.peer, READY)?;
            }
            let start = Instant::now();
            transfer(self)?;
            let time = start.elapsed().as_secs_f64() * 1e6 - self.clock_us;
            samples.push(time / self.messages.len() as f64);
            if !self.sender {
                (first..).zip(&self.messages).try_for_each(|(serial, message)| check(message, serial))?;
            }
        }
        Ok(())
    }

    /// All messages of a window in flight at once.
    fn at_once(&mut self) -> Result<()> {
        let Flow { world, peer, messages, .. } = self;
        if self.sender {
            scope(|s| {
                let requests: Result<Vec<_>, _> =
                    messages.iter().map(|message| world.isend(s, &message[..], *peer, DATA)).collect();
                wait_all(requests?)?;
                Ok(())
            })?;
            world.recv::<u8>(&mut [], *peer, DONE)?;
        } else {
            scope(|s| {
                let requests: Result<Vec<_>, _> =
                    messages.iter_mut().map(|message| world.irecv(s, &mut message[..], *peer, DATA)).collect();
                wait_all(requests?)?;
                Ok(())
            })?;
            world.send::<u8>(&[], *peer, DONE)?;
        }
        Ok(())
    }

    /// One after the other, then a barrier.
    fn stream(&mut self) -> Result<()> {
        for message in &mut self.messages {
            if self.sender {
                self.world.send(message, self.peer, DATA)?;
            } else {
                self.world.recv(message, self.peer, DATA)?;
            }
        }
        self.world.barrier()?;
        Ok(())
    }
}

fn flow(
    session: &mut Session,
    benchmark: &str,
    bytes: usize,
    stream: bool,
    limit: impl Fn(usize) -> Limit,
) -> Result<()> {
    let mut flow = Flow::new(session, bytes);
    let mut figure = session.figure(benchmark);
    figure.bytes = Some(bytes);
    figure.variant = Some(if stream { "stream".into() } else { format!("{} at once", flow.messages.len()) });
    session.measure(&figure, limit(flow.messages.len()), |iterations, samples| match stream {
        true => flow.windows(iterations, samples, Flow::stream),
        false => flow.windows(iterations, samples, Flow::at_once),
    })
}

/// The benchmark `bandwidth`.
pub fn bandwidth(session: &mut Session, options: &Bandwidth) -> Result<()> {
    let sizes = &options.sized.sizes.0;
    sizes
        .iter()
        .try_for_each(|&bytes| flow(session, "bandwidth", bytes, options.stream, |window| Limit::Message { window }))
}

/// The benchmark `rate`.
pub fn rate(session: &mut Session, options: &Rate) -> Result<()> {
    flow(session, "rate", RATE_BYTES, options.stream, |window| Limit::Line { window })
}
