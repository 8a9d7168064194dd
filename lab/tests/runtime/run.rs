//! `runner install` and `run` in the real runtime: the outputs of all examples with tests are the expected ones, and
//! recorded values those of programs that return them; quantized and converted inputs and outputs are those of the
//! numbers.

use std::collections::BTreeSet;

use crate::support::folder::Folder;
use crate::support::program::files;
use crate::support::{files_below, root, runner, seed};
use data_encoding::HEXLOWER;
use pte_emit::check::CheckOptions;
use pte_emit::edit::{ConvertedIoOptions, IoQuantization, IoType, Normalisation, OutputOptions, QuantizedIoOptions};
use pte_emit::program::test_cases::{TestCase, TestData};
use pte_emit::run::{
    OutputValue, RUNNER_RELEASE, RunOptions, RunnerCommand, RunnerFolder, TestOptions, compare_outputs,
};
use pte_emit::{AssembleOptions, Model, ScalarType};
use pte_generate::calls::repeatable;
use pte_generate::programs::program;
use pte_generate::random::Random;

/// Writes an input as YAML; `None` for numbers, which are those of the program.
fn written(input: &TestData) -> Option<String> {
    let TestData::Tensor { sizes, data, .. } = input else { return None };
    Some(format!("{{sizes: {sizes:?}, data: {{hex: \"{}\"}}}}", HEXLOWER.encode(&data.to_vec().unwrap())))
}

#[test]
#[ignore = "needs the ExecuTorch runtime, and a C++ compiler"]
fn an_installed_runner_runs_all_examples() {
    let folder = Folder::new(&[]);
    let package = runner::locate().with_file_name("executorch-1.5.1");
    let install = ["runner", "install", "--package", package.to_str().unwrap()];
    folder
        .run(&install)
        .exits(0)
        .stderr_contains("installed the runner of ExecuTorch 1.5.1: cache/runners/1.5.1/runner");
    let runner = RunnerFolder::new(folder.path().join("cache/runners")).find(RUNNER_RELEASE).unwrap().command();
    let (mut programs, mut compared) = (0, 0);
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let name = path.to_str().unwrap();
        let model = Model::open(&path).unwrap();
        let resolved = model.resolve().unwrap();
        programs += 1;
        for plan in resolved.program.plans() {
            let method = plan.name.as_deref().unwrap();
            let tests = resolved.tests.iter().filter(|tests| tests.method == method);
            let case = tests.flat_map(|tests| &tests.cases).next();
            let inputs = case.iter().flat_map(|case| &case.inputs).enumerate();
            let inputs = inputs.filter_map(|(number, input)| Some((number.to_string(), written(input)?))).collect();
            let options = RunOptions::new(runner.clone()).method(method.to_owned()).inputs(inputs);
            let found = model.run(&options, folder.path()).unwrap_or_else(|error| panic!("{name} {method}: {error}"));
            let outputs: Vec<OutputValue> = found.outputs.into_iter().map(|(_, output)| output).collect();
            if let Some(case) = case.filter(|case| case.outputs.is_some()) {
                assert_eq!(compare_outputs(case, &outputs).unwrap().difference, None, "{name} {method}");
                compared += 1;
            }
        }
        if resolved.tests.iter().any(|tests| tests.cases.iter().any(|case| case.outputs.is_some())) {
            folder.run(&["test", name]).exits(0);
        }
    }
    assert!(programs > 20 && compared > 10, "{programs} programs, {compared} outputs");

    let linear = root().join("examples/linear.yaml");
    let linear = ["run", linear.to_str().unwrap(), "--input=x=1,2,3,4"];
    let done = folder.run(&linear).exits(0);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("  y: float32 [1, 3], 0.425315 to 0.646813, mean 0.571725\n    [0.646813"), "{text}");
    folder.run(&[&linear[..], &["--save-outputs", "out.safetensors"]].concat()).exits(0);
    folder.run(&[&linear[..], &["--expected", "out.safetensors", "--atol=0", "--rtol=0"]].concat()).exits(0);
    let done = folder.run(&[&linear[..], &["--times", "--save-etdump", "trace.etdump"]].concat()).exits(0);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("[1] aten::addmm.out -> `mm`"), "{text}");
    folder.run(&["profile", linear[1], "trace.etdump"]).exits(0);
}

