//! Tests of targets: their keys, the files that they name, and the rules.

use std::io;

use pte_analysis::kernels::ProgramKernels;
use pte_memory::boundary::BoundaryTensor;
use pte_memory::memory::{MemoryPool, MethodFootprint};
use pte_model::data::{BlobId, Origin};
use pte_model::program::{BackendDelegate, Program};
use pte_model::reader;

use super::linked::{LinkedKernel, LinkedOperators};
use super::parse::MAX_MESSAGES;
use super::*;

fn linear() -> Program {
    reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into())).unwrap().program
}

fn needs(program: &Program) -> ProgramNeeds {
    let mut method = MethodFootprint::default();
    (method.method_allocator.bytes, method.method_allocator.without_temporary_allocator) = (1000, 1300);
    let temporary = &mut method.temporary_allocator;
    (temporary.bytes, temporary.lookup, temporary.kernels) = (280, 280, 40);
    let mut pool = MemoryPool::default();
    (pool.pool, pool.bytes, pool.alignment) = (1, 80, 16);
    method.pools.push(pool);
    let mut input = BoundaryTensor::default();
    (input.bytes, input.is_provided) = (20_000, true);
    (method.inputs.count, method.inputs.tensors) = (1, vec![input]);
    let kernels = ProgramKernels::of(program);
    let mut needs = ProgramNeeds { bytes: 5000, kernels, ..ProgramNeeds::default() };
    needs.memory.iter_mut().for_each(|memory| memory.methods.push(method.clone()));
    needs
}

/// A runner takes more than planned memory and the method: what `firmware` computes for it.
#[test]
fn a_runner_takes_what_its_order_states() {
    for (yaml, expected) in [
        // 80 bytes of planned memory, the method up to 1080, one pointer, and the input of 20,000.
        ("{runner: zephyr, abi: arm32, method_allocator: 21084}", &[][..]),
        ("{runner: zephyr, abi: arm32, method_allocator: 21083}", &["R-6"]),
        ("{runner: zephyr, method_allocator: 21088}", &[]),
        ("{runner: zephyr, method_allocator: 21087}", &["R-6"]),
        // The input as a value, at 1088.
        ("{runner: cmsis, abi: arm32, method_allocator: 1096}", &[]),
        ("{runner: cmsis, abi: arm32, method_allocator: 1095}", &["R-6"]),
        // Without a temporary allocator, with planned memory of its own.
        ("{runner: pico, method_allocator: 1300, pools: [80]}", &[]),
        ("{runner: pico, method_allocator: 1299, pools: [79]}", &["R-5", "R-6"]),
    ] {
        assert_eq!(rules(yaml, ""), expected, "{yaml}");
    }
    let found = findings("{runner: zephyr, abi: arm32, method_allocator: 20000}", "");
    assert!(
        found[0].contains("of these 80 for planned memory, 4 for pointers to inputs, 20000 for input buffers"),
        "{found:?}"
    );
    let error = |yaml: &str| Target::parse("b", yaml).unwrap_err().to_string();
    assert!(
        error("runner: zefyr").contains("unknown runner `zefyr`: expected one of zephyr, cmsis, esp32, pico, arduino"),
        "{}",
        error("runner: zefyr")
    );
    assert!(error("{runner: pico, pools: method_allocator}").contains("both say what is taken"));
}

