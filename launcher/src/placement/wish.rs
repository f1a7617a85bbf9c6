//! What a user asks of placement, in the words of `--bind-to`, `--map-by`, `--rank-by` and `--cpu-set`.

use super::rankfile::RankPlace;
use super::topology::Level;
use crate::hosts::Dealing;
use serde::{Deserialize, Serialize};

/// Everything that was asked for about cores.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Wish {
    pub(crate) bind: Bind,
    /// What ranks are dealt out to; `None`: to all of a host.
    pub(crate) mapping: Option<Mapping>,
    /// Which hardware threads may be used, if not all.
    pub(crate) cpus: Option<Vec<usize>>,
    /// Cores for each rank, if that was said.
    pub(crate) cores: Option<usize>,
    /// Whether each hardware thread counts as a core.
    pub(crate) threads_are_cores: bool,
    /// For each rank where it runs, of those that a file names.
    pub(crate) ranks: Vec<RankPlace>,
}

/// What each rank is tied to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Bind {
    /// Cores of its own if there are enough.
    #[default]
    Auto,
    /// Nothing.
    Free,
    /// Parts of that level; how many, if that was said.
    To(Level, Option<usize>),
    /// The hardware threads in one of these lists, the ranks of a host in turn.
    Lists(Vec<Vec<usize>>),
}

/// Whether each rank is tied to cores of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Binding {
    /// If there is a free core for every thread of every rank; otherwise not. Where ranks announce no threads, they
    /// have all free cores, the same number each.
    #[default]
    Auto,
    /// Always, sharing cores if there are too few.
    Core,
    /// Never.
    None,
}

impl From<Binding> for Bind {
    fn from(binding: Binding) -> Self {
        match binding {
            Binding::Auto => Bind::Auto,
            Binding::Core => Bind::To(Level::Core, None),
            Binding::None => Bind::Free,
        }
    }
}

/// How ranks are dealt out on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mapping {
    /// To parts of that level, in turn.
    pub(crate) level: Level,
    /// How many to each before the next one's turn; `None`: one.
    pub(crate) ranks_per_part: Option<usize>,
    /// In which order they are numbered; `None`: as they are dealt out.
    pub(crate) order: Option<Order>,
}

impl Mapping {
    pub(crate) const WHOLE_HOST: Mapping = Mapping { level: Level::Host, ranks_per_part: None, order: None };
}

/// How ranks are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Those of a part, then those of the next.
    Filling,
    /// One in each part of that level, in turn.
    Across(Level),
}

/// The level that launchers call so.
fn level(name: &str) -> Option<Level> {
    Some(match name {
        "node" | "machine" | "board" => Level::Host,
        "socket" | "package" => Level::Package,
        "numa" => Level::Numa,
        "l3cache" | "l3" => Level::L3,
        "l2cache" | "l2" => Level::L2,
        "core" | "l1cache" | "l1" => Level::Core,
        "hwthread" | "hwthreads" | "pu" => Level::Thread,
        _ => return None,
    })
}

const LEVELS: &str = "hwthread, core, l2cache, l3cache, numa, socket or package";

/// Understands what `--bind-to` says.
pub(crate) fn apply_bind(wish: &mut Wish, what: &str) -> Result<(), String> {
    let (first, rest) = what.split_once(':').unwrap_or((what, ""));
    if first.eq_ignore_ascii_case("user") {
        let lists = rest.split(',').map(|list| parse_cpus(&list.replace('+', ","))).collect::<Result<Vec<_>, _>>()?;
        wish.bind = Bind::Lists(lists);
        return Ok(());
    }
    let mut count = None;
    for word in rest.split([':', ',']).filter(|word| !word.is_empty()) {
        match word {
            // There is no limit on what is bound to a core, and nothing that is not supported.
            "overload-allowed" | "no-overload" | "if-supported" | "report" | "limit" => {}
            number => count = Some(positive(number).ok_or_else(|| format!("{number:?} is not a number, 1 or more"))?),
        }
    }
    wish.bind = match first.to_ascii_lowercase().as_str() {
        "none" | "machine" | "board" => Bind::Free,
        "rr" => Bind::To(Level::Core, count),
        name => {
            let level = level(name).filter(|&level| level != Level::Host);
            Bind::To(level.ok_or_else(|| format!("choose none, {LEVELS}, each with :N for several"))?, count)
        }
    };
    Ok(())
}

