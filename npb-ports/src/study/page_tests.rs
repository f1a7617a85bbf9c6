//! Tests of the page: what is in it, that it stands alone, and that a browser shows it.

use std::collections::HashMap;
use std::path::Path;

use page_check::{Browser, Scheme};
use scraper::{Html, Selector};

use super::plan::{Mode, ORDER, title};
use super::record::Study;
use super::{fixture, page};

fn parsed(html: &str) -> Html {
    let document = Html::parse_document(html);
    assert!(document.errors.is_empty(), "not well-formed: {:?}", document.errors);
    document
}

fn count(document: &Html, selector: &str) -> usize {
    document.select(&Selector::parse(selector).unwrap()).count()
}

#[test]
fn it_holds_every_benchmark_and_plot() {
    let document = parsed(&page::render(&fixture::study(4, 5, 4)));
    let text = document.root_element().text().collect::<String>();
    for benchmark in ORDER {
        assert_eq!(count(&document, &format!("article#{benchmark}")), 1, "{benchmark}");
        for plot in ["speed-up", "heat"] {
            assert_eq!(count(&document, &format!("article#{benchmark} svg.plot.{plot}")), 1, "{plot} of {benchmark}");
        }
        assert_eq!(count(&document, &format!("article#{benchmark} table")), 1, "{benchmark}");
        assert!(text.contains(&format!("{}, class S: seconds", title(benchmark))));
    }
    for plot in ["bars", "availability"] {
        assert_eq!(count(&document, &format!("section#summary svg.plot.{plot}")), 1, "{plot}");
    }
    assert_eq!(count(&document, "section#fundamentals svg.plot.by-size"), 2);
    assert_eq!(count(&document, "section#failures"), 0);
    for fact in ["Example Processor 3000", "Linux 6.0.0-example", "2001-02-03", "npb study --class S -n 4 --repeats 5"]
    {
        assert!(text.contains(fact), "{fact}");
    }
    // Three modes in each group of bars.
    for mode in Mode::PROTOCOLS {
        assert_eq!(count(&document, &format!("svg.bars g.{} rect.bar", mode.name())), ORDER.len());
    }
    let described = count(&document, "svg[role=img][aria-label]");
    assert_eq!(described, count(&document, "svg"), "every plot says what it shows");
}

#[test]
fn runs_without_messages_stand_beside_the_others() {
    let study = fixture::study_of(&Mode::ALL, 4, 5, 4);
    let document = parsed(&page::render(&study));
    // MG and IS.
    assert_eq!(count(&document, "svg.bars g.one-sided rect.bar"), 2);
    let text: String = document.root_element().text().collect();
    assert!(text.contains("--repeats 5 --one-sided") && text.contains("Without messages, beside AUTO: "), "{text}");
    for (benchmark, runs) in [("is", true), ("cg", false)] {
        let said = count(&document, &format!("article#{benchmark} tr.one-sided"));
        assert_eq!(said > 0, runs, "{benchmark}");
    }
}

#[test]
fn a_study_over_another_transport_has_a_section() {
    let mut study = fixture::study(4, 5, 4);
    assert_eq!(count(&parsed(&page::render(&study)), "section#beside"), 0);
    let mut other = fixture::study(4, 5, 4);
    other.settings.transport = "tcp".to_owned();
    study.beside = Some(Box::new(other));
    let document = parsed(&page::render(&study));
    assert_eq!(count(&document, "section#beside svg.plot.bars"), 1);
    assert!(document.root_element().text().collect::<String>().contains("SR by NSR, TCP"));
}

#[test]
fn it_refers_to_nothing_outside_itself() {
    let html = page::render(&fixture::study(4, 5, 4));
    let document = parsed(&html);
    for loading in ["script", "link", "img", "iframe", "object", "embed", "image", "use", "[src]", "[href]", "[srcset]"]
    {
        assert_eq!(count(&document, loading), 0, "{loading}");
    }
    for text in ["http:", "https:", "url(", "@import", "file:"] {
        assert!(!html.contains(text), "{text}");
    }
}

