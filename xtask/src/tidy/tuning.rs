//! Only `select` knows the values of the table of lengths: a comparison elsewhere would be a choice that nobody finds.

use super::Findings;
use super::source::SourceFile;

/// Where the table is.
const TABLE: &str = "mpi-core/engine/src/tuning.rs";
/// Whose files are looked at.
const PACKAGES: &str = "mpi-core/";
/// What may name a value: the table, and what chooses by it.
const MAY: [&str; 3] = [TABLE, "mpi-core/engine/src/tuning/", "mpi-core/engine/src/select/"];
/// What a line of the table has after its value.
const UNITS: [&str; 3] = [", Bytes in ", ", Ranks in ", ", Parts in "];

/// Values that are named elsewhere, and a table without any, which would let this rule pass whatever happens.
pub fn check(sources: &[SourceFile], found: &mut Findings) {
    let Some(table) = sources.iter().find(|file| file.name() == TABLE) else { return };
    let names = names(&table.text);
    if names.is_empty() {
        found.add(TABLE, 1, "has no line of the form `name: value, Bytes in limits`: teach tidy how it looks now");
    }
    let is_outside = |file: &&SourceFile| {
        file.name().starts_with(PACKAGES) && !MAY.iter().any(|allowed| file.name().starts_with(allowed))
    };
    for file in sources.iter().filter(is_outside) {
        for word in file.words.iter().filter(|word| names.contains(&word.text.as_str())) {
            let text =
                format!("`{}` is a value of the table: let mpi-core/engine/src/select say what it means", word.text);
            found.add(file.name(), word.line, text);
        }
    }
}

/// The names of the values in the table's text.
fn names(table: &str) -> Vec<&str> {
    let rows = table.lines().filter(|line| UNITS.iter().any(|unit| line.contains(unit)));
    rows.filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(table: &str, path: &str, code: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile::parse(path, text.to_owned()).unwrap();
        let mut found = Findings::default();
        check(&[file(TABLE, table), file(path, code)], &mut found);
        found.lines()
    }

    #[test]
    fn a_value_is_named_where_it_is_chosen_by_and_nowhere_else() {
        let table = "table! {\n    /// So long.\n    long_min: 8 << 10, Bytes in ANY, \"message\", [4];\n}";
        let code = "fn f(t: &Tuning, len: usize) -> bool { len >= t.long_min }";
        let found = findings(table, "mpi-core/engine/src/send.rs", code);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("mpi-core/engine/src/send.rs:1: `long_min` is a value of the table"), "{found:?}");
        for may in ["mpi-core/engine/src/select/message.rs", "mpi-core/engine/src/tuning/text.rs", "bench/src/lib.rs"] {
            assert!(findings(table, may, code).is_empty(), "{may}");
        }
        assert_eq!(findings("table! {}", "mpi-core/src/a.rs", "")[0].split(':').next(), Some(TABLE));
    }
}
