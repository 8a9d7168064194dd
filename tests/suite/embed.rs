//! `embed`: arrays in C and assembly, their figures, `--depfile`. The compilers are the judges of what is written
//! (ignored tests: they need `gcc`, `g++`, and those of `arm-none-eabi`).

use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;
use pte_emit::{
    Model,
    deploy::{
        EmbedError, EmbedOptions, EmbedStyle, EmbeddedFile, EmbeddedFileOptions, Embedding, Symbol, TensorQuantization,
    },
};
use pte_model::data::Blob;

use crate::support::folder::{Folder, RELU};
use crate::support::{root, snapshot};

fn example(name: &str) -> String {
    root().join(format!("examples/{name}.yaml")).display().to_string()
}

fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

/// Returns the bytes of the first array in C.
fn bytes_of(text: &str) -> Vec<u8> {
    let (_, array) = text.split_once("[] = {\n").unwrap();
    let (array, _) = array.split_once("};").unwrap();
    let byte = |text: &str| u8::from_str_radix(text.trim().strip_prefix("0x").unwrap(), 16).unwrap();
    array.split(',').filter(|text| !text.trim().is_empty()).map(byte).collect()
}

/// Returns a text with only the first line of each array, whose bytes another test compares.
fn without_bytes(text: &str) -> String {
    let is_array = |line: &str| line.starts_with("0x");
    let mut out = String::new();
    for (line, before) in text.lines().zip(std::iter::once("").chain(text.lines())) {
        match (is_array(line), is_array(before)) {
            (true, true) if out.ends_with("...\n") => {}
            (true, true) => out += "...\n",
            _ => out += &format!("{line}\n"),
        }
    }
    out
}

/// The form of all outputs is reviewed in these files.
#[test]
fn outputs_are_those_of_the_snapshots() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    let (linear, quantize) = (example("linear"), example("quantize"));
    folder.run(&[&linear, "-q", "-o", "linear.pte", "--external-data"]).exits(0);
    folder.run(&["embed", "linear.pte", "linear.ptd", "relu.yaml", "-q", "-o", "both", "--facts"]).exits(0);
    folder.run(&["embed", "linear.pte", "linear.ptd", "relu.yaml", "-q", "-o", "as.S", "--section", ".model"]).exits(0);
    folder.run(&["embed", &quantize, "-q", "-o", "quantize.h", "--facts"]).exits(0);
    for style in EmbedStyle::ALL {
        folder.run(&["embed", "relu.yaml", "-q", "-o", style.name, "--style", style.name]).exits(0);
    }
    for name in folder.names() {
        if ["c", "h", "S"].iter().any(|extension| Path::new(&name).extension().is_some_and(|found| found == *extension))
        {
            snapshot::check(&format!("embed/{name}.txt"), &without_bytes(&text(&folder, &name)));
        }
    }
}

#[test]
fn arrays_have_the_bytes_of_files() {
    let folder = Folder::new(&[]);
    for len in [1usize, 15, 16, 17, 4096, 100_003] {
        let bytes: Vec<u8> = (0..len).map(|n| (n * 31 % 251) as u8).collect();
        folder.write("any.bin", &bytes);
        folder.run(&["embed", "any.bin", "--any", "-q", "-o", "any"]).exits(0);
        assert!(bytes_of(&text(&folder, "any.c")) == bytes, "{len}");
        assert!(text(&folder, "any.h").contains(&format!("#define ANY_BIN_SIZE {len}\n")));
    }
    folder.run(&[&example("linear"), "-q", "-o", "linear.pte"]).exits(0);
    for style in EmbedStyle::ALL {
        folder.run(&["embed", "linear.pte", "-q", "-o", style.name, "--style", style.name]).exits(0);
        let name = format!("{}.{}", style.name, if style.is_header { "h" } else { "c" });
        assert_eq!(bytes_of(&text(&folder, &name)), folder.read("linear.pte"), "{name}");
    }
}

