//! ParsedGraph -> payload of an XNNPACK delegate: names become ids, data become constants, and sizes that are left out
//! are inferred.
//!
//! Ids, offsets and indices follow from the rules of [`pte_xnnpack::draft`]. `check` determines whether
//! the runtime accepts the graph.

use std::collections::{HashMap, HashSet};

use crate::assembly::origins::GraphOrigins;
use crate::ir::NodeDiagnostic;
use crate::ir::data::{DataRequest, Finder};
use crate::ir::document::{
    At, ParsedConstant, ParsedConstantSource, ParsedField, ParsedGraph, ParsedGraphValue, ParsedNode,
    ParsedQuantization, ParsedScales, Word,
};
use pte_model::data::Blob;
use pte_model::diagnostics::{Code, clipped, counted};
use pte_model::format::Field;
use pte_xnnpack::BACKEND;
use pte_xnnpack::arguments::{self, GraphArgument};
use pte_xnnpack::draft::{
    ConstantSource, Draft, DraftConstant, DraftField, DraftNode, DraftQuantization, DraftValue, default_field,
    is_operand, nbytes, scale_size,
};
use pte_xnnpack::draft_sizes;
use pte_xnnpack::inferred;
use pte_xnnpack::model::{Container, ExtraContent, FieldContent};
use pte_xnnpack::parameters;
use pte_xnnpack::schema::{
    Datatype, IDENTIFIERS, MAX_RANK, OPTIONAL_OPERAND, QCINT32, QINT32, QuantParams, Quantization, field_key,
};
use pte_xnnpack::sizes::SizeError;
use pte_yaml::tree::NodeId;

/// Returns the payload of a graph, its nodes in the source, and its arguments; `None` with errors in
/// [`Finder::diagnostics`].
pub(super) fn payload<'d, 'a>(
    graph: &'d ParsedGraph<'a>,
    backend: &Word<'a>,
    finder: &mut Finder<'d, 'a>,
) -> Option<(Blob, GraphOrigins, Vec<GraphArgument>)> {
    if backend.value != BACKEND {
        let name = clipped(&backend.value);
        let wrong = Code::UnknownName.error(backend.id, format!("the backend `{name}` has no graphs"));
        let wrong = wrong.label(format!("expected the backend {BACKEND}, or `data`"));
        let is_alike = backend.value.to_ascii_lowercase().contains("xnn");
        let help = is_alike.then(|| format!("did you mean `{BACKEND}`?"));
        finder.diagnostics.push(NodeDiagnostic { help, ..wrong });
        return None;
    }
    let before = finder.diagnostics.errors();
    let mut resolver = GraphResolver { graph, finder, names: HashMap::new(), values: Vec::new(), scales: MAX_SCALES };
    let draft = resolver.draft();
    let complete = draft.complete();
    let named = resolver.values.iter().zip(&complete.values);
    let values = named.map(|(open, value)| (open.id, open.name.to_owned(), value.id)).collect();
    let origins = GraphOrigins { values, nodes: graph.nodes.iter().map(|node| node.id).collect() };
    let encoded = draft.encode();
    if finder.diagnostics.errors() > before {
        return None;
    }
    let encoded = encoded.map(|blob| (Blob { copy: graph.copy, ..blob }, origins, arguments::of(&complete)));
    encoded.map_err(|error| finder.diagnostics.push(Code::InvalidGraph.error(graph.id, error.to_string()))).ok()
}

/// Highest slot of a table, because the size of its vtable has 16 bits.
const MAX_SLOT: u16 = 32764;

/// Maximum number of scales of biases that are inferred: many biases may have the same filter of many channels.
const MAX_SCALES: usize = 1 << 24;

/// A value while the nodes are resolved.
struct OpenValue<'d> {
    name: &'d str,
    draft: DraftValue,
    /// Place of the name.
    id: NodeId,
    /// False for an output of a node that is not under `values`.
    is_declared: bool,
    /// False until an element type is declared or inferred.
    has_type: bool,
    /// Sizes, once they are known.
    sizes: Option<Vec<u64>>,
    /// An error about the value, or about the node that writes it, was reported.
    reported: bool,
    /// A value of unknown type or sizes on which its own depend: the node that writes it reads that value.
    after: Option<usize>,
}

