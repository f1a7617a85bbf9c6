//! The problem classes: which size of a benchmark is run.

use std::fmt;
use std::str::FromStr;

/// A problem size of the benchmarks' definition, from S (a sample, well under a second) to C (gigabytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Class {
    /// Sample: for tests.
    S,
    /// Workstation: fits into caches.
    W,
    /// The smallest size that counts as a measurement.
    A,
    /// About four times A.
    B,
    /// About four times B.
    C,
}

impl Class {
    /// All classes, smallest first.
    pub const ALL: [Class; 5] = [Class::S, Class::W, Class::A, Class::B, Class::C];
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Class::ALL.into_iter().find(|class| text.eq_ignore_ascii_case(&class.to_string()));
        named.ok_or_else(|| format!("there is no class '{text}': choose S, W, A, B or C"))
    }
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn letters_of_either_case_name_a_class_and_nothing_else_does() {
        for class in Class::ALL {
            assert_eq!(class.to_string().parse(), Ok(class));
            assert_eq!(class.to_string().to_lowercase().parse(), Ok(class));
        }
        for wrong in ["", "D", "SS", "1"] {
            assert!(wrong.parse::<Class>().unwrap_err().contains(&format!("'{wrong}'")));
        }
    }
}
