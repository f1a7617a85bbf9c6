//! An MPI program that goes well or wrong as its argument says.

use rustix::process::{Pid, Signal, getpid, kill_process};
use rwmpi::{ANY_SOURCE, Command, Communicator, Port, Universe, op};
use std::fs::File;
use std::io::Read;
use std::process::exit;
use std::sync::mpsc::channel;
use std::thread::spawn;
use std::time::Duration;

fn main() -> rwmpi::Result<()> {
    let behaviour = std::env::args().nth(1).unwrap_or_default();
    let universe = rwmpi::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let sum = world.allreduce_value(rank as u64, op::sum)?;
    println!("rank {rank} of {size}: sum {sum}");
    let mut buffer = [0_u8; 16];
    match behaviour.as_str() {
        "succeed" => return universe.finalize(),
        "exchange" => {
            exchange(world)?;
            println!("rank {rank}: all in order");
            return universe.finalize();
        }
        "traffic" => {
            send_ten(world)?;
            return universe.finalize();
        }
        "wait-late" => {
            wait_for_late_ones(world)?;
            return universe.finalize();
        }
        "seldom" => {
            meet_seldom(world)?;
            println!("rank {rank}: all in order");
            return universe.finalize();
        }
        "write-to-stopped" => {
            write_to_stopped(world)?;
            println!("rank {rank}: all in order");
            return universe.finalize();
        }
        "spawn" => return spawn_others(universe),
        "spawned" => return be_spawned(universe),
        "meet" => return meet_itself(universe),
        "return" if rank == 1 => return Ok(()),
        "drop" if rank == 1 => {
            drop(universe);
            std::thread::sleep(std::time::Duration::from_secs(100));
            return Ok(());
        }
        "finalize" if rank == 1 => return universe.finalize(),
        "drop" | "finalize" => world.barrier()?,
        "join-twice" => return join_twice(universe),
        "leave" if rank == 1 => exit(0),
        "stop-and-leave" if rank == 1 => {
            kill_process(getpid(), Signal::STOP).expect("itself");
            exit(0)
        }
        "abort" if rank == 1 => universe.abort(3, "the input makes no sense"),
        "panic" if rank == 1 => panic!("a bug"),
        "die" if rank == 1 => std::process::abort(),
        "wait-in-cycle" => rwmpi::scope(|scope| {
            let incoming = world.irecv(scope, &mut buffer, (rank + 1) % size, 5)?;
            world.send(&[1_u8], (rank + 1) % size, 6)?;
            incoming.wait().map(drop)
        })?,
        "busy" if rank == 0 => _ = world.recv(&mut buffer, 1, 3)?,
        "busy" => std::thread::sleep(std::time::Duration::from_secs(100)),
        "cycle" => _ = world.recv(&mut buffer, (rank + 1) % size, 7)?,
        _ if rank == 0 => _ = world.recv(&mut buffer, ANY_SOURCE, 9)?,
        _ => world.barrier()?,
    }
    Ok(())
}

