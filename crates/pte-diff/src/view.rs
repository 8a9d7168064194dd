//! A method of one side, prepared for a comparison: roles of its values, keys of its instructions for the alignment,
//! and descriptions.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::difference::DifferingPart;
use super::side::Side;
use pte_analysis::access::Accesses;
use pte_analysis::blocks::{InstructionRef, steps};
use pte_analysis::method::Method;
use pte_analysis::operators::{AccessKind, Usage};
use pte_model::diagnostics::{clipped, escaped};
use pte_model::program::element::Part;
use pte_model::program::instruction::Callee;
use pte_model::program::{
    BackendDelegate, DelegateId, Device, EValue, ExecutionPlan, FieldReference, Instruction, Memory, Operator, Tensor,
    TensorData, ValueId,
};
use pte_operators::Signature;

/// Use of a value, which determines how its counterpart is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueRole {
    /// An input of the method, by its first position.
    Input(usize),
    /// The result of a step; of the first one that writes it.
    Result(usize),
    /// A tensor with planned memory and a name or an initial state.
    State,
    /// A tensor with data that nothing writes. Equal ones are interchangeable.
    Constant,
    /// A value that is not a tensor, and that nothing writes. Equal ones are interchangeable.
    Literal,
    /// Anything else.
    Other,
}

impl ValueRole {
    /// Returns true if the value is compared by its content wherever it is used, without a fixed counterpart.
    pub fn is_by_content(self) -> bool {
        match self {
            ValueRole::Constant | ValueRole::Literal => true,
            ValueRole::Input(_) | ValueRole::Result(_) | ValueRole::State | ValueRole::Other => false,
        }
    }
}

/// A method of one side.
pub struct MethodView<'s> {
    /// Side that the method belongs to.
    pub side: &'s Side,
    /// Index of the method.
    pub number: usize,
    /// Method that is viewed.
    pub plan: &'s ExecutionPlan,
    /// Instructions of all chains, in their order.
    pub steps: Vec<InstructionRef<'s>>,
    /// Roles of the values.
    pub roles: Vec<ValueRole>,
    /// By value: an input, an output, an instruction or a used list refers to it.
    pub is_used: Vec<bool>,
    /// By value: an input or an output, for which the caller may provide memory.
    pub is_of_caller: Vec<bool>,
    /// What its instructions do.
    pub method: Method<'s>,
    /// Accesses of the steps and of the outputs to values. A planned tensor with a name has content: the caller can set
    /// it ([`ValueRole::State`]), unlike in those of `method`.
    pub accesses: Accesses,
}

/// Strength of keys. Weaker keys omit properties that edits often change. Those of graphs have no samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStrength {
    /// Key of the operator, literals, names and a few bytes of constants, inputs, and the operators that write the
    /// other arguments.
    Samples,
    /// Key like [`KeyStrength::Samples`], without the bytes of constants.
    Names,
    /// Key of the operator and the types of the arguments.
    Types,
    /// Operator.
    Operator,
    /// Key of the types of the results, whatever computes them.
    Results,
}

