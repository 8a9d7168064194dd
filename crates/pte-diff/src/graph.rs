//! Compares two graphs of XNNPACK payloads. Nodes are aligned like instructions; values are matched by argument number
//! and by the nodes that write them. Ids do not matter.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::align::{align_levels, merged, numbered, per_side, with_gaps};
use super::data::Found;
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::side::Side;
use super::view::{KeyStrength, distinct, list};
use pte_model::data::Blob;
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::ScalarType;
use pte_model::format::table::Union;
use pte_xnnpack::constants;
use pte_xnnpack::model::{Constant, ExtraContent, FieldContent, Graph, GraphValue, Node, QuantParamsValue};
use pte_xnnpack::schema::{Datatype, NO_ID};

const AREA: DiffArea = DiffArea::Meaning;
const TOPIC: DiffTopic = DiffTopic::Delegate;

/// A graph of one side.
pub struct GraphSide<'s> {
    graph: &'s Graph,
    side: &'s Side,
    path: String,
    /// Index of the value with an id.
    by_id: HashMap<u32, usize>,
    /// Node that writes the value with an id.
    writers: HashMap<u32, usize>,
}

impl<'s> GraphSide<'s> {
    /// Creates the view of a graph with this path, in a program whose named data have its constants.
    pub fn new(graph: &'s Graph, side: &'s Side, path: String) -> GraphSide<'s> {
        let mut writers = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            for (_, id) in node.operands().filter(|(operand, _)| operand.is_output) {
                writers.entry(id).or_insert(index);
            }
        }
        GraphSide { graph, side, path, by_id: graph.positions(), writers }
    }

    fn value(&self, id: u32) -> Option<&'s GraphValue> {
        self.by_id.get(&id).map(|index| &self.graph.values[*index])
    }

    /// Returns the location of a constant.
    fn place(&self, index: u32) -> Place<'s> {
        let constant = usize::try_from(index).ok().and_then(|index| self.graph.constants.get(index));
        let Some(Constant { key, data, .. }) = constant else {
            return Place { text: format!("no constant {index}"), ..Place::default() };
        };
        let Some(key) = key else {
            return Place { text: "in the payload".to_owned(), data: Some(data.clone()), ..Place::default() };
        };
        let (name, named) = (clipped(key), self.side.named(key));
        let (text, data) = match (named, self.side.loaded(key)) {
            (Some(entry), _) => (format!("`{name}` in the named data"), Some(self.side.program.blob(entry).clone())),
            (None, Some(data)) => (format!("`{name}` in a .ptd"), Some(data.clone())),
            // The runtime looks it up in `.ptd` files.
            (None, None) => (format!("`{name}`, which the program does not have"), None),
        };
        Place { text, key: Some(key), data, is_named: named.is_some() }
    }

    fn node_path(&self, node: usize) -> String {
        format!("{}.nodes[{node}]", self.path)
    }

    fn value_path(&self, id: u32) -> String {
        match self.by_id.get(&id) {
            Some(index) => format!("{}.values[{index}]", self.path),
            None => format!("{}.values", self.path),
        }
    }

    /// Describes the value with an id as an operand.
    fn describe(&self, id: u32) -> String {
        let Some(value) = self.value(id) else {
            return if id == NO_ID { "none".to_owned() } else { format!("no value {id}") };
        };
        if value.constant != 0 {
            return format!("the constant {}", type_of(value));
        }
        match self.writers.get(&id) {
            Some(node) => format!("the result of nodes[{node}] ({})", self.graph.nodes[*node].operation.word()),
            None if value.external_id != NO_ID => format!("argument {} {}", value.external_id, type_of(value)),
            None => type_of(value),
        }
    }

    fn describe_node(&self, node: usize) -> String {
        let node = &self.graph.nodes[node];
        let texts = node.operands().map(|(operand, id)| match operand.is_output {
            true => format!("{}: {}", operand.name, self.value(id).map_or("none".into(), type_of)),
            false => format!("{}: {}", operand.name, self.describe(id)),
        });
        format!("{}({})", node.operation.word(), texts.collect::<Vec<_>>().join(", "))
    }

    fn key(&self, node: &Node, strength: KeyStrength) -> u64 {
        let mut hasher = DefaultHasher::new();
        if strength != KeyStrength::Results {
            node.operation.tag().hash(&mut hasher);
        }
        for (operand, id) in node.operands() {
            let value = self.value(id);
            let is_hashed = match strength {
                KeyStrength::Samples | KeyStrength::Names | KeyStrength::Types => true,
                KeyStrength::Operator => false,
                KeyStrength::Results => operand.is_output,
            };
            if is_hashed {
                value.map(|value| (value.datatype, &value.dims, value.constant != 0)).hash(&mut hasher);
            }
            if let (KeyStrength::Names, Some(value), false) = (strength, value, operand.is_output) {
                let writer = self.writers.get(&value.id).map(|node| self.graph.nodes[*node].operation.tag());
                (writer, value.external_id).hash(&mut hasher);
                let data = self.graph.constants.get(value.constant as usize).filter(|_| value.constant != 0);
                data.map(|constant| (&constant.key, constant.size)).hash(&mut hasher);
            }
        }
        if strength == KeyStrength::Names {
            parameters(node).for_each(|(_, content)| content_text(content).hash(&mut hasher));
        }
        hasher.finish()
    }
}

