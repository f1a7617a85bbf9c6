//! How a process takes its place in its job: which fabric it gets, and who is told of its end.
//!
//! The launcher says who is where; what it does not say, the processes tell each other by way of the launcher, before
//! any of them can reach another: where each listens, and the job's secret, which the first one draws.
//!
//! Under a launcher that is not ours, nobody has made the file that the processes of a node share. Then the first of
//! them does, and tells the others by which process and descriptor they find it; it has no name, so nothing stays
//! behind here either.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::fs::OFlags;

use crate::board::{Board, Introduced};
use crate::descriptor::{HandedDown, JOB_FD, handed_down};
use crate::environment::{self, CONNECTION_FD, LISTEN, NODES, RANK, SIZE, THREADS, TRANSPORT};
use crate::job::{Job, JobEnder, JobShape};
use crate::job_error::JobError;
use crate::joint::Parents;
use crate::pmi::Pmi;
use crate::records::Records;
use crate::starter::Starter;
use crate::{ActivityRecord, ClusterFabric, Fabric, JobSecret, NodeFabric, TcpFabric, settings};

const SECRET_KEY: &str = "rwmpi-secret";
/// Addresses that one process collects: as many as fit into a value, the longest being of IPv6.
const COLLECTED: usize = 16;

/// The fabric of a job, as far as it concerns one process, which has one.
#[allow(clippy::large_enum_variant)]
pub enum JobFabric {
    /// All processes are on this node.
    Node(NodeFabric),
    /// They are not, or are to do as if.
    Cluster(Box<ClusterFabric>),
}

impl JobFabric {
    /// Where this process says what it is doing.
    pub fn activity(&self) -> ActivityRecord {
        match self {
            JobFabric::Node(fabric) => fabric.activity(),
            JobFabric::Cluster(fabric) => fabric.node().activity(),
        }
    }

    /// How this process ends the job at any time.
    pub fn ender(&self) -> JobEnder {
        match self {
            JobFabric::Node(fabric) => fabric.ender(),
            JobFabric::Cluster(fabric) => fabric.node().ender(),
        }
    }

    /// How many processes the job has.
    pub fn peers(&self) -> usize {
        match self {
            JobFabric::Node(fabric) => fabric.peers(),
            JobFabric::Cluster(fabric) => fabric.peers(),
        }
    }
}

/// Says which settings nobody understands.
fn point_out_settings() {
    for remark in settings::remarks(std::env::vars_os()) {
        // There is nowhere to complain if that fails.
        let _ = writeln!(io::stderr(), "rwmpi: warning: {remark}");
    }
}

/// A process's place in its job.
pub struct Membership {
    /// The way to the others.
    pub fabric: JobFabric,
    /// Further ways, those of the job's lanes after the first, if it has any. A job that needs the network has none.
    pub lanes: Vec<NodeFabric>,
    /// Who is to be told of the end.
    pub starter: Starter,
    /// Who has had the job started, if it was somebody of another one.
    pub parents: Option<Parents>,
    /// Where this process is to take notes, if whoever has started it wants any.
    pub records: Option<Records>,
}

impl Membership {
    /// Joins the job that the environment describes, be it our launcher's or another's that speaks PMI-1 or PMIx; a
    /// process that nobody has started is a job of its own. Works once in a process. Returns when all processes of the
    /// node have joined.
    ///
    /// # Errors
    /// Says what is wrong with the environment, the launcher or the job.
    pub fn from_environment() -> Result<Membership, JobError> {
        if environment::is_set(JOB_FD) {
            return Self::of_our_launcher()?.map_or_else(Self::alone, Ok);
        }
        match Board::of_environment()? {
            Some(introduced) => {
                if introduced.me == 0 {
                    point_out_settings();
                }
                Self::of_another_launcher(introduced)
            }
            None => Self::alone(),
        }
    }

