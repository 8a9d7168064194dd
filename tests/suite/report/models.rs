//! Programs whose reports are looked at: chains of kernels, and graphs of XNNPACK between copies.

use std::fmt::Write as _;

use pte_emit::Model;

/// A payload of `7 * blocks` operations, and what it needs in the program.
#[derive(Default)]
struct Graph {
    values: String,
    nodes: String,
    named: String,
    count: usize,
}

impl Graph {
    /// Adds a convolution, whose weights have keys, and a clamp. Returns the result.
    fn convolution(&mut self, input: &str, is_depthwise: bool) -> String {
        self.count += 1;
        let k = self.count;
        let (word, sizes, elements, groups) = match is_depthwise {
            true => {
                ("depthwise_conv2d", "[1, 1, 1, 8]", 8, "groups: 8, group_input_channels: 1, group_output_channels: 1")
            }
            false => ("conv2d", "[8, 1, 1, 8]", 64, "groups: 1, group_input_channels: 8, group_output_channels: 8"),
        };
        let key = |what: &str| format!("{:064x}", k * 2 + usize::from(what == "bias"));
        let _ = write!(
            self.values,
            "            w{k}: {{datatype: fp32, sizes: {sizes}, key: '{}'}}\n            b{k}: {{datatype: fp32, sizes: [8], key: '{}'}}\n",
            key("weight"),
            key("bias")
        );
        for (what, elements) in [("weight", elements), ("bias", 8)] {
            let _ = writeln!(
                self.named,
                "  '{}': {{tensor: float32, sizes: [{elements}], data: {{random: {{seed: {k}{elements}, distribution: normal}}}}}}",
                key(what)
            );
        }
        let _ = write!(
            self.nodes,
            "            - {{{word}: {{input: {input}, filter: w{k}, bias: b{k}, output: c{k}, kernel_height: 1, kernel_width: 1, \
             subsampling_height: 1, subsampling_width: 1, dilation_height: 1, dilation_width: 1, {groups}}}}}\n            \
             - {{clamp: {{input: c{k}, output: a{k}}}, output_min: 0, output_max: 6}}\n"
        );
        format!("a{k}")
    }

    /// Adds three convolutions and a residual addition.
    fn block(&mut self, input: &str, number: usize) -> String {
        let mut current = input.to_owned();
        for is_depthwise in [false, true, false] {
            current = self.convolution(&current, is_depthwise);
        }
        let out = format!("s{number}");
        let _ = writeln!(self.nodes, "            - {{add: {{input1: {current}, input2: {input}, output: {out}}}}}");
        out
    }
}

/// A program of `copies` copies and a delegate with `7 * blocks` operations, which is called last.
pub fn delegated(blocks: usize, copies: usize) -> Model {
    let mut graph = Graph::default();
    let out = (0..blocks).fold("x".to_owned(), |input, number| graph.block(&input, number));
    let tensor = "tensor: float32, sizes: [1, 8, 4, 4], dim_order: [0, 2, 3, 1]";
    let mut values = format!("      x: {{{tensor}}}\n      y: {{{tensor}}}\n");
    let (mut inputs, mut outputs, mut instructions) = ("x".to_owned(), "y".to_owned(), String::new());
    for copy in 0..copies {
        let _ = write!(
            values,
            "      state{copy}: {{tensor: float32, sizes: [1, 8]}}\n      next{copy}: {{tensor: float32, sizes: [1, 8]}}\n"
        );
        let _ = write!(inputs, ", state{copy}");
        let _ = write!(outputs, ", next{copy}");
        let _ = writeln!(instructions, "      - {{kernel: 'aten::clone.out', args: [state{copy}], out: next{copy}}}");
    }
    let Graph { values: inner, nodes, named, .. } = graph;
    let yaml = format!(
        "methods:\n  forward:\n    delegates:\n      part:\n        backend: XnnpackBackend\n        graph:\n          values:\n\
         \x20           x: {{datatype: fp32, sizes: [1, 4, 4, 8]}}\n{inner}          inputs: [x]\n          outputs: [{out}]\n\
         \x20         nodes:\n{nodes}    values:\n{values}    inputs: [{inputs}]\n    outputs: [{outputs}]\n    instructions:\n{instructions}\
         \x20     - {{delegate: part, args: [x, y]}}\nnamed_data:\n{named}"
    );
    Model::from_yaml(format!("delegated{}.yaml", 7 * blocks), yaml, ".")
}
