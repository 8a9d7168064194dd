//! Element types that kernels take, measured: calls are executed with all element types in all places, and
//! `types.table` of the release must be what is executed.
//!
//! A sample of the operators by default; `PTE_EMIT_TYPES=all` measures all, `PTE_EMIT_OPERATOR` those whose name
//! contains it, and `BLESS=1` writes what was measured into the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Seek, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use pte_emit::program::{DimOrder, EValue, ExecutionPlan, Memory, Program};
use pte_emit::{Model, Resolved};
use pte_operators::inference::InferenceError;

use super::cases::{self, Case, Outcome};
use super::{
    Argument, Base, Call, IntMeta, Method, RUNNER, ResultMeta, Role, ScalarType, Signature, arguments_text, metas,
    without_sizes,
};

/// Number of element types of the runtime.
const COUNT: i8 = 30;

/// The type that the tensors of a file have before they are changed; another one, to find the byte that states it.
const PLAIN: (i8, i8) = (6, 7);

/// Number of calls of an operator that differ in more than element types, of which all places are varied; and of those
/// with the same places of which the places are varied from each executed combination of types.
const CALLS: usize = 9;
const EXPANDED: usize = 2;

/// Every how manieth operator is in a sample.
const SAMPLED: usize = 24;

/// Contents of inputs, as the driver names them; the first with which a call is executed is taken.
const CONTENTS: [&str; 3] = ["ones", "mixed", "zeros"];

/// Types that are tried in each place beside all others; further ones beside those of the case, and together.
const ARITHMETIC: [i8; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15];

/// Sets of the table, from the greatest.
const SETS: &[(&str, &[i8])] = &[
    (
        "any",
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
    ),
    ("arithmetic", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15]),
    ("real", &[0, 1, 2, 3, 4, 5, 6, 7, 11, 15]),
    ("number", &[0, 1, 2, 3, 4, 5, 6, 7, 15]),
    ("full", &[0, 1, 2, 3, 4, 6, 7, 11]),
    ("integral", &[0, 1, 2, 3, 4, 11]),
    ("integer", &[0, 1, 2, 3, 4]),
    ("bits", &[16, 17, 18, 19, 20, 21, 22]),
    ("floating", &[5, 6, 7, 15]),
    ("float8", &[23, 24, 25, 26]),
    ("complex", &[8, 9, 10]),
    ("quantized", &[12, 13, 14]),
    ("unsigned", &[27, 28, 29]),
];

/// Arguments without a constraint, each with the reason.
const UNMEASURED: &[(&str, &str, &str)] = &[(
    "quantized_decomposed::quantize_per_tensor.Tensor_out",
    "dtype",
    "the range of the only case exceeds that of int8 and of uint8",
)];

/// First lines of the table.
const HEAD: &str = "\
# Element types that the kernels of the default runtime of ExecuTorch 1.5.1 take, an operator in a line. Measured: written by
# `BLESS=1 PTE_EMIT_TYPES=all cargo lab --test runtime inference_runtime:: -- --ignored element_types`.
# `=NAME TYPE...` defines a set. `ARGUMENT:SET` are the types of an argument: of a tensor, of the tensors of a list, or of a ScalarType.
# `ARGUMENT@OTHER=WHEN:SET` are those if the other argument has a type of WHEN, `:same` means that of the other argument. Sets and types
# are separated by `|`. There is no constraint on arguments that are not mentioned.
";

/// A place of a call that has an element type: a tensor, or an Int that is one.
struct TypeSlot {
    argument: usize,
    /// Number in a list.
    item: usize,
    /// Offset of its byte in the file.
    offset: usize,
    /// Type that the case states.
    own: i8,
}

/// A call as a file, whose element types are bytes to change.
struct TypedCall<'c> {
    signature: &'c Signature,
    case: &'c Case<'c>,
    bytes: Vec<u8>,
    slots: Vec<TypeSlot>,
    /// Offset and argument of each out.
    outs: Vec<(usize, usize)>,
}

