//! Time and peak memory of the command for gigabytes of weights, a thousand inputs, and a million instructions. The
//! baseline is a copy of the same bytes in the same folder, interleaved with the other cases.
//!
//! Needs three times the size of the largest weights in the folder for temporary files (`TMPDIR`). `-- weights`, `--
//! embed`, `-- merge`, `-- optimize`, `-- bytes`, `-- questions`, `-- fixtures` and `-- instructions` run one part.
//! There are no thresholds.

// Shared with the other benchmark.
#[allow(dead_code)]
mod input;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use input::{Case, interleaved, json, print, yaml};
use pte_emit::{AssembleOptions, Model};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Size of each tensor in bytes.
const TENSOR: u64 = 4 * MIB;

/// Runs the command. Returns its peak memory in bytes, 0 if the system does not report it.
fn pte_emit(folder: &Path, arguments: &[&str]) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pte-emit"));
    let mut child =
        command.args(arguments).current_dir(folder).stdout(Stdio::null()).spawn().expect("the command is built");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // Sampling misses at most the last millisecond.
        peak = peak.max(peak_of(&fs::read_to_string(&status).unwrap_or_default()));
        if let Some(done) = child.try_wait().expect("it is ours") {
            assert!(done.success(), "{arguments:?}");
            return peak;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn peak_of(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Writes a `.safetensors` with `bytes` bytes of data; `repeated` consecutive tensors are equal. With 0 all are
/// different, and sparse except for their first bytes.
fn safetensors(path: &Path, bytes: u64, repeated: u64) {
    let count = (bytes / TENSOR).max(1);
    let size = bytes.min(TENSOR);
    let tensor = |i| {
        let (start, end) = (i * size, (i + 1) * size);
        format!("\"w{i:05}\":{{\"dtype\":\"U8\",\"shape\":[{size}],\"data_offsets\":[{start},{end}]}}")
    };
    let header = format!("{{{}}}", (0..count).map(tensor).collect::<Vec<_>>().join(","));
    let header = header.clone() + &" ".repeat(header.len().next_multiple_of(8) - header.len());
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).expect("there is room"));
    file.write_all(&(header.len() as u64).to_le_bytes()).expect("there is room");
    file.write_all(header.as_bytes()).expect("there is room");
    if repeated == 0 {
        let mut file = file.into_inner().expect("there is room");
        let start = 8 + header.len() as u64;
        file.set_len(start + bytes).expect("there is room");
        for i in 0..count {
            file.seek(SeekFrom::Start(start + i * size)).expect("it is a file");
            file.write_all(&(i + 1).to_le_bytes()).expect("there is room");
        }
        return;
    }
    for i in 0..count {
        // xorshift64: different seeds yield different bytes.
        let mut state = 1 + i / repeated;
        for _ in 0..size / 8 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            file.write_all(&state.to_le_bytes()).expect("there is room");
        }
    }
    file.flush().expect("there is room");
}

/// Writes YAML of a program with all tensors of a file. Without `compare`, each has its own `copy` number, which
/// disables deduplication.
fn program(path: &Path, weights: &str, bytes: u64, compare: bool) {
    let mut text = String::from("methods:\n  forward:\n    values:\n");
    let count = bytes / TENSOR;
    for i in 0..count {
        let copy = if compare { String::new() } else { format!(", copy: {i}") };
        text += &format!("      w{i:05}: {{tensor: uint8, data: {{safetensors: {weights}, tensor: w{i:05}{copy}}}}}\n");
    }
    text += "    outputs: [w00000]\n";
    fs::write(path, text).expect("there is room");
}

/// Assembles a source without writing its files.
fn planned(folder: &Path, name: &str) {
    let text = fs::read_to_string(folder.join(name)).expect("it was written");
    let input = Model::from_yaml(name, &text, folder);
    drop(input.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}")));
}

