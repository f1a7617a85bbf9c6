//! How whoever calls a port and whoever has opened it prove to each other that they know the port's secret, before
//! either looks at anything else. The secret itself is not said.
//!
//! Three messages of fixed length: whoever has opened the port sends a *challenge*, fresh random bytes; the caller
//! answers with a *hello*, which says what it is and has an HMAC-SHA256 over both under the secret; if that is right,
//! it gets a *verdict*, the same under another label. So a recorded hello is worthless, and no message can be mistaken
//! for another.
#![forbid(unsafe_code)]

use crate::JobSecret;
use crate::tcp::handshake::{CHALLENGE, random_bytes};

/// Changes with what the two sides say afterwards.
const VERSION: u32 = 1;
const NONCE: usize = 32;
const PROOF: usize = 32;
const SAID: usize = 4 + 8 + 1 + NONCE;
/// Bytes of a hello.
pub(super) const HELLO: usize = SAID + PROOF;
/// Bytes of a verdict.
pub(super) const VERDICT: usize = PROOF;

const OF_CALLER: &[u8] = b"rwmpi port hello";
const OF_OPENER: &[u8] = b"rwmpi port verdict";
const OF_MEETING: &[u8] = b"rwmpi port meeting";

/// What a caller says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Introduction {
    /// How many come with it.
    pub(super) members: usize,
    /// Whether all of these are on one machine.
    pub(super) is_together: bool,
}

impl Introduction {
    /// The hello of one that says this, and has got that challenge.
    pub(super) fn hello(self, secret: &JobSecret, challenge: &[u8; CHALLENGE]) -> std::io::Result<[u8; HELLO]> {
        let mut hello = [0; HELLO];
        hello[..4].copy_from_slice(&VERSION.to_le_bytes());
        hello[4..12].copy_from_slice(&(self.members as u64).to_le_bytes());
        hello[12] = self.is_together.into();
        hello[13..SAID].copy_from_slice(&random_bytes::<NONCE>()?);
        let (said, proof) = hello.split_at_mut(SAID);
        proof.copy_from_slice(&secret.proof(OF_CALLER, challenge, said).finalize());
        Ok(hello)
    }

    /// What was said in a hello to that challenge, if whoever said it knows the secret.
    pub(super) fn of(hello: &[u8; HELLO], secret: &JobSecret, challenge: &[u8; CHALLENGE]) -> Option<Introduction> {
        let (said, proof) = hello.split_last_chunk::<PROOF>()?;
        // Takes as long wherever the first difference is.
        if !secret.proof(OF_CALLER, challenge, said).finalize_verify(proof) || said[..4] != VERSION.to_le_bytes() {
            return None;
        }
        let number = u64::from_le_bytes(*said[4..].first_chunk()?);
        let members = usize::try_from(number).ok().filter(|&members| members > 0)?;
        Some(Introduction { members, is_together: said[12] != 0 })
    }
}

/// The verdict on a hello that was right.
pub(super) fn verdict(secret: &JobSecret, challenge: &[u8; CHALLENGE], hello: &[u8; HELLO]) -> [u8; VERDICT] {
    secret.proof(OF_OPENER, challenge, hello).finalize()
}

/// Whether a verdict comes from somebody who knows the secret and has seen this hello.
pub(super) fn is_verdict(
    verdict: &[u8; VERDICT],
    secret: &JobSecret,
    challenge: &[u8; CHALLENGE],
    hello: &[u8; HELLO],
) -> bool {
    secret.proof(OF_OPENER, challenge, hello).finalize_verify(verdict)
}

/// A secret that both sides have after a greeting, and nobody who has heard it: not who called before, or will.
pub(super) fn meeting_secret(secret: &JobSecret, challenge: &[u8; CHALLENGE], hello: &[u8; HELLO]) -> JobSecret {
    let whole = secret.proof(OF_MEETING, challenge, hello).finalize();
    JobSecret::from_bytes(*whole.first_chunk().expect("an HMAC is longer than a secret"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: Introduction = Introduction { members: 3, is_together: true };

    #[test]
    fn those_who_know_the_secret_agree() {
        let (secret, challenge) = (JobSecret::random().unwrap(), random_bytes().unwrap());
        let hello = WHO.hello(&secret, &challenge).unwrap();
        assert_eq!(Introduction::of(&hello, &secret, &challenge), Some(WHO));
        assert!(is_verdict(&verdict(&secret, &challenge, &hello), &secret, &challenge, &hello));
        let secrets = [0; 2].map(|_| meeting_secret(&secret, &challenge, &hello).to_bytes());
        assert!(secrets[0] == secrets[1] && secrets[0] != secret.to_bytes());
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let (secret, challenge) = (JobSecret::random().unwrap(), random_bytes().unwrap());
        let right = WHO.hello(&secret, &challenge).unwrap();
        for bit in 0..HELLO * 8 {
            let mut wrong = right;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Introduction::of(&wrong, &secret, &challenge), None, "bit {bit}");
            let answer = verdict(&secret, &challenge, &wrong);
            assert!(!is_verdict(&answer, &secret, &challenge, &right), "bit {bit}");
        }
    }

    #[test]
    fn replays_reflections_and_strangers_are_refused() {
        let (secret, challenge) = (JobSecret::random().unwrap(), random_bytes().unwrap());
        let recorded = WHO.hello(&secret, &challenge).unwrap();
        assert_eq!(Introduction::of(&recorded, &secret, &random_bytes().unwrap()), None);
        assert_eq!(Introduction::of(&recorded, &JobSecret::random().unwrap(), &challenge), None);
        let reflected = *recorded.last_chunk().unwrap();
        assert!(!is_verdict(&reflected, &secret, &challenge, &recorded));
        let nobody = Introduction { members: 0, ..WHO }.hello(&secret, &challenge).unwrap();
        assert_eq!(Introduction::of(&nobody, &secret, &challenge), None);
    }
}