    fn alone() -> Result<Membership, JobError> {
        point_out_settings();
        let alone = NodeFabric::threads_with_lanes(1, environment::lanes()?)?.pop().expect("a job of one");
        Ok(Self::on_node(alone, Starter::of_singleton()))
    }

    /// All processes are on this node, which this one has joined in all of these lanes.
    fn on_node(mut lanes: Vec<NodeFabric>, starter: Starter) -> Membership {
        let first = lanes.remove(0);
        Membership { fabric: JobFabric::Node(first), lanes, starter, parents: None, records: None }
    }

    /// `None`: it was a process of the job that has started this one.
    fn of_our_launcher() -> Result<Option<Membership>, JobError> {
        let (me, size) = (environment::required(RANK)?, environment::required(SIZE)?);
        let node = environment::inherited_job()?;
        let nodes = match environment::text_of(NODES)? {
            Some(list) => parse_nodes(&list, size)?,
            None => vec![0; size],
        };
        // The file is for those of this node, or, where nodes are only made believe, for all.
        let here: Vec<usize> = match node.peers() {
            peers if peers == size => (0..size).collect(),
            _ => (0..size).filter(|&peer| nodes.get(me) == nodes.get(peer)).collect(),
        };
        let number = here.iter().position(|&peer| peer == me);
        let (Some(number), true) = (number, here.len() == node.peers()) else {
            let what = format!("says process {me} of {size}, but the job's file is for {}", node.peers());
            return Err(JobError::Environment { name: SIZE, what });
        };
        if node.is_of_descendants(number)? {
            return Ok(None);
        }
        if let Some(threads) = environment::several_threads()? {
            return Err(JobError::NotForThreads(threads));
        }
        environment::tie_to_launcher()?;
        let place = Place { me, nodes, here };
        // Ours learns of the end from the file.
        let starter = Starter::ours();
        let (parents, records) = (Parents::from_environment(size)?, Records::of_job(me)?);
        if !place.needs_network()? {
            let member = Self::on_node(NodeFabric::attach_lanes(&node, number)?, starter);
            return Ok(Some(Membership { parents, records, ..member }));
        }
        let what = "is missing".to_owned();
        let connection = environment::take(CONNECTION_FD, OFlags::RDWR)?
            .ok_or(JobError::Environment { name: CONNECTION_FD, what })?;
        let mut board = Board::Pmi(Pmi::new(connection)?);
        let fabric = place.join(&mut board, || NodeFabric::attach(&node, number))?;
        Ok(Some(Membership { fabric, lanes: Vec::new(), starter, parents, records }))
    }

    fn of_another_launcher(introduced: Introduced) -> Result<Membership, JobError> {
        let Introduced { mut board, me, nodes } = introduced;
        let parents = Parents::left_with(&mut board)?;
        let here: Vec<usize> = (0..nodes.len()).filter(|&peer| nodes[peer] == nodes[me]).collect();
        let key = format!("rwmpi-node-{}", nodes[me]);
        let number = here.iter().position(|&peer| peer == me).expect("on its own node");
        let place = Place { me, nodes, here };
        let needs_network = place.needs_network()?;
        let mut made = None;
        if number == 0 {
            let lanes = environment::lanes()?;
            let lanes = if needs_network { 1 } else { lanes };
            let job = Job::create_shaped(&JobShape { lanes, ..JobShape::of(place.here.len()) }, None)?;
            let said = handed_down(job.as_fd()).map_err(|source| JobError::Create { what: "describe", source })?;
            board.put(&key, &said)?;
            made = Some(job);
        }
        board.meet()?;
        let node = match made {
            Some(job) => job,
            None => Job::open(file_of_first(&mut board, place.here[0], &key)?)?,
        };
        if needs_network {
            let fabric = place.join(&mut board, || NodeFabric::attach(&node, number))?;
            return Ok(Membership {
                fabric,
                lanes: Vec::new(),
                starter: Starter::of_others(board),
                parents,
                records: None,
            });
        }
        let starter = Starter::of_others(board);
        let membership = Self::on_node(NodeFabric::attach_lanes(&node, number)?, starter);
        Ok(Membership { parents, ..membership })
    }
}