/// The total of a method is what `memory` prints: with the heap of delegates.
#[test]
fn ram_has_room_for_the_total() {
    let program = linear();
    let mut needs = needs(&program);
    needs.memory[1].methods[0].delegate_bytes = 5_000_000;
    let check = |yaml: &str, needs: &ProgramNeeds| -> Vec<String> {
        let found = Target::parse("b", yaml).unwrap().check(&program, needs, None);
        found.list.iter().map(ToString::to_string).collect()
    };
    // 1000 of the method, 80 planned, 280 temporary, the input.
    assert_eq!(check("ram: 21360", &needs), [""; 0]);
    let found = check("ram: 21359", &needs);
    assert!(
        found.len() == 1
            && found[0].contains(
                "[R-12]: methods.forward: 21360 bytes of RAM for the method, of these 20000 for inputs, 1000 for the method allocator, 280 for \
                 the temporary allocator, expected at most 21359"
            ),
        "{found:?}"
    );
    // Without a temporary allocator, the method takes more.
    assert_eq!(check("{ram: 21380, temp_allocator: 0}", &needs).len(), 1, "the kernel takes 40");
    let found = check("{abi: arm32, ram: 512K}", &needs);
    assert!(found.len() == 1 && found[0].contains("5000000 for the heap of delegates"), "{found:?}");
    assert_eq!(check("{abi: arm32, ram: 5M}", &needs), [""; 0]);
    // The input is in the method allocator.
    assert_eq!(check("{runner: zephyr, ram: 21368}", &needs), [""; 0]);
    assert_eq!(check("{runner: zephyr, ram: 21367}", &needs).len(), 1);
    needs.memory[0].methods[0].not_counted = vec!["MyBackend".to_owned()];
    let found = check("ram: 21360", &needs);
    assert!(found.len() == 1 && found[0].contains("[R-11]") && found[0].contains("MyBackend"), "{found:?}");
}

/// A name that is nearly one of ExecuTorch is a warning; others are custom ones.
#[test]
fn names_that_resemble_known_ones_are_warnings() {
    let warnings = |yaml: &str| -> Vec<String> {
        let target = Target::parse("b", yaml).unwrap();
        target.warnings().diagnostics.iter().map(|warning| warning.help.clone().unwrap_or_default()).collect()
    };
    for (yaml, near) in [
        ("operators: [aten::clmap.out]", "did you mean `aten::clamp.out`?"),
        ("operators: aten:clamp.out", "did you mean `aten::clamp.out`?"),
        ("operators: atn::clamp.out", "did you mean `aten::clamp.out`?"),
        ("operators: [aten::add]", "did you mean `aten::add.out`?"),
        ("operators: [aten.relu.out]", "did you mean `aten::relu.out`?"),
        ("operators: [executorch_prim::sub.Scalr]", "did you mean `executorch_prim::sub.Scalar`?"),
        ("backends: [XnnPackBackend]", "did you mean `XnnpackBackend`?"),
        ("backends: [xnnpack]", "did you mean `XnnpackBackend`?"),
        ("backends: [EthosU]", "did you mean `EthosUBackend`?"),
    ] {
        assert_eq!(warnings(yaml), [near], "{yaml}");
    }
    for yaml in [
        "operators: [aten::clamp.out, my::scale.out, mylib::gelu.out, my::clamp.out]",
        "backends: [XnnpackBackend, ArmBackend, MyBackend]",
    ] {
        assert_eq!(warnings(yaml), [""; 0], "{yaml}");
    }
    let many: String = (0..100_000).map(|number| format!("- aten::clmap.out{number}\n")).collect();
    assert_eq!(warnings(&format!("operators:\n{many}")).len(), MAX_MESSAGES);
}

/// 0.10 is 0.1 as a number.
#[test]
fn a_release_needs_quotes() {
    for yaml in ["executorch: 0.10", "executorch: 1.5", "executorch: 1"] {
        let error = Target::parse("b", yaml).unwrap_err().to_string();
        assert!(error.contains("expected quotes, such as \"1.5\""), "{error}");
    }
    for yaml in ["executorch: \"1.5\"", "executorch: 1.5.1"] {
        let target = Target::parse("b", yaml).unwrap();
        assert_eq!(target.release().unwrap().version().to_string(), "1.5.1", "{yaml}");
    }
    let error = Target::parse("b", "executorch: 1.5.0").unwrap_err().to_string();
    assert!(error.contains("unknown release `1.5.0`") && error.contains("the nearest one is 1.5.1"), "{error}");
}

