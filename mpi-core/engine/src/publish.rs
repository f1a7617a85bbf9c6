//! Memory that peers read without this rank's help: what collectives on one node stand on.

use rwmpi_protocol::Rule;
use rwmpi_transport::{
    Distance, Fabric, LentSpan, ReadSpan, Reading, RemoteAddress, RemoteError, SharedPart, SharedWord, Way, WriteSpan,
};

use super::{Engine, Failure};

/// How many looks take as long as one with a clock.
const LOOKS_IN_A_TIMED_ONE: u32 = 16;

impl<F: Fabric> Engine<F> {
    /// Whether collectives among `peers` may stand on memory that all can read. Not under SR and NSR, which say how
    /// every message travels.
    pub fn may_publish(&self, peers: &[u32]) -> bool {
        matches!(self.rule, Rule::Auto { .. }) && peers.iter().all(|&peer| peer == self.me() || self.claims_with(peer))
    }

    /// Where `span` lies, if each of `peers` can copy from there, and that even if this rank gives the memory back in
    /// the middle of it, as when an operation panics: so it has to lie in the shared file. Memory that threads have in
    /// common could be unmapped.
    pub fn published(&self, peers: &[u32], span: ReadSpan<'_>) -> Option<RemoteAddress> {
        let address = self.fabric.address_of(span);
        let copies =
            |&peer: &u32| peer == self.me() || self.fabric.way_from(peer as usize, &address) == Some(Way::SharedHeap);
        (span.is_empty() || peers.iter().all(copies)).then_some(address)
    }

    /// Whether each of `peers` that is of this node can reach `span` by some way.
    pub fn is_reachable(&self, peers: &[u32], span: ReadSpan<'_>) -> bool {
        let address = self.fabric.address_of(span);
        let reaches = |&peer: &u32| peer == self.me() || self.fabric.way_from(peer as usize, &address).is_some();
        span.is_empty() || peers.iter().filter(|&&peer| self.fabric.shares_memory_with(peer as usize)).all(reaches)
    }

    /// Reads from what `peer` has published.
    pub fn read_published(
        &mut self,
        peer: u32,
        address: &RemoteAddress,
        offset: usize,
        into: WriteSpan<'_>,
        reading: Reading,
    ) -> Result<(), Failure> {
        let read = self.fabric.remote_read(peer as usize, address, offset as u64, into, reading);
        read.map(drop).map_err(|error| self.not_copied(peer, error))
    }

    /// Writes to what `peer` has published. It keeps it until all have met again, unless the job ends.
    pub fn write_published(
        &mut self,
        peer: u32,
        address: &RemoteAddress,
        offset: usize,
        from: ReadSpan<'_>,
    ) -> Result<(), Failure> {
        let written = self.fabric.remote_write(peer as usize, address, offset as u64, from, None);
        written.map(drop).map_err(|error| self.not_copied(peer, error))
    }

    #[cold]
    fn not_copied(&self, peer: u32, error: RemoteError) -> Failure {
        match error {
            RemoteError::PeerLost if self.goes_on() => Failure::Died { peer },
            error => Failure::Remote { peer, error },
        }
    }

    /// What `peer` has published, to be used again and again.
    pub fn shared_part(&self, peer: u32, address: &RemoteAddress) -> Option<SharedPart> {
        self.fabric.shared_part(peer as usize, address)
    }

    /// The bytes of a part.
    #[inline]
    pub fn shared_span(&self, part: SharedPart) -> LentSpan<'_> {
        self.fabric.shared_span(part)
    }

    /// Writes all of a part of this rank's.
    #[inline(always)]
    pub fn write_shared(&mut self, part: SharedPart, from: ReadSpan<'_>, far: bool) {
        self.fabric.write_shared(part, from, far);
    }

    /// Sets words of this rank's, one after the other, and wakes those of `watchers` that sleep.
    #[inline]
    pub fn set_words(&mut self, words: impl IntoIterator<Item = (SharedWord, u64)>, watchers: &[u32]) {
        words.into_iter().for_each(|(word, value)| self.fabric.set_word(word, value));
        let me = self.me();
        for &peer in watchers.iter().filter(|&&peer| peer != me) {
            self.fabric.wake(peer as usize);
        }
    }

    /// Adds to a word of any rank's; gives the value before.
    pub fn add_to_word(&mut self, word: SharedWord, amount: u64) -> u64 {
        self.fabric.add_to_word(word, amount)
    }

    /// Wakes `peer` if it sleeps: for who has added to a word that it watches.
    pub fn wake(&mut self, peer: u32) {
        self.fabric.wake(peer as usize);
    }

    /// Whether `word` is at least `value`. After so many looks in vain, the next time this rank idles it does not sleep
    /// if it is by then. The lines of `next`, which is going to be read then, are asked for at the same time: once they
    /// have been written, they come together with the word's.
    #[inline]
    pub fn has_word(&mut self, word: SharedWord, value: u64, looks: u32, next: Option<SharedPart>) -> bool {
        let has_come = (0..looks.max(1)).any(|_| {
            self.fabric.word(word) >= value || {
                next.into_iter().for_each(|next| self.fabric.fetch_part(next));
                false
            }
        });
        if !has_come {
            self.fabric.watch(word, value);
        }
        has_come
    }

    /// Keeps this rank awake the next time it idles: `word` is at least `value` already.
    pub fn stays_awake(&mut self, word: SharedWord, value: u64) {
        self.fabric.watch(word, value);
    }

    /// As [`Engine::has_word`], for about as long, and measures how far away the peer is that sets the word. Not by the
    /// first look, which has to find the memory, too.
    #[cold]
    pub fn measure_word(&mut self, word: SharedWord, value: u64, looks: u32, distance: &mut Distance) -> bool {
        self.has_word(word, value, 1, None)
            || (0..looks / LOOKS_IN_A_TIMED_ONE).any(|_| distance.measure(|| self.fabric.word(word) >= value))
    }

    /// Has the line of a word fetched, which is going to be read here, or, if it is this rank's, written.
    #[inline]
    pub fn fetch_word(&self, word: SharedWord, to_write: bool) {
        self.fabric.fetch_word(word, to_write);
    }

    #[inline]
    pub fn word(&self, word: SharedWord) -> u64 {
        self.fabric.word(word)
    }

    /// The name by which peers of this node reach this rank's memory, though some only by the kernel.
    pub fn address_of(&self, span: ReadSpan<'_>) -> RemoteAddress {
        self.fabric.address_of(span)
    }

    /// Where `peer`'s memory lies in this process, if it is mapped here, for as long as `peer` lends it.
    pub fn direct(&self, peer: u32, address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        self.fabric.direct(peer as usize, address)
    }

    /// How many processors the ranks of this node have, the same on all of them.
    pub fn processors(&self) -> usize {
        self.fabric.processors()
    }

    /// Whether ranks share processors.
    pub fn is_oversubscribed(&self) -> bool {
        self.fabric.is_oversubscribed()
    }

    /// Whether `peer` can come no further before this rank [gives way](Self::give_way).
    pub fn shares_processor(&self, peer: u32) -> bool {
        self.fabric.shares_processor(peer as usize)
    }

    /// Offers the processor to other ranks.
    pub fn give_way(&mut self) {
        self.fabric.give_way();
    }
}
