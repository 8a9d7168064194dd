//! `dump`: irregular layouts are printed with their keys, long sources round-trip, mutated files do not panic; weights
//! are moved to a `.ptd` and back.
//!
//! The modules of tests/cases test that all files and sources of the repository are reproduced.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use pte_emit::{AssembleOptions, Blob, LargeData, Model, PrintOptions};
use pte_model::data::Origin;

use crate::support::folder::{Folder, RELU};
use crate::support::properties::{first_file as bytes, print, print_options, print_options_of, survives_dump};
use crate::support::{files_below, mutation, root};

#[test]
fn explicit_views_are_no_state() {
    let yaml = RELU.replace(
        "out: y}",
        "out: r}\n      - {view: r, sizes: [2, 2], out: v}\n      - {kernel: aten::neg.out, args: [v], out: y}",
    );
    let folder = Folder::new(&[("model.yaml", &yaml)]);
    folder.run(&["model.yaml", "-q", "-o", "model.pte"]).exits(0);
    let text = String::from_utf8(folder.run(&["dump", "--explicit", "model.pte"]).exits(0).stdout).unwrap();
    assert!(text.contains("\n      view: {tensor: ") && !text.contains("mutable"), "{text}");
}

#[test]
fn tests_are_stripped_without_touching_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let bundled = root().join("tests/golden/upstream/bundled/addmul/model.bpte");
    let target = folder.path().join("model.pte");
    let binary = env!("CARGO_BIN_EXE_pte-emit");
    let status = Command::new(binary).arg(&bundled).arg("--strip-tests").arg("-o").arg(&target).status().unwrap();
    assert!(status.success());
    assert!(
        std::fs::read(&target).unwrap()
            == std::fs::read(root().join("tests/golden/upstream/bytes/addmul/model.pte")).unwrap()
    );
}

/// Computed keys are not printed where the default reproduces the file.
#[test]
fn printed_yaml_is_short() {
    for name in ["add", "linear", "stateful_init", "index", "conv_dyn", "conv_xnn", "topk", "cat", "cond_input", "scan"]
    {
        let printed =
            print(&root().join(format!("tests/golden/upstream/bytes/{name}/model.pte")), false, LargeData::Refer)
                .unwrap();
        for hint in [", index: ", "operators:", "non_const_buffer_sizes", "memory: {pool"] {
            assert!(!printed.text.contains(hint), "{name} needs no `{hint}`:\n{}", printed.text);
        }
    }
}

/// The exporter leaves constants unused, but no other values.
#[test]
fn dumps_of_exported_files_assemble_without_warnings_of_unused_values() {
    let files = files_below(&root().join("tests/golden/upstream/bytes"), &["pte"]);
    assert!(!files.is_empty());
    for path in files {
        let printed = print(&path, false, LargeData::Refer).unwrap();
        let source = Model::from_yaml("dump", &printed.text, "");
        let assembly = source.assemble(&AssembleOptions::default()).unwrap();
        assert!(!assembly.warnings.to_string().contains("unused"), "{}: {}", path.display(), assembly.warnings);
    }
}