/// A program whose index no caller can make valid, and two calls that do not matter.
const CRASHING: &str = "methods: {forward: {values: {x: {tensor: int64, sizes: [1]}, y: {tensor: float32, sizes: [4]},
    z: {tensor: float32, sizes: [4]}, i: {tensor: int64, sizes: [1]}, w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}},
    s: {tensor: float32, sizes: [4], data: {fill: 1}}, e: {tensor: float32, sizes: [1, 8]}}, inputs: [x, y],
    outputs: [e, z], instructions: [{kernel: aten::relu.out, args: [y], out: z},
    {kernel: aten::clamp.out, args: [x, 1000000, 1000000], out: i},
    {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}]}}";

/// The commands that ask the runtime themselves.
#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn runs_are_compared_verified_recorded_and_reduced() {
    let folder = Folder::new(&[("crash.yaml", CRASHING)]);
    let runner = RunnerCommand::new(runner::locate());
    let with_runner = |arguments: &[&str]| folder.run(&[arguments, &["--runner", &runner.to_string()]].concat());
    let example = |name: &str| root().join("examples").join(name).display().to_string();
    let mut verified = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let name = path.to_str().unwrap();
        let done = with_runner(&["optimize", name, "--verify", "--force", "-o", "small.pte"]);
        // Data in other files, and values that ETDump does not have.
        let text = &done.stderr;
        if done.code == Some(0) {
            assert!(text.contains("verified: outputs and "), "{name}: {text}");
            verified += 1;
        } else {
            assert!(!text.contains("computes other values"), "{name}: {text}");
        }
    }
    assert!(verified >= 20, "{verified} examples");

    let linear = example("linear.yaml");
    with_runner(&["optimize", &linear, "--verify", "--force", "-o", "small.pte"]).exits(0);
    let done = with_runner(&["run", &linear, "small.pte", "--compare", "-i", "x=1,2,3,4"]).exits(0);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("method forward, the same inputs: ") && text.contains("no instruction computes"), "{text}");
    let changed = std::fs::read_to_string(&linear).unwrap().replace("aten::relu.out", "aten::neg.out");
    folder.write("changed.yaml", changed.as_bytes());
    let done = with_runner(&["run", &linear, "changed.yaml", "--compare", "-i", "x=1,2,3,4"]).exits(1);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(
        text.contains(
            "first instruction with other values:\n    methods.forward.instructions[2]: aten::relu.out -> aten::neg.out"
        ),
        "{text}"
    );
    with_runner(&["run", &linear, "--compare"]).exits(2);
    with_runner(&["run", &linear, "changed.yaml"]).exits(2);

    let done = with_runner(&["profile", &linear, "--run=3", "-i", "x=1,2,3,4"]).exits(0);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("method forward: 3 executions") && text.contains("[1] aten::addmm.out -> `mm`"), "{text}");

    with_runner(&["reduce", "crash.yaml", "--crashes", "-o", "small.yaml"]).exits(0).stderr_contains("1 instruction");
    with_runner(&["reduce", &linear, "--crashes", "-o", "no.yaml"]).exits(2).stderr_contains("no method crashes");
}

/// Values that are compared of a program at most: each is an output of another program.
const TAPPED: usize = 4;

/// Random programs.
const PROGRAMS: u64 = 100;

