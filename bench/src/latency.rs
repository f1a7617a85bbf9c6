//! Ping-pong and ping-ping: a message to and fro, or both ways at once (McMPI thesis, sections 4.1.1 and 4.1.2; the
//! variant with receives posted in advance: MPI/MBCF thesis, section 4.2.1).
//!
//! Messages of up to one cache line go to and fro in an unbroken loop; changing one takes a store. Of longer ones each
//! exchange is timed by itself, because both ranks change all of their message before it and look at all of what they
//! got after it, and neither belongs to the time.

use crate::arguments::{Latency, Sized};
use crate::floor::LINE;
use crate::message::{Message, check, stamp};
use crate::report::Figure;
use crate::session::{Limit, Session};
use anyhow::Result;
use rwmpi::{Communicator, scope};
use std::time::Instant;

const DATA: i32 = 1;
const READY: i32 = 2;

/// One end of the exchange.
struct Exchange {
    world: Communicator,
    leader: bool,
    peer: usize,
    out: Message,
    incoming: Message,
    /// The second message of a ping-ping.
    incoming_second: Message,
    /// The exchanges so far; both ranks count the same.
    serial: u64,
    clock_us: f64,
}

impl Exchange {
    fn new(session: &Session, bytes: usize) -> Self {
        let world = session.world();
        let rank = world.rank();
        Exchange {
            leader: rank == 0,
            peer: 1 - rank,
            out: session.message(bytes),
            incoming: session.message(bytes),
            incoming_second: session.message(bytes),
            serial: 0,
            clock_us: session.clock_us(),
            world,
        }
    }

    /// Both ranks have prepared their messages; the clock may start.
    fn meet(&self) -> Result<()> {
        if self.leader {
            self.world.recv::<u8>(&mut [], self.peer, READY)?;
        } else {
            self.world.send::<u8>(&[], self.peer, READY)?;
        }
        Ok(())
    }

    fn next(&mut self) {
        self.serial += 1;
        stamp(&mut self.out, self.serial);
    }

    /// Ping-pong in an unbroken loop.
    fn loops(&mut self, iterations: u64, samples: &mut Vec<f64>) -> Result<()> {
        let start = Instant::now();
        for _ in 0..iterations {
            if self.leader {
                self.next();
                self.world.send(&self.out, self.peer, DATA)?;
                self.world.recv(&mut self.incoming, self.peer, DATA)?;
                check(&self.incoming, self.serial)?;
            } else {
                self.next();
                self.world.recv(&mut self.incoming, self.peer, DATA)?;
                self.world.send(&self.out, self.peer, DATA)?;
                check(&self.incoming, self.serial)?;
            }
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / (2 * iterations) as f64);
        Ok(())
    }

    /// Ping-pong in an unbroken loop, with receives posted before the message that they are for can be sent.
    fn loops_preposted(&mut self, iterations: u64, samples: &mut Vec<f64>) -> Result<()> {
        let Exchange { world, peer, out, incoming, serial, .. } = self;
        let mut start = Instant::now();
        for iteration in 0..iterations {
            if self.leader {
                *serial += 1;
                stamp(out, *serial);
            }
            scope(|s| {
                let request = world.irecv(s, &mut incoming[..], *peer, DATA)?;
                // The follower answers the message before; its first send only says that it is ready.
                match (self.leader, iteration) {
                    (true, 0) => {
                        world.recv::<u8>(&mut [], *peer, READY)?;
                        start = Instant::now();
                        world.send(out, *peer, DATA)?;
                    }
                    (false, 0) => world.send::<u8>(&[], *peer, READY)?,
                    _ => world.send(out, *peer, DATA)?,
                }
                request.wait()?;
                Ok(())
            })?;
            if !self.leader {
                *serial += 1;
                stamp(out, *serial);
            }
            check(incoming, *serial)?;
        }
        if !self.leader {
            world.send(out, *peer, DATA)?;
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / (2 * iterations) as f64);
        Ok(())
    }

    /// Ping-pong, each round trip timed by itself.
    fn single(&mut self, iterations: u64, samples: &mut Vec<f64>) -> Result<()> {
        for _ in 0..iterations {
            self.next();
            self.meet()?;
            if self.leader {
                let start = Instant::now();
                self.world.send(&self.out, self.peer, DATA)?;
                self.world.recv(&mut self.incoming, self.peer, DATA)?;
                samples.push((start.elapsed().as_secs_f64() * 1e6 - self.clock_us) / 2.0);
            } else {
                self.world.recv(&mut self.incoming, self.peer, DATA)?;
                self.world.send(&self.out, self.peer, DATA)?;
            }
            check(&self.incoming, self.serial)?;
        }
        Ok(())
    }