/// `dump` does not assemble long sources for comparison by default; this test does.
#[test]
fn long_sources_round_trip() {
    const COUNT: usize = 1800;
    let mut text = String::from("methods:\n  forward:\n    values:\n      x: {tensor: float32, sizes: [2, 3]}\n");
    for i in 0..COUNT {
        text +=
            &format!("      a{i}: {{tensor: float32, sizes: [2, 3]}}\n      c{i}: {{tensor: float32, sizes: [4]}}\n");
        text += &format!("      b{i}: {{tensor: float32, sizes: [2]}}\n      i{i}: {{tensor: int64, sizes: [2]}}\n");
        text += &format!("      n{i}: 0\n      w{i}: {{tensor: float32, sizes: [2], data: [{i}, 1]}}\n");
    }
    text += "    inputs: [x]\n    outputs: [b0]\n    instructions:\n";
    for i in 0..COUNT {
        let from = if i == 0 { "x".to_owned() } else { format!("a{}", i - 1) };
        text += &format!(
            "      - {{kernel: aten::slice_copy.Tensor_out, args: [{from}, 0, null, {}, 1], out: a{i}}}\n",
            2 + i
        );
        text += &format!("      - {{kernel: aten::max.dim_max, args: [a{i}, 1, false], out: [b{i}, i{i}]}}\n");
        text += &format!("      - {{kernel: aten::sym_size.int, args: [a{i}, 0], out: [n{i}]}}\n");
        text += &format!("      - {{kernel: aten::add.out, args: [b{i}, w{i}, 0.5], out: b{i}}}\n");
        text += &format!("      - {{kernel: aten::cat.out, args: [[b{i}, w{i}], 0], out: c{i}}}\n");
        text += &format!("      - {{kernel: aten::view_copy.out, args: [a{i}, [n{i}, -1]], out: a{i}}}\n");
    }
    let file = bytes(&text);
    let origin = Origin::Bytes(file.as_slice().into());
    let print = || crate::support::model("dump", &origin).to_yaml(Path::new(""), &print_options()).unwrap();
    let printed = print();
    assert_eq!(printed.difference, None);
    assert!(printed.text.len() > 1 << 19 && !printed.text.contains("index:"));
    assert!(bytes(&printed.text) == file);
    // Padding is compared in long files, too.
    let mut padded = file;
    let end = u64::from_le_bytes(padded[16..24].try_into().unwrap()) as usize;
    padded[end] = 1;
    let origin = Origin::Bytes(padded.as_slice().into());
    let printed = crate::support::model("dump", &origin).to_yaml(Path::new(""), &print_options()).unwrap();
    assert_eq!(printed.difference, None);
    assert!(printed.text.ends_with(&format!("raw:\n  patch:\n    - {{at: {end:#x}, bytes: {{hex: \"01\"}}}}\n")));
}

