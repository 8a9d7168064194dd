//! Replacing payloads of delegates: by bytes, by a graph in YAML, or with other weights. The work is done in
//! [`pte_transform::payloads`] and [`pte_transform::weights::payload`].

use std::collections::HashSet;
use std::path::Path;

use super::weights::{Like, SetWeightsOptions, keys_of, read_source};
use crate::facade::model::{Model, data_entries};
use crate::pipeline::Resolved;
use crate::printer;
use pte_model::data::{Blob, Origin};
use pte_model::diagnostics::{Code, Report, clipped, first_names};
use pte_model::error::Error;
use pte_model::program::{DelegateLocation, TensorLayout};
use pte_transform::payloads::{self, NewPayload, PayloadChange};
use pte_transform::weights::delegate_name;
use pte_transform::weights::payload as payload_weights;
use pte_transform::weights::set::{SetRequest, WeightChanges};
use pte_xnnpack::decode;
use pte_xnnpack::payload::XnnpackPayload;

/// Content of a payload that replaces another, for [`Resolved::replace_payload`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PayloadContent {
    /// Bytes. The keys that they refer to must exist.
    Bytes(Blob),
    /// Bytes with the named data that they refer to.
    WithData(NewPayload),
}

impl PayloadContent {
    /// Returns the bytes of a file, which are read when the program is written.
    ///
    /// ```
    /// use pte_emit::payload::PayloadContent;
    ///
    /// assert!(matches!(PayloadContent::of_file("examples/data/linear.xnnpack".as_ref())?, PayloadContent::Bytes(_)));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, or is not a regular file.
    pub fn of_file(path: &Path) -> Result<PayloadContent, Error> {
        let origin = Origin::File(path.into());
        let len = origin.len().map_err(|error| Error::io(&path.display().to_string(), "", &error))?;
        Ok(PayloadContent::Bytes(origin.blob(0, len, len).unwrap_or_else(|| Blob::bytes([]))))
    }

    /// Returns the content of a YAML model with the key `graph`: an XNNPACK graph, whose constants become named data.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::payload::{NewPayload, PayloadContent};
    ///
    /// let values = "{x: {datatype: fp32, sizes: [2]}, y: {}}";
    /// let nodes = "[{abs: {input: x, output: y}}]";
    /// let graph = format!("graph:\n  values: {values}\n  inputs: [x]\n  outputs: [y]\n  nodes: {nodes}\n");
    /// let content = PayloadContent::of_graph(&Model::from_yaml("graph.yaml", graph, "."))?;
    /// let PayloadContent::WithData(NewPayload { named_data, .. }) = content else { panic!("a graph has its data") };
    /// assert!(named_data.is_empty());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The YAML is invalid, or the data of a constant cannot be read.
    pub fn of_graph(model: &Model) -> Result<PayloadContent, Error> {
        let text = model.text().unwrap_or_default();
        let first = text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', '%']));
        if first.is_none_or(|line| !line.starts_with("graph:")) {
            let found = first.map_or("nothing".to_owned(), |line| format!("`{}`", clipped(line)));
            let message = format!("expected an XNNPACK graph under the key `graph:`, found {found}");
            return Err(Error::input(Code::UnexpectedInput, model.name(), message));
        }
        let mut wrapped = String::from(WRAPPER);
        for line in text.split_inclusive('\n') {
            wrapped.push_str(INDENT);
            wrapped.push_str(line);
        }
        let whole = model.with_text(&wrapped);
        let resolved = whole.resolve().map_err(|error| unwrapped(model, text, &error))?;
        let delegate = resolved.program.plans().first().and_then(|plan| plan.delegates().first());
        let unreadable = |message: String| Error::input(Code::InvalidGraph, model.name(), message);
        let delegate = delegate.ok_or_else(|| unreadable("expected one graph".to_owned()))?;
        let graph = decode::decode(resolved.program.blob(delegate.processed)).map_err(unreadable)?;
        let new = payloads::with_named_constants(graph).map_err(|error| Error::io(model.name(), "", &error))?;
        Ok(PayloadContent::WithData(new))
    }
}

