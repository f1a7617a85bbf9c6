//! Which hosts a job runs on, and which of its ranks on which.
//!
//! Ranks are dealt out in blocks, so that neighbours share a host: as many to each host as it has slots, or as `-ppn`
//! says, or else the same number to all; or to one host after the other in turn, as `--map-by node` says. When all
//! slots are taken the first host gets some more: there is no limit on ranks per core.

use serde::{Deserialize, Serialize};

/// A host as the user names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostSlots {
    pub(crate) name: String,
    /// How many ranks it is to have, if the user said so.
    pub(crate) slots: Option<usize>,
}

impl HostSlots {
    /// A host of which nobody has said how many ranks it is to have.
    pub(crate) fn named(name: String) -> HostSlots {
        HostSlots { name, slots: None }
    }
}

/// The hosts that the user names, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostList(pub(crate) Vec<HostSlots>);

/// How ranks are dealt out to hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dealing {
    /// How many each host has, whatever its slots; `None`: as many as it has slots.
    pub(crate) ranks_per_host: Option<usize>,
    /// Whether each rank goes to the next host.
    pub(crate) round_robin: bool,
    /// Whether numbers go across the hosts, or through one after the other; `None`: as ranks are dealt out.
    pub(crate) numbered_across: Option<bool>,
    /// Whether this machine is left out.
    pub(crate) no_local: bool,
    /// The number of the host of each rank, from the start again when they run out; empty: as above.
    pub(crate) host_of_rank: Vec<usize>,
}

/// A host and the numbers of its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Its name; `None`: this one, and there is no other.
    pub(crate) host: Option<String>,
    pub(crate) ranks: Vec<usize>,
}

/// The hosts of a list such as `a,b:2`.
pub(crate) fn parse_list(list: &str) -> Result<HostList, String> {
    list.split(',').map(|entry| parse_host(entry.trim())).collect::<Result<_, _>>().map(HostList)
}

/// The hosts of a file: a line each, `NAME`, `NAME:SLOTS` or `NAME slots=SLOTS`; what follows `#` is a remark.
pub(crate) fn read_file(path: &str) -> Result<HostList, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut hosts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(name) = words.next() else { continue };
        let host = parse_host(name).and_then(|host| words.try_fold(host, apply_word));
        hosts.push(host.map_err(|error| format!("{path}, line {}: {error}", index + 1))?);
    }
    if hosts.is_empty() { Err(format!("{path} names no host")) } else { Ok(HostList(hosts)) }
}

fn parse_host(entry: &str) -> Result<HostSlots, String> {
    // More than one colon: an address of IPv6.
    let (name, slots) = match entry.split_once(':') {
        Some((name, slots)) if !slots.contains(':') => (name, Some(parse_slots(slots)?)),
        _ => (entry, None),
    };
    if name.is_empty() {
        return Err("a host without a name".to_owned());
    }
    // The agent would take the first for an option of its own.
    if name.starts_with('-') || name.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err(format!("{name:?} cannot be the name of a host"));
    }
    Ok(HostSlots { name: name.to_owned(), slots })
}

fn parse_slots(number: &str) -> Result<usize, String> {
    let slots = number.parse().ok().filter(|&slots| slots > 0);
    slots.ok_or_else(|| format!("{number:?} is not a number of ranks, 1 or more"))
}

/// Understands what other launchers know to say about a host.
fn apply_word(host: HostSlots, word: &str) -> Result<HostSlots, String> {
    match word.split_once('=') {
        Some(("slots", number)) => Ok(HostSlots { slots: Some(parse_slots(number)?), ..host }),
        // There is no limit.
        Some(("max_slots" | "max-slots", _)) => Ok(host),
        _ => Err(format!("{word:?} is not understood: NAME, NAME:SLOTS or NAME slots=SLOTS")),
    }
}

