//! The page of a study: everything in one file, with no reference to anything outside it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::advice;
use super::format::{list, plural};
use super::plan::{Mode, subject, title};
use super::plot_frame::class;
use super::record::{Record, Study, usual_transport};
use super::tables::{self, Origin, Table};
use super::thesis;
use super::verdict::{self, Standing, Verdict};
use super::{plot_benchmark, plot_micro, plot_modes};
use crate::Benchmark;

const STYLE: &str = include_str!("page.css");

/// The page as HTML.
pub fn render(study: &Study) -> String {
    let verdicts: Vec<Verdict> = study.benchmarks().into_iter().map(|it| Verdict::on(study, it)).collect();
    let settings = &study.settings;
    let name = format!("SR, NSR and AUTO, class {}", settings.class);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header(study))
                main {
                    (overview(study, &verdicts))
                    (characteristics(study))
                    section id="benchmarks" {
                        h2 { "Benchmark by benchmark" }
                        @for verdict in &verdicts { (benchmark(study, verdict)) }
                    }
                    (beside(study))
                    (fundamentals(study))
                    (failures(study))
                    (method(study))
                }
            }
        }
    };
    page.into_string()
}

fn header(study: &Study) -> Markup {
    let settings = &study.settings;
    html! {
        header {
            p class="kicker" { "NAS Parallel Benchmarks, class " (settings.class) ", up to " (plural_processes(settings.ranks)) @if settings.transport == "tcp" { ", over TCP" } }
            h1 { "Do requests for send pay?" }
            p class="lead" {
                "A receiver that asks first lets the sender write straight into its buffer. "
                b class="sr" { "SR" } " asks as the MPI/MBCF thesis has it, "
                b class="nsr" { "NSR" } " never asks and sends everything through the FIFO, "
                b class="auto" { "AUTO" } " decides message by message."
                @if study.modes().contains(&Mode::OneSided) {
                    " " b class="one-sided" { "PUT" } " sends no messages: ranks put their data into the memory of others (IS and MG)."
                }
            }
            p class="machine" { (settings.machine.sentence()) br; (settings.machine.date) }
        }
    }
}

fn plural_processes(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}

fn overview(study: &Study, verdicts: &[Verdict]) -> Markup {
    let settings = &study.settings;
    let crowded = settings.ranks > settings.machine.cores;
    let times = plot_modes::relative_times(study);
    let availability = plot_modes::availability(study);
    html! {
        section id="summary" {
            @for sentence in verdict::summary(study, verdicts) { p class="summary" { (sentence) } }
            @if let Some(check) = advice::class(study) { p class="caution" { (check) } }
            @if crowded {
                p class="caution" { (caution(study)) }
            }
            p class="words" { (advice::words(study)) }
            div id="advice" {
                h2 { "What to do" }
                ul { @for sentence in advice::advice(study, verdicts) { li { (sentence) } } }
            }
            div class="pair" {
                @if let Some(plot) = times {
                    figure {
                        figcaption {
                            b { "Time relative to NSR" }
                            " fastest of " (plural(settings.repeats, "run")) "; whiskers reach to the slowest, arrows beyond the plot"
                        }
                        (plot)
                    }
                }
                @if let Some(plot) = availability {
                    figure {
                        figcaption {
                            b { "Written straight into the receiver's buffer" }
                            " share of the bytes sent; hollow: " (thesis::MARK)
                        }
                        (plot)
                    }
                }
            }
        }
    }
}

/// What is to be said when processes outnumber cores.
pub fn caution(study: &Study) -> String {
    let settings = &study.settings;
    format!(
        "Runs with more than {} processes share the {} of this machine: their speed-up means nothing, and their times tell how well \
         waiting processes make room for each other, more than how messages travel.",
        settings.machine.cores,
        plural(settings.machine.cores, "core")
    )
}