/// YAML is the file that it assembles to, with the same alignment and the same figures.
#[test]
fn yaml_and_its_file_are_the_same_array() {
    let mut options = EmbeddedFileOptions::default().facts(true);
    let mut aligned = Vec::new();
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let model = Model::open(&path).unwrap();
        let yaml = model.embedded_files(&options).unwrap();
        let file = model.assembly().unwrap().program_file().map(|file| file.to_vec().unwrap());
        let Some(file) = file else { continue };
        options.external = yaml.len() > 1;
        let binary = Model::from_binary("m.pte", file).embedded_files(&options).unwrap().remove(0);
        let facts = binary.facts.as_ref().unwrap();
        assert_eq!(yaml[0].content.to_vec().unwrap(), binary.content.to_vec().unwrap());
        assert_eq!(yaml[0].alignment, binary.alignment, "{}", path.display());
        assert_eq!(yaml[0].facts.as_ref().unwrap().sha256, facts.sha256);
        let figures = |file: &EmbeddedFile| {
            let memory = file.facts.as_ref().unwrap().methods.iter().flat_map(|method| &method.memory);
            memory.map(|memory| (memory.pool_sizes(), memory.method_allocator.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(figures(&yaml[0]), figures(&binary), "{}", path.display());
        aligned.push(binary.alignment);
        options.external = false;
    }
    assert!([16, 128, 4096].iter().all(|alignment| aligned.contains(alignment)), "{aligned:?}");
}

#[test]
fn quantization_is_that_of_the_calls_next_to_inputs_and_outputs() {
    let options = EmbeddedFileOptions::default().facts(true);
    let quantization = |yaml: &str| {
        let files = Model::from_yaml("q.yaml", yaml, ".").embedded_files(&options).unwrap();
        let method = &files[0].facts.as_ref().unwrap().methods[0];
        let of = |port: &pte_emit::deploy::InterfaceFacts| port.tensor.as_ref().unwrap().quantization;
        (method.inputs.iter().map(of).collect::<Vec<_>>(), method.outputs.iter().map(of).collect::<Vec<_>>())
    };
    let yaml = |second: &str| {
        format!(
            "methods: {{forward: {{values: {{q: {{tensor: int8, sizes: [4]}}}}, inputs: [q], outputs: [r], instructions: [
             {{kernel: quantized_decomposed::dequantize_per_tensor.out, args: [q, 0.5, -3, -128, 127, int8], out: x}},
             {second}
             {{kernel: quantized_decomposed::quantize_per_tensor.out, args: [x, 0.25, 7, -128, 127, int8], out: r}}]}}}}"
        )
    };
    let known = |scale, zero_point| Some(TensorQuantization { scale, zero_point });
    assert_eq!(quantization(&yaml("")), (vec![known(0.5, -3)], vec![known(0.25, 7)]));
    // Two calls that disagree, and another reader.
    let other =
        "{kernel: quantized_decomposed::dequantize_per_tensor.out, args: [q, 0.75, -3, -128, 127, int8], out: y},";
    assert_eq!(quantization(&yaml(other)), (vec![None], vec![known(0.25, 7)]));
    let reader = "{kernel: aten::neg.out, args: [q], out: y},";
    assert_eq!(quantization(&yaml(reader)), (vec![None], vec![known(0.25, 7)]));
}

#[test]
fn companions_follow_their_program() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    folder.run(&[&example("linear"), "-q", "-o", "linear.pte", "--external-data"]).exits(0);
    let names = ["embed", "linear.ptd", "linear.pte", "linear.ptd", "relu.yaml", "-q", "-o", "m"];
    let symbols = ["--symbol", "alone", "--symbol", "program", "--symbol", "weights", "--symbol", "relu"];
    folder.run(&[&names[..], &symbols].concat()).exits(0);
    let source = text(&folder, "m.c");
    for row in [
        "{\"linear.ptd\", alone, ALONE_SIZE, 0}",
        "{\"linear.pte\", program, PROGRAM_SIZE, 1}",
        "{\"linear.ptd\", weights, WEIGHTS_SIZE, 0}",
        "{\"relu.pte\", relu, RELU_SIZE, 0}",
    ] {
        assert!(source.contains(row), "{row} is not in\n{source}");
    }
    // The .ptd files of YAML are companions, too.
    folder.run(&["embed", &example("lora_tags"), "-q", "-o", "lora"]).exits(0);
    assert!(text(&folder, "lora.c").contains("{\"lora_tags.pte\", lora_tags_pte, LORA_TAGS_PTE_SIZE, 2}"));
}

