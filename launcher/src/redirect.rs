//! What becomes of the ranks' streams: what stands before each line, which files they go to, who reads input.
//!
//! Files are written on the host of the rank, as Open MPI does; where hosts share their files it makes no difference.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What the user asks for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Redirection {
    /// Before each line, with `%r` and the like; `None`: nothing.
    pub(crate) prefix: Option<String>,
    /// Whether the time is before that.
    pub(crate) timestamps: bool,
    /// Whether both outputs of a rank are one.
    pub(crate) merged: bool,
    /// The files for standard output and standard error, with `%r` and the like.
    pub(crate) files: [Option<String>; 2],
    /// A folder with a folder for each rank.
    pub(crate) directory: Option<PathBuf>,
    /// Whether what goes to files goes nowhere else.
    pub(crate) only_files: bool,
    pub(crate) input: Readers,
}

/// Which ranks read standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Readers {
    #[default]
    First,
    Nobody,
    All,
    Ranks(Vec<usize>),
}

impl Readers {
    /// Whether that rank is one.
    pub(crate) fn contain(&self, rank: usize) -> bool {
        match self {
            Readers::First => rank == 0,
            Readers::Nobody => false,
            Readers::All => true,
            Readers::Ranks(ranks) => ranks.contains(&rank),
        }
    }
}

impl std::str::FromStr for Readers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Readers::All),
            "none" => Ok(Readers::Nobody),
            ranks => crate::placement::parse_cpus(ranks)
                .map(Readers::Ranks)
                .map_err(|_| "choose all, none, or numbers of ranks such as 1,3-4".to_owned()),
        }
    }
}

/// Whose a stream is.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// Its number, or the first and last of those of one process.
    pub(crate) ranks: (usize, usize),
    /// How many ranks the job has.
    pub(crate) size: usize,
    /// The number of its host, and of its program.
    pub(crate) node: usize,
    pub(crate) section: usize,
    pub(crate) host: String,
}

impl Redirection {
    /// Where what a rank writes goes besides the launcher's own outputs.
    pub(crate) fn paths(&self, owner: &Owner) -> [Vec<PathBuf>; 2] {
        let names = ["stdout", "stderr"];
        let number = format!("{:0width$}", owner.ranks.0, width = (owner.size - 1).to_string().len());
        std::array::from_fn(|stream| {
            let pattern = self.files[stream].as_ref().map(|pattern| PathBuf::from(expand(pattern, owner)));
            let folder = |directory: &PathBuf| directory.join("1").join(format!("rank.{number}")).join(names[stream]);
            pattern.into_iter().chain(self.directory.as_ref().map(folder)).collect()
        })
    }

    /// Whether a stream goes to the launcher's own outputs.
    pub(crate) fn is_shown(&self, stream: usize) -> bool {
        let is_in_folder = self.directory.is_some() && self.only_files;
        // As with MPICH, what goes to a file of a pattern is seen only there.
        let is_in_file = self.files[stream].is_some() && (self.only_files || self.directory.is_none());
        !is_in_folder && !is_in_file
    }

    /// What stands before each line of a rank, if something does.
    pub(crate) fn prefix(&self, owner: &Owner) -> Option<String> {
        self.prefix.as_ref().map(|pattern| expand(pattern, owner))
    }
}

/// Replaces `%r`, `%h`, `%p`, `%g` and `%%`.
fn expand(pattern: &str, owner: &Owner) -> String {
    let mut text = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let code = if letter == '%' { letters.next() } else { None };
        match (letter, code) {
            ('%', Some('r')) => {
                let (first, last) = owner.ranks;
                text.push_str(&if first == last { first.to_string() } else { format!("{first}-{last}") });
            }
            ('%', Some('h')) => text.push_str(&owner.host),
            ('%', Some('p')) => text.push_str(&owner.node.to_string()),
            ('%', Some('g')) => text.push_str(&owner.section.to_string()),
            ('%', Some('%')) => text.push('%'),
            (letter, code) => {
                text.push(letter);
                text.extend(code);
            }
        }
    }
    text
}

/// Makes the folder in which a file is to be, and the file.
pub(crate) fn create(path: &Path) -> std::io::Result<std::fs::File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner { ranks: (3, 3), size: 12, node: 1, section: 2, host: "atlas".to_owned() }
    }

    #[test]
    fn patterns_name_rank_host_and_program() {
        assert_eq!(expand("%r@%h:%p.%g 100%% %x%", &owner()), "3@atlas:1.2 100% %x%");
        assert_eq!(expand("[%r] ", &Owner { ranks: (2, 4), ..owner() }), "[2-4] ");
    }

    #[test]
    fn streams_go_to_files_of_their_own() {
        let pattern = Redirection { files: [Some("out.%r".to_owned()), None], ..Redirection::default() };
        assert_eq!(pattern.paths(&owner()), [vec![PathBuf::from("out.3")], vec![]]);
        assert_eq!([0, 1].map(|stream| pattern.is_shown(stream)), [false, true]);
        let folder = Redirection { directory: Some("d".into()), ..Redirection::default() };
        assert_eq!(folder.paths(&owner())[1], [PathBuf::from("d/1/rank.03/stderr")]);
        assert!(folder.is_shown(0) && !Redirection { only_files: true, ..folder }.is_shown(0));
        assert!(Redirection::default().is_shown(1));
    }

    #[test]
    fn who_reads_is_said_in_words_or_numbers() {
        assert_eq!("all".parse(), Ok(Readers::All));
        assert_eq!("none".parse(), Ok(Readers::Nobody));
        let some: Readers = "1,3-4".parse().unwrap();
        assert_eq!([0, 1, 2, 3, 4, 5].map(|rank| some.contain(rank)), [false, true, false, true, true, false]);
        assert!("some".parse::<Readers>().is_err());
        assert!(Readers::First.contain(0) && !Readers::First.contain(1));
    }
}
