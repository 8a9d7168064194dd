//! Random XNNPACK graphs as YAML: they assemble, `dump` prints them as graphs that assemble to the same bytes, the
//! runtime executes those that `check` accepts, and refuses or does not survive those that it refuses. Some graphs are
//! damaged: a number, a name, a type, a size, a node.
//!
//! Unlike `xnnpack_mutants.rs`, which changes payloads of the exporter, it begins with the YAML.
//!
//! | variable | meaning |
//! |---|---|
//! | `PTE_EMIT_GRAPHS_SEED` | seed, a number; printed; 1 by default |
//! | `PTE_EMIT_GRAPHS_COUNT` | number of graphs; a sample by default |
//! | `PTE_EMIT_GRAPHS_KEEP` | a folder for accepted graphs that crash |

use std::collections::BTreeMap;
use std::path::Path;

use pte_emit::check::RuleId;
use pte_emit::{AssembleOptions, Model, PrintOptions};
use pte_generate::random::Random;

use crate::support::driver::{Driver, crashed};
use crate::support::structured;

/// Graphs in a sample.
const SAMPLE: usize = 600;

/// Graphs that are run together.
const BATCH: usize = 200;

/// Rules that refuse graphs which the runtime may execute: what it reads is undefined, or not what the graph states.
const EXECUTED: &[(RuleId, &str)] = &[
    (
        RuleId::D_12,
        "an argument that is not written, a value that is written twice, or an id that is none is read as it is",
    ),
    (RuleId::D_13, "constants that are too small are read beyond their end"),
    (RuleId::D_14, "the runtime does not compare the sizes and the types of arguments with the graph"),
    (RuleId::D_15, "scales are read beyond their end"),
    (RuleId::D_16, "kernels of another type read and write other bytes than the values have"),
    (RuleId::D_17, "XNNPACK computes the sizes of results itself, and writes beyond the end of the tensor"),
    (RuleId::D_18, "the runner keeps the whole file in memory"),
];

/// A graph under construction. All values are float32 unless stated.
struct Maker {
    random: Random,
    values: Vec<String>,
    /// Constants that XNNPACK does not pack.
    named: Vec<String>,
    nodes: Vec<String>,
    /// Names and sizes of the values that nodes may read.
    live: Vec<(String, Vec<u64>)>,
    count: usize,
}

const UNARY: &[&str] = &[
    "abs",
    "negate",
    "square",
    "floor",
    "ceiling",
    "sigmoid",
    "tanh",
    "exp",
    "gelu",
    "hardswish",
    "square_root",
    "log",
    "sin",
    "cos",
    "copy",
    "reciprocal_square_root",
    "softmax",
    "clamp",
];

const BINARY: &[&str] = &["add", "subtract", "multiply", "div", "minimum", "maximum"];

impl Maker {
    fn name(&mut self, stem: &str) -> String {
        self.count += 1;
        format!("{stem}{}", self.count)
    }

    fn constant(&mut self, datatype: &str, dims: &[u64], more: &str) -> String {
        let name = self.name("w");
        let seed = self.random.below(1000);
        self.values.push(format!(
            "{name}: {{datatype: {datatype}, sizes: {dims:?}{more}, data: {{random: {{seed: {seed}}}}}}}"
        ));
        name
    }

    /// Adds a constant that XNNPACK reads when the operation runs.
    fn operand(&mut self, dims: &[u64]) -> String {
        let name = self.name("w");
        let seed = self.random.below(1000);
        self.values.push(format!("{name}: {{datatype: fp32, sizes: {dims:?}, key: {name}}}"));
        let numbers: Vec<u64> = (0..dims.iter().product()).map(|index| (index + seed as u64) % 7).collect();
        let data = format!("{{numbers: {numbers:?}, dtype: float32}}");
        self.named.push(format!("{name}: {{align: 16, data: {data}}}"));
        name
    }

    fn push(&mut self, node: String, output: String, dims: Vec<u64>) {
        let bounds = match self.random.below(6) {
            0 => ", output_min: 0, output_max: 6",
            1 => ", output_min: -0.5",
            _ => "",
        };
        self.nodes.push(format!("{{{node}{bounds}}}"));
        self.live.push((output, dims));
    }