/// Nothing is written for any of them, and all inputs that cannot be embedded are reported.
#[test]
fn bad_requests_are_errors() {
    let folder =
        Folder::new(&[("relu.yaml", RELU), ("bad.yaml", "methods: 1"), ("notes.txt", "hello"), ("own.c", "int x;")]);
    folder.write("empty.bin", "");
    folder.write("cut.pte", &b"\x30\0\0\0ET12cut"[..]);
    folder.run(&["relu.yaml", "-q", "-o", "relu.pte"]).exits(0);
    let before = folder.names();
    let long = format!("__TEXT,{}", "s".repeat(17));
    let cases: &[(&[&str], i32, &str)] = &[
        (&["relu.pte", "--symbol", "2x", "-o", "m"], 2, "`2x` is not a C identifier: it begins with a digit"),
        (&["relu.pte", "--symbol", "int", "-o", "m"], 2, "it is a keyword of C or C++"),
        (&["relu.pte", "--symbol", "a", "--symbol", "b", "-o", "m"], 2, "gives 2 names to 1 file"),
        (&["relu.pte", "--section", "a\"b", "-o", "m"], 2, "it contains `\\\"`"),
        (&["relu.pte", "--section", "a\nb", "-o", "m"], 2, "it contains `\\n`"),
        (&["relu.pte", "--section", "", "-o", "m"], 2, "a name is empty"),
        (&["relu.pte", "--section", &long, "-o", "m"], 2, "has 17 bytes; Mach-O stores at most 16"),
        (&["relu.pte", "relu.yaml", "-o", "m"], 2, "relu.pte and relu.pte both define `RELU_PTE_SIZE`"),
        (&["notes.txt", "-o", "m"], 1, "notes.txt"),
        (&["cut.pte", "-o", "m"], 1, "cut.pte"),
        (&["empty.bin", "--any", "-o", "m"], 2, "empty.bin is empty"),
        (&["missing.pte", "-o", "m"], 3, "cannot read missing.pte"),
        (&["relu.pte", "-o", "m.cpp"], 2, "unknown extension `.cpp` of output m.cpp: expected .c, .h or .S, or none"),
        (&["relu.pte", "-o", "-"], 2, "`embed` writes several files"),
        (&["relu.pte", "-o", "."], 2, "names no file"),
        (&["relu.pte", "-o", "own"], 2, "output own.c exists and would be lost"),
        (&["relu.pte", "-o", "m", "--depfile", "relu.pte"], 2, "output relu.pte is also an input"),
        (&["relu.pte", "-o", "m", "--depfile", "m.c"], 2, "output m.c is also an input"),
        (&["-", "-", "-o", "m"], 2, "standard input can be read only once"),
    ];
    for (arguments, status, message) in cases {
        folder.run(&[&["embed"][..], arguments].concat()).exits(*status).stderr_contains(message);
        assert_eq!(folder.names(), before, "{arguments:?}");
    }
    let done = folder.run(&["embed", "bad.yaml", "relu.pte", "notes.txt", "missing.pte", "-o", "m"]).exits(3);
    done.stderr_contains("bad.yaml").stderr_contains("notes.txt").stderr_contains("missing.pte");
    assert_eq!(folder.names(), before);
}

/// An input is never replaced, also one that YAML reads; its own outputs are.
#[test]
fn outputs_replace_only_outputs() {
    let yaml = "methods: {forward: {values: {w: {tensor: uint8, sizes: [32], data: {file: m.c}}}, outputs: [w]}}";
    let folder = Folder::new(&[("m.yaml", yaml), ("m.c", "/* Written by pte-emit */ int x;")]);
    folder.run(&["embed", "m.yaml", "-o", "m"]).exits(2).stderr_contains("output m.c is also an input");
    folder.run(&["embed", "m.yaml", "-o", "n"]).exits(0).stderr_contains("n.h, n.c\n  m_pte: ");
    folder.run(&["embed", "m.yaml", "-o", "n", "--facts"]).exits(0);
    assert!(text(&folder, "n.c").contains("m_pte_facts = {"));
    // The copy that the assembler reads is a binary file.
    folder.run(&["embed", "m.yaml", "-o", "p.S"]).exits(0);
    folder.run(&["m.yaml", "-q", "-o", "m.pte"]).exits(0);
    assert_eq!(folder.read("p.bin"), folder.read("m.pte"));
    folder.write("q.bin", "text of somebody");
    folder.run(&["embed", "m.yaml", "-o", "q.S"]).exits(2).stderr_contains("output q.bin exists and would be lost");
}

