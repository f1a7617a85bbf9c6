//! The benchmarks on several ranks, which are threads here.

use crate::{Benchmark, BenchmarkResult, Class, Options};
use rwmpi::Protocol;

/// Rank 0's result; all ranks' verdicts are the same.
fn run(benchmark: Benchmark, class: Class, ranks: usize, protocol: Protocol, options: Options) -> BenchmarkResult {
    let results = rwmpi::run_threads(ranks, protocol, |universe| {
        benchmark.run(universe.world(), universe, class, &options).unwrap()
    });
    let mut results = results.unwrap();
    assert!(results.iter().all(|result| result.verified == results[0].verified));
    results.swap_remove(0)
}

fn assert_verified(benchmark: Benchmark, class: Class, ranks: &[usize]) {
    for &ranks in ranks {
        let result = run(benchmark, class, ranks, Protocol::Auto, Options::default());
        assert!(result.verified, "{ranks} ranks: {result}");
    }
}

fn assert_corruption_noticed(benchmark: Benchmark) {
    for ranks in [1, 2] {
        let result = run(benchmark, Class::S, ranks, Protocol::Auto, Options { corrupt: true, ..Options::default() });
        assert!(!result.verified, "{ranks} ranks: {result}");
    }
}

#[test]
fn ep_is_right_on_any_number_of_ranks() {
    assert_verified(Benchmark::Ep, Class::S, &[1, 2, 3, 7]);
}

#[test]
fn is_is_right_on_any_power_of_two() {
    assert_verified(Benchmark::Is, Class::S, &[1, 2, 4, 8, 16, 128]);
    assert_verified(Benchmark::Is, Class::W, &[4]);
}

#[test]
fn cg_is_right_on_any_power_of_two() {
    assert_verified(Benchmark::Cg, Class::S, &[1, 2, 4, 8, 16]);
}

#[test]
fn mg_is_right_on_any_power_of_two() {
    assert_verified(Benchmark::Mg, Class::S, &[1, 2, 4, 8, 16, 64]);
    assert_verified(Benchmark::Mg, Class::W, &[4]);
}

#[test]
fn every_protocol_gives_the_same() {
    for protocol in [Protocol::Sr, Protocol::Nsr] {
        for benchmark in [Benchmark::Is, Benchmark::Cg, Benchmark::Mg] {
            let result = run(benchmark, Class::S, 4, protocol, Options::default());
            assert!(result.verified && result.protocol == protocol.name(), "{result}");
        }
    }
}

#[test]
fn mg_is_right_when_it_does_not_name_its_sources() {
    let any_source = Options { any_source: true, ..Options::default() };
    for protocol in [Protocol::Sr, Protocol::Nsr, Protocol::Auto] {
        let result = run(Benchmark::Mg, Class::S, 8, protocol, any_source);
        assert!(result.verified, "{result}");
    }
}

#[test]
fn a_falsified_value_fails_the_verification() {
    [Benchmark::Ep, Benchmark::Is, Benchmark::Cg, Benchmark::Mg].into_iter().for_each(assert_corruption_noticed);
}

/// The traffic that the definition prescribes for the timed section: what rank 0 sends.
#[test]
fn messages_are_those_of_the_definition() {
    let sent = |benchmark, ranks| {
        let result = run(benchmark, Class::S, ranks, Protocol::Auto, Options::default());
        let messages: u64 = result.communication[0].iter().map(|pair| pair.messages).sum();
        let bytes: u64 = result.communication[0].iter().map(|pair| pair.bytes).sum();
        (messages, bytes)
    };
    // 15 iterations, in each 26 products with a row sum of 5600 bytes and a transpose of as many, 52 sums of a number and
    // one of two.
    assert_eq!(sent(Benchmark::Cg, 2), (15 * (26 * 2 + 52 + 1), 15 * (26 * 2 * 5600 + 52 * 8 + 16)));
    // 57 exchanges of six layers, and what the allreduces of the norms take.
    let (messages, _) = sent(Benchmark::Mg, 2);
    assert!((57 * 6..57 * 6 + 16).contains(&messages), "{messages}");
}
