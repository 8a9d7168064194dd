//! `pte-emit inspect FILE...`: what files contain, on one screen each.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Exit, Failure};
use super::io::{self, Definitions, Messages};
use super::stdout;
use crate::delegate::xnnpack;
use crate::diagnostics::{Code, ROW, clipped, clipped_to, counted, escaped, escaped_json};
use crate::error::Error;
use crate::inspect::file::{FileFacts, Writer};
use crate::inspect::summary::{Contents, Delegate, Method, NamedData};
use crate::inspection::{InspectOptions, Inspection};

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// .pte, .ptd, .bpte and YAML files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Print one JSON document for each file (docs/inspect.md)
    #[arg(long)]
    json: bool,
    /// Compare all data to find those that are stored twice, not only 16 MiB
    #[arg(long)]
    data: bool,
    /// Number of rows of each list, and of methods; 0 for all
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
    /// Define the value of ${NAME} in the inputs
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = io::definition)]
    definitions: Vec<(String, String)>,
}

/// Column of the texts behind the labels.
const LABEL: usize = 22;

/// Runs the command. An input that cannot be read, or is malformed, does not stop the others.
///
/// # Errors
/// Output that cannot be written.
pub fn run(arguments: &InspectArguments, messages: &Messages) -> Result<Exit, Failure> {
    if io::reads_stream_twice(&arguments.inputs) {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let definitions = Definitions::new(&arguments.definitions);
    let mut out = String::new();
    let mut worst = Exit::Ok;
    for input in &arguments.inputs {
        let found = inspect(input, arguments, &definitions, &mut out);
        for error in found.unwrap_or_else(|error| vec![error]) {
            worst = worst.max(Failure::from(error).report(messages));
        }
    }
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| worst)
}

/// Adds what is printed of an input. Returns an error for each file that is malformed.
fn inspect(
    input: &Path,
    arguments: &InspectArguments,
    definitions: &Definitions,
    out: &mut String,
) -> Result<Vec<Error>, Error> {
    let options = InspectOptions { data: arguments.data };
    let mut malformed = Vec::new();
    for source in definitions.documents(io::open_any(input)?)? {
        for (name, inspection) in crate::inspect(&source, &options)? {
            match arguments.json {
                true => *out += &escaped_json(&inspection.json(&name)),
                false => {
                    Screen { out, limit: io::row_limit(arguments.limit) }.file(&name, &inspection);
                }
            }
            if let Some(first) = inspection.errors().first() {
                let more = match inspection.errors().len() {
                    1 => String::new(),
                    count => format!(", and {} more", counted(count - 1, "error")),
                };
                malformed.push(Error::input(Code::InvalidFile, &name, format!("{first}{more}")));
            }
        }
    }
    Ok(malformed)
}

/// Text with labels in a column of their own.
struct Screen<'o> {
    out: &'o mut String,
    limit: usize,
}