/// Irregular layouts: files of sources, some with changed bytes, and the expected keys in the printed YAML.
#[test]
fn irregular_layouts_are_printed() {
    let model = |data: &str, rest: &str| {
        format!(
            "methods:\n  forward:\n    values:\n      a: {{tensor: uint8, sizes: [5], data: {data}}}\n      b: {{tensor: uint8, \
             sizes: [5], data: {{hex: \"0102030405\", copy: 1}}}}\n      c: {{tensor: uint8, sizes: [5], data: {{hex: \
             \"0102030405\", copy: 1}}, name: same}}\n      x: {{tensor: float32, sizes: [2], name: same}}\n    inputs: [x]\n    outputs: [x]\n{rest}"
        )
    };
    let plain = bytes(&model("[9, 8, 7, 6, 5]", ""));
    let gap = u64::from_le_bytes(plain[24..32].try_into().unwrap()) as usize + 5;
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = plain.clone();
        change(&mut file);
        file
    };
    let files = [
        ("copy: 1", bytes(&model("[1, 2, 3, 4, 5]", ""))),
        ("strings: shared", bytes(&model("[9, 8, 7, 6, 5]", "layout: {strings: shared}\n"))),
        ("strings: shared", bytes(&model("[9, 8, 7, 6, 5]", "layout: {strings: shared, builder: flatc}\n"))),
        ("header: 40", bytes(&model("[9, 8, 7, 6, 5]", "layout: {header: 40}\n"))),
        ("header_size: 80", bytes(&model("[9, 8, 7, 6, 5]", "layout: {header_size: 80}\n"))),
        (
            "base_alignment: 16384",
            bytes(&model(
                "[9, 8, 7, 6, 5]",
                "named_data: {k: {hex: \"01\"}, l: {hex: \"02\"}}\nlayout: {base_alignment: 16K}\n",
            )),
        ),
        (
            "base_alignment: 5000",
            bytes(&model(
                "[9, 8, 7, 6, 5]",
                "named_data: {k: {hex: \"01\"}, l: {hex: \"02\"}}\nlayout: {base_alignment: 5000}\n",
            )),
        ),
        (
            "segment_alignment: 100",
            bytes(&model(
                "[9, 8, 7, 6, 5]",
                "named_data: {k: {hex: \"01\"}, l: {hex: \"02\"}}\nlayout: {segment_alignment: 100}\n",
            )),
        ),
        (
            "align: 384",
            bytes(&model("[9, 8, 7, 6, 5]", "named_data: {k: {hex: \"01\"}, l: {hex: \"02\", align: 48}}\n")),
        ),
        ("at: 0xc, bytes: {hex: \"ffffffff\"}", changed(&|file| file[12..16].fill(0xff))),
        ("at: 0xc, bytes: {hex: \"24\"}", changed(&|file| file[12] = 36)),
        (
            "copy: 2",
            bytes(
                "methods:\n  forward:\n    values:\n      k: {tensor: uint8, sizes: [2], mutable: true, name: k, data: {hex: \
                 \"0505\", copy: 1}}\n      v: {tensor: uint8, sizes: [2], mutable: true, name: v, data: {hex: \"0505\", \
                 copy: 1}}\n      w: {tensor: uint8, sizes: [2], mutable: true, name: w, data: {hex: \"0505\", copy: \
                 2}}\n    outputs: [k, v, w]\n",
            ),
        ),
        (
            "mutable: true",
            bytes(
                "methods:\n  forward:\n    values:\n      b: {tensor: float32, sizes: [0, 4], data: [], mutable: true}\n    outputs: [b]\n",
            ),
        ),
        (
            "nan:7ff0000000000001",
            bytes(
                "methods:\n  forward:\n    values:\n      a: {double: \"nan:7ff0000000000001\"}\n      l: {double_list: \
                 [\"nan:fff8000000000000\", .nan, 1]}\n      s: {string: \"\\x7f\\u2028\"}\n    outputs: [a, l, s]\n    \
                 container_meta: {inputs: \"a\\n_\", outputs: \"'\\x01\"}\n",
            ),
        ),
        (
            "header: 64",
            bytes(
                "methods:\n  forward:\n    values: {x: {tensor: float32, sizes: [2]}}\n    inputs: [x]\n    outputs: [x]\n    \
                 delegates: {d: {backend: B, data: {text: p}, inline: true}}\n    instructions: [{delegate: d, args: \
                 [x]}]\nnamed_data: {k: {hex: \"00\"}}\nlayout: {header: 64}\n",
            ),
        ),
        (
            "constants: inline",
            bytes(
                "methods:\n  forward:\n    values: {b: {tensor: float32, data: [1, 2], mutable: true}}\n    outputs: [b]\nlayout: \
                 {constants: inline, tensor_alignment: 64}\n",
            ),
        ),
        ("append: {hex: \"00ff\"}", changed(&|file| file.extend([0, 255]))),
        ("append: {hex: \"00000000\"}", changed(&|file| file.extend([0; 4]))),
        ("bytes: {hex: \"0707\"}", changed(&|file| file[gap..gap + 2].fill(7))),
        ("at: 0x24, bytes: {hex: \"01\"}", changed(&|file| file[36] = 1)),
    ];
    for (expected, file) in files {
        for explicit in [false, true] {
            let options = print_options_of(explicit, LargeData::Inline, "");
            let origin = Origin::Bytes(file.as_slice().into());
            let printed = crate::support::model("dump", &origin).to_yaml(Path::new(""), &options).unwrap();
            assert_eq!(printed.difference, None, "{expected}:\n{}", printed.text);
            assert!(printed.text.contains(expected), "{expected}:\n{}", printed.text);
            assert!(bytes(&printed.text) == file, "{expected}:\n{}", printed.text);
        }
    }
}

#[test]
fn irregular_ptd_layouts_are_printed() {
    let text = |entry: &str, layout: &str| {
        let tensor = "tensor: uint8, sizes: [5], data: {hex: \"0102030405\"}";
        format!("named_data:\n  w: {{{tensor}}}\n  v: {{{tensor}}}\n  b: {{hex: \"07\"{entry}}}\n{layout}")
    };
    let plain = bytes(&text("", ""));
    let end =
        u64::from_le_bytes(plain[16..24].try_into().unwrap()) + u64::from_le_bytes(plain[24..32].try_into().unwrap());
    let mut padded = plain.clone();
    padded[end as usize] = 1;
    let mut longer = plain.clone();
    longer.extend([9, 9]);
    let unshared = "named_data:\n  w: {tensor: uint8, sizes: [5], data: {hex: \"0102030405\"}}\n  v: {tensor: uint8, sizes: [5], data: {hex: \"0102030405\", copy: 1}}\n";
    let files = [
        ("", plain),
        ("raw:", padded),
        ("append: {hex: \"0909\"}", longer),
        ("copy: 1", bytes(unshared)),
        ("segment_alignment: 100", bytes(&text("", "layout: {segment_alignment: 100}\n"))),
        ("base_alignment: 4096", bytes(&text("", "layout: {base_alignment: 4K}\n"))),
        ("base_alignment: 5000", bytes(&text("", "layout: {base_alignment: 5000}\n"))),
        ("align: 512", bytes(&text(", align: 512", ""))),
        ("ptd_builder: exir", bytes(&text("", "layout: {ptd_builder: exir}\n"))),
    ];
    for (expected, file) in files {
        let origin = Origin::Bytes(file.as_slice().into());
        let printed = crate::support::model("dump", &origin).to_yaml(Path::new(""), &print_options()).unwrap();
        assert_eq!(printed.difference, None, "{expected}:\n{}", printed.text);
        assert!(printed.text.contains(expected), "{expected}:\n{}", printed.text);
        assert!(bytes(&printed.text) == file, "{expected}:\n{}", printed.text);
    }
}

