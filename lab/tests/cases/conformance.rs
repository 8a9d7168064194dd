//! One test per example, and per source of `tests/golden/upstream/bytes`, in the real ExecuTorch runtime: it is
//! assembled, loaded and executed, and its outputs are compared with the expected ones; with internal and external
//! weights, and with every loader.
//!
//! The tests of a method run in order on one loaded method: mutable tensors keep their content. They are ignored by
//! default, since they download the runtime from a package index: `cargo lab --test cases -- --ignored conformance::`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libtest_mimic::Trial;
use pte_emit::program::test_cases::{TestCase, TestData};
use pte_emit::program::{ExecutionPlan, Memory, Program, TensorData};
use pte_emit::{
    AssembleOptions, Assembly, Model, PrintOptions,
    check::CheckOptions,
    plan::{HeaderMode, LayoutOptions, Storage},
    release::Serializer,
};
use pte_model::format::{DimOrder, ScalarType};

use crate::support::case::{Case, inputs};
use crate::support::execution::{self, compare, methods};
use crate::support::runner::{self, Mode, Value};
use crate::support::trial;
use pte_run::compare::coordinates;

/// Variants of each test: external constants or not, options of loading.
const VARIANTS: [(bool, Mode); 5] = [
    (false, Mode { verify: "full", loader: "file" }),
    (false, Mode { verify: "full", loader: "buffer" }),
    (false, Mode { verify: "minimal", loader: "mmap" }),
    (true, Mode { verify: "full", loader: "file" }),
    (true, Mode { verify: "full", loader: "mmap" }),
];

/// The cases, by name.
pub fn trials() -> Vec<Trial> {
    let examples = inputs("examples").into_iter().map(|case| test("examples", case, true));
    let upstream = inputs("tests/golden/upstream/bytes");
    let upstream = upstream.into_iter().map(|case| test("upstream/bytes", case, false));
    let ours = [
        trial("coordinates_depend_on_the_dim_order", coordinates_depend_on_the_dim_order),
        trial("differences_are_reported", differences_are_reported),
        trial("pruned_programs_compute_the_same", pruned_programs_compute_the_same).with_ignored_flag(true),
        trial("edited_dumps_compute_as_edited_modules", edited_dumps_compute_as_edited_modules).with_ignored_flag(true),
        trial("edited_graphs_compute_as_edited_modules", edited_graphs_compute_as_edited_modules)
            .with_ignored_flag(true),
        trial("a_default_method_is_loaded", a_default_method_is_loaded).with_ignored_flag(true),
    ];
    examples.chain(upstream).chain(releases()).chain(ours).collect()
}

static RUNNER: LazyLock<PathBuf> = LazyLock::new(runner::locate);

/// An example must compare an output; sources of golden files need not have tests.
fn test(folder: &str, case: Case, must_compare: bool) -> Trial {
    let name = format!("{folder}/{}", case.name());
    let test = trial(name, move || {
        for (external_data, mode) in VARIANTS {
            let external = if external_data { ", --external-data" } else { "" };
            let variant = format!("{} verification, {}{external}", mode.verify, mode.loader);
            let options = AssembleOptions::default().external_data(external_data);
            match compare_outputs(&RUNNER, &case.input, &options, mode) {
                Ok(compared) => assert!(compared > 0 || !must_compare, "{variant}: no test compares an output"),
                Err(failures) => panic!("{variant}:\n{}", failures.join("\n")),
            }
        }
        let options = AssembleOptions::default().prune(true);
        if let Err(failures) = compare_outputs(&RUNNER, &case.input, &options, VARIANTS[0].1) {
            panic!("--prune:\n{}", failures.join("\n"));
        }
    });
    test.with_ignored_flag(true)
}

/// Assembles a source, runs its tests, and returns the number of compared outputs.
///
/// # Errors
/// All failures.
fn compare_outputs(runner: &Path, path: &Path, options: &AssembleOptions, mode: Mode) -> Result<usize, Vec<String>> {
    let text = fs::read_to_string(path).map_err(|error| vec![error.to_string()])?;
    let name = path.display().to_string();
    let input = Model::from_yaml(&name, &text, path.parent().unwrap_or(Path::new("")));
    let assembly = input.assemble(options).map_err(|report| vec![report.report().render(false)])?;
    if options.external_data
        && let Some(left) = constant_inside(&assembly)
    {
        return Err(vec![left]);
    }
    execution::run_tests(runner, &assembly, mode)
}