#[test]
fn dependencies_are_all_files_that_are_read() {
    let folder = Folder::new(&[("a b.bin", "1234"), ("ops.txt", "my::x.out self:T out:T!\n")]);
    folder.write(
        "m.yaml",
        "methods: {forward: {values: {w: {tensor: uint8, sizes: [4], data: {file: a b.bin}}}, outputs: [w]}}\n",
    );
    folder.run(&["m.yaml", "-q", "-o", "m.pte", "--depfile", "m.d", "--ops", "ops.txt"]).exits(0);
    assert_eq!(text(&folder, "m.d"), "m.pte: \\\n  m.yaml \\\n  ops.txt \\\n  a\\ b.bin\n");
    folder
        .run(&["embed", "m.yaml", "m.pte", "--symbol", "a", "--symbol", "b", "-q", "-o", "n", "--depfile", "n.d"])
        .exits(0);
    assert_eq!(text(&folder, "n.d"), "n.h n.c: \\\n  m.yaml \\\n  m.pte \\\n  a\\ b.bin\n");
    folder.run(&["m.yaml", "-q", "--depfile", "x.d"]).exits(2).stderr_contains("which standard output has not");
    // An index of checkpoints has no data of its own.
    std::fs::copy(root().join("examples/data/linear.safetensors"), folder.path().join("w.safetensors")).unwrap();
    folder.write("w.index.json", "{\"weight_map\": {\"weight\": \"w.safetensors\", \"bias\": \"w.safetensors\"}}");
    folder.write("c.yaml", "checkpoints: [{safetensors: w.index.json}]\n");
    folder.run(&["c.yaml", "-q", "-o", "c.ptd", "--depfile", "c.d"]).exits(0);
    assert_eq!(text(&folder, "c.d"), "c.ptd: \\\n  c.yaml \\\n  w.safetensors \\\n  w.index.json\n");
    folder.run(&["c.yaml", "-o", "w.index.json", "--to", "ptd"]).exits(2).stderr_contains("is also an input");
}

#[test]
fn names_that_macros_share_are_errors() {
    let file = |symbol: &str| {
        let mut file = EmbeddedFile::new("m.pte", Blob::bytes([1]), &[]);
        file.symbol = Symbol::new(symbol).unwrap();
        file
    };
    let names =
        |one: &str, other: &str| Embedding::new("m", vec![file(one), file(other)], EmbedOptions::default()).map(drop);
    assert!(names("a", "b").is_ok());
    for (one, other, same) in [("a", "A", "A_SIZE"), ("a", "a_size", "a_size"), ("m_files", "b", "m_files")] {
        assert!(matches!(names(one, other), Err(EmbedError::SameName(name, _)) if name == same), "{one} {other}");
    }
}

/// A damaged file is an array or an error.
#[test]
fn damaged_files_do_not_panic() {
    let options = EmbeddedFileOptions::default().facts(true);
    for name in ["linear", "quantize", "xnnpack_linear"] {
        let file = Model::open(example(name)).unwrap().assembly().unwrap().program_file().unwrap().to_vec().unwrap();
        let mut random = pte_generate::random::Random::new(1);
        let mut accepted = 0;
        for _ in 0..300 {
            let mut bytes = file.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            bytes.truncate(if random.below(10) == 0 { random.below(file.len()) } else { file.len() });
            let Ok(files) = Model::from_binary("m.pte", bytes).embedded_files(&options) else { continue };
            let embedding = Embedding::new("m", files, EmbedOptions::default()).unwrap();
            embedding.write_whole_header(&mut Vec::new()).unwrap();
            accepted += 1;
        }
        assert!(accepted > 30, "{name}: {accepted}");
    }
}

/// Each input has macros; a file with more of them than any model has is an error, as many methods could share their
/// lists.
#[test]
fn too_many_figures_are_an_error() {
    let inputs = |count: usize| {
        let values: String = (0..count).map(|n| format!("x{n}: {{tensor: float32, sizes: [1]}}, ")).collect();
        let names: Vec<String> = (0..count).map(|n| format!("x{n}")).collect();
        let yaml = format!("methods: {{f: {{values: {{{values}}}, inputs: [{}]}}}}", names.join(", "));
        let options = EmbeddedFileOptions::default().facts(true);
        Model::from_yaml("m.yaml", yaml, ".").embedded_files(&options).map(drop)
    };
    inputs(1000).unwrap();
    let error = inputs(20_000).unwrap_err().to_string();
    assert!(error.contains("the program has 20001 inputs, outputs and pools of memory"), "{error}");
}

