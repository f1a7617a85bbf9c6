//! Groups: which peer has which rank, and the set algebra on them (MPI-5.0 section 7.3).
//!
//! A group is a value: nothing here communicates, and a group need not contain the caller. Members are numbers of peers
//! in the job, so groups of one job can be compared whatever communicator they came from. Those of communicators with
//! ranks of another job have numbers of their own, and know which of them are which in the job (`group/numbers`).

mod numbers;

use std::rc::Rc;

use crate::Result;
use crate::error::{Error, ErrorClass};
use rwmpi_rank::Numbers;

/// How two groups or two communicators relate (MPI-5.0 sections 7.3.1 and 7.4.1).
#[doc = example!(2
    "use rwmpi::Comparison;"
    "assert_eq!(world.compare(world), Comparison::Identical);"
    "assert_eq!(world.compare(&world.dup()?), Comparison::Congruent);"
    "assert_eq!(world.group().incl(&[1, 0])?.compare(world.group()), Comparison::Similar);"
    "assert_eq!(world.group().incl(&[1])?.compare(world.group()), Comparison::Unequal);"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Groups: the same members in the same order. Communicators: the same one.
    Identical,
    /// Communicators: identical groups, different contexts.
    Congruent,
    /// The same members in another order.
    Similar,
    /// Anything else.
    Unequal,
}

/// Every `stride`-th rank from `first` up (or down) to `last`, both included (MPI-5.0 section 7.3.2).
#[doc = example!(4
    "let every_other = rwmpi::RankRange { first: 0, last: 3, stride: 2 };"
    "assert_eq!(world.group().range_incl(&[every_other])?.size(), 2);"
    "assert_eq!(world.group().range_excl(&[every_other])?.translate(0, world.group())?, Some(1));"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRange {
    /// The first rank.
    pub first: i64,
    /// The rank not to go beyond.
    pub last: i64,
    /// The step; negative counts down.
    pub stride: i64,
}

/// An ordered set of processes; a process's place in it is its rank (MPI-5.0 section 7.3). Cheap to clone.
///
#[doc = example!(4
    "use rwmpi::{Comparison, Group, RankRange};"
    ""
    "let all = world.group();"
    "let (front, back) = (all.incl(&[0, 1])?, all.incl(&[3, 2])?);"
    "assert_eq!((front.size(), front.rank()), (2, (rank < 2).then_some(rank)));"
    "assert_eq!(back.translate_ranks(&[0, 1], &all)?, [Some(3), Some(2)]);"
    "assert_eq!(back.translate(0, &front)?, None);"
    "assert_eq!(front.union(&back).compare(&all), Comparison::Similar);"
    "assert_eq!(all.intersection(&front), front);"
    "assert_eq!(all.difference(&front), all.excl(&[0, 1])?);"
    "assert_eq!(front.intersection(&back), Group::empty());"
    "let even = [RankRange { first: 0, last: 3, stride: 2 }];"
    "assert_eq!(all.range_incl(&even)?.union(&all.range_excl(&even)?).compare(all), Comparison::Similar);"
    "// Those who belong to a group can have a communicator."
    "assert_eq!(world.create(&front)?.is_some(), rank < 2);"
)]
#[derive(Clone, Debug)]
pub struct Group {
    peers: Rc<[u32]>,
    /// Peers with their ranks, in the order of the peers; `None` where every peer's rank is its own number. One block
    /// of memory, to whose start the group points: tools that look for lost memory take a pointer into the middle for
    /// an accident.
    ranks: Option<Rc<[(u32, u32)]>>,
    rank: Option<usize>,
    /// The session that it comes from, by the number that the front end gives it; 0: from none.
    session: u32,
    /// Whose numbers these are, if not the job's.
    numbers: Option<Numbers>,
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        if self.has_numbers_of(other) { self.peers == other.peers } else { self.has_members_of(other) }
    }
}

impl Eq for Group {}

impl Group {
    /// The group of these peers, all different; `me` is the caller, if it may be among them.
    pub(crate) fn new(peers: Vec<u32>, me: Option<u32>) -> Self {
        let identity = peers.iter().enumerate().all(|(rank, &peer)| rank as u32 == peer);
        let ranks = (!identity).then(|| {
            let mut ranks: Vec<(u32, u32)> = peers.iter().copied().zip(0..).collect();
            ranks.sort_unstable();
            ranks.into()
        });
        let rank = me.and_then(|me| peers.iter().position(|&peer| peer == me));
        Group { peers: peers.into(), ranks, rank, numbers: None, session: 0 }
    }

