//! Every public item of the Rust API is shown in an example: one of its own, or one beside it that uses it.
//!
//! What counts is text: an item's name in the examples of its file. So the methods of a type need one example together,
//! and no list of items has to be kept.

use std::collections::HashSet;

use super::source::SourceFile;
use super::{Findings, policy};

/// What begins a public item, behind `pub`.
const KINDS: &[&str] = &["fn", "struct", "enum", "trait", "type", "const", "static", "union"];

/// Checks a file, if users read its documentation.
pub fn check(file: &SourceFile, found: &mut Findings) {
    let is_among = |places: &[&str]| places.iter().any(|place| file.name().starts_with(place));
    if is_among(policy::API_FOLDERS) && !is_among(policy::WITHOUT_EXAMPLES) {
        for (line, name) in without_example(&file.text) {
            found.add(
                file.name(),
                line,
                format!("`{name}` is public: show in an example of its documentation how it is used"),
            );
        }
    }
}

/// Public items, each with its line, that no example of the text shows.
fn without_example(text: &str) -> Vec<(usize, &str)> {
    let (mut shown, mut items) = (HashSet::new(), Vec::new());
    let (mut in_fence, mut in_macro, mut has_own, mut is_hidden) = (false, false, false, false);
    for (number, line) in text.lines().map(str::trim).enumerate().take_while(|(_, line)| *line != "#[cfg(test)]") {
        // Other macros that make examples are called after this one.
        in_macro |= line.starts_with("#[doc = example");
        let is_documentation = line.starts_with("///") || line.starts_with("//!");
        in_fence ^= is_documentation && line.contains("```");
        if in_macro || (in_fence && is_documentation) {
            has_own = true;
            shown.extend(line.split(|sign: char| !(sign.is_alphanumeric() || sign == '_')));
        }
        in_macro &= !line.starts_with(")]");
        is_hidden |= line == "#[doc(hidden)]";
        if let Some(name) = public_item(line)
            && !has_own
            && !is_hidden
        {
            items.push((number + 1, name));
        }
        // A blank line, or the end of an item, ends what belongs to the next.
        if !is_documentation
            && !line.starts_with('#')
            && !in_macro
            && (line.is_empty() || line.ends_with(['{', '}', ';']))
        {
            (has_own, is_hidden) = (false, false);
        }
    }
    items.retain(|(_, name)| !shown.contains(name));
    items
}

/// The name of the item that begins in the line, if it is public.
fn public_item(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("pub ")?.split(' ').skip_while(|word| matches!(*word, "unsafe" | "async"));
    let kind = words.next().filter(|kind| KINDS.contains(kind))?;
    let name = words.next().filter(|name| !(kind == "const" && *name == "fn")).or_else(|| words.next())?;
    name.split(|sign: char| !(sign.is_alphanumeric() || sign == '_')).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_shown_by_its_own_example_or_by_one_beside_it() {
        let text = "/// ```\n/// let it = Thing::new().grown();\n/// ```\npub struct Things;\n\nimpl Things {\n    pub const fn grown(self) {}\n\
                    \n    /// None.\n    pub unsafe fn bare<T>() {}\n\n    #[doc = example!(2\n        \"of_two()\"\n    )]\n    pub fn own() {}\n\
                    \n    #[doc(hidden)]\n    pub fn hidden() {}\n    pub(crate) fn inner() {}\n    fn private() {}\n}\n\
                    pub type Alone = u8;\n#[cfg(test)]\npub fn test() {}\n";
        assert_eq!(without_example(text), [(10, "bare"), (22, "Alone")]);
    }
}
