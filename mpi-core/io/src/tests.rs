//! Random views and accesses against a map of bytes, on a disk that does whatever a kernel may do: transfers less than
//! asked for, is interrupted, is full.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io;

use fastrand::Rng;
use rwmpi_core::FileWays;
use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::untyped::Elements;

use crate::disk::{Disk, Kept, Moved};
use crate::sieved::read_and_write_back;
use crate::span::Span;
use crate::transfer::{self, Scratch};
use crate::{Representation, View};

const PAGE: usize = 4096;

/// Memory as a file.
pub(crate) struct Faulty {
    pub(crate) bytes: RefCell<Vec<u8>>,
    pub(crate) rng: RefCell<Rng>,
    /// It takes no byte beyond.
    pub(crate) capacity: u64,
    /// Reading the byte there fails.
    pub(crate) broken: Option<u64>,
    /// Whether gaps are written back.
    pub(crate) is_sieved: bool,
}

impl Faulty {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let is_sieved = rng.bool();
        Faulty { bytes: RefCell::default(), rng: rng.into(), capacity: u64::MAX, broken: None, is_sieved }
    }

    /// How many bytes of `len` a call transfers.
    fn share(&self, len: u64) -> io::Result<u64> {
        let mut rng = self.rng.borrow_mut();
        match rng.u8(..8) {
            0 => Err(io::ErrorKind::Interrupted.into()),
            1..4 if len > 1 => Ok(rng.u64(1..len)),
            _ => Ok(len),
        }
    }
}

impl Disk for Faulty {
    fn read(&self, at: u64, into: Span<'_>) -> io::Result<usize> {
        if self.broken == Some(at) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        let bytes = self.bytes.borrow();
        let mut there = (bytes.len() as u64).saturating_sub(at).min(into.len() as u64);
        if let Some(broken) = self.broken.filter(|&broken| broken > at) {
            there = there.min(broken - at);
        }
        let len = self.share(there)? as usize;
        if len > 0 {
            into.fill(&bytes[at as usize..][..len]);
        }
        Ok(len)
    }

    fn write(&self, at: u64, from: Span<'_>) -> io::Result<usize> {
        if at >= self.capacity {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let len = self.share((from.len() as u64).min(self.capacity - at))? as usize;
        let mut bytes = self.bytes.borrow_mut();
        let end = at as usize + len;
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        from.part(0, len).copy_to(&mut bytes[at as usize..end]);
        Ok(len)
    }

    fn is_private(&self) -> bool {
        true
    }

    fn store(&self, at: u64, len: usize, kept: Kept, work: &mut dyn FnMut(Span<'_>)) -> bool {
        let refused = if kept == Kept::InOnePiece { 2 } else { 1 };
        let is_done = self.rng.borrow_mut().u8(..4) >= refused;
        if is_done {
            work(Span::of_bytes(&mut self.bytes.borrow_mut()[at as usize..][..len]));
        }
        is_done
    }

    fn is_sieved(&self) -> bool {
        self.is_sieved
    }

    fn change(&self, at: u64, memory: Span<'_>, work: &mut dyn FnMut(Span<'_>)) -> Moved {
        read_and_write_back(self, at, memory, work)
    }
}

/// Windows are short, so that there are many, of any length.
fn ways(rng: &mut Rng) -> FileWays {
    FileWays::of_domains(PAGE, 1).with_windows(PAGE * rng.usize(1..40))
}

/// A datatype without overlaps whose displacements increase, and where its bytes lie.
pub(crate) struct Shape {
    pub(crate) datatype: Datatype,
    pub(crate) places: Vec<u64>,
}

fn shape(rng: &mut Rng) -> Shape {
    let (mut lengths, mut starts, mut places, mut end) = (Vec::new(), Vec::new(), Vec::new(), 0_u64);
    for _ in 0..rng.usize(1..5) {
        // Some gaps are worth reading along, others are not; some blocks touch.
        let gap = [0, rng.u64(..20), rng.u64(..9000)][rng.usize(..3)];
        let length = [rng.u64(1..9), rng.u64(1..3000)][rng.usize(..2)];
        lengths.push(length as i64);
        starts.push((end + gap) as i64);
        places.extend(end + gap..end + gap + length);
        end += gap + length;
    }
    let block = Datatype::hindexed(&lengths, &starts, &Datatype::basic(Basic::Byte)).expect("it is small");
    let extent = end + [0, rng.u64(..50)][rng.usize(..2)];
    let block = Datatype::resized(&block, 0, extent as i64).expect("it is small");
    let (number, stride) = (rng.u64(1..4), extent + rng.u64(..100));
    let datatype = Datatype::hvector(number as i64, 1, stride as i64, &block).expect("it is small");
    let places = (0..number).flat_map(|index| places.iter().map(move |place| index * stride + place)).collect();
    Shape { datatype, places }
}

impl Shape {
    /// Where a byte of many of them lies.
    pub(crate) fn place(&self, position: u64) -> u64 {
        let number = self.places.len() as u64;
        position / number * self.datatype.extent().cast_unsigned() + self.places[(position % number) as usize]
    }
}

/// Elements of a shape in memory of their own.
pub(crate) struct Buffer {
    pub(crate) shape: Shape,
    pub(crate) count: u64,
    pub(crate) memory: Vec<u8>,
}

impl Buffer {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let shape = match rng.bool() {
            true => shape(rng),
            false => Shape { datatype: Datatype::basic(Basic::Byte), places: vec![0] },
        };
        let count = if shape.places.len() == 1 { rng.u64(..20_000) } else { rng.u64(..4) };
        let len = count * shape.datatype.extent().cast_unsigned() + 1;
        let memory = (0..len).map(|_| rng.u8(..)).collect();
        Buffer { shape, count, memory }
    }

