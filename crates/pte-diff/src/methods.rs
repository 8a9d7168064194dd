//! Compares methods with the same name: their inputs and outputs, instructions, operators and delegates.

use std::collections::{BTreeMap, HashMap, HashSet};

use indexmap::IndexSet;

use super::align::{Paired, align_levels, in_common_order, keyed, merged, numbered, per_side, with_gaps};
use super::contents;
use super::data::Found;
use super::dead::without_effect;
use super::delegates;
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::memory;
use super::side::Side;
use super::values::Matching;
use super::view::{KeyStrength, MethodView, common_start, excerpt, list, operator_name};
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::{
    ContainerMetadata, DelegateId, ExecutionPlan, FieldReference, Instruction, InstructionField, Operator, OperatorId,
    StackFrame, ValueId,
};
use pte_transform::prune;

/// Methods of two programs that have the same name, with the parts that correspond.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct MethodCorrespondence {
    /// Indices of the methods.
    pub methods: (usize, usize),
    /// Instructions, by their indices among those of all chains.
    pub instructions: Vec<(usize, usize)>,
    /// Values; constants and literals are those of arguments of instructions that correspond.
    pub values: Vec<(usize, usize)>,
}

/// Finds what of two programs corresponds.
#[doc(hidden)]
pub fn correspondence(sides: [&Side; 2]) -> Vec<MethodCorrespondence> {
    let methods = sides.map(|side| {
        let plans = side.program.plans().iter().enumerate();
        numbered(plans.map(|(number, plan)| (plan.name.as_deref(), number)))
    });
    let pairs = keyed(methods).into_iter().filter_map(|(_, [left, right])| left.zip(right));
    let of = |(left, right): (usize, usize)| {
        let views = [MethodView::new(sides[0], left), MethodView::new(sides[1], right)];
        let views = [&views[0], &views[1]];
        let method = MethodPair::new(views);
        let pairs = method.aligned.iter().enumerate().filter_map(|(left, right)| Some((left, (*right)?)));
        let instructions: Vec<(usize, usize)> = pairs.collect();
        let mut values = method.matching.pairs();
        let [mut is_left, mut is_right] = [HashSet::new(), HashSet::new()];
        values.iter().for_each(|(left, right)| _ = (is_left.insert(*left), is_right.insert(*right)));
        for (left, right) in &instructions {
            let args = [views[0].steps[*left].instruction.args(), views[1].steps[*right].instruction.args()];
            for (left, right) in args[0].iter().zip(args[1]) {
                let pair = left.within(views[0].roles.len()).zip(right.within(views[1].roles.len()));
                let is_free = |pair: &(usize, usize)| !is_left.contains(&pair.0) && !is_right.contains(&pair.1);
                if let Some((left, right)) = pair.filter(is_free) {
                    is_left.insert(left);
                    is_right.insert(right);
                    values.push((left, right));
                }
            }
        }
        MethodCorrespondence { methods: (left, right), instructions, values }
    };
    pairs.map(of).collect()
}

/// Compares the methods of two programs.
pub fn compare(sides: [&Side; 2], found: &mut Found) {
    let mut needed = Needed { sides, of: [None, None], dead: Default::default() };
    let methods = sides.map(|side| {
        let plans = side.program.plans().iter().enumerate();
        numbered(plans.map(|(number, plan)| (plan.name.as_deref(), number)))
    });
    // In the order of names.
    let part = |side: usize, method: usize| describe(sides[side], method);
    let pairs = keyed(methods).into_iter();
    let pairs = pairs.filter_map(|(_, pair)| found.both(DiffArea::Meaning, DiffTopic::Method, pair, part));
    let mut pairs: Vec<(usize, usize)> = pairs.map(<(usize, usize)>::from).collect();
    if !in_common_order(&mut pairs) {
        let order = |side: usize| {
            let mut numbers: Vec<usize> = pairs.iter().map(|pair| [pair.0, pair.1][side]).collect();
            numbers.sort_unstable();
            let paths: Vec<&str> = numbers.iter().take(8).map(|number| sides[side].method_path(*number)).collect();
            DifferingPart::new("methods", paths.join(", "))
        };
        found.moved(DiffArea::Layout, DiffTopic::Method, per_side(order));
    }
    for (l, r) in pairs {
        compare_method([MethodView::new(sides[0], l), MethodView::new(sides[1], r)], &mut needed, found);
    }
}

