//! Running other programs: shown before they start, and named when they fail.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write, pipe};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::report::TestCounts;

/// The command as one would type it, environment included.
pub fn displayed(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        value.map(|value| format!("{}={}", name.to_string_lossy(), quoted(&value.to_string_lossy())))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    variables.chain(words.map(|word| quoted(&word.to_string_lossy()))).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    // It refuses only what no argument contains: a byte 0.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Cow::into_owned)
}

/// Runs `command`, its output going where ours goes.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = displayed(command);
    println!("$ {shown}");
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot run `{shown}`"))?;
    ensure!(status.success(), "`{shown}` failed: {status}");
    Ok(())
}

/// Starts `command`, which runs beside what comes next.
pub fn start(command: &mut Command) -> Result<Child> {
    let shown = displayed(command);
    println!("$ {shown} &");
    command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot run `{shown}`"))
}

/// As [`run`], and keeps what the command writes to standard output, besides showing it.
pub fn run_and_keep(command: &mut Command) -> Result<String> {
    let shown = displayed(command);
    println!("$ {shown}");
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run `{shown}`"))?;
    ensure!(output.status.success(), "`{shown}` failed: {}", output.status);
    let text = String::from_utf8(output.stdout).with_context(|| format!("`{shown}` wrote bytes that are not text"))?;
    print!("{text}");
    Ok(text)
}

/// Runs tests: as [`run`], and counts them from the closing lines of their runners.
///
/// That no test ran is a failure too: a filter or a feature that selects nothing must not look like success.
pub fn run_tests(command: &mut Command) -> (TestCounts, Result<()>) {
    let (counts, result) = run_tests_if_any(command);
    (counts, result.and_then(|()| some_ran(command, &counts)))
}

fn some_ran(command: &Command, counts: &TestCounts) -> Result<()> {
    ensure!(counts.passed > 0, "`{}` ran no test", displayed(command));
    Ok(())
}

/// As [`run_tests`], where there may be none.
pub fn run_tests_if_any(command: &mut Command) -> (TestCounts, Result<()>) {
    println!("$ {}", displayed(command));
    let mut counts = TestCounts::default();
    let result = count_tests(command, &mut counts, &mut std::io::stdout());
    (counts, result)
}

fn count_tests(command: &mut Command, counts: &mut TestCounts, output: &mut impl Write) -> Result<()> {
    let shown = displayed(command);
    let (reader, writer) = pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot run `{shown}`"))?;
    // The command holds the pipe's writing end until it is told to let go, and the loop below would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut line = Vec::new();
    let mut reader = BufReader::new(reader);
    while reader.read_until(b'\n', &mut line)? > 0 {
        output.write_all(&line)?;
        counts.read_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{shown}` failed: {status}");
    Ok(())
}

/// Whether `program` can be started and says that all is well.
pub fn works(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("cargo");
        command.args(["test", "--", "a b"]).env("RUSTFLAGS", "--cfg loom");
        assert_eq!(displayed(&command), "RUSTFLAGS='--cfg loom' cargo test -- 'a b'");
    }

    fn counted(script: &str) -> (TestCounts, Result<()>) {
        let (mut counts, mut output) = (TestCounts::default(), Vec::new());
        let mut command = Command::new("sh");
        let result = count_tests(command.args(["-c", script]), &mut counts, &mut output);
        (counts, result.and_then(|()| some_ran(&command, &counts)))
    }

    #[test]
    fn tests_are_counted_and_none_is_a_failure() {
        let (counts, result) = counted("echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured' >&2");
        assert!(result.is_ok());
        assert_eq!(counts, TestCounts { passed: 3, failed: 0, skipped: 1 });

        let (_, result) = counted("echo nothing");
        assert!(result.unwrap_err().to_string().contains("ran no test"));
    }

    #[test]
    fn failure_names_the_command() {
        let (_, result) = counted("exit 3");
        assert!(result.unwrap_err().to_string().starts_with("`sh -c 'exit 3'` failed"));
    }
}