/// Options that rewrite a file of an old release for the runtime of today (docs/releases.md).
fn rewritten() -> LayoutOptions {
    LayoutOptions::default()
        .constants(Storage::Segment)
        .delegates(Storage::Segment)
        .header(HeaderMode::Auto)
        .builder(Serializer::Exir)
}

/// Programs of other releases: the runtime loads the methods of those without errors in `check`, and of all others once
/// they are rewritten.
fn releases() -> Vec<Trial> {
    let folder = crate::support::root().join("tests/golden/upstream/releases");
    let files = crate::support::files_below(&folder, &["pte"]);
    assert!(!files.is_empty(), "no files of other releases");
    let test = |path: PathBuf| {
        let name = format!("upstream/releases/{}", path.strip_prefix(&folder).unwrap().display());
        trial(name, move || loads(&path)).with_ignored_flag(true)
    };
    files.into_iter().map(test).collect()
}

fn loads(path: &Path) {
    let data = path.with_file_name(format!("{}___default_external_constant.ptd", path.file_stem().unwrap().display()));
    let data: Vec<PathBuf> = data.exists().then_some(data).into_iter().collect();
    let source = Model::open(path).unwrap();
    let findings = source.check(&pte_emit::check::CheckOptions::default()).unwrap();
    let mut options = AssembleOptions::default();
    let has_errors = findings[0].1.has_errors();
    if has_errors {
        options.layout = self::rewritten();
    }
    let folder = tempfile::tempdir().unwrap();
    let assembly = source.assemble(&options).unwrap();
    let rewritten = folder.path().join("model.pte");
    fs::write(&rewritten, assembly.program_file().unwrap().to_vec().unwrap()).unwrap();
    let script = methods(&assembly)
        .fold("methods\n".to_owned(), |script, name| script + &format!("load {}\n", runner::quote(name)));
    let run = |path: &Path| match runner::run(&RUNNER, path, &data, VARIANTS[0].1, &script) {
        Ok(answers) => answers.iter().filter(|answer| *answer == "load ok").count() == methods(&assembly).count(),
        Err(failure) => {
            assert!(failure.contains("after `program error 0x23 InvalidProgram`"), "{failure}");
            false
        }
    };
    assert!(run(&rewritten), "the runtime does not load the rewritten file");
    assert_eq!(run(path), !has_errors, "whether the runtime loads the file as it is");
}

/// Message about a constant that is stored in the program in spite of `external_data`, and does not have the data of an
/// output.
fn constant_inside(assembly: &Assembly) -> Option<String> {
    let program = assembly.program();
    let outputs =
        program.plans().iter().flat_map(|plan| plan.outputs.iter().flatten().filter_map(|id| plan.value(*id)));
    let kept: Vec<&TensorData> = outputs.filter_map(|value| Some(&value.as_tensor()?.data)).collect();
    program.plans().iter().find_map(|plan| {
        let inside = plan.tensors().find(|(_, tensor)| {
            let is_constant = matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None;
            is_constant && !tensor.is_external() && !kept.contains(&&tensor.data)
        });
        let name = plan.name.as_deref().unwrap_or_default();
        inside.map(|(value, _)| format!("value {value} of `{name}` is a constant inside the program"))
    })
}

fn coordinates_depend_on_the_dim_order() {
    assert_eq!(coordinates(5, &[2, 3], &[0, 1]), [1, 2]);
    assert_eq!(coordinates(5, &[2, 3], &[1, 0]), [1, 2]);
    assert_eq!(coordinates(1, &[2, 3], &[1, 0]), [1, 0]);
    assert_eq!(coordinates(0, &[], &[]), [0; 0]);
}