    /// The same group, coming from that session; 0: from none. So do groups and communicators that are made of it.
    #[doc(hidden)]
    #[must_use]
    pub fn of_session(self, session: u32) -> Self {
        Group { session, ..self }
    }

    /// Whether the two are clones of one group.
    pub(crate) fn is_clone_of(&self, other: &Group) -> bool {
        Rc::ptr_eq(&self.peers, &other.peers) && self.has_numbers_of(other)
    }

    /// The session that it comes from; 0: from none.
    #[doc(hidden)]
    pub fn session(&self) -> u32 {
        self.session
    }

    /// An equal one that shares nothing with this one, for another lane of the rank.
    pub(crate) fn detached(&self) -> Self {
        Group {
            numbers: self.numbers.clone(),
            session: self.session,
            ..Group::new(self.peers.to_vec(), self.rank.map(|rank| self.peers[rank]))
        }
    }

    /// The group without members (MPI_GROUP_EMPTY).
    #[doc(alias = "MPI_GROUP_EMPTY")]
    pub fn empty() -> Self {
        Group::new(Vec::new(), None)
    }

    /// How many members it has (MPI_Group_size).
    #[doc(alias = "MPI_Group_size")]
    pub fn size(&self) -> usize {
        self.peers.len()
    }

    /// The caller's rank; `None` if it does not belong to the group (MPI_Group_rank).
    #[doc(alias = "MPI_Group_rank")]
    pub fn rank(&self) -> Option<usize> {
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

    /// The rank of a peer that is known to belong to this group.
    #[inline]
    pub(crate) fn rank_of(&self, peer: u32) -> usize {
        match &self.ranks {
            None => peer as usize,
            Some(ranks) => match ranks.binary_search_by_key(&peer, |&(peer, _)| peer) {
                Ok(place) => ranks[place].1 as usize,
                Err(_) => usize::MAX,
            },
        }
    }

    /// The rank of a peer, if it belongs to this group.
    pub(crate) fn find(&self, peer: u32) -> Option<usize> {
        let rank = self.rank_of(peer);
        (rank < self.size()).then_some(rank)
    }

    /// Whether all members of `other` belong to this group.
    pub(crate) fn contains(&self, other: &Group) -> bool {
        other.peers.iter().all(|&peer| self.find_of(peer, other).is_some())
    }

    /// The caller's number in the job, as far as this group tells.
    fn me(&self) -> Option<u32> {
        self.rank.map(|rank| self.peers[rank])
    }

    /// A group of some of the members of this one and `other`.
    fn derived(&self, other: &Group, peers: Vec<u32>) -> Group {
        let numbers = if self.size() == 0 { other.numbers.clone() } else { self.numbers.clone() };
        let session = if self.session == 0 { other.session } else { self.session };
        let me = self.me().or_else(|| self.number_of(other.me()?, other));
        Group { numbers, session, ..Group::new(peers, me) }
    }

    /// The rank in `other` of the process that has `rank` here; `None` if it does not belong to `other`
    /// (MPI_Group_translate_ranks).
    ///
    /// # Errors
    /// If nobody here has that rank.
    #[doc(alias = "MPI_Group_translate_ranks")]
    pub fn translate(&self, rank: usize, other: &Group) -> Result<Option<usize>> {
        let peer = self.peer(rank).ok_or_else(|| self.no_such_rank(rank))?;
        Ok(other.find_of(peer, self))
    }

    /// As [`Group::translate`], for many.
    ///
    /// # Errors
    /// If nobody here has one of these ranks.
    pub fn translate_ranks(&self, ranks: &[usize], other: &Group) -> Result<Vec<Option<usize>>> {
        ranks.iter().map(|&rank| self.translate(rank, other)).collect()
    }

    /// How the two relate; never [`Comparison::Congruent`] (MPI_Group_compare).
    #[doc(alias = "MPI_Group_compare")]
    pub fn compare(&self, other: &Group) -> Comparison {
        if self == other {
            Comparison::Identical
        } else if self.size() == other.size() && self.contains(other) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// All members of this group, then those of `other` that are not in it (MPI_Group_union). Of groups with ranks of
    /// different jobs, as far as ranks of one of them are known to the other.
    #[doc(alias = "MPI_Group_union")]
    pub fn union(&self, other: &Group) -> Group {
        let others = other.peers.iter().filter_map(|&peer| self.number_of(peer, other));
        let others = others.filter(|&peer| self.find(peer).is_none());
        self.derived(other, self.peers.iter().copied().chain(others).collect())
    }

    /// The members of this group that are in `other` too, in this group's order (MPI_Group_intersection).
    #[doc(alias = "MPI_Group_intersection")]
    pub fn intersection(&self, other: &Group) -> Group {
        self.derived(other, self.peers.iter().copied().filter(|&peer| other.find_of(peer, self).is_some()).collect())
    }

    /// The members of this group that are not in `other`, in this group's order (MPI_Group_difference).
    #[doc(alias = "MPI_Group_difference")]
    pub fn difference(&self, other: &Group) -> Group {
        self.derived(other, self.peers.iter().copied().filter(|&peer| other.find_of(peer, self).is_none()).collect())
    }

    /// The members with these ranks, in the order given (MPI_Group_incl).
    ///
    /// # Errors
    /// If a rank is out of range or named twice.
    #[doc(alias = "MPI_Group_incl")]
    pub fn incl(&self, ranks: &[usize]) -> Result<Group> {
        self.check_distinct(ranks)?;
        Ok(self.derived(self, ranks.iter().map(|&rank| self.peers[rank]).collect()))
    }

    /// The members without these ranks, in this group's order (MPI_Group_excl).
    ///
    /// # Errors
    /// If a rank is out of range or named twice.
    #[doc(alias = "MPI_Group_excl")]
    pub fn excl(&self, ranks: &[usize]) -> Result<Group> {
        let left_out = self.check_distinct(ranks)?;
        let kept = (0..self.size()).filter(|&rank| !left_out[rank]).map(|rank| self.peers[rank]);
        Ok(self.derived(self, kept.collect()))
    }

    /// As [`Group::incl`], the ranks given as ranges (MPI_Group_range_incl).
    ///
    /// # Errors
    /// If a rank is out of range or named twice, or a range leads nowhere.
    #[doc(alias = "MPI_Group_range_incl")]
    pub fn range_incl(&self, ranges: &[RankRange]) -> Result<Group> {
        self.incl(&self.expand(ranges)?)
    }

    /// As [`Group::excl`], the ranks given as ranges (MPI_Group_range_excl).
    ///
    /// # Errors
    /// If a rank is out of range or named twice, or a range leads nowhere.
    #[doc(alias = "MPI_Group_range_excl")]
    pub fn range_excl(&self, ranges: &[RankRange]) -> Result<Group> {
        self.excl(&self.expand(ranges)?)
    }

    fn expand(&self, ranges: &[RankRange]) -> Result<Vec<usize>> {
        let mut ranks = Vec::new();
        for &RankRange { first, last, stride } in ranges {
            for rank in [first, last] {
                if usize::try_from(rank).map_or(true, |rank| rank >= self.size()) {
                    return Err(self.no_such_rank(rank));
                }
            }
            if stride == 0 || (last - first).signum() * stride.signum() < 0 {
                let what = format!("the range from rank {first} to {last} in steps of {stride} does not lead there");
                return Err(Error::new(ErrorClass::Argument, what));
            }
            // Both ends are ranks, so an unwieldy stride never leads beyond the first.
            let steps = (last - first) / stride;
            ranks.extend((0..=steps).map(|step| (first + step * stride) as usize));
        }
        Ok(ranks)
    }

    /// Of each member, whether it is among `ranks`.
    fn check_distinct(&self, ranks: &[usize]) -> Result<Vec<bool>> {
        let mut named = vec![false; self.size()];
        for &rank in ranks {
            let Some(is_named) = named.get_mut(rank) else { return Err(self.no_such_rank(rank)) };
            if std::mem::replace(is_named, true) {
                return Err(Error::new(ErrorClass::Rank, format!("rank {rank} is named twice")));
            }
        }
        Ok(named)
    }

    #[cold]
    fn no_such_rank(&self, rank: impl std::fmt::Display) -> Error {
        let what = format!("rank {rank} is out of range; the group has {} members, counted from 0", self.size());
        Error::new(ErrorClass::Rank, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As peer 2 sees it.
    fn group(peers: &[u32]) -> Group {
        Group::new(peers.to_vec(), Some(2))
    }

    fn range(first: i64, last: i64, stride: i64) -> RankRange {
        RankRange { first, last, stride }
    }

    #[test]
    fn set_operations_keep_the_first_groups_order() {
        let (a, b) = (group(&[4, 2, 0]), group(&[0, 1, 2, 5]));
        assert_eq!(a.union(&b), group(&[4, 2, 0, 1, 5]));
        assert_eq!(b.union(&a), group(&[0, 1, 2, 5, 4]));
        assert_eq!(a.intersection(&b), group(&[2, 0]));
        assert_eq!(b.intersection(&a), group(&[0, 2]));
        assert_eq!(a.difference(&b), group(&[4]));
        assert_eq!(a.difference(&a), Group::empty());
        assert_eq!(Group::empty().union(&a).rank(), Some(1));
        assert_eq!(a.intersection(&b).rank(), Some(0));
        assert_eq!(a.difference(&b).rank(), None);
    }

    #[test]
    fn what_is_made_of_a_group_comes_from_its_session() {
        let (a, b) = (group(&[4, 2, 0]).of_session(7), group(&[0, 1, 2, 5]));
        assert_eq!((group(&[1]).session(), a.incl(&[1]).unwrap().session()), (0, 7));
        assert_eq!((a.union(&b).session(), b.union(&a).session(), a.detached().session()), (7, 7, 7));
    }

    #[test]
    fn groups_without_the_caller_work() {
        let others = Group::new(vec![7, 3], Some(2));
        assert_eq!((others.rank(), others.size()), (None, 2));
        assert_eq!(others.union(&group(&[2])).rank(), Some(2));
        assert_eq!(Group::empty().rank(), None);
    }

    #[test]
    fn comparison_tells_order_from_membership() {
        let a = group(&[0, 1, 2]);
        assert_eq!(a.compare(&group(&[0, 1, 2])), Comparison::Identical);
        assert_eq!(a.compare(&group(&[2, 1, 0])), Comparison::Similar);
        assert_eq!(a.compare(&group(&[0, 1, 3])), Comparison::Unequal);
        assert_eq!(a.compare(&group(&[0, 1])), Comparison::Unequal);
        assert_eq!(group(&[0, 1]).compare(&a), Comparison::Unequal);
        assert_eq!(Group::empty().compare(&Group::empty()), Comparison::Identical);
    }

    #[test]
    fn ranks_translate_both_ways() {
        let (a, b) = (group(&[0, 1, 2, 3]), group(&[3, 9, 1]));
        assert_eq!(a.translate_ranks(&[3, 0, 1], &b).unwrap(), [Some(0), None, Some(2)]);
        assert_eq!(b.translate_ranks(&[0, 1, 2], &a).unwrap(), [Some(3), None, Some(1)]);
        assert_eq!(a.translate(4, &b).unwrap_err().class(), ErrorClass::Rank);
    }

    #[test]
    fn lists_of_ranks_select_members() {
        let a = group(&[5, 6, 7, 2]);
        assert_eq!(a.incl(&[3, 0]).unwrap(), group(&[2, 5]));
        assert_eq!(a.incl(&[]).unwrap(), Group::empty());
        assert_eq!(a.excl(&[1, 2]).unwrap(), group(&[5, 2]));
        assert_eq!(a.excl(&[]).unwrap(), a);
        for wrong in [&[4][..], &[1, 1]] {
            assert_eq!(a.incl(wrong).unwrap_err().class(), ErrorClass::Rank);
            assert_eq!(a.excl(wrong).unwrap_err().class(), ErrorClass::Rank);
        }
    }

    #[test]
    fn ranges_count_up_and_down() {
        let a = group(&[10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(a.range_incl(&[range(1, 6, 2), range(4, 0, -4)]).unwrap(), group(&[11, 13, 15, 14, 10]));
        assert_eq!(a.range_incl(&[range(3, 3, i64::MIN)]).unwrap(), group(&[13]));
        assert_eq!(a.range_excl(&[range(0, 5, 1)]).unwrap(), group(&[16]));
        let class = |ranges: &[RankRange]| a.range_incl(ranges).unwrap_err().class();
        assert_eq!(class(&[range(0, 6, 0)]), ErrorClass::Argument);
        assert_eq!(class(&[range(6, 0, 1)]), ErrorClass::Argument);
        assert_eq!(class(&[range(0, 7, 1)]), ErrorClass::Rank);
        assert_eq!(class(&[range(-1, 3, 1)]), ErrorClass::Rank);
        assert_eq!(class(&[range(0, 3, 1), range(3, 3, 1)]), ErrorClass::Rank);
    }
}
