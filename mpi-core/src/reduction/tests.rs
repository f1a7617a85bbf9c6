//! Reductions against plain arithmetic, element by element.
#![allow(unsafe_code)]

use bytemuck::{Pod, bytes_of, cast_slice, cast_slice_mut, pod_read_unaligned};
use proptest::prelude::*;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Quad, X87DoubleExtended};
use rwmpi_collective::Reduction;
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::*;
use crate::ErrorClass;
use crate::datatype::{Basic, Datatype, Number};

fn applied(operation: Predefined, basic: Basic) -> Applied {
    Operation::Predefined(operation).on(&Datatype::basic(basic)).unwrap()
}

/// `a ∘ b` by the operation: both ways round, and into another place.
fn combine<T: Pod>(operation: Predefined, basic: Basic, a: &[T], b: &[T]) -> Vec<T> {
    let applied = applied(operation, basic);
    let mut kept = a.to_vec();
    applied.append(cast_slice_mut(&mut kept), cast_slice(b));
    let mut other = b.to_vec();
    applied.prepend(cast_slice(a), cast_slice_mut(&mut other));
    let (appended, prepended): (&[u8], &[u8]) = (cast_slice(&kept), cast_slice(&other));
    assert_eq!(appended, prepended, "append and prepend differ");
    if let Some(arithmetic) = applied.where_it_lies() {
        let mut apart = vec![0; appended.len()];
        arithmetic.combine(
            ReadSpan::from(cast_slice(a)).into(),
            ReadSpan::from(cast_slice(b)).into(),
            WriteSpan::from(&mut apart[..]),
        );
        assert_eq!(appended, apart, "in another place");
    }
    kept
}

macro_rules! integers {
    ($($name:ident $type:ty, $basic:expr;)*) => { proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        $(#[test]
        fn $name(pairs in prop::collection::vec((any::<$type>(), any::<$type>(), 0..4), 0..70)) {
            // Equal operands and zeros are common.
            let pairs: Vec<($type, $type)> = pairs.into_iter().map(|(a, b, what)| match what {
                0 => (a, a),
                1 => (0, b),
                2 => (a, 0),
                _ => (a, b),
            }).collect();
            let (a, b): (Vec<$type>, Vec<$type>) = pairs.iter().copied().unzip();
            let expect = |operation, function: fn($type, $type) -> $type| {
                let expected: Vec<$type> = pairs.iter().map(|&(a, b)| function(a, b)).collect();
                assert_eq!(combine(operation, $basic, &a, &b), expected, "{operation:?}");
            };
            expect(Predefined::Max, |a, b| a.max(b));
            expect(Predefined::Min, |a, b| a.min(b));
            expect(Predefined::Sum, |a, b| a.wrapping_add(b));
            expect(Predefined::Product, |a, b| a.wrapping_mul(b));
            expect(Predefined::LogicalAnd, |a, b| (a != 0 && b != 0).into());
            expect(Predefined::LogicalOr, |a, b| (a != 0 || b != 0).into());
            expect(Predefined::LogicalXor, |a, b| ((a != 0) != (b != 0)).into());
            expect(Predefined::BitwiseAnd, |a, b| a & b);
            expect(Predefined::BitwiseOr, |a, b| a | b);
            expect(Predefined::BitwiseXor, |a, b| a ^ b);
            expect(Predefined::Replace, |_, b| b);
            expect(Predefined::NoOperation, |a, _| a);
        })*
    } };
}

integers! {
    signed_chars i8, Basic::SignedChar;
    shorts i16, Basic::Short;
    integers_of_fortran i32, Basic::Integer;
    longs i64, Basic::Long;
    integers_of_16_bytes i128, Basic::Integer16;
    unsigned_chars u8, Basic::UnsignedChar;
    unsigned_shorts u16, Basic::Uint16;
    unsigned_integers u32, Basic::Unsigned;
    unsigned_longs u64, Basic::UnsignedLong;
}

/// The x87's number of a `f64`, by other means than the x87.
fn extended(value: f64) -> [u8; 16] {
    let mut lossless = false;
    let wide = rustc_apfloat::FloatConvert::<X87DoubleExtended>::convert(
        rustc_apfloat::ieee::Double::from_bits(value.to_bits().into()),
        &mut lossless,
    );
    wide.value.to_bits().to_le_bytes()
}