/// The file of dependencies replaces no output, and the outputs are written with it or not at all.
#[test]
fn a_depfile_with_the_path_of_an_output_leaves_nothing() {
    let folder = Folder::new(&[("relu.yaml", RELU), ("add.yaml", RELU)]);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let before = folder.names();
    for arguments in [
        &["relu.yaml", "-o", "x.pte", "--depfile", "x.pte"][..],
        &["relu.yaml", "add.yaml", "-o", "out", "--depfile", "out/add.pte"],
        &["relu.yaml", "-o", "x.pte", "--depfile", "no/x.d"],
    ] {
        let done = folder.run(arguments);
        assert_ne!(done.code, Some(0), "{arguments:?}");
        assert!(!done.stderr.contains("instruction"), "{}", done.stderr);
        assert_eq!(folder.names(), before, "{arguments:?}");
    }
    folder.run(&["relu.yaml", "add.yaml", "-q", "-o", "out", "--depfile", "out/all.d"]).exits(0);
    assert_eq!(text(&folder, "out/all.d"), "out/relu.pte out/add.pte: \\\n  relu.yaml \\\n  add.yaml\n");
}

#[test]
fn headers_are_included_by_their_names() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    folder.run(&["embed", "relu.yaml", "-q", "-o", "a?é.c"]).exits(0);
    assert!(text(&folder, "a?é.c").contains("#include \"a?é.h\"\n"));
    for name in ["a\"b", "a\\b", "a\nb", "a??!b"] {
        let output = format!("{name}.c");
        let done = folder.run(&["embed", "relu.yaml", "-q", "-o", &output]).exits(2);
        done.stderr_contains("`#include` cannot contain the name");
    }
    assert_eq!(folder.names(), ["a?é.c", "a?é.h", "relu.yaml"]);
}

/// The program and its `.ptd` have two paths, whatever OUTPUT is.
#[test]
#[ignore = "needs cmake"]
fn a_program_of_cmake_and_its_data_have_two_paths() {
    let folder = Folder::new(&[("m.yaml", RELU)]);
    let project = |output: &str| {
        let include = root().join("cmake/PteEmit.cmake").display().to_string();
        let lines = format!(
            "cmake_minimum_required(VERSION 3.24)\nproject(m LANGUAGES NONE)\ninclude({include})\n\
             pte_emit_program(m SOURCE m.yaml OUTPUT {output} EXTERNAL_DATA)\n\
             get_target_property(files m PTE_EMIT_FILES)\nmessage(STATUS \"files=${{files}}=\")\n"
        );
        folder.write("CMakeLists.txt", lines);
        let tool = format!("-DPTE_EMIT_EXECUTABLE={}", env!("CARGO_BIN_EXE_pte-emit"));
        Command::new("cmake").args(["-S", ".", "-B", "build", &tool]).current_dir(folder.path()).output().unwrap()
    };
    for (output, files) in [("v1.2/model", "v1.2/model;v1.2/model.ptd"), ("a.b.pte", "a.b.pte;a.b.ptd")] {
        let stdout = String::from_utf8(project(output).stdout).unwrap();
        let build = folder.path().canonicalize().unwrap().join("build").display().to_string();
        assert!(stdout.replace(&format!("{build}/"), "").contains(&format!("files={files}=")), "{stdout}");
    }
    let failed = project("m.ptd");
    let stderr = String::from_utf8(failed.stderr).unwrap();
    assert!(!failed.status.success() && stderr.contains("is the path of the .ptd, too"), "{stderr}");
}

/// The heap of delegates is that which `memory` prints for each binary interface.
#[test]
fn figures_have_the_heap_of_delegates() {
    let folder = Folder::new(&[]);
    let source = example("xnnpack_linear");
    folder.run(&["embed", &source, "-q", "-o", "net.h", "--facts"]).exits(0);
    let bytes = ["64", "arm32"].map(|abi| {
        let done = folder.run(&["memory", &source, "-q", "--json", "--abi", abi]).exits(0);
        let memory: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        memory["methods"][0]["delegate_bytes"].as_u64().unwrap_or_default()
    });
    let header = text(&folder, "net.h");
    let is_defined = |bytes: &u64| {
        header.lines().any(|line| {
            line.starts_with("#define XNNPACK_LINEAR_PTE_FORWARD_DELEGATE_HEAP_SIZE ")
                && line.split(' ').nth(2) == Some(bytes.to_string().as_str())
        })
    };
    assert!(bytes[0] > 0 && bytes.iter().all(is_defined), "{bytes:?}\n{header}");
}

