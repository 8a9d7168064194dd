//! Encodes a [`Graph`] as the bytes of a payload, like the exporter writes them: the header, the graph as flatc writes
//! it from JSON, and the constants.
//!
//! All ids, offsets and sizes are those of the graph.

use std::io;

use flatbuffers::{FlatBufferBuilder, WIPOffset};

use crate::model::{Constant, Container, ExtraContent, FieldContent, Graph, GraphValue, Node};
use crate::schema::{MAGIC, buffer, output_min_max};
use pte_model::data::{Blob, BlobSource};
use pte_model::format::container::MAX_FLATBUFFER;
use pte_model::format::flatbuffer::{
    self,
    write::{self, FieldValue, Offset},
};
use pte_model::format::serializer::Serializer;
use pte_model::format::table::Union;
use pte_payload::header::{HEADER, Sections};

/// Encodes a graph as a payload. Constants after the graph are not read.
///
/// # Errors
/// The graph is too large for a FlatBuffer, or constants overlap, exceed their total size, or cannot be read.
pub fn encode(graph: &Graph) -> io::Result<Blob> {
    let bytes = Writer::new(graph)?.graph(graph)?;
    if graph.container == Container::Bare {
        return Ok(Blob::bytes(bytes));
    }
    let too_large = || io::Error::other("the payload exceeds 4 GiB before its constants");
    let sections = Sections::arranged(bytes.len() as u64, graph.constants_len).ok_or_else(too_large)?;
    let (data, _) = sections.constants.unwrap_or_default();
    let mut head = sections.header(MAGIC);
    head.resize(sections.graph.0.max(HEADER as u64) as usize, 0);
    head.extend_from_slice(&bytes);
    head.resize(data as usize, 0);
    let mut parts = vec![Blob::bytes(head)];
    let mut order: Vec<&Constant> = graph.constants.iter().filter(|constant| constant.is_inside()).collect();
    order.sort_by_key(|constant| constant.offset);
    let mut end = 0;
    for constant in order {
        let gap = constant.offset.checked_sub(end);
        parts.push(zeros(gap.ok_or_else(|| io::Error::other("constants of the graph overlap"))?));
        parts.push(constant.data.clone());
        end = constant.offset.saturating_add(constant.data.len());
    }
    let rest = graph.constants_len.checked_sub(end);
    parts.push(zeros(rest.ok_or_else(|| io::Error::other("constants exceed their total size"))?));
    Blob::joined(parts).ok_or_else(too_large)
}

fn zeros(len: u64) -> Blob {
    Blob::new(len, BlobSource::Repeat([0].into()))
}

/// Writer of the FlatBuffer.
struct Writer {
    builder: FlatBufferBuilder<'static>,
}

impl Writer {
    /// Creates a writer.
    ///
    /// # Errors
    /// A graph that is too large.
    fn new(graph: &Graph) -> io::Result<Writer> {
        // Upper bounds: tables with their vtables, vectors with their lengths.
        let vectors = |fields: &[FieldContent]| {
            let size = |field: &FieldContent| match field {
                FieldContent::UInt(_) | FieldContent::Int(_) | FieldContent::Float(_) | FieldContent::Absent => 16,
                FieldContent::UInts(items) => 16 + 4 * items.len() as u64,
                FieldContent::UShorts(items) => 16 + 2 * items.len() as u64,
                FieldContent::Floats(items) => 16 + 4 * items.len() as u64,
            };
            fields.iter().map(size).sum::<u64>()
        };
        let values = graph.values.iter().map(|value| {
            let params = value.quantization.as_ref().map_or(0, |params| vectors(&params.fields));
            256 + 4 * value.dims.len() as u64 + params
        });
        let extra = |node: &Node| node.extra.iter().map(|field| 32 + field.bytes.len() as u64).sum::<u64>();
        let nodes = graph.nodes.iter().map(|node| 128 + vectors(&node.fields) + extra(node));
        let inside = graph.container == Container::Bare;
        let constants = graph.constants.iter().map(|constant| {
            let data = if inside { constant.data.len() } else { 0 };
            data.saturating_add(128 + constant.key.as_ref().map_or(0, String::len) as u64)
        });
        let lists = [&graph.input_ids, &graph.output_ids].map(|list| 16 + 4 * list.len() as u64);
        let sizes = graph.mem_buffer_sizes.as_ref().map_or(0, |sizes| 4 * sizes.len() as u64);
        let all = values.chain(nodes).chain(constants).chain(lists);
        let total = all.fold(sizes + graph.version.len() as u64 + 1024, u64::saturating_add);
        if total > MAX_FLATBUFFER {
            return Err(io::Error::other(format!("the graph exceeds the {MAX_FLATBUFFER} bytes of a FlatBuffer")));
        }
        Ok(Writer { builder: FlatBufferBuilder::with_capacity(1 << 12) })
    }

