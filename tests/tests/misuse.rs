//! What the compiler refuses, and in which words: each file in `misuse/` is a mistake.

use std::process::Command;

/// The compiler whose words are kept. Others refuse the same, in words that may differ.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_do_not_compile() {
    let version = Command::new("rustc").arg("--version").output().expect("rustc starts").stdout;
    if !String::from_utf8_lossy(&version).starts_with(COMPILER) {
        println!("skipped: the words are those of {COMPILER}x");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