#[test]
fn extracted_data_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = root().join("tests/golden/upstream/bytes/conv_dyn/model.pte");
    let printed = print(&path, false, LargeData::Extract(folder.path().to_owned())).unwrap();
    assert_eq!(printed.difference, None);
    // The caller writes the files.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let [file] = &printed.files[..] else { panic!("{:?}", printed.files) };
    std::fs::write(&file.path, file.data.to_vec().unwrap()).unwrap();
    assert!(bytes(&printed.text) == std::fs::read(&path).unwrap());
}

#[test]
fn externalizing_and_internalizing_reproduces_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["linear", "multi", "conv_dyn", "conv_xnn", "stateful_init", "add", "topk", "bf16", "channels_last"] {
        let original = root().join(format!("tests/golden/upstream/bytes/{name}/model.pte"));
        let run = |path: &Path, overrides: &AssembleOptions| {
            Model::open(path).unwrap().assemble(overrides).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let split = run(&original, &{ AssembleOptions::default().external_data(true) });
        let (program, data) = (folder.path().join("split.pte"), folder.path().join("split.ptd"));
        std::fs::write(&program, split.program_file().unwrap().to_vec().unwrap()).unwrap();
        let mut with = Vec::new();
        // These have no weights.
        let moved = usize::from(!["add", "topk"].contains(&name));
        assert_eq!(split.data_files().count(), moved, "{name}");
        for (_, file) in split.data_files() {
            std::fs::write(&data, file.to_vec().unwrap()).unwrap();
            with.push(data.clone());
        }
        let joined = run(&program, &{ AssembleOptions::default().internal_data(true).with(with) });
        assert!(joined.program_file().unwrap().to_vec().unwrap() == std::fs::read(&original).unwrap(), "{name}");
    }
}

/// Equal data that are stored separately stay separate.
#[test]
fn externalizing_and_internalizing_keeps_copies() {
    let folder = tempfile::tempdir().unwrap();
    let text = "methods:\n  forward:\n    values:\n      a: {tensor: float32, data: [1, 2], name: a}\n      b: {tensor: float32, \
                sizes: [2], data: {hex: \"0000803f00000040\", copy: 1}, name: b}\n      y: {tensor: float32, sizes: [2]}\n    \
                outputs: [y]\n    instructions:\n      - {kernel: aten::add.out, args: [a, b], out: y}\n";
    let (original, program, data) =
        (folder.path().join("o.pte"), folder.path().join("s.pte"), folder.path().join("s.ptd"));
    std::fs::write(&original, bytes(text)).unwrap();
    let run = |path: &Path, overrides: AssembleOptions| {
        Model::open(path).unwrap().assemble(&overrides).expect("a valid file")
    };
    let split = run(&original, AssembleOptions::default().external_data(true));
    std::fs::write(&program, split.program_file().unwrap().to_vec().unwrap()).unwrap();
    std::fs::write(&data, split.data_files().next().unwrap().1.to_vec().unwrap()).unwrap();
    let back = run(&program, AssembleOptions::default().internal_data(true).with(vec![data]));
    assert!(back.program_file().unwrap().to_vec().unwrap() == bytes(text));
}

