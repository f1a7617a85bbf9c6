//! Reading the constants, and making Rust constants of them.

use std::fmt::Write;

use crate::Interface;
use crate::function::Base;

/// The constants of one type.
#[derive(Clone, Debug)]
pub struct Section {
    /// The type, without the prefix `MPI_`; `enum NAME` for a type that these constants are.
    pub kind: &'static str,
    /// The constants.
    pub constants: Vec<Constant>,
}

/// One constant.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Its name, with the prefix.
    pub name: &'static str,
    standard: &'static str,
    mpich: &'static str,
}

impl Constant {
    /// Its value: a number, or the name of a symbol; `None` if that interface does not have it.
    pub fn value(&self, interface: Interface) -> Option<&'static str> {
        let value = match interface {
            Interface::Standard => self.standard,
            Interface::Mpich => self.mpich,
        };
        (value != "-").then_some(value)
    }

    /// Whether its value is a symbol of the library.
    pub fn is_symbol(&self, interface: Interface) -> bool {
        self.value(interface).is_some_and(|value| value.starts_with("MPI"))
    }
}

/// All constants.
///
/// # Panics
/// If a line of the table can't be understood.
pub fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in include_str!("../constants.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(kind) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push(Section { kind, constants: Vec::new() });
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let [name, standard, mpich] = words[..] else { panic!("{line}") };
        sections.last_mut().expect("a section first").constants.push(Constant { name, standard, mpich });
    }
    sections
}

/// The Rust type of a section's constants: `i32`, `u32` for the code of a handle, `isize` for a pointer.
fn rust_type(kind: &str) -> &'static str {
    let kind = kind.split(' ').next().unwrap_or(kind);
    match kind {
        "int" | "enum" => "i32",
        "Offset" => "i64",
        _ if kind.contains('*') || kind.starts_with("MPI_T_") => "isize",
        _ => match Base::of(kind) {
            Base::Handle | Base::File => "u32",
            _ => "isize",
        },
    }
}

/// Its name without `MPI_`; MPI_2INT becomes `TWO_INT`.
fn rust_name(constant: &Constant) -> String {
    constant.name.trim_start_matches("MPI_").replacen(
        '2',
        if constant.name.starts_with("MPI_2") { "TWO_" } else { "2" },
        1,
    )
}

/// The trait `Constants` with the constants that both interfaces have, and its implementations for the types `Standard`
/// and `Mpich`, as Rust source. Handles are their 32-bit codes.
pub fn rust_constants() -> String {
    let sections = sections();
    let both = |constant: &&Constant| {
        [Interface::Standard, Interface::Mpich]
            .into_iter()
            .all(|of| constant.value(of).is_some() && !constant.is_symbol(of))
    };
    let mut text = String::from(
        "/// What the constants of `mpi.h` are in one interface, under their names without `MPI_`.\npub trait Constants {\n",
    );
    for section in &sections {
        for constant in section.constants.iter().filter(both) {
            let (name, kind) = (rust_name(constant), rust_type(section.kind));
            let _ = writeln!(text, "    /// `{}`.\n    const {name}: {kind};", constant.name);
        }
    }
    text += "    /// Every predefined datatype: its code and its name.\n    const DATATYPES: &'static [(u32, &'static str)];\n";
    text += "    /// Every error class: its value and its name.\n    const ERROR_CLASSES: &'static [(i32, &'static str)];\n}\n";
    for (interface, of) in [("Standard", Interface::Standard), ("Mpich", Interface::Mpich)] {
        let _ = writeln!(text, "impl Constants for {interface} {{");
        for section in &sections {
            for constant in section.constants.iter().filter(both) {
                let (name, kind) = (rust_name(constant), rust_type(section.kind));
                let value = constant.value(of).unwrap_or_default();
                let _ = writeln!(text, "    const {name}: {kind} = {value};");
            }
        }
        for (list, kind, word) in [("DATATYPES", "u32", "Datatype"), ("ERROR_CLASSES", "i32", "int errors")] {
            let _ = writeln!(text, "    const {list}: &'static [({kind}, &'static str)] = &[");
            let section = sections.iter().find(|section| section.kind == word).expect("a section of the table");
            for constant in &section.constants {
                if let Some(value) = constant.value(of) {
                    let _ = writeln!(text, "        ({value}, \"{}\"),", constant.name);
                }
            }
            text += "    ];\n";
        }
        text += "}\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_differ_by_interface() {
        let sections = sections();
        let find = |name| sections.iter().flat_map(|section| &section.constants).find(|one| one.name == name).unwrap();
        assert_eq!(find("MPI_ANY_SOURCE").value(Interface::Standard), Some("-1"));
        assert_eq!(find("MPI_ANY_SOURCE").value(Interface::Mpich), Some("-2"));
        assert_eq!(find("MPI_LB").value(Interface::Standard), None);
        assert!(find("MPI_UNWEIGHTED").is_symbol(Interface::Mpich));
        assert!(rust_constants().contains("const COMM_WORLD: u32 = 0x44000000;"));
    }
}