/// What is recorded of a program is what it returns if the values are its outputs, bit for bit: examples and random
/// programs.
#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn recorded_values_are_those_of_outputs() {
    let folder = Folder::new(&[]);
    let runner = RunnerCommand::new(runner::locate());
    let examples = std::fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let examples = examples.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let mut models: Vec<(String, Model)> =
        examples.map(|path| (path.display().to_string(), Model::open(&path).unwrap())).collect();
    let (seed, operators) = (seed("PTE_EMIT_TAPS_SEED", 1), repeatable());
    for index in 0..PROGRAMS {
        let generated = program(&mut Random::of_item(seed, index), &operators, 12);
        let bytes = files(&generated).unwrap().program_file().unwrap().to_vec().unwrap();
        models.push((format!("program {index} of seed {seed}"), Model::from_binary("random.pte", bytes)));
    }
    let (mut compared, mut kept) = (0, 0);
    for (name, model) in &models {
        let options = RunOptions::new(runner.clone()).random(Some(1)).taps(vec!["*".to_owned()]);
        if model.assembly().unwrap().data_files().count() > 0 {
            continue;
        }
        // Several methods, or inputs that the kernels reject.
        let Ok(found) = model.run(&options, folder.path()) else { continue };
        let is_output = |name: &String| found.outputs.iter().any(|(output, _)| output == name);
        let last = |name: &String| found.taps.iter().rev().find(|tap| tap.name == *name).unwrap();
        let names: BTreeSet<&String> = found.taps.iter().map(|tap| &tap.name).filter(|name| !is_output(name)).collect();
        for added in names.into_iter().take(TAPPED) {
            let changes = OutputOptions::default().method(Some(found.method.clone())).add(vec![added.clone()]);
            let Ok((resolved, _)) = model.change_outputs(&changes) else {
                kept += 1;
                continue;
            };
            let bytes =
                resolved.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
            let options = RunOptions::new(runner.clone()).random(Some(1)).method(Some(found.method.clone()));
            let changed = Model::from_binary("changed.pte", bytes).run(&options, folder.path());
            let changed = changed.unwrap_or_else(|error| panic!("{name}, {added}: {error}"));
            let values: Vec<&OutputValue> = changed.outputs.iter().map(|(_, value)| value).collect();
            let expected: Vec<&OutputValue> = found.outputs.iter().map(|(_, value)| value).collect();
            assert_eq!(values[..expected.len()], expected, "{name}, {added}");
            assert_eq!(*values[expected.len()], last(added).value, "{name}, {added}");
            compared += 1;
        }
    }
    println!("{compared} values are equal, {kept} cannot be outputs");
    // Of values in branches, which not every execution computes, none can be an output.
    assert!(compared > 100 && kept < compared / 4, "{compared} compared, {kept} kept");
}

/// Quantized programs: the second one by calls.
const QUANTIZED: &str =
    "methods: {forward: {values: {x: {tensor: float32, sizes: [6]}}, inputs: [x], outputs: [y], instructions: [
    {kernel: quantized_decomposed::quantize_per_tensor.out, args: [x, 0.25, 10, 0, 255, uint8], out: q},
    {kernel: quantized_decomposed::dequantize_per_tensor.out, args: [q, 0.25, 10, 0, 255, uint8], out: f},
    {kernel: aten::add.Scalar_out, args: [f, 0.75], out: g},
    {kernel: quantized_decomposed::quantize_per_tensor.out, args: [g, 0.5, -3, -128, 127, int8], out: r},
    {kernel: quantized_decomposed::dequantize_per_tensor.out, args: [r, 0.5, -3, -128, 127, int8], out: y}]}}";