/// Types of the slots, and of the outs.
type Types = (Vec<i8>, Vec<i8>);

/// Slots of the arguments of a call, without offsets.
fn slots(signature: &Signature, case: &Case<'_>) -> Vec<TypeSlot> {
    let mut slots = Vec::new();
    for (argument, (value, arg)) in case.arguments().iter().zip(&signature.args).enumerate() {
        let mut add = |item, own| slots.push(TypeSlot { argument, item, offset: 0, own });
        match value {
            Argument::Tensor(tensor) => add(0, tensor.scalar_type.0),
            Argument::Tensors(items) => {
                let given = items.iter().enumerate().filter_map(|(item, tensor)| Some((item, tensor.as_ref()?)));
                given.for_each(|(item, tensor)| add(item, tensor.scalar_type.0));
            }
            Argument::Int(IntMeta::Exact(int)) if arg.kind.base == Base::Dtype => add(0, i8::try_from(*int).unwrap()),
            _ => {}
        }
    }
    slots
}

/// Changes the element type of a value: that of a tensor, or the one that an Int is.
fn retype(program: &mut Program, value: usize, to: i8) {
    match &mut program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap()[value] {
        EValue::Tensor(tensor) => tensor.scalar_type = ScalarType(to),
        EValue::Int(int) => *int = to.into(),
        _ => {}
    }
}

/// Bytes of the file of a program.
fn file(program: &Program) -> Vec<u8> {
    crate::support::program::files(program).unwrap().program_file().unwrap().to_vec().unwrap()
}

/// Indices of the values of a call: of its slots, then of its outs.
fn values(plan: &ExecutionPlan, slots: &[TypeSlot], outs: usize) -> Vec<usize> {
    let args = plan.chains.as_ref().unwrap()[0].instructions.as_ref().unwrap()[0].args();
    let of_slot = |slot: &TypeSlot| {
        let value = args[slot.argument];
        let items = match plan.value(value) {
            Some(EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items))) => &items[..],
            _ => &[],
        };
        items.get(slot.item).unwrap_or(&value).get().unwrap()
    };
    let mut found: Vec<usize> = slots.iter().map(of_slot).collect();
    if outs > 0 {
        found.extend(plan.outputs.iter().flatten().filter_map(|output| output.get()));
    }
    found
}

impl<'c> TypedCall<'c> {
    /// Builds the file of a call; `None` if its results are not inferred.
    fn new(name: &str, signature: &'c Signature, case: &'c Case<'c>) -> Option<TypedCall<'c>> {
        let results = infer(name, &Call::new(signature, &case.arguments()))?;
        let method = Method::new(name, signature, case, &results);
        let yaml = format!("methods:\n{}", unchecked(&method, signature, case.args.len(), &results));
        let source = Model::from_yaml("call.yaml", &yaml, ".");
        let resolved: Result<Resolved, _> = source.resolve();
        let mut program = match resolved {
            Ok(resolved) => resolved.program,
            Err(error) => {
                println!("{name} {}: {error}", case.text);
                return None;
            }
        };
        let mut slots = slots(signature, case);
        let count =
            if signature.outs().next().is_some() || signature.result.is_some() { metas(&results).len() } else { 0 };
        let is_in_place =
            signature.outs().next().is_none() && signature.args.iter().any(|arg| arg.role == Role::InPlace);
        let plan = program.execution_plan.as_mut().unwrap().first_mut().unwrap();
        let typed = values(plan, &slots, if is_in_place { 0 } else { count });
        for value in plan.values.as_mut().unwrap() {
            if let EValue::Tensor(tensor) = value {
                (tensor.memory, tensor.scalar_type) = (Memory::None, ScalarType(PLAIN.0));
            }
        }
        for value in &typed {
            retype(&mut program, *value, PLAIN.0);
        }
        let bytes = file(&program);
        let mut offsets = Vec::new();
        for (number, value) in typed.iter().enumerate() {
            let is_number = !matches!(
                program.execution_plan.as_ref().unwrap()[0].values.as_ref().unwrap()[*value],
                EValue::Tensor(_)
            );
            if is_number && number >= slots.len() {
                offsets.push(usize::MAX);
                continue;
            }
            retype(&mut program, *value, PLAIN.1);
            let changed = file(&program);
            retype(&mut program, *value, PLAIN.0);
            let differing: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != changed[*at]).collect();
            assert_eq!((differing.len(), bytes.len()), (1, changed.len()), "{name} {}", case.text);
            offsets.push(differing[0]);
        }
        for (slot, offset) in slots.iter_mut().zip(&offsets) {
            slot.offset = *offset;
        }
        let first_out = signature.ins().count();
        let is_list = matches!(&results[..], [ResultMeta::Tensors(_)]);
        let outs = offsets[slots.len()..].iter().enumerate();
        let outs = outs.map(|(number, offset)| (*offset, first_out + if is_list { 0 } else { number })).collect();
        Some(TypedCall { signature, case, bytes, slots, outs })
    }