fn differences_are_reported() {
    let mut case = TestCase::new(Vec::new(), None);
    (case.atol, case.rtol) = (0.5, 0.0);
    let near = |expected, found| case.tolerance().accepts(expected, found);
    assert!(near(1.0, 1.5) && !near(1.0, 1.75));
    assert!(near(f64::NAN, f64::NAN) && !near(f64::NAN, 1.0) && !near(1.0, f64::NAN));
    assert!(near(f64::INFINITY, f64::INFINITY) && !near(f64::INFINITY, 1.0));
    let tensor = |words: &str| runner::read(words).unwrap();
    let expected = TestData::Tensor {
        scalar_type: ScalarType::LONG,
        sizes: vec![1],
        dim_order: DimOrder::contiguous(1),
        data: pte_model::data::Blob::bytes(&7i64.to_le_bytes()[..]),
    };
    assert_eq!(runner::spell(&expected).unwrap(), "tensor 4 1 0 0700000000000000");
    assert_eq!(compare(&expected, &tensor("tensor 4 1 0 0700000000000000"), &case), Ok(()));
    for (words, message) in [
        ("tensor 4 1 0 0800000000000000", "Element: expected 7 at [0], found 8"),
        ("tensor 4 1 0 null", "NoMemory: expected a tensor with memory, found one without"),
        ("tensor 4 2 0 null", "Sizes: expected [1], found [2]"),
        ("tensor 6 1 0 00000000", "ElementType: expected int64, found float32"),
    ] {
        assert_eq!(compare(&expected, &tensor(words), &case), Err(message.to_owned()));
    }
    assert!(compare(&expected, &Value::Other("ListInt".into()), &case).is_err());
    assert_eq!(runner::quote("a b%"), "a%20b%25");
}

/// As a user of the library may write it.
fn a_default_method_is_loaded() {
    let program = Program::new(vec![ExecutionPlan::default()]);
    let assembly = pte_emit::Resolved::from(program.clone()).to_files(&AssembleOptions::default()).unwrap();
    let path = tempfile::tempdir().unwrap();
    let (pte, _) = crate::support::files::write(&assembly, path.path()).unwrap();
    for verify in ["full", "minimal"] {
        let mode = Mode { verify, loader: "file" };
        let answers = runner::run(&RUNNER, &pte, &[], mode, "methods\nload forward\nexecute\n").unwrap();
        assert_eq!(answers, ["program ok", "methods forward", "load ok", "execute ok"]);
    }
}

/// Instructions without effect among others: in branches, between jumps and their destinations, in loops, before views
/// and after writes of state.
fn pruned_programs_compute_the_same() {
    const DEAD: &str = "{kernel: aten::cos.out, args: [x], out: dead#}";
    let values = "x: {tensor: float32, sizes: [3]}, sum: {tensor: float32, sizes: []}, positive: {tensor: bool, sizes: []}, \
                  y: {tensor: float32, sizes: [3]}, count: {tensor: float32, sizes: [1], data: [0], mutable: true}, \
                  one: {tensor: float32, sizes: [1], data: [1]}, idle: {tensor: float32, sizes: [9], data: {random: {seed: 1}}}";
    let instructions = [
        "{kernel: aten::sum.IntList_out, args: [x, null], out: sum}",
        "{kernel: aten::gt.Scalar_out, args: [sum, 0], out: positive}",
        "{jump_false: {cond: positive, to: otherwise}}",
        "{kernel: aten::sin.out, args: [x], out: y}",
        "{jump_false: {cond: false, to: end}}",
        "{label: otherwise, kernel: aten::exp.out, args: [x], out: never}",
        "{kernel: aten::cos.out, args: [x], out: y}",
        "{label: end, kernel: aten::exp.out, args: [x], out: again}",
        "{kernel: aten::add.out, args: [count, one], out: next}",
        "{kernel: aten::copy_, args: [count, next, false, count]}",
    ];
    let instructions: Vec<String> = instructions
        .iter()
        .enumerate()
        .flat_map(|(number, live)| [DEAD.replace('#', &number.to_string()), (*live).to_owned()])
        .collect();
    let yaml = format!(
        "methods: {{forward: {{values: {{{values}}}, inputs: [x], outputs: [y, count], instructions: [{}],
        tests: [{{inputs: [[0, 1, 2]], outputs: [[0, 0.8414709848, 0.9092974268], [1]]}},
        {{inputs: [[0, -1, -2]], outputs: [[1, 0.5403023059, -0.4161468365], [2]]}}]}}}}",
        instructions.join(",\n")
    );
    for (prune, remaining) in [(false, 20), (true, 8)] {
        let options = AssembleOptions::default().prune(prune);
        let assembly = Model::from_yaml("pruned", &yaml, ".").assemble(&options).unwrap();
        let instructions = assembly.program().plans()[0].chains.as_ref().unwrap()[0].instructions.as_ref().unwrap();
        assert_eq!(instructions.len(), remaining);
        let compared = execution::run_tests(&RUNNER, &assembly, VARIANTS[0].1);
        assert_eq!(compared.unwrap_or_else(|failures| panic!("{}", failures.join("\n"))), 4);
    }
}