/// Location of a constant of a graph.
#[derive(Default)]
struct Place<'g> {
    text: String,
    /// Key in named data, of the program or of a `.ptd`.
    key: Option<&'g str>,
    /// The data; `None` if they are not known.
    data: Option<Blob>,
    /// The program has the key.
    is_named: bool,
}

/// Compares two graphs.
pub fn compare(graphs: [&GraphSide<'_>; 2], found: &mut Found) {
    let mut pair = GraphPair { graphs, matched: Default::default(), constants: HashSet::new() };
    let keys = |strength| graphs.map(|graph| graph.graph.nodes.iter().map(|node| graph.key(node, strength)).collect());
    // Parameters, and keys of constants, are names.
    let levels = [KeyStrength::Names, KeyStrength::Types, KeyStrength::Operator, KeyStrength::Results].map(keys);
    let nodes = align_levels(&levels, graphs.map(|graph| graph.graph.nodes.len()));
    pair.pair_values(&nodes);
    pair.compare_nodes(&nodes, found);
    pair.matched[0].iter().for_each(|(left, right)| pair.compare_value([*left, *right], found));
    pair.compare_rest(&nodes, found);
}

struct GraphPair<'g, 's> {
    graphs: [&'g GraphSide<'s>; 2],
    /// By side: the id on the other side of each matched value.
    matched: [BTreeMap<u32, u32>; 2],
    /// Pairs of indices of constants, with the types of their elements.
    constants: HashSet<([u32; 2], Option<ScalarType>)>,
}

impl GraphPair<'_, '_> {
    /// Matches two values, unless one of them is a constant or has a match.
    fn pair(&mut self, ids: [u32; 2]) {
        let is_free = |side: usize| {
            let value = self.graphs[side].value(ids[side]);
            value.is_some_and(|value| value.constant == 0) && !self.matched[side].contains_key(&ids[side])
        };
        if is_free(0) && is_free(1) {
            (0..2).for_each(|side| _ = self.matched[side].insert(ids[side], ids[1 - side]));
        }
    }

    /// Matches the arguments of the delegate by their numbers, then the results of the nodes, then the other operands.
    fn pair_values(&mut self, nodes: &[(usize, usize)]) {
        let arguments = |graph: &GraphSide<'_>| -> BTreeMap<u32, u32> {
            let values = graph.graph.values.iter().filter(|value| value.external_id != NO_ID);
            values.map(|value| (value.external_id, value.id)).collect()
        };
        for (_, ids) in merged(self.graphs.map(arguments)) {
            ids[0].zip(ids[1]).into_iter().for_each(|(left, right)| self.pair([left, right]));
        }
        let all = [true, false].into_iter().flat_map(|outputs| nodes.iter().map(move |pair| (outputs, pair)));
        for (outputs, (left, right)) in all {
            let both = [&self.graphs[0].graph.nodes[*left], &self.graphs[1].graph.nodes[*right]];
            if outputs || both[0].operation == both[1].operation {
                let [l, r] = both.map(|node| node.operands().filter(|(operand, _)| operand.is_output == outputs));
                l.zip(r).for_each(|((_, left), (_, right))| self.pair([left, right]));
            }
        }
    }

    fn is_same(&self, ids: [u32; 2]) -> bool {
        match per_side(|side| self.graphs[side].value(ids[side])) {
            [Some(l), Some(r)] if l.constant != 0 && r.constant != 0 => true,
            [Some(_), Some(_)] => self.matched[0].get(&ids[0]) == Some(&ids[1]),
            [None, None] => ids[0] == ids[1],
            [Some(_), None] | [None, Some(_)] => false,
        }
    }

    fn compare_nodes(&mut self, nodes: &[(usize, usize)], found: &mut Found) {
        let graphs = self.graphs;
        let part = |side: usize, node: usize| {
            DifferingPart::new(graphs[side].node_path(node), graphs[side].describe_node(node))
        };
        for pair in with_gaps(nodes.iter().copied(), graphs.map(|graph| graph.graph.nodes.len())) {
            let Some(indices) = found.both(AREA, TOPIC, pair, part) else { continue };
            let both = per_side(|side| &graphs[side].graph.nodes[indices[side]]);
            match both[0].operation == both[1].operation {
                true => self.compare_node(indices, both, found),
                false => found.changed(AREA, TOPIC, per_side(|side| part(side, indices[side]))),
            }
        }
    }

    fn compare_node(&mut self, indices: [usize; 2], nodes: [&Node; 2], found: &mut Found) {
        let graphs = self.graphs;
        let paths = |name: &str| per_side(|side| format!("{}.{name}", graphs[side].node_path(indices[side])));
        for operand in nodes[0].operation.operands() {
            let ids = nodes.map(|node| node.uint(operand.slot));
            if !self.is_same(ids) {
                let texts = per_side(|side| Some(graphs[side].describe(ids[side])));
                found.differing(AREA, TOPIC, paths(operand.name), texts);
            } else if graphs[0].value(ids[0]).is_some_and(|value| value.constant != 0) {
                self.compare_constant(ids, Some(&paths(operand.name)), found);
            }
        }
        for ((name, l), (_, r)) in parameters(nodes[0]).zip(parameters(nodes[1])) {
            found.compared(AREA, TOPIC, paths(name), [l, r].map(|content| Some(content_text(content))));
        }
        // The runtime of a newer release may read these fields.
        let extra = nodes.map(|node| node.extra.iter().map(|extra| (extra.slot, extra)).rev().collect());
        for (slot, contents) in merged(extra) {
            if contents[0] != contents[1] {
                let texts = contents.map(|content| Some(content.map_or("absent".to_owned(), extra_text)));
                found.differing(AREA, TOPIC, paths(&format!("unknown_{slot}")), texts);
            }
        }
        let bounds = nodes.map(|node| node.output_min_max.map(|bounds| bounds.map(f32::to_bits)));
        if bounds[0] != bounds[1] {
            let text = |[low, high]: [f32; 2]| format!("[{low:?}, {high:?}]");
            let texts = nodes.map(|node| Some(node.output_min_max.map_or("absent".to_owned(), text)));
            found.differing(AREA, TOPIC, paths("output_min_max"), texts);
        }
    }

    /// Compares two constants, which may be operands or unread: their types once for each pair, and their data.
    fn compare_constant(&mut self, ids: [u32; 2], uses: Option<&[String; 2]>, found: &mut Found) {
        let graphs = self.graphs;
        let [Some(l), Some(r)] = per_side(|side| graphs[side].value(ids[side])) else { return };
        if !self.constants.insert((ids, None)) {
            return;
        }
        self.compare_value(ids, found);
        let texts = [l, r].map(type_of);
        let constants = [l, r].map(|value| value.constant);
        let params = [l, r].map(|value| value.quantization.as_deref());
        let scales = params.map(|params| params.and_then(scales));
        // Bytes of different types are not comparable.
        let kinds = params.map(|params| params.map(|params| params.kind));
        if texts[0] != texts[1] || kinds[0] != kinds[1] {
            for side in 0..2 {
                let places = scales[side].into_iter().chain([constants[side]]).map(|index| graphs[side].place(index));
                let named = places.filter(|place| place.is_named).filter_map(|place| place.key);
                named.for_each(|key| found.know_key(side, key));
            }
            return;
        }
        let storage = Datatype::of(l.datatype).map_or(ScalarType::BYTE, |datatype| datatype.storage);
        self.add_data(constants, storage, (ids, &texts[0]), uses, found);
        if let ([Some(left), Some(right)], Some(kind)) = (scales, kinds[0]) {
            return self.add_data([left, right], kind.scale_type(), (ids, "scales"), uses, found);
        }
        let paths = per_side(|side| format!("{}.scales", graphs[side].value_path(ids[side])));
        found.compared(AREA, TOPIC, paths, per_side(|side| Some(graphs[side].place(scales[side]?).text)));
    }

    /// Compares the locations of two constants, and registers their data, which belong to values with this description.
    fn add_data(
        &mut self,
        indices: [u32; 2],
        scalar_type: ScalarType,
        (ids, text): ([u32; 2], &str),
        uses: Option<&[String; 2]>,
        found: &mut Found,
    ) {
        if !self.constants.insert((indices, Some(scalar_type))) {
            return;
        }
        let paths = per_side(|side| self.graphs[side].value_path(ids[side]));
        let places = per_side(|side| self.graphs[side].place(indices[side]));
        let keys = places.each_ref().map(|place| place.key);
        let of = |side: usize| DifferingPart::new(format!("{}.constant", paths[side]), places[side].text.clone());
        let [Some(left), Some(right)] = places.each_ref().map(|place| place.data.clone()) else {
            // Data can move to or from a `.ptd`, like those of tensors.
            let has_moved = |from: &Place<'_>, to: &Place<'_>| {
                let is_inside = from.is_named || (from.key.is_none() && from.data.is_some());
                let is_elsewhere = to.key.is_some() && to.data.is_none();
                is_inside && is_elsewhere && (from.key.is_none() || from.key == to.key)
            };
            if has_moved(&places[0], &places[1]) || has_moved(&places[1], &places[0]) {
                found.moved(DiffArea::Data, DiffTopic::Constant, per_side(of));
            } else if places[0].text != places[1].text || keys[0] != keys[1] {
                found.changed(AREA, TOPIC, per_side(of));
            }
            return;
        };
        // A different key is a difference of the data.
        if places[0].is_named != places[1].is_named && keys[0] == keys[1] {
            found.moved(DiffArea::Data, DiffTopic::Constant, per_side(of));
        }
        let parts = per_side(|side| {
            let key = keys[side].map_or(String::new(), |key| format!("`{}` ", clipped(key)));
            let mut part = DifferingPart::new(&*paths[side], format!("{key}{text}"));
            uses.into_iter().for_each(|uses| part.add_use(|| uses[side].clone()));
            part
        });
        found.add_graph_constant([left, right], Some(scalar_type), parts, keys);
    }

    /// Compares the values without data that have no counterpart, independently of their order.
    fn compare_free(&self, found: &mut Differences) {
        let graphs = self.graphs;
        let lists = per_side(|side| {
            let values = graphs[side].graph.values.iter();
            let free = values.filter(|value| value.constant == 0 && !self.matched[side].contains_key(&value.id));
            let mut texts: Vec<String> = free.map(|value| PROPERTIES.map(|of| of(value)).join(", ")).collect();
            texts.sort_unstable();
            texts
        });
        if lists[0] == lists[1] {
            return;
        }
        let first = lists[0].iter().zip(&lists[1]).position(|(left, right)| left != right).unwrap_or(0);
        let texts = lists.each_ref().map(|list| {
            let count = format!("{} without a counterpart", counted(list.len() as u64, "value"));
            Some(match lists[0].len() == lists[1].len() {
                true => format!("{count}, among them {}", list[first]),
                false => count,
            })
        });
        let paths = graphs.map(|graph| format!("{}.values", graph.path));
        found.differing(DiffArea::Layout, DiffTopic::Ignored, paths, texts);
    }

    /// Compares the constants in the payloads that no value refers to, in their order.
    fn compare_unreferenced(&self, found: &mut Found) {
        let free = |graph: &GraphSide<'_>| {
            let values = graph.graph.values.iter();
            let scales = |value: &GraphValue| value.quantization.as_ref().and_then(|params| scales(params));
            let used: HashSet<u32> = values.flat_map(|value| [Some(value.constant), scales(value)]).flatten().collect();
            let all = graph.graph.constants.iter().zip(0u32..);
            // Constant 0 is reserved and means none.
            let free = all.filter(|(constant, index)| *index > 0 && constant.key.is_none() && !used.contains(index));
            let part = |(constant, index): (&Constant, u32)| {
                let text = format!("{}, which no value refers to", counted(constant.data.len(), "byte"));
                let part = DifferingPart::new(format!("{}.constants[{index}]", graph.path), text);
                (constant.data.clone(), part)
            };
            free.map(part).collect::<Vec<(Blob, DifferingPart)>>()
        };
        let [left, right] = self.graphs.map(free);
        for ((left, left_part), (right, right_part)) in left.into_iter().zip(right) {
            found.add_graph_constant([left, right], None, [left_part, right_part], [None; 2]);
        }
    }

    /// Compares the fields of two values.
    fn compare_value(&self, ids: [u32; 2], found: &mut Differences) {
        let graphs = self.graphs;
        let [Some(l), Some(r)] = per_side(|side| graphs[side].value(ids[side])) else { return };
        let texts = PROPERTIES.iter().map(|property| [property(l), property(r)]);
        let differing: Vec<[String; 2]> = texts.filter(|[left, right]| left != right).collect();
        let text = |side: usize| differing.iter().map(|texts| &*texts[side]).collect::<Vec<_>>().join(", ");
        let paths = per_side(|side| graphs[side].value_path(ids[side]));
        found.compared(AREA, TOPIC, paths, per_side(|side| Some(text(side))));
    }

    /// Compares the constants that no node reads: the runtime looks up their keys, too.
    fn compare_unread(&mut self, found: &mut Found) {
        let graphs = self.graphs;
        let unread = |graph: &GraphSide<'_>| {
            let nodes = graph.graph.nodes.iter();
            let read: HashSet<u32> = nodes.flat_map(|node| node.operands().map(|(_, id)| id)).collect();
            let free = graph.graph.values.iter().zip(0usize..);
            let free = free.filter(|(value, _)| value.constant != 0 && !read.contains(&value.id));
            numbered(free.map(|(value, index)| {
                let place = graph.place(value.constant);
                let name = format!("the constant {}, {}", type_of(value), place.text);
                ((name, place.key.map(str::to_owned)), index)
            }))
        };
        for (((name, _), _), pair) in merged(graphs.map(unread)) {
            let part = |side: usize, index: usize| {
                let path = format!("{}.values[{index}]", graphs[side].path);
                DifferingPart::new(path, format!("{name}, which no node reads"))
            };
            if let Some(indices) = found.both(AREA, TOPIC, pair, part) {
                self.compare_constant(per_side(|side| graphs[side].graph.values[indices[side]].id), None, found);
            }
        }
    }

    /// Compares the lists of inputs and outputs, and parts without effect.
    fn compare_rest(&mut self, nodes: &[(usize, usize)], found: &mut Found) {
        let graphs = self.graphs;
        let both = graphs.map(|graph| graph.graph);
        let paths = |name: &str| graphs.map(|graph| format!("{}.{name}", graph.path));
        for (name, lists) in
            [("input_ids", both.map(|graph| &graph.input_ids)), ("output_ids", both.map(|graph| &graph.output_ids))]
        {
            let [left, right] = lists;
            if left.len() != right.len() || left.iter().zip(right).any(|(l, r)| !self.is_same([*l, *r])) {
                let text = |side: usize| {
                    let shown: Vec<String> = lists[side].iter().take(8).map(|id| graphs[side].describe(*id)).collect();
                    Some(format!("{}: {}", counted(lists[side].len() as u64, "value"), shown.join(", ")))
                };
                found.differing(AREA, TOPIC, paths(name), per_side(text));
            }
        }
        self.compare_unread(found);
        self.compare_unreferenced(found);
        found.compared(AREA, TOPIC, paths("num_externs"), both.map(|graph| Some(graph.num_externs.to_string())));
        found.compared(AREA, TOPIC, paths("identifier"), both.map(|graph| Some(graph.identifier.to_owned())));
        let (area, ignored) = (DiffArea::Layout, DiffTopic::Ignored);
        if both[0].version != both[1].version {
            let texts = distinct(both.map(|graph| &*graph.version));
            found.compared(area, ignored, paths("version"), texts.map(Some));
        }
        found.compared(area, ignored, paths("container"), both.map(|graph| Some(format!("{:?}", graph.container))));
        let sizes = both.map(|graph| graph.mem_buffer_sizes.as_deref().map(|sizes| list(Some(sizes))));
        found.compared(area, ignored, paths("mem_buffer_sizes"), sizes);
        let constants = both.map(|graph| Some(counted(graph.constants.len() as u64, "constant")));
        found.compared(area, ignored, paths("constants"), constants);
        self.compare_free(found);
        let handle = |side: usize, node: usize| both[side].nodes[node].debug_handle;
        let differing = nodes.iter().filter(|(left, right)| handle(0, *left) != handle(1, *right));
        found.first_differing("debug handles", "node", differing.copied(), |side, node| {
            (graphs[side].node_path(node), handle(side, node).to_string())
        });
    }
}

