//! Whether the ranges of all ranks together fill a part of the file without a gap.
//!
//! Each rank adds up a number for the end of each of its ranges and takes off the one for its beginning. Where one
//! range ends and the next one begins, of whatever rank, the two go. So the sums of all ranks are together the number
//! of the part's end less that of its beginning if each byte of it belongs to one range: the beginnings and ends that
//! are left are these two. And if they are that, it is so, since the numbers of different places look as if they were
//! drawn by lot among 2^64: no list of ranges has to be exchanged or merged.

use std::ops::Range;

use crate::view::View;

/// What stands for a place of the file. Any two different ones have different numbers, which have nothing to do with
/// each other.
fn number(place: u64) -> u64 {
    // The finalizer of SplitMix64.
    let mut mixed = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The sum of one rank, for the ranges that hold these positions of its view.
pub(super) fn sum(view: &View, positions: Range<u64>) -> u64 {
    let mut sum = 0_u64;
    view.for_each_run(positions.start, positions.end, |begin, end| {
        sum = sum.wrapping_add(number(end)).wrapping_sub(number(begin));
    });
    sum
}

/// Whether the sums of all ranks say that they fill the part.
pub(super) fn is_filled(part: &Range<u64>, sums: impl Iterator<Item = u64>) -> bool {
    let wanted = number(part.end).wrapping_sub(number(part.start));
    sums.fold(0, u64::wrapping_add) == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Representation;
    use rwmpi_core::datatype::{Basic, Datatype};

    fn sum_of(ranges: &[(i64, i64)]) -> u64 {
        let (lengths, starts): (Vec<i64>, Vec<i64>) = ranges.iter().map(|(begin, end)| (end - begin, *begin)).unzip();
        let byte = Datatype::basic(Basic::Byte);
        let filetype = Datatype::hindexed(&lengths, &starts, &byte).expect("it is small");
        let view = View::new(0, &byte, &filetype, Representation::Native, false).expect("it is a view");
        sum(&view, 0..lengths.iter().sum::<i64>() as u64)
    }

    #[test]
    fn a_part_is_filled_or_not() {
        let filled = |ranks: &[&[(i64, i64)]]| is_filled(&(10..50), ranks.iter().map(|ranges| sum_of(ranges)));
        assert!(filled(&[&[(10, 20), (30, 40)], &[(20, 30), (40, 50)]]));
        assert!(filled(&[&[(10, 50)], &[]]));
        assert!(!filled(&[&[(10, 20), (30, 40)], &[(20, 30), (40, 49)]]));
        assert!(!filled(&[&[(10, 20), (30, 40)], &[(21, 30), (40, 50)]]));
        // As many bytes as there are places: a gap beside an overlap.
        assert!(!filled(&[&[(10, 20), (31, 41)], &[(20, 30), (40, 50)]]));
        // And with the same centre.
        assert!(!filled(&[&[(10, 28), (29, 31), (32, 50)], &[(29, 31)]]));
        assert!(!filled(&[&[]]));
    }
}