    /// Adds an operation on a value.
    fn node(&mut self) {
        let at = self.random.below(self.live.len());
        let (x, dims) = self.live[at].clone();
        let y = self.name("v");
        let rank = dims.len();
        let last = dims[rank - 1];
        match self.random.below(16) {
            0..3 => {
                let word = self.random.pick(UNARY);
                let node = format!("{word}: {{input: {x}, output: {y}}}");
                self.push(node, y, dims);
            }
            3 => {
                let (word, field) = self.random.pick(&[("elu", "alpha"), ("leaky_relu", "negative_slope")]);
                self.push(format!("{word}: {{input: {x}, output: {y}, {field}: 0.25}}"), y, dims);
            }
            4..6 => {
                let word = self.random.pick(BINARY);
                let same = self.live.iter().filter(|(_, other)| *other == dims).map(|(name, _)| name.clone());
                let same: Vec<String> = same.collect();
                let other = match self.random.below(3) {
                    0 => self.operand(&[last]),
                    1 => self.operand(&dims),
                    _ => same[self.random.below(same.len())].clone(),
                };
                self.push(format!("{word}: {{input1: {x}, input2: {other}, output: {y}}}"), y, dims);
            }
            6 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                self.random.shuffle(&mut perm);
                let sizes = perm.iter().map(|dim| dims[*dim]).collect();
                self.push(format!("static_transpose: {{input: {x}, output: {y}, perm: {perm:?}}}"), y, sizes);
            }
            7 => {
                let sizes = vec![dims[..rank - 1].iter().product(), last];
                self.push(format!("static_reshape: {{input: {x}, output: {y}, new_shape: {sizes:?}}}"), y, sizes);
            }
            8 => {
                let offsets: Vec<u64> = dims.iter().map(|size| self.random.below(*size as usize) as u64).collect();
                let sizes: Vec<u64> = dims.iter().zip(&offsets).map(|(size, offset)| size - offset).collect();
                let node = format!("static_slice: {{input: {x}, output: {y}, offsets: {offsets:?}, sizes: {sizes:?}}}");
                self.push(node, y, sizes);
            }
            9 => {
                let pads: Vec<u64> = dims.iter().map(|_| self.random.below(3) as u64).collect();
                let sizes = dims.iter().zip(&pads).map(|(size, pad)| size + 2 * pad).collect();
                let node = format!(
                    "static_constant_pad: {{input: {x}, output: {y}, pre_paddings: {pads:?}, post_paddings: {pads:?}, \
                     padding_value: 1.5}}"
                );
                self.push(node, y, sizes);
            }
            10 => {
                let axis = self.random.below(rank);
                let mut sizes = dims.clone();
                sizes[axis] += dims[axis];
                let other = self.operand(&dims);
                self.push(
                    format!("concatenate2: {{input1: {x}, input2: {other}, output: {y}, axis: {axis}}}"),
                    y,
                    sizes,
                );
            }
            11 if rank >= 2 => {
                let columns = 1 + self.random.below(5) as u64;
                let mut sizes = dims.clone();
                sizes[rank - 2] = last;
                sizes[rank - 1] = columns;
                let other = self.constant("fp32", &sizes, "");
                sizes[rank - 2] = dims[rank - 2];
                self.push(format!("batch_matrix_multiply: {{input1: {x}, input2: {other}, output: {y}}}"), y, sizes);
            }
            12 if rank == 4 && dims[1] > 2 && dims[2] > 2 => {
                let (word, filter, outputs, channels, groups) = match self.random.below(2) {
                    0 => ("conv2d", vec![4, 3, 3, last], 4, (last, 4), 1),
                    _ => ("depthwise_conv2d", vec![1, 3, 3, last], last, (1, 1), last),
                };
                let (filter, bias) = (self.constant("fp32", &filter, ""), self.constant("fp32", &[outputs], ""));
                let sizes = vec![dims[0], dims[1] - 2, dims[2] - 2, outputs];
                let node = format!(
                    "{word}: {{input: {x}, filter: {filter}, bias: {bias}, output: {y}, kernel_height: 3, kernel_width: 3, \
                     subsampling_height: 1, subsampling_width: 1, dilation_height: 1, dilation_width: 1, \
                     group_input_channels: {}, group_output_channels: {}, groups: {groups}}}",
                    channels.0, channels.1
                );
                self.push(node, y, sizes);
            }
            13 if rank == 4 && dims[1] > 1 && dims[2] > 1 => {
                let word = self.random.pick(&["max_pooling2d", "avg_pooling2d"]);
                let sizes = vec![dims[0], dims[1] - 1, dims[2] - 1, last];
                let node = format!(
                    "{word}: {{input: {x}, output: {y}, pooling_height: 2, pooling_width: 2, stride_height: 1, \
                     stride_width: 1, dilation_height: 1, dilation_width: 1}}"
                );
                self.push(node, y, sizes);
            }
            14 => {
                // Quantized and back.
                let q = self.name("q");
                self.values.push(format!("{q}: {{datatype: qint8, sizes: {dims:?}, scale: 0.125, zero_point: 3}}"));
                self.values.push(format!("{y}: {{datatype: fp32, sizes: {dims:?}}}"));
                self.nodes.push(format!("{{convert: {{input: {x}, output: {q}}}}}"));
                self.nodes.push(format!("{{convert: {{input: {q}, output: {y}}}}}"));
                self.live.push((y, dims));
            }
            _ => {
                let outputs = 1 + self.random.below(6) as u64;
                let mut sizes = dims.clone();
                sizes[rank - 1] = outputs;
                let bias = match self.random.below(2) {
                    0 => format!(", bias: {}", self.constant("fp32", &[outputs], "")),
                    _ => String::new(),
                };
                if rank == 2 && self.random.below(2) == 0 {
                    let q = self.name("q");
                    let scales: Vec<f32> = (0..outputs).map(|_| 0.25).collect();
                    let filter = self.constant("qcint8", &[outputs, last], &format!(", scales: {{data: {scales:?}}}"));
                    self.values.push(format!("{q}: {{datatype: qdint8, sizes: {dims:?}, num_nonbatch_dims: 1}}"));
                    self.values.push(format!("{y}: {{datatype: fp32, sizes: {sizes:?}}}"));
                    self.nodes.push(format!("{{convert: {{input: {x}, output: {q}}}}}"));
                    let node = format!("fully_connected: {{input: {q}, filter: {filter}{bias}, output: {y}}}");
                    return self.push(node, y, sizes);
                }
                let filter = self.constant("fp32", &[outputs, last], "");
                self.push(format!("fully_connected: {{input: {x}, filter: {filter}{bias}, output: {y}}}"), y, sizes);
            }
        }
    }

    /// Changes one thing in the values or the nodes; returns what.
    fn damage(&mut self, inputs: &mut Vec<String>) -> String {
        let numbers: [&str; 9] = ["0", "1", "2", "3", "5", "7", "64", "65536", "4294967295"];
        let names: Vec<String> = self.live.iter().map(|(name, _)| name.clone()).collect();
        let number = self.random.pick(&numbers);
        let in_nodes = self.random.below(3) > 0;
        let kind = self.random.below(8);
        let lines = if in_nodes { &mut self.nodes } else { &mut self.values };
        let at = self.random.below(lines.len());
        let line = lines[at].clone();
        let words: Vec<(usize, usize)> = line
            .match_indices([' ', '['])
            .filter_map(|(space, _)| {
                let rest = &line[space + 1..];
                let len = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                (len > 0 && !rest[len..].starts_with(':')).then_some((space + 1, len))
            })
            .collect();
        let is_number = |(start, _): &(usize, usize)| line.as_bytes()[*start].is_ascii_digit();
        match kind {
            0 => inputs.truncate(inputs.len() - 1),
            1 if in_nodes => {
                lines.remove(at);
            }
            2 if in_nodes => {
                let end = line.rfind('}').map_or(0, |end| line[..end].rfind('}').unwrap_or(end));
                lines[at] = format!("{}, flags: {number}{}", &line[..end], &line[end..]);
            }
            3 if !in_nodes => {
                let datatype = self.random.pick(&["fp16", "qint8", "int32", "qcint8", "bf16", "fp32", "quint8"]);
                lines[at] = line.replacen("fp32", datatype, 1);
            }
            _ => {
                let numeric = words.iter().copied().filter(is_number);
                let textual = words.iter().copied().filter(|word| !is_number(word));
                let (chosen, with): (Vec<(usize, usize)>, &str) = match in_nodes && kind < 5 {
                    true => (textual.collect(), &names[self.random.below(names.len())]),
                    false => (numeric.collect(), number),
                };
                if !chosen.is_empty() {
                    let (start, len) = chosen[self.random.below(chosen.len())];
                    lines[at] = format!("{}{with}{}", &line[..start], &line[start + len..]);
                }
            }
        }
        format!("{line} -> {}", self.nodes.get(at).filter(|_| in_nodes).or(self.values.get(at)).map_or("", |line| line))
    }
}

