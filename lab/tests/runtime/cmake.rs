//! examples/firmware, and the CMake functions of cmake/PteEmit.cmake: with Make and Ninja, with the real runtime, and
//! for Cortex-M. The tests need `cmake`, `ninja`, `make`, `gcc`, `g++` and `arm-none-eabi-gcc`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use pretty_assertions::assert_eq;

use crate::support::{files_below, root, runner};

const GENERATORS: [&str; 2] = ["Unix Makefiles", "Ninja"];

/// A build folder of a project in a temporary folder.
struct Build {
    folder: tempfile::TempDir,
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn succeed(command: &mut Command) -> String {
    let output = run(command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

impl Build {
    /// Copies the models.
    fn new() -> Build {
        let folder = tempfile::tempdir().unwrap();
        let examples = root().join("examples");
        for file in files_below(&examples, &[]) {
            let path = folder.path().join("models").join(file.strip_prefix(&examples).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy(file, path).unwrap();
        }
        Build { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self, project: &Path, generator: &str, definitions: &[String]) -> String {
        let mut command = Command::new("cmake");
        command.args(["-G", generator, "-S"]).arg(project).arg("-B").arg(self.path("build"));
        succeed(command.args(definitions.iter().map(|definition| format!("-D{definition}"))))
    }

    fn build(&self) -> String {
        succeed(Command::new("cmake").arg("--build").arg(self.path("build")))
    }

    /// What the program prints, and whether it succeeds.
    fn run(&self) -> (String, bool) {
        let output = run(&mut Command::new(self.path("build/firmware")));
        (String::from_utf8(output.stdout).unwrap(), output.status.success())
    }

    /// Times of the files that the tool or a compiler has written.
    fn times(&self) -> BTreeMap<String, SystemTime> {
        let is_made = |name: &str| {
            let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
            matches!(extension, Some("pte" | "ptd" | "c" | "h" | "S" | "o" | "a" | "yaml"))
                || name.ends_with("firmware")
        };
        let build = self.path("build");
        let files = files_below(&build, &[]).into_iter().map(|path| {
            let name = path.strip_prefix(&build).unwrap().display().to_string();
            (name, fs::metadata(path).unwrap().modified().unwrap())
        });
        files.filter(|(name, _)| is_made(name) && !name.contains("CompilerId")).collect()
    }
}

fn tool() -> String {
    format!("PTE_EMIT_EXECUTABLE={}", crate::support::command())
}

/// Returns what the real runtime computes for `linear.forward`, as the example prints it.
fn expected_linear(runner: &Path, build: &Build) -> String {
    let input: String =
        [1f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
    let script = format!("load forward\ninput 0 tensor 6 1,4 0,1 {input}\nexecute\noutputs\n");
    let mode = runner::Mode { verify: "full", loader: "buffer" };
    let answers =
        runner::run(runner, &build.path("build/linear.pte"), &[build.path("build/linear.ptd")], mode, &script).unwrap();
    let output = answers.iter().find_map(|line| line.strip_prefix("output 0 tensor 6 1,3 0,1 ")).unwrap();
    let bytes: Vec<u8> =
        (0..output.len()).step_by(2).map(|at| u8::from_str_radix(&output[at..at + 2], 16).unwrap()).collect();
    let values = bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
    // Nine significant digits, as printf writes them.
    let text = |value: f32| format!("{:.*}", (9 - 1 - value.abs().log10().floor() as i32) as usize, value);
    let trimmed = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    values.fold("linear.forward:".to_owned(), |out, value| out + " " + &trimmed(text(value)))
}

#[test]
#[ignore = "needs cmake, ninja, make, g++ and the runtime"]
fn the_example_runs_in_memory_of_exactly_the_computed_size() {
    let runner = runner::locate();
    let wheel = runner.parent().unwrap().join("executorch-1.5.1");
    for generator in GENERATORS {
        let build = Build::new();
        let project = root().join("examples/firmware");
        let definitions = [
            tool(),
            format!("EXECUTORCH_WHEEL={}", wheel.display()),
            format!("MODELS={}", build.path("models").display()),
        ];
        let log = build.configure(&project, generator, &definitions);
        assert!(log.contains("EXECUTORCH_SELECT_OPS_LIST=aten::addmm.out,aten::linear.out,"), "{log}");
        build.build();
        let linear = expected_linear(&runner, &build);
        let npy = "sources.npy: 0 0.25 0.5 0.75 1 1.25 1.5 1.75 2 2.25 2.5 2.75";
        assert_eq!(build.run(), (format!("{linear}\n{npy}\n"), true), "{generator}");

        // An unchanged tree makes nothing.
        let before = build.times();
        assert!(before.len() > 12 && before.contains_key("firmware"), "{before:?}");
        build.build();
        assert_eq!(build.times(), before, "{generator}");

        // A data file makes what depends on it, and nothing else.
        let table = build.path("models/data/table.npy");
        let mut bytes = fs::read(&table).unwrap();
        let last = bytes.len() - 4;
        bytes[last..].copy_from_slice(&64f32.to_le_bytes());
        // Make compares seconds of some file systems.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        fs::write(&table, bytes).unwrap();
        build.build();
        let after = build.times();
        for (name, is_made) in
            [("sources.pte", true), ("sources.S", true), ("firmware", true), ("linear.pte", false), ("models.c", false)]
        {
            assert_eq!(before[name] != after[name], is_made, "{generator}: {name}");
        }
        assert_eq!(build.run(), (format!("{linear}\n{}\n", npy.replace("2.75", "64")), true), "{generator}");

        // docs/firmware.md has the error.
        for (memory, bytes) in [("METHOD", 1), ("PLANNED", 16), ("TEMPORARY", 16)] {
            let less = ["METHOD", "PLANNED", "TEMPORARY"]
                .map(|other| format!("LESS_{other}_MEMORY={}", if other == memory { bytes } else { 0 }));
            build.configure(&project, generator, &[&definitions[..], &less].concat());
            build.build();
            let (printed, is_ok) = build.run();
            assert!(printed.starts_with("linear.forward: error 0x21\n") && !is_ok, "{generator} {memory}: {printed}");
        }
    }
}

/// The arrays are built for Cortex-M by a toolchain file, which must not change where the tool is searched.
#[test]
#[ignore = "needs cmake, ninja and arm-none-eabi-gcc"]
fn arrays_are_cross_compiled() {
    let build = Build::new();
    let toolchain = "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_SYSTEM_PROCESSOR arm)\nset(CMAKE_C_COMPILER arm-none-eabi-gcc)\n\
                     set(CMAKE_CXX_COMPILER arm-none-eabi-g++)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n\
                     set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM ONLY)\n";
    fs::write(build.path("arm.cmake"), toolchain).unwrap();
    let definitions = [tool(), format!("CMAKE_TOOLCHAIN_FILE={}", build.path("arm.cmake").display())];
    build.configure(&root().join("examples/firmware"), "Ninja", &definitions);
    build.build();
    for library in ["libmodels.a", "libsources.a"] {
        let header = succeed(Command::new("arm-none-eabi-readelf").arg("-h").arg(build.path("build").join(library)));
        assert!(header.contains("ARM"), "{library}: {header}");
    }
    assert!(build.path("build/arm/model_pte.h").is_file());
}

/// The project of docs/firmware.md, with the tool that cargo builds.
#[test]
#[ignore = "needs cmake, ninja and gcc"]
fn the_project_of_the_documentation_builds_with_the_tool_of_cargo() {
    let build = Build::new();
    let page = fs::read_to_string(root().join("docs/firmware.md")).unwrap();
    let (_, project) = page.split_once("```cmake\n").unwrap();
    let (project, _) = project.split_once("```").unwrap();
    fs::write(build.path("CMakeLists.txt"), project).unwrap();
    let main = "#include \"models.h\"\nint main(void) { return MODELS_FILES == 3 && linear_pte[4] == 'E' ? 0 : 1; }\n";
    fs::write(build.path("main.c"), main).unwrap();
    // Stands for cargo, which would take minutes: puts the tool where cargo does.
    let cargo = format!(
        "#!/bin/sh -e\nwhile [ $# -gt 0 ]; do [ \"$1\" = --target-dir ] && folder=$2; shift; done\nmkdir -p \"$folder/release\"\n\
         [ -e \"$folder/release/pte-emit\" ] || cp {} \"$folder/release/pte-emit\"\n",
        crate::support::command()
    );
    fs::write(build.path("cargo"), cargo).unwrap();
    succeed(Command::new("chmod").arg("+x").arg(build.path("cargo")));
    let definitions = [
        format!("PTE_EMIT_ROOT={}", root().display()),
        "PTE_EMIT_EXECUTABLE=".to_owned(),
        format!("PTE_EMIT_CARGO={}", build.path("cargo").display()),
        "CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF".to_owned(),
    ];
    for generator in GENERATORS {
        let _ = fs::remove_dir_all(build.path("build"));
        let paths =
            succeed(Command::new("sh").args(["-c", "for name in ninja make gcc g++; do command -v $name; done"]));
        let [ninja, make, gcc, gxx] = paths.lines().collect::<Vec<_>>()[..] else { panic!("{paths}") };
        let program = if generator == "Ninja" { ninja } else { make };
        let tools = [
            format!("CMAKE_MAKE_PROGRAM={program}"),
            format!("CMAKE_C_COMPILER={gcc}"),
            format!("CMAKE_CXX_COMPILER={gxx}"),
        ];
        // An installed tool in ~/.cargo/bin would be found first.
        let mut command = Command::new("cmake");
        command.args(["-G", generator, "-S"]).arg(build.folder.path()).arg("-B").arg(build.path("build"));
        command.args(definitions.iter().chain(&tools).map(|definition| format!("-D{definition}")));
        succeed(command.env("HOME", build.folder.path()));
        build.build();
        assert!(run(&mut Command::new(build.path("build/app"))).status.success(), "{generator}");
        let before = build.times();
        build.build();
        assert_eq!(build.times(), before, "{generator}");
    }
}
