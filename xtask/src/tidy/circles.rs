//! Modules of a package that use each other in a circle, so that none of them can be understood, tested or moved alone.
//!
//! What counts are the uppermost modules of a package, each with all that is in its folder. A name is followed through
//! the modules that only pass it on. Unit tests may use what they like.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Located, SourceFile};
use super::{Findings, policy};

/// A module of a package: the names of the folders and the file; none for the root.
type Module = Vec<String>;

/// What modules of unit tests are called.
const TESTS: &str = "tests";

/// The modules of one package.
struct Package<'s> {
    modules: BTreeMap<Module, &'s SourceFile>,
}

/// Checks that no package has more modules in circles than the policy says, and that the policy says no more.
pub fn check(sources: &[SourceFile], found: &mut Findings) {
    for &(folder, allowed) in policy::MODULES_IN_CIRCLES {
        let package = Package::of(folder, sources);
        let circles = package.circles();
        let names: Vec<_> = circles.iter().map(|circle| circle.join(", ")).collect();
        let number: usize = circles.iter().map(Vec::len).sum();
        if number > allowed {
            let text =
                format!("{number} modules use each other in circles, {allowed} did: cut one ({})", names.join("; "));
            found.add(&format!("{folder}/lib.rs"), 1, text);
        } else if number < allowed {
            let text = format!("{folder} has {number} modules in circles now: say so instead of {allowed}");
            found.add("xtask/src/tidy/policy.rs", 1, text);
        }
    }
}

impl<'s> Package<'s> {
    fn of(folder: &str, sources: &'s [SourceFile]) -> Self {
        let module = |file: &'s SourceFile| {
            let path = file.name().strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
            let mut names: Module = path.split('/').map(str::to_owned).collect();
            names.pop_if(|name| matches!(name.as_str(), "lib" | "main" | "mod"));
            Some((names, file))
        };
        Package { modules: sources.iter().filter_map(module).collect() }
    }

    /// The uppermost modules that each of them uses.
    fn uses(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let is_code = |module: &Module| !module.is_empty() && module.iter().all(|name| name != TESTS);
        for (module, file) in self.modules.iter().filter(|(module, _)| is_code(module)) {
            let end = end_of_code(file);
            let used = file.paths.iter().filter(|path| path.line < end).filter_map(|path| self.place(module, path));
            let others = used.filter(|used| **used != module[0]);
            all.entry(module[0].as_str()).or_default().extend(others);
        }
        all
    }

    /// The uppermost module in which that is which `path` names in `module`, if it is in this package.
    fn place(&self, module: &Module, path: &Located) -> Option<&str> {
        let mut full = absolute(module, &path.text)?;
        // As often as a name is passed on, at most.
        for _ in 0..8 {
            let known = (1..=full.len()).rev().find(|&len| self.modules.contains_key(&full[..len])).unwrap_or(0);
            let holder = &full[..known];
            match full.get(known).and_then(|name| self.passed_on(holder, name)) {
                Some(from) if from != full => full = from,
                _ => return self.modules.get_key_value(holder)?.0.first().map(String::as_str),
            }
        }
        None
    }

    /// Where a module has that name from, if it imports it from another of this package.
    fn passed_on(&self, holder: &[String], name: &str) -> Option<Module> {
        let (module, file) = self.modules.get_key_value(holder)?;
        let full = |path: &str| {
            let own = || {
                let names: Module = path.split("::").map(str::to_owned).collect();
                let full = [module.as_slice(), &names].concat();
                self.modules.contains_key(&full[..=module.len()]).then_some(full)
            };
            absolute(module, path).or_else(own)
        };
        let is_it = |path: &&Located| path.text.rsplit_once("::").is_some_and(|(_, last)| last == name);
        // An import of all passes a name on if the text of the module has that word.
        let among_all = |path: &Located| {
            let from = full(path.text.strip_suffix("::*")?)?;
            let has_it = self.modules.get(&from)?.words.iter().any(|word| word.text == name);
            (has_it && from != *module).then(|| [from, vec![name.to_owned()]].concat())
        };
        let end = end_of_code(file);
        let imports = || file.imports.iter().filter(|path| path.line < end);
        imports().filter(is_it).find_map(|path| full(&path.text)).or_else(|| imports().find_map(among_all))
    }

    /// Each set of modules that all use each other, directly or not.
    fn circles(&self) -> Vec<Vec<&str>> {
        let uses = self.uses();
        let reached: BTreeMap<&str, BTreeSet<&str>> = uses.keys().map(|&from| (from, reach(from, &uses))).collect();
        let (mut circles, mut seen) = (Vec::new(), BTreeSet::new());
        for (&one, others) in &reached {
            if others.contains(one) && seen.insert(one) {
                let circle: Vec<&str> = others
                    .iter()
                    .copied()
                    .filter(|other| reached.get(other).is_some_and(|all| all.contains(one)))
                    .collect();
                seen.extend(&circle);
                circles.push(circle);
            }
        }
        circles
    }
}