/// Returns a program with a random graph, and what is wrong with it.
fn program(seed: u64, index: usize) -> (String, Option<String>) {
    let mut random = Random::of_item(seed, index as u64);
    let rank = 1 + random.below(4);
    let dims: Vec<u64> = (0..rank).map(|_| 1 + random.below(5) as u64).collect();
    let (count, damaged) = (1 + random.below(6), random.below(2) == 0);
    graph(random, &dims, count, damaged)
}

/// Returns a program with a random graph in which nothing is wrong.
pub fn undamaged(seed: u64, index: usize) -> String {
    let mut random = Random::of_item(seed, index as u64);
    let rank = 1 + random.below(4);
    let dims: Vec<u64> = (0..rank).map(|_| 1 + random.below(12) as u64).collect();
    let count = 1 + random.below(12);
    graph(random, &dims, count, false).0
}

/// Returns a program with a random graph on inputs of these sizes, and what is wrong with it.
fn graph(random: Random, dims: &[u64], count: usize, damaged: bool) -> (String, Option<String>) {
    let mut maker =
        Maker { random, values: Vec::new(), named: Vec::new(), nodes: Vec::new(), live: Vec::new(), count: 0 };
    let mut inputs = Vec::new();
    for _ in 0..=maker.random.below(2) {
        let name = maker.name("x");
        maker.values.push(format!("{name}: {{datatype: fp32, sizes: {dims:?}}}"));
        maker.live.push((name.clone(), dims.to_vec()));
        inputs.push(name);
    }
    let arguments = inputs.clone();
    (0..count).for_each(|_| maker.node());
    let (output, sizes) = maker.live[maker.live.len() - 1].clone();
    let damage = damaged.then(|| maker.damage(&mut inputs));
    let Maker { values, named, nodes, .. } = &maker;
    let tensors: String =
        arguments.iter().map(|name| format!("      {name}: {{tensor: float32, sizes: {dims:?}}}\n")).collect();
    let list = |lines: &[String], mark: &str| {
        lines.iter().map(|line| format!("            {mark}{line}\n")).collect::<String>()
    };
    let yaml = format!(
        "methods:\n  forward:\n    values:\n{tensors}      result: {{tensor: float32, sizes: {sizes:?}}}\n    delegates:\n      part:\n        \
         backend: XnnpackBackend\n        graph:\n          values:\n{}          inputs: [{}]\n          outputs: \
         [{output}]\n          nodes:\n{}    inputs: [{}]\n    outputs: [result]\n    instructions:\n      - {{delegate: part, \
         args: [{}, result]}}\nnamed_data: {{{}}}\n",
        list(values, ""),
        inputs.join(", "),
        if nodes.is_empty() { "            []\n".to_owned() } else { list(nodes, "- ") },
        arguments.join(", "),
        arguments.join(", "),
        named.join(", "),
    );
    (yaml, damage)
}

