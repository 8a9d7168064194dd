//! Meaning of the nodes of a syntax tree, by the tables of the grammar: the key whose value a node is, the form that is
//! allowed there, and the keys of a map. What names refer to is in [`super::symbols`].

use super::tree::Syntax;
use crate::ir::shape::{self, Form, KeySpec, Shape};
use pte_operators::{Role, Signature};
use pte_yaml::repeat;
use pte_yaml::tree::{MapKey, NodeValue, SourceNode};

/// A node with its meaning.
#[derive(Clone, Copy)]
pub(super) struct Place<'t> {
    /// The node.
    pub node: &'t SourceNode<'t>,
    /// Key of the map that contains it.
    pub key: Option<&'t MapKey<'t>>,
    /// Index in the list that contains it.
    pub item: Option<usize>,
    /// The shape of the map that contains it, and the key; `None` in a list, and in a map with arbitrary keys.
    pub holder: Option<(&'static Shape, &'static KeySpec)>,
    /// Allowed form; `None` below an unknown key.
    pub form: Option<&'static Form>,
    /// Allowed form of the list or map that contains it.
    pub around: Option<&'static Form>,
    /// Keys of the node, if it is a map.
    pub shape: Option<&'static Shape>,
}

/// Form of a document.
static ROOT: Form = Form::Shape(&shape::DOCUMENT);

impl<'t> Place<'t> {
    fn new(node: &'t SourceNode<'t>, form: Option<&'static Form>) -> Place<'t> {
        let shape = match (&node.value, form) {
            (NodeValue::Map(_), Some(_)) if repeat::parts(node).is_some() => None,
            (NodeValue::Map(entries), Some(form)) => best_shape(form, entries),
            _ => None,
        };
        Place { node, key: None, item: None, holder: None, form, around: None, shape }
    }

    /// Returns the place of a child, by its index.
    pub fn child(&self, item: usize, (key, node): (Option<&'t MapKey<'t>>, &'t SourceNode<'t>)) -> Place<'t> {
        let Some(key) = key else {
            return Place { item: Some(item), around: self.form, ..Place::new(node, self.form.and_then(list_item)) };
        };
        if repeat::parts(self.node).is_some() {
            // What is repeated belongs to the list or the map around.
            let form = if key.text == repeat::DO { self.around } else { None };
            return Place { key: Some(key), ..Place::new(node, form) };
        }
        let holder = self.shape.and_then(|shape| Some((shape, shape.key(&key.text)?)));
        let form = match (self.shape, holder, self.form) {
            (_, Some((_, spec)), _) => Some(&spec.form),
            (None, None, Some(form)) => map_item(form),
            (Some(_), None, _) | (None, None, None) => None,
        };
        Place { key: Some(key), holder, around: self.form, ..Place::new(node, form) }
    }

    /// Returns true if a form of a name, such as `data`, is allowed.
    pub fn is_named(&self, name: &str) -> bool {
        self.form.is_some_and(|form| is_named(form, name))
    }

    /// Returns true for the value of this key of a map of this shape.
    pub fn is_value_of(&self, shape: &str, key: &str) -> bool {
        self.holder.is_some_and(|(holder, spec)| holder.name == shape && spec.name == key)
    }
}

fn is_named(form: &'static Form, name: &str) -> bool {
    match form {
        Form::Named(own, form) => *own == name || is_named(form, name),
        Form::Either(forms) => forms.iter().any(|form| is_named(form, name)),
        _ => false,
    }
}

/// Returns the shape of a form that has most of these keys; of several, the first.
fn best_shape(form: &Form, entries: &[(MapKey<'_>, SourceNode<'_>)]) -> Option<&'static Shape> {
    let known = |shape: &Shape| entries.iter().take(64).filter(|(key, _)| shape.key(&key.text).is_some()).count();
    let mut best: Option<(usize, &'static Shape)> = None;
    form.find(&mut |form| {
        if let Form::Shape(shape) = form {
            let count = known(shape);
            best = best.filter(|best| best.0 >= count).or(Some((count, shape)));
        }
        None::<()>
    });
    best.map(|(_, shape)| shape)
}

