//! Which hardware threads each rank gets: pure computation, from a machine and what is asked of it.
//!
//! Ranks are first dealt out to the parts of a machine that mapping names (all of it, its packages, ...). Within such a
//! part, those that have come there get their share of what binding names, one after the other, from the start again
//! when it runs out.

use super::topology::{Level, Machine};
use super::wish::{Mapping, Order};
use crate::hosts::across;

/// How much each rank gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// So many parts of the level of binding, for each rank.
    Parts(Vec<usize>),
    /// What is there, divided among the ranks of a part of the mapping.
    Divided,
}

/// The hardware threads of each of `ranks` ranks.
pub(super) fn lay_out(
    machine: &Machine,
    ranks: usize,
    mapping: &Mapping,
    bind: Level,
    share: &Share,
) -> Vec<Vec<usize>> {
    let parts = machine.parts(mapping.level);
    let within = inner_parts(machine, &parts, bind);
    if parts.is_empty() || within.iter().any(Vec::is_empty) {
        return vec![Vec::new(); ranks];
    }
    let part_of = part_of_each(machine, ranks, mapping, &parts);
    let mut next = vec![0; parts.len()];
    let give = |(rank, &part): (usize, &usize)| {
        let inner = &within[part];
        let count = match share {
            Share::Parts(counts) => counts[rank],
            Share::Divided => (inner.len() / part_of.iter().filter(|&&other| other == part).count()).max(1),
        };
        // More than there is would be the same again.
        let count = count.clamp(1, inner.len());
        let from = next[part];
        next[part] = from + count;
        let mut cpus: Vec<usize> =
            inner.iter().cycle().skip(from % inner.len()).take(count).flatten().copied().collect();
        cpus.sort_unstable();
        cpus
    };
    part_of.iter().enumerate().map(give).collect()
}

/// For each part of the mapping, the parts of the level of binding in it; where these are larger, the one that it lies
/// in.
fn inner_parts(machine: &Machine, parts: &[Vec<usize>], bind: Level) -> Vec<Vec<Vec<usize>>> {
    let inner = machine.parts(bind);
    let touches = |part: &[usize], inner: &[usize]| inner.iter().any(|cpu| part.contains(cpu));
    parts.iter().map(|part| inner.iter().filter(|inner| touches(part, inner)).cloned().collect()).collect()
}

/// For each rank, its part of the mapping.
fn part_of_each(machine: &Machine, ranks: usize, mapping: &Mapping, parts: &[Vec<usize>]) -> Vec<usize> {
    let each = mapping.ranks_per_part.unwrap_or(1);
    let dealt = (0..ranks).map(|rank| rank / each % parts.len());
    let mut part_of: Vec<usize> = dealt.collect();
    match mapping.order {
        // Ranks are numbered as they are dealt out.
        None => {}
        Some(Order::Filling) => part_of.sort_unstable(),
        Some(Order::Across(level)) => {
            let groups = machine.parts(level);
            let group_of = |part: usize| groups.iter().position(|group| group.contains(&parts[part][0]));
            part_of = across(part_of, |&part| group_of(part).unwrap_or(0));
        }
    }
    part_of
}

#[cfg(test)]
mod tests {
    use super::super::topology::tests::{first_cpu, machine};
    use super::*;

    fn mapping(level: Level) -> Mapping {
        Mapping { level, ranks_per_part: None, order: None }
    }

    /// The hardware threads of each rank, counted from the machine's first; one thread a core, two packages with two
    /// nodes of memory of three cores each.
    fn laid_out(ranks: usize, mapping: &Mapping, bind: Level, share: Share) -> Vec<Vec<usize>> {
        let (test, first) = (2, first_cpu(2));
        let all = lay_out(&machine(test, [2, 2, 3, 1]), ranks, mapping, bind, &share);
        all.into_iter().map(|cpus| cpus.into_iter().map(|cpu| cpu - first).collect()).collect()
    }