/// Text before a graph that makes it a program.
const WRAPPER: &str = "methods:\n  graph:\n    delegates:\n      graph:\n        backend: XnnpackBackend\n";

/// Indentation of the graph in the program.
const INDENT: &str = "        ";

/// Returns an error with positions in the text of the graph.
fn unwrapped(model: &Model, text: &str, error: &Error) -> Error {
    // Offset of each line in both texts.
    let mut lines: Vec<(usize, usize)> = Vec::new();
    let (mut outer, mut inner) = (WRAPPER.len(), 0);
    for line in text.split_inclusive('\n') {
        lines.push((outer, inner));
        outer += INDENT.len() + line.len();
        inner += line.len();
    }
    let at = |outer: usize| {
        let line = lines.partition_point(|(start, _)| *start <= outer).checked_sub(1)?;
        let (start, inner) = lines[line];
        Some((inner + (outer - start).saturating_sub(INDENT.len())).min(text.len()))
    };
    let messages = error
        .diagnostics()
        .iter()
        .map(|diagnostic| diagnostic.clone().map(|span| Some(at(span.start)?..at(span.end)?)));
    Error::new(Report::new(model.name(), text, messages.collect()))
}

impl Resolved {
    /// Returns the location of a delegate by its name: `METHOD/DELEGATE`, as
    /// [`Model::payloads`](crate::Model::payloads) lists them, or `METHOD/INDEX`; the only one if `name` is `None`.
    ///
    /// # Errors
    /// An unknown name, or several delegates without one. The message lists the names.
    pub fn find_delegate(&self, name: Option<&str>) -> Result<DelegateLocation, Error> {
        let mut names = Vec::new();
        for (method, plan) in self.program.plans().iter().enumerate() {
            let method_name = plan.name.as_deref().unwrap_or_default();
            for index in 0..plan.delegates().len() {
                let stated = self.delegate_name(method, index).map(|name| format!("{method_name}/{name}"));
                let shown = stated.unwrap_or_else(|| delegate_name(&self.program, method, index));
                names.push((DelegateLocation { method, delegate: index }, shown, format!("{method_name}/{index}")));
            }
        }
        let known = || match names.is_empty() {
            true => "there are no delegates".to_owned(),
            false => format!("there are {}", first_names(names.iter().map(|(_, name, _)| name.as_str()))),
        };
        let found = match (name, &names[..]) {
            (None, [(at, ..)]) => Some(*at),
            (None, _) => None,
            (Some(name), _) => {
                let by_name = names.iter().find(|(_, shown, _)| shown == name);
                by_name.or_else(|| names.iter().find(|(.., index)| index == name)).map(|(at, ..)| *at)
            }
        };
        found.ok_or_else(|| {
            let message = match name {
                Some(name) => format!("unknown payload `{}`; {}", clipped(name), known()),
                None => format!("expected METHOD/DELEGATE: {}", known()),
            };
            Error::input(Code::UnknownName, &self.label(), message)
        })
    }

