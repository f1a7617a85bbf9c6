//! The handshake: two peers prove to each other that they know the job's secret, before anything else is looked at.
//!
//! Four messages of fixed length. Whoever opens a connection *knocks* at once: it says who it is, whom it wants, and
//! random bytes of its own, with an HMAC-SHA256 over all that under the secret. A knock only earns patience: the
//! acceptor drops silent connections first. The acceptor sends a *challenge*, fresh random bytes, which the opener
//! answers with a *hello*: a knock over the challenge, too. If that is right, the acceptor sends its *verdict*: the
//! same under another label, which proves that it knows the secret too. A stranger gets to see random bytes and nothing
//! else. A recorded hello is worthless, as the challenge is never the same twice; a verdict cannot be mistaken for a
//! hello, as the labels differ.
#![forbid(unsafe_code)]

use std::fmt;

use hmac_sha256::HMAC;
use rustix::rand::GetRandomFlags;

/// Changes with every change of what travels on a connection.
const VERSION: u32 = 2;
const NONCE: usize = 32;
const PROOF: usize = 32;
const INTRODUCTION: usize = 16;
/// Bytes of a challenge.
pub(crate) const CHALLENGE: usize = NONCE;
/// What a knock answers.
pub(crate) const NO_CHALLENGE: [u8; CHALLENGE] = [0; CHALLENGE];
/// Bytes of a hello, and of a knock.
pub(crate) const HELLO: usize = INTRODUCTION + NONCE + PROOF;
/// Bytes of a verdict.
pub(crate) const VERDICT: usize = PROOF;

/// What all processes of one job know and nobody else does.
#[derive(Clone)]
pub struct JobSecret([u8; 16]);

impl JobSecret {
    /// A new one.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn random() -> std::io::Result<JobSecret> {
        random_bytes().map(JobSecret)
    }

    /// The one that somebody else has made.
    pub fn from_bytes(bytes: [u8; 16]) -> JobSecret {
        JobSecret(bytes)
    }

    /// To be passed on to a process of the job: by a descriptor that it inherits, never by a command line or an
    /// environment.
    pub fn to_bytes(&self) -> [u8; 16] {
        self.0
    }

    pub(crate) fn proof(&self, label: &[u8], challenge: &[u8; CHALLENGE], said: &[u8]) -> HMAC {
        let mut mac = HMAC::new(self.0);
        mac.update(label);
        mac.update(challenge);
        mac.update(said);
        mac
    }
}

impl fmt::Debug for JobSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JobSecret(..)")
    }
}

const OF_OPENER: &[u8] = b"rwmpi hello";
const OF_ACCEPTOR: &[u8] = b"rwmpi verdict";

/// Fresh random bytes.
pub(crate) fn random_bytes<const LEN: usize>() -> std::io::Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    let mut filled = 0;
    while filled < LEN {
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Who opens a connection to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Introduction {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) peers: usize,
}

