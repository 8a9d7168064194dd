//! Pools of `pte-emit firmware` against the real runtime: `firmware.cpp` takes memory in the order of ExecuTorch's
//! runners, from pools of exactly the computed sizes.
//!
//! The comparison is ignored by default, since it downloads the runtime: `cargo lab --test runtime firmware:: --
//! --ignored`. It takes all programs that ExecuTorch wrote, the examples, and those in the folder `PTE_EMIT_PROGRAMS`,
//! in the 64-bit build.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::runner;
use pte_emit::{
    AssembleOptions, Model,
    deploy::{FirmwareOptions, FirmwarePlatform, FirmwarePool},
    memory::Abi,
};

/// Runners, and the names in which their pools end: method allocator, temporary allocator, memory apart.
const RUNNERS: &[(FirmwarePlatform, [&str; 3])] = &[
    (FirmwarePlatform::Zephyr, ["METHOD_ALLOCATOR_POOL_SIZE", "TEMP_ALLOCATOR_POOL_SIZE", "-"]),
    (FirmwarePlatform::Cmsis, ["METHOD_ALLOCATOR_POOL_SIZE", "TEMP_ALLOCATOR_POOL_SIZE", "FAST_MEMORY_SIZE"]),
    (FirmwarePlatform::Esp32, ["METHOD_ALLOCATOR_POOL_SIZE", "TEMP_ALLOCATOR_POOL_SIZE", "-"]),
    (FirmwarePlatform::Pico, ["METHOD_ALLOCATOR_POOL_SIZE", "-", "-"]),
    (FirmwarePlatform::Arduino, ["METHOD_POOL_SIZE", "-", "-"]),
];

/// Alignment of a pointer, the smallest unit of the method allocator.
const UNIT: u64 = 8;

/// Bytes that are enough for all programs.
const PLENTY: u64 = 64 << 20;

/// What the runner printed: the step that it reached, and its error.
fn run(program: &Path, platform: FirmwarePlatform, method: &str, pte: &Path, sizes: [u64; 3]) -> String {
    let output = Command::new(program)
        .args([platform.name(), method])
        .arg(pte)
        .args(sizes.map(|size| size.to_string()))
        .output()
        .expect("the runner starts");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() { text } else { format!("{text} {}", output.status) }
}

/// Numbers of comparisons, by platform: exact pools, and pools with a unit less.
type Counts = BTreeMap<&'static str, [usize; 2]>;

/// Compares all methods of a program.
fn compare(program: &Path, pte: &Path, counts: &mut Counts, failures: &mut Vec<String>) {
    let Ok(source) = Model::open(pte) else { return };
    let Ok(plans) = source.program().map(|program| program.plans().to_vec()) else { return };
    for plan in plans {
        let Some(method) = plan.name.as_deref().filter(|name| !name.is_empty()) else { continue };
        for (platform, names) in RUNNERS {
            let options = FirmwareOptions::new(*platform).abi(Abi::Bits64).methods(vec![method.to_owned()]);
            let Ok(firmware) = source.firmware(&options) else { continue };
            let pools = names.map(|name| firmware.pools.iter().find(|pool| pool.name.ends_with(name)));
            let exact = pools.map(|pool| pool.map_or(0, |pool| pool.bytes));
            // What fails in any case says nothing about the sizes: an external constant, a custom operator.
            let largest = run(program, *platform, method, pte, [PLENTY; 3]);
            if !largest.starts_with("done") && !largest.starts_with("execute") {
                continue;
            }
            let label = format!("{}, {method}, {}", pte.display(), platform.name());
            let is_exact = |pool: &Option<&FirmwarePool>| pool.is_none_or(|pool| !pool.at_least);
            if !pools.iter().all(is_exact) {
                continue;
            }
            let found = run(program, *platform, method, pte, exact);
            if found != largest {
                failures.push(format!("{label}: {found} with {exact:?}, but {largest} with more"));
            }
            let [count, less] = counts.entry(platform.name()).or_default();
            *count += 1;
            for (index, pool) in pools.iter().enumerate() {
                let used = pool.map_or(0, |pool| pool.parts.iter().map(|part| part.bytes).sum());
                let Some(smaller) = used.checked_sub(UNIT).filter(|smaller| *smaller > 0) else { continue };
                let mut sizes = exact;
                sizes[index] = smaller;
                let found = run(program, *platform, method, pte, sizes);
                let is_out_of_memory = found != largest && !found.contains("signal");
                if !is_out_of_memory {
                    failures.push(format!("{label}: {found} with {sizes:?}, a unit less than {exact:?}"));
                }
                *less += 1;
            }
        }
    }
}

/// With pools of the computed sizes the runner succeeds, and with one that is a unit smaller it fails.
#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_runners_need_as_much() {
    let program = runner::locate().with_file_name("firmware");
    let (mut counts, mut failures) = (Counts::new(), Vec::new());
    let mut folders = vec![crate::support::root().join("tests/golden/upstream")];
    folders.extend(crate::support::path_of("PTE_EMIT_PROGRAMS"));
    for pte in folders.iter().flat_map(|folder| crate::support::files_below(folder, &["pte"])) {
        compare(&program, &pte, &mut counts, &mut failures);
    }
    let temporary = tempfile::tempdir().expect("there is room");
    let examples = std::fs::read_dir(crate::support::root().join("examples"))
        .expect("the examples")
        .map(|entry| entry.expect("an entry").path());
    for path in examples.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let assembled = Model::open(&path).and_then(|source| source.assemble(&AssembleOptions::default()));
        let Some(file) = assembled.as_ref().ok().and_then(|assembly| assembly.program_file()) else { continue };
        let pte = temporary.path().join(path.with_extension("pte").file_name().expect("a name"));
        std::fs::write(&pte, file.to_vec().expect("the data can be read")).expect("there is room");
        compare(&program, &pte, &mut counts, &mut failures);
    }
    println!("methods with exact pools, and pools with a unit less: {counts:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(
        counts.len() == RUNNERS.len() && counts.values().all(|[exact, less]| *exact > 60 && *less > 60),
        "{counts:?}"
    );
}
