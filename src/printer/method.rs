//! A method as text: names for its values, literals where they are used, one line for each value and instruction.
//!
//! It prints what a person would write; hints (numbers, places) only where [`Hints`] asks for them, since only assembling
//! the text tells whether they are needed.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::data::DataPrinter;
use super::yaml;
use crate::ir::resolve::container_metadata;
use crate::ir::shape;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, Program, Tensor, TensorData, contiguous};
use crate::schema::ScalarType;
use crate::schema::operators::{self, ArgKind, Base, Role, Signature};

/// What a method's text must say because assembling would not compute it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// Numbers of the values that no instruction produces and that are numbered behind one that an instruction does.
    pub late_numbers: bool,
    /// Numbers of all declared values.
    pub numbers: bool,
    /// Places of tensors and sizes of pools.
    pub memory: bool,
    /// The table of operators.
    pub operators: bool,
    /// The numbers of data that are in a `.ptd`.
    pub external: bool,
    /// Nothing is left to rules: every value is declared with its number, and referred to by it.
    pub everything: bool,
}

/// A method on its way to text.
pub struct MethodPrinter<'p> {
    plan: &'p ExecutionPlan,
    program: &'p Program,
    hints: Hints,
    /// Which of the layout's wishes delegates follow.
    delegates_inline: bool,
    names: Vec<Option<String>>,
    inlined: Vec<bool>,
    produced: HashSet<i32>,
    /// The least number of a produced value.
    first_produced: Option<i32>,
    signatures: Vec<Option<Signature>>,
    operators: Vec<String>,
}

