//! What fuzzers throw at the launcher: what its ranks and its daemons say to it. Each function takes any bytes, and
//! panics only if the launcher breaks a promise. They exist for tests and fuzzers alone.

use crate::pmi::PmiServer;
use crate::wire::{Event, Link, Order};
use std::io::Write;
use std::os::unix::net::UnixStream;

/// What comes over the connection with a host's daemon, both ways.
pub fn wire(data: &[u8]) {
    let pair =
        UnixStream::pair().and_then(|(ours, theirs)| Ok((Link::new(ours.try_clone()?.into(), ours.into())?, theirs)));
    let (mut link, mut theirs) = pair.expect("there are descriptors");
    let Some((&piece, said)) = data.split_first() else { return };
    for piece in said.chunks(usize::from(piece) + 1) {
        theirs.write_all(piece).expect("the other end reads");
        let read = link.read();
        assert!(read.expect("the other end is there"), "it is open");
        let heard = if data.len().is_multiple_of(2) {
            link.messages::<Event>().map(|_| ())
        } else {
            link.messages::<Order>().map(|_| ())
        };
        if heard.is_err() {
            return;
        }
    }
}

/// What two ranks of a job say to the launcher's PMI server, which must go on answering a third.
pub fn pmi_server(data: &[u8]) {
    let mut server = PmiServer::new(&[0, 0, 0]).expect("there are descriptors");
    let mut ranks = [0, 0, 0].map(|section| UnixStream::from(server.add(section).expect("there are descriptors")));
    for (index, line) in data.chunks(200).enumerate() {
        // It may have hung up.
        let _ = ranks[index % 2].write_all(line);
        if let Some(entries) = server.serve() {
            server.release(entries);
        }
    }
    ranks[2].write_all(b"cmd=get_universe_size\n").expect("it has not hung up");
    server.serve();
    let mut reply = [0; 200];
    let count = rustix::io::read(&ranks[2], &mut reply).expect("an answer");
    assert_eq!(&reply[..count], b"cmd=universe_size size=3 rc=0\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmi::tests::words;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_daemon_does_harm(data in vec(prop_oneof![0..20_u8, Just(0), any::<u8>()], 0..400)) {
            wire(&data);
        }

        #[test]
        fn no_rank_does_harm(said in vec(words(), 0..300), noise in any::<[u8; 8]>()) {
            let mut said = said.concat();
            pmi_server(&said);
            said.extend(noise);
            pmi_server(&said);
        }
    }
}