#[test]
fn a_missing_key_is_an_error() {
    let path = root().join("tests/golden/upstream/bytes/lora_tags/model.pte");
    let with = vec![root().join("tests/golden/upstream/bytes/lora_tags/first.ptd")];
    let overrides = { AssembleOptions::default().internal_data(true).with(with) };
    let report = Model::open(path).unwrap().assemble(&overrides).unwrap_err().to_string();
    assert!(report.contains("unknown key `2.weight`"), "{report}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    /// A mutated file is printed or rejected; without a reported difference, the YAML reproduces it.
    #[test]
    fn mutated_files_are_printed_or_rejected(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let paths = files_below(&root().join("tests/golden/upstream"), &["pte"]);
        let mut changed = std::fs::read(&paths[file.index(paths.len())]).unwrap();
        for (at, byte) in changes {
            let at = at.index(changed.len());
            changed[at] = byte;
        }
        let origin = Origin::Bytes(changed.clone().into());
        if let Ok(printed) = crate::support::model("dump", &origin).to_yaml(Path::new(""), &print_options())
            && printed.difference.is_none()
        {
            prop_assert!(bytes(&printed.text) == changed);
        }
    }
}

/// Regressions found by random mutations.
#[test]
fn sources_with_edge_cases_round_trip() {
    let text = |list: &str| {
        format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [2]}}, y: {{tensor: float32, sizes: [2]}}, \
             l: {list}}}, inputs: [x], outputs: [y], instructions: [{{kernel: aten::cat.out, args: [l, 0, y, y]}}]}}}}"
        )
    };
    for list in ["{tensor_list: [x, {index: -1}]}", "{optional_tensor_list: [x, null]}"] {
        let text = text(list);
        assert!(Model::from_yaml("edge", &text, Path::new("")).assemble(&AssembleOptions::default()).is_ok());
        survives_dump(&text, Path::new("")).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn mutated_sources_round_trip(source in any::<usize>(), mutations in prop::collection::vec(mutation::mutation(), 1..4)) {
        let (folder, mutated) = mutation::mutated(source, &mutations);
        if let Err(problem) = survives_dump(&mutated, folder) {
            return Err(TestCaseError::fail(format!("{problem}\nfrom the source\n{mutated}")));
        }
    }
}

/// With `--data hash`, dumps of two files differ in data where the files do, and say nothing about offsets and paths.
#[test]
fn hashed_data_differ_where_the_files_do() {
    let yaml = |first: &str, second: u32| {
        let weight = |data: &str| format!("{{tensor: float32, sizes: [100], data: {data}}}");
        format!(
            "methods: {{forward: {{values: {{a: {}, b: {}, c: {}}}, outputs: [a, b, c]}}}}",
            weight(first),
            weight(&format!("{{random: {{seed: {second}}}}}")),
            weight("{random: {seed: 7}}")
        )
    };
    let hashed = |yaml: &str, folder: &Path| {
        let options = PrintOptions::default().large_data(LargeData::Hash).file("x.pte".to_owned());
        let path = folder.join("x.pte");
        std::fs::write(&path, bytes(yaml)).unwrap();
        let printed = Model::open(&path).unwrap().to_yaml(folder, &options).unwrap();
        assert_eq!((printed.difference, printed.files.len()), (None, 0), "{}", printed.text);
        printed.text
    };
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let one = hashed(&yaml("{random: {seed: 1}}", 2), folders[0].path());
    let other = hashed(&yaml("{random: {seed: 3}}", 2), folders[1].path());
    let digest = Blob::bytes(vec![0; 400]).digest().unwrap();
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let zeros = hashed(&yaml("{fill: 0}", 2), folders[1].path());
    assert!(zeros.contains(&format!("data: {{file: sha256-{digest}, size: 400}}")), "{zeros}");
    let differing: Vec<_> = one.lines().zip(other.lines()).filter(|(one, other)| one != other).collect();
    assert_eq!((one.lines().count(), differing.len()), (other.lines().count(), 1), "{one}\n{other}");
    assert!(!one.contains("files:") && !one.contains("x.pte"), "{one}");
}

/// Assembles a method with these parts, prints the file and assembles the result: the same file, without field
/// overrides.
fn prints_exactly(parts: &str, expected: &str) {
    let file = bytes(&format!("methods: {{forward: {{{parts}}}}}"));
    let printed = Model::from_binary("x.pte", &file).to_yaml(Path::new(""), &print_options()).unwrap();
    assert_eq!(printed.difference, None, "{parts}:\n{}", printed.text);
    assert!(printed.text.contains(expected) && !printed.text.contains("raw:"), "{parts}:\n{}", printed.text);
    assert!(bytes(&printed.text) == file, "{parts}");
}

