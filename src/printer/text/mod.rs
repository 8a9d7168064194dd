//! Writes the YAML of a method from its facts, with one line for each value and instruction. All decisions are in
//! [`super::facts`].

mod arguments;
mod declarations;
mod instructions;

use std::collections::HashSet;
use std::fmt::Write;
use std::io;

use super::data::DataPrinter;
use super::facts::MethodFacts;
use super::graph::PayloadGraphs;
use super::hints::MemoryHints;
use super::yaml::{self, FlowMap};
use pte_model::data::BlobId;
use pte_model::diagnostics::escaped;
use pte_model::program::{BackendDelegate, ContainerMetadata, Device, MemoryPlanner, Program, ValueId};

/// Writer of a method.
pub struct MethodText<'m> {
    /// Facts of the method.
    pub facts: &'m MethodFacts<'m>,
    /// Program of the method.
    pub program: &'m Program,
    /// Payloads of the program.
    pub payloads: &'m PayloadGraphs,
    /// Payloads of several delegates.
    pub shared: &'m HashSet<BlobId>,
    /// `true` if payloads of delegates are inline by default.
    pub delegates_inline: bool,
}

impl MethodText<'_> {
    /// Appends the method without its name.
    ///
    /// # Errors
    /// Data that cannot be read or written.
    pub fn print(&self, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
        let MethodFacts { plan, hints, .. } = self.facts;
        if let Some(reason) = &hints.reason {
            let _ = writeln!(out, "    # Every property is stated: {}.", escaped(reason));
        }
        self.values(out, data)?;
        self.delegates(out, data)?;
        let inputs = plan.inputs.as_deref().unwrap_or_default();
        if !inputs.is_empty() {
            out.push_str("    inputs: ");
            yaml::list(out, inputs, |input, out| self.reference(*input, out));
            out.push('\n');
        }
        out.push_str("    outputs: ");
        yaml::list(out, plan.outputs.iter().flatten(), |output, out| self.argument(*output, None, out));
        out.push('\n');
        if self.facts.gradients.is_stated {
            out.push_str("    requires_grad: true\n");
        }
        self.container_meta(out);
        match hints.memory.offsets || hints.everything {
            true => self.memory_offsets(out),
            false => memory_options(&hints.memory, out),
        }
        if hints.operators || hints.everything {
            out.push_str("    operators: ");
            yaml::list(out, &self.facts.calls.operators, |name, out| out.push_str(&yaml::operator(name)));
            out.push('\n');
        }
        self.chains(out);
        Ok(())
    }

    fn delegates(&self, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
        let delegates = self.facts.plan.delegates();
        if !delegates.is_empty() {
            out.push_str("    delegates:\n");
        }
        for (number, delegate) in delegates.iter().enumerate() {
            let blob = self.program.blob(delegate.processed);
            let name = format!("part{number}");
            let backend = yaml::text(delegate.id.as_deref().unwrap_or_default());
            let graph = self.payloads.of(delegate.processed);
            let is_shared = self.shared.contains(&delegate.processed);
            let is_repeated = is_shared && !data.takes_graph(delegate.processed);
            if let Some(Ok(graph)) = graph.filter(|_| !is_repeated) {
                let start = out.len();
                let _ = write!(out, "      {name}:\n        backend: {backend}\n        graph:");
                graph.print(self.facts.hints.everything, "          ", &name, blob.copy, out, data)?;
                data.record_graph(delegate.processed, out.len() - start);
                self.delegate_options(delegate, "        ", "\n", out);
                continue;
            }
            if let Some(Err(reason)) = graph {
                let _ = writeln!(out, "      # The payload of {name} {}.", escaped(reason));
            }
            let _ = write!(
                out,
                "      {name}: {{backend: {backend}, data: {}",
                data.payload(delegate.processed, blob, is_shared, &name)?
            );
            self.delegate_options(delegate, ", ", "", out);
            out.push_str("}\n");
        }
        Ok(())
    }

    /// Appends options and location of a delegate, each after `before` and followed by `after`.
    fn delegate_options(&self, delegate: &BackendDelegate, before: &str, after: &str, out: &mut String) {
        let specs = delegate.compile_specs.as_deref().unwrap_or_default();
        if !specs.is_empty() {
            let _ = write!(out, "{before}compile_specs: ");
            yaml::list(out, specs, |spec, out| {
                let key = yaml::text(spec.key.as_deref().unwrap_or_default());
                let value = yaml::hex(spec.value.as_deref().unwrap_or_default());
                let _ = write!(out, "{{key: {key}, value: {value}}}");
            });
            out.push_str(after);
        }
        if delegate.inline == Some(true) && !self.delegates_inline {
            let _ = write!(out, "{before}inline: true{after}");
        }
    }

    fn container_meta(&self, out: &mut String) {
        let plan = self.facts.plan;
        let count = |list: &Option<Vec<ValueId>>| list.as_ref().map_or(0, Vec::len);
        let is_getter = count(&plan.inputs) == 0 && plan.instructions().next().is_none();
        let computed = ContainerMetadata::flat(count(&plan.inputs), count(&plan.outputs), is_getter);
        match &plan.container_meta_type {
            Some(meta) if *meta == computed => {}
            None => out.push_str("    container_meta: null\n"),
            Some(meta) => {
                let quoted = |text: &Option<String>| {
                    // Single quotes suit JSON; nonprintable characters and variables need double quotes.
                    text.as_ref().map_or("null".into(), |text| {
                        match text.chars().all(|c| (' '..='~').contains(&c)) && !text.contains("${") {
                            true => format!("'{}'", text.replace('\'', "''")),
                            false => yaml::quoted(text),
                        }
                    })
                };
                let (inputs, outputs) = (quoted(&meta.encoded_inp_str), quoted(&meta.encoded_out_str));
                let _ = writeln!(out, "    container_meta:\n      inputs: {inputs}\n      outputs: {outputs}");
            }
        }
    }

    /// Appends sizes and devices of the pools. Their tensors have explicit offsets.
    fn memory_offsets(&self, out: &mut String) {
        if !self.facts.hints.everything {
            out.push_str(match self.facts.plan.can_be_planned() {
                true => "    # The memory planner computes other places, so all of them are stated.\n",
                false => "    # Parts of a newer schema cannot be planned, so all places are stated.\n",
            });
        }
        out.push_str("    memory: ");
        let mut fields = FlowMap::new(out);
        let memory = &self.facts.plan.memory;
        let sizes = memory.non_const_buffer_sizes.iter().flatten();
        yaml::list(fields.key("non_const_buffer_sizes"), sizes, yaml::number);
        if let Some(devices) = &memory.non_const_buffer_device {
            yaml::list(fields.key("non_const_buffer_device"), devices, |d, out| {
                let device = device(d.device());
                let _ = write!(out, "{{buffer_idx: {}, device: {device}}}", d.buffer_idx);
            });
        }
        fields.end();
        out.push('\n');
    }
}

/// Appends the options of the memory planner that are not the defaults.
fn memory_options(hints: &MemoryHints, out: &mut String) {
    let MemoryHints { planner, alignment, shared_order, .. } = *hints;
    if shared_order.is_some() {
        out.push_str("    # The state that methods share was not placed in the order of the methods.\n");
    }
    if planner == MemoryPlanner::default() && alignment.is_none() && shared_order.is_none() {
        return;
    }
    out.push_str("    memory: ");
    let mut fields = FlowMap::new(out);
    if planner != MemoryPlanner::default() {
        fields.key("planner").push_str(planner.word());
    }
    fields.optional("alignment", alignment);
    fields.optional("shared_order", shared_order);
    fields.end();
    out.push('\n');
}

/// Returns the name of a device, in quotes if it has an index.
fn device(device: Device) -> String {
    if device.index == 0 { device.to_string() } else { format!("\"{device}\"") }
}
