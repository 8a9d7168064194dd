//! `pte-emit firmware`: the generated files, runs in a folder that has some, and inputs that are refused.
//!
//! `the_tools_read_the_files` needs CMake and `arm-none-eabi-gcc`: `cargo test --test suite firmware:: -- --ignored`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::support::folder::{Done, Folder, RELU};
use crate::support::snapshot;
use pte_emit::{
    Model,
    deploy::{FirmwareOptions, FirmwarePlatform},
    memory::Abi,
};
use sha2::{Digest, Sha256};

/// Program with two pools and the third one of `arm_executor_runner`, an input of no tensor and one without memory, an
/// operator of the runtime, a quantized one and one of Cortex-M, and a delegate.
const MIXED: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [1, 5], memory: none}
      n: 3
      q: {tensor: int8, sizes: [1, 5], memory: {pool: 1}}
      m: {tensor: int8, sizes: [1, 5], memory: {pool: 3}}
      y: {tensor: float32, sizes: [1, 5], memory: {pool: 1}}
    inputs: [x, n]
    outputs: [y]
    delegates:
      npu: {backend: EthosUBackend, data: {file: ethos_u.bin}}
    instructions:
      - {kernel: cortex_m::quantize_per_tensor.out, args: [x, 0.5, 0, -128, 127, int8], out: q}
      - {delegate: npu, args: [q, m]}
      - {kernel: quantized_decomposed::dequantize_per_tensor.out, args: [m, 0.5, 0, -128, 127, int8], out: y}
  get_five:
    outputs: [5]
";

/// Folder with the two programs.
fn programs() -> Folder {
    let folder =
        Folder::new(&[("linear.yaml", &fs::read_to_string("examples/linear.yaml").unwrap()), ("mixed.yaml", MIXED)]);
    folder.write("ethos_u.bin", fs::read("tests/data/payloads/ethos_u.bin").unwrap());
    for name in ["linear", "mixed"] {
        folder.run(&["-q", &format!("{name}.yaml"), "-o", &format!("{name}.pte")]).exits(0);
    }
    folder
}

fn generate(folder: &Folder, program: &str, platform: FirmwarePlatform) -> Done {
    let out = format!("{program}/{}", platform.name());
    folder.run(&["firmware", &format!("{program}.pte"), "--for", platform.name(), "-o", &out]).exits(0)
}

#[test]
fn the_files_are_those_of_the_snapshots() {
    let folder = programs();
    for program in ["linear", "mixed"] {
        for platform in FirmwarePlatform::ALL {
            let done = generate(&folder, program, platform);
            let name = format!("firmware/{program}/{}", platform.name());
            let messages = done.stderr.replace('\\', "/");
            snapshot::check(&format!("{name}/messages.log"), &messages);
            let files = fs::read_dir(folder.path().join(program).join(platform.name())).unwrap();
            for file in files.map(|entry| entry.unwrap().path()) {
                let text = fs::read_to_string(&file).unwrap();
                assert!(
                    pte_emit::command::is_generated_firmware_file(text.as_bytes()) && text.ends_with('\n'),
                    "{}",
                    file.display()
                );
                snapshot::check(&format!("{name}/{}", file.file_name().unwrap().to_str().unwrap()), &text);
            }
        }
    }
}