fn software(bytes: [u8; 16]) -> X87DoubleExtended {
    X87DoubleExtended::from_bits(u128::from_le_bytes(bytes) & ((1 << 80) - 1))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn floating_point(a in any::<f64>(), b in any::<f64>(), c in any::<f32>(), d in any::<f32>()) {
        prop_assert_eq!(combine(Predefined::Sum, Basic::Double, &[a, b, a], &[b, a, a]), [a + b, b + a, a + a]);
        prop_assert_eq!(combine(Predefined::Product, Basic::Real8, &[a], &[b]), [a * b]);
        prop_assert_eq!(combine(Predefined::Max, Basic::Double, &[a, b], &[b, a]), [if a < b { b } else { a }, if b < a { a } else { b }]);
        prop_assert_eq!(combine(Predefined::Min, Basic::Real, &[c, d], &[d, c]), [if d < c { d } else { c }, if c < d { c } else { d }]);
        prop_assert_eq!(combine(Predefined::Sum, Basic::Float, &[c], &[d]), [c + d]);
        let real = c * d - d * c;
        let product = combine(Predefined::Product, Basic::Complex, &[[c, d]], &[[d, c]]);
        let expected = [real, c * c + d * d];
        prop_assert_eq!(product[0].map(f32::to_bits), expected.map(f32::to_bits));
        prop_assert_eq!(combine(Predefined::Sum, Basic::CDoubleComplex, &[[a, b]], &[[b, b]]), [[a + b, b + b]]);
    }

    #[test]
    fn long_doubles(a in any::<f64>(), b in any::<f64>(), c in -9.0..9.0) {
        // Digits that a `f64` does not have.
        let [a, b, c] = [a, b, c].map(|value| (software(extended(value)) * software(extended(1.0 / 3.0))).value);
        let bytes = |value: X87DoubleExtended| value.to_bits().to_le_bytes();
        let pairs = [(a, b), (b, a), (a, c), (c, c)];
        let (first, second): (Vec<_>, Vec<_>) = pairs.iter().map(|&(a, b)| (bytes(a), bytes(b))).unzip();
        let expect = |operation, function: &dyn Fn(X87DoubleExtended, X87DoubleExtended) -> X87DoubleExtended| {
            let expected: Vec<_> = pairs.iter().map(|&(a, b)| bytes(function(a, b))).collect();
            assert_eq!(combine(operation, Basic::LongDouble, &first, &second), expected, "{operation:?}");
        };
        expect(Predefined::Sum, &|a, b| (a + b).value);
        expect(Predefined::Product, &|a, b| (a * b).value);
        expect(Predefined::Max, &|a, b| if a < b { b } else { a });
        expect(Predefined::Min, &|a, b| if b < a { b } else { a });
        let complex = combine(Predefined::Product, Basic::CLongDoubleComplex, &[[bytes(a), bytes(b)]], &[[bytes(b), bytes(c)]]);
        let real = ((a * b).value - (b * c).value).value;
        let imaginary = ((a * c).value + (b * b).value).value;
        prop_assert_eq!(complex, [[bytes(real), bytes(imaginary)]]);
    }
}

#[test]
fn half_and_quadruple_precision() {
    let quadruple = |text: &str| text.parse::<Quad>().unwrap().to_bits();
    let sum = combine(Predefined::Sum, Basic::Real16, &[quadruple("1")], &[quadruple("1e-30")]);
    assert_eq!(sum, [quadruple("1.000000000000000000000000000001")]);
    let least = combine(Predefined::Min, Basic::Real16, &[quadruple("1")], &[quadruple("-2.5")]);
    assert_eq!(least, [quadruple("-2.5")]);
    let (one, two, three) = (0x3c00u16, 0x4000, 0x4200);
    assert_eq!(combine(Predefined::Sum, Basic::Real2, &[one, two], &[two, one]), [three; 2]);
    assert_eq!(combine(Predefined::Product, Basic::Complex4, &[[one, 0]], &[[two, three]]), [[two, three]]);
    let (one, two, three) = (0x3f80u16, 0x4000, 0x4040);
    assert_eq!(combine(Predefined::Sum, Basic::BrainFloat16, &[one, two], &[two, one]), [three; 2]);
}

#[test]
fn comparisons_with_what_is_no_number_are_false() {
    for operation in [Predefined::Max, Predefined::Min] {
        let applied = applied(operation, Basic::Double);
        let mut kept = [1.0, f64::NAN];
        applied.append(cast_slice_mut(&mut kept), cast_slice(&[f64::NAN, 1.0]));
        assert!(kept[0] == 1.0 && kept[1].is_nan());
    }
    let infinity = extended(f64::INFINITY);
    let equal = combine(Predefined::Max, Basic::LongDouble, &[infinity], &[infinity]);
    assert_eq!(equal, [infinity]);
}