fn assembled(yaml: &str) -> Result<Vec<u8>, String> {
    let assembly = Model::from_yaml("graph.yaml", yaml, ".").assemble(&AssembleOptions::default());
    assembly.map_err(|error| error.to_string())?.program_file().unwrap().to_vec().map_err(|error| error.to_string())
}

/// The programs of graphs from `start` on; those that do not assemble are `None`. Asserts that the others are printed
/// as graphs that assemble to the same bytes.
fn programs(seed: u64, indices: std::ops::Range<usize>) -> Vec<(String, bool, Option<Vec<u8>>)> {
    let of_index = |index: usize| {
        let (yaml, damage) = program(seed, index);
        let context = format!("seed {seed}, graph {index}, {damage:?}");
        let bytes = match assembled(&yaml) {
            Ok(bytes) => bytes,
            Err(error) => {
                assert!(damage.is_some(), "{context}: {error}\n{yaml}");
                return (context, true, None);
            }
        };
        let printed = Model::from_binary("graph.pte", &bytes).to_yaml(Path::new("."), &PrintOptions::default());
        let printed = printed.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(
            printed.difference.is_none() && printed.text.contains("        graph:\n"),
            "{context}: {}",
            printed.text
        );
        assert!(assembled(&printed.text).is_ok_and(|again| again == bytes), "{context}: {}\n{yaml}", printed.text);
        (context, damage.is_some(), Some(bytes))
    };
    indices.map(of_index).collect()
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(format!("PTE_EMIT_GRAPHS_{name}")).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn random_graphs_are_read_back() {
    let found = programs(variable("SEED").unwrap_or(1), 0..300);
    let assembled = found.iter().filter(|(.., bytes)| bytes.is_some()).count();
    assert!(assembled >= 200, "{assembled}");
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime xnnpack_graphs:: -- --ignored`"]
fn accepted_graphs_run_and_refused_graphs_do_not() {
    let seed = variable("SEED").unwrap_or(1);
    let count = variable("COUNT").map_or(SAMPLE, |count| count as usize);
    println!("seed {seed}, {count} graphs");
    let driver = Driver::locate();
    let (mut failures, mut tally) = (Vec::new(), BTreeMap::<String, usize>::new());
    for start in (0..count).step_by(BATCH) {
        let found = programs(seed, start..count.min(start + BATCH));
        *tally.entry("not assembled".to_owned()).or_default() +=
            found.iter().filter(|(.., bytes)| bytes.is_none()).count();
        let found: Vec<_> =
            found.iter().filter_map(|(name, damaged, bytes)| Some((name, damaged, bytes.as_ref()?))).collect();
        let files: Vec<&[u8]> = found.iter().map(|(.., bytes)| &***bytes).collect();
        for ((name, damaged, bytes), answer) in found.iter().zip(driver.run(&files, &[], &["--executions", "2"])) {
            let errors = structured::errors(bytes, &[]);
            let is_executed = answer.starts_with("ok");
            let outcome = match errors.first() {
                None if is_executed => "accepted, executed".to_owned(),
                None => {
                    // A damaged graph may have an operation that XNNPACK itself refuses, which is not an error of the
                    // file.
                    if crashed(&answer) || !**damaged {
                        failures.push(format!("{name}: accepted, {answer}"));
                        if let Some(folder) = std::env::var_os("PTE_EMIT_GRAPHS_KEEP") {
                            let file = format!("{}.pte", failures.len());
                            std::fs::write(std::path::Path::new(&folder).join(file), bytes).expect("the folder exists");
                        }
                    }
                    println!("{name}: accepted, {answer}");
                    format!("accepted, {}", answer.split_whitespace().next().unwrap_or_default())
                }
                Some((rule, found)) if is_executed => {
                    if !EXECUTED.iter().any(|(explained, _)| explained.as_str() == *rule) {
                        failures.push(format!("{name}: refused by {rule}, {found}, but executed"));
                    }
                    format!("refused by {rule}, executed")
                }
                Some(_) if crashed(&answer) => "refused, crashed".to_owned(),
                Some(_) => "refused, rejected".to_owned(),
            };
            *tally.entry(outcome).or_default() += 1;
        }
    }
    tally.iter().for_each(|(outcome, count)| println!("{count:7} {outcome}"));
    EXECUTED.iter().for_each(|(rule, reason)| println!("{rule}: {reason}"));
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}
