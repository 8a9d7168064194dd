//! `runner install` and `run` in the real runtime: the outputs of all examples with tests are the expected ones.

use crate::support::folder::Folder;
use crate::support::{root, runner};
use data_encoding::HEXLOWER;
use pte_emit::Model;
use pte_emit::program::test_cases::TestData;
use pte_emit::run::{OutputValue, RUNNER_RELEASE, RunOptions, RunnerFolder, compare_outputs};

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
