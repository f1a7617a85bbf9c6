//! Opens pages in a real browser, as their readers do, and says what those would complain about: text that leaves its
//! place or the screen, text that is hard to read on its background, a bright page for a reader who wants a dark one.
//!
//! A test of markup sees none of this, since the browser alone knows where text ends up. Browsers make no window as
//! narrow as a phone, so the page is shown in a frame of that width (`frame.html`), and a script of that frame looks at
//! it. Whoever has no browser skips, and says so.
#![forbid(unsafe_code)]

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// What a browser may be called.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The page around a page, with the script that looks at it.
const FRAME: &str = include_str!("frame.html");
/// What the script's findings begin and end with.
const BEGIN: &str = "<pre id=\"findings\">";
const END: &str = "</pre>";
/// What it says once at each width, so that a script that did not run is no page without faults.
const LOOKED: &str = "looked at ";
/// Height of a window: pages are looked at beyond it.
const HEIGHT: u32 = 1000;

/// Which colours the reader has asked the browser for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dark text on a bright page.
    Light,
    /// Bright text on a dark page.
    Dark,
}

impl Scheme {
    /// Both.
    pub const ALL: [Scheme; 2] = [Scheme::Light, Scheme::Dark];

    fn name(self) -> &'static str {
        match self {
            Scheme::Light => "light",
            Scheme::Dark => "dark",
        }
    }
}

/// The widths at which pages are looked at: a phone, and a window.
pub const WIDTHS: [u32; 2] = [390, 1240];
/// So many pages at most are shown at once: of more, a busy machine does not show all.
const PAGES_AT_ONCE: usize = 9;

/// A browser of this machine.
pub struct Browser {
    program: &'static str,
}

impl Browser {
    /// The browser, or none, having said that what needs it is skipped.
    pub fn find() -> Option<Browser> {
        let runs =
            |program: &&str| Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success());
        let program = PROGRAMS.into_iter().find(runs);
        if program.is_none() {
            eprintln!("skipped: there is no Chromium here (apt-get install chromium) to show pages with");
        }
        program.map(|program| Browser { program })
    }

    /// What a reader of `pages` would complain about at all widths and in both schemes, a line each.
    ///
    /// # Errors
    /// If the browser cannot be started, or shows nothing of one of them.
    pub fn complaints(&self, pages: &[PathBuf]) -> Result<Vec<String>> {
        let mut complaints = Vec::new();
        for scheme in Scheme::ALL {
            for pages in pages.chunks(PAGES_AT_ONCE) {
                complaints.extend(self.look(pages, scheme)?);
            }
        }
        Ok(complaints)
    }

    /// The same in one scheme. The browser's time, in milliseconds, passes while a busy machine still loads a page: so
    /// it gets more if it has not come to the end.
    fn look(&self, pages: &[PathBuf], scheme: Scheme) -> Result<Vec<String>> {
        let mut tries = [5_000, 20_000].into_iter().map(|budget| self.look_for(pages, scheme, budget));
        tries.find(Result::is_ok).unwrap_or_else(|| self.look_for(pages, scheme, 80_000))
    }

    fn look_for(&self, pages: &[PathBuf], scheme: Scheme, budget: u32) -> Result<Vec<String>> {
        let frame = framed(pages, &WIDTHS, HEIGHT, scheme)?;
        let mut command = self.command(frame.folder(), scheme);
        command.arg(format!("--virtual-time-budget={budget}")).arg("--dump-dom").arg(url(&frame.path)?);
        let output = command.output().with_context(|| format!("cannot start {}", self.program))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let findings = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(findings, _)| findings);
        let lines = findings.unwrap_or_default().lines().map(unescaped);
        let (looked, complaints): (Vec<String>, Vec<String>) = lines.partition(|line| line.starts_with(LOOKED));
        ensure!(
            looked.len() == pages.len() * WIDTHS.len() && !looked.iter().any(|line| line.starts_with("looked at 0 ")),
            "{} does not show all of {pages:?}: {}",
            self.program,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(complaints)
    }

    /// Shows `page` in a window of `width` by `height` pixels, and leaves the picture at `picture`.
    ///
    /// # Errors
    /// If the browser cannot be started or leaves no picture.
    pub fn picture(&self, page: &Path, (width, height): (u32, u32), scheme: Scheme, picture: &Path) -> Result<()> {
        let frame = framed(&[page.to_owned()], &[width], height, scheme)?;
        let mut command = self.command(frame.folder(), scheme);
        command.arg(format!("--window-size={width},{height}")).arg(format!("--screenshot={}", picture.display()));
        let output =
            command.arg(url(&frame.path)?).output().with_context(|| format!("cannot start {}", self.program))?;
        if !picture.exists() {
            bail!("no picture of {}: {}", page.display(), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// The browser without a window, that asks nothing of the network and leaves its profile in `folder`.
    fn command(&self, folder: &Path, scheme: Scheme) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--hide-scrollbars", "--force-device-scale-factor=1", "--allow-file-access-from-files"])
            .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(scheme == Scheme::Light)))
            .arg(format!("--user-data-dir={}", folder.join("profile").display()));
        command
    }
}

