//! How long to look at sockets before sleeping: as long as that pays.
//!
//! With a processor for each peer, looking saves the wake-up. Where others want the processor, be they peers or somebody else's
//! programs, each look keeps the very one from working that is waited for, and whoever has used up its share of time waits long for the
//! next; who sleeps is let in at once. Which of the two it is cannot be known from outside. So it is learnt: a wait that
//! ended while looking doubles the looks, one that came to sleeping halves them, and now and then the full number is tried again.
#![forbid(unsafe_code)]

/// Looks of one wait, at most: some 25 µs, about what a wake-up costs.
const MOST: u32 = 60;
/// Where peers are known to share processors.
const MOST_WHEN_CROWDED: u32 = 2;
/// Once in so many waits the full number is tried.
const TRY_AGAIN: u32 = 64;

/// The looks of the present wait, and what was learnt from those before.
#[derive(Debug)]
pub(crate) struct Spin {
    most: u32,
    /// What was learnt.
    looks: u32,
    /// This wait tries the full number.
    tries: bool,
    /// This wait has come to sleeping.
    slept: bool,
    waits: u32,
}

impl Spin {
    pub(crate) fn new(crowded: bool) -> Spin {
        let most = if crowded { MOST_WHEN_CROWDED } else { MOST };
        Spin { most, looks: most, tries: false, slept: false, waits: 0 }
    }

    /// How often the present wait looks before it sleeps; at least once.
    #[inline]
    pub(crate) fn looks(&self) -> u32 {
        if self.tries { self.most } else { self.looks }
    }

    /// A wait begins; the one before is over.
    pub(crate) fn begin(&mut self) {
        if !std::mem::take(&mut self.slept) {
            self.looks = (self.looks * 2).min(self.most);
        }
        self.waits = self.waits.wrapping_add(1);
        self.tries = self.waits.is_multiple_of(TRY_AGAIN);
    }

    /// The present wait comes to sleeping.
    pub(crate) fn in_vain(&mut self) {
        if !std::mem::replace(&mut self.slept, true) {
            self.looks = (self.looks / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_stops_where_it_is_in_vain_and_comes_back_where_it_pays() {
        let mut spin = Spin::new(false);
        let mut tried = 0;
        for _ in 0..1000 {
            spin.begin();
            tried += u32::from(spin.looks() == MOST);
            spin.in_vain();
            spin.in_vain();
        }
        assert_eq!(tried, 1 + 1000 / TRY_AGAIN, "the first wait, and the trials");
        assert_eq!(spin.looks, 1);
        (0..10).for_each(|_| spin.begin());
        assert_eq!(spin.looks(), MOST);
    }

    #[test]
    fn crowded_peers_hardly_look() {
        let mut spin = Spin::new(true);
        (0..200).for_each(|_| spin.begin());
        assert_eq!(spin.looks(), MOST_WHEN_CROWDED);
    }
}