    /// Types of the outs that are inferred for types of the slots; an error if they depend on data.
    fn inferred(&self, name: &str, types: &[i8]) -> Result<Option<Vec<i8>>, ()> {
        let mut arguments = self.case.arguments();
        for (slot, scalar_type) in self.slots.iter().zip(types) {
            match &mut arguments[slot.argument] {
                Argument::Tensor(tensor) => tensor.to_mut().scalar_type = ScalarType(*scalar_type),
                Argument::Tensors(items) => {
                    items[slot.item].as_mut().unwrap().to_mut().scalar_type = ScalarType(*scalar_type);
                }
                other => *other = Argument::Int(IntMeta::Exact((*scalar_type).into())),
            }
        }
        let call = Call::new(self.signature, &arguments);
        let Some(results) = infer(name, &call) else {
            let is_open = pte_operators::facts(name)
                .rule
                .is_some_and(|rule| matches!(rule(&call), Err(InferenceError::Undetermined(_))));
            return if is_open { Err(()) } else { Ok(None) };
        };
        let of = |meta: Option<super::TensorMeta>| meta.map_or(PLAIN.0, |meta| meta.scalar_type.0);
        let mut outs: Vec<i8> = metas(&results).into_iter().map(of).collect();
        outs.truncate(self.outs.len());
        Ok(Some(outs))
    }

    /// Returns for each combination of types whether the call is executed.
    fn run(&self, driver: &Path, content: &str, variants: &[Types]) -> Vec<bool> {
        if variants.is_empty() {
            return Vec::new();
        }
        let mut lines = String::new();
        for (types, outs) in variants {
            let slots = self.slots.iter().map(|slot| slot.offset).zip(types);
            let outs = self.outs.iter().map(|(offset, _)| *offset).zip(outs);
            let words: Vec<String> = slots
                .chain(outs)
                .filter(|(offset, _)| *offset != usize::MAX)
                .map(|(offset, byte)| format!("{offset}={byte}"))
                .collect();
            writeln!(lines, "{}", words.join(" ")).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("call.pte");
        std::fs::write(&path, &self.bytes).unwrap();
        let mut script = tempfile::tempfile().unwrap();
        script.write_all(lines.as_bytes()).unwrap();
        script.rewind().unwrap();
        let mut command = Command::new(driver);
        let output =
            command.arg(&path).args(["--jobs", "2", "--content", content]).stdin(Stdio::from(script)).output().unwrap();
        assert!(output.status.success(), "the driver ended with {}", output.status);
        let mut executed = vec![false; variants.len()];
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((number, answer)) = line.split_once(' ') else { continue };
            if let Some(slot) = number.parse::<usize>().ok().and_then(|number| executed.get_mut(number)) {
                *slot = answer.starts_with("ok ");
            }
        }
        executed
    }
}

