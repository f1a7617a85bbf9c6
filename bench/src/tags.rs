//! Many messages with a tag each, received in the order in which they are sent, and in reverse (McMPI thesis, section
//! 4.1.3).
//!
//! *Posted*: all receives are posted before the first message is sent, so every arrival is looked up among the posted
//! receives. *Unexpected*: all messages have arrived before the first receive, so every receive is looked up among the
//! messages. The time is the receiver's, per message; a library that searches a list from the beginning takes a time
//! that grows with their number when the order is reversed.

use crate::arguments::Tags;
use crate::session::{Limit, Session};
use anyhow::{Result, ensure};
use rwmpi::{Communicator, scope, wait_all};
use std::time::Instant;

/// The tag of messages that only say "go"; those that are matched have 1, 2, …
const GO: i32 = 0;

struct Matching {
    world: Communicator,
    count: usize,
    reverse: bool,
    words: Vec<u64>,
    serial: u64,
}

impl Matching {
    /// What the message with `tag` carries this time.
    fn word(&self, tag: i32) -> u64 {
        self.serial << 32 | tag as u64
    }

    /// The tags in the order of the receives.
    fn tags(&self) -> Vec<i32> {
        let last = self.count as i32;
        if self.reverse { (1..=last).rev().collect() } else { (1..=last).collect() }
    }

    /// Sends all messages, in order of their tags.
    fn send_all(&mut self) -> rwmpi::Result<()> {
        self.words = (1..=self.count as i32).map(|tag| self.word(tag)).collect();
        let Matching { world, words, .. } = self;
        scope(|s| {
            let requests: Result<Vec<_>, _> =
                words.chunks(1).zip(1..).map(|(word, tag)| world.isend(s, word, 1, tag)).collect();
            wait_all(requests?)?;
            Ok(())
        })
    }

    /// Makes sure that each receive got the message with its tag.
    fn check(&self, tags: &[i32]) -> Result<()> {
        for (&tag, &word) in tags.iter().zip(&self.words) {
            ensure!(word == self.word(tag), "the receive with tag {tag} got {word:#x}, another message's contents");
        }
        Ok(())
    }

    fn posted(&mut self, samples: &mut Vec<f64>) -> Result<()> {
        self.serial += 1;
        if self.world.rank() == 0 {
            self.world.recv::<u8>(&mut [], 1, GO)?;
            self.send_all()?;
            // The receiver has timed it.
            samples.push(self.world.recv_value::<f64>(1, GO)?.0);
            return Ok(());
        }
        let tags = self.tags();
        self.words = vec![0; self.count];
        let Matching { world, words, .. } = self;
        let time = scope(|s| {
            let requests: Result<Vec<_>, _> =
                words.chunks_mut(1).zip(&tags).map(|(word, &tag)| world.irecv(s, word, 0, tag)).collect();
            let requests = requests?;
            let start = Instant::now();
            world.send::<u8>(&[], 0, GO)?;
            wait_all(requests)?;
            Ok(start.elapsed().as_secs_f64())
        })?;
        self.check(&tags)?;
        self.world.send_value(&(time * 1e6 / self.count as f64), 0, GO)?;
        Ok(())
    }

    fn unexpected(&mut self, samples: &mut Vec<f64>) -> Result<()> {
        self.serial += 1;
        if self.world.rank() == 0 {
            self.send_all()?;
            self.world.send::<u8>(&[], 1, GO)?;
            samples.push(self.world.recv_value::<f64>(1, GO)?.0);
            return Ok(());
        }
        let tags = self.tags();
        self.words = vec![0; self.count];
        // Sent after all others, so they have arrived too.
        self.world.recv::<u8>(&mut [], 0, GO)?;
        let start = Instant::now();
        for (word, &tag) in self.words.iter_mut().zip(&tags) {
            self.world.recv(std::slice::from_mut(word), 0, tag)?;
        }
        let time = start.elapsed().as_secs_f64();
        self.check(&tags)?;
        self.world.send_value(&(time * 1e6 / self.count as f64), 0, GO)?;
        Ok(())
    }
}

/// The benchmark `tags`.
pub fn tags(session: &mut Session, options: &Tags) -> Result<()> {
    for (posted, reverse) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut figure = session.figure("tags");
        figure.variant = Some(format!(
            "{}, {}",
            if posted { "posted" } else { "unexpected" },
            if reverse { "in reverse" } else { "in order" }
        ));
        let mut matching =
            Matching { world: session.world(), count: options.count as usize, reverse, words: Vec::new(), serial: 0 };
        session.measure(&figure, Limit::None, |iterations, samples| {
            (0..iterations).try_for_each(|_| match posted {
                true => matching.posted(samples),
                false => matching.unexpected(samples),
            })
        })?;
    }
    Ok(())
}