/// Values and indices as packed bytes.
fn pairs<V: Pod, I: Pod>(pairs: &[(V, I)]) -> Vec<u8> {
    pairs.iter().flat_map(|(value, index)| [bytes_of(value), bytes_of(index)].concat()).collect()
}

fn locations<V: Pod, I: Pod>(basic: Basic, values: [V; 3], indices: [I; 3]) {
    let [small, middle, large] = values;
    let [first, second, third] = indices;
    let a = pairs(&[(small, third), (large, second), (middle, second), (middle, first)]);
    let b = pairs(&[(middle, first), (middle, third), (middle, first), (middle, second)]);
    let smallest = pairs(&[(small, third), (middle, third), (middle, first), (middle, first)]);
    let largest = pairs(&[(middle, first), (large, second), (middle, first), (middle, first)]);
    assert_eq!(combine(Predefined::MinLocation, basic, &a, &b), smallest, "{basic:?}");
    assert_eq!(combine(Predefined::MaxLocation, basic, &a, &b), largest, "{basic:?}");
}

#[test]
fn extreme_values_come_with_their_smallest_index() {
    locations(Basic::FloatInt, [-1.5f32, 0.0, 2.0], [-1i32, 3, 5]);
    locations(Basic::DoubleInt, [-1.5f64, 0.0, 2.0], [-1i32, 3, 5]);
    locations(Basic::LongInt, [i64::MIN, 0, i64::MAX], [-1i32, 3, 5]);
    locations(Basic::TwoInt, [i32::MIN, 0, i32::MAX], [-1i32, 3, 5]);
    locations(Basic::ShortInt, [i16::MIN, 0, i16::MAX], [-1i32, 3, 5]);
    locations(Basic::TwoReal, [-1.5f32, 0.0, 2.0], [-1f32, 3.0, 5.0]);
    locations(Basic::TwoDoublePrecision, [-1.5f64, 0.0, 2.0], [-1f64, 3.0, 5.0]);
    locations(Basic::TwoInteger, [-2i32, 0, 2], [-1i32, 3, 5]);
    locations(Basic::LongDoubleInt, [-1.5, 0.0, 2.0].map(extended), [-1i32, 3, 5]);
}

#[test]
fn operations_are_defined_as_the_standard_says() {
    let defined = |operation: Predefined, basics: &[Basic]| basics.iter().all(|&basic| operation.supports(basic));
    let arithmetic = [Predefined::Max, Predefined::Min, Predefined::Sum, Predefined::Product];
    let logical = [Predefined::LogicalAnd, Predefined::LogicalOr, Predefined::LogicalXor];
    let bitwise = [Predefined::BitwiseAnd, Predefined::BitwiseOr, Predefined::BitwiseXor];
    for operation in arithmetic {
        assert!(defined(operation, &[Basic::Int, Basic::Integer, Basic::Double, Basic::LongDouble, Basic::Aint]));
        assert!(!defined(operation, &[Basic::CBool]) && !defined(operation, &[Basic::Byte]));
        assert!(!defined(operation, &[Basic::FloatInt]));
        assert_eq!(defined(operation, &[Basic::Complex]), matches!(operation, Predefined::Sum | Predefined::Product));
    }
    for operation in logical {
        assert!(defined(operation, &[Basic::Int, Basic::CBool, Basic::CxxBool, Basic::Logical, Basic::Logical8]));
        assert!(!defined(operation, &[Basic::Double]) && !defined(operation, &[Basic::Byte]));
    }
    for operation in bitwise {
        assert!(defined(operation, &[Basic::Unsigned, Basic::Byte, Basic::Integer8, Basic::Offset]));
        assert!(!defined(operation, &[Basic::Float]) && !defined(operation, &[Basic::Logical]));
    }
    let refused = Operation::Predefined(Predefined::Sum).on(&Datatype::basic(Basic::Byte)).unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Operation);
    let members = [Datatype::basic(Basic::Int), Datatype::basic(Basic::Float)];
    let mixed = Datatype::structure(&[1, 1], &[0, 4], &members).unwrap();
    assert!(Operation::Predefined(Predefined::Sum).on(&mixed).is_err());
}

