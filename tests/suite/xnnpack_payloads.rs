//! Payloads of XNNPACK delegates, decoded and encoded: every payload of the repository, of each release, is reproduced
//! byte for byte.
//!
//! `PTE_EMIT_PROGRAMS` names a folder of further `.pte` files.

use std::path::{Path, PathBuf};

use pte_emit::check::RuleId;
use pte_emit::{AssembleOptions, LargeData, Model, PrintOptions, check::CheckOptions};
use pte_model::data::{Blob, Origin};
use pte_model::reader;
use pte_xnnpack::draft::Draft;
use pte_xnnpack::{decode, encode};

use crate::support::folder::Folder;
use crate::support::{files_below, root};

/// The `.pte` files of the repository, and those below `PTE_EMIT_PROGRAMS`.
fn programs() -> Vec<PathBuf> {
    let mut files = files_below(&root().join("tests/golden/upstream"), &["pte"]);
    if let Some(folder) = std::env::var_os("PTE_EMIT_PROGRAMS") {
        files.extend(files_below(Path::new(&folder), &["pte"]));
    }
    files
}

/// Calls `take` with each XNNPACK payload, and its name for messages.
fn payloads(mut take: impl FnMut(&str, &Blob)) {
    for file in programs() {
        let Ok(found) = reader::program::read(&Origin::File(file.as_path().into())) else { continue };
        for plan in found.program.plans() {
            for (index, delegate) in plan.delegates().iter().enumerate() {
                if delegate.id.as_deref() == Some(pte_xnnpack::BACKEND) {
                    let name = format!("{} {:?} {index}", file.display(), plan.name);
                    take(&name, &found.program.blobs[delegate.processed.0 as usize]);
                }
            }
        }
    }
}

#[test]
fn every_payload_is_reproduced() {
    let (mut count, mut failures) = (0, Vec::new());
    payloads(|name, payload| {
        count += 1;
        match decode::decode(payload) {
            Ok(graph) => {
                let encoded = encode::encode(&graph).unwrap().to_vec().unwrap();
                let original = payload.to_vec().unwrap();
                if encoded != original {
                    let at = encoded.iter().zip(&original).position(|(a, b)| a != b);
                    failures.push(format!("{name}: {} of {} bytes, differs at {at:?}", encoded.len(), original.len()));
                }
                match Draft::of(&graph) {
                    Ok(draft) => assert_eq!(draft.complete(), graph, "{name}"),
                    Err(error) => failures.push(format!("{name}: {error}")),
                }
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    });
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 50, "{count}");
}

/// A dump states no sizes of what nodes write, since they are inferred, except for those that are quantized at run
/// time, which the exporter writes in another order, and what follows from these.
#[test]
fn sizes_of_results_are_left_out() {
    let (mut implied, mut stated) = (0, 0);
    for file in programs() {
        let Ok(printed) = Model::open(&file).unwrap().to_yaml(Path::new("/"), &options(&file)) else {
            continue;
        };
        for line in printed.text.lines() {
            let is_result = line.strip_prefix("            ").is_some_and(|name| name.starts_with(['v', 'y']));
            implied += usize::from(is_result && line.ends_with(": {}"));
            stated += usize::from(is_result && line.contains("sizes: ") && !line.contains("qdint8"));
        }
        assert!(printed.difference.is_none(), "{}", file.display());
    }
    assert!(implied >= 20 && stated <= implied / 10, "{implied} inferred, {stated} stated");
}

/// The sizes of an input of a dumped graph are stated once.
#[test]
fn sizes_of_an_input_are_one_edit() {
    let yaml = "methods: {forward: {values: {x: {tensor: float32, sizes: [2, 3]}, y: {tensor: float32, sizes: [6]}},
        inputs: [x], outputs: [y], instructions: [{delegate: part, args: [x, y]}],
        delegates: {part: {backend: XnnpackBackend, graph: {values: {x: {datatype: fp32, sizes: [2, 3]}}, inputs: [x],
        outputs: [y], nodes: [{static_reshape: {input: x, output: z, new_shape: [0]}}, {tanh: {input: z, output: y}}]}}}}}";
    let assembled = |text: &str| {
        let assembly = Model::from_yaml("m.yaml", text, ".").assemble(&AssembleOptions::default());
        assembly.unwrap_or_else(|error| panic!("{error}\n{text}")).program_file().unwrap().to_vec().unwrap()
    };
    let print = |bytes: &[u8], options: &PrintOptions| {
        Model::from_binary("m.pte", bytes).to_yaml(Path::new("."), options).unwrap().text
    };
    let original = assembled(yaml);
    let printed = print(&original, &PrintOptions::default());
    assert_eq!(printed.matches("datatype").count(), 1, "{printed}");
    assert!(assembled(&printed) == original);
    let options = PrintOptions::default().explicit(true);
    let explicit = print(&original, &options);
    assert_eq!(explicit.matches("datatype").count(), 3, "{explicit}");
    let larger = |text: &str| text.replace("[2, 3]", "[4, 3]").replace("sizes: [6]", "sizes: [12]");
    assert!(assembled(&larger(&printed)) == assembled(&larger(yaml)));
}

