//! Those who connect and have not proved who they are: they get nothing, and keep nobody from anything.
use crate::Network;
use crate::Queues;
use crate::tcp::frame::Kind;
use crate::tcp::link::State;

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;
use crate::tcp::strangers::Limits;

#[test]
fn a_second_connection_takes_nothing_from_the_first() {
    let (mut a, _b) = pair();
    let mut first = impostor(&mut a);
    let (mut second, challenge) = knock(&mut a);
    second.write_all(&hello_of_peer_1(&a, &challenge)).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].strangers.is_empty());
    assert_eq!(second.read(&mut [0; VERDICT]).unwrap_or(0), 0, "it is let in");
    let cell = Frame { kind: Kind::Cell(Queue::Messages), len: 0, popped: [0; 2], words: [8; 4] };
    first.write_all(&cell.encode()).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].front(1, Queue::Messages).unwrap().is_some());
    assert_eq!(a.connections(), 1);
}

/// A knock and a hello in pieces of any length, with frames right behind; and some of which a byte is wrong.
#[test]
fn hellos_come_in_pieces() {
    let mut random = Random::of_seed(5);
    for round in 0..60 {
        let (mut a, _b) = pair();
        let mut stream = TcpStream::connect(a.book.addresses[0][0]).unwrap();
        stream.set_nodelay(true).unwrap();
        turn(&mut [&mut a], |fabrics| !fabrics[0].strangers.is_empty());
        let mut challenge = [0; CHALLENGE];
        stream.read_exact(&mut challenge).unwrap();
        let mut said = [hello_of_peer_1(&a, &NO_CHALLENGE), hello_of_peer_1(&a, &challenge)].concat();
        let is_right = round % 2 == 0;
        if !is_right {
            said[random.below(2 * HELLO)] ^= 1 << random.below(8);
        }
        said.extend(Frame { kind: Kind::Cell(Queue::Requests), len: 3, popped: [0; 2], words: [8; 4] }.encode());
        said.extend(b"and");
        let mut rest = &said[..];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(random.below(40).min(rest.len()));
            // It may be thrown out in the middle.
            let _ = stream.write_all(piece);
            a.poll(Duration::ZERO);
            rest = behind;
        }
        if is_right {
            turn(&mut [&mut a], |fabrics| fabrics[0].front(1, Queue::Requests).unwrap().is_some());
            assert_eq!(a.front(1, Queue::Requests).unwrap().unwrap().header, [8; 4]);
        } else {
            turn(&mut [&mut a], |fabrics| fabrics[0].turned_away() == 1);
            assert_eq!(a.connections(), 0);
        }
    }
}

#[test]
fn another_secret_opens_no_door() {
    let secrets = [JobSecret::random().unwrap(), JobSecret::random().unwrap()];
    let [mut a, mut b] = <[TcpFabric; 2]>::try_from(fabrics(&secrets)).ok().unwrap();
    push(&mut a, 1, 0);
    let State::Connecting(attempt) = &mut a.links[1].state else { panic!("it is being opened") };
    attempt.persistence = Duration::ZERO;
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].links[1].fault().is_some());
    assert!(a.front(1, Queue::Messages).unwrap_err().what.contains("one secret"));
    assert!(b.turned_away() > 0 && b.connections() == 0 && b.ready(Queue::Messages).is_none());
}

#[test]
fn a_replayed_hello_is_turned_away() {
    let (mut a, _b) = pair();
    let (mut first, challenge) = knock(&mut a);
    let recorded = hello_of_peer_1(&a, &challenge);
    let mut second = TcpStream::connect(a.book.addresses[0][0]).unwrap();
    second.write_all(&[hello_of_peer_1(&a, &NO_CHALLENGE), recorded].concat()).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].turned_away() == 1);
    second.read_exact(&mut [0; CHALLENGE]).unwrap();
    assert!(matches!(second.read(&mut [0; 1]), Ok(0) | Err(_)), "more than a challenge was said");
    assert_eq!(a.connections(), 0);
    // It was the challenge that did not fit, not the hello.
    first.write_all(&recorded).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].connections() == 1);
}