fn characteristics(study: &Study) -> Markup {
    html! {
        section id="characteristics" {
            h2 { "How the benchmarks communicate" }
            p { "On the most processes each ran with; counted in the timed part of the fastest run, all ranks together." }
            (table(&tables::characteristics(study)))
        }
    }
}

fn benchmark(study: &Study, verdict: &Verdict) -> Markup {
    let it = verdict.benchmark;
    html! {
        article id=(it) {
            h3 { (title(it)) span class="subject" { (subject(it)) } }
            div class="plots" {
                div class="verdict" {
                    div class="badges" { (badges(verdict)) }
                    @for sentence in &verdict.sentences { p { (sentence) } }
                }
                @if let Some(plot) = plot_benchmark::speed_up(study, it) {
                    figure { figcaption { b { "Speed-up" } " both axes logarithmic" } (plot) }
                }
                @if let Some(plot) = plot_benchmark::communication(study, it) {
                    figure { figcaption { b { "Who sends to whom" } " bytes" } (plot) }
                }
            }
            (table(&tables::times(study, it)))
        }
    }
}

fn badges(verdict: &Verdict) -> Markup {
    let badge = |mode: Mode, text: String| html! { span class={ "badge " (class(mode)) } { (text) } };
    html! {
        @if let Some(comparison) = verdict.sr_to_nsr {
            @match comparison.standing {
                Standing::Faster => (badge(Mode::Sr, format!("SR: {} than NSR", comparison.difference()))),
                Standing::Slower => (badge(Mode::Nsr, format!("SR: {} than NSR", comparison.difference()))),
                Standing::Level => span class="badge" { "SR and NSR level" },
                Standing::Unknown => span class="badge" { "too few runs to tell" },
            }
        }
        @if let Some((comparison, better)) = verdict.auto_to_better {
            @match comparison.standing {
                Standing::Faster => (badge(Mode::Auto, format!("AUTO ahead of {}", better.title()))),
                Standing::Slower => span class="badge warn" { "AUTO behind " (better.title()) },
                Standing::Level => (badge(Mode::Auto, format!("AUTO level with {}", better.title()))),
                Standing::Unknown => {},
            }
        }
        @if let Some(comparison) = verdict.one_sided_to_auto {
            @match comparison.standing {
                Standing::Faster => (badge(Mode::OneSided, format!("PUT: {} than AUTO", comparison.difference()))),
                Standing::Slower => (badge(Mode::Auto, format!("PUT: {} than AUTO", comparison.difference()))),
                Standing::Level => span class="badge" { "PUT and AUTO level" },
                Standing::Unknown => {},
            }
        }
    }
}

/// The study over another transport.
fn beside(study: &Study) -> Markup {
    html! {
        @if let (Some(other), Some(it)) = (&study.beside, super::beside::table(study)) {
            section id="beside" {
                h2 { "Beside " (super::beside::carrier(other)) }
                @for sentence in super::beside::summary(other) { p { (sentence) } }
                @if let Some(plot) = plot_modes::relative_times(other) {
                    figure { figcaption { b { "Time relative to NSR, over " (super::beside::carrier(other)) } } (plot) }
                }
                (table(&it))
            }
        }
    }
}

fn fundamentals(study: &Study) -> Markup {
    let micro = &study.settings.micro;
    html! {
        section id="fundamentals" {
            h2 { "Round-trip time and bandwidth" }
            @if let Some(reason) = &micro.absent { p { (reason) } }
            div class="pair" {
                @if let Some(plot) = plot_micro::round_trip(study) {
                    figure { figcaption { b { "Round-trip time" } " fastest; both axes logarithmic" } (plot) }
                }
                @if let Some(plot) = plot_micro::bandwidth(study) {
                    figure { figcaption { b { "Bandwidth" } " one way; both axes logarithmic" } (plot) }
                }
            }
            @if let Some(it) = tables::round_trip(study) { (table(&it)) }
            @if let Some(it) = tables::bandwidth(study) { (table(&it)) }
        }
    }
}