/// Figures that are lower bounds fit only perhaps.
#[test]
fn what_is_not_known_is_reported() {
    let program = linear();
    let mut needs = needs(&program);
    for method in needs.memory.each_mut().map(|memory| &mut memory.methods[0]) {
        method.temporary_allocator.unknown = vec!["my::op.out".to_owned()];
        method.method_allocator.unknown_backends = vec!["MyBackend".to_owned()];
    }
    let rules = |yaml: &str| -> Vec<String> {
        let found = Target::parse("b", yaml).unwrap().check(&program, &needs, None);
        found.list.iter().map(ToString::to_string).collect()
    };
    assert_eq!(rules("pools: [80]"), [""; 0]);
    let [found] = &rules("temp_allocator: 40")[..] else { panic!("{:?}", rules("temp_allocator: 40")) };
    assert!(
        found.contains("suspicious[R-11]")
            && found.contains("the memory of `my::op.out` is not known: it is not known whether it fits"),
        "{found}"
    );
    assert!(rules("method_allocator: 1000")[0].contains("MyBackend"));
    for (yaml, rule) in [("temp_allocator: 39", "[R-7]"), ("method_allocator: 999", "[R-6]")] {
        let found = rules(yaml);
        assert!(found.len() == 1 && found[0].contains(rule), "{found:?}");
    }
}

/// Returns the findings of a program for a target, whose file `ops` has this text.
fn findings(yaml: &str, ops: &str) -> Vec<String> {
    let target = parse::target("board.yaml", yaml, &|_| Ok(ops.to_owned())).unwrap_or_else(|error| panic!("{error}"));
    let program = linear();
    let found = target.check(&program, &needs(&program), None);
    found.list.iter().map(|finding| format!("{}: {finding}", finding.rule.id)).collect()
}

fn rules(yaml: &str, ops: &str) -> Vec<String> {
    findings(yaml, ops).iter().map(|line| line.split_once(": ").unwrap().0.to_owned()).collect()
}

#[test]
fn ready_targets_are_valid_and_sorted() {
    let names: Vec<&str> = Target::ready_names().collect();
    assert!(names.is_sorted());
    for (name, text) in READY {
        let target = Target::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        assert!(!target.description().is_empty() && target.operators.is_some() && target.backends.is_some(), "{name}");
        let known = pte_xnnpack::FORMATS.backends();
        assert!(target.backends.unwrap().iter().all(|backend| known.contains(&&**backend)), "{name}");
        let file = format!("{}/targets/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), *text);
    }
    let files = std::fs::read_dir(format!("{}/targets", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(files.count(), READY.len());
}

/// The wheel registers the operators of the default runtime, and no others.
#[test]
fn the_wheel_links_the_default_runtime() {
    let linked = Target::ready("wheel-1.5.1").unwrap().operators.unwrap();
    for operator in pte_operators::all() {
        assert_eq!(linked.find(operator.name).is_some(), operator.library.is_none(), "{}", operator.name);
    }
    assert!(linked.find("my::op.out").is_none());
}

#[test]
fn keys_are_checked_and_all_errors_are_reported() {
    let yaml = "operators: [aten::add.out, 3, {library: portable_ops}, {file: a, library: b}, {lib: x}]
executorch: 1
abi: 32
pools: 4K
method_allocator: many
alignment: 12
temp_alocator: 1
abi: 64
description: [x]
";
    let error = Target::parse("board.yaml", yaml).unwrap_err().to_string();
    for message in [
        "board.yaml:1:28: error: expected the name of an operator, `{library: NAME}` or `{file: PATH}`, found the integer 3",
        "board.yaml:1:41: error: unknown library `portable_ops`",
        "error: expected either `library` or `file`",
        "unknown key `lib`",
        "board.yaml:2:13: error: a release without quotes is read as a number",
        "board.yaml:3:6: error: unknown ABI: the integer 32",
        "board.yaml:4:8: error: expected a list of sizes in bytes",
        "board.yaml:5:19: error: expected a number of bytes",
        "board.yaml:6:12: error: invalid alignment 12",
        "board.yaml:7:1: error: unknown key `temp_alocator`",
        "board.yaml:8:1: error: duplicate key `abi`",
        "board.yaml:9:14: error: expected a string, found a list of 1",
    ] {
        assert!(error.contains(message), "no `{message}` in\n{error}");
    }
    for yaml in ["", "[]", "3", "a: {", "operators: {file: x}"] {
        assert!(Target::parse("board.yaml", yaml).is_err(), "{yaml}");
    }
    let many = "x: 1\n".repeat(100_000);
    assert_eq!(Target::parse("board.yaml", &many).unwrap_err().diagnostics().len(), 100);
}

#[test]
fn a_file_that_cannot_be_read_is_an_io_error() {
    let missing = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    let error = parse::target("board.yaml", "operators: {file: a.yaml}", &missing).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::NotFound));
    assert!(error.to_string().contains("cannot read a.yaml"), "{error}");
}

#[test]
fn operators_are_listed_or_those_of_a_library() {
    assert_eq!(rules("operators: [aten::addmm.out, aten::permute_copy.out, aten::relu.out]", ""), [""; 0]);
    assert_eq!(rules("operators: {library: portable_ops_lib}", ""), [""; 0]);
    assert_eq!(rules("operators: {library: quantized_ops_lib}", ""), ["R-1"; 3]);
    assert_eq!(rules("operators: []", ""), ["R-1"; 3]);
    let found = findings("operators: [aten::addmm.out, aten::permute_copy.out]\nbackends: [XnnpackBackend]", "");
    let [relu] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        relu,
        "R-1: invalid[R-1]: methods.forward.operators[2]: operator `aten::relu.out` is not linked: 1 instruction calls it, expected a \
         kernel of board.yaml: add it (or portable_ops_lib) to the operators, or lower it to `XnnpackBackend`"
    );
}

