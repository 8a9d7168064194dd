//! Resolves a method: names, value indices in the exporter's order, and the values that are written at each point.
//!
//! [`MethodResolver::run`] fixes the order of the steps. Instructions, kernel stacks, literals and values are resolved
//! in the sibling modules.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::assembly::origins::MethodOrigins;
use crate::ir::data::Finder;
use crate::ir::document::{
    Action, At, Declaration, Declared, ListKind, Literal, MISSING_OUT, Method, ParsedTensor, Word,
};
use crate::ir::{Messages, NodeDiagnostic};
use pte_analysis::operators::{OperatorLookup, ResolvedOperator};
use pte_model::diagnostics::{Code, clipped, first_names};
use pte_model::format::ScalarType;
use pte_model::program::instruction::FieldRole;
use pte_model::program::{
    Chain, ContainerMetadata, EValue, ExecutionPlan, MemoryRequest, NonConstBufferDevice, OperatorId, Program, ValueId,
};
use pte_operators::Base;
use pte_transform::remap::renumber_values;
use pte_xnnpack::arguments::GraphArgument;
use pte_yaml::tree::NodeId;

/// State of the resolution of one method.
pub(super) struct MethodResolver<'d, 'a, 'f> {
    pub(super) method: &'d Method<'a>,
    /// The declared values, then those that an instruction declares.
    pub(super) values: Vec<&'d Declaration<'a>>,
    pub(super) program: &'f mut Program,
    pub(super) finder: &'f mut Finder<'d, 'a>,
    /// Operators of the program.
    pub(super) lookup: &'f mut OperatorLookup<'static>,
    /// Declared values by name.
    pub(super) names: HashMap<&'d str, usize>,
    pub(super) delegates: HashMap<&'d str, usize>,
    /// For each declared value, the tensor whose memory it shares; itself if it is not a view.
    pub(super) bases: Vec<usize>,
    /// State of each declared value.
    pub(super) declared: Vec<DeclarationState>,
    /// Declared values by the index that they request.
    pub(super) requested: BTreeMap<u32, usize>,
    pub(super) next: u32,
    /// Values in the order of numbering.
    pub(super) slots: Vec<(u32, NumberedValue)>,
    /// Value indices of the literal items of each declared list.
    pub(super) item_numbers: HashMap<usize, Vec<Option<ValueId>>>,
    /// Unknown operators of this method and of those before it that a warning reports, each with its node.
    pub(super) reported_operators: HashMap<&'d str, NodeId>,
    /// Name and overload in the order of the file's table.
    pub(super) operators: IndexMap<(&'d str, &'d str), ()>,
    pub(super) op_indices: HashMap<&'d str, OperatorId>,
    /// Declarations by value, once all are numbered.
    pub(super) declarations: HashMap<ValueId, usize>,
    /// Tensors that are not fully declared, by value.
    pub(super) unfinished: BTreeMap<ValueId, usize>,
    /// Tensors with invalid data or sizes, which are reported.
    pub(super) invalid: Vec<usize>,
    /// Declared lists whose items [`MethodResolver::with_items`] has returned.
    expanded: HashSet<(usize, bool)>,
    pub(super) origins: MethodOrigins,
    /// Undeclared arguments of delegates and targets of moves, which are reported.
    pub(super) undeclared: HashSet<&'d str>,
    /// The current instruction names a value that does not exist.
    pub(super) has_unknown: bool,
    /// A call has invalid outs, an input is unknown, or an instruction is of a newer schema, so that a value without
    /// content may be the one that was meant, or be written by it.
    pub(super) wrong_outs: bool,
    pub(super) diagnostics: Messages,
    /// Indices of the values in ascending order, if they leave gaps.
    pub(super) numbers: Vec<u32>,
    /// Warning about these gaps.
    pub(super) gap: Option<NodeDiagnostic>,
    /// Arguments of each delegate; none if its payload is stated as bytes.
    pub(super) graph_arguments: Vec<Vec<GraphArgument>>,
    /// Values that are referred to by index.
    pub(super) references: Vec<(ValueId, NodeId)>,
    /// Instructions with errors, counted through all chains, and the number of these errors.
    pub(super) wrong_instructions: HashSet<usize>,
    pub(super) instruction_errors: usize,
}

