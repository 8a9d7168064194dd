//! Writes the YAML of a method from its facts, with one line for each value and instruction. All decisions are in
//! [`super::facts`].

mod arguments;
mod declarations;
mod instructions;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;
use std::io;

use super::data::DataPrinter;
use super::facts::MethodFacts;
use super::flatbuffer;
use super::graph::PayloadGraphs;
use super::hints::MemoryHints;
use crate::ir::document::{Delegate, Literal, MethodMemory, ParsedBufferDevice, ParsedCompileSpec, ParsedPayload};
use crate::ir::shape::{data_map, delegate, method};
use crate::ir::write;
use crate::ir::yaml;
use pte_model::data::BlobId;
use pte_model::diagnostics::escaped;
use pte_model::program::{ContainerMetadata, Program, ValueId};

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
        let inputs: Vec<Literal<'_>> = plan.inputs.iter().flatten().map(|input| self.reference(*input)).collect();
        write::line(out, "    ", method::inputs, &inputs);
        let outputs = plan.outputs.iter().flatten().map(|output| self.argument(*output, None));
        write::line(out, "    ", method::outputs, &Some(outputs.collect::<Vec<_>>()));
        write::line(out, "    ", method::requires_grad, &self.facts.gradients.is_stated);
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
            let backend = delegate.id.as_deref().unwrap_or_default();
            let specs = delegate.compile_specs.iter().flatten();
            let specs = specs.map(|spec| ParsedCompileSpec {
                key: spec.key.as_deref().unwrap_or_default().into(),
                value: flatbuffer::compile_spec(spec.value.as_deref().unwrap_or_default()).into(),
            });
            let compile_specs: Vec<_> = specs.collect();
            let inline = Some(true).filter(|_| delegate.inline == Some(true) && !self.delegates_inline);
            let graph = self.payloads.of(delegate.processed);
            let is_shared = self.shared.contains(&delegate.processed);
            let is_repeated = is_shared && !data.takes_graph(delegate.processed);
            if let Some(Err(reason)) = graph {
                let _ = writeln!(out, "      # The payload of {name} {}.", escaped(reason));
            }
            let (graph, flat) = (graph.and_then(Result::ok), self.payloads.flat(delegate.processed));
            if !is_repeated && (graph.is_some() || flat.is_some()) {
                let start = out.len();
                let _ = writeln!(out, "      {name}:");
                write::line(out, "        ", delegate::backend, &backend);
                if let Some(graph) = graph {
                    let _ = write!(out, "        {}:", delegate::graph);
                    graph.print(self.facts.hints.everything, "          ", &name, blob.copy, out, data)?;
                }
                if let Some(flat) = flat {
                    let _ = writeln!(out, "        {}:\n          {}:", delegate::data, data_map::flatbuffer);
                    flat.print("            ", &name, out, data)?;
                    write::line(out, "          ", data_map::copy, &Some(blob.copy).filter(|copy| *copy != 0));
                }
                data.record_graph(delegate.processed, out.len() - start);
                write::line(out, "        ", delegate::compile_specs, &compile_specs);
                write::line(out, "        ", delegate::inline, &inline);
                continue;
            }
            let payload = ParsedPayload::Data(data.payload(delegate.processed, blob, is_shared, &name)?);
            let name = Cow::from(name).into();
            write::entry(out, "      ", &Delegate { name, payload, backend: backend.into(), compile_specs, inline });
        }
        Ok(())
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
                    // Single quotes suit JSON with strings; nonprintable characters and variables need double quotes.
                    text.as_ref().map_or("null".into(), |text| {
                        match text.chars().all(|c| (' '..='~').contains(&c))
                            && text.contains('"')
                            && !text.contains("${")
                        {
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
        let memory = &self.facts.plan.memory;
        let devices = memory.non_const_buffer_device.as_ref().map(|devices| {
            let device =
                devices.iter().map(|found| ParsedBufferDevice { buffer_idx: found.buffer_idx, device: found.device() });
            device.collect()
        });
        let sizes = Some(memory.non_const_buffer_sizes.clone().unwrap_or_default());
        write::line(out, "    ", method::memory, &MethodMemory { sizes, devices, ..MethodMemory::default() });
    }
}

/// Appends the options of the memory planner that are not the defaults.
fn memory_options(hints: &MemoryHints, out: &mut String) {
    let MemoryHints { planner, alignment, shared_order, .. } = *hints;
    if shared_order.is_some() {
        out.push_str("    # The state that methods share was not placed in the order of the methods.\n");
    }
    let memory = MethodMemory { planner, alignment, shared_order, ..MethodMemory::default() };
    write::line(out, "    ", method::memory, &memory);
}
