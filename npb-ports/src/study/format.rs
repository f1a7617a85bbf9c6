//! Figures in words: one way to write seconds, bytes, rates and shares for the terminal and the page.

/// What stands where there is no value.
pub const NONE: &str = "–";

/// A number with three significant digits, without an exponent: `0.00123`, `1.23`, `123`, `12 300`.
pub fn significant(value: f64) -> String {
    digits(value, 3)
}

fn digits(value: f64, number: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { NONE.to_owned() };
    }
    let magnitude = value.abs().log10().floor() as i32;
    let rounded = round_to(value, magnitude - number + 1);
    // Rounding may carry into a new digit: 9.996 has three significant digits as 10.0.
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = (number - 1 - magnitude).max(0) as usize;
    if decimals == 0 && rounded > 0.0 { count(rounded as u64) } else { format!("{rounded:.decimals$}") }
}

fn round_to(value: f64, exponent: i32) -> f64 {
    let unit = 10f64.powi(exponent.abs());
    if exponent < 0 { (value * unit).round() / unit } else { (value / unit).round() * unit }
}

/// Seconds of a run, with four significant digits.
pub fn seconds(value: f64) -> String {
    digits(value, 4)
}

/// Bytes, decimal units: `120 B`, `9.83 KB`, `1.05 MB`.
pub fn bytes(value: f64) -> String {
    let (unit, divisor) = match value {
        v if v < 999.5 => ("B", 1.0),
        v if v < 999.5e3 => ("KB", 1e3),
        v if v < 999.5e6 => ("MB", 1e6),
        _ => ("GB", 1e9),
    };
    if divisor == 1.0 && value.fract() == 0.0 {
        return format!("{value:.0} B");
    }
    format!("{} {unit}", significant(value / divisor))
}

/// Bytes in at most four letters, decimal units: `120`, `9.8K`, `762K`, `1.0M`.
pub fn compact(value: u64) -> String {
    let (unit, divisor) = match value {
        0..1_000 => return value.to_string(),
        1_000..999_500 => ("K", 1e3),
        999_500..999_500_000 => ("M", 1e6),
        _ => ("G", 1e9),
    };
    let scaled = value as f64 / divisor;
    format!("{scaled:.*}{unit}", usize::from(scaled < 9.95))
}

/// A message size as a power of two where it is one: `0`, `64`, `4K`, `1M`.
pub fn message_size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

/// A whole number with its thousands apart: `1 234 567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        // A no-break space, so that tables and lines never part a number.
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// A share of one as a percentage, not to be broken across lines: `0.01 %`, `53.3 %`, `100 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value == 0.0 {
        "0\u{a0}%".to_owned()
    } else if value < 0.005 {
        "<0.01\u{a0}%".to_owned()
    } else if value < 1.0 {
        format!("{value:.2}\u{a0}%")
    } else if value >= 99.95 {
        format!("{value:.0}\u{a0}%")
    } else {
        format!("{value:.1}\u{a0}%")
    }
}

/// A time in words for someone who waits: `40 s`, `3 min`, `2 h 5 min`.
pub fn wait(seconds: f64) -> String {
    let whole = seconds.ceil() as u64;
    match whole {
        0..=90 => format!("{whole} s"),
        91..=5400 => format!("{} min", whole.div_ceil(60)),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// The text of a value that may be missing.
pub fn or_none<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), text)
}

/// Words joined as in a sentence: `a`, `a and b`, `a, b and c`.
pub fn list<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [init @ .., last] => {
            let init: Vec<&str> = init.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", init.join(", "), last.as_ref())
        }
    }
}

/// `1 run`, `2 runs`.
pub fn plural(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        let cases = [(0.0012345, "0.00123"), (9.996, "10.0"), (123.4, "123"), (12345.0, "12\u{a0}300"), (0.0, "0")];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn bytes_change_units_where_rounding_does() {
        assert_eq!(bytes(120.0), "120 B");
        assert_eq!(bytes(999.6), "1.00 KB");
        assert_eq!(bytes(1_048_576.0), "1.05 MB");
    }

    #[test]
    fn compact_bytes_fit_a_small_square() {
        let cases =
            [(999, "999"), (1000, "1.0K"), (9_949, "9.9K"), (9_951, "10K"), (999_499, "999K"), (999_500, "1.0M")];
        for (value, text) in cases {
            assert_eq!(compact(value), text);
        }
    }

    #[test]
    fn shares_never_round_to_nothing() {
        assert_eq!(percent(0.0000001), "<0.01\u{a0}%");
        assert_eq!(percent(0.0001), "0.01\u{a0}%");
        assert_eq!(percent(0.5333), "53.3\u{a0}%");
        assert_eq!(percent(4.44), "444\u{a0}%");
        assert_eq!(percent(1.0), "100\u{a0}%");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(count(1234), "1234");
        assert_eq!(count(1_234_567), "1\u{a0}234\u{a0}567");
    }
}