/// A graph whose inferred properties are in brackets: the scale of a bias is the float32 product of two scales, moved
/// elements keep their quantization, and integers become float32.
const INFERRED: &str = "
methods:
  forward:
    values: {x: {tensor: float32, sizes: [1, 3, 3, 1]}, y: {tensor: float32, sizes: [1, 4]}}
    delegates:
      part:
        backend: XnnpackBackend
        graph:
          values:
            x: {datatype: fp32, sizes: [1, 3, 3, 1]}
            a: {datatype: qint8, scale: 0.0036248022, zero_point: 3}
            f: {datatype: qcint8, sizes: [2, 2, 2, 1], scales: [0.0032403353, 0.1], data: {fill: 1}}
            b: {datatype: qcint32, data: [4, -10]<, scales: [1.1745575e-05, 0.00036248023]>}
            c: {datatype: qint8, scale: 0.5}
            d: {<datatype: qint8, scale: 0.5>}
            g: {datatype: qint8, sizes: [4, 8], scale: 0.25, data: {fill: 2}}
            h: {datatype: qint32, data: [1, 2, 3, 4]<, scale: 0.125>}
            i: {datatype: qint8, scale: 2}
            j: {<datatype: fp32>}
            k: {datatype: qdint8<, num_nonbatch_dims: 1>}
            l: {datatype: qcint8, sizes: [4, 4], scales: [1, 1, 1, 1], data: {fill: 1}}
            y: {<datatype: fp32>}
          inputs: [x]
          outputs: [y]
          nodes:
            - {convert: {input: x, output: a}}
            - {conv2d: {input: a, filter: f, bias: b, output: c}}
            - {static_reshape: {input: c, output: d, new_shape: [1, 8]}}
            - {fully_connected: {input: d, filter: g, bias: h, output: i}}
            - {convert: {input: i, output: j}}
            - {convert: {input: j, output: k}}
            - {fully_connected: {input: k, filter: l, output: y}}
    inputs: [x]
    outputs: [y]
    instructions: [{delegate: part, args: [x, y]}]
";

#[test]
fn types_and_quantization_that_follow_are_left_out() {
    let bytes = |text: &str| assembled(text, Path::new("."));
    let stated = INFERRED.replace(['<', '>'], "");
    let parts = INFERRED.split('<').map(|part| part.split_once('>').map_or(part, |(_, rest)| rest));
    let omitted: String = parts.collect();
    let original = bytes(&stated);
    assert!(bytes(&omitted) == original);
    let printed = |text: &str| {
        let model = Model::from_binary("m.pte", bytes(text));
        model.to_yaml(Path::new("."), &PrintOptions::default()).unwrap().text
    };
    assert_eq!(printed(&stated), printed(&omitted));
    assert!(!printed(&stated).contains("num_nonbatch_dims"));
    // A number that differs by one bit is kept.
    for (exact, near) in [("1.1745575e-05", "1.17455775e-05"), ("scale: 0.125", "scale: 0.12500001")] {
        let other = stated.replace(exact, near);
        assert!(bytes(&other) != original && bytes(&printed(&other)) == bytes(&other), "{near}");
    }
    // Of another quantization than that of the operand, or another type, each stays.
    for (from, to) in [("d: {datatype: qint8, scale: 0.5", "d: {datatype: qint8, scale: 0.25"), ("dims: 1", "dims: 2")]
    {
        let other = stated.replace(from, to);
        assert!(bytes(&printed(&other)) == bytes(&other) && other != stated, "{to}");
    }
    // One edit of a scale changes what follows.
    let edited = printed(&stated).replace("scale: 0.5", "scale: 0.25");
    assert!(printed(&edited).matches("scale").count() == printed(&stated).matches("scale").count(), "{edited}");
}

