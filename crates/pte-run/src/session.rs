//! A runner with a program: commands and their answers.

use std::path::{Path, PathBuf};

use pte_model::program::test_cases::TestData;

use crate::command::RunnerCommand;
use crate::error::{RunError, RunErrorKind};
use crate::process::{Process, RunLimits};
use crate::value::{self, OutputValue};

/// Runner process that has loaded a program. Dropping it ends the process, and those that it has started.
///
/// ```
/// use pte_run::pte_model::program::test_cases::TestData;
/// use pte_run::{OutputValue, RunError, RunErrorKind, RunLimits, RunnerCommand, Session};
///
/// // A runner whose only method returns 7, and ends when it is asked for another.
/// let script = "echo program ok; while read command rest; do case $command in
///     methods) echo methods seven;; load) test $rest = seven || exit 3; echo load ok;;
///     outputs) echo outputs 1; echo output 0 int 7;; *) echo $command ok;; esac; done";
/// let runner = RunnerCommand::new("sh").with_arguments(["-c", script]);
/// let start = || Session::start(&runner, "model.pte".as_ref(), &[], &RunLimits::default());
///
/// let mut session = start()?;
/// assert_eq!(session.methods()?, ["seven"]);
/// session.load("seven")?;
/// session.set_input(0, &TestData::Int(1))?;
/// session.execute()?;
/// assert_eq!(session.outputs()?, [OutputValue::Int(7)]);
/// // The same at once.
/// assert_eq!(session.run(&[TestData::Int(1)])?, [OutputValue::Int(7)]);
/// session.renew();
/// session.finish()?;
///
/// let error: RunError = start()?.load("eight").unwrap_err();
/// assert_eq!((&error.kind, error.kind.name()), (&RunErrorKind::Ended(3), "ended"));
/// assert_eq!(error.to_string(), "the runner ended with status 3 during `load eight`; expected an answer");
/// # Ok::<(), RunError>(())
/// ```
pub struct Session(Process);

/// The step of an error before the first command.
pub const START: &str = "the start";

impl Session {
    /// Starts a runner, which loads a program and the `.ptd` files with its data.
    ///
    /// # Errors
    /// A runner that cannot be started, or does not accept the program.
    pub fn start(
        command: &RunnerCommand,
        program: &Path,
        data: &[PathBuf],
        limits: &RunLimits,
    ) -> Result<Session, RunError> {
        let step = START;
        let data = data.iter().flat_map(|path| [PathBuf::from("--data"), path.clone()]);
        let arguments: Vec<PathBuf> = std::iter::once(program.to_owned()).chain(data).collect();
        let process = Process::start(command, &arguments, limits).map_err(|error| {
            let kind = RunErrorKind::NotStarted(format!("{command}: {error}"));
            RunError { kind, step: step.to_owned(), log: Vec::new() }
        })?;
        let mut session = Session(process);
        session.accepted("program", step)?;
        Ok(session)
    }

    /// Begins the time limit again, for another test in the same process.
    pub fn renew(&mut self) {
        self.0.renew();
    }

    /// Returns the names of the methods.
    ///
    /// # Errors
    /// A runner that does not answer so.
    pub fn methods(&mut self) -> Result<Vec<String>, RunError> {
        let step = self.send("methods".to_owned());
        let answer = self.answer(&step)?;
        let words = answer.strip_prefix("methods").filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let words = words.filter(|rest| !rest.starts_with(" error 0x"));
        let names = words.and_then(|rest| rest.split(' ').skip(1).map(value::unquoted).collect());
        names.ok_or_else(|| self.unexpected("methods", answer, "`methods NAME...`", &step))
    }

    /// Loads a method, with its initial state, in place of the one before.
    ///
    /// # Errors
    /// A method that the runtime rejects; a runner that does not answer.
    pub fn load(&mut self, method: &str) -> Result<(), RunError> {
        let step = self.send(format!("load {}", value::quoted(method)));
        self.accepted("load", &step)
    }

    /// Sets an input of the loaded method.
    ///
    /// # Errors
    /// Data that cannot be read, an input that the runtime rejects, a runner that does not answer.
    pub fn set_input(&mut self, index: usize, value: &TestData) -> Result<(), RunError> {
        let step = format!("`input {index}`");
        let words = value::words(value).map_err(|error| self.0.killed(RunErrorKind::Io(error.to_string()), &step))?;
        self.0.send(format!("input {index} {words}\n").into_bytes());
        self.accepted("input", &step)
    }

    /// Executes the loaded method.
    ///
    /// # Errors
    /// An execution that fails; a runner that does not answer.
    pub fn execute(&mut self) -> Result<(), RunError> {
        let step = self.send("execute".to_owned());
        self.accepted("execute", &step)
    }

