//! Groups: which peer has which rank.

use std::rc::Rc;

use rustc_hash::FxHashMap;

/// An ordered set of peers; a peer's place in it is its rank (MPI-5.0 section 7.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    peers: Rc<[u32]>,
    /// Rank by peer; `None` where every peer's rank is its own number.
    ranks: Option<Rc<FxHashMap<u32, u32>>>,
    rank: usize,
}

impl Group {
    /// The group of these peers, `me` among them.
    pub(crate) fn new(peers: Vec<u32>, me: u32) -> Self {
        let identity = peers.iter().enumerate().all(|(rank, &peer)| rank as u32 == peer);
        let ranks =
            (!identity).then(|| Rc::new(peers.iter().enumerate().map(|(rank, &peer)| (peer, rank as u32)).collect()));
        let rank = peers.iter().position(|&peer| peer == me).expect("a process makes only groups it belongs to");
        Group { peers: peers.into(), ranks, rank }
    }

    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    /// The caller's rank.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn peers(&self) -> &Rc<[u32]> {
        &self.peers
    }

    /// The peer with that rank.
    #[inline]
    pub(crate) fn peer(&self, rank: usize) -> Option<u32> {
        self.peers.get(rank).copied()
    }

    /// The rank of a peer of this group.
    #[inline]
    pub(crate) fn rank_of(&self, peer: u32) -> usize {
        match &self.ranks {
            None => peer as usize,
            Some(ranks) => ranks.get(&peer).map_or(usize::MAX, |&rank| rank as usize),
        }
    }
}
