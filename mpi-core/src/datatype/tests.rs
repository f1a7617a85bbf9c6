//! Datatypes against a naive typemap: a list of every basic element and marker with its displacement.
#![allow(unsafe_code)]

mod examples;

use proptest::prelude::*;

use super::*;

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

fn are_different(offsets: &[i64]) -> bool {
    let mut offsets = offsets.to_vec();
    offsets.sort_unstable();
    offsets.windows(2).all(|pair| pair[0] != pair[1])
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
    fn runs_are_the_typemaps((datatype, naive) in datatypes(), count in 0..4u64) {
        let offsets = naive.bytes(count as i64);
        let mut visited = Vec::new();
        let all: std::result::Result<(), ()> = datatype.for_each_run(count, &mut |offset, length| {
            visited.extend(offset..offset + length as i64);
            Ok(())
        });
        prop_assert!(all.is_ok());
        prop_assert_eq!(&visited, &offsets);
        let low = offsets.iter().copied().min().unwrap_or(0);
        let end = offsets.iter().map(|offset| offset + 1).max().unwrap_or(0);
        prop_assert_eq!(datatype.reach(count), Some((low, end)));
    }

    #[test]
    fn runs_between_any_two_places_are_the_typemaps((datatype, naive) in datatypes(), low in 0..99_u64, len in 0..99_u64) {
        let offsets = naive.bytes(5);
        let high = (low + len).min(offsets.len() as u64);
        let mut visited = Vec::new();
        datatype.for_each_run_between(low, high, &mut |offset, length| visited.extend(offset..offset + length as i64));
        prop_assert_eq!(&visited[..], offsets.get(low as usize..high as usize).unwrap_or_default());
    }

    #[test]
    fn a_run_is_found_from_every_place((datatype, naive) in datatypes()) {
        let offsets = naive.bytes(3);
        for (position, &offset) in offsets.iter().enumerate() {
            let (found, length) = datatype.run_at(position as u64).expect("it has bytes");
            prop_assert_eq!(found, offset);
            prop_assert!(length > 0);
            let here = offsets[position..].iter().take(length as usize);
            prop_assert!(here.enumerate().all(|(index, place)| *place == offset + index as i64));
        }
        if offsets.is_empty() {
            prop_assert_eq!(datatype.run_at(0), None);
        }
    }

    #[test]
    fn runs_are_in_order_if_the_typemap_is((datatype, naive) in datatypes()) {
        let offsets = naive.bytes(1);
        let is_increasing = offsets.is_sorted_by(|one, next| one < next);
        prop_assert_eq!(datatype.run_order() == RunOrder::Apart, is_increasing);
        if datatype.run_order() == RunOrder::Overlapping {
            prop_assert!(!are_different(&offsets));
        }
    }

    #[test]
    fn unpacking_follows_the_typemap((datatype, naive) in datatypes(), count in 0..4u64, cuts in prop::collection::vec(1..90usize, 1..9)) {
        let offsets = naive.bytes(count as i64);
        let mut arena = Arena::around(&offsets);
        let mut expected = arena.bytes.clone();
        // Of elements that overlap, any may be the last.
        prop_assume!(are_different(&offsets));
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
        if !sizes.is_empty() {
            prop_assert_eq!(datatype.bytes_of_elements(elements as u64), Some(end));
        }
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
        // Elements that overlap are not what they were; of binary128 only what the x87's numbers hold.
        if are_different(&offsets) && naive.data().iter().all(|(_, basic)| *basic != Basic::LongDouble) {
            prop_assert_eq!(&again, &external);
        }
    }
}
