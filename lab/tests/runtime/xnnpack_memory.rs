//! The memory that `memory` computes for XNNPACK delegates against what they allocate in the real process: bytes of the
//! heap after loading and after the first execution.
//!
//! Ignored by default, since it downloads the runtime: `cargo lab --test runtime xnnpack_memory:: -- --ignored
//! --nocapture` prints both figures for each program. It takes the examples, the programs that ExecuTorch wrote, random
//! graphs, those in the folder `PTE_EMIT_PROGRAMS`, and `PTE_EMIT_GRAPHS_COUNT` graphs from the seed
//! `PTE_EMIT_GRAPHS_SEED`. Without AVX-512 and VNNI the processor is another one: `PTE_EMIT_PROCESSOR` names it.
//! `PTE_EMIT_EMULATOR` is a command that runs the judge on a processor that the machine does not have,
//! `PTE_EMIT_DELEGATES` a judge for it (lab/conformance/README.md).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::runner;
use crate::xnnpack_graphs;
use pte_emit::{
    AssembleOptions, Model,
    memory::{DelegateAccuracy, DelegateFootprint, Held, MemoryOptions, MemorySource, Processor},
};
use pte_generate::random::Random;

/// Random graphs of each kind in a sample.
const SAMPLE: usize = 120;

/// Difference in bytes for each delegate that is not an error: lists that grow, names.
const SLACK: u64 = 256;

/// Difference in per cent after loading that is not an error where the execution is an upper bound.
const PERCENT: f64 = 5.0;

/// Number of weights of a channel that share a scale.
const GROUP: u64 = 32;

/// Bytes on the heap.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    /// After loading.
    loaded: u64,
    /// After the first execution.
    executed: u64,
}

/// What the runtime keeps for the delegates of each method, with its name. Methods that it does not load or execute are
/// left out.
fn measured(judge: &Path, pte: &Path, ptd: Option<&Path>) -> Vec<(String, Figures)> {
    let emulator = std::env::var("PTE_EMIT_EMULATOR").unwrap_or_default();
    let mut words = emulator.split_whitespace().map(Path::new).chain([judge]);
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).arg(pte);
    if let Some(ptd) = ptd {
        command.arg("--data").arg(ptd);
    }
    let output = command.output().expect("the judge starts");
    if output.status.code() != Some(0) {
        return Vec::new();
    }
    let (mut methods, mut name, mut loaded) = (Vec::new(), String::new(), None);
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        // Bytes and blocks of data, of objects, and of others.
        let numbers = rest.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>();
        let total = numbers.ok().filter(|numbers| numbers.len() == 6).map(|all| all[0] + all[2] + all[4]);
        match what {
            "method" => (name, loaded) = (rest.to_owned(), None),
            "load" => loaded = total,
            "execute" => {
                if let (Some(loaded), Some(executed)) = (loaded, total) {
                    methods.push((name.clone(), Figures { loaded, executed }));
                }
            }
            _ => {}
        }
    }
    methods
}

/// Largest difference that is not an error, in per cent: what the figures state.
#[derive(Debug, Clone, Copy)]
struct Bound {
    percent: f64,
    /// The runtime may need less for an execution.
    at_most: bool,
}

/// Bytes that delegates have from a source at these times: the sum, and the largest of each kind that all share.
fn total(delegates: &[DelegateFootprint], source: MemorySource, held: &[Held]) -> u64 {
    let parts = delegates.iter().filter_map(|delegate| delegate.memory.as_ref()).flat_map(|memory| &memory.parts);
    let mut shared = BTreeMap::new();
    let mut sum = 0;
    for part in parts.filter(|part| part.source == source && held.contains(&part.held)) {
        match part.shared {
            true => {
                let most: &mut u64 = shared.entry(part.content).or_default();
                *most = part.bytes.max(*most);
            }
            false => sum += part.bytes,
        }
    }
    shared.into_values().sum::<u64>() + sum
}

