//! The launcher's side of PMI-1: ranks leave words for each other and wait for each other here.
//!
//! Programs of MPI libraries that are not ours find each other in no other way; ours use it where shared memory does
//! not reach. A rank that speaks nonsense, or too much of it, is not answered any more; it harms nobody else.
//!
//! Where a job has several hosts, each host's daemon has one of these. When all of its ranks wait, it tells the others
//! what its ranks have left, and goes on once all have told; so ranks ask only their own host.

use crate::error::LaunchError;
use crate::spawn_request::{self, Progress, SpawnAnswer, SpawnRequest, UnfinishedRequest};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rwmpi_transport::pmi::{self, LINE_MAX, Message};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The name of the one space for keys.
const SPACE: &str = "rwmpi";
/// Bytes that the ranks of a host may leave in all.
const STORED_MAX: usize = 64 << 20;
/// What an entry takes beside its words.
const ENTRY: usize = 128;

/// What a rank left: key and value.
pub(crate) type Entry = (String, String);

/// What the ranks of a job, or of one host of it, leave for each other.
pub(crate) struct PmiServer {
    /// Readable when a rank has said something.
    epoll: OwnedFd,
    clients: Vec<Client>,
    size: usize,
    store: BTreeMap<String, String>,
    stored: usize,
    /// What was left since all ranks last met.
    fresh: Vec<Entry>,
    /// How many ranks wait for the others.
    waiting: usize,
    abort: Option<(usize, i32)>,
    /// Who has asked for further ranks, and has yet to be answered or even heard.
    requests: Vec<(usize, SpawnRequest)>,
}

struct Client {
    socket: Option<UnixStream>,
    arrived: Vec<u8>,
    state: State,
    waits: bool,
    section: usize,
    /// What it is about to ask for.
    unfinished: Option<UnfinishedRequest>,
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It has not said anything.
    #[default]
    Silent,
    /// It has joined the job.
    Joined,
    /// It has left it in good order.
    Finished,
}