/// Returns the form of the entries of a map with arbitrary keys.
fn map_item(form: &'static Form) -> Option<&'static Form> {
    form.find(&mut |form| if let Form::Map(item) = form { Some(*item) } else { None })
}

/// Returns the form of the items of a list.
fn list_item(form: &'static Form) -> Option<&'static Form> {
    form.find(&mut |form| if let Form::List(item) = form { Some(*item) } else { None })
}

/// Returns the key of the grammar that the last node of a trail belongs to: its own or the nearest one above it.
pub(super) fn nearest_key(trail: &[Place<'_>]) -> Option<(&'static Shape, &'static KeySpec)> {
    trail.iter().rev().find_map(|place| place.holder)
}

/// Returns the key of the grammar whose value the last node of a trail is; what is repeated is part of the map around.
pub(super) fn holder(trail: &[Place<'_>]) -> Option<(&'static Shape, &'static KeySpec)> {
    let is_repeated =
        |index: &usize| index.checked_sub(1).is_some_and(|parent| repeat::parts(trail[parent].node).is_some());
    let mut at = trail.len().checked_sub(1)?;
    while is_repeated(&at) {
        at = at.checked_sub(2)?;
    }
    trail[at].holder
}

/// Visits all nodes in the order of the source, each with the nodes that contain it. Those below a node are left out if
/// the function returns false.
pub(super) fn walk<'t>(syntax: &'t Syntax, each: &mut dyn FnMut(&[Place<'t>]) -> bool) {
    walk_node(&mut vec![Place::new(syntax.root(), Some(&ROOT))], each);
}

/// Does the same as [`walk`] in the tree without repetitions: what is repeated is visited for each copy.
pub(super) fn walk_copies<'t>(syntax: &'t Syntax, each: &mut dyn FnMut(&[Place<'t>]) -> bool) {
    walk_node(&mut vec![Place::new(syntax.expanded().unwrap_or(syntax.root()), Some(&ROOT))], each);
}

/// Recurses at most to the depth that the parser allows.
fn walk_node<'t>(trail: &mut Vec<Place<'t>>, each: &mut dyn FnMut(&[Place<'t>]) -> bool) {
    let Some(&place) = trail.last() else { return };
    if !each(trail) {
        return;
    }
    let mut visit = |below: Place<'t>| {
        trail.push(below);
        walk_node(trail, each);
        trail.pop();
    };
    place.node.children().enumerate().for_each(|(item, child)| visit(place.child(item, child)));
}

/// The nodes that contain an offset, from the root on.
pub(super) struct Trail<'t> {
    /// The nodes.
    pub places: Vec<Place<'t>>,
    /// The offset is in the key of the last node, not in its value.
    pub is_key: bool,
}

/// Returns the nodes that contain an offset of the text of a tree.
pub(super) fn trail(syntax: &Syntax, at: usize) -> Trail<'_> {
    let mut places = vec![Place::new(syntax.root(), Some(&ROOT))];
    loop {
        let place = places[places.len() - 1];
        let has = |node: &SourceNode<'_>| {
            let range = syntax.range(node.id);
            range.start <= at && at <= range.end
        };
        // The last child that begins before. Lists have thousands of items.
        let last = |count: usize| count.checked_sub(1);
        let next = match &place.node.value {
            NodeValue::Map(entries) => {
                let found = entries.partition_point(|(key, _)| syntax.range(key.id).start <= at);
                let Some((key, node)) = last(found).and_then(|index| entries.get(index)) else { break };
                let next = place.child(0, (Some(key), node));
                if at <= syntax.range(key.id).end {
                    places.push(next);
                    return Trail { places, is_key: true };
                }
                next
            }
            NodeValue::List(items) => {
                let found = items.partition_point(|item| syntax.range(item.id).start <= at);
                let Some((index, node)) = last(found).and_then(|index| Some((index, items.get(index)?))) else { break };
                place.child(index, (None, node))
            }
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::UInt(_)
            | NodeValue::Float(_)
            | NodeValue::Text(_) => break,
        };
        if !has(next.node) {
            break;
        }
        places.push(next);
    }
    Trail { places, is_key: false }
}

/// A call of an operator in the source.
pub(super) struct SourceCall<'t> {
    /// Node of the operator.
    pub operator: &'t SourceNode<'t>,
    /// Name of the operator.
    pub name: &'t str,
    /// Arguments, in the order of the source.
    pub args: &'t [SourceNode<'t>],
    /// The instruction.
    pub instruction: &'t SourceNode<'t>,
}

impl<'t> SourceCall<'t> {
    /// Reads the call of an instruction; `None` for another one.
    pub fn of(instruction: &'t SourceNode<'t>) -> Option<SourceCall<'t>> {
        let operator = entry(instruction, "kernel")?;
        let NodeValue::Text(name) = &operator.value else { return None };
        let args = match entry(instruction, "args").map(|args| &args.value) {
            Some(NodeValue::List(args)) => args.as_slice(),
            _ => &[],
        };
        Some(SourceCall { operator, name, args, instruction })
    }

    /// Returns true for a call whose operator has results, which `out` does not name.
    pub fn lacks_out(&self) -> bool {
        let has_results = |Signature { args, result, .. }: &Signature| {
            let has = |role| args.iter().any(|argument| argument.role == role);
            has(Role::Out) || result.is_some() && !has(Role::InPlace)
        };
        entry(self.instruction, "out").is_none()
            && pte_operators::find(self.name).is_some_and(|operator| has_results(&operator.signature))
    }

    /// Returns the call that the nodes of a trail are in.
    pub fn around(trail: &[Place<'t>]) -> Option<SourceCall<'t>> {
        let instruction = trail.iter().rev().find(|place| place.shape.is_some_and(|shape| shape.name == "instruction"));
        instruction.and_then(|place| SourceCall::of(place.node))
    }
}

/// Returns the value of a key of a map.
pub(super) fn entry<'t>(node: &'t SourceNode<'t>, name: &str) -> Option<&'t SourceNode<'t>> {
    let NodeValue::Map(entries) = &node.value else { return None };
    entries.iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
}
