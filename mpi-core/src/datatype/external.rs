//! external32, the representation of data that all MPI libraries share (MPI-5.0 sections 5.3 and 14.5.2): big endian,
//! and a few sizes of its own.

use std::ops::ControlFlow;

use super::basic::{Basic, Number};
use super::{Constructor, Datatype, too_large};
use crate::{Error, ErrorClass, Result};

/// So many elements at a time pass through a buffer in the native representation.
const BATCH: u64 = 512;

/// The largest element, bytes.
const ELEMENT_MAX: usize = 32;

impl Datatype {
    /// Bytes of `count` elements in external32 (`MPI_Pack_external_size`).
    ///
    /// # Errors
    /// They exceed 64 bits.
    pub fn external_size(&self, count: u64) -> Result<u64> {
        let each = match self.element() {
            Some(element) => (self.size() / element.size()).checked_mul(element.external_size()),
            None if self.size() == 0 => Some(0),
            None => match self.constructor() {
                Constructor::Struct { blocklengths, old, .. } => old
                    .iter()
                    .zip(blocklengths)
                    .try_fold(0u64, |sum, (old, &length)| sum.checked_add(old.external_size(length as u64).ok()?)),
                // All bytes come from the one constituent.
                constructor => constructor
                    .old()
                    .iter()
                    .try_fold(0, |_, old| Some(old.external_size(self.size() / old.size()).ok())?),
            },
        };
        each.and_then(|each| each.checked_mul(count)).filter(|&size| i64::try_from(size).is_ok()).ok_or_else(too_large)
    }
}

/// Visits the elements in batches of one basic kind: calls `each` with the kind, how many, where they begin in the
/// packed bytes and in external32.
fn in_batches(
    datatype: &Datatype,
    count: u64,
    mut each: impl FnMut(Basic, u64, u64, usize) -> Result<()>,
) -> Result<()> {
    let (mut native, mut external) = (0u64, 0usize);
    let mut outcome = Ok(());
    // What stopped it is in `outcome`.
    let _ = datatype.visit_basics(count, &mut |basic, number| {
        let mut left = number;
        while left > 0 {
            let batch = left.min(BATCH);
            if let Err(error) = each(basic, batch, native, external) {
                outcome = Err(error);
                return ControlFlow::Break(());
            }
            native += batch * basic.size();
            external += (batch * basic.external_size()) as usize;
            left -= batch;
        }
        ControlFlow::Continue(())
    });
    outcome
}

/// Writes `count` elements as external32; `fetch` copies packed native bytes from a place on.
pub(super) fn encode(
    datatype: &Datatype,
    count: u64,
    into: &mut [u8],
    fetch: impl Fn(u64, &mut [u8]),
) -> Result<usize> {
    let size = datatype.external_size(count)?;
    let Some(into) = usize::try_from(size).ok().and_then(|size| into.get_mut(..size)) else {
        let text = format!("the elements take {size} bytes in external32, more than are left in the buffer");
        return Err(Error::new(ErrorClass::Truncate, text));
    };
    let mut batch = vec![0; BATCH as usize * ELEMENT_MAX];
    in_batches(datatype, count, |basic, number, native, external| {
        let (from, to) = (basic.size() as usize, basic.external_size() as usize);
        let native_bytes = &mut batch[..number as usize * from];
        fetch(native, native_bytes);
        let places = into[external..].chunks_exact_mut(to);
        native_bytes.chunks_exact(from).zip(places).try_for_each(|(from, to)| encode_one(basic, from, to))
    })?;
    Ok(into.len())
}

/// Reads `count` elements from external32; `store` puts packed native bytes to a place on.
pub(super) fn decode(datatype: &Datatype, count: u64, bytes: &[u8], store: impl Fn(u64, &[u8])) -> Result<usize> {
    let size = datatype.external_size(count)?;
    let Some(bytes) = usize::try_from(size).ok().and_then(|size| bytes.get(..size)) else {
        let text = format!("the elements take {size} bytes in external32, but only {} are left", bytes.len());
        return Err(Error::new(ErrorClass::Truncate, text));
    };
    let mut batch = vec![0; BATCH as usize * ELEMENT_MAX];
    in_batches(datatype, count, |basic, number, native, external| {
        let (to, from) = (basic.size() as usize, basic.external_size() as usize);
        let native_bytes = &mut batch[..number as usize * to];
        for (to, from) in native_bytes.chunks_exact_mut(to).zip(bytes[external..].chunks_exact(from)) {
            decode_one(basic, from, to);
        }
        store(native, native_bytes);
        Ok(())
    })?;
    Ok(bytes.len())
}

fn reverse_into(from: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
}

/// The parts that are converted by themselves: two of a complex number.
fn parts(number: Number) -> (Number, usize) {
    match number.part() {
        Some(part) => (part, 2),
        None => (number, 1),
    }
}

