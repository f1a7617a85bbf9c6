//! How a process asks its launcher to start others (PMI-1's command `spawn`, which has a line for each fact).
//!
//! Texts go as [`escaped`] words if the line `escaped=1` says so: programs' arguments may have any bytes.
#![forbid(unsafe_code)]

use std::fmt::Write;

use crate::pmi::{LINE_MAX, Message, Pmi, PmiError};

/// The line with which a command to start begins.
pub const BEGINNING: &str = "mcmd=spawn";
/// The line with which it ends.
pub const ENDING: &str = "endcmd";
/// Says that texts are [`escaped`].
pub const ESCAPED: &str = "escaped=1";
/// The key under which the started processes are told of their parents, if all are on one machine.
pub const PARENTS_KEY: &str = "rwmpi-parents";
/// The key under which they are told of their parents if they are not.
pub const PARENTS_ELSEWHERE_KEY: &str = "rwmpi-parents-elsewhere";
/// What stands for that in the environment of the started processes, which ask the launcher for it: it has a secret.
pub const PARENTS_ASKED_FOR: &str = "ask";
/// A word of the launcher's answer: the new processes are not all on the machine of those who have asked for them, or
/// could not know that.
pub const ELSEWHERE: &str = "place=elsewhere";

/// A program to start as several processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name.
    pub program: String,
    /// Its arguments, without the name.
    pub arguments: Vec<String>,
    /// How many processes.
    pub processes: usize,
    /// What else is asked for, as keys and values.
    pub hints: Vec<(String, String)>,
}

/// The hints that name hosts.
const HOST_HINTS: [&str; 2] = ["host", "hosts"];
/// The hint that names a directory to start in.
const DIRECTORY_HINT: &str = "wdir";
/// The hint with lines `NAME=value` for the environment.
const ENVIRONMENT_HINT: &str = "env";

/// The hosts that hints name, if they do.
pub fn hosts(hints: &[(String, String)]) -> Option<&str> {
    hints.iter().find(|(key, _)| HOST_HINTS.contains(&key.as_str())).map(|(_, value)| value.as_str())
}

/// The directory that hints name, if they do.
pub fn directory(hints: &[(String, String)]) -> Option<&str> {
    hints.iter().find(|(key, _)| key == DIRECTORY_HINT).map(|(_, value)| value.as_str())
}

/// The lines `NAME=value` that hints have for the environment.
pub fn environment(hints: &[(String, String)]) -> impl Iterator<Item = &str> {
    let set = hints.iter().filter(|(key, _)| key == ENVIRONMENT_HINT);
    set.flat_map(|(_, lines)| lines.lines()).filter(|line| line.contains('='))
}

/// What the new processes are told of their parents ([`crate::Parents::said`]), whichever it is that the launcher can
/// make true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldOfParents {
    /// If all are on one machine.
    pub here: Option<String>,
    /// Wherever they are.
    pub elsewhere: Option<String>,
}

/// How texts are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As [`escaped`] words, which our launcher understands.
    Escaped,
    /// As they are, for any launcher.
    Plain,
}

impl Spelling {
    fn of(self, text: &str) -> String {
        if self == Spelling::Escaped { escaped(text) } else { text.to_owned() }
    }
}

/// The request to start these, and to tell them that of their parents; in error, what can't be said.
///
/// # Errors
/// If a text is too long for the launcher, or has more than a line and can't be escaped.
pub fn request(commands: &[Command], parents: &ToldOfParents, spelling: Spelling) -> Result<String, String> {
    let texts = commands.iter().flat_map(|command| command.arguments.iter().chain([&command.program]));
    if spelling == Spelling::Plain
        && let Some(text) = texts.into_iter().find(|text| text.contains('\n'))
    {
        return Err(format!("{text:?} has several lines, which this launcher can't be told of"));
    }
    let told = [(PARENTS_KEY, &parents.here), (PARENTS_ELSEWHERE_KEY, &parents.elsewhere)];
    let told: Vec<_> = told.into_iter().filter_map(|(key, told)| Some((key, told.as_deref()?))).collect();
    let mut text = String::new();
    for (before, command) in commands.iter().enumerate() {
        let Command { program, arguments, processes, hints } = command;
        let _ = writeln!(text, "{BEGINNING}");
        if spelling == Spelling::Escaped {
            let _ = writeln!(text, "{ESCAPED}");
        }
        let _ = writeln!(text, "nprocs={processes}\nexecname={}", spelling.of(program));
        let _ = writeln!(text, "totspawns={}\nspawnssofar={}\nargcnt={}", commands.len(), before + 1, arguments.len());
        for (number, argument) in (1..).zip(arguments) {
            let _ = writeln!(text, "arg{number}={}", spelling.of(argument));
        }
        let _ = writeln!(text, "preput_num={}", told.len());
        for (number, (key, told)) in told.iter().enumerate() {
            let _ = writeln!(text, "preput_key_{number}={key}\npreput_val_{number}={told}");
        }
        let is_said = |(key, value): &&(String, String)| {
            spelling == Spelling::Escaped || !(key.contains('\n') || value.contains('\n'))
        };
        let hints: Vec<_> = hints.iter().filter(is_said).collect();
        let _ = writeln!(text, "info_num={}", hints.len());
        for (number, (key, value)) in hints.into_iter().enumerate() {
            let (key, value) = (spelling.of(key), spelling.of(value));
            let _ = writeln!(text, "info_key_{number}={key}\ninfo_val_{number}={value}");
        }
        let _ = writeln!(text, "{ENDING}");
    }
    match text.lines().map(str::len).max() {
        Some(len) if len >= LINE_MAX => Err(format!("an argument or hint takes {len} bytes, {LINE_MAX} are allowed")),
        _ => Ok(text),
    }
}

