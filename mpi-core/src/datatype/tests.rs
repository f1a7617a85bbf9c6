//! Datatypes against a naive typemap: a list of every basic element and marker with its displacement.
#![allow(unsafe_code)]

use proptest::prelude::*;

use super::*;
use crate::ErrorClass;

/// One entry of a typemap.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Data(i64, Basic),
    Lower(i64),
    Upper(i64),
}

impl Entry {
    fn moved(self, by: i64) -> Entry {
        match self {
            Entry::Data(place, basic) => Entry::Data(place + by, basic),
            Entry::Lower(place) => Entry::Lower(place + by),
            Entry::Upper(place) => Entry::Upper(place + by),
        }
    }
}

/// A typemap, with where each structure's padding ends.
#[derive(Clone, Debug, Default)]
struct Naive {
    entries: Vec<Entry>,
    /// Upper ends of elements, padding included, of those that no marker bounds.
    ends: Vec<i64>,
}

impl Naive {
    fn basic(basic: Basic) -> Naive {
        let entries = match basic.pair() {
            Some(pair) => {
                let second = match basic {
                    Basic::DoubleInt | Basic::LongInt => 8,
                    _ => 4,
                };
                vec![Entry::Data(0, pair.value), Entry::Data(second, pair.index)]
            }
            None => match basic {
                Basic::LowerBound => vec![Entry::Lower(0)],
                Basic::UpperBound => vec![Entry::Upper(0)],
                _ => vec![Entry::Data(0, basic)],
            },
        };
        let ends = if basic.size() > 0 { vec![basic.extent() as i64] } else { vec![] };
        Naive { entries, ends }
    }

    fn lower(&self) -> i64 {
        let markers =
            self.entries.iter().filter_map(|entry| if let Entry::Lower(at) = entry { Some(*at) } else { None });
        let data = self.data().into_iter().map(|(at, _)| at);
        markers.min().or(data.min()).unwrap_or(0)
    }

    fn upper(&self) -> i64 {
        let markers =
            self.entries.iter().filter_map(|entry| if let Entry::Upper(at) = entry { Some(*at) } else { None });
        markers.max().or(self.ends.iter().copied().max()).unwrap_or(0)
    }

    fn extent(&self) -> i64 {
        self.upper() - self.lower()
    }

    fn data(&self) -> Vec<(i64, Basic)> {
        self.entries
            .iter()
            .filter_map(|e| if let Entry::Data(at, basic) = e { Some((*at, *basic)) } else { None })
            .collect()
    }

    fn size(&self) -> u64 {
        self.data().iter().map(|(_, basic)| basic.size()).sum()
    }

    fn add(&mut self, other: &Naive, by: i64) {
        self.entries.extend(other.entries.iter().map(|entry| entry.moved(by)));
        self.ends.extend(other.ends.iter().map(|end| end + by));
    }

    fn blocks(&self, blocks: &[(i64, i64)]) -> Naive {
        let mut all = Naive::default();
        for &(at, length) in blocks {
            for index in 0..length {
                all.add(self, at + index * self.extent());
            }
        }
        all
    }

    /// Offsets of the bytes of `count` elements, in the order of packing.
    fn bytes(&self, count: i64) -> Vec<i64> {
        self.blocks(&[(0, count)])
            .data()
            .iter()
            .flat_map(|&(at, basic)| (0..basic.size() as i64).map(move |k| at + k))
            .collect()
    }

    fn alignment(&self) -> i64 {
        self.data().iter().map(|(_, basic)| basic.alignment() as i64).max().unwrap_or(1)
    }
}

type Both = (Datatype, Naive);

fn basics() -> impl Strategy<Value = Both> {
    let basics = [
        Basic::Byte,
        Basic::Short,
        Basic::Int,
        Basic::Double,
        Basic::LongDouble,
        Basic::DoubleInt,
        Basic::ShortInt,
        Basic::CDoubleComplex,
    ];
    prop::sample::select(basics.to_vec()).prop_map(|basic| (Datatype::basic(basic), Naive::basic(basic)))
}

fn blocks(displacements: std::ops::Range<i64>) -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((displacements, 0..3i64), 0..5)
}

