//! Finds the operators that an unknown name probably means, for messages.

use super::{all, library, names};
use pte_model::diagnostics::nearest;

/// Modules that precede the names of functions in Python.
const MODULES: &[&str] =
    &["torch.nn.functional.", "torch.ops.aten.", "torch.", "nn.functional.", "functional.", "F.", "aten."];

/// Maximum number of names that are returned.
const MAX_SIMILAR: usize = 5;

/// Parts of `aten::add.out`, also with a single colon: namespace, name, overload.
fn parts(name: &str) -> (Option<&str>, &str, &str) {
    let split = name.split_once("::").or_else(|| name.split_once(':'));
    let (namespace, rest) = split.map_or((None, name), |(namespace, rest)| (Some(namespace), rest));
    let (base, overload) = rest.split_once('.').unwrap_or((rest, ""));
    (namespace, base, overload)
}

/// Returns the known namespace that one is, or the nearest.
fn near_namespace(namespace: &str) -> Option<&'static str> {
    let mut known: Vec<&str> = names().filter_map(|name| parts(name).0).collect();
    known.dedup();
    nearest(namespace, known)
}

/// Returns the operators with the name of an unknown one, or with the nearest name, with any overload; the nearest
/// overload comes first. Operators of the default runtime come before those of libraries. The list is empty if none is
/// near.
pub fn similar_names(unknown: &str) -> Vec<&'static str> {
    let name = MODULES.iter().find_map(|module| unknown.strip_prefix(module)).unwrap_or(unknown);
    let (namespace, base, overload) = parts(name);
    let namespace = namespace.map(str::to_ascii_lowercase);
    let namespace = namespace.as_deref().map(|namespace| near_namespace(namespace).unwrap_or(namespace));
    // Some names begin with `_`, and those that torch has for work in place end with it.
    let base = base.trim_matches('_').to_ascii_lowercase();
    let known = || all().filter(|known| namespace.is_none_or(|namespace| parts(known.name).0 == Some(namespace)));
    let bases =
        |linked: bool| known().filter(move |known| known.library.is_some() == linked).map(|known| parts(known.name).1);
    let renamed = all().find(|known| known.facts.functions.contains(&&*base)).map(|known| parts(known.name).1);
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
    let Some(base) = found else {
        // A function of torch may be an operator of another namespace.
        let of_library = renamed.map(|renamed| names().filter(move |name| parts(name).1 == renamed));
        let nearest = nearest(unknown, names());
        return of_library.into_iter().flatten().chain(nearest).take(MAX_SIMILAR).collect();
    };
    let mut found: Vec<&str> = known().map(|known| known.name).filter(|name| parts(name).1 == base).collect();
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
            ("torch.nn.functional.relu", "aten::relu.out"),
            ("torch.ops.aten.relu.default", "aten::relu.out"),
            ("F.softmax", "aten::_softmax.out"),
            ("AATEN::ADD.OUT", "aten::add.out"),
            ("relu6", "aten::hardtanh.out"),
            ("attention", "llama::custom_sdpa.out"),
            ("aten::scaled_dot_product_attention.out", "llama::custom_sdpa.out"),
            ("aten:relu.out", "aten::relu.out"),
        ] {
            assert_eq!(similar_names(unknown).first(), Some(&expected), "{unknown}: {:?}", similar_names(unknown));
        }
        assert!(similar_names("aten::frobnicate_the_widget.out").is_empty());
        assert!(similar_names("").is_empty());
    }

    #[test]
    fn renamed_functions_are_no_operators_of_the_runtime() {
        let mut functions: Vec<&str> = super::all().flat_map(|known| known.facts.functions).copied().collect();
        functions.sort_unstable();
        let is_known = |function: &&str| {
            let mut known = super::all().filter(|known| known.library.is_none());
            known.any(|known| super::parts(known.name).1 == *function)
        };
        assert_eq!(functions.iter().find(|function| is_known(function)), None);
        assert_eq!(functions.windows(2).find(|pair| pair[0] == pair[1]), None);
    }
}
