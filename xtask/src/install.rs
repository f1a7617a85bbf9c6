//! `cargo xtask install`: the programs, built for release, where a user wants them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::{ONLY_PROGRAMS, PROGRAMS, Workspace};

/// Builds the programs and copies them to `prefix/bin`.
pub fn run(workspace: &Workspace, prefix: &Path) -> Result<()> {
    process::run(workspace.cargo(&["build", "--release"]).args(ONLY_PROGRAMS))?;
    let folder = prefix.join("bin");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for program in PROGRAMS {
        let place = folder.join(program);
        // Under another name first: a program that is running can be replaced but not written to.
        let fresh = folder.join(format!(".{program}.new"));
        fs::copy(workspace.target().join("release").join(program), &fresh)
            .and_then(|_| fs::rename(&fresh, &place))
            .with_context(|| format!("cannot write {}", place.display()))?;
        println!("{}", place.display());
    }
    Ok(())
}
