//! Descriptions of payloads that the writers of other backends wrote (tests/data/payloads/README.md), of all
//! truncations of them, and of changed bytes.

use std::process::Command;

use pte_emit::check::{CheckOptions, RuleId, RuleSeverity};
use pte_emit::{AssembleOptions, Model, PrintOptions};
use pte_model::data::Blob;
use pte_payload::description::DescribeError;
use pte_payload::memory::Processor;
use pte_xnnpack::FORMATS;

use crate::support::root;

/// Files of tests/data/payloads with the names of their formats.
const PAYLOADS: &[(&str, &str)] = &[
    ("coreml", "Core ML"),
    ("ethos_u", "Ethos-U"),
    ("mlx", "MLX"),
    ("mps", "MPS"),
    ("tosa", "TOSA"),
    ("vulkan", "Vulkan"),
];

/// First backend of a format.
fn backend(format: &str) -> &'static str {
    FORMATS.iter().find(|known| known.name() == format).expect("a format").backends()[0]
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("tests/data/payloads/{name}.bin"))).unwrap()
}

#[test]
fn payloads_of_other_writers_are_described() {
    for (name, format) in PAYLOADS {
        let yaml = format!(
            "methods: {{forward: {{delegates: {{d: {{backend: {}, data: {{file: tests/data/payloads/{name}.bin}}}}}}}}}}",
            backend(format)
        );
        let source = Model::from_yaml(*name, yaml, root());
        // From the YAML, and from the file that it assembles to.
        let assembled = source.assemble(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
        let from_yaml = source.payloads().unwrap();
        let from_file = Model::from_binary("m.pte", &assembled).payloads().unwrap();
        assert_eq!((&*from_yaml[0].path, &*from_file[0].path), ("forward/d", "forward/part0"));
        let description = from_yaml[0].describe().unwrap();
        assert_eq!(description, from_file[0].describe().unwrap());
        assert_eq!((description.format, &description.problem), (Some(*format), &None), "{name}");
        let found = from_yaml[0].yaml(false, &PrintOptions::default()).unwrap();
        let path = root().join(format!("tests/data/payloads/{name}.yaml"));
        crate::support::snapshot::update(&path, &found, "BLESS=1 cargo test --test suite payloads::");
    }
}

/// The signature of each format, as far as it is stated: of Ethos-U no element types.
#[test]
fn payloads_of_other_writers_have_signatures() {
    for (name, format) in PAYLOADS {
        let known = FORMATS.iter().find(|known| known.name() == *format).expect("a format");
        let found = known.signature(&Blob::bytes(bytes(name))).unwrap().expect("a signature");
        let (x, y) = match *name {
            "coreml" => {
                let sizes = || Some(vec![1, 4]);
                ((Some("x"), Some("FLOAT32"), sizes()), (Some("y"), Some("FLOAT32"), sizes()))
            }
            "ethos_u" => ((None, None, Some(vec![1, 1, 1, 3, 8, 8])), (None, None, Some(vec![1, 1, 1, 4, 8, 8]))),
            _ => {
                let (datatype, names) = match *name {
                    "tosa" => ("FP32", [Some("x"), Some("tosa_clamp_default")]),
                    "vulkan" => ("FLOAT32", [None; 2]),
                    _ => ("float32", [None; 2]),
                };
                ((names[0], Some(datatype), Some(vec![1, 3, 8, 8])), (names[1], Some(datatype), Some(vec![1, 4, 8, 8])))
            }
        };
        let [input, output] = [&found.inputs[..], &found.outputs[..]].map(|list| match list {
            [only] => (only.name.as_deref(), only.datatype.as_deref(), only.sizes.clone()),
            _ => panic!("{found:?}"),
        });
        assert_eq!((input, output, found.is_complete), (x, y, true), "{name}");
    }
}

/// Describes bytes by a format, without the hash of those that are malformed.
fn problem(format: &str, bytes: &[u8]) -> Option<String> {
    let format = FORMATS.iter().find(|known| known.name() == format).expect("a format");
    let blob = Blob::bytes(bytes);
    for processor in Processor::ALL {
        if let Some(Err(DescribeError::Io(error))) = format.memory(&blob, processor) {
            panic!("{error}");
        }
    }
    match format.describe(&blob) {
        Ok(_) => None,
        Err(DescribeError::Malformed(problem)) => Some(problem),
        Err(DescribeError::Io(error)) => panic!("{error}"),
    }
}

/// A truncated payload has a problem or is described; it never causes a panic or an I/O error. If it is truncated
/// before the constants, it has a problem.
#[test]
fn truncated_payloads_are_described() {
    for (name, format) in PAYLOADS {
        let all = bytes(name);
        for len in 0..all.len() {
            let problem = problem(format, &all[..len]);
            assert!(problem.is_some() || len > all.len() / 4, "{name} cut at {len}");
        }
        let description = FORMATS.describe(backend(format), &Blob::bytes(&all[..8])).unwrap();
        assert!(description.problem.is_some() && description.facts[0].0 == "sha256", "{description:?}");
    }
}

/// Single bytes and words are changed.
#[test]
fn changed_payloads_are_described() {
    for (name, format) in PAYLOADS {
        let all = bytes(name);
        // The table of Core ML is at the end.
        for at in (0..all.len()).filter(|at| *at < 4096 || all.len() - at < 1024) {
            for value in [0, 0xff] {
                let mut changed = all.clone();
                changed[at] = value;
                problem(format, &changed);
            }
        }
        for at in (0..all.len().saturating_sub(4).min(4096)).step_by(4) {
            for word in [0x7fff_ffff, u32::MAX] {
                let mut changed = all.clone();
                changed[at..at + 4].copy_from_slice(&word.to_le_bytes());
                problem(format, &changed);
            }
        }
    }
}

/// A FlatBuffer whose root has `slots` vectors that all are one vector of 60000 offsets to one table.
fn shared(identifier: &[u8; 4], slots: u16) -> Vec<u8> {
    const COUNT: u32 = 60_000;
    let size = 4 + 2 * slots;
    let root = (8 + u32::from(size)).next_multiple_of(4);
    let vector = root + 4 + 4 * u32::from(slots);
    let mut bytes = root.to_le_bytes().to_vec();
    bytes.extend(identifier);
    bytes.resize((root - u32::from(size)) as usize, 0);
    bytes.extend(size.to_le_bytes());
    bytes.extend((4 + 4 * slots).to_le_bytes());
    bytes.extend((0..slots).flat_map(|slot| (4 + 4 * slot).to_le_bytes()));
    bytes.extend(u32::from(size).to_le_bytes());
    bytes.extend((0..u32::from(slots)).flat_map(|slot| (vector - (root + 4 + 4 * slot)).to_le_bytes()));
    bytes.extend(COUNT.to_le_bytes());
    // Every item is the root.
    bytes.extend((0..COUNT).flat_map(|item| root.wrapping_sub(vector + 4 + 4 * item).to_le_bytes()));
    bytes
}

/// Offsets cannot point backwards: such items, counts of 2^32, and tables that are shared by all items of all vectors
/// are problems, after work that is proportional to the size.
#[test]
fn shared_and_cyclic_tables_are_bounded() {
    for (format, identifier) in [("TOSA", b"TOSA"), ("MPS", b"MP00"), ("Vulkan", b"VK00"), ("XNNPACK", b"XN01")] {
        let mut bytes = shared(identifier, 9);
        assert!(problem(format, &bytes).is_some(), "{format}");
        // The count of the vector.
        let vector = bytes.len() - 4 * 60_000 - 4;
        bytes[vector..vector + 4].fill(0xff);
        assert!(problem(format, &bytes).is_some(), "{format}");
        // All items are one table after the vector, whose vectors are the same vector again.
        bytes[vector..vector + 4].copy_from_slice(&60_000u32.to_le_bytes());
        let root = u32::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        let table = bytes.len();
        for item in 0..60_000 {
            let at = vector + 4 + 4 * item;
            bytes[at..at + 4].copy_from_slice(&((table - at) as u32).to_le_bytes());
        }
        let back = (table - (root - 22)) as i32;
        bytes.extend(back.to_le_bytes());
        bytes.extend([1; 36]);
        let start = std::time::Instant::now();
        problem(format, &bytes);
        assert!(start.elapsed().as_secs() < 10, "{format}");
    }
}

/// docs/payload.md shows what the commands print; `BLESS=1` updates it.
#[test]
fn the_page_is_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pte-emit"));
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let example = |name: &str| root().join("examples").join(name).display().to_string();
    run(&[&example("xnnpack_linear.yaml"), "-o", "linear.pte", "-q"]);
    let list = run(&["payload", "list", &example("xnnpack_two_delegates.yaml")]);
    let show = run(&["payload", "show", "linear.pte"]);
    let path = root().join("docs/payload.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, _) = page.split_once("<!-- payload list -->\n").unwrap();
    let (_, after) = page.split_once("<!-- end -->").unwrap();
    let updated = format!(
        "{before}<!-- payload list -->\n```text\n{list}```\n<!-- payload show -->\n```text\n{show}```\n<!-- end -->{after}"
    );
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test suite payloads::");
}

/// A program whose payload is a program, and so on, `depth` times.
fn nested(depth: usize) -> Vec<u8> {
    let mut bytes = std::fs::read(root().join("tests/golden/upstream/backends/vulkan-linear.pte")).unwrap();
    for _ in 0..depth {
        let data = data_encoding::BASE64.encode(&bytes);
        let yaml = format!(
            "methods: {{forward: {{delegates: {{d: {{backend: ExecutorBackend, data: {{base64: \"{data}\"}}}}}}}}}}"
        );
        let assembly = Model::from_yaml("n", yaml, root()).assemble(&AssembleOptions::default()).unwrap();
        bytes = assembly.program_file().unwrap().to_vec().unwrap();
    }
    bytes
}

#[test]
fn payloads_of_programs_in_programs_are_listed() {
    let payloads = Model::from_binary("m.pte", nested(2)).payloads().unwrap();
    let found: Vec<_> = payloads.iter().map(|payload| (&*payload.path, payload.format.unwrap())).collect();
    let inner = "forward/part0/forward/part0";
    let expected = [
        ("forward/part0", "ExecuTorch program"),
        (inner, "ExecuTorch program"),
        ("forward/part0/forward/part0/forward/part0", "Vulkan"),
    ];
    assert_eq!(found, expected);
    assert_eq!(payloads[2].describe().unwrap().summary(), "Vulkan, 1 operation, 1 input, 1 output");
    let error = Model::from_binary("m.pte", nested(18)).payloads().unwrap_err().to_string();
    assert!(error.contains(&format!("{inner}/")) && error.contains("programs are nested deeper than 16"), "{error}");
}

/// Findings about programs in programs have the paths of their delegates; deeper ones are not passed over.
#[test]
fn programs_in_programs_are_checked() {
    let found = |bytes: Vec<u8>| -> Vec<String> {
        let findings = Model::from_binary("m.pte", bytes).check(&CheckOptions::default()).unwrap();
        let errors = findings.into_iter().flat_map(|(_, findings)| findings.list);
        errors
            .filter(|finding| finding.rule.severity <= RuleSeverity::Invalid)
            .map(|finding| finding.to_string())
            .collect()
    };
    assert_eq!(found(nested(16)), [""; 0]);
    let deep = found(nested(17));
    assert!(deep.len() == 1 && deep[0].contains("invalid[X-18]: ") && deep[0].contains("in 16 others"), "{deep:?}");

    // The innermost program is cut off by an identifier of another file.
    let mut bytes = nested(2);
    let last = bytes.windows(4).rposition(|window| window == b"ET12").unwrap();
    bytes[last..last + 4].copy_from_slice(b"ET99");
    let found = found(bytes);
    let path = "methods.forward.delegates[0].program.methods.forward.delegates[0].program";
    assert!(found.iter().any(|text| text.contains("[H-13]") && text.contains(path)), "{found:?}");
}

/// The findings of D-24 for a call of a payload of MPS with one input and two outputs, and for one of Ethos-U.
#[test]
fn calls_are_compared_as_their_backend_does() {
    let found = |delegate: &str, values: &str, args: &str| {
        let yaml = format!(
            "methods:\n  forward:\n    delegates: {{d: {delegate}}}\n    values: {{{values}}}\n    inputs: [x]\n    outputs: [x]\n    \
             instructions:\n      - {{delegate: d, args: {args}}}\n"
        );
        let findings = Model::from_yaml("m.yaml", yaml, root()).check(&CheckOptions::default()).unwrap();
        let all = findings.iter().flat_map(|(_, findings)| &findings.list);
        all.filter(|finding| finding.rule.id == RuleId::D_24).map(|finding| finding.found.clone()).collect::<Vec<_>>()
    };
    let tensor = "{datatype: mps_data_type_float32, num_dims: 1, dims: [2], constant_buffer: {storage: []}}";
    let mps = format!(
        "{{backend: MPSBackend, data: {{flatbuffer: {{schema: mps, root: {{version: \"0\", mps_nodes: [], mps_values: [{tensor}, {tensor}, \
         {tensor}], input_ids: [0], output_ids: [1, 2], constant_ids: [], constant_segment: {{}}}}}}}}}}"
    );
    let values = "x: {tensor: float32, sizes: [2]}, y: {tensor: float32, sizes: [2]}, h: {tensor: float16, sizes: [2]}, both: {tensor_list: [x, y]}";
    assert_eq!(found(&mps, values, "[x, y, y]"), [""; 0]);
    // The tensors of a list are counted one by one.
    assert_eq!(found(&mps, values, "[x, both]"), [""; 0]);
    assert_eq!(found(&mps, values, "[x, y]"), ["2 arguments"]);
    assert_eq!(found(&mps, values, "[h, y, y]"), ["a tensor of float16"]);
    let ethos = "{backend: EthosUBackend, data: {file: tests/data/payloads/ethos_u.bin}}";
    let sizes = "x: {tensor: int32, sizes: [3]}, y: {tensor: int8, sizes: [16]}";
    assert_eq!(found(ethos, sizes, "[x, y]"), ["a tensor of int32"]);
}
