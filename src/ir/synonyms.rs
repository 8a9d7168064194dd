//! Words that other tools use for keys and words of the YAML, for messages. [`pte_model::diagnostics::nearest`]
//! compares spelling.

use super::NodeDiagnostic;
use pte_model::diagnostics::nearest;

/// A word of another tool, and the word of the YAML. A word may have several rows: the first one that is allowed at the
/// position counts.
const SYNONYMS: &[(&str, &str)] = &[
    ("arguments", "args"),
    ("bf16", "bfloat16"),
    ("bfloat16", "bf16"),
    ("bmm", "batch_matrix_multiply"),
    ("boolean", "bool"),
    ("buffer", "data"),
    ("byte", "uint8"),
    ("call", "kernel"),
    ("char", "int8"),
    ("concat", "concatenate2"),
    ("concatenate", "concatenate2"),
    ("conv", "conv2d"),
    ("convolution", "conv2d"),
    ("divide", "div"),
    ("double", "float64"),
    ("dtype", "datatype"),
    ("dtype", "tensor"),
    ("dynamic", "dynamism"),
    ("element_type", "tensor"),
    ("execution_plan", "methods"),
    ("expected", "outputs"),
    ("f16", "float16"),
    ("f32", "float32"),
    ("f64", "float64"),
    ("float", "float32"),
    ("float", "fp32"),
    ("float16", "fp16"),
    ("float32", "fp32"),
    ("fp16", "float16"),
    ("fp32", "float32"),
    ("fp64", "float64"),
    ("half", "float16"),
    ("half", "fp16"),
    ("hardtanh", "clamp"),
    ("i16", "int16"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("i8", "int8"),
    ("id", "backend"),
    ("inputs", "args"),
    ("int", "int32"),
    ("jump", "jump_false"),
    ("linear", "fully_connected"),
    ("long", "int64"),
    ("matmul", "batch_matrix_multiply"),
    ("mul", "multiply"),
    ("neg", "negate"),
    ("nodes", "instructions"),
    ("op", "kernel"),
    ("operations", "instructions"),
    ("operator", "kernel"),
    ("output", "out"),
    ("outputs", "out"),
    ("pad", "static_constant_pad"),
    ("permute", "static_transpose"),
    ("plans", "methods"),
    ("processed", "data"),
    ("relu", "clamp"),
    ("relu6", "clamp"),
    ("reshape", "static_reshape"),
    ("result", "out"),
    ("rsqrt", "reciprocal_square_root"),
    ("scalar_type", "tensor"),
    ("sdpa", "scaled_dot_product_attention"),
    ("shape", "sizes"),
    ("short", "int16"),
    ("size", "sizes"),
    ("slice", "static_slice"),
    ("sqrt", "square_root"),
    ("strides", "dim_order"),
    ("sub", "subtract"),
    ("target", "kernel"),
    ("transpose", "static_transpose"),
    ("type", "datatype"),
    ("type", "tensor"),
    ("u8", "uint8"),
    ("value", "data"),
    ("view", "static_reshape"),
    ("weights", "data"),
];

/// Returns the word of `known` that an unknown word probably means; `None` if there is none.
pub fn meant<'n>(unknown: &str, known: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    let synonyms = SYNONYMS.iter().filter(|(other, _)| *other == unknown);
    let synonym = synonyms.filter_map(|(_, word)| known.clone().find(|known| known == word)).next();
    synonym.or_else(|| nearest(unknown, known))
}

/// Suggests the word of `known` that an unknown word probably means.
pub fn suggest<'n>(
    message: NodeDiagnostic,
    unknown: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> NodeDiagnostic {
    match meant(unknown, known) {
        Some(known) => message.did_you_mean(known),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn synonyms_come_before_similar_words_and_depend_on_the_place() {
        assert_eq!(meant("relu", ["elu", "clamp"].into_iter()), Some("clamp"));
        assert_eq!(meant("relu", ["elu", "abs"].into_iter()), Some("elu"));
        assert_eq!(meant("dtype", ["tensor", "sizes"].into_iter()), Some("tensor"));
        assert_eq!(meant("dtype", ["datatype", "sizes"].into_iter()), Some("datatype"));
        assert_eq!(meant("shape", ["tensor", "data"].into_iter()), None);
    }
}