/// Regular, so that the normal form's shortcuts are taken, too.
fn regular() -> impl Strategy<Value = Vec<(i64, i64)>> {
    (0..6i64, 0..4i64, -4..9i64).prop_map(|(count, length, step)| (0..count).map(|k| (k * step, length)).collect())
}

fn split(blocks: &[(i64, i64)]) -> (Vec<i64>, Vec<i64>) {
    blocks.iter().copied().unzip()
}

fn scaled(blocks: &[(i64, i64)], by: i64) -> Vec<(i64, i64)> {
    blocks.iter().map(|&(at, length)| (at * by, length)).collect()
}

fn vectors(of: BoxedStrategy<Both>) -> impl Strategy<Value = Both> {
    (of, 0..5i64, 0..4i64, -5..9i64, any::<bool>()).prop_map(|((old, naive), count, length, stride, bytes)| {
        let new = if bytes {
            Datatype::hvector(count, length, stride * 4, &old)
        } else {
            Datatype::vector(count, length, stride, &old)
        };
        let stride = if bytes { stride * 4 } else { stride * naive.extent() };
        let blocks: Vec<_> = (0..count).map(|k| (k * stride, length)).collect();
        (new.unwrap(), naive.blocks(&blocks))
    })
}

fn indexed(of: BoxedStrategy<Both>) -> impl Strategy<Value = Both> {
    (of, prop_oneof![blocks(-6..12), regular()], 0..4).prop_map(|((old, naive), blocks, form)| {
        let (places, lengths) = split(&blocks);
        let length = lengths.first().copied().unwrap_or(1);
        let equal: Vec<_> = places.iter().map(|&at| (at, length)).collect();
        match form {
            0 => (Datatype::indexed(&lengths, &places, &old).unwrap(), naive.blocks(&scaled(&blocks, naive.extent()))),
            1 => (Datatype::hindexed(&lengths, &places, &old).unwrap(), naive.blocks(&blocks)),
            2 => {
                (Datatype::indexed_block(length, &places, &old).unwrap(), naive.blocks(&scaled(&equal, naive.extent())))
            }
            _ => (Datatype::hindexed_block(length, &places, &old).unwrap(), naive.blocks(&equal)),
        }
    })
}

fn structures(of: BoxedStrategy<Both>) -> impl Strategy<Value = Both> {
    let marker = prop_oneof![
        8 => Just(None),
        1 => Just(Some(Basic::LowerBound)),
        1 => Just(Some(Basic::UpperBound)),
    ];
    prop::collection::vec((of, -20..60i64, 0..3i64, marker), 0..4).prop_map(|members| {
        let mut naive = Naive::default();
        let (mut lengths, mut places, mut old) = (vec![], vec![], vec![]);
        for ((datatype, map), at, length, marker) in members {
            let (datatype, map) = match marker {
                Some(basic) => (Datatype::basic(basic), Naive::basic(basic)),
                None => (datatype, map),
            };
            naive.add(&map.blocks(&[(0, length)]), at);
            lengths.push(length);
            places.push(at);
            old.push(datatype);
        }
        let marked = naive.entries.iter().any(|entry| !matches!(entry, Entry::Data(..)));
        if !marked && !naive.ends.is_empty() {
            let end = naive.lower() + (naive.extent() as u64).next_multiple_of(naive.alignment() as u64) as i64;
            naive.ends.push(end);
        }
        (Datatype::structure(&lengths, &places, &old).unwrap(), naive)
    })
}

fn resized(of: BoxedStrategy<Both>) -> impl Strategy<Value = Both> {
    (of, -8..8i64, -8..40i64, any::<bool>()).prop_map(|((old, mut naive), lower, extent, dup)| {
        if dup {
            return (Datatype::dup(&old), naive);
        }
        naive.entries.retain(|entry| matches!(entry, Entry::Data(..)));
        naive.entries.extend([Entry::Lower(lower), Entry::Upper(lower + extent)]);
        (Datatype::resized(&old, lower, extent).unwrap(), naive)
    })
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::C), Just(Order::Fortran)]
}

