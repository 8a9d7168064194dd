//! The hierarchy of modules that instructions were exported from, as their stack traces name it.

use indexmap::IndexSet;
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

/// Modules of a method, each once; parents are before their children.
#[derive(Default)]
pub struct Modules(IndexSet<GraphModule>);

impl Modules {
    /// Returns the innermost module of a stack trace, outermost frame first; `None` if no line calls one.
    pub fn of(&mut self, trace: &[StackFrame]) -> Option<usize> {
        let mut parent = None;
        for name in trace.iter().filter_map(|frame| called(frame.context.as_deref()?)) {
            let (index, _) = self.0.insert_full(GraphModule { name: name.to_owned(), parent });
            parent = Some(index);
        }
        parent
    }

    /// Returns the modules in the order of their indices.
    pub fn into_list(self) -> Vec<GraphModule> {
        self.0.into_iter().collect()
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
        let modules = modules.into_list();
        let names: Vec<(&str, Option<usize>)> = modules.iter().map(|module| (&*module.name, module.parent)).collect();
        assert_eq!(names, [("block", None), ("layers[0]", Some(0))]);
    }
}