fn weights(bytes: u64, rounds: usize) {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    safetensors(&folder.join("w.safetensors"), bytes, 1);
    program(&folder.join("compare.yaml"), "w.safetensors", bytes, true);
    program(&folder.join("trust.yaml"), "w.safetensors", bytes, false);
    let peak = Cell::new(0);
    let run = |arguments: &[&str]| {
        peak.set(peak.get().max(pte_emit(folder, arguments)));
        // Each case creates its file, as the baseline does.
        fs::remove_file(folder.join(arguments[2])).expect("it was written");
    };
    let copy = |name: &str| {
        fs::copy(folder.join(name), folder.join("copy")).expect("there is room");
        fs::remove_file(folder.join("copy")).expect("it was written");
    };
    let mut cases: Vec<Case<'_>> = vec![
        ("std::fs::copy (baseline)", Box::new(|| copy("w.safetensors"))),
        (".safetensors to .ptd", Box::new(|| run(&["w.safetensors", "-o", "w.ptd", "-q"]))),
        ("YAML and .safetensors to .pte", Box::new(|| run(&["compare.yaml", "-o", "w.pte", "-q"]))),
        ("the same without deduplication", Box::new(|| run(&["trust.yaml", "-o", "w.pte", "-q"]))),
        ("the YAML, planned but not written", Box::new(|| planned(folder, "trust.yaml"))),
        ("the same, with deduplication", Box::new(|| planned(folder, "compare.yaml"))),
    ];
    // The .ptd has the weights of the file already: as many bytes are copied as of other ones.
    pte_emit(folder, &["w.safetensors", "-o", "old.ptd", "-q"]);
    let set = |file: &'static str, output: &'static str| {
        peak.set(
            peak.get().max(pte_emit(folder, &["weights", "set", file, "--from", "w.safetensors", "-o", output, "-q"])),
        );
        fs::remove_file(folder.join(output)).expect("it was written");
    };
    cases.push(("weights set, of the YAML", Box::new(|| set("compare.yaml", "set.pte"))));
    cases.push(("weights set, of the .ptd", Box::new(|| set("old.ptd", "set.ptd"))));
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<_> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    let title = format!("{} MiB of weights in tensors of 4 MiB, all different", bytes / MIB);
    print(&title, times[0], &rows);
    drop(cases);
    println!("  peak memory {:.1} MB", peak.get() as f64 / 1e6);

    // Pairs of equal tensors: half of the bytes are written.
    safetensors(&folder.join("w.safetensors"), bytes, 2);
    let mut cases: Vec<Case<'_>> = vec![
        ("std::fs::copy (baseline)", Box::new(|| copy("w.safetensors"))),
        (".safetensors to .ptd", Box::new(|| run(&["w.safetensors", "-o", "w.ptd", "-q"]))),
        ("YAML and .safetensors to .pte", Box::new(|| run(&["compare.yaml", "-o", "w.pte", "-q"]))),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<_> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    print(&format!("{} MiB of weights, each tensor duplicated", bytes / MIB), times[0], &rows);
    drop(cases);
    println!("  peak memory {:.1} MB", peak.get() as f64 / 1e6);
}

/// `embed` of a program with `bytes` bytes of weights. The baseline copies the program.
fn arrays(bytes: u64, rounds: usize) {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    safetensors(&folder.join("w.safetensors"), bytes, 1);
    program(&folder.join("w.yaml"), "w.safetensors", bytes, false);
    pte_emit(folder, &["w.yaml", "-o", "w.pte", "-q"]);
    let peaks: [Cell<u64>; 3] = Default::default();
    let embed = |at: usize, arguments: &[&str]| {
        let arguments = [&["embed", "w.pte", "-q"][..], arguments].concat();
        peaks[at].set(peaks[at].get().max(pte_emit(folder, &arguments)));
    };
    let copy = || {
        fs::copy(folder.join("w.pte"), folder.join("copy")).expect("there is room");
        fs::remove_file(folder.join("copy")).expect("it was written");
    };
    let mut cases: Vec<Case<'_>> = vec![
        ("std::fs::copy (baseline)", Box::new(copy)),
        ("embed -o w.c", Box::new(|| embed(0, &["-o", "w.c"]))),
        ("embed -o w.S", Box::new(|| embed(1, &["-o", "w.S"]))),
        ("embed -o w.S --facts", Box::new(|| embed(2, &["-o", "w.S", "--facts"]))),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<_> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    print(&format!("embed of a program of {} MiB", bytes / MIB), times[0], &rows);
    drop(cases);
    let speed = bytes as f64 / 1e6 / times[1].as_secs_f64();
    let [c, assembly, facts] = peaks.map(|peak| peak.get() as f64 / 1e6);
    println!("  w.c: {speed:.0} MB/s; peak memory {c:.1} MB, {assembly:.1} MB, {facts:.1} MB");
}

