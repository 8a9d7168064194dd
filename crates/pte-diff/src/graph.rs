//! Compares two graphs of XNNPACK payloads. Nodes are aligned like instructions; values are matched by argument number
//! and by the nodes that write them. Ids do not matter.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::align::{align_levels, by_key, grouped, in_order, merged, with_gaps};
use super::data::Found;
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::side::Side;
use super::view::{distinct, list};
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

    /// Returns true for the id of a constant.
    fn is_constant(&self, id: u32) -> bool {
        self.value(id).is_some_and(|value| value.constant != 0)
    }

    /// Returns the location of a constant.
    fn place(&self, index: u32) -> Place<'s> {
        let constant = usize::try_from(index).ok().and_then(|index| self.graph.constants.get(index));
        let (text, key, data, is_named) = match constant {
            None => (format!("no constant {index}"), None, None, false),
            Some(Constant { key: None, data, .. }) => ("in the payload".to_owned(), None, Some(data.clone()), false),
            Some(Constant { key: Some(key), .. }) => {
                let (name, named) = (clipped(key), self.side.named(key));
                let (text, data) = match (named, self.side.loaded(key)) {
                    (Some(entry), _) => {
                        (format!("`{name}` in the named data"), Some(self.side.program.blob(entry).clone()))
                    }
                    (None, Some(data)) => (format!("`{name}` in a .ptd"), Some(data.clone())),
                    // The runtime looks it up in `.ptd` files.
                    (None, None) => (format!("`{name}`, which the program does not have"), None),
                };
                (text, Some(key.as_str()), data, named.is_some())
            }
        };
        Place { text, key, data, is_named }
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

    /// Returns the keys of the nodes, of this strength.
    fn keys(&self, strength: NodeKey) -> Vec<u64> {
        self.graph.nodes.iter().map(|node| self.key(node, strength)).collect()
    }

    fn key(&self, node: &Node, strength: NodeKey) -> u64 {
        let mut hasher = DefaultHasher::new();
        if strength != NodeKey::Results {
            node.operation.tag().hash(&mut hasher);
        }
        for (operand, id) in node.operands() {
            let value = self.value(id);
            let is_hashed = match strength {
                NodeKey::Parameters | NodeKey::Types => true,
                NodeKey::Operation => false,
                NodeKey::Results => operand.is_output,
            };
            if is_hashed {
                value.map(|value| (value.datatype, &value.dims, value.constant != 0)).hash(&mut hasher);
            }
            if let (NodeKey::Parameters, Some(value), false) = (strength, value, operand.is_output) {
                let writer = self.writers.get(&value.id).map(|node| self.graph.nodes[*node].operation.tag());
                (writer, value.external_id).hash(&mut hasher);
                let data = self.graph.constants.get(value.constant as usize).filter(|_| value.constant != 0);
                data.map(|constant| (&constant.key, constant.size)).hash(&mut hasher);
            }
        }
        if strength == NodeKey::Parameters {
            for (_, content) in parameters(node) {
                content_text(content).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Location of a constant of a graph.
struct Place<'g> {
    text: String,
    /// Key in named data, of the program or of a `.ptd`.
    key: Option<&'g str>,
    /// The data; `None` if they are not known.
    data: Option<Blob>,
    /// The program has the key.
    is_named: bool,
}

impl Place<'_> {
    /// Returns true if the data are in the payload or in the program, for an index of a constant that the graph has.
    fn is_inside(&self) -> bool {
        self.is_named || (self.key.is_none() && self.data.is_some())
    }

    /// Returns true if the program does not have the key.
    fn is_elsewhere(&self) -> bool {
        self.key.is_some() && self.data.is_none()
    }
}

/// Strength of the keys of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeKey {
    /// Operation, parameters, types, keys of constants, and the operations that write the operands.
    Parameters,
    /// Operation and types.
    Types,
    /// Operation.
    Operation,
    /// Types of the results.
    Results,
}