#[test]
fn memory_and_empty_data_of_unusual_programs_are_stated() {
    let relu = "inputs: [x], outputs: [y], instructions: [{kernel: aten::relu.out, args: [x], out: y}]";
    let two = |x: &str, y: &str, more: &str| {
        let tensor = |more: &str| format!("{{tensor: float32, sizes: [8]{more}}}");
        format!("values: {{x: {}, y: {}}}, {more}{relu}", tensor(x), tensor(y))
    };
    let overlap = two(", memory: {pool: 1, offset: 0}", ", memory: {pool: 1, offset: 16}", "");
    prints_exactly(&overlap, "relu: {memory: {pool: 1, offset: 16}}");
    prints_exactly(&two(", device: cuda", "", ""), "x: {tensor: float32, sizes: [8], device: cuda}");
    let devices = two(
        ", memory: {pool: 1, offset: 0}, device: cuda",
        ", memory: {pool: 1, offset: 32}",
        "memory: {non_const_buffer_device: [{buffer_idx: 1, device: cuda}]}, ",
    );
    prints_exactly(&devices, "non_const_buffer_device: [{buffer_idx: 1, device: cuda}]");
    let empty = |copy: u32| format!("{{tensor: float32, sizes: [0], data: {{hex: \"\", copy: {copy}}}}}");
    let constants = format!(
        "values: {{a: {}, b: {}, c: {}, y: {{tensor: float32, sizes: [0]}}}}, outputs: [y], instructions: [{{kernel: aten::mul.out, args: [a, b], out: y}}]",
        empty(0),
        empty(1),
        empty(0)
    );
    prints_exactly(&constants, "mul_other: {tensor: float32, sizes: [0], data: {hex: \"\", copy: 1}}");
    let payload = |name: &str, more: &str| format!("{name}: {{backend: B, data: {{hex: \"\"{more}");
    let delegates = [
        payload("a", "}}"),
        payload("b", "}, inline: true}"),
        payload("c", "}, inline: true}"),
        payload("d", ", copy: 1}, inline: true}"),
        payload("e", ", copy: 1}, inline: true}"),
    ];
    let calls = ["a", "b", "c", "d", "e"].map(|name| format!("{{delegate: {name}, args: [x]}}"));
    let delegates = format!(
        "values: {{x: {{tensor: float32, sizes: [2]}}}}, inputs: [x], delegates: {{{}}}, instructions: [{}]",
        delegates.join(", "),
        calls.join(", ")
    );
    prints_exactly(&delegates, "part4: {backend: B, data: {hex: \"\", copy: 1}, inline: true}");
}

/// Data that YAML cannot state: small files become YAML with field overrides, and the first line of others says which
/// data.
#[test]
fn the_first_line_names_data_that_yaml_cannot_state() {
    let tensors = |count: usize| -> String {
        let more = ", 0.123456".repeat(59);
        let tensor = |n: usize| format!("t{n}: {{tensor: float32, sizes: [60], data: [{n}{more}]}}");
        (0..count).map(tensor).collect::<Vec<_>>().join(", ")
    };
    // The YAML is too long for a search of overrides.
    let count = 1000;
    let calls = |count: usize| -> String {
        (0..count).map(|n| format!("{{kernel: aten::abs.out, args: [t{n}], out: y}}")).collect::<Vec<_>>().join(", ")
    };
    let constants = |overrides: &str| {
        let (tensors, calls) = (tensors(count), calls(count));
        format!(
            "methods: {{forward: {{values: {{{tensors}, y: {{tensor: float32, sizes: [60]}}}}, outputs: [y], instructions: [{calls}]}}}}\nraw: {{set: {{{overrides}}}}}"
        )
    };
    let index = |value: u32, index: u32| format!("\"methods.forward.values[{value}].data_buffer_idx\": {index}");
    let file = bytes(&constants(&index(7, 1)));
    let printed = Model::from_binary("x.pte", &file).to_yaml(Path::new(""), &print_options()).unwrap();
    let first = printed.text.lines().next().unwrap();
    assert!(first.starts_with("# This YAML does not reproduce") && first.contains("constant 8 is not used"), "{first}");
    assert!(printed.difference.is_some_and(|difference| difference.contains("constant 8 is not used")));
}