/// `merge` of two programs with `bytes` bytes of weights each: all different, or the same in both. The baseline copies
/// what is written.
fn merges(bytes: u64, rounds: usize) {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    safetensors(&folder.join("w.safetensors"), 2 * bytes, 1);
    let count = bytes / TENSOR;
    for (name, first) in [("a", 0), ("b", count)] {
        let mut text = format!("methods:\n  {name}:\n    values:\n");
        for i in 0..count {
            let tensor = format!("{{safetensors: w.safetensors, tensor: w{:05}, copy: {i}}}", first + i);
            text += &format!("      w{i:05}: {{tensor: uint8, data: {tensor}}}\n");
        }
        text += "    outputs: [w00000]\n";
        fs::write(folder.join(format!("{name}.yaml")), text).expect("there is room");
        pte_emit(folder, &[&format!("{name}.yaml"), "-o", &format!("{name}.pte"), "-q"]);
    }
    fs::remove_file(folder.join("w.safetensors")).expect("it was written");
    pte_emit(folder, &["rename", "a.pte", "--method", "a=c", "-o", "c.pte", "-q"]);
    let peak = Cell::new(0);
    let merge = |other: &str| {
        peak.set(peak.get().max(pte_emit(folder, &["merge", "a.pte", other, "-o", "m.pte", "-q"])));
        fs::remove_file(folder.join("m.pte")).expect("it was written");
    };
    let copy = |names: &[&str]| {
        for name in names {
            fs::copy(folder.join(name), folder.join(format!("{name}.copy"))).expect("there is room");
        }
        for name in names {
            fs::remove_file(folder.join(format!("{name}.copy"))).expect("it was written");
        }
    };
    for (title, other, written) in
        [("all different", "b.pte", vec!["a.pte", "b.pte"]), ("the same in both", "c.pte", vec!["a.pte"])]
    {
        let mut cases: Vec<Case<'_>> =
            vec![("std::fs::copy (baseline)", Box::new(|| copy(&written))), ("merge", Box::new(|| merge(other)))];
        let times = interleaved(rounds, &mut cases);
        let rows: Vec<_> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
        print(&format!("merge of two programs of {} MiB, {title}", bytes / MIB), times[0], &rows);
    }
    println!("  peak memory {:.1} MB", peak.get() as f64 / 1e6);
}

/// `optimize` of a network with `bytes` bytes of weights, each transposed by an instruction, which is folded. The
/// baseline is a copy of the program.
fn optimized(bytes: u64, rounds: usize) {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    // A weight of 1024 by 1024 numbers has the size of a tensor.
    let size = if bytes < TENSOR { 64 } else { 1024 };
    let count = (bytes / TENSOR).max(1);
    let mut text = "methods:\n  forward:\n    values:\n".to_owned();
    let mut instructions = String::new();
    for i in 0..count {
        text += &format!("      w{i}: {{tensor: float32, sizes: [{size}, {size}], data: {{random: {{seed: {i}}}}}}}\n");
        let input = if i == 0 { "x".to_owned() } else { format!("y{}", i - 1) };
        instructions += &format!("      - {{kernel: aten::permute_copy.out, args: [w{i}, [1, 0]], out: t{i}}}\n");
        instructions += &format!("      - {{kernel: aten::mm.out, args: [{input}, t{i}], out: y{i}}}\n");
    }
    text +=
        &format!("      x: {{tensor: float32, sizes: [1, {size}]}}\n    inputs: [x]\n    outputs: [y{}]\n", count - 1);
    fs::write(folder.join("m.yaml"), format!("{text}    instructions:\n{instructions}")).expect("there is room");
    pte_emit(folder, &["m.yaml", "-o", "m.pte", "-q"]);
    let peak = Cell::new(0);
    let optimize = || {
        peak.set(peak.get().max(pte_emit(folder, &["optimize", "m.pte", "-o", "o.pte", "-q"])));
        fs::remove_file(folder.join("o.pte")).expect("it was written");
    };
    let copy = || {
        fs::copy(folder.join("m.pte"), folder.join("c.pte")).expect("there is room");
        fs::remove_file(folder.join("c.pte")).expect("it was written");
    };
    let mut cases: Vec<Case<'_>> =
        vec![("std::fs::copy (baseline)", Box::new(copy)), ("optimize, all weights transposed", Box::new(optimize))];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<_> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    print(&format!("optimize of a program of {} MiB", bytes / MIB), times[0], &rows);
    println!("  peak memory {:.1} MB", peak.get() as f64 / 1e6);
}