#[test]
fn words_of_others_are_not_taken_for_markup() {
    let mut study = fixture::study(2, 3, 2);
    study.records[0].failed(4, "<script>alert(1)</script> & more".to_owned());
    study.settings.micro.failures.push("mpi-bench <b>broke</b>".to_owned());
    let document = parsed(&page::render(&study));
    assert_eq!(count(&document, "script"), 0);
    let failures = document.select(&Selector::parse("#failures").unwrap()).next().unwrap().text().collect::<String>();
    assert!(failures.contains("<script>alert(1)</script> & more") && failures.contains("mpi-bench <b>broke</b>"));
    assert!(failures.contains("EP SR on 1 process"));
}

#[test]
fn a_study_that_has_hardly_begun_has_a_page() {
    let mut study = fixture::study(1, 1, 2);
    study.settings.micro = Default::default();
    study.settings.micro.absent = Some("Nothing was measured.".to_owned());
    let document = parsed(&page::render(&study));
    assert_eq!(count(&document, "svg"), 0, "on one process there is nothing to plot");
    study.records.clear();
    parsed(&page::render(&study));
}

/// The colours of SR, NSR and AUTO, as the style sheet has them.
const IN_DAYLIGHT: [[u8; 3]; 3] = [[0x00, 0x72, 0xb2], [0xd5, 0x5e, 0x00], [0x00, 0x9e, 0x73]];
const IN_THE_DARK: [[u8; 3]; 3] = [[0x56, 0xb0, 0xea], [0xff, 0x92, 0x46], [0x35, 0xcb, 0x9f]];

#[test]
fn a_reader_learns_what_to_do_before_the_figures() {
    let html = page::render(&fixture::study(4, 5, 4));
    let text = parsed(&html).root_element().text().collect::<String>();
    for words in
        ["Class S is a check, not a measurement", "Spread is how much longer", "For pairings, each run", "What to do"]
    {
        assert!(text.contains(words), "{words}");
    }
    assert!(html.find("id=\"advice\"") < html.find("<svg"), "advice comes before plots");
}

#[test]
fn readers_on_phones_and_in_the_dark_can_read_it() {
    let Some(browser) = Browser::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut study = fixture::study(4, 5, 2);
    study.records[0].failed(
        4,
        "rank 1 was killed: a-rather-long-word-as-paths-of-files-and-addresses-0x7fffffffffffffff-are".to_owned(),
    );
    study.beside = Some(Box::new(Study { beside: None, ..fixture::study(4, 5, 4) }));
    let page = directory.path().join("index.html");
    std::fs::write(&page, page::render(&study)).unwrap();
    let complaints = browser.complaints(&[page]).unwrap();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn a_browser_shows_the_plots_in_the_colours_of_the_modes() {
    let Some(browser) = Browser::find() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (page, picture) = (directory.path().join("index.html"), directory.path().join("page.png"));
    std::fs::write(&page, page::render(&fixture::study(4, 5, 4))).unwrap();
    for (scheme, wanted) in [(Scheme::Light, IN_DAYLIGHT), (Scheme::Dark, IN_THE_DARK)] {
        browser.picture(&page, (1240, 1900), scheme, &picture).unwrap();
        let mut colours: HashMap<[u8; 3], usize> = HashMap::new();
        for pixel in pixels(&picture) {
            *colours.entry(pixel).or_default() += 1;
        }
        assert!(colours.len() > 100, "the page is blank: {} colours", colours.len());
        for (mode, colour) in Mode::PROTOCOLS.into_iter().zip(wanted) {
            let area = colours.get(&colour).copied().unwrap_or(0);
            // Eight bars, each about 350 by 10 pixels.
            assert!(area > 10_000, "{}: only {area} pixels have its colour", mode.title());
        }
        std::fs::remove_file(&picture).unwrap();
    }
}

fn pixels(picture: &Path) -> Vec<[u8; 3]> {
    let file = std::io::BufReader::new(std::fs::File::open(picture).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.bit_depth, png::BitDepth::Eight);
    let samples = info.color_type.samples();
    bytes[..info.buffer_size()].chunks(samples).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}