fn describe(side: &Side, method: usize) -> DifferingPart {
    let plan = &side.program.plans()[method];
    let instructions = counted(plan.instructions().count() as u64, "instruction");
    DifferingPart::new(side.method_path(method), instructions)
}

/// Instructions that have an effect. They are computed when an instruction without a counterpart first needs them.
struct Needed<'s> {
    sides: [&'s Side; 2],
    of: [Option<Vec<Vec<bool>>>; 2],
    /// By method: steps without effect according to [`dead`](super::dead).
    dead: [HashMap<usize, Vec<bool>>; 2],
}

impl Needed<'_> {
    /// Returns true if a step of a method has an effect.
    fn has(&mut self, side: usize, view: &MethodView<'_>, step: usize) -> bool {
        let program = &self.sides[side].program;
        let needed = self.of[side].get_or_insert_with(|| prune::needed_instructions(program));
        if !needed.get(view.number).and_then(|steps| steps.get(step)).copied().unwrap_or(true) {
            return false;
        }
        let dead = self.dead[side].entry(view.number).or_insert_with(|| without_effect(view));
        !dead.get(step).copied().unwrap_or(false)
    }
}

/// Two methods, with their instructions aligned.
struct MethodPair<'v, 's> {
    matching: Matching<'v>,
    views: [&'v MethodView<'s>; 2],
    /// Pairs of positions of inputs, and of outputs.
    inputs: Vec<Paired<usize>>,
    outputs: Vec<Paired<usize>>,
    /// By step of the left one: the step of the right one.
    aligned: Vec<Option<usize>>,
    /// By side and step, and for the end of the method: number of aligned steps before it in its chain.
    before: [Vec<usize>; 2],
    /// Pairs of delegates that aligned instructions call, in the order of the calls.
    delegates: IndexSet<(DelegateId, DelegateId)>,
}