/// Time per byte for increasing sizes; the input is a sparse file.
fn bytes(largest: u64) {
    println!("\ntime per byte: a sparse .safetensors to a .ptd");
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    let mut size = MIB;
    while size <= largest {
        safetensors(&folder.join("w.safetensors"), size, 0);
        let rounds = if size < GIB { 9 } else { 3 };
        let mut peak = 0;
        let mut case = || {
            let start = Instant::now();
            peak = peak.max(pte_emit(folder, &["w.safetensors", "-o", "w.ptd", "-q"]));
            let time = start.elapsed();
            fs::remove_file(folder.join("w.ptd")).expect("it was written");
            time
        };
        let mut times: Vec<Duration> = (0..rounds).map(|_| case()).collect();
        times.sort();
        let time = times[rounds / 2];
        println!(
            "  {:>6} MiB  {:>10.3} ms  {:>6.3} ns per byte, {:.1} MB of memory",
            size / MIB,
            time.as_secs_f64() * 1e3,
            time.as_secs_f64() * 1e9 / size as f64,
            peak as f64 / 1e6
        );
        size *= 4;
    }
}

/// `inspect`, `size` and `memory` of a sparse program with `bytes` bytes of weights, of which they read the metadata
/// only.
fn questions(bytes: u64, rounds: usize) {
    println!("\nquestions about a program with {} MiB of weights, including the start of the process", bytes / MIB);
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    let names: Vec<String> = (0..bytes / TENSOR).map(|number| format!("w{number}")).collect();
    // Equal contents would be shared.
    let values: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            format!("{name}: {{tensor: float32, sizes: [{}], data: {{iota: {{start: {number}}}}}}}", TENSOR / 4)
        })
        .collect();
    let text = format!("methods: {{forward: {{values: {{{}}}, outputs: [{}]}}}}", values.join(", "), names.join(", "));
    let assembly = Model::from_yaml("bench", text, "").assemble(&AssembleOptions::default());
    let assembly = assembly.unwrap_or_else(|error| panic!("{error}"));
    let program = assembly.program_file().expect("it has a method");
    let mut file = File::create(folder.join("model.pte")).expect("there is room");
    file.write_all(&program.metadata()).expect("there is room");
    file.set_len(program.size().expect("it has no overrides")).expect("sparse files are possible");
    for command in ["inspect", "size", "memory"] {
        let mut peak = 0;
        let mut case = || {
            let start = Instant::now();
            peak = peak.max(pte_emit(folder, &[command, "model.pte"]));
            start.elapsed()
        };
        let mut times: Vec<Duration> = (0..rounds).map(|_| case()).collect();
        times.sort();
        let time = times[rounds / 2].as_secs_f64() * 1e3;
        println!("  {command:<8}  {time:>8.3} ms, {:.1} MB of memory", peak as f64 / 1e6);
    }
}