impl<'s> MethodView<'s> {
    /// Creates the view of method `number`.
    pub fn new(side: &'s Side, number: usize) -> MethodView<'s> {
        let plan = &side.program.plans()[number];
        let mut view = MethodView {
            side,
            number,
            plan,
            steps: steps(plan),
            roles: plan.values().iter().map(own_role).collect(),
            is_used: vec![false; plan.values().len()],
            is_of_caller: vec![false; plan.values().len()],
            method: Method::new(plan),
            accesses: Accesses::default(),
        };
        view.find_roles();
        view.find_uses();
        view
    }

    fn find_roles(&mut self) {
        let mut roles = std::mem::take(&mut self.roles);
        for (position, input) in self.plan.inputs.iter().flatten().enumerate() {
            if let Some(role) = input.item_mut(&mut roles)
                && !matches!(role, ValueRole::Input(_))
            {
                *role = ValueRole::Input(position);
            }
        }
        let has_content = roles.iter().map(|role| *role != ValueRole::Other).collect();
        self.accesses = Accesses::of(self.plan, &self.method.operators, has_content, &[]);
        for access in &self.accesses.list {
            let (value, number) = (access.value as usize, access.step as usize);
            let role = &mut roles[value];
            if access.writes() {
                *role = match *role {
                    ValueRole::Literal | ValueRole::Other => ValueRole::Result(number),
                    // A constant that is written is not interchangeable with an equal one.
                    ValueRole::Constant => ValueRole::Other,
                    ValueRole::Input(_) | ValueRole::Result(_) | ValueRole::State => *role,
                };
            } else if access.kind == AccessKind::Unknown && *role == ValueRole::Literal {
                // A number that is an argument may or may not be written.
                let is_number =
                    matches!(self.plan.values()[value], EValue::Int(_) | EValue::Bool(_) | EValue::Double(_));
                let args = self.steps.get(number).map_or(&[][..], |step| step.instruction.args());
                if is_number && args.get(access.arg as usize) == Some(&ValueId(access.value as i32)) {
                    *role = ValueRole::Other;
                }
            }
        }
        self.roles = roles;
    }

    fn find_uses(&mut self) {
        self.is_used.clone_from(&self.accesses.repeated_outs);
        self.accesses.list.iter().for_each(|access| self.is_used[access.value as usize] = true);
        for end in self.plan.inputs.iter().chain(&self.plan.outputs).flatten() {
            let items = self.plan.value(*end).into_iter().flat_map(|value| value.items().iter());
            for value in items.map(ValueId::of_int).chain([*end]) {
                value.item_mut(&mut self.is_used).into_iter().for_each(|used| *used = true);
                value.item_mut(&mut self.is_of_caller).into_iter().for_each(|of_caller| *of_caller = true);
            }
        }
    }

    /// Returns the signature of the operator that a kernel call names, if it is known.
    fn signature(&self, instruction: &Instruction) -> Option<&Signature> {
        Some(&self.method.operators.called(instruction)?.signature)
    }

    /// Returns the path of an argument of a step, in the field with this name.
    pub fn argument_path(&self, step: usize, field: &str, position: usize) -> String {
        let name = self.argument_name(self.steps[step].instruction, position);
        let name = name.map_or(String::new(), |name| format!(" ({name})"));
        format!("{}.{field}[{position}]{name}", self.step_path(step))
    }

    /// Returns the name of the argument at a position, if the operator is known.
    pub fn argument_name(&self, instruction: &Instruction, position: usize) -> Option<&str> {
        self.signature(instruction)?.args.get(position).map(|arg| &*arg.name)
    }

    /// Returns the operator of a kernel call.
    pub fn operator(&self, instruction: &Instruction) -> Option<&'s Operator> {
        self.plan.operator(instruction.operator()?)
    }

