//! Document -> Program: names become numbers, literals become values, data become blobs, and what an operator's schema
//! implies is filled in. Values are numbered as the exporter numbers them, so that a short text gives its bytes.
//!
//! Knows no byte offsets and reads no weights.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use indexmap::IndexMap;

use super::data::{self, Finder, Want};
use super::document::{
    self, Action, At, Declaration, Declared, Document, ListKind, Literal, Method, NameOrNumber, Place, Word,
};
use super::tests::{self, MethodTests};
use super::tree::NodeId;
use crate::diagnostics::{Diagnostic, clipped, counted};
use crate::layout::{Locus, Options};
use crate::program::{
    BackendDelegate, Chain, CompileSpec, ContainerMetadata, EValue, ExecutionPlan, ExternalData, ExtraTensorInfo,
    Instruction, Memory, MemoryRequest, NamedData, Operator, Program, Tensor, TensorData, TensorLayout, contiguous,
};
use crate::schema::operators::{self, ArgKind, Base, Role, Signature};

/// What a text means.
#[derive(Debug)]
pub struct Resolved<'a> {
    /// The program.
    pub program: Program,
    /// The tests of its methods.
    pub tests: Vec<MethodTests>,
    /// The layout it asks for.
    pub options: Options,
    /// Where its parts stand in the text.
    pub origins: Origins<'a>,
    /// Whether the text has methods; without them it makes a `.ptd`.
    pub has_methods: bool,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Where the parts of a program stand in the text, and what they are called there.
#[derive(Debug, Default)]
pub struct Origins<'a> {
    methods: Vec<MethodOrigins<'a>>,
    named_data: Vec<NodeId>,
    external_data: Vec<NodeId>,
    header: Option<NodeId>,
}

#[derive(Debug, Default)]
struct MethodOrigins<'a> {
    id: NodeId,
    /// Node and, for declared values, name.
    values: Vec<(NodeId, Option<Cow<'a, str>>)>,
    delegates: Vec<NodeId>,
}

impl Origins<'_> {
    /// The node of a part.
    pub fn node(&self, locus: Locus) -> Option<NodeId> {
        let method = |method: usize| self.methods.get(method);
        match locus {
            Locus::Program => None,
            Locus::Header => self.header,
            Locus::Method(m) => Some(method(m)?.id),
            Locus::Value(m, value) => Some(method(m)?.values.get(value)?.0),
            Locus::Delegate(m, delegate) => method(m)?.delegates.get(delegate).copied(),
            Locus::NamedData(number) => self.named_data.get(number).copied(),
            Locus::ExternalData(number) => self.external_data.get(number).copied(),
        }
    }

    /// The name of a value in the text.
    pub fn name(&self, method: usize, value: usize) -> Option<&str> {
        self.methods.get(method)?.values.get(value)?.1.as_deref()
    }
}

/// Resolves a document; files are looked for beside `folder`.
///
/// # Errors
/// Everything that is wrong, with the warnings.
pub fn resolve<'a>(document: &Document<'a>, folder: &Path) -> Result<Resolved<'a>, Vec<Diagnostic>> {
    let mut finder = Finder::new(folder, &document.data);
    let mut program = Program { version: document.version.unwrap_or(0), ..Program::default() };
    let mut origins = Origins { header: document.layout.header_at, ..Origins::default() };
    let mut all_tests = Vec::new();
    let mut diagnostics = Vec::new();
    if let Some(methods) = &document.methods {
        let mut plans = Vec::with_capacity(methods.len());
        for method in methods {
            let mut resolver = MethodResolver::new(method, &mut program, &mut finder);
            let plan = resolver.run();
            diagnostics.append(&mut resolver.diagnostics);
            let origin = resolver.origins;
            all_tests.extend(tests::resolve(method, &plan, &origin.values, &mut finder));
            origins.methods.push(origin);
            plans.push(plan);
        }
        program.execution_plan = Some(plans);
    }
    named_data(document, &mut program, &mut origins, &mut finder);
    if diagnostics.iter().chain(&finder.diagnostics).all(|d| d.severity == crate::diagnostics::Severity::Warning) {
        finder.warn_unused();
    }
    if document.methods.is_none() && program.external_data.is_empty() && finder.diagnostics.is_empty() {
        let at = document.named_data_at.unwrap_or_default();
        diagnostics.push(Diagnostic::error(at, "there is nothing to write").label("expected blobs, or `methods`"));
    }
    diagnostics.append(&mut finder.diagnostics);
    if diagnostics.iter().any(|d| d.severity == crate::diagnostics::Severity::Error) {
        // In the order of the text, whatever stage found them.
        diagnostics.sort_by_key(|d| d.at);
        return Err(diagnostics);
    }
    Ok(Resolved {
        program,
        tests: all_tests,
        options: options(&document.layout),
        origins,
        has_methods: document.methods.is_some(),
        diagnostics,
    })
}

fn options(layout: &document::Layout) -> Options {
    let default = Options::default();
    Options {
        segment_alignment: layout.segment_alignment.unwrap_or(default.segment_alignment),
        tensor_alignment: layout.tensor_alignment.unwrap_or(default.tensor_alignment),
        delegate_alignment: layout.delegate_alignment.unwrap_or(default.delegate_alignment),
        base_alignment: layout.base_alignment.or(default.base_alignment),
        builder: layout.builder.unwrap_or(default.builder),
        ptd_builder: layout.ptd_builder.unwrap_or(default.ptd_builder),
        header: layout.header.unwrap_or(default.header),
        constants: layout.constants.unwrap_or(default.constants),
        delegates: layout.delegates.unwrap_or(default.delegates),
    }
}

/// Keyed blobs: into the program, or into a `.ptd` if they say so or if there is no program.
fn named_data<'d, 'a>(
    document: &'d Document<'a>,
    program: &mut Program,
    origins: &mut Origins<'_>,
    finder: &mut Finder<'d, 'a>,
) {
    let Some(entries) = &document.named_data else { return };
    let data_only = document.methods.is_none();
    let mut inside = Vec::new();
    for entry in entries {
        let order = entry.dim_order.as_ref().map(|order| &*order.value);
        let want = match entry.scalar_type {
            Some(scalar_type) => Want::Tensor(scalar_type, entry.sizes.as_ref().map(|sizes| &*sizes.value), order),
            None => Want::Bytes,
        };
        let Some(found) = finder.find(&entry.data, want) else { continue };
        let mut layout = None;
        if let Some(scalar_type) = entry.scalar_type {
            let stated = entry.sizes.as_ref().map(|sizes| sizes.value.clone());
            let Some(sizes) = stated.or(found.sizes) else {
                finder
                    .diagnostics
                    .push(Diagnostic::error(entry.key.id, "the tensor's sizes are not known").label("add `sizes`"));
                continue;
            };
            let id = entry.sizes.as_ref().map_or(entry.key.id, |sizes| sizes.id);
            let dim_order = order.map_or_else(|| contiguous(sizes.len()), <[u8]>::to_vec);
            let check = data::check_sizes(&At { id, value: sizes.clone() }).and_then(|()| match &entry.dim_order {
                Some(order) => data::check_dim_order(order, sizes.len()),
                None => Ok(()),
            });
            if let Err(diagnostic) = check {
                finder.diagnostics.push(diagnostic);
                continue;
            }
            if crate::program::nbytes(scalar_type, &sizes) != Some(found.blob.len) {
                finder.diagnostics.push(bytes_disagree(entry.data.id, scalar_type, &sizes, found.blob.len));
                continue;
            }
            layout = Some(TensorLayout { scalar_type, sizes, dim_order });
        }
        let alignment = entry.align.unwrap_or(1);
        let data = program.add_blob(found.blob);
        let key = entry.key.value.clone().into_owned();
        if data_only || entry.external.is_some() {
            let tag = entry.external.as_ref().and_then(|tag| tag.value.clone()).map(Cow::into_owned);
            origins.external_data.push(entry.key.id);
            program.external_data.push(ExternalData { key, tag, data, alignment, tensor_layout: layout });
        } else {
            origins.named_data.push(entry.key.id);
            inside.push(NamedData { key, data, alignment });
        }
    }
    // A list that is empty as written is present in the file; one whose entries all went elsewhere is not.
    if !data_only && (entries.is_empty() || !inside.is_empty()) {
        program.named_data = Some(inside);
    }
}