/// Understands what `--map-by` says, of cores and of hosts. What else it may say of other launchers is listed in the
/// answer: it has no effect.
pub(crate) fn apply_map(wish: &mut Wish, dealing: &mut Dealing, what: &str) -> Result<Vec<String>, String> {
    let lower = what.to_ascii_lowercase();
    let mut words = lower.split([':', ',']);
    let mut first = words.next().unwrap_or_default();
    let mut ignored = Vec::new();
    if first == "ppr" {
        let number = words.next().unwrap_or_default();
        let each = positive(number).ok_or_else(|| format!("ppr:{number}: say ppr:N:WHAT, N ranks for each WHAT"))?;
        first = words.next().unwrap_or("node");
        apply_map_level(wish, dealing, first)?;
        match &mut wish.mapping {
            Some(mapping) => mapping.ranks_per_part = Some(each),
            None => dealing.ranks_per_host = Some(each),
        }
    } else if let Some(list) = first.strip_prefix("pe-list=") {
        let others = words.clone().take_while(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
        let list = std::iter::once(list).chain(others).collect::<Vec<_>>().join(",");
        wish.cpus = Some(parse_cpus(&list)?);
    } else {
        apply_map_level(wish, dealing, first)?;
    }
    for word in words.filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("pe", number)) => {
                let cores = positive(number).ok_or_else(|| format!("{word}: say PE=N, N cores for each rank"))?;
                wish.cores = Some(cores);
            }
            None if word == "hwtcpus" => wish.threads_are_cores = true,
            None if word == "nolocal" => dealing.no_local = true,
            // Said by what is done anyway.
            None if ["corecpus", "oversubscribe", "ordered", "inherit", "noinherit"].contains(&word) => {}
            None if word.starts_with(|letter: char| letter.is_ascii_digit()) => {}
            None if word == "span" => dealing.round_robin |= wish.mapping.is_some(),
            _ => ignored.push(word.to_owned()),
        }
    }
    Ok(ignored)
}

fn apply_map_level(wish: &mut Wish, dealing: &mut Dealing, name: &str) -> Result<(), String> {
    match name {
        "" | "slot" | "rr" | "user" => wish.mapping = None,
        "node" | "bynode" | "machine" | "board" => (dealing.round_robin, wish.mapping) = (true, None),
        "seq" => dealing.round_robin = true,
        name => {
            let level = level(name).ok_or_else(|| format!("choose slot, node, {LEVELS}, or ppr:N:WHAT"))?;
            wish.mapping = Some(Mapping { level, ..Mapping::WHOLE_HOST });
        }
    }
    Ok(())
}

/// Understands what `--rank-by` says: to be called once all of `--map-by` is known.
pub(crate) fn apply_rank_by(wish: &mut Wish, dealing: &mut Dealing, what: &str) -> Result<(), String> {
    let first = what.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let order = match first.as_str() {
        "node" => {
            dealing.numbered_across = Some(true);
            return Ok(());
        }
        "slot" | "fill" => {
            dealing.numbered_across = Some(false);
            Order::Filling
        }
        "span" => Order::Across(wish.mapping.map_or(Level::Core, |mapping| mapping.level)),
        name => match level(name) {
            Some(Level::Core | Level::Thread) => Order::Filling,
            Some(level) => Order::Across(level),
            None => return Err(format!("choose slot, node, fill, span, {LEVELS}")),
        },
    };
    if let Some(mapping) = &mut wish.mapping {
        mapping.order = Some(order);
    }
    Ok(())
}

/// More hardware threads than any host has.
const RANGE_MAX: usize = 1 << 16;

fn positive(number: &str) -> Option<usize> {
    number.parse().ok().filter(|&number| number > 0)
}

