//! The table as text: lines of TOML, `name = number`. A line that is not understood is an error that says which one it
//! is.

use std::fmt::Write;

use super::{Row, Tuning};

/// A name with at most so many letters wrong is taken for a misspelt one.
const WRONG_LETTERS_MAX: usize = 3;

impl Tuning {
    /// Takes the values that `text` gives, and says which.
    ///
    /// # Errors
    /// The first line that is wrong, and why. Earlier lines have been taken.
    pub fn read(&mut self, text: &str) -> Result<Vec<&'static str>, String> {
        let mut given: Vec<&'static str> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let failed = |what: String| format!("line {number}: {what}");
            let Some((name, value)) = assignment(line).map_err(failed)? else { continue };
            if given.contains(&name) {
                return Err(failed(format!("{name} is given twice")));
            }
            given.push(self.set(name, value).map_err(failed)?);
        }
        Ok(given)
    }

    /// The values that are not the default, as [`Tuning::read`] takes them.
    pub fn changes(&self) -> String {
        let changed = Tuning::ROWS.iter().filter(|row| self.get(row) != row.default);
        changed.fold(String::new(), |text, row| text + &format!("{} = {}\n", row.name, self.get(row)))
    }

    /// A file of all values, each with what it decides.
    pub fn to_toml(&self) -> String {
        let mut text =
            "# From which lengths, and up to how many ranks, messages and collectives go which way.\n".to_owned();
        for row in Tuning::ROWS {
            let Row { name, doc, unit, .. } = row;
            // Nothing can go wrong in memory.
            let _ = write!(text, "\n#{doc}\n{name} = {} # {}\n", self.get(row), unit.name());
        }
        text
    }
}

/// What a line gives, if it is more than a remark.
fn assignment(line: &str) -> Result<Option<(&str, usize)>, String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    if line.is_empty() {
        return Ok(None);
    }
    let Some((name, value)) = line.split_once('=') else {
        return Err(format!("{line:?} is not of the form name = number"));
    };
    let (name, value) = (name.trim(), value.trim());
    let digits = value.replace('_', "");
    let is_number = value.bytes().next().is_some_and(|first| first.is_ascii_digit());
    match digits.parse().ok().filter(|_| is_number) {
        Some(number) => Ok(Some((name, number))),
        None => Err(format!("the value of {name} is {value}, which is not a number that can be counted to")),
    }
}

/// What is said of a name that the table does not have.
pub(super) fn no_such_name(name: &str) -> String {
    let nearest = Tuning::ROWS.iter().map(|row| (strsim::osa_distance(name, row.name), row.name)).min();
    let hint = match nearest {
        Some((wrong, known)) if wrong <= WRONG_LETTERS_MAX => format!("perhaps {known} is meant"),
        _ => "mpiexec --explain lists those that there are".to_owned(),
    };
    format!("{name} is no value of the table: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Tuning::DEFAULT.clone().read(text).unwrap_err()
    }

    #[test]
    fn lines_set_values() {
        let mut tuning = Tuning::DEFAULT;
        tuning.read("# mine\n\n  slots_below=4_096 # bytes\nslots_ranks_max = 8\n").unwrap();
        assert_eq!(tuning, Tuning { slots_below: 4096, slots_ranks_max: 8, ..Tuning::DEFAULT });
        assert_eq!(tuning.changes(), "slots_below = 4096\nslots_ranks_max = 8\n");
        assert_eq!(Tuning::DEFAULT.changes(), "");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = Tuning { passed_max: 1, broadcast_chunk_min: 77, ..Tuning::DEFAULT };
        for text in [written.to_toml(), written.changes()] {
            let mut read = Tuning::DEFAULT;
            read.read(&text).unwrap();
            assert_eq!(read, written, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("\nslots_belov = 3", "line 2: slots_belov is no value of the table: perhaps slots_below is meant"),
            ("fruit = 3", "line 1: fruit is no value of the table: mpiexec --explain lists those that there are"),
            ("slots_below", "line 1: \"slots_below\" is not of the form name = number"),
            (
                "slots_below = \"20 KiB\"",
                "line 1: the value of slots_below is \"20 KiB\", which is not a number that can be counted to",
            ),
            (
                "slots_below = -1",
                "line 1: the value of slots_below is -1, which is not a number that can be counted to",
            ),
            (
                "slots_below = 99999999999999999999",
                "line 1: the value of slots_below is 99999999999999999999, which is not a number that can be counted to",
            ),
            ("slots_below = 1000000", "line 1: slots_below can be 1 to 65536 bytes, not 1000000"),
            ("slots_below = 1\nslots_below = 2", "line 2: slots_below is given twice"),
        ] {
            assert_eq!(refusal(text), expected);
        }
    }
}
