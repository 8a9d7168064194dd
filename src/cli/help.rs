//! Texts of `--help`, of the screen without arguments and of manual pages: groups of commands, examples, exit statuses.
//! docs/commands.md has them, and its tests run the examples.

use clap::Command;

const PAGE: &str = include_str!("../../docs/commands.md");

/// An example of the page.
#[derive(Debug)]
pub struct Example {
    /// Group of its command, such as `write`.
    pub group: &'static str,
    /// Command line, from `pte-emit`.
    pub line: &'static str,
    /// What it does.
    pub comment: &'static str,
}

impl Example {
    /// Returns the examples in the order of the page: lines of its blocks of shell commands, after a comment with the
    /// group.
    pub fn all() -> impl Iterator<Item = Example> {
        let blocks = PAGE.split("\n```").skip(1).step_by(2).filter(|block| block.starts_with("sh"));
        let mut group = "";
        blocks.flat_map(str::lines).filter_map(move |line| {
            group = line.strip_prefix("# ").unwrap_or(group);
            let (line, comment) = line.strip_prefix("pte-emit ").and(line.split_once(" # "))?;
            Some(Example { group, line: line.trim_end(), comment })
        })
    }

    /// Returns the name of the command: that after `pte-emit`, or else that of the default command.
    pub fn command<'c>(&self, root: &'c Command) -> &'c Command {
        let word = self.line.split(' ').nth(1).unwrap_or_default();
        root.find_subcommand(word).or_else(|| root.find_subcommand("assemble")).expect("a command")
    }

    /// Returns true for an example of a command, with `words` after `pte-emit`, or of one of its subcommands.
    fn is_of(&self, words: &[&str], root: &Command) -> bool {
        let own = self.line.split(' ').skip(1);
        match words {
            [name] => self.command(root).get_name() == *name,
            _ => own.take(words.len()).eq(words.iter().copied()),
        }
    }
}

/// Returns a line for each command, by group.
pub fn groups(root: &Command) -> String {
    let mut groups: Vec<(&str, Vec<&Command>)> = Vec::new();
    for example in Example::all() {
        let command = example.command(root);
        match groups.iter_mut().find(|(group, _)| *group == example.group) {
            Some((_, commands)) if commands.iter().any(|known| known.get_name() == command.get_name()) => {}
            Some((_, commands)) => commands.push(command),
            None => groups.push((example.group, vec![command])),
        }
    }
    let mut out = String::new();
    for (group, commands) in groups {
        for (number, command) in commands.into_iter().enumerate() {
            let title = if number == 0 { group } else { "" };
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            out += &format!("  {title:<7}{:<12}{about}\n", command.get_name());
        }
    }
    out
}

/// Returns the sections `Examples` and `Exit status` of a command, with `words` after `pte-emit`; of `pte-emit` itself
/// without words.
fn notes(words: &[&str], root: &Command) -> String {
    let mut out = String::new();
    let examples = Example::all().filter(|example| !words.is_empty() && example.is_of(words, root));
    for Example { line, comment, .. } in examples {
        let title = if out.is_empty() { "Examples:\n" } else { "" };
        out += &format!("{title}  {line}\n      {comment}\n");
    }
    let title = if out.is_empty() { "Exit status:" } else { "\nExit status:" };
    out + title + &statuses(words.first().copied())
}

/// Returns a line for each exit status of a command, from the table of the page. A row of the command replaces that of
/// all.
fn statuses(command: Option<&str>) -> String {
    let table = PAGE.lines().skip_while(|line| !line.starts_with("| exit status"));
    let rows = table.skip(2).map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" |"));
    let mut lines: Vec<(&str, &str)> = Vec::new();
    for (status, row) in rows {
        let (commands, meaning) = row.split_once("| ").expect("three columns");
        let is_own = command.is_some_and(|command| commands.contains(&format!("`{command}`")));
        match lines.last_mut() {
            Some((known, line)) if *known == status && is_own => *line = meaning,
            _ if is_own || commands.trim().is_empty() => lines.push((status, meaning)),
            _ => {}
        }
    }
    lines.iter().map(|(status, meaning)| format!("\n  {status:<5}{meaning}")).collect()
}

/// Headings of options that several commands have, by their names; `SourceArguments` and layout options have their own.
const HEADINGS: [(&str, &[&str]); 2] = [
    ("Output", &["output", "to", "force", "dry_run", "depfile", "format", "json", "limit"]),
    ("General", &["color", "quiet", "help", "version"]),
];

/// Returns the command with headings of its options.
fn with_headings(mut command: Command) -> Command {
    command.build();
    command.mut_args(|option| match HEADINGS.iter().find(|(_, options)| options.contains(&option.get_id().as_str())) {
        Some((heading, _)) => option.help_heading(*heading),
        None => option,
    })
}

/// Adds the sections and the headings of options to `--help` of all commands.
pub fn with_notes(mut root: Command) -> Command {
    root.build();
    let known = root.clone();
    add(root, &mut Vec::new(), &known)
}

fn add(command: Command, words: &mut Vec<String>, root: &Command) -> Command {
    let own: Vec<&str> = words.iter().map(String::as_str).collect();
    with_headings(command.after_help(notes(&own, root))).mut_subcommands(|child| {
        words.push(child.get_name().to_owned());
        let child = add(child, words, root);
        words.pop();
        child
    })
}

/// Returns the screen without arguments.
pub fn screen(root: &Command) -> String {
    let name = root.get_name();
    let about = root.get_about().map(ToString::to_string).unwrap_or_default();
    format!(
        "{about}\n\n{}\nUsage: {name} COMMAND [ARGUMENTS]\nOptions and examples: {name} COMMAND --help; options of all: \
         {name} --help\n",
        groups(root)
    )
}

/// Returns `pte-emit` for its help and its manual page: with the groups in place of subcommands.
pub fn root(root: &Command) -> Command {
    let name = root.get_name();
    let help = Command::new(name.to_owned())
        .version(root.get_version().unwrap_or_default().to_owned())
        .about(root.get_about().cloned().unwrap_or_default())
        .long_about(root.get_long_about().cloned().unwrap_or_default())
        .args(root.get_arguments())
        .override_usage(format!("{name} [OPTIONS] [INPUT]...\n       {name} COMMAND [ARGUMENTS]"))
        .help_template("{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}")
        .before_help(format!("Commands:\n{}", groups(root).trim_end()))
        .after_help(notes(&[], root));
    with_headings(help)
}