/// The places of a process that is several members of its job, a thread each.
pub struct SharedPlace {
    job: Job,
    first: usize,
    threads: usize,
}

impl SharedPlace {
    /// What our launcher says; `None`: this process is one member, or was started by some. Works once in a process.
    ///
    /// # Errors
    /// Says what is wrong with the environment or the job.
    pub fn from_environment() -> Result<Option<SharedPlace>, JobError> {
        if !environment::is_set(JOB_FD) {
            return Ok(None);
        }
        let Some(threads) = environment::several_threads()? else { return Ok(None) };
        if only_network()? || environment::text_of(NODES)?.is_some() {
            let what = "members of a job that are threads need memory in common with all others".to_owned();
            return Err(JobError::Environment { name: THREADS, what });
        }
        let (first, job) = (environment::required(RANK)?, environment::whole_job()?);
        if threads == 0 || first.checked_add(threads).is_none_or(|end| end > job.peers()) {
            let what = format!("says {threads} from number {first} on, but the job has {}", job.peers());
            return Err(JobError::Environment { name: THREADS, what });
        }
        if job.is_of_descendants(first)? {
            return Ok(None);
        }
        environment::tie_to_launcher()?;
        Ok(Some(SharedPlace { job, first, threads }))
    }

    /// The numbers of the members that this process is.
    pub fn members(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.threads
    }

    /// How many members the job has.
    pub fn peers(&self) -> usize {
        self.job.peers()
    }

    /// Takes the place of that member, for the present thread. Returns when all members of the job have taken theirs.
    ///
    /// # Errors
    /// As [`NodeFabric::attach`].
    pub fn attach(&self, member: usize) -> Result<Membership, JobError> {
        let starter = Starter::ours();
        let records = Records::of_job(member)?;
        let membership = Membership::on_node(NodeFabric::attach_lanes(&self.job, member)?, starter);
        Ok(Membership { records, ..membership })
    }
}

/// Who is where.
struct Place {
    me: usize,
    /// The node of each process.
    nodes: Vec<usize>,
    /// The processes that the node's file is for.
    here: Vec<usize>,
}

impl Place {
    fn needs_network(&self) -> Result<bool, JobError> {
        let is_one_node = self.nodes.iter().all(|&node| node == self.nodes[0]);
        Ok(!is_one_node || (only_network()? && self.nodes.len() > 1))
    }

    fn join(
        self,
        board: &mut Board,
        attach: impl FnOnce() -> Result<NodeFabric, JobError>,
    ) -> Result<JobFabric, JobError> {
        let Place { me, mut nodes, here } = self;
        let endpoint = TcpFabric::bind(self::interface(here.len() == nodes.len())?)?;
        if me == 0 {
            let secret = JobSecret::random().map_err(JobError::Secret)?;
            board.put(SECRET_KEY, &hexadecimal(&secret.to_bytes()))?;
        }
        let node = attach()?;
        let addresses = exchange_addresses(board, me, nodes.len(), endpoint.address())?;
        let secret = board.get(0, SECRET_KEY)?.and_then(|digits| bytes_of(&digits));
        let secret = secret.map(JobSecret::from_bytes).ok_or(JobError::Silent { peer: 0 })?;
        let addresses = addresses.into_iter().map(|address| vec![address]).collect();
        let mut network = endpoint.connect(me, addresses, secret)?;
        network.publish_turned_away(node.turned_away_record());
        if only_network()? {
            nodes = (0..nodes.len()).collect();
        }
        Ok(JobFabric::Cluster(Box::new(ClusterFabric::new(node, network, here, nodes))))
    }
}