impl<'p> MethodPrinter<'p> {
    /// Looks through a method: what is a literal, what is produced, what everything is called.
    pub fn new(
        program: &'p Program,
        plan: &'p ExecutionPlan,
        hints: Hints,
        delegates_inline: bool,
    ) -> MethodPrinter<'p> {
        let operators: Vec<String> = plan
            .operators
            .iter()
            .flatten()
            .map(|operator| {
                let name = operator.name.clone().unwrap_or_default();
                match operator.overload.as_deref() {
                    None | Some("") => name,
                    Some(overload) => format!("{name}.{overload}"),
                }
            })
            .collect();
        let signatures = operators.iter().map(|name| operators::find(name)).collect();
        let count = plan.values().len();
        let mut printer = MethodPrinter {
            plan,
            program,
            hints,
            delegates_inline,
            names: vec![None; count],
            inlined: vec![false; count],
            produced: HashSet::new(),
            first_produced: None,
            signatures,
            operators,
        };
        printer.find_produced();
        printer.first_produced = printer.produced.iter().copied().min();
        printer.find_literals();
        printer.find_names();
        printer
    }

    fn instructions(&self) -> impl Iterator<Item = &'p Instruction> + use<'p> {
        let plan = self.plan;
        plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten())
    }

    fn value(&self, index: i32) -> Option<&'p EValue> {
        self.plan.values().get(usize::try_from(index).ok()?)
    }

    /// Schema of the operator with this number, if it is known.
    fn signature(&self, op_index: i32) -> Option<&Signature> {
        self.signatures.get(usize::try_from(op_index).ok()?)?.as_ref()
    }

    /// Name of the operator with this number.
    fn operator(&self, op_index: i32) -> Option<&str> {
        self.operators.get(usize::try_from(op_index).ok()?).map(String::as_str)
    }

    /// How a call can be written.
    fn call<'c>(&self, op_index: i32, args: &'c [i32]) -> Call<'c> {
        let signature = self.signature(op_index);
        let whole = Call { ins: args, outs: &[], list: None };
        if self.hints.everything {
            return whole;
        }
        let Some(signature) = signature else {
            // An overload that ends in `out` is taken for an out variant, whose out is there twice.
            let name = self.operator(op_index);
            let out_variant = name.is_some_and(|name| name.rsplit_once('.').is_some_and(|(_, o)| o.ends_with("out")));
            return match args {
                [ins @ .., out, again] if out_variant && out == again => {
                    Call { ins, outs: &args[ins.len()..=ins.len()], list: None }
                }
                _ => whole,
            };
        };
        let (ins, outs) = (signature.ins().count(), signature.outs().count());
        if signature.outs().any(|out| out.kind.list) {
            return whole;
        }
        match outs {
            0 if signature.result.is_some() && args.len() == ins + 1 => {
                Call { ins: &args[..ins], outs: &args[ins..], list: None }
            }
            1 if args.len() == ins + 2 && args[ins] == args[ins + 1] => {
                Call { ins: &args[..ins], outs: &args[ins..=ins], list: None }
            }
            2.. if args.len() == ins + outs + 1 => {
                let (outs, list) = (&args[ins..ins + outs], args[ins + outs]);
                let is_list = matches!(self.value(list), Some(EValue::TensorList(Some(items))) if items == outs);
                if is_list { Call { ins: &args[..ins], outs, list: Some(list) } } else { whole }
            }
            _ => whole,
        }
    }

    /// Values that an instruction makes: the first that mentions them writes them.
    fn find_produced(&mut self) {
        let inputs: HashSet<i32> = self.plan.inputs.iter().flatten().copied().collect();
        let mut seen = inputs;
        for instruction in self.instructions() {
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    let signature = self.signature(*op_index);
                    let roles: Option<Vec<Role>> = signature.map(|s| s.args.iter().map(|arg| arg.role).collect());
                    for (position, arg) in args.iter().flatten().enumerate() {
                        let role = roles.as_ref().map(|roles| roles.get(position).copied().unwrap_or(Role::Out));
                        if seen.insert(*arg) && role.is_none_or(|role| role == Role::Out) {
                            self.produced.insert(*arg);
                        }
                    }
                }
                Instruction::DelegateCall { args, .. } => {
                    let new: Vec<i32> = args.iter().flatten().copied().filter(|arg| seen.insert(*arg)).collect();
                    self.produced.extend(new);
                }
                Instruction::MoveCall { move_to, .. } if seen.insert(*move_to) => _ = self.produced.insert(*move_to),
                _ => {}
            }
        }
    }

    /// Literals that one argument uses, and nothing else, are written there.
    fn find_literals(&mut self) {
        if self.hints.everything {
            return;
        }
        let count = self.plan.values().len();
        let mut uses = vec![0u32; count];
        let mut as_argument = vec![false; count];
        let mut count_use = |index: i64| {
            if let Some(uses) = usize::try_from(index).ok().and_then(|index| uses.get_mut(index)) {
                *uses += 1;
            }
        };
        for value in self.plan.values() {
            match value {
                EValue::IntList(Some(items)) => items.iter().for_each(|item| count_use(*item)),
                EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items)) => {
                    items.iter().for_each(|item| count_use((*item).into()));
                }
                _ => {}
            }
        }
        let both = self.plan.inputs.iter().chain(&self.plan.outputs).flatten();
        both.for_each(|index| count_use((*index).into()));
        let mut implied: HashSet<i32> = HashSet::new();
        let mut mark = |index: &i32| {
            if let Some(marked) = usize::try_from(*index).ok().and_then(|index| as_argument.get_mut(index)) {
                *marked = true;
            }
        };
        for instruction in self.instructions() {
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    let call = self.call(*op_index, args.as_deref().unwrap_or_default());
                    let used = call.ins.iter().chain(call.outs).copied().chain(call.list);
                    used.for_each(|index| count_use(index.into()));
                    call.ins.iter().for_each(&mut mark);
                    implied.extend(call.list);
                }
                Instruction::DelegateCall { args, .. } => {
                    args.iter().flatten().for_each(|index| count_use((*index).into()));
                    args.iter().flatten().for_each(&mut mark);
                }
                Instruction::MoveCall { move_from, move_to } => {
                    count_use((*move_from).into());
                    count_use((*move_to).into());
                    mark(move_from);
                }
                Instruction::JumpFalseCall { cond_value_index, .. } => {
                    count_use((*cond_value_index).into());
                    mark(cond_value_index);
                }
                Instruction::FreeCall { value_index } => count_use((*value_index).into()),
            }
        }
        let scalar = |value: &EValue| {
            matches!(
                value,
                EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) | EValue::String(Some(_))
            )
        };
        for (index, value) in self.plan.values().iter().enumerate() {
            if implied.contains(&(index as i32)) && uses[index] == 1 {
                self.inlined[index] = true;
                continue;
            }
            let alone = uses[index] == 1 && as_argument[index] && !self.produced.contains(&(index as i32));
            if !alone {
                continue;
            }
            match value {
                EValue::IntList(Some(items)) => {
                    let own = |item: &i64| {
                        usize::try_from(*item).ok().filter(|item| {
                            uses.get(*item) == Some(&1) && matches!(self.plan.values()[*item], EValue::Int(_))
                        })
                    };
                    let own: Option<Vec<usize>> = items.iter().map(own).collect();
                    if let Some(own) = own {
                        own.into_iter().for_each(|item| self.inlined[item] = true);
                        self.inlined[index] = true;
                    }
                }
                EValue::DoubleList(Some(_)) | EValue::BoolList(Some(_)) => self.inlined[index] = true,
                EValue::TensorList(Some(_)) | EValue::OptionalTensorList(Some(_)) => self.inlined[index] = true,
                value => self.inlined[index] = scalar(value),
            }
        }
    }

    /// Names: the fully qualified one, or after what the value is.
    fn find_names(&mut self) {
        let mut base: Vec<Option<String>> = vec![None; self.plan.values().len()];
        let mut suggest = |index: i32, name: &str| {
            if let Some(slot) = usize::try_from(index).ok().and_then(|index| base.get_mut(index)) {
                slot.get_or_insert_with(|| name.to_owned());
            }
        };
        for (index, tensor) in self.plan.tensors() {
            if let Some(name) = tensor.extra_tensor_info.as_ref().and_then(|extra| extra.fully_qualified_name.as_ref())
            {
                suggest(index as i32, name);
            }
        }
        let inputs = self.plan.inputs.as_deref().unwrap_or_default();
        for input in inputs {
            suggest(*input, "x");
        }
        for instruction in self.instructions() {
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    let name = self.operator(*op_index);
                    let short = name.map_or("value", |name| {
                        let name = name.split_once("::").map_or(name, |(_, name)| name);
                        name.split('.').next().unwrap_or(name).trim_matches('_')
                    });
                    for arg in args.iter().flatten().filter(|arg| self.produced.contains(arg)) {
                        suggest(*arg, short);
                    }
                }
                Instruction::DelegateCall { args, .. } => {
                    args.iter()
                        .flatten()
                        .filter(|arg| self.produced.contains(arg))
                        .for_each(|arg| suggest(*arg, "part"));
                }
                Instruction::MoveCall { move_to, .. } => suggest(*move_to, "merged"),
                _ => {}
            }
        }
        let mut taken: HashSet<String> = HashSet::new();
        let mut next: HashMap<String, u32> = HashMap::new();
        for (index, value) in self.plan.values().iter().enumerate() {
            if self.inlined[index] {
                continue;
            }
            let name = base[index].take().unwrap_or_else(|| fallback(value).to_owned());
            let mut unique = name.clone();
            while !taken.insert(unique.clone()) {
                let count = next.entry(name.clone()).or_insert(0);
                *count += 1;
                unique = format!("{name}_{count}");
            }
            self.names[index] = Some(unique);
        }
    }

    /// The method's lines below its name.
    ///
    /// # Errors
    /// Data that cannot be read or written.
    pub fn print(&self, out: &mut String, data: &mut DataPrinter<'_>) -> std::io::Result<()> {
        if self.names.iter().any(Option::is_some) {
            out.push_str("    values:\n");
        }
        for (index, value) in self.plan.values().iter().enumerate() {
            let Some(name) = &self.names[index] else { continue };
            let mut fields = match value {
                EValue::Tensor(tensor) => self.tensor(index, name, tensor, data)?,
                value => vec![self.declared(value)],
            };
            let plain = matches!(value, EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) | EValue::Null);
            let produced = self.produced.contains(&(index as i32));
            let late =
                self.hints.late_numbers && !produced && self.first_produced.is_some_and(|first| first < index as i32);
            if late || self.hints.numbers || self.hints.everything {
                fields.push(format!("index: {index}"));
            } else if plain {
                let _ = writeln!(out, "      {}: {}", yaml::text(name), self.literal(index, None));
                continue;
            }
            let _ = writeln!(out, "      {}: {{{}}}", yaml::text(name), fields.join(", "));
        }
        self.delegates(out, data)?;
        let references = |items: &[i32]| yaml::list(items.iter().map(|item| self.reference(*item)));
        let inputs = self.plan.inputs.as_deref().unwrap_or_default();
        if !inputs.is_empty() {
            let _ = writeln!(out, "    inputs: {}", references(inputs));
        }
        let outputs = self.plan.outputs.as_deref().unwrap_or_default();
        let _ = writeln!(out, "    outputs: {}", references(outputs));
        self.container_meta(out);
        self.memory(out);
        if self.hints.operators || self.hints.everything {
            let operators = yaml::list(self.operators.iter().map(|name| yaml::operator(name)));
            let _ = writeln!(out, "    operators: {operators}");
        }
        self.chains(out);
        Ok(())
    }

    fn delegates(&self, out: &mut String, data: &mut DataPrinter<'_>) -> std::io::Result<()> {
        if !self.plan.delegates().is_empty() {
            out.push_str("    delegates:\n");
        }
        for (number, delegate) in self.plan.delegates().iter().enumerate() {
            let blob = self.program.blob(delegate.processed);
            let backend = yaml::text(delegate.id.as_deref().unwrap_or_default());
            let mut fields =
                vec![format!("backend: {backend}"), format!("data: {}", data.bytes(blob, &format!("part{number}"))?)];
            let specs = delegate.compile_specs.as_deref().unwrap_or_default();
            if !specs.is_empty() {
                let spec = |spec: &crate::program::CompileSpec| {
                    let key = yaml::text(spec.key.as_deref().unwrap_or_default());
                    let value = data_encoding::HEXLOWER.encode(spec.value.as_deref().unwrap_or_default());
                    format!("{{key: {key}, value: {{hex: \"{value}\"}}}}")
                };
                fields.push(format!("compile_specs: {}", yaml::list(specs.iter().map(spec))));
            }
            if delegate.inline == Some(true) && blob.len > 0 && !self.delegates_inline {
                fields.push("inline: true".into());
            }
            let _ = writeln!(out, "      part{number}: {{{}}}", fields.join(", "));
        }
        Ok(())
    }

    fn container_meta(&self, out: &mut String) {
        let count = |list: &Option<Vec<i32>>| list.as_ref().map_or(0, Vec::len);
        let getter = count(&self.plan.inputs) == 0 && self.instructions().next().is_none();
        let computed = container_metadata(count(&self.plan.inputs), count(&self.plan.outputs), getter);
        match &self.plan.container_meta_type {
            Some(meta) if *meta == computed => {}
            None => out.push_str("    container_meta: null\n"),
            Some(meta) => {
                let quoted = |text: &Option<String>| {
                    text.as_ref().map_or("null".into(), |text| format!("'{}'", text.replace('\'', "''")))
                };
                let (inputs, outputs) = (quoted(&meta.encoded_inp_str), quoted(&meta.encoded_out_str));
                let _ = writeln!(out, "    container_meta:\n      inputs: {inputs}\n      outputs: {outputs}");
            }
        }
    }

    fn memory(&self, out: &mut String) {
        let mut fields = Vec::new();
        if self.hints.memory || self.hints.everything {
            let sizes = self.plan.memory.non_const_buffer_sizes.as_deref().unwrap_or_default();
            fields.push(format!("non_const_buffer_sizes: {}", yaml::list(sizes.iter().map(i64::to_string))));
            if let Some(devices) = &self.plan.memory.non_const_buffer_device {
                let device = |d: &crate::program::NonConstBufferDevice| {
                    format!("{{buffer_idx: {}, device: {}}}", d.buffer_idx, device(d.device_type, d.device_index))
                };
                fields.push(format!("non_const_buffer_device: {}", yaml::list(devices.iter().map(device))));
            }
        }
        if !fields.is_empty() {
            let _ = writeln!(out, "    memory: {{{}}}", fields.join(", "));
        }
    }

    fn chains(&self, out: &mut String) {
        let chains = self.plan.chains.as_deref().unwrap_or_default();
        let empty = |list: &Option<Vec<i32>>| list.as_ref().is_some_and(Vec::is_empty);
        if let [chain] = chains
            && empty(&chain.inputs)
            && empty(&chain.outputs)
        {
            if chain.instructions.as_ref().is_some_and(|list| !list.is_empty()) {
                out.push_str("    instructions:\n");
                self.chain(chain, "      ", out);
            }
            return;
        }
        out.push_str(if chains.is_empty() { "    chains: []\n" } else { "    chains:\n" });
        for chain in chains {
            let references =
                |items: &Option<Vec<i32>>| yaml::list(items.iter().flatten().map(|item| format!("{{index: {item}}}")));
            let _ = writeln!(out, "      - inputs: {}", references(&chain.inputs));
            let _ = writeln!(out, "        outputs: {}", references(&chain.outputs));
            let none = chain.instructions.as_ref().is_none_or(Vec::is_empty);
            let _ = writeln!(out, "        instructions:{}", if none { " []" } else { "" });
            self.chain(chain, "          ", out);
        }
    }

    fn chain(&self, chain: &crate::program::Chain, indent: &str, out: &mut String) {
        let instructions = chain.instructions.as_deref().unwrap_or_default();
        let mut targets: Vec<i32> = instructions
            .iter()
            .filter_map(|instruction| match instruction {
                Instruction::JumpFalseCall { destination_instruction, .. } => Some(*destination_instruction),
                _ => None,
            })
            .filter(|target| usize::try_from(*target).is_ok_and(|target| target <= instructions.len()))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        let label = |position: usize| targets.binary_search(&(position as i32)).ok().map(|number| format!("L{number}"));
        for (position, instruction) in instructions.iter().enumerate() {
            let mut fields = Vec::new();
            fields.extend(label(position).map(|label| format!("label: {label}")));
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    self.kernel(*op_index, args.as_deref().unwrap_or_default(), &mut fields)
                }
                Instruction::DelegateCall { delegate_index, args } => {
                    let known = usize::try_from(*delegate_index).is_ok_and(|index| index < self.plan.delegates().len());
                    fields.push(format!("delegate: {}{delegate_index}", if known { "part" } else { "" }));
                    let args = args.iter().flatten().map(|arg| self.argument(*arg, None));
                    fields.push(format!("args: {}", yaml::list(args)));
                }
                Instruction::MoveCall { move_from, move_to } => {
                    fields.push(format!(
                        "move: {{from: {}, to: {}}}",
                        self.argument(*move_from, None),
                        self.reference(*move_to)
                    ));
                }
                Instruction::JumpFalseCall { cond_value_index, destination_instruction } => {
                    let to = usize::try_from(*destination_instruction).ok().and_then(label);
                    let to = to.unwrap_or_else(|| destination_instruction.to_string());
                    fields.push(format!("jump_false: {{cond: {}, to: {to}}}", self.argument(*cond_value_index, None)));
                }
                Instruction::FreeCall { value_index } => fields.push(format!("free: {}", self.reference(*value_index))),
            }
            if let Some(Some(frames)) = chain.stacktrace.as_ref().and_then(|traces| traces.get(position)) {
                fields.push(format!("stacktrace: {}", yaml::list(frames.iter().map(frame))));
            }
            let _ = writeln!(out, "{indent}- {{{}}}", fields.join(", "));
        }
        if let Some(label) = label(instructions.len()) {
            let _ = writeln!(out, "{indent}- {{label: {label}}}");
        }
    }

    fn kernel(&self, op_index: i32, args: &[i32], fields: &mut Vec<String>) {
        let name = self.operator(op_index);
        fields.push(format!("kernel: {}", yaml::operator(name.unwrap_or_default())));
        let call = self.call(op_index, args);
        let signature = self.signature(op_index);
        let mut kinds: Vec<Option<ArgKind>> = Vec::new();
        if let Some(signature) = signature {
            match call.outs.is_empty() {
                true => kinds.extend(signature.args.iter().map(|arg| Some(arg.kind))),
                false => kinds.extend(signature.ins().map(|arg| Some(arg.kind))),
            }
        }
        let kind = |position: usize| kinds.get(position).copied().flatten();
        let args = call.ins.iter().enumerate().map(|(position, arg)| self.argument(*arg, kind(position)));
        fields.push(format!("args: {}", yaml::list(args)));
        match call.outs {
            [] => {}
            [out] => fields.push(format!("out: {}", self.reference(*out))),
            outs => fields.push(format!("out: {}", yaml::list(outs.iter().map(|out| self.reference(*out))))),
        }
    }

    /// A value where names are expected.
    fn reference(&self, index: i32) -> String {
        let name = usize::try_from(index).ok().and_then(|index| self.names.get(index)?.as_ref());
        match name {
            Some(name) if !self.hints.everything => yaml::text(name),
            _ => format!("{{index: {index}}}"),
        }
    }

    /// A value where literals may stand, too.
    fn argument(&self, index: i32, kind: Option<ArgKind>) -> String {
        match usize::try_from(index).ok().filter(|index| self.inlined.get(*index) == Some(&true)) {
            Some(literal) => self.literal(literal, kind),
            None => self.reference(index),
        }
    }

    /// A literal as short as the argument's kind allows.
    fn literal(&self, index: usize, kind: Option<ArgKind>) -> String {
        let base = kind.filter(|kind| !kind.list).map(|kind| kind.base);
        let ints = |items: &[i64]| {
            yaml::list(items.iter().map(|item| self.argument(i32::try_from(*item).unwrap_or(-1), None)))
        };
        let list_of = |wanted: Base| kind.is_some_and(|kind| kind.list && kind.base == wanted);
        match &self.plan.values()[index] {
            EValue::Null => "null".into(),
            EValue::Int(n) if base == Some(Base::Dtype) => {
                let dtype = i8::try_from(*n).ok().map(ScalarType).filter(|dtype| dtype.info().is_some());
                dtype.map_or_else(|| n.to_string(), |dtype| dtype.to_string())
            }
            EValue::Int(n) => n.to_string(),
            EValue::Bool(b) => b.to_string(),
            EValue::Double(x) => yaml::double(*x),
            EValue::String(Some(text))
                if base == Some(Base::Str) && yaml::text(text) == *text && !self.is_name(text) =>
            {
                text.clone()
            }
            EValue::String(text) => format!("{{string: {}}}", yaml::text(text.as_deref().unwrap_or_default())),
            EValue::IntList(Some(items)) if list_of(Base::Int) || (kind.is_none() && !items.is_empty()) => ints(items),
            EValue::TensorList(Some(items)) if kind.is_none_or(|kind| !kind.optional_items) => self.tensors(items),
            EValue::OptionalTensorList(Some(items))
                if kind.is_some_and(|kind| kind.optional_items) || items.contains(&-1) =>
            {
                self.tensors(items)
            }
            EValue::DoubleList(Some(items)) if list_of(Base::Float) => {
                yaml::list(items.iter().map(|x| yaml::double(*x)))
            }
            EValue::BoolList(Some(items)) if list_of(Base::Bool) => yaml::list(items.iter().map(bool::to_string)),
            other => format!("{{{}}}", self.declared(other)),
        }
    }

    /// A list of tensors; -1 stands for none (M-10).
    fn tensors(&self, items: &[i32]) -> String {
        yaml::list(items.iter().map(|item| if *item == -1 { "null".into() } else { self.reference(*item) }))
    }

    fn is_name(&self, text: &str) -> bool {
        self.names.iter().flatten().any(|name| name == text)
    }

    /// A value that says its kind: the key and its value.
    fn declared(&self, value: &EValue) -> String {
        match value {
            EValue::Null => "\"null\": null".into(),
            EValue::Int(n) => format!("int: {n}"),
            EValue::Bool(b) => format!("bool: {b}"),
            EValue::Double(x) => format!("double: {}", yaml::double(*x)),
            EValue::String(text) => format!("string: {}", yaml::text(text.as_deref().unwrap_or_default())),
            EValue::IntList(list) => {
                let list = list.iter().flatten().map(|item| self.argument(i32::try_from(*item).unwrap_or(-1), None));
                format!("int_list: {}", yaml::list(list))
            }
            EValue::DoubleList(list) => {
                format!("double_list: {}", yaml::list(list.iter().flatten().map(|x| yaml::double(*x))))
            }
            EValue::BoolList(list) => format!("bool_list: {}", yaml::list(list.iter().flatten().map(bool::to_string))),
            EValue::TensorList(list) => format!("tensor_list: {}", self.tensors(list.as_deref().unwrap_or_default())),
            EValue::OptionalTensorList(list) => {
                format!("optional_tensor_list: {}", self.tensors(list.as_deref().unwrap_or_default()))
            }
            EValue::Tensor(_) => String::new(),
        }
    }

    fn tensor(
        &self,
        index: usize,
        name: &str,
        tensor: &Tensor,
        data: &mut DataPrinter<'_>,
    ) -> std::io::Result<Vec<String>> {
        let sizes = tensor.sizes.as_deref().unwrap_or_default();
        let mut fields = vec![format!("tensor: {}", tensor.scalar_type)];
        fields.push(format!("sizes: {}", yaml::list(sizes.iter().map(i32::to_string))));
        let order = tensor.dim_order.as_deref().unwrap_or_default();
        if order != contiguous(sizes.len()) {
            fields.push(format!("dim_order: {}", yaml::list(order.iter().map(u8::to_string))));
        }
        let word = |words: &[&str], number: i8| {
            let word = usize::try_from(number).ok().and_then(|number| words.get(number));
            word.map_or_else(|| number.to_string(), |word| (*word).to_owned())
        };
        if tensor.shape_dynamism != 0 {
            fields.push(format!("dynamism: {}", word(shape::DYNAMISM, tensor.shape_dynamism)));
        }
        let input = self.plan.inputs.iter().flatten().any(|input| *input == index as i32);
        let planned = tensor.memory != Memory::None;
        let has_data = matches!(tensor.data, TensorData::Blob(_));
        if planned && (has_data || (!input && !self.produced.contains(&(index as i32)))) {
            fields.push("mutable: true".into());
        }
        match tensor.memory {
            Memory::At { pool, offset } if self.hints.memory || self.hints.everything => {
                fields.push(format!("memory: {{pool: {pool}, offset: {offset}}}"));
            }
            Memory::At { pool, .. } if pool != 1 => fields.push(format!("memory: {{pool: {pool}}}")),
            Memory::None if !has_data && tensor.data == TensorData::None && tensor.shape_dynamism != 2 => {
                fields.push("memory: none".into());
            }
            _ => {}
        }
        if let Some(extra) = &tensor.extra_tensor_info {
            if extra.location == 1 {
                fields.push("external: true".into());
            }
            if let Some(stated) =
                extra.fully_qualified_name.as_ref().filter(|stated| extra.location != 1 || *stated != name)
            {
                fields.push(format!("name: {}", yaml::text(stated)));
            }
            if (extra.device_type, extra.device_index) != (0, 0) {
                fields.push(format!("device: {}", device(extra.device_type, extra.device_index)));
            }
        }
        if tensor.storage_offset != 0 {
            fields.push(format!("storage_offset: {}", tensor.storage_offset));
        }
        if tensor.requires_grad {
            fields.push("requires_grad: true".into());
        }
        if tensor.layout != 0 {
            fields.push(format!("layout: {}", word(shape::TENSOR_LAYOUTS, tensor.layout)));
        }
        if let TensorData::Elsewhere(Some(number)) = tensor.data
            && (self.hints.external || self.hints.everything)
        {
            fields.push(format!("data_buffer_idx: {number}"));
        }
        if let TensorData::Blob(blob) = tensor.data {
            fields.push(format!("data: {}", data.tensor(self.program.blob(blob), tensor, name)?));
        }
        Ok(fields)
    }
}

