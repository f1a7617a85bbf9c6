//! Rules for text: what it refers to is there, and it stands on its own on anybody's machine.

use std::path::{Path, PathBuf};

use super::{Findings, policy};

/// Endings of the files that prose refers to.
const REFERRED: &[&str] = &[".md", ".txt", ".rs"];

/// Whether `path` is a file that these rules are for.
pub fn is_text(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("md" | "rs" | "toml" | "sh" | "yml")) || path.starts_with(".ci")
}

/// All rules of this file, for the file `name` with `text`; `files` are all there are.
pub fn check(name: &str, text: &str, files: &[PathBuf], found: &mut Findings) {
    for (line, content) in (1..).zip(text.lines()) {
        private_path(name, line, content, found);
        if name.ends_with(".md") || content.trim_start().starts_with("//") {
            dead_reference(name, line, content, files, found);
        }
    }
}

/// In prose and comments: a path with a folder in it must be a file's, or the end of one.
fn dead_reference(name: &str, line: usize, content: &str, files: &[PathBuf], found: &mut Findings) {
    for word in content.split(|c: char| !(c.is_alphanumeric() || "_./-".contains(c))) {
        let word = word.trim_end_matches('.');
        if word.starts_with('/') || !word.contains('/') || !REFERRED.iter().any(|ending| word.ends_with(ending)) {
            continue;
        }
        let wanted = Path::new(word.trim_start_matches(['.', '/']));
        if !files.iter().any(|file| file.ends_with(wanted)) {
            found.add(
                name,
                line,
                format!("refers to {word}, which is not in the source tree: correct it or take it out"),
            );
        }
    }
}

fn private_path(name: &str, line: usize, content: &str, found: &mut Findings) {
    for folder in policy::PRIVATE_FOLDERS {
        let path = format!("/{folder}/");
        for (at, _) in content.match_indices(&path) {
            let begins = !content[..at].ends_with(|c: char| c.is_alphanumeric() || "_.-}~*".contains(c));
            if begins {
                let text = format!("names {path}…, which is there on one machine only: say it without");
                found.add(name, line, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, text: &str) -> Vec<String> {
        let files: Vec<PathBuf> = ["ARCHITECTURE.md", "docs/decisions/0001-rings.md", "transport/src/shm/ring.rs"]
            .iter()
            .map(PathBuf::from)
            .collect();
        let mut found = Findings::default();
        check(name, text, &files, &mut found);
        found.lines()
    }

    #[test]
    fn living_references_pass() {
        let text =
            "See [why](decisions/0001-rings.md), `shm/ring.rs`, ../ARCHITECTURE.md.\nhttps://docs.rs/a/b.md /etc/x.txt";
        assert!(findings("docs/a.md", text).is_empty());
        assert!(findings("a.rs", "let name = \"out/none.txt\";").is_empty());
    }

    #[test]
    fn dead_references_are_found() {
        let found = findings("docs/a.md", "one\nsee `decisions/0002-none.md`.");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("docs/a.md:2: refers to decisions/0002-none.md"), "{found:?}");
        assert_eq!(findings("a.rs", "    /// As in shm/link.rs.").len(), 1);
    }

    #[test]
    fn private_paths_are_found() {
        let folder = policy::PRIVATE_FOLDERS[0];
        let found = findings("a.toml", &format!("path = \"/{folder}/somebody/x\""));
        assert!(found.len() == 1 && found[0].starts_with("a.toml:1: names"), "{found:?}");
        assert!(findings("a.toml", &format!("path = \"target/{folder}/x\" # $DIR/{folder}x")).is_empty());
    }
}
