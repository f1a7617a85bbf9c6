//! Pages that show figures: each one file that refers to nothing outside it.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::plots::{self, Panel};

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
pub const LOADING: [&str; 7] = ["<script", "<link", "<img", " src=", " href=", "url(", "@import"];