    /// Returns the outputs of the last execution.
    ///
    /// # Errors
    /// Malformed outputs; a runner that does not answer.
    pub fn outputs(&mut self) -> Result<Vec<OutputValue>, RunError> {
        let step = self.send("outputs".to_owned());
        let answer = self.answer(&step)?;
        let Some(count) = answer.strip_prefix("outputs ").and_then(|count| count.parse::<usize>().ok()) else {
            return Err(self.unexpected("outputs", answer, "`outputs COUNT`", &step));
        };
        let mut outputs = Vec::new();
        for number in 0..count {
            let answer = self.answer(&step)?;
            let value = answer.strip_prefix(&*format!("output {number} ")).and_then(OutputValue::parse);
            let expected = || format!("`output {number} VALUE`, with the bytes that its sizes state");
            outputs.push(value.ok_or_else(|| self.unexpected("output", answer, &expected(), &step))?);
        }
        Ok(outputs)
    }

    /// Runs one test on the loaded method: sets the inputs, executes it, and returns the outputs.
    ///
    /// # Errors
    /// Those of [`Session::set_input`], [`Session::execute`] and [`Session::outputs`].
    pub fn run(&mut self, inputs: &[TestData]) -> Result<Vec<OutputValue>, RunError> {
        inputs.iter().enumerate().try_for_each(|(index, input)| self.set_input(index, input))?;
        self.execute()?;
        self.outputs()
    }

    /// Ends the runner by the end of its input, and waits until it has ended, for example for files that it writes
    /// last.
    ///
    /// # Errors
    /// A runner that prints more, does not end in time, or ends by a signal or with a status other than 0.
    pub fn finish(mut self) -> Result<(), RunError> {
        let step = "the end of its input";
        self.0.close_input();
        match self.0.line(step)? {
            Some(answer) => Err(self.malformed(answer, "the end of the output", step)),
            None => {
                // The process may need time to finish, for example to write files. It has ended when `ended` asks for
                // its status.
                self.0.end_in_time(step)?;
                match self.ended(step) {
                    RunError { kind: RunErrorKind::Ended(0), .. } => Ok(()),
                    error => Err(error),
                }
            }
        }
    }

    /// Sends a command, and returns it for messages.
    fn send(&mut self, command: String) -> String {
        let step = format!("`{command}`");
        self.0.send((command + "\n").into_bytes());
        step
    }

    fn answer(&mut self, step: &str) -> Result<String, RunError> {
        match self.0.line(step)? {
            Some(line) => Ok(line),
            None => Err(self.ended(step)),
        }
    }

    /// Reads an answer of a word and `ok`.
    fn accepted(&mut self, word: &str, step: &str) -> Result<(), RunError> {
        let answer = self.answer(step)?;
        match answer.strip_prefix(word) {
            Some(" ok") => Ok(()),
            _ => Err(self.unexpected(word, answer, &format!("`{word} ok`"), step)),
        }
    }

    /// Returns the error of an answer that is not a success.
    fn unexpected(&mut self, word: &str, answer: String, expected: &str, step: &str) -> RunError {
        let error = answer.strip_prefix(word).and_then(|rest| rest.strip_prefix(" error "));
        match error.filter(|error| is_error(error)) {
            Some(error) => {
                let kind = RunErrorKind::Rejected(error.to_owned());
                self.0.killed(kind, step)
            }
            None => self.malformed(answer, &format!("{expected} or `{word} error 0xNN NAME`"), step),
        }
    }

    fn malformed(&mut self, answer: String, expected: &str, step: &str) -> RunError {
        self.0.killed(RunErrorKind::Malformed { answer, expected: expected.to_owned() }, step)
    }

    /// Returns the error of a process that has closed its output.
    fn ended(&mut self, step: &str) -> RunError {
        let status = match self.0.end(step) {
            Ok(status) => status,
            Err(error) => return error,
        };
        #[cfg(unix)]
        if let Some(number) = std::os::unix::process::ExitStatusExt::signal(&status) {
            let name = nix::sys::signal::Signal::try_from(number).ok().map(nix::sys::signal::Signal::as_str);
            return self.0.killed(RunErrorKind::Signal(number, name), step);
        }
        // Processes that it has started may be left.
        self.0.killed(RunErrorKind::Ended(status.code().unwrap_or(-1)), step)
    }
}

/// Returns true for `0xNN NAME`.
fn is_error(words: &str) -> bool {
    let Some((code, name)) = words.strip_prefix("0x").and_then(|rest| rest.split_once(' ')) else { return false };
    code.len() == 2 && u8::from_str_radix(code, 16).is_ok() && !name.is_empty()
}
