//! `mpi-bench socket-buffers` as a user runs it. Nothing here depends on how fast the machine is.

use serde_json::{Value, json};
use std::process::Command;

#[test]
fn each_buffer_and_the_library_give_each_size_in_both_patterns() {
    let output = Command::new(env!("CARGO_BIN_EXE_mpi-bench"))
        .args(["socket-buffers", "--sizes", "8,3000", "--buffers", "4K,16K", "--seconds", "0.05", "--json", "-"])
        .output()
        .expect("mpi-bench starts");
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words}");
    let figures: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    for pattern in ["ping-pong", "stream"] {
        for bytes in [8, 3000] {
            for (whose, buffer) in [
                ("raw socket", Value::Null),
                ("raw socket", json!(4096)),
                ("raw socket", json!(16384)),
                ("rwmpi", Value::Null),
            ] {
                let variant = format!("{whose}, {pattern}");
                let found = figures.iter().filter(|figure| {
                    figure["variant"] == variant && figure["bytes"] == bytes && figure["buffer_bytes"] == buffer
                });
                assert_eq!(found.count(), 1, "{variant} of {bytes} bytes, buffers {buffer}: {figures:?}");
            }
        }
    }
    assert_eq!(words.matches("raw socket, 16384").count(), 2, "{words}");
}

#[test]
fn buffers_that_cannot_be_had_are_told() {
    let output = Command::new(env!("CARGO_BIN_EXE_mpi-bench"))
        .args(["socket-buffers", "--sizes", "8", "--buffers", "1G", "--seconds", "0.01"])
        .output()
        .expect("mpi-bench starts");
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words}");
    assert!(words.contains("no buffers of 1073741824 bytes"), "{words}");
}