/// Edits of dumped programs of the exporter. The expected outputs are those of the modules, edited alike, in torch: see
/// `lab/conformance/edits.py`.
fn edited_dumps_compute_as_edited_modules() {
    let mobilenet = || dumped("mobilenet");
    let twice = |first: &str, second: &str| {
        let (_, second) = second.split_once("  forward:\n").expect("a method");
        format!("{first}  normalize:\n{second}")
    };
    let (normalize_values, normalize_instructions) = {
        let normalize = dumped("normalize");
        let (head, instructions) = normalize.split_once("    instructions:\n").expect("instructions");
        let (_, values) = head.split_once("    values:\n").expect("values");
        let (values, _) = values.split_once("    inputs:").expect("inputs");
        (replaced(values, &[("      x: {tensor: float32, sizes: [1, 3, 16, 16]}\n", "")]), instructions.to_owned())
    };
    let first_call = "      - {kernel: aten::convolution.out, args: [x, ";
    let last_call = "      - {kernel: aten::convolution.out, args: [add, ";
    let test = |source: String, input, output| replaced(&source, &[("    inputs: [x]\n", &test_of(input, output))]);
    let cases = [
        ("unedited", test(mobilenet(), "image", "unedited")),
        (
            "another size of the input",
            replaced(&test(mobilenet(), "large_image", "large_image"), &[("[1, 3, 16, 16]", "[1, 3, 24, 24]")]),
        ),
        (
            "without the classifier",
            replaced(
                &without_lines(
                    &test(mobilenet(), "image", "features"),
                    &["{view: mean,", "out: permute_copy}", "out: linear}"],
                ),
                &[("outputs: [linear]", "outputs: [mean]")],
            ),
        ),
        (
            "an inserted instruction",
            replaced(
                &test(mobilenet(), "image", "inserted_relu"),
                &[(
                    last_call,
                    "      - {kernel: aten::relu.out, args: [add], out: inserted}\n      - {kernel: aten::convolution.out, args: \
                     [inserted, ",
                )],
            ),
        ),
        (
            "the methods of two dumps",
            twice(&test(mobilenet(), "image", "unedited"), &test(dumped("normalize"), "image", "normalize")),
        ),
        (
            "the bodies of two methods in one",
            replaced(
                &test(mobilenet(), "image", "normalized"),
                &[
                    ("    values:\n", &format!("    values:\n{normalize_values}")),
                    (first_call, "      - {kernel: aten::convolution.out, args: [mul, "),
                    ("    instructions:\n", &format!("    instructions:\n{normalize_instructions}")),
                ],
            ),
        ),
    ];
    let folder = edits();
    for (edit, source) in &cases {
        for prune in [false, true] {
            let options = AssembleOptions::default().prune(prune);
            let context = format!("{edit}, prune: {prune}");
            let assembly = Model::from_yaml("edited", source, &folder).assemble(&options);
            let assembly = assembly.unwrap_or_else(|error| panic!("{context}: {error}\n{source}"));
            let program = assembly.program_file().unwrap().to_vec().unwrap();
            let findings = Model::from_binary("edited.pte", &program).check(&CheckOptions::default()).unwrap();
            assert!(findings.iter().all(|(_, findings)| !findings.has_errors()), "{context}: {:?}", findings[0].1.list);
            let compared = execution::run_tests(&RUNNER, &assembly, VARIANTS[0].1);
            let compared = compared.unwrap_or_else(|failures| panic!("{context}:\n{}", failures.join("\n")));
            assert_eq!(compared, assembly.program().plans().len(), "{context}");
        }
    }
}

