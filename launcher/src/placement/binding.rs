//! Which cores each rank may use, and why.
//!
//! Unless the user says otherwise, the cores of a host are divided among its ranks, or as many given to each as it
//! announces threads. Cores that another job of this library has tied its ranks to are left alone (see `claims`).

use super::mapping::{Share, lay_out};
use super::topology::{Level, Machine};
use super::wish::{Bind, Mapping, Wish};
use crate::claims::{self, Claim};
use crate::phrases::counted;

/// How many threads a rank announces, and by which variable.
pub(crate) type Announced = Option<(usize, &'static str)>;

/// Who runs where, and why.
#[derive(Debug)]
pub(crate) struct Placement {
    /// For each rank its hardware threads; `None`: wherever the launcher may run.
    pub(crate) cpus: Vec<Option<Vec<usize>>>,
    /// What each rank has.
    pub(crate) what: String,
    /// Why, as the end of a sentence.
    pub(crate) reason: String,
    /// What the user ought to know.
    pub(crate) warnings: Vec<String>,
    /// Holds the cores against other jobs.
    _claims: Vec<Claim>,
}

impl Placement {
    /// The kernel places the ranks.
    fn free(ranks: usize, reason: String, warnings: Vec<String>) -> Placement {
        Placement { cpus: vec![None; ranks], what: String::new(), reason, warnings, _claims: Vec::new() }
    }

    /// As the user asked. A rank for which nothing was found is not tied to anything.
    fn asked(cpus: Vec<Vec<usize>>, what: &str, warnings: Vec<String>) -> Placement {
        let cpus = cpus.into_iter().map(|cpus| (!cpus.is_empty()).then_some(cpus)).collect();
        Placement { cpus, what: what.to_owned(), reason: "as asked".to_owned(), warnings, _claims: Vec::new() }
    }
}

/// Decides for the ranks of these numbers, which announce so many threads each.
pub(crate) fn place(wish: &Wish, announced: &[Announced], ranks: &[usize], machine: &Machine) -> Placement {
    if !wish.ranks.is_empty() {
        return place_by_file(wish, ranks, machine);
    }
    let mut view = wish.cpus.as_ref().map_or_else(|| machine.clone(), |cpus| machine.restricted_to(cpus));
    if view.cores.is_empty() {
        let warning = "--cpu-set names no hardware thread that this job may use: it has no effect".to_owned();
        return Placement::free(ranks.len(), "nothing to bind to".to_owned(), vec![warning]);
    }
    let mut warnings = Vec::new();
    if wish.threads_are_cores {
        if !view.has_sibling_threads() {
            warnings.push("--use-hwthread-cpus has no effect: each core has one hardware thread".to_owned());
        }
        view = view.of_threads();
    }
    let is_plain = wish.mapping.is_none() && wish.cores.is_none() && wish.cpus.is_none();
    let mut placement = match &wish.bind {
        Bind::Free if wish.cpus.is_none() => {
            Placement::free(ranks.len(), "as asked".to_owned(), too_many_threads(announced, &view))
        }
        Bind::Free => to_parts(Wish { mapping: None, ..wish.clone() }, Level::Host, Some(1), announced, &view),
        Bind::Lists(lists) => {
            let cpus = lists.iter().cycle().take(ranks.len());
            let cpus = cpus.map(|list| view.restricted_to(list).parts(Level::Host).concat()).collect();
            Placement::asked(cpus, "the hardware threads that were named", Vec::new())
        }
        Bind::To(level, count) => to_parts(wish.clone(), *level, *count, announced, &view),
        Bind::Auto if is_plain => place_of_its_own(announced, &view),
        Bind::Auto => divide(wish, announced, &view),
    };
    placement.warnings.extend(warnings);
    placement
}

/// As the file of `--rankfile` says.
fn place_by_file(wish: &Wish, ranks: &[usize], machine: &Machine) -> Placement {
    let place = |rank: &usize| wish.ranks.iter().find(|place| place.rank == *rank);
    let cpus: Vec<Vec<usize>> =
        ranks.iter().map(|rank| place(rank).map_or_else(Vec::new, |place| place.slot.cpus(machine))).collect();
    let lost = ranks.iter().zip(&cpus).filter(|(_, cpus)| cpus.is_empty());
    let warnings =
        lost.map(|(rank, _)| format!("--rankfile: rank {rank} may use none of what its line names: it is not bound"));
    let warnings = warnings.collect();
    Placement::asked(cpus, "what its line of the file says", warnings)
}

/// Ties ranks to parts of that level: `count` of them each, or a core for each thread.
fn to_parts(wish: Wish, level: Level, count: Option<usize>, announced: &[Announced], machine: &Machine) -> Placement {
    let one_for_each_thread = matches!(level, Level::Core | Level::Thread);
    let each = |announced: &Announced| match count.or(wish.cores) {
        Some(count) => count,
        None if one_for_each_thread => announced.map_or(1, |(threads, _)| threads),
        None => 1,
    };
    let counts: Vec<usize> = announced.iter().map(each).collect();
    let needed: usize = counts.iter().sum();
    let mut warnings = too_many_threads(announced, machine);
    if level == Level::Core && needed > machine.cores.len() {
        warnings.push(format!(
            "--bind-to core: {} on {}: some ranks share a core; --bind-to none lets the kernel spread them",
            counted(needed, "thread"),
            counted(machine.cores.len(), "core")
        ));
    }
    let mapping = wish.mapping.unwrap_or(Mapping::WHOLE_HOST);
    let cpus = lay_out(machine, announced.len(), &mapping, level, &Share::Parts(counts));
    let what = if one_for_each_thread { "a core for each thread of each rank" } else { "what was named for each rank" };
    let claims = if level == Level::Core { claim(machine, needed.min(machine.cores.len()), needed) } else { None };
    let claims = claims.map(|(_, claims)| claims).unwrap_or_default();
    Placement { _claims: claims, ..Placement::asked(cpus, what, warnings) }
}

/// Divides what the user names among the ranks; if there is not a core for each, the ranks of a part share it.
fn divide(wish: &Wish, announced: &[Announced], machine: &Machine) -> Placement {
    let mapping = wish.mapping.unwrap_or(Mapping::WHOLE_HOST);
    let counts = match wish.cores {
        Some(cores) => Some(vec![cores; announced.len()]),
        None if announced.iter().all(Option::is_none) => None,
        None => Some(announced.iter().map(|threads| threads.map_or(1, |(count, _)| count)).collect()),
    };
    let needed = counts.as_ref().map_or(announced.len(), |counts| counts.iter().sum());
    let (bind, share) = match counts {
        _ if needed > machine.cores.len() => (mapping.level, Share::Parts(vec![1; announced.len()])),
        Some(counts) => (Level::Core, Share::Parts(counts)),
        None => (Level::Core, Share::Divided),
    };
    let cpus = lay_out(machine, announced.len(), &mapping, bind, &share);
    Placement::asked(cpus, "its share of what was named", too_many_threads(announced, machine))
}

/// Gives each rank cores that no other rank has, of this job or another, if there are enough.
fn place_of_its_own(announced: &[Announced], machine: &Machine) -> Placement {
    let ranks = announced.len();
    let usable = machine.usable_cores();
    let free = |reason: String| Placement::free(ranks, reason, too_many_threads(announced, machine));
    if ranks == 1 {
        return free("one rank has nobody to keep away from its core".to_owned());
    }
    let counts: Vec<usize> = announced.iter().map(|threads| threads.map_or(1, |(count, _)| count)).collect();
    let needed: usize = counts.iter().sum();
    if needed > usable {
        return free(format!("the ranks need {} and {usable} can be used", counted(needed, "core")));
    }
    let is_silent = announced.iter().all(Option::is_none);
    let most = if is_silent { usable - usable % ranks } else { needed };
    let Some((cores, mut claims)) = claim(machine, needed, most) else {
        return free("other jobs hold cores, and too few are left".to_owned());
    };
    let each = cores.len() / ranks;
    let (counts, what) = if is_silent {
        (vec![each; ranks], format!("{} for each rank", counted(each, "core")))
    } else {
        (counts, "a core for each thread of each rank".to_owned())
    };
    let taken: usize = counts.iter().sum();
    claims.truncate(taken);
    let view = Machine { cores: cores[..taken].to_vec(), parallelism: machine.parallelism };
    let cpus = lay_out(&view, ranks, &Mapping::WHOLE_HOST, Level::Core, &Share::Parts(counts));
    Placement {
        cpus: cpus.into_iter().map(Some).collect(),
        what,
        reason: format!("the ranks need {} of {usable} that can be used", counted(needed, "core")),
        warnings: Vec::new(),
        _claims: claims,
    }
}

/// Takes cores that no other job holds, `most` of them if there are so many; `None`: not even `least`.
fn claim(machine: &Machine, least: usize, most: usize) -> Option<(Vec<super::topology::Core>, Vec<Claim>)> {
    let free = machine.cores.iter().filter_map(|core| claims::claim(&core.cpus).map(|claim| (core.clone(), claim)));
    let (cores, claims): (Vec<_>, Vec<Claim>) = free.take(most).unzip();
    (cores.len() >= least).then_some((cores, claims))
}

/// A warning if a single rank has more threads than there are hardware threads to run them.
fn too_many_threads(announced: &[Announced], machine: &Machine) -> Vec<String> {
    let most = announced.iter().flatten().max_by_key(|(count, _)| *count);
    let Some((most, variable)) = most.filter(|(count, _)| *count > machine.parallelism) else { return Vec::new() };
    vec![format!(
        "{variable} asks for {most} threads a rank, but this job may use only {}: set it to {} or less",
        counted(machine.parallelism, "hardware thread"),
        (machine.parallelism / announced.len()).max(1)
    )]
}

#[cfg(test)]
mod tests {
    use super::super::topology::tests::machine;
    use super::super::wish::{apply_bind, apply_map};
    use super::*;
    use crate::hosts::Dealing;

    fn placed(wish: &Wish, announced: &[Announced], machine: &Machine) -> Placement {
        let ranks: Vec<usize> = (0..announced.len()).collect();
        place(wish, announced, &ranks, machine)
    }

    fn automatic(announced: &[Announced], machine: &Machine) -> Placement {
        placed(&Wish::default(), announced, machine)
    }

    fn threads(count: usize) -> Announced {
        Some((count, "OMP_NUM_THREADS"))
    }

    /// A wish in the words of the options.
    fn wish(bind: Option<&str>, map: Option<&str>) -> Wish {
        let mut wish = Wish::default();
        bind.iter().for_each(|what| apply_bind(&mut wish, what).unwrap());
        map.iter().for_each(|what| drop(apply_map(&mut wish, &mut Dealing::default(), what).unwrap()));
        wish
    }

    fn sizes(placement: &Placement) -> Vec<usize> {
        placement.cpus.iter().map(|cpus| cpus.as_ref().map_or(0, Vec::len)).collect()
    }

    #[test]
    fn each_rank_gets_all_threads_of_a_core_of_its_own() {
        let machine = machine(10, [1, 1, 4, 2]);
        let one = [threads(1); 2];
        let placement = automatic(&one, &machine);
        assert_eq!(placement.cpus[0].as_ref(), Some(&machine.cores[0].cpus), "{}", placement.reason);
        assert_eq!(placement.cpus[1].as_ref(), Some(&machine.cores[1].cpus));
        // A second job takes what is left, and a third finds too few.
        let second = automatic(&one, &machine);
        assert_eq!(second.cpus[1].as_ref(), Some(&machine.cores[3].cpus), "{}", second.reason);
        assert_eq!(automatic(&one, &machine).cpus, [None, None]);
        drop(placement);
        assert_ne!(automatic(&one, &machine).cpus, [None, None]);
    }

    #[test]
    fn ranks_that_announce_nothing_divide_the_cores() {
        let machine = machine(11, [1, 1, 7, 2]);
        let placement = automatic(&[None; 3], &machine);
        assert_eq!((sizes(&placement), placement.what.as_str()), (vec![4; 3], "2 cores for each rank"));
        // The core that is left over can be had by others, who are too many for it.
        assert_eq!(sizes(&automatic(&[None; 2], &machine)), [0, 0]);
        drop(placement);
        let quota = Machine { parallelism: 4, ..machine };
        assert_eq!(sizes(&automatic(&[None; 2], &quota)), [4, 4]);
        assert_eq!(sizes(&automatic(&[None; 5], &quota)), [0; 5]);
        assert_eq!(sizes(&automatic(&[None], &quota)), [0]);
    }

    #[test]
    fn threads_of_a_rank_get_a_core_each_or_the_ranks_are_free() {
        let machine = machine(12, [1, 1, 5, 1]);
        let placement = automatic(&[threads(2), threads(2)], &machine);
        assert_eq!(sizes(&placement), [2, 2]);
        drop(placement);
        assert_eq!(automatic(&[threads(3), threads(3)], &machine).cpus, [None, None]);
        let warnings = automatic(&[Some((6, "RAYON_NUM_THREADS")), threads(1)], &machine).warnings;
        assert!(warnings[0].starts_with("RAYON_NUM_THREADS asks for 6 threads"), "{warnings:?}");
    }

    #[test]
    fn a_quota_below_the_mask_counts_as_too_few_cores() {
        let machine = Machine { parallelism: 1, ..machine(13, [1, 1, 6, 1]) };
        assert_eq!(automatic(&[threads(1); 2], &machine).cpus, [None, None]);
    }

    #[test]
    fn asked_for_cores_are_shared_when_there_are_too_few() {
        let machine = machine(14, [1, 1, 2, 1]);
        let placement = placed(&wish(Some("core"), None), &[None; 3], &machine);
        assert_eq!(placement.cpus[2], placement.cpus[0]);
        assert_eq!(placement.warnings.len(), 1);
    }

    #[test]
    fn what_is_asked_for_is_what_ranks_get() {
        let machine = machine(15, [2, 2, 4, 2]);
        let sizes = |bind, map, ranks: usize| sizes(&placed(&wish(bind, map), &vec![None; ranks], &machine));
        assert_eq!(sizes(Some("socket"), None, 3), [16; 3]);
        assert_eq!(sizes(Some("numa"), Some("socket"), 2), [8; 2]);
        assert_eq!(sizes(Some("core:3"), None, 2), [6; 2]);
        assert_eq!(sizes(Some("hwthread"), None, 2), [1; 2]);
        assert_eq!(sizes(Some("none"), None, 2), [0; 2]);
        assert_eq!(sizes(None, Some("socket:PE=2"), 2), [4; 2]);
        assert_eq!(sizes(None, Some("socket:PE=2:hwtcpus"), 2), [2; 2]);
        // Divided: four ranks on each package with eight cores.
        assert_eq!(sizes(None, Some("socket"), 8), [4; 8]);
        // More ranks than cores share what they are mapped by.
        assert_eq!(sizes(None, Some("numa"), 17), [8; 17]);
        let of_threads = placed(&wish(None, Some("core:hwtcpus")), &[None; 2], &machine.of_threads());
        assert!(of_threads.warnings[0].contains("--use-hwthread-cpus has no effect"));
    }

    #[test]
    fn a_set_of_hardware_threads_is_not_left() {
        let machine = machine(16, [1, 1, 4, 1]);
        let set: Vec<usize> = machine.cores[1..].iter().flat_map(|core| core.cpus.clone()).collect();
        let wish = |bind| Wish { cpus: Some(set.clone()), ..wish(bind, None) };
        assert_eq!(placed(&wish(None), &[None; 3], &machine).cpus[0], Some(vec![set[0]]));
        assert_eq!(placed(&wish(None), &[None; 4], &machine).cpus[3], Some(set.clone()));
        assert_eq!(placed(&wish(Some("none")), &[None; 2], &machine).cpus, [Some(set.clone()), Some(set.clone())]);
        let elsewhere = Wish { cpus: Some(vec![7]), ..Wish::default() };
        assert_eq!(placed(&elsewhere, &[None], &machine).warnings.len(), 1);
    }

    #[test]
    fn lists_are_given_out_in_turn() {
        let machine = machine(17, [1, 1, 4, 1]);
        let [one, two] = [0, 2].map(|core: usize| machine.cores[core].cpus[0]);
        let placement = placed(&wish(Some(&format!("user:{one}+{two},{two},7")), None), &[None; 4], &machine);
        assert_eq!(placement.cpus, [Some(vec![one, two]), Some(vec![two]), None, Some(vec![one, two])]);
    }
}