/// Infers the results of a call; those whose sizes depend on data are as large as they can be.
fn infer(name: &str, call: &Call<'_>) -> Option<Vec<ResultMeta>> {
    let found = pte_operators::facts(name).rule?(call).ok();
    let open = |scalar_type, sizes: &[i64]| {
        let sizes: Vec<super::Dim> = sizes.iter().map(|size| super::Dim { size: *size, dynamic: true }).collect();
        let dim_order = DimOrder::contiguous(sizes.len());
        Some(vec![ResultMeta::Tensor(super::TensorMeta { scalar_type, sizes, dim_order })])
    };
    match name {
        "aten::masked_select.out" => open(call.tensor(0).ok()?.scalar_type, &[999]),
        "aten::nonzero.out" => open(ScalarType::LONG, &[999, call.tensor(0).ok()?.sizes.len() as i64]),
        _ => found,
    }
}

/// Returns a method whose call is not checked when it is assembled: the outs are declared, and the arguments are those
/// of the stack.
pub fn unchecked(method: &Method, signature: &Signature, given: usize, results: &[ResultMeta]) -> String {
    let Some((head, tail)) = method.yaml.split_once("], out: ") else { return method.yaml.clone() };
    let outs = tail.trim_end().trim_end_matches('}').trim_matches(['[', ']']);
    let mut declared = String::new();
    let mut names = outs.split(',');
    for result in results {
        let metas = match result {
            ResultMeta::Tensor(meta) | ResultMeta::Unwritten(meta) => std::slice::from_ref(meta),
            ResultMeta::Tensors(metas) => metas,
            ResultMeta::Int(_) | ResultMeta::Scalar => {
                writeln!(declared, "      {}: {{int: 0}}", names.next().unwrap()).unwrap();
                &[]
            }
        };
        for (meta, name) in metas.iter().zip(names.by_ref()).filter(|(_, name)| name.starts_with('o')) {
            let sizes: Vec<i64> = meta.sizes.iter().map(|dim| dim.size).collect();
            let dynamism = if meta.sizes.iter().any(|dim| dim.dynamic) { "dynamic_bound" } else { "static" };
            let (scalar_type, order) = (meta.scalar_type, &meta.dim_order);
            let tensor =
                format!("{{tensor: {scalar_type}, sizes: {sizes:?}, dim_order: {order:?}, dynamism: {dynamism}}}");
            writeln!(declared, "      {name}: {tensor}").unwrap();
        }
    }
    let mut stack = Vec::new();
    for (at, arg) in signature.ins().enumerate().skip(given) {
        let default: serde_json::Value = serde_json::from_str(arg.default.as_deref().unwrap()).unwrap();
        if default.is_null() {
            stack.push("null".to_owned());
            continue;
        }
        let kind = match arg.kind.base {
            _ if default.is_array() => "int_list",
            Base::Bool => "bool",
            Base::Float => "double",
            Base::Str => "string",
            _ if default.is_f64() => "double",
            _ => "int",
        };
        writeln!(declared, "      d{at}: {{{kind}: {default}}}").unwrap();
        stack.push(format!("d{at}"));
    }
    let is_list = matches!(results, [ResultMeta::Tensors(_)]);
    if is_list || results.len() > 1 {
        writeln!(declared, "      outs: {{tensor_list: [{outs}]}}").unwrap();
    }
    stack.push(match signature.outs().count() {
        0 => outs.to_owned(),
        1 if is_list => "outs,outs".to_owned(),
        1 => format!("{outs},{outs}"),
        _ => format!("{outs},outs"),
    });
    let stack = stack.join(",");
    let comma = if head.ends_with('[') { "" } else { "," };
    let head = head.replacen("  m:\n    values:\n", "  m:\n", 1).replacen(
        "  m:\n",
        &format!("  m:\n    values:\n{declared}"),
        1,
    );
    format!("{head}{comma}{stack}]}}\n")
}

/// An out, its element type, and those of the arguments by position.
type OutTypes = (usize, i8, Vec<(usize, i8)>);

