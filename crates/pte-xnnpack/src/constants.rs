//! Constants of a graph with their readers: the values whose data they are, and the quantized values whose scales they
//! are.

use crate::model::{Constant, FieldContent, Graph, QuantParamsValue};
use crate::schema::Datatype;
use pte_model::format::ScalarType;

/// A constant of a graph: data in the payload, or a key of named data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphConstant {
    /// Index in [`Graph::constants`].
    pub index: usize,
    /// Key in the named data of the program; `None` if the data are in the payload.
    pub key: Option<String>,
    /// Content of the constant. If several values have it, that of the first.
    pub content: ConstantContent,
}

/// Content of a constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConstantContent {
    /// Elements of a value that is not quantized, with their type and sizes: float32, float16 and so on.
    Plain {
        /// Element type.
        scalar_type: ScalarType,
        /// Sizes.
        sizes: Vec<i32>,
        /// Position of the value.
        value: usize,
    },
    /// Elements of a quantized value, by the name of its type.
    Quantized(&'static str),
    /// Scales of a quantized value.
    Scales,
    /// No value has it, or one whose type or sizes are not representable.
    Unknown,
}

/// Returns the constants of a graph that have data or a key, in order.
pub fn of(graph: &Graph) -> Vec<GraphConstant> {
    let mut contents = vec![ConstantContent::Unknown; graph.constants.len()];
    let mut set = |index: u32, content: ConstantContent| {
        let known = contents.get_mut(index as usize).filter(|_| index > 0);
        known
            .filter(|known| **known == ConstantContent::Unknown)
            .into_iter()
            .for_each(|known| *known = content.clone());
    };
    for (position, value) in graph.values.iter().enumerate() {
        let Some(datatype) = Datatype::of(value.datatype) else { continue };
        match &value.quantization {
            Some(params) => {
                set(value.constant, ConstantContent::Quantized(datatype.name));
                set(scale_buffer(params), ConstantContent::Scales);
            }
            None => {
                if let Ok(sizes) = datatype.stored_sizes(&value.dims) {
                    let scalar_type = datatype.storage;
                    set(value.constant, ConstantContent::Plain { scalar_type, sizes, value: position });
                }
            }
        }
    }
    let has_content =
        |constant: &Constant| constant.key.as_ref().is_some_and(|key| !key.is_empty()) || constant.is_inside();
    let constants = graph.constants.iter().zip(contents).enumerate();
    let constants = constants.filter(|(_, (constant, _))| has_content(constant) || !constant.data.is_empty());
    constants
        .map(|(index, (constant, content))| {
            let key = constant.key.clone().filter(|key| !key.is_empty());
            GraphConstant { index, key, content }
        })
        .collect()
}

/// Returns the index of the constant with the scales of a value; 0 for none.
pub fn scale_buffer(params: &QuantParamsValue) -> u32 {
    match &params.fields[..] {
        [.., FieldContent::UInt(index), FieldContent::UInt(_)] => *index,
        _ => 0,
    }
}

/// Returns the keys of named data that a graph refers to.
pub fn keys(graph: &Graph) -> impl Iterator<Item = &str> {
    graph.constants.iter().filter_map(|constant| constant.key.as_deref()).filter(|key| !key.is_empty())
}