/// A program with quantized inputs and outputs computes the integers of the numbers that it computed before.
#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn quantized_inputs_and_outputs_are_the_integers_of_the_numbers() {
    let folder = Folder::new(&[]);
    let options = RunOptions::new(RunnerCommand::new(runner::locate()));
    let convolution = Model::open(root().join("examples/xnnpack_quantized_convolution.yaml")).unwrap();
    for (model, count, numbers) in
        [(convolution, 9, -7..20), (Model::from_yaml("calls.yaml", QUANTIZED, "."), 6, 3..250)]
    {
        let (resolved, done) = model.quantize_io(&QuantizedIoOptions::default()).unwrap();
        let bytes = resolved.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
        let [input, output] = &done.values[..] else { panic!("{done:?}") };
        let integers: Vec<i64> = numbers.step_by(3).cycle().take(count).collect();
        let floats = integers.iter().map(|number| (number - input.zero_point) as f64 * input.scale);
        let text = |numbers: Vec<String>| options.clone().inputs(vec![("0".into(), numbers.join(","))]);
        let elements = |model: &Model, numbers: Vec<String>| {
            let found = model.run(&text(numbers), folder.path()).unwrap();
            found.outputs[0].1.elements(usize::MAX).unwrap()
        };
        let before = elements(&model, floats.map(|number| number.to_string()).collect());
        let after = Model::from_binary("quantized.pte", bytes);
        let after = elements(&after, integers.iter().map(i64::to_string).collect());
        let after =
            after.iter().map(|number| (number.parse::<i64>().unwrap() - output.zero_point) as f64 * output.scale);
        let before: Vec<f64> = before.iter().map(|number| number.parse().unwrap()).collect();
        assert_eq!(after.collect::<Vec<f64>>(), before);
    }
}

/// Two channels of a picture that are weighted, in the order of the sizes.
const PICTURE: &str = "methods: {forward: {values: {x: {tensor: float32, sizes: [1, 2, 2, 3]},
    w: {tensor: float32, sizes: [2, 1, 1], data: [[[0.5]], [[-3]]]}}, inputs: [x], outputs: [y],
    instructions: [{kernel: aten::mul.out, args: [x, w], out: y}]}}";

/// A program with converted inputs and outputs computes from bytes in another order what it computed from the numbers
/// before, bit for bit.
#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn converted_inputs_and_outputs_have_the_numbers_of_the_others() {
    let folder = Folder::new(&[]);
    let options = RunOptions::new(RunnerCommand::new(runner::locate()));
    let model = Model::from_yaml("picture.yaml", PICTURE, ".");
    let bytes: [u8; 12] = [0, 255, 3, 17, 128, 90, 1, 77, 200, 33, 254, 5];
    // The position of each element of channels last in the order of the sizes.
    let last = |position: usize| (position % 2) * 6 + position / 2;
    let (mean, std) = ([127.5f32, 10.0], [58.5f32, 3.0]);
    let normalised = bytes.iter().enumerate().map(|(position, byte)| {
        let channel = position / 6;
        (f32::from(*byte) - mean[channel]) * (1.0 / std[channel])
    });
    let elements = |model: &Model, numbers: Vec<String>| {
        let options = options.clone().inputs(vec![("0".into(), format!("{{hex: \"{}\"}}", numbers.concat()))]);
        model.run(&options, folder.path()).unwrap().outputs[0].1.elements(usize::MAX).unwrap()
    };
    let before = elements(&model, normalised.map(|number| HEXLOWER.encode(&number.to_le_bytes())).collect());
    let last_bytes = IoType { scalar_type: Some(ScalarType::BYTE), channels_last: Some(true) };
    let last_floats = IoType { scalar_type: None, channels_last: Some(true) };
    let by = Normalisation { mean: mean.to_vec(), std: std.to_vec() };
    let change = ConvertedIoOptions::default().inputs(vec![("x".into(), last_bytes)]);
    let change = change.outputs(vec![("y".into(), last_floats)]).normalised(vec![("x".into(), by)]);
    let (resolved, done) = model.convert_io(&change).unwrap();
    assert_eq!(done.values.iter().map(|value| value.calls).collect::<Vec<_>>(), [3, 1]);
    let file = resolved.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
    let converted = Model::from_binary("converted.pte", file);
    assert!(!converted.check(&CheckOptions::default()).unwrap()[0].1.has_errors());
    let after = elements(&converted, (0..12).map(|position| HEXLOWER.encode(&[bytes[last(position)]])).collect());
    assert_eq!(after, (0..12).map(|position| before[last(position)].clone()).collect::<Vec<_>>());
}

