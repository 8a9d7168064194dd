//! Known operators and custom ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::signature::{Signature, parse_line};
use super::{find, library, names};

/// The operators of the runtime, of the libraries that ExecuTorch ships, and custom operators.
///
/// ```
/// use pte_operators::{Base, LineError, OperatorSet, Role, Signature};
///
/// let mut operators = OperatorSet::new();
/// assert!(operators.find("aten::add.out").is_some());
/// assert_eq!(operators.library("aten::add.out"), None);
/// assert_eq!(operators.library("llama::update_cache.out"), Some("custom_ops"));
/// operators.add("my::scale.out self:T factor:f=1.0 out:T!").unwrap();
/// let scale: Signature = operators.find("my::scale.out").unwrap();
/// assert_eq!((scale.ins().count(), scale.outs().count()), (2, 1));
/// assert_eq!(scale.args[1].kind.base, Base::Float);
/// assert_eq!((&*scale.args[2].name, scale.args[2].role), ("out", Role::Out));
/// assert!(operators.names().any(|name| name == "my::scale.out"));
/// let errors: Vec<LineError> = operators.add("# comment\nscale").unwrap_err();
/// assert_eq!(errors[0].line, 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct OperatorSet {
    added: BTreeMap<String, Signature>,
}

/// A malformed line of custom operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// Line number, counted from 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for LineError {}

impl OperatorSet {
    /// Returns the operators of the runtime and of the libraries.
    pub fn new() -> OperatorSet {
        OperatorSet::default()
    }

    /// Adds operators, one per line in the form of the table. Empty lines and lines that begin with `#` are ignored.
    /// The signature of a known name is replaced.
    ///
    /// # Errors
    /// Some lines are malformed (all are reported). The other lines are still added.
    pub fn add(&mut self, text: &str) -> Result<(), Vec<LineError>> {
        let mut errors = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match parse_line(line) {
                Ok((name, signature)) => _ = self.added.insert(name, signature),
                Err(message) => errors.push(LineError { line: number + 1, message }),
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Returns the signature of `name` (`aten::add.out`); `None` if it is unknown.
    pub fn find(&self, name: &str) -> Option<Signature> {
        self.added(name).or_else(|| Some(&find(name)?.signature)).cloned()
    }

    /// Returns the library (CMake target) that a build has to link for the operator `name`. `None` for operators of the
    /// default runtime, added operators and unknown ones.
    pub fn library(&self, name: &str) -> Option<&'static str> {
        if self.added(name).is_some() { None } else { library(name) }
    }

    /// Returns the signature of `name`, if it was added.
    #[doc(hidden)]
    pub fn added(&self, name: &str) -> Option<&Signature> {
        self.added.get(name)
    }

    /// Returns the added operators with their signatures, in ascending order.
    #[doc(hidden)]
    pub fn added_operators(&self) -> impl Iterator<Item = (&str, &Signature)> {
        self.added.iter().map(|(name, signature)| (name.as_str(), signature))
    }

    /// Returns the names of all known operators in ascending order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut all: BTreeSet<&str> = names().collect();
        all.extend(self.added.keys().map(String::as_str));
        all.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Base;
    use super::*;

    #[test]
    fn operators_of_a_set_have_no_library() {
        let mut set = OperatorSet::new();
        set.add("llama::update_cache.out value:T out:T!").unwrap();
        assert_eq!(set.library("llama::update_cache.out"), None);
        assert_eq!(set.find("llama::update_cache.out").unwrap().args.len(), 2);
        assert_eq!(set.names().count(), names().count());
    }

    #[test]
    fn lines_are_added_to_the_table() {
        let mut set = OperatorSet::new();
        set.add("# mine\n\nmine::scale.out self:T by:f=2.0 dims:i[]? out:T!\nmine::count self:T -> i\n").unwrap();
        let scale = set.find("mine::scale.out").unwrap();
        assert_eq!((scale.args.len(), scale.outs().count(), scale.result), (4, 1, None));
        assert_eq!(scale.args[2].kind.to_string(), "int[]?");
        assert_eq!(set.find("mine::count").unwrap().result, Some(Base::Int));
        assert!(set.find("aten::add.out").is_some() && set.find("mine::none").is_none());
    }

    #[test]
    fn malformed_lines_are_errors() {
        let cases = [
            ("scale self:T", "invalid operator name `scale`"),
            ("m::a self", "invalid argument `self`"),
            ("m::a :T", "invalid argument `:T`"),
            ("m::a x:Q", "unknown argument type `Q`; expected a letter of docs/rules.md, such as T for Tensor"),
            ("m::a x:", "unknown argument type ``; expected a letter of docs/rules.md, such as T for Tensor"),
            ("m::a x:é", "unknown argument type `é`"),
            ("m::a x:T[", "unknown argument type `T[`"),
            ("m::a x:i=two", "the default `two` of `x` is not valid JSON"),
            ("m::a x:i!", "`x` is written"),
            ("m::a x:T -> QQ", "unknown result type `QQ`"),
            ("m::a x:T out:T! -> T", "both outs and a result"),
            ("m::a x:T x:T", "duplicate argument `x`"),
        ];
        for (line, expected) in cases {
            let mut set = OperatorSet::new();
            let errors = set.add(&format!("m::fine x:T -> T\n{line}\n")).unwrap_err();
            assert_eq!((errors.len(), errors[0].line), (1, 2), "{line}");
            assert!(errors[0].message.contains(expected), "{line}: {}", errors[0]);
            assert!(set.find("m::fine").is_some());
        }
    }
}
