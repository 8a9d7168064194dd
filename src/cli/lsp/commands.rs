//! Commands of an editor about a method: other commands of pte-emit, whose output is the answer.
//!
//! They run in a process of their own, so that a program that hangs or crashes in a runtime does not end the server,
//! and each has a thread that waits for it, so that the server answers other requests.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use pte_emit::language::{LanguageOptions, LensKind};
use pte_emit::run::StopFlag;
use serde_json::{Value, json};
use tempfile::TempPath;

use super::documents::{path_of, uri_of};
use super::transport::{self, ErrorCode, ResponseError};

/// Names of the commands.
pub const COMMANDS: &[(&str, LensKind)] = &[
    ("pte-emit.run", LensKind::Run),
    ("pte-emit.test", LensKind::Test),
    ("pte-emit.bless", LensKind::Bless),
    ("pte-emit.memory", LensKind::Memory),
    ("pte-emit.report", LensKind::Report),
];

/// Command that moves numbers of a text to a file. It changes the text in the editor.
pub const MOVE_DATA: &str = "pte-emit.moveData";

/// Bytes of each output that an answer has.
const MAX_OUTPUT: u64 = 16 << 20;
/// Time between two looks at whether the command is cancelled.
const TICK: Duration = Duration::from_millis(20);
/// Time for a cancelled command to end its runner and to remove its files.
const GRACE: Duration = Duration::from_secs(2);

/// Returns the name of the command for a question.
pub fn name_of(kind: LensKind) -> &'static str {
    COMMANDS.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name)
}

/// Returns the arguments of a command for a saved file and a method, and the file that it writes.
fn arguments(kind: LensKind, file: &str, method: &str) -> Result<(Vec<String>, Option<TempPath>), String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Ok(match kind {
        LensKind::Run => (words(&["run", file, &format!("--method={method}")]), None),
        LensKind::Test => (words(&["test", file, &format!("--select={method}")]), None),
        LensKind::Bless => (words(&["test", "--bless", file, &format!("--select={method}")]), None),
        LensKind::Report => {
            // Commands run at the same time: each has a file of its own.
            let page = tempfile::Builder::new().prefix("pte-emit-report-").suffix(".html").tempfile();
            let page = page.map_err(|error| format!("cannot create a file for the report: {error}"))?.into_temp_path();
            (words(&["report", file, "-o", &page.display().to_string(), "--force"]), Some(page))
        }
        LensKind::Memory => (words(&["memory", file]), None),
    })
}

/// Returns the options of the command line for settings that commands have, too.
pub fn settings(options: &LanguageOptions) -> Vec<String> {
    let mut found: Vec<String> =
        options.definitions.iter().map(|(name, value)| format!("--define={name}={value}")).collect();
    found.extend(options.confined_to.iter().map(|folder| format!("--confine={}", folder.display())));
    found
}

/// Runs a command: its name, and the URI of the file and the method as arguments. The answer has the text that it
/// prints, its exit status, and the URI of the file that it writes. A token shows progress. The flag cancels it.
///
/// # Errors
/// An unknown command, a text that is not saved, a process that cannot be started; a cancelled command.
pub fn execute(
    params: &Value,
    settings: &[String],
    token: Option<&Value>,
    stop: &StopFlag,
) -> Result<Value, ResponseError> {
    let name = params["command"].as_str().unwrap_or_default();
    let Some((_, kind)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        let message = format!("unknown command `{name}`: expected one of {}", known.join(", "));
        return Err(ResponseError::new(ErrorCode::InvalidParams, message));
    };
    let uri = params["arguments"][0].as_str().unwrap_or_default();
    let method = params["arguments"][1].as_str().unwrap_or_default();
    let path = path_of(uri).filter(|path| path.is_absolute());
    let path = path.ok_or_else(|| format!("`{uri}` is no file: save the text first"))?;
    let progress = |value: Value| {
        if let Some(token) = token {
            transport::notify("$/progress", &json!({"token": token, "value": value}));
        }
    };
    let title = format!("{name} {method}");
    progress(json!({"kind": "begin", "title": title.trim_end(), "cancellable": true}));
    let result = arguments(*kind, &path.display().to_string(), method).map_err(ResponseError::from).and_then(
        |(mut arguments, page)| {
            arguments.extend_from_slice(settings);
            output(&arguments, page, stop)
        },
    );
    progress(json!({"kind": "end"}));
    result
}

/// Runs pte-emit, and returns what it prints.
fn output(arguments: &[String], page: Option<TempPath>, stop: &StopFlag) -> Result<Value, ResponseError> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find the command: {error}"))?;
    let mut command = Command::new(&own);
    // The Python package runs the server in Python's process.
    if own.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python")) {
        command.args(["-m", "pte_emit"]);
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", own.display()))?;
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let status = wait(&mut child, stop).map_err(|error| format!("cannot wait for {}: {error}", own.display()))?;
    let Some(status) = status else { return Err(ResponseError::new(ErrorCode::RequestCancelled, "cancelled")) };
    // A process that the command has left behind may keep the ends open.
    let open = "(a process that is still running has the output)\n";
    let text = [stdout, stderr].map(|bytes| bytes.recv_timeout(GRACE).unwrap_or_else(|_| open.into()));
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    // The client removes a report that it has shown; that of a command that fails is removed here.
    let page = page.filter(|_| status.success()).and_then(|page| page.keep().ok()).map(|page| uri_of(&page));
    Ok(json!({"text": text, "status": status.code(), "file": page}))
}

/// Reads an output in a thread of its own; what exceeds the limit is left out, which the last line says.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
            if let Ok(more @ 1..) = std::io::copy(&mut pipe, &mut std::io::sink()) {
                bytes.extend(format!("\n({more} more bytes are left out)\n").into_bytes());
            }
        }
        let _ = sender.send(bytes);
    });
    receiver
}

/// Waits for the end of a process; `None` if it is cancelled.
fn wait(child: &mut Child, stop: &StopFlag) -> std::io::Result<Option<ExitStatus>> {
    while !stop.is_set() {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(TICK);
    }
    let start = Instant::now();
    // A request to end, so that it kills its runner; `kill` would leave that behind.
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id()) {
        use nix::sys::signal::{Signal, kill};
        let _ = kill(nix::unistd::Pid::from_raw(id), Signal::SIGTERM);
        while start.elapsed() < GRACE && child.try_wait()?.is_none() {
            thread::sleep(TICK);
        }
    }
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_an_output_is_said() {
        let text = |size| String::from_utf8(read(Some(std::io::repeat(b'x').take(size))).recv().unwrap()).unwrap();
        assert_eq!(text(3), "xxx");
        assert!(text(MAX_OUTPUT + 5).ends_with("x\n(5 more bytes are left out)\n"));
    }
}
