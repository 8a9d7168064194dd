//! `pte-emit bound` in the real runtime: the program before and after computes the same, to the bit, of inputs within
//! the new bounds.
//!
//! The runtime is downloaded: `cargo lab --test runtime bound:: -- --ignored`. `PTE_EMIT_BOUNDS` is a folder with more
//! exports in the form of tests/golden/upstream/bounds.

use std::path::{Path, PathBuf};

use pte_emit::program::test_cases::TestData;
use pte_emit::program::{EValue, ExecutionPlan, Tensor, TensorShapeDynamism};
use pte_emit::{
    AssembleOptions, Assembly, Blob, Model, ScalarType,
    edit::{BoundOptions, InputBound},
};
use pte_generate::calls::repeatable;
use pte_generate::programs::program;
use pte_generate::random::Random;

use crate::support::runner::{self, Mode};
use crate::support::{files, root, seed};

const MODE: Mode = Mode { verify: "full", loader: "file" };

/// Executions of a method on one load, each with other inputs.
const EXECUTIONS: usize = 3;

/// Random programs, of which about one in twelve has a dynamic input.
const PROGRAMS: u64 = 3000;

/// Parts of the new bounds that inputs have.
const SCALES: [f64; 4] = [1.0, 0.6, 0.3, 0.0];

fn bounded(model: &Model, options: &BoundOptions) -> Result<Assembly, String> {
    let mut resolved = model.resolve_for_changes().map_err(|error| error.to_string())?;
    resolved.bound(options).map_err(|error| error.to_string())?;
    resolved.to_files(&AssembleOptions::default()).map_err(|error| error.to_string())
}

fn sizes_of(tensor: &Tensor) -> Vec<i32> {
    tensor.sizes.as_deref().unwrap_or_default().to_vec()
}

/// Random content of an input: small numbers, which are also valid indices.
fn tensor(tensor: &Tensor, sizes: Vec<i32>, random: &mut Random) -> Option<TestData> {
    let count: i32 = sizes.iter().product();
    let element = |random: &mut Random| -> Option<Vec<u8>> {
        let small = random.between(0, 3);
        Some(match tensor.scalar_type {
            ScalarType::FLOAT => (random.between(-2000, 2000) as f32 / 1000.0).to_le_bytes().to_vec(),
            ScalarType::DOUBLE => (random.between(-2000, 2000) as f64 / 1000.0).to_le_bytes().to_vec(),
            ScalarType::LONG => small.to_le_bytes().to_vec(),
            ScalarType::INT => (small as i32).to_le_bytes().to_vec(),
            ScalarType::BOOL => vec![(small % 2) as u8],
            _ => return None,
        })
    };
    let data: Option<Vec<Vec<u8>>> = (0..count).map(|_| element(random)).collect();
    let dim_order = tensor.dim_order.clone()?;
    Some(TestData::Tensor { scalar_type: tensor.scalar_type, sizes, dim_order, data: Blob::bytes(data?.concat()) })
}

/// Inputs within the bounds of a method; the dimensions that changed are smaller by a scale. `None` for an input of
/// another kind.
fn inputs(old: &ExecutionPlan, new: &ExecutionPlan, scale: f64, random: &mut Random) -> Option<Vec<TestData>> {
    let both = old.inputs.iter().flatten().zip(new.inputs.iter().flatten());
    let input = both.map(|(old_id, new_id)| match (old.value(*old_id)?, new.value(*new_id)?) {
        (EValue::Tensor(before), EValue::Tensor(after)) => {
            let is_dynamic = after.shape_dynamism != TensorShapeDynamism::STATIC;
            let scaled = |(before, after): (i32, i32)| match is_dynamic && before != after {
                true => ((f64::from(after) * scale).round() as i32).clamp(2.min(after), after),
                false => after,
            };
            let sizes = sizes_of(before).into_iter().zip(sizes_of(after)).map(scaled).collect();
            tensor(after, sizes, random)
        }
        (EValue::Int(number), _) => Some(TestData::Int(*number)),
        _ => None,
    });
    input.collect()
}