/// Every operation runs on everything that it is said to be defined for.
#[test]
fn what_is_defined_is_there() {
    for &basic in Basic::ALL {
        for &operation in Predefined::ALL.iter().filter(|operation| operation.supports(basic)) {
            let size = basic.size() as usize;
            assert_ne!(basic.number(), Number::Nothing);
            let kept = combine(operation, basic, &vec![0u8; 3 * size], &vec![0u8; 3 * size]);
            assert_eq!(kept, vec![0; 3 * size], "{operation:?} of zeros of {basic:?}");
        }
    }
}

/// `inout = in - inout` of an integer at displacement 4 of 12 bytes: shows the order of operands and their layout.
fn difference() -> (Operation, Datatype) {
    let subtract = |from: *const u8, inout: *mut u8, count: u64, datatype: &Datatype| {
        for index in 0..count as usize {
            let place = index * datatype.extent() as usize + datatype.true_lower_bound() as usize;
            // SAFETY: an integer of the element.
            unsafe {
                let (from, inout) = (from.add(place).cast::<i32>(), inout.add(place).cast::<i32>());
                assert!(from.is_aligned() && inout.is_aligned());
                inout.write(from.read() - inout.read());
            }
        }
        Ok(())
    };
    // SAFETY: it touches the integers of the elements.
    let operation = unsafe { UserOperation::new(subtract, false) };
    let spread = Datatype::structure(&[1], &[4], &[Datatype::basic(Basic::Int)]).unwrap();
    (Operation::User(operation), Datatype::resized(&spread, 0, 12).unwrap())
}

#[test]
fn functions_of_the_program_see_elements_as_they_lie_in_memory() {
    let (operation, spread) = difference();
    let many = 20_000;
    for datatype in [spread, Datatype::basic(Basic::Int)] {
        let applied = operation.on(&datatype).unwrap();
        let (early, late): (Vec<i32>, Vec<i32>) = (0..many).map(|k| (7 * k, k)).unzip();
        let expected: Vec<i32> = (0..many).map(|k| 6 * k).collect();
        let mut kept = early.clone();
        applied.append(cast_slice_mut(&mut kept), cast_slice(&late));
        assert_eq!(kept, expected);
        let mut kept = late;
        applied.prepend(cast_slice(&early), cast_slice_mut(&mut kept));
        assert_eq!(kept, expected);
        applied.append(&mut [], &[]);
    }
}

#[test]
fn a_local_reduction_leaves_gaps_alone() {
    let pair = Datatype::basic(Basic::DoubleInt);
    let element =
        |value: f64, index: i32, gap: u8| [&value.to_ne_bytes()[..], &index.to_ne_bytes(), &[gap; 4]].concat();
    let count = 5000;
    let from: Vec<u8> = (0..count).flat_map(|k| element(f64::from(k), 2 * k, 1)).collect();
    let mut inout: Vec<u8> = (0..count).flat_map(|k| element(2500.0, k, 2)).collect();
    let operation = Operation::Predefined(Predefined::MaxLocation);
    // SAFETY: both hold as many elements.
    unsafe { reduce_local(&operation, from.as_ptr(), inout.as_mut_ptr(), count as u64, &pair) }.unwrap();
    for (k, bytes) in inout.chunks_exact(16).enumerate() {
        let k = k as i32;
        let expected = if k > 2500 { (f64::from(k), 2 * k) } else { (2500.0, k) };
        let index: i32 = pod_read_unaligned(&bytes[8..12]);
        assert_eq!((pod_read_unaligned(&bytes[..8]), index), expected);
        assert_eq!(bytes[12..], [2; 4]);
    }
}

#[test]
fn a_local_reduction_puts_the_first_operand_first() {
    let (operation, spread) = difference();
    let (from, mut inout) = ([0, 50, 0, 0, 60, 0], [9, 3, 9, 9, 4, 9]);
    // SAFETY: both hold two elements.
    unsafe { reduce_local(&operation, from.as_ptr().cast(), inout.as_mut_ptr().cast(), 2, &spread) }.unwrap();
    assert_eq!(inout, [9, 47, 9, 9, 56, 9]);
    let sum = Operation::Predefined(Predefined::Sum);
    let integer = Datatype::basic(Basic::Int);
    // SAFETY: both hold six integers.
    unsafe { reduce_local(&sum, from.as_ptr().cast(), inout.as_mut_ptr().cast(), 6, &integer) }.unwrap();
    assert_eq!(inout, [9, 97, 9, 9, 116, 9]);
}