/// Calls that `convert_io` adds quantize and dequantize as the formulas do outside of the program, bit for bit.
#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn added_quantization_is_that_of_the_formula() {
    let folder = Folder::new(&[]);
    let options = RunOptions::new(RunnerCommand::new(runner::locate()));
    let run = |model: &Model, numbers: &[f64]| -> Vec<f64> {
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        let found = model.run(&options.clone().inputs(vec![("0".into(), numbers.join(","))]), folder.path()).unwrap();
        found.outputs[0].1.elements(usize::MAX).unwrap().iter().map(|number| number.parse().unwrap()).collect()
    };
    let converted = |model: &Model, change: &ConvertedIoOptions| {
        let (resolved, _) = model.convert_io(change).unwrap();
        let file = resolved.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
        let converted = Model::from_binary("converted.pte", file);
        assert!(!converted.check(&CheckOptions::default()).unwrap()[0].1.has_errors());
        converted
    };
    let dequantize =
        |by: IoQuantization, integer: f64| f64::from((integer as i64 - by.zero_point) as f32 * by.scale as f32);
    let quantize = |by: IoQuantization, [least, most]: [f64; 2], number: f64| {
        let integer = (number as f32 * (1.0 / by.scale as f32)).round_ties_even() as f64 + by.zero_point as f64;
        integer.clamp(least, most)
    };
    let program = |scalar_type: &str, call: &str| {
        let yaml = format!(
            "methods: {{forward: {{values: {{x: {{tensor: {scalar_type}, sizes: [7]}}}}, inputs: [x], outputs: [y],
             instructions: [{{kernel: {call}, out: y}}]}}}}"
        );
        Model::from_yaml("m.yaml", yaml, ".")
    };
    let integers: [(ScalarType, &str, [f64; 2], i64); 5] = [
        (ScalarType::CHAR, "int8", [-128.0, 127.0], 3),
        (ScalarType::BYTE, "uint8", [0.0, 255.0], 128),
        (ScalarType::SHORT, "int16", [-32768.0, 32767.0], -300),
        (ScalarType::UINT16, "uint16", [0.0, 65535.0], 1000),
        (ScalarType::INT, "int32", [-2147483648.0, 2147483647.0], 5),
    ];
    for (scalar_type, word, range, zero_point) in integers {
        let input = IoQuantization { scale: 0.1, zero_point, scalar_type: Some(scalar_type) };
        let output = IoQuantization { scale: 0.37, zero_point: zero_point + 7, ..input };
        let middle = zero_point as f64;
        let numbers = [range[0].max(-9999.0), range[1].min(9999.0), middle, middle + 1.0, middle + 2.0, 77.0, 101.0];
        for float in ["float32", "float16", "float64"] {
            // The kernel of float16 rounds the product to float16, as the runner does a number that is passed.
            let model = program(float, "aten::add.Scalar_out, args: [x, 0.75]");
            let floats: Vec<f64> = numbers.iter().map(|number| dequantize(input, *number)).collect();
            let before = run(&model, &floats);
            let change = ConvertedIoOptions::default().quantized(vec![("x".into(), input)]);
            assert_eq!(run(&converted(&model, &change), &numbers), before, "{word}, {float}");
            if float == "float64" {
                continue;
            }
            let change = change.quantized(vec![("x".into(), input), ("y".into(), output)]);
            let expected: Vec<f64> = before.iter().map(|number| quantize(output, range, *number)).collect();
            assert_eq!(run(&converted(&model, &change), &numbers), expected, "{word}, {float}");
        }
        // No kernel that keeps integers takes uint16.
        if scalar_type == ScalarType::UINT16 {
            continue;
        }
        let model = program(word, "aten::clamp.out, args: [x, 2, 90]");
        let floats = [-1e4, 1e4, 0.0, 0.15, 0.25, 1.1, 5.55];
        let floats = floats.map(|number: f32| f64::from(number));
        let quantized: Vec<f64> = floats.iter().map(|number| quantize(input, range, *number)).collect();
        let before = run(&model, &quantized);
        let own = |by: IoQuantization| IoQuantization { scalar_type: None, ..by };
        let change = ConvertedIoOptions::default();
        let change = change.dequantized(vec![("x".into(), own(input)), ("y".into(), own(output))]);
        // The text of a float32 has the digits that identify it.
        let expected: Vec<f32> = before.iter().map(|integer| dequantize(output, *integer) as f32).collect();
        let found: Vec<f32> =
            run(&converted(&model, &change), &floats).into_iter().map(|number| number as f32).collect();
        assert_eq!(found, expected, "{word}");
    }
}

