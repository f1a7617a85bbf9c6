//! Manual pages and completions, from what the programs say of themselves: so they are never behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Arg, ArgAction};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::process;
use crate::workspace::{ONLY_LAUNCHER, Workspace};

/// Files below a prefix, and what is in them.
pub type Pages = Vec<(&'static str, Vec<u8>)>;

/// The pages of an installation whose programs are in this folder.
pub fn pages(programs: &Path) -> Result<Pages> {
    let options = said_by(&programs.join("mpiexec"), &["--describe", "options"])?;
    let settings = said_by(&programs.join("mpiexec"), &["--describe", "settings"])?;
    let wrapper = said_by(&programs.join("mpicc"), &["-help"])?;
    let mut pages = vec![
        ("share/man/man1/mpiexec.1", launcher_page(&options)?),
        ("share/man/man1/mpicc.1", wrapper_page(&wrapper)),
        ("share/man/man7/rwmpi.7", settings_page(&settings)),
    ];
    for (shell, file) in [
        (Shell::Bash, "share/bash-completion/completions/mpiexec"),
        (Shell::Zsh, "share/zsh/site-functions/_mpiexec"),
        (Shell::Fish, "share/fish/vendor_completions.d/mpiexec.fish"),
    ] {
        let mut text = Vec::new();
        generate(shell, &mut launcher(&options), "mpiexec", &mut text);
        pages.push((file, text));
    }
    Ok(pages)
}

/// Writes the book's lists of options and settings anew.
pub fn write_book(workspace: &Workspace) -> Result<()> {
    process::run(workspace.cargo(&["build"]).args(ONLY_LAUNCHER))?;
    let mpiexec = workspace.target().join("debug/mpiexec");
    for page in ["options", "settings"] {
        let text = said_by(&mpiexec, &["--describe", &format!("{page}-page")])?;
        let path = workspace.root.join(format!("docs/book/src/{page}.md"));
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn said_by(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    anyhow::ensure!(output.status.success(), "{} {}: {}", program.display(), arguments.join(" "), output.status);
    String::from_utf8(output.stdout).context("its answer is not text")
}

/// The launcher as clap sees programs. `options`: a line each, with names, values and words between tabs.
fn launcher(options: &str) -> clap::Command {
    let command = clap::Command::new("mpiexec")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Starts the ranks of an MPI job, shows their output and ends them together")
        .override_usage("mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...")
        .disable_help_flag(true)
        .disable_version_flag(true);
    options.lines().filter_map(option).fold(command, clap::Command::arg)
}

/// An option of the launcher. It lives as long as this program, as clap wants it.
fn option(line: &str) -> Option<Arg> {
    let line: &'static str = line.to_owned().leak();
    let mut columns = line.split('\t');
    let (names, values, help) = (columns.next()?, columns.next()?, columns.next()?);
    let long: Vec<&'static str> = names.split(' ').filter(|name| name.len() > 1).collect();
    let letters = names.split(' ').filter(|name| name.len() == 1).filter_map(|name| name.chars().next());
    let letters: Vec<char> = letters.collect();
    let id = names.split(' ').next()?;
    let mut arg = Arg::new(id).help(help);
    if let Some((&first, others)) = long.split_first() {
        arg = arg.long(first).visible_aliases(others.to_vec());
    }
    if let Some((&first, others)) = letters.split_first() {
        arg = arg.short(first).visible_short_aliases(others.to_vec());
    }
    Some(if values.is_empty() {
        arg.action(ArgAction::SetTrue)
    } else {
        let is_optional = values.starts_with('[');
        let names: Vec<&'static str> = values.trim_matches(['[', '=', ']']).split(' ').collect();
        let count = names.len();
        let arg = arg.value_names(names);
        if is_optional { arg.num_args(0..=1).require_equals(true) } else { arg.num_args(count) }
    })
}

fn launcher_page(options: &str) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(launcher(options)).render(&mut page).context("cannot write the page of mpiexec")?;
    let mut end = Roff::new();
    end.control("SH", ["NOTES"]);
    end.text([roman(
        "Long options may be written with one dash. Options of the launchers of MPICH, Intel MPI and Open MPI that mean nothing here \
         are accepted, and a line says why.",
    )]);
    end.control("SH", ["SEE ALSO"]);
    end.text([roman("mpicc(1), rwmpi(7)")]);
    end.to_writer(&mut page)?;
    Ok(page)
}

/// The page of the compiler wrappers. `help`: what they say, a line for each option, with spaces before its words.
fn wrapper_page(help: &str) -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["mpicc", "1", "", &version()]);
    page.control("SH", ["NAME"]);
    page.text([roman("mpicc, mpicxx, mpifort - compile and link MPI programs")]);
    page.control("SH", ["SYNOPSIS"]);
    page.text([bold("mpicc"), roman(" [OPTIONS] ARGUMENTS OF THE COMPILER")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "They run the compiler with the headers and libraries of the installation that they lie in. mpic++ is mpicxx; mpif77 and mpif90 \
         are mpifort, which also compiles the modules mpi and mpi_f08 where they are missing: beside their sources, or below ~/.cache/rwmpi.",
    )]);
    page.control("SH", ["OPTIONS"]);
    for (name, words) in help.lines().filter_map(|line| line.split_once("  ")) {
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(words.trim())]);
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman("mpiexec(1), rwmpi(7)")]);
    page.render().into_bytes()
}

/// The page of the settings: a line each, with name, values, default and words between tabs.
fn settings_page(settings: &str) -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["rwmpi", "7", "", &version()]);
    page.control("SH", ["NAME"]);
    page.text([roman("rwmpi - an MPI library whose transport is remote memory")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "Programs are compiled with mpicc(1) and started with mpiexec(1), or by Slurm, hydra or PRRTE. \
         libmpi_abi.so.1 has the standard ABI of MPI, libmpi.so.12 that of MPICH.",
    )]);
    page.control("SH", ["ENVIRONMENT"]);
    for line in settings.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [name, values, default, words] = columns[..] else { continue };
        page.control("TP", []);
        page.text([bold(name), roman(format!(" ({values})"))]);
        page.text([roman(format!("{words}. Default: {default}."))]);
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman("mpiexec(1), mpicc(1)")]);
    page.render().into_bytes()
}

fn version() -> String {
    format!("rwmpi {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &str =
        "np n c\tN\tStart N ranks\nenv\tNAME VALUE\tSet it\nx\tNAME\tPass it on\nexplain v\t\tSay why\n";

    #[test]
    fn every_option_is_on_the_page_and_completed() {
        let page = String::from_utf8(launcher_page(OPTIONS).unwrap()).unwrap();
        for word in ["\\-\\-np", "\\-n", "Start N ranks", "NAME", "VALUE", "\\-x", "\\-\\-explain", "rwmpi(7)"] {
            assert!(page.contains(word), "no {word} in {page}");
        }
        launcher(OPTIONS).debug_assert();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            generate(shell, &mut launcher(OPTIONS), "mpiexec", &mut text);
            assert!(String::from_utf8(text).unwrap().contains("explain"), "{shell}");
        }
    }

    #[test]
    fn pages_of_wrappers_and_settings_have_their_lines() {
        let page = String::from_utf8(wrapper_page("mpicc: compiles\n\n-show        print it\n")).unwrap();
        assert!(page.contains("\\-show") && page.contains("print it"), "{page}");
        let page = String::from_utf8(settings_page("RWMPI_CC\ton or off\ton\tDoes it\n")).unwrap();
        assert!(page.contains("RWMPI_CC") && page.contains("Does it. Default: on."), "{page}");
    }
}
