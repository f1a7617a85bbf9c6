//! Pages that show figures: each one file that refers to nothing outside it.

use std::fs;

use anyhow::{Context, Result};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::plots::{self, Panel};
use crate::workspace::Workspace;

const STYLE: &str = include_str!("page.css");

/// A page with that title, of figures from that machine.
pub fn page(title: &str, machine: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                p class="machine" { (machine) }
                (body)
            }
        }
    }
}

/// Writes a page into `pages` of cargo's folder, and says where it is.
///
/// # Errors
/// If it cannot be written.
pub fn write(workspace: &Workspace, name: &str, page: Markup) -> Result<()> {
    let folder = workspace.target().join("pages");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let target = folder.join(name);
    fs::write(&target, page.into_string()).with_context(|| format!("cannot write {}", target.display()))?;
    println!("page {}", target.display());
    Ok(())
}

/// The panels beside and below each other.
///
/// # Errors
/// If one cannot be drawn.
pub fn drawn(panels: impl IntoIterator<Item = Panel>) -> Result<Markup> {
    let drawings: Vec<String> = panels.into_iter().map(|panel| plots::svg(&panel)).collect::<Result<_>>()?;
    Ok(html! { div class="panels" { @for drawing in drawings { (PreEscaped(drawing)) } } })
}

/// What makes a page load something from elsewhere.
#[cfg(test)]
pub const LOADING: [&str; 7] = ["<script", "<link", "<img", " src=", " href=\"h", "url(", "@import"];

/// A browser has nothing to complain about that page.
#[cfg(test)]
pub fn assert_readable(name: &str, page: &Markup) {
    let Some(browser) = page_check::Browser::find() else { return };
    let folder = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, &page.0).unwrap();
    let complaints = browser.complaints(&[path]).unwrap();
    fs::remove_dir_all(folder).unwrap();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