    /// Returns the delegate with an index.
    pub fn delegate(&self, id: DelegateId) -> Option<&'s BackendDelegate> {
        self.plan.delegate(id)
    }

    /// Returns the role of a value; `None` if there is no such value.
    pub fn role(&self, index: ValueId) -> Option<ValueRole> {
        index.item(&self.roles).copied()
    }

    /// Returns the positions in a chain.
    pub fn chain(&self, chain: u32) -> std::ops::Range<usize> {
        let start = self.steps.partition_point(|step| step.chain < chain);
        start..self.steps.partition_point(|step| step.chain <= chain)
    }

    /// Returns the path of a field of the method.
    pub fn field(&self, name: impl std::fmt::Display) -> String {
        format!("{}.{name}", self.side.method_path(self.number))
    }

    /// Returns the path of a step.
    pub fn step_path(&self, step: usize) -> String {
        let InstructionRef { chain, index, .. } = self.steps[step];
        self.side.path(self.number, Part::Instruction(chain as usize, index as usize))
    }

    /// Returns a step as a part of a difference.
    pub fn step_part(&self, step: usize) -> DifferingPart {
        DifferingPart::new(self.step_path(step), self.describe_step(step))
    }

    /// Returns the path of a value.
    pub fn value_path(&self, value: usize) -> String {
        self.side.path(self.number, Part::Value(value))
    }

    /// Returns the message about the reference of a tensor to its data; `None` if the reference is valid.
    pub fn missing(&self, value: usize) -> Option<&'s str> {
        match self.plan.values().get(value)?.as_tensor()?.data {
            TensorData::Elsewhere(_) => self.side.missing(&self.value_path(value)),
            TensorData::None | TensorData::Blob(_) => None,
        }
    }

    /// Returns the keys of the steps of a chain.
    pub fn keys(&self, steps: std::ops::Range<usize>, strength: KeyStrength) -> Vec<u64> {
        let mut known = vec![None; self.roles.len()];
        steps.map(|step| self.key(step, strength, &mut known)).collect()
    }

    /// Returns the key of a value of an input or output list.
    pub fn end_key(&self, value: ValueId) -> u64 {
        self.value_key(value, KeyStrength::Types, &mut [])
    }

    fn key(&self, step: usize, strength: KeyStrength, known: &mut [Option<u64>]) -> u64 {
        let instruction = self.steps[step].instruction;
        let mut hasher = DefaultHasher::new();
        if strength == KeyStrength::Results {
            return self.results_key(instruction, known);
        }
        instruction.key().hash(&mut hasher);
        for field in instruction.fields() {
            match field.reference {
                FieldReference::Operator(index) => match self.operator(instruction) {
                    Some(operator) => operator.hash(&mut hasher),
                    None => index.hash(&mut hasher),
                },
                FieldReference::Delegate(index) => {
                    let delegate = self.delegate(index);
                    delegate.map(|delegate| &delegate.id).hash(&mut hasher);
                    if strength == KeyStrength::Samples {
                        delegate.map(|delegate| self.side.sample(delegate.processed)).hash(&mut hasher);
                    }
                }
                FieldReference::Operand(value, _) if strength != KeyStrength::Operator => {
                    self.value_key(value, strength, known).hash(&mut hasher);
                }
                FieldReference::Args(args) if strength != KeyStrength::Operator => {
                    for arg in args.unwrap_or_default() {
                        self.value_key(*arg, strength, known).hash(&mut hasher);
                    }
                }
                FieldReference::Operand(..) | FieldReference::Args(_) | FieldReference::Destination(_) => {}
            }
        }
        hasher.finish()
    }

    /// Returns the key of the types of the results of an instruction.
    fn results_key(&self, instruction: &Instruction, known: &mut [Option<u64>]) -> u64 {
        let mut hasher = DefaultHasher::new();
        if instruction.callee().is_none() {
            instruction.key().hash(&mut hasher);
        }
        for Usage { position, value, kind } in self.method.operators.args(instruction) {
            let is_result = match kind {
                AccessKind::Unknown => position + 1 == instruction.args().len(),
                kind => kind != AccessKind::Read,
            };
            if is_result {
                self.value_key(value, KeyStrength::Types, known).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Returns the key of a value. The key of a list includes the keys of its items. `known` has the keys computed so
    /// far, or is empty.
    fn value_key(&self, index: ValueId, strength: KeyStrength, known: &mut [Option<u64>]) -> u64 {
        if let Some(Some(key)) = index.item(known) {
            return *key;
        }
        let key = self.fresh_key(index, strength, true);
        index.item_mut(known).into_iter().for_each(|slot| *slot = Some(key));
        key
    }

    fn fresh_key(&self, index: ValueId, strength: KeyStrength, with_items: bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        let Some((value, role)) = self.plan.value(index).zip(self.role(index)) else {
            ("no value", index).hash(&mut hasher);
            return hasher.finish();
        };
        value.tag().hash(&mut hasher);
        let is_weak = match strength {
            KeyStrength::Samples | KeyStrength::Names => false,
            KeyStrength::Types | KeyStrength::Operator | KeyStrength::Results => true,
        };
        if let EValue::Tensor(tensor) = value {
            (tensor.scalar_type, tensor.sizes.as_deref()).hash(&mut hasher);
            if is_weak {
                return hasher.finish();
            }
            let name = tensor.name();
            match role {
                ValueRole::Input(position) => ("input", position).hash(&mut hasher),
                ValueRole::Result(step) => {
                    let instruction = self.steps[step].instruction;
                    (instruction.key(), self.operator(instruction)).hash(&mut hasher);
                }
                ValueRole::State | ValueRole::Constant => {
                    name.hash(&mut hasher);
                    if let (KeyStrength::Samples, TensorData::Blob(blob)) = (strength, &tensor.data) {
                        self.side.sample(*blob).hash(&mut hasher);
                    }
                }
                ValueRole::Literal | ValueRole::Other => {}
            }
        } else if role == ValueRole::Literal && !is_weak {
            hash_content(value, &mut hasher);
            for item in value.items().iter().filter(|_| with_items) {
                let item = ValueId::of_int(item);
                self.fresh_key(item, strength, false).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Describes the type of a value: `float32 [2, 3]`, `Int`.
    pub fn describe_type(&self, index: usize) -> String {
        match &self.plan.values()[index] {
            EValue::Tensor(tensor) => tensor_type(tensor),
            value => value.kind().to_owned(),
        }
    }

    /// Describes a value as an argument: the content of a literal, otherwise its name, or the instruction that writes
    /// it.
    pub fn describe(&self, index: ValueId) -> String {
        self.describe_to(index, true)
    }

    fn describe_to(&self, index: ValueId, with_items: bool) -> String {
        let (Some(value), Some(role), Some(number)) = (self.plan.value(index), self.role(index), index.get()) else {
            return format!("no value {index}");
        };
        if let Some(name) = self.side.value_name(self.number, number) {
            return format!("`{}`", clipped(name));
        }
        let name =
            value.as_tensor().and_then(Tensor::name).map_or(String::new(), |name| format!(" `{}`", clipped(name)));
        match role {
            ValueRole::Input(position) => format!("inputs[{position}]{name}"),
            ValueRole::Result(step) => self.describe_result(step),
            ValueRole::State => format!("the state{name} {}", self.describe_type(number)),
            ValueRole::Constant => format!("the constant{name} {}", self.describe_type(number)),
            ValueRole::Literal => self.literal(value, with_items),
            ValueRole::Other => match value {
                EValue::Tensor(tensor) => format!("{}{name}", tensor_type(tensor)),
                _ => self.literal(value, with_items),
            },
        }
    }

    /// Describes the results of a step.
    pub fn describe_result(&self, step: usize) -> String {
        let InstructionRef { chain, index, instruction } = self.steps[step];
        let chain = if self.side_has_one_chain() { String::new() } else { format!("chains[{chain}].") };
        format!("the result of {chain}instructions[{index}] ({})", self.describe_callee(instruction))
    }

    fn side_has_one_chain(&self) -> bool {
        self.plan.chains.as_ref().is_some_and(|chains| chains.len() < 2)
    }

    /// Describes a literal by its content.
    fn literal(&self, value: &EValue, with_items: bool) -> String {
        let list = |shown: Vec<String>, count: usize| match count > shown.len() {
            true => format!("[{}, ... {count} items]", shown.join(", ")),
            false => format!("[{}]", shown.join(", ")),
        };
        match value {
            EValue::Null => "none".to_owned(),
            EValue::Int(number) => number.to_string(),
            EValue::Bool(bool) => bool.to_string(),
            EValue::Double(number) => format!("{number:?}"),
            EValue::String(None) => "absent".to_owned(),
            EValue::String(Some(text)) => format!("{:?}", clipped(text)),
            EValue::Tensor(tensor) => tensor_type(tensor),
            EValue::Unknown(tag) => format!("unknown kind {tag}"),
            EValue::DoubleList(None)
            | EValue::BoolList(None)
            | EValue::IntList(None)
            | EValue::TensorList(None)
            | EValue::OptionalTensorList(None) => "absent".to_owned(),
            EValue::DoubleList(Some(numbers)) => {
                list(numbers.iter().take(SHOWN_ITEMS).map(|number| format!("{number:?}")).collect(), numbers.len())
            }
            EValue::BoolList(Some(bools)) => {
                list(bools.iter().take(SHOWN_ITEMS).map(ToString::to_string).collect(), bools.len())
            }
            EValue::IntList(_) | EValue::TensorList(_) | EValue::OptionalTensorList(_) if !with_items => {
                "a list".to_owned()
            }
            EValue::IntList(_) | EValue::TensorList(_) | EValue::OptionalTensorList(_) => {
                let shown = value.items().iter().take(SHOWN_ITEMS).map(|item| match i32::try_from(item).map(ValueId) {
                    Ok(ValueId::NONE) => "none".to_owned(),
                    Ok(item) => self.describe_to(item, false),
                    Err(_) => format!("no value {item}"),
                });
                list(shown.collect(), value.items().len())
            }
        }
    }

    /// Describes the callee of an instruction: an operator, the backend of a delegate, or the kind of the instruction.
    pub fn describe_callee(&self, instruction: &Instruction) -> String {
        match instruction.callee() {
            Some(Callee::Operator(index)) => match self.operator(instruction) {
                Some(operator) => operator_name(operator),
                None => format!("no operator {index}"),
            },
            Some(Callee::Delegate(index)) => match self.delegate(index) {
                Some(delegate) => format!("delegate {}", delegate.id.as_deref().map_or("absent".into(), clipped)),
                None => format!("no delegate {index}"),
            },
            None => match instruction {
                Instruction::Unknown { tag } => format!("unknown instruction {tag}"),
                _ => instruction.key().to_owned(),
            },
        }
    }

    /// Describes an instruction with its arguments.
    pub fn describe_step(&self, step: usize) -> String {
        let instruction = self.steps[step].instruction;
        // A result that is an out is passed twice.
        let all: Vec<Usage> = self.method.operators.args(instruction).collect();
        let is_repeated = |usage: &Usage| {
            let before = usage.position.checked_sub(1).map(|before| all[before]);
            usage.kind.is_result() && before.is_some_and(|out| out.kind.is_result() && out.value == usage.value)
        };
        let args = all.iter().filter(|usage| !is_repeated(usage)).map(|Usage { value, kind, .. }| {
            match value.within(self.roles.len()).filter(|_| kind.is_result()) {
                Some(out) => format!("out: {}", self.describe_type(out)),
                None => self.describe(*value),
            }
        });
        let operands = instruction.operands().map(|(name, value, _)| format!("{name}: {}", self.describe(value)));
        let destination = instruction.destination().map(|to| format!("to: instructions[{to}]"));
        let mut shown: Vec<String> = args.take(SHOWN_ITEMS).chain(operands).chain(destination).collect();
        if all.len() > SHOWN_ITEMS + 1 {
            shown.push(format!("... {} arguments", all.len()));
        }
        format!("{}({})", self.describe_callee(instruction), shown.join(", "))
    }

    /// Returns a hash of the content of a value that is not a tensor. Instead of the index of an item of a list, it
    /// includes the type or the content of the item. `known` has the hashes of items computed so far.
    pub fn content_hash(&self, index: usize, known: &mut [Option<u64>]) -> u64 {
        let mut hasher = DefaultHasher::new();
        let value = &self.plan.values()[index];
        hash_content(value, &mut hasher);
        for item in value.items().iter() {
            match usize::try_from(item).ok().filter(|item| *item < known.len()) {
                Some(item) => self.item_hash(item, known).hash(&mut hasher),
                None => ("no value", item).hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    fn item_hash(&self, item: usize, known: &mut [Option<u64>]) -> u64 {
        *known[item].get_or_insert_with(|| {
            let mut hasher = DefaultHasher::new();
            let value = &self.plan.values()[item];
            value.tag().hash(&mut hasher);
            match value {
                EValue::Tensor(tensor) => (tensor.scalar_type, tensor.sizes.as_deref()).hash(&mut hasher),
                other => hash_content(other, &mut hasher),
            }
            hasher.finish()
        })
    }

    /// Describes an unused value. Long content is truncated, so that different values can have the same description.
    pub fn describe_unused(&self, index: usize) -> String {
        match &self.plan.values()[index] {
            EValue::Tensor(tensor) => {
                let name = tensor.name().map_or(String::new(), |name| format!(" `{}`", clipped(name)));
                format!("{}{name}", full_type(tensor))
            }
            // Indices and names of the source are omitted, because they are specific to this side.
            value @ (EValue::IntList(Some(_)) | EValue::TensorList(Some(_)) | EValue::OptionalTensorList(Some(_))) => {
                let item = |item: i64| {
                    let found = self.plan.value(ValueId::of_int(item));
                    found.map_or_else(|| item.to_string(), |value| self.literal(value, false))
                };
                let count = value.items().len();
                let shown: Vec<String> = value.items().iter().take(SHOWN_ITEMS).map(item).collect();
                format!("{} of {count}: {}", value.kind(), list(Some(&shown)))
            }
            value => format!("{} {}", value.kind(), self.literal(value, false)),
        }
    }
}

/// Hashes the content of a value, except tensors and the items of lists of values.
fn hash_content(value: &EValue, hasher: &mut DefaultHasher) {
    match value {
        EValue::Null | EValue::Tensor(_) => {}
        EValue::Unknown(tag) => tag.hash(hasher),
        EValue::Int(number) => number.hash(hasher),
        EValue::Bool(bool) => bool.hash(hasher),
        EValue::Double(number) => number.to_bits().hash(hasher),
        EValue::String(text) => text.hash(hasher),
        EValue::DoubleList(numbers) => numbers.iter().flatten().for_each(|number| number.to_bits().hash(hasher)),
        EValue::BoolList(bools) => bools.hash(hasher),
        EValue::IntList(_) | EValue::TensorList(_) | EValue::OptionalTensorList(_) => {}
    }
}

/// Maximum number of items of a list, and of arguments, in a description.
const SHOWN_ITEMS: usize = 8;

/// Returns the role of a value that no instruction refers to.
fn own_role(value: &EValue) -> ValueRole {
    let Some(tensor) = value.as_tensor() else { return ValueRole::Literal };
    match (&tensor.data, tensor.memory) {
        (TensorData::Blob(_) | TensorData::Elsewhere(_), Memory::None) => ValueRole::Constant,
        (TensorData::Blob(_) | TensorData::Elsewhere(_), _) => ValueRole::State,
        (TensorData::None, Memory::None) => ValueRole::Other,
        (TensorData::None, _) if tensor.name().is_some() => ValueRole::State,
        (TensorData::None, _) => ValueRole::Other,
    }
}

/// Describes a list of numbers.
pub fn list<T: ToString>(items: Option<impl IntoIterator<Item = T>>) -> String {
    let Some(items) = items else { return "absent".to_owned() };
    format!("[{}]", items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", "))
}

/// Describes element type and sizes of a tensor.
pub fn tensor_type(tensor: &Tensor) -> String {
    format!("{} {}", tensor.scalar_type, list(tensor.sizes.as_deref()))
}

/// Describes a device by its numbers.
pub fn numbers(device: Device) -> String {
    format!("{}:{}", device.device_type.0, device.index)
}

/// Describes a tensor with all fields.
fn full_type(tensor: &Tensor) -> String {
    use std::fmt::Write as _;
    let mut text = tensor_type(tensor);
    let order = list(tensor.dim_order.as_deref());
    let _ = write!(text, " dim_order {order}");
    for attribute in pte_model::program::attributes::TENSOR_ATTRIBUTES {
        let _ = write!(text, " {} {}", attribute.key, (attribute.get)(tensor));
    }
    if let Some(extra) = &tensor.extra_tensor_info {
        let _ = write!(text, " location {} device {}", extra.location.0, numbers(extra.device()));
    }
    let data = match tensor.data {
        TensorData::None => "",
        TensorData::Blob(_) => " with data",
        TensorData::Elsewhere(_) => " with external data",
    };
    text + data
}

/// Returns the name of an operator with its overload, which may be absent.
pub fn operator_name(operator: &Operator) -> String {
    match operator.full_name() {
        Some(name) => clipped(&name),
        None => format!("absent.{}", escaped(operator.overload.as_deref().unwrap_or_default())),
    }
}

/// Number of characters of a long string that are shown before and after the first difference.
const AROUND: usize = 40;

/// Returns the number of characters of the common prefix of two strings.
pub fn common_start(texts: [&str; 2]) -> usize {
    texts[0].chars().zip(texts[1].chars()).take_while(|(left, right)| left == right).count()
}

/// Returns the part of a string around the character at a position, in quotes.
pub fn excerpt(text: &str, at: usize) -> String {
    let start = at.saturating_sub(AROUND);
    let shown: String = text.chars().skip(start).take(2 * AROUND).collect();
    let is_cut = text.chars().nth(start + 2 * AROUND).is_some();
    format!("{}{shown:?}{}", if start > 0 { "..." } else { "" }, if is_cut { "..." } else { "" })
}

/// Returns different descriptions of two different texts: the start of each, or an excerpt around the first difference.
pub fn distinct(texts: [&str; 2]) -> [String; 2] {
    let starts = texts.map(clipped);
    if starts[0] != starts[1] {
        return starts;
    }
    let at = common_start(texts);
    texts.map(|text| excerpt(text, at))
}
