//! The physical limit over TCP: one connection over loopback, no library in between.
//!
//! Beside a job the connection joins the very processes that are measured, on the same cores and in the same minute.
//! Each pattern runs in two ways, and the limit is the best of both: *looking*, which never sleeps and pays with system
//! calls in vain, and *sleeping*, which pays with being woken up. One process *leads* and times; the other *serves*.

use crate::message::{check, stamp};
use anyhow::{Context, Result, bail};
use rwmpi::Communicator;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// After this long without an answer the other process is taken for dead.
const PATIENCE: Duration = Duration::from_secs(20);
/// Round trips, or windows, between two looks at the clock of the whole: long against an order, short against a time
/// slice.
const ROUNDS: u64 = 32;

/// What the leader asks for.
#[derive(Clone, Copy)]
pub struct Pattern {
    /// Length of a message.
    pub bytes: usize,
    /// How many of them go one way before the other answers: with its own message if it is one, with a byte otherwise.
    pub window: usize,
}

/// Samples by looking and by sleeping.
pub type Ways = [Vec<f64>; 2];

/// One end of the connection.
pub struct RawConnection {
    stream: TcpStream,
    looking: bool,
    serial: u64,
    out: Vec<Vec<u8>>,
    incoming: Vec<Vec<u8>>,
}

impl RawConnection {
    /// Joins ranks 0 and 1; no other rank calls this.
    pub fn open(world: &Communicator) -> Result<Self> {
        let mut ports = [0_u16; 1];
        let stream = if world.rank() == 0 {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("can't listen on loopback")?;
            world.send(&[listener.local_addr()?.port()], 1, 0)?;
            world.recv(&mut ports, 1, 0)?;
            loop {
                let (stream, from) = listener.accept().context("no connection over loopback")?;
                // Anybody on this machine may knock.
                if from.port() == ports[0] {
                    break stream;
                }
            }
        } else {
            world.recv(&mut ports, 0, 0)?;
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, ports[0])).context("no connection over loopback")?;
            world.send(&[stream.local_addr()?.port()], 0, 0)?;
            stream
        };
        RawConnection::over(stream)
    }

    /// One end of a connection that stands.
    pub fn over(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(RawConnection { stream, looking: false, serial: 0, out: Vec::new(), incoming: Vec::new() })
    }

    /// Leader: what a message takes, µs: adds samples of both ways of waiting, for about `time` each.
    pub fn lead(&mut self, pattern: Pattern, time: Duration, samples: &mut Ways) -> Result<()> {
        for (looking, samples) in [true, false].into_iter().zip(samples) {
            let begin = Instant::now();
            while begin.elapsed() < time {
                self.lead_rounds(looking, pattern, ROUNDS, samples)?;
            }
        }
        Ok(())
    }

    /// The same, of one way and so many times.
    pub fn lead_rounds(&mut self, looking: bool, pattern: Pattern, rounds: u64, samples: &mut Vec<f64>) -> Result<()> {
        self.order(looking, pattern, rounds)?;
        self.wait_by(looking)?;
        (0..rounds).try_for_each(|_| self.round(pattern, true, samples))?;
        self.wait_by(false)
    }

    /// Leader: lets the follower go on.
    pub fn end(&mut self) -> Result<()> {
        self.order(false, Pattern { bytes: 0, window: 0 }, 0)
    }

    /// Follower: does what the leader asks for until it ends the measurement.
    pub fn serve(&mut self) -> Result<()> {
        loop {
            let mut order = [0; 32];
            self.read(&mut order)?;
            let word = |at: usize| u64::from_le_bytes(order[8 * at..][..8].try_into().expect("eight bytes"));
            let pattern = Pattern { bytes: word(1) as usize, window: word(2) as usize };
            if pattern.window == 0 {
                return Ok(());
            }
            self.wait_by(word(0) == 1)?;
            (0..word(3)).try_for_each(|_| self.round(pattern, false, &mut Vec::new()))?;
            self.wait_by(false)?;
        }
    }

    fn order(&mut self, looking: bool, Pattern { bytes, window }: Pattern, rounds: u64) -> Result<()> {
        let words = [u64::from(looking), bytes as u64, window as u64, rounds];
        self.write(words.map(u64::to_le_bytes).as_flattened())
    }

    fn wait_by(&mut self, looking: bool) -> Result<()> {
        self.looking = looking;
        self.stream.set_nonblocking(looking).context("can't change how a socket is waited for")
    }

    /// As in the benchmarks of the library: every message changes, and is looked at, outside of the time.
    fn round(&mut self, Pattern { bytes, window }: Pattern, leads: bool, samples: &mut Vec<f64>) -> Result<()> {
        let (mut out, mut incoming) = (std::mem::take(&mut self.out), std::mem::take(&mut self.incoming));
        let (outgoing, expected) = if leads { (window, 1) } else { (1, window) };
        for (side, count) in [(&mut out, outgoing), (&mut incoming, expected)] {
            side.resize_with(count, Vec::new);
            side.iter_mut().for_each(|message| message.resize(bytes, 0));
        }
        let answer = if window == 1 { bytes } else { 1 };
        let first = self.serial;
        self.serial += window as u64;
        if leads {
            (first..).zip(&mut out).for_each(|(serial, message)| stamp(message, serial));
            self.read(&mut [0])?;
            let start = Instant::now();
            out.iter().try_for_each(|message| self.write(message))?;
            self.read(&mut incoming[0][..answer])?;
            let time = start.elapsed().as_secs_f64() * 1e6;
            samples.push(if window == 1 { time / 2.0 } else { time / window as f64 });
        } else {
            stamp(&mut out[0], first);
            self.write(&[0])?;
            incoming.iter_mut().try_for_each(|message| self.read(message))?;
            self.write(&out[0][..answer])?;
            (first..).zip(&incoming).try_for_each(|(serial, message)| check(message, serial))?;
        }
        (self.out, self.incoming) = (out, incoming);
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        let begin = Instant::now();
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if self.is_no_reason_to_stop(&error, begin) => {}
                Err(error) => return Err(error).context("the floor's connection broke"),
            }
        }
        Ok(())
    }

    fn read(&mut self, mut bytes: &mut [u8]) -> Result<()> {
        let begin = Instant::now();
        while !bytes.is_empty() {
            match self.stream.read(bytes) {
                Ok(0) => bail!("the other process of the floor measurement is gone"),
                Ok(count) => bytes = &mut bytes[count..],
                Err(error) if self.is_no_reason_to_stop(&error, begin) => {}
                Err(error) => return Err(error).context("the floor's connection broke"),
            }
        }
        Ok(())
    }

    fn is_no_reason_to_stop(&self, error: &std::io::Error, begin: Instant) -> bool {
        match error.kind() {
            ErrorKind::Interrupted => true,
            ErrorKind::WouldBlock => self.looking && begin.elapsed() < PATIENCE,
            _ => false,
        }
    }
}
