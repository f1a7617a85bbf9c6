//! A rank that joins its job and then behaves, or misbehaves, as its arguments say. Below the MPI layer, so that what
//! the launcher makes of it does not depend on that layer.
//!
//! `launcher-peer BEHAVIOUR RANK`: the rank of that number behaves so; the others wait for ever, publishing what they
//! do.

use rustix::process::Signal as ProcessSignal;
use rwmpi_transport::{Backoff, Fabric, NodeFabric, RANK, Waiting};
use std::env;
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let behaviour = arguments[0].as_str();
    let chosen = env::var(RANK).is_ok_and(|rank| arguments.get(1) == Some(&rank));
    if behaviour == "stay-away" && chosen {
        return;
    }
    let mut fabric = match NodeFabric::from_environment() {
        Ok(fabric) => fabric.expect("started by the launcher"),
        Err(error) => {
            eprintln!("{error}");
            exit(9);
        }
    };
    println!("rank {} of {} joined", fabric.me(), fabric.peers());
    if behaviour == "succeed" {
        fabric.finish();
        return;
    }
    if chosen {
        // Let the others settle in their wait.
        sleep(Duration::from_millis(100));
        behave(behaviour, &mut fabric);
    }
    let mut backoff = Backoff::default();
    loop {
        fabric.idle(&mut backoff);
    }
}

fn behave(behaviour: &str, fabric: &mut NodeFabric) {
    match behaviour {
        "leave" => exit(0),
        "fail" => exit(7),
        "finish-and-fail" => {
            fabric.finish();
            exit(6);
        }
        "abort" => {
            fabric.abort(5, "the matrix is singular");
            exit(5);
        }
        "abort-and-hang" => fabric.abort(4, "stop all of it"),
        "die" => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), ProcessSignal::KILL);
        }
        "hold" => {}
        other => panic!("no such behaviour: {other}"),
    }
}