/// What was executed of an operator.
#[derive(Default)]
struct Measured {
    /// Types that an argument or out had.
    types: BTreeMap<usize, BTreeSet<i8>>,
    /// Types that two places had together: arguments, the first not after the second, and types. Of a list: different
    /// items of it too.
    pairs: BTreeMap<(usize, usize), BTreeSet<(i8, i8)>>,
    /// Types that two places did not have together, although each place had its type in a call with the same other
    /// arguments.
    never: BTreeMap<(usize, usize), BTreeSet<(i8, i8)>>,
    /// Inferred types of outs, by argument, and the types of the arguments for which they are inferred.
    inferred: BTreeSet<OutTypes>,
    calls: usize,
    executed: usize,
}

impl Measured {
    fn record(&mut self, call: &TypedCall<'_>, (types, outs): &Types) {
        self.executed += 1;
        for (slot, scalar_type) in call.slots.iter().zip(types) {
            self.types.entry(slot.argument).or_default().insert(*scalar_type);
        }
        for (arguments, pair) in pairs(call, types) {
            self.pairs.entry(arguments).or_default().insert(pair);
        }
        for ((_, argument), scalar_type) in call.outs.iter().zip(outs) {
            self.types.entry(*argument).or_default().insert(*scalar_type);
        }
    }

    /// Records the pairs of types that were not executed.
    fn record_failures(&mut self, call: &TypedCall<'_>, tested: &BTreeSet<Vec<i8>>, executed: &BTreeSet<Vec<i8>>) {
        let places: BTreeSet<(usize, i8)> =
            executed.iter().flat_map(|types| types.iter().copied().enumerate()).collect();
        let ran: BTreeSet<_> = executed.iter().flat_map(|types| pairs(call, types)).collect();
        for types in tested.difference(executed) {
            // Only two places may have types that are at fault.
            if !types.iter().copied().enumerate().all(|place| places.contains(&place)) {
                continue;
            }
            for (arguments, pair) in pairs(call, types).filter(|pair| !ran.contains(pair)) {
                self.never.entry(arguments).or_default().insert(pair);
            }
        }
    }

