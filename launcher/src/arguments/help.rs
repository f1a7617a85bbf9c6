//! Texts made from the table of options: help, and what manual pages, completions and the book are made from.

use super::table::{Known, OPTIONS, What};
use super::words::Given;
use crate::error::exit_code;
use rwmpi_transport::settings;

/// Columns of the help.
const WIDTH: usize = 100;
/// Where its words begin.
const INDENT: usize = 30;
const TITLES: [&str; 6] = ["Programs", "Environment", "Hosts", "Cores", "Input and output", "The job"];

/// What `--help` shows.
pub(super) fn text() -> String {
    let mut text = "Starts the ranks of an MPI job, shows their output and ends them together.\n\n\
                    Usage: mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n"
        .to_owned();
    for (title, options) in TITLES.iter().zip(OPTIONS) {
        text.push_str(&format!("\n{title}:\n"));
        for known in *options {
            text.push_str(&entry(known));
        }
    }
    text + &epilogue()
}

fn entry(known: &Known) -> String {
    let What::Does(_, help) = known.what else { return String::new() };
    if help.is_empty() {
        return String::new();
    }
    let names: Vec<String> = known.names.iter().map(|name| spelled(name)).collect();
    let head = format!("  {}{}", names.join(", "), values(known));
    let mut text = if head.len() < INDENT - 1 { format!("{head:INDENT$}") } else { format!("{head}\n{:INDENT$}", "") };
    let mut column = INDENT;
    for word in help.split(' ') {
        if column > INDENT && column + word.len() > WIDTH {
            text = format!("{}\n{:INDENT$}", text.trim_end(), "");
            column = INDENT;
        }
        text.push_str(word);
        text.push(' ');
        column += word.len() + 1;
    }
    format!("{}\n", text.trim_end())
}

/// What stands behind an option's name.
fn values(known: &Known) -> String {
    known
        .values
        .iter()
        .map(|value| if value.starts_with("[=") { (*value).to_owned() } else { format!(" {value}") })
        .collect()
}

/// A name with its dashes.
fn spelled(name: &str) -> String {
    if name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

fn epilogue() -> String {
    format!(
        "\nLong options may be written with one dash. Options of MPICH's, Intel's and Open MPI's launchers that\n\
         mean nothing here are accepted, and a line says why.\n\
         Ctrl-\\ (SIGQUIT) shows what each rank is doing.\n\n\
         Exit code: 0 if all ranks succeed; otherwise that of the first rank that fails,\n\
         {base} + n if signal n killed it, or\n\
         \x20 {left}    a rank left without finalizing while others were running\n\
         \x20 {usage}    these arguments make no sense\n\
         \x20 {output_lost}  what the ranks wrote could not be written\n\
         \x20 {host_lost}  a host, or the way to it, was lost\n\
         \x20 {timeout}  the job took longer than --timeout\n\
         \x20 {not_started}  the job could not be started\n\
         \x20 {not_executable}  the program cannot be executed\n\
         \x20 {not_found}  there is no such program\n\
         \x20 {base}+n  mpiexec was told to end by signal n (130: Ctrl-C)\n",
        left = exit_code::LEFT_EARLY,
        usage = exit_code::USAGE,
        output_lost = exit_code::OUTPUT_LOST,
        host_lost = exit_code::HOST_LOST,
        timeout = exit_code::TIMEOUT,
        not_started = exit_code::NOT_STARTED,
        not_executable = exit_code::NOT_EXECUTABLE,
        not_found = exit_code::NOT_FOUND,
        base = exit_code::SIGNAL_BASE,
    )
}

/// What `--help-settings` shows: every variable, what it can be, and what it does.
pub(super) fn settings() -> String {
    let entry = |setting: &settings::Setting| {
        format!("{}={}\n    {} [default: {}]\n", setting.name, setting.values, setting.doc, setting.default)
    };
    let all: Vec<String> = settings::SETTINGS.iter().map(entry).collect();
    format!("Environment variables that mean something to rwmpi:\n\n{}", all.join("\n"))
}

/// What `--describe` shows, in the form that its value names: for programs that make pages of it.
pub(super) fn description(given: &Given) -> Result<String, String> {
    match given.text()? {
        "options" => Ok(options_in_columns()),
        "settings" => Ok(settings_in_columns()),
        "options-page" => Ok(options_page()),
        "settings-page" => Ok(settings_page()),
        _ => Err(given.refuse("choose options, settings, options-page or settings-page")),
    }
}

/// A line for each option that does something: names, values and words, between tabs.
fn options_in_columns() -> String {
    let line = |known: &Known| match known.what {
        What::Does(_, help) if !help.is_empty() => {
            Some(format!("{}\t{}\t{help}\n", known.names.join(" "), known.values.join(" ")))
        }
        _ => None,
    };
    OPTIONS.iter().copied().flatten().filter_map(line).collect()
}

/// A line for each setting: name, values, default and words, between tabs.
fn settings_in_columns() -> String {
    let line = |setting: &settings::Setting| {
        format!("{}\t{}\t{}\t{}\n", setting.name, setting.values, setting.default, setting.doc)
    };
    settings::SETTINGS.iter().map(line).collect()
}

/// The book's table of all options.
fn options_page() -> String {
    let row = |known: &Known| {
        let names: Vec<String> = known.names.iter().map(|name| format!("`{}`", spelled(name))).collect();
        let values = if known.values.is_empty() { String::new() } else { format!(" `{}`", values(known).trim_start()) };
        let of = |letter: char| if known.peers.contains(letter) { "x" } else { "" };
        let what = match known.what {
            What::Does(_, help) => help.to_owned(),
            What::Is(option, value) => format!("is `--{option} {}`", value.replace("{}", "N")),
            What::SoAnyway(how) => format!("accepted: {how}"),
            What::Nothing(why) => format!("no effect, and a line says so: {why}"),
        };
        let what = what.replace('|', "\\|");
        format!("| {}{values} | {what} | {} | {} | {} |\n", names.join(" "), of('M'), of('I'), of('O'))
    };
    let shown = |known: &&Known| !matches!(known.what, What::Does(_, ""));
    let rows: String = OPTIONS.iter().copied().flatten().filter(shown).map(row).collect();
    format!(
        "# Options of mpiexec\n\nLong options may have one dash or two. The last columns say whose launcher has the option, too: \
         MPICH's, Intel's, Open MPI's.\nWhat means something here does what it does there; what means nothing is accepted, and a line says why.\n\n\
         | option | here | MPICH | Intel | Open MPI |\n|---|---|---|---|---|\n{rows}"
    )
}

/// The book's table of all settings.
fn settings_page() -> String {
    let row = |setting: &settings::Setting| {
        let values = setting.values.replace('|', "\\|");
        format!("| `{}` | {values} | {} | {} |\n", setting.name, setting.default, setting.doc)
    };
    let rows: String = settings::SETTINGS.iter().map(row).collect();
    format!(
        "# Settings\n\nEnvironment variables that mean something to rwmpi, under its own launcher and others. A name or a value that nobody\n\
         understands is pointed out when the job starts. `mpiexec --help-settings` shows the same.\n\n\
         | variable | can be | default | what it does |\n|---|---|---|---|\n{rows}"
    )
}