/// Returns the fields of a node that are not ids of values, with their names.
fn parameters(node: &Node) -> impl Iterator<Item = (&'static str, &FieldContent)> {
    let operands: Vec<u16> = node.operation.operands().map(|operand| operand.slot).collect();
    let fields = (0u16..).zip(node.operation.table().fields.iter().zip(&node.fields));
    fields.filter(move |(slot, _)| !operands.contains(slot)).map(|(_, (field, content))| (field.name, content))
}

/// Describes the content of a field. Different content has different descriptions.
fn content_text(content: &FieldContent) -> String {
    match content {
        FieldContent::UInt(number) => number.to_string(),
        FieldContent::Int(number) => number.to_string(),
        FieldContent::Float(number) => float_text(*number),
        FieldContent::UInts(numbers) => list(Some(numbers)),
        FieldContent::UShorts(numbers) => list(Some(numbers)),
        FieldContent::Floats(numbers) => list(Some(numbers.iter().map(|number| float_text(*number)))),
        FieldContent::Absent => "absent".to_owned(),
    }
}

/// Describes the content of a field that the schema does not have.
fn extra_text(content: &ExtraContent) -> String {
    let bytes = counted(content.bytes.len() as u64, "byte");
    let items = content.width.map_or_else(String::new, |width| format!("items of {}, ", counted(width, "byte")));
    let shown = &content.bytes[..content.bytes.len().min(32)];
    format!("{items}{bytes}, hex {}", data_encoding::HEXLOWER.encode(shown))
}