    /// Writes the graph.
    ///
    /// # Errors
    /// Constants that cannot be read.
    fn graph(mut self, graph: &Graph) -> io::Result<Vec<u8>> {
        use crate::schema::graph::*;
        let mut slots = vec![(version, self.text(&graph.version))];
        let nodes: Vec<Offset> = graph.nodes.iter().map(|node| self.node(node)).collect();
        slots.push((xnodes, self.vector(&nodes)));
        let values: Vec<Offset> = graph.values.iter().map(|value| self.value(value)).collect();
        slots.push((xvalues, self.vector(&values)));
        slots.push((num_externs, FieldValue::UInt(graph.num_externs)));
        slots.push((input_ids, self.vector(&graph.input_ids)));
        slots.push((output_ids, self.vector(&graph.output_ids)));
        if graph.container == Container::Bare {
            let mut buffers = Vec::with_capacity(graph.constants.len());
            for constant in &graph.constants {
                buffers.push(self.buffer(&constant.data.to_vec()?));
            }
            slots.push((constant_buffer, self.vector(&buffers)));
        }
        if let Some(sizes) = &graph.mem_buffer_sizes {
            slots.push((mem_buffer_sizes, self.vector(sizes)));
        }
        if graph.container == Container::Header {
            let constants = graph.constants.iter();
            let constants: Vec<Offset> = constants.map(|constant| self.constant(constant)).collect();
            slots.push((constant_data, self.vector(&constants)));
        }
        let root = self.table(&slots);
        self.builder.finish(root, Some(graph.identifier));
        Ok(self.builder.finished_data().to_vec())
    }

    fn node(&mut self, node: &Node) -> Offset {
        use crate::schema::node::*;
        let mut fields = self.fields(&node.fields);
        let known = fields.len() as u16;
        fields.extend(node.extra.iter().map(|field| (field.slot, self.extra(field))));
        let order = Serializer::Flatc.facts().slots;
        // The defaults of unknown fields are unknown, too.
        let member =
            write::table(&mut self.builder, order, &fields, |(slot, value)| *slot >= known || !value.is_left_out());
        let bounds = node.output_min_max.map(|[min, max]| {
            let (min, max) = (FieldValue::Float(min), FieldValue::Float(max));
            self.table(&[(output_min_max::output_min, min), (output_min_max::output_max, max)])
        });
        self.table(&[
            (xnode_union_type, FieldValue::Byte(node.operation.tag())),
            (xnode_union, FieldValue::Child(Some(member))),
            (debug_handle, FieldValue::UInt(node.debug_handle)),
            (crate::schema::node::output_min_max, FieldValue::Child(bounds)),
        ])
    }

