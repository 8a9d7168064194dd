//! Signatures of operators, and their form in the tables.
//!
//! `aten::add.out self:T other:T alpha:S=1 out:T!` is an operator. A kind is a letter (T Tensor, S Scalar, i int, f
//! float, b bool, s str, d ScalarType, m MemoryFormat), `[]` means a list, `?` optional (None), `!` an out argument,
//! `&` an argument that is written in place. `->` precedes the result of an operator without outs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use pte_model::format::words::words;
use serde::{Serialize, Serializer};
use serde_json::Value;

words! {
    /// Base type of an argument.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Base {
        /// `Tensor`
        Tensor "Tensor",
        /// `Scalar`: int, float or bool.
        Scalar "Scalar",
        /// `int` or `SymInt`
        Int "int",
        /// `float`
        Float "float",
        /// `bool`
        Bool "bool",
        /// `str`
        Str "str",
        /// `ScalarType`, an Int on the stack.
        Dtype "ScalarType",
        /// `MemoryFormat`, an Int on the stack.
        MemoryFormat "MemoryFormat",
    } Display;
}

/// Type of an argument: a [`Base`], or a list of it; see [`OperatorSet`](crate::OperatorSet).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgKind {
    /// Type of the argument, or of the items of the list.
    pub base: Base,
    /// The argument is a list.
    pub list: bool,
    /// The argument may be None.
    pub optional: bool,
    /// Items of the list may be None.
    pub optional_items: bool,
}

/// Effect of a call on an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read.
    In,
    /// Read and written in place.
    InPlace,
    /// Written: the out of an out variant.
    Out,
}

/// An argument of an operator, of an [`ArgKind`]; see [`OperatorSet`](crate::OperatorSet).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arg {
    /// Name in the schema.
    pub name: Cow<'static, str>,
    /// Type: `Tensor`, `int[]?`.
    #[serde(rename = "type", serialize_with = "displayed")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kind: ArgKind,
    /// Effect of a call.
    pub role: Role,
    /// Default as JSON, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub default: Option<Cow<'static, str>>,
}

fn displayed<S: Serializer>(kind: &ArgKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kind)
}

fn json<S: Serializer>(default: &Option<Cow<'static, str>>, serializer: S) -> Result<S::Ok, S::Error> {
    // A test of the tables verifies that it is JSON.
    let value = default.as_ref().map(|text| serde_json::from_str::<Value>(text).unwrap_or_default());
    value.serialize(serializer)
}

/// An operator's signature: a list of [`Arg`]. [`OperatorSet`](crate::OperatorSet) has an example.
#[derive(Debug, Clone)]
pub struct Signature {
    /// Arguments in the order of the stack.
    pub args: Vec<Arg>,
    /// Type of the result, which follows the arguments on the stack; `None` for operators with outs.
    pub result: Option<Base>,
}

impl Signature {
    /// Returns the out arguments; none for an operator that returns its result or works in place.
    pub fn outs(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|a| a.role == Role::Out)
    }

    /// Returns the position of the argument with this name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.args.iter().position(|arg| arg.name == name)
    }

    /// Returns the position of the argument that the operator writes in place and returns.
    #[doc(hidden)]
    pub fn returned_argument(&self) -> Option<usize> {
        let in_place = self.args.iter().position(|arg| arg.role == Role::InPlace);
        in_place.filter(|_| self.result == Some(Base::Tensor))
    }

    /// Returns the arguments except the outs.
    pub fn ins(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|a| a.role != Role::Out)
    }
}

/// Parses an operator and its signature.
///
/// # Errors
/// The text is malformed. The error describes the malformed part.
pub(super) fn parse_line(line: &str) -> Result<(String, Signature), String> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
    if !name.chars().all(is_valid) || !name.contains("::") {
        return Err(format!("invalid operator name `{name}`, expected `namespace::name.overload`"));
    }
    let signature = parse(rest, |text| Cow::Owned(text.to_owned()))?;
    let mut seen = BTreeSet::new();
    match signature.args.iter().find(|arg| !seen.insert(&*arg.name)) {
        Some(duplicate) => Err(format!("duplicate argument `{}`", duplicate.name)),
        None => Ok((name.to_owned(), signature)),
    }
}

/// Parses a signature. `keep` returns a name or a default as text that the signature may have.
///
/// # Errors
/// The text is malformed. The error describes the malformed part.
pub(super) fn parse<'t>(text: &'t str, keep: impl Fn(&'t str) -> Cow<'static, str>) -> Result<Signature, String> {
    let (args, result) = match text.split_once("->") {
        None => (text, None),
        Some((args, result)) => match result.trim() {
            "" => (args, None),
            letter => (args, Some(base(letter).ok_or_else(|| format!("unknown result type `{letter}`"))?)),
        },
    };
    let args = args.split_whitespace().map(|word| parse_arg(word, &keep)).collect::<Result<Vec<_>, _>>()?;
    if result.is_some() && args.iter().any(|arg| arg.role == Role::Out) {
        return Err("an operator cannot have both outs and a result".into());
    }
    Ok(Signature { args, result })
}

fn parse_arg<'t>(word: &'t str, keep: &impl Fn(&'t str) -> Cow<'static, str>) -> Result<Arg, String> {
    let (name, rest) = word
        .split_once(':')
        .filter(|(name, _)| !name.is_empty())
        .ok_or(format!("invalid argument `{word}`, expected `name:type`"))?;
    let (kind, default) = match rest.split_once('=') {
        Some((kind, default)) => (kind, Some(default)),
        None => (rest, None),
    };
    if let Some(default) = default.filter(|default| serde_json::from_str::<serde_json::Value>(default).is_err()) {
        return Err(format!("the default `{default}` of `{name}` is not valid JSON"));
    }
    let (kind, role) = match (kind.strip_suffix('!'), kind.strip_suffix('&')) {
        (Some(kind), _) => (kind, Role::Out),
        (_, Some(kind)) => (kind, Role::InPlace),
        _ => (kind, Role::In),
    };
    let kind = arg_kind(kind).ok_or_else(|| {
        format!("unknown argument type `{kind}`; expected a letter of docs/rules.md, such as T for Tensor")
    })?;
    if role != Role::In && kind.base != Base::Tensor {
        return Err(format!("`{name}` is written, so its type must be `T`"));
    }
    Ok(Arg { name: keep(name), kind, role, default: default.map(keep) })
}

/// Parses a letter, then `[]` or `?[]` for a list, then `?` if it is optional.
fn arg_kind(text: &str) -> Option<ArgKind> {
    let letter = text.get(..1)?;
    let (list, optional_items, optional) = match &text[1..] {
        "" => (false, false, false),
        "?" => (false, false, true),
        "[]" => (true, false, false),
        "[]?" => (true, false, true),
        "?[]" => (true, true, false),
        "?[]?" => (true, true, true),
        _ => return None,
    };
    Some(ArgKind { base: base(letter)?, list, optional, optional_items })
}

fn base(letter: &str) -> Option<Base> {
    Some(match letter {
        "T" => Base::Tensor,
        "S" => Base::Scalar,
        "i" => Base::Int,
        "f" => Base::Float,
        "b" => Base::Bool,
        "s" => Base::Str,
        "d" => Base::Dtype,
        "m" => Base::MemoryFormat,
        _ => return None,
    })
}

impl fmt::Display for ArgKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (items, list) = (if self.optional_items { "?" } else { "" }, if self.list { "[]" } else { "" });
        write!(f, "{}{items}{list}{}", self.base, if self.optional { "?" } else { "" })
    }
}
