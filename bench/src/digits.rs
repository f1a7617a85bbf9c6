//! Numbers with as many digits as mean something.

/// `value` with so many decimals: the clock does not tell more.
pub fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (value * scale).round() / scale
}

/// A time with about four digits that mean something.
pub fn microseconds(time: f64) -> String {
    match time {
        t if t < 10.0 => format!("{t:.4}"),
        t if t < 1000.0 => format!("{t:.2}"),
        t => format!("{t:.0}"),
    }
}
