//! Paths of findings: their elements, and their positions in the YAML, with the names of delegates and of what is in
//! their graphs.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::Assembly;
use super::origins::{DelegateOrigin, Origins};
use pte_check::{Finding, Findings, SourcePosition};
use pte_model::diagnostics::clipped;
use pte_model::format::path::name_step;
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_yaml::source::SourceRange;
use pte_yaml::tree::NodeId;

/// Prefix of the paths of a program inside a `.bpte`.
const INNER: &str = "program.";

/// Paths of the methods of a program.
pub struct MethodPaths(Vec<String>);

impl MethodPaths {
    /// Reads the methods of a program.
    pub fn new(program: &Program) -> MethodPaths {
        let path = |method| Element::Method(method, Part::Whole).path(program);
        MethodPaths((0..program.plans().len()).map(path).collect())
    }

    /// Returns the method of a path, and the path in it: of `methods.forward.values[3]`, `values[3]`.
    pub fn split<'p>(&self, path: &'p str) -> Option<(usize, &'p str)> {
        // Names of methods may contain any text.
        self.0.iter().enumerate().find_map(|(method, whole)| {
            let rest = path.strip_prefix(&**whole)?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then(|| (method, rest.trim_start_matches('.')))
        })
    }
}

/// Returns the index of an item of a list at the start of a path, and the rest; `list` ends with its bracket.
pub fn item<'p>(path: &'p str, list: &str) -> Option<(usize, &'p str)> {
    let (index, rest) = path.strip_prefix(list)?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}

/// Where a finding is in the source.
struct Place<'a> {
    node: NodeId,
    /// Path with names.
    path: String,
    /// Delegate whose graph the message is about, by the ids of its values.
    graph: Option<&'a DelegateOrigin>,
}

/// Adds positions to the findings about the program of an assembly.
pub fn locate(assembly: &Assembly, findings: &mut Findings) {
    let (program, origins) = (assembly.program(), &assembly.origins);
    if findings.list.is_empty() || !origins.has_positions() {
        return;
    }
    let paths = Paths::new(program, origins);
    let places: Vec<Option<Place<'_>>> =
        findings.list.iter().map(|finding| paths.place(&finding.location.path)).collect();
    let nodes: Vec<NodeId> = places.iter().flatten().map(|place| place.node).collect();
    let found = findings.list.iter_mut().zip(places).filter_map(|(finding, place)| Some((finding, place?)));
    for ((finding, place), range) in found.zip(assembly.source.positions(assembly.lines_before, &nodes)) {
        set(finding, place, range);
    }
}

fn set(finding: &mut Finding, place: Place<'_>, SourceRange { span, line, column }: SourceRange) {
    finding.source = Some(SourcePosition::new(place.path, span, line, column));
    if let Some(delegate) = place.graph {
        finding.found = with_names(&finding.found, delegate);
    }
}

/// Paths of the elements of a program.
struct Paths<'a> {
    program: &'a Program,
    origins: &'a Origins,
    methods: MethodPaths,
    /// First calls of operators, as chain and index in the chain, by the indices of method and operator.
    calls: OnceCell<HashMap<(usize, usize), (usize, usize)>>,
}

impl<'a> Paths<'a> {
    fn new(program: &'a Program, origins: &'a Origins) -> Paths<'a> {
        Paths { program, origins, methods: MethodPaths::new(program), calls: OnceCell::new() }
    }

    /// Returns the place of a path such as `methods.forward.values[3]` or `methods.forward.instructions[2].args[1]`.
    fn place(&self, path: &str) -> Option<Place<'a>> {
        let own = path.strip_prefix(INNER).unwrap_or(path);
        let at = |node: NodeId| Some(Place { node, path: own.to_owned(), graph: None });
        let Some((method, rest)) = self.methods.split(own) else {
            return at(self.origins.node(Element::NamedData(item(own, "named_data[")?.0))?);
        };
        if let Some((index, rest)) = item(rest, "delegates[") {
            return self.of_delegate(method, index, rest);
        }
        let (chain, rest) =
            item(rest, "chains[").map_or((0, rest), |(chain, rest)| (chain, rest.trim_start_matches('.')));
        let index = |list| item(rest, list).map(|(index, _)| index);
        let part = index("values[").map(Part::Value);
        let part = part.or_else(|| index("instructions[").map(|step| Part::Instruction(chain, step)));
        let part = part.or_else(|| {
            let (chain, step) = self.call(method, index("operators[")?)?;
            Some(Part::Instruction(chain, step))
        });
        at(self.origins.node(Element::Method(method, part.unwrap_or(Part::Whole)))?)
    }

    /// Returns the place of a delegate, or of a part of its graph: `rest` is what follows in the path.
    fn of_delegate(&self, method: usize, index: usize, rest: &str) -> Option<Place<'a>> {
        let delegate = self.origins.methods.get(method)?.delegates.get(index)?;
        let base = format!("{}.delegates.{}", self.methods.0.get(method)?, name_step(&delegate.name)?);
        if let Some((path, node)) = rest.strip_prefix(".graph.").and_then(|part| part_of_graph(delegate, part)) {
            return Some(Place { node, path: format!("{base}.graph.{path}"), graph: Some(delegate) });
        }
        // What is written in another way, as a FlatBuffer or as bytes, has no positions.
        let graph = rest.is_empty().then_some(delegate);
        Some(Place { node: delegate.id, path: base + rest, graph })
    }

    fn call(&self, method: usize, operator: usize) -> Option<(usize, usize)> {
        let calls = self.calls.get_or_init(|| {
            let mut calls = HashMap::new();
            for (method, plan) in self.program.plans().iter().enumerate() {
                for (chain, step, instruction) in plan.instructions_by_chain() {
                    if let Some(Callee::Operator(found)) = instruction.callee()
                        && let Some(operator) = found.get()
                    {
                        calls.entry((method, operator)).or_insert((chain, step));
                    }
                }
            }
            calls
        });
        calls.get(&(method, operator)).copied()
    }
}

/// Returns the path with names, and the node, of a part of a graph such as `values[2]` or `nodes[3]`.
fn part_of_graph(delegate: &DelegateOrigin, part: &str) -> Option<(String, NodeId)> {
    let (list, index) = part.strip_suffix(']')?.split_once('[')?;
    let index: usize = index.parse().ok()?;
    if list == "nodes" {
        return Some((part.to_owned(), *delegate.graph.nodes.get(index)?));
    }
    let (node, name, _) = delegate.graph.values.get(index)?;
    let path = name_step(name).map_or_else(|| part.to_owned(), |name| format!("{list}.{name}"));
    Some((path, *node))
}

/// Text before the id of a value of a graph in a finding.
const VALUE: &str = "value ";

/// Adds the names of the values of a graph to their ids in a message.
fn with_names(text: &str, delegate: &DelegateOrigin) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(VALUE) {
        let (before, after) = rest.split_at(at + VALUE.len());
        out.push_str(before);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        out.push_str(&after[..digits]);
        let id = after[..digits].parse().ok();
        let values = &delegate.graph.values;
        if let Some((_, name, _)) = id.and_then(|id: u32| values.iter().find(|(.., known)| *known == id)) {
            out += &format!(" (`{}`)", clipped(name));
        }
        rest = &after[digits..];
    }
    out + rest
}