/// The elements of an array whose indices `keep` accepts, in the order of memory.
fn array(naive: &Naive, sizes: &[i64], order: Order, keep: impl Fn(&[i64]) -> bool) -> Naive {
    let total: i64 = sizes.iter().product();
    let mut all = Naive::default();
    for place in 0..total {
        let mut rest = place;
        let mut indices = vec![0; sizes.len()];
        let dimensions: Vec<usize> = match order {
            Order::C => (0..sizes.len()).rev().collect(),
            Order::Fortran => (0..sizes.len()).collect(),
        };
        for dimension in dimensions {
            indices[dimension] = rest % sizes[dimension];
            rest /= sizes[dimension];
        }
        if keep(&indices) {
            all.add(naive, place * naive.extent());
        }
    }
    let (lower, upper) = (0, total * naive.extent());
    all.entries.retain(|entry| matches!(entry, Entry::Data(..)));
    all.entries.extend([Entry::Lower(lower), Entry::Upper(upper)]);
    all
}

fn subarrays(of: BoxedStrategy<Both>) -> impl Strategy<Value = Both> {
    let dimension = (1..5i64).prop_flat_map(|size| {
        (Just(size), 1..=size).prop_flat_map(|(size, part)| (Just(size), Just(part), 0..=size - part))
    });
    (of, prop::collection::vec(dimension, 1..4), order()).prop_map(|((old, naive), dimensions, order)| {
        let sizes: Vec<i64> = dimensions.iter().map(|d| d.0).collect();
        let parts: Vec<i64> = dimensions.iter().map(|d| d.1).collect();
        let starts: Vec<i64> = dimensions.iter().map(|d| d.2).collect();
        let new = Datatype::subarray(&sizes, &parts, &starts, order, &old).unwrap();
        let kept = |indices: &[i64]| {
            indices.iter().zip(&dimensions).all(|(index, (_, part, start))| (*start..start + part).contains(index))
        };
        (new, array(&naive, &sizes, order, kept))
    })
}

fn distributed(of: BoxedStrategy<Both>) -> impl Strategy<Value = Both> {
    let dimension = (1..7i64, 1..4i64, 0..5, 1..4i64).prop_map(|(size, processes, kind, block)| match kind {
        0 => (size, 1, Distribute::None(None)),
        1 => (size, processes, Distribute::Block(None)),
        2 => (size, processes, Distribute::Block(Some(size.max(block)))),
        3 => (size, processes, Distribute::Cyclic(None)),
        _ => (size, processes, Distribute::Cyclic(Some(block))),
    });
    (of, prop::collection::vec(dimension, 1..4), order(), any::<u16>()).prop_map(
        |((old, naive), dimensions, order, rank)| {
            let sizes: Vec<i64> = dimensions.iter().map(|d| d.0).collect();
            let grid: Vec<i64> = dimensions.iter().map(|d| d.1).collect();
            let processes: i64 = grid.iter().product();
            let rank = i64::from(rank) % processes;
            let distribution = Distribution {
                processes,
                rank,
                sizes: sizes.clone().into(),
                distribute: dimensions.iter().map(|d| d.2).collect(),
                grid: grid.clone().into(),
                order,
            };
            // Who has an index, by the definition.
            let owner = |dimension: usize, index: i64| match dimensions[dimension] {
                (_, _, Distribute::None(_)) => 0,
                (size, processes, Distribute::Block(block)) => {
                    index / block.unwrap_or((size + processes - 1) / processes)
                }
                (_, processes, Distribute::Cyclic(block)) => index / block.unwrap_or(1) % processes,
            };
            let kept = |indices: &[i64]| {
                let number = indices.iter().enumerate().fold(0, |sum, (d, &index)| sum * grid[d] + owner(d, index));
                number == rank
            };
            (Datatype::darray(distribution, &old).unwrap(), array(&naive, &sizes, order, kept))
        },
    )
}

fn datatypes() -> impl Strategy<Value = Both> {
    let nested = basics().prop_recursive(4, 8, 3, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            (inner.clone(), 0..5i64).prop_map(|((old, naive), count)| (
                Datatype::contiguous(count, &old).unwrap(),
                naive.blocks(&[(0, count)])
            )),
            vectors(inner.clone()),
            indexed(inner.clone()),
            structures(inner.clone()),
            resized(inner.clone()),
            subarrays(inner.clone()),
            distributed(inner),
        ]
    });
    nested.prop_filter("not too many entries", |(_, naive)| naive.entries.len() < 3000)
}