/// Edits of graphs in dumps of delegated programs: see `lab/conformance/xnnpack_edits.py`.
fn edited_graphs_compute_as_edited_modules() {
    let transpose = "            - {static_transpose: {input: v8, ";
    let inserted = format!("            - {{clamp: {{input: inserted, output: v8}}, output_min: 0}}\n{transpose}");
    type Edits<'e> = &'e [(&'e str, &'e str)];
    // Numbers that are quantized at run time are rounded in another way.
    let cases: [(&str, &str, &str, Edits<'_>); 6] = [
        ("xnnpack", "xnnpack", "1e-4", &[]),
        ("xnnpack", "xnnpack_weight", "1e-4", &[("numbers: [0.5, -0.25]", "numbers: [1.5, -2]")]),
        ("xnnpack", "xnnpack_clamp", "1e-4", &[("output_max: 6", "output_max: 1")]),
        ("xnnpack", "xnnpack_relu", "1e-4", &[("output: v8}", "output: inserted}"), (transpose, &inserted)]),
        ("xnnpack_quantized", "xnnpack_quantized", "2e-2", &[]),
        (
            "xnnpack_quantized",
            "xnnpack_scale",
            "2e-2",
            &[("numbers: [0.0078125, 0.015625]", "numbers: [0.03125, 0.00390625]")],
        ),
    ];
    for (program, edit, tolerance, edits) in cases {
        let test = test_of(program, edit).replace("1e-4", tolerance);
        let source = replaced(&replaced(&dumped(program), &[("\n    inputs: [x]\n", &format!("\n{test}"))]), edits);
        let assembly = Model::from_yaml(edit, &source, self::edits()).assemble(&AssembleOptions::default());
        let assembly = assembly.unwrap_or_else(|error| panic!("{edit}: {error}\n{source}"));
        let bytes = assembly.program_file().unwrap().to_vec().unwrap();
        let findings = Model::from_binary("edited.pte", &bytes).check(&CheckOptions::default()).unwrap();
        assert!(findings.iter().all(|(_, findings)| !findings.has_errors()), "{edit}: {:?}", findings[0].1.list);
        let compared = execution::run_tests(&RUNNER, &assembly, VARIANTS[0].1);
        assert_eq!(compared.unwrap_or_else(|failures| panic!("{edit}:\n{}", failures.join("\n"))), 1, "{edit}");
    }
}

fn edits() -> PathBuf {
    crate::support::root().join("tests/golden/edits")
}

/// The dump of a program of tests/golden/edits, with paths relative to that folder.
fn dumped(name: &str) -> String {
    let source = Model::open(edits().join(format!("{name}.pte"))).unwrap();
    let printed = source.to_yaml(&edits(), &PrintOptions::default()).unwrap();
    assert_eq!(printed.difference, None);
    printed.text
}

/// Replaces words that occur once.
fn replaced(source: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(source.to_owned(), |source, (from, to)| {
        assert_eq!(source.matches(from).count(), 1, "`{from}` in\n{source}");
        source.replace(from, to)
    })
}

/// Deletes one line for each of some words.
fn without_lines(source: &str, words: &[&str]) -> String {
    words.iter().fold(source.to_owned(), |source, word| {
        let (deleted, kept): (Vec<&str>, Vec<&str>) =
            source.split_inclusive('\n').partition(|line| line.contains(word));
        assert_eq!(deleted.len(), 1, "`{word}` in\n{source}");
        kept.concat()
    })
}

/// The inputs of a dump, followed by its test.
fn test_of(input: &str, output: &str) -> String {
    format!(
        "    inputs: [x]\n    tests: [{{inputs: [{{npy: {input}.npy}}], outputs: [{{npy: {output}.output.npy}}], atol: 1e-4, rtol: 1e-4}}]\n"
    )
}