/// The numbers of a list such as `0-3,8`, in its order.
pub(crate) fn parse_cpus(list: &str) -> Result<Vec<usize>, String> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last - first < RANGE_MAX).then_some(first..=last)
    };
    let ranges = list.split(',').map(|part| range(part).ok_or(part)).collect::<Result<Vec<_>, _>>();
    let ranges =
        ranges.map_err(|part| format!("{part:?} is not a number of a hardware thread, nor a range such as 0-3"))?;
    Ok(ranges.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(what: &str) -> Result<Bind, String> {
        let mut wish = Wish::default();
        apply_bind(&mut wish, what).map(|()| wish.bind)
    }

    fn mapped(what: &str, rank_by: Option<&str>) -> (Wish, Dealing, Vec<String>) {
        let (mut wish, mut dealing) = (Wish::default(), Dealing::default());
        let ignored = apply_map(&mut wish, &mut dealing, what).unwrap_or_else(|error| panic!("{what}: {error}"));
        if let Some(order) = rank_by {
            apply_rank_by(&mut wish, &mut dealing, order).unwrap();
        }
        (wish, dealing, ignored)
    }

    #[test]
    fn what_ranks_are_bound_to() {
        for (what, bind) in [
            ("none", Bind::Free),
            ("core", Bind::To(Level::Core, None)),
            ("core:2", Bind::To(Level::Core, Some(2))),
            ("core:overload-allowed", Bind::To(Level::Core, None)),
            ("socket", Bind::To(Level::Package, None)),
            ("L3CACHE", Bind::To(Level::L3, None)),
            ("numa:2", Bind::To(Level::Numa, Some(2))),
            ("hwthread", Bind::To(Level::Thread, None)),
            ("user:0+2,1-3", Bind::Lists(vec![vec![0, 2], vec![1, 2, 3]])),
        ] {
            assert_eq!(bound(what), Ok(bind), "{what}");
        }
        assert!(bound("cushion").unwrap_err().contains("socket"));
        assert!(bound("core:none").unwrap_err().contains("none"));
        assert!(bound("user:x").unwrap_err().contains('x'));
    }

    #[test]
    fn what_ranks_are_mapped_by() {
        let level = |what: &str| mapped(what, None).0.mapping.map(|mapping| mapping.level);
        assert_eq!(level("slot"), None);
        assert_eq!(level("socket"), Some(Level::Package));
        assert_eq!(level("package:PE=2"), Some(Level::Package));
        assert_eq!(mapped("slot:pe=4", None).0.cores, Some(4));
        assert!(mapped("node", None).1.round_robin);
        assert_eq!(mapped("ppr:2:node", None).1.ranks_per_host, Some(2));
        let (wish, ..) = mapped("ppr:2:l3cache:PE=3", None);
        let mapping = wish.mapping.unwrap();
        assert_eq!((mapping.level, mapping.ranks_per_part, wish.cores), (Level::L3, Some(2), Some(3)));
        assert_eq!(mapped("pe-list=0,2,4-5:ordered", None).0.cpus, Some(vec![0, 2, 4, 5]));
        assert_eq!(mapped("core:oversubscribe:hwtcpus", None).2, [""; 0]);
        assert_eq!(mapped("core:nooversubscribe", None).2, ["nooversubscribe"]);
        let refuse = |what: &str| apply_map(&mut Wish::default(), &mut Dealing::default(), what).unwrap_err();
        assert!(refuse("pillow").contains("socket"));
        assert!(refuse("ppr:x:node").contains("ppr:N:WHAT"));
        assert!(refuse("slot:PE=0").contains("PE=N"));
    }

    #[test]
    fn how_ranks_are_numbered() {
        let order = |map: &str, rank: &str| mapped(map, Some(rank)).0.mapping.and_then(|mapping| mapping.order);
        assert_eq!(order("socket", "core"), Some(Order::Filling));
        assert_eq!(order("socket", "fill"), Some(Order::Filling));
        assert_eq!(order("socket", "span"), Some(Order::Across(Level::Package)));
        assert_eq!(order("numa", "socket"), Some(Order::Across(Level::Package)));
        assert_eq!(mapped("slot", Some("node")).1.numbered_across, Some(true));
        assert!(apply_rank_by(&mut Wish::default(), &mut Dealing::default(), "colour").is_err());
    }

    #[test]
    fn lists_of_hardware_threads() {
        assert_eq!(parse_cpus("0-2,8"), Ok(vec![0, 1, 2, 8]));
        assert_eq!(parse_cpus("0-3,8,10-11"), Ok(vec![0, 1, 2, 3, 8, 10, 11]));
        for nonsense in ["", "x", "3-1", "0-99999999999", "1,,2"] {
            assert!(parse_cpus(nonsense).is_err(), "{nonsense}");
        }
    }
}
