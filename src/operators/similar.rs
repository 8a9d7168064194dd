//! The operators that an unknown name was probably meant to be, for messages.

use super::{library, names};
use crate::diagnostics::nearest;

/// Functions of torch whose exported operators have other names, without the namespace.
const RENAMED: &[(&str, &str)] = &[
    ("batch_norm", "_native_batch_norm_legit_no_training"),
    ("conv1d", "convolution"),
    ("conv2d", "convolution"),
    ("conv3d", "convolution"),
    ("conv_transpose2d", "convolution"),
    ("dropout", "native_dropout"),
    ("flatten", "view_copy"),
    ("group_norm", "native_group_norm"),
    ("layer_norm", "native_layer_norm"),
    ("log_softmax", "_log_softmax"),
    ("matmul", "mm"),
    ("max_pool2d", "max_pool2d_with_indices"),
    ("reshape", "view_copy"),
    ("softmax", "_softmax"),
    ("to", "_to_copy"),
];

/// Largest number of names that are returned.
const MAX_SIMILAR: usize = 5;

/// Parts of `aten::add.out`: namespace, name, overload.
fn parts(name: &str) -> (Option<&str>, &str, &str) {
    let (namespace, rest) = name.split_once("::").map_or((None, name), |(namespace, rest)| (Some(namespace), rest));
    let (base, overload) = rest.split_once('.').unwrap_or((rest, ""));
    (namespace, base, overload)
}

/// Returns the operators that have the name of an unknown one, or the nearest name, whatever their overloads; the nearest overload first.
/// Operators of the default runtime come before those of libraries. Empty if none is near.
pub fn similar_names(unknown: &str) -> Vec<&'static str> {
    let (namespace, base, overload) = parts(unknown);
    // Some names begin with `_`, and those that torch has for work in place end with it.
    let base = base.trim_matches('_').to_ascii_lowercase();
    let known = || names().filter(|name| namespace.is_none_or(|namespace| parts(name).0 == Some(namespace)));
    let bases = |linked: bool| known().filter(move |name| library(name).is_some() == linked).map(|name| parts(name).1);
    let renamed = RENAMED.iter().find(|(other, _)| *other == base).map(|(_, name)| *name);
    let copy = format!("{base}_copy");
    let same = |linked| {
        let is = |wanted: &str| bases(linked).find(|name| name.trim_matches('_') == wanted);
        is(&base).or_else(|| is(&copy)).or_else(|| bases(linked).find(|name| Some(*name) == renamed))
    };
    let near = |linked| {
        let near = nearest(&base, bases(linked).map(|name| name.trim_matches('_')))?;
        bases(linked).find(|name| name.trim_matches('_') == near)
    };
    let found = [same(false), same(true), near(false), near(true)].into_iter().flatten().next();
    let Some(base) = found else { return nearest(unknown, names()).into_iter().collect() };
    let mut found: Vec<&str> = known().filter(|name| parts(name).1 == base).collect();
    found.sort_by_key(|name| {
        let (of, _, other) = parts(name);
        let distance = strsim::damerau_levenshtein(other, overload);
        (library(name).is_some(), of != Some("aten"), distance, name.len(), *name)
    });
    found.truncate(MAX_SIMILAR);
    found
}

#[cfg(test)]
mod tests {
    use super::similar_names;

    #[test]
    fn overloads_of_the_same_name_come_before_names_of_similar_spelling() {
        for (unknown, expected) in [
            ("aten::mean.dim_out", "aten::mean.out"),
            ("aten::add.Tensor", "aten::add.out"),
            ("add.Tensor", "aten::add.out"),
            ("aten::relu_", "aten::relu.out"),
            ("Relu", "aten::relu.out"),
            ("aten::permute.default", "aten::permute_copy.out"),
            ("aten::conv2d.out", "aten::convolution.out"),
            ("sofmax.out", "aten::_softmax.out"),
            ("linaer", "aten::linear.out"),
            ("convolutoin", "aten::convolution.out"),
            ("aten::addd.out", "aten::add.out"),
            ("llama::update_cach.out", "llama::update_cache.out"),
        ] {
            assert_eq!(similar_names(unknown).first(), Some(&expected), "{unknown}: {:?}", similar_names(unknown));
        }
        assert!(similar_names("aten::frobnicate_the_widget.out").is_empty());
        assert!(similar_names("").is_empty());
    }
}
