//! Methods of [`Model`] that list the payloads of delegates, and descriptions of payloads by the formats of their
//! backends.

use std::collections::HashMap;
use std::io;

use serde::{Serialize, Serializer};

use crate::facade::inspection::program_origin;
use crate::facade::model::Model;
use crate::facade::source::SourceContent;
use crate::ir::yaml;
use crate::printer::payload::FlatText;
use crate::printer::{self, LargeData, PrintOptions};
use pte_model::data::{Blob, BlobId, Origin, dedup};
use pte_model::diagnostics::{Code, counted};
use pte_model::error::Error;
use pte_model::program::Program;
use pte_model::reader;
use pte_payload::compile_specs::Compiled;
use pte_payload::description::{DescribeError, Description, Fact};
use pte_payload::flat;
use pte_payload::format::MAX_NESTED;
use pte_xnnpack::payload::XnnpackPayload;
use pte_xnnpack::payloads::Payloads;

/// Payload of a delegate.
///
/// [`Model::payloads`] has an example.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Payload {
    /// Name of the payload: `METHOD/DELEGATE`.
    #[serde(rename = "payload")]
    pub path: String,
    /// Name of the method.
    pub method: String,
    /// Name of the delegate in the YAML; for a binary file `part0`, `part1` and so on, as [`Model::to_yaml`] names
    /// them.
    pub delegate: String,
    /// Index of the delegate in its method.
    pub index: usize,
    /// Name of the backend.
    pub backend: String,
    /// Name of the format, recognised by the first bytes of the payload or by its backend; `None` if it is unknown.
    pub format: Option<&'static str>,
    /// Number of instructions that call the delegate.
    pub calls: usize,
    /// Name of the first payload with the same data; `None` if that is this one.
    pub same_as: Option<String>,
    /// Bytes of the payload, serialised as their number.
    #[serde(rename = "size", serialize_with = "size")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub data: Blob,
    /// The name of the source.
    #[serde(skip)]
    source: String,
    /// Compile specs.
    #[serde(skip)]
    specs: Vec<(String, Vec<u8>)>,
    /// The source is YAML, whose data are not necessarily in a file.
    #[serde(skip)]
    is_text: bool,
    /// The payload overlaps others that are described.
    #[serde(skip)]
    overlaps: bool,
}

/// A payload with its description, or with the name of one that is the same data: the result of [`Payload::summary`].
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PayloadSummary {
    /// Name of the payload: `METHOD/DELEGATE`.
    pub payload: String,
    /// Name of the backend.
    pub backend: String,
    /// Number of instructions that call the delegate.
    pub calls: usize,
    /// Name of the first payload that is the same data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// What the delegate was compiled for.
    #[serde(flatten)]
    pub compiled: Compiled,
    /// Description; `None` if the payload refers to another one.
    #[serde(flatten)]
    pub description: Option<Description>,
}

fn size<S: Serializer>(data: &Blob, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(data.len())
}

/// Size in bytes up to which the graph of a payload of YAML is printed, with its constants.
const MAX_INLINE: u64 = 1 << 20;