/// YAML of a method with these parts as `dump` prints it, which must reproduce the file.
fn dumped(parts: &str) -> String {
    let file = bytes(&format!("methods: {{forward: {{{parts}}}}}"));
    let printed = Model::from_binary("x.pte", &file).to_yaml(Path::new(""), &print_options()).unwrap();
    assert_eq!(printed.difference, None, "{parts}:\n{}", printed.text);
    assert_eq!((printed.stats.indices, printed.stats.places), (0, 0), "{parts}:\n{}", printed.text);
    printed.text
}

/// A gradient that is not computed is stated for its value only: results of unknown operators, of delegates, and of
/// moves.
#[test]
fn gradients_of_unknown_results_are_stated_for_them_only() {
    let four = "tensor: float32, sizes: [4]";
    let weights = format!("w: {{{four}, data: [1, 2, 3, 4]}}, x: {{{four}}}");
    let text = dumped(&format!(
        "values: {{{weights}, y: {{{four}, requires_grad: true}}}}, inputs: [x], outputs: [z], requires_grad: true, \
         instructions: [{{kernel: aten::mul.out, args: [x, w], out: a}}, {{kernel: my::op.out, args: [a], out: y}}, \
         {{kernel: aten::relu.out, args: [y], out: b}}, {{kernel: aten::add.out, args: [b, w], out: z}}]"
    ));
    assert!(text.contains("op: {tensor: float32, sizes: [4], requires_grad: true}"), "{text}");
    assert_eq!(text.matches("requires_grad").count(), 2, "{text}");
    // One branch has a result that requires gradients.
    let text = dumped(&format!(
        "values: {{{weights}, c: {{tensor: bool, sizes: []}}}}, inputs: [x, c], outputs: [z], requires_grad: true, \
         instructions: [{{jump_false: {{cond: c, to: other}}}}, {{kernel: aten::mul.out, args: [x, w], out: a}}, \
         {{move: {{from: a, to: m}}}}, {{jump_false: {{cond: false, to: end}}}}, \
         {{label: other, kernel: aten::neg.out, args: [x], out: b}}, {{move: {{from: b, to: m}}}}, \
         {{label: end, kernel: aten::mul.out, args: [m, w], out: z}}]"
    ));
    assert_eq!(text.matches("requires_grad").count(), 1, "{text}");
}

/// The first argument of an unknown operator is not what it writes, if it has outs; it may be a view, a constant or
/// state.
#[test]
fn arguments_of_unknown_operators_are_no_results() {
    let parts = |first: &str, more: &str, call: &str| {
        format!(
            "values: {{w: {{tensor: float32, sizes: [4, 4], data: {{fill: 1}}}}, s: {{tensor: float32, sizes: [4, 4], mutable: true}}, \
             x: {{tensor: float32, sizes: [4, 4]}}, y: {{tensor: float32, sizes: [4, 4]}}{more}}}, \
             inputs: [x], outputs: [z], \
             instructions: [{{kernel: aten::relu.out, args: [x], out: a}}, {first}, {call}, \
             {{kernel: aten::mul.out, args: [x, y], out: z}}]"
        )
    };
    let view = "{view: a, sizes: [2, 8], out: v}";
    let text = dumped(&parts(view, "", "{kernel: my::op.out, args: [v, s, w], out: y}"));
    assert!(text.contains("- {view: relu, sizes: [2, 8], out: view}"), "{text}");
    let o = ", o: {tensor: float32, sizes: [4]}";
    let text = dumped(&parts(view, o, "{kernel: my::op.pair, args: [v, s, w, y, o, {tensor_list: [y, o]}]}"));
    assert!(text.contains("- {view: relu, sizes: [2, 8], out: view}"), "{text}");
}