    /// Replaces the payload of a delegate, which [`Resolved::find_delegate`] finds. Named data that no delegate refers
    /// to any more are removed, unless the payload of another backend may refer to them. The keys of
    /// [`Model::with_data_files`](crate::Model::with_data_files) exist, too.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Blob, Model};
    /// use pte_emit::check::CheckOptions;
    /// use pte_emit::payload::{PayloadChange, PayloadContent};
    /// use pte_emit::program::DelegateLocation;
    ///
    /// let mut resolved = Model::open("examples/xnnpack_linear.yaml")?.resolve()?;
    /// let at = resolved.find_delegate(None)?;
    /// let content = PayloadContent::Bytes(Blob::bytes(*b"other"));
    /// let change: PayloadChange = resolved.replace_payload(at, content)?;
    /// assert_eq!((change.bytes, change.removed.len()), (5, 0));
    /// let missing = DelegateLocation { delegate: 1, ..at };
    /// assert!(resolved.replace_payload(missing, PayloadContent::Bytes(Blob::bytes([]))).is_err());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The program has no such delegate. The payload refers to keys that do not exist, or a key is in use for other
    /// data (all are reported). A file cannot be read.
    pub fn replace_payload(
        &mut self,
        delegate: DelegateLocation,
        content: PayloadContent,
    ) -> Result<PayloadChange, Error> {
        let mut given: HashSet<String> = keys_of(&self.program);
        for path in &self.source.data_files {
            given.extend(data_entries(path)?.into_iter().map(|entry| entry.key));
        }
        let new = match content {
            PayloadContent::Bytes(data) => NewPayload { data, named_data: Vec::new() },
            PayloadContent::WithData(new) => new,
        };
        let done = payloads::replace(&mut self.program, delegate, new, &given);
        done.map_err(|problems| {
            let messages = problems.into_iter().map(|problem| Code::UnmetRequest.whole(problem)).collect();
            Error::new(Report::new(&self.label(), "", messages))
        })
    }

    /// Sets constants of an XNNPACK delegate by name: float32 and float16. A constant has the name of its key in the
    /// named data, or that of the value in the graph. Returns what fits, and the new content;
    /// [`WeightChanges::problems`] has the reasons why it must not be used.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::weights::SetWeightsOptions;
    ///
    /// let resolved = Model::open("examples/xnnpack_linear.yaml")?.resolve()?;
    /// let options = SetWeightsOptions::default()
    ///     .map(["filter1=weight", "bias2=bias"].iter().map(|rule| rule.parse().unwrap()).collect());
    /// let source = "examples/data/linear.safetensors".as_ref();
    /// let (changes, _content) = resolved.payload_weights(resolved.find_delegate(None)?, source, &options)?;
    /// assert_eq!((changes.set.len(), changes.problems(false).len()), (2, 0));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The program has no such delegate, its payload is not of XNNPACK, or a file cannot be read or is malformed.
    pub fn payload_weights(
        &self,
        delegate: DelegateLocation,
        from: &Path,
        options: &SetWeightsOptions,
    ) -> Result<(WeightChanges, PayloadContent), Error> {
        let unmet = |message: String| Error::input(Code::UnmetRequest, &self.label(), message);
        let name = delegate_name(&self.program, delegate.method, delegate.delegate);
        let delegate = self.program.delegate(delegate).ok_or_else(|| unmet(format!("unknown payload `{name}`")))?;
        let backend = delegate.id.as_deref().unwrap_or_default();
        if backend != pte_xnnpack::BACKEND {
            let backend = clipped(backend);
            let message = format!("the layout of weights is known for XnnpackBackend only: `{name}` is of {backend}");
            return Err(unmet(message));
        }
        let payload = XnnpackPayload::new(self.program.blob(delegate.processed).clone());
        let graph = payload.graph().map_err(|error| unmet(format!("the payload `{name}` is malformed: {error}")))?;
        let (sources, like) = (read_source(from)?, Like::read(options)?);
        let names = printer::payload::value_names(&payload);
        let found = |layout: &TensorLayout, data: &Blob| like.find(layout, data);
        let request = SetRequest { map: &options.map, found: &found };
        let done = payload_weights::set(&self.program, graph, &names, sources, &request);
        let (changes, new) = done.map_err(|error| Error::io(&self.label(), "", &error))?;
        Ok((changes, PayloadContent::WithData(new)))
    }
}

impl Model {
    /// Returns YAML of the same name and folder with another text.
    fn with_text(&self, text: &str) -> Model {
        let model = Model::from_yaml(self.name(), text, self.folder());
        match &self.source().files.confined_to {
            Some(folder) => model.confined_to(folder.clone()),
            None => model,
        }
    }
}
