//! Inputs and outputs of a delegate, as far as its payload states them, and what the runtime compares with a call.

use serde::Serialize;

use super::description::{Fact, Facts, MAX_LISTED, MORE, UNKNOWN};
use pte_model::format::ScalarType;

/// Inputs and outputs of a delegate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// First arguments of its calls.
    pub inputs: Vec<ArgumentType>,
    /// Other arguments of its calls.
    pub outputs: Vec<ArgumentType>,
    /// False if there are more arguments than a description has.
    pub is_complete: bool,
    /// Numbers of arguments that the runtime accepts.
    pub count: CountRule,
    /// Sizes of arguments that the runtime accepts.
    pub sizes: SizesRule,
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
    /// Element types of the tensors that it takes; empty if they are not known, or if it is no tensor.
    #[serde(skip)]
    pub scalar_types: &'static [ScalarType],
}

/// Numbers of arguments that a runtime accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountRule {
    /// It does not count them: fewer are read outside of the list, others are ignored.
    #[default]
    Unchecked,
    /// It rejects fewer than inputs and outputs, and ignores others.
    AtLeast,
    /// It rejects another number than that of inputs and outputs.
    Exact,
}

/// Sizes of tensors that a runtime accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SizesRule {
    /// It is not known what it compares.
    #[default]
    Unknown,
    /// It compares nothing, and resizes.
    Any,
    /// The number of dimensions of an input is that of the payload; it resizes.
    Rank,
    /// The number of elements of an input is that of the payload.
    Elements,
    /// The number of bytes of an argument is that of the payload.
    Bytes,
}

impl SizesRule {
    /// Returns `true` if the runtime may accept a tensor of these sizes, which are upper bounds, for those that the
    /// payload states. A negative size is any.
    pub fn accepts(self, found: &[i32], stated: &[i64]) -> bool {
        match self {
            SizesRule::Unknown | SizesRule::Any => true,
            SizesRule::Rank => found.len() == stated.len(),
            SizesRule::Elements | SizesRule::Bytes => {
                let product = |sizes: &mut dyn Iterator<Item = i64>| sizes.fold(1i64, i64::saturating_mul);
                let found = product(&mut found.iter().map(|size| i64::from(*size)));
                stated.iter().any(|size| *size < 0) || found == product(&mut stated.iter().copied())
            }
        }
    }
}

/// What the runtime of a backend compares when a delegate is called: a row for each format.
#[derive(Debug)]
pub struct CallRules {
    /// Numbers of arguments.
    pub count: CountRule,
    /// Sizes.
    pub sizes: SizesRule,
    /// Element types of tensors for the word of the payload, of inputs and of outputs.
    pub scalar_types: [&'static [(&'static str, &'static [ScalarType])]; 2],
}

impl CallRules {
    /// The rules of a backend that compares nothing that is known.
    pub const UNKNOWN: CallRules =
        CallRules { count: CountRule::Unchecked, sizes: SizesRule::Unknown, scalar_types: [&[], &[]] };
}

/// Element types by their names in torch, each with itself, for payloads that have these words.
macro_rules! torch_types {
    ($( $name:literal $ty:ident, )*) => {
        /// Element types by their names in torch.
        pub const TORCH_TYPES: &[(&str, &[ScalarType])] = &[$( ($name, &[ScalarType::$ty]) ),*];
    };
}
torch_types! {
    "uint8" BYTE, "int8" CHAR, "int16" SHORT, "int32" INT, "int64" LONG, "float16" HALF, "float32" FLOAT,
    "float64" DOUBLE, "bool" BOOL, "bfloat16" BFLOAT16, "uint16" UINT16, "uint32" UINT32, "uint64" UINT64,
}

impl Signature {
    /// Finds the lists `inputs` and `outputs` among facts, or their numbers; `None` if there are neither.
    pub(crate) fn of(facts: &Facts, rules: &CallRules) -> Option<Signature> {
        let CallRules { count, sizes, scalar_types } = rules;
        let mut found = Signature { is_complete: true, count: *count, sizes: *sizes, ..Signature::default() };
        let lists = [facts.get("inputs"), facts.get("outputs")];
        for ((fact, list), types) in lists.into_iter().zip([&mut found.inputs, &mut found.outputs]).zip(scalar_types) {
            match fact {
                Some(Fact::List(items)) => {
                    list.extend(items.iter().filter_map(|item| ArgumentType::of(item, types)));
                    found.is_complete &= list.len() == items.len();
                }
                Some(Fact::Number(number)) => {
                    let number = usize::try_from(*number).unwrap_or(usize::MAX);
                    list.resize_with(number.min(MAX_LISTED), ArgumentType::default);
                    found.is_complete &= list.len() == number;
                }
                Some(Fact::Text(_) | Fact::Bytes(_) | Fact::Map(_)) | None => found.is_complete = false,
            }
        }
        lists.iter().any(Option::is_some).then_some(found)
    }

