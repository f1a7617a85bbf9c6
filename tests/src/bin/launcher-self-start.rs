//! A program that makes itself a job of three ranks, the last of which fails.

use rwmpi_launcher::launch;
use std::env::{args, var};

fn main() {
    let code = launch(3, || {
        let rank = var("RWMPI_RANK").unwrap();
        println!("rank {rank} of {} with {}", var("RWMPI_SIZE").unwrap(), args().nth(1).unwrap());
        // The others are done well before, so that their output is not cut off.
        if rank == "2" {
            std::thread::sleep(std::time::Duration::from_millis(500));
            17
        } else {
            0
        }
    });
    std::process::exit(code);
}