fn encode_one(basic: Basic, native: &[u8], external: &mut [u8]) -> Result<()> {
    let (number, parts) = parts(basic.number());
    let (from, to) = (native.len() / parts, external.len() / parts);
    for (native, external) in native.chunks_exact(from).zip(external.chunks_exact_mut(to)) {
        if number == Number::Extended {
            external.copy_from_slice(&quadruple(native).to_be_bytes());
        } else if cfg!(target_endian = "big") {
            external.copy_from_slice(&native[from - to..]);
        } else {
            reverse_into(&native[..to], external);
        }
    }
    // Of a number that has become smaller, the rest must have been nothing but its sign.
    let mut again = [0; ELEMENT_MAX];
    let again = &mut again[..native.len()];
    if from > to {
        decode_one(basic, external, again);
        if again != native {
            let text = format!("a value of {} does not fit the {to} bytes that external32 gives it", basic.name());
            return Err(Error::new(ErrorClass::Truncate, text));
        }
    }
    Ok(())
}

fn decode_one(basic: Basic, external: &[u8], native: &mut [u8]) {
    let (number, parts) = parts(basic.number());
    let (from, to) = (external.len() / parts, native.len() / parts);
    for (external, native) in external.chunks_exact(from).zip(native.chunks_exact_mut(to)) {
        if number == Number::Extended {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(external);
            native.copy_from_slice(&extended(u128::from_be_bytes(bytes)));
            continue;
        }
        let negative = number == Number::Int64 && external[0] >= 0x80;
        let fill = if negative { 0xff } else { 0 };
        if cfg!(target_endian = "big") {
            native[..to - from].fill(fill);
            native[to - from..].copy_from_slice(external);
        } else {
            reverse_into(external, &mut native[..from]);
            native[from..].fill(fill);
        }
    }
}

/// Bits of the fraction of binary128, and those that the x87's has less (whose leading one is written).
const FRACTION: u32 = 112;
const FEWER: u32 = FRACTION - 63;

/// The x87's number as binary128, which holds it exactly.
fn quadruple(native: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..10].copy_from_slice(&native[..10]);
    let bits = u128::from_le_bytes(bytes);
    let significand = bits as u64;
    let sign_exponent = bits >> 64;
    // A number with the smallest exponent and the leading one is the next exponent's first.
    let exponent_up = u128::from(sign_exponent & 0x7fff == 0 && significand >> 63 == 1);
    let fraction = u128::from(significand & (u64::MAX >> 1)) << FEWER;
    ((sign_exponent + exponent_up) << FRACTION) | fraction
}

/// binary128 as the x87's number, rounded to the nearest, ties to even.
fn extended(bits: u128) -> [u8; 16] {
    let sign = bits >> 127 << 15;
    let exponent = (bits >> FRACTION) & 0x7fff;
    let fraction = bits & ((1 << FRACTION) - 1);
    let (half, low) = (1u128 << (FEWER - 1), fraction & ((1 << FEWER) - 1));
    // Exponent and fraction as one number, so that rounding up may carry into the exponent.
    let mut kept = (exponent << 63) | (fraction >> FEWER);
    if exponent == 0x7fff {
        // A fraction of which only lost bits were set must stay one, or "not a number" would become infinity.
        kept |= u128::from(fraction != 0) << 62;
    } else if low > half || (low == half && kept & 1 == 1) {
        kept += 1;
    }
    let exponent = kept >> 63;
    let leading = u128::from(exponent != 0) << 63;
    let significand = (kept & ((1 << 63) - 1)) | leading;
    (((sign | exponent) << 64) | significand).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the value 1.5: sign and exponent, then the significand; in binary128 the leading one is not written.
    #[test]
    fn the_x87s_numbers_are_quadruple() {
        let native = ((0x3fffu128 << 64) | (0b11 << 62)).to_le_bytes();
        let expected = (0x3fffu128 << 112) | (1 << 111);
        assert_eq!(quadruple(&native), expected);
        assert_eq!(extended(expected), native);
    }

    #[test]
    fn every_x87_number_survives() {
        let smallest = 1u128.to_le_bytes();
        let infinity = ((0xffffu128 << 64) | (1 << 63)).to_le_bytes();
        let largest = ((0x7ffeu128 << 64) | u128::from(u64::MAX)).to_le_bytes();
        let zero = (0x8000u128 << 64).to_le_bytes();
        for native in [smallest, infinity, largest, zero] {
            assert_eq!(extended(quadruple(&native)), native);
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_and_even() {
        let one = 0x3fffu128 << 112;
        let unit = 1u128 << FEWER;
        assert_eq!(extended(one + unit / 2), extended(one), "a tie goes to the even one");
        assert_eq!(extended(one + unit / 2 + 1), extended(one + unit));
        assert_eq!(extended(one + unit + unit / 2), extended(one + 2 * unit), "a tie goes to the even one");
        assert_eq!(extended(one - 1), extended(one), "rounding up carries into the exponent");
        let not_a_number = (0x7fffu128 << 112) | 1;
        assert_ne!(extended(not_a_number), extended(0x7fff << 112), "what is no number stays none");
    }
}