fn answers(runner: &Path, assembly: &Assembly, script: &str) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (pte, ptds) = files::write(assembly, folder.path()).map_err(|error| error.to_string())?;
    runner::run(runner, &pte, &ptds, MODE, script)
}

/// Returns `true` if a method executes with inputs of its greatest sizes; `None` if the inputs cannot be made.
fn executes(runner: &Path, assembly: &Assembly, method: usize, random: &mut Random) -> Option<bool> {
    let plan = &assembly.program().plans()[method];
    let mut script = format!("load {}\n", runner::quote(plan.name.as_deref().unwrap_or_default()));
    for (number, value) in inputs(plan, plan, 1.0, random)?.iter().enumerate() {
        script += &format!("input {number} {}\n", runner::spell(value).ok()?);
    }
    let answers = answers(runner, assembly, &(script + "execute\n")).unwrap_or_default();
    Some(answers.iter().any(|answer| answer == "execute ok"))
}

/// Compares the outputs of a method before and after. Returns the number of executions that succeed in both.
fn compare(
    runner: &Path,
    assemblies: [&Assembly; 2],
    method: usize,
    scales: &[f64],
    random: &mut Random,
) -> Result<usize, String> {
    let [old, new] = assemblies.map(|assembly| &assembly.program().plans()[method]);
    let mut executed = 0;
    for scale in scales {
        let mut script = format!("load {}\n", runner::quote(old.name.as_deref().unwrap_or_default()));
        for _ in 0..EXECUTIONS {
            let Some(values) = inputs(old, new, *scale, random) else { return Ok(0) };
            for (number, value) in values.iter().enumerate() {
                script += &format!("input {number} {}\n", runner::spell(value).map_err(|error| error.to_string())?);
            }
            script += "execute\noutputs\n";
        }
        // A kernel may abort for sizes that are not those of the other arguments; an execution that fails leaves
        // outputs of the largest sizes.
        let Ok(before) = answers(runner, assemblies[0], &script) else { continue };
        if before.iter().any(|answer| answer.starts_with("execute error") || answer.starts_with("input error")) {
            continue;
        }
        let after = answers(runner, assemblies[1], &script)?;
        if before != after {
            let at = before.iter().zip(&after).find(|(before, after)| before != after);
            return Err(format!("scale {scale}: {:.300}", format!("{at:?}")));
        }
        executed += before.iter().filter(|answer| *answer == "execute ok").count();
    }
    Ok(executed)
}

fn options(inputs: &[&str]) -> BoundOptions {
    BoundOptions::default().inputs(inputs.iter().map(|input| input.parse().expect("a bound")).collect())
}

/// The bounds of another export of a program.
fn bounds_of(other: &Assembly) -> BoundOptions {
    let plan = &other.program().plans()[0];
    let mut options = BoundOptions::default();
    for (number, input) in plan.inputs.iter().flatten().enumerate() {
        if let Some(EValue::Tensor(tensor)) = plan.value(*input) {
            let sizes = sizes_of(tensor).into_iter().map(Some).collect();
            options.inputs.push(InputBound { input: number.to_string(), sizes, is_static: false });
        }
    }
    options
}

/// Folders with `large.pte` and `small.pte`, which the exporter wrote with these bounds.
fn exports() -> Vec<PathBuf> {
    let mut folders = vec![root().join("tests/golden/upstream/bounds")];
    folders.extend(crate::support::path_of("PTE_EMIT_BOUNDS"));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut exports: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    exports.retain(|folder| folder.join("large.pte").exists() && folder.join("small.pte").exists());
    exports.sort();
    exports
}

