//! MINLOC and MAXLOC: the extreme value, and of equal ones the smallest index (MPI-5.0 section 6.9.4).

use super::arithmetic::Bits;
use super::extended::Extended;
use crate::datatype::{Number, Pair};

/// Combines packed pairs: value and index side by side. `other` is the `earlier` operand or the later one.
pub(super) fn combine(maximum: bool, pair: Pair, kept: &mut [u8], other: &[u8], earlier: bool) {
    match (pair.value.number(), pair.index.number()) {
        (Number::Int16, Number::Int32) => each::<i16, 2, i32, 4>(maximum, kept, other, earlier),
        (Number::Int32, Number::Int32) => each::<i32, 4, i32, 4>(maximum, kept, other, earlier),
        (Number::Int64, Number::Int32) => each::<i64, 8, i32, 4>(maximum, kept, other, earlier),
        (Number::Single, Number::Int32) => each::<f32, 4, i32, 4>(maximum, kept, other, earlier),
        (Number::Double, Number::Int32) => each::<f64, 8, i32, 4>(maximum, kept, other, earlier),
        (Number::Extended, Number::Int32) => each::<Extended, 16, i32, 4>(maximum, kept, other, earlier),
        (Number::Single, Number::Single) => each::<f32, 4, f32, 4>(maximum, kept, other, earlier),
        (Number::Double, Number::Double) => each::<f64, 8, f64, 8>(maximum, kept, other, earlier),
        (value, index) => unreachable!("no pair of MPI is made of {value:?} and {index:?}"),
    }
}

/// The parts of a pair.
fn split<V: Bits<N>, const N: usize, I: Bits<M>, const M: usize>(pair: &[u8]) -> Option<(V, I)> {
    let (value, index) = pair.split_first_chunk::<N>()?;
    Some((V::load(*value), I::load(*index.first_chunk::<M>()?)))
}

fn each<V: Bits<N> + PartialOrd, const N: usize, I: Bits<M> + PartialOrd, const M: usize>(
    maximum: bool,
    kept: &mut [u8],
    other: &[u8],
    earlier: bool,
) {
    for (kept, other) in kept.chunks_exact_mut(N + M).zip(other.chunks_exact(N + M)) {
        let Some(pair) = split::<V, N, I, M>(kept).zip(split::<V, N, I, M>(other)) else { continue };
        let (first, second) = if earlier { (pair.1, pair.0) } else { pair };
        let better = if maximum { first.0 < second.0 } else { second.0 < first.0 };
        let take_second = better || (second.0 == first.0 && second.1 < first.1);
        if take_second != earlier {
            kept.copy_from_slice(other);
        }
    }
}
