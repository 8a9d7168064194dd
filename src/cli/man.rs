//! `pte-emit man`: prints the manual page of a command, or writes those of all commands into a folder.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::exit::{Exit, Failure};
use super::help;
use super::options::ForceArguments;
use super::outputs::{NewFolder, Outputs, Replaced};
use super::stdout;

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The command, such as `payload list`; without one, pte-emit itself
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Vec<String>,
    /// Output: a folder for the pages of all commands; created if it does not exist
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replace: ForceArguments,
}

/// Returns the pages of `pte-emit` and of its commands: names of files, and their text for `man -l`. The sections of
/// `--help` that are around the options are after them.
pub fn pages(root: &Command) -> Vec<(String, String)> {
    let mut command = help::with_notes(root.clone().disable_help_subcommand(true));
    command.build();
    let mut pages = Vec::new();
    let mut rest: Vec<Command> = command.get_subcommands().cloned().collect();
    rest.push(help::root(root));
    while let Some(command) = rest.pop() {
        rest.extend(command.get_subcommands().cloned());
        let notes = [command.get_before_help(), command.get_after_help()].into_iter().flatten();
        let notes = notes.map(ToString::to_string).collect::<Vec<_>>().join("\n\n");
        // Lines of notes would be filled.
        let man = Man::new(command.after_help(None::<&str>));
        let mut page = Vec::new();
        // Memory can be written.
        let _ = man.render(&mut page);
        page.extend(preformatted(&notes).to_roff().into_bytes());
        pages.push((man.get_filename(), String::from_utf8_lossy(&page).into_owned()));
    }
    pages.sort();
    pages
}

/// Returns sections whose lines are printed as they are.
fn preformatted(notes: &str) -> Roff {
    let mut sections = Roff::new();
    for section in notes.split("\n\n").filter(|section| !section.is_empty()) {
        let (title, lines) = section.split_once('\n').unwrap_or((section, ""));
        sections.control("SH", [title.trim_end_matches(':').to_uppercase().as_str()]);
        sections.control("nf", []);
        for line in lines.lines() {
            sections.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        sections.control("fi", []);
    }
    sections
}

/// Prints a page, or writes all.
///
/// # Errors
/// An unknown command; an output that cannot be written.
pub fn run(arguments: &ManArguments, root: &Command) -> Result<Exit, Failure> {
    let pages = pages(root);
    if let Some(folder) = &arguments.output {
        return write(&pages, folder, arguments.replace.force).map(|()| Exit::Ok);
    }
    let words: Vec<&str> = std::iter::once("pte-emit").chain(arguments.command.iter().map(String::as_str)).collect();
    let name = format!("{}.1", words.join("-"));
    let Some((_, page)) = pages.iter().find(|(file, _)| *file == name) else {
        let message = format!("unknown command `{}`; `pte-emit --help` lists all", arguments.command.join(" "));
        return Err(Failure::usage(message));
    };
    stdout::write("", |out| out.write_all(page.as_bytes())).map(|()| Exit::Ok)
}

/// Writes all pages or none.
fn write(pages: &[(String, String)], folder: &Path, force: bool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::writing(&folder.display().to_string(), &error);
    let _created = NewFolder::create(folder).map_err(failed)?;
    let mut outputs = Outputs::new("", force);
    for (name, page) in pages {
        outputs.write_text(&folder.join(name), Replaced::Generated(|head| head.contains(".TH pte-emit")), page)?;
    }
    outputs.commit()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::preformatted;

    #[test]
    fn notes_are_sections_whose_lines_are_kept() {
        let sections = preformatted("Exit status:\n  0    success\n  .pte\n").to_roff();
        assert_eq!(sections, ".SH \"EXIT STATUS\"\n.nf\n0    success\n\\&.pte\n.fi\n");
    }
}
