//! Names of the components of ExecuTorch's CMSIS pack. It has a component for each source file of kernels, named after the file.

/// Component with an operator of a namespace: the category.
const CATEGORIES: &[(&str, &str)] = &[
    ("aten", "Portable"),
    ("cortex_m", "Cortex-M"),
    ("dim_order_ops", "Portable"),
    ("et_copy", "Portable"),
    ("quantized_decomposed", "Quantized"),
];

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

/// Operators of the runtime in the namespace `aten` whose kernels are not in the pack: optimized ones, and those of the runtime itself.
const LEFT_OUT: &[&str] = &[
    "aten::_fft_c2r.out",
    "aten::_fft_r2c.out",
    "aten::_local_scalar_dense",
    "aten::linear.out",
    "aten::sym_numel",
    "aten::sym_size.int",
];

/// Component of an operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    /// Category: `Portable`, `Quantized` or `Cortex-M`.
    pub category: &'static str,
    /// Name of the source file, without `op_` and its extension.
    pub file: String,
}

impl Component {
    /// Returns the component with the kernel of an operator; `None` if the pack has none.
    pub fn of(operator: &str) -> Option<Component> {
        let (namespace, name) = operator.split_once("::")?;
        let (_, category) = CATEGORIES.iter().find(|(known, _)| *known == namespace)?;
        if pte_operators::find(operator).is_none() || LEFT_OUT.contains(&operator) {
            return None;
        }
        let name = name.split('.').next().unwrap_or(name);
        let renamed = FILES.iter().find(|(of, start, _)| of == category && name.starts_with(start));
        let file = renamed.map_or_else(|| name.trim_matches('_'), |(.., file)| file);
        Some(Component { category, file: file.to_owned() })
    }
}