impl Model {
    /// Returns the payloads of the delegates of all methods in order. Only the metadata of a binary file are read.
    ///
    /// ```
    /// use pte_emit::{Model, PrintOptions};
    /// use pte_emit::payload::{Description, Fact, Payload, PayloadSummary};
    ///
    /// let all: Vec<Payload> = Model::open("examples/xnnpack_linear.yaml")?.payloads()?;
    /// let payload = &all[0];
    /// assert_eq!((&*payload.path, payload.format), ("forward/linear", Some("XNNPACK")));
    ///
    /// let description: Description = payload.describe()?;
    /// assert_eq!(description.summary(), "XNNPACK, 2 operations, 1 input, 1 output");
    /// let (_, operations) = description.facts.iter().find(|(name, _)| name == "operations").unwrap();
    /// let one = Fact::Number(1);
    /// assert_eq!(*operations, Fact::Map(vec![("clamp".into(), one.clone()), ("fully_connected".into(), one)]));
    /// assert!(description.all().len() > description.facts.len()); // format and size, too
    /// let json = serde_json::to_string(&description).unwrap();
    /// assert!(json.starts_with("{\"format\":\"XNNPACK\","));
    /// let summary: PayloadSummary = payload.summary(true)?;
    /// let json = serde_json::to_value(summary).unwrap();
    /// assert_eq!((&json["payload"], &json["calls"]), (&"forward/linear".into(), &1.into()));
    ///
    /// let yaml = payload.yaml(true, &PrintOptions::default())?;
    /// assert!(yaml.contains("- {fully_connected: {input: x, filter: filter1, bias: bias2, output: v3}}"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read or is malformed, or the YAML is invalid.
    pub fn payloads(&self) -> Result<Vec<Payload>, Error> {
        let unreadable = |error: io::Error| self.source().unreadable(&error);
        let SourceContent::Binary(origin) = &self.source().content else {
            let assembly = self.assembly()?;
            let names = assembly.origins.delegate_names();
            let name = |method: usize, index: usize| names[method][index].clone();
            // Equal data are one payload in the file, unless the YAML requests copies.
            let same = dedup::find(&assembly.program.blobs).map_err(|(_, error)| unreadable(error))?;
            let same = |blob: BlobId| same[blob.0 as usize];
            return list(&assembly.program, (self, "", 0), &name, &same, u64::MAX).map_err(unreadable);
        };
        let expected = "expected a program (.pte, .bpte), found tensors without methods";
        let program = program_origin(origin).and_then(|program| program.ok_or_else(|| io::Error::other(expected)));
        let program = program.and_then(|program| reader::program::read(&program)).map_err(unreadable)?.program;
        let len = origin.len().map_err(unreadable)?;
        list(&program, (self, "", 0), &part_name, &|blob| blob, len).map_err(unreadable)
    }
}

/// Returns the name of a delegate that has none in its file.
fn part_name(_: usize, index: usize) -> String {
    format!("part{index}")
}

/// Lists the payloads of a program of a model, and of the programs that are payloads of it. `prefix` begins their
/// paths. `name` returns the name of a delegate by the indices of method and delegate, `same` the first blob with the
/// same data. `left` is the upper bound of the total size in bytes of payloads that do not overlap.
///
/// # Errors
/// A payload cannot be read, or is nested deeper than [`MAX_NESTED`].
fn list(
    program: &Program,
    (model, prefix, depth): (&Model, &str, usize),
    name: &dyn Fn(usize, usize) -> String,
    same: &dyn Fn(BlobId) -> BlobId,
    left: u64,
) -> io::Result<Vec<Payload>> {
    let decoded = Payloads::of(program, left);
    let mut payloads: Vec<Payload> = Vec::new();
    let mut first: HashMap<BlobId, String> = HashMap::new();
    for (method, plan) in program.plans().iter().enumerate() {
        for (index, (delegate, calls)) in plan.delegates().iter().zip(pte_memory::delegates::calls(plan)).enumerate() {
            let data = program.blob(delegate.processed);
            let backend = delegate.id.clone().unwrap_or_default();
            let format = pte_xnnpack::FORMATS.format_of(&backend, data)?;
            let overlaps = decoded.get(delegate).is_some_and(|payload| payload.overlaps);
            let is_program = decoded.get(delegate).is_some_and(pte_payload::Payload::has_program);
            let specs = delegate.specs();
            let blob = same(delegate.processed);
            let (method, delegate) = (plan.name.clone().unwrap_or_default(), name(method, index));
            let path = format!("{prefix}{method}/{delegate}");
            let same_as = first.get(&blob).cloned();
            first.entry(blob).or_insert_with(|| path.clone());
            payloads.push(Payload {
                path,
                method,
                delegate,
                index,
                backend,
                format: format.map(|format| format.name()),
                calls,
                same_as,
                specs,
                data: data.clone(),
                source: model.label(),
                is_text: model.is_text(),
                overlaps,
            });
            if let Some(Payload { path, data, same_as: None, overlaps: false, .. }) =
                payloads.last().filter(|_| is_program)
            {
                // A malformed program is one whose description says it.
                let Ok(inner) = reader::program::read(&origin_of(data)?) else { continue };
                if depth == MAX_NESTED {
                    return Err(io::Error::other(format!("{path}: programs are nested deeper than {MAX_NESTED}")));
                }
                let (prefix, len) = (format!("{path}/"), data.len());
                payloads.extend(list(&inner.program, (model, &prefix, depth + 1), &part_name, &|blob| blob, len)?);
            }
        }
    }
    Ok(payloads)
}

