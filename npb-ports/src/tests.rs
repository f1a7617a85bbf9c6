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
    // SP and BT take square numbers.
    let several = if benchmark.check_process_count(Class::S, 2).is_ok() { 2 } else { 4 };
    for ranks in [1, several] {
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
fn ft_is_right_on_any_power_of_two() {
    // With more ranks than planes, planes are divided too.
    assert_verified(Benchmark::Ft, Class::S, &[1, 2, 4, 8, 128]);
}

#[test]
fn lu_is_right_on_any_grid() {
    assert_verified(Benchmark::Lu, Class::S, &[1, 2, 4, 6, 9, 16]);
}

#[test]
fn sp_and_bt_are_right_on_any_square() {
    for benchmark in [Benchmark::Sp, Benchmark::Bt] {
        assert_verified(benchmark, Class::S, &[1, 4, 9]);
    }
}

#[test]
fn one_rank_sends_no_message() {
    for benchmark in [Benchmark::Sp, Benchmark::Bt] {
        let result = run(benchmark, Class::S, 1, Protocol::Auto, Options::default());
        assert_eq!(result.traffic.messages, 0, "{benchmark}");
    }
}

#[test]
fn every_protocol_gives_the_same() {
    for protocol in [Protocol::Sr, Protocol::Nsr] {
        for benchmark in Benchmark::ALL {
            let result = run(benchmark, Class::S, 4, protocol, Options::default());
            assert!(result.verified && result.protocol == protocol.name(), "{result}");
        }
    }
}

#[test]
fn mg_and_lu_are_right_when_they_do_not_name_their_sources() {
    let any_source = Options { any_source: true, ..Options::default() };
    for protocol in [Protocol::Sr, Protocol::Nsr, Protocol::Auto] {
        for (benchmark, ranks) in [(Benchmark::Mg, 8), (Benchmark::Lu, 9)] {
            let result = run(benchmark, Class::S, ranks, protocol, any_source);
            assert!(result.verified, "{result}");
        }
    }
}

#[test]
fn is_and_mg_are_right_without_messages() {
    let one_sided = Options { one_sided: true, ..Options::default() };
    for benchmark in [Benchmark::Is, Benchmark::Mg] {
        for ranks in [1, 2, 4, 8, 16] {
            let result = run(benchmark, Class::S, ranks, Protocol::Auto, one_sided);
            assert!(result.verified, "{ranks} ranks: {result}");
        }
        let result = run(benchmark, Class::S, 4, Protocol::Auto, Options { corrupt: true, ..one_sided });
        assert!(!result.verified, "{result}");
        let [sent, put] = [Options::default(), one_sided].map(|options| {
            let result = run(benchmark, Class::W, 4, Protocol::Auto, options);
            assert!(result.verified, "{result}");
            result.traffic.bytes
        });
        // What is left are sums and exchanges of a few numbers.
        assert!(put < sent / 10, "{benchmark}: {put} bytes in messages instead of {sent}");
    }
}

/// How many of all bytes were written straight into a receiver's buffer, in percent.
fn availability(benchmark: Benchmark, ranks: usize) -> u64 {
    let result = run(benchmark, Class::S, ranks, Protocol::Sr, Options::default());
    100 * result.traffic.remote_write_bytes / result.traffic.bytes
}

/// However the ranks are scheduled: every receive is posted before its message can be sent.
#[test]
fn sp_and_bt_have_nearly_all_messages_written_in_sr() {
    for benchmark in [Benchmark::Sp, Benchmark::Bt] {
        let percent = availability(benchmark, 4);
        assert!(percent >= 95, "{benchmark}: {percent} %");
    }
}

#[test]
fn a_falsified_value_fails_the_verification() {
    Benchmark::ALL.into_iter().for_each(assert_corruption_noticed);
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
    // 15 iterations, in each 26 products with a row sum of 5600 bytes and a transpose of as many, 52 sums of a number
    // and one of two.
    assert_eq!(sent(Benchmark::Cg, 2), (15 * (26 * 2 + 52 + 1), 15 * (26 * 2 * 5600 + 52 * 8 + 16)));
    // 57 exchanges of six layers, and what the allreduces of the norms take.
    let (messages, _) = sent(Benchmark::Mg, 2);
    assert!((57 * 6..57 * 6 + 16).contains(&messages), "{messages}");
    // In each of 60 steps, six faces and, along three axes, one message forward and one back; SP takes 100 steps.
    assert_eq!(sent(Benchmark::Bt, 4), (60 * 12, 60 * (6 * 2880 + 3 * 11760 + 3 * 1960)));
    assert_eq!(sent(Benchmark::Sp, 4), (100 * 12, 100 * (6 * 2880 + 3 * 4400 + 3 * 2000)));
}
