//! Conventions that no compiler checks, as a test: each violation is a line that says where and what to do.
//!
//! What a lint can say is left to lints (length of functions, comments on unsafe blocks: `clippy.toml` and the
//! workspace's `Cargo.toml`); here is what only this project means.

mod circles;
mod code;
mod decisions;
mod examples;
mod layers;
mod policy;
mod references;
mod settings;
mod source;
mod tuning;
mod weight;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;
use source::SourceFile;

struct Violation {
    file: String,
    line: usize,
    text: String,
}

/// Violations so far.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, file: &str, line: usize, text: impl Into<String>) {
        self.push(Violation { file: file.to_string(), line, text: text.into() });
    }

    fn push(&mut self, violation: Violation) {
        self.0.push(violation);
    }

    fn lines(&self) -> Vec<String> {
        self.0.iter().map(|Violation { file, line, text }| format!("{file}:{line}: {text}")).collect()
    }
}

/// Checks the whole source tree; fails if a rule is broken, having printed where.
pub fn run(workspace: &Workspace) -> Result<()> {
    let files = workspace.files()?;
    let mut found = Findings::default();
    let (mut sources, mut prose) = (Vec::new(), Vec::new());
    for path in files.iter().filter(|path| references::is_text(path)) {
        let text = std::fs::read_to_string(workspace.root.join(path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        references::check(&path.to_string_lossy(), &text, &files, &mut found);
        if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push(SourceFile::parse(path, text)?);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            prose.push((path.to_string_lossy().into_owned(), text));
        }
    }
    for file in &sources {
        code::check(file, &mut found);
        examples::check(file, &mut found);
    }
    decisions::check(&prose, &mut found);
    code::stale_lists(&sources, &mut found);
    settings::check(&sources, &mut found);
    tuning::check(&sources, &mut found);
    circles::check(&sources, &mut found);
    weight::check(workspace, &mut found)?;
    layers::check(&layers::packages(&workspace.metadata, &workspace.root)?, &mut found);

    for line in found.lines() {
        eprintln!("{line}");
    }
    match found.0.len() {
        0 => {
            println!("tidy: {} files in order", files.len());
            Ok(())
        }
        1 => bail!("1 convention is broken, see above"),
        many => bail!("{many} conventions are broken, see above"),
    }
}