/// All that `from` uses, directly or not.
fn reach<'p>(from: &str, uses: &BTreeMap<&'p str, BTreeSet<&'p str>>) -> BTreeSet<&'p str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(next) = open.pop() {
        for &used in uses.get(next).into_iter().flatten() {
            if reached.insert(used) {
                open.push(used);
            }
        }
    }
    reached
}

/// A path from the root of the package, if it begins with `crate`, `self` or `super`.
fn absolute(module: &Module, path: &str) -> Option<Module> {
    let mut names = path.split("::").map(str::to_owned).peekable();
    let mut full = match names.peek()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.clone(),
        _ => return None,
    };
    names.next_if(|name| matches!(name.as_str(), "crate" | "self"));
    while names.next_if(|name| name == "super").is_some() {
        full.pop()?;
    }
    full.extend(names);
    Some(full)
}

/// The line at which a file's unit tests begin.
fn end_of_code(file: &SourceFile) -> usize {
    let mut lines = file.text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let is_module = |&&(next, _): &&(&str, usize)| next.ends_with("mod tests {");
        if line == "#[cfg(test)]" && lines.peek().filter(is_module).is_some() {
            return number;
        }
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let parse = |(name, text): &(&str, &str)| SourceFile::parse(format!("p/src/{name}.rs"), text.to_string());
        let sources: Vec<_> = files.iter().map(|file| parse(file).unwrap()).collect();
        Package::of("p/src", &sources).circles().iter().map(|circle| circle.join(" ")).collect()
    }

    #[test]
    fn modules_that_use_each_other_are_a_circle() {
        let [a, b, c] = [("a", "use crate::b::B;"), ("b/mod", "mod inner;"), ("c", "use crate::a::A;")];
        let back = ("b/inner", "fn f() { super::super::c::g() }");
        assert_eq!(circles(&[a, b, c, back]), ["a b c"]);
        assert!(circles(&[a, b, c]).is_empty());
        assert!(circles(&[("a/mod", "use self::x::X;"), ("a/x", "use super::Y; use crate::a::Z;")]).is_empty());
        assert_eq!(circles(&[("a", "use crate::b;"), ("b", "use super::a;")]), ["a b"], "as a whole");
    }

    #[test]
    fn names_are_followed_through_modules_that_pass_them_on() {
        let root = ("lib", "mod a; mod b; pub use a::{A, inner::I}; pub(crate) use crate::b::B;");
        let [a, inner] = [("a/mod", "pub use inner::I; use crate::B;"), ("a/inner", "")];
        assert_eq!(circles(&[root, a, inner, ("b", "use crate::I;")]), ["a b"]);
        assert!(circles(&[root, a, inner, ("b", "use crate::J;")]).is_empty());
        let all = ("lib", "mod a; mod b; pub use a::*; pub(crate) use crate::b::B;");
        assert_eq!(circles(&[all, a, inner, ("b", "use crate::I;")]), ["a b"]);
        assert!(circles(&[all, a, inner, ("b", "use crate::J;")]).is_empty());
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let a = ("a", "use crate::b::B;");
        let b = "fn f() {}\n#[cfg(test)]\npub(crate) mod tests {\n    use crate::a::A;\n}\n";
        assert!(circles(&[a, ("b", b)]).is_empty());
        assert!(circles(&[a, ("b", "mod tests;"), ("b/tests", "use crate::a::A;")]).is_empty());
    }
}