/// Constants inside of several payloads, and those of a payload of several delegates, are printed once, under the name
/// of their role; equal ones of another type, and repeated numbers, are not.
#[test]
fn constants_of_several_graphs_are_one_edit() {
    let method = |last: &str, bias: &str| {
        format!(
            "{{values: {{x: {{tensor: float32, sizes: [2, 3]}}, y: {{tensor: float32, sizes: [2, 2]}}}}, inputs: [x],
            outputs: [y], instructions: [{{delegate: part, args: [x, y]}}], delegates: {{part: {{backend: XnnpackBackend,
            graph: {{values: {{x: {{datatype: fp32, sizes: [2, 3]}}, f: {{datatype: fp32, data: [[1, 2, 3], [4, 5, 6]]}},
            b: {{datatype: fp32, data: {bias}}}}}, inputs: [x], outputs: [y], nodes: [
            {{fully_connected: {{input: x, filter: f, bias: b, output: a}}}}, {{{last}: {{input: a, output: y}}}}]}}}}}}}}"
        )
    };
    let program = |methods: &[String]| {
        let named = methods.iter().enumerate().map(|(index, method)| format!("  m{index}: {method}\n"));
        format!("methods:\n{}", named.collect::<String>())
    };
    let bytes = |text: &str| assembled(text, Path::new("."));
    let printed = |yaml: &str| {
        let model = Model::from_binary("m.pte", bytes(yaml));
        model.to_yaml(Path::new("."), &PrintOptions::default()).unwrap().text
    };
    let yaml = program(&[method("tanh", "[0.5, -0.5]"), method("abs", "[0.5, -0.5]"), method("abs", "[0.5, 2]")]);
    let text = printed(&yaml);
    let uses =
        ["filter1: [[1, 2, 3], [4, 5, 6]]", "bias2: [0.5, -0.5]", "data: filter1", "data: bias2", "data: [0.5, 2]"];
    assert_eq!(uses.map(|part| text.matches(part).count()), [1, 1, 3, 2, 1], "{text}");
    assert!(bytes(&text) == bytes(&yaml));
    let edit = |text: &str| text.replace("[4, 5, 6]", "[4, 5, 7]");
    assert!(bytes(&edit(&text)) == bytes(&edit(&yaml)));
    // The payload is the same, and a bias of equal numbers is one number.
    let text = printed(&program(&[method("tanh", "[1, 1]"), method("tanh", "[1, 1]")]));
    let uses = ["filter1: [[1, 2, 3], [4, 5, 6]]", "data: filter1", "data: [1, 1]"];
    assert_eq!(uses.map(|part| text.matches(part).count()), [1, 2, 2], "{text}");
    // In one graph alone.
    assert!(!printed(&program(&[method("tanh", "[0.5, 1]")])).contains("data:\n"));
}

fn options(file: &Path) -> PrintOptions {
    PrintOptions::default().large_data(LargeData::Refer).file(file.canonicalize().unwrap().display().to_string())
}

