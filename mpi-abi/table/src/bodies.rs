//! Which functions are implemented, read off the source of the bodies: `pub fn send<A: Abi>(…)` implements MPI_Send. A
//! macro may declare several functions at once: `pub fn bcast, ibcast, bcast_init<A: Abi>(…)`.
//!
//! `pub fn short_put<A: Abi>(…)` is the short form of `put`: it gets the rank besides, neither waits nor fails, and
//! says whether it has done all.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::function::Function;

/// Where each body is.
#[derive(Debug, Default)]
pub struct Bodies {
    /// Its module, by its name.
    modules: HashMap<String, String>,
}

impl Bodies {
    /// Looks through the source files in `folder`, which is the `src` of the crate with the bodies.
    ///
    /// # Errors
    /// If the folder can't be read.
    pub fn find(folder: &Path) -> io::Result<Bodies> {
        let mut bodies = Bodies::default();
        bodies.look(folder, "")?;
        Ok(bodies)
    }

    /// These, in one module.
    #[cfg(test)]
    pub(crate) fn of(names: &[&str]) -> Bodies {
        Bodies { modules: names.iter().map(|name| (name.to_string(), "::chapter".to_string())).collect() }
    }

    fn look(&mut self, folder: &Path, module: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                self.look(&entry.path(), &format!("{module}::{name}"))?;
            } else if let Some(stem) = name.strip_suffix(".rs") {
                let module =
                    if stem == "mod" || stem == "lib" { module.to_string() } else { format!("{module}::{stem}") };
                self.read(&fs::read_to_string(entry.path())?, &module);
            }
        }
        Ok(())
    }

    fn read(&mut self, source: &str, module: &str) {
        for line in source.lines() {
            let declaration = line.trim_start();
            let Some((names, _)) = declaration.strip_prefix("pub fn ").and_then(|rest| rest.split_once("<A: Abi>("))
            else {
                continue;
            };
            let is_method = declaration != line && !names.contains(", ");
            if !is_method {
                self.modules.extend(names.split(", ").map(|name| (name.to_string(), module.to_string())));
            }
        }
    }

    /// The path of the body of a function within the crate, as `::point_to_point::send`.
    pub fn path(&self, function: &Function) -> Option<String> {
        let name = function.body_name();
        self.path_of(&name)
    }

    /// The same of its short form, if it has one: what it does first, where there is nothing to take for a call.
    pub fn short_path(&self, function: &Function) -> Option<String> {
        self.path_of(&format!("short_{}", function.body_name()))
    }

    fn path_of(&self, name: &str) -> Option<String> {
        self.modules.get(name).map(|module| format!("{module}::{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the body of a function is, if this is the source of the module `chapter`.
    fn path(source: &str, name: &str) -> Option<String> {
        let mut bodies = Bodies::default();
        bodies.read(source, "::chapter");
        bodies.path(crate::functions().iter().find(|function| function.name == name).unwrap())
    }

    #[test]
    fn bodies_are_found_by_their_names() {
        let source = "/// Sends.\npub fn send<A: Abi>(\n    memory: Memory,\n) -> Outcome {\n}\nfn recv<A: Abi>() {}\n";
        assert_eq!(path(source, "MPI_Send").as_deref(), Some("::chapter::send"));
        assert_eq!(path(source, "MPI_Recv"), None);
    }

    #[test]
    fn short_forms_are_no_bodies() {
        let functions = crate::functions();
        let short_path = |source: &str| {
            let mut bodies = Bodies::default();
            bodies.read(source, "::chapter");
            bodies.short_path(functions.iter().find(|function| function.name == "MPI_Put").unwrap())
        };
        let (long, short) = ("pub fn put<A: Abi>() {}\n", "pub fn short_put<A: Abi>() {}\n");
        assert_eq!((short_path(long), path(short, "MPI_Put")), (None, None));
        assert_eq!(short_path(&format!("{long}{short}")).as_deref(), Some("::chapter::short_put"));
    }

    #[test]
    fn a_macro_declares_several() {
        let source = "collectives! {\n    /// Waits.\n    pub fn barrier, ibarrier, barrier_init<A: Abi>() { Call::barrier }\n}\n";
        for name in ["MPI_Barrier", "MPI_Ibarrier", "MPI_Barrier_init"] {
            let expected = name.replace("MPI_", "::chapter::").to_lowercase();
            assert_eq!(path(source, name), Some(expected));
        }
    }

    #[test]
    fn methods_are_no_bodies() {
        let source = "impl Rank {\n    pub fn send<A: Abi>(&self) {}\n}\n";
        assert_eq!(path(source, "MPI_Send"), None);
    }
}
