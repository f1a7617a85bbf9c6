//! Names for places in programs, as compilers leave them for debuggers.
//!
//! A line of the question is the number of a backtrace, a place in a file, hexadecimal, and the file; the frames of a
//! backtrace follow each other, the innermost first. The answer has lines with the number and what is to be shown.

use addr2line::Loader;
use object::{Object, ObjectSegment, ReadCache};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, Write};

/// How programs die that have found out themselves: the way from there to the signal says nothing.
const DYING: &[&str] = &[
    "__pthread_kill_implementation",
    "__pthread_kill_internal",
    "__pthread_kill",
    "pthread_kill",
    "gsignal",
    "raise",
    "__GI_raise",
    "abort",
    "__GI_abort",
    "__assert_fail_base",
    "__assert_fail_base.cold",
    "__assert_fail",
    "std::process::abort",
];
/// So many frames that takes at most.
const DYING_MAX: usize = 8;
/// Whoever calls these is not the program.
const FIRST: &[&str] = &["main", "MAIN__", "start_thread"];
const FIRST_IN_RUST: &str = "__rust_begin_short_backtrace";

/// One file, with what is known of it.
struct Program {
    loader: Option<Loader>,
    /// For each part that is loaded: where in the file, how long, at which of its own addresses.
    segments: Vec<(u64, u64, u64)>,
}

impl Program {
    fn open(path: &str) -> Program {
        let loader = Loader::new(path).ok();
        let segments = File::open(path).ok().and_then(|file| {
            let cache = ReadCache::new(file);
            let object = object::File::parse(&cache).ok()?;
            Some(
                object
                    .segments()
                    .map(|segment| {
                        let (offset, len) = segment.file_range();
                        (offset, len, segment.address())
                    })
                    .collect(),
            )
        });
        Program { loader, segments: segments.unwrap_or_default() }
    }

    /// The address that the file itself has for a place in it.
    fn address(&self, place: u64) -> Option<u64> {
        let segment =
            self.segments.iter().find(|(offset, len, _)| place.checked_sub(*offset).is_some_and(|at| at < *len));
        segment.map(|(offset, _, address)| place - offset + address)
    }
}

/// A function, and the words for the place in it.
struct Named {
    function: String,
    text: String,
}

/// Answers a whole question.
pub fn answer(question: impl BufRead, mut answer: impl Write) -> io::Result<()> {
    let mut programs: HashMap<String, Program> = HashMap::new();
    let mut backtraces: Vec<(String, Vec<Named>)> = Vec::new();
    for line in question.lines() {
        let line = line?;
        let mut words = line.splitn(3, ' ');
        let (Some(number), Some(place), Some(file)) = (words.next(), words.next(), words.next()) else { continue };
        let Ok(place) = u64::from_str_radix(place, 16) else { continue };
        let is_innermost = backtraces.last().is_none_or(|(last, _)| last != number);
        if is_innermost {
            backtraces.push((number.to_owned(), Vec::new()));
        }
        let program = programs.entry(file.to_owned()).or_insert_with(|| Program::open(file));
        if let Some((_, frames)) = backtraces.last_mut() {
            // A caller goes on behind its call: one byte before that is the call for sure.
            frames.extend(name(program, file, place, if is_innermost { 0 } else { 1 }));
        }
    }
    for (number, frames) in &backtraces {
        for text in shown(frames) {
            writeln!(answer, "{number} {text}")?;
        }
    }
    answer.flush()
}