/// What the schema of a newer release has is kept as bytes; `tests/data/xnnpack/newer.py` wrote the payloads.
#[test]
fn operations_and_fields_of_a_newer_schema_are_kept() {
    let printed = |name: &str| {
        let yaml = format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [1]}}}}, inputs: [x], outputs: [x],
            delegates: {{part: {{backend: XnnpackBackend, data: {{file: {name}}}}}}},
            instructions: [{{delegate: part, args: [x, x]}}]}}}}"
        );
        let bytes = assembled(&yaml, &root().join("tests/data/xnnpack"));
        let options = PrintOptions::default().large_data(LargeData::Inline);
        let printed = Model::from_binary("model.pte", &bytes).to_yaml(Path::new("."), &options).unwrap();
        assert_eq!(printed.difference, None, "{}", printed.text);
        assert!(assembled(&printed.text, Path::new(".")) == bytes, "{}", printed.text);
        printed.text
    };
    let text = printed("newer_operations.bin");
    for expected in [
        "- {unknown: {tag: 48}, extra: [{slot: 0, bytes: {hex: \"01 00 00 00\"}}, {slot: 1, bytes: {hex: \"02 00 00 00\"}}], ",
        "{unknown: {tag: 49}, extra: [{slot: 0, width: 4, bytes: {hex: \"01 00 00 00 02 00 00 00 03 00 00 00\"}}, \
         {slot: 1, width: 1, bytes: {hex: \"01 00 01 01 00\"}}, {slot: 2, width: 8, ",
        "}, extra: [{slot: 20, bytes: {hex: \"02 00 00 00\"}}, {slot: 21, width: 4, bytes: {hex: \"07 00 00 00\"}}], ",
        "perm: [1, 0]}, extra: [{slot: 5, width: 4, bytes: {hex: \"04 00 00 00 05 00 00 00\"}}, ",
        "# the schema of ExecuTorch 1.5.1 has no such operation",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let text = printed("newer_value.bin");
    assert!(text.contains("field 8 is not in the schema of ExecuTorch 1.5.1 (at byte 0x3d8)"), "{text}");
}

/// `.nan` is a number of a graph; a NaN with other bits is not expressed, and the payload stays opaque with this
/// reason. A graph without content, and a constant without dimensions in named data, are printed as they are read.
#[test]
fn unusual_parts_of_graphs_are_printed_as_they_are_read() {
    let dump = |bytes: &[u8]| {
        let source = Model::from_binary("model.pte", bytes);
        let printed = source.to_yaml(Path::new("."), &PrintOptions::default()).unwrap();
        assert_eq!(printed.difference, None, "{}", printed.text);
        printed.text
    };
    let round_trip = |yaml: &str| {
        let bytes = assembled(yaml, Path::new("."));
        let text = dump(&bytes);
        let again = assembled(&text, Path::new("."));
        assert!(again == bytes, "{text}");
        (text, bytes)
    };
    let elu = |alpha: &str| operation(&format!("elu: {{input: x, output: y, alpha: {alpha}}}"), "", "[2]", "[2]");
    let (text, mut bytes) = round_trip(&elu(".nan"));
    assert!(text.contains("alpha: .nan"), "{text}");
    let clamp = operation("clamp: {input: x, output: y}", "", "[2]", "[2]");
    let (text, _) = round_trip(&clamp.replace("output: y}}]", "output: y}, output_min: .nan, output_max: 1}]"));
    assert!(text.contains("output_min: .nan"), "{text}");
    let nan = f32::NAN.to_le_bytes();
    let at = bytes.windows(4).position(|window| window == nan).unwrap();
    bytes[at] = 1;
    let text = dump(&bytes);
    assert!(text.contains("not printed as a graph: node 0 has a NaN with other bits than `.nan`"), "{text}");
    let empty = "methods:
  forward:
    values: {x: {tensor: float32, sizes: [2]}}
    delegates: {part: {backend: XnnpackBackend, graph: {}}}
    inputs: [x]
    outputs: [x]
    instructions: [{delegate: part, args: []}]
";
    let (text, _) = round_trip(empty);
    assert!(text.contains("graph: {}\n"), "{text}");
    let scalar =
        operation("add: {input1: x, input2: c, output: y}", ", c: {datatype: fp32, sizes: [], key: c}", "[2]", "[2]");
    let (text, _) = round_trip(&(scalar + "named_data: {c: {data: {numbers: [2.5], dtype: float32}, align: 16}}\n"));
    assert!(text.contains("numbers: [2.5]"), "{text}");
}

