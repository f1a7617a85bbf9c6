//! Slices of derived plain data: with and without padding, checked and unchecked, by every kind of call.

use std::mem::offset_of;

use rwmpi::datatype::{self, Basic};
use rwmpi::{ANY_SOURCE, ANY_TAG, Datatype, ErrorClass, Plain, Result, Universe, scope};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("padded_elements_arrive_whole", padded_elements_arrive_whole),
    ("padding_never_travels", padding_never_travels),
    ("elements_of_an_enum_arrive", elements_of_an_enum_arrive),
    ("what_is_no_value_is_refused", what_is_no_value_is_refused),
    ("requests_unpack_what_arrives", requests_unpack_what_arrives),
    ("persistent_requests_pack_at_every_start", persistent_requests_pack_at_every_start),
    ("collectives_move_padded_elements", collectives_move_padded_elements),
    ("reductions_combine_padded_elements", reductions_combine_padded_elements),
];

/// With padding behind `flag` and `count`, and values that not all bits are.
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Sample {
    flag: bool,
    position: [f64; 2],
    count: u16,
    pair: (u8, i32),
}

/// The same in the memory's own form.
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Point<T> {
    x: T,
    y: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
enum Shape {
    Nothing,
    Circle { center: Point<f32>, radius: f64 },
    Letter(char, bool),
}

fn sample(rank: usize, place: usize) -> Sample {
    let number = rank * 1000 + place;
    let position = [number as f64, -0.5 * number as f64];
    Sample { flag: place.is_multiple_of(3), position, count: place as u16, pair: (rank as u8, -(place as i32)) }
}

fn samples(rank: usize, len: usize) -> Vec<Sample> {
    (0..len).map(|place| sample(rank, place)).collect()
}

const LENGTHS: [usize; 5] = [0, 1, 3, 100, 5000];

fn padded_elements_arrive_whole(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for len in LENGTHS {
        let mut received = samples(99, len + 1);
        let status = world.sendrecv(&samples(rank, len), right, 5, &mut received, left, 5)?;
        assert_eq!(received[..len], samples(left, len));
        assert_eq!(received[len], sample(99, len), "what is behind the message stays as it is");
        assert_eq!((status.count::<Sample>(), status.bytes()), (Some(len), (len * Sample::SIZE) as u64));
    }
    Ok(())
}

/// The bytes that travel are those of MPI's datatype of the same structure, packed; `Point` travels as it lies there.
fn padding_never_travels(universe: &Universe) -> Result<()> {
    let me = universe.this_rank();
    let block = |length, offset: usize, basic| (length, offset as i64, datatype::Datatype::basic(basic));
    let pair = offset_of!(Sample, pair);
    let blocks = [
        block(1, offset_of!(Sample, flag), Basic::CBool),
        block(2, offset_of!(Sample, position), Basic::Double),
        block(1, offset_of!(Sample, count), Basic::Uint16),
        block(1, pair + offset_of!((u8, i32), 0), Basic::Uint8),
        block(1, pair + offset_of!((u8, i32), 1), Basic::Int32),
    ];
    let (lengths, places, types) =
        (blocks.each_ref().map(|b| b.0), blocks.each_ref().map(|b| b.1), blocks.map(|b| b.2));
    let structure = datatype::Datatype::structure(&lengths, &places, &types)?;
    assert_eq!(structure.size(), Sample::SIZE as u64);
    let sent = samples(7, 1)[0];
    let mut bytes = [0xaa; size_of::<Sample>()];
    let received = scope(|s| {
        let request = me.isend(s, std::slice::from_ref(&sent), 0, 1)?;
        let status = me.recv(&mut bytes, 0, 1)?;
        request.wait()?;
        Ok(status.bytes() as usize)
    })?;
    let mut expected = Vec::new();
    expected.push(u8::from(sent.flag));
    sent.position.iter().for_each(|number| expected.extend(number.to_ne_bytes()));
    expected.extend(sent.count.to_ne_bytes());
    expected.push(sent.pair.0);
    expected.extend(sent.pair.1.to_ne_bytes());
    assert_eq!(bytes[..received], expected);
    assert!(received == Sample::SIZE && received < size_of::<Sample>(), "{received} bytes");

    const { assert!(Point::<f64>::DIRECT && <[Point<f32>; 3]>::DIRECT && !Sample::DIRECT && !<(u8, u32)>::DIRECT) };
    const { assert!(<(f64, u32, u32)>::DIRECT && !<(u32, f64)>::DIRECT) };
    Ok(())
}

fn elements_of_an_enum_arrive(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let circle = Shape::Circle { center: Point { x: 1.0, y: -2.0 }, radius: 0.5 };
    let shapes = [Shape::Nothing, circle, Shape::Letter('ß', true)];
    assert_eq!(Shape::SIZE, 1 + 16);
    let mut received = [Shape::Nothing; 3];
    if world.rank() == 0 {
        received = shapes;
    }
    world.bcast(&mut received, 0)?;
    assert_eq!(received, shapes);
    Ok(())
}

fn what_is_no_value_is_refused(universe: &Universe) -> Result<()> {
    let me = universe.this_rank();
    let mut flags = [true; 4];
    let error = me.sendrecv(&[0_u8, 0, 2, 0], 0, 3, &mut flags, 0, 3).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Datatype, "{error}");
    assert!(error.to_string().contains("element 2 of the buffer is no bool"), "{error}");
    assert_eq!(flags, [false, false, true, true]);
    let error = me.sendrecv(&[77_u8; 17], 0, 3, &mut [Shape::Nothing], 0, 3).unwrap_err();
    assert!(error.to_string().contains("Shape"), "{error}");
    // Half an element is none.
    let error = me.sendrecv(&[98_u8, 0, 0, 0, 99, 0], 0, 3, &mut ['a'; 2], 0, 3).unwrap_err();
    assert!(error.to_string().contains("no whole number of char"), "{error}");
    Ok(())
}

