//! How much the library brings along: whoever adds it to a program compiles all of it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::{Findings, policy};
use crate::workspace::Workspace;

/// Counts the packages that a program needs which uses the library.
pub fn check(workspace: &Workspace, found: &mut Findings) -> Result<()> {
    let mut tree = workspace.cargo(&["tree", "--package=rwmpi", "--edges=normal", "--prefix=none"]);
    let output = tree.output().context("cannot run cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    judge(&String::from_utf8_lossy(&output.stdout), found);
    Ok(())
}

fn judge(tree: &str, found: &mut Findings) {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let known = versions.entry(name).or_default();
        if !known.contains(&version) {
            known.push(version);
        }
    }
    let count: usize = versions.values().map(Vec::len).sum();
    let most = policy::LIBRARY_PACKAGES_MAX;
    if count > most {
        found.add("Cargo.toml", 1, format!("rwmpi brings {count} packages to each program, more than {most}"));
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let text = format!("rwmpi brings {name} in several versions ({}): settle on one", versions.join(", "));
        found.add("Cargo.toml", 1, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_and_versions_are_judged() {
        let said = |tree: &str| {
            let mut found = Findings::default();
            judge(tree, &mut found);
            found.lines().join("\n")
        };
        assert_eq!(said("rwmpi v0.1.0 (/a)\nsyn v3.0.9\nsyn v3.0.9 (*)\n\n"), "");
        assert!(said("syn v3.0.9\nsyn v2.0.1\n").contains("syn in several versions (v3.0.9, v2.0.1)"));
        let many: String = (0..100).map(|number| format!("p{number} v1\n")).collect();
        assert!(said(&many).contains("brings 100 packages"));
    }
}