    /// Ping-pong, each round trip timed by itself, both receives posted in advance.
    fn single_preposted(&mut self, iterations: u64, samples: &mut Vec<f64>) -> Result<()> {
        for _ in 0..iterations {
            self.next();
            let Exchange { world, peer, out, incoming, clock_us, .. } = self;
            scope(|s| {
                let request = world.irecv(s, &mut incoming[..], *peer, DATA)?;
                if self.leader {
                    world.recv::<u8>(&mut [], *peer, READY)?;
                    let start = Instant::now();
                    world.send(out, *peer, DATA)?;
                    request.wait()?;
                    samples.push((start.elapsed().as_secs_f64() * 1e6 - *clock_us) / 2.0);
                } else {
                    world.send::<u8>(&[], *peer, READY)?;
                    request.wait()?;
                    world.send(out, *peer, DATA)?;
                }
                Ok(())
            })?;
            check(&self.incoming, self.serial)?;
        }
        Ok(())
    }

    /// Two messages each way at once; single exchanges would drift apart and flatter themselves.
    fn both_ways(&mut self) -> rwmpi::Result<()> {
        let Exchange { world, peer, out, incoming, incoming_second, .. } = self;
        scope(|s| {
            let first = world.isend(s, &out[..], *peer, DATA)?;
            world.recv(incoming, *peer, DATA)?;
            let second = world.isend(s, &out[..], *peer, DATA)?;
            world.recv(incoming_second, *peer, DATA)?;
            first.wait()?;
            second.wait()?;
            Ok(())
        })
    }

    fn look_at_both(&self) -> Result<()> {
        check(&self.incoming, self.serial)?;
        check(&self.incoming_second, self.serial)
    }

    /// Ping-ping in an unbroken loop.
    fn pingping_loops(&mut self, iterations: u64, samples: &mut Vec<f64>) -> Result<()> {
        let start = Instant::now();
        for _ in 0..iterations {
            self.next();
            self.both_ways()?;
            self.look_at_both()?;
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / (2 * iterations) as f64);
        Ok(())
    }

    /// Ping-ping, each exchange timed by itself.
    fn pingping_single(&mut self, iterations: u64, samples: &mut Vec<f64>) -> Result<()> {
        for _ in 0..iterations {
            self.next();
            self.meet()?;
            let start = Instant::now();
            self.both_ways()?;
            samples.push((start.elapsed().as_secs_f64() * 1e6 - self.clock_us) / 2.0);
            self.look_at_both()?;
        }
        Ok(())
    }
}

/// Measures ping-pong as `figure`, which has the length.
pub fn measure(session: &mut Session, figure: &Figure, preposted: bool) -> Result<()> {
    let bytes = figure.bytes.unwrap_or(0);
    let mut exchange = Exchange::new(session, bytes);
    session.measure(figure, Limit::Message { window: 1 }, |iterations, samples| match (bytes <= LINE, preposted) {
        (true, false) => exchange.loops(iterations, samples),
        (true, true) => exchange.loops_preposted(iterations, samples),
        (false, false) => exchange.single(iterations, samples),
        (false, true) => exchange.single_preposted(iterations, samples),
    })
}

/// The benchmark `histogram`: each round trip is a sample, whatever its length.
pub fn histogram(session: &mut Session, options: &Sized) -> Result<()> {
    for &bytes in &options.sizes.0 {
        let mut figure = session.figure("histogram");
        figure.bytes = Some(bytes);
        let mut exchange = Exchange::new(session, bytes);
        session.measure(&figure, Limit::Message { window: 1 }, |iterations, samples| {
            exchange.single(iterations, samples)
        })?;
    }
    Ok(())
}

/// The benchmark `latency`.
pub fn ping_pong(session: &mut Session, options: &Latency) -> Result<()> {
    for &bytes in &options.sized.sizes.0 {
        let mut figure = session.figure("latency");
        figure.bytes = Some(bytes);
        figure.variant = options.preposted.then(|| "preposted".into());
        measure(session, &figure, options.preposted)?;
    }
    Ok(())
}

/// The benchmark `pingping`.
pub fn ping_ping(session: &mut Session, options: &Sized) -> Result<()> {
    for &bytes in &options.sizes.0 {
        let mut figure = session.figure("pingping");
        figure.bytes = Some(bytes);
        let mut exchange = Exchange::new(session, bytes);
        session.measure(&figure, Limit::Message { window: 1 }, |iterations, samples| match bytes <= LINE {
            true => exchange.pingping_loops(iterations, samples),
            false => exchange.pingping_single(iterations, samples),
        })?;
    }
    Ok(())
}