/// Computes the same from the program. `None` without a delegate, or if one is not counted.
fn computed(delegates: &[DelegateFootprint]) -> Option<(Figures, Bound)> {
    let mut bound = Bound { percent: PERCENT, at_most: false };
    for delegate in delegates {
        match delegate.memory.as_ref()?.accuracy {
            DelegateAccuracy::Percent(percent) => bound.percent = bound.percent.min(percent.into()),
            DelegateAccuracy::AtMost => bound.at_most = true,
            DelegateAccuracy::Exact | DelegateAccuracy::Unmeasured => return None,
        }
    }
    let total = |source, held: &[Held]| total(delegates, source, held);
    let loader = total(MemorySource::Loader, &[Held::Load]);
    let loaded = total(MemorySource::Heap, &[Held::Load]) + loader;
    let executed = total(MemorySource::Heap, &[Held::Load, Held::FirstExecution]) + loader;
    (!delegates.is_empty()).then_some((Figures { loaded, executed }, bound))
}

/// Difference of a figure in per cent; 0 if it is within the slack.
fn difference(computed: u64, measured: u64, delegates: usize) -> f64 {
    if computed.abs_diff(measured) <= SLACK * delegates as u64 {
        return 0.0;
    }
    100.0 * (computed as f64 / measured as f64 - 1.0)
}

#[derive(Default)]
struct Comparison {
    failures: Vec<String>,
    /// Differences in per cent after loading and after the first execution.
    loaded: Vec<f64>,
    executed: Vec<f64>,
    methods: usize,
}

impl Comparison {
    fn compare(&mut self, judge: &Path, pte: &Path, ptd: Option<&Path>, label: &str) {
        let options = MemoryOptions::default().processor(processor());
        let Some(memory) = Model::open(pte).ok().and_then(|model| model.memory(&options).ok()) else { return };
        if memory.methods.iter().all(|method| computed(&method.delegates).is_none()) {
            return;
        }
        for (name, measured) in measured(judge, pte, ptd) {
            let Some(method) = memory.methods.iter().find(|method| method.name == name) else { continue };
            let Some((computed, bound)) = computed(&method.delegates) else { continue };
            let count = method.delegates.len();
            let loaded = difference(computed.loaded, measured.loaded, count);
            let executed = difference(computed.executed, measured.executed, count);
            let figures = format!(
                "{label}, {name}: loaded {} of {} ({loaded:+.1} %), executed {} of {} ({executed:+.1} %)",
                computed.loaded, measured.loaded, computed.executed, measured.executed
            );
            println!("{figures}");
            let is_less = bound.at_most && executed > 0.0;
            if loaded.abs() > bound.percent || (executed.abs() > bound.percent && !is_less) {
                self.failures.push(figures);
            }
            self.methods += 1;
            self.loaded.push(loaded);
            self.executed.push(executed);
        }
    }

    fn finish(mut self, least: usize) {
        for (what, list) in [("loaded", &mut self.loaded), ("executed", &mut self.executed)] {
            list.sort_by(f64::total_cmp);
            let at =
                |part: f64| list.get((part * (list.len().saturating_sub(1)) as f64) as usize).copied().unwrap_or(0.0);
            println!(
                "{what}: {:+.1} % to {:+.1} %, 5 % below {:+.1} %, median {:+.1} %, 5 % above {:+.1} %",
                at(0.0),
                at(1.0),
                at(0.05),
                at(0.5),
                at(0.95)
            );
        }
        println!("{} methods compared", self.methods);
        assert!(self.failures.is_empty(), "{} of {}:\n{}", self.failures.len(), self.methods, self.failures.join("\n"));
        assert!(self.methods >= least, "only {} methods were compared", self.methods);
    }
}

/// A graph between float32 tensors.
struct Template {
    values: Vec<String>,
    nodes: Vec<String>,
    inputs: Vec<(String, Vec<u64>)>,
    output: (String, Vec<u64>),
}

/// Makes graphs with one or a few operations of realistic sizes.
struct Maker {
    random: Random,
    values: Vec<String>,
    nodes: Vec<String>,
    count: usize,
}

impl Maker {
    fn up_to(&mut self, most: usize) -> u64 {
        1 + self.random.below(most) as u64
    }

    fn value(&mut self, kind: &str, dims: &[u64], more: &str) -> String {
        self.count += 1;
        let name = format!("v{}", self.count);
        self.values.push(format!("{name}: {{datatype: {kind}, sizes: {dims:?}{more}}}"));
        name
    }

    fn constant(&mut self, kind: &str, dims: &[u64], more: &str) -> String {
        let seed = self.random.below(1000);
        self.value(kind, dims, &format!("{more}, data: {{random: {{seed: {seed}}}}}"))
    }