fn failures(study: &Study) -> Markup {
    html! {
        @if !study.all_well() {
            section id="failures" {
                h2 { "Runs that did not end well" }
                ul {
                    @for failure in &study.settings.micro.failures { li { (failure) } }
                    @for record in study.failed() {
                        li { b { (run_name(record)) } ": " span class="message" { (record.failure_report()) } }
                    }
                }
            }
        }
    }
}

/// A record's name for the reader: `CG SR on 2 processes`.
pub fn run_name(record: &Record) -> String {
    format!("{} {} on {}", title(record.benchmark), record.protocol.title(), plural_processes(record.ranks))
}

/// The command that makes the study again.
pub fn command(study: &Study) -> String {
    let settings = &study.settings;
    let words = |names: Vec<String>| names.join(",");
    let mut command =
        format!("npb study --class {} -n {} --repeats {}", settings.class, settings.ranks, settings.repeats);
    if study.benchmarks().len() < Benchmark::ALL.len() {
        command += &format!(" --benchmarks {}", words(study.benchmarks().iter().map(Benchmark::to_string).collect()));
    }
    if settings.transport != usual_transport() {
        command += &format!(" --transport {}", settings.transport);
    }
    let protocols = study.protocols();
    if protocols.len() < Mode::PROTOCOLS.len() {
        command += &format!(" --protocols {}", words(protocols.iter().map(|mode| mode.name().to_owned()).collect()));
    }
    if study.modes().contains(&Mode::OneSided) {
        command += " --one-sided";
    }
    command
}

/// What carried the messages, in words.
pub fn transport(study: &Study) -> &'static str {
    match study.settings.transport.as_str() {
        "tcp" => "TCP, even within a node",
        _ => "shared memory within a node, TCP between nodes",
    }
}

fn method(study: &Study) -> Markup {
    let settings = &study.settings;
    let machine = &settings.machine;
    let titles: Vec<&str> = study.modes().into_iter().map(Mode::title).collect();
    html! {
        section id="method" {
            h2 { "How this was measured" }
            p {
                "Every benchmark ran " (plural(settings.repeats, "time")) " with each of " (list(&titles)) " on each process count, each run a job "
                "of its own that verified its result. The modes took turns, and which began changed from repeat to repeat, so a machine that gets "
                "slower or faster meanwhile does so for all of them alike. A time is the fastest of the repeats; the spread is how much longer the "
                "slowest took. Two modes are told apart only if the faster one wins more pairings of its runs with the other's than chance alone gives "
                "to either, but for one comparison in twenty."
            }
            dl {
                dt { "Processor" } dd { (machine.processor) }
                dt { "Cores" } dd { (machine.cores) }
                dt { "Memory" } dd { (super::format::bytes(machine.memory as f64)) }
                dt { "Kernel" } dd { (machine.kernel) }
                dt { "Transport" } dd { (transport(study)) }
                dt { "Begun" } dd { (machine.date) }
                dt { "Again" } dd { code { (command(study)) } }
                dt { "Figures" } dd { code { "results.json" } " beside this page has every run, every counter and every rank pair" }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        div class="table" {
            table {
                caption { (table.caption) }
                thead { tr { @for (index, head) in table.heading.iter().enumerate() {
                    @if index == 0 { th class="name" scope="col" { (head) } } @else { th scope="col" { (head) } }
                } } }
                tbody {
                    @for row in &table.rows {
                        tr class=(row_class(row.origin)) {
                            th class={ "name" @if row.name.starts_with(' ') { " part" } } scope="row" { (row.name.trim_start()) }
                            @for value in &row.values { td { (value) } }
                        }
                    }
                }
            }
            @if let Some(note) = &table.note { p class="note" { (note) } }
        }
    }
}

fn row_class(origin: Origin) -> &'static str {
    match origin {
        Origin::Mode(mode) => class(mode),
        Origin::Study => "study",
        Origin::Thesis => "then",
    }
}
