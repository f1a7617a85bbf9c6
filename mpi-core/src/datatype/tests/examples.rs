//! Single datatypes, each with what it has to be.
#![allow(unsafe_code)]

use super::super::*;
use crate::ErrorClass;

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

/// Rounds beyond a tile, of each form that is taken run by run.
#[test]
fn long_loops_of_few_runs() {
    let members = [Datatype::basic(Basic::Int), Datatype::basic(Basic::Double)];
    for (datatype, offsets) in [
        (Datatype::structure(&[1, 1], &[0, 8], &members).unwrap(), vec![0..4, 8..16]),
        (Datatype::vector(3, 1, 2, &int()).unwrap(), vec![0..4, 8..12, 16..20]),
        (Datatype::indexed_block(1, &[0, 1, 3, 6], &members[0]).unwrap(), vec![0..8, 12..16, 24..28]),
        (Datatype::hindexed_block(5, &[0, 9, 19], &Datatype::basic(Basic::Byte)).unwrap(), vec![0..5, 9..14, 19..24]),
    ] {
        let (extent, count) = (datatype.extent() as usize, 300);
        let memory: Vec<u8> = (0..extent * count).map(|k| (k * 7 + k / 251) as u8).collect();
        let rounds = (0..count).flat_map(|round| offsets.iter().map(move |run| (run, round * extent)));
        let expected: Vec<u8> =
            rounds.flat_map(|(run, begin)| memory[begin + run.start..begin + run.end].to_vec()).collect();
        for from in [0, 1, 11, 1500] {
            let mut packed = vec![0; expected.len()];
            // SAFETY: the memory has as many elements.
            let length = unsafe { pack(memory.as_ptr(), count as u64, &datatype, from as u64, &mut packed) };
            assert_eq!(packed[..length], expected[from..]);
        }
        let mut again = memory.clone();
        for (run, begin) in (0..count).flat_map(|round| offsets.iter().map(move |run| (run, round * extent))) {
            again[begin + run.start..begin + run.end].fill(0);
        }
        // SAFETY: as above.
        unsafe { unpack(again.as_mut_ptr(), count as u64, &datatype, 0, &expected) };
        assert_eq!(again, memory);
    }
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