    pub(crate) fn elements(&mut self) -> Elements {
        // SAFETY: the memory has room for that many of them, and outlives the access.
        unsafe { Elements::new(self.memory.as_mut_ptr(), self.count, self.shape.datatype.clone()) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.count * self.shape.places.len() as u64
    }

    pub(crate) fn byte(&mut self, position: u64) -> &mut u8 {
        let place = self.shape.place(position);
        &mut self.memory[place as usize]
    }
}

/// A view of bytes, and what the model says about it.
fn view(rng: &mut Rng) -> (View, Shape, u64) {
    let (shape, displacement) = (shape(rng), rng.u64(..100));
    let byte = Datatype::basic(Basic::Byte);
    let view = View::new(displacement, &byte, &shape.datatype, Representation::Native, true).expect("it is a view");
    (view, shape, displacement)
}

fn write(disk: &Faulty, view: &View, position: u64, buffer: &mut Buffer) -> Moved {
    let ways = ways(&mut disk.rng.borrow_mut());
    transfer::write(disk, view, position..position + buffer.bytes(), (&buffer.elements(), 0), &ways)
}

fn read(disk: &Faulty, view: &View, position: u64, buffer: &mut Buffer) -> Moved {
    let ways = ways(&mut disk.rng.borrow_mut());
    transfer::read(disk, view, position, &buffer.elements(), &mut Scratch::new(ways))
}

#[test]
fn accesses_do_what_the_map_of_bytes_says() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let disk = Faulty::new(seed);
        let mut model: Vec<u8> = Vec::new();
        for _ in 0..10 {
            let (view, shape, displacement) = view(&mut rng);
            let (mut buffer, position) = (Buffer::new(&mut rng), rng.u64(..5000));
            let total = buffer.bytes();
            if rng.bool() {
                let moved = write(&disk, &view, position, &mut buffer);
                assert!(moved.failure.is_none() && moved.bytes == total, "seed {seed}: {moved:?} of {total}");
                for index in 0..total {
                    let at = (displacement + shape.place(position + index)) as usize;
                    if model.len() <= at {
                        model.resize(at + 1, 0);
                    }
                    model[at] = *buffer.byte(index);
                }
                assert!(*disk.bytes.borrow() == model, "seed {seed}: the file is not what it should be");
                continue;
            }
            let mut expected = Buffer { shape: clone(&buffer.shape), memory: buffer.memory.clone(), ..buffer };
            let mut there = 0;
            while there < total {
                let at = displacement + shape.place(position + there);
                let Some(&byte) = model.get(at as usize) else { break };
                *expected.byte(there) = byte;
                there += 1;
            }
            let moved = read(&disk, &view, position, &mut buffer);
            assert!(moved.failure.is_none() && moved.bytes == there, "seed {seed}: {moved:?}, not {there}");
            assert!(buffer.memory == expected.memory, "seed {seed}: memory is not what it should be");
        }
    }
}

