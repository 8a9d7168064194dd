//! Names of operators that a build can select: those that its lists, strings of C++ and macros can contain.

use pte_model::diagnostics::clipped;

/// Returns true for a name that a build can select.
pub fn is_selectable(name: &str) -> bool {
    // The scripts of ExecuTorch take letters of all languages, as C++ does.
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let (namespace, name) = name.split_once("::").unwrap_or(("", name));
    let (name, overload) = name.split_once('.').unwrap_or((name, "default"));
    [namespace, name, overload].into_iter().all(is_word)
}

/// Message about another name.
pub fn not_selectable(name: &str) -> String {
    format!(
        "operator `{}` cannot be selected by a build: expected `namespace::name.overload` of letters, digits and `_`",
        clipped(name)
    )
}
