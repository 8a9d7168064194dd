//! The hierarchy of modules that instructions were exported from, as their stack traces name it.

use std::collections::HashMap;

use serde::Serialize;

use pte_model::program::StackFrame;

/// Maximum number of characters of the name of a module.
const MAX_NAME: usize = 100;

/// A module, or a function, that other modules call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphModule {
    /// Attribute through which it is called: `layers[0]` for `self.layers[0](x)`.
    pub name: String,
    /// Index of the module that calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
}

/// Modules of a method, each once.
#[derive(Default)]
pub struct Modules {
    /// The modules; parents are before their children.
    pub list: Vec<GraphModule>,
    known: HashMap<GraphModule, usize>,
}

impl Modules {
    /// Returns the innermost module of a stack trace, outermost frame first; `None` if no line calls one.
    pub fn of(&mut self, trace: &[StackFrame]) -> Option<usize> {
        let mut parent = None;
        for name in trace.iter().filter_map(|frame| called(frame.context.as_deref()?)) {
            let module = GraphModule { name: name.to_owned(), parent };
            let next = self.list.len();
            let index = *self.known.entry(module).or_insert_with_key(|module| {
                self.list.push(module.clone());
                next
            });
            parent = Some(index);
        }
        parent
    }
}

/// Returns the attribute of `self` that a line calls.
fn called(line: &str) -> Option<&str> {
    let mut rest = line;
    while let Some(at) = rest.find("self.") {
        let after = &rest[at + "self.".len()..];
        let end = after.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']')));
        if let Some((name, _)) = end.map(|end| after.split_at(end)).filter(|(_, rest)| rest.starts_with('('))
            && !name.is_empty()
            && name.chars().count() <= MAX_NAME
        {
            return Some(name);
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_the_attributes_that_are_called() {
        let frame = |context: &str| StackFrame { context: Some(context.to_owned()), ..StackFrame::default() };
        let mut modules = Modules::default();
        let outer = [frame("return self.block(x)"), frame("x = F.relu(self.layers[0](x) + self.bias)")];
        assert_eq!(modules.of(&outer), Some(1));
        assert_eq!(modules.of(&outer[..1]), Some(0));
        assert_eq!(modules.of(&[frame("return x + self.bias")]), None);
        let names: Vec<(&str, Option<usize>)> =
            modules.list.iter().map(|module| (&*module.name, module.parent)).collect();
        assert_eq!(names, [("block", None), ("layers[0]", Some(0))]);
    }
}