/// Compares two graphs.
pub fn compare(graphs: [&GraphSide<'_>; 2], found: &mut Found) {
    let mut pair = GraphPair { graphs, to_right: HashMap::new(), to_left: HashMap::new(), constants: HashSet::new() };
    pair.pair_arguments();
    let keys = |strength| graphs.map(|graph| graph.keys(strength));
    let levels = [NodeKey::Parameters, NodeKey::Types, NodeKey::Operation, NodeKey::Results].map(keys);
    let nodes = align_levels(&levels, graphs.map(|graph| graph.graph.nodes.len()));
    pair.pair_operands(&nodes, true);
    pair.pair_operands(&nodes, false);
    pair.compare_nodes(&nodes, found);
    pair.compare_values(found);
    pair.compare_rest(&nodes, found);
}

struct GraphPair<'g, 's> {
    graphs: [&'g GraphSide<'s>; 2],
    to_right: HashMap<u32, u32>,
    to_left: HashMap<u32, u32>,
    /// Pairs of indices of constants, with the types of their elements.
    constants: HashSet<(u32, u32, Option<ScalarType>)>,
}

impl GraphPair<'_, '_> {
    /// Matches two values, unless one of them is a constant or has a match.
    fn pair(&mut self, left: u32, right: u32) {
        let ids = [left, right];
        let is_free = (0..2)
            .all(|side| self.graphs[side].value(ids[side]).is_some() && !self.graphs[side].is_constant(ids[side]));
        if is_free && !self.to_right.contains_key(&left) && !self.to_left.contains_key(&right) {
            self.to_right.insert(left, right);
            self.to_left.insert(right, left);
        }
    }

    /// Matches the arguments of the delegate by their numbers.
    fn pair_arguments(&mut self) {
        let arguments = |graph: &GraphSide<'_>| -> HashMap<u32, u32> {
            let values = graph.graph.values.iter().filter(|value| value.external_id != NO_ID);
            values.map(|value| (value.external_id, value.id)).collect()
        };
        let [left, right] = self.graphs.map(arguments);
        let mut numbers: Vec<u32> = left.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(right) = right.get(&number) {
                self.pair(left[&number], *right);
            }
        }
    }

    fn pair_operands(&mut self, nodes: &[(usize, usize)], outputs: bool) {
        for (left, right) in nodes {
            let [l, r] =
                [(0, *left), (1, *right)].map(|(side, node): (usize, usize)| &self.graphs[side].graph.nodes[node]);
            if !outputs && l.operation != r.operation {
                continue;
            }
            let ids = |node: &Node| {
                let operands = node.operands().filter(|(operand, _)| operand.is_output == outputs);
                operands.map(|(_, id)| id).collect::<Vec<u32>>()
            };
            ids(l).into_iter().zip(ids(r)).for_each(|(left, right)| self.pair(left, right));
        }
    }

    fn is_same(&self, left: u32, right: u32) -> bool {
        let [l, r] = [self.graphs[0].value(left), self.graphs[1].value(right)];
        match (l, r) {
            (Some(l), Some(r)) if l.constant != 0 && r.constant != 0 => true,
            (Some(_), Some(_)) => self.to_right.get(&left) == Some(&right),
            (None, None) => left == right,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn compare_nodes(&mut self, nodes: &[(usize, usize)], found: &mut Found) {
        let graphs = self.graphs;
        let part = |side: usize, node: usize| {
            DifferingPart::new(graphs[side].node_path(node), graphs[side].describe_node(node))
        };
        for pair in with_gaps(nodes.iter().copied(), graphs.map(|graph| graph.graph.nodes.len())) {
            let Some((l, r)) = found.both(AREA, TOPIC, pair, part) else { continue };
            let both = [&graphs[0].graph.nodes[l], &graphs[1].graph.nodes[r]];
            match both[0].operation == both[1].operation {
                true => self.compare_node([l, r], both, found),
                false => found.changed(AREA, TOPIC, part(0, l), part(1, r)),
            }
        }
    }

    fn compare_node(&mut self, indices: [usize; 2], nodes: [&Node; 2], found: &mut Found) {
        let graphs = self.graphs;
        let paths = |name: &str| [0, 1].map(|side: usize| format!("{}.{name}", graphs[side].node_path(indices[side])));
        for operand in nodes[0].operation.operands() {
            let ids = nodes.map(|node| node.uint(operand.slot));
            if !self.is_same(ids[0], ids[1]) {
                let texts = [0, 1].map(|side: usize| Some(graphs[side].describe(ids[side])));
                found.differing(AREA, TOPIC, paths(operand.name), texts);
            } else if graphs[0].is_constant(ids[0]) {
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
        let [Some(l), Some(r)] = [0, 1].map(|side: usize| graphs[side].value(ids[side])) else { return };
        if !self.constants.insert((ids[0], ids[1], None)) {
            return;
        }
        self.compare_value(ids, found);
        let storage = Datatype::of(l.datatype).map_or(ScalarType::BYTE, |datatype| datatype.storage);
        let texts = [type_of(l), type_of(r)];
        let constants = [l.constant, r.constant];
        let scales = [l, r].map(|value| value.quantization.as_ref().and_then(|params| Some((params, scales(params)?))));
        // Bytes of different types are not comparable.
        let kinds = [l, r].map(|value| value.quantization.as_ref().map(|params| params.kind));
        if texts[0] != texts[1] || kinds[0] != kinds[1] {
            for side in 0..2 {
                let scales = scales[side].map(|(_, index)| index);
                let places = scales.into_iter().chain([constants[side]]).map(|index| graphs[side].place(index));
                let named = places.filter(|place| place.is_named).filter_map(|place| place.key);
                named.for_each(|key| found.know_key(side, key));
            }
            return;
        }
        self.add_data(constants, storage, ids, texts, uses, found);
        match scales {
            [Some((params, left)), Some((_, right))] => {
                let texts = [left, right].map(|_| "scales".to_owned());
                self.add_data([left, right], params.kind.scale_type(), ids, texts, uses, found);
            }
            [None, None] => {}
            [_, _] => {
                let paths = [0, 1].map(|side: usize| format!("{}.scales", graphs[side].value_path(ids[side])));
                let place = |side: usize| scales[side].map(|(_, index)| graphs[side].place(index).text);
                found.compared(AREA, TOPIC, paths, [place(0), place(1)]);
            }
        }
    }

    /// Compares the locations of two constants, and registers their data.
    #[allow(clippy::too_many_arguments, reason = "the constants, and what is said of them")]
    fn add_data(
        &mut self,
        indices: [u32; 2],
        scalar_type: ScalarType,
        ids: [u32; 2],
        texts: [String; 2],
        uses: Option<&[String; 2]>,
        found: &mut Found,
    ) {
        if !self.constants.insert((indices[0], indices[1], Some(scalar_type))) {
            return;
        }
        let graphs = self.graphs;
        let places = [0, 1].map(|side: usize| graphs[side].place(indices[side]));
        let keys = [0, 1].map(|side: usize| places[side].key);
        let of = |side: usize| {
            DifferingPart::new(format!("{}.constant", graphs[side].value_path(ids[side])), places[side].text.clone())
        };
        let [left, right] = match [places[0].data.clone(), places[1].data.clone()] {
            [Some(left), Some(right)] => {
                // A different key is a difference of the data.
                if places[0].is_named != places[1].is_named && keys[0] == keys[1] {
                    found.moved(DiffArea::Data, DiffTopic::Constant, of(0), of(1));
                }
                [left, right]
            }
            _ => {
                let (left, right) = (of(0), of(1));
                // Data can move to or from a `.ptd`, like those of tensors.
                let has_moved = |from: usize, to: usize| {
                    let is_same = keys[from].is_none() || keys[from] == keys[to];
                    places[from].is_inside() && places[to].is_elsewhere() && is_same
                };
                if has_moved(0, 1) || has_moved(1, 0) {
                    found.moved(DiffArea::Data, DiffTopic::Constant, left, right);
                } else if left.value != right.value || keys[0] != keys[1] {
                    found.changed(AREA, TOPIC, left, right);
                }
                return;
            }
        };
        let parts = [0, 1].map(|side: usize| {
            let key = keys[side].map_or(String::new(), |key| format!("`{}` ", clipped(key)));
            let mut part = DifferingPart::new(graphs[side].value_path(ids[side]), format!("{key}{}", texts[side]));
            uses.into_iter().for_each(|uses| part.add_use(|| uses[side].clone()));
            part
        });
        found.add_graph_constant([left, right], Some(scalar_type), parts, keys);
    }

    /// Compares the values without data that have no counterpart, independently of their order.
    fn compare_free(&self, found: &mut Differences) {
        let graphs = self.graphs;
        let free = |side: usize, matched: &HashMap<u32, u32>| {
            let values = graphs[side].graph.values.iter();
            let free = values.filter(|value| value.constant == 0 && !matched.contains_key(&value.id));
            let text = |value: &GraphValue| PROPERTIES.map(|property| property(value)).join(", ");
            let mut texts: Vec<String> = free.map(text).collect();
            texts.sort_unstable();
            texts
        };
        let lists = [free(0, &self.to_right), free(1, &self.to_left)];
        if lists[0] == lists[1] {
            return;
        }
        let counts = lists.each_ref().map(|texts| texts.len());
        let first = lists[0].iter().zip(&lists[1]).position(|(left, right)| left != right).unwrap_or(0);
        let text = |side: usize| {
            let count = format!("{} without a counterpart", counted(counts[side] as u64, "value"));
            Some(match counts[0] == counts[1] {
                true => format!("{count}, among them {}", lists[side][first]),
                false => count,
            })
        };
        let paths = graphs.map(|graph| format!("{}.values", graph.path));
        found.differing(DiffArea::Layout, DiffTopic::Ignored, paths, [text(0), text(1)]);
    }

    /// Compares the constants in the payloads that no value refers to, in their order.
    fn compare_unreferenced(&self, found: &mut Found) {
        let graphs = self.graphs;
        let free = |graph: &GraphSide<'_>| {
            let values = graph.graph.values.iter();
            let scales = |value: &GraphValue| value.quantization.as_ref().and_then(|params| scales(params));
            let used: HashSet<u32> = values.flat_map(|value| [Some(value.constant), scales(value)]).flatten().collect();
            let all = graph.graph.constants.iter().zip(0u32..);
            // Constant 0 is reserved and means none.
            let free = all.filter(|(constant, index)| *index > 0 && constant.key.is_none() && !used.contains(index));
            free.map(|(constant, index)| (index, constant.data.clone())).collect::<Vec<(u32, Blob)>>()
        };
        let [left, right] = graphs.map(free);
        for ((l_index, l), (r_index, r)) in left.into_iter().zip(right) {
            let part = |side: usize, index: u32, data: &Blob| {
                let text = format!("{}, which no value refers to", counted(data.len(), "byte"));
                DifferingPart::new(format!("{}.constants[{index}]", graphs[side].path), text)
            };
            let parts = [part(0, l_index, &l), part(1, r_index, &r)];
            found.add_graph_constant([l, r], None, parts, [None; 2]);
        }
    }

    /// Compares the fields of two values.
    fn compare_value(&self, ids: [u32; 2], found: &mut Differences) {
        let graphs = self.graphs;
        let [Some(l), Some(r)] = [0, 1].map(|side: usize| graphs[side].value(ids[side])) else { return };
        let paths = [0, 1].map(|side: usize| graphs[side].value_path(ids[side]));
        let differing: Vec<[String; 2]> = PROPERTIES
            .iter()
            .map(|property| [property(l), property(r)])
            .filter(|[left, right]| left != right)
            .collect();
        let text = |side: usize| {
            let texts: Vec<&str> = differing.iter().map(|texts| &*texts[side]).collect();
            Some(texts.join(", "))
        };
        found.compared(AREA, TOPIC, paths, [text(0), text(1)]);
    }

    fn compare_values(&self, found: &mut Differences) {
        let mut pairs: Vec<(u32, u32)> = self.to_right.iter().map(|(left, right)| (*left, *right)).collect();
        pairs.sort_unstable();
        pairs.into_iter().for_each(|(left, right)| self.compare_value([left, right], found));
    }

    /// Compares the constants that no node reads: the runtime looks up their keys, too.
    fn compare_unread(&mut self, found: &mut Found) {
        let graphs = self.graphs;
        let unread = |graph: &GraphSide<'_>| {
            let nodes = graph.graph.nodes.iter();
            let read: HashSet<u32> = nodes.flat_map(|node| node.operands().map(|(_, id)| id)).collect();
            let free = graph.graph.values.iter().zip(0usize..);
            let free = free.filter(|(value, _)| value.constant != 0 && !read.contains(&value.id));
            grouped(free.map(|(value, index)| {
                let place = graph.place(value.constant);
                let name = format!("the constant {}, {}", type_of(value), place.text);
                ((name, place.key.map(str::to_owned)), index)
            }))
        };
        for ((name, _), lists) in by_key(graphs.map(unread)) {
            let part = |side: usize, index: usize| {
                let path = format!("{}.values[{index}]", graphs[side].path);
                DifferingPart::new(path, format!("{name}, which no node reads"))
            };
            for pair in in_order(&lists) {
                let Some((l, r)) = found.both(AREA, TOPIC, pair, part) else { continue };
                self.compare_constant([graphs[0].graph.values[l].id, graphs[1].graph.values[r].id], None, found);
            }
        }
    }

    /// Compares the lists of inputs and outputs, and parts without effect.
    fn compare_rest(&mut self, nodes: &[(usize, usize)], found: &mut Found) {
        let graphs = self.graphs;
        let both = [graphs[0].graph, graphs[1].graph];
        for (name, lists) in
            [("input_ids", both.map(|graph| &graph.input_ids)), ("output_ids", both.map(|graph| &graph.output_ids))]
        {
            let [left, right] = lists;
            if left.len() != right.len() || left.iter().zip(right).any(|(l, r)| !self.is_same(*l, *r)) {
                let part = |side: usize| {
                    let shown: Vec<String> = lists[side].iter().take(8).map(|id| graphs[side].describe(*id)).collect();
                    let text = format!("{}: {}", counted(lists[side].len() as u64, "value"), shown.join(", "));
                    DifferingPart::new(format!("{}.{name}", graphs[side].path), text)
                };
                found.changed(AREA, TOPIC, part(0), part(1));
            }
        }
        self.compare_unread(found);
        self.compare_unreferenced(found);
        let compared = |area, topic, name: &str, texts: [Option<String>; 2], found: &mut Differences| {
            let paths = graphs.map(|graph| format!("{}.{name}", graph.path));
            found.compared(area, topic, paths, texts);
        };
        compared(AREA, TOPIC, "num_externs", both.map(|graph| Some(graph.num_externs.to_string())), found);
        compared(AREA, TOPIC, "identifier", both.map(|graph| Some(graph.identifier.to_owned())), found);
        let (area, ignored) = (DiffArea::Layout, DiffTopic::Ignored);
        if both[0].version != both[1].version {
            let texts = distinct(both.map(|graph| &*graph.version));
            compared(area, ignored, "version", texts.map(Some), found);
        }
        compared(area, ignored, "container", both.map(|graph| Some(format!("{:?}", graph.container))), found);
        let sizes = both.map(|graph| graph.mem_buffer_sizes.as_deref().map(|sizes| list(Some(sizes))));
        compared(area, ignored, "mem_buffer_sizes", sizes, found);
        let constants = both.map(|graph| Some(counted(graph.constants.len() as u64, "constant")));
        compared(area, ignored, "constants", constants, found);
        self.compare_free(found);
        let handle = |side: usize, node: usize| both[side].nodes[node].debug_handle;
        let mut differing = nodes.iter().filter(|(left, right)| handle(0, *left) != handle(1, *right));
        if let Some((left, right)) = differing.next() {
            let count = counted(1 + differing.count() as u64, "node");
            let part = |side: usize, node: usize| {
                let text = format!("debug handles of {count}, the first: {}", handle(side, node));
                DifferingPart::new(graphs[side].node_path(node), text)
            };
            found.changed(area, ignored, part(0, *left), part(1, *right));
        }
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
        FieldContent::Floats(numbers) => {
            list(Some(&numbers.iter().map(|number| float_text(*number)).collect::<Vec<_>>()))
        }
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
    let text = |content: &FieldContent| match content {
        FieldContent::Floats(list) if has_constant && list.is_empty() => "in a constant".to_owned(),
        FieldContent::UShorts(list) if has_constant && list.is_empty() => "in a constant".to_owned(),
        content => content_text(content),
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