#[test]
fn operators_are_read_from_the_files_of_builds() {
    let yaml = "operators: [{file: ops}]";
    let kernel = |name: &str, count: usize| {
        format!(
            "Kernel(\n  \"{name}\",\n  [](KernelRuntimeContext & c, Span<EValue*> stack) {{ CHECK(stack.size() == {count}, x); }}),\n"
        )
    };
    let cpp = [kernel("aten::addmm.out", 7), kernel("aten::permute_copy.out", 4), kernel("aten::relu.out", 3)].concat();
    assert_eq!(rules(yaml, &cpp), [""; 0]);
    let commented =
        format!("// {}\n/* {} */", kernel("aten::relu.out", 3).replace('\n', " "), kernel("aten::relu.out", 3));
    let without = [kernel("aten::addmm.out", 6), kernel("aten::permute_copy.out", 4), commented].concat();
    let found = findings(yaml, &without);
    assert!(
        found[0].contains("R-2]") && found[0].contains("7 arguments for `aten::addmm.out`, expected 6"),
        "{found:?}"
    );
    assert!(found[1].starts_with("R-1") && found.len() == 2, "{found:?}");

    let schema = "aten::addmm.out self:T a:T b:T out:T!\naten::permute_copy.out self:T dims:i[] out:T!\naten::relu.out self:T out:T!\n";
    assert_eq!(rules(yaml, schema), ["R-2"]);
    let functions =
        "- op: addmm.out\n- func: permute_copy.out(Tensor self, int[] dims) -> Tensor\n- op: aten::relu.out\n";
    assert_eq!(rules(yaml, functions), [""; 0]);
    let selected = "operators: {aten::addmm.out: {include_all_overloads: false}, aten::permute_copy: {include_all_overloads: true}}";
    assert_eq!(rules(yaml, selected), ["R-1"]);
    assert_eq!(rules(yaml, "include_all_operators: true"), [""; 0]);
    let types = "et_kernel_metadata:\n  aten::addmm.out: [v1/6;0|3;0]\n  aten::permute_copy.out:\n  - v1/3;0,1|3;0,1\n  aten::relu.out: [v1]";
    assert_eq!(rules(yaml, types), [""; 0]);
    let found = findings("operators: [{file: ops, dtype_selective: true}]", types);
    let [only] = &found[..] else { panic!("{found:?}") };
    assert!(
        only.contains("a tensor of float32 in a call of `aten::permute_copy.out`") && only.contains("`int32`"),
        "{only}"
    );
    for malformed in ["Kernel(name)", "a: 1", "- 3", "- {name: x}", "not a line"] {
        let error = parse::target("board.yaml", yaml, &|_| Ok(malformed.to_owned())).unwrap_err().to_string();
        assert!(error.contains("board.yaml:1:20: error: cannot use ops: "), "{error}");
    }
}