#[test]
fn an_impostor_acceptor_gets_nothing() {
    let endpoint = TcpFabric::bind(LOOPBACK).unwrap();
    let trap = std::net::TcpListener::bind((LOOPBACK, 0)).unwrap();
    let addresses = vec![vec![endpoint.address()], vec![trap.local_addr().unwrap()]];
    let mut a = endpoint.connect(0, addresses, JobSecret::random().unwrap()).unwrap();
    push(&mut a, 1, 0);
    let (mut caught, _) = trap.accept().unwrap();
    caught.write_all(&[1; CHALLENGE]).unwrap();
    turn(&mut [&mut a], |fabrics| match &fabrics[0].links[1].state {
        State::Connecting(attempt) => attempt.has_said_hello(),
        _ => false,
    });
    let mut hello = [0; HELLO];
    // Its knock comes first.
    caught.read_exact(&mut hello).unwrap();
    caught.read_exact(&mut hello).unwrap();
    caught.write_all(&hello[HELLO - VERDICT..]).unwrap();
    assert!(fault_of(&mut a).contains("does not know the job's secret"));
    let mut rest = Vec::new();
    let _ = caught.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

#[test]
fn strangers_are_limited_in_number_and_time() {
    let (mut a, mut b) = pair();
    a.strangers.limits = Limits { silent: 3, time: Duration::from_secs(3600) };
    let address = a.book.addresses[0][0];
    let mut strangers = Vec::new();
    for count in 1..=40 {
        strangers.push(TcpStream::connect(address).unwrap());
        turn(&mut [&mut a], |fabrics| fabrics[0].strangers.len() as u64 + fabrics[0].turned_away() == count);
        assert!(a.strangers.len() <= 3 + 2);
    }
    assert_eq!(a.turned_away(), 35);
    // A peer gets in all the same.
    push(&mut b, 0, 7);
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].ready(Queue::Messages) == Some(1));
    a.strangers.limits.time = Duration::ZERO;
    turn(&mut [&mut a], |fabrics| fabrics[0].strangers.is_empty());
    assert_eq!(a.turned_away(), 40);
}

/// Connections that say nothing, or nothing that is right, as many as a flood brings while a peer computes.
fn flood(address: std::net::SocketAddr) -> Vec<TcpStream> {
    let stranger = |number: usize| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&[7; HELLO][..number % HELLO]).unwrap();
        stream
    };
    (0..300).map(stranger).collect()
}

#[test]
fn a_peer_that_has_knocked_stays_among_strangers() {
    let (mut a, mut b) = pair();
    let before = flood(a.book.addresses[0][0]);
    push(&mut b, 0, 7);
    let has_knocked = |b: &TcpFabric| {
        let State::Connecting(attempt) = &b.links[0].state else { return false };
        attempt.socket().is_some_and(|(_, for_room)| !for_room)
    };
    turn(&mut [&mut b], |fabrics| has_knocked(fabrics[0]));
    // It answers the challenge when it next looks, which the acceptor does not wait for.
    let behind = flood(a.book.addresses[0][0]);
    turn(&mut [&mut a], |fabrics| fabrics[0].turned_away() >= 500);
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].ready(Queue::Messages) == Some(1));
    assert_eq!((a.connections(), b.strangers.turned_away()), (1, 0));
    let State::Up(_) = &b.links[0].state else { panic!("it stands") };
    drop((before, behind));
}

#[test]
fn the_address_with_the_most_strangers_loses_one() {
    let (mut a, _b) = pair();
    a.strangers.limits.silent = 4;
    let address = a.book.addresses[0][0];
    let from = |last: u8| {
        let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
        let socket = socket.unwrap();
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        rustix::net::connect(&socket, &address).unwrap();
        TcpStream::from(socket)
    };
    let mut quiet = from(2);
    turn(&mut [&mut a], |fabrics| fabrics[0].strangers.len() == 1);
    let loud: Vec<TcpStream> = (0..50).map(|_| from(3)).collect();
    turn(&mut [&mut a], |fabrics| fabrics[0].turned_away() == 45);
    // The first to come is still heard.
    quiet.read_exact(&mut [0; CHALLENGE]).unwrap();
    quiet.write_all(&hello_of_peer_1(&a, &NO_CHALLENGE)).unwrap();
    drop(loud);
    turn(&mut [&mut a], |fabrics| fabrics[0].strangers.len() == 1);
    assert_eq!(a.turned_away(), 50);
}

#[test]
fn noise_from_strangers_does_not_disturb() {
    let (mut a, mut b) = pair();
    let address = a.book.addresses[0][0];
    let noise: Vec<u8> = random_noise(1 << 20);
    let start = Instant::now();
    for (number, piece) in noise.chunks(4096).enumerate() {
        let mut stranger = TcpStream::connect(address).unwrap();
        // It may be thrown out in the middle.
        let _ = stranger.write_all(&piece[..piece.len() - number % 200 * 20]);
        push(&mut b, 0, number as u32);
        turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].front(1, Queue::Messages).unwrap().is_some());
        assert_eq!(a.front(1, Queue::Messages).unwrap().unwrap().header, [number as u32; 4]);
        a.pop(1, Queue::Messages);
        a.pay_debts();
        assert!(start.elapsed() < WATCHDOG);
    }
    turn(&mut [&mut a], |fabrics| fabrics[0].turned_away() > 200);
    assert_eq!((a.connections(), b.turned_away()), (1, 0));
}
