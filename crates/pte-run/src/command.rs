//! Command line of a runner.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Command that starts a runner: a program and the first of its arguments. The files of a run follow them.
///
/// ```
/// use pte_run::RunnerCommand;
///
/// let command = RunnerCommand::parse("'my runner' --threads 1")?;
/// assert_eq!(command.program(), "my runner");
/// assert_eq!(command.arguments(), ["--threads", "1"]);
/// assert!(RunnerCommand::parse("runner 'a").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerCommand {
    program: OsString,
    arguments: Vec<OsString>,
}

impl RunnerCommand {
    /// Returns the command of a program without arguments.
    pub fn new(program: impl Into<OsString>) -> RunnerCommand {
        RunnerCommand { program: program.into(), arguments: Vec::new() }
    }

    /// Adds arguments.
    pub fn with_arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> RunnerCommand {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Splits a command line into words as a shell does: quotes `'` and `"`, and `\` before a character (on Windows,
    /// `\` is an ordinary character). Variables, patterns and operators of shells are ordinary characters.
    ///
    /// # Errors
    /// A quote without its end; a command line without words.
    pub fn parse(line: &str) -> Result<RunnerCommand, String> {
        let mut words = split(line)?.into_iter().map(OsString::from);
        let program = words.next().ok_or("expected a command, found an empty string")?;
        Ok(RunnerCommand { program, arguments: words.collect() })
    }

    /// Returns the program.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }
}

/// Formats the words, separated by spaces, for messages.
impl fmt::Display for RunnerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        self.arguments.iter().try_for_each(|word| write!(f, " {}", word.display()))
    }
}

/// Returns true for a character that makes the next one an ordinary one.
fn is_escape(c: char) -> bool {
    c == '\\' && !cfg!(windows)
}

fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' => quoted(c, &mut rest, word.get_or_insert_default())?,
            c if is_escape(c) => {
                word.get_or_insert_default().push(rest.next().ok_or("`\\` at the end of the command")?)
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Appends the characters up to the closing quote.
fn quoted(quote: char, rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    loop {
        match rest.next() {
            None => return Err(format!("unterminated quote `{quote}`")),
            Some(c) if c == quote => return Ok(()),
            Some(c) if quote == '"' && is_escape(c) => match rest.next() {
                Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                next => word.extend(std::iter::once(c).chain(next)),
            },
            Some(c) => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn command_lines_are_split_as_by_a_shell() {
        for (line, words) in [
            ("a b", vec!["a", "b"]),
            ("  a\t b ", vec!["a", "b"]),
            ("'a b' \"c d\"", vec!["a b", "c d"]),
            ("a'b c'd", vec!["ab cd"]),
            ("'' a", vec!["", "a"]),
            ("$HOME *.c | c; d", vec!["$HOME", "*.c", "|", "c;", "d"]),
            ("", vec![]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        if !cfg!(windows) {
            assert_eq!(split(r#"a\ b \' "\" \n \\" 'c\'"#).unwrap(), ["a b", "'", r#"" \n \"#, r"c\"]);
            assert!(split("a\\").is_err());
        }
        assert!(split("'a").is_err() && split("a \"b").is_err());
    }
}
