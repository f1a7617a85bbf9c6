//! One end of a bad cable: the network interface `cable` of this network namespace, whose packets reach the other end
//! late, in another order, or not at all.
//!
//! `bad-cable DELAY JITTER LOSS`: microseconds, microseconds, packets of a thousand. Standard input is a socket that
//! leads to the other end. Kernels have such cables too (netem), but not all.
#![allow(unsafe_code)]

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// `TUNSETIFF`: which interface a descriptor is.
const SET_INTERFACE: Opcode = 0x4004_54ca;
/// `IFF_TUN | IFF_NO_PI`: packets of IP and nothing else.
const PLAIN_PACKETS: i16 = 0x1001;
const PACKET_MAX: usize = 1 << 16;

/// `struct ifreq`, as far as it is used.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

fn interface() -> OwnedFd {
    let tun = rustix::fs::open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
        .expect("tunnels can be had");
    let mut request = Request { name: [0; 16], flags: PLAIN_PACKETS, rest: [0; 22] };
    request.name[..5].copy_from_slice(b"cable");
    // SAFETY: this operation reads a structure of this form, and keeps nothing of it.
    unsafe { ioctl(&tun, Setter::<SET_INTERFACE, Request>::new(request)) }.expect("there is an interface of that name");
    tun
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().expect("a number")).collect();
    let [delay, jitter, loss] = numbers[..] else { panic!("three numbers") };
    let (tun, other) = (interface(), rustix::stdio::stdin());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 | u64::from(std::process::id());
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut late = BinaryHeap::new();
    let mut packet = vec![0_u8; PACKET_MAX];
    loop {
        let now = Instant::now();
        while let Some(Reverse((due, _))) = late.peek()
            && *due <= now
        {
            let Some(Reverse((_, packet))): Option<Reverse<(Instant, Vec<u8>)>> = late.pop() else { break };
            // A full socket loses it, as a full queue would.
            let _ = rustix::net::send(other, &packet, rustix::net::SendFlags::DONTWAIT);
        }
        let next = late.peek().map(|Reverse((due, _))| due.saturating_duration_since(now));
        let next = next.unwrap_or(Duration::from_secs(1));
        let timeout = Timespec { tv_sec: next.as_secs() as i64, tv_nsec: i64::from(next.subsec_nanos()) };
        let mut polled = [PollFd::new(&tun, PollFlags::IN), PollFd::from_borrowed_fd(other, PollFlags::IN)];
        let _ = rustix::event::poll(&mut polled, Some(&timeout));
        let [from_here, from_there] = polled.map(|polled| !polled.revents().is_empty());
        if from_here
            && let Ok(len) = rustix::io::read(&tun, &mut packet)
            && draw(1000) >= loss
        {
            let due = Instant::now() + Duration::from_micros(delay + draw(jitter + 1));
            late.push(Reverse((due, packet[..len].to_vec())));
        }
        if from_there {
            match rustix::io::read(other, &mut packet) {
                Ok(0) | Err(Errno::CONNRESET) => return,
                Ok(len) => _ = rustix::io::write(&tun, &packet[..len]),
                Err(_) => {}
            }
        }
    }
}
