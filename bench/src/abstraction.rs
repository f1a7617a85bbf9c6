//! What the typed API costs over sending raw bytes (as MPI.NET's abstraction penalty was measured: D. Gregor, A.
//! Lumsdaine, 2008): the same exchange with about as many bytes, in several types, and sums of vectors by several
//! operations.

use crate::arguments::Sized;
use crate::session::{Limit, Session};
use anyhow::{Context, Result, ensure};
use rwmpi::{Communicator, Datatype, Message, Serialized, op};
use std::hint::black_box;
use std::time::Instant;

const DATA: i32 = 1;

/// Plain data whose memory is what travels.
#[derive(Clone, Copy, Default, Datatype)]
#[repr(C)]
struct Derived {
    position: f64,
    speed: f64,
}

/// Plain data with padding, which is packed.
#[derive(Clone, Copy, Default, Datatype)]
#[repr(C)]
struct Padded {
    value: f64,
    known: bool,
}

/// What is no plain data.
#[derive(Clone, Message)]
struct Named {
    name: String,
    value: f64,
}

/// All of it.
pub fn abstraction(session: &mut Session, options: &Sized) -> Result<()> {
    for &bytes in &options.sizes.0 {
        in_slices::<u8>(session, "bytes", bytes)?;
        in_slices::<f64>(session, "plain", bytes)?;
        in_slices::<Derived>(session, "derived", bytes)?;
        in_slices::<Padded>(session, "padded", bytes)?;
        as_value(session, "value", bytes, &vec![0.5_f64; bytes / 8])?;
        as_value(session, "strings", bytes, &vec![Named { name: "1234567".into(), value: 0.5 }; bytes / 16])?;
        as_value(session, "serde", bytes, &Serialized(vec![0.5_f64; bytes / 8]))?;
    }
    options.sizes.0.iter().try_for_each(|&bytes| sums(session, bytes))
}

/// Ping-pong of slices, if there is an element.
fn in_slices<T: Datatype + Default>(session: &mut Session, variant: &str, bytes: usize) -> Result<()> {
    let len = bytes / T::SIZE;
    let (mut sent, mut received) = (vec![T::default(); len], vec![T::default(); len]);
    // Memory that nobody has written is not there yet.
    sent.iter_mut().chain(&mut received).for_each(|element| *element = black_box(*element));
    ping_pong(session, (variant, bytes, len), &mut |world, peer| world.send(&sent, peer, DATA), &mut |world, peer| {
        world.recv(&mut received, peer, DATA).map(drop)
    })
}

/// Ping-pong of a value of any type, which each receive makes anew.
fn as_value<T: Message>(session: &mut Session, variant: &str, bytes: usize, value: &T) -> Result<()> {
    ping_pong(
        session,
        (variant, bytes, bytes / 16),
        &mut |world, peer| world.send_value(value, peer, DATA),
        &mut |world, peer| world.recv_value::<T>(peer, DATA).map(drop),
    )
}

type Call<'a> = &'a mut dyn FnMut(&Communicator, usize) -> rwmpi::Result<()>;

fn ping_pong(
    session: &mut Session,
    (variant, bytes, elements): (&str, usize, usize),
    send: Call<'_>,
    receive: Call<'_>,
) -> Result<()> {
    if elements == 0 {
        return Ok(());
    }
    let (world, mut figure) = (session.world(), session.figure("abstraction"));
    (figure.variant, figure.bytes) = (Some(variant.into()), Some(bytes));
    let peer = 1 - world.rank();
    session.measure(&figure, Limit::None, |iterations, samples| {
        let start = Instant::now();
        for _ in 0..iterations {
            if peer == 1 {
                send(&world, peer)?;
                receive(&world, peer)?;
            } else {
                receive(&world, peer)?;
                send(&world, peer)?;
            }
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / (2 * iterations) as f64);
        Ok(())
    })
}

/// The sum over all ranks, in every way there is.
fn sums(session: &mut Session, bytes: usize) -> Result<()> {
    let len = bytes / 8;
    if len == 0 {
        return Ok(());
    }
    let (own, mut sum) = (vec![0.5_f64; len], vec![0.0; len]);
    let world = session.world();
    reduction(session, "named", bytes, &mut || world.allreduce(&own, &mut sum, op::sum))?;
    reduction(session, "closure", bytes, &mut || world.allreduce(&own, &mut sum, |a, b| a + b))?;
    ensure!(sum[len - 1] == 1.0, "two halves add up to {}", sum[len - 1]);
    let add = |a: &Derived, b: &Derived| Derived { position: a.position + b.position, speed: a.speed + b.speed };
    let (derived, mut both) = (vec![Derived::default(); len.div_ceil(2)], vec![Derived::default(); len.div_ceil(2)]);
    reduction(session, "derived", bytes, &mut || world.allreduce(&derived, &mut both, add))?;
    let elementwise = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a + b).collect();
    reduction(session, "value", bytes, &mut || world.allreduce_value(own.clone(), elementwise).map(drop))?;
    let serialised = |a: &Serialized<Vec<f64>>, b: &Serialized<Vec<f64>>| Serialized(elementwise(&a.0, &b.0));
    reduction(session, "serde", bytes, &mut || world.allreduce_value(Serialized(own.clone()), serialised).map(drop))
}

fn reduction(
    session: &mut Session,
    variant: &str,
    bytes: usize,
    reduce: &mut dyn FnMut() -> rwmpi::Result<()>,
) -> Result<()> {
    let mut figure = session.figure("abstraction-sum");
    (figure.variant, figure.bytes) = (Some(variant.into()), Some(bytes));
    session.measure(&figure, Limit::None, |iterations, samples| {
        let start = Instant::now();
        for _ in 0..iterations {
            reduce().context("a sum")?;
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / iterations as f64);
        Ok(())
    })
}
