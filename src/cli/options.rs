//! Options of several commands, which have one meaning: `--format`, `--json`, `--limit`, `--force`, `--abi`,
//! `--processor`, `--timeout`. Those about sources are in `sources`.

use std::time::Duration;

use clap::builder::{EnumValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use pte_emit::memory::{Abi, MemoryOptions, Processor};

use super::exit::Failure;

/// Output format of a command. `F` has the values of the command: `text`, `json`, and others.
#[derive(Debug, Args)]
pub struct FormatArguments<F: ValueEnum + Send + Sync + 'static> {
    /// Form of what is printed [default: text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<F>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl<F: ValueEnum + Send + Sync + 'static> FormatArguments<F> {
    /// Returns the requested form; text by default.
    pub fn format(&self) -> F {
        self.requested().unwrap_or_else(|| named("text").expect("every command prints text"))
    }

    /// Returns the form of the options; `None` without one.
    pub fn requested(&self) -> Option<F> {
        self.json.then(|| named("json")).flatten().or_else(|| self.format.clone())
    }
}

/// Returns the form with a name.
fn named<F: ValueEnum>(name: &str) -> Option<F> {
    let is_named = |format: &&F| format.to_possible_value().is_some_and(|value| value.get_name() == name);
    F::value_variants().iter().find(is_named).cloned()
}

/// Values of `--format` of commands whose results are text or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextOrJson {
    /// Lines for a terminal
    Text,
    /// JSON
    Json,
}

impl FormatArguments<TextOrJson> {
    /// Returns true if JSON is requested.
    pub fn is_json(&self) -> bool {
        self.format() == TextOrJson::Json
    }
}

/// Existing files in the place of outputs.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct ForceArguments {
    /// Replace existing files that would be lost, too: text that this command has not generated
    #[arg(long)]
    pub force: bool,
}

/// Rows of a list that are printed.
#[derive(Debug, Args)]
pub struct LimitArguments {
    /// Rows of each list, 0 for all [default: 10; all in JSON and CSV]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

/// Rows of each list in text, by default.
const ROWS: usize = 10;

impl LimitArguments {
    /// Returns the number of rows in text.
    pub fn rows(&self) -> usize {
        self.requested(ROWS)
    }

    /// Returns the number of rows in a form that has all by default.
    pub fn rows_of_data(&self) -> usize {
        self.requested(0)
    }

    fn requested(&self, default: usize) -> usize {
        match self.limit.unwrap_or(default) {
            0 => usize::MAX,
            limit => limit,
        }
    }
}

/// Runtime that figures of memory are for.
#[derive(Debug, Args)]
pub struct RuntimeArguments {
    /// Build of the runtime, for its allocators
    #[arg(long, value_name = "ABI", default_value = "64", value_parser = abi())]
    abi: Abi,
    /// Processor that executes delegates, which decides how they pack weights; by default x86-avx512, and arm32 with
    /// --abi arm32
    #[arg(long, value_enum, value_name = "PROCESSOR")]
    processor: Option<ProcessorName>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AbiName {
    /// 64-bit x86 and Arm
    #[value(name = "64")]
    Bits64,
    /// 32-bit Arm
    Arm32,
    /// A name of others
    #[value(hide = true, name = "arm64", aliases = ["aarch64", "x86", "x86-64", "x86_64", "amd64", "arm", "armv7"])]
    Other,
}

/// Returns the parser of the value of `--abi`.
fn abi() -> impl TypedValueParser<Value = Abi> {
    EnumValueParser::<AbiName>::new().try_map(|name| match name {
        AbiName::Bits64 => Ok(Abi::Bits64),
        AbiName::Arm32 => Ok(Abi::Arm32),
        AbiName::Other => {
            Err("expected `64` for 64-bit x86 and Arm, with `--processor arm64` for delegates, or `arm32`")
        }
    })
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProcessorName {
    /// 64-bit x86 with AVX-512 and VNNI
    X86Avx512,
    /// 64-bit x86 with AVX2
    X86Avx2,
    /// 64-bit Arm with dot product instructions
    Arm64,
    /// 32-bit Arm with NEON
    Arm32,
}

impl RuntimeArguments {
    /// Returns the options of the memory that the runtime needs.
    pub fn options(&self) -> MemoryOptions {
        let processor = self.processor.map(|name| match name {
            ProcessorName::X86Avx512 => Processor::X86Avx512,
            ProcessorName::X86Avx2 => Processor::X86Avx2,
            ProcessorName::Arm64 => Processor::Arm64,
            ProcessorName::Arm32 => Processor::Arm32,
        });
        MemoryOptions::default().abi(self.abi).processor(processor)
    }
}

/// Parses a time limit.
///
/// # Errors
/// A message with the expected form.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|limit| !limit.is_zero()).ok_or_else(|| "expected a number of seconds, such as 10 or 0.5".into())
}

/// Returns the method of a command that changes or calls one.
///
/// # Errors
/// Several methods.
pub fn one_method(methods: &[String]) -> Result<Option<String>, Failure> {
    match methods {
        [] => Ok(None),
        [method] => Ok(Some(method.clone())),
        [_, _, ..] => Err(Failure::usage("`--method` can be given once: this command is about one method")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_are_positive_numbers() {
        assert!(seconds("0").is_err() && seconds("nan").is_err() && seconds("1e400").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
    }
}