/// A thousand inputs: the examples, repeated.
fn fixtures(rounds: usize) {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"));
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    let mut names = Vec::new();
    let list = |folder: &Path| {
        let mut files: Vec<_> =
            fs::read_dir(folder).expect("it is ours").map(|entry| entry.expect("ours").path()).collect();
        files.sort();
        files
    };
    fs::create_dir(folder.join("data")).expect("there is room");
    fs::create_dir(folder.join("out")).expect("there is room");
    fs::create_dir(folder.join("copies")).expect("there is room");
    for file in list(&examples.join("data")) {
        fs::copy(&file, folder.join("data").join(file.file_name().expect("it has one"))).expect("there is room");
    }
    // Examples with one output, so that a thousand inputs are a thousand files.
    let sources: Vec<String> = list(examples)
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| fs::read_to_string(path).expect("it is ours"))
        .filter(|text| text.contains("methods:") && !text.contains("external"))
        .collect();
    for (number, text) in sources.iter().cycle().take(1000).enumerate() {
        let name = format!("fixture{number:04}.yaml");
        fs::write(folder.join(&name), text).expect("there is room");
        names.push(name);
    }
    let mut arguments: Vec<&str> = names.iter().map(String::as_str).collect();
    arguments.extend(["-o", "out/", "-q"]);
    let peak = Cell::new(pte_emit(folder, &arguments));
    let mut cases: Vec<Case<'_>> = vec![
        (
            "std::fs::copy of the outputs (baseline)",
            Box::new(|| {
                for file in list(&folder.join("out")) {
                    fs::copy(&file, folder.join("copies").join(file.file_name().expect("it has one"))).expect("room");
                }
            }),
        ),
        ("pte-emit *.yaml -o out/", Box::new(|| peak.set(peak.get().max(pte_emit(folder, &arguments))))),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<_> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    print(&format!("1,000 texts, {} examples again and again", sources.len()), times[0], &rows);
    drop(cases);
    println!("  peak memory {:.1} MB", peak.get() as f64 / 1e6);
}

/// Time per instruction for increasing counts.
fn instructions(largest: usize) {
    println!("\ntime per instruction: a chain of operators, source to .pte, including the start of the process");
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    let mut count = 1000;
    while count <= largest {
        let text = yaml(count);
        fs::write(folder.join("json.json"), json(&text)).expect("there is room");
        fs::write(folder.join("yaml.yaml"), text).expect("there is room");
        let rounds = if count < 100_000 { 9 } else { 3 };
        for name in ["yaml.yaml", "json.json"] {
            let mut peak = 0;
            let mut times: Vec<Duration> = (0..rounds)
                .map(|_| {
                    let start = Instant::now();
                    peak = peak.max(pte_emit(folder, &[name, "-o", "out.pte", "-q"]));
                    start.elapsed()
                })
                .collect();
            times.sort();
            let time = times[rounds / 2].as_secs_f64();
            println!(
                "  {count:>8} from {}  {:>10.3} ms  {:>6.2} us per instruction, {:.1} MB of memory",
                &name[..4],
                time * 1e3,
                time * 1e6 / count as f64,
                peak as f64 / 1e6
            );
        }
        count *= 10;
    }
}

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    // `cargo bench -- --test` runs it with small inputs.
    let quick = std::env::args().any(|argument| argument == "--test");
    let requested = |part: &str| parts.is_empty() || parts.iter().any(|other| other == part);
    if requested("weights") {
        for size in if quick { vec![8 * MIB] } else { vec![GIB, 4 * GIB] } {
            weights(size, if quick { 1 } else { 5 });
        }
    }
    if requested("embed") {
        arrays(if quick { 8 * MIB } else { 100 * MIB }, if quick { 1 } else { 5 });
    }
    if requested("merge") {
        merges(if quick { 8 * MIB } else { GIB }, if quick { 1 } else { 5 });
    }
    if requested("optimize") {
        optimized(if quick { MIB } else { 352 * MIB }, if quick { 1 } else { 9 });
    }
    if requested("bytes") {
        bytes(if quick { MIB } else { 16 * GIB });
    }
    if requested("questions") {
        questions(if quick { 8 * MIB } else { 4 * GIB }, if quick { 1 } else { 9 });
    }
    if requested("fixtures") {
        fixtures(if quick { 1 } else { 9 });
    }
    if requested("instructions") {
        instructions(if quick { 1000 } else { 1_000_000 });
    }
}