/// Rank 1 starts a receive, sends, and waits for what rank 0 sends late; then once more, for the first of several.
fn wait_for_late_ones(world: &Communicator) -> rwmpi::Result<()> {
    for round in 0..2 {
        match world.rank() {
            0 => {
                std::thread::sleep(Duration::from_millis(100));
                world.send_value(&1_u64, 1, 1)?;
                world.recv_value::<u64>(1, 2)?;
            }
            1 => {
                let incoming = world.irecv_value::<u64>(0, 1)?;
                world.send_value(&2_u64, 0, 2)?;
                match round {
                    0 => _ = incoming.wait()?,
                    _ => _ = rwmpi::wait_any(&mut vec![incoming])?,
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Ten messages of eight bytes, and two reductions.
fn send_ten(world: &Communicator) -> rwmpi::Result<()> {
    for _ in 0..10 {
        match world.rank() {
            0 => world.send(&[1_u64], 1, 7)?,
            1 => _ = world.recv(&mut [0_u64], 0, 7)?,
            _ => {}
        }
    }
    for _ in 0..2 {
        world.allreduce(&[1_u64], &mut [0], op::sum)?;
    }
    world.gather_values(&"a value".to_owned(), 0)?;
    Ok(())
}

/// What the environment names is taken once: what has its number by then is the program's.
fn join_twice(universe: rwmpi::Universe) -> rwmpi::Result<()> {
    let refusal = rwmpi::init().err().expect("it has joined").to_string();
    assert!(refusal.contains("has joined its job already"), "{refusal}");
    universe.world().barrier()?;
    universe.finalize()?;
    let files: Vec<File> = (0..8).map(|_| File::open("/dev/null").expect("it can be opened")).collect();
    assert!(rwmpi::init().is_err());
    assert!(files.iter().all(|file| file.metadata().is_ok()));
    println!("it says: {refusal}");
    Ok(())
}

/// Sends round, and checks, messages of many lengths until rank 0's standard input is at its end.
fn exchange(world: &Communicator) -> rwmpi::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (end, ended) = channel();
    if rank == 0 {
        spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = end.send(());
        });
    }
    for round in 0_usize.. {
        let len = [0, 1, 40, 5_000, 60_000, 300_000][round % 6];
        let word = |from: usize, index: usize| (round * 31 + from * 7 + index) as u8;
        let mine: Vec<u8> = (0..len).map(|index| word(rank, index)).collect();
        let mut theirs = vec![0_u8; len];
        let from = (rank + size - 1) % size;
        rwmpi::scope(|scope| {
            let incoming = world.irecv(scope, &mut theirs, from, 1)?;
            world.send(&mine, (rank + 1) % size, 1)?;
            incoming.wait().map(drop)
        })?;
        assert!(theirs.iter().enumerate().all(|(index, &byte)| byte == word(from, index)), "round {round}");
        if world.allreduce_value(u64::from(ended.try_recv().is_ok()), op::sum)? > 0 {
            break;
        }
    }
    Ok(())
}

/// Calls MPI once in a while only, and meets another rank each time.
fn meet_seldom(world: &Communicator) -> rwmpi::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for distance in 1..size {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let mut from = [0; 1];
        world.sendrecv(&[rank], (rank + distance) % size, 1, &mut from, (rank + size - distance) % size, 1)?;
        assert_eq!(from[0], (rank + size - distance) % size);
    }
    Ok(())
}

/// More than sockets take.
const MUCH: usize = 48 << 20;

/// Rank 1 stops itself when it has asked rank 0 for a long message; rank 0 wakes it only when it has heard from rank 2.
/// Who were kept by the write would wait for ever.
fn write_to_stopped(world: &Communicator) -> rwmpi::Result<()> {
    for announced in [false, true] {
        let message: Vec<u32> = (0..MUCH as u32 / 4).collect();
        let mut received = vec![0_u32; message.len()];
        rwmpi::scope(|scope| match world.rank() {
            0 => {
                let early = announced.then(|| world.isend(scope, &message, 1, 1)).transpose()?;
                world.send(&[1_u8], 1, 2)?;
                let pid: i32 = world.recv_value(1, 3)?.0;
                let stopped = format!("/proc/{pid}/stat");
                while !std::fs::read_to_string(&stopped).is_ok_and(|stat| stat.contains(") T ")) {
                    std::thread::yield_now();
                }
                let sending = early.map_or_else(|| world.isend(scope, &message, 1, 1), Ok)?;
                world.send(&[1_u8], 2, 4)?;
                world.recv(&mut [0_u8], 2, 4)?;
                kill_process(Pid::from_raw(pid).expect("a process"), Signal::CONT).expect("a rank");
                sending.wait().map(drop)
            }
            1 => {
                world.recv(&mut [0_u8], 0, 2)?;
                let receiving = world.irecv(scope, &mut received, 0, 1)?;
                world.send_value(&getpid().as_raw_nonzero().get(), 0, 3)?;
                kill_process(getpid(), Signal::STOP).expect("itself");
                receiving.wait().map(drop)
            }
            _ => {
                world.recv(&mut [0_u8], 0, 4)?;
                world.send(&[1_u8], 0, 4)
            }
        })?;
        assert!(world.rank() != 1 || received == message);
    }
    Ok(())
}

/// Has this program started as further ranks, of which only an even number will do, and exchanges numbers with them.
fn spawn_others(universe: Universe) -> rwmpi::Result<()> {
    let world = universe.world();
    let myself = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
    let command = Command::new(myself).arguments(["spawned"]).ranks(3).environment("WORD_OF_PARENTS", "well met");
    let children = command.directory("/").hint("soft", "2:8:2").spawn(&universe, world, 0)?;
    assert!(children.is_inter() && children.remote_size() == Some(2));
    if world.rank() == 0 {
        for child in 0..2 {
            children.send(&[child as u64 + 10], child, 1)?;
        }
    }
    let all = children.merge(false)?;
    let sum = all.allreduce_value(1_u64, op::sum)?;
    println!("rank {} counts {sum}", world.rank());
    children.disconnect()?;
    drop(all);
    assert!(Command::new("/no/such/program").spawn(&universe, world, 0).is_err());
    universe.finalize()
}

/// One of those.
fn be_spawned(universe: Universe) -> rwmpi::Result<()> {
    let world = universe.world();
    let parents = universe.parents().expect("this rank was spawned").clone();
    let mut number = [0_u64];
    parents.recv(&mut number, 0, 1)?;
    let word = std::env::var("WORD_OF_PARENTS").unwrap_or_default();
    let here = std::env::current_dir().expect("a directory");
    println!("child {} of {}: {number:?}, {word}, in {}", world.rank(), world.size(), here.display());
    let all = parents.merge(true)?;
    all.allreduce_value(1_u64, op::sum)?;
    parents.disconnect()?;
    drop(all);
    universe.finalize()
}

/// The first rank accepts the others at a port.
fn meet_itself(universe: Universe) -> rwmpi::Result<()> {
    let world = universe.world();
    let service = format!("rwmpi-test-{}", world.bcast_value(std::process::id(), 0)?);
    let half = world.split(Some(u32::from(world.rank() > 0)), 0)?.expect("all have a colour");
    let met = if world.rank() == 0 {
        let port = Port::open(&universe)?;
        universe.publish(&service, port.name())?;
        world.barrier()?;
        let met = Port::accept(Some(&port), &universe, &half, 0)?;
        universe.unpublish(&service)?;
        met
    } else {
        world.barrier()?;
        let name = universe.look_up(&service)?;
        Port::connect(Some(&name), &universe, &half, 0, Some(Duration::from_secs(60)))?
    };
    println!("rank {} meets {:?}", world.rank(), met.remote_size());
    met.disconnect()?;
    assert!(Port::connect(Some("nowhere"), &universe, &half, 0, Some(Duration::from_secs(60))).is_err());
    universe.finalize()
}