fn requests_unpack_what_arrives(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for len in LENGTHS {
        let sent = samples(rank, len);
        let mut received = [samples(98, len), samples(98, len)];
        let mut never = [sample(97, 1)];
        let [first, second] = &mut received;
        let (statuses, cancelled) = scope(|s| {
            let mut waiting = world.irecv(s, &mut never, ANY_SOURCE, 99)?;
            let requests = vec![
                world.irecv(s, first, left, 5)?,
                world.irecv(s, second, left, ANY_TAG)?,
                world.synchronous_isend(s, &sent, right, 5)?,
                world.isend(s, &sent, right, 6)?,
            ];
            waiting.cancel()?;
            Ok((rwmpi::wait_all(requests)?, waiting.wait()?))
        })?;
        assert!(cancelled.cancelled());
        assert_eq!(never, [sample(97, 1)]);
        assert_eq!(received, [samples(left, len), samples(left, len)]);
        assert_eq!([statuses[0].tag(), statuses[1].tag()], [Some(5), Some(6)]);
        assert_eq!(statuses[1].count::<Sample>(), Some(len));
    }
    Ok(())
}

fn persistent_requests_pack_at_every_start(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut outgoing = world.persistent_send(samples(rank, 50), right, 8)?;
    let mut incoming = world.persistent_receive(samples(0, 50), left, 8)?;
    for round in 0..3 {
        *outgoing.buffer()? = samples(rank + round, 50);
        incoming.start()?;
        outgoing.start()?;
        outgoing.wait()?;
        incoming.wait()?;
        assert_eq!(*incoming.buffer()?, samples(left + round, 50));
    }
    Ok(())
}

fn collectives_move_padded_elements(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in LENGTHS {
        let all: Vec<Sample> = (0..size).flat_map(|rank| samples(rank, len)).collect();
        let root = size - 1;
        let mut gathered = samples(50, if rank == root { size * len } else { 0 });
        world.gather(&samples(rank, len), &mut gathered, root)?;
        assert!(rank != root || gathered == all);
        let mut part = samples(51, len);
        world.scatter(&gathered, &mut part, root)?;
        assert_eq!(part, samples(rank, len));
        let mut everything = samples(52, size * len);
        scope(|s| world.iallgather(s, &part, &mut everything)?.wait())?;
        assert_eq!(everything, all);
        let mut exchanged = samples(53, size * len);
        world.alltoall(&all, &mut exchanged)?;
        assert!(exchanged.chunks(len.max(1)).all(|part| part == samples(rank, len)));
        let mut plain = vec![Plain(rank as u64); len];
        world.bcast(&mut plain, root)?;
        assert_eq!(plain, vec![Plain(root as u64); len]);
    }
    Ok(())
}

/// An operation that does not commute: of two samples, one's position and the other's rest.
fn left_and_right(a: &Sample, b: &Sample) -> Sample {
    Sample { position: a.position, pair: (a.pair.0, b.pair.1), ..*b }
}

fn reductions_combine_padded_elements(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in LENGTHS {
        let combined = |last: usize| -> Vec<Sample> {
            let pairs = samples(0, len).into_iter().zip(samples(last, len));
            pairs.map(|(first, last)| left_and_right(&first, &last)).collect()
        };
        let mut result = samples(60, len);
        world.allreduce(&samples(rank, len), &mut result, left_and_right)?;
        assert_eq!(result, combined(size - 1));
        let mut prefix = samples(rank, len);
        world.scan_in_place(&mut prefix, left_and_right)?;
        assert_eq!(prefix, combined(rank));
        let mut points = vec![Point { x: rank as f64, y: 1.0 }; len];
        world.allreduce_in_place(&mut points, |a, b| Point { x: a.x.max(b.x), y: a.y + b.y })?;
        assert_eq!(points, vec![Point { x: (size - 1) as f64, y: size as f64 }; len]);
    }
    Ok(())
}