/// Largest difference of two processors in the outputs of XNNPACK: absolute, and relative to the expected number. That
/// of float16 is two units in the last place of 1.
const XNNPACK: [f64; 2] = [1e-5, 1e-5];
const XNNPACK_HALF: [f64; 2] = [2e-3, 1e-3];

/// Programs that ExecuTorch's exporter wrote compute what its Python runtime computed, by `test` and by `run`.
///
/// The outputs of kernels are equal bit for bit, although the runner loads the libraries of the package and the Python
/// runtime has its own; so they were in qemu's Haswell and Nehalem. XNNPACK selects its microkernels by the processor:
/// on the one that recorded the outputs they are equal bit for bit, without AVX2 they differed by 5e-7, and those of
/// float16 by 2.5e-4.
#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn exported_programs_compute_what_python_recorded() {
    let folder = Folder::new(&[]);
    let runner = RunnerCommand::new(runner::locate());
    let (mut kernels, mut delegated, mut failures) = (0, 0, String::new());
    for path in files_below(&root().join("tests/golden/upstream/exports"), &["bpte"]) {
        let name = path.display();
        let data = path.with_extension("ptd");
        let model = Model::open(&path).unwrap().with_data_files(data.exists().then_some(data));
        let recorded = model.resolve().unwrap();
        let is_delegated = recorded.program.plans().iter().any(|plan| plan.delegates.iter().flatten().next().is_some());
        *(if is_delegated { &mut delegated } else { &mut kernels }) += 1;
        let report = model.run_tests(folder.path(), &TestOptions::new(runner.clone())).unwrap();
        let cases = recorded.tests.iter().flat_map(|tests| &tests.cases);
        assert!(!report.tests.is_empty() && report.tests.len() == cases.clone().count(), "{name}");
        for (test, case) in report.tests.iter().zip(cases) {
            let found = test.outputs.as_ref().unwrap_or_else(|| panic!("{name} {}: {:?}", test.name(), test.error));
            let expected: Vec<OutputValue> =
                case.outputs.iter().flatten().map(|output| OutputValue::from_test_data(output).unwrap()).collect();
            assert!(!expected.is_empty(), "{name}");
            let is_half = |output| matches!(output, &OutputValue::Tensor { scalar_type: ScalarType::HALF, .. });
            let [atol, rtol] = if expected.iter().any(is_half) { XNNPACK_HALF } else { XNNPACK };
            let case = TestCase { atol, rtol, ..case.clone() };
            let difference = compare_outputs(&case, found).unwrap().difference;
            let differs = if is_delegated { difference.is_some() } else { *found != expected };
            if differs {
                failures += &format!("{name} {}: {difference:?}\n{expected:?}\n{found:?}\n", test.name());
            }
            if test.index == 0 {
                let inputs = case.inputs.iter().enumerate();
                let inputs = inputs.filter_map(|(number, input)| Some((number.to_string(), written(input)?))).collect();
                let options = RunOptions::new(runner.clone()).method(test.method.clone()).inputs(inputs);
                let run = model.run(&options, folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(run.outputs.iter().map(|(_, output)| output).collect::<Vec<_>>(), Vec::from_iter(found));
            }
        }
    }
    assert_eq!(failures, "");
    println!("{kernels} programs of kernels, {delegated} with delegates");
    assert!(kernels >= 60 && delegated >= 40, "{kernels} programs of kernels, {delegated} with delegates");
}
