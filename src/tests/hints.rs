//! The printer finds options of the memory planner without assembling YAML for each combination of them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Model;
use crate::printer;
use pte_model::data::Origin;

#[test]
fn options_of_the_memory_planner_are_tried_without_yaml() {
    // No planner places the tensors here.
    let values =
        "x: {tensor: float32, sizes: [4], memory: {pool: 1, offset: 4128}}, y: {memory: {pool: 1, offset: 96}}";
    let instructions = "[{kernel: aten::relu.out, args: [x], out: y}]";
    let yaml =
        format!("methods: {{f: {{values: {{{values}}}, inputs: [x], outputs: [y], instructions: {instructions}}}}}");
    let assembly = Model::from_yaml("test", &yaml, ".").assemble(&Default::default()).unwrap();
    let origin = Origin::Bytes(assembly.program_file().unwrap().to_vec().unwrap().into());
    let assemblies = AtomicUsize::new(0);
    let assembler = |yaml: &str, _: &Path, _: &_| {
        assemblies.fetch_add(1, Ordering::Relaxed);
        let model = Model::from_yaml("dump", yaml, ".");
        model.assemble(&Default::default()).map_err(|error| error.to_string())
    };
    let printed = printer::print(&origin, ".".as_ref(), &Default::default(), &assembler).unwrap();
    assert_eq!(printed.difference, None);
    assert!(printed.text.contains("memory: {pool: 1, offset: 4128}"), "{}", printed.text);
    assert_eq!(assemblies.into_inner(), 2);
}
