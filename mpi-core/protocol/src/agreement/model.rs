//! All orders in which members begin, messages leave and arrive, members die and the others learn of it.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{Agreement, Decision, Message, Vote};

#[derive(Clone, PartialEq, Eq, Hash)]
enum Member {
    /// It has not called.
    Elsewhere,
    Agrees(Box<Agreement>),
    /// It has come to its end.
    Returned(Decision),
    /// It has died; with which decision, if it had come to its end before.
    Dead(Option<Decision>),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    members: Vec<Member>,
    /// By sender and receiver.
    channels: BTreeMap<(usize, usize), VecDeque<Message>>,
    /// Who knows of whose death.
    known: Vec<Vec<bool>>,
    deaths_left: usize,
}

/// What a broken variant does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Correct,
    /// Deaths become known before what was sent has arrived.
    DeathsOvertake,
    /// A member has come to its end before its messages have left.
    ReturnsEarly,
}

impl World {
    fn new(size: usize, deaths_left: usize) -> World {
        World {
            members: vec![Member::Elsewhere; size],
            channels: BTreeMap::new(),
            known: vec![vec![false; size]; size],
            deaths_left,
        }
    }

    fn size(&self) -> usize {
        self.members.len()
    }

    fn is_alive(&self, member: usize) -> bool {
        !matches!(self.members[member], Member::Dead(_))
    }

    /// Every world that one step makes of this one.
    fn next(&self, variant: Variant) -> Vec<World> {
        let mut next = Vec::new();
        for me in (0..self.size()).filter(|&me| self.is_alive(me)) {
            next.extend(self.goes_on(me, variant));
            for other in (0..self.size()).filter(|&other| other != me) {
                next.extend(self.receives(me, other));
                next.extend(self.learns(me, other, variant));
            }
            if self.deaths_left > 0 {
                let mut world = self.clone();
                world.deaths_left -= 1;
                let returned = match &self.members[me] {
                    Member::Returned(decision) => Some(decision.clone()),
                    _ => None,
                };
                world.members[me] = Member::Dead(returned);
                next.push(world);
            }
        }
        next
    }

    /// It calls, or its next message leaves, or it comes to its end.
    fn goes_on(&self, me: usize, variant: Variant) -> Option<World> {
        let mut world = self.clone();
        match &mut world.members[me] {
            member @ Member::Elsewhere => {
                let vote = Vote { flags: !(1 << me), acknowledged: vec![false; self.size()], word: me as u32 };
                *member = Member::Agrees(Box::new(Agreement::new(me, self.size(), vote)));
            }
            member @ Member::Agrees(_) => {
                let Member::Agrees(agreement) = member else { return None };
                if variant == Variant::ReturnsEarly && agreement.decision().is_some() {
                    let decision = agreement.decision()?.clone();
                    *member = Member::Returned(decision);
                } else if let Some((to, message)) = agreement.next_message() {
                    world.channels.entry((me, to)).or_default().push_back(message);
                } else {
                    let decision = agreement.decision()?.clone();
                    *member = Member::Returned(decision);
                }
            }
            Member::Returned(_) | Member::Dead(_) => return None,
        }
        Some(world)
    }

    fn receives(&self, me: usize, from: usize) -> Option<World> {
        let mut world = self.clone();
        let Member::Agrees(agreement) = &mut world.members[me] else { return None };
        let channel = world.channels.get_mut(&(from, me))?;
        agreement.on_message(from, channel.pop_front()?);
        if channel.is_empty() {
            world.channels.remove(&(from, me));
        }
        Some(world)
    }

    fn learns(&self, me: usize, dead: usize, variant: Variant) -> Option<World> {
        let has_more = self.channels.contains_key(&(dead, me)) && variant != Variant::DeathsOvertake;
        if self.is_alive(dead) || self.known[me][dead] || has_more {
            return None;
        }
        let mut world = self.clone();
        world.known[me][dead] = true;
        let Member::Agrees(agreement) = &mut world.members[me] else { return None };
        agreement.on_death(dead);
        Some(world)
    }

    /// Whether all who have come to their end, those who have died since among them, have the same.
    fn is_uniform(&self) -> bool {
        let decisions: HashSet<&Decision> = self
            .members
            .iter()
            .filter_map(|member| match member {
                Member::Returned(decision) | Member::Dead(Some(decision)) => Some(decision),
                _ => None,
            })
            .collect();
        decisions.len() <= 1
    }

    fn is_settled(&self) -> bool {
        self.members.iter().all(|member| matches!(member, Member::Returned(_) | Member::Dead(_)))
    }
}

struct Seen {
    worlds: usize,
    is_uniform: bool,
    /// Nothing can happen any more, and somebody has not come to its end.
    is_stuck: bool,
    /// How many different decisions there were.
    decisions: usize,
}

fn explore(size: usize, deaths: usize, variant: Variant) -> Seen {
    let first = World::new(size, deaths);
    let (mut worlds, mut open) = (HashSet::from([first.clone()]), vec![first]);
    let mut seen = Seen { worlds: 0, is_uniform: true, is_stuck: false, decisions: 0 };
    let mut decisions = HashSet::new();
    while let Some(world) = open.pop() {
        seen.worlds += 1;
        seen.is_uniform &= world.is_uniform();
        let next = world.next(variant);
        let goes_on = next.iter().any(|next| next.deaths_left == world.deaths_left);
        if !goes_on {
            seen.is_stuck |= !world.is_settled();
            decisions.extend(world.members.into_iter().filter_map(|member| match member {
                Member::Returned(decision) => Some(decision),
                _ => None,
            }));
        }
        for world in next {
            if worlds.insert(world.clone()) {
                open.push(world);
            }
        }
    }
    seen.decisions = decisions.len();
    seen
}

#[test]
fn all_have_the_same_whoever_dies_whenever() {
    for (size, deaths, least) in [(1, 0, 2), (2, 1, 20), (3, 0, 50), (3, 2, 5_000)] {
        let seen = explore(size, deaths, Variant::Correct);
        assert!(seen.is_uniform, "{size} members, {deaths} deaths");
        assert!(!seen.is_stuck, "{size} members, {deaths} deaths");
        assert!(seen.worlds >= least, "{} worlds of {size} members, {deaths} deaths", seen.worlds);
        assert!(deaths == 0 || seen.decisions > 1, "deaths make a difference");
    }
}

/// Takes minutes without optimization.
#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without optimization")]
fn four_members_of_which_two_die() {
    let seen = explore(4, 2, Variant::Correct);
    assert!(seen.is_uniform && !seen.is_stuck);
}

#[test]
fn broken_variants_are_found_out() {
    assert!(!explore(3, 2, Variant::DeathsOvertake).is_uniform);
    assert!(!explore(3, 2, Variant::ReturnsEarly).is_uniform);
}