/// Results of calls whose stack has another end than `out:` gives are not declared by the calls: their types and sizes
/// are stated, nothing else.
#[test]
fn results_under_args_are_stated() {
    let tensor = |name: &str, kind: &str, sizes: &str| format!("{name}: {{tensor: {kind}, sizes: {sizes}}}");
    let cases = [
        // A list of the outs that is passed twice.
        (
            "[4, 2]",
            "float32",
            "[2, 2]",
            "parts: {tensor_list: [a, b]}",
            "aten::split_copy.Tensor_out, args: [x, 2, 0, parts, parts]",
        ),
        // A list of the outs in another order.
        (
            "[4, 2]",
            "int64",
            "[2]",
            "parts: {tensor_list: [b, a]}",
            "aten::max.dim_max, args: [x, 0, false, a, b, parts]",
        ),
        // An out that is not passed twice.
        ("[2, 2]", "float32", "[2, 2]", "c: 0", "aten::relu.out, args: [x, a, b]"),
    ];
    for (from, kind, sizes, more, call) in cases {
        let [x, a, b] = [tensor("x", "float32", from), tensor("a", "float32", sizes), tensor("b", kind, sizes)];
        let parts = format!(
            "values: {{{x}, {a}, {b}, {more}}}, inputs: [x], outputs: [a, b], instructions: [{{kernel: {call}}}]"
        );
        let text = dumped(&parts);
        let stated = [tensor("", "float32", sizes), tensor("", kind, sizes)];
        assert!(stated.iter().all(|stated| text.contains(stated)), "{call}:\n{text}");
        assert!(!text.contains("memory:") && !text.contains("operators:"), "{call}:\n{text}");
    }
}

/// A view of the merged result of branches is printed after them, even if branches are nested.
#[test]
fn views_of_merged_values_stand_behind_the_branches() {
    let branches = |condition: &str, then: &str, otherwise: &str, result: &str| {
        format!(
            "{{jump_false: {{cond: {condition}, to: else_{result}}}}}, {then}, {{move: {{from: t_{result}, to: {result}}}}}, \
             {{jump_false: {{cond: false, to: end_{result}}}}}, {{label: else_{result}, kernel: aten::abs.out, args: [x], out: e_{result}}}, \
             {otherwise}, {{label: end_{result}, view: {result}, sizes: [4], out: v_{result}}}"
        )
    };
    let relu = "{kernel: aten::relu.out, args: [x], out: t_m}, {kernel: aten::neg.out, args: [t_m], out: u_m}";
    let one = branches("c", relu, "{move: {from: e_m, to: m}}", "m");
    let inner = branches("d", "{kernel: aten::exp.out, args: [x], out: t_n}", "{move: {from: e_n, to: n}}", "n");
    let relu = "{kernel: aten::relu.out, args: [x], out: t_m}";
    let nested = branches("c", relu, &format!("{inner}, {{move: {{from: n, to: m}}}}"), "m");
    for instructions in [one, nested] {
        let text = dumped(&format!(
            "values: {{x: {{tensor: float32, sizes: [2, 2]}}, c: {{tensor: bool, sizes: []}}, d: {{tensor: bool, sizes: []}}}}, \
             inputs: [x, c, d], outputs: [y], instructions: [{instructions}, {{kernel: aten::sin.out, args: [v_m], out: y}}]"
        ));
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let view = lines.iter().position(|line| line.contains("view: merged, ")).unwrap();
        assert!(lines[view].starts_with("- {label: "), "{text}");
        assert!(lines[view - 1].starts_with("- {move: "), "{text}");
    }
}

/// Returns a `.pte` as a rewriting of its FlatBuffer leaves it: without the header and the segments after it.
pub fn without_header(file: &[u8]) -> Vec<u8> {
    let root = u32::from_le_bytes(*file.first_chunk().unwrap()) - 32;
    let size = u64::from_le_bytes(file[16..24].try_into().unwrap()) as usize;
    [&root.to_le_bytes(), &file[4..8], &file[40..size]].concat()
}

/// Of a file with a lost header, data are read from its first bytes, as the runtime does; its dump assembles to the
/// same file.
#[test]
fn a_file_without_its_header_is_printed() {
    for name in ["linear", "xnnpack_linear", "kv_cache", "methods"] {
        let model = Model::open(root().join(format!("examples/{name}.yaml"))).unwrap();
        let file = model.assembly().unwrap().program_file().unwrap().to_vec().unwrap();
        let folder = Folder::new(&[]);
        folder.write("lost.pte", without_header(&file));
        folder.run(&["dump", "lost.pte", "-o", "lost.yaml"]).exits(0);
        folder.run(&["lost.yaml", "-q", "-o", "back.pte"]).exits(0);
        let text = String::from_utf8(folder.read("lost.yaml")).unwrap();
        if !text.contains("does not reproduce the file") {
            assert_eq!(folder.read("back.pte"), folder.read("lost.pte"), "{name}");
        }
    }
}
