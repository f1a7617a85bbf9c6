//! `--profile` and `--trace`: what the ranks note about their calls, waits and messages, gathered when the job is over
//! and made into a page, a text, and a trace.
//!
//! A host makes a file of notes for its ranks ([`Notes`]), which they inherit, and reads it when they have ended: so
//! what a rank noted before it was killed is there, too. Whoever watches the job puts all hosts' notes together.

mod answer;
mod blame;
mod clock;
mod gathered;
mod json;
mod matrix;
mod notes;
mod page;
mod summary;
mod text;
mod trace;

use crate::job_spec::JobSpec;
use gathered::Job;
pub(crate) use notes::{Notes, RankNotes};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The page that `--profile` makes if it is not told another.
pub(crate) const USUAL_PAGE: &str = "rwmpi-profile.html";

/// The trace that `--trace` writes if it is not told another file.
pub(crate) const USUAL_TRACE: &str = "rwmpi-trace.json";

/// Writes what the job asks for; what is to be said of it.
pub(crate) fn write(spec: &JobSpec, title: &str, ranks: usize, notes: Vec<(String, RankNotes)>) -> String {
    let job = Job::new(title, ranks, notes);
    let mut said = String::new();
    if let Some(path) = &spec.profile {
        let summary = summary::of(&job);
        said.push_str(&text::of(&job, &summary));
        let numbers = numbers_beside(path, spec.trace.as_deref());
        let written = into_file(path, |file| page::write(file, &job, &summary))
            .and_then(|()| into_file(&numbers, |file| json::write(file, &job)));
        said.push_str(&match written {
            Ok(()) => format!("profile: {} is the page, {} has the numbers\n", path.display(), numbers.display()),
            Err((path, error)) => not_written(&path, &error),
        });
    }
    if let Some(path) = &spec.trace {
        said.push_str(&match into_file(path, |file| trace::write(file, &job)) {
            Ok(()) => {
                format!("trace: {} can be opened at https://ui.perfetto.dev{}\n", path.display(), trace::cut(&job))
            }
            Err((path, error)) => not_written(&path, &error),
        });
    }
    said
}

/// Where the page's numbers go: not where the trace goes.
fn numbers_beside(page: &Path, trace: Option<&Path>) -> PathBuf {
    let numbers = page.with_extension("json");
    if numbers == page || Some(&*numbers) == trace { page.with_extension("numbers.json") } else { numbers }
}

fn not_written(path: &Path, error: &io::Error) -> String {
    format!("warning: {} can't be written: {error}\n", path.display())
}

fn into_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), (PathBuf, io::Error)> {
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.flush()
    });
    written.map_err(|error| (path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_files_have_one_name() {
        let beside = |page: &str, trace: Option<&str>| {
            numbers_beside(Path::new(page), trace.map(Path::new)).to_string_lossy().into_owned()
        };
        assert_eq!(beside("a/b.html", Some("a/c.json")), "a/b.json");
        assert_eq!(beside("b.html", Some("b.json")), "b.numbers.json");
        assert_eq!(beside("b.json", None), "b.numbers.json");
    }
}