/// A program with one operation on `x`, whose sizes are stated.
fn operation(node: &str, values: &str, from: &str, to: &str) -> String {
    format!(
        "methods:
  forward:
    values: {{x: {{tensor: float32, sizes: {from}}}, y: {{tensor: float32, sizes: {to}}}}}
    delegates:
      part:
        backend: XnnpackBackend
        graph:
          values: {{x: {{datatype: fp32, sizes: {from}}}, y: {{datatype: fp32, sizes: {to}}}{values}}}
          inputs: [x]
          outputs: [y]
          nodes: [{{{node}}}]
    inputs: [x]
    outputs: [y]
    instructions: [{{delegate: part, args: [x, y]}}]
"
    )
}

/// Returns the bytes of a program with files in a folder.
fn assembled(text: &str, folder: &Path) -> Vec<u8> {
    let source = Model::from_yaml("model.yaml", text, folder);
    let assembly = source.assemble(&AssembleOptions::default());
    let assembly = assembly.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assembly.program_file().unwrap().to_vec().unwrap()
}

/// Parameters that follow from the filter, or are usually 1, may be left out, and `dump` leaves them out.
#[test]
fn usual_parameters_are_left_out() {
    let ones = |names: &[&str]| names.iter().map(|name| format!(", {name}: 1")).collect::<String>();
    let strides = ones(&["subsampling_height", "subsampling_width", "dilation_height", "dilation_width"]);
    let pooling = ones(&["stride_height", "stride_width", "dilation_height", "dilation_width"]);
    let average = ones(&["stride_height", "stride_width"]);
    let channels = |groups: u32, inputs: u32, outputs: u32| {
        format!(", groups: {groups}, group_input_channels: {inputs}, group_output_channels: {outputs}")
    };
    let kernel = ", kernel_height: 2, kernel_width: 3";
    let window = "pooling_height: 2, pooling_width: 2";
    // Operation, sizes of the filter and of the output, what is stated, and what is left out.
    let cases = [
        ("conv2d", "[5, 2, 3, 4]", "[1, 4, 3, 5]", "", format!("{kernel}{strides}{}", channels(1, 4, 5))),
        ("conv2d", "[6, 2, 3, 2]", "[1, 4, 3, 6]", ", groups: 2", format!("{kernel}{strides}{}", channels(0, 2, 3))),
        (
            "depthwise_conv2d",
            "[1, 2, 3, 8]",
            "[1, 4, 3, 8]",
            ", groups: 4",
            format!("{kernel}{strides}{}", channels(0, 1, 2)),
        ),
        ("conv_transpose2d", "[5, 2, 3, 4]", "[1, 6, 7, 5]", "", format!("{kernel}{strides}{}", channels(1, 4, 5))),
        ("max_pooling2d", "", "[1, 4, 4, 4]", window, pooling),
        ("avg_pooling2d", "", "[1, 4, 4, 4]", window, average),
    ];
    for (name, filter, to, stated, omitted) in cases {
        let omitted = omitted.replace(", groups: 0", "");
        let (operands, values) = match filter {
            "" => ("", String::new()),
            _ => (", filter: w", format!(", w: {{datatype: fp32, sizes: {filter}, key: w}}")),
        };
        let yaml = |parameters: &str| {
            let parameters = parameters.trim_start_matches(", ");
            let node = format!("{name}: {{input: x{operands}, output: y, {parameters}}}").replace(", }", "}");
            let graph = operation(&node, &values, "[1, 5, 5, 4]", to);
            format!("{graph}named_data: {{w: {{data: {{fill: 0, size: 4096}}}}}}\n")
        };
        let (short, long) = (yaml(stated), yaml(&format!("{stated}{omitted}")));
        let bytes = assembled(&short, Path::new(""));
        assert!(bytes == assembled(&long, Path::new("")), "{name}");
        let other = assembled(&yaml(&format!("{stated}{}", omitted.replace("_width: ", "_width: 1"))), Path::new(""));
        assert!(bytes != other, "{name}");
        for bytes in [bytes, other] {
            let printed = Model::from_binary("m.pte", &bytes).to_yaml(Path::new(""), &PrintOptions::default()).unwrap();
            assert_eq!(printed.difference, None, "{}", printed.text);
            let is_short = !["_height: 1,", "groups: 1", "group_input"].iter().any(|key| printed.text.contains(key));
            assert!(is_short, "{name}: {}", printed.text);
            assert!(assembled(&printed.text, Path::new("")) == bytes, "{name}: {}", printed.text);
        }
    }
}

