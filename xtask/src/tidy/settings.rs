//! Every environment variable of the project's own is in the table by which misspelt ones are found.

use super::Findings;
use super::source::SourceFile;

const PREFIX: &str = "\"RWMPI_";
/// Where the table is, and where some of its names are.
const TABLE: [&str; 3] = ["transport/src/settings.rs", "transport/src/environment.rs", "transport/src/descriptor.rs"];
/// Tests set names that are wrong.
const TESTS: &str = "tests/tests/";

/// Names that stand in quotation marks in the sources and not in the table.
pub fn check(sources: &[SourceFile], found: &mut Findings) {
    let table: String =
        sources.iter().filter(|file| TABLE.contains(&file.name())).map(|file| file.text.as_str()).collect();
    let others = sources.iter().filter(|file| !TABLE.contains(&file.name()) && !file.name().starts_with(TESTS));
    for file in others {
        for (line, content) in (1..).zip(file.text.lines()) {
            for name in names(content).filter(|name| !table.contains(name)) {
                found.add(file.name(), line, format!("{name} is not in {}: add it there", TABLE[0]));
            }
        }
    }
}

/// The names in a line, with their quotation marks.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(PREFIX).filter_map(|(start, _)| {
        let end = line[start + 1..].find('"')?;
        let name = &line[start..=start + 1 + end];
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        is_name(name.trim_matches('"')).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_in_the_table_is_found() {
        let file = |path: &str, text: &str| SourceFile::parse(path, text.to_owned()).unwrap();
        let table = file(TABLE[0], "const A: &str = \"RWMPI_KNOWN\";");
        let code = file("a/src/lib.rs", "fn f() { g(\"RWMPI_KNOWN\"); g(\"RWMPI_NEW\"); g(\"RWMPI_MPI_H is one\"); }");
        let mut found = Findings::default();
        check(&[table, code], &mut found);
        assert_eq!(found.lines(), ["a/src/lib.rs:1: \"RWMPI_NEW\" is not in transport/src/settings.rs: add it there"]);
    }
}
