//! PMI-1, by which processes of a job that others have started learn who they are and leave words for each other.
//!
//! Lines of `key=value` words, strictly a request and its reply, over a descriptor that the process has inherited.
//! Launchers of several families speak it, so it is also how processes of one job tell each other where they listen.
//! Between them and the launcher nobody else can listen or speak.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;

use crate::descriptor::raised;

/// The descriptor of the connection to the launcher.
pub const PMI_FD: &str = "PMI_FD";
/// The number of this process in the job.
pub const PMI_NUMBER: &str = "PMI_RANK";
/// How many processes the job has.
pub const PMI_SIZE: &str = "PMI_SIZE";
/// Instead of a descriptor: where the launcher listens, as `HOST:PORT`, and by which number it knows this process.
pub const PMI_PORT: &str = "PMI_PORT";
/// See [`PMI_PORT`].
pub const PMI_ID: &str = "PMI_ID";
/// `1`: a process of another job has had this one's started.
pub const PMI_SPAWNED: &str = "PMI_SPAWNED";
/// The key under which a launcher says which process is on which node.
pub const PROCESS_MAPPING: &str = "PMI_process_mapping";

/// Longest line that is understood, bytes.
pub const LINE_MAX: usize = 4096;
/// Longest key.
pub const KEY_MAX: usize = 64;
/// Longest value.
pub const VALUE_MAX: usize = 1024;

/// Why the launcher was of no help.
#[derive(Debug, thiserror::Error)]
pub enum PmiError {
    /// The connection is broken.
    #[error("the connection to the launcher (PMI) is broken: {0}")]
    Broken(#[from] io::Error),
    /// Something else than what was asked for.
    #[error("the launcher (PMI) answered {reply:?} to {request:?}")]
    Refused {
        /// What was asked for.
        request: String,
        /// What came back.
        reply: String,
    },
}

/// One line, as its words.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    line: &'a str,
}

impl<'a> Message<'a> {
    /// The line without its end.
    pub fn new(line: &'a str) -> Self {
        Message { line }
    }

    /// What it asks or answers.
    pub fn command(&self) -> &'a str {
        self.get("cmd").unwrap_or_default()
    }

    /// The value of a key. Values have no spaces, but for a closing `msg=`, which nobody needs.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// The same as a number.
    pub fn number<N: std::str::FromStr>(&self, key: &str) -> Option<N> {
        self.get(key)?.parse().ok()
    }

    /// Whether it grants what it answers.
    pub(crate) fn is_success(&self) -> bool {
        self.get("rc").is_none_or(|code| code == "0")
    }
}

/// A process's connection to its launcher.
#[derive(Debug)]
pub struct Pmi {
    connection: File,
    /// What has arrived beyond the last reply.
    arrived: Vec<u8>,
    space: String,
}

impl Pmi {
    /// Introduces this process to the launcher at the other end of `connection`.
    ///
    /// # Errors
    /// If nobody there speaks PMI-1.
    pub fn new(connection: OwnedFd) -> Result<Pmi, PmiError> {
        let mut pmi = Pmi { connection: File::from(connection), arrived: Vec::new(), space: String::new() };
        pmi.introduce()?;
        Ok(pmi)
    }

    fn introduce(&mut self) -> Result<(), PmiError> {
        self.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let reply = self.ask("cmd=get_my_kvsname", "my_kvsname")?;
        self.space = Message::new(&reply).get("kvsname").unwrap_or_default().to_owned();
        Ok(())
    }

    /// Introduces this process to a launcher that listens at `address` and knows it by the number `id`. Also gives the
    /// number of the process in the job, and how many there are.
    ///
    /// # Errors
    /// If nobody there speaks PMI-1.
    pub fn reach(address: &str, id: usize) -> Result<(Pmi, usize, usize), PmiError> {
        let connection = raised(OwnedFd::from(TcpStream::connect(address)?));
        let mut pmi = Pmi { connection: File::from(connection), arrived: Vec::new(), space: String::new() };
        let request = format!("cmd=initack pmiid={id}");
        pmi.ask(&request, "initack")?;
        let mut told = |what: &str| {
            let line = pmi.hear()?;
            let number = Message::new(&line).number(what);
            number.ok_or_else(|| PmiError::Refused { request: request.clone(), reply: line })
        };
        let (size, me) = (told("size")?, told("rank")?);
        told("debug")?;
        pmi.introduce()?;
        Ok((pmi, me, size))
    }