/// Returns the bytes of a payload as a file.
fn origin_of(data: &Blob) -> io::Result<Origin> {
    Ok(match data.file_range() {
        Some((path, offset)) => Origin::Part { path: path.into(), offset, len: data.len() },
        None => Origin::Bytes(data.to_vec()?.into()),
    })
}

impl Payload {
    /// Describes the payload by its format: header, counts of operations, inputs and outputs, constants. A malformed
    /// payload, or one of an unknown format, is described by its hash, first bytes and readable strings.
    ///
    /// Reads the metadata in the payload, or all of it for the hash. The sizes of facts, lists and strings are bounded
    /// for any payload.
    ///
    /// # Errors
    /// The data cannot be read. A malformed payload is not an error; the description has the defect.
    pub fn describe(&self) -> Result<Description, Error> {
        self.described(&self.opened())
    }

    fn described(&self, opened: &pte_payload::Payload) -> Result<Description, Error> {
        if self.overlaps {
            // Payloads that share bytes could otherwise be described once per delegate.
            return Ok(Description::unreadable(self.format, self.data.len(), "it overlaps other payloads"));
        }
        opened.describe().map_err(|error| self.error(&error))
    }

    /// Returns the payload, of which nothing is read yet.
    fn opened(&self) -> pte_payload::Payload {
        let is_graph = self.format == Some(pte_xnnpack::NAME);
        let backend = if is_graph { pte_xnnpack::BACKEND } else { &self.backend };
        let formats = pte_xnnpack::FORMATS;
        pte_payload::Payload::new(formats, formats.of_backend(backend), self.data.clone(), self.overlaps)
    }

    /// Returns the payload with its description. If `is_shared` is true, a payload with the same data as an earlier one
    /// has the name of that one in place of a description; set it if all payloads of a program are described.
    ///
    /// # Errors
    /// As [`Payload::describe`].
    pub fn summary(&self, is_shared: bool) -> Result<PayloadSummary, Error> {
        let same_as = self.same_as.clone().filter(|_| is_shared);
        let description = if same_as.is_none() { Some(self.describe()?) } else { None };
        let (payload, backend) = (self.path.clone(), self.backend.clone());
        let compiled = Compiled::new(description.as_ref(), &self.specs, &backend);
        Ok(PayloadSummary { payload, backend, calls: self.calls, same_as, compiled, description })
    }

    /// Returns [`Payload::summary`] as YAML, and the graph of an XNNPACK payload as [`Model::to_yaml`] prints it. If
    /// the source is a binary file, large data are printed as ranges of [`PrintOptions::file`]. For a YAML source, they
    /// are printed in full, without the graphs of payloads larger than 1 MiB.
    ///
    /// # Errors
    /// As [`Payload::describe`].
    pub fn yaml(&self, is_shared: bool, options: &PrintOptions) -> Result<String, Error> {
        let Payload { path, backend, calls, .. } = self;
        let mut out = format!("{}:\n  backend: {}\n  calls: {calls}\n", yaml::text(path), yaml::text(backend));
        match self.same_as.as_ref().filter(|_| is_shared) {
            Some(same) => out += &format!("  same_as: {}\n", yaml::text(same)),
            None => out += &self.contents("  ", options)?,
        }
        Ok(out)
    }

