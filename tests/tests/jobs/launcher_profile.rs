//! Profiles and traces: that they name who is late, count every byte, and are there after a crash.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use page_check::Browser;
use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;
use serde_json::Value;

use crate::c_support::{Library, sources, text};

const IN_RUST: &str = env!("CARGO_BIN_EXE_launcher-mpi");

/// A folder for what the test of that name writes.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("profiles").join(test);
    fs::create_dir_all(&folder).expect("it can be made");
    folder
}

fn program() -> PathBuf {
    Library::new(Interface::Standard).compile(&sources().join("tools/profiled.c"), &[]).unwrap()
}

/// `mpiexec` with these options, in that folder.
fn run(folder: &Path, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut mpiexec = Command::new(binary("mpiexec"));
    mpiexec.current_dir(folder).args(["--timeout", "60"]).args(options).arg(program).args(arguments);
    mpiexec.output().expect("mpiexec starts")
}

fn json(path: &Path) -> Value {
    let written = fs::read_to_string(path).expect("it was written");
    serde_json::from_str(&written).unwrap_or_else(|error| panic!("{}: {error}\n{written}", path.display()))
}

/// What the profile says of what `rank` has had to do with `other`.
fn peer(profile: &Value, rank: usize, other: usize) -> Value {
    let peers = profile["ranks"][rank]["peers"].as_array().expect("a list");
    peers.iter().find(|peer| peer["rank"] == other).cloned().unwrap_or(Value::Null)
}

fn function(profile: &Value, rank: usize, name: &str) -> Value {
    let functions = profile["ranks"][rank]["functions"].as_array().expect("a list");
    functions.iter().find(|function| function["name"] == name).cloned().unwrap_or(Value::Null)
}

#[test]
fn the_late_sender_is_named_and_every_byte_counted() {
    let folder = folder("late");
    let output = run(&folder, &["-n", "3", "--profile"], &program(), &["late"]);
    assert!(output.status.success(), "{}", text(&output));
    let said = text(&output);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("mpiexec: profile: ")).collect();
    assert!(lines[0].contains("3 ranks"), "{said}");
    // Who waits for rank 1, which waits for rank 0, waits for either, as it happens: it comes down to rank 0.
    assert!(lines[1..3].iter().any(|line| line.contains("Rank 0 holds the others up")), "{said}");
    assert!(lines[2..].iter().any(|line| line.contains("MPI_")), "{said}");
    assert!(said.contains("rwmpi-profile.html"), "{said}");

    let profile = json(&folder.join("rwmpi-profile.json"));
    let sent = |rank, other| {
        [&peer(&profile, rank, other)["messages"], &peer(&profile, rank, other)["bytes"]].map(Value::as_u64)
    };
    assert_eq!(sent(0, 1), [Some(5), Some(2000)]);
    assert_eq!(sent(1, 0), [Some(1), Some(5000)]);
    assert_eq!([sent(0, 2), sent(1, 2), sent(2, 0), sent(2, 1)].iter().flatten().flatten().sum::<u64>(), 0);
    let waited = |rank: usize, other: usize, reason: &str| {
        peer(&profile, rank, other)["waits"][reason]["time"].as_u64().unwrap_or(0)
    };
    assert!(waited(1, 0, "message") > 100_000_000, "{profile:#}");
    assert!(waited(2, 0, "collective") + waited(2, 1, "collective") > 100_000_000, "{profile:#}");
    let receives = function(&profile, 1, "MPI_Recv");
    assert_eq!((receives["calls"].as_u64(), receives["bytes"].as_u64()), (Some(5), Some(2000)));
    assert!(receives["waiting"].as_u64() <= receives["time"].as_u64());
    assert_eq!(function(&profile, 0, "MPI_Send")["calls"], 5);
    let sizes = profile["ranks"][0]["sizes"].as_array().expect("a list");
    assert_eq!(sizes, &[serde_json::json!({"from": 256, "messages": 5, "bytes": 2000})]);
    let collectives = profile["ranks"][2]["collectives"].as_array().expect("a list");
    let reduction = collectives.iter().find(|one| one["function"] == "MPI_Allreduce").expect("it is there");
    assert_eq!(
        (&reduction["calls"], &reduction["bytes"], &reduction["communicator"]),
        (&1.into(), &4.into(), &0.into())
    );

    let page = fs::read_to_string(folder.join("rwmpi-profile.html")).expect("it was written");
    assert!(page.contains("Rank 0 holds the others up") && page.contains("1.95 KiB"), "{page}");
}