impl PmiServer {
    /// For a job of `nodes.len()` ranks, each on the node of that number.
    pub(crate) fn new(nodes: &[usize]) -> Result<Self, LaunchError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(LaunchError::system("listen to the ranks"))?;
        let mapping = pmi::mapping_of(nodes);
        let mut store = BTreeMap::new();
        // A longer one could not be asked for; whoever misses it takes each rank for a node of its own.
        if mapping.len() <= pmi::VALUE_MAX {
            store.insert(pmi::PROCESS_MAPPING.to_owned(), mapping);
        }
        let (clients, fresh) = (Vec::new(), Vec::new());
        Ok(PmiServer {
            epoll,
            clients,
            size: nodes.len(),
            store,
            stored: 0,
            fresh,
            waiting: 0,
            abort: None,
            requests: Vec::new(),
        })
    }

    /// Leaves these words for the ranks.
    pub(crate) fn leave(&mut self, entries: &[Entry]) {
        self.store.extend(entries.iter().cloned());
    }

    /// A connection for the next rank, of that section; gives the rank's end.
    pub(crate) fn add(&mut self, section: usize) -> Result<OwnedFd, LaunchError> {
        let connect = || -> std::io::Result<(UnixStream, UnixStream)> {
            let (ours, theirs) = UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            let key = epoll::EventData::new_u64(self.clients.len() as u64);
            epoll::add(&self.epoll, &ours, key, epoll::EventFlags::IN)?;
            Ok((ours, theirs))
        };
        let (ours, theirs) = connect().map_err(LaunchError::system("connect with a rank"))?;
        let (socket, arrived, state, waits) = (Some(ours), Vec::new(), State::Silent, false);
        self.clients.push(Client { socket, arrived, state, waits, section, unfinished: None });
        Ok(theirs.into())
    }

    /// Readable when there is something to do.
    pub(crate) fn readable(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Whether a rank has joined the job by this way.
    pub(crate) fn joined(&self, index: usize) -> bool {
        self.clients[index].state != State::Silent
    }

    /// Whether a rank that joined by this way has left in good order.
    pub(crate) fn finished(&self, index: usize) -> bool {
        self.clients[index].state == State::Finished
    }

    /// Who has asked for the job to end, and the code for it.
    pub(crate) fn abort(&self) -> Option<(usize, i32)> {
        self.abort
    }

    /// Answers what has been asked. `Some`: all ranks here wait for those elsewhere, and have left this;
    /// [`PmiServer::release`] lets them go on.
    pub(crate) fn serve(&mut self) -> Option<Vec<Entry>> {
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 64];
        let count = epoll::wait(&self.epoll, &mut events[..], Some(&Timespec::default())).unwrap_or(0);
        for event in &events[..count] {
            let data = event.data;
            self.hear(data.u64() as usize);
        }
        let all_wait = self.waiting > 0 && self.waiting == self.clients.len();
        if !all_wait {
            return None;
        }
        self.waiting = 0;
        Some(std::mem::take(&mut self.fresh))
    }

    /// All ranks of the job have met, and those elsewhere have left these words: lets the ranks here go on.
    pub(crate) fn release(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.store.extend(entries);
        for index in 0..self.clients.len() {
            if std::mem::take(&mut self.clients[index].waits) {
                self.reply(index, "cmd=barrier_out");
            }
        }
    }

    fn hear(&mut self, index: usize) {
        let client = &mut self.clients[index];
        let Some(socket) = &client.socket else { return };
        let mut bytes = [0; LINE_MAX];
        match rustix::io::read(socket, &mut bytes) {
            Ok(count) if count > 0 && client.arrived.len() + count <= 2 * LINE_MAX => {
                client.arrived.extend_from_slice(&bytes[..count]);
            }
            Err(Errno::AGAIN | Errno::INTR) => return,
            Ok(_) | Err(_) => return self.hang_up(index),
        }
        while let Some(end) = self.clients[index].arrived.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.clients[index].arrived.drain(..=end).collect();
            self.take_line(index, &String::from_utf8_lossy(&line[..end]));
        }
    }

    fn take_line(&mut self, index: usize, line: &str) {
        let Some(unfinished) = self.clients[index].unfinished.take() else {
            if spawn_request::begins(line) {
                self.clients[index].unfinished = Some(UnfinishedRequest::new());
                return;
            }
            return self.answer(index, line);
        };
        match unfinished.with(line) {
            Progress::Unfinished(unfinished) => self.clients[index].unfinished = Some(unfinished),
            Progress::Finished(request) => self.requests.push((index, request)),
            Progress::Nonsense => self.hang_up(index),
        }
    }

    /// Who has asked for further ranks since the last call: [`PmiServer::answer_request`] answers.
    pub(crate) fn take_requests(&mut self) -> Vec<(usize, SpawnRequest)> {
        std::mem::take(&mut self.requests)
    }

    /// What became of the further ranks.
    pub(crate) fn answer_request(&mut self, index: usize, answer: &SpawnAnswer) {
        if index < self.clients.len() {
            self.reply(index, &spawn_request::reply(answer));
        }
    }

    fn hang_up(&mut self, index: usize) {
        // Closing it ends the watch too.
        self.clients[index].socket = None;
    }

    fn answer(&mut self, index: usize, line: &str) {
        let message = Message::new(line);
        let reply = match message.command() {
            "init" => {
                self.clients[index].state = State::Joined;
                let known = message.number("pmi_version") == Some(1);
                let code = if known { 0 } else { -1 };
                format!("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc={code}")
            }
            "get_maxes" => {
                format!("cmd=maxes kvsname_max=256 keylen_max={} vallen_max={} rc=0", pmi::KEY_MAX, pmi::VALUE_MAX)
            }
            "get_appnum" => format!("cmd=appnum appnum={} rc=0", self.clients[index].section),
            "get_universe_size" => format!("cmd=universe_size size={} rc=0", self.size),
            "get_my_kvsname" => format!("cmd=my_kvsname kvsname={SPACE} rc=0"),
            "put" => self.put(&message),
            "get" => match message.get("key").and_then(|key| self.store.get(key)) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                None => "cmd=get_result rc=-1 msg=key_not_found value=unknown".to_owned(),
            },
            "barrier_in" => {
                if !std::mem::replace(&mut self.clients[index].waits, true) {
                    self.waiting += 1;
                }
                return;
            }
            "finalize" => {
                self.clients[index].state = State::Finished;
                "cmd=finalize_ack rc=0".to_owned()
            }
            "abort" => {
                self.abort.get_or_insert((index, message.number("exitcode").unwrap_or(1)));
                return;
            }
            "publish_name" | "unpublish_name" | "lookup_name" => {
                format!("cmd={}_result rc=-1 msg=not_supported", message.command())
            }
            _ => return self.hang_up(index),
        };
        self.reply(index, &reply);
    }

    fn put(&mut self, message: &Message<'_>) -> String {
        let (Some(key), Some(value)) = (message.get("key"), message.get("value")) else {
            return "cmd=put_result rc=-1 msg=no_key".to_owned();
        };
        let len = ENTRY + key.len() + value.len();
        if self.stored + len > STORED_MAX {
            return "cmd=put_result rc=-1 msg=no_room".to_owned();
        }
        self.stored += len;
        self.store.insert(key.to_owned(), value.to_owned());
        self.fresh.push((key.to_owned(), value.to_owned()));
        "cmd=put_result rc=0 msg=success".to_owned()
    }

    /// A rank that does not read its replies is none to talk with.
    fn reply(&mut self, index: usize, line: &str) {
        let Some(socket) = &mut self.clients[index].socket else { return };
        if socket.write_all(format!("{line}\n").as_bytes()).is_err() {
            self.hang_up(index);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use rwmpi_transport::pmi::Pmi;
    use std::io::Read;

    /// Runs `rank` in a thread for each rank while the server serves them as a job of one host.
    fn serve(ranks: usize, rank: impl Fn(usize, OwnedFd) + Sync) -> PmiServer {
        let mut server = PmiServer::new(&vec![0; ranks]).unwrap();
        let ends: Vec<OwnedFd> = (0..ranks).map(|_| server.add(0).unwrap()).collect();
        let rank = &rank;
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                ends.into_iter().enumerate().map(|(index, end)| scope.spawn(move || rank(index, end))).collect();
            while !threads.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                if server.serve().is_some() {
                    server.release([]);
                }
            }
        });
        server
    }

    #[test]
    fn ranks_find_what_others_have_left() {
        let server = serve(3, |index, end| {
            let mut pmi = Pmi::new(end).unwrap();
            pmi.put(&format!("key-{index}"), &format!("value-{index}")).unwrap();
            pmi.meet().unwrap();
            for other in 0..3 {
                assert_eq!(pmi.get(&format!("key-{other}")).unwrap(), Some(format!("value-{other}")));
            }
            assert_eq!(pmi.get("nothing").unwrap(), None);
            assert_eq!(pmi.get(pmi::PROCESS_MAPPING).unwrap().as_deref(), Some("(vector,(0,1,3))"));
            pmi.finish().unwrap();
        });
        assert!((0..3).all(|index| server.joined(index) && server.finished(index)));
        assert_eq!(server.abort(), None);
    }

    #[test]
    fn nonsense_is_not_answered_and_harms_nobody() {
        let server = serve(2, |index, end| {
            let mut stream = UnixStream::from(end);
            if index == 0 {
                // It may be hung up on before it has said everything.
                let _ = stream.write_all(&[b'x'; 3 * LINE_MAX]);
                assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
            } else {
                let mut pmi = Pmi::new(stream.into()).unwrap();
                pmi.put("a", "b").unwrap();
                pmi.abort(7);
                assert_eq!(pmi.get("a").unwrap().as_deref(), Some("b"));
            }
        });
        assert!(!server.joined(0) && !server.finished(1));
        assert_eq!(server.abort(), Some((1, 7)));
    }

    #[test]
    fn empty_words_take_room_too() {
        let mut server = PmiServer::new(&[0]).unwrap();
        let fits = (0..1_000_000).take_while(|_| server.put(&Message::new("key= value=")).contains("rc=0")).count();
        assert_eq!(fits, STORED_MAX / ENTRY);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        /// Words of the language and bytes of none, in any order and pieces: the others are served all the same.
        #[test]
        fn whatever_a_rank_says_others_are_served(said in vec(words(), 0..60), piece in 1..100_usize) {
            let mut server = PmiServer::new(&[0, 0]).unwrap();
            let [mut wild, mut other] = [0, 0].map(|section| UnixStream::from(server.add(section).unwrap()));
            for piece in said.concat().chunks(piece) {
                // It may have been hung up on.
                let _ = wild.write_all(piece);
                if server.serve().is_some() {
                    server.release([]);
                }
            }
            drop(wild);
            other.write_all(b"cmd=put key=mine value=7\ncmd=get key=mine\n").unwrap();
            (0..3).for_each(|_| drop(server.serve()));
            let mut replies = [0; 200];
            let count = other.read(&mut replies).unwrap();
            let replies = String::from_utf8_lossy(&replies[..count]);
            prop_assert!(replies.ends_with("cmd=get_result rc=0 msg=success value=7\n"), "{replies:?}");
            prop_assert!(server.clients[0].arrived.len() <= 2 * LINE_MAX);
        }
    }

    /// What a rank may say: pieces of the language, and of none.
    pub(crate) fn words() -> impl Strategy<Value = Vec<u8>> {
        let known = [
            "cmd=init pmi_version=1",
            "cmd=put",
            "cmd=get",
            "cmd=barrier_in",
            "cmd=finalize",
            "cmd=abort",
            "cmd=get_maxes",
            "mcmd=spawn",
            "totspawns=2",
            "endcmd",
            " key=",
            " value=",
            " exitcode=-99999999999",
            "x",
            "=",
            "\n",
            "\n",
            "\n",
            "\r\n",
            "PMI_process_mapping",
        ];
        let known = prop::sample::select(known.map(|word| word.as_bytes().to_vec()).to_vec());
        prop_oneof![8 => known, 1 => vec(any::<u8>(), 0..40), 1 => (0..3 * LINE_MAX).prop_map(|len| vec![b'y'; len])]
    }

    #[test]
    fn hosts_exchange_what_was_left() {
        let mut servers = [0, 1].map(|_| PmiServer::new(&[0, 1]).unwrap());
        let ends = servers.each_mut().map(|server| server.add(0).unwrap());
        std::thread::scope(|scope| {
            for (index, end) in ends.into_iter().enumerate() {
                scope.spawn(move || {
                    let mut pmi = Pmi::new(end).unwrap();
                    pmi.put(&format!("key-{index}"), "x").unwrap();
                    pmi.meet().unwrap();
                    assert_eq!(pmi.get(&format!("key-{}", 1 - index)).unwrap().as_deref(), Some("x"));
                });
            }
            let mut left = [None, None];
            while left.iter().any(Option::is_none) {
                for (server, left) in servers.iter_mut().zip(&mut left) {
                    *left = left.take().or(server.serve());
                }
            }
            let all: Vec<Entry> = left.into_iter().flatten().flatten().collect();
            for server in &mut servers {
                server.release(all.clone());
            }
            while servers.iter().any(|server| server.clients.iter().any(|client| client.socket.is_some())) {
                servers.iter_mut().for_each(|server| assert!(server.serve().is_none()));
            }
        });
    }
}