    fn contents(&self, indent: &str, options: &PrintOptions) -> Result<String, Error> {
        let opened = self.opened();
        let description = self.described(&opened)?;
        let mut out = String::new();
        let Compiled { compiled_for, compile_specs, .. } =
            Compiled::new(Some(&description), &self.specs, &self.backend);
        let mut compiled = Vec::new();
        if !compiled_for.is_empty() {
            compiled.push((
                "compiled_for".into(),
                Fact::List(compiled_for.iter().map(|part| Fact::Text(part.to_string())).collect()),
            ));
        }
        if !compile_specs.is_empty() {
            compiled.push(("compile_specs".into(), Fact::Map(compile_specs)));
        }
        printer::payload::facts(&compiled, indent, &mut out);
        printer::payload::facts(&description.all(), indent, &mut out);
        let graph = XnnpackPayload::of(&opened);
        if graph.is_some() && self.is_text && self.data.len() > MAX_INLINE {
            let size = counted(self.data.len(), "byte");
            out += &format!("{indent}# The graph of a payload of {size} is printed for a .pte only.\n");
        } else if let Some(graph) = graph {
            let options = self.print_options(options);
            let printed = printer::payload::graph(graph, &self.delegate, &options, indent, &mut out);
            printed.map_err(|error| self.error(&error))?;
        } else if let Some(format) = opened.flat().filter(|_| !self.overlaps)
            && let Some(text) = FlatText::of(format, &self.data)
        {
            self.flatbuffer(text, options, indent, &mut out)?;
        }
        Ok(out)
    }

    /// Returns the payload as YAML by a schema: a `.bfbs` file, which `flatc --binary --schema` writes. It has the keys
    /// of a delegate, so that a source which has them, beside a copy of the file with this `name`, has the payload.
    ///
    /// ```
    /// use pte_emit::{Model, PrintOptions};
    ///
    /// let data = "{flatbuffer: {schema: npu.bfbs, root: {layers: [{name: a}]}}}";
    /// let yaml = format!("methods: {{f: {{delegates: {{d: {{backend: Npu, data: {data}}}}}}}}}");
    /// let payloads = Model::from_yaml("f.yaml", &yaml, "examples/data").payloads()?;
    /// let schema = std::fs::read("examples/data/npu.bfbs")?;
    /// let yaml = payloads[0].yaml_by_schema("npu.bfbs", &schema, &PrintOptions::default())?;
    /// assert!(yaml.ends_with("    flatbuffer:\n      schema: npu.bfbs\n      root: {layers: [{name: a}]}\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The schema or the payload is malformed, or they do not agree: the message has the path in the schema. Data that
    /// cannot be read.
    pub fn yaml_by_schema(&self, name: &str, schema: &[u8], options: &PrintOptions) -> Result<String, Error> {
        let invalid = |of: &str, message: String| Error::input(Code::InvalidGraph, of, message);
        let schema = flat::bfbs::read(schema).map_err(|message| invalid(name, message))?;
        let content = flat::read_by(&schema, flat::PLAIN, &self.data).map_err(|error| match error {
            DescribeError::Io(error) => self.error(&error),
            DescribeError::Malformed(message) => invalid(&self.source, format!("{}: {message}", self.path)),
        })?;
        let mut out = format!("{}:\n  backend: {}\n", yaml::text(&self.path), yaml::text(&self.backend));
        let text = FlatText::by_schema(name, &schema, flat::PLAIN, content, &self.data);
        self.flatbuffer(text, options, "  ", &mut out)?;
        Ok(out)
    }

    /// Returns the options with data that the source allows: those of YAML are not ranges of a file.
    fn print_options(&self, options: &PrintOptions) -> PrintOptions {
        let large_data = if self.is_text { LargeData::Inline } else { options.large_data.clone() };
        PrintOptions { large_data, ..options.clone() }
    }

    fn flatbuffer(
        &self,
        text: Result<FlatText, String>,
        options: &PrintOptions,
        indent: &str,
        out: &mut String,
    ) -> Result<(), Error> {
        let options = self.print_options(options);
        let printed = printer::payload::flatbuffer(text, self.data.len(), &self.delegate, &options, indent, out);
        printed.map_err(|error| self.error(&error))
    }

    fn error(&self, error: &io::Error) -> Error {
        Error::io(&self.source, "", error)
    }
}
