//! Client of the conformance runner (`tests/conformance/README.md`): writes its script, starts it, reads its answers.
//!
//! [`run`] returns a crash of the runner as an error; it does not panic.

use std::fmt::Write as _;
use std::io::{Seek, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use pte_emit::program::test_cases::TestData;
use pte_model::format::ScalarType;

/// Options of loading a program.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// `full` or `minimal`.
    pub verify: &'static str,
    /// `file`, `mmap` or `buffer`.
    pub loader: &'static str,
}

/// Value in an answer of the runner.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// None.
    Null,
    /// An integer.
    Int(i64),
    /// A floating point number.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// The bytes of a string.
    String(Vec<u8>),
    /// A tensor; without bytes it has no memory.
    Tensor {
        /// Element type.
        scalar_type: ScalarType,
        /// Sizes.
        sizes: Vec<i32>,
        /// Dimensions from the outermost in memory to the innermost.
        dim_order: Vec<u8>,
        /// Bytes in the order of memory.
        bytes: Option<Vec<u8>>,
    },
    /// Any other kind, by its tag.
    Other(String),
}

/// Path of the runner: `PTE_EMIT_CONFORMANCE_RUNNER`, by default the one that `fetch.sh` builds.
///
/// # Panics
/// If there is none; the messages of `fetch.sh` go to stderr.
pub fn locate() -> PathBuf {
    if let Some(path) = std::env::var_os("PTE_EMIT_CONFORMANCE_RUNNER") {
        return path.into();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().expect("tests/conformance/fetch.sh starts");
    assert!(output.status.success(), "tests/conformance/fetch.sh failed; see its messages above");
    let text = String::from_utf8(output.stdout).expect("a path in UTF-8");
    PathBuf::from(text.lines().last().expect("tests/conformance/fetch.sh prints the runner's path"))
}

/// Result of a run of the runner.
pub struct Ended {
    /// Exit status.
    pub status: ExitStatus,
    /// Answers.
    pub answers: Vec<String>,
    /// ExecuTorch's log.
    log: String,
}

/// Starts the runner and waits for its end.
///
/// # Errors
/// A runner that does not start.
pub fn start(runner: &Path, pte: &Path, ptds: &[PathBuf], mode: Mode, script: &str) -> Result<Ended, String> {
    // Through files: a runner that stops reading its input or has a long log cannot cause a deadlock.
    let mut input = tempfile::tempfile().map_err(|error| error.to_string())?;
    input.write_all(script.as_bytes()).and_then(|()| input.rewind()).map_err(|error| error.to_string())?;
    let mut command = Command::new(runner);
    command.arg(pte).args(["--verify", mode.verify, "--loader", mode.loader]);
    for ptd in ptds {
        command.arg("--data").arg(ptd);
    }
    let output = command.stdin(Stdio::from(input)).output().map_err(|error| {
        // The usual cause is a wrong PTE_EMIT_CONFORMANCE_RUNNER.
        format!("{} does not start: {error}", runner.display())
    })?;
    let answers = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Ended { status: output.status, answers, log })
}

/// Runs a script and returns the answers: one for the start and one for each line of the script; `outputs` has more lines if it succeeds.
///
/// # Errors
/// A runner that does not start or ends with an error.
pub fn run(runner: &Path, pte: &Path, ptds: &[PathBuf], mode: Mode, script: &str) -> Result<Vec<String>, String> {
    let Ended { status, answers, log } = start(runner, pte, ptds, mode, script)?;
    if status.success() {
        return Ok(answers);
    }
    let last = answers.last().map_or("nothing", String::as_str);
    let log: Vec<&str> = log.lines().rev().take(3).collect();
    let log: String = log.iter().rev().fold(String::new(), |text, line| text + "\n    " + line);
    Err(format!("the runner ended with {status} after `{last}`; its log ends with:{log}"))
}

/// A method's name as one word.
pub fn quote(name: &str) -> String {
    let mut word = String::new();
    for byte in name.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => word.push(char::from(byte)),
            _ => write!(word, "%{byte:02x}").expect("a string is writable"),
        }
    }
    if word.is_empty() { "%".into() } else { word }
}

/// Formats a value for a script.
///
/// # Errors
/// Data that cannot be read.
pub fn spell(value: &TestData) -> std::io::Result<String> {
    Ok(match value {
        TestData::Null => "none".into(),
        TestData::Int(n) => format!("int {n}"),
        TestData::Double(x) => format!("double {:016x}", x.to_bits()),
        TestData::Bool(b) => format!("bool {}", u8::from(*b)),
        TestData::String(text) => format!("string {}", hex(text.as_bytes())),
        TestData::Tensor { scalar_type, sizes, dim_order, data } => {
            let data = hex(&data.to_vec()?);
            format!("tensor {} {} {} {data}", scalar_type.0, commas(sizes), commas(dim_order))
        }
    })
}

/// Parses the value of an answer, without the leading `output I`. `None` if it is malformed.
pub fn read(words: &str) -> Option<Value> {
    let words: Vec<&str> = words.split(' ').collect();
    Some(match words[..] {
        ["none"] => Value::Null,
        ["int", n] => Value::Int(n.parse().ok()?),
        ["double", bits] => Value::Double(f64::from_bits(u64::from_str_radix(bits, 16).ok()?)),
        ["bool", b] => Value::Bool(b.parse::<u8>().ok()? != 0),
        ["string", bytes] => Value::String(unhex(bytes)?),
        ["tensor", code, sizes, dim_order, bytes] => Value::Tensor {
            scalar_type: ScalarType(code.parse().ok()?),
            sizes: list(sizes)?,
            dim_order: list(dim_order)?,
            bytes: if bytes == "null" { None } else { Some(unhex(bytes)?) },
        },
        ["other", tag] => Value::Other(tag.to_owned()),
        _ => return None,
    })
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".into() } else { data_encoding::HEXLOWER.encode(bytes) }
}

fn unhex(word: &str) -> Option<Vec<u8>> {
    if word == "-" { Some(Vec::new()) } else { data_encoding::HEXLOWER.decode(word.as_bytes()).ok() }
}

fn commas<T: ToString>(items: &[T]) -> String {
    if items.is_empty() { "-".into() } else { items.iter().map(T::to_string).collect::<Vec<_>>().join(",") }
}

fn list<T: std::str::FromStr>(word: &str) -> Option<Vec<T>> {
    if word == "-" { Some(Vec::new()) } else { word.split(',').map(|item| item.parse().ok()).collect() }
}