/// A kernel call as it can be written: arguments and outs, or the whole stack.
struct Call<'c> {
    ins: &'c [i32],
    outs: &'c [i32],
    /// The list of several outs, which is implied.
    list: Option<i32>,
}

fn fallback(value: &EValue) -> &'static str {
    match value {
        EValue::Tensor(tensor) if matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None => {
            "constant"
        }
        EValue::Tensor(tensor) if tensor.memory != Memory::None => "state",
        EValue::Tensor(_) => "tensor",
        EValue::Null => "none",
        EValue::Int(_) => "int",
        EValue::Bool(_) => "flag",
        EValue::Double(_) => "double",
        EValue::String(_) => "text",
        _ => "list",
    }
}

fn device(device_type: i8, device_index: i8) -> String {
    let name = crate::schema::program::DEVICE_TYPE
        .name_of(device_type)
        .map_or_else(|| device_type.to_string(), str::to_lowercase);
    if device_index == 0 { name } else { format!("\"{name}:{device_index}\"") }
}

fn frame(frame: &crate::program::Frame) -> String {
    let mut fields = Vec::new();
    let mut text = |key: &str, value: &Option<String>| {
        fields.extend(value.as_ref().map(|value| format!("{key}: {}", yaml::text(value))));
    };
    text("filename", &frame.filename);
    text("name", &frame.name);
    text("context", &frame.context);
    if frame.lineno != 0 {
        fields.push(format!("lineno: {}", frame.lineno));
    }
    format!("{{{}}}", fields.join(", "))
}
