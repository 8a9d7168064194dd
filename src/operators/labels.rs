//! Short names of operators and of their arguments, for the names of values. They are those of torch's layers.

/// Operators whose results have another name than the operator.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("addmm", "linear"),
    ("clone_dim_order", "clone"),
    ("convolution", "conv"),
    ("max_pool2d_with_indices", "max_pool2d"),
    ("native_batch_norm_legit", "batch_norm"),
    ("native_batch_norm_legit_no_training", "batch_norm"),
    ("native_group_norm", "group_norm"),
    ("native_layer_norm", "layer_norm"),
    ("to_dim_order_copy", "to_copy"),
];

/// Returns the short name of an operator, given with or without its overload: `linear` for `aten::addmm.out`.
pub fn short_name(operator: &str) -> &str {
    let name = operator.split_once("::").map_or(operator, |(_, name)| name);
    let name = name.split('.').next().unwrap_or(name).trim_matches('_');
    SHORT_NAMES.iter().find(|(long, _)| *long == name).map_or(name, |(_, short)| short)
}

/// Returns the name of a constant that is passed as an argument, as torch's layers call it: `bias` for `self` of `linear`. `operator` is the
/// short name.
pub fn constant_name<'a>(operator: &str, argument: &'a str) -> &'a str {
    match (operator, argument) {
        ("linear", "self") => "bias",
        ("linear" | "mm" | "bmm", "mat2") => "weight",
        (_, "self") => "input",
        (_, argument) => argument,
    }
}

/// Returns `true` if the operator with a short name transposes its first argument.
pub fn is_transposition(operator: &str) -> bool {
    ["permute_copy", "t_copy", "transpose_copy"].contains(&operator)
}