#[test]
fn memory_is_compared_with_the_allocators() {
    for (yaml, expected) in [
        ("pools: [80]", &[][..]),
        ("pools: [79]", &["R-5"]),
        ("pools: []", &["R-5"]),
        ("pools: {total: 80}", &[]),
        ("pools: {total: 79}", &["R-5"]),
        ("method_allocator: 1000", &[]),
        ("method_allocator: 999", &["R-6"]),
        ("{pools: method_allocator, method_allocator: 1080}", &[]),
        ("{pools: method_allocator, method_allocator: 1079}", &["R-6"]),
        ("temp_allocator: 280", &[]),
        ("temp_allocator: 39", &["R-7"]),
        // The lookup of kernels is in the method allocator then.
        ("{temp_allocator: 279, method_allocator: 1299}", &["R-6"]),
        ("{temp_allocator: 279, method_allocator: 1300}", &[]),
        ("alignment: 16", &[]),
        ("alignment: 8", &["R-8"]),
        ("{alignment: 8, abi: arm32}", &[]),
        ("{alignment: 4, abi: arm32}", &["R-8"]),
        ("method_allocator: 1.5K", &[]),
        ("method_allocator: 0.5KiB", &["R-6"]),
        ("largest_file: 5000", &[]),
        ("largest_file: 4K", &["R-9"]),
        ("backends: []", &[]),
    ] {
        assert_eq!(rules(yaml, ""), expected, "{yaml}");
    }
    let found = findings("method_allocator: 999", "");
    assert!(
        found[0].contains(
            "1000 bytes for the method allocator as in ExecuTorch 1.5.1, expected at most 999, which board.yaml has"
        ),
        "{found:?}"
    );
}

#[test]
fn backends_and_the_alignment_are_compared() {
    let mut program = linear();
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let delegate = |id: &str| BackendDelegate::new(id, BlobId(0));
    plan.delegates = Some(vec![delegate("XnnpackBackend"), delegate("EthosUBackend")]);
    let target = Target::parse("b", "{backends: [XnnpackBackend], alignment: 8, abi: arm32}").unwrap();
    let found = target.check(&program, &needs(&program), None);
    let found: Vec<String> = found.list.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("methods.forward.delegates[1]: a delegate of backend `EthosUBackend`"), "{}", found[0]);
    assert!(found[1].contains("expected 16 for EthosUBackend"), "{}", found[1]);
}

/// Thousands of operators that are not linked are counted, and the first ones listed.
#[test]
fn findings_are_bounded() {
    let mut program = linear();
    let plan = &mut program.execution_plan.as_mut().unwrap()[0];
    let operator = |number: usize| pte_model::program::Operator {
        name: Some(format!("my::{}", "x".repeat(100) + &number.to_string())),
        overload: None,
    };
    plan.operators = Some((0..20_000).map(operator).collect());
    let found = Target::parse("b", "operators: []").unwrap().check(&program, &needs(&program), None);
    assert_eq!((found.list.len(), found.truncated().next().unwrap().count), (20, 20_000));
}