fn compare_method(views: [MethodView<'_>; 2], needed: &mut Needed<'_>, found: &mut Found) {
    let views = [&views[0], &views[1]];
    let mut method = MethodPair::new(views);
    method.compare_ends(found);
    method.compare_steps(needed, found);
    contents::compare(views, &method.aligned, &method.outputs, &method.matching, found);
    method.matching.compare_all(found);
    method.compare_operators(needed, found);
    let called = std::mem::take(&mut method.delegates);
    delegates::compare(views, &called, found);
    memory::compare(views, found);
    method.compare_rest(found);
}
fn input(plan: &ExecutionPlan, position: usize) -> ValueId {
    plan.inputs.as_ref().and_then(|inputs| inputs.get(position)).copied().unwrap_or(ValueId::NONE)
}

/// Pairs the positions of two lists: all in order if both have the same length, otherwise those of the same type.
fn pair_lists(views: [&MethodView<'_>; 2], lists: [&Option<Vec<ValueId>>; 2]) -> Vec<Paired<usize>> {
    let [left, right] = lists.map(|list| list.as_deref().unwrap_or_default());
    if left.len() == right.len() {
        return (0..left.len()).map(|position| [Some(position); 2]).collect();
    }
    let keys = |side: usize, values: &[ValueId]| values.iter().map(|value| views[side].end_key(*value)).collect();
    with_gaps(align_levels(&[[keys(0, left), keys(1, right)]], [left.len(), right.len()]), [left.len(), right.len()])
}

/// Aligns the instructions of each chain.
pub fn align_steps(views: [&MethodView<'_>; 2]) -> Vec<(usize, usize)> {
    let count = |view: &MethodView<'_>| view.plan.chains.as_ref().map_or(0, Vec::len);
    let mut pairs = Vec::new();
    for chain in 0..count(views[0]).min(count(views[1])) {
        let spans = views.map(|view| view.chain(chain as u32));
        let lengths = [spans[0].len(), spans[1].len()];
        let keys = |strength| per_side(|side| views[side].keys(spans[side].clone(), strength));
        let names = keys(KeyStrength::Names);
        let found = match names[0] == names[1] {
            true => (0..lengths[0]).map(|position| (position, position)).collect(),
            // Data are only sampled where they make a difference.
            false => {
                let weaker = [KeyStrength::Types, KeyStrength::Operator, KeyStrength::Results].map(keys);
                let [types, operators, results] = weaker;
                align_levels(&[keys(KeyStrength::Samples), names, types, operators, results], lengths)
            }
        };
        pairs.extend(found.into_iter().map(|(left, right)| (spans[0].start + left, spans[1].start + right)));
    }
    pairs
}

/// Returns the number of aligned steps before each step, and before the end of all.
fn before(view: &MethodView<'_>, aligned: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut counts = vec![0; view.steps.len() + 1];
    aligned.for_each(|step| counts[step + 1] += 1);
    for step in 0..view.steps.len() {
        counts[step + 1] += counts[step];
    }
    counts
}

impl<'v, 's> MethodPair<'v, 's> {
    /// Aligns two methods.
    fn new(views: [&'v MethodView<'s>; 2]) -> MethodPair<'v, 's> {
        let mut matching = Matching::new(views);
        let inputs = pair_lists(views, [&views[0].plan.inputs, &views[1].plan.inputs]);
        for (left, right) in inputs.iter().filter_map(|pair| pair[0].zip(pair[1])) {
            matching.pair(input(views[0].plan, left), input(views[1].plan, right));
        }
        let pairs = align_steps(views);
        let mut aligned = vec![None; views[0].steps.len()];
        pairs.iter().for_each(|(left, right)| aligned[*left] = Some(*right));
        let before =
            [before(views[0], pairs.iter().map(|pair| pair.0)), before(views[1], pairs.iter().map(|pair| pair.1))];
        let mut method =
            MethodPair { matching, views, inputs, outputs: Vec::new(), aligned, before, delegates: IndexSet::new() };
        method.match_results(&pairs);
        method.match_arguments(&pairs);
        method.outputs = method.pair_outputs();
        method
    }
}

impl<'s> MethodPair<'_, 's> {
    /// Matches the results of aligned instructions.
    fn match_results(&mut self, pairs: &[(usize, usize)]) {
        for (left, right) in pairs {
            let [l, r] = [self.results(0, *left), self.results(1, *right)];
            l.into_iter().zip(r).for_each(|(left, right)| self.matching.pair(left, right));
        }
    }

    /// Returns the values that an instruction is known to write.
    fn results(&self, side: usize, step: usize) -> Vec<ValueId> {
        let view = self.views[side];
        let instruction = view.steps[step].instruction;
        let uses = view.method.operators.uses(instruction).filter(|usage| usage.kind.is_result());
        uses.map(|usage| usage.value).collect()
    }

    /// Matches the other values by their first use.
    fn match_arguments(&mut self, pairs: &[(usize, usize)]) {
        for (left, right) in pairs {
            let [l, r] = [self.views[0].steps[*left].instruction, self.views[1].steps[*right].instruction];
            if !self.is_same_callee(l, r) {
                // The results of a delegate are its last arguments.
                let is_delegate = [l, r].iter().any(|call| matches!(call, Instruction::DelegateCall { .. }));
                if let (true, Some(left), Some(right)) = (is_delegate, l.args().last(), r.args().last()) {
                    self.matching.pair(*left, *right);
                }
                continue;
            }
            l.args().iter().zip(r.args()).for_each(|(left, right)| self.matching.pair(*left, *right));
            l.operands().zip(r.operands()).for_each(|(left, right)| self.matching.pair(left.1, right.1));
        }
    }

    /// Returns true if two instructions have the same kind, and the same operator if they are kernel calls.
    fn is_same_callee(&self, left: &Instruction, right: &Instruction) -> bool {
        left.kind() == right.kind()
            && match (self.views[0].operator(left), self.views[1].operator(right)) {
                (None, None) => left.operator() == right.operator(),
                (l, r) => l == r,
            }
    }

    /// Pairs the outputs: in order if both methods have the same number, otherwise by their values.
    fn pair_outputs(&mut self) -> Vec<Paired<usize>> {
        let lists = [&self.views[0].plan.outputs, &self.views[1].plan.outputs];
        let [left, right] = lists.map(|list| list.as_deref().unwrap_or_default());
        if left.len() == right.len() {
            left.iter().zip(right).for_each(|(left, right)| self.matching.pair(*left, *right));
            return (0..left.len()).map(|position| [Some(position); 2]).collect();
        }
        // Outputs with matched values have equal keys, others the keys of their types. A value whose match is not an
        // output is paired with a different output only if nothing else distinguishes them.
        let rights: HashSet<u32> = right.iter().filter_map(|value| u32::try_from(value.0).ok()).collect();
        let both =
            left.iter().filter_map(|value| self.matching.right_of(*value).filter(|found| rights.contains(found)));
        let both: HashSet<u32> = both.collect();
        let key = |side: usize, value: ValueId, found: Option<u32>| match found.filter(|found| both.contains(found)) {
            Some(found) => u64::from(found),
            None => self.views[side].end_key(value) | 1 << 63,
        };
        let lefts: Vec<u64> = left.iter().map(|value| key(0, *value, self.matching.right_of(*value))).collect();
        let rights: Vec<u64> = right.iter().map(|value| key(1, *value, u32::try_from(value.0).ok())).collect();
        let lengths = [left.len(), right.len()];
        let pairs = with_gaps(align_levels(&[[lefts, rights]], lengths), lengths);
        for (l, r) in pairs.iter().filter_map(|pair| pair[0].zip(pair[1])) {
            self.matching.pair(left[l], right[r]);
        }
        pairs
    }

    /// Compares the inputs and outputs.
    fn compare_ends(&mut self, found: &mut Found) {
        let views = self.views;
        let (inputs, outputs) = (std::mem::take(&mut self.inputs), std::mem::take(&mut self.outputs));
        let ends = [
            (DiffTopic::Input, "inputs", &inputs, views.map(|view| &view.plan.inputs)),
            (DiffTopic::Output, "outputs", &outputs, views.map(|view| &view.plan.outputs)),
        ];
        for (topic, name, pairs, lists) in ends {
            self.compare_presence(name, lists.map(|list| list.is_some()), found);
            let lists = lists.map(|list| list.as_deref().unwrap_or_default());
            let path = |side: usize, position: usize| views[side].field(format_args!("{name}[{position}]"));
            let describe = |side: usize, value: ValueId| match (topic, value.within(views[side].roles.len())) {
                (DiffTopic::Input, Some(index)) => views[side].describe_type(index),
                _ => views[side].describe(value),
            };
            self.compare_values(topic, lists, pairs, &path, &describe, found);
        }
        (self.inputs, self.outputs) = (inputs, outputs);
    }

    /// Compares the values of two lists at pairs of positions. `path` and `describe` have the side as first argument.
    fn compare_values(
        &mut self,
        topic: DiffTopic,
        lists: [&[ValueId]; 2],
        pairs: &[Paired<usize>],
        path: &dyn Fn(usize, usize) -> String,
        describe: &dyn Fn(usize, ValueId) -> String,
        found: &mut Found,
    ) {
        let part = |side: usize, at: usize| DifferingPart::new(path(side, at), describe(side, lists[side][at]));
        for pair in pairs {
            let Some([l, r]) = found.both(DiffArea::Meaning, topic, *pair, part) else { continue };
            let [left, right] = [lists[0][l], lists[1][r]];
            if self.matching.is_same(left, right) {
                self.matching.compare_constants(left, right, [&|| path(0, l), &|| path(1, r)], found);
            } else {
                found.changed(DiffArea::Meaning, topic, [part(0, l), part(1, r)]);
            }
        }
    }

    /// Compares the presence of a list. The runtime distinguishes empty and absent lists.
    fn compare_presence(&self, name: &str, are_present: [bool; 2], found: &mut Differences) {
        let values = are_present.map(|present| Some(if present { "present" } else { "absent" }.to_owned()));
        found.compared(DiffArea::Meaning, DiffTopic::Method, self.views.map(|view| view.field(name)), values);
    }

    fn compare_steps(&mut self, needed: &mut Needed<'_>, found: &mut Found) {
        let views = self.views;
        let part = |side: usize, step| views[side].step_part(step);
        let pairs = self.aligned.iter().enumerate().filter_map(|(left, right)| Some((left, (*right)?)));
        for pair in with_gaps(pairs, views.map(|view| view.steps.len())) {
            let area = match pair {
                [Some(left), None] => area_of(needed.has(0, views[0], left)),
                [None, Some(right)] => area_of(needed.has(1, views[1], right)),
                [Some(_), Some(_)] | [None, None] => DiffArea::Meaning,
            };
            if let Some([left, right]) = found.both(area, DiffTopic::Instruction, pair, part) {
                self.compare_step(left, right, found);
            }
        }
    }

    fn compare_step(&mut self, left: usize, right: usize, found: &mut Found) {
        let views = self.views;
        let [l, r] = [views[0].steps[left].instruction, views[1].steps[right].instruction];
        if !self.is_same_callee(l, r) {
            let parts = [views[0].step_part(left), views[1].step_part(right)];
            return found.changed(DiffArea::Meaning, DiffTopic::Instruction, parts);
        }
        for (l_field, r_field) in l.fields().zip(r.fields()) {
            let mut changed = |texts: [String; 2]| {
                let steps = [left, right];
                let paths = per_side(|side| format!("{}.{}", views[side].step_path(steps[side]), l_field.name));
                found.differing(DiffArea::Meaning, DiffTopic::Instruction, paths, texts.map(Some));
            };
            match (l_field.reference, r_field.reference) {
                (FieldReference::Operand(l, _), FieldReference::Operand(r, _)) => {
                    if !self.matching.is_same(l, r) {
                        changed([views[0].describe(l), views[1].describe(r)]);
                    }
                }
                (FieldReference::Destination(l), FieldReference::Destination(r)) => {
                    let ends = [self.cut(0, left, l), self.cut(1, right, r)];
                    if ends[0] != ends[1] {
                        changed([l, r].map(|to| format!("instructions[{to}]")));
                    }
                }
                (FieldReference::Delegate(l), FieldReference::Delegate(r)) => {
                    match (views[0].delegate(l), views[1].delegate(r)) {
                        (Some(_), Some(_)) => _ = self.delegates.insert((l, r)),
                        (None, None) if l == r => {}
                        _ => changed([l, r].map(|index| format!("delegates[{index}]"))),
                    }
                }
                (FieldReference::Args(l_args), FieldReference::Args(r_args)) => {
                    if l_args.is_some() != r_args.is_some() {
                        let text = |args: Option<&[ValueId]>| args.map_or("absent", |_| "present").to_owned();
                        changed([text(l_args), text(r_args)]);
                    }
                    self.compare_args([left, right], [l_field, r_field], found);
                }
                // The operator was compared before.
                (FieldReference::Operator(_), _) | (_, FieldReference::Operator(_)) => {}
                // Instructions of one kind have the same fields.
                (FieldReference::Operand(..), _)
                | (FieldReference::Destination(_), _)
                | (FieldReference::Delegate(_), _)
                | (FieldReference::Args(_), _) => {}
            }
        }
    }

    fn compare_args(&mut self, steps: [usize; 2], fields: [InstructionField<'_>; 2], found: &mut Found) {
        let views = self.views;
        let args = fields.map(|field| match field.reference {
            FieldReference::Args(args) => args.unwrap_or_default(),
            FieldReference::Operator(_)
            | FieldReference::Delegate(_)
            | FieldReference::Operand(..)
            | FieldReference::Destination(_) => &[],
        });
        let path = |side: usize, position: usize| views[side].argument_path(steps[side], fields[side].name, position);
        let lengths = args.map(<[_]>::len);
        let pairs = with_gaps((0..lengths[0].min(lengths[1])).map(|position| (position, position)), lengths);
        let describe = |side: usize, value| views[side].describe(value);
        self.compare_values(DiffTopic::Instruction, args, &pairs, &path, &describe, found);
    }

    /// Returns the number of aligned steps before the destination of a jump in its chain. Two jumps with the same
    /// number have the same destination.
    ///
    /// # Errors
    /// The destination is outside the chain; the error is its number.
    fn cut(&self, side: usize, step: usize, destination: i32) -> Result<usize, i32> {
        let view = self.views[side];
        let span = view.chain(view.steps[step].chain);
        match usize::try_from(destination).ok().filter(|destination| *destination <= span.len()) {
            Some(destination) => Ok(self.before[side][span.start + destination] - self.before[side][span.start]),
            None => Err(destination),
        }
    }

    /// Compares the operators that the kernel calls use, as counts by name.
    fn compare_operators(&self, needed: &mut Needed<'_>, found: &mut Differences) {
        let mut calls = |side: usize| {
            let view = self.views[side];
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for (number, step) in view.steps.iter().enumerate() {
                let Some(operator) = view.operator(step.instruction) else { continue };
                let is_aligned = self.before[side][number + 1] > self.before[side][number];
                if is_aligned || needed.has(side, view, number) {
                    *counts.entry(operator_name(operator)).or_default() += 1;
                }
            }
            counts
        };
        let paths = self.views.map(|view| view.field("operators"));
        for (name, counts) in merged([calls(0), calls(1)]) {
            let values = counts.map(|count| count.map(|count| format!("{name}: {}", counted(count, "call"))));
            found.compared(DiffArea::Meaning, DiffTopic::Operator, paths.each_ref(), values);
        }
        let unused = |view: &MethodView<'s>| {
            let called: HashSet<OperatorId> =
                view.steps.iter().filter_map(|step| step.instruction.operator()).collect();
            let all = view.plan.operators.iter().flatten().zip((0..).map(OperatorId));
            let mut found: Vec<(String, &Operator)> = all
                .filter(|(_, index)| !called.contains(index))
                .map(|(operator, _)| (operator_name(operator), operator))
                .collect();
            found.sort_unstable_by_key(|(_, operator)| (&operator.name, &operator.overload));
            found
        };
        let lists = self.views.map(unused);
        let is_same = lists[0].iter().map(|(_, operator)| operator).eq(lists[1].iter().map(|(_, operator)| operator));
        if !is_same {
            let values = lists.map(|found| {
                let names: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
                (!names.is_empty()).then(|| format!("unused: {}", first(&names)))
            });
            found.differing(DiffArea::Layout, DiffTopic::Operator, paths, values);
        }
    }

    /// Compares the remaining properties of the methods.
    fn compare_rest(&mut self, found: &mut Differences) {
        let views = self.views;
        let plans = views.map(|view| view.plan);
        self.compare_presence("values", plans.map(|plan| plan.values.is_some()), found);
        self.compare_presence("operators", plans.map(|plan| plan.operators.is_some()), found);
        self.compare_presence("delegates", plans.map(|plan| plan.delegates.is_some()), found);
        self.compare_presence("chains", plans.map(|plan| plan.chains.is_some()), found);
        let paths = |name: &str| views.map(|view| view.field(name));
        for (name, field) in [
            ("container_meta_type.encoded_inp_str", (|meta| meta.encoded_inp_str.as_deref()) as Container),
            ("container_meta_type.encoded_out_str", |meta| meta.encoded_out_str.as_deref()),
        ] {
            let texts = plans.map(|plan| plan.container_meta_type.as_ref().and_then(field));
            if texts[0] != texts[1] {
                let start = common_start(texts.map(Option::unwrap_or_default));
                let text = |text: Option<&str>| Some(text.map_or("absent".to_owned(), |text| excerpt(text, start)));
                found.differing(DiffArea::Meaning, DiffTopic::Method, paths(name), texts.map(text));
            }
        }
        self.compare_presence("container_meta_type", plans.map(|plan| plan.container_meta_type.is_some()), found);
        let chains = plans.map(|plan| plan.chains.as_deref().unwrap_or_default());
        let counts = chains.map(|chains| Some(counted(chains.len() as u64, "chain")));
        found.compared(DiffArea::Meaning, DiffTopic::Method, paths("chains"), counts);
        for (number, (l, r)) in chains[0].iter().zip(chains[1]).enumerate() {
            let name = |name: &str| format!("chains[{number}].{name}");
            self.compare_presence(
                &name("instructions"),
                [&l.instructions, &r.instructions].map(Option::is_some),
                found,
            );
            for (field, lists) in [("inputs", [&l.inputs, &r.inputs]), ("outputs", [&l.outputs, &r.outputs])] {
                let [l, r] = lists.map(|list| list.as_deref());
                let mut pairs = l.unwrap_or_default().iter().zip(r.unwrap_or_default());
                if l.map(<[_]>::len) != r.map(<[_]>::len) || pairs.any(|(l, r)| !self.matching.is_same(*l, *r)) {
                    let texts = [l, r].map(|values| Some(list(values)));
                    found.differing(DiffArea::Layout, DiffTopic::Ignored, paths(&name(field)), texts);
                }
            }
        }
        self.compare_traces(found);
    }

    /// Compares the stack traces of aligned instructions.
    fn compare_traces(&self, found: &mut Differences) {
        let trace = |side: usize, step: usize| -> Option<&'s Vec<StackFrame>> {
            let view = self.views[side];
            let position = view.steps[step];
            let traces = view.plan.chains.as_ref()?.get(position.chain as usize)?.stacktrace.as_ref()?;
            traces.get(position.index as usize)?.as_ref()
        };
        let pairs = self.aligned.iter().enumerate().filter_map(|(left, right)| Some((left, (*right)?)));
        let differing = pairs.filter(|(left, right)| trace(0, *left) != trace(1, *right));
        found.first_differing("stack traces", "instruction", differing, |side, step| {
            let frame = trace(side, step).and_then(|frames| frames.last());
            let frame = frame.map_or("no stack trace".to_owned(), |frame| {
                format!("{}:{}", clipped(frame.filename.as_deref().unwrap_or_default()), frame.lineno)
            });
            (self.views[side].step_path(step), frame)
        });
        let extra = |view: &MethodView<'_>| {
            let chains = view.plan.chains.iter().flatten();
            let count = |chain: &pte_model::program::Chain| {
                let instructions = chain.instructions.as_ref().map_or(0, Vec::len);
                chain.stacktrace.as_ref().map(|traces| traces.len() as i64 - instructions as i64)
            };
            let counts: Vec<Option<i64>> = chains.map(count).collect();
            let text = |count: &Option<i64>| match count {
                None => "absent".to_owned(),
                Some(0) => "one of each instruction".to_owned(),
                Some(extra) => format!("{extra:+} to the instructions"),
            };
            list(Some(counts.iter().map(text)))
        };
        let paths = self.views.map(|view| view.field("chains"));
        let values = self.views.map(|view| Some(format!("stack traces: {}", extra(view))));
        found.compared(DiffArea::Layout, DiffTopic::Ignored, paths, values);
    }
}

/// Reads a field of the metadata of containers.
type Container = fn(&ContainerMetadata) -> Option<&str>;

/// Returns the area of an instruction: without an effect, it is not part of the meaning.
fn area_of(is_needed: bool) -> DiffArea {
    if is_needed { DiffArea::Meaning } else { DiffArea::Layout }
}

/// Joins the first few names.
fn first(names: &[String]) -> String {
    let shown = names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > 8 { format!("{shown}, ... {} in total", names.len()) } else { shown }
}
