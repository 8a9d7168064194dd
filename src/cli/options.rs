//! Options of several commands, which have one meaning: `--format`, `--json`, `--limit`, `--abi`. Those about sources are in `sources`.

use clap::{Args, ValueEnum};
use pte_emit::Abi;

/// Form of what a command prints. `F` has the values of the command: `text`, `json`, and others.
#[derive(Debug, Args)]
pub struct FormatArguments<F: ValueEnum + Send + Sync + 'static> {
    /// Form of what is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: F,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl<F: ValueEnum + Send + Sync + 'static> FormatArguments<F> {
    /// Returns the requested form.
    pub fn format(&self) -> F {
        let json = F::value_variants()
            .iter()
            .find(|format| self.json && format.to_possible_value().is_some_and(|value| value.get_name() == "json"));
        json.unwrap_or(&self.format).clone()
    }
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

/// Build of the runtime that figures of memory are for.
#[derive(Debug, Args)]
pub struct AbiArguments {
    /// Build of the runtime, for its allocators
    #[arg(long, value_enum, value_name = "ABI", default_value = "64")]
    abi: AbiName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AbiName {
    /// 64-bit x86 and Arm
    #[value(name = "64")]
    Bits64,
    /// 32-bit Arm
    Arm32,
}

impl AbiArguments {
    /// Returns the binary interface.
    pub fn abi(&self) -> Abi {
        match self.abi {
            AbiName::Bits64 => Abi::Bits64,
            AbiName::Arm32 => Abi::Arm32,
        }
    }
}
