//! Inputs and outputs of a delegate, as far as its payload states them.

use serde::Serialize;

use super::description::{Fact, Facts, MORE, UNKNOWN};

/// Inputs and outputs of a delegate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// First arguments of its calls.
    pub inputs: Vec<ArgumentType>,
    /// Other arguments of its calls.
    pub outputs: Vec<ArgumentType>,
    /// False if there are more arguments than a description has.
    pub is_complete: bool,
}

/// An argument of a delegate. What the payload does not state is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ArgumentType {
    /// Name.
    pub name: Option<String>,
    /// Element type, or kind of value, in the words of the format.
    pub datatype: Option<String>,
    /// Size of an element in bytes.
    pub element_size: Option<i64>,
    /// Sizes; negative numbers stand for sizes that are not known before the call.
    pub sizes: Option<Vec<i64>>,
}

impl Signature {
    /// Finds the lists `inputs` and `outputs` among facts; `None` if there are neither.
    pub(crate) fn of(facts: &Facts) -> Option<Signature> {
        let mut found = Signature { is_complete: true, ..Signature::default() };
        let lists = [facts.get("inputs"), facts.get("outputs")];
        for (fact, list) in lists.into_iter().zip([&mut found.inputs, &mut found.outputs]) {
            let Some(Fact::List(items)) = fact else { continue };
            list.extend(items.iter().filter_map(ArgumentType::of));
            found.is_complete &= list.len() == items.len();
        }
        lists.iter().any(Option::is_some).then_some(found)
    }
}

impl ArgumentType {
    /// Returns the argument that a fact is about; `None` for the number of those that are left out.
    fn of(fact: &Fact) -> Option<ArgumentType> {
        let mut found = ArgumentType::default();
        let facts = match fact {
            Fact::Map(facts) => facts,
            Fact::Text(kind) => {
                found.datatype = Some(kind.clone()).filter(|kind| kind != UNKNOWN);
                return Some(found);
            }
            Fact::Number(_) | Fact::Bytes(_) | Fact::List(_) => return None,
        };
        for (name, fact) in facts {
            match (&**name, fact) {
                (MORE, _) => return None,
                ("name", Fact::Text(text)) => found.name = Some(text.clone()),
                ("datatype", Fact::Text(text)) => found.datatype = Some(text.clone()),
                ("element_size", Fact::Number(size)) => found.element_size = Some(*size),
                ("sizes", Fact::List(sizes)) => {
                    let size = |fact: &Fact| if let Fact::Number(size) = fact { Some(*size) } else { None };
                    found.sizes = sizes.iter().map(size).collect();
                }
                _ => {}
            }
        }
        Some(found)
    }
}
