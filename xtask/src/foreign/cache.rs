//! Where foreign programs lie, and how they get there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::process;

/// No program here takes that many seconds unless it hangs.
const TIME_LIMIT: &str = "1800";
/// How much of a failed program's output is shown.
const TAIL_LINES: usize = 40;
/// What `mpiexec` says of a job that hangs. None that comes to a good end does.
const HANG: &str = "the job hangs:";

/// A folder with one subfolder for each program.
pub struct Cache {
    root: PathBuf,
    transport: Option<String>,
}

impl Cache {
    pub fn new(root: PathBuf, transport: Option<String>) -> Result<Self> {
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        Ok(Cache { root, transport })
    }

    /// Our own installation.
    pub fn prefix(&self) -> PathBuf {
        self.root.join("rwmpi")
    }

    /// A folder for what runs leave behind.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.root.join("scratch").join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Makes `name` with `make` unless a complete one is there.
    pub fn once(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let (folder, complete) = (self.root.join(name), self.root.join(format!("{name}.complete")));
        if !complete.exists() {
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            make(&folder).with_context(|| format!("cannot install {name}"))?;
            fs::write(&complete, "")?;
        }
        Ok(folder)
    }

    /// A Python environment of its own with these packages. `prepare` may change how pip is called.
    pub fn python(&self, name: &str, packages: &[&str], prepare: impl FnOnce(&mut Command)) -> Result<PathBuf> {
        self.once(name, |folder| {
            process::run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
            let mut pip = Command::new(folder.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages);
            prepare(&mut pip);
            process::run(&mut pip)
        })
    }

    /// The source of a Python package, unpacked.
    pub fn python_source(&self, package: &str) -> Result<PathBuf> {
        let short = package.split("==").next().unwrap_or(package);
        self.once(&format!("{short}-source"), |folder| {
            fs::create_dir_all(folder)?;
            let mut pip = Command::new("python3");
            // What it is built with may come in binary form.
            pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", short]);
            process::run(pip.arg("--dest").arg(folder).arg(package))?;
            let archive = entries(folder)?.pop().context("pip downloaded nothing")?;
            unpack(&archive, folder)
        })
    }

    /// What a Debian package contains, unpacked but not installed.
    pub fn debian(&self, package: &str) -> Result<PathBuf> {
        self.once(package, |folder| {
            fs::create_dir_all(folder)?;
            process::run(Command::new("apt-get").args(["download", package]).current_dir(folder))?;
            let archive = entries(folder)?.pop().context("apt-get downloaded nothing")?;
            process::run(Command::new("dpkg-deb").arg("--extract").arg(archive).arg(folder))
        })
    }

    /// The source from which Debian makes a package, as its authors published it: of the package's version, or of
    /// `version`, where that is no longer there.
    pub fn debian_source(&self, source: &str, package: &str, version: Option<&str>) -> Result<PathBuf> {
        self.once(&format!("{source}-source"), |folder| {
            fs::create_dir_all(folder)?;
            // It lies beside the package, whose name there has its version.
            let said = output(Command::new("apt-get").args(["download", "--print-uris", package]))?;
            let address = said.split('\'').nth(1).context("apt-get does not say where the package lies")?;
            let (place, _) = address.rsplit_once('/').context("a package lies in a folder")?;
            let name = said.split_whitespace().nth(1).context("apt-get does not say the package's name")?;
            let of_package = name.split('_').nth(1).and_then(|version| version.rsplit_once('-'));
            let version = version.or(of_package.map(|(version, _)| version)).context("a package has a version")?;
            let archive = folder.join("source");
            let fetch = |end: &str| {
                let mut curl = Command::new("curl");
                curl.args(["--fail", "--silent", "--show-error", "--output"]).arg(&archive);
                process::run(curl.arg(format!("{place}/{source}_{version}.orig.tar.{end}")))
            };
            fetch("xz").or_else(|_| fetch("gz"))?;
            unpack(&archive, folder)
        })
    }

    /// `mpiexec -n RANKS` of ours, for programs that look for their MPI library.
    pub fn mpiexec(&self, ranks: usize) -> Command {
        let mut command = Command::new(self.prefix().join("bin/mpiexec"));
        command.args(self.options(&ranks.to_string()));
        command.env("LD_LIBRARY_PATH", self.prefix().join("lib"));
        command
    }

    /// The same as text, for scripts that put the number of ranks where `ranks` is.
    pub fn mpiexec_text(&self, ranks: &str) -> String {
        format!("{} {}", self.prefix().join("bin/mpiexec").display(), self.options(ranks).join(" "))
    }

    /// What `mpiexec` is told.
    fn options(&self, ranks: &str) -> Vec<String> {
        let transport = self.transport.iter().flat_map(|transport| ["--transport", transport]);
        ["--timeout", TIME_LIMIT].into_iter().chain(transport).chain(["-n", ranks]).map(str::to_owned).collect()
    }

    /// One of our compiler wrappers.
    pub fn wrapper(&self, name: &str) -> PathBuf {
        self.prefix().join("bin").join(name)
    }
}

/// Unpacks what lies in the one folder of an archive.
fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    process::run(tar.args(["--extract", "--strip-components=1", "--file"]).arg(archive).arg("--directory").arg(folder))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Runs a program quietly and gives what it wrote; its last lines if it fails. A false report of a hang is a failure.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = process::displayed(command);
    println!("$ {shown}");
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{shown}`"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let lines: Vec<&str> = text.lines().collect();
        bail!("{}\n{}", output.status, lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"));
    }
    ensure!(!text.contains(HANG), "it was said to hang, and came to a good end:\n{text}");
    Ok(text)
}

/// As [`output`], which must contain `wanted`.
pub fn output_with(command: &mut Command, wanted: &str) -> Result<String> {
    let text = output(command)?;
    ensure!(text.contains(wanted), "its output lacks {wanted:?}:\n{text}");
    Ok(text)
}