/// Resolution state of a declared value.
#[derive(Clone, Copy, Default)]
pub(super) struct DeclarationState {
    pub(super) number: Option<ValueId>,
    /// It is initialised, or an instruction has written it.
    pub(super) written: bool,
    /// An instruction writes it, and it has no other content.
    pub(super) produced: bool,
    /// An entry among the instructions numbers it.
    pub(super) positioned: bool,
    pub(super) is_input: bool,
    pub(super) is_output: bool,
    pub(super) reported: bool,
}

/// A value whose index is assigned.
pub(super) enum NumberedValue {
    Declared(usize),
    Anonymous(EValue, NodeId),
}
impl<'d, 'a, 'f> MethodResolver<'d, 'a, 'f> {
    /// Creates the resolver of a method. `implied` has the values that its instructions declare
    /// ([`implied::declarations`]).
    pub(super) fn new(
        method: &'d Method<'a>,
        implied: &'d [Declaration<'a>],
        program: &'f mut Program,
        finder: &'f mut Finder<'d, 'a>,
        lookup: &'f mut OperatorLookup<'static>,
    ) -> Self {
        let values: Vec<&'d Declaration<'a>> = method.values.iter().chain(implied).collect();
        MethodResolver {
            names: HashMap::with_capacity(values.len()),
            delegates: method.delegates.iter().enumerate().map(|(i, d)| (&*d.name.value, i)).collect(),
            bases: Vec::new(),
            declared: vec![DeclarationState::default(); values.len()],
            requested: BTreeMap::new(),
            next: 0,
            slots: Vec::with_capacity(values.len()),
            item_numbers: HashMap::new(),
            reported_operators: HashMap::new(),
            operators: IndexMap::new(),
            op_indices: HashMap::new(),
            declarations: HashMap::new(),
            unfinished: BTreeMap::new(),
            invalid: Vec::new(),
            expanded: HashSet::new(),
            origins: MethodOrigins { id: method.name.id, ..MethodOrigins::default() },
            undeclared: HashSet::new(),
            has_unknown: false,
            wrong_outs: false,
            diagnostics: Messages::default(),
            numbers: Vec::new(),
            gap: None,
            graph_arguments: Vec::new(),
            references: Vec::new(),
            wrong_instructions: HashSet::new(),
            instruction_errors: 0,
            method,
            values,
            program,
            finder,
            lookup,
        }
    }

    pub(super) fn error(&mut self, code: Code, at: NodeId, message: impl Into<String>, label: impl Into<String>) {
        self.diagnostics.push(code.error(at, message).label(label));
    }

    /// Reports an error that was found.
    pub(super) fn noted<T>(&mut self, found: Result<T, NodeDiagnostic>) -> Option<T> {
        found.map_err(|diagnostic| self.diagnostics.push(diagnostic)).ok()
    }

    /// Resolves the method. Value indices are assigned in this order: declared values that no instruction produces,
    /// then the values of the instructions, then those that only the outputs use.
    pub(super) fn run(&mut self) -> ExecutionPlan {
        let method = self.method;
        self.note_names();
        self.find_bases();
        self.check_bases();
        self.note_requested_numbers();
        self.note_inputs_and_outputs();
        self.note_produced();
        for operator in &method.operators {
            self.operator(operator.value.as_ref());
            if self.resolve(&operator.value).is_none() {
                self.warn_unknown_operator(operator);
            }
        }
        for declaration in 0..self.values.len() {
            if !self.declared[declaration].produced && !self.declared[declaration].positioned {
                self.number(declaration);
            }
        }
        let inputs: Vec<ValueId> = method.inputs.iter().map(|input| self.input(input)).collect();
        let chains: Vec<Chain> = method.chains.iter().map(|chain| self.chain(chain)).collect();
        let outputs: Vec<ValueId> = method.outputs.iter().map(|output| self.output(output)).collect();
        // Values whose producing call was invalid still need an index.
        for declaration in 0..self.values.len() {
            self.number(declaration);
        }
        let getter =
            inputs.is_empty() && chains.iter().all(|chain| chain.instructions.as_ref().is_none_or(Vec::is_empty));
        let delegates = self.delegates();
        let values = self.values();
        let mut plan = ExecutionPlan {
            name: Some(method.name.value.clone().into_owned()),
            container_meta_type: match &method.container_meta {
                Some(given) => given.clone(),
                None => Some(ContainerMetadata::flat(inputs.len(), outputs.len(), getter)),
            },
            values: Some(values),
            inputs: Some(inputs),
            outputs: Some(outputs),
            chains: Some(chains),
            operators: Some(self.operators()),
            delegates: Some(delegates),
            memory: MemoryRequest {
                non_const_buffer_sizes: method.memory.sizes.clone(),
                non_const_buffer_device: method.memory.devices.as_ref().map(|devices| {
                    devices.iter().map(|of| NonConstBufferDevice::new(of.buffer_idx, of.device)).collect()
                }),
                alignment: method.memory.alignment,
                planner: method.memory.planner,
                padding: method.memory.padding,
                shared_order: method.memory.shared_order,
                reserved: std::iter::once(0).chain(method.memory.reserved.iter().copied()).collect(),
            },
        };
        self.close_gaps(&mut plan);
        self.infer(&mut plan);
        plan
    }

    /// Renumbers the values if their indices leave gaps. This is a warning unless the program is pruned.
    fn close_gaps(&mut self, plan: &mut ExecutionPlan) {
        let numbers = std::mem::take(&mut self.numbers);
        let Some(last) = numbers.last() else { return };
        let position = |number: u32| numbers.binary_search(&number).ok();
        for (number, at) in std::mem::take(&mut self.references) {
            if u32::try_from(number.0).is_ok_and(|number| number < *last && position(number).is_none()) {
                let message = format!("no value has the index {number}");
                self.error(Code::UnknownValue, at, message, "expected the index of a value");
            }
        }
        let map =
            |number: i64| u32::try_from(number).ok().and_then(position).map_or(number, |position| position as i64);
        renumber_values(plan, map);
        let known = self.declared.iter_mut().filter_map(|known| known.number.as_mut());
        known.for_each(|number| number.0 = map((*number).into()) as i32);
        let unfinished = std::mem::take(&mut self.unfinished).into_values();
        self.unfinished = unfinished.filter_map(|value| Some((self.declared[value].number?, value))).collect();
    }

    pub(super) fn note_names(&mut self) {
        for (declaration, value) in self.values.iter().enumerate() {
            if let Some(first) = self.names.insert(&value.name.value, declaration) {
                let duplicate =
                    Code::DuplicateKey.error(value.name.id, format!("duplicate key `{}`", value.name.value));
                let first = self.values[first].name.id;
                self.diagnostics.push(duplicate.label("duplicate").related(first, "first defined here"));
            }
        }
    }

    pub(super) fn note_requested_numbers(&mut self) {
        for (declaration, value) in self.values.iter().enumerate() {
            let Some(index) = &value.index else { continue };
            if let Some(other) = self.requested.insert(index.value, declaration) {
                let first = self.values[other].index.as_ref().map_or(value.name.id, |index| index.id);
                let duplicate = Code::DuplicateName.error(index.id, format!("duplicate value index {}", index.value));
                self.diagnostics.push(duplicate.label("duplicate").related(first, "first defined here"));
            }
        }
    }

    pub(super) fn note_inputs_and_outputs(&mut self) {
        let method = self.method;
        for (list, input) in [(&method.inputs, true), (&method.outputs, false)] {
            for item in list {
                if let Literal::Word(name) = &item.value
                    && let Some(declaration) = self.names.get(&**name)
                {
                    let known = &mut self.declared[*declaration];
                    if input && known.is_input {
                        let duplicate = Code::DuplicateName.error(item.id, format!("duplicate input `{name}`"));
                        let duplicate = duplicate.label("duplicate: for the runtime both are one tensor, set twice");
                        let help = "declare a value for each input, as the exporter does; {index: N} refers to one again on purpose";
                        self.diagnostics.push(duplicate.help(help));
                    }
                    known.is_input |= input;
                    known.is_output |= !input;
                }
            }
        }
        self.wrong_outs |= method.actions().any(|action| matches!(action, Action::Unknown(_)));
        for (declaration, value) in self.values.iter().enumerate() {
            let known = &mut self.declared[declaration];
            known.written = known.is_input
                || match &value.value {
                    Declared::Tensor(tensor) => tensor.data.is_some() || tensor.mutable || tensor.external.is_some(),
                    Declared::Other(_) => true,
                };
        }
    }

    /// Marks the declared values whose index is assigned where an instruction produces them.
    pub(super) fn note_produced(&mut self) {
        let method = self.method;
        let mut produced = Vec::new();
        let mut positioned = Vec::new();
        for action in method.actions() {
            match action {
                Action::Kernel { name, args, out: None } => {
                    let written = self.written_on_stack(name, args);
                    produced.extend(written);
                }
                Action::Kernel { name, args, out: Some(outs) } => {
                    let overwrites = self.resolve(&name.value).is_some_and(|operator| operator.needs_no_content(0));
                    let outs = outs.iter().filter_map(|out| self.names.get(&*out.value).copied());
                    // A declared tensor that an operator works on in place existed before: the state of a loop.
                    let in_place = args.first().and_then(|first| self.declaration_of(first));
                    let in_place = in_place.filter(|first| *first < method.values.len() && overwrites);
                    produced.extend(outs.filter(|out| Some(*out) != in_place));
                }
                Action::Delegate { args, .. } => {
                    let unwritten = self.unwritten_tensors(args);
                    produced.extend(unwritten);
                }
                Action::Plain(..) => {
                    produced.extend(action.operand(FieldRole::Write).and_then(|to| self.declaration_of(to)));
                }
                Action::Value(name) => positioned.extend(self.names.get(&*name.value).copied()),
                Action::View { .. } | Action::Unknown(_) => {}
            }
        }
        self.expanded.clear();
        for declaration in 0..self.values.len() {
            // No instruction produces a view; its index is assigned at its first use.
            self.declared[declaration].produced =
                self.view_of(declaration).is_some() && !self.declared[declaration].is_input;
        }
        for declaration in positioned {
            self.declared[declaration].positioned = true;
        }
        for declaration in produced {
            let known = &mut self.declared[declaration];
            let stays = self.values[declaration].tensor().is_some() && known.written;
            known.produced |= !stays && !known.is_input;
        }
    }

    pub(super) fn declaration_of(&self, literal: &At<Literal<'a>>) -> Option<usize> {
        match &literal.value {
            Literal::Word(name) => self.names.get(&**name).copied(),
            _ => None,
        }
    }

    /// Declared values that a call without `out` writes: by the operator's schema, otherwise every unwritten tensor.
    pub(super) fn written_on_stack(&mut self, name: &'d Word<'a>, args: &'d [At<Literal<'a>>]) -> Vec<usize> {
        match self.resolve(&name.value) {
            Some(operator) => {
                let outs = args.iter().enumerate().filter(|(position, _)| operator.access(&[], *position).is_result());
                outs.flat_map(|(_, arg)| self.with_items(arg, false)).collect()
            }
            None => self.unwritten_tensors(args),
        }
    }

    /// Declared value of an argument, after the items of a list: a call that writes a list, such as a split, writes its
    /// tensors. The items of a declared list are returned once, and once for `unwritten`: later calls write what is
    /// numbered and written then.
    fn with_items(&mut self, arg: &At<Literal<'a>>, unwritten: bool) -> Vec<usize> {
        let declaration = self.declaration_of(arg);
        if declaration.is_some_and(|declaration| !self.expanded.insert((declaration, unwritten))) {
            return declaration.into_iter().collect();
        }
        let list = match declaration.map(|declaration| &self.values[declaration].value) {
            Some(Declared::Other(literal)) => &literal.value,
            Some(Declared::Tensor(_)) => return declaration.into_iter().collect(),
            None => &arg.value,
        };
        let items: &[At<Literal<'a>>] = match list {
            Literal::List(items) | Literal::Typed(ListKind::Tensor | ListKind::OptionalTensor, items) => items,
            _ => &[],
        };
        items.iter().filter_map(|item| self.declaration_of(item)).chain(declaration).collect()
    }

    pub(super) fn unwritten_tensors(&mut self, args: &[At<Literal<'a>>]) -> Vec<usize> {
        let found: Vec<usize> = args.iter().flat_map(|arg| self.with_items(arg, true)).collect();
        let is_unwritten = |declaration: &usize| {
            self.written(*declaration).is_some() && !self.declared[self.base_of(*declaration)].written
        };
        found.into_iter().filter(is_unwritten).collect()
    }

    /// Returns an operator, if its signature is known.
    pub(super) fn resolve(&mut self, name: &str) -> Option<Arc<ResolvedOperator>> {
        self.lookup.find(name)
    }

    /// Returns the next index that no declared value requests.
    pub(super) fn allocate(&mut self) -> ValueId {
        while self.requested.contains_key(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        ValueId(self.next as i32 - 1)
    }

    /// Returns the index of a declared value, and assigns it if it has none.
    pub(super) fn number(&mut self, declaration: usize) -> ValueId {
        if let Some(number) = self.declared[declaration].number {
            return number;
        }
        let value = self.values[declaration];
        let ints = match &value.value {
            Declared::Other(At { value: Literal::Typed(ListKind::Int, items), .. }) => Some(items),
            // A list without a kind is an IntList unless an item is a floating point number.
            Declared::Other(At { value: Literal::List(items), .. }) => {
                let fraction = items.iter().any(|item| matches!(item.value, Literal::Double(_)));
                Some(items).filter(|_| !fraction)
            }
            _ => None,
        };
        if let Some(items) = ints {
            let numbers = items.iter().map(|item| self.number_item(item)).collect();
            self.item_numbers.insert(declaration, numbers);
        }
        if let Declared::Other(At {
            value: Literal::Typed(ListKind::Tensor | ListKind::OptionalTensor, items), ..
        }) = &value.value
        {
            // The runtime reads a list after its items (M-9).
            for item in items.iter().filter_map(|item| self.declaration_of(item)).collect::<Vec<_>>() {
                if self.written(item).is_some() {
                    self.number(item);
                }
            }
        }
        let number = match &value.index {
            Some(index) => ValueId(index.value as i32),
            None => self.allocate(),
        };
        self.declared[declaration].number = Some(number);
        self.slots.push((number.0 as u32, NumberedValue::Declared(declaration)));
        number
    }

    /// Returns the index of a literal item of a declared list, which becomes a value of its own before the list (E-5).
    pub(super) fn number_item(&mut self, item: &At<Literal<'a>>) -> Option<ValueId> {
        let value =
            matches!(item.value, Literal::Int(_) | Literal::Dtype(_) | Literal::MemoryFormat(_) | Literal::Index(_));
        value.then(|| self.argument(item, None, ""))
    }

    /// Adds an anonymous value and returns its index.
    pub(super) fn push(&mut self, value: EValue, at: NodeId) -> ValueId {
        let number = self.allocate();
        self.slots.push((number.0 as u32, NumberedValue::Anonymous(value, at)));
        number
    }

    /// Looks up a declared value by name; reports unknown names.
    pub(super) fn find(&mut self, name: &str, at: NodeId) -> Option<usize> {
        let found = self.names.get(name).copied();
        self.has_unknown |= found.is_none();
        if found.is_none() && !self.undeclared.contains(name) {
            let message = format!("unknown value `{}` in method `{}`", clipped(name), clipped(&self.method.name.value));
            let mut unknown = Code::UnknownValue.error(at, message).label("neither under `values` nor written before");
            match (name, ScalarType::parse(name)) {
                ("None" | "none", _) => unknown.set_replacement("None is written `", "null", "`"),
                (_, Some(found)) => {
                    unknown.set_replacement("an element type is written `", &format!("{{dtype: {found}}}"), "`");
                }
                (_, None) => {
                    unknown = unknown.suggest_among(self.diagnostics.len(), name, self.names.keys().copied());
                }
            }
            self.diagnostics.push(unknown);
        }
        found
    }

    /// Adds to the message about an unknown name, if it was just reported, that a string is written as a map. For a
    /// position where a string is valid.
    pub(super) fn suggest_string(&mut self, name: &str) {
        let is_new = !self.names.contains_key(name) && !self.undeclared.contains(name);
        let text = crate::ir::yaml::text(name);
        match self.diagnostics.last_mut().filter(|unknown| is_new && unknown.help.is_none()) {
            Some(unknown) if text == clipped(name) => {
                unknown.set_replacement("for a string, write ", &format!("{{string: {text}}}"), "");
            }
            Some(unknown) => unknown.help = Some(format!("for a string, write {{string: {}}}", clipped(name))),
            None => {}
        }
    }

    /// Reports, once, the name of a value that must be declared because no rule infers it. `help` says how.
    pub(super) fn check_declared(&mut self, literal: &'d At<Literal<'a>>, help: &str) {
        let Literal::Word(name) = &literal.value else { return };
        if self.find(name, literal.id).is_none()
            && self.undeclared.insert(name)
            && let Some(unknown) = self.diagnostics.last_mut()
        {
            unknown.help.get_or_insert_with(|| help.to_owned());
        }
    }

    /// Returns the index of a value that cannot be a string: the condition of a jump, or a value to release.
    pub(super) fn operand(&mut self, literal: &At<Literal<'a>>) -> ValueId {
        match &literal.value {
            Literal::Word(name) => self.read(name, literal.id),
            _ => self.argument(literal, None, ""),
        }
    }

    /// Index of a named value that an instruction reads.
    pub(super) fn read(&mut self, name: &str, at: NodeId) -> ValueId {
        let Some(declaration) = self.find(name, at) else { return ValueId(0) };
        let help =
            "make it an input, give it `data`, make it `mutable`, or write it earlier: as `out` of an instruction";
        let message = || format!("`{name}` is read before anything writes it");
        self.number_with_content(declaration, at, message, "has no content here", help)
    }

    /// Index of a named value that has content, which is reported, once, if it has none.
    fn number_with_content(
        &mut self,
        declaration: usize,
        at: NodeId,
        message: impl Fn() -> String,
        label: &str,
        help: &str,
    ) -> ValueId {
        let base = self.base_of(declaration);
        let known = &mut self.declared[base];
        if !known.written && !known.reported && !self.wrong_outs {
            known.reported = true;
            self.diagnostics.push(Code::UnwrittenValue.error(at, message()).label(label).help(help));
        }
        self.number(declaration)
    }

    /// Index of a named value that an instruction writes; marks it as written.
    pub(super) fn write(&mut self, word: &Word<'a>) -> ValueId {
        let number = self.number_written(word);
        self.mark_written(&word.value);
        number
    }

    /// Index of a value that an instruction writes, without marking it as written.
    pub(super) fn number_written(&mut self, word: &Word<'a>) -> ValueId {
        let Some(declaration) = self.find(&word.value, word.id) else {
            self.wrong_outs = true;
            return ValueId(0);
        };
        if self.written(declaration).is_some_and(ParsedTensor::is_constant) {
            let constant =
                Code::WrittenConstant.error(word.id, format!("`{}` is a constant and cannot be written", word.value));
            self.diagnostics
                .push(constant.label("has data").help("with `mutable: true` its data are its initial state"));
        }
        self.number(declaration)
    }

    pub(super) fn mark_written(&mut self, name: &str) {
        if let Some(declaration) = self.names.get(name) {
            let base = self.base_of(*declaration);
            self.declared[base].written = true;
        }
    }

    /// Checks that the outs are distinct values of the kind that the operator writes.
    pub(super) fn check_outs(&mut self, outs: &[Word<'a>], expected_base: Option<Base>) {
        for (position, out) in outs.iter().enumerate().filter(|(_, out)| out.value != MISSING_OUT) {
            if outs[..position].iter().any(|other| other.value == out.value) {
                let message = format!("duplicate out `{}`", out.value);
                self.error(Code::DuplicateName, out.id, message, "each out must be a different value");
            }
            let Some(expected_base) = expected_base else { continue };
            let Some(declared) = self.declared_as(&out.value) else { continue };
            let is_tensor = matches!(declared, Declared::Tensor(_));
            if is_tensor != (expected_base == Base::Tensor) {
                let (found, expected) = if is_tensor { ("a tensor", "a number") } else { ("no tensor", "a tensor") };
                let message = format!("`{}` is {found}; the operator writes {expected}", out.value);
                self.error(Code::ArgumentKind, out.id, message, format!("expected {expected}"));
            }
        }
    }

    /// Returns the tensor whose memory a tensor shares; itself if it is not a view.
    pub(super) fn base_of(&self, declaration: usize) -> usize {
        self.bases[declaration]
    }

    /// Finds the base of each view. Each view of a cycle, or of one in a cycle, is its own base; [`Self::check_bases`]
    /// reports it.
    fn find_bases(&mut self) {
        let count = self.values.len();
        let next = |declaration: usize| self.names.get(&*self.view_of(declaration)?.value).copied();
        let mut bases: Vec<Option<usize>> = vec![None; count];
        for declaration in 0..count {
            if self.view_of(declaration).is_none() {
                bases[declaration] = Some(declaration);
                continue;
            }
            let mut path = vec![declaration];
            let mut on_path = HashSet::from([declaration]);
            let mut base = declaration;
            while bases[base].is_none() {
                match next(base) {
                    Some(of) if on_path.insert(of) => {
                        path.push(of);
                        base = of;
                    }
                    Some(_) => {
                        path.iter().for_each(|step| bases[*step] = Some(*step));
                    }
                    None => bases[base] = Some(base),
                }
            }
            let end = bases[base];
            path.iter().for_each(|step| _ = bases[*step].get_or_insert(end.unwrap_or(*step)));
        }
        self.bases = bases.into_iter().enumerate().map(|(declaration, base)| base.unwrap_or(declaration)).collect();
    }

    /// Reports views whose base is unknown, is not a tensor, or is a view of the view itself. No further errors are
    /// reported about such views.
    fn check_bases(&mut self) {
        for declaration in 0..self.values.len() {
            let Some(view_of) = self.view_of(declaration) else { continue };
            let Some(of) = self.find(&view_of.value, view_of.id) else {
                self.declared[declaration].reported = true;
                continue;
            };
            if let Declared::Other(_) = self.values[of].value {
                let message = format!("`{}` is not a tensor", clipped(&view_of.value));
                self.error(Code::InvalidView, view_of.id, message, "expected a tensor with memory or data of its own");
            }
            if self.bases[declaration] == declaration && !self.declared[declaration].reported {
                self.report_cycle(declaration);
            }
        }
    }

    /// What a name is declared as.
    pub(super) fn declared_as(&self, name: &str) -> Option<&'d Declared<'a>> {
        self.names.get(name).map(|declaration| &self.values[*declaration].value)
    }

    /// A tensor as declared; `None` of a literal.
    pub(super) fn written(&self, declaration: usize) -> Option<&'d ParsedTensor<'a>> {
        self.values[declaration].tensor()
    }

    /// The name of the base of a view.
    pub(super) fn view_of(&self, declaration: usize) -> Option<&'d Word<'a>> {
        self.written(declaration)?.view_of.as_ref()
    }

    /// Reports the cycle of views to which a view leads, unless it was reported for another view.
    fn report_cycle(&mut self, view: usize) {
        let mut path: Vec<(usize, &'d Word<'a>)> = Vec::new();
        let mut step = view;
        while !std::mem::replace(&mut self.declared[step].reported, true) {
            let Some(view_of) = self.view_of(step) else { return };
            let Some(of) = self.names.get(&*view_of.value).copied() else { return };
            path.push((step, view_of));
            step = of;
        }
        let Some(start) = path.iter().position(|(of, _)| *of == step) else { return };
        let (cycle, first) = (&path[start..], clipped(&self.values[step].name.value));
        let through = match &cycle[..cycle.len() - 1] {
            [] => String::new(),
            others => format!(" through {}", first_names(others.iter().map(|(_, of)| &*of.value))),
        };
        let message = format!("cyclic views: `{first}` is a view of itself{through}");
        self.error(Code::InvalidView, cycle[0].1.id, message, "expected a tensor with memory or data of its own");
    }

    /// Assigns the indices of the views among the arguments, before those of the values that the instruction produces.
    pub(super) fn number_views(&mut self, args: &[At<Literal<'a>>]) {
        for arg in args {
            if let Some(declaration) = self.declaration_of(arg).filter(|of| self.view_of(*of).is_some()) {
                self.number(declaration);
            }
        }
    }

    /// Assigns the index of a view at its position among the instructions.
    pub(super) fn view(&mut self, base: &'d Word<'a>, out: &'d Word<'a>, sizes: Option<&At<Vec<i32>>>) {
        // An unknown base is reported by `check_bases`, since `out` is declared as a view of it.
        if self.names.contains_key(&*base.value) {
            self.read(&base.value, base.id);
        }
        let Some(declaration) = self.names.get(&*out.value).copied() else { return };
        let stated = self.written(declaration).and_then(|tensor| tensor.sizes.as_ref());
        if self.declared[declaration].number.is_some() {
            let message = format!("`{}` is a value already where it becomes a view of `{}`", out.value, base.value);
            let help = "a name can be that of only one view, and can be used only after it";
            self.diagnostics.push(Code::InvalidView.error(out.id, message).label("expected a new name").help(help));
            return;
        }
        if let (Some(stated), Some(sizes)) = (stated, sizes)
            && stated.value != sizes.value
        {
            let message =
                format!("`{}` is declared with {:?}, and is a view of {:?} here", out.value, stated.value, sizes.value);
            self.error(Code::InvalidView, sizes.id, message, "expected the same sizes, or none under `values`");
        }
        if self.view_of(declaration).is_none_or(|of| of.value != base.value) {
            let message = format!("`{}` is declared, but not as a view of `{}`", out.value, base.value);
            let label = format!("declare it with `view_of: {}`, or not at all", base.value);
            self.error(Code::InvalidView, out.id, message, label);
        }
        self.number(declaration);
    }

    pub(super) fn input(&mut self, literal: &At<Literal<'a>>) -> ValueId {
        match &literal.value {
            Literal::Word(name) => {
                let Some(declaration) = self.find(name, literal.id) else {
                    self.wrong_outs = true;
                    return ValueId(0);
                };
                let has_content = |tensor: &ParsedTensor<'_>| tensor.data.is_some() || tensor.external.is_some();
                if self.written(declaration).is_some_and(has_content) {
                    let message = format!("the input `{name}` has data of its own");
                    self.error(Code::WrittenConstant, literal.id, message, "an input's content comes from the caller");
                }
                self.number(declaration)
            }
            _ => self.argument(literal, None, ""),
        }
    }

    pub(super) fn output(&mut self, literal: &At<Literal<'a>>) -> ValueId {
        let Literal::Word(name) = &literal.value else { return self.argument(literal, None, "") };
        let Some(declaration) = self.find(name, literal.id) else {
            if let Some(unknown) = self.diagnostics.last_mut() {
                let help = || format!("let the instruction that writes it name it: `out: {}`", clipped(name));
                unknown.help.get_or_insert_with(help);
            }
            // No value: what the tests expect of it is not known.
            return ValueId(-1);
        };
        let (message, label) = (|| format!("nothing writes the output `{name}`"), "has no content at the end");
        let help = match self.method.delegates.is_empty() {
            true => "let an instruction name it as `out`",
            false => "let an instruction name it as `out`, or the call of a delegate among its `args`",
        };
        self.number_with_content(declaration, literal.id, message, label, help)
    }
}