/// What the runtime refuses, beside what it executes.
#[test]
fn sizes_that_xnnpack_refuses_are_reported() {
    let pooling = "stride_height: 1, stride_width: 1, dilation_height: 1, dilation_width: 1, output: y";
    let max = |more: &str| format!("max_pooling2d: {{input: x, pooling_height: 1, pooling_width: 1, {pooling}{more}}}");
    let window = "subsampling_height: 1, subsampling_width: 1, dilation_height: 2, dilation_width: 1, groups: 1, \
                  group_input_channels: 1, group_output_channels: 1";
    let conv = |name: &str, more: &str| {
        format!("{name}: {{input: x, filter: w, kernel_height: 1, kernel_width: 1, {window}, output: y{more}}}")
    };
    let resize = |flags: u32| {
        format!("static_resize_bilinear2d: {{input: x, new_height: 2, new_width: 2, output: y, flags: {flags}}}")
    };
    let softmax = "softmax: {input: x, output: y}".to_owned();
    let product = "batch_matrix_multiply: {input1: x, input2: w, output: y}".to_owned();
    let transpose = "static_transpose: {input: x, perm: [], output: y}".to_owned();
    let slice = "static_slice: {input: x, offsets: [], sizes: [], output: y}".to_owned();
    let filter = ", w: {datatype: fp32, sizes: [1, 1, 1, 1], key: w}";
    let matrix = |sizes: &str| format!(", w: {{datatype: fp32, sizes: {sizes}, key: w}}");
    let none = String::new;
    let refused: Vec<(String, String, &str, &str, &str)> = vec![
        (softmax.clone(), none(), "[]", "[]", "without elements in the last dimension"),
        (softmax.clone(), none(), "[3, 0]", "[3, 0]", "without elements in the last dimension"),
        (transpose, none(), "[]", "[]", "without dimensions"),
        (slice, none(), "[]", "[]", "without dimensions"),
        (product.clone(), matrix("[2, 3, 2]"), "[2, 0, 3]", "[2, 0, 2]", "without elements"),
        (product.clone(), matrix("[1, 3, 2]"), "[0, 3, 3]", "[0, 3, 2]", "matrices of sizes [0, 3, 3] and [1, 3, 2]"),
        (max(""), none(), "[0, 2, 2, 1]", "[0, 2, 2, 1]", "an image of sizes [0, 2, 2, 1]"),
        (max(""), none(), "[1, 2, 2, 0]", "[1, 2, 2, 0]", "an image of sizes [1, 2, 2, 0]"),
        (max(", padding_top: 1"), none(), "[1, 0, 2, 1]", "[1, 1, 2, 1]", "an image of sizes [1, 0, 2, 1]"),
        (max(", padding_top: 1, flags: 4"), none(), "[1, 2, 2, 1]", "[1, 2, 2, 1]", "of an operation with padding"),
        (conv("conv2d", ""), filter.into(), "[0, 2, 2, 1]", "[0, 2, 2, 1]", "an image of sizes [0, 2, 2, 1]"),
        (
            conv("conv2d", ", padding_left: 1, flags: 4"),
            filter.into(),
            "[1, 2, 2, 1]",
            "[1, 2, 2, 1]",
            "of an operation with padding",
        ),
        (
            conv("conv_transpose2d", ", adjustment_height: 1"),
            filter.into(),
            "[1, 2, 2, 1]",
            "[1, 3, 2, 1]",
            "1, expected less than the stride 1",
        ),
        (
            max("") + ", output_min: 2, output_max: 1",
            none(),
            "[1, 2, 2, 1]",
            "[1, 2, 2, 1]",
            "2 of `max_pooling2d` with output_max 1",
        ),
        (resize(0), none(), "[1, 2, 2, 0]", "[1, 2, 2, 0]", "without pixels or channels"),
        (resize(12), none(), "[1, 2, 2, 1]", "[1, 2, 2, 1]", "flags 0xc, expected at most one of 0xc"),
    ];
    let accepted: Vec<(String, String, &str, &str)> = vec![
        (softmax, none(), "[0, 3]", "[0, 3]"),
        (product, matrix("[0, 3, 2]"), "[0, 3, 3]", "[0, 3, 2]"),
        (max(", flags: 4"), none(), "[1, 2, 2, 1]", "[1, 2, 2, 1]"),
        (conv("conv2d", ", flags: 4"), filter.into(), "[1, 2, 2, 1]", "[1, 2, 2, 1]"),
        (resize(8), none(), "[0, 2, 2, 1]", "[0, 2, 2, 1]"),
        ("clamp: {input: x, output: y}, output_min: 2, output_max: 1".to_owned(), none(), "[2]", "[2]"),
    ];
    let findings = |yaml: &str| {
        let yaml = format!("{yaml}named_data: {{w: {{data: {{fill: 0, size: 64}}}}}}\n");
        let findings = Model::from_yaml("m.yaml", &yaml, ".").check(&CheckOptions::default());
        let findings = findings.unwrap_or_else(|error| panic!("{yaml}{error}"));
        findings[0].1.list.iter().map(ToString::to_string).filter(|found| found.contains("[D-")).collect::<Vec<_>>()
    };
    for (node, values, from, to, expected) in refused {
        let found = findings(&operation(&node, &values, from, to));
        assert!(found.len() == 1 && found[0].contains(expected), "{node} of {from}: {found:?}");
    }
    for (node, values, from, to) in accepted {
        let found = findings(&operation(&node, &values, from, to));
        assert!(found.is_empty(), "{node} of {from}: {found:?}");
    }
}

