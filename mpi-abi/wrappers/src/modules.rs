//! The modules `mpi` and `mpi_f08`, compiled when a program first needs them.
//!
//! Compiled modules are the compiler's: only the gfortran that an installation found made some. Where there was none,
//! or the installation was packed elsewhere, the source lies there alone. The wrapper compiles it, once: beside the
//! source, or in the user's cache if nobody may write there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const MODULES: [&str; 2] = ["mpi", "mpi_f08"];

/// Sees to it that there are compiled modules for the sources in that folder; returns the folder that they are in, if
/// it is another. What can't be made is missed by programs that use it, and by no others: the compiler says so.
pub(crate) fn folder(compiler: &[String], sources: &Path) -> Option<PathBuf> {
    let is_made = |folder: &Path| MODULES.iter().all(|name| is_there(folder, sources, name));
    let are_sources = MODULES.iter().all(|name| sources.join(format!("{name}.f90")).exists());
    if !are_sources || is_made(sources) {
        return None;
    }
    let own = cache(sources);
    if let Some(own) = own.as_ref().filter(|own| is_made(own)) {
        return Some(own.clone());
    }
    if make(compiler, sources, sources).is_ok() {
        return None;
    }
    let own = own?;
    match fs::create_dir_all(&own).and_then(|()| make(compiler, sources, &own)) {
        Ok(()) => Some(own),
        Err(error) => {
            eprintln!("the modules mpi and mpi_f08 can't be compiled: {error}");
            None
        }
    }
}

/// Whether the compiled module is there. In a cache it has to be as new as the source: another version of this library
/// may have been installed since.
fn is_there(folder: &Path, sources: &Path, name: &str) -> bool {
    let made = |path: PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    let compiled = made(folder.join(format!("{name}.mod")));
    let source = made(sources.join(format!("{name}.f90")));
    compiled.is_some_and(|compiled| folder == sources || source.is_some_and(|source| source <= compiled))
}

/// The user's folder for modules of that installation.
fn cache(sources: &Path) -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    let name = sources.to_string_lossy().replace('/', "%");
    Some(caches.join("rwmpi").join("modules").join(name))
}

/// Compiles both modules into the folder. Several wrappers may do so at a time: each works in a folder of its own, and
/// puts finished files into place.
fn make(compiler: &[String], sources: &Path, place: &Path) -> io::Result<()> {
    let [program, options @ ..] = compiler else { return Err(io::Error::other("no compiler is named")) };
    let fresh = place.join(format!(".modules.{}", std::process::id()));
    fs::create_dir(&fresh)?;
    let made = MODULES.iter().try_for_each(|name| {
        let source = sources.join(format!("{name}.f90"));
        let output =
            Command::new(program).args(options).arg("-fsyntax-only").arg("-J").arg(&fresh).arg(&source).output()?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(io::Error::other(words));
        }
        let file = format!("{name}.mod");
        fs::rename(fresh.join(&file), place.join(&file))
    });
    let removed = fs::remove_dir_all(&fresh);
    made.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compiler that makes an empty file for each module.
    fn compiler(folder: &Path) -> Vec<String> {
        let script = folder.join("compiler");
        let text = "#!/bin/sh\nname=$(basename \"$4\" .f90)\n: > \"$3/$name.mod\"\n";
        fs::write(&script, text).unwrap();
        vec!["sh".to_owned(), script.to_string_lossy().into_owned()]
    }

    fn installation(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("rwmpi-modules-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for name in MODULES {
            fs::write(folder.join(format!("{name}.f90")), "").unwrap();
        }
        folder
    }

    #[test]
    fn modules_are_made_once_beside_their_sources() {
        let folder = installation("beside");
        let compiler = compiler(&folder);
        assert_eq!(super::folder(&compiler, &folder), None);
        assert!(folder.join("mpi.mod").exists() && folder.join("mpi_f08.mod").exists());
        let no_compiler = ["/does/not/exist".to_owned()];
        assert_eq!(super::folder(&no_compiler, &folder), None);
        let left = fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, 5, "no folder is left behind");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_cached_module_is_as_new_as_its_source() {
        let (sources, own) = (installation("sources"), installation("own"));
        assert!(!is_there(&own, &sources, "mpi"));
        make(&compiler(&own), &sources, &own).unwrap();
        assert!(is_there(&own, &sources, "mpi") && !is_there(&sources, &sources, "mpi"));
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        fs::File::options().write(true).open(sources.join("mpi.f90")).unwrap().set_modified(later).unwrap();
        assert!(!is_there(&own, &sources, "mpi"));
        [sources, own].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
    }
}
