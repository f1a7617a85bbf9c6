//! Info objects: ordered lists of key and value that carry hints (MPI-5.0 chapter 10).
//!
//! Text is bytes without an end mark here: a front end brings its own lengths and padding.

use crate::Result;
use crate::error::{Error, ErrorClass};

/// Key-value pairs in the order in which their keys were first set.
///
/// ```
/// # fn main() -> rwmpi_core::Result<()> {
/// use rwmpi_core::Info;
///
/// let mut hints = Info::new();
/// hints.set("striping_factor", "4")?;
/// hints.set("access_style", "read_once")?;
/// assert_eq!(hints.get("striping_factor")?, Some("4"));
/// assert_eq!((hints.len(), hints.key(1)?), (2, "access_style"));
/// hints.delete("striping_factor")?;
/// assert!(hints.iter().eq([("access_style", "read_once")]) && !hints.is_empty());
/// assert!(hints.set("", "no key").is_err());
/// // How the program was started.
/// assert_eq!(Info::environment(Some(4), None).get("maxprocs")?, Some("4"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pairs: Vec<(String, String)>,
}

impl Info {
    /// Longest key, in bytes.
    #[doc = example!(1
        "use rwmpi::Info;"
        "let (key, value) = (\"k\".repeat(Info::KEY_LEN_MAX), \"v\".repeat(Info::VALUE_LEN_MAX));"
        "Info::new().set(&key, &value)?;"
        "assert!(Info::new().set(&(key + \"k\"), &value).is_err());"
    )]
    pub const KEY_LEN_MAX: usize = 255;
    /// Longest value, in bytes.
    pub const VALUE_LEN_MAX: usize = 1023;

    /// One without pairs (MPI_Info_create).
    #[doc(alias = "MPI_Info_create")]
    pub fn new() -> Self {
        Info::default()
    }

    /// What is known about how the program was started (MPI_INFO_ENV, MPI-5.0 section 11.2.1); `ranks` is the size of
    /// the job, once it is known, `thread_level` the name of the level of thread support that was asked for, if any
    /// was.
    #[doc(alias = "MPI_INFO_ENV")]
    pub fn environment(ranks: Option<usize>, thread_level: Option<&str>) -> Self {
        let mut info = Info::new();
        let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        let mut add = |key: &str, value: String| {
            // What is too long for a value is left out: half of it would mislead.
            let _ = info.set(key, &value);
        };
        add("command", arguments.next().unwrap_or_default());
        let arguments: Vec<String> = arguments.collect();
        if !arguments.is_empty() {
            add("argv", arguments.join(" "));
        }
        if let Some(ranks) = ranks {
            add("maxprocs", ranks.to_string());
            add("soft", ranks.to_string());
        }
        add("arch", std::env::consts::ARCH.to_string());
        if let Ok(folder) = std::env::current_dir() {
            add("wdir", folder.to_string_lossy().into_owned());
        }
        if let Some(level) = thread_level {
            add("thread_level", level.to_string());
        }
        info
    }

    /// Gives `key` a value, in place of the one that it had (MPI_Info_set).
    ///
    /// # Errors
    /// If key or value are empty where they may not be, or too long.
    #[doc(alias = "MPI_Info_set")]
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        check_key(key)?;
        if value.len() > Info::VALUE_LEN_MAX {
            let (len, max) = (value.len(), Info::VALUE_LEN_MAX);
            let what = format!("the value for info key {key:?} has {len} bytes; {max} are allowed");
            return Err(Error::new(ErrorClass::InfoValue, what));
        }
        match self.pairs.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.pairs.push((key.to_string(), value.to_string())),
        }
        Ok(())
    }

    /// The value of `key`, if it has one (MPI_Info_get_string).
    ///
    /// # Errors
    /// If no key can look like that.
    #[doc(alias = "MPI_Info_get_string")]
    pub fn get(&self, key: &str) -> Result<Option<&str>> {
        check_key(key)?;
        Ok(self.pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str()))
    }

    /// Removes `key` (MPI_Info_delete).
    ///
    /// # Errors
    /// If there is no such key.
    #[doc(alias = "MPI_Info_delete")]
    pub fn delete(&mut self, key: &str) -> Result<()> {
        check_key(key)?;
        let place = self.pairs.iter().position(|(known, _)| known == key);
        let place = place.ok_or_else(|| Error::new(ErrorClass::InfoNoKey, format!("there is no info key {key:?}")))?;
        self.pairs.remove(place);
        Ok(())
    }

    /// How many keys there are (MPI_Info_get_nkeys).
    #[doc(alias = "MPI_Info_get_nkeys")]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The key at `place`, counted from 0 (MPI_Info_get_nthkey).
    ///
    /// # Errors
    /// If there are not so many.
    #[doc(alias = "MPI_Info_get_nthkey")]
    pub fn key(&self, place: usize) -> Result<&str> {
        self.pairs.get(place).map(|(key, _)| key.as_str()).ok_or_else(|| {
            let what = format!("there is no info key number {place}: the object has {}", self.len());
            Error::new(ErrorClass::Argument, what)
        })
    }

    /// All pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn check_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > Info::KEY_LEN_MAX {
        let what = format!("an info key has 1 to {} bytes, not {}", Info::KEY_LEN_MAX, key.len());
        return Err(Error::new(ErrorClass::InfoKey, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_take_new_values() {
        let mut info = Info::new();
        for (key, value) in [("b", "1"), ("a", "2"), ("c", ""), ("b", "3")] {
            info.set(key, value).unwrap();
        }
        assert_eq!(info.iter().collect::<Vec<_>>(), [("b", "3"), ("a", "2"), ("c", "")]);
        let copy = info.clone();
        info.delete("a").unwrap();
        assert_eq!((info.len(), info.key(1).unwrap(), info.get("a").unwrap()), (2, "c", None));
        assert_eq!(copy.get("a").unwrap(), Some("2"));
    }

    #[test]
    fn limits_and_absent_keys_are_errors() {
        let mut info = Info::new();
        info.set(&"k".repeat(255), &"v".repeat(1023)).unwrap();
        assert_eq!(info.set(&"k".repeat(256), "").unwrap_err().class(), ErrorClass::InfoKey);
        assert_eq!(info.set("", "v").unwrap_err().class(), ErrorClass::InfoKey);
        assert_eq!(info.get("").unwrap_err().class(), ErrorClass::InfoKey);
        assert_eq!(info.set("k", &"v".repeat(1024)).unwrap_err().class(), ErrorClass::InfoValue);
        assert_eq!(info.delete("k").unwrap_err().class(), ErrorClass::InfoNoKey);
        assert_eq!(info.key(1).unwrap_err().class(), ErrorClass::Argument);
    }

    #[test]
    fn the_environment_names_the_program() {
        let info = Info::environment(Some(3), Some("MPI_THREAD_SINGLE"));
        assert_eq!(info.get("maxprocs").unwrap(), Some("3"));
        assert_eq!(info.get("thread_level").unwrap(), Some("MPI_THREAD_SINGLE"));
        let program = std::env::args().next().unwrap();
        assert_eq!(info.get("command").unwrap(), Some(program.as_str()));
        let early = Info::environment(None, None);
        assert!(["maxprocs", "thread_level"].iter().all(|key| early.get(key).unwrap().is_none()));
    }
}