    /// Leaves a value for the others, who see it after the next [`Pmi::meet`].
    ///
    /// # Errors
    /// If the launcher does not take it.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        debug_assert!(key.len() <= KEY_MAX && value.len() <= VALUE_MAX && !value.contains([' ', '\n']));
        let request = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        self.ask(&request, "put_result").map(drop)
    }

    /// What somebody has left under `key`; `None` if nobody has.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn get(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        let request = format!("cmd=get kvsname={} key={key}", self.space);
        let reply = self.say(&request)?;
        let reply = Message::new(&reply);
        Ok(reply.get("value").filter(|_| reply.is_success()).map(str::to_owned))
    }

    /// Waits until all processes of the job are here.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn meet(&mut self) -> Result<(), PmiError> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }

    /// Says that this process ends in good order.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn finish(&mut self) -> Result<(), PmiError> {
        self.ask("cmd=finalize", "finalize_ack").map(drop)
    }

    /// Has the launcher end the job. There is no reply; a launcher that is gone has ended it.
    pub fn abort(&mut self, code: i32) {
        let _ = self.connection.write_all(format!("cmd=abort exitcode={code}\n").as_bytes());
    }

    fn ask(&mut self, request: &str, expected: &str) -> Result<String, PmiError> {
        let reply = self.say(request)?;
        let message = Message::new(&reply);
        if message.command() != expected || !message.is_success() {
            return Err(PmiError::Refused { request: request.to_owned(), reply });
        }
        Ok(reply)
    }

    fn say(&mut self, request: &str) -> Result<String, PmiError> {
        self.say_lines(&format!("{request}\n"))
    }

    /// Says these lines, and returns the reply.
    pub(crate) fn say_lines(&mut self, lines: &str) -> Result<String, PmiError> {
        // In one piece: there are launchers that take what one read gives for a line.
        self.connection.write_all(lines.as_bytes())?;
        self.hear()
    }

    fn hear(&mut self) -> Result<String, PmiError> {
        loop {
            if let Some(end) = self.arrived.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            let mut bytes = [0; 1024];
            match self.connection.read(&mut bytes) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) if self.arrived.len() + count <= LINE_MAX => self.arrived.extend_from_slice(&bytes[..count]),
                Ok(_) => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The node of each of `processes` according to a process mapping, `(vector,(first node,nodes,processes on each)…)`,
/// whose blocks are repeated until all processes are placed; `None` if it makes no sense.
pub fn nodes_of(mapping: &str, processes: usize) -> Option<Vec<usize>> {
    let blocks = mapping.trim().strip_prefix("(vector,")?.strip_suffix(')')?;
    let mut parsed = Vec::new();
    for block in blocks.split_inclusive(')') {
        let numbers = block.trim_start_matches(',').strip_prefix('(')?.strip_suffix(')')?;
        let numbers: Vec<usize> = numbers.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
        let &[first, nodes, each] = &numbers[..] else { return None };
        if nodes == 0 || each == 0 || nodes > processes || each > processes || first.checked_add(nodes).is_none() {
            return None;
        }
        parsed.push((first, nodes, each));
    }
    let placed = parsed
        .iter()
        .cycle()
        .flat_map(|&(first, nodes, each)| (first..first + nodes).flat_map(move |node| std::iter::repeat_n(node, each)));
    let nodes: Vec<usize> = placed.take(processes).collect();
    (nodes.len() == processes).then_some(nodes)
}

/// The process mapping that says so: the inverse of [`nodes_of`].
pub fn mapping_of(nodes: &[usize]) -> String {
    let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
    for run in nodes.chunk_by(|one, next| one == next) {
        match blocks.last_mut() {
            Some((first, count, each)) if *first + *count == run[0] && *each == run.len() => *count += 1,
            _ => blocks.push((run[0], 1, run.len())),
        }
    }
    let blocks: Vec<String> = blocks.iter().map(|(first, count, each)| format!("({first},{count},{each})")).collect();
    format!("(vector,{})", blocks.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;

    #[test]
    fn words_are_found() {
        let message = Message::new("cmd=get_result rc=0 key2=x value=a=b(c) msg=all is well");
        assert_eq!(message.command(), "get_result");
        assert_eq!(message.get("value"), Some("a=b(c)"));
        assert_eq!(message.number::<i32>("rc"), Some(0));
        assert_eq!(message.get("key"), None);
        assert_eq!(Message::new("nonsense").command(), "");
    }

    #[test]
    fn mappings_are_read_and_written() {
        for (mapping, nodes) in [
            ("(vector,(0,1,3))", vec![0, 0, 0]),
            ("(vector,(0,2,2))", vec![0, 0, 1, 1]),
            ("(vector,(0,1,3),(1,2,1))", vec![0, 0, 0, 1, 2]),
            ("(vector,(4,1,1),(0,1,1))", vec![4, 0]),
        ] {
            assert_eq!(nodes_of(mapping, nodes.len()), Some(nodes.clone()), "{mapping}");
            assert_eq!(mapping_of(&nodes), mapping);
        }
        assert_eq!(nodes_of("(vector,(0,2,1))", 5), Some(vec![0, 1, 0, 1, 0]), "blocks are repeated");
        for nonsense in ["", "(vector,)", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))", "(vector,(0,9,1))"]
        {
            assert_eq!(nodes_of(nonsense, 4), None, "{nonsense}");
        }
        assert_eq!(nodes_of(&format!("(vector,({},1,1))", usize::MAX), 4), None, "beyond all numbers");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_mapping_makes_it_panic(blocks in vec((any::<usize>(), 0..6_usize, 0..6_usize), 0..4), noise in "[(),0-9 ]{0,6}") {
            let blocks: Vec<String> = blocks.iter().map(|(a, b, c)| format!("({a},{b},{c})")).collect();
            let mapping = format!("(vector,{}{noise})", blocks.join(","));
            prop_assert!(nodes_of(&mapping, 5).is_none_or(|nodes| nodes.len() == 5), "{mapping}");
        }

        /// Whatever a launcher answers, and however it is cut.
        #[test]
        fn no_answer_makes_it_panic(answer in vec(prop_oneof![Just(b'\n'), Just(b'='), Just(b' '), any::<u8>()], 0..200)) {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(b"cmd=response_to_init rc=0\ncmd=my_kvsname kvsname=x\n").unwrap();
            theirs.write_all(&answer).unwrap();
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            let mut pmi = Pmi::new(ours.into()).unwrap();
            for _ in 0..5 {
                let _ = (pmi.get("key"), pmi.meet());
            }
        }
    }

    #[test]
    fn a_process_asks_and_is_answered() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let launcher = std::thread::spawn(move || {
            let mut lines = BufReader::new(theirs.try_clone().unwrap()).lines();
            let mut theirs = theirs;
            for (expected, reply) in [
                ("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"),
                ("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=space"),
                ("cmd=put kvsname=space key=a value=1", "cmd=put_result rc=0 msg=success"),
                ("cmd=barrier_in", "cmd=barrier_out"),
                ("cmd=get kvsname=space key=b", "cmd=get_result rc=0 msg=success value=2"),
                ("cmd=get kvsname=space key=c", "cmd=get_result rc=-1 msg=key_not_found value=unknown"),
                ("cmd=finalize", "cmd=nonsense"),
            ] {
                assert_eq!(lines.next().unwrap().unwrap(), expected);
                theirs.write_all(format!("{reply}\n").as_bytes()).unwrap();
            }
        });
        let mut pmi = Pmi::new(ours.into()).unwrap();
        pmi.put("a", "1").unwrap();
        pmi.meet().unwrap();
        assert_eq!(pmi.get("b").unwrap().as_deref(), Some("2"));
        assert_eq!(pmi.get("c").unwrap(), None);
        assert!(pmi.finish().unwrap_err().to_string().contains("nonsense"));
        launcher.join().unwrap();
        assert!(matches!(pmi.meet(), Err(PmiError::Broken(_))));
    }
}