/// The example: a difference fails the test, and BLESS=1 writes the golden YAML.
#[cfg(unix)]
#[test]
#[ignore = "needs cmake"]
fn a_golden_test_of_cmake_fails_and_is_blessed() {
    let folder = Folder::new(&[]);
    let example = |name: &str| std::fs::read_to_string(root().join("examples/golden").join(name)).unwrap();
    let include = format!("include({})", root().join("cmake/PteEmit.cmake").display());
    folder.write("CMakeLists.txt", example("CMakeLists.txt").replace("include(../../cmake/PteEmit.cmake)", &include));
    let (golden, exported) = (example("add.yaml"), example("export.yaml"));
    folder.write("add.yaml", &golden);
    folder.write("export.yaml", &exported);
    let tool = format!("-DPTE_EMIT_EXECUTABLE={}", env!("CARGO_BIN_EXE_pte-emit"));
    let test = |bless: &str| {
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).env("BLESS", bless).current_dir(folder.path()).output();
            let output = output.unwrap();
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            (output.status.success(), text)
        };
        for arguments in [&["-S", ".", "-B", "build", &tool][..], &["--build", "build"]] {
            let (success, text) = run("cmake", arguments);
            assert!(success, "{text}");
        }
        run("ctest", &["--test-dir", "build", "--output-on-failure"])
    };
    let (success, text) = test("");
    assert!(success, "{text}");
    folder.write("export.yaml", exported.replace("aten::add.out", "aten::sub.out"));
    let (success, text) = test("");
    assert!(!success && text.contains("meaning: 3 differences"), "{text}");
    assert!(text.contains("+      - {kernel: aten::sub.out, args: [x, y], out: "), "{text}");
    assert!(test("1").0 && test("").0);
    let blessed = String::from_utf8(folder.read("add.yaml")).unwrap();
    assert_eq!(blessed.matches('#').count(), golden.matches('#').count());
    assert!(blessed.contains("aten::sub.out"), "{blessed}");
}

/// A build fails for a program that does not fit a board or a limit of memory, and checks again when either changes.
#[test]
#[ignore = "needs cmake"]
fn a_check_of_cmake_fails_the_build() {
    let linear = std::fs::read_to_string(example("linear")).unwrap();
    let board = "operators: [aten::addmm.out, aten::permute_copy.out, aten::relu.out]\n";
    let folder = Folder::new(&[("m.yaml", &linear), ("board.yaml", board)]);
    let include = root().join("cmake/PteEmit.cmake").display().to_string();
    let build = |arguments: &str| {
        let lines = format!(
            "cmake_minimum_required(VERSION 3.24)\nproject(m LANGUAGES NONE)\ninclude({include})\n\
             pte_emit_program(m SOURCE m.yaml EXTERNAL_DATA)\npte_emit_check(m_check FILES m {arguments})\n"
        );
        folder.write("CMakeLists.txt", lines);
        let tool = format!("-DPTE_EMIT_EXECUTABLE={}", env!("CARGO_BIN_EXE_pte-emit"));
        let run = |arguments: &[&str]| {
            let output = Command::new("cmake").args(arguments).current_dir(folder.path()).output().unwrap();
            let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
            (output.status.success(), text)
        };
        let configured = run(&["-S", ".", "-B", "build", &tool]);
        if configured.0 { run(&["--build", "build"]) } else { configured }
    };
    let fits = "TARGET board.yaml MAX planned=1000000 total=1000000 ABI arm32";
    let (succeeds, text) = build(fits);
    assert!(succeeds && text.contains("Checking files for m_check"), "{text}");
    let (succeeds, text) = build(fits);
    assert!(succeeds && !text.contains("Checking files"), "{text}");
    folder.write("board.yaml", "operators: [aten::add.out]\n");
    let (succeeds, text) = build(fits);
    assert!(!succeeds && text.contains("[R-1]"), "{text}");
    for (arguments, message) in [
        ("MAX planned=0", "planned"),
        ("TARGET no-such-board", "no-such-board"),
        ("ABI arm32", "ABI is for MAX"),
        ("MAX", "arguments without a value"),
    ] {
        let (succeeds, text) = build(arguments);
        assert!(!succeeds && text.contains(message), "{arguments}\n{text}");
    }
    let (succeeds, text) = build("TARGET pico2 RUNTIME 1.5.1");
    assert!(succeeds, "{text}");
}

