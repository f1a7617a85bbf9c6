//! The launcher as a library: from threads, captured, and by programs that start themselves.

use crate::launcher_support::{PEER, mpiexec};
use rwmpi_launcher::{Binding, JobSpec, LaunchError, Output, Section};
use std::thread;
use std::time::Duration;

fn shell(ranks: usize, script: &str) -> JobSpec {
    JobSpec::new(Section::new("sh").arguments(["-c", script]).ranks(ranks))
        .output(Output::Capture)
        .binding(Binding::None)
}

#[test]
fn output_is_captured() {
    let outcome = shell(3, "echo out $RWMPI_RANK; echo err $RWMPI_RANK >&2; read line || echo no input").run().unwrap();
    assert_eq!((outcome.exit_code, outcome.report), (0, None));
    assert_eq!(outcome.stdout, "out 0\nno input\n");
    assert_eq!(outcome.stderr.lines().count(), 3);
}

#[test]
fn jobs_run_at_the_same_time_from_several_threads() {
    let job = |code: usize| {
        // Rank 1 is ended by the launcher, which has to know whose it is.
        let script = format!("if [ $RWMPI_RANK = 1 ]; then exec sleep 100; fi; echo {code}; exit {code}");
        thread::spawn(move || shell(2, &script).run().unwrap())
    };
    let jobs: Vec<_> = (1..=4).map(|code| (code, job(code))).collect();
    for (code, job) in jobs {
        let outcome = job.join().unwrap();
        assert_eq!(usize::from(outcome.exit_code), code);
        assert_eq!(outcome.stdout, format!("{code}\n"));
    }
}

#[test]
fn failures_are_values() {
    let outcome = shell(2, "kill -SEGV $$").timeout(Duration::from_secs(20)).run().unwrap();
    assert_eq!(outcome.exit_code, 139);
    assert!(outcome.report.unwrap().contains("SIGSEGV"));
    let missing = JobSpec::new(Section::new("no-such-program")).run();
    assert!(matches!(missing, Err(LaunchError::NotFound { .. })));
}

#[test]
fn what_a_rank_was_doing_is_said_in_the_callers_words() {
    let peers = JobSpec::new(Section::new(PEER).arguments(["die", "1"]).ranks(2)).output(Output::Capture);
    let outcome = peers.describe_activity(|words| Some(format!("thinking about {}", words[0]))).run().unwrap();
    assert!(outcome.report.unwrap().contains("last call: thinking about 0\n"));
}

#[test]
fn a_program_starts_itself() {
    let finished = mpiexec(["true"]).command(|command| {
        let environment: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
        *command = std::process::Command::new(env!("CARGO_BIN_EXE_launcher-self-start"));
        command
            .arg("argument")
            .envs(environment)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
    });
    let finished = finished.run();
    assert!(finished.stdout.contains("rank 2 of 3 with argument\n"), "{finished:?}");
    finished.assert_report(17, &["rank 2", "exited with code 17"]);
}
