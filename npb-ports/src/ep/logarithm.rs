//! A natural logarithm without branches or calls, for loops over many numbers.

use std::f64::consts::{LN_2, SQRT_2};

/// ln x for normal positive x, to a few units in the last place.
///
/// With x = 2^e·m and m between √½ and √2, ln x = e·ln 2 + 2 artanh s, where s = (m − 1)/(m + 1) is at most 0.172, so
/// that eleven terms of the series s + s³/3 + s⁵/5 + … exhaust the precision of a double.
#[inline(always)]
pub fn natural_logarithm(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    /// Added to an integer below 2^52, its bits are those of a double that is larger than the integer by 2^52.
    const TWO_TO_THE_52: u64 = 0x433 << 52;
    // Measured from √½, the exponent field changes where m passes √2.
    let shifted = x.to_bits().wrapping_sub((SQRT_2 / 2.0).to_bits());
    let bits = shifted & !MANTISSA;
    let exponent =
        f64::from_bits((((shifted >> 52) + 2048) & 4095) | TWO_TO_THE_52) - (f64::from_bits(TWO_TO_THE_52) + 2048.0);
    let m = f64::from_bits(x.to_bits().wrapping_sub(bits));
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut series = 1.0 / 21.0;
    for denominator in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        series = series * square + 1.0 / denominator;
    }
    exponent * LN_2 + (2.0 * s + 2.0 * s * square * series)
}

#[cfg(test)]
mod tests {
    use super::natural_logarithm;

    #[test]
    fn it_agrees_with_the_standard_library() {
        let mut x = 1e-30_f64;
        while x < 1e10 {
            let expected = x.ln();
            assert!((natural_logarithm(x) - expected).abs() <= 1e-15 * expected.abs().max(1e-3), "{x}");
            x *= 1.000_7;
        }
        for x in [1.0, 1.0 - f64::EPSILON / 2.0, 1.0 + f64::EPSILON, 0.5, 2.0, 0.5_f64.sqrt(), 2_f64.sqrt()] {
            assert!((natural_logarithm(x) - x.ln()).abs() <= 4e-16 * x.ln().abs(), "{x}");
        }
    }
}