/// Every figure of the JSON document is in a file, and the document names the bytes that it is about.
#[test]
fn the_document_has_the_figures_of_the_files() {
    let folder = programs();
    for platform in FirmwarePlatform::ALL {
        let done =
            folder.run(&["-q", "firmware", "mixed.pte", "--for", platform.name(), "-o", "out", "--json"]).exits(0);
        let document: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let digest = Sha256::digest(folder.read("mixed.pte"));
        assert_eq!(document["sha256"], data_encoding::HEXLOWER.encode(&digest));
        let files = document["files"].as_array().unwrap();
        let text = |file: &serde_json::Value| {
            String::from_utf8(folder.read(&format!("out/{}", file["path"].as_str().unwrap())))
        };
        let texts: String = files.iter().map(|file| text(file).unwrap()).collect();
        assert_eq!(texts.matches(document["sha256"].as_str().unwrap()).count(), files.len());
        for pool in document["pools"].as_array().unwrap() {
            let (name, bytes) = (pool["name"].as_str().unwrap(), &pool["bytes"]);
            let forms = [format!("{name}={bytes}"), format!("{name}: {bytes}"), format!("{name} {bytes}")];
            // A number of more digits is another one.
            let is_whole = |end: usize| !texts[end..].starts_with(|next: char| next.is_ascii_digit());
            let has = |form: &String| texts.match_indices(form).any(|(at, _)| is_whole(at + form.len()));
            assert!(forms.iter().any(has), "{name} {bytes}\n{texts}");
        }
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn only_files_that_differ_are_written() {
    let folder = programs();
    generate(&folder, "linear", FirmwarePlatform::Zephyr);
    let path = |name: &str| folder.path().join("linear/zephyr").join(name);
    let old = SystemTime::now() - Duration::from_secs(3600);
    let names = ["pte-emit.cmake", "pte-emit.conf", "pte-emit.ld"];
    let touch = || {
        names
            .iter()
            .for_each(|name| fs::File::options().append(true).open(path(name)).unwrap().set_modified(old).unwrap())
    };
    let modified = || names.map(|name| fs::metadata(path(name)).unwrap().modified().unwrap() != old);
    touch();
    let done = generate(&folder, "linear", FirmwarePlatform::Zephyr);
    assert_eq!((modified(), done.stderr.matches("unchanged: ").count()), ([false; 3], 3));
    // An edited file is rewritten.
    let edited = fs::read_to_string(path("pte-emit.conf")).unwrap().replace("PORTABLE_OPS=n", "PORTABLE_OPS=y");
    fs::write(path("pte-emit.conf"), edited).unwrap();
    touch();
    generate(&folder, "linear", FirmwarePlatform::Zephyr).stderr_contains("wrote linear");
    assert_eq!(modified(), [false, true, false]);
    // The options of the command change the files that they concern.
    touch();
    let arguments = ["firmware", "linear.pte", "--for", "zephyr", "-o", "linear/zephyr", "--section", ".model"];
    folder.run(&arguments).exits(0);
    assert_eq!(modified(), [true, false, true]);
}

#[test]
fn files_of_others_are_not_replaced() {
    let folder = programs();
    folder.write("app/pte-emit.conf", "CONFIG_EXECUTORCH=y\n");
    folder.write("app/pte-emit.ld", "");
    let before = folder.names();
    let done = folder.run(&["firmware", "linear.pte", "--for", "zephyr", "-o", "app"]).exits(2);
    done.stderr_contains("output app/pte-emit.conf exists and would be lost; name another, remove it first");
    assert_eq!(folder.names(), before);
    assert_eq!(folder.read("app/pte-emit.conf"), b"CONFIG_EXECUTORCH=y\n");
}

#[test]
fn refused_inputs_leave_nothing() {
    let folder = programs();
    let hostile = RELU.replace("aten::relu.out", "\"aten::a;$(touch x)\"");
    folder.write("hostile.yaml", &hostile);
    folder.run(&["-q", "hostile.yaml", "-o", "hostile.pte"]).exits(0);
    folder.write(
        "tests.yaml",
        format!("{RELU}    tests:\n      - {{inputs: [[[1, 2], [3, 4]]], outputs: [[[1, 2], [3, 4]]]}}\n"),
    );
    folder.run(&["-q", "tests.yaml", "-o", "tests.bpte"]).exits(0);
    folder.write("damaged.pte", &folder.read("linear.pte")[..200]);
    let before = folder.names();
    for (arguments, code, message) in [
        (&["hostile.pte", "--for", "zephyr"][..], 1, "operator `aten::a;$(touch x)` cannot be selected by a build"),
        (&["tests.bpte", "--for", "zephyr"], 1, "expected a program: a .pte file, or YAML with methods"),
        (&["damaged.pte", "--for", "zephyr"], 1, "damaged.pte"),
        (&["missing.pte", "--for", "zephyr"], 3, "missing.pte"),
        (&["linear.pte", "--for", "esp8266"], 2, "invalid value 'esp8266'"),
        (&["linear.pte", "--for", "zephyr", "--symbol", "a-b"], 2, "`a-b` is not a C identifier"),
        (&["linear.pte", "--for", "zephyr", "--section", "a b"], 2, "`a b` is not the name of a section"),
        (&["linear.pte", "--for", "zephyr", "--section", "__TEXT,__const"], 1, "`__TEXT,__const` is one of Mach-O"),
        (&["linear.pte", "--for", "pico", "--symbol", "a", "--symbol", "b"], 2, "names the array of one program"),
        (&["linear.pte", "--for", "esp32", "--section", "model"], 1, "`esp32` has no linker script"),
        (
            &["mixed.pte", "--for", "zephyr", "--method", "back*"],
            1,
            "no method matches `back*`: the program has `forward`, `get_five`",
        ),
    ] {
        let done = folder.run(&[&["firmware"], arguments, &["-o", "new/app"]].concat()).exits(code);
        done.stderr_contains(message);
        assert_eq!(folder.names(), before, "{arguments:?}");
    }
}

/// Pools have room for each of the methods.
#[test]
fn several_methods_have_the_largest_pools() {
    let model = Model::from_yaml("mixed.yaml", MIXED, "tests/data/payloads");
    let pools = |methods: &[&str]| {
        let options = FirmwareOptions::new(FirmwarePlatform::Cmsis)
            .methods(methods.iter().map(|method| (*method).to_owned()).collect());
        let firmware = model.firmware(&options).unwrap();
        (firmware.methods.len(), firmware.pools.iter().map(|pool| pool.bytes).collect::<Vec<_>>())
    };
    let (one, both, second) = (pools(&["forward"]), pools(&["*"]), pools(&["get_five"]));
    assert_eq!((one.0, both.0, second.0), (1, 2, 1));
    assert_eq!(one.1, both.1);
    assert!(second.1[0] < one.1[0], "{second:?} {one:?}");
    assert_eq!(pools(&[]), one);
}

/// For a binary file, the generated build has the path of the program relative to its own folder, with all special
/// characters escaped; for YAML, whose `.pte` is not known, it stops with a message that names the variable to set.
#[test]
fn the_path_of_the_program_is_relative() {
    let folder = programs();
    folder.run(&["firmware", "linear.yaml", "--for", "pico", "-o", "out"]).exits(0);
    let text = String::from_utf8(folder.read("out/pte-emit.cmake")).unwrap();
    assert!(text.contains("message(FATAL_ERROR \"set INPUT_MODEL to the path of linear.pte"), "{text}");
    let name = if cfg!(windows) { "a $b;c.pte" } else { "a $b\"\\;c.pte" };
    fs::copy(folder.path().join("linear.pte"), folder.path().join(name)).unwrap();
    folder.run(&["firmware", name, "--for", "pico", "-o", "deep/er"]).exits(0);
    let text = String::from_utf8(folder.read("deep/er/pte-emit.cmake")).unwrap();
    let quoted = name.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
    assert!(text.contains(&format!("\"${{CMAKE_CURRENT_LIST_DIR}}/../../{quoted}\"")), "{text}");
}

/// Both builds, and the pools of 64 bits for other platforms, which the library offers.
#[test]
fn pools_depend_on_the_size_of_pointers() {
    let model = Model::open("examples/linear.yaml").unwrap();
    let of = |platform, abi| {
        let options = FirmwareOptions::new(platform).abi(abi);
        model.firmware(&options).unwrap().pools
    };
    let [small, large] = [Abi::Arm32, Abi::Bits64].map(|abi| of(FirmwarePlatform::Zephyr, abi)[0].bytes);
    assert!(small < large, "{small} {large}");
    let both = of(FirmwarePlatform::Cmake, Abi::Arm32);
    assert_eq!(both.iter().filter_map(|pool| pool.pointer_bytes).collect::<Vec<_>>(), [4, 4, 8, 8]);
}

/// Runs a tool in a folder, and returns what it prints.
fn tool(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; install it"));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{program} {arguments:?}\n{text}");
    text
}

/// Functions of Zephyr that the CMake file calls.
const ZEPHYR: &str = "
set(Zephyr_FOUND TRUE)
function(zephyr_linker_sources place)
  if(NOT EXISTS \"${ARGN}\")
    message(FATAL_ERROR \"no file ${ARGN}\")
  endif()
  message(STATUS \"placed in ${place}\")
endfunction()
";

/// A linker script that includes a fragment in an output section, or between them.
fn linker_script(inside: &str, between: &str) -> String {
    format!(
        "MEMORY {{ FLASH (rx): ORIGIN = 0x1000, LENGTH = 64K\n DDR (rx): ORIGIN = 0x70000000, LENGTH = 64K }}\nENTRY(start)\nSECTIONS {{\n\
         .text : {{ *(.text*) }} > FLASH\n.rodata : {{ *(.rodata*)\n{inside}\n}} > FLASH\n{between}\n}}\n"
    )
}

#[test]
#[ignore = "needs CMake and arm-none-eabi-gcc"]
fn the_tools_read_the_files() {
    let folder = programs();
    FirmwarePlatform::ALL.iter().for_each(|platform| drop(generate(&folder, "linear", *platform)));
    let run = |program: &str, arguments: &[&str]| tool(folder.path(), program, arguments);

    let head = "cmake_minimum_required(VERSION 3.24)\nproject(app C)\n";
    let zephyr = "include(../linear/zephyr/pte-emit.cmake)\nlist(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})\nfind_package(Zephyr REQUIRED)\n\
                  message(STATUS \"conf ${EXTRA_CONF_FILE}, program ${ET_PTE_FILE_PATH}, section ${ET_PTE_SECTION}\")\n";
    folder.write("z/CMakeLists.txt", format!("{head}{zephyr}"));
    folder.write("z/FindZephyr.cmake", ZEPHYR);
    let text = run("cmake", &["-S", "z", "-B", "z/one"]);
    assert!(text.contains("placed in RODATA") && text.contains("section network_model_sec"), "{text}");
    assert!(text.contains("linear/zephyr/pte-emit.conf, program ") && text.contains("/../linear.pte, "), "{text}");
    let text = run("cmake", &["-S", "z", "-B", "z/two", "-DPTE_EMIT_MODEL_REGION=DDR"]);
    assert!(text.contains("placed in SECTIONS"), "{text}");

    // The array is kept in its place, although nothing refers to it.
    folder.write(
        "model.c",
        "__attribute__((section(\"network_model_sec\"), aligned(2))) const char model[] = {1};\nvoid start(void) {}\n",
    );
    let region = String::from_utf8(folder.read("z/two/pte-emit-region.ld")).unwrap();
    folder.write("inside.ld", linker_script("BYTE(1)\nINCLUDE linear/zephyr/pte-emit.ld", ""));
    folder.write("between.ld", linker_script("", &region));
    let gcc = [
        "-mcpu=cortex-m33",
        "-mthumb",
        "-nostdlib",
        "-ffunction-sections",
        "-fdata-sections",
        "-Wl,--gc-sections",
        "model.c",
    ];
    for (script, address) in [("inside.ld", "00001080 "), ("between.ld", "70000000 ")] {
        run("arm-none-eabi-gcc", &[&gcc[..], &["-T", script, "-o", "image.elf"]].concat());
        let symbols = run("arm-none-eabi-nm", &["image.elf"]);
        assert!(
            symbols.lines().any(|line| line.starts_with(address) && line.ends_with(" model")),
            "{script}\n{symbols}"
        );
    }

    folder.write("c/CMakeLists.txt", format!("{head}include(../linear/cmake/pte-emit.cmake)\nadd_executable(app main.c)\ntarget_link_libraries(app pte_emit_linear_pte)\n"));
    folder.write("c/main.c", "_Static_assert(LINEAR_PTE_METHOD_ALLOCATOR_SIZE > LINEAR_PTE_PLANNED_POOL_1_SIZE, \"sizes\");\nint main(void) { return 0; }\n");
    run("cmake", &["-S", "c", "-B", "c/build"]);
    run("cmake", &["--build", "c/build"]);

    let show = "message(STATUS \"pools ${ET_ESP_METHOD_ALLOCATOR_POOL_SIZE} ${SDKCONFIG_DEFAULTS}\")\n";
    folder.write("e/CMakeLists.txt", format!("{head}include(../linear/esp32/pte-emit.cmake)\n{show}"));
    let text = run("cmake", &["-S", "e", "-B", "e/build"]);
    assert!(text.contains("pools 6") && text.contains("/linear/esp32/sdkconfig.pte-emit"), "{text}");
    folder.write("p/CMakeLists.txt", format!("{head}include(../linear/pico/pte-emit.cmake)\nmessage(STATUS \"${{EXECUTORCH_SELECT_OPS_LIST}} ${{INPUT_MODEL}}\")\n"));
    let text = run("cmake", &["-C", "linear/pico/executorch-cache.cmake", "-S", "p", "-B", "p/build"]);
    assert!(text.contains("aten::addmm.out,") && text.contains("/../linear.pte"), "{text}");
    folder
        .write("p.c", "#include \"linear/pico/pte_emit_pools.h\"\nchar pool[MODEL_PTE_METHOD_ALLOCATOR_POOL_SIZE];\n");
    run("arm-none-eabi-gcc", &["-mcpu=cortex-m33", "-mthumb", "-Wall", "-Werror", "-c", "p.c", "-o", "p.o"]);
}
