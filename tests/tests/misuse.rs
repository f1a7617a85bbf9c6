//! What the compiler refuses, and in which words: each file in `misuse/` is a mistake, and the words lie beside it.
//!
//! A mistake is compiled as a user's program would be, with the library that this test was built with. What
//! the compiler says instead lies in `target/tmp/misuse` after a failure: whoever finds it right copies it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The compiler whose words are kept. Others refuse the same, in words that may differ.
const COMPILER: &str = "rustc 1.95.";
/// How the compiler closes: it says nothing of the mistake.
const CLOSING: [&str; 3] = ["error: aborting due to ", "Some errors have ", "For more information about "];
/// In this folder, seen from the root, are the mistakes.
const MISTAKES: &str = "tests/tests/misuse";
/// Where the sources of the compiler's own library are, in whatever folder.
const OWN_SOURCES: &str = "/library/";

#[test]
fn mistakes_do_not_compile() {
    let version = Command::new("rustc").arg("--version").output().expect("rustc starts").stdout;
    if !String::from_utf8_lossy(&version).starts_with(COMPILER) {
        println!("skipped: the words are those of {COMPILER}x");
        return;
    }
    let found = Path::new(env!("CARGO_TARGET_TMPDIR")).join("misuse");
    fs::create_dir_all(&found).expect("the folder for what was found is there");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a package lies in the workspace");
    let mistakes = with_ending(&root.join(MISTAKES), ".rs");
    assert!(!mistakes.is_empty());
    let library = library();
    let mut wrong = Vec::new();
    for mistake in mistakes {
        let kept = fs::read_to_string(mistake.with_extension("stderr")).unwrap_or_default();
        let words = refusal(root, &mistake, &library, &found);
        if words.as_ref() != Some(&kept) {
            let words = words.unwrap_or_else(|| "it compiles\n".to_owned());
            let place = found.join(mistake.file_name().unwrap()).with_extension("stderr");
            fs::write(&place, &words).expect("what was found can be kept");
            wrong.push(format!("{}: kept is\n{kept}\nand found, in {}\n{words}", mistake.display(), place.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the compiler says of a mistake; nothing if it compiles.
fn refusal(root: &Path, mistake: &Path, library: &Path, folder: &Path) -> Option<String> {
    let mut compiler = Command::new("rustc");
    compiler.args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--out-dir"]).arg(folder);
    compiler.arg("-L").arg(format!("dependency={}", library.parent().unwrap().display()));
    compiler.arg("--extern").arg(format!("rwmpi={}", library.display()));
    // From there the compiler finds the library's sources, of which it shows parts.
    compiler.current_dir(root).arg(mistake.strip_prefix(root).expect("mistakes lie in the workspace"));
    let output = compiler.output().expect("rustc starts");
    (!output.status.success()).then(|| plain(&String::from_utf8_lossy(&output.stderr)))
}

/// The library beside this test. Others that lie there were built from older sources, or from the same.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let built =
        |library: &PathBuf| fs::metadata(library).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let libraries = with_ending(test.parent().unwrap(), ".rlib").into_iter();
    let ours = libraries.filter(|library| library.file_name().unwrap().to_string_lossy().starts_with("librwmpi-"));
    ours.max_by_key(built).expect("a test lies beside the libraries that it was built with")
}

fn with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("the folder can be read").map(|file| file.expect("it has a name").path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    files
}

/// The compiler's words without what depends on the machine, or on lines of the library's own sources.
fn plain(words: &str) -> String {
    let mut lines = Vec::new();
    let mut source = Source::Mistake;
    for line in words.lines().filter(|line| !CLOSING.iter().any(|closing| line.starts_with(closing))) {
        let text = line.trim_start();
        let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        if let Some(place) = text.strip_prefix("--> ") {
            source = Source::of(place);
            lines.push(format!("  --> {}", source.shown(place)));
        } else if rest.trim_start().starts_with(['|', '+']) && (line.starts_with(' ') || !number.is_empty()) {
            match source {
                Source::Mistake => lines.push(format!("{number:>2} {}", rest.trim_start())),
                Source::Library => lines.push(format!("   {}", rest.trim_start())),
                Source::Compiler => {}
            }
        } else if text.starts_with("= ") {
            lines.push(format!("   {text}"));
        } else if line.starts_with(' ') {
            let others = text.strip_prefix("and ").filter(|text| text.ends_with(" others"));
            lines.push(format!("            {}", if others.is_some() { "and others" } else { text }));
        } else {
            // A new remark is about the mistake until it names another place; what leaves lines out is none.
            source = if line.starts_with("...") { source } else { Source::Mistake };
            lines.push(line.to_owned());
        }
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Of whose source the compiler shows a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Mistake,
    Library,
    Compiler,
}

impl Source {
    fn of(place: &str) -> Source {
        match place {
            place if place.starts_with(MISTAKES) => Source::Mistake,
            place if place.contains(OWN_SOURCES) => Source::Compiler,
            _ => Source::Library,
        }
    }

    fn shown(self, place: &str) -> String {
        let file = place.split(".rs:").next().unwrap_or(place);
        match self {
            Source::Mistake => place.to_owned(),
            Source::Library => format!("{file}.rs"),
            Source::Compiler => format!("$RUST/{}.rs", file.split(OWN_SOURCES).last().unwrap_or(file)),
        }
    }
}