impl Pmi {
    /// Has the launcher start further processes, as that [`request`] says; in the result, whether they may be
    /// elsewhere, or why it does not.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub(crate) fn start_more(&mut self, request: &str) -> Result<Result<bool, String>, PmiError> {
        let reply = self.say_lines(request)?;
        let message = Message::new(&reply);
        if message.command() != "spawn_result" {
            return Err(PmiError::Refused { request: BEGINNING.to_owned(), reply });
        }
        let why = message.get("msg").map_or_else(|| "it does not say why".to_owned(), unescaped);
        let is_elsewhere = reply.split_ascii_whitespace().any(|word| word == ELSEWHERE);
        Ok(if message.is_success() { Ok(is_elsewhere) } else { Err(why) })
    }
}

/// A text as a word: bytes that are not visible, and `%`, as `%` and two digits.
pub fn escaped(text: &str) -> String {
    let mut word = String::new();
    for byte in text.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => word.push(byte.into()),
            _ => _ = write!(word, "%{byte:02x}"),
        }
    }
    word
}

/// The text that was [`escaped`]; what is none stays as it is.
pub fn unescaped(word: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), word.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn texts_come_back(text in any::<String>(), noise in any::<String>()) {
            let word = escaped(&text);
            prop_assert!(word.bytes().all(|byte| byte.is_ascii_graphic()), "{word}");
            prop_assert_eq!(unescaped(&word), text);
            let _ = unescaped(&noise);
        }
    }

    #[test]
    fn each_fact_has_a_line() {
        let command = Command {
            program: "./a b".to_owned(),
            arguments: vec!["x\ny".to_owned()],
            processes: 3,
            hints: vec![("wdir".to_owned(), "/tmp".to_owned())],
        };
        let expected = "mcmd=spawn\nescaped=1\nnprocs=3\nexecname=./a%20b\ntotspawns=1\nspawnssofar=1\nargcnt=1\narg1=x%0ay\n\
                        preput_num=1\npreput_key_0=rwmpi-parents\npreput_val_0=2/word\ninfo_num=1\ninfo_key_0=wdir\ninfo_val_0=/tmp\n\
                        endcmd\n";
        let parents = ToldOfParents { here: Some("2/word".to_owned()), elsewhere: None };
        assert_eq!(request(std::slice::from_ref(&command), &parents, Spelling::Escaped).as_deref(), Ok(expected));
        let both = ToldOfParents { elsewhere: Some("2/port".to_owned()), ..parents };
        let said = request(std::slice::from_ref(&command), &both, Spelling::Escaped).unwrap();
        assert!(said.contains("preput_num=2\n") && said.contains("_1=rwmpi-parents-elsewhere\npreput_val_1=2/port\n"));
        let plain = |command: &Command| request(std::slice::from_ref(command), &both, Spelling::Plain);
        assert!(plain(&command).unwrap_err().contains("several lines"));
        let said = plain(&Command { arguments: vec!["50% x".to_owned()], ..command.clone() }).unwrap();
        assert!(said.starts_with("mcmd=spawn\nnprocs=3\nexecname=./a b\n") && said.contains("arg1=50% x\n"), "{said}");
        let long = Command { arguments: vec!["x".repeat(LINE_MAX)], ..command };
        assert!(request(&[long], &both, Spelling::Escaped).unwrap_err().contains("4101 bytes"));
    }
}
