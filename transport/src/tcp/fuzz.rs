//! What strangers and peers gone wrong may say to a fabric between nodes: anything. And the two ends that this takes.
use crate::Fabric;
use crate::Queues;
use crate::Waiting;
use crate::tcp::frame::MAX_PAYLOAD;
use crate::{Enqueue, Network};

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use super::frame::{Decoder, Event};
use super::handshake::{CHALLENGE, HELLO, Introduction, NO_CHALLENGE, VERDICT};
use super::*;

pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(super) const WATCHDOG: Duration = Duration::from_secs(30);

pub(super) fn fabrics(secrets: &[JobSecret]) -> Vec<TcpFabric> {
    let endpoints: Vec<_> = secrets.iter().map(|_| TcpFabric::bind(LOOPBACK).unwrap()).collect();
    let addresses: Vec<_> = endpoints.iter().map(|endpoint| vec![endpoint.address()]).collect();
    let connect =
        |(me, endpoint): (usize, TcpEndpoint)| endpoint.connect(me, addresses.clone(), secrets[me].clone()).unwrap();
    endpoints.into_iter().enumerate().map(connect).collect()
}

pub(super) fn pair() -> (TcpFabric, TcpFabric) {
    let secret = JobSecret::random().unwrap();
    let [first, second] = <[TcpFabric; 2]>::try_from(fabrics(&[secret.clone(), secret])).ok().unwrap();
    (first, second)
}

/// Turns both until `done`.
pub(super) fn turn(fabrics: &mut [&mut TcpFabric], mut done: impl FnMut(&mut [&mut TcpFabric]) -> bool) {
    let start = Instant::now();
    while !done(fabrics) {
        assert!(start.elapsed() < WATCHDOG, "it does not happen");
        fabrics.iter_mut().for_each(|fabric| fabric.poll(Duration::from_millis(1)));
    }
}

#[cfg(test)]
pub(super) fn push(fabric: &mut TcpFabric, to: usize, number: u32) {
    fabric.try_push(to, Queue::Messages, Enqueue::Next, [number; 4], ReadSpan::EMPTY).unwrap();
}

/// What peer 1 says to `fabric`, as one who knows the secret.
pub(super) fn hello_of_peer_1(fabric: &TcpFabric, challenge: &[u8; CHALLENGE]) -> [u8; HELLO] {
    let introduction = Introduction { from: 1, to: fabric.me(), peers: fabric.peers() };
    handshake::hello(&fabric.book.secret, challenge, introduction, &[1; 32])
}

/// Somebody who has knocked at `fabric` as peer 1, and the challenge for him.
pub(super) fn knock(fabric: &mut TcpFabric) -> (TcpStream, [u8; CHALLENGE]) {
    let mut stream = TcpStream::connect(fabric.book.addresses[fabric.me()][0]).unwrap();
    stream.set_read_timeout(Some(WATCHDOG)).unwrap();
    stream.write_all(&hello_of_peer_1(fabric, &NO_CHALLENGE)).unwrap();
    turn(&mut [fabric], |fabrics| !fabrics[0].strangers.is_empty());
    let mut challenge = [0; CHALLENGE];
    stream.read_exact(&mut challenge).unwrap();
    (stream, challenge)
}

/// Somebody who knows the secret of `fabric` and calls himself peer 1: a connection to do anything with.
pub(super) fn impostor(fabric: &mut TcpFabric) -> TcpStream {
    let (mut stream, challenge) = knock(fabric);
    stream.write_all(&hello_of_peer_1(fabric, &challenge)).unwrap();
    turn(&mut [fabric], |fabrics| fabrics[0].connections() == 1);
    stream.read_exact(&mut [0; VERDICT]).unwrap();
    stream
}

/// A stream of frames, cut anywhere, is taken apart to its end or refused.
pub(crate) fn frames(data: &[u8]) {
    let Some((&piece, stream)) = data.split_first() else { return };
    let mut decoder = Decoder::default();
    for mut bytes in stream.chunks(usize::from(piece) + 1) {
        while !bytes.is_empty() {
            match decoder.next(&mut bytes) {
                Ok(Some(Event::Frame(frame))) => assert!(frame.len == decoder.body() && frame.len <= 1 << 30),
                Ok(Some(Event::Body(body))) => assert!(!body.is_empty()),
                Ok(None) => assert!(bytes.is_empty()),
                Err(_) => return,
            }
        }
    }
}

/// Somebody connects and says `data`: without knowing the job's secret, after a knock, or as a peer.
pub(crate) fn connection(data: &[u8]) {
    let Some((&how, said)) = data.split_first() else { return };
    let (mut a, _b) = pair();
    let mut stream = match how % 4 {
        0 => TcpStream::connect(a.book.addresses[0][0]).expect("it listens"),
        1 => knock(&mut a).0,
        _ => impostor(&mut a),
    };
    for piece in said.chunks(usize::from(how / 4) + 1) {
        // It may be thrown out in the middle.
        let _ = stream.write_all(piece);
        a.poll(Duration::ZERO);
        take_all(&mut a);
    }
    drop(stream);
    turn(&mut [&mut a], |fabrics| {
        take_all(fabrics[0]);
        fabrics[0].strangers.is_empty() && fabrics[0].connections() == 0
    });
}

/// Takes what has arrived.
fn take_all(fabric: &mut TcpFabric) {
    for queue in [Queue::Messages, Queue::Requests] {
        while let Ok(Some(arrival)) = fabric.front(1, queue) {
            assert!(arrival.len <= MAX_PAYLOAD);
            let mut payload = vec![0; arrival.len];
            fabric.read(1, queue, &arrival, 0, WriteSpan::from(&mut payload[..]));
            fabric.pop(1, queue);
        }
    }
    fabric.take_signals();
    fabric.pay_debts();
}
