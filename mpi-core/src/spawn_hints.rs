//! What hints make of a command to spawn (MPI-5.0 section 11.8.4).

use crate::{Error, ErrorClass, Info, Result};

/// The hint whose value is a file with further hints.
const FILE: &str = "file";
/// The hint that says how many ranks will do.
const SOFT: &str = "soft";
/// The hints that are for this side alone.
pub(crate) const OWN: [&str; 2] = [FILE, SOFT];

fn refused(what: String) -> Error {
    Error::new(ErrorClass::InfoValue, what)
}

/// The hints, and those in the file that they name: a line each, `key = value`; what follows `#` is a remark. Hints
/// that are given win.
pub(crate) fn with_file(info: &Info) -> Result<Info> {
    let Some(name) = info.get(FILE)? else { return Ok(info.clone()) };
    let text = std::fs::read_to_string(name).map_err(|error| refused(format!("the hint file, {name:?}: {error}")))?;
    let mut all = info.clone();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(refused(format!("the hint file, {name:?}, line {number}: {line:?} is not KEY = VALUE")));
        };
        if all.get(key.trim())?.is_none() {
            all.set(key.trim(), value.trim())?;
        }
    }
    Ok(all)
}

/// How many ranks are started where up to `most` are asked for: the largest number that the hint allows.
pub(crate) fn ranks(info: &Info, most: usize) -> Result<usize> {
    let Some(text) = info.get(SOFT)? else { return Ok(most) };
    let wrong = || refused(format!("the hint soft is {text:?}: it takes numbers, A:B or A:B:C, separated by commas"));
    let mut best = None;
    for entry in text.split(',') {
        best = best.max(largest(entry.trim(), most).ok_or_else(wrong)?);
    }
    let none = || refused(format!("the hint soft, {text:?}, allows no number of ranks from 1 to {most}"));
    best.and_then(|best| usize::try_from(best).ok()).ok_or_else(none)
}

/// The largest number from 1 to `most` of those that an entry names, if it names any; `None` if it is no entry.
fn largest(entry: &str, most: usize) -> Option<Option<i64>> {
    let numbers = entry.split(':').map(|number| number.trim().parse::<i64>().ok()).collect::<Option<Vec<_>>>()?;
    let (first, last, step) = match numbers[..] {
        [only] => (only, only, 1),
        [first, last] => (first, last, 1),
        [first, last, step] if step != 0 => (first, last, step),
        _ => return None,
    };
    // From below, whichever way they are named.
    let steps = last.checked_sub(first)?.checked_div(step)?;
    if steps < 0 {
        return Some(None);
    }
    let end = first.checked_add(steps.checked_mul(step)?)?;
    let (low, high, step) = (first.min(end), first.max(end), step.unsigned_abs() as i64);
    let most = i64::try_from(most).unwrap_or(i64::MAX).min(high);
    let best = if most < low { None } else { low.checked_add((most - low) / step * step) };
    Some(best.filter(|&best| best > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soft(text: &str, most: usize) -> Option<usize> {
        let mut info = Info::new();
        info.set(SOFT, text).unwrap();
        ranks(&info, most).ok()
    }

    #[test]
    fn the_largest_number_that_will_do_is_taken() {
        assert_eq!(ranks(&Info::new(), 3).ok(), Some(3));
        for (text, most, expected) in [
            ("2", 8, Some(2)),
            ("1:100", 8, Some(8)),
            ("1:7:2", 8, Some(7)),
            ("1:100:3", 8, Some(7)),
            ("10:2:-4", 8, Some(6)),
            ("0, 2,4", 5, Some(4)),
            ("3", 2, None),
            ("0", 2, None),
            ("5:1", 9, None),
            ("-5:-1", 9, None),
        ] {
            assert_eq!(soft(text, most), expected, "{text}");
        }
        for text in ["", "x", "1:2:3:4", "1:2:0", "1:", "9223372036854775807:-9223372036854775808"] {
            assert_eq!(soft(text, 4), None, "{text}");
        }
    }

    #[test]
    fn a_file_has_further_hints() {
        let path = std::env::temp_dir().join(format!("rwmpi-hints-{}", std::process::id()));
        std::fs::write(&path, "# remarks\nwdir = /tmp # here\n\nsoft=1:2\n").unwrap();
        let mut info = Info::new();
        info.set(FILE, path.to_str().unwrap()).unwrap();
        info.set("wdir", "/").unwrap();
        let all = with_file(&info).unwrap();
        assert_eq!((all.get("wdir").unwrap(), all.get("soft").unwrap()), (Some("/"), Some("1:2")));
        std::fs::write(&path, "nonsense\n").unwrap();
        assert!(with_file(&info).unwrap_err().to_string().contains("line 1"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(with_file(&info).unwrap_err().class(), ErrorClass::InfoValue);
    }
}
