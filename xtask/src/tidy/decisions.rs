//! Rules for `docs/decisions` and `ARCHITECTURE.md`: a reader finds every decision by its topic, learns at once whether
//! it still holds, and gets through the map of the source tree in one sitting.
//!
//! The index is written by hand, since which topic a decision belongs to is a matter of judgement. What can be compared
//! is: its links, its titles, and what it says was superseded.

use std::collections::BTreeMap;

use super::{Findings, policy};

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";
const MAP: &str = "ARCHITECTURE.md";
/// How the first line below a title begins if the decision holds no longer, and what the index says of it.
const STATES: [(&str, &str); 2] = [("**Superseded**", "superseded by"), ("**Holds in part", "holds in part")];

/// A row of the index.
struct Row<'a> {
    line: usize,
    title: &'a str,
    file: &'a str,
    state: &'a str,
}

/// All rules of this file; `texts` are names and contents of all files of prose.
pub fn check(texts: &[(String, String)], found: &mut Findings) {
    let text_of = |name: &str| texts.iter().find(|(file, _)| file == name).map(|(_, text)| text.as_str());
    if let Some(map) = text_of(MAP) {
        length(map, found);
    }
    let decisions: BTreeMap<&str, &str> = texts
        .iter()
        .filter_map(|(name, text)| Some((name.strip_prefix(FOLDER)?, text.as_str())))
        .filter(|(file, _)| file.starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    let Some(index) = text_of(INDEX) else { return };
    let rows: Vec<Row> = (1..).zip(index.lines()).filter_map(|(line, text)| row(line, text)).collect();
    for (file, text) in decisions {
        let listed: Vec<&Row> = rows.iter().filter(|row| row.file == file).collect();
        match listed[..] {
            [row] => agree(file, text, row, found),
            [] => found.add(INDEX, 1, format!("lacks {file}: add a row to the table of its topic")),
            [_, again, ..] => found.add(INDEX, again.line, format!("lists {file} again: a decision has one topic")),
        }
    }
}

/// `| [title](file) | state |`, if `text` is that.
fn row(line: usize, text: &str) -> Option<Row<'_>> {
    let (title, rest) = text.strip_prefix("| [")?.split_once("](")?;
    let (file, rest) = rest.split_once(')')?;
    Some(Row { line, title, file, state: rest.trim_matches([' ', '|']) })
}

/// The decision and its row say the same.
fn agree(file: &str, text: &str, row: &Row<'_>, found: &mut Findings) {
    let name = format!("{FOLDER}{file}");
    let mut lines = text.lines();
    let title = lines.next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
    if !title.starts_with(&format!("{}: ", &file[..file.len().min(4)])) {
        found.add(&name, 1, "has to begin with its title, `# NUMBER: what was decided`");
    } else if title != row.title {
        found.add(INDEX, row.line, format!("calls {file} {:?}, and that calls itself {title:?}", row.title));
    }
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    for (begins, state) in STATES {
        if first.starts_with(begins) != row.state.starts_with(state) {
            let text = format!("says {:?}; the first line of {file} says so by beginning with {begins}", row.state);
            found.add(INDEX, row.line, text);
        }
    }
    let mut links = row.state.split(['[', ']']).filter(|link| link.len() == 4 && link.parse::<usize>().is_ok());
    if row.state != "holds" && !links.any(|link| first.contains(link)) {
        found.add(&name, 3, "has to link, in the first line below its title, to its successor that the index names");
    }
}

/// The map can be read in one sitting.
fn length(map: &str, found: &mut Findings) {
    let words = map.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    if words > policy::MAP_WORDS_MAX {
        let max = policy::MAP_WORDS_MAX;
        found.add(MAP, 1, format!("has {words} words, at most {max}: move what is about one topic to docs/design"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(index: &str, decision: &str) -> Vec<String> {
        let texts = [(INDEX, index), ("docs/decisions/0001-rings.md", decision)];
        let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let mut found = Findings::default();
        check(&texts, &mut found);
        found.lines()
    }

    const HOLDS: &str = "| [0001: Rings](0001-rings.md) | holds |\n";
    const GONE: &str = "| [0001: Rings](0001-rings.md) | superseded by [0002](0002-trees.md) |\n";

    #[test]
    fn an_index_that_agrees_passes() {
        assert!(findings(HOLDS, "# 0001: Rings\n\n## Question\n").is_empty());
        assert!(findings(GONE, "# 0001: Rings\n\n**Superseded** by [0002](0002-trees.md).\n").is_empty());
        let part = "| [0001: Rings](0001-rings.md) | holds in part; see [0002](0002-trees.md) |\n";
        assert!(findings(part, "# 0001: Rings\n\n**Holds in part.** [0002](0002-trees.md) says how.\n").is_empty());
    }

    #[test]
    fn a_decision_is_in_the_index_once() {
        assert!(findings("", "# 0001: Rings\n")[0].starts_with("docs/decisions/README.md:1: lacks 0001-rings.md"));
        assert!(findings(&HOLDS.repeat(2), "# 0001: Rings\n")[0].contains("README.md:2: lists 0001-rings.md again"));
    }

    #[test]
    fn titles_are_the_same() {
        assert!(findings(HOLDS, "# 0001: Trees\n")[0].contains("calls 0001-rings.md \"0001: Rings\""));
        assert!(findings(HOLDS, "# Rings\n")[0].contains("has to begin with its title"));
    }

    #[test]
    fn what_was_superseded_says_so_and_by_what() {
        assert!(findings(GONE, "# 0001: Rings\n\n## Question\n")[0].contains("by beginning with **Superseded**"));
        assert_eq!(findings(HOLDS, "# 0001: Rings\n\n**Superseded** by [0002](0002-trees.md).\n").len(), 1);
        assert!(
            findings(GONE, "# 0001: Rings\n\n**Superseded** by [0003](0003-bushes.md).\n")[0].contains("successor")
        );
    }

    #[test]
    fn the_map_is_short() {
        let texts = [(MAP.to_owned(), "word | ".repeat(policy::MAP_WORDS_MAX + 1))];
        let mut found = Findings::default();
        check(&texts, &mut found);
        assert!(found.lines()[0].starts_with("ARCHITECTURE.md:1: has 2001 words"), "{:?}", found.lines());
    }
}