#[test]
#[ignore = "needs the ExecuTorch wheel"]
fn outputs_stay_within_the_bounds() {
    let runner = runner::locate();
    let mut random = Random::new(30);
    let mut failures = Vec::new();
    let mut check = |name: &str, model: &Model, mut options: BoundOptions| {
        for is_static in [false, true] {
            options.all_static = is_static;
            let result = bounded(model, &options).and_then(|after| {
                let before = model.assembly().map_err(|error| error.to_string())?;
                compare(&runner, [before, &after], 0, if is_static { &[1.0] } else { &SCALES }, &mut random)
            });
            match result {
                Ok(0) => failures.push(format!("{name}: nothing is executed")),
                Ok(_) => {}
                Err(failure) => failures.push(format!("{name}, static {is_static}: {failure}")),
            }
        }
    };
    for (path, bounds) in [
        ("examples/dynamic_batch.yaml", "x=2x2x2"),
        ("tests/golden/upstream/bytes/conv_dyn/model.pte", "x=2x3x8x8"),
        ("tests/golden/upstream/bytes/view_dyn/model.pte", "x=3x2x5"),
        ("tests/golden/upstream/bytes/xnn_dyn/model.pte", "x=4x4"),
        ("tests/golden/upstream/bytes/symbolic_bool/model.pte", "x=6x3"),
    ] {
        check(path, &Model::open(root().join(path)).expect("a program"), options(&[bounds]));
    }
    let exports = exports();
    assert!(exports.len() >= 2, "{exports:?}");
    for folder in exports {
        let open = |name: &str| Model::open(folder.join(name)).expect("a program");
        let small = open("small.pte");
        check(&folder.display().to_string(), &open("large.pte"), bounds_of(small.assembly().expect("a program")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Operator whose values may broadcast to the indices in torch, but not in the kernel: `check` does not compare them.
const BROADCASTS: &str = "aten::index_put_";

/// Programs that `generate` makes: a lower bound that is accepted changes no outputs.
#[test]
#[ignore = "needs the ExecuTorch wheel"]
fn random_programs_compute_the_same() {
    let runner = runner::locate();
    let operators = repeatable();
    let (seed, mut failures, mut executed, mut refused) = (seed("PTE_EMIT_BOUND_SEED", 30), Vec::new(), 0, 0);
    let mut broadcasts = 0;
    for index in 0..PROGRAMS {
        let mut random = Random::of_item(seed, index);
        let original = crate::support::program::files(&program(&mut random, &operators, 4)).expect("a program");
        let plan = &original.program().plans()[0];
        let mut options = BoundOptions::default().method(plan.name.clone());
        for (number, input) in plan.inputs.iter().flatten().enumerate() {
            let Some(EValue::Tensor(tensor)) = plan.value(*input) else { continue };
            if tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_BOUND {
                let sizes = sizes_of(tensor);
                let dim = random.below(sizes.len().max(1));
                let lower = |(at, size): (usize, i32)| {
                    (at == dim && size > 1).then(|| random.between(1, i64::from(size)) as i32)
                };
                let sizes = sizes.into_iter().enumerate().map(lower).collect();
                options.inputs.push(InputBound { input: number.to_string(), sizes, is_static: false });
            }
        }
        if options.inputs.is_empty() {
            continue;
        }
        options.all_static = index % 2 == 0;
        let bytes = original.program_file().expect("a program").to_vec().expect("in memory");
        let Ok(after) = bounded(&Model::from_binary("model.pte", bytes), &options) else {
            refused += 1;
            continue;
        };
        let total = |assembly: &Assembly| assembly.plan().memory[0].total();
        if total(&after) > total(&original) {
            failures.push(format!("{seed} {index}: {} bytes from {}", total(&after), total(&original)));
        }
        if executes(&runner, &original, 0, &mut random) == Some(true)
            && executes(&runner, &after, 0, &mut random) == Some(false)
        {
            let mut operators = after.program().plans()[0].operators.iter().flatten();
            if operators.any(|operator| operator.full_name().as_deref() == Some(BROADCASTS)) {
                broadcasts += 1;
                continue;
            }
            failures.push(format!("{seed} {index}: fails with {:?}", options.inputs));
        }
        match compare(&runner, [&original, &after], 0, &[1.0], &mut random) {
            Ok(count) => executed += usize::from(count > 0),
            Err(failure) => failures.push(format!("{seed} {index}: {failure}")),
        }
    }
    println!(
        "{executed} programs are executed, {refused} do not take the bounds, {broadcasts} have values that broadcast"
    );
    assert!(broadcasts <= PROGRAMS / 1000, "{broadcasts} programs with values that broadcast");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(executed > 100, "{executed} programs are executed, {refused} do not take the bounds");
}
