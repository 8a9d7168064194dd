//! Names of the components of ExecuTorch's CMSIS pack. It has a component for each source file of kernels, named after
//! the file.

use pte_operators::target;

/// Categories of the CMake targets that register kernels in ExecuTorch's own build.
const CATEGORIES: &[(&str, &str)] =
    &[(target::CORTEX_M, CORTEX_M), (target::PORTABLE, "Portable"), (target::QUANTIZED, "Quantized")];

/// Category of the kernels that use CMSIS-NN.
pub const CORTEX_M: &str = "Cortex-M";

/// Operators of files with another name than theirs: category, beginning of the name, and name of the file.
const FILES: &[(&str, &str, &str)] = &[
    ("Portable", "_d2h_copy", "device_copy"),
    ("Portable", "_h2d_copy", "device_copy"),
    ("Portable", "_native_batch_norm_legit", "native_batch_norm"),
    ("Quantized", "choose_qparams", "choose_qparams"),
    ("Quantized", "dequantize_per_", "dequantize"),
    ("Quantized", "embedding_2bit", "embedding2b"),
    ("Quantized", "embedding_4bit", "embedding4b"),
    ("Quantized", "embedding_byte", "embedding"),
    ("Quantized", "quantize_per_", "quantize"),
];

/// Component of an operator.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    /// Category: `Portable`, `Quantized` or `Cortex-M`.
    pub category: &'static str,
    /// Name of the source file, without `op_` and its extension.
    pub file: String,
}

impl Component {
    /// Returns the component with the kernel of an operator; `None` if the pack has none.
    pub fn of(operator: &str) -> Option<Component> {
        let target = pte_operators::find(operator)?.target();
        let (_, category) = CATEGORIES.iter().find(|(known, _)| *known == target)?;
        let (_, name) = operator.split_once("::")?;
        let name = name.split('.').next().unwrap_or(name);
        let renamed = FILES.iter().find(|(of, start, _)| of == category && name.starts_with(start));
        // A kernel for another layout is in the same file.
        let own = || name.trim_matches('_').trim_end_matches("_nhwc");
        let file = renamed.map_or_else(own, |(.., file)| file);
        Some(Component { category, file: file.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_named_after_the_file_of_the_kernel() {
        for (operator, component) in [
            ("aten::add.out", Some("Portable add")),
            ("aten::_softmax.out", Some("Portable softmax")),
            ("aten::_native_batch_norm_legit_no_training.out", Some("Portable native_batch_norm")),
            ("dim_order_ops::_to_dim_order_copy.out", Some("Portable to_dim_order_copy")),
            ("et_copy::_h2d_copy.out", Some("Portable device_copy")),
            ("quantized_decomposed::quantize_per_tensor.out", Some("Quantized quantize")),
            ("quantized_decomposed::embedding_4bit.dtype_out", Some("Quantized embedding4b")),
            ("cortex_m::quantized_conv2d_nhwc.out", Some("Cortex-M quantized_conv2d")),
            // Optimized kernels and those of the runtime have none.
            ("aten::linear.out", None),
            ("aten::sym_size.int", None),
            ("executorch_prim::et_view.default", None),
            ("my::scale.out", None),
        ] {
            let found = Component::of(operator).map(|found| format!("{} {}", found.category, found.file));
            assert_eq!(found.as_deref(), component, "{operator}");
        }
    }
}