impl Introduction {
    fn encode(self) -> [u8; INTRODUCTION] {
        let mut bytes = [0; INTRODUCTION];
        let numbers = [VERSION, self.peers as u32, self.from as u32, self.to as u32];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

/// The hello of one who opened a connection and got `challenge`; `nonce` is random.
pub(crate) fn hello(
    secret: &JobSecret,
    challenge: &[u8; CHALLENGE],
    introduction: Introduction,
    nonce: &[u8; NONCE],
) -> [u8; HELLO] {
    let mut hello = [0; HELLO];
    hello[..INTRODUCTION].copy_from_slice(&introduction.encode());
    hello[INTRODUCTION..][..NONCE].copy_from_slice(nonce);
    let (said, proof) = hello.split_at_mut(INTRODUCTION + NONCE);
    proof.copy_from_slice(&secret.proof(OF_OPENER, challenge, said).finalize());
    hello
}

/// Who has sent `hello`, if it is a peer of this job, of this version, that wants `me`.
pub(crate) fn check_hello(
    secret: &JobSecret,
    challenge: &[u8; CHALLENGE],
    hello: &[u8; HELLO],
    me: usize,
    peers: usize,
) -> Option<usize> {
    let (said, proof) = hello.split_last_chunk::<PROOF>()?;
    if !secret.proof(OF_OPENER, challenge, said).finalize_verify(proof) {
        return None;
    }
    let from = u32::from_le_bytes([said[8], said[9], said[10], said[11]]) as usize;
    let expected = Introduction { from, to: me, peers };
    (said[..INTRODUCTION] == expected.encode() && from < peers && from != me).then_some(from)
}

/// The verdict on a hello that was found right.
pub(crate) fn verdict(secret: &JobSecret, challenge: &[u8; CHALLENGE], hello: &[u8; HELLO]) -> [u8; VERDICT] {
    secret.proof(OF_ACCEPTOR, challenge, hello).finalize()
}

/// Whether `verdict` comes from somebody who knows the secret and has seen this `hello`.
pub(crate) fn check_verdict(
    secret: &JobSecret,
    challenge: &[u8; CHALLENGE],
    hello: &[u8; HELLO],
    verdict: &[u8; VERDICT],
) -> bool {
    secret.proof(OF_ACCEPTOR, challenge, hello).finalize_verify(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: Introduction = Introduction { from: 2, to: 1, peers: 4 };

    #[test]
    fn those_who_know_the_secret_agree() {
        let secret = JobSecret::random().unwrap();
        let challenge = random_bytes().unwrap();
        let hello = hello(&secret, &challenge, WHO, &random_bytes().unwrap());
        assert_eq!(check_hello(&secret, &challenge, &hello, 1, 4), Some(2));
        assert!(check_verdict(&secret, &challenge, &hello, &verdict(&secret, &challenge, &hello)));
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let secret = JobSecret::random().unwrap();
        let challenge = random_bytes().unwrap();
        let right = hello(&secret, &challenge, WHO, &random_bytes().unwrap());
        let answer = verdict(&secret, &challenge, &right);
        for bit in 0..HELLO * 8 {
            let mut wrong = right;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check_hello(&secret, &challenge, &wrong, 1, 4), None, "bit {bit}");
            assert!(!check_verdict(&secret, &challenge, &wrong, &answer));
        }
        for bit in 0..VERDICT * 8 {
            let mut wrong = answer;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!check_verdict(&secret, &challenge, &right, &wrong), "bit {bit}");
        }
    }

    #[test]
    fn replays_reflections_and_other_jobs_are_refused() {
        let secret = JobSecret::random().unwrap();
        let challenge = random_bytes().unwrap();
        let recorded = hello(&secret, &challenge, WHO, &random_bytes().unwrap());
        let fresh = random_bytes().unwrap();
        assert_eq!(check_hello(&secret, &fresh, &recorded, 1, 4), None, "a replay");
        assert_eq!(check_hello(&JobSecret::random().unwrap(), &challenge, &recorded, 1, 4), None, "another job");
        let reflected = recorded[INTRODUCTION + NONCE..].try_into().unwrap();
        assert!(!check_verdict(&secret, &challenge, &recorded, &reflected), "the opener's own proof");
    }

    #[test]
    fn peers_that_cannot_be_are_refused() {
        let secret = JobSecret::random().unwrap();
        let challenge = random_bytes().unwrap();
        for (who, me, peers) in [
            (Introduction { to: 3, ..WHO }, 1, 4),
            (Introduction { from: 1, ..WHO }, 1, 4),
            (Introduction { from: 4, ..WHO }, 1, 4),
            (Introduction { peers: 5, ..WHO }, 1, 4),
        ] {
            let hello = hello(&secret, &challenge, who, &random_bytes().unwrap());
            assert_eq!(check_hello(&secret, &challenge, &hello, me, peers), None, "{who:?}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", JobSecret::from_bytes([7; 16])), "JobSecret(..)");
    }
}