fn bytes_disagree(at: NodeId, scalar_type: crate::schema::ScalarType, sizes: &[i32], found: u64) -> Diagnostic {
    let expected = crate::program::nbytes(scalar_type, sizes)
        .map_or("more bytes than can be counted".into(), |n| format!("{n} bytes"));
    Diagnostic::error(at, format!("the data have {found} bytes, {scalar_type} {sizes:?} has {expected}"))
        .label(format!("expected {expected}"))
}

/// The largest compile spec: it goes into the FlatBuffer, with all the others.
const MAX_COMPILE_SPEC: u64 = 64 << 20;

struct MethodResolver<'d, 'a, 'f> {
    method: &'d Method<'a>,
    program: &'f mut Program,
    finder: &'f mut Finder<'d, 'a>,
    /// Declared values by name.
    names: HashMap<&'d str, usize>,
    delegates: HashMap<&'d str, usize>,
    /// What is known of each declared value.
    declared: Vec<Known>,
    /// Numbers that declared values want.
    wanted: BTreeMap<u32, usize>,
    next: u32,
    /// Values in the order of numbering.
    slots: Vec<(u32, Slot)>,
    /// For declared lists the numbers of those items that are literals.
    item_numbers: HashMap<usize, Vec<Option<i32>>>,
    warned_operators: HashSet<&'d str>,
    /// Name and overload in the order of the file's table.
    operators: IndexMap<(&'d str, &'d str), ()>,
    op_indices: HashMap<&'d str, i32>,
    signatures: HashMap<&'d str, Option<Rc<Signature>>>,
    origins: MethodOrigins<'a>,
    /// A call whose outs are wrong: what nothing writes then may be what it was to write.
    wrong_outs: bool,
    diagnostics: Vec<Diagnostic>,
}

/// What is known of a declared value.
#[derive(Clone, Copy, Default)]
struct Known {
    number: Option<i32>,
    /// It has content from the start, or an instruction has given it some.
    written: bool,
    /// An instruction writes it, and nothing else gives it content.
    produced: bool,
    is_input: bool,
    is_output: bool,
    complained: bool,
}

/// A value with a number.
enum Slot {
    Declared(usize),
    Anonymous(EValue, NodeId),
}

impl<'d, 'a, 'f> MethodResolver<'d, 'a, 'f> {
    fn new(method: &'d Method<'a>, program: &'f mut Program, finder: &'f mut Finder<'d, 'a>) -> Self {
        MethodResolver {
            names: HashMap::with_capacity(method.values.len()),
            delegates: method.delegates.iter().enumerate().map(|(i, d)| (&*d.name.value, i)).collect(),
            declared: vec![Known::default(); method.values.len()],
            wanted: BTreeMap::new(),
            next: 0,
            slots: Vec::with_capacity(method.values.len()),
            item_numbers: HashMap::new(),
            warned_operators: HashSet::new(),
            operators: IndexMap::new(),
            op_indices: HashMap::new(),
            signatures: HashMap::new(),
            origins: MethodOrigins { id: method.name.id, ..MethodOrigins::default() },
            wrong_outs: false,
            diagnostics: Vec::new(),
            method,
            program,
            finder,
        }
    }