/// A program with a matrix product, and overrides of fields of its payload.
fn overridden(overrides: &str) -> String {
    format!(
        "methods:
  forward:
    values: {{x: {{tensor: float32, sizes: [2, 3]}}, y: {{tensor: float32, sizes: [2, 2]}}}}
    delegates:
      other: {{backend: DemoBackend, data: {{text: abc}}}}
      part:
        backend: XnnpackBackend
        graph:
          values:
            x: {{datatype: fp32, sizes: [2, 3]}}
            w: {{datatype: fp32, data: [[1, 2, 3], [4, 5, 6]]}}
          inputs: [x]
          outputs: [y]
          nodes: [{{fully_connected: {{input: x, filter: w, output: y}}}}]
    inputs: [x]
    outputs: [y]
    instructions: [{{delegate: part, args: [x, y]}}, {{delegate: other, args: [x, y]}}]
raw:
  set:
    {overrides}
"
    )
}

#[test]
fn overrides_set_fields_of_payloads() {
    let base = "methods.forward.delegates.part.payload";
    for (rule, field, found) in [
        (RuleId::D_11, "header.flatbuffer_size: 4096", "a graph at 32..4128"),
        // More than 64 MiB.
        (RuleId::D_11, "header.flatbuffer_size: 100000000", "a graph at 32..100000032"),
        (RuleId::D_11, "identifier: XN07", "without an XNNPACK identifier"),
        (RuleId::D_12, "nodes[0].output_id: 99", "unknown value 99"),
        (RuleId::D_12, "xnodes[0].xnode_union_type: 200", "unknown operation type 200"),
        (RuleId::D_12, "values.w.id_out: 2", "duplicate id 2"),
        (RuleId::D_13, "constant_data[1].size: 20", "a constant of 20 bytes"),
        (RuleId::D_12, "values.y.external_id: 7", "num_externs: 2, expected 8 to 4096"),
        (RuleId::D_17, "values.y.dims[0]: 7", "a value of sizes [7, 2], expected [2, 2]"),
    ] {
        let yaml = overridden(&format!("{base}.{field}"));
        let source = Model::from_yaml("m.yaml", &yaml, ".");
        let findings = source.check(&CheckOptions::default()).unwrap_or_else(|error| panic!("{field}: {error}"));
        let found_rules: Vec<String> = findings[0].1.list.iter().map(ToString::to_string).collect();
        let of_rule = findings[0].1.list.iter().find(|finding| finding.rule.id == rule);
        let of_rule = of_rule.unwrap_or_else(|| panic!("{field}: {found_rules:?}"));
        assert!(of_rule.found.contains(found), "{field}: {found_rules:?}");
    }
}