/// Memory around a buffer's address, each byte recognisable, with room for all offsets.
struct Arena {
    bytes: Vec<u8>,
    origin: usize,
}

impl Arena {
    fn around(offsets: &[i64]) -> Arena {
        let low = offsets.iter().copied().min().unwrap_or(0).min(0);
        let high = offsets.iter().copied().max().unwrap_or(0).max(0) + 1;
        let bytes = (0..(high - low) as usize).map(|k| (k * 7 + k / 251) as u8).collect();
        Arena { bytes, origin: -low as usize }
    }

    fn at(&mut self) -> *mut u8 {
        // SAFETY: the origin lies in the vector.
        unsafe { self.bytes.as_mut_ptr().add(self.origin) }
    }

    fn get(&self, offset: i64) -> u8 {
        self.bytes[(self.origin as i64 + offset) as usize]
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn bounds_are_the_typemaps((datatype, naive) in datatypes()) {
        let data = naive.data();
        prop_assert_eq!(datatype.size(), naive.size());
        prop_assert_eq!(datatype.lower_bound(), naive.lower());
        prop_assert_eq!(datatype.extent(), naive.extent());
        let low = data.iter().map(|(at, _)| *at).min().unwrap_or(0);
        let high = data.iter().map(|(at, basic)| at + basic.size() as i64).max().unwrap_or(0);
        prop_assert_eq!(datatype.true_lower_bound(), low);
        prop_assert_eq!(datatype.true_extent(), high - low);
        prop_assert_eq!(datatype.basic_elements(), data.len() as u64);
    }

    #[test]
    fn packing_follows_the_typemap((datatype, naive) in datatypes(), count in 0..4u64, cuts in prop::collection::vec(1..90usize, 1..9)) {
        let offsets = naive.bytes(count as i64);
        let mut arena = Arena::around(&offsets);
        let expected: Vec<u8> = offsets.iter().map(|&at| arena.get(at)).collect();
        prop_assert_eq!(datatype.packed_size(count).unwrap(), expected.len() as u64);

        let mut packed = Vec::new();
        for cut in cuts.iter().cycle() {
            let mut piece = vec![0; *cut];
            // SAFETY: the arena has room for all bytes of the typemap.
            let length = unsafe { pack(arena.at(), count, &datatype, packed.len() as u64, &mut piece) };
            packed.extend_from_slice(&piece[..length]);
            if length == 0 {
                break;
            }
        }
        prop_assert_eq!(&packed, &expected);
        if let Some((offset, length)) = datatype.run(count) {
            let run: Vec<i64> = (offset..offset + length as i64).collect();
            prop_assert_eq!(&run, &offsets);
        }
    }

    #[test]
    fn unpacking_follows_the_typemap((datatype, naive) in datatypes(), count in 0..4u64, cuts in prop::collection::vec(1..90usize, 1..9)) {
        let offsets = naive.bytes(count as i64);
        let mut arena = Arena::around(&offsets);
        let mut expected = arena.bytes.clone();
        let packed: Vec<u8> = (0..offsets.len()).map(|k| (k * 13 + 5) as u8).collect();
        for (byte, offset) in packed.iter().zip(&offsets) {
            expected[(arena.origin as i64 + offset) as usize] = *byte;
        }
        let mut done = 0;
        for cut in cuts.iter().cycle() {
            let piece = &packed[done..(done + cut).min(packed.len())];
            // SAFETY: the arena has room for all bytes of the typemap.
            let length = unsafe { unpack(arena.at(), count, &datatype, done as u64, piece) };
            prop_assert_eq!(length, piece.len());
            done += length;
            if length == 0 {
                break;
            }
        }
        prop_assert_eq!(&arena.bytes, &expected);
    }

    #[test]
    fn parts_have_the_typemaps_elements((datatype, naive) in datatypes(), part in any::<prop::sample::Index>()) {
        let sizes: Vec<u64> = naive.blocks(&[(0, 2)]).data().iter().map(|(_, basic)| basic.size()).collect();
        let bytes = part.index(sizes.iter().sum::<u64>() as usize + 1) as u64;
        let (mut elements, mut end) = (0, 0);
        while end < bytes {
            end += sizes[elements];
            elements += 1;
        }
        prop_assert_eq!(datatype.elements(bytes), (end == bytes).then_some(elements as u64));
    }

    #[test]
    fn external32_comes_back((datatype, naive) in datatypes(), count in 0..3u64) {
        let offsets = naive.bytes(count as i64);
        let mut memory = Arena::around(&offsets);
        memory.bytes.fill(0);
        let size: u64 = naive.data().iter().map(|(_, basic)| basic.external_size()).sum();
        prop_assert_eq!(datatype.external_size(count).unwrap(), size * count);
        let external: Vec<u8> = (0..size * count).map(|k| (k * 3) as u8).collect();
        // SAFETY: the arena has room for all bytes of the typemap.
        let read = unsafe { unpack_external(memory.at(), count, &datatype, &external) };
        prop_assert_eq!(read.unwrap(), external.len());
        let mut again = vec![0; external.len()];
        // SAFETY: as above.
        let written = unsafe { pack_external(memory.at(), count, &datatype, &mut again) };
        prop_assert_eq!(written.unwrap(), again.len());
        // Of bytes that several elements share, the last written counts; of binary128 only what the x87's numbers hold.
        let mut places = offsets.clone();
        places.sort_unstable();
        let disjoint = places.windows(2).all(|pair| pair[0] != pair[1]);
        if disjoint && naive.data().iter().all(|(_, basic)| *basic != Basic::LongDouble) {
            prop_assert_eq!(&again, &external);
        }
    }
}

fn int() -> Datatype {
    Datatype::basic(Basic::Int)
}

#[test]
fn nested_vectors_become_one_loop() {
    let column = Datatype::vector(10, 1, 8, &int()).unwrap();
    let element = Datatype::resized(&column, 0, 320).unwrap();
    let many = Datatype::contiguous(7, &element).unwrap();
    assert!(matches!(&many.layout().form, Form::Loop { count: 70, stride: 32, body } if body.form == Form::Run));
    let blocks = Datatype::indexed(&[2, 2, 2], &[0, 2, 4], &int()).unwrap();
    assert_eq!(blocks.run(3), Some((0, 72)));
}

#[test]
fn pairs_have_padding_between_them() {
    let pair = Datatype::basic(Basic::DoubleInt);
    assert_eq!((pair.size(), pair.extent(), pair.true_extent()), (12, 16, 12));
    assert_eq!(pair.run(1), Some((0, 12)));
    assert_eq!(pair.run(2), None);
}

#[test]
fn what_exceeds_64_bits_is_refused() {
    let big = Datatype::contiguous(i64::MAX / 4, &int()).unwrap();
    assert_eq!(big.size(), (i64::MAX / 4 * 4) as u64);
    for refused in [
        Datatype::contiguous(i64::MAX / 4 + 1, &int()),
        Datatype::contiguous(3, &big),
        Datatype::hvector(3, 1, i64::MAX / 2, &int()),
        Datatype::vector(2, 1, i64::MIN, &int()),
        Datatype::hindexed(&[1, 1], &[i64::MIN, i64::MAX - 4], &int()),
        Datatype::hindexed(&[1], &[i64::MAX], &int()),
        Datatype::resized(&int(), i64::MAX, 1),
        Datatype::subarray(&[1 << 40, 1 << 40], &[1, 1], &[0, 0], Order::C, &int()),
    ] {
        assert_eq!(refused.unwrap_err().class(), ErrorClass::Argument);
    }
    assert_eq!(big.packed_size(2).unwrap_err().class(), ErrorClass::Argument);
}

#[test]
fn negative_counts_are_refused() {
    for refused in [
        Datatype::contiguous(-1, &int()),
        Datatype::vector(2, -1, 1, &int()),
        Datatype::indexed(&[1, -1], &[0, 1], &int()),
    ] {
        assert_eq!(refused.unwrap_err().class(), ErrorClass::Count);
    }
}

#[test]
fn committing_is_inherited_by_duplicates_only() {
    let vector = Datatype::vector(2, 1, 3, &int()).unwrap();
    assert!(!vector.is_committed() && !Datatype::dup(&vector).is_committed());
    vector.commit();
    assert!(vector.is_committed() && Datatype::dup(&vector).is_committed());
    assert!(!Datatype::contiguous(1, &vector).unwrap().is_committed());
}

#[test]
fn contents_are_as_given() {
    let codes = Codes {
        order_c: 56,
        order_fortran: 57,
        distribute_block: 121,
        distribute_cyclic: 122,
        distribute_none: 123,
        default_argument: -49767,
        undefined: -32766,
    };
    let members = [int(), Datatype::basic(Basic::Double)];
    let structure = Datatype::structure(&[1, 2], &[0, 8], &members).unwrap();
    let contents = structure.contents(&codes);
    assert_eq!(contents.combiner, Combiner::Struct);
    assert_eq!((contents.integers, contents.addresses), (vec![2, 1, 2], vec![0, 8]));
    assert!(contents.datatypes.iter().zip(&members).all(|(one, other)| one.is(other)));

    let large = Datatype::hvector(3, 4, 50, &int()).unwrap().made_with_large_counts().contents(&codes);
    assert_eq!((large.integers, large.addresses, large.counts), (vec![], vec![], vec![3, 4, 50]));

    let distribution = Distribution {
        processes: 6,
        rank: 5,
        sizes: [10, 20].into(),
        distribute: [Distribute::Cyclic(Some(2)), Distribute::Block(None)].into(),
        grid: [2, 3].into(),
        order: Order::Fortran,
    };
    let contents = Datatype::darray(distribution, &int()).unwrap().contents(&codes);
    assert_eq!(contents.integers, [6, 5, 2, 10, 20, 122, 121, 2, -49767, 2, 3, 57]);

    let real = Parameters::Real { precision: Some(12), range: None };
    let contents = Datatype::fortran(real).unwrap().contents(&codes);
    assert_eq!((contents.combiner, contents.integers), (Combiner::FortranReal, vec![12, -32766]));
}

#[test]
fn external32_is_big_endian() {
    let values = [0x0102_0304i32, -2];
    let mut external = [0; 8];
    // SAFETY: two integers are read.
    unsafe { pack_external(values.as_ptr().cast(), 2, &int(), &mut external) }.unwrap();
    assert_eq!(external, [1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe]);

    let long = Datatype::basic(Basic::Long);
    let value = [-3i64];
    // SAFETY: one is read.
    let length = unsafe { pack_external(value.as_ptr().cast(), 1, &long, &mut external) };
    assert_eq!((length.unwrap(), &external[..4]), (4, &[0xff, 0xff, 0xff, 0xfd][..]));
    let value = [1i64 << 40];
    // SAFETY: one is read.
    let refused = unsafe { pack_external(value.as_ptr().cast(), 1, &long, &mut external) };
    assert_eq!(refused.unwrap_err().class(), ErrorClass::Truncate);
}

#[test]
fn fortran_kinds_are_the_smallest_that_suffice() {
    let real = |precision, range| Parameters::Real { precision, range }.basic();
    assert_eq!(real(Some(6), Some(37)).unwrap(), Basic::Real4);
    assert_eq!(real(Some(7), None).unwrap(), Basic::Real8);
    assert_eq!(real(None, Some(38)).unwrap(), Basic::Real8);
    assert_eq!(real(Some(18), None).unwrap(), Basic::LongDouble);
    assert_eq!(Parameters::Complex { precision: Some(33), range: None }.basic().unwrap(), Basic::Complex32);
    assert_eq!(Parameters::Integer { range: 5 }.basic().unwrap(), Basic::Integer4);
    assert!(real(Some(40), None).is_err() && real(None, None).is_err());
    assert_eq!(match_size(TypeClass::Complex, 16).unwrap(), Basic::Complex16);
    assert!(match_size(TypeClass::Integer, 3).is_err());
}
