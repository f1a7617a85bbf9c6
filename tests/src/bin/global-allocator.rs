//! A Rust program whose large blocks of memory lie in the shared heap: says whether they do, and sends them around.

use rwmpi::{SharedHeap, op};

#[global_allocator]
static HEAP: SharedHeap = SharedHeap;

const LEN: usize = 1 << 20;

/// Whether the address lies in the job's file: the kernel's word.
fn in_job_file(address: *const u8) -> bool {
    let list = std::fs::read_to_string("/proc/self/maps").expect("there is /proc");
    let number = |text: &str| usize::from_str_radix(text, 16).expect("an address");
    list.lines().filter(|line| line.contains("rwmpi job")).any(|line| {
        let (start, rest) = line.split_once('-').expect("a range");
        let end = rest.split_once(' ').expect("more words").0;
        (number(start)..number(end)).contains(&(address as usize))
    })
}

/// Vectors that grow, shrink and go, in several threads.
fn churn() {
    std::thread::scope(|scope| {
        for thread in 0..3_u64 {
            scope.spawn(move || {
                let mut kept: Vec<Vec<u64>> = Vec::new();
                for step in 0..300_u64 {
                    let mut vector = Vec::new();
                    (0..step * 100).for_each(|value| vector.push(value ^ thread));
                    vector.truncate(vector.len() / 2);
                    vector.shrink_to_fit();
                    kept.push(vector);
                    if step % 7 == 0 {
                        kept.drain(..kept.len() / 2);
                    }
                    let right =
                        |vector: &Vec<u64>| vector.iter().zip(0..).all(|(&found, value)| found == value ^ thread);
                    assert!(kept.last().is_none_or(right) && kept.first().is_none_or(right));
                }
            });
        }
    });
}

fn main() -> rwmpi::Result<()> {
    let early = vec![1_u8; LEN];
    churn();
    let universe = rwmpi::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let previous = (rank + size - 1) % size;
    let zeros = vec![0_u8; 8 * LEN];
    assert!(zeros.iter().all(|&byte| byte == 0));
    let mut received = vec![0_u64; LEN / 8];
    for round in 0..10_u64 {
        let sent = vec![round + rank as u64; LEN / 8];
        rwmpi::scope(|scope| {
            let incoming = world.irecv(scope, &mut received, previous, 5)?;
            world.send(&sent, (rank + 1) % size, 5)?;
            incoming.wait().map(drop)
        })?;
        let expected = round + previous as u64;
        assert!(received.iter().all(|&value| value == expected));
    }
    churn();
    let shared = [early.as_ptr(), zeros.as_ptr()].into_iter().filter(|&block| in_job_file(block)).count();
    assert_eq!(world.allreduce_value(shared as u64, op::sum)?, 2 * size as u64, "blocks in the job's file");
    universe.finalize()
}