#[test]
fn overrides_of_payloads_are_checked() {
    let base = "methods.forward.delegates.part.payload";
    for (field, expected) in [
        (format!("{base}.header.size: 1"), "unknown header field; expected unused, magic, length, "),
        (format!("{base}.header.length: 70000"), "70000 does not fit in 2 bytes"),
        (format!("{base}.nodes[0].input1_id: 3"), "the field is absent, since it has its default"),
        (format!("{base}.nodes[0].filter_id: text"), "the field is an integer of 4 bytes, found the text `text`"),
        (format!("{base}.nodes[0].filter_id: absent"), "expected content of the same size"),
        (format!("{base}.nodes[3].filter_id: 1"), "index 3 is out of range"),
        (format!("{base}.nodes[0].filter: 1"), "has no field `filter`; did you mean `filter_id`?"),
        (format!("{base}.values.v.id_out: 1"), "unknown value `v`"),
        ("methods.forward.delegates.parts.payload.version: '1'".to_owned(), "unknown delegate"),
        ("methods.forwards.delegates.part.payload.version: '1'".to_owned(), "unknown method"),
        (
            "methods.forward.delegates.other.payload.version: '1'".to_owned(),
            "a payload of 3 bytes, smaller than its header",
        ),
    ] {
        let yaml = overridden(&field);
        let error =
            Model::from_yaml("m.yaml", &yaml, ".").assemble(&AssembleOptions::default()).unwrap_err().to_string();
        assert!(error.contains("m.yaml:20:") && error.contains(expected), "{field}: {error}");
    }
    let same = overridden(&format!("{base}.nodes[0].filter_id: 1"));
    let assembly = Model::from_yaml("m.yaml", &same, ".").assemble(&AssembleOptions::default()).unwrap();
    assert!(assembly.warnings.to_string().contains("changes nothing"), "{}", assembly.warnings);
}

/// Scales that are a constant are shown as one, not as an empty list.
#[test]
fn scales_in_a_constant_are_shown() {
    let listed = crate::support::sources::read(&root().join("examples/xnnpack_quantized_convolution.yaml"));
    let constant = listed.replace("scales: [0.5, 0.25]", "scales: {data: [0.5, 0.25]}");
    let constant = constant.replace("qcint32,", "qcint32, scales: [0.25, 0.125],");
    assert!(constant.matches("scales: ").count() > listed.matches("scales: ").count());
    let folder = Folder::new(&[("listed.yaml", &listed), ("constant.yaml", &constant)]);
    folder.run(&["constant.yaml", "-o", "constant.pte"]).exits(0);
    let stdout = |arguments: &[&str], code: i32| String::from_utf8(folder.run(arguments).exits(code).stdout).unwrap();
    let found = stdout(&["diff", "listed.yaml", "constant.pte"], 1);
    let values = "methods.forward.delegates[0].graph.values[2]";
    for expected in [
        format!(
            "~ {values}: PerChannel (scale [0.5, 0.25], channel_dim 0, num_scales 0) -> \
             PerChannel (scale in a constant, channel_dim 0, num_scales 2)\n"
        ),
        format!("+ {values}.scales: in the payload\n"),
    ] {
        assert!(found.contains(&expected), "{expected}{found}");
    }
    assert!(!found.contains("scale []"), "{found}");
    let found = stdout(&["dump", "constant.pte"], 0);
    assert!(found.contains("scales: {data: [0.5, 0.25]}") && found.contains("scales: [0.25, 0.125]"), "{found}");
    let found = stdout(&["annotate", "constant.pte"], 0);
    assert!(found.contains("scales of values[2]: float32 [2]: 0.5, 0.25\n"), "{found}");
}
