//! Edited weights in the real runtime (ignored: it downloads the runtime): data in `.ptd` files by pattern, weights
//! that were set, payloads that were replaced.

use std::fs;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use pte_emit::{AssembleOptions, Assembly, Model, payload::PayloadContent, weights::SetWeightsOptions};

use crate::support::execution::run_tests;
use crate::support::root;
use crate::support::runner::{self, Mode};

const MODE: Mode = Mode { verify: "full", loader: "file" };

fn example(name: &str) -> Model {
    Model::open(root().join(format!("examples/{name}.yaml"))).unwrap()
}

/// Runs the tests of a program; returns the number of compared outputs.
fn run(assembly: &Assembly) -> usize {
    run_tests(&runner::locate(), assembly, MODE).unwrap_or_else(|failures| panic!("{failures:?}"))
}

#[test]
#[ignore = "downloads the runtime"]
fn programs_run_wherever_their_data_are() {
    for name in ["linear", "named_data_delegate", "named_data_external", "xnnpack_linear", "checkpoint"] {
        let model = example(name);
        let external = AssembleOptions::default().external_data(true);
        let by_pattern = AssembleOptions::default().external(vec!["d*.ptd=*".parse().unwrap()]);
        let internal = AssembleOptions::default().internal_data(true);
        for options in [external, by_pattern, internal] {
            // A pattern that matches nothing is an error: all data are external already.
            if let Ok(assembly) = model.assemble(&options) {
                assert!(run(&assembly) > 0, "{name}");
            }
        }
    }
}

/// Outputs of the method `forward` of a file for an input of numbers.
fn outputs(pte: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.pte");
    fs::write(&path, pte).unwrap();
    let input: Vec<u8> = (0..64).flat_map(|at| ((at as f32 - 31.5) / 16.0).to_le_bytes()).collect();
    let input: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
    let script = format!("methods\nload forward\ninput 0 tensor 6 1,64 0,1 {input}\nexecute\noutputs\n");
    runner::run(&runner::locate(), &path, &[], MODE, &script).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Weights of the second model give its outputs.
#[test]
#[ignore = "downloads the runtime"]
fn weights_of_another_model_give_its_outputs() {
    let path = |name: &str| root().join(format!("tests/golden/upstream/weights/{name}.pte"));
    let (a, b) = (path("model_a"), path("model_b"));
    let folder = tempfile::tempdir().unwrap();
    let weights = |file: &PathBuf, name: &str| {
        let list = Model::open(file).unwrap().weights().unwrap();
        let entries = list.weights.iter().enumerate().map(|(number, weight)| {
            let data = format!("{{file: {file:?}, offset: {}}}", weight.offset.unwrap());
            format!("  w{number}: {{tensor: float32, sizes: {:?}, data: {data}}}\n", weight.sizes.as_ref().unwrap())
        });
        let yaml = format!("named_data:\n{}", entries.collect::<String>());
        let mut bytes = Vec::new();
        Model::from_yaml("w.yaml", yaml, "").assembly().unwrap().safetensors().unwrap().write(&mut bytes).unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut resolved = Model::open(&a).unwrap().resolve().unwrap();
    let options = SetWeightsOptions::default().like(weights(&a, "a.safetensors"));
    let changes = resolved.weight_changes(&[], &weights(&b, "b.safetensors"), &options).unwrap();
    assert_eq!(changes.problems(false), [""; 0]);
    resolved.set_weights(0, &changes);
    let new = resolved.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
    let [old, new, expected] = [fs::read(&a).unwrap(), new, fs::read(&b).unwrap()].map(|pte| outputs(&pte));
    assert_eq!(new, expected);
    assert!(old != new && new.len() > 3, "{new:?}");
}

#[test]
#[ignore = "downloads the runtime"]
fn replaced_payloads_run() {
    let folder = tempfile::tempdir().unwrap();
    let source =
        "named_data: {weight: {tensor: float32, data: [[6, 5, 4], [3, 2, 1]]}, bias: {tensor: float32, data: [1, 2]}}";
    let mut bytes = Vec::new();
    Model::from_yaml("w.yaml", source, "").assembly().unwrap().safetensors().unwrap().write(&mut bytes).unwrap();
    let path = folder.path().join("w.safetensors");
    fs::write(&path, bytes).unwrap();
    let options = SetWeightsOptions::default()
        .map(["filter*=weight", "bias*=bias"].iter().map(|rule| rule.parse().unwrap()).collect());
    let graph = "
graph:
  values:
    x: {datatype: fp32, sizes: [2, 3]}
    filter: {datatype: fp32, sizes: [2, 3], data: [[6, 5, 4], [3, 2, 1]]}
    bias: {datatype: fp32, sizes: [2], data: [1, 2]}
    y: {}
  inputs: [x]
  outputs: [y]
  nodes:
    - {fully_connected: {input: x, filter: filter, bias: bias, output: y}}
";
    let expected = "    tests:\n      - {inputs: [[[1, 1, 1], [1, 0, -1]]], outputs: [[[16, 8], [3, 4]]]}\n";
    let yaml = fs::read_to_string(root().join("examples/named_data_delegate.yaml")).unwrap();
    let (before, after) = (yaml.find("    tests:").unwrap(), yaml.find("named_data:").unwrap());
    let yaml = format!("{}{expected}{}", &yaml[..before], &yaml[after..]);
    let model = Model::from_yaml("m.yaml", yaml, root().join("examples"));
    for with_graph in [false, true] {
        let mut resolved = model.resolve().unwrap();
        let at = resolved.find_delegate(None).unwrap();
        let content = match with_graph {
            true => PayloadContent::of_graph(&Model::from_yaml("g.yaml", graph, "")).unwrap(),
            false => {
                let (changes, content) = resolved.payload_weights(at, &path, &options).unwrap();
                assert_eq!(changes.problems(false), [""; 0]);
                content
            }
        };
        resolved.replace_payload(at, content).unwrap();
        assert_eq!(run(&resolved.to_files(&AssembleOptions::default()).unwrap()), 1, "{with_graph}");
    }
}
