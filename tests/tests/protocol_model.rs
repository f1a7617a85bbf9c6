//! Every interleaving of every short program, in every mode; and broken variants, which must be found out. Of thousands
//! of programs a usual run takes a sample.
//!
//! `RWMPI_MODEL=deep` makes the programs longer (minutes instead of seconds).

use rwmpi_model::{Fault, Program, Receive, Seen, Send, check};
use rwmpi_protocol::Rule;
use rwmpi_tests::sample::Sample;

fn deep() -> bool {
    std::env::var_os("RWMPI_MODEL").is_some_and(|depth| depth == "deep")
}

/// All sequences of `len` items.
fn sequences<T: Copy>(items: &[T], len: usize) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    for _ in 0..len {
        all = all.iter().flat_map(|start| items.iter().map(move |&item| [&start[..], &[item]].concat())).collect();
    }
    all
}

fn sends(sizes: &[bool]) -> Vec<Send> {
    sizes.iter().flat_map(|&large| [0, 1].map(|tag| Send { tag, large })).collect()
}

fn receives(sources: &[Option<u32>], sizes: &[bool]) -> Vec<Receive> {
    let mut all = Vec::new();
    for &source in sources {
        for &large in sizes {
            all.extend([Some(0), Some(1), None].map(|tag| Receive { source, tag, large, cancel: false }));
        }
    }
    all
}

/// From so many programs on, a usual run takes one in [`TAKEN_ONE_IN`].
const MANY: usize = 1000;
const TAKEN_ONE_IN: usize = 3;

fn check_all(programs: Vec<Program>) -> Seen {
    let mut seen = Seen::default();
    let (sample, are_many) = (Sample::from_environment(), programs.len() >= MANY);
    let is_taken = |number: usize| !are_many || sample.takes(&format!("program {number}"), TAKEN_ONE_IN);
    for (_, program) in programs.into_iter().enumerate().filter(|(number, _)| is_taken(*number)) {
        seen += check(&program).unwrap_or_else(|violation| panic!("{violation}"));
    }
    println!("{seen:?}");
    seen
}

/// Programs of one sender.
fn pairs(rule: Rule, messages: usize, posts: usize, sizes: &[bool], sources: &[Option<u32>]) -> Vec<Program> {
    let mut programs = Vec::new();
    for sends in sequences(&sends(sizes), messages) {
        for receives in sequences(&receives(sources, sizes), posts) {
            programs.push(Program { rule, sends: vec![sends.clone()], receives, fault: None });
        }
    }
    programs
}

/// Programs of two senders and receives that may name either or none. (Of three receives of two sizes there would be
/// hours of them.)
fn triples(rule: Rule, sizes: &[bool]) -> Vec<Program> {
    let mut programs = Vec::new();
    let first = sequences(&sends(sizes), if deep() { 2 } else { 1 });
    let second = sequences(&sends(sizes), 1);
    let received =
        sequences(&receives(&[Some(0), Some(1), None], sizes), if deep() && sizes.len() == 1 { 3 } else { 2 });
    for receives in received {
        for first in &first {
            for second in &second {
                let sends = vec![first.clone(), second.clone()];
                programs.push(Program { rule, sends, receives: receives.clone(), fault: None });
            }
        }
    }
    programs
}

const SHARED: Rule = Rule::Auto { claims: true };
const NETWORK: Rule = Rule::Auto { claims: false };
const BOTH: &[bool] = &[true, false];
const LARGE: &[bool] = &[true];

#[test]
fn sr_matches_as_mpi_says() {
    let messages = if deep() { 4 } else { 3 };
    let seen = check_all(pairs(Rule::Sr, messages, messages, LARGE, &[Some(0), None]));
    assert!(seen.writes > 0 && seen.stale > 0 && seen.skipped > 0, "{seen:?}");
    check_all(triples(Rule::Sr, LARGE));
}

#[test]
fn nsr_matches_as_mpi_says() {
    check_all(pairs(Rule::Nsr, 3, 3, LARGE, &[Some(0), None]));
}

#[test]
fn auto_with_claim_words_matches_as_mpi_says() {
    let seen = check_all(pairs(SHARED, 3, 3, BOTH, &[Some(0)]));
    assert!(seen.writes > 0 && seen.lost_claims > 0, "{seen:?}");
    check_all(pairs(SHARED, 3, 3, LARGE, &[Some(0), None]));
    check_all(triples(SHARED, LARGE));
    let seen = check_all(triples(SHARED, BOTH));
    assert!(seen.writes > 0 && seen.lost_claims > 0, "{seen:?}");
}

#[test]
fn auto_without_claim_words_matches_as_mpi_says() {
    let seen = check_all(pairs(NETWORK, 3, 3, BOTH, &[Some(0)]));
    assert!(seen.writes > 0 && seen.stale > 0, "{seen:?}");
    check_all(pairs(NETWORK, 3, 3, LARGE, &[Some(0), None]));
    check_all(triples(NETWORK, LARGE));
    check_all(triples(NETWORK, BOTH));
}

/// Programs in which the receive at that place is cancelled.
fn cancelling(place: usize, programs: Vec<Program>) -> Vec<Program> {
    let cancels = |mut program: Program| {
        program.receives[place].cancel = true;
        program
    };
    programs.into_iter().map(cancels).collect()
}

#[test]
fn receives_can_be_cancelled_at_any_moment() {
    let sample = Sample::from_environment();
    for rule in [SHARED, NETWORK, Rule::Sr] {
        for &place in sample.ways(&format!("a cancelled receive, {rule:?}"), &[0, 1, 2]) {
            let seen = check_all(cancelling(place, pairs(rule, 2, 3, LARGE, &[Some(0), None])));
            assert!(seen.writes > 0, "{seen:?}");
        }
    }
}

/// Some program must show the fault.
fn must_fail(fault: Fault, programs: Vec<Program>) {
    let found = programs.into_iter().any(|mut program| {
        program.fault = Some(fault);
        check(&program).is_err()
    });
    assert!(found, "no program shows {fault:?}");
}

#[test]
fn broken_variants_are_found_out() {
    let sr = || pairs(Rule::Sr, 3, 3, LARGE, &[Some(0)]);
    must_fail(Fault::IgnoresFreshness, sr());
    must_fail(Fault::IgnoresSuccession, sr());
    must_fail(Fault::NoticeBeforeBytes, sr());
    must_fail(Fault::ForgetsTheFifo, pairs(NETWORK, 3, 3, LARGE, &[Some(0)]));
    must_fail(Fault::ForgetsTheFifo, pairs(SHARED, 3, 3, LARGE, &[Some(0)]));
    must_fail(Fault::ForgetsTheFence, pairs(SHARED, 3, 3, BOTH, &[Some(0)]));
    must_fail(Fault::ForgetsTheFence, pairs(NETWORK, 3, 3, BOTH, &[Some(0), None]));
    must_fail(Fault::ClaimsAreAlwaysGranted, triples(SHARED, LARGE));
    for rule in [NETWORK, Rule::Sr] {
        must_fail(Fault::CancelsWithoutAsking, cancelling(0, pairs(rule, 2, 2, LARGE, &[Some(0)])));
        must_fail(Fault::RemembersWhatWasWithdrawn, cancelling(0, pairs(rule, 2, 2, LARGE, &[Some(0)])));
    }
    must_fail(Fault::ReceiverDoesNotClaim, pairs(SHARED, 3, 3, LARGE, &[Some(0)]));
}