/// Has all processes know where each listens. In two steps, so that nobody has to ask for each of the others: first
/// every so many processes one collects what they have said.
fn exchange_addresses(
    board: &mut Board,
    me: usize,
    peers: usize,
    mine: SocketAddr,
) -> Result<Vec<SocketAddr>, JobError> {
    let key = |peer: usize| format!("rwmpi-address-{peer}");
    let collected = |first: usize| format!("rwmpi-addresses-{first}");
    board.put(&key(me), &mine.to_string())?;
    board.meet()?;
    if me.is_multiple_of(COLLECTED) {
        let mut said = Vec::new();
        for peer in me..peers.min(me + COLLECTED) {
            said.push(board.get(peer, &key(peer))?.ok_or(JobError::Silent { peer })?);
        }
        board.put(&collected(me), &said.join(","))?;
    }
    board.meet()?;
    let mut addresses = Vec::with_capacity(peers);
    for first in (0..peers).step_by(COLLECTED) {
        let said = board.get(first, &collected(first))?.ok_or(JobError::Silent { peer: first })?;
        for text in said.split(',') {
            addresses.push(text.parse().map_err(|_| JobError::Silent { peer: addresses.len() })?);
        }
    }
    if addresses.len() == peers { Ok(addresses) } else { Err(JobError::Silent { peer: addresses.len() }) }
}

/// Whether shared memory is not to be used.
pub(crate) fn only_network() -> Result<bool, JobError> {
    match environment::text_of(TRANSPORT)?.as_deref() {
        None | Some("auto") => Ok(false),
        Some("tcp") => Ok(true),
        Some(other) => Err(JobError::Environment {
            name: TRANSPORT,
            what: format!("there is no transport {other:?}: auto or tcp"),
        }),
    }
}

/// Where to listen: where the launcher says; else, if all processes are on this machine, where nobody else can come.
pub(crate) fn interface(all_here: bool) -> Result<IpAddr, JobError> {
    match environment::text_of(LISTEN)? {
        Some(text) => {
            let what = format!("{text:?} is not an address");
            text.parse().map_err(|_| JobError::Environment { name: LISTEN, what })
        }
        None if all_here => Ok(Ipv4Addr::LOCALHOST.into()),
        None => Ok(crate::interface::first_to_others().unwrap_or(Ipv4Addr::LOCALHOST.into())),
    }
}

fn parse_nodes(list: &str, size: usize) -> Result<Vec<usize>, JobError> {
    let nodes: Option<Vec<usize>> = list.split(',').map(|node| node.parse().ok()).collect();
    let what = format!("{list:?} does not name the nodes of {size} processes");
    nodes.filter(|nodes| nodes.len() == size).ok_or(JobError::Environment { name: NODES, what })
}

/// The file that the first process of this node has made.
fn file_of_first(board: &mut Board, first: usize, key: &str) -> Result<OwnedFd, JobError> {
    let said = board.get(first, key)?.and_then(|said| HandedDown::parse(&said));
    let said = said.ok_or(JobError::NotAJob("the first process of this node has made none"))?;
    said.take(OFlags::RDWR).map_err(|source| JobError::Create { what: "open that of another process", source })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(digits: &str) -> Option<[u8; 16]> {
    let number = u128::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 32)?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_survive_being_written_down() {
        let secret: [u8; 16] = std::array::from_fn(|index| index as u8 * 13);
        assert_eq!(bytes_of(&hexadecimal(&secret)), Some(secret));
        assert_eq!(bytes_of("12"), None);
        assert_eq!(bytes_of(&"x".repeat(32)), None);
    }

    #[test]
    fn nodes_are_one_for_each_process() {
        assert_eq!(parse_nodes("0,0,1", 3).unwrap(), [0, 0, 1]);
        assert!(parse_nodes("0,0,1", 4).is_err());
        assert!(parse_nodes("0,a", 2).is_err());
    }
}
