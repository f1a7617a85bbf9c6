//! A Rust source file as tidy sees it: its lines, its words, the paths it names.
//!
//! Words and paths come from the compiler's own token rules, so a string or a comment can not be mistaken for code.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Text with the line where it stands, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The text.
    pub text: String,
    /// Its line.
    pub line: usize,
}

/// One file, read and cut into tokens.
pub struct SourceFile {
    /// Relative to the root of the workspace.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
    /// Identifiers and keywords.
    pub words: Vec<Located>,
    /// Documentation, one entry for each comment line.
    pub docs: Vec<Located>,
    /// Paths such as `std::sync::atomic::AtomicU32`, those in the braces of a `use` written out.
    pub paths: Vec<Located>,
    /// Those of them that `use` names.
    pub imports: Vec<Located>,
}

impl SourceFile {
    /// Reads `text`, which stands in `path`.
    pub fn parse(path: impl Into<PathBuf>, text: String) -> Result<Self> {
        let path = path.into();
        let tokens = TokenStream::from_str(&text)
            .map_err(|error| anyhow!("{}:{}: not Rust: {error}", path.display(), error.span().start().line))?;
        let mut file =
            SourceFile { path, text, words: Vec::new(), docs: Vec::new(), paths: Vec::new(), imports: Vec::new() };
        file.walk(tokens, "", false);
        Ok(file)
    }

    /// Its path with `/` between folders.
    pub fn name(&self) -> &str {
        self.path.to_str().unwrap_or_default()
    }

    fn add_path(&mut self, path: Option<Located>, is_import: bool) {
        self.imports.extend(path.clone().filter(|_| is_import));
        self.paths.extend(path);
    }

    /// Takes in tokens, which go on with the path `prefix`, of a `use` if `imports`.
    fn walk(&mut self, tokens: TokenStream, prefix: &str, mut imports: bool) {
        let mut path: Option<Located> = None;
        let mut colons = 0;
        let mut documented = false;
        for token in tokens {
            let line = token.span().start().line;
            match token {
                TokenTree::Ident(word) => {
                    let text = word.to_string();
                    self.words.push(Located { text: text.clone(), line });
                    documented = text == "doc";
                    imports |= text == "use";
                    match &mut path {
                        Some(path) if colons == 2 => path.text += &format!("::{text}"),
                        _ => {
                            self.add_path(path.take(), imports);
                            path = Some(Located { text: format!("{prefix}{text}"), line });
                        }
                    }
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Punct(mark) if mark.as_char() == '*' && (colons == 2 || !prefix.is_empty()) => {
                    let before = path.take().map_or(prefix.to_string(), |path| path.text + "::");
                    self.add_path(Some(Located { text: before + "*", line }), imports);
                    colons = 0;
                }
                TokenTree::Punct(mark) => {
                    documented &= mark.as_char() == '=';
                    colons = 0;
                    self.add_path(path.take(), imports);
                    imports &= mark.as_char() != ';';
                }
                TokenTree::Literal(literal) => {
                    if documented {
                        self.docs.push(Located { text: literal.to_string(), line });
                    }
                    documented = false;
                    colons = 0;
                }
                TokenTree::Group(group) => {
                    let inner = match &path {
                        Some(path) if colons == 2 && group.delimiter() == Delimiter::Brace => {
                            format!("{}::", path.text)
                        }
                        _ => String::new(),
                    };
                    if inner.is_empty() {
                        self.add_path(path.take(), imports);
                    }
                    path = None;
                    colons = 0;
                    let goes_on = imports && !inner.is_empty();
                    self.walk(group.stream(), &inner, goes_on);
                }
            }
        }
        self.add_path(path, imports);
    }
}

/// The words of an identifier or of prose, in lower case: `RemoteRank` and `remote_rank` are both `remote` and `rank`.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for chunk in text.split(|c: char| !c.is_alphanumeric()) {
        let mut word = String::new();
        let mut previous_lower = false;
        for letter in chunk.chars() {
            if letter.is_uppercase() && previous_lower {
                words.push(std::mem::take(&mut word));
            }
            previous_lower = !letter.is_uppercase();
            word.extend(letter.to_lowercase());
        }
        words.push(word);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(found: &[Located]) -> Vec<&str> {
        found.iter().map(|f| f.text.as_str()).collect()
    }

    #[test]
    fn paths_in_braces_are_written_out() {
        let text = "use std::{io, sync::{Arc, atomic::{AtomicU32, Ordering}}};\nuse a::{b::*, c::{*}};\nfn f() { sync::atomic::fence(x) }";
        let file = SourceFile::parse("a.rs", text.to_string()).unwrap();
        let paths = texts(&file.paths);
        assert!(paths.contains(&"std::sync::atomic::AtomicU32"), "{paths:?}");
        assert!(paths.contains(&"std::sync::Arc"), "{paths:?}");
        assert!(paths.contains(&"std::io"), "{paths:?}");
        assert!(paths.contains(&"sync::atomic::fence"), "{paths:?}");
        assert!(paths.contains(&"a::b::*") && paths.contains(&"a::c::*"), "{paths:?}");
        assert_eq!(file.paths.iter().find(|p| p.text == "sync::atomic::fence").unwrap().line, 3);
    }

    #[test]
    fn docs_are_told_from_strings_and_comments() {
        let text = "//! Outer.\n/// One.\n/// Two.\nconst NAME: &str = \"three\"; // four\n";
        let file = SourceFile::parse("a.rs", text.to_string()).unwrap();
        assert_eq!(texts(&file.docs), ["\" Outer.\"", "\" One.\"", "\" Two.\""]);
        assert_eq!(file.docs[2].line, 3);
    }

    #[test]
    fn identifiers_fall_into_words() {
        assert_eq!(words_of("RemoteRank"), ["remote", "rank"]);
        assert_eq!(words_of("RWMPI_RANK"), ["rwmpi", "rank"]);
        assert_eq!(words_of("a rank's `TagSelector`, franked"), ["a", "rank", "s", "tag", "selector", "franked"]);
    }

    #[test]
    fn a_file_that_is_not_rust_is_named_with_its_line() {
        let error = SourceFile::parse("a.rs", "fn f() {\n)".to_string()).err().unwrap();
        assert!(error.to_string().starts_with("a.rs:2: not Rust"), "{error}");
    }
}
