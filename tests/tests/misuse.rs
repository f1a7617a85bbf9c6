//! What the compiler refuses, and in which words: each file in `misuse/` is a mistake. The library is compiled once
//! more for it, so a usual run does it now and then.

use std::process::Command;

use rwmpi_tests::sample::Sample;

/// The compiler whose words are kept. Others refuse the same, in words that may differ.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_do_not_compile() {
    if !Sample::from_environment().takes("mistakes do not compile", 6) {
        println!("left out of this run's sample");
        return;
    }
    let version = Command::new("rustc").arg("--version").output().expect("rustc starts").stdout;
    if !String::from_utf8_lossy(&version).starts_with(COMPILER) {
        println!("skipped: the words are those of {COMPILER}x");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