    /// Adds a conversion.
    fn converted(&mut self, from: &str, kind: &str, dims: &[u64]) -> String {
        let more = match kind {
            "qint8" => ", scale: 0.125, zero_point: 3",
            "quint8" => ", scale: 0.125, zero_point: 130",
            "qdint8" => ", num_nonbatch_dims: 1",
            _ => "",
        };
        let name = self.value(kind, dims, more);
        self.nodes.push(format!("{{convert: {{input: {from}, output: {name}}}}}"));
        name
    }

    /// Weights of a product of an input of this kind: the filter, and the bias.
    fn weights(&mut self, input: &str, dims: &[u64], outputs: u64) -> (String, String) {
        let scales = |scale: f32| format!(", scales: {{data: {:?}}}", vec![scale; outputs as usize]);
        match input {
            "qint8" => {
                let filter = self.constant("qcint8", dims, &scales(0.25));
                (filter, self.constant("qcint32", &[outputs], &scales(0.03125)))
            }
            "quint8" => {
                let filter = self.constant("quint8", dims, ", scale: 0.25, zero_point: 128");
                (filter, self.constant("qint32", &[outputs], ", scale: 0.03125, zero_point: 0"))
            }
            "qdint8" => {
                let filter = self.constant("qcint8", dims, &scales(0.25));
                (filter, self.constant("fp32", &[outputs], ""))
            }
            "qdint4" => {
                let filter = self.constant("qcint4", dims, &scales(0.25));
                (filter, self.constant("fp32", &[outputs], ""))
            }
            "qdint4 by group" => {
                let groups = vec![0.25f32; (outputs * dims[1] / GROUP) as usize];
                let more = format!(", group_size: {GROUP}, scales: {{data: {groups:?}}}");
                (self.constant("qbint4", dims, &more), self.constant("fp32", &[outputs], ""))
            }
            _ => (self.constant(input, dims, ""), self.constant(input, &[outputs], "")),
        }
    }

    /// A matrix product.
    fn matrix(&mut self) -> Template {
        let weights = self.random.pick(&["fp32", "qint8", "quint8", "qdint8", "fp16", "qdint4", "qdint4 by group"]);
        let kind = if weights.starts_with("qdint") { "qdint8" } else { weights };
        let (rows, inputs, outputs) = (self.up_to(40), self.up_to(200), self.up_to(200));
        let inputs = if kind == weights { inputs } else { GROUP * self.up_to(5) };
        let (from, to) = (vec![rows, inputs], vec![rows, outputs]);
        let x = self.value("fp32", &from, "");
        let input = if kind == "fp32" { x.clone() } else { self.converted(&x, kind, &from) };
        let (filter, bias) = self.weights(weights, &[outputs, inputs], outputs);
        self.finish(x, kind, (from, to), |output| {
            format!("fully_connected: {{input: {input}, filter: {filter}, bias: {bias}, output: {output}}}")
        })
    }

    /// Adds the operation with an output of the kind of the input, and its conversion to float32.
    fn finish(
        &mut self,
        x: String,
        kind: &str,
        (from, to): (Vec<u64>, Vec<u64>),
        node: impl Fn(&str) -> String,
    ) -> Template {
        let result = match kind {
            "fp32" | "qdint8" => "fp32",
            other => other,
        };
        let more = match result {
            "qint8" => ", scale: 0.25, zero_point: -1",
            "quint8" => ", scale: 0.25, zero_point: 120",
            _ => "",
        };
        let mut output = self.value(result, &to, more);
        self.nodes.push(format!("{{{}}}", node(&output)));
        if result != "fp32" {
            output = self.converted(&output, "fp32", &to);
        }
        Template {
            values: std::mem::take(&mut self.values),
            nodes: std::mem::take(&mut self.nodes),
            inputs: vec![(x, from)],
            output: (output, to),
        }
    }