struct GraphResolver<'d, 'a, 'f> {
    graph: &'d ParsedGraph<'a>,
    finder: &'f mut Finder<'d, 'a>,
    /// Positions of values by name.
    names: HashMap<&'d str, usize>,
    values: Vec<OpenValue<'d>>,
    /// Number of scales that may still be inferred.
    scales: usize,
}

impl<'d, 'a> GraphResolver<'d, 'a, '_> {
    fn error(&mut self, code: Code, at: NodeId, message: impl Into<String>, label: impl Into<String>) {
        self.finder.diagnostics.push(code.error(at, message).label(label));
    }

    fn draft(&mut self) -> Draft {
        let graph = self.graph;
        let before = self.finder.diagnostics.errors();
        for value in &graph.values {
            self.names.insert(&value.name.value, self.values.len());
            let open = self.value(value);
            self.values.push(open);
        }
        for node in &graph.nodes {
            self.declare_outputs(node);
        }
        let (inputs, outputs) = (self.arguments(&graph.inputs), self.arguments(&graph.outputs));
        let nodes = graph.nodes.iter().map(|node| self.node(node)).collect();
        // A value that depends on another one is not reported together with it, unless both depend on each other.
        (0..self.values.len()).for_each(|position| self.finish(position, false));
        if self.finder.diagnostics.errors() == before {
            (0..self.values.len()).for_each(|position| self.finish(position, true));
        }
        let bare = graph.header == Some(false);
        Draft {
            identifier: graph.identifier.map_or(Draft::new().identifier, |index| IDENTIFIERS[index]),
            container: if bare { Container::Bare } else { Container::Header },
            has_named_keys: graph.named_keys.unwrap_or(true),
            version: graph.version.as_ref().map(|version| version.value.clone().into_owned()),
            values: self.values.iter().map(|value| value.draft.clone()).collect(),
            inputs,
            outputs,
            nodes,
            num_externs: graph.num_externs,
            input_ids: graph.input_ids.clone(),
            output_ids: graph.output_ids.clone(),
            mem_buffer_sizes: graph.mem_buffer_sizes.clone(),
        }
    }

    /// Declares the outputs of a node that are not under `values`.
    fn declare_outputs(&mut self, node: &'d ParsedNode<'a>) {
        for operand in node.operation.operands().filter(|operand| operand.is_output) {
            let given = node.fields.iter().find(|(slot, _)| *slot == usize::from(operand.slot));
            if let Some((_, At { id, value: ParsedField::Value(name) })) = given
                && !self.names.contains_key(&**name)
            {
                self.names.insert(name, self.values.len());
                let draft = DraftValue::new(0, Vec::new());
                self.values.push(OpenValue {
                    name,
                    draft,
                    id: *id,
                    is_declared: false,
                    has_type: false,
                    sizes: None,
                    reported: false,
                    after: None,
                });
            }
        }
    }

    fn value(&mut self, value: &'d ParsedGraphValue<'a>) -> OpenValue<'d> {
        let mut draft = DraftValue {
            num_dims: value.num_dims,
            id: value.value_id,
            external_id: value.external_id,
            flags: value.flags,
            dq_datatype: value.dq_datatype.unwrap_or(0),
            ..DraftValue::new(value.datatype.unwrap_or(0), Vec::new())
        };
        let datatype = value.datatype.and_then(Datatype::of);
        let at = value.name.id;
        let mut reported = false;
        if let Some(sizes) = &value.sizes {
            draft.dims = sizes.value.iter().copied().collect();
            if sizes.value.len() > MAX_RANK {
                let message = format!("{} exceed the maximum of XNNPACK", counted(sizes.value.len(), "dimension"));
                self.error(Code::InvalidSizes, sizes.id, message, format!("expected {MAX_RANK} at most"));
                reported = true;
            }
        }
        let mut sizes = value.sizes.as_ref().map(|sizes| sizes.value.clone());
        if let (Some(constant), Some(datatype)) = (&value.constant, datatype) {
            match self.constant(constant, datatype, value.sizes.as_ref()) {
                Some((constant, found)) => {
                    draft.constant = Some(constant);
                    sizes = sizes.or(found);
                }
                None => reported = true,
            }
        }
        draft.dims = sizes.iter().flatten().copied().collect();
        if let Some(quantization) = &value.quantization {
            draft.quantization = self.quantization(&draft, quantization);
            reported |= draft.quantization.is_none();
        }
        let sizes = sizes.map(|sizes| sizes.into_iter().map(u64::from).collect());
        let (name, has_type) = (&*value.name.value, datatype.is_some());
        OpenValue { name, draft, id: at, is_declared: true, has_type, sizes, reported, after: None }
    }

    /// Reports quantization that does not fit the element type, or is missing.
    fn check_quantization(&mut self, position: usize) {
        let OpenValue { name, draft, id, is_declared, .. } = &self.values[position];
        let kind = quantization_of(draft);
        let Some(found) = Datatype::of(draft.datatype) else { return };
        let Some(expected) = found.quantization.filter(|expected| *expected != kind) else { return };
        let (keys, what) = (keys_of(expected), keys_of(kind));
        let message = format!("`{name}` is {} with {what}", found.name);
        let label = match (kind, draft.datatype) {
            (Quantization::None, QINT32 | QCINT32) if draft.constant.is_some() => {
                format!("expected {keys}, or as the bias of an input with `scale` and a filter with listed scales")
            }
            (Quantization::None, _) if !is_declared => format!("expected `{name}` under `values`, with {keys}"),
            _ => format!("expected {keys}"),
        };
        let at = *id;
        self.error(Code::InvalidGraph, at, message, label);
    }

    /// Reports a key in a graph that contains its constants: it has no field for one.
    fn check_key(&mut self, at: NodeId) -> Option<()> {
        if self.graph.header != Some(false) {
            return Some(());
        }
        let message = "`key` in a graph without a header, which has no named data";
        self.error(Code::ConflictingKeys, at, message, "expected `data`, or no `header: false`");
        None
    }

    /// Resolves the content of a value; returns it with the sizes of nested data.
    fn constant(
        &mut self,
        constant: &'d ParsedConstant<'a>,
        datatype: &Datatype,
        sizes: Option<&At<Vec<u32>>>,
    ) -> Option<(DraftConstant, Option<Vec<u32>>)> {
        let data = match &constant.source {
            ParsedConstantSource::Key(key) => {
                self.check_key(key.id)?;
                let source = ConstantSource::Key(key.value.clone().into_owned());
                return Some((DraftConstant { source, size: constant.size }, None));
            }
            ParsedConstantSource::Data(data) => data,
        };
        // Elements of 4 bits are in bytes of two.
        let packed = datatype.bits == 4;
        let stored = match sizes.map(|sizes| datatype.stored_sizes(&sizes.value).map_err(|size| (sizes.id, size))) {
            Some(Ok(stored)) => Some(stored),
            Some(Err((at, size))) => {
                let message = format!("size {size} of a constant");
                self.error(Code::OutOfRange, at, message, "expected less than 2 Gi elements");
                return None;
            }
            None => None,
        };
        let found = self.finder.find(data, DataRequest::Tensor(datatype.storage, stored.as_deref(), None))?;
        let own = found.sizes.and_then(|sizes| {
            let mut sizes: Vec<u32> = sizes.into_iter().map(|size| u32::try_from(size).ok()).collect::<Option<_>>()?;
            sizes.iter_mut().rev().take(1).filter(|_| packed).for_each(|size| *size = size.saturating_mul(2));
            Some(sizes)
        });
        let Some(dims) = sizes.map(|sizes| &sizes.value).or(own.as_ref()) else {
            let message = "the sizes of the constant are not known";
            self.error(Code::UndeterminedTensor, data.id, message, "add `sizes` to the value");
            return None;
        };
        let wide: Vec<u64> = dims.iter().map(|size| u64::from(*size)).collect();
        let expected = nbytes(&wide, datatype.bits);
        if expected != Some(found.blob.len()) {
            let expected = expected.map_or("more bytes than can be counted".to_owned(), |n| counted(n, "byte"));
            let len = counted(found.blob.len(), "byte");
            let message = format!("the data have {len}, {} {dims:?} has {expected}", datatype.name);
            self.error(Code::DataSize, data.id, message, format!("expected {expected}"));
            return None;
        }
        Some((DraftConstant { source: ConstantSource::Data(found.blob), size: constant.size }, own))
    }

    fn quantization(&mut self, value: &DraftValue, given: &'d At<ParsedQuantization<'a>>) -> Option<DraftQuantization> {
        use FieldContent::{Absent, Float, Floats, Int, UInt, UShorts};
        Some(match &given.value {
            ParsedQuantization::Tensor(scale, zero_point) => {
                DraftQuantization::new(QuantParams::PerTensor, [Float(*scale), Int(*zero_point)])
            }
            ParsedQuantization::Token(dims) => DraftQuantization::new(QuantParams::PerTokenDynamic, [Int(*dims)]),
            ParsedQuantization::Channels { channel_dim, group_size, scales, num_scales, scale_bf16 } => {
                let dim = channel_dim.as_ref();
                let channel_dim = dim.map_or(0, |dim| dim.value);
                let none = || Floats([].into());
                let mut found = match group_size {
                    None => {
                        DraftQuantization::new(QuantParams::PerChannel, [none(), Int(channel_dim), UInt(0), UInt(0)])
                    }
                    Some(size) => {
                        let bf16 = scale_bf16.as_deref().map_or(Absent, |scales| UShorts(scales.into()));
                        let fields = [none(), Int(channel_dim), Int(size.value), bf16, UInt(0), UInt(0)];
                        DraftQuantization::new(QuantParams::PerChannelGroup, fields)
                    }
                };
                found.num_scales = *num_scales;
                let count = DraftValue { quantization: Some(found.clone()), ..value.clone() }.scales();
                if count == 0 && !value.dims.contains(&0) {
                    // Not if it is the number of scales that is wrong.
                    let rank = value.dims.len();
                    let wrong = match (dim, group_size) {
                        (_, Some(size)) => (
                            size.id,
                            format!("group_size {}", size.value),
                            "expected a divisor of the last size".into(),
                        ),
                        (Some(dim), None) => {
                            let message =
                                format!("channel_dim {channel_dim} of a value of {}", counted(rank, "dimension"));
                            (dim.id, message, format!("expected less than {rank}"))
                        }
                        (None, None) => {
                            (given.id, "scales of a value without dimensions".into(), "expected sizes".to_owned())
                        }
                    };
                    if !matches!(scales, ParsedScales::Listed(list) if list.is_empty()) {
                        self.error(Code::InvalidGraph, wrong.0, wrong.1, wrong.2);
                        return None;
                    }
                }
                self.scales(given.id, scales, count, &mut found)?;
                found
            }
        })
    }

    /// Resolves `count` scales.
    fn scales(
        &mut self,
        at: NodeId,
        given: &'d ParsedScales<'a>,
        count: u64,
        found: &mut DraftQuantization,
    ) -> Option<()> {
        let kind = found.kind();
        let constant = match given {
            ParsedScales::Listed(list) if list.len() as u64 == count => {
                found.params.fields[0] = FieldContent::Floats(list.as_slice().into());
                return Some(());
            }
            ParsedScales::Listed(list) => {
                let found = counted(list.len(), "scale");
                let message = format!("{found}, the sizes need {count}");
                self.error(Code::InvalidGraph, at, message, format!("expected {count}"));
                return None;
            }
            ParsedScales::Constant(constant) => constant,
        };
        let source = match &constant.source {
            ParsedConstantSource::Key(key) => {
                self.check_key(key.id)?;
                ConstantSource::Key(key.value.clone().into_owned())
            }
            ParsedConstantSource::Data(data) => {
                let sizes = [i32::try_from(count).unwrap_or(i32::MAX)];
                let scalar_type = kind.scale_type();
                let found = self.finder.find(data, DataRequest::Tensor(scalar_type, Some(&sizes), None))?;
                let expected = count.saturating_mul(scale_size(kind));
                if found.blob.len() != expected {
                    let len = counted(found.blob.len(), "byte");
                    let message =
                        format!("the scales have {len}, {} of {scalar_type} have {expected}", counted(count, "scale"));
                    self.error(Code::DataSize, data.id, message, format!("expected {}", counted(expected, "byte")));
                    return None;
                }
                ConstantSource::Data(found.blob)
            }
        };
        found.scales = Some(DraftConstant { source, size: constant.size });
        Some(())
    }

    /// Positions of inputs or outputs.
    fn arguments(&mut self, words: &'d [Word<'a>]) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut positions = Vec::with_capacity(words.len());
        for word in words {
            let Some(position) = self.find(&word.value, word.id) else { continue };
            if !seen.insert(position) {
                let message = format!("`{}` is listed twice", word.value);
                self.error(Code::DuplicateName, word.id, message, "expected each value once");
            }
            positions.push(position);
        }
        positions
    }

    fn find(&mut self, name: &str, at: NodeId) -> Option<usize> {
        if let Some(position) = self.names.get(name) {
            return Some(*position);
        }
        let unknown = Code::UnknownValue.error(at, format!("unknown value `{name}` in the graph"));
        let unknown = unknown.label("expected a name under `values`, or an output of a node");
        let diagnostic = unknown.suggest_among(self.finder.diagnostics.len(), name, self.names.keys().copied());
        self.finder.diagnostics.push(diagnostic);
        None
    }

    fn node(&mut self, node: &'d ParsedNode<'a>) -> DraftNode {
        let table = node.operation.table();
        let mut fields: Vec<DraftField> = table.fields.iter().map(default_field).collect();
        let mut complete = true;
        for (slot, field) in &node.fields {
            let (slot, at) = (*slot, field.id);
            fields[slot] = match &field.value {
                ParsedField::Value(name) => match self.find(name, at) {
                    Some(position) => DraftField::Value(position),
                    None => {
                        complete = false;
                        continue;
                    }
                },
                ParsedField::NoValue => DraftField::NoValue,
                ParsedField::UInt(number) => number_field(&table.fields[slot], *number),
                ParsedField::Float(number) => DraftField::Parameter(FieldContent::Float(*number)),
                ParsedField::UInts(items) => DraftField::Parameter(FieldContent::UInts(items.as_slice().into())),
            };
        }
        self.complete(node, &mut fields);
        for operand in node.operation.operands() {
            let slot = usize::from(operand.slot);
            if operand.name != OPTIONAL_OPERAND && !node.fields.iter().any(|(given, _)| *given == slot) {
                let key = field_key(table, slot);
                let message = format!("{} needs `{key}`", node.operation.word());
                self.error(Code::MissingKey, node.id, message, format!("`{key}` is missing"));
                complete = false;
            }
        }
        let output_min_max = match (node.output_min, node.output_max) {
            (None, None) => None,
            (min, max) => Some([min.unwrap_or(f32::NEG_INFINITY), max.unwrap_or(f32::INFINITY)]),
        };
        let operation = node.operation;
        let extra = self.extra_fields(node);
        let draft = DraftNode { operation, fields, extra, debug_handle: node.debug_handle, output_min_max };
        let outputs: Vec<usize> = draft.values(true).collect();
        match complete {
            true => self.infer(node, &draft, &outputs),
            false => outputs.iter().for_each(|output| self.values[*output].reported = true),
        }
        draft
    }

    /// Completes the parameters that are left out. One that follows from a filter of unknown sizes stays 0.
    fn complete(&self, node: &ParsedNode<'_>, fields: &mut [DraftField]) {
        let is_given = |slot: usize| node.fields.iter().any(|(given, _)| *given == slot);
        // The number of groups comes after the parameters that follow from it.
        for slot in (0..fields.len()).rev().filter(|slot| !is_given(*slot)) {
            let filter = |position: usize| self.values[position].sizes.as_deref()?.try_into().ok();
            if let Some(field) = parameters::omitted(node.operation, fields, slot, filter) {
                fields[slot] = field;
            }
        }
    }

    /// Resolves the fields that the schema does not have.
    fn extra_fields(&mut self, node: &'d ParsedNode<'a>) -> Vec<ExtraContent> {
        let known = node.operation.table().fields.len();
        let mut found: Vec<ExtraContent> = Vec::with_capacity(node.extra.len());
        for field in &node.extra {
            let Some(bytes) = self.finder.in_memory(&field.bytes, DataRequest::Bytes) else { continue };
            let content = ExtraContent { slot: field.slot, width: field.width, bytes };
            let least = found.last().map_or(known, |last| usize::from(last.slot) + 1);
            if usize::from(field.slot) < least || field.slot > MAX_SLOT {
                let label = format!("expected {least} to {MAX_SLOT}: the slots ascend, after those of the schema");
                self.error(Code::InvalidGraph, field.id, format!("slot {} of a field in `extra`", field.slot), label);
            } else if !content.is_valid() {
                let len = counted(content.bytes.len(), "byte");
                self.error(
                    Code::InvalidGraph,
                    field.id,
                    format!("a field of {len}"),
                    "expected a number of 1, 2, 4 or 8 bytes, or such items",
                );
            } else {
                found.push(content);
            }
        }
        found
    }

    /// Infers element types, quantization and sizes of the outputs of a node, and the quantization of its bias.
    /// Compares stated sizes.
    fn infer(&mut self, node: &'d ParsedNode<'a>, draft: &DraftNode, outputs: &[usize]) {
        self.infer_types(draft);
        let is_open = outputs.iter().any(|output| self.values[*output].sizes.is_none());
        let sized = |position: usize| {
            let OpenValue { sizes, draft, .. } = &self.values[position];
            (sizes.as_deref().map(Into::into), draft.datatype)
        };
        let found = match draft_sizes::outputs(draft, sized) {
            Ok(found) => found,
            Err(SizeError::Unknown(input)) => {
                outputs.iter().for_each(|output| self.values[*output].after = Some(input));
                return;
            }
            Err(SizeError::Wrong(slot, message)) => {
                let given = node.fields.iter().find(|(given, _)| *given == usize::from(slot));
                let at = given.map_or(node.id, |(_, field)| field.id);
                let by_id = matches!(draft.fields.get(usize::from(slot)), Some(DraftField::Id(_)));
                let message = match draft.fields.get(usize::from(slot)) {
                    Some(DraftField::Id(id)) => format!("the sizes of value {id} are not known, since it is an id"),
                    _ => message,
                };
                let mut subject = node.operation.word().to_owned();
                if given.is_none() {
                    subject += &format!(" without `{}`", field_key(node.operation.table(), usize::from(slot)));
                }
                let message = format!("{subject}: {message}");
                // Stated sizes are kept: files that are malformed on purpose have such graphs.
                let diagnostic = match is_open {
                    true if by_id => {
                        let label = "expected the name of a value, or `sizes` of the outputs";
                        Code::InvalidGraph.error(at, message).label(label)
                    }
                    true => Code::InvalidGraph.error(at, message).label("its outputs have no sizes"),
                    false => Code::InvalidGraph.warning(at, message).label("the sizes do not agree"),
                };
                self.finder.diagnostics.push(diagnostic);
                outputs.iter().for_each(|output| self.values[*output].reported = true);
                return;
            }
        };
        for (slot, sizes) in found {
            let Some(output) = draft.position(slot) else { continue };
            match &self.values[output].sizes {
                None if sizes.iter().any(|size| u32::try_from(*size).is_err()) => {
                    // Results that later nodes compute from it are not reported.
                    let message =
                        format!("{} writes `{}` of sizes {sizes:?}", node.operation.word(), self.name(output));
                    self.error(Code::InvalidSizes, self.values[output].id, message, "expected sizes of 32 bits");
                    self.values[output].reported = true;
                }
                None => self.values[output].sizes = Some(sizes.to_vec()),
                Some(stated) if stated[..] == sizes[..] => {}
                Some(stated) => {
                    let message = format!(
                        "`{}` has sizes {stated:?}, {} writes {sizes:?}",
                        self.name(output),
                        node.operation.word()
                    );
                    let warning = Code::Contradiction.warning(self.values[output].id, message);
                    self.finder.diagnostics.push(warning.label(format!("expected {sizes:?}")));
                }
            }
        }
    }

    /// Infers element types and quantization that a node determines.
    fn infer_types(&mut self, draft: &DraftNode) {
        for operand in draft.operation.operands().filter(|operand| operand.is_output) {
            let Some(output) = draft.position(operand.slot) else { continue };
            let (values, own) = (&self.values, self.values[output].draft.quantization.as_ref());
            let known = |position: usize| values[position].has_type.then_some(values[position].draft.datatype);
            let inferred = || inferred::datatype(draft, operand.slot, own, known);
            let first = draft.values(false).next();
            let Some(code) = known(output).or_else(inferred) else {
                self.values[output].after = first.filter(|first| known(*first).is_none());
                continue;
            };
            let moved = inferred::moved(draft, |position| values[position].draft.quantization.as_ref());
            let moved = moved.filter(|_| first.and_then(known) == Some(code));
            let quantization = own.or(moved).cloned();
            let value = &mut self.values[output];
            (value.draft.datatype, value.has_type, value.draft.quantization) = (code, true, quantization);
        }
        let values = &self.values;
        let quantization = |position: usize| values[position].draft.quantization.as_ref();
        let has_room = self.scales > 0;
        let open =
            |position: usize| Some(&values[position].draft).filter(|value| value.quantization.is_none() && has_room);
        let dynamic = inferred::dynamic(draft, |position| &values[position].draft);
        for (operand, found) in [dynamic, inferred::bias(draft, open, quantization)].into_iter().flatten() {
            self.scales = self.scales.saturating_sub(found.params.floats(0).len());
            self.values[operand].draft.quantization.get_or_insert(found);
        }
    }

    fn name(&self, position: usize) -> &'d str {
        self.values[position].name
    }

    /// Sets the inferred sizes of a value, and reports what is not known; with `all`, also what depends on other
    /// values.
    fn finish(&mut self, position: usize, all: bool) {
        let value = &self.values[position];
        let is_open = |value: &OpenValue<'_>| value.sizes.is_none() || !value.has_type;
        let follows = value.after.is_some_and(|input| is_open(&self.values[input])) && !all;
        let (at, reported, has_type) = (value.id, value.reported || follows, value.has_type);
        let sizes = value.sizes.as_ref();
        let sizes: Option<Vec<u32>> =
            sizes.and_then(|sizes| sizes.iter().map(|size| u32::try_from(*size).ok()).collect());
        match sizes {
            Some(sizes) => self.values[position].draft.dims = sizes.into(),
            None if reported => {}
            None => {
                let name = self.name(position);
                match self.values[position].after.map(|input| self.name(input)) {
                    // Both depend on each other, or one on itself.
                    Some(input) => {
                        let message = format!("`{name}` follows from `{input}`, which no earlier node writes");
                        return self.error(
                            Code::InvalidGraph,
                            at,
                            message,
                            "expected the nodes in the order in which they run",
                        );
                    }
                    None => self.undetermined(position, "sizes", "are", "sizes"),
                }
            }
        }
        match (has_type, reported) {
            (_, true) => {}
            (true, false) => self.check_quantization(position),
            (false, false) => self.undetermined(position, "element type", "is", "datatype"),
        }
    }

    /// Reports a property of a value that nothing determines.
    fn undetermined(&mut self, position: usize, what: &str, is: &str, key: &str) {
        let OpenValue { name, id, is_declared, .. } = self.values[position];
        let label = match is_declared {
            true => format!("add `{key}`"),
            false => format!("expected `{name}` under `values`, with `{key}`"),
        };
        self.error(Code::UndeterminedTensor, id, format!("the {what} of `{name}` {is} not known"), label);
    }
}

/// Returns the content of a field that is given as a number.
fn number_field(field: &Field, number: u32) -> DraftField {
    match is_operand(field) {
        true => DraftField::Id(number),
        false => DraftField::Parameter(FieldContent::UInt(number)),
    }
}

/// Returns the quantization of a value.
fn quantization_of(value: &DraftValue) -> Quantization {
    value.quantization.as_ref().map_or(Quantization::None, |given| given.kind().quantization())
}

/// Returns the keys that give a value this quantization.
fn keys_of(quantization: Quantization) -> &'static str {
    match quantization {
        Quantization::None => "no quantization",
        Quantization::Tensor => "`scale` and `zero_point`",
        Quantization::Channel => "`scales` and `channel_dim`",
        Quantization::Token => "`num_nonbatch_dims`",
        Quantization::Group => "`scales` and `group_size`",
    }
}
