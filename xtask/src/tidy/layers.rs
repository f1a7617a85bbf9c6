//! Rules for packages: who may use whom, and that all share the workspace's settings.

use std::path::Path;

use cargo_metadata::Metadata;

use super::{Findings, policy};

/// What tidy needs to know of a package.
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its `Cargo.toml`, relative to the root.
    pub manifest: String,
    /// What is in that.
    pub manifest_text: String,
    /// Names of packages of the workspace that it uses, for whatever purpose.
    pub uses: Vec<String>,
}

/// The workspace's packages.
pub fn packages(metadata: &Metadata, root: &Path) -> anyhow::Result<Vec<Package>> {
    let names: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    metadata
        .packages
        .iter()
        .map(|package| {
            let path = package.manifest_path.as_std_path();
            let used = package.dependencies.iter().filter(|d| names.contains(&d.name.as_str()));
            Ok(Package {
                name: package.name.to_string(),
                manifest: path.strip_prefix(root).unwrap_or(path).display().to_string(),
                manifest_text: std::fs::read_to_string(path)?,
                uses: used.map(|dependency| dependency.name.clone()).collect(),
            })
        })
        .collect()
}

/// All rules of this file.
pub fn check(packages: &[Package], found: &mut Findings) {
    for package in packages {
        direction(package, found);
        shared_settings(package, found);
    }
}

fn direction(package: &Package, found: &mut Findings) {
    let Some((_, allowed)) = policy::LAYERS.iter().find(|(name, _)| *name == package.name) else {
        let text = format!("package {} has no place in LAYERS of xtask/src/tidy/policy.rs: give it one", package.name);
        return found.add(&package.manifest, 1, text);
    };
    for used in &package.uses {
        if !allowed.contains(&used.as_str()) {
            let line = line_with(&package.manifest_text, used);
            let text = format!(
                "{} may not use {used}: a layer knows only the one below (allowed: {})",
                package.name,
                if allowed.is_empty() { "none of ours".to_string() } else { allowed.join(", ") },
            );
            found.add(&package.manifest, line, text);
        }
    }
}

fn line_with(text: &str, name: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(name)).map_or(1, |line| line + 1)
}

fn shared_settings(package: &Package, found: &mut Findings) {
    let lines: Vec<&str> = package.manifest_text.lines().map(str::trim).collect();
    if !lines.windows(2).any(|pair| pair == ["[lints]", "workspace = true"]) {
        found.add(&package.manifest, 1, "add `[lints]` with `workspace = true`: one set of lints holds everywhere");
    }
    for key in ["version", "edition", "rust-version", "license"] {
        if !lines.contains(&format!("{key}.workspace = true").as_str()) {
            found.add(&package.manifest, 1, format!("write `{key}.workspace = true`: one value holds everywhere"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = "version.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
                            license.workspace = true\n[lints]\nworkspace = true\n";

    fn findings(name: &str, settings: &str, uses: &[&str]) -> Vec<String> {
        let uses: Vec<String> = uses.iter().map(|name| name.to_string()).collect();
        let dependencies: String = uses.iter().map(|name| format!("{name}.workspace = true\n")).collect();
        let manifest_text = format!("[dependencies]\n{dependencies}{settings}");
        let mut found = Findings::default();
        check(
            &[Package { name: name.to_string(), manifest: "a/Cargo.toml".to_string(), manifest_text, uses }],
            &mut found,
        );
        found.lines()
    }

    #[test]
    fn downward_is_fine() {
        assert!(findings("rwmpi-core", SETTINGS, &["rwmpi-protocol", "rwmpi-transport"]).is_empty());
    }

    #[test]
    fn upward_and_sideways_are_not() {
        let found = findings("rwmpi-protocol", SETTINGS, &["rwmpi-transport"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a/Cargo.toml:2: rwmpi-protocol may not use rwmpi-transport"), "{found:?}");
        assert_eq!(findings("npb", SETTINGS, &["rwmpi", "rwmpi-core"]).len(), 1);
        assert_eq!(findings("rwmpi-transport", SETTINGS, &["rwmpi-core"]).len(), 1);
    }

    #[test]
    fn a_new_package_needs_a_place() {
        assert!(findings("rwmpi-extra", SETTINGS, &[])[0].contains("has no place"));
    }

    #[test]
    fn settings_come_from_the_workspace() {
        let found = findings("rwmpi-core", "version = \"1\"\n", &[]);
        assert!(found[0].contains("[lints]"), "{found:?}");
        assert_eq!(found.len(), 5);
    }
}
