//! How fast datatypes pack, beside loops written for the same layout:
//! `cargo run --release --package rwmpi-core --example packing`.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

use rwmpi_core::datatype::{Basic, Datatype, pack, unpack};
use rwmpi_core::reduction::{Operation, Predefined, reduce_local};

/// Bytes that are packed at a time.
const BYTES: usize = 1 << 20;
const ROUNDS: u32 = 200;

/// The shortest time of several, in seconds.
fn time(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn report(what: &str, ours: f64, loops: f64) {
    let rate = |seconds: f64| BYTES as f64 / seconds / 1e9;
    println!("{what:<44} {:7.2} GB/s, by hand {:7.2} GB/s: {:.2}", rate(ours), rate(loops), loops / ours);
}

/// Blocks of `BLOCK` bytes at every second place.
fn strided<const BLOCK: usize>() {
    let stride = 2 * BLOCK;
    let blocks = BYTES / BLOCK;
    let mut memory = vec![7u8; blocks * stride];
    let mut stream = vec![0u8; BYTES];
    let bytes = Datatype::basic(Basic::Byte);
    let vector = Datatype::vector(blocks as i64, BLOCK as i64, stride as i64, &bytes).expect("a vector");
    let every_second: Vec<i64> = (0..blocks as i64).map(|k| k * stride as i64 + i64::from(k as u8 % 2)).collect();
    let scattered = Datatype::indexed_block(BLOCK as i64, &every_second, &bytes).expect("blocks");
    vector.commit();
    scattered.commit();
    let by_hand = time(|| {
        for (to, from) in stream.chunks_exact_mut(BLOCK).zip(memory.chunks_exact(stride)) {
            to.copy_from_slice(&from[..BLOCK]);
        }
        black_box(&mut stream);
    });
    // SAFETY: the memory has all blocks.
    let packing = time(|| unsafe {
        pack(memory.as_ptr(), 1, &vector, 0, &mut stream);
        black_box(&mut stream);
    });
    report(&format!("pack, blocks of {BLOCK} at every second place"), packing, by_hand);
    // SAFETY: as above.
    let pieces = time(|| unsafe {
        let mut done = 0;
        for piece in stream.chunks_mut(16_000) {
            done += pack(memory.as_ptr(), 1, &vector, done as u64, piece);
        }
        black_box(&mut stream);
    });
    report("pack, the same in pieces of 16000", pieces, by_hand);
    // SAFETY: as above.
    let places = time(|| unsafe {
        pack(memory.as_ptr(), 1, &scattered, 0, &mut stream);
        black_box(&mut stream);
    });
    report(&format!("pack, blocks of {BLOCK} at listed places"), places, by_hand);
    // SAFETY: as above.
    let unpacking = time(|| unsafe {
        unpack(memory.as_mut_ptr(), 1, &vector, 0, &stream);
        black_box(&mut memory);
    });
    let by_hand = time(|| {
        for (from, to) in stream.chunks_exact(BLOCK).zip(memory.chunks_exact_mut(stride)) {
            to[..BLOCK].copy_from_slice(from);
        }
        black_box(&mut memory);
    });
    report(&format!("unpack, blocks of {BLOCK} at every second place"), unpacking, by_hand);
}

/// Structures of an integer and a double, with padding between them.
fn structures() {
    let members = [Datatype::basic(Basic::Int), Datatype::basic(Basic::Double)];
    let structure = Datatype::structure(&[1, 1], &[0, 8], &members).expect("a structure");
    let count = BYTES / 12;
    let memory = vec![7u8; count * 16];
    let mut stream = vec![0u8; BYTES];
    // SAFETY: the memory has all structures.
    let packing = time(|| unsafe {
        pack(memory.as_ptr(), count as u64, &structure, 0, &mut stream);
        black_box(&mut stream);
    });
    let by_hand = time(|| {
        for (to, from) in stream.chunks_exact_mut(12).zip(memory.chunks_exact(16)) {
            to[..4].copy_from_slice(&from[..4]);
            to[4..].copy_from_slice(&from[8..]);
        }
        black_box(&mut stream);
    });
    report("pack, structures of integer and double", packing, by_hand);
}

fn sums() {
    let doubles = Datatype::basic(Basic::Double);
    let sum = Operation::Predefined(Predefined::Sum);
    let count = BYTES / 8;
    let (from, mut inout) = (vec![1.0f64; count], vec![2.0f64; count]);
    // SAFETY: both have as many elements.
    let ours = time(|| unsafe {
        let done = reduce_local(&sum, from.as_ptr().cast(), inout.as_mut_ptr().cast(), count as u64, &doubles);
        done.expect("a sum of doubles");
        black_box(&mut inout);
    });
    let by_hand = time(|| {
        inout.iter_mut().zip(&from).for_each(|(kept, other)| *kept += other);
        black_box(&mut inout);
    });
    report("sum of doubles", ours, by_hand);
}

fn main() {
    strided::<4>();
    strided::<8>();
    strided::<16>();
    strided::<40>();
    strided::<256>();
    structures();
    sums();
}