/// The numbers of a list such as `0,1,1`, with or without brackets and MPICH's word `vector`.
pub(crate) fn parse_rank_map(list: &str) -> Result<Vec<usize>, String> {
    let list = list.trim_start_matches(['(', '[', ' ']).trim_end_matches([')', ']', ' ']);
    let list = list.strip_prefix("vector,").unwrap_or(list).trim_matches(['(', ')', '[', ']']);
    let numbers = list.split(',').map(|number| number.trim().parse());
    numbers.collect::<Result<_, _>>().map_err(|_| format!("{list:?} is no list of numbers of hosts, such as 0,1,1"))
}

/// Deals out `ranks` ranks; a host that gets none is left out, one that is named twice has the slots of both.
pub(crate) fn deal(hosts: &[HostSlots], dealing: &Dealing, ranks: usize) -> Vec<Share> {
    if hosts.is_empty() {
        return vec![Share { host: None, ranks: (0..ranks).collect() }];
    }
    let mut shares: Vec<Share> = Vec::new();
    for (rank, place) in (0..ranks).zip(host_of_each(hosts, dealing, ranks)) {
        let name = &hosts[place].name;
        match shares.iter_mut().find(|share| share.host.as_ref() == Some(name)) {
            Some(share) => share.ranks.push(rank),
            None => shares.push(Share { host: Some(name.clone()), ranks: vec![rank] }),
        }
    }
    shares
}

/// For each rank the place of its host in the list.
fn host_of_each(hosts: &[HostSlots], dealing: &Dealing, ranks: usize) -> Vec<usize> {
    if !dealing.host_of_rank.is_empty() {
        return dealing.host_of_rank.iter().map(|host| host % hosts.len()).cycle().take(ranks).collect();
    }
    let evenly = hosts.iter().all(|host| host.slots.is_none());
    let slots_of = |(index, host): (usize, &HostSlots)| match dealing.ranks_per_host.or(host.slots) {
        Some(slots) => slots.min(ranks),
        None if evenly => ranks / hosts.len() + usize::from(index < ranks % hosts.len()),
        None => 1,
    };
    let slots: Vec<usize> = hosts.iter().enumerate().map(slots_of).collect();
    let blocks = slots.iter().enumerate().flat_map(|(host, &slots)| (0..slots).map(move |slot| (slot, host)));
    let mut places: Vec<(usize, usize)> = blocks.collect();
    if dealing.round_robin {
        places.sort_unstable();
    }
    let mut dealt: Vec<usize> = places.iter().map(|&(_, host)| host).cycle().take(ranks).collect();
    match dealing.numbered_across {
        None => {}
        Some(true) => dealt = across(dealt, |&host| host),
        Some(false) => dealt.sort_unstable(),
    }
    dealt
}