    fn value(&mut self, found: &GraphValue) -> Offset {
        use crate::schema::{quantized_tensor_value as quantized, tensor_value, value};
        let dims = self.vector(&found.dims);
        let tensor = self.table(&[
            (tensor_value::datatype, FieldValue::Short(found.datatype)),
            (tensor_value::num_dims, FieldValue::UInt(found.num_dims)),
            (tensor_value::dims, dims),
            (tensor_value::constant_buffer_idx, FieldValue::UInt(found.constant)),
            (tensor_value::external_id, FieldValue::UInt(found.external_id)),
            (tensor_value::flags, FieldValue::UInt(found.flags)),
            (tensor_value::id_out, FieldValue::UInt(found.id)),
            (tensor_value::dq_datatype, FieldValue::Short(found.dq_datatype)),
        ]);
        let (tag, member) = match &found.quantization {
            None => (1, tensor),
            Some(params) => {
                let fields = self.fields(&params.fields);
                let fields = self.table(&fields);
                let quantized = self.table(&[
                    (quantized::tensor_value, FieldValue::Child(Some(tensor))),
                    (quantized::quant_params_type, FieldValue::Byte(params.kind.tag())),
                    (quantized::quant_params, FieldValue::Child(Some(fields))),
                ]);
                (2, quantized)
            }
        };
        self.table(&[
            (value::xvalue_union_type, FieldValue::Byte(tag)),
            (value::xvalue_union, FieldValue::Child(Some(member))),
        ])
    }

    fn constant(&mut self, constant: &Constant) -> Offset {
        use crate::schema::constant_data_offset::*;
        let key = constant.key.as_ref().map_or(FieldValue::Child(None), |key| self.text(key));
        self.table(&[
            (offset, FieldValue::ULong(constant.offset)),
            (size, FieldValue::ULong(constant.size)),
            (named_key, key),
        ])
    }

    fn buffer(&mut self, bytes: &[u8]) -> Offset {
        let storage = match bytes.is_empty() {
            true => write::bare_length(&mut self.builder),
            false => write::bytes::<16>(&mut self.builder, bytes),
        };
        self.table(&[(buffer::storage, FieldValue::Child(Some(storage)))])
    }

    /// Writes a vector that the schema does not have; returns it, or the number. The content is valid.
    fn extra(&mut self, field: &ExtraContent) -> FieldValue {
        fn items<const N: usize, T>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks().0.iter().map(|item| of(*item)).collect()
        }
        let bytes = &field.bytes;
        let number = || flatbuffer::number(bytes);
        match (field.width, bytes.len()) {
            (None, 1) => FieldValue::Byte(number() as u8),
            (None, 2) => FieldValue::Short(number() as i16),
            (None, 4) => FieldValue::UInt(number() as u32),
            (None, _) => FieldValue::ULong(number()),
            (Some(8), _) => self.vector(&items(bytes, u64::from_le_bytes)),
            (Some(4), _) => self.vector(&items(bytes, u32::from_le_bytes)),
            (Some(2), _) => self.vector(&items(bytes, u16::from_le_bytes)),
            (Some(_), _) => self.vector(bytes),
        }
    }

    /// Writes the vectors among the fields of a table; returns all of them by slot.
    fn fields(&mut self, fields: &[FieldContent]) -> Vec<(u16, FieldValue)> {
        let values = fields.iter().map(|field| match field {
            FieldContent::UInt(number) => FieldValue::UInt(*number),
            FieldContent::Int(number) => FieldValue::Int(*number),
            FieldContent::Float(number) => FieldValue::Float(*number),
            FieldContent::UInts(items) => self.vector(items),
            FieldContent::UShorts(items) => self.vector(items),
            FieldContent::Floats(items) => self.vector(items),
            FieldContent::Absent => FieldValue::Child(None),
        });
        (0..).zip(values).collect()
    }

    fn text(&mut self, text: &str) -> FieldValue {
        FieldValue::Child(Some(WIPOffset::new(self.builder.create_string(text).value())))
    }

    fn vector<T: flatbuffers::Push<Output: 'static> + Copy>(&mut self, items: &[T]) -> FieldValue {
        let empty = Serializer::Flatc.facts().empty_vector;
        FieldValue::Child(Some(write::vector(&mut self.builder, empty, items)))
    }

    fn table(&mut self, slots: &[(u16, FieldValue)]) -> Offset {
        let order = Serializer::Flatc.facts().slots;
        write::table(&mut self.builder, order, slots, |(_, value)| !value.is_left_out())
    }
}