/// Runs a tool in a folder; it must succeed.
fn tool(folder: &Folder, command: &str) -> String {
    let output = Command::new("sh").args(["-e", "-c", command]).current_dir(folder.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}\n{stderr}");
    assert_eq!(stderr, "", "{command}");
    String::from_utf8(output.stdout).unwrap()
}

/// Section of an object file, as `readelf -SW` prints it.
#[derive(Debug)]
struct ElfSection {
    name: String,
    alignment: u64,
}

fn sections(folder: &Folder, object: &str) -> Vec<ElfSection> {
    let lines = tool(folder, &format!("arm-none-eabi-readelf -SW {object}"));
    let rows = lines.lines().filter_map(|line| line.split_once("] ")).map(|(_, row)| row.split_whitespace());
    let rows = rows.map(Iterator::collect::<Vec<_>>).filter(|row| row.len() > 5 && row[1] == "PROGBITS");
    rows.map(|row| ElfSection { name: row[0].to_owned(), alignment: row[row.len() - 1].parse().unwrap() }).collect()
}

/// `arm-none-eabi-gcc` compiles all styles and forms; section, alignment, size and bytes of the array are those of the
/// style and the file.
#[test]
#[ignore = "needs arm-none-eabi-gcc and binutils"]
fn the_compiler_of_cortex_m_places_each_style() {
    let folder = Folder::new(&[]);
    folder.run(&[&example("linear"), "-q", "-o", "linear.pte"]).exits(0);
    let bytes = folder.read("linear.pte");
    for style in EmbedStyle::ALL {
        for (extension, main) in [(".h", "h"), (".c", "c"), (".S", "S")] {
            let name = format!("{}_{main}{extension}", style.name);
            folder.run(&["embed", "linear.pte", "-q", "-o", &name, "--style", style.name, "--facts"]).exits(0);
            let symbol = style.symbol.unwrap_or("linear_pte");
            let source = match main {
                "h" => {
                    let keep = format!("#include \"{name}\"\nconst void* keep(void) {{ return {symbol}; }}\n");
                    folder.write("whole.c", keep);
                    "whole.c".to_owned()
                }
                _ => name.clone(),
            };
            tool(
                &folder,
                &format!("arm-none-eabi-gcc -O1 -mcpu=cortex-m55 -mthumb -Wall -Wextra -Werror -c {source} -o m.o"),
            );
            let expected = match (style.section, main) {
                (Some(section), _) => section.to_owned(),
                (None, "S") => format!(".rodata.{symbol}"),
                (None, _) => ".rodata".to_owned(),
            };
            let sections = sections(&folder, "m.o");
            let section = sections.iter().find(|section| section.name == expected);
            let section = section.unwrap_or_else(|| panic!("{name}: no {expected} in {sections:?}"));
            let alignment = style.alignment.unwrap_or(128);
            assert_eq!(section.alignment, alignment, "{name}");
            let symbols = tool(&folder, "arm-none-eabi-readelf -sW m.o");
            let mut rows = symbols.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let row = rows.find(|row| row.last() == Some(&symbol)).unwrap_or_else(|| panic!("{name}: {symbols}"));
            let (address, size) = (usize::from_str_radix(row[1], 16).unwrap(), row[2]);
            assert_eq!((size, row[3]), (bytes.len().to_string().as_str(), "OBJECT"), "{name}");
            assert_eq!(address as u64 % alignment, 0, "{name}");
            tool(&folder, &format!("arm-none-eabi-objcopy -O binary -j {expected} m.o m.bin"));
            assert!(folder.read("m.bin")[address..].starts_with(&bytes), "{name}: other bytes");
        }
    }
}