    /// Executes a call with other types; `expands`: from each combination of types with a new one.
    fn vary(&mut self, driver: &Path, content: &str, name: &str, call: &TypedCall<'_>, expands: bool) {
        let own: Vec<i8> = call.slots.iter().map(|slot| slot.own).collect();
        let single = |from: &[i8], types: &dyn Fn(usize) -> Vec<i8>| -> Vec<Vec<i8>> {
            let places = (0..from.len()).flat_map(|at| types(at).into_iter().map(move |to| (at, to)));
            places
                .map(|(at, to)| from.iter().enumerate().map(|(k, old)| if k == at { to } else { *old }).collect())
                .collect()
        };
        let mut frontier = vec![own.clone()];
        for group in own.iter().collect::<BTreeSet<_>>() {
            let all = |to: i8| own.iter().map(|old| if old == group { to } else { *old }).collect();
            frontier.extend((0..COUNT).map(all));
        }
        frontier.extend((0..COUNT).map(|to| vec![to; own.len()]));
        frontier.extend(single(&own, &|_| (0..COUNT).collect()));
        let (mut seen, mut expanded, mut seen_outs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut all_executed = BTreeSet::new();
        let mut is_paired = own.len() < 2;
        while !frontier.is_empty() {
            let mut fresh: Vec<Types> = Vec::new();
            for types in std::mem::take(&mut frontier) {
                if !seen.insert(types.clone()) {
                    continue;
                }
                match call.inferred(name, &types) {
                    Ok(Some(outs)) => fresh.push((types, outs)),
                    Ok(None) => {}
                    // Not executed, for lack of an out: no constraint.
                    Err(()) => self.record(call, &(types, Vec::new())),
                }
            }
            let mut executed: Vec<Types> = Vec::new();
            let mut others: Vec<Types> = Vec::new();
            for (variant, ok) in fresh.iter().zip(call.run(driver, content, &fresh)) {
                if ok {
                    executed.push(variant.clone());
                    continue;
                }
                // The out may be of another type than the result.
                let Some(inferred) = variant.1.first().map(|inferred| ScalarType(*inferred)) else { continue };
                let accepted = (0..COUNT).filter(|to| {
                    *to != inferred.0 && pte_operators::facts(name).conversion.accepts(inferred, ScalarType(*to))
                });
                others.extend(accepted.map(|to| (variant.0.clone(), vec![to; variant.1.len()])));
            }
            self.calls += fresh.len() + others.len();
            let ran = call.run(driver, content, &others);
            executed.extend(others.into_iter().zip(ran).filter(|(_, ok)| *ok).map(|(variant, _)| variant));
            for (types, outs) in &fresh {
                let places: Vec<_> = call.slots.iter().map(|slot| slot.argument).zip(types.iter().copied()).collect();
                let outs = call.outs.iter().zip(outs);
                self.inferred.extend(outs.map(|((_, argument), out)| (*argument, *out, places.clone())));
            }
            for variant in executed {
                self.record(call, &variant);
                all_executed.insert(variant.0.clone());
                if seen_outs.insert(variant.1.clone()) {
                    let all = (0..COUNT).map(|to| vec![to; variant.1.len()]);
                    let outs: Vec<Types> = all
                        .chain(single(&variant.1, &|_| (0..COUNT).collect()))
                        .map(|outs| (variant.0.clone(), outs))
                        .collect();
                    self.calls += outs.len();
                    for (variant, ok) in outs.iter().zip(call.run(driver, content, &outs)) {
                        if ok {
                            self.record(call, variant);
                        }
                    }
                }
                let places = variant.0.iter().enumerate();
                let novel = places.filter(|(at, to)| expanded.insert((*at, **to))).count() > 0;
                if expands && novel && own.len() > 1 {
                    let known = |at: usize| {
                        let further = (0..COUNT).filter(|to| expanded.contains(&(at, *to)));
                        ARITHMETIC.into_iter().chain(further).collect()
                    };
                    frontier.extend(single(&variant.0, &known));
                }
            }
            // Two places of a call that torch accepts and the kernel does not.
            if all_executed.is_empty() && !is_paired {
                for (a, b) in (0..own.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
                    let both = ARITHMETIC.into_iter().flat_map(|s| ARITHMETIC.into_iter().map(move |t| (s, t)));
                    frontier.extend(both.map(|(s, t)| {
                        let mut types = own.clone();
                        (types[a], types[b]) = (s, t);
                        types
                    }));
                }
            }
            is_paired = true;
        }
        self.record_failures(call, &seen, &all_executed);
    }

    /// Returns true if a call whose arguments have accepted types may have an out that the kernel does not take: of the
    /// type that is inferred, or of one into which the kernel converts the result.
    fn needs_row(&self, name: &str, out: usize, types: &BTreeSet<i8>) -> bool {
        let has_slot = self.inferred.iter().any(|(argument, ..)| *argument == out);
        let accepted = |places: &Vec<(usize, i8)>| {
            places.iter().all(|(at, one)| self.types.get(at).is_some_and(|types| types.contains(one)))
        };
        let inferred = self.inferred.iter().filter(|(argument, _, places)| *argument == out && accepted(places));
        let mut possible = inferred.flat_map(|(_, from, _)| {
            (0..COUNT)
                .filter(move |to| pte_operators::facts(name).conversion.accepts(ScalarType(*from), ScalarType(*to)))
        });
        !has_slot || possible.any(|to| !types.contains(&to))
    }

    /// The line of the table.
    fn line(&self, name: &str, signature: &Signature) -> String {
        let arg = |at: usize| &*signature.args[at].name;
        let all: BTreeSet<i8> = (0..COUNT).collect();
        let mut words = Vec::new();
        let mut equal = BTreeSet::new();
        let is_measured =
            |at: usize| !UNMEASURED.iter().any(|(operator, argument, _)| *operator == name && *argument == arg(at));
        for (argument, types) in self.types.iter().filter(|(argument, _)| is_measured(**argument)) {
            if *types != all && self.needs_row(name, *argument, types) {
                words.push(format!("{}:{}", arg(*argument), set(types)));
            }
            for ((other, _), pairs) in self.never.iter().filter(|((_, at), _)| at == argument) {
                // Another argument of the same type has the same relations.
                if equal.contains(argument) {
                    continue;
                }
                let mut rows: BTreeMap<Option<BTreeSet<i8>>, BTreeSet<i8>> = BTreeMap::new();
                for from in &self.types[other] {
                    let ran = self.pairs.get(&(*other, *argument));
                    let is_refused =
                        |to: &i8| pairs.contains(&(*from, *to)) && !ran.is_some_and(|ran| ran.contains(&(*from, *to)));
                    let with: BTreeSet<i8> = types.iter().copied().filter(|to| !is_refused(to)).collect();
                    if with.is_empty() || with == *types {
                        continue;
                    }
                    let is_same = with.len() == 1 && with.contains(from);
                    rows.entry((!is_same).then_some(with)).or_default().insert(*from);
                }
                for (with, when) in rows {
                    let right = with.as_ref().map_or("same".to_owned(), set);
                    let condition = if when == self.types[other] { String::new() } else { format!("={}", set(&when)) };
                    if with.is_none() && condition.is_empty() && other != argument {
                        equal.insert(*argument);
                    }
                    words.push(format!("{}@{}{condition}:{right}", arg(*argument), arg(*other)));
                }
            }
        }
        if words.is_empty() { String::new() } else { format!("{name} {}", words.join(" ")) }
    }
}

/// Pairs of arguments, and of the types of their places.
fn pairs<'t>(call: &'t TypedCall<'_>, types: &'t [i8]) -> impl Iterator<Item = ((usize, usize), (i8, i8))> + use<'t> {
    let places: Vec<(usize, i8)> = call.slots.iter().map(|slot| slot.argument).zip(types.iter().copied()).collect();
    let all: Vec<_> = places
        .iter()
        .enumerate()
        .flat_map(|(at, (a, s))| {
            let later = places[at + 1..].iter();
            later.flat_map(move |(b, t)| {
                let back = (a == b).then_some(((*b, *a), (*t, *s)));
                std::iter::once(((*a, *b), (*s, *t))).chain(back)
            })
        })
        .collect();
    all.into_iter()
}