/// Describes a number. NaNs with different bits have different descriptions.
fn float_text(number: f32) -> String {
    if number.is_nan() { format!("NaN {:08x}", number.to_bits()) } else { format!("{number:?}") }
}

/// Fields of a value without its id and its data.
const PROPERTIES: [fn(&GraphValue) -> String; 6] = [
    type_of,
    |value| value.quantization.as_deref().map_or("not quantized".to_owned(), quantization_text),
    |value| format!("flags {}", value.flags),
    |value| format!("num_dims {}", value.num_dims),
    |value| format!("dq_datatype {}", value.dq_datatype),
    |value| match value.external_id {
        NO_ID => "no argument".to_owned(),
        number => format!("argument {number}"),
    },
];

/// Describes element type and sizes of a value.
fn type_of(value: &GraphValue) -> String {
    let name = Datatype::of(value.datatype).map(|datatype| datatype.name.to_owned());
    let name = name.unwrap_or_else(|| format!("datatype {}", value.datatype));
    format!("{name} {}", list(Some(&value.dims)))
}

/// Name of the field with the index of a constant.
const SCALE_INDEX: &str = "scale_buffer_idx";

/// Describes a quantization, without the index of a constant. The list of scales is empty if a constant has them.
fn quantization_text(params: &QuantParamsValue) -> String {
    let fields = params.kind.table().fields.iter().zip(&params.fields);
    let has_constant = scales(params).is_some();
    let text = |content: &FieldContent| match content_text(content) {
        empty if has_constant && empty == "[]" => "in a constant".to_owned(),
        text => text,
    };
    let texts = fields
        .filter(|(field, _)| field.name != SCALE_INDEX)
        .map(|(field, content)| format!("{} {}", field.name, text(content)));
    format!("{:?} ({})", params.kind, texts.collect::<Vec<_>>().join(", "))
}

/// Returns the index of the constant with the scales of a quantization.
fn scales(params: &QuantParamsValue) -> Option<u32> {
    Some(constants::scale_buffer(params)).filter(|index| *index != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_xnnpack::schema::QuantParams;

    #[test]
    fn scales_in_a_constant_are_not_described_as_an_empty_list() {
        let text = |index: u32| {
            let fields = [
                FieldContent::Floats(Box::default()),
                FieldContent::Int(0),
                FieldContent::UInt(index),
                FieldContent::UInt(2),
            ];
            quantization_text(&QuantParamsValue { kind: QuantParams::PerChannel, fields: fields.into() })
        };
        assert!(text(3).starts_with("PerChannel (scale in a constant, channel_dim 0"), "{}", text(3));
        assert!(text(0).starts_with("PerChannel (scale [], "), "{}", text(0));
    }
}