/// The compilers of the host accept the files as C and C++, and the program reads the same bytes and figures through
/// all of them.
#[test]
#[ignore = "needs gcc and g++"]
fn c_and_cpp_read_the_same_bytes_and_figures() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    folder.run(&[&example("quantize"), "-q", "-o", "q.pte"]).exits(0);
    folder.run(&[&example("linear"), "-q", "-o", "l.pte", "--external-data"]).exits(0);
    let files = ["q.pte", "l.pte", "l.ptd", "relu.yaml"];
    let program = r#"
        #include HEADER
        #include <stdio.h>
        int main(void) {
          for (size_t i = 0; i < M_FILES; i++) {
            const pte_emit_file* file = &m_files[i];
            printf("%s %zu %zu %d\n", file->name, file->size, file->data_files, (int)((uintptr_t)file->data % 16));
            FILE* out = fopen(file->name, "wb");
            fwrite(file->data, 1, file->size, out);
            fclose(out);
          }
          const pte_emit_program_facts* facts = &q_pte_facts;
          for (size_t i = 0; i < facts->methods; i++) {
            const pte_emit_method_facts* method = &facts->method_facts[i];
            printf("%s %zu %zu %s %g\n", method->name, method->pools, method->pool_sizes[0], method->input_facts[0].name,
                   method->input_facts[0].scale);
          }
          static const int32_t sizes[] = Q_PTE_PER_CHANNEL_INPUT_0_SIZES;
          printf("%d %d %d\n", sizes[1], Q_PTE_PER_TENSOR_OUTPUT_0_ZERO_POINT, (int)(Q_PTE_SIZE == sizeof(q_pte)));
          printf("%d %d\n", L_PTD_ALIGNMENT, (int)((uintptr_t)l_ptd % L_PTD_ALIGNMENT));
          return 0;
        }
    "#;
    folder.write("main.c", program);
    let mut printed = Vec::new();
    for (form, sources) in [("m", "m.c"), ("m.h", ""), ("m.S", "m.S m_tables.c")] {
        folder.run(&[&["embed"][..], &files, &["-q", "-o", form, "--facts"]].concat()).exits(0);
        for compiler in ["gcc -std=c99", "g++ -x c++ -std=c++17"] {
            // Before the sources, `-x c++` would also hold for assembly.
            let (c, rest): (Vec<&str>, Vec<&str>) = sources.split_whitespace().partition(|name| name.ends_with(".c"));
            let (c, rest) = (c.join(" "), rest.join(" "));
            let own = if compiler.starts_with("g++") { "-x none" } else { "" };
            tool(
                &folder,
                &format!(
                    "mkdir -p run; {compiler} -Wall -Wextra -Werror -DHEADER='\"m.h\"' -I. main.c {c} {own} {rest} -o run/main"
                ),
            );
            printed.push(tool(&folder, "cd run && ./main"));
            for name in ["q.pte", "l.pte", "l.ptd"] {
                assert!(folder.read(&format!("run/{name}")) == folder.read(name), "{form} {compiler}: {name}");
            }
        }
    }
    let size = |name: &str| folder.read(&format!("run/{name}")).len();
    let mut expected =
        format!("q.pte {} 0 0\nl.pte {} 1 0\nl.ptd {} 0 0\n", size("q.pte"), size("l.pte"), size("l.ptd"));
    expected += &format!("relu.pte {} 0 0\n", size("relu.pte"));
    let options = EmbeddedFileOptions::default().facts(true);
    let facts = Model::open(example("quantize")).unwrap().embedded_files(&options).unwrap().remove(0).facts.unwrap();
    let scales = ["0.25", "0"];
    for (method, scale) in facts.methods.iter().zip(scales) {
        let [memory, _] = &method.memory;
        let pools = memory.pool_sizes();
        expected += &format!("{} {} {} x {scale}\n", memory.name, pools.len(), pools[0]);
    }
    expected += "3 10 1\n128 0\n";
    printed.iter().for_each(|one| assert_eq!(*one, expected));
}

/// A file that became shorter after `embed` is an error of the assembler, never a shorter array.
#[test]
#[ignore = "needs gcc"]
fn an_assembled_file_has_the_size_of_the_header() {
    let folder = Folder::new(&[]);
    folder.run(&[&example("linear"), "-q", "-o", "linear.pte"]).exits(0);
    folder.run(&["embed", "linear.pte", "-q", "-o", "m.S"]).exits(0);
    tool(&folder, "gcc -c m.S -o m.o");
    let bytes = folder.read("linear.pte");
    folder.write("linear.pte", &bytes[..100]);
    let output = Command::new("gcc").args(["-c", "m.S", "-o", "m.o"]).current_dir(folder.path()).output().unwrap();
    assert!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("invalid for file size (100)")
    );
}
