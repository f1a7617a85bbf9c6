//! What programs pass on: where a port is, and the secret that lets in whoever has it.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::SocketAddr;

use crate::JobSecret;

/// With what names of ports begin.
const PREFIX: &str = "rwmpi-port:";
/// Digits of a secret.
const DIGITS: usize = 32;
/// Most addresses that are tried.
const ADDRESSES_MAX: usize = 8;

/// A name, taken apart: `rwmpi-port:WORD:SECRET`, and behind an `@` the addresses for other machines.
pub(super) struct PortName {
    /// By which it is found on its own machine.
    pub(super) word: String,
    pub(super) secret: JobSecret,
    /// Where it is found from others.
    pub(super) addresses: Vec<SocketAddr>,
}

impl PortName {
    /// The one that a text is; `None`: it is none.
    pub(super) fn parse(text: &str) -> Option<PortName> {
        let (word, rest) = text.trim_end().strip_prefix(PREFIX)?.split_once(':')?;
        let (digits, list) = rest.split_once('@').map_or((rest, None), |(digits, list)| (digits, Some(list)));
        let is_secret = digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let secret = u128::from_str_radix(digits, 16).ok().filter(|_| is_secret)?;
        let addresses = list.into_iter().flat_map(|list| list.split(',')).map(str::parse);
        let addresses: Vec<SocketAddr> = addresses.collect::<Result<_, _>>().ok()?;
        let is_short = addresses.len() <= ADDRESSES_MAX;
        let secret = JobSecret::from_bytes(secret.to_be_bytes());
        is_short.then(|| PortName { word: word.to_owned(), secret, addresses })
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = u128::from_be_bytes(self.secret.to_bytes());
        write!(formatter, "{PREFIX}{}:{secret:032x}", self.word)?;
        for (number, address) in self.addresses.iter().enumerate() {
            write!(formatter, "{}{address}", if number == 0 { '@' } else { ',' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written() {
        for list in ["", "@192.0.2.7:5000", "@192.0.2.7:5000,[2001:db8::1]:6000"] {
            let text = format!("rwmpi-port:word:000102030405060708090a0b0c0d0e0f{list}");
            assert_eq!(PortName::parse(&text).map(|name| name.to_string()), Some(text));
        }
        assert!(PortName::parse("rwmpi-port:word:000102030405060708090a0b0c0d0e0f \n").is_some());
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let secret = "000102030405060708090a0b0c0d0e0f";
        let many = ["192.0.2.7:1"; ADDRESSES_MAX + 1].join(",");
        for text in [
            String::new(),
            "tag#0$".to_owned(),
            "rwmpi-port:x".to_owned(),
            "rwmpi-port:x:y".to_owned(),
            format!("rwmpi-port:x:+{}", &secret[1..]),
            format!("rwmpi-port:x:{secret}@"),
            format!("rwmpi-port:x:{secret}@nowhere:1"),
            format!("rwmpi-port:x:{secret}@{many}"),
        ] {
            assert!(PortName::parse(&text).is_none(), "{text}");
        }
    }
}
