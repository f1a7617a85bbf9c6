//! TCP as what connects nodes.

#![forbid(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, eventfd};

use super::TcpFabric;
use super::link::State;
use super::poll::{DOORBELL, LONGEST_SLEEP, LOOK_AT_ALL, watch};
use super::presence::BEFORE_ASKING;
use super::spin::BEGIN_TO_COUNT;
use crate::control::Presence;
use crate::descriptor::{high, raised};
use crate::{Backoff, Network, Queue, Signal, Waiting};
impl Network for TcpFabric {
    fn ring(&mut self, peer: usize) {
        if !self.links[peer].is_over() {
            // A new connection rings by itself.
            self.reach_out(peer);
            self.links[peer].give_credit();
            self.watch_for_room(peer);
        }
    }

    fn only_ring(&mut self, peer: usize) {
        self.links[peer].only_rings = true;
    }

    fn look_around(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if !self.are_few() || self.looks.is_multiple_of(LOOK_AT_ALL) {
            return self.poll(Duration::ZERO);
        }
        for index in (0..self.live.len()).rev() {
            self.look_into(self.live[index]);
        }
    }

    #[inline]
    fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    fn next_waiting(&mut self, queue: Queue) -> Option<usize> {
        let queue = queue as usize;
        while let Some(peer) = self.waiting[queue].pop_front() {
            if self.has_something(peer, queue) {
                self.waiting[queue].push_back(peer);
                return Some(peer);
            }
            self.listed[queue][peer] = false;
        }
        None
    }

    fn pass_round(&mut self, backoff: &mut Backoff) -> bool {
        if backoff.rounds == 0 {
            self.spin.begin();
        }
        let spins = backoff.rounds < self.spin.looks();
        if backoff.rounds == BEGIN_TO_COUNT {
            self.spin.count();
        }
        backoff.rounds = backoff.rounds.saturating_add(1);
        if spins {
            self.look_around();
            self.news = false;
            return false;
        }
        // If there are news, the caller may want to see them first.
        let sleeps = !self.take_news();
        if sleeps {
            self.spin.in_vain();
        }
        sleeps
    }

    fn sleep(&mut self) {
        self.pay_debts();
        self.poll(LONGEST_SLEEP);
        self.news = false;
    }

    fn pay_debts(&mut self) {
        while let Some(peer) = self.debtors.pop() {
            if self.links[peer].owes_credit() {
                self.links[peer].give_credit();
                self.watch_for_room(peer);
            }
        }
    }

    fn doorbell(&mut self) -> io::Result<Arc<OwnedFd>> {
        if let Some(doorbell) = &self.doorbell {
            return Ok(doorbell.clone());
        }
        let doorbell = Arc::new(raised(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?));
        watch(&self.epoll, &doorbell, DOORBELL, EventFlags::IN);
        self.doorbell = Some(doorbell.clone());
        Ok(doorbell)
    }

    fn readiness(&self) -> io::Result<OwnedFd> {
        high(&self.epoll)
    }

    fn is_settled(&mut self) -> bool {
        self.watch_all();
        self.pay_debts();
        self.poll(Duration::ZERO);
        // Connecting goes by the clock, too.
        !self.take_news() && self.connecting.is_empty()
    }

    fn presence(&self, peer: usize) -> Presence {
        self.links[peer].presence
    }

    fn has_anybody_gone(&self) -> bool {
        self.links.iter().any(|link| link.presence != Presence::Here)
    }

    fn has_lost(&self, peer: usize) -> bool {
        matches!(self.links[peer].state, State::Lost(_))
    }

    fn ask(&mut self, peer: usize) {
        let link = &mut self.links[peer];
        if !matches!(link.state, State::Unused) || link.only_asks || self.finishing || peer == self.book.me {
            return;
        }
        let now = Instant::now();
        if now.duration_since(*link.awaited_since.get_or_insert(now)) >= BEFORE_ASKING {
            link.only_asks = true;
            self.reach_out(peer);
        }
    }

    fn depart(&mut self, presence: Presence) {
        self.presence = presence;
        for index in 0..self.live.len() {
            let peer = self.live[index];
            if !self.links[peer].only_rings && !self.links[peer].is_over() {
                self.links[peer].tell(presence);
                self.watch_for_room(peer);
            }
        }
    }

    fn begin_to_finish(&mut self) {
        self.finishing = true;
        self.stop_asking_all();
        for peer in 0..self.links.len() {
            let link = &mut self.links[peer];
            if link.under_way.is_some() {
                // Nobody comes with the rest any more, and nothing else can follow.
                self.break_link(peer, "a write to it was given up");
            } else if matches!(link.state, State::Up(_) | State::Connecting(_)) && !link.said_goodbye {
                if self.presence != Presence::Here && matches!(link.state, State::Connecting(_)) {
                    // Nobody is there yet to have heard it, and nothing follows a goodbye.
                    link.tell(self.presence);
                }
                link.say_goodbye();
                self.watch_for_room(peer);
            }
        }
    }

    fn finish(&mut self) {
        self.begin_to_finish();
        while !self.has_finished() {
            self.poll(LONGEST_SLEEP);
        }
        self.listener = None;
    }

    fn leave(&mut self, longest: Duration) {
        let until = Instant::now() + longest;
        self.begin_to_finish();
        while !self.has_finished() && Instant::now() < until {
            self.poll(until.saturating_duration_since(Instant::now()).min(LONGEST_SLEEP));
        }
        self.listener = None;
    }

    fn abort(&mut self) {
        for index in 0..self.live.len() {
            self.signal(self.live[index], Signal::Abort);
        }
    }
}