/// The functions at that place: several, if one was compiled into the other.
fn name(program: &Program, file: &str, place: u64, back: u64) -> Vec<Named> {
    let unnamed = |function: &str| {
        let short = file.rsplit('/').next().unwrap_or(file);
        let text = match (function, file) {
            ("", "") => format!("{place:#x}, where no program is"),
            ("", _) => format!("{place:#x} in {file}"),
            _ => format!("{function} in {short}"),
        };
        Named { function: function.to_owned(), text }
    };
    let known = program.loader.as_ref().zip(program.address(place));
    let Some((loader, address)) = known.and_then(|(loader, address)| Some((loader, address.checked_sub(back)?))) else {
        return vec![unnamed("")];
    };
    let symbol = addr2line::demangle_auto(loader.find_symbol(address).unwrap_or_default().into(), None);
    let mut named: Vec<Named> = Vec::new();
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let Some(function) = frame.function.as_ref().and_then(|name| name.demangle().ok()) else { continue };
            let at = frame.location.as_ref().and_then(|location| Some((location.file?, location.line?)));
            let at = at.map(|(source, line)| format!(" at {source}:{line}"));
            named.push(Named { text: at.unwrap_or_default(), function: function.into_owned() });
        }
    }
    // The outermost is the one that is a function in the file, and known there by its full name.
    match named.last_mut() {
        Some(outermost) if !symbol.is_empty() => outermost.function = symbol.into_owned(),
        Some(_) => {}
        None => return vec![unnamed(&symbol)],
    }
    for Named { function, text } in &mut named {
        *text = if text.is_empty() { unnamed(function).text } else { format!("{function}{text}") };
    }
    named
}

/// What is shown of a backtrace: what the program did, without what had called it or let it die. Lines that repeat the
/// one before are counted.
fn shown(frames: &[Named]) -> Vec<String> {
    let dying = frames.iter().take(DYING_MAX).rposition(|frame| DYING.contains(&frame.function.as_str()));
    let of_program = dying.map_or(frames, |last| &frames[last + 1..]);
    let of_program = if of_program.is_empty() { frames } else { of_program };
    let in_rust = of_program.iter().position(|frame| frame.function.contains(FIRST_IN_RUST)).map(|end| {
        // What calls the program's `main` is nothing of the program either.
        end - usize::from(end > 1 && of_program[end - 1].function.contains("FnOnce::call_once"))
    });
    let in_c = || of_program.iter().position(|frame| FIRST.contains(&frame.function.as_str())).map(|last| last + 1);
    let end = in_rust.or_else(in_c).unwrap_or(of_program.len());
    let runs = of_program[..end].chunk_by(|one, next| one.text == next.text);
    let line = |run: &[Named]| match run {
        [one] => one.text.clone(),
        several => format!("{} (×{})", several[0].text, several.len()),
    };
    runs.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(functions: &[&str]) -> Vec<Named> {
        functions.iter().map(|name| Named { function: (*name).to_owned(), text: (*name).to_owned() }).collect()
    }

    #[test]
    fn what_is_not_the_program_is_left_out() {
        let all =
            frames(&["__pthread_kill_implementation", "raise", "abort", "check", "main", "__libc_start_call_main"]);
        assert_eq!(shown(&all), ["check", "main"]);
        let rust = frames(&[
            "step",
            "hello::main",
            "core::ops::function::FnOnce::call_once",
            "std::sys::backtrace::__rust_begin_short_backtrace",
            "main",
        ]);
        assert_eq!(shown(&rust), ["step", "hello::main"]);
        assert_eq!(shown(&frames(&["0x77 in libc.so.6", "raise", "step", "main"])), ["step", "main"]);
        assert_eq!(shown(&frames(&["step", "step", "step", "main"])), ["step (×3)", "main"]);
        assert_eq!(shown(&frames(&["abort"])), ["abort"], "better than nothing");
    }

    /// The place in this file of an address in it.
    fn place_of(address: usize) -> (u64, String) {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let hexadecimal = |digits: &str| usize::from_str_radix(digits, 16).unwrap();
        maps.lines()
            .find_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let (start, end) = words[0].split_once('-')?;
                let inside = (hexadecimal(start)..hexadecimal(end)).contains(&address);
                inside.then(|| ((address - hexadecimal(start) + hexadecimal(words[2])) as u64, words[5].to_owned()))
            })
            .unwrap()
    }

    #[test]
    fn a_place_has_its_function_and_line() {
        let (place, file) = place_of(shown as *const () as usize);
        let question = format!("0 {place:x} {file}\n1 {place:x} /no/such/file\n2 0 \nnonsense\n");
        let mut told = Vec::new();
        answer(question.as_bytes(), &mut told).unwrap();
        let told = String::from_utf8(told).unwrap();
        assert!(told.starts_with("0 rwmpi_console::symbols::shown at "), "{told}");
        assert!(told.contains("symbols.rs:"), "{told}");
        assert!(told.ends_with(&format!("1 {place:#x} in /no/such/file\n2 0x0, where no program is\n")), "{told}");
    }
}