    fn error(&mut self, at: NodeId, message: impl Into<String>, label: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(at, message).label(label));
    }

    /// The order of this function is the order of numbering: declared values that no instruction produces, then the
    /// instructions' values, then what the outputs still need.
    fn run(&mut self) -> ExecutionPlan {
        let method = self.method;
        self.note_names();
        self.note_wanted_numbers();
        self.note_inputs_and_outputs();
        self.note_produced();
        for operator in &method.operators {
            self.operator(operator.value.as_ref());
            if self.signature(&operator.value).is_none() {
                self.warn_unknown_operator(operator);
            }
        }
        for declaration in 0..method.values.len() {
            if !self.declared[declaration].produced {
                self.number(declaration);
            }
        }
        let inputs: Vec<i32> = method.inputs.iter().map(|input| self.input(input)).collect();
        let chains: Vec<Chain> = method.chains.iter().map(|chain| self.chain(chain)).collect();
        let outputs: Vec<i32> = method.outputs.iter().map(|output| self.output(output)).collect();
        // What is produced by no call after all, because the call was wrong, still needs a number.
        for declaration in 0..method.values.len() {
            self.number(declaration);
        }
        let getter =
            inputs.is_empty() && chains.iter().all(|chain| chain.instructions.as_ref().is_none_or(Vec::is_empty));
        let delegates = self.delegates();
        let values = self.values();
        ExecutionPlan {
            name: Some(method.name.value.clone().into_owned()),
            container_meta_type: match &method.container_meta {
                Some(given) => given.clone(),
                None => Some(container_metadata(inputs.len(), outputs.len(), getter)),
            },
            values: Some(values),
            inputs: Some(inputs),
            outputs: Some(outputs),
            chains: Some(chains),
            operators: Some(self.operators()),
            delegates: Some(delegates),
            memory: MemoryRequest {
                non_const_buffer_sizes: method.memory.sizes.clone(),
                non_const_buffer_device: method.memory.devices.clone(),
                alignment: method.memory.alignment,
                padding: method.memory.padding,
                reserved: std::iter::once(0).chain(method.memory.reserved.iter().copied()).collect(),
            },
        }
    }

    fn note_names(&mut self) {
        for (declaration, value) in self.method.values.iter().enumerate() {
            if let Some(first) = self.names.insert(&value.name.value, declaration) {
                let twice = Diagnostic::error(value.name.id, format!("the key `{}` is there twice", value.name.value));
                let first = self.method.values[first].name.id;
                self.diagnostics.push(twice.label("again here").related(first, "first here"));
            }
        }
    }

    fn note_wanted_numbers(&mut self) {
        for (declaration, value) in self.method.values.iter().enumerate() {
            let Some(index) = &value.index else { continue };
            if let Some(other) = self.wanted.insert(index.value, declaration) {
                let first = self.method.values[other].index.as_ref().map_or(value.name.id, |index| index.id);
                let twice = Diagnostic::error(index.id, format!("two values want the number {}", index.value));
                self.diagnostics.push(twice.label("again here").related(first, "first here"));
            }
        }
    }

    fn note_inputs_and_outputs(&mut self) {
        let method = self.method;
        for (list, input) in [(&method.inputs, true), (&method.outputs, false)] {
            for item in list {
                if let Literal::Word(name) = &item.value
                    && let Some(declaration) = self.names.get(&**name)
                {
                    let known = &mut self.declared[*declaration];
                    if input && known.is_input {
                        let twice = Diagnostic::error(item.id, format!("the input `{name}` is listed twice"));
                        self.diagnostics.push(twice.label("again here"));
                    }
                    known.is_input |= input;
                    known.is_output |= !input;
                }
            }
        }
        for (declaration, value) in method.values.iter().enumerate() {
            let known = &mut self.declared[declaration];
            known.written = known.is_input
                || match &value.value {
                    Declared::Tensor(tensor) => tensor.data.is_some() || tensor.mutable || tensor.external.is_some(),
                    Declared::Other(_) => true,
                };
        }
    }

    /// Declared values that are numbered where an instruction produces them.
    fn note_produced(&mut self) {
        let method = self.method;
        let mut produced = Vec::new();
        for instruction in method.chains.iter().flat_map(|chain| &chain.instructions) {
            match &instruction.action {
                Some(Action::Kernel { name, args, out: None }) => {
                    let written = self.written_on_stack(name, args);
                    produced.extend(written);
                }
                Some(Action::Kernel { out: Some(outs), .. }) => {
                    produced.extend(outs.iter().filter_map(|out| self.names.get(&*out.value).copied()));
                }
                Some(Action::Delegate { args, .. }) => produced.extend(self.unwritten_tensors(args)),
                Some(Action::Move { to, .. }) => produced.extend(self.declaration_of(to)),
                _ => {}
            }
        }
        for (declaration, value) in method.values.iter().enumerate() {
            // A view is made by no instruction; it is numbered where it is first used.
            let view = matches!(&value.value, Declared::Tensor(tensor) if tensor.view_of.is_some());
            self.declared[declaration].produced = view && !self.declared[declaration].is_input;
        }
        for declaration in produced {
            let known = &mut self.declared[declaration];
            let stays = matches!(&method.values[declaration].value, Declared::Tensor(_)) && known.written;
            known.produced |= !stays && !known.is_input;
        }
    }

    fn declaration_of(&self, literal: &At<Literal<'a>>) -> Option<usize> {
        match &literal.value {
            Literal::Word(name) => self.names.get(&**name).copied(),
            _ => None,
        }
    }

    /// What a call with its whole stack given writes: by the operator's schema, else whatever has no content yet.
    fn written_on_stack(&mut self, name: &'d Word<'a>, args: &'d [At<Literal<'a>>]) -> Vec<usize> {
        match self.signature(&name.value) {
            Some(signature) => {
                let roles: Vec<Role> = signature.args.iter().map(|arg| arg.role).collect();
                let outs = args
                    .iter()
                    .enumerate()
                    .filter(|(position, _)| roles.get(*position).is_none_or(|r| *r == Role::Out));
                outs.filter_map(|(_, arg)| self.declaration_of(arg)).collect()
            }
            None => self.unwritten_tensors(args),
        }
    }

    fn unwritten_tensors(&self, args: &[At<Literal<'a>>]) -> Vec<usize> {
        let tensor = |declaration: &usize| matches!(self.method.values[*declaration].value, Declared::Tensor(_));
        let found = args.iter().filter_map(|arg| self.declaration_of(arg));
        found.filter(|declaration| tensor(declaration) && !self.declared[self.base_of(*declaration)].written).collect()
    }

    fn signature(&mut self, name: &'d str) -> Option<Rc<Signature>> {
        self.signatures.entry(name).or_insert_with(|| operators::find(name).map(Rc::new)).clone()
    }

    /// The next number that nobody wants.
    fn allocate(&mut self) -> i32 {
        while self.wanted.contains_key(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        self.next as i32 - 1
    }

    /// The number of a declared value, given now if it has none.
    fn number(&mut self, declaration: usize) -> i32 {
        if let Some(number) = self.declared[declaration].number {
            return number;
        }
        let value = &self.method.values[declaration];
        if let Declared::Other(At { value: Literal::List(items) | Literal::Typed(_, items), .. }) = &value.value {
            let numbers = items.iter().map(|item| self.number_item(item)).collect();
            self.item_numbers.insert(declaration, numbers);
        }
        let number = match &value.index {
            Some(index) => index.value as i32,
            None => self.allocate(),
        };
        self.declared[declaration].number = Some(number);
        self.slots.push((number as u32, Slot::Declared(declaration)));
        number
    }

    /// The number of a declared list's item, if it is a literal that becomes a value: it comes before the list (E-5).
    fn number_item(&mut self, item: &At<Literal<'a>>) -> Option<i32> {
        let value =
            matches!(item.value, Literal::Int(_) | Literal::Dtype(_) | Literal::MemoryFormat(_) | Literal::Index(_));
        value.then(|| self.argument(item, None, ""))
    }

    /// A new value without a name.
    fn push(&mut self, value: EValue, at: NodeId) -> i32 {
        let number = self.allocate();
        self.slots.push((number as u32, Slot::Anonymous(value, at)));
        number
    }

    /// Looks a name up.
    fn find(&mut self, name: &str, at: NodeId) -> Option<usize> {
        let found = self.names.get(name).copied();
        if found.is_none() {
            let unknown = Diagnostic::error(
                at,
                format!("there is no value `{}` in `{}`", clipped(name), clipped(&self.method.name.value)),
            );
            let names = self.names.keys().copied();
            let mut unknown =
                unknown.label("expected a name under `values`").suggest_among(self.diagnostics.len(), name, names);
            unknown.help.get_or_insert_with(|| format!("if a text is meant, write {{string: {}}}", clipped(name)));
            self.diagnostics.push(unknown);
        }
        found
    }

    /// A named value that an instruction reads.
    fn read(&mut self, name: &str, at: NodeId) -> i32 {
        let Some(declaration) = self.find(name, at) else { return 0 };
        let base = self.base_of(declaration);
        let known = &mut self.declared[base];
        if !known.written && !known.complained && !self.wrong_outs {
            known.complained = true;
            let unwritten = Diagnostic::error(at, format!("`{name}` is read before anything writes it"));
            let help = "make it an input, give it `data`, make it `mutable`, or write it earlier";
            self.diagnostics.push(unwritten.label("has no content here").help(help));
        }
        self.number(declaration)
    }

    /// A named value that an instruction writes.
    fn write(&mut self, word: &Word<'a>) -> i32 {
        let number = self.number_written(word);
        self.mark_written(word);
        number
    }

    /// The number of a value that an instruction writes, before the instruction has read its arguments.
    fn number_written(&mut self, word: &Word<'a>) -> i32 {
        let Some(declaration) = self.find(&word.value, word.id) else {
            self.wrong_outs = true;
            return 0;
        };
        if let Declared::Tensor(tensor) = &self.method.values[declaration].value
            && (tensor.data.is_some() || tensor.external.is_some())
            && !tensor.mutable
        {
            let constant = Diagnostic::error(word.id, format!("`{}` is a constant and cannot be written", word.value));
            self.diagnostics.push(constant.label("has data").help("`mutable: true` makes its data an initial state"));
        }
        self.number(declaration)
    }

    fn mark_written(&mut self, word: &Word<'a>) {
        if let Some(declaration) = self.names.get(&*word.value) {
            let base = self.base_of(*declaration);
            self.declared[base].written = true;
        }
    }

    /// What an operator writes must be of the kind that it writes, and each out another value.
    fn check_outs(&mut self, outs: &[Word<'a>], wanted: Option<Base>) {
        for (position, out) in outs.iter().enumerate() {
            if outs[..position].iter().any(|other| other.value == out.value) {
                self.error(out.id, format!("`{}` is named twice", out.value), "each out is another value");
            }
            let Some(wanted) = wanted else { continue };
            let is_tensor = self.is_tensor(&out.value);
            if self.names.contains_key(&*out.value) && is_tensor != (wanted == Base::Tensor) {
                let (found, expected) = if is_tensor { ("a tensor", "a number") } else { ("no tensor", "a tensor") };
                self.error(
                    out.id,
                    format!("`{}` is {found}; the operator writes {expected}", out.value),
                    format!("expected {expected}"),
                );
            }
        }
    }

    /// The tensor whose memory a tensor shares; itself if it is no view.
    fn base_of(&self, declaration: usize) -> usize {
        let mut base = declaration;
        // Views of views of views, in a circle at worst: declarations are only so many.
        for _ in 0..64 {
            let Declared::Tensor(tensor) = &self.method.values[base].value else { break };
            let Some(next) = tensor.view_of.as_ref().and_then(|name| self.names.get(&*name.value)) else { break };
            base = *next;
        }
        base
    }

    /// Views among what an instruction reads get their numbers before what it makes.
    fn number_views(&mut self, args: &[At<Literal<'a>>]) {
        for arg in args {
            if let Some(declaration) = self.declaration_of(arg)
                && matches!(&self.method.values[declaration].value, Declared::Tensor(tensor) if tensor.view_of.is_some())
            {
                self.number(declaration);
            }
        }
    }

    fn input(&mut self, literal: &At<Literal<'a>>) -> i32 {
        match &literal.value {
            Literal::Word(name) => {
                let Some(declaration) = self.find(name, literal.id) else { return 0 };
                if let Declared::Tensor(tensor) = &self.method.values[declaration].value
                    && (tensor.data.is_some() || tensor.external.is_some())
                {
                    let message = format!("the input `{name}` has data of its own");
                    self.error(literal.id, message, "an input's content comes from the caller");
                }
                self.number(declaration)
            }
            _ => self.argument(literal, None, ""),
        }
    }

    fn output(&mut self, literal: &At<Literal<'a>>) -> i32 {
        let Literal::Word(name) = &literal.value else { return self.argument(literal, None, "") };
        let Some(declaration) = self.find(name, literal.id) else { return 0 };
        let base = self.base_of(declaration);
        let known = &mut self.declared[base];
        if !known.written && !known.complained && !self.wrong_outs {
            known.complained = true;
            let unwritten = Diagnostic::error(literal.id, format!("nothing writes the output `{name}`"));
            self.diagnostics
                .push(unwritten.label("has no content at the end").help("let an instruction name it as `out`"));
        }
        self.number(declaration)
    }

    fn chain(&mut self, chain: &'d document::Chain<'a>) -> Chain {
        let labels = self.labels(chain);
        let inputs = chain.inputs.iter().map(|item| self.argument(item, None, "")).collect();
        let mut instructions = Vec::with_capacity(chain.instructions.len());
        let mut traces = Vec::new();
        let merged = self.merged_values(chain, &labels);
        let mut late_conditions: BTreeMap<usize, Vec<(usize, &At<Literal<'a>>)>> = BTreeMap::new();
        for instruction in &chain.instructions {
            let Some(action) = &instruction.action else { continue };
            let position = instructions.len();
            self.number_late(late_conditions.remove(&position), &mut instructions);
            for declaration in merged.get(&position).into_iter().flatten() {
                self.number(*declaration);
            }
            let destination = forward_jump(action, &labels).filter(|destination| *destination > position);
            match (action, destination) {
                // A literal condition is numbered where the jump leads: the exporter makes it when it knows that place.
                (Action::JumpFalse { cond, .. }, Some(destination))
                    if !matches!(cond.value, Literal::Word(_) | Literal::Index(_)) =>
                {
                    self.check_condition(cond);
                    late_conditions.entry(destination).or_default().push((position, cond));
                    let destination_instruction = destination as i32;
                    instructions.push(Instruction::JumpFalseCall { cond_value_index: 0, destination_instruction });
                }
                _ => instructions.push(self.instruction(action, &labels)),
            }
            traces.push(instruction.stacktrace.clone());
        }
        for (_, late) in late_conditions {
            self.number_late(Some(late), &mut instructions);
        }
        let outputs = chain.outputs.iter().map(|item| self.argument(item, None, "")).collect();
        // If one instruction has a trace the list has an entry for each (E-3).
        let traced = traces.iter().any(Option::is_some);
        let traces = traced.then(|| traces.into_iter().map(|trace| Some(trace.unwrap_or_default())).collect());
        Chain { inputs: Some(inputs), outputs: Some(outputs), instructions: Some(instructions), stacktrace: traces }
    }

    fn number_late(&mut self, late: Option<Vec<(usize, &At<Literal<'a>>)>>, instructions: &mut [Instruction]) {
        for (position, cond) in late.into_iter().flatten() {
            let number = self.argument(cond, None, "");
            if let Some(Instruction::JumpFalseCall { cond_value_index, .. }) = instructions.get_mut(position) {
                *cond_value_index = number;
            }
        }
    }

    /// Values that branches move their results to, by the jump in front of the branch: the exporter makes them before
    /// it branches (E-10).
    fn merged_values(
        &self,
        chain: &document::Chain<'a>,
        labels: &HashMap<&str, (i32, NodeId)>,
    ) -> HashMap<usize, Vec<usize>> {
        let mut merged: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (position, action) in chain.instructions.iter().filter_map(|i| i.action.as_ref()).enumerate() {
            while open.last().is_some_and(|(_, end)| *end <= position) {
                open.pop();
            }
            if let Some(destination) = forward_jump(action, labels).filter(|destination| *destination > position) {
                open.push((position, destination));
            } else if let Action::Move { to, .. } = action
                && let Some((jump, _)) = open.last()
                && let Some(declaration) = self.declaration_of(to)
            {
                merged.entry(*jump).or_default().push(declaration);
            }
        }
        merged
    }

    /// Where each label of a chain is.
    fn labels(&mut self, chain: &'d document::Chain<'a>) -> HashMap<&'d str, (i32, NodeId)> {
        let mut labels: HashMap<&str, (i32, NodeId)> = HashMap::new();
        let mut position = 0;
        for instruction in &chain.instructions {
            if let Some(label) = &instruction.label
                && let Some((_, first)) = labels.insert(&label.value, (position, label.id))
            {
                let twice = Diagnostic::error(label.id, format!("the label `{}` is there twice", label.value));
                self.diagnostics.push(twice.label("again here").related(first, "first here"));
            }
            position += i32::from(instruction.action.is_some());
        }
        labels
    }

    fn instruction(&mut self, action: &'d Action<'a>, labels: &HashMap<&str, (i32, NodeId)>) -> Instruction {
        match action {
            Action::Kernel { name, args, out } => {
                self.number_views(args);
                let op_index = self.operator(&name.value);
                let signature = self.signature(&name.value);
                if signature.is_none() {
                    self.warn_unknown_operator(name);
                }
                let args = match (out, signature) {
                    (Some(out), Some(signature)) => self.stack(name, args, out, &signature),
                    (Some(out), None) => self.stack_by_name(name, args, out),
                    (None, signature) => self.given_stack(name, args, signature.as_deref()),
                };
                Instruction::KernelCall { op_index, args: Some(args) }
            }
            Action::Delegate { delegate, args } => {
                let delegate_index = match &delegate.value {
                    NameOrNumber::Number(number) => *number,
                    NameOrNumber::Name(name) => self.find_delegate(name, delegate.id),
                };
                self.number_views(args);
                let written = self.unwritten_tensors(args);
                let args = self.arguments_with_written(args, &[], written);
                Instruction::DelegateCall { delegate_index, args: Some(args) }
            }
            Action::Move { from, to } => {
                let move_from = self.argument(from, None, "");
                let move_to = match &to.value {
                    Literal::Word(name) => self.write(&At { id: to.id, value: name.clone() }),
                    _ => self.argument(to, None, ""),
                };
                Instruction::MoveCall { move_from, move_to }
            }
            Action::JumpFalse { cond, to } => {
                self.check_condition(cond);
                let cond_value_index = self.argument(cond, None, "");
                let destination_instruction = match &to.value {
                    NameOrNumber::Number(number) => *number,
                    NameOrNumber::Name(name) => self.find_label(name, to.id, labels),
                };
                Instruction::JumpFalseCall { cond_value_index, destination_instruction }
            }
            Action::Free(value) => Instruction::FreeCall { value_index: self.argument(value, None, "") },
        }
    }

    /// Rule I-23: a condition is a Bool or a tensor of bools.
    fn check_condition(&mut self, cond: &At<Literal<'a>>) {
        let declared = self.declaration_of(cond).map(|declaration| &self.method.values[declaration].value);
        let wrong = match (declared, &cond.value) {
            (Some(Declared::Tensor(tensor)), _) => (tensor.scalar_type != crate::schema::ScalarType::BOOL)
                .then(|| format!("a tensor of {}", tensor.scalar_type)),
            (Some(Declared::Other(literal)), _) => match &literal.value {
                Literal::Bool(_) => None,
                other => Some(describe(other)),
            },
            (None, Literal::Word(_) | Literal::Bool(_) | Literal::Index(_)) => None,
            (None, other) => Some(describe(other)),
        };
        if let Some(wrong) = wrong {
            self.error(cond.id, format!("a condition cannot be {wrong}"), "expected a Bool, or a tensor of bools");
        }
    }

    fn find_label(&mut self, name: &str, at: NodeId, labels: &HashMap<&str, (i32, NodeId)>) -> i32 {
        if let Some((position, _)) = labels.get(name) {
            return *position;
        }
        let unknown = Diagnostic::error(at, format!("there is no label `{name}` in this list of instructions"));
        let unknown = unknown.label("expected a `label` of an instruction, or a number");
        self.diagnostics.push(unknown.suggest_among(self.diagnostics.len(), name, labels.keys().copied()));
        0
    }

    fn find_delegate(&mut self, name: &str, at: NodeId) -> i32 {
        if let Some(index) = self.delegates.get(name) {
            return *index as i32;
        }
        let unknown = Diagnostic::error(at, format!("there is no delegate `{name}` in `{}`", self.method.name.value));
        let unknown = unknown.label("expected a name under `delegates`");
        let names = self.delegates.keys().copied();
        self.diagnostics.push(unknown.suggest_among(self.diagnostics.len(), name, names));
        0
    }

    /// Index of an operator in the method's table, which has each once (E-9).
    fn operator(&mut self, full_name: &'d str) -> i32 {
        if let Some(index) = self.op_indices.get(full_name) {
            return *index;
        }
        let name = full_name;
        let start = name.find("::").map_or(0, |at| at + 2);
        let (name, overload) = match name[start..].find('.') {
            Some(dot) => (&name[..start + dot], &name[start + dot + 1..]),
            None => (name, ""),
        };
        let index = self.operators.insert_full((name, overload), ()).0 as i32;
        self.op_indices.insert(full_name, index);
        index
    }

    /// A name that is not `namespace::name.overload`, or of a namespace that the runtime fills but unknown to it, is
    /// likely a slip.
    fn warn_unknown_operator(&mut self, name: &'d Word<'a>) {
        let Some((namespace, _)) = name.value.split_once("::") else {
            if self.warned_operators.insert(&name.value) {
                let warning =
                    Diagnostic::warning(name.id, format!("`{}` is no name of an operator", clipped(&name.value)));
                self.diagnostics
                    .push(warning.label("expected a namespace, a name and an overload, such as aten::add.out"));
            }
            return;
        };
        let filled =
            matches!(namespace, "aten" | "executorch_prim" | "dim_order_ops" | "quantized_decomposed" | "et_copy");
        if !filled || !self.warned_operators.insert(&name.value) {
            return;
        }
        let message = format!("the runtime registers no operator `{}`", clipped(&name.value));
        let mut warning = Diagnostic::warning(name.id, message).label("unknown");
        // The slip that is commonest is a missing overload.
        let with_overload = format!("{}.", name.value);
        warning = match operators::names().find(|known| known.starts_with(&with_overload)) {
            Some(known) => warning.help(format!("did you mean `{known}`?")),
            None => warning.suggest_among(self.diagnostics.len(), &name.value, operators::names()),
        };
        self.diagnostics.push(warning);
    }

    /// The stack as it stands, with what is written numbered first, as with `out`.
    fn given_stack(
        &mut self,
        name: &'d Word<'a>,
        args: &'d [At<Literal<'a>>],
        signature: Option<&Signature>,
    ) -> Vec<i32> {
        let written = self.written_on_stack(name, args);
        if let Some(signature) = signature {
            let expected =
                signature.args.len() + usize::from(signature.result.is_some() || signature.outs().next().is_some());
            if args.len() != expected {
                let message = format!("the stack of {} has {expected} entries, {} are given", name.value, args.len());
                let warning = Diagnostic::warning(name.id, message).label("the runtime will refuse this call");
                self.diagnostics.push(warning.help("name what it writes with `out:`, and the stack is completed"));
            }
        }
        let kinds: Vec<ArgKind> = signature.map_or(Vec::new(), |s| s.args.iter().map(|arg| arg.kind).collect());
        if signature.is_some_and(|signature| signature.outs().next().is_none()) {
            // A result, unlike an out, is numbered after the literals.
            written.iter().for_each(|declaration| self.declared[*declaration].written = true);
            return self.arguments_with_written(args, &kinds, Vec::new());
        }
        self.arguments_with_written(args, &kinds, written)
    }

    fn arguments_with_written(&mut self, args: &[At<Literal<'a>>], kinds: &[ArgKind], written: Vec<usize>) -> Vec<i32> {
        for declaration in written {
            self.declared[declaration].written = true;
            self.number(declaration);
        }
        let mut stack = Vec::with_capacity(args.len());
        for (position, arg) in args.iter().enumerate() {
            stack.push(self.argument(arg, kinds.get(position).copied(), ""));
        }
        stack
    }

    /// The stack of a call that says what it writes, completed by the operator's schema (E-8).
    fn stack(
        &mut self,
        name: &'d Word<'a>,
        args: &'d [At<Literal<'a>>],
        outs: &'d [Word<'a>],
        signature: &Signature,
    ) -> Vec<i32> {
        let list_out = signature.outs().any(|out| out.kind.list);
        let wanted = signature.outs().count();
        let takes = if list_out || wanted == 0 { None } else { Some(wanted) };
        if let Some(takes) = takes.filter(|takes| *takes != outs.len()) {
            self.wrong_outs = true;
            let names = signature.outs().map(|out| out.name).collect::<Vec<_>>().join(", ");
            let at = outs.first().map_or(name.id, |out| out.id);
            self.error(
                at,
                format!("{} writes {takes}: {names}; `out` names {}", name.value, outs.len()),
                format!("expected {}", counted(takes as u64, "name")),
            );
        }
        if wanted == 0 && outs.len() != usize::from(signature.result.is_some()) {
            let at = outs.get(1).map_or(name.id, |out| out.id);
            let count = usize::from(signature.result.is_some());
            self.error(
                at,
                format!("{} returns {}, `out` names {}", name.value, counted(count as u64, "value"), outs.len()),
                format!("expected {count}"),
            );
        }
        let out_first = wanted > 0;
        self.check_outs(outs, if out_first { Some(Base::Tensor) } else { signature.result });
        let mut out_numbers: Vec<i32> = Vec::new();
        if out_first {
            out_numbers = outs.iter().map(|out| self.number_written(out)).collect();
        }
        let mut stack = self.arguments(name, args, signature);
        outs.iter().for_each(|out| self.mark_written(out));
        let at = name.id;
        if list_out {
            // The list of outs is a value, and so is the list of results.
            for _ in 0..2 {
                stack.push(self.push(EValue::TensorList(Some(out_numbers.clone())), at));
            }
        } else if out_first {
            stack.extend(&out_numbers);
            stack.extend(self.result(&out_numbers, at));
        } else {
            stack.extend(outs.iter().map(|out| self.write(out)).collect::<Vec<_>>());
        }
        stack
    }

    /// An operator that is not in the table: an overload that ends in `out` is taken for an out variant.
    fn stack_by_name(&mut self, name: &'d Word<'a>, args: &'d [At<Literal<'a>>], outs: &'d [Word<'a>]) -> Vec<i32> {
        let out_variant = name.value.rsplit_once('.').is_some_and(|(_, overload)| overload.ends_with("out"));
        if out_variant {
            let out_numbers: Vec<i32> = outs.iter().map(|out| self.write(out)).collect();
            let mut stack: Vec<i32> = args.iter().map(|arg| self.argument(arg, None, "")).collect();
            stack.extend(&out_numbers);
            stack.extend(self.result(&out_numbers, name.id));
            stack
        } else {
            let mut stack: Vec<i32> = args.iter().map(|arg| self.argument(arg, None, "")).collect();
            stack.extend(outs.iter().map(|out| self.write(out)).collect::<Vec<_>>());
            stack
        }
    }

    /// The result of an out variant: the out again, or one list of several.
    fn result(&mut self, outs: &[i32], at: NodeId) -> Option<i32> {
        match outs {
            [] => None,
            [out] => Some(*out),
            several => Some(self.push(EValue::TensorList(Some(several.to_vec())), at)),
        }
    }

    /// The arguments before the outs, with defaults for those left out at the end.
    fn arguments(&mut self, name: &Word<'a>, args: &'d [At<Literal<'a>>], signature: &Signature) -> Vec<i32> {
        let takes = signature.ins().count();
        if let Some(extra) = args.get(takes) {
            let takes = counted(takes as u64, "argument");
            let message = format!("{} takes {takes}, {} are given", name.value, args.len());
            let help = "with `out`, the outs are not listed among the arguments";
            self.diagnostics.push(Diagnostic::error(extra.id, message).label("one too many").help(help));
        }
        let mut stack = Vec::with_capacity(signature.args.len() + 1);
        for (position, arg) in signature.ins().enumerate() {
            match (args.get(position), arg.default) {
                (Some(given), _) => stack.push(self.argument(given, Some(arg.kind), arg.name)),
                (None, Some(default)) => stack.push(self.default(default, arg.kind, name.id)),
                (None, None) => {
                    let message = format!("{} needs the argument `{}`, a {}", name.value, arg.name, arg.kind);
                    self.error(
                        name.id,
                        message,
                        format!("{} of {} given", args.len(), counted(takes as u64, "argument")),
                    );
                    break;
                }
            }
        }
        stack
    }

    /// The default of an argument, JSON in the operator table.
    fn default(&mut self, json: &'static str, kind: ArgKind, at: NodeId) -> i32 {
        let literal = default_literal(&serde_json::from_str(json).unwrap_or(serde_json::Value::Null), at);
        self.argument(&literal, Some(kind), "")
    }

    /// The value of an argument: a name is looked up, a literal becomes a new value (E-6).
    fn argument(&mut self, literal: &At<Literal<'a>>, kind: Option<ArgKind>, arg: &str) -> i32 {
        let at = literal.id;
        let base = kind.filter(|kind| !kind.list).map(|kind| kind.base);
        if let Some(kind) = kind
            && let Some(found) = self.mismatch(&literal.value, kind)
        {
            let for_arg = if arg.is_empty() { String::new() } else { format!(" for `{arg}`") };
            self.error(at, format!("expected {kind}{for_arg}, found {found}"), format!("expected {kind}"));
            return 0;
        }
        match &literal.value {
            Literal::Word(word) => match base {
                Some(Base::Str) if !self.is_declared_string(word) => {
                    self.push(EValue::String(Some(word.to_string())), at)
                }
                Some(Base::Dtype) if !self.names.contains_key(&**word) => {
                    match crate::schema::ScalarType::parse(word) {
                        Some(dtype) => self.push(EValue::Int(dtype.0.into()), at),
                        None => self.read(word, at),
                    }
                }
                Some(Base::MemoryFormat) if !self.names.contains_key(&**word) => {
                    match super::shape::MEMORY_FORMATS.iter().position(|format| format == word) {
                        Some(format) => self.push(EValue::Int(format as i64), at),
                        None => self.read(word, at),
                    }
                }
                _ => self.read(word, at),
            },
            Literal::Null => self.push(EValue::Null, at),
            Literal::Int(n) if base == Some(Base::Float) => self.push(EValue::Double(*n as f64), at),
            Literal::Int(n) | Literal::MemoryFormat(n) => self.push(EValue::Int(*n), at),
            Literal::Dtype(dtype) => self.push(EValue::Int(dtype.0.into()), at),
            Literal::Double(x) => self.push(EValue::Double(*x), at),
            Literal::Bool(b) => self.push(EValue::Bool(*b), at),
            Literal::String(text) => self.push(EValue::String(Some(text.to_string())), at),
            Literal::Index(number) => *number,
            Literal::List(items) => match kind.map(list_kind).or_else(|| self.guess_list_kind(at, items)) {
                Some(kind) => self.list(kind, items, at),
                None => 0,
            },
            Literal::Typed(kind, items) => self.list(*kind, items, at),
        }
    }

    fn is_declared_string(&self, name: &str) -> bool {
        let declared = self.names.get(name).map(|declaration| &self.method.values[*declaration].value);
        matches!(declared, Some(Declared::Other(At { value: Literal::Word(_) | Literal::String(_), .. })))
    }

    /// What a literal is, if an argument of this kind cannot be that.
    fn mismatch(&self, literal: &Literal<'a>, kind: ArgKind) -> Option<String> {
        let is_list = matches!(literal, Literal::List(_) | Literal::Typed(..));
        let fits = match literal {
            Literal::Index(_) => true,
            Literal::Null => kind.optional,
            Literal::Word(name) => return self.mismatch_of_named(name, kind),
            _ if kind.list != is_list => false,
            Literal::List(_) | Literal::Typed(..) => true,
            Literal::Int(_) => {
                matches!(kind.base, Base::Int | Base::Scalar | Base::Float | Base::Dtype | Base::MemoryFormat)
            }
            Literal::Double(_) => matches!(kind.base, Base::Float | Base::Scalar),
            Literal::Bool(_) => matches!(kind.base, Base::Bool | Base::Scalar),
            Literal::String(_) => kind.base == Base::Str,
            Literal::Dtype(_) => kind.base == Base::Dtype,
            Literal::MemoryFormat(_) => kind.base == Base::MemoryFormat,
        };
        (!fits).then(|| describe(literal))
    }

    fn mismatch_of_named(&self, name: &str, kind: ArgKind) -> Option<String> {
        let declared = &self.method.values[*self.names.get(name)?].value;
        let wrong = match declared {
            Declared::Tensor(_) => kind.list || kind.base != Base::Tensor,
            // A number's kind may be another when an instruction has written it, so only kinds that cannot meet are told.
            Declared::Other(literal) => match &literal.value {
                Literal::Typed(of, _) => {
                    !kind.list || list_kind(kind) != *of && !(kind.base == Base::Tensor && is_of_tensors(*of))
                }
                Literal::List(_) => !kind.list,
                Literal::Null => !kind.optional,
                _ if kind.list => true,
                Literal::Word(_) | Literal::String(_) => kind.base != Base::Str,
                Literal::Double(_) => !matches!(kind.base, Base::Float | Base::Scalar),
                _ => matches!(kind.base, Base::Tensor | Base::Str),
            },
        };
        wrong.then(|| match declared {
            Declared::Tensor(_) => {
                format!("the tensor `{name}`{}", if kind.list { "; a list is written [...]" } else { "" })
            }
            Declared::Other(literal) => format!("`{name}`, {}", describe(&literal.value)),
        })
    }

    /// The kind of a list by its items, as the exporter guesses it (E-6); none if they are of several.
    fn guess_list_kind(&mut self, at: NodeId, items: &[At<Literal<'a>>]) -> Option<ListKind> {
        let kinds: Vec<Option<ListKind>> = items
            .iter()
            .map(|item| match &item.value {
                Literal::Int(_) | Literal::Dtype(_) | Literal::MemoryFormat(_) => Some(ListKind::Int),
                Literal::Double(_) => Some(ListKind::Double),
                Literal::Bool(_) => Some(ListKind::Bool),
                Literal::Null => Some(ListKind::OptionalTensor),
                Literal::Word(name) => match self.names.get(&**name).map(|d| &self.method.values[*d].value) {
                    Some(Declared::Tensor(_)) => Some(ListKind::Tensor),
                    Some(Declared::Other(_)) => Some(ListKind::Int),
                    None => None,
                },
                _ => None,
            })
            .collect();
        let mut known = kinds.iter().flatten().copied();
        let Some(first) = known.next() else { return Some(ListKind::Tensor) };
        let mut kind = first;
        for (item, other) in items.iter().zip(&kinds).filter_map(|(item, kind)| Some((item, (*kind)?))) {
            if other == kind {
                continue;
            }
            if is_of_tensors(other) && is_of_tensors(kind) {
                kind = ListKind::OptionalTensor;
                continue;
            }
            let mixed =
                Diagnostic::error(item.id, format!("a list that mixes {} and {}", plural(first), plural(other)));
            let help = "a list has one kind; say it with int_list, double_list, bool_list or tensor_list";
            self.diagnostics.push(
                mixed.label(format!("expected one of the {}", plural(first))).related(at, "in this list").help(help),
            );
            return None;
        }
        Some(kind)
    }

    /// A list value; its items' values come before it (E-5).
    fn list(&mut self, kind: ListKind, items: &[At<Literal<'a>>], at: NodeId) -> i32 {
        let value = self.list_value(kind, items, None);
        self.push(value, at)
    }

    /// A list; `numbers` are those of a declared list's literals, whose other items are named but not read.
    fn list_value(&mut self, kind: ListKind, items: &[At<Literal<'a>>], numbers: Option<&[Option<i32>]>) -> EValue {
        let number_of = |position: usize| *numbers?.get(position)?;
        let mut wrong = Vec::new();
        let value = match kind {
            ListKind::Int => {
                let mut found: Vec<i64> = Vec::with_capacity(items.len());
                for (position, item) in items.iter().enumerate() {
                    match &item.value {
                        _ if number_of(position).is_some() => found.extend(number_of(position).map(i64::from)),
                        Literal::Int(_)
                        | Literal::Bool(_)
                        | Literal::Index(_)
                        | Literal::Dtype(_)
                        | Literal::MemoryFormat(_) => {
                            found.push(self.argument(item, None, "").into());
                        }
                        Literal::Word(name) if self.can_be_int(name) => found.push(self.read(name, item.id).into()),
                        _ => wrong.push((item, "an integer, or the name of an Int")),
                    }
                }
                EValue::IntList(Some(found))
            }
            ListKind::Double => {
                let mut numbers = Vec::with_capacity(items.len());
                for item in items {
                    match &item.value {
                        Literal::Double(x) => numbers.push(*x),
                        Literal::Int(n) => numbers.push(*n as f64),
                        Literal::Word(word) => match super::decode::number_word(word) {
                            Some(number) => numbers.push(number.to_f64()),
                            None => wrong.push((item, "a number")),
                        },
                        _ => wrong.push((item, "a number")),
                    }
                }
                EValue::DoubleList(Some(numbers))
            }
            ListKind::Bool => {
                let mut bools = Vec::with_capacity(items.len());
                for item in items {
                    match &item.value {
                        Literal::Bool(b) => bools.push(*b),
                        _ => wrong.push((item, "true or false")),
                    }
                }
                EValue::BoolList(Some(bools))
            }
            ListKind::Tensor | ListKind::OptionalTensor => {
                let mut tensors = Vec::with_capacity(items.len());
                for item in items {
                    match &item.value {
                        Literal::Word(name) if !self.can_be_tensor(name, kind) => {
                            wrong.push((item, "the name of a tensor"))
                        }
                        Literal::Word(name) if numbers.is_some() => {
                            let declaration = self.find(name, item.id);
                            tensors.push(declaration.map_or(0, |declaration| self.number(declaration)));
                        }
                        Literal::Word(name) => tensors.push(self.read(name, item.id)),
                        Literal::Index(number) => tensors.push(*number),
                        Literal::Null if kind == ListKind::OptionalTensor => tensors.push(-1),
                        _ => wrong.push((item, "the name of a tensor")),
                    }
                }
                match kind {
                    ListKind::Tensor => EValue::TensorList(Some(tensors)),
                    _ => EValue::OptionalTensorList(Some(tensors)),
                }
            }
        };
        for (item, what) in wrong {
            let message = format!("expected {what}, found {}", describe(&item.value));
            self.error(item.id, message, format!("expected {what}"));
        }
        value
    }

    /// Whether a name may be an item of an IntList; a name that does not exist is told when it is looked up.
    fn can_be_int(&self, name: &str) -> bool {
        match self.names.get(name).map(|declaration| &self.method.values[*declaration].value) {
            None => true,
            Some(Declared::Tensor(_)) => false,
            Some(Declared::Other(literal)) => {
                matches!(
                    literal.value,
                    Literal::Int(_) | Literal::Bool(_) | Literal::Dtype(_) | Literal::MemoryFormat(_)
                )
            }
        }
    }

    /// Whether a name may be an item of a list of tensors.
    fn can_be_tensor(&self, name: &str, kind: ListKind) -> bool {
        match self.names.get(name).map(|declaration| &self.method.values[*declaration].value) {
            None | Some(Declared::Tensor(_)) => true,
            Some(Declared::Other(literal)) => kind == ListKind::OptionalTensor && literal.value == Literal::Null,
        }
    }

    fn is_tensor(&self, name: &str) -> bool {
        let declared = self.names.get(name).map(|declaration| &self.method.values[*declaration].value);
        matches!(declared, Some(Declared::Tensor(_)))
    }

    fn operators(&mut self) -> Vec<Operator> {
        let operators = std::mem::take(&mut self.operators);
        let text = |text: &str| Some(text.to_owned());
        operators.into_keys().map(|(name, overload)| Operator { name: text(name), overload: text(overload) }).collect()
    }

    fn delegates(&mut self) -> Vec<BackendDelegate> {
        let mut delegates = Vec::with_capacity(self.method.delegates.len());
        for delegate in &self.method.delegates {
            self.origins.delegates.push(delegate.name.id);
            let mut specs = Vec::with_capacity(delegate.compile_specs.len());
            for (key, value) in &delegate.compile_specs {
                let bytes = self.finder.find(value, Want::BytesOrText).map(|found| match found.blob.len {
                    0..=MAX_COMPILE_SPEC => found.blob.to_vec(),
                    len => Err(std::io::Error::other(format!("{len} bytes are too many for a compile spec"))),
                });
                match bytes {
                    Some(Ok(bytes)) => specs.push(CompileSpec { key: Some(key.to_string()), value: Some(bytes) }),
                    Some(Err(error)) => {
                        let label = format!("expected {MAX_COMPILE_SPEC} bytes at most");
                        self.error(value.id, format!("cannot take the data: {error}"), label);
                    }
                    None => {}
                }
            }
            if let Some(found) = self.finder.find(&delegate.data, Want::Bytes) {
                delegates.push(BackendDelegate {
                    id: Some(delegate.backend.to_string()),
                    processed: self.program.add_blob(found.blob),
                    inline: delegate.inline,
                    compile_specs: Some(specs),
                });
            }
        }
        delegates
    }

    /// All values by number.
    fn values(&mut self) -> Vec<EValue> {
        let mut slots = std::mem::take(&mut self.slots);
        slots.sort_by_key(|(number, _)| *number);
        let count = slots.len();
        let mut values = Vec::with_capacity(count);
        self.origins.values.reserve(count);
        for (expected, (number, slot)) in slots.into_iter().enumerate() {
            let (value, at, declaration) = match slot {
                Slot::Anonymous(value, at) => (value, at, None),
                Slot::Declared(declaration) => {
                    (self.declared_value(declaration), self.method.values[declaration].name.id, Some(declaration))
                }
            };
            if number as usize != expected
                && let Some(index) = declaration.and_then(|d| self.method.values[d].index.as_ref())
                && number as usize >= count
            {
                let message = format!("the number {number} leaves a gap: the method has {count} values");
                self.error(index.id, message, format!("expected a number below {count}"));
            }
            self.origins.values.push((at, declaration.map(|d| self.method.values[d].name.value.clone())));
            values.push(value);
        }
        values
    }

    fn declared_value(&mut self, declaration: usize) -> EValue {
        let value: &'d Declaration<'a> = &self.method.values[declaration];
        match &value.value {
            Declared::Tensor(tensor) => EValue::Tensor(Box::new(self.tensor(declaration, value, tensor))),
            Declared::Other(literal) => match &literal.value {
                Literal::Null => EValue::Null,
                Literal::Int(n) | Literal::MemoryFormat(n) => EValue::Int(*n),
                Literal::Dtype(dtype) => EValue::Int(dtype.0.into()),
                Literal::Double(x) => EValue::Double(*x),
                Literal::Bool(b) => EValue::Bool(*b),
                Literal::Word(text) | Literal::String(text) => EValue::String(Some(text.to_string())),
                Literal::Typed(_, items) | Literal::List(items) => {
                    let kind = match &literal.value {
                        Literal::Typed(kind, _) => Some(*kind),
                        _ => self.guess_list_kind(literal.id, items),
                    };
                    let Some(kind) = kind else { return EValue::Null };
                    let numbers = self.item_numbers.remove(&declaration).unwrap_or_default();
                    self.list_value(kind, items, Some(&numbers))
                }
                Literal::Index(_) => {
                    self.error(literal.id, "a value cannot be another value", "expected a tensor, or a literal");
                    EValue::Null
                }
            },
        }
    }

    fn tensor(&mut self, declaration: usize, value: &'d Declaration<'a>, written: &'d document::Tensor<'a>) -> Tensor {
        let known = self.declared[declaration];
        let mut tensor = Tensor::new(written.scalar_type, Vec::new());
        let stated = written.sizes.as_ref().map(|sizes| sizes.value.as_slice());
        let order = written.dim_order.as_ref().map(|order| order.value.as_slice());
        let name = &value.name;
        match (written.mutable, written.memory) {
            (false, Some(Place::Auto | Place::In { .. })) if written.data.is_some() => {
                let message = format!("`{}` is a constant and has no place in planned memory", name.value);
                self.error(name.id, message, "add `mutable: true` if the data are its initial state, or drop `memory`");
            }
            (true, Some(Place::None)) if written.data.is_some() => {
                let message = format!("`{}` is mutable, but has no memory for its initial state", name.value);
                self.error(name.id, message, "drop `memory: none`, or `mutable`");
            }
            (_, Some(Place::In { pool: 0, .. })) => {
                self.error(
                    name.id,
                    format!("`{}` is placed in pool 0, which is reserved", name.value),
                    "pools count from 1",
                );
            }
            (_, Some(Place::In { pool, .. })) if pool as usize > crate::layout::memory::MAX_POOLS => {
                let message =
                    format!("pool {pool} is more than the {} that a method may have", crate::layout::memory::MAX_POOLS);
                self.error(name.id, message, "expected a smaller number");
            }
            _ => {}
        }
        let element = written.scalar_type.info().map_or(1, |info| info.size);
        if let Some(Place::In { offset: Some(offset), .. }) = written.memory
            && offset % element != 0
        {
            let message = format!("offset {offset} of `{}` is no multiple of its element size, {element}", name.value);
            self.diagnostics.push(Diagnostic::warning(name.id, message).label("kernels may read it wrongly, or crash"));
        }
        if written.storage_offset != 0 {
            let warning = Diagnostic::warning(name.id, format!("the storage offset of `{}` is not 0", name.value));
            self.diagnostics.push(warning.label("the runtime refuses it"));
        }
        if let Some(Err(diagnostic)) = written.sizes.as_ref().map(data::check_sizes) {
            self.diagnostics.push(diagnostic);
            return tensor;
        }
        if let (Some(order), Some(sizes)) = (&written.dim_order, stated)
            && let Err(diagnostic) = data::check_dim_order(order, sizes.len())
        {
            self.diagnostics.push(diagnostic);
            return tensor;
        }
        let found = written
            .data
            .as_ref()
            .map(|data| (data, self.finder.find(data, Want::Tensor(written.scalar_type, stated, order))));
        let inferred = match &found {
            Some((_, Some(found))) => found.sizes.clone(),
            Some((_, None)) => return tensor,
            None => None,
        };
        let Some(sizes) = stated.map(<[i32]>::to_vec).or(inferred) else {
            self.error(value.name.id, format!("the sizes of `{}` are not known", value.name.value), "add `sizes`");
            return tensor;
        };
        if stated.is_none()
            && let Some(order) = &written.dim_order
            && let Err(diagnostic) = data::check_dim_order(order, sizes.len())
        {
            self.diagnostics.push(diagnostic);
            return tensor;
        }
        if let Some((data, Some(found))) = found {
            if crate::program::nbytes(written.scalar_type, &sizes) != Some(found.blob.len) {
                self.diagnostics.push(bytes_disagree(data.id, written.scalar_type, &sizes, found.blob.len));
                return tensor;
            }
            tensor.data = TensorData::Blob(self.program.add_blob(found.blob));
        } else if written.external.is_some() {
            tensor.data = TensorData::Elsewhere(0);
        }
        tensor.dim_order = Some(order.map_or_else(|| contiguous(sizes.len()), <[u8]>::to_vec));
        tensor.sizes = Some(sizes);
        tensor.storage_offset = written.storage_offset;
        tensor.requires_grad = written.requires_grad;
        tensor.layout = written.layout;
        tensor.shape_dynamism = written.dynamism;
        tensor.memory = self.memory(written, known);
        if let Some(view_of) = &written.view_of {
            self.share(declaration, view_of, &mut tensor);
        }
        tensor.extra_tensor_info = extra_tensor_info(value, written);
        tensor
    }

    /// A view lies where its base lies, or has its base's data.
    fn share(&mut self, declaration: usize, view_of: &'d Word<'a>, tensor: &mut Tensor) {
        if self.find(&view_of.value, view_of.id).is_none() {
            return;
        }
        let base = self.base_of(declaration);
        let value: &'d Declaration<'a> = &self.method.values[base];
        let expected = "expected a tensor with memory or data of its own";
        let Declared::Tensor(of) = &value.value else {
            return self.error(view_of.id, format!("`{}` is no tensor", value.name.value), expected);
        };
        if of.view_of.is_some() || base == declaration {
            return self.error(view_of.id, format!("the views of `{}` go in a circle", view_of.value), expected);
        }
        if of.external.is_some() {
            return self.error(
                view_of.id,
                format!("`{}` is in a .ptd, where each tensor has a key", value.name.value),
                expected,
            );
        }
        if let (Some(data), false) = (&of.data, of.mutable) {
            let (order, sizes) = (of.dim_order.as_ref().map(|o| &*o.value), of.sizes.as_ref().map(|s| &*s.value));
            let Some(found) = self.finder.find(data, Want::Tensor(of.scalar_type, sizes, order)) else { return };
            if tensor.nbytes() != Some(found.blob.len) {
                let message =
                    format!("a view of {} bytes of a constant of {}", tensor.nbytes().unwrap_or(0), found.blob.len);
                return self.error(view_of.id, message, "expected as many bytes");
            }
            tensor.data = TensorData::Blob(self.program.add_blob(found.blob));
            tensor.memory = Memory::None;
        } else {
            tensor.memory = Memory::View { base: self.number(base) as u32 };
        }
    }

    fn memory(&self, written: &document::Tensor<'a>, known: Known) -> Memory {
        let constant = (written.data.is_some() || written.external.is_some()) && !written.mutable;
        let unplanned = (known.is_input && self.method.memory.unplanned_inputs)
            || (known.is_output && self.method.memory.unplanned_outputs);
        let persistent = written.mutable;
        match written.memory {
            Some(Place::None) => Memory::None,
            Some(Place::In { pool, offset: Some(offset) }) => Memory::At { pool, offset },
            Some(Place::In { pool, offset: None }) => Memory::Auto { pool: Some(pool), persistent },
            Some(Place::Auto) => Memory::Auto { pool: None, persistent },
            // What has no bound is allocated when its size is known (10.1).
            None if constant || unplanned || written.dynamism == 2 => Memory::None,
            None => Memory::Auto { pool: None, persistent },
        }
    }
}

/// Where an action may jump to by a label that exists.
fn forward_jump(action: &Action<'_>, labels: &HashMap<&str, (i32, NodeId)>) -> Option<usize> {
    let Action::JumpFalse { to: At { value: NameOrNumber::Name(name), .. }, .. } = action else { return None };
    labels.get(&**name).and_then(|(position, _)| usize::try_from(*position).ok())
}

/// What few tensors need: a name, a `.ptd`, a device; absent for the others (E-15).
fn extra_tensor_info(value: &Declaration<'_>, written: &document::Tensor<'_>) -> Option<Box<ExtraTensorInfo>> {
    let (device_type, device_index) = written.device.unwrap_or((0, 0));
    let name = written.name.as_ref().map(|name| name.value.to_string());
    if name.is_none() && written.external.is_none() && (device_type, device_index) == (0, 0) {
        return None;
    }
    Some(Box::new(ExtraTensorInfo {
        mutable_data_segments_idx: 0,
        fully_qualified_name: name.or_else(|| written.external.as_ref().map(|_| value.name.value.to_string())),
        location: i8::from(written.external.is_some()),
        device_type,
        device_index,
        tag: written.external.as_ref().and_then(|tag| tag.value.as_ref()).map(|tag| tag.to_string()),
    }))
}

fn is_of_tensors(kind: ListKind) -> bool {
    matches!(kind, ListKind::Tensor | ListKind::OptionalTensor)
}

fn list_kind(kind: ArgKind) -> ListKind {
    match kind.base {
        Base::Tensor if kind.optional_items => ListKind::OptionalTensor,
        Base::Tensor => ListKind::Tensor,
        Base::Float => ListKind::Double,
        Base::Bool => ListKind::Bool,
        _ => ListKind::Int,
    }
}

/// A default of the operator table as a literal.
fn default_literal<'a>(json: &serde_json::Value, at: NodeId) -> At<Literal<'a>> {
    let value = match json {
        serde_json::Value::Null => Literal::Null,
        serde_json::Value::Bool(b) => Literal::Bool(*b),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(n) => Literal::Int(n),
            None => Literal::Double(n.as_f64().unwrap_or(0.0)),
        },
        serde_json::Value::String(text) => Literal::String(Cow::Owned(text.clone())),
        serde_json::Value::Array(items) => Literal::List(items.iter().map(|item| default_literal(item, at)).collect()),
        serde_json::Value::Object(_) => Literal::Null,
    };
    At { id: at, value }
}

fn describe(literal: &Literal<'_>) -> String {
    match literal {
        Literal::Null => "null".into(),
        Literal::Int(n) => format!("the integer {n}"),
        Literal::Double(x) => format!("the number {x:?}"),
        Literal::Bool(b) => format!("the bool {b}"),
        Literal::Word(text) => format!("`{text}`"),
        Literal::String(text) => format!("the text `{text}`"),
        Literal::Dtype(dtype) => format!("the element type {dtype}"),
        Literal::MemoryFormat(_) => "a memory format".into(),
        Literal::List(items) | Literal::Typed(_, items) => format!("a list of {}", items.len()),
        Literal::Index(number) => format!("value {number}"),
    }
}

fn plural(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Int => "integers",
        ListKind::Double => "floating point numbers",
        ListKind::Bool => "bools",
        ListKind::Tensor => "tensors",
        ListKind::OptionalTensor => "nulls",
    }
}

/// What pytree writes for plain positional inputs and for one output or a tuple of them; a constant method has no
/// inputs to describe.
fn container_metadata(inputs: usize, outputs: usize, getter: bool) -> ContainerMetadata {
    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;
    let tuple =
        |children: &str| format!(r#"{{"type": "builtins.tuple", "context": "null", "children_spec": [{children}]}}"#);
    let leaves = |count| tuple(&vec![LEAF; count].join(", "));
    let kwargs = r#"{"type": "builtins.dict", "context": "[]", "children_spec": []}"#;
    ContainerMetadata {
        encoded_inp_str: Some(match getter {
            true => String::new(),
            false => format!("[1, {}]", tuple(&format!("{}, {kwargs}", leaves(inputs)))),
        }),
        encoded_out_str: Some(format!("[1, {}]", if outputs == 1 { LEAF.to_owned() } else { leaves(outputs) })),
    }
}