    /// Returns `true` if the runtime rejects a call with this number of arguments; if it is not known, `false`.
    pub fn rejects_count(&self, arguments: usize) -> bool {
        let stated = self.inputs.len() + self.outputs.len();
        match self.count {
            CountRule::Unchecked => false,
            // If more are left out, fewer than the others are too few.
            CountRule::AtLeast => arguments < stated,
            CountRule::Exact => arguments < stated || (self.is_complete && arguments > stated),
        }
    }
}

impl ArgumentType {
    /// Returns the argument that a fact is about; `None` for the number of those that are left out.
    fn of(fact: &Fact, types: &'static [(&'static str, &'static [ScalarType])]) -> Option<ArgumentType> {
        let mut found = ArgumentType::default();
        let facts = match fact {
            Fact::Map(facts) => facts.as_slice(),
            Fact::Text(kind) => {
                found.datatype = Some(kind.clone()).filter(|kind| kind != UNKNOWN);
                &[]
            }
            Fact::Number(_) | Fact::Bytes(_) | Fact::List(_) => return None,
        };
        // Elements of another type, to which the runtime converts those of the call.
        let mut staging = None;
        for (name, fact) in facts {
            match (&**name, fact) {
                (MORE, _) => return None,
                ("name", Fact::Text(text)) => found.name = Some(text.clone()),
                ("datatype", Fact::Text(text)) => found.datatype = Some(text.clone()),
                ("staging_datatype", Fact::Text(text)) => staging = Some(text.clone()),
                ("element_size", Fact::Number(size)) => found.element_size = Some(*size),
                ("sizes", Fact::List(sizes)) => {
                    let size = |fact: &Fact| if let Fact::Number(size) = fact { Some(*size) } else { None };
                    found.sizes = sizes.iter().map(size).collect();
                }
                _ => {}
            }
        }
        found.datatype = staging.or(found.datatype);
        let word = found.datatype.clone().or_else(|| Some(found.element_size?.to_string()));
        found.scalar_types = word
            .and_then(|word| types.iter().find(|(known, _)| *known == word).map(|(_, types)| *types))
            .unwrap_or_default();
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::IntoFact;

    #[test]
    fn numbers_of_arguments_are_compared_as_far_as_they_are_stated() {
        let list = |count: usize| Fact::list((0..count).map(|_| "float32".into_fact()), count);
        let facts = |inputs| Facts::default().with("inputs", list(inputs)).with("outputs", list(1));
        let with = |count| CallRules { count, ..CallRules::UNKNOWN };
        let exact = Signature::of(&facts(2), &with(CountRule::Exact)).unwrap();
        assert_eq!([2, 3, 5].map(|count| exact.rejects_count(count)), [true, false, true]);
        let least = Signature::of(&facts(2), &with(CountRule::AtLeast)).unwrap();
        assert_eq!([2, 3, 5].map(|count| least.rejects_count(count)), [true, false, false]);
        assert!(!Signature::of(&facts(2), &CallRules::UNKNOWN).unwrap().rejects_count(0));
        // Some are left out of the description.
        let many = Signature::of(&facts(100), &with(CountRule::Exact)).unwrap();
        assert_eq!((many.is_complete, many.rejects_count(64), many.rejects_count(101)), (false, true, false));
        assert_eq!(Signature::of(&Facts::default(), &CallRules::UNKNOWN), None);
    }

    /// The type that tensors of the call have precedes that of the graph.
    #[test]
    fn types_are_those_of_the_call() {
        let rules = CallRules { scalar_types: [TORCH_TYPES, &[]], ..CallRules::UNKNOWN };
        let tensor = Facts::default().with("datatype", "float16").with("staging_datatype", "float32");
        let list = || Fact::List(vec![tensor.clone().into_fact(), "SymInt".into_fact()]);
        let found = Signature::of(&Facts::default().with("inputs", list()), &rules).unwrap();
        assert_eq!(found.inputs[0].datatype.as_deref(), Some("float32"));
        assert_eq!(found.inputs[0].scalar_types, [ScalarType::FLOAT]);
        assert_eq!((found.inputs[1].datatype.as_deref(), found.inputs[1].scalar_types), (Some("SymInt"), &[][..]));
        assert!(!found.is_complete);
    }
}
