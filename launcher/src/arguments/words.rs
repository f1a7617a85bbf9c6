//! Words of a command line: which option each is, and what belongs to it.

use super::apply::begins_with_a_file;
use super::table::{Id, Known, OPTIONS, What};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// An option that somebody has given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) id: Id,
    /// As it was written, without a value.
    pub(super) name: String,
    pub(super) values: Vec<OsString>,
}

impl Given {
    /// What is wrong with its value.
    pub(super) fn refuse(&self, what: impl std::fmt::Display) -> String {
        let values: Vec<_> = self.values.iter().map(|value| value.to_string_lossy()).collect();
        format!("invalid value '{}' for '{}': {what}", values.join(" "), self.name)
    }

    /// Its value, which has to be text.
    pub(super) fn text(&self) -> Result<&str, String> {
        self.values[0].to_str().ok_or_else(|| self.refuse("it is not text"))
    }

    /// Its value, a number from `least` on.
    pub(super) fn number(&self, least: usize) -> Result<usize, String> {
        let number = self.text()?.parse().ok().filter(|&number| number >= least);
        number.ok_or_else(|| self.refuse(format_args!("not a number from {least} on")))
    }
}

/// The options of a section, what is to be said about others, and the words after them.
pub(super) fn split<'a>(
    words: &'a [OsString],
    notes: &mut Vec<String>,
) -> Result<(Vec<Given>, &'a [OsString]), String> {
    let mut given = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return Ok((given, after));
        }
        if !word.as_bytes().starts_with(b"-") {
            break;
        }
        let (known, name, attached) = understand(word)?;
        let mut values: Vec<OsString> = attached.into_iter().collect();
        let wanted = known.values.iter().filter(|value| !value.starts_with('[')).count();
        let missing = wanted.saturating_sub(values.len());
        if values.len() > known.values.len() {
            return Err(format!("'{name}' takes no value"));
        }
        let may_follow = values.is_empty() && known.values == ["[FILE]"] && begins_with_a_file(after);
        let Some((more, after)) = after.split_at_checked(missing.max(usize::from(may_follow))) else {
            return Err(format!("'{name}' needs {}", known.values.join(" and ")));
        };
        values.extend_from_slice(more);
        rest = after;
        take(known, name, values, &mut given, notes);
    }
    Ok((given, rest))
}

fn take(known: &Known, name: String, values: Vec<OsString>, given: &mut Vec<Given>, notes: &mut Vec<String>) {
    match known.what {
        What::Does(id, _) => given.push(Given { id, name, values }),
        What::Is(option, value) => {
            let own = values.first().map(|own| own.to_string_lossy()).unwrap_or_default();
            let value = value.replace("{}", &own);
            if let Some(Known { what: What::Does(id, _), .. }) = find(option) {
                given.push(Given { id: *id, name, values: vec![value.into()] });
            }
        }
        What::SoAnyway(_) => {}
        What::Nothing(why) => note(notes, format!("note: {name} has no effect: {why}")),
    }
}

/// Says something once.
pub(super) fn note(notes: &mut Vec<String>, text: String) {
    if !notes.contains(&text) {
        notes.push(text);
    }
}

/// The option of that name.
pub(super) fn find(name: &str) -> Option<&'static Known> {
    OPTIONS.iter().copied().flatten().find(|known| known.names.contains(&name))
}

/// The option that a word is, as it was written, and a value that is attached to it: `--np=4`, `-n4`, `-xA=1`.
fn understand(word: &OsStr) -> Result<(&'static Known, String, Option<OsString>), String> {
    let bytes = word.as_bytes();
    let dashes = if bytes.starts_with(b"--") { 2 } else { 1 };
    let end = bytes.iter().position(|&byte| byte == b'=').unwrap_or(bytes.len());
    let name = String::from_utf8_lossy(&bytes[dashes..end]);
    if let Some(known) = find(&name) {
        let attached = (end < bytes.len()).then(|| OsString::from_vec(bytes[end + 1..].to_vec()));
        return Ok((known, String::from_utf8_lossy(&bytes[..end]).into_owned(), attached));
    }
    // A letter with its value behind it.
    let behind = bytes.get(2..).unwrap_or_default();
    let is_number = !behind.is_empty() && behind.iter().all(u8::is_ascii_digit);
    let attached = match bytes.get(1) {
        Some(b'n') if is_number => Some("n"),
        Some(b'N') if is_number => Some("N"),
        Some(b'x') if dashes == 1 && behind.contains(&b'=') => Some("x"),
        _ => None,
    };
    if let Some(letter) = attached.filter(|_| dashes == 1)
        && let Some(known) = find(letter)
    {
        return Ok((known, format!("-{letter}"), Some(OsString::from_vec(behind.to_vec()))));
    }
    Err(unknown(&word.to_string_lossy(), &name))
}

fn unknown(word: &str, name: &str) -> String {
    let all = OPTIONS.iter().copied().flatten().filter(|known| !matches!(known.what, What::Nothing(_)));
    let all = all.flat_map(|known| known.names).filter(|known| known.len() > 2);
    let nearest = all.map(|known| (strsim::osa_distance(name, known), *known)).min();
    // A third of the letters wrong is no slip.
    match nearest.filter(|&(wrong, known)| wrong <= 2 && wrong * 3 <= known.len()) {
        Some((_, known)) => format!("unknown option '{word}': perhaps '--{known}' is meant"),
        None => format!("unknown option '{word}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_there_twice_and_names_of_others_lead_somewhere() {
        let all: Vec<&Known> = OPTIONS.iter().copied().flatten().collect();
        let mut names: Vec<&str> = all.iter().flat_map(|known| known.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for known in all {
            if let What::Is(option, _) = known.what {
                assert!(matches!(find(option), Some(Known { what: What::Does(..), .. })), "{option}");
            }
        }
    }
}