    fn one_each(ranks: usize, mapping: &Mapping, bind: Level) -> Vec<Vec<usize>> {
        laid_out(ranks, mapping, bind, Share::Parts(vec![1; ranks]))
    }

    #[test]
    fn without_a_mapping_ranks_get_neighbouring_cores() {
        let host = mapping(Level::Host);
        assert_eq!(one_each(3, &host, Level::Core), [[0], [1], [2]]);
        assert_eq!(laid_out(3, &host, Level::Core, Share::Parts(vec![2, 1, 2])), [vec![0, 1], vec![2], vec![3, 4]]);
        assert_eq!(laid_out(2, &host, Level::Core, Share::Divided), [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]);
        assert_eq!(laid_out(5, &host, Level::Core, Share::Divided)[4], [8, 9]);
        assert_eq!(one_each(13, &host, Level::Core)[12], [0]);
        assert_eq!(laid_out(13, &host, Level::Core, Share::Divided)[12], [0]);
    }

    #[test]
    fn ranks_bound_to_a_package_take_turns() {
        let host = mapping(Level::Host);
        let packages = one_each(3, &host, Level::Package);
        assert_eq!(packages, [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [0, 1, 2, 3, 4, 5]]);
        assert_eq!(one_each(2, &host, Level::Numa), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(one_each(2, &host, Level::L3), [[0, 1, 2], [3, 4, 5]]);
    }

    #[test]
    fn mapped_by_package_ranks_go_to_each_in_turn() {
        let packages = mapping(Level::Package);
        assert_eq!(one_each(4, &packages, Level::Core), [[0], [6], [1], [7]]);
        assert_eq!(one_each(4, &packages, Level::Numa), [[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]]);
        assert_eq!(laid_out(4, &packages, Level::Core, Share::Divided), [[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]]);
        assert_eq!(laid_out(2, &packages, Level::Core, Share::Parts(vec![2, 2])), [[0, 1], [6, 7]]);
        // What is bound to is larger than what is mapped by.
        assert_eq!(one_each(2, &mapping(Level::Core), Level::Numa), [[0, 1, 2], [0, 1, 2]]);
    }

    #[test]
    fn so_many_for_each_part_fill_one_before_the_next() {
        let packages = Mapping { ranks_per_part: Some(2), ..mapping(Level::Package) };
        assert_eq!(one_each(5, &packages, Level::Core), [[0], [1], [6], [7], [2]]);
    }

    #[test]
    fn numbers_can_follow_the_parts_or_cross_them() {
        let filling = Mapping { order: Some(Order::Filling), ..mapping(Level::Package) };
        assert_eq!(one_each(4, &filling, Level::Core), [[0], [1], [6], [7]]);
        let across = Mapping { order: Some(Order::Across(Level::Package)), ..mapping(Level::Numa) };
        assert_eq!(one_each(4, &across, Level::Core), [[0], [6], [3], [9]]);
        let pairs = Mapping { order: Some(Order::Across(Level::Package)), ranks_per_part: Some(2), ..across };
        assert_eq!(one_each(4, &pairs, Level::Core), [[0], [1], [3], [4]]);
    }

    #[test]
    fn more_than_there_is_is_all_of_it() {
        let all = laid_out(2, &mapping(Level::Package), Level::Core, Share::Parts(vec![100; 2]));
        assert_eq!(all, [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]);
        let none = Machine { cores: Vec::new(), parallelism: 0 };
        assert_eq!(lay_out(&none, 1, &mapping(Level::Host), Level::Core, &Share::Divided), [[0_usize; 0]]);
    }

    #[test]
    fn one_of_each_group_in_turn() {
        assert_eq!(across(vec![0, 1, 2, 3, 4], |&item| item / 3), [0, 3, 1, 4, 2]);
        assert_eq!(across(Vec::<usize>::new(), |_| 0), [0; 0]);
    }
}
