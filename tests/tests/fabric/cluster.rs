//! The conformance suite over two nodes of up to two peers or more: shared memory within a node, TCP between them. The
//! peers are threads; a node is a job of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use rwmpi_tests::conformance::{Case, cases};
use rwmpi_transport::{ClusterFabric, JobSecret, NodeFabric, TcpEndpoint, TcpFabric};

/// Far beyond what any case takes on a busy machine.
const WATCHDOG: Duration = Duration::from_secs(60);
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Who is on which of two nodes.
#[derive(Clone, Copy)]
enum Placement {
    /// Peers 0 and 1 are on different nodes, 0 and 2 on the same.
    RoundRobin,
    /// Peers 0 and 1 are on one node, 2 and 3 on the other.
    Blocks,
}

impl Placement {
    /// The node of each peer.
    fn node_numbers(self, peers: usize) -> Vec<usize> {
        let node_of = |peer: usize| match self {
            Placement::RoundRobin => peer % 2,
            Placement::Blocks => peer / 2 % 2,
        };
        (0..peers).map(node_of).collect()
    }

    /// The peers of either node.
    fn nodes(self, peers: usize) -> Vec<Vec<usize>> {
        let node_of = self.node_numbers(peers);
        let on = |node| (0..peers).filter(|&peer| node_of[peer] == node).collect::<Vec<_>>();
        [on(0), on(1)].into_iter().filter(|peers| !peers.is_empty()).collect()
    }
}

/// A test for each case and placement.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (kind, placement) in [("cluster_round_robin", Placement::RoundRobin), ("cluster_blocks", Placement::Blocks)] {
        for case in cases::<ClusterFabric>() {
            trials.push(Trial::test(format!("{kind}/{}", case.name), move || run(&case, placement)));
        }
    }
    trials
}

fn fabrics(peers: usize, placement: Placement) -> Result<Vec<ClusterFabric>, Failed> {
    let endpoints: Vec<TcpEndpoint> = (0..peers).map(|_| TcpFabric::bind(LOOPBACK)).collect::<Result<_, _>>()?;
    let addresses: Vec<_> = endpoints.iter().map(|endpoint| vec![endpoint.address()]).collect();
    let secret = JobSecret::random()?;
    let mut endpoints: Vec<_> = endpoints.into_iter().map(Some).collect();
    let mut fabrics = Vec::new();
    for in_job in placement.nodes(peers) {
        for (node, &me) in NodeFabric::threads(in_job.len())?.into_iter().zip(&in_job) {
            let endpoint = endpoints[me].take().expect("each peer is on one node");
            let network = endpoint.connect(me, addresses.clone(), secret.clone())?;
            fabrics.push(ClusterFabric::new(node, network, in_job.clone(), placement.node_numbers(peers)));
        }
    }
    Ok(fabrics)
}

/// Runs a case; fails as soon as one peer does, and leaves the rest of its threads behind.
fn run(case: &Case<ClusterFabric>, placement: Placement) -> Result<(), Failed> {
    let (report, reports) = channel();
    for mut fabric in fabrics(case.peers, placement)? {
        let (report, run) = (report.clone(), case.run);
        thread::spawn(move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                run(&mut fabric);
                fabric.finish();
            }));
            let _ = report.send(outcome.is_ok());
        });
    }
    for _ in 0..case.peers {
        match reports.recv_timeout(WATCHDOG) {
            Ok(true) => {}
            Ok(false) => return Err("a peer panicked".into()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err("the peers did not come to an end".into());
            }
        }
    }
    Ok(())
}