/// One of each group in turn, as long as there are some.
pub(crate) fn across<T: Copy + Ord>(mut items: Vec<T>, group: impl Fn(&T) -> usize) -> Vec<T> {
    items.sort_by_key(|item| (group(item), *item));
    let mut seen: Vec<(usize, usize)> = Vec::new();
    let turn = |item: &T| {
        let group = group(item);
        match seen.iter_mut().find(|(known, _)| *known == group) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                seen.push((group, 0));
                0
            }
        }
    };
    let turns: Vec<usize> = items.iter().map(turn).collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&index| (turns[index], group(&items[index])));
    order.into_iter().map(|index| items[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(list: &str, dealing: &Dealing, ranks: usize) -> Vec<(String, Vec<usize>)> {
        let shares = deal(&parse_list(list).unwrap().0, dealing, ranks);
        shares.into_iter().map(|share| (share.host.unwrap(), share.ranks)).collect()
    }

    fn expect(list: &str, per_host: Option<usize>, ranks: usize, expected: &[(&str, &[usize])]) {
        let dealing = Dealing { ranks_per_host: per_host, ..Dealing::default() };
        expect_as(list, &dealing, ranks, expected);
    }

    fn expect_as(list: &str, dealing: &Dealing, ranks: usize, expected: &[(&str, &[usize])]) {
        let expected: Vec<_> = expected.iter().map(|&(name, ranks)| (name.to_owned(), ranks.to_vec())).collect();
        assert_eq!(dealt(list, dealing, ranks), expected, "{list} {dealing:?} {ranks}");
    }

    #[test]
    fn ranks_can_be_dealt_to_each_host_in_turn() {
        let turns = Dealing { round_robin: true, ..Dealing::default() };
        expect_as("a,b", &turns, 5, &[("a", &[0, 2, 4]), ("b", &[1, 3])]);
        expect_as("a:1,b:3", &turns, 4, &[("a", &[0]), ("b", &[1, 2, 3])]);
        expect_as("a:1,b:1", &turns, 3, &[("a", &[0, 2]), ("b", &[1])]);
        let blocks = Dealing { numbered_across: Some(false), ..turns };
        expect_as("a,b", &blocks, 5, &[("a", &[0, 1, 2]), ("b", &[3, 4])]);
        let across = Dealing { numbered_across: Some(true), ..Dealing::default() };
        expect_as("a:1,b:3", &across, 4, &[("a", &[0]), ("b", &[1, 2, 3])]);
        expect_as("a:2,b:2", &across, 4, &[("a", &[0, 2]), ("b", &[1, 3])]);
        expect_as("a:1000000000000", &across, 2, &[("a", &[0, 1])]);
    }

    #[test]
    fn a_map_names_the_host_of_each_rank() {
        let mapped = |list: &str| Dealing { host_of_rank: parse_rank_map(list).unwrap(), ..Dealing::default() };
        for list in ["1,0,0", "(1,0,0)", "(vector,(1,0,0))", "vector,1,0,0"] {
            expect_as("a,b", &mapped(list), 4, &[("b", &[0, 3]), ("a", &[1, 2])]);
        }
        assert!(parse_rank_map("a,b").is_err());
    }

    #[test]
    fn ranks_are_dealt_in_blocks() {
        expect("a,b", None, 4, &[("a", &[0, 1]), ("b", &[2, 3])]);
        expect("a,b,c", None, 4, &[("a", &[0, 1]), ("b", &[2]), ("c", &[3])]);
        expect("a,b,c", None, 2, &[("a", &[0]), ("b", &[1])]);
        expect("a:1,b:2", None, 3, &[("a", &[0]), ("b", &[1, 2])]);
        expect("a,b:2", None, 3, &[("a", &[0]), ("b", &[1, 2])]);
        expect("a:5,b:5", Some(1), 2, &[("a", &[0]), ("b", &[1])]);
        expect("a,a,b", None, 3, &[("a", &[0, 1]), ("b", &[2])]);
    }

    #[test]
    fn when_all_slots_are_taken_the_first_host_gets_more() {
        expect("a:1,b:2", None, 5, &[("a", &[0, 3]), ("b", &[1, 2, 4])]);
        expect("a,b", Some(1), 4, &[("a", &[0, 2]), ("b", &[1, 3])]);
    }

    #[test]
    fn what_cannot_be_a_host_is_refused() {
        for list in ["", "a,,b", ":3", "a:0", "a:x", "-oProxyCommand=x", "a b"] {
            assert!(parse_list(list).is_err(), "{list}");
        }
        assert_eq!(parse_list("fe80::1").unwrap().0, [HostSlots { name: "fe80::1".to_owned(), slots: None }]);
    }

    #[test]
    fn files_of_several_launchers_are_read() {
        let path = std::env::temp_dir().join(format!("rwmpi-hosts-{}", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_file(path.to_str().unwrap())
        };
        let HostList(hosts) = read("# ours\na\n\nb:2 # two\nc slots=3 max_slots=4\n").unwrap();
        let slots: Vec<_> = hosts.iter().map(|host| (host.name.as_str(), host.slots)).collect();
        assert_eq!(slots, [("a", None), ("b", Some(2)), ("c", Some(3))]);
        let error = read("a\nb slots=many\n").unwrap_err();
        assert!(error.contains("line 2") && error.contains("many"), "{error}");
        assert!(read("a cores=3").unwrap_err().contains("cores=3"));
        assert!(read("# nobody\n").unwrap_err().contains("no host"));
        std::fs::remove_file(&path).unwrap();
        assert!(read_file(path.to_str().unwrap()).unwrap_err().contains("cannot read"));
    }
}
