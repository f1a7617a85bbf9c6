//! What fuzzers throw at the transport: all that comes from outside a process. Each function takes any bytes, and
//! panics only if the library breaks a promise. They exist for tests and fuzzers alone.

use crate::pmi::{Message, mapping_of, nodes_of};
use crate::tcp;

/// A connection's frames, as a pure stream.
pub fn tcp_frames(data: &[u8]) {
    tcp::fuzz::frames(data);
}

/// A connection to a port of the job, by a stranger or by a peer that has gone wrong.
pub fn tcp_connection(data: &[u8]) {
    tcp::fuzz::connection(data);
}

/// A line of a launcher that speaks PMI-1.
pub fn pmi_line(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let message = Message::new(&text);
    let processes = message.number::<u8>("size").unwrap_or(5).into();
    let mapping = message.get("value").unwrap_or(&text);
    if let Some(nodes) = nodes_of(mapping, processes) {
        assert_eq!(nodes.len(), processes);
        assert_eq!(nodes_of(&mapping_of(&nodes), processes), Some(nodes));
    }
    assert!(text.contains(message.command()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Bytes of which many are such as decide something.
    fn said(most: usize) -> impl Strategy<Value = Vec<u8>> {
        vec(prop_oneof![0..6_u8, Just(0), Just(255), any::<u8>()], 0..most)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_stream_of_frames_does_harm(data in said(2000)) {
            tcp_frames(&data);
        }

        #[test]
        fn no_line_does_harm(data in "((cmd|value|size|key)=)?[a-z0-9(),= ]{0,40}", mapping in "\\(vector(,\\([0-9],[0-9],[0-9]\\)){0,3}\\)") {
            pmi_line(data.as_bytes());
            pmi_line(format!("{data} value={mapping}").as_bytes());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]
        #[test]
        fn no_connection_does_harm(data in said(600)) {
            tcp_connection(&data);
        }
    }
}