/// A page around a page, in a folder of its own that goes with it.
struct Framed {
    path: PathBuf,
}

impl Framed {
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

impl Drop for Framed {
    fn drop(&mut self) {
        // What stays behind lies in the system's folder for such things.
        let _ = fs::remove_dir_all(self.folder());
    }
}

fn framed(pages: &[PathBuf], widths: &[u32], height: u32, scheme: Scheme) -> Result<Framed> {
    // Several tests of a process look at pages at the same time, each at its own.
    let mut number = DefaultHasher::new();
    (pages, widths, scheme.name()).hash(&mut number);
    let name = format!("page-check-{}-{:x}", std::process::id(), number.finish());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let framed = Framed { path: folder.join("frame.html") };
    let mut frames = String::new();
    for page in pages {
        let page = page.canonicalize().with_context(|| format!("there is no page {}", page.display()))?;
        for width in widths {
            frames += &format!("<iframe style=\"width: {width}px\" src=\"{}\"></iframe>\n", url(&page)?);
        }
    }
    let filled =
        FRAME.replace("%FRAMES%", &frames).replace("%HEIGHT%", &height.to_string()).replace("%SCHEME%", scheme.name());
    fs::write(&framed.path, filled).with_context(|| format!("cannot write {}", framed.path.display()))?;
    Ok(framed)
}

fn url(path: &Path) -> Result<String> {
    let path = path.to_str().context("the name of the page is not UTF-8")?;
    let escaped = path.replace('%', "%25").replace('#', "%23").replace('?', "%3F").replace('"', "%22");
    Ok(format!("file://{}", escaped.replace(' ', "%20")))
}

/// The browser writes its document as markup.
fn unescaped(line: &str) -> String {
    line.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser says of a page with that style and that body, if there is one.
    fn complaints(style: &str, body: &str) -> Option<Vec<String>> {
        let browser = Browser::find()?;
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("a page.html");
        let head = "<!DOCTYPE html><html lang=en><meta charset=utf-8><meta name=color-scheme content='light dark'>";
        fs::write(&page, format!("{head}<style>{style}</style><body>{body}</body></html>")).unwrap();
        Some(browser.complaints(&[page]).unwrap())
    }

    /// Each of them is seen in the scheme and at the width where it is, and says what.
    fn assert_complaints(style: &str, body: &str, wanted: &[&str]) {
        let Some(found) = complaints(style, body) else { return };
        assert_eq!(found.len(), wanted.len(), "{found:#?}");
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(found.contains(wanted), "{found} does not say: {wanted}");
        }
    }

    #[test]
    fn a_page_that_fits_passes() {
        assert_complaints("", "<h1>Short</h1><p>Text that wraps <b>wherever</b> it has to.", &[]);
        let scrolled = "<div style='overflow-x: auto'><p style='width: 3000px'>a wide table</div>";
        assert_complaints("", scrolled, &[]);
    }

    #[test]
    fn what_is_wider_than_a_phone_is_found() {
        let wide = "<p style='width: 600px; text-align: right'>far right";
        let place = "390 pixels, light: the page is";
        assert_complaints(
            "",
            wide,
            &[place, "light: leaves the screen", "390 pixels, dark: the page is", "dark: leaves"],
        );
    }

    #[test]
    fn text_outside_of_its_box_is_found() {
        let style = "body { overflow-x: hidden } p { width: 60px }";
        let wanted = ["leaves its box"; 4];
        assert_complaints(style, "<p>Donaudampfschifffahrt", &wanted);
        let drawn = "<svg width=100 height=20><text x=60 y=15 fill=gray>longer than that</text></svg>";
        assert_complaints("svg { overflow: visible }", drawn, &["leaves its picture"; 4]);
    }

    #[test]
    fn what_is_hard_to_read_is_found() {
        assert_complaints("p { color: #888; background: #999 }", "<p>grey", &["has a contrast of"; 4]);
    }

    #[test]
    fn a_bright_page_for_who_wants_a_dark_one_is_found() {
        assert_complaints("html { background: #fff; color: #000 }", "<p>x", &["dark: the page is bright"; 2]);
    }
}