impl Screen<'_> {
    fn line(&mut self, indent: usize, label: &str, text: &str) {
        let width = LABEL - indent;
        let _ = writeln!(self.out, "{:indent$}{label:width$}{}", "", clipped_to(text, ROW));
    }

    /// Prints a label and a list, one item for each line.
    fn list(&mut self, indent: usize, label: &str, items: &[String]) {
        for (number, item) in items.iter().take(self.limit).enumerate() {
            self.line(indent, if number == 0 { label } else { "" }, item);
        }
        if let Some(more) = items.len().checked_sub(self.limit).filter(|more| *more > 0) {
            self.line(indent, "", &format!("and {more} more (`--limit 0` for all)"));
        }
    }

    fn file(&mut self, name: &str, inspection: &Inspection) {
        let facts = inspection.facts();
        let _ = writeln!(
            self.out,
            "{}: {}, {}",
            escaped(name),
            match facts.container.extension {
                "ptd" => "weights (.ptd)",
                "bpte" => "program with tests (.bpte)",
                _ => "program (.pte)",
            },
            counted(facts.bytes, "byte")
        );
        self.list(2, "errors", inspection.errors());
        self.facts(facts);
        if let Some(contents) = inspection.contents() {
            self.contents(contents);
        }
        let keys: Vec<String> = inspection
            .keys()
            .iter()
            .map(|entry| {
                let layout = entry.tensor_layout.as_ref();
                let layout = layout.map(|layout| format!("{} {:?}, ", layout.scalar_type, layout.sizes));
                format!("{}: {}{}", entry.key, layout.unwrap_or_default(), counted(entry.data.len(), "byte"))
            })
            .collect();
        self.list(2, "keys", &keys);
        for (method, cases) in inspection.tests() {
            self.line(2, "tests", &format!("{method}: {}", counted(*cases, "case")));
        }
    }

    fn facts(&mut self, facts: &FileFacts) {
        match facts.serializer {
            Some(Writer::ObjectApi) => {
                self.line(2, "serializer", "Python's object API (.pte of ExecuTorch 1.2 or later)");
            }
            Some(Writer::Flatc) => self.line(2, "serializer", "flatc (.ptd, or .pte before ExecuTorch 1.2)"),
            None => {}
        }
        if let Some(header) = &facts.header {
            let fields: Vec<String> = header.fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
            self.line(2, "header", &format!("{}, {} bytes: {}", header.magic, header.length, fields.join(", ")));
        }
        let segments: Vec<String> = facts
            .segments
            .iter()
            .enumerate()
            .map(|(index, segment)| {
                let roles = if segment.roles.is_empty() { "unused".to_owned() } else { segment.roles.join(", ") };
                format!("{index}: {}, {roles}", counted(segment.bytes, "byte"))
            })
            .collect();
        self.list(2, "segments", &segments);
    }

    fn contents(&mut self, contents: &Contents) {
        if let Some((release, feature)) = contents.needs {
            self.line(2, "needs", &format!("ExecuTorch {release} or later, for {feature}"));
        }
        let constants = |row: &crate::inspect::summary::Constants| {
            format!("{}: {} in {}", row.scalar_type, counted(row.bytes, "byte"), counted(row.tensors, "tensor"))
        };
        self.list(2, "constants", &contents.constants.iter().map(constants).collect::<Vec<_>>());
        let mut named: Vec<&NamedData> = contents.named_data.iter().collect();
        named.sort_by_key(|entry| std::cmp::Reverse(entry.bytes));
        let named = named.into_iter().map(|NamedData { key, bytes, user }| match user {
            Some(user) => format!("{user}: {}, `{}`", counted(*bytes, "byte"), clipped(key)),
            None => format!("`{}`: {}", clipped(key), counted(*bytes, "byte")),
        });
        self.list(2, "named data", &named.collect::<Vec<_>>());
        self.list(2, "needs keys", &contents.required_keys);
        if contents.shared > 0 {
            self.line(2, "shared data", &format!("{} saved", counted(contents.shared, "byte")));
        }
        match contents.duplicated {
            Some(0) => {}
            Some(bytes) => self.line(2, "stored twice", &counted(bytes, "byte")),
            None => self.line(2, "stored twice", "not known: `--data` compares all data"),
        }
        for method in contents.methods.iter().take(self.limit) {
            self.method(method);
        }
        if let Some(left) = io::rows_left(contents.methods.len(), self.limit, "more method") {
            let _ = writeln!(self.out, "  {left}");
        }
        let constants: Vec<String> =
            contents.constant_methods.iter().map(|(name, values)| format!("{name} = {}", values.join(", "))).collect();
        self.list(2, "constant methods", &constants);
    }

    fn method(&mut self, method: &Method) {
        let _ = writeln!(
            self.out,
            "  method {}: {}, {}",
            clipped(&method.name),
            counted(method.values, "value"),
            counted(method.instructions, "instruction")
        );
        let values = |list: &[(String, String)]| -> Vec<String> {
            list.iter().map(|(name, kind)| format!("{name}: {kind}")).collect()
        };
        self.list(4, "inputs", &values(&method.inputs));
        self.list(4, "outputs", &values(&method.outputs));
        let state: Vec<String> = method
            .state
            .iter()
            .map(|(name, kind, initial)| {
                let initial = initial.map_or("", |_| ", with initial data");
                format!("{name}: {kind}{initial}")
            })
            .collect();
        self.list(4, "state", &state);
        let calls = |rows: &[(String, usize)]| -> Vec<String> {
            rows.iter().map(|(operator, count)| format!("{count:>5}  {operator}")).collect()
        };
        self.list(4, "operators", &calls(&method.operators));
        self.list(4, "between delegates", &calls(&method.between));
        let mut backends: BTreeMap<&str, (usize, u64, usize)> = BTreeMap::new();
        for delegate in &method.delegates {
            let (count, bytes, calls) = backends.entry(&delegate.backend).or_default();
            (*count, *bytes, *calls) = (*count + 1, bytes.saturating_add(delegate.bytes), *calls + delegate.calls);
        }
        let backends = backends.into_iter().map(|(backend, (count, bytes, calls))| {
            let (count, bytes) = (counted(count, "delegate"), counted(bytes, "byte"));
            // Keys are known of payloads that are decoded: those of XNNPACK.
            let named = match backend == xnnpack::BACKEND && method.named > 0 {
                true => format!(" and {} of named data", counted(method.named, "byte")),
                false => String::new(),
            };
            format!("{backend}: {count}, {bytes} of payload{named}, {}", counted(calls, "call"))
        });
        self.list(4, "backends", &backends.collect::<Vec<_>>());
        self.list(4, "delegates", &method.delegates.iter().map(delegate).collect::<Vec<_>>());
        let (bytes, at_least) = method.allocator;
        let at_least = if at_least { "at least " } else { "" };
        let planned = counted(method.planned, "byte");
        self.line(4, "memory", &format!("{planned} planned, {at_least}{bytes} in the method allocator (64-bit)"));
    }
}

/// Formats a delegate: payload, and what its inputs and outputs are.
fn delegate(delegate: &Delegate) -> String {
    let Delegate { name, backend, bytes, interface, .. } = delegate;
    match interface {
        Some((inputs, outputs)) => {
            format!("{name}: {}, {} -> {}", counted(*bytes, "byte"), inputs.join(", "), outputs.join(", "))
        }
        None => format!("{name}: {}, {backend}", counted(*bytes, "byte")),
    }
}