fn clone(shape: &Shape) -> Shape {
    Shape { datatype: shape.datatype.clone(), places: shape.places.clone() }
}

#[test]
fn a_full_disk_keeps_what_was_reported() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let (view, shape, displacement) = view(&mut rng);
        let mut buffer = Buffer::new(&mut rng);
        let disk = Faulty { capacity: rng.u64(..3000), ..Faulty::new(seed) };
        let moved = write(&disk, &view, 0, &mut buffer);
        let first = (0..buffer.bytes()).find(|&index| displacement + shape.place(index) >= disk.capacity);
        assert_eq!(moved.bytes, first.unwrap_or(buffer.bytes()), "seed {seed}");
        let failure = moved.failure.map(|failure| (failure.at, failure.error.raw_os_error()));
        let expected = first.map(|index| (displacement + shape.place(index), Some(libc::ENOSPC)));
        assert_eq!(failure, expected, "seed {seed}");
        for index in 0..moved.bytes {
            let at = (displacement + shape.place(index)) as usize;
            assert_eq!(disk.bytes.borrow()[at], *buffer.byte(index), "seed {seed}");
        }
    }
}

#[test]
fn what_was_read_before_a_fault_is_there() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let (view, shape, displacement) = view(&mut rng);
        let mut buffer = Buffer::new(&mut rng);
        let broken = rng.u64(..20_000);
        let bytes: Vec<u8> = (0..1 << 18).map(|_| rng.u8(..)).collect();
        let disk = Faulty { bytes: bytes.clone().into(), broken: Some(broken), ..Faulty::new(seed) };
        let moved = read(&disk, &view, 0, &mut buffer);
        for index in 0..moved.bytes {
            let at = (displacement + shape.place(index)) as usize;
            assert_eq!(*buffer.byte(index), bytes[at], "seed {seed}");
        }
        match moved.failure {
            // What is beyond a broken byte may have been asked for together with what is before it.
            Some(failure) => assert_eq!((failure.at, failure.error.raw_os_error()), (broken, Some(libc::EIO))),
            None => {
                let is_there = |&index: &u64| displacement + shape.place(index) < bytes.len() as u64;
                let there = (0..buffer.bytes()).take_while(is_there).count();
                assert_eq!(moved.bytes, there as u64, "seed {seed}");
            }
        }
    }
}

#[test]
fn ends_are_counted_in_etypes() {
    for seed in 0..100 {
        let mut rng = Rng::with_seed(seed);
        let (view, shape, displacement) = view(&mut rng);
        let size = rng.u64(..20_000);
        let shown = (0..).take_while(|&position| displacement + shape.place(position) < size).count();
        assert_eq!(view.etypes_within(size), shown as u64, "seed {seed}");
    }
}

#[test]
fn ranges_are_as_long_as_they_can_be() {
    let byte = Datatype::basic(Basic::Byte);
    let dense = Datatype::contiguous(10, &byte).expect("it is small");
    let view = View::new(7, &byte, &dense, Representation::Native, true).expect("it is a view");
    let ranges: Vec<_> = view.ranges(3, 1 << 40).collect();
    assert_eq!(ranges.len(), 1);
    assert_eq!((ranges[0].at, ranges[0].len), (10, 1 << 40));
    // Touching blocks, also those of one filetype and the next.
    let touching = Datatype::hindexed(&[4, 6], &[0, 14], &byte).expect("it is small");
    let view = View::new(0, &byte, &touching, Representation::Native, true).expect("it is a view");
    let ends: Vec<_> = view.ranges(0, 20).map(|range| (range.at, range.len)).collect();
    assert_eq!(ends, [(0, 4), (14, 10), (34, 6)]);
}

#[test]
fn what_has_no_bytes_shows_none() {
    let byte = Datatype::basic(Basic::Byte);
    let nothing = Datatype::contiguous(0, &byte).expect("it is small");
    let view = View::new(0, &byte, &nothing, Representation::Native, true).expect("it is a view");
    let (disk, mut buffer) = (Faulty::new(1), Buffer::new(&mut Rng::with_seed(3)));
    buffer.count = 1;
    assert_eq!(read(&disk, &view, 0, &mut buffer).bytes, 0);
    let moved = write(&disk, &view, 0, &mut buffer);
    assert!(moved.failure.is_some() && moved.bytes == 0);
}