/// Names of sets and types whose union is a set.
fn set(types: &BTreeSet<i8>) -> String {
    let mut rest = types.clone();
    let mut words: Vec<String> = Vec::new();
    while let Some(first) = rest.first().copied() {
        let fitting = SETS.iter().filter(|(_, set)| set.iter().all(|one| types.contains(one)));
        let counted = fitting.map(|(name, set)| (set.iter().filter(|one| rest.contains(one)).count(), *name, *set));
        // Of equal ones the first, which is the greatest.
        let best = counted.rev().max_by_key(|(count, ..)| *count).filter(|(count, ..)| *count > 1);
        match best {
            Some((_, name, set)) => {
                rest.retain(|one| !set.contains(one));
                words.push(name.to_owned());
            }
            None => {
                rest.remove(&first);
                words.push(ScalarType(first).to_string());
            }
        }
    }
    words.join("|")
}

/// Measures an operator.
fn measure(driver: &Path, name: &str, signature: &Signature, cases: &[Case<'_>]) -> Measured {
    let mut measured = Measured::default();
    let mut shapes = BTreeSet::new();
    let mut tried = 0;
    let mut expanded: BTreeMap<Vec<(usize, usize)>, usize> = BTreeMap::new();
    // Types of tensors are the words before their sizes.
    let shape = |case: &Case<'_>| {
        let text = without_sizes(arguments_text(case));
        let words = text.split(' ').map(|word| match (word.find('['), word.starts_with('@')) {
            (Some(at), _) => word[at..].to_owned(),
            (None, true) => "@".to_owned(),
            (None, false) => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let is_empty = |case: &Case<'_>| arguments_text(case).split(['[', ',', ']', ';', ' ']).any(|word| word == "0");
    let usable = |case: &&Case<'_>| case.outcome != Outcome::Error && !case.text.contains('{');
    let mut ordered: Vec<&Case<'_>> = cases.iter().filter(usable).collect();
    ordered.sort_by_key(|case| !arguments_text(case).trim_start_matches('<').starts_with("f32"));
    // One call with each set of places, then a second one with each, and so on; first those whose tensors have
    // elements.
    let mut numbers: BTreeMap<Vec<(usize, usize)>, usize> = BTreeMap::new();
    let places = |case: &Case<'_>| slots(signature, case).iter().map(|slot| (slot.argument, slot.item)).collect();
    ordered.sort_by_cached_key(|case| {
        let number = numbers.entry(places(case)).or_default();
        *number += usize::from(!is_empty(case));
        (is_empty(case), *number)
    });
    for case in ordered {
        if tried == CALLS || !shapes.insert(shape(case)) {
            continue;
        }
        let Some(call) = TypedCall::new(name, signature, case) else { continue };
        let own: Vec<i8> = call.slots.iter().map(|slot| slot.own).collect();
        let Ok(Some(outs)) = call.inferred(name, &own) else { continue };
        if call.slots.is_empty() && call.outs.is_empty() {
            continue;
        }
        // Divisors are not 0, indices may have to be.
        let own = [(own, outs)];
        let content = CONTENTS.into_iter().find(|content| call.run(driver, content, &own)[0]);
        let content = content.unwrap_or(CONTENTS[0]);
        tried += 1;
        let places = call.slots.iter().map(|slot| (slot.argument, slot.item.min(1))).collect();
        let number = expanded.entry(places).or_default();
        let before = measured.executed;
        measured.vary(driver, content, name, &call, *number < EXPANDED);
        *number += usize::from(measured.executed > before);
    }
    measured
}

/// The table is what is executed.
#[test]
#[ignore = "needs the runtime"]
fn element_types_are_those_of_the_kernels() {
    let driver = RUNNER.with_file_name("mutants");
    let text = cases::file();
    let path = format!(
        "{}/crates/pte-operators/src/releases/v{}/types.table",
        crate::support::root().display(),
        pte_operators::CURRENT.version.replace('.', "_")
    );
    let old = std::fs::read_to_string(&path).unwrap();
    let old: BTreeMap<&str, &str> = old
        .lines()
        .filter(|line| !line.starts_with(['#', '=']))
        .filter_map(|line| Some((line.split(' ').next()?, line)))
        .collect();
    let selected = std::env::var("PTE_EMIT_OPERATOR").unwrap_or_default();
    let samples = selected.is_empty() && std::env::var("PTE_EMIT_TYPES").is_err();
    let mut lines: BTreeMap<String, String> =
        old.iter().map(|(name, line)| ((*name).to_owned(), (*line).to_owned())).collect();
    let mut different = String::new();
    let operators = cases::cases(&text);
    let of_runtime =
        operators.iter().filter(|(name, _)| pte_operators::library(name).is_none() && name.contains(&selected));
    for (at, (name, (signature, cases))) in of_runtime.enumerate() {
        if samples && at % SAMPLED != 7 {
            continue;
        }
        let measured = measure(&driver, name, signature, cases);
        let line = if measured.executed == 0 { String::new() } else { measured.line(name, signature) };
        println!("{line}\n# {name}: {} calls, {} executed", measured.calls, measured.executed);
        if line != *old.get(*name).unwrap_or(&"") {
            writeln!(different, "table:    {}\nmeasured: {line}", old.get(*name).unwrap_or(&"")).unwrap();
        }
        lines.insert((*name).to_owned(), line);
    }
    if std::env::var_os("BLESS").is_some() {
        let sets = SETS.iter().map(|(name, types)| {
            format!("={name} {}\n", types.iter().map(|one| ScalarType(*one).to_string()).collect::<Vec<_>>().join(" "))
        });
        let rows = lines.values().filter(|line| !line.is_empty()).map(|line| format!("{line}\n"));
        std::fs::write(path, HEAD.to_owned() + &sets.collect::<String>() + &rows.collect::<String>()).unwrap();
        return;
    }
    assert!(different.is_empty(), "{different}");
}