/// Pages of few ranks and of many, in a browser.
#[test]
fn the_page_can_be_read() {
    let (folder, program) = (folder("page"), program());
    let page = |ranks: &str| {
        let name = format!("p{ranks}.html");
        let output = run(&folder, &["-n", ranks, &format!("--profile={name}")], &program, &["late"]);
        assert!(output.status.success(), "{}", text(&output));
        folder.join(name)
    };
    let pages = [page("3"), page("26")];
    let Some(browser) = Browser::find() else { return };
    let complaints = browser.complaints(&pages).expect("it shows pages");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_program_in_rust_is_profiled_too() {
    let folder = folder("rust");
    let output = run(&folder, &["-n", "2", "--profile=p.html"], Path::new(IN_RUST), &["traffic"]);
    assert!(output.status.success(), "{}", text(&output));
    let profile = json(&folder.join("p.json"));
    assert_eq!(peer(&profile, 0, 1)["messages"], 10, "{profile:#}");
    assert_eq!(peer(&profile, 0, 1)["bytes"], 80, "{profile:#}");
    assert_eq!(function(&profile, 0, "send")["calls"], 10, "{profile:#}");
    assert_eq!(function(&profile, 1, "receive")["calls"], 10, "{profile:#}");
    assert_eq!(function(&profile, 1, "allreduce")["calls"], 3, "{profile:#}");
    assert_eq!(function(&profile, 1, "gather")["calls"], 1, "{profile:#}");
}

#[test]
fn a_wait_is_a_part_of_what_is_waited_for() {
    let folder = folder("waits");
    let output = run(&folder, &["-n", "2", "--profile=p.html"], Path::new(IN_RUST), &["wait-late"]);
    assert!(output.status.success(), "{}", text(&output));
    let profile = json(&folder.join("p.json"));
    let waited = |name: &str| function(&profile, 1, name)["waiting"].as_u64().unwrap_or(0);
    assert!(waited("receive") > 150_000_000, "{profile:#}");
    assert!(waited("send") < 50_000_000, "{profile:#}");
}

/// The events of a trace of which arrows and times have been looked at: nothing of a rank goes back, and each arrow
/// has two ends in intervals of their ranks.
fn checked_trace(path: &Path) -> Vec<Value> {
    let trace = json(path);
    let events = trace["traceEvents"].as_array().expect("a list").clone();
    let time = |event: &Value, key: &str| (event[key].as_f64().expect("a number") * 1000.0).round() as u64;
    let mut intervals: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let of_rank = intervals.entry(event["tid"].as_u64().expect("a rank")).or_default();
        let (since, lasts) = (time(event, "ts"), time(event, "dur"));
        assert!(of_rank.last().is_none_or(|&(last, _)| last <= since), "times go back: {event}");
        of_rank.push((since, since + lasts));
    }
    let mut ends: HashMap<u64, [usize; 2]> = HashMap::new();
    for event in events.iter().filter(|event| event["ph"] == "s" || event["ph"] == "f") {
        ends.entry(event["id"].as_u64().expect("a number")).or_default()[usize::from(event["ph"] == "f")] += 1;
        let at = time(event, "ts");
        let of_rank = &intervals[&event["tid"].as_u64().expect("a rank")];
        let begun = of_rank.partition_point(|&(since, _)| since <= at);
        // Intervals lie in each other, but not many.
        let is_inside = of_rank[..begun].iter().rev().take(8).any(|&(_, until)| at <= until);
        assert!(is_inside, "an arrow in the air: {event}");
    }
    assert!(ends.values().all(|ends| *ends == [1, 1]), "{ends:?}");
    events
}

fn arrows(events: &[Value]) -> usize {
    events.iter().filter(|event| event["ph"] == "s").count()
}