/// Two selective builds register the kernels of both, in any order; so do a library and an operator that is named.
#[test]
fn sources_of_operators_are_a_union() {
    let file = |types: &str| format!("et_kernel_metadata: {{aten::addmm.out: [v1/{types};0]}}");
    let read = |path: &str| Ok(file(if path == "float" { "6" } else { "3" }));
    let rules = |operators: &str| {
        let yaml = format!("operators: [aten::permute_copy.out, aten::relu.out, {operators}]");
        let target = parse::target("board.yaml", &yaml, &read).unwrap_or_else(|error| panic!("{error}"));
        let program = linear();
        target.check(&program, &needs(&program), None).list.len()
    };
    let item = |name: &str| format!("{{file: {name}, dtype_selective: true}}");
    assert_eq!([rules(&item("float")), rules(&item("int"))], [0, 1]);
    assert_eq!(rules(&format!("{}, {}", item("float"), item("int"))), 0);
    assert_eq!(rules(&format!("{}, {}", item("int"), item("float"))), 0);
    for other in ["{library: portable_ops_lib}", "aten::addmm.out", "{file: int}"] {
        assert_eq!(rules(&format!("{}, {other}", item("int"))), 0, "{other}");
        assert_eq!(rules(&format!("{other}, {}", item("int"))), 0, "{other}");
    }
}

