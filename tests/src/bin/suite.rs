//! Runs one check, or all, on the ranks of the job that it was started in.
#![forbid(unsafe_code)]

use rwmpi_tests::suites;

fn main() -> Result<(), rwmpi::Error> {
    let wanted = std::env::args().nth(1);
    let run = |universe: &rwmpi::Universe| {
        for (name, check) in suites::all().filter(|(name, _)| wanted.as_deref().is_none_or(|wanted| wanted == *name)) {
            if let Err(error) = check(universe) {
                universe.abort(1, &format!("{name}: {error}"));
            }
        }
        Ok(())
    };
    rwmpi::run(run).map(drop)
}
