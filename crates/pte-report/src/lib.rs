//! Reports: a document with the results of other crates, one HTML file that shows it, and graphs for other viewers.
//! Only the graphs are computed here.

// Types of it are arguments.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bytes;
pub mod callee;
pub mod document;
pub mod dot;
mod flow;
pub mod graph;
pub mod kind;
pub mod literal;
pub mod model_explorer;
pub mod modules;
pub mod payload_graph;
pub mod statistics;
mod targets;
pub mod text;
pub mod weights;
pub mod work;

pub use document::{BaseMethod, BaseProgram, ReportDocument, ReportedFile};
pub use pte_memory::Subject;
pub use targets::Marks;

use serde::Serialize;

use pte_model::diagnostics::{escaped, is_unsafe, json_escape};

/// Format of a report.
///
/// ```
/// use pte_report::ReportFormat;
///
/// assert_eq!(ReportFormat::default(), ReportFormat::Html);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportFormat {
    /// A page for a browser that needs no network.
    #[default]
    Html,
    /// The graphs of the methods, for Graphviz.
    Dot,
    /// The graphs of the methods and payloads as JSON, for Model Explorer.
    ModelExplorer,
}

/// The explorer, which `web/` builds: its style, its script, and the licences of the packages in it.
const STYLE: &str = include_str!("../page/explorer.css");
const SCRIPT: &str = include_str!("../page/explorer.js");
const LICENCES: &str = include_str!("../page/licences.txt");

/// Policy of the page: nothing is loaded from elsewhere, even if a script is tricked into trying.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// Returns the page of a [`ReportDocument`].
pub fn html(document: &impl Serialize) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>pte-emit report</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This report is drawn by a script in this file; nothing is loaded from elsewhere.</noscript>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n\
         <script type=\"text/plain\" id=\"licences\">{LICENCES}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        script_json(document)
    )
}

/// Maximum number of characters of a name in the files for other viewers, which repeat names at each use.
const MAX_TEXT: usize = 200;

/// Escapes [unsafe](is_unsafe) characters of a text of the file, and truncates it.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}...", escaped(&text[..at])),
        None => escaped(text).into_owned(),
    }
}

/// Formats JSON for the inside of a `<script>`. No character in it can end the element or begin a comment, or is
/// [unsafe](is_unsafe) to display.
fn script_json(document: &impl Serialize) -> String {
    // Only maps whose keys are not strings cannot be JSON, and no document has one.
    let json = serde_json::to_string(document).unwrap_or_else(|_| "null".to_owned());
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    for c in json.chars() {
        match matches!(c, '<' | '>' | '&') || is_unsafe(c) {
            true => out += &json_escape(c),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_data() {
        let names = [
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "]]>",
            "&lt;",
            "\u{2028}\u{202e}\u{200b}\u{e0041}\u{7f}\u{9b}\0\n\"",
        ];
        let document = serde_json::json!(names);
        let json = script_json(&document);
        assert!(!json.contains(['<', '>', '&']) && !json.contains(is_unsafe), "{json}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), document);
        let page = html(&document);
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script").count(), 3);
    }

    #[test]
    fn scripts_and_styles_end_where_the_page_ends_them() {
        assert!(!SCRIPT.contains("</") && !SCRIPT.contains("<!--") && !SCRIPT.contains("sourceMappingURL"));
        assert!(!STYLE.contains('<') && !STYLE.contains("url("));
        assert!(!LICENCES.contains(['<', '&']));
    }
}
