//! Those who connect and have not proved who they are: they get nothing, and keep nobody from anything.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;
use crate::tcp::handshake::HELLO;

#[test]
fn a_second_connection_takes_nothing_from_the_first() {
    let (mut a, _b) = pair();
    let mut first = impostor(&mut a);
    let mut second = TcpStream::connect(a.book.addresses[0][0]).unwrap();
    turn(&mut [&mut a], |fabrics| !fabrics[0].strangers.is_empty());
    let mut challenge = [0; CHALLENGE];
    second.read_exact(&mut challenge).unwrap();
    let introduction = Introduction { from: 1, to: 0, peers: 2 };
    second.write_all(&handshake::hello(&a.book.secret, &challenge, introduction, &[1; 32])).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].strangers.is_empty());
    assert_eq!(second.read(&mut [0; VERDICT]).unwrap_or(0), 0, "it is let in");
    let cell = Frame { kind: Kind::Cell(Queue::Messages), len: 0, popped: [0; 2], words: [8; 4] };
    first.write_all(&cell.encode()).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].front(1, Queue::Messages).unwrap().is_some());
    assert_eq!(a.connections(), 1);
}

/// A hello in pieces of any length, with frames right behind it; and hellos of which some byte is wrong.
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
        let introduction = Introduction { from: 1, to: 0, peers: 2 };
        let mut said = handshake::hello(&a.book.secret, &challenge, introduction, &[1; 32]).to_vec();
        let is_right = round % 2 == 0;
        if !is_right {
            said[random.below(HELLO)] ^= 1 << random.below(8);
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
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].links[1].fault().is_some());
    assert!(a.front(1, Queue::Messages).unwrap_err().what.contains("one secret"));
    assert!(b.turned_away() > 0 && b.connections() == 0 && b.ready(Queue::Messages).is_none());
}

#[test]
fn a_replayed_hello_is_turned_away() {
    let (mut a, _b) = pair();
    let address = a.book.addresses[0][0];
    let mut challenge = [0; CHALLENGE];
    let mut first = TcpStream::connect(address).unwrap();
    turn(&mut [&mut a], |fabrics| !fabrics[0].strangers.is_empty());
    first.read_exact(&mut challenge).unwrap();
    let introduction = Introduction { from: 1, to: 0, peers: 2 };
    let recorded: [u8; HELLO] = handshake::hello(&a.book.secret, &challenge, introduction, &[1; 32]);
    let mut second = TcpStream::connect(address).unwrap();
    second.write_all(&recorded).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].turned_away() == 1);
    second.read_exact(&mut challenge).unwrap();
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
    a.limits = Limits { strangers: 3, time: Duration::from_secs(3600) };
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
    a.limits.time = Duration::ZERO;
    turn(&mut [&mut a], |fabrics| fabrics[0].strangers.is_empty());
    assert_eq!(a.turned_away(), 40);
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