#[test]
fn malformed_files_of_builds_are_located() {
    for (text, expected) in [
        ("et_kernel_metadata:\n  aten::relu.out: [v1/x;0]", "2:20: expected the key of a kernel"),
        ("et_kernel_metadata:\n  aten::relu.out: [v2/6;0]", "found `v2/6;0`"),
        (
            "et_kernel_metadata:\n  aten::relu.out: [v1/6;0, 3]",
            "2:28: expected the key of a kernel, such as v1/6;0,1 or default, found the integer 3",
        ),
        ("et_kernel_metadata:\n  aten::relu.out: v1/6;0", "2:19: expected a list of keys of kernels, found"),
        ("et_kernel_metadata: [aten::relu.out]", "1:21: expected a map of the keys of kernels"),
        ("operators: [aten::relu.out]", "1:12: expected a map of operators, found a list of 1"),
        ("operators: {a: {}, a: {}}", "1:20: duplicate key `a`"),
        ("operators: {a: {include_all_overloads: 1}}", "expected true or false, found the integer 1"),
        ("- op: a\n- 3", "2:3: expected a map with `op` or `func`"),
    ] {
        let yaml = "operators: {file: ops, dtype_selective: true}";
        let error = parse::target("board.yaml", yaml, &|_| Ok(text.to_owned())).unwrap_err().to_string();
        assert!(error.contains("cannot use ops: ") && error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_key_of_an_item_is_no_duplicate() {
    for item in [
        "{library: portable_ops_lib, library: quantized_ops_lib}",
        "{file: a, file: b}",
        "{file: a, dtype_selective: true, dtype_selective: false}",
    ] {
        let yaml = format!("operators: {item}");
        let read = |_: &str| Ok("- op: add.out".to_owned());
        let error = parse::target("board.yaml", &yaml, &read).unwrap_err().to_string();
        assert!(error.contains("error: duplicate key `"), "{error}");
    }
}

#[test]
fn files_are_read_once_and_limited_together() {
    let count = std::cell::Cell::new(0);
    let large = format!("- op: add.out\n{}", "#".repeat(8 << 20));
    let read = |_: &str| {
        count.set(count.get() + 1);
        Ok(large.clone())
    };
    let same = format!("operators: [{}]", "{file: a}, ".repeat(1000));
    assert!(parse::target("board.yaml", &same, &read).is_ok());
    assert_eq!(count.replace(0), 1);
    let different: String = (0..1000).map(|number| format!("{{file: f{number}}}, ")).collect();
    let error = parse::target("board.yaml", &format!("operators: [{different}]"), &read).unwrap_err();
    assert_eq!((count.get(), error.diagnostics().len()), (8, 1));
    assert!(
        error.to_string().contains("board.yaml:1:104: error: the files with operators have more than 67108864 bytes"),
        "{error}"
    );
}

/// Time is in proportion to the size.
#[test]
fn hostile_targets_are_parsed_or_rejected() {
    let many = |item: &str| format!("operators: [{}]", format!("{item}, ").repeat(20_000));
    let long = format!("operators: [\"{}\"]", "a".repeat(1 << 20));
    let deep = format!("operators: {}{}", "[".repeat(60), "]".repeat(60));
    let cpp = "Kernel(\"aten::add.out\", stack.size() == 4), // x\n".repeat(20_000);
    let start = std::time::Instant::now();
    for yaml in [
        many("aten::add.out"),
        many("{library: portable_ops_lib}"),
        many("{library: x}"),
        many("{file: a}"),
        many("{library: a, library: b}"),
        long,
        deep,
    ] {
        let _ = parse::target("board.yaml", &yaml, &|_| Ok(cpp.clone()));
    }
    assert!(start.elapsed().as_secs() < 60);
}

/// No mutation of a target, or of the files that it names, panics.
#[test]
fn mutated_targets_never_panic() {
    const TARGET: &str = "description: x\nexecutorch: \"1.5\"\noperators: [aten::add.out, {library: portable_ops_lib}, {file: a, dtype_selective: true}]\n\
        backends: [XnnpackBackend]\nabi: arm32\npools: [80, 4K]\nmethod_allocator: 1.5K\ntemp_allocator: 0\nalignment: 16\nlargest_file: 4M\n";
    const FILES: [&str; 4] = [
        "et_kernel_metadata: {aten::add.out: [v1/6;0|3;0,1, default]}\noperators: {aten::add: {include_all_overloads: true}}\n",
        "- op: add.out\n- func: my::op.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)\n",
        "Kernel(\"aten::addmm.out\", [](auto c) { CHECK(stack.size() == 7, x); }) // Kernel(\n/* x */",
        "aten::relu.out self:T out:T!\n",
    ];
    const PARTS: [&str; 12] =
        ["[", "]", "{", "}", ": ", "\"", "\n", "é", "99999999999999999999", "/*", "Kernel(\"", "-1"];
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut mutated = |text: &str| {
        let mut chars: Vec<char> = text.chars().collect();
        for _ in 0..=random(3) {
            let at = random(chars.len().max(1)).min(chars.len());
            match random(3) {
                0 => chars.truncate(at),
                1 => drop(chars.splice(at..(at + random(6)).min(chars.len()), [])),
                _ => drop(chars.splice(at..at, PARTS[random(PARTS.len())].chars())),
            }
        }
        chars.into_iter().collect::<String>()
    };
    let program = linear();
    let needs = needs(&program);
    for round in 0..2000 {
        let yaml = if round % 2 == 0 { TARGET.to_owned() } else { mutated(TARGET) };
        let file = mutated(FILES[round / 2 % FILES.len()]);
        match parse::target("board.yaml", &yaml, &|_| Ok(file.clone())) {
            Ok(target) => drop(target.check(&program, &needs, None)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// A list of names says nothing about arguments; `kernels --format list` writes one line of them.
#[test]
fn files_of_names_are_lists_of_operators() {
    for text in ["aten::addmm.out\naten::relu.out\n", "aten::addmm.out,aten::relu.out\n"] {
        let mut linked = LinkedOperators::default();
        linked.add_file(text, false).unwrap();
        assert_eq!(linked.find("aten::addmm.out"), Some(LinkedKernel::default()), "{text}");
        assert_eq!(linked.find("aten::add.out"), None);
    }
    let mut linked = LinkedOperators::default();
    linked.add_file("mine::scale.out self:T out:T!\nmine::other.out\n", false).unwrap();
    assert_eq!(linked.find("mine::scale.out").unwrap().arguments, Some(3));
    assert_eq!(linked.find("mine::other.out").unwrap().arguments, None);
}