    /// A convolution, also a depthwise or a transposed one.
    fn convolution(&mut self) -> Template {
        let kind = self.random.pick(&["fp32", "qint8", "quint8", "fp16", "fp32"]);
        let word = self.random.pick(&["conv2d", "conv2d", "depthwise_conv2d", "conv_transpose2d"]);
        let kernel = self.random.pick(&[1u64, 2, 3, 5]);
        let stride = self.random.pick(&[1u64, 1, 2]);
        let pad = if kernel > 1 { self.random.below(2) as u64 } else { 0 };
        let (batch, size) = (self.up_to(2), kernel + self.up_to(20));
        let groups = if word == "depthwise_conv2d" { self.up_to(40) } else { self.random.pick(&[1u64, 1, 2]) };
        let (inputs, outputs) = if word == "depthwise_conv2d" { (1, 1) } else { (self.up_to(40), self.up_to(80)) };
        let result = match word {
            "conv_transpose2d" => (size - 1) * stride + kernel - 2 * pad,
            _ => (size + 2 * pad - kernel) / stride + 1,
        };
        let filter = match word {
            "depthwise_conv2d" => vec![1, kernel, kernel, groups],
            _ => vec![groups * outputs, kernel, kernel, inputs],
        };
        let from = vec![batch, size, size, groups * inputs];
        let to = vec![batch, result, result, groups * outputs];
        let x = self.value("fp32", &from, "");
        let input = if kind == "fp32" { x.clone() } else { self.converted(&x, kind, &from) };
        let (filter, bias) = self.weights(kind, &filter, groups * outputs);
        self.finish(x, kind, (from, to), |output| {
            format!(
                "{word}: {{input: {input}, filter: {filter}, bias: {bias}, output: {output}, padding_top: {pad}, padding_right: {pad}, \
                 padding_bottom: {pad}, padding_left: {pad}, kernel_height: {kernel}, kernel_width: {kernel}, subsampling_height: {stride}, \
                 subsampling_width: {stride}, dilation_height: 1, dilation_width: 1, group_input_channels: {inputs}, \
                 group_output_channels: {outputs}, groups: {groups}}}"
            )
        })
    }

    /// A pooling, a resize, or a product of two arguments.
    fn other(&mut self) -> Template {
        let (batch, size, channels) = (self.up_to(2), 4 + self.up_to(16), self.up_to(40));
        let from = vec![batch, size, size, channels];
        let x = self.value("fp32", &from, "");
        let window = |word: &str, pad: u64, input: &str, output: &str| {
            format!(
                "{word}: {{input: {input}, output: {output}, padding_top: {pad}, padding_right: {pad}, padding_bottom: {pad}, \
                 padding_left: {pad}, pooling_height: 3, pooling_width: 3, stride_height: 2, stride_width: 2, dilation_height: 1, \
                 dilation_width: 1}}"
            )
        };
        let pad = self.random.below(2) as u64;
        let pooled = (size + 2 * pad - 3) / 2 + 1;
        let to = vec![batch, pooled, pooled, channels];
        match self.random.below(5) {
            0 => self.finish(x.clone(), "fp32", (from, to), |output| window("avg_pooling2d", pad, &x, output)),
            1 => self.finish(x.clone(), "fp32", (from, to), |output| window("max_pooling2d", pad, &x, output)),
            2 => {
                let to = vec![batch, 2 * size, size + 3, channels];
                let sizes = (to[1], to[2]);
                self.finish(x.clone(), "fp32", (from, to), |output| {
                    format!(
                        "static_resize_bilinear2d: {{input: {x}, output: {output}, new_height: {}, new_width: {}}}",
                        sizes.0, sizes.1
                    )
                })
            }
            3 => {
                let to = vec![batch, 1, 1, channels];
                self.finish(x.clone(), "fp32", (from, to), |output| {
                    format!("global_avg_pooling2d: {{input: {x}, output: {output}, flags: 64}}")
                })
            }
            _ => {
                let columns = self.up_to(60);
                let second = vec![batch, size, channels, columns];
                let to = vec![batch, size, size, columns];
                let y = self.value("fp32", &second, "");
                let mut template = self.finish(x.clone(), "fp32", (from, to), |output| {
                    format!("batch_matrix_multiply: {{input1: {x}, input2: {y}, output: {output}}}")
                });
                template.inputs.push((y, second));
                template
            }
        }
    }
}

