//! Tells whoever waits for a study how far it is: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::format::{seconds, wait};
use super::plan::{Cell, title};
use super::record::Outcome;

/// Where progress is shown.
pub struct Progress {
    display: Display,
    done: usize,
    total: usize,
}

enum Display {
    Bar(ProgressBar),
    Lines,
}

impl Progress {
    /// On standard error.
    pub fn on_standard_error() -> Progress {
        let display = if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{bar:28.cyan/dim} {pos}/{len}  {msg}  ({elapsed} so far)");
            Display::Bar(ProgressBar::no_length().with_style(style.expect("the template is right")))
        } else {
            Display::Lines
        };
        Progress { display, done: 0, total: 0 }
    }

    /// Nowhere.
    #[cfg(test)]
    pub fn silent() -> Progress {
        Progress { display: Display::Bar(ProgressBar::hidden()), done: 0, total: 0 }
    }

    /// There are `total` runs to come.
    pub fn begin(&mut self, total: usize) {
        self.total = total;
        if let Display::Bar(bar) = &self.display {
            bar.set_length(total as u64);
        }
    }

    /// A run starts; from now on it will take about `left`.
    pub fn starts(&self, cell: Cell, left: Option<Duration>) {
        if let Display::Bar(bar) = &self.display {
            bar.set_message(format!("{}{}", name(cell), remaining(left)));
        }
    }

    /// Time passes.
    pub fn tick(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.tick();
        }
    }

    /// A run ended; from now on it will take about `left`.
    pub fn ended(&mut self, cell: Cell, result: &Result<Outcome, String>, left: Option<Duration>) {
        self.done += 1;
        let line = match result {
            Ok(outcome) => format!("{}: {} s", name(cell), seconds(outcome.seconds)),
            Err(message) => format!("{} FAILED: {message}", name(cell)),
        };
        match &self.display {
            Display::Bar(bar) => {
                if result.is_err() {
                    bar.println(line);
                }
                bar.inc(1);
            }
            Display::Lines => eprintln!("{}/{}{}  {line}", self.done, self.total, remaining(left)),
        }
    }

    /// No more runs.
    pub fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn name(cell: Cell) -> String {
    let processes = if cell.ranks == 1 { "1 process".to_owned() } else { format!("{} processes", cell.ranks) };
    format!("{} {} on {processes}", title(cell.benchmark), cell.mode.title())
}

fn remaining(left: Option<Duration>) -> String {
    match left {
        Some(left) if !left.is_zero() => format!(", about {} left", wait(left.as_secs_f64())),
        _ => String::new(),
    }
}