#[test]
fn a_trace_has_an_arrow_for_each_message() {
    let folder = folder("trace");
    let output = run(&folder, &["-n", "3", "--trace", "t.json"], &program(), &["late"]);
    assert!(output.status.success(), "{}", text(&output));
    let events = checked_trace(&folder.join("t.json"));
    assert_eq!(arrows(&events), 6);
    let has = |name: &str| events.iter().any(|event| event["name"] == name);
    assert!(has("MPI_Recv") && has("MPI_Allreduce") && has("waits for rank 0: messages that it sends late"));
    assert!(!folder.join("rwmpi-profile.html").exists(), "nobody has asked for it");

    let output = run(&folder, &["-n", "2", "--trace", "rust.json"], Path::new(IN_RUST), &["traffic"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(arrows(&checked_trace(&folder.join("rust.json"))), 10);
}

#[test]
fn a_rank_that_is_killed_leaves_its_notes() {
    let folder = folder("killed");
    let output = run(&folder, &["-n", "2", "--trace", "t.json", "--profile=p.html"], &program(), &["killed"]);
    assert!(!output.status.success());
    assert!(text(&output).contains("ranks 0, 1 did not finalize"), "{}", text(&output));
    let events = checked_trace(&folder.join("t.json"));
    assert_eq!(arrows(&events), 1);
    assert!(events.iter().any(|event| event["tid"] == 1 && event["name"] == "MPI_Recv"));
    let open = events.iter().find(|event| event["args"]["unfinished"] == true).expect("rank 0 was in a call");
    assert_eq!((&open["tid"], &open["name"]), (&0.into(), &"MPI_Recv".into()));
    let profile = json(&folder.join("p.json"));
    assert_eq!(peer(&profile, 0, 1)["bytes"], 100);
    let waits = &peer(&profile, 0, 1)["waits"]["message"]["times"];
    assert!(waits.as_u64() > Some(0), "the wait that never ended: {profile:#}");
}

#[test]
fn what_finds_no_room_in_a_trace_is_said() {
    let folder = folder("many");
    let output = run(&folder, &["-n", "2", "--trace", "t.json", "--profile=p.html"], &program(), &["many"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("there is room for the latest only"), "{}", text(&output));
    let events = checked_trace(&folder.join("t.json"));
    assert!(arrows(&events) > 10_000, "{}", arrows(&events));
    assert!(json(&folder.join("t.json"))["otherData"]["cut"].as_u64() > Some(0));
    assert_eq!(peer(&json(&folder.join("p.json")), 0, 1)["messages"], 70_000, "counters are never cut");
}

#[test]
fn threads_that_are_ranks_and_threads_of_a_rank_are_profiled() {
    let folder = folder("threads");
    let library = Library::new(Interface::Mpich);
    let traffic = library.compile(&sources().join("threads_traffic.c"), &[]).unwrap();
    let output = run(&folder, &["-n", "2", "--profile=p.html", "--trace", "t.json"], &traffic, &[]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(peer(&json(&folder.join("p.json")), 0, 1)["messages"].as_u64() > Some(0));

    let options = ["--threads", "2", "-n", "4", "--profile=r.html"];
    let output = run(&folder, &options, Path::new(env!("CARGO_BIN_EXE_threads-mpi")), &["who"]);
    assert!(output.status.success(), "{}", text(&output));
    let ranks = json(&folder.join("r.json"))["ranks"].clone();
    assert!(ranks.as_array().expect("a list").iter().all(|rank| rank["finalized"] == true), "{ranks:#}");
}

/// The ways between hosts and over the network: notes come from each host.
#[test]
fn ranks_of_several_hosts_and_over_the_network_are_profiled() {
    let (folder, program) = (folder("hosts"), program());
    let hosts = ["-hosts", "a,b,c", "--launch-agent", "sh -c 'shift; exec \"$@\"' --", "-n", "3"];
    for (name, options) in [("hosts", &hosts[..]), ("tcp", &["--transport", "tcp", "-n", "3"])] {
        let trace = format!("{name}.json");
        let options = [options, &["--profile=p.html", "--trace", &trace]].concat();
        let output = run(&folder, &options, &program, &["late"]);
        assert!(output.status.success(), "{}", text(&output));
        assert!(text(&output).contains("Rank 0 holds the others up"), "{}", text(&output));
        assert_eq!(peer(&json(&folder.join("p.json")), 1, 0)["bytes"], 5000);
        assert_eq!(arrows(&checked_trace(&folder.join(trace))), 6);
    }
}