/// A program with one graph.
fn program(seed: u64, index: usize) -> String {
    let random = Random::of_item(seed, index as u64);
    let mut maker = Maker { random, values: Vec::new(), nodes: Vec::new(), count: 0 };
    let Template { values, nodes, inputs, output } = match index % 3 {
        0 => maker.matrix(),
        1 => maker.convolution(),
        _ => maker.other(),
    };
    let tensors: String = inputs
        .iter()
        .chain([&output])
        .map(|(name, dims)| format!("      {name}: {{tensor: float32, sizes: {dims:?}}}\n"))
        .collect();
    let lines = |lines: &[String], mark: &str| {
        lines.iter().map(|line| format!("            {mark}{line}\n")).collect::<String>()
    };
    let names: Vec<&str> = inputs.iter().map(|(name, _)| &**name).collect();
    let (names, output) = (names.join(", "), output.0);
    format!(
        "methods:\n  forward:\n    values:\n{tensors}    delegates:\n      part:\n        backend: XnnpackBackend\n        graph:\n          \
         values:\n{}          inputs: [{names}]\n          outputs: [{output}]\n          nodes:\n{}    inputs: [{names}]\n    outputs: \
         [{output}]\n    instructions:\n      - {{delegate: part, args: [{names}, {output}]}}\n",
        lines(&values, ""),
        lines(&nodes, "- "),
    )
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(format!("PTE_EMIT_GRAPHS_{name}")).ok().map(|text| text.parse().expect("a number"))
}

/// The program that counts: `delegates` beside the runner, or another build of it.
fn judge() -> PathBuf {
    match std::env::var_os("PTE_EMIT_DELEGATES") {
        Some(path) => path.into(),
        None => runner::locate().with_file_name("delegates"),
    }
}

/// The processor of the judge.
fn processor() -> Processor {
    match std::env::var("PTE_EMIT_PROCESSOR").as_deref() {
        Err(_) | Ok("x86-avx512") => Processor::X86Avx512,
        Ok("x86-avx2") => Processor::X86Avx2,
        Ok("arm64") => Processor::Arm64,
        Ok(other) => panic!("{other}: expected x86-avx512, x86-avx2 or arm64"),
    }
}

/// Random programs assemble.
#[test]
fn graphs_assemble() {
    for index in 0..60 {
        let yaml = program(1, index);
        let assembly = Model::from_yaml("graph.yaml", &*yaml, ".").assemble(&AssembleOptions::default());
        if let Err(error) = assembly {
            panic!("graph {index}: {error}\n{yaml}");
        }
    }
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn random_graphs_take_as_much() {
    let (judge, mut comparison) = (judge(), Comparison::default());
    let seed = variable("SEED").unwrap_or(1);
    let count = variable("COUNT").map_or(SAMPLE, |count| count as usize);
    let folder = tempfile::tempdir().expect("there is room");
    let pte = folder.path().join("graph.pte");
    for index in 0..count {
        for (label, yaml) in [("graph", program(seed, index)), ("small graph", xnnpack_graphs::undamaged(seed, index))]
        {
            let Ok(assembly) = Model::from_yaml("graph.yaml", yaml, ".").assemble(&AssembleOptions::default()) else {
                continue;
            };
            let bytes = assembly.program_file().expect("a program").to_vec().expect("bytes");
            std::fs::write(&pte, bytes).expect("there is room");
            comparison.compare(&judge, &pte, None, &format!("{label} {index}"));
        }
    }
    comparison.finish(count);
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn programs_take_as_much() {
    let (judge, mut comparison) = (judge(), Comparison::default());
    let mut folders = vec![crate::support::root().join("tests/golden/upstream")];
    folders.extend(crate::support::path_of("PTE_EMIT_PROGRAMS"));
    for pte in folders.iter().flat_map(|folder| crate::support::files_below(folder, &["pte"])) {
        let ptd = pte.with_extension("ptd");
        comparison.compare(&judge, &pte, ptd.exists().then_some(&ptd), &pte.display().to_string());
    }
    let temporary = tempfile::tempdir().expect("there is room");
    let examples = std::fs::read_dir(crate::support::root().join("examples"))
        .expect("the examples")
        .map(|entry| entry.expect("an entry").path());
    for path in
        examples.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("xnnpack")))
    {
        let assembly =
            Model::open(&path).and_then(|source| source.assemble(&AssembleOptions::default())).expect("an example");
        let pte = temporary.path().join("example.pte");
        std::fs::write(&pte, assembly.program_file().expect("a program").to_vec().expect("bytes"))
            .expect("there is room");
        comparison.compare(&judge, &pte, None, &path.display().to_string());
    }
    comparison.finish(4);
}
