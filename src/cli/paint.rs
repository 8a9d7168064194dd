//! Colours of what is printed on standard output; those of messages are annotate-snippets'.

use std::borrow::Cow;

use clap::builder::styling::{AnsiColor, Style};

use super::findings::Level;

/// What names the rest: a file, a method, a table.
pub const HEADING: Style = Style::new().bold();
/// What repeats in each line.
pub const LABEL: Style = Style::new().dimmed();
/// What is too much, or gone.
pub const WORSE: Style = AnsiColor::Red.on_default();
/// What is within its limit, or new.
pub const BETTER: Style = AnsiColor::Green.on_default();
/// What is another one.
pub const CHANGED: Style = AnsiColor::Yellow.on_default();

/// Writes styles, or leaves them out.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    /// Standard output has colours.
    pub is_coloured: bool,
}

impl Paint {
    /// Returns text in a style.
    pub fn text(self, style: Style, text: &str) -> Cow<'_, str> {
        if self.is_coloured { format!("{style}{text}{style:#}").into() } else { text.into() }
    }

    /// Returns lines of a finding, of which the first begins with the severity and the id of the rule.
    pub fn finding(self, level: Level, lines: &str) -> Cow<'_, str> {
        let style = match level {
            Level::Error => WORSE.bold(),
            Level::Warning => CHANGED.bold(),
            Level::Note => BETTER.bold(),
        };
        match lines.split_once(':') {
            Some((name, rest)) if self.is_coloured => format!("{style}{name}{style:#}:{rest}").into(),
            _ => lines.into(),
        }
    }
}
