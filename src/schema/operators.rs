//! The operators that the runtime registers, with their signatures, and the stack a call of each expects.
//!
//! The table (`operators.table`, made by `tools/operators.py`) has one operator a line, ascending by name:
//! `aten::add.out self:T other:T alpha:S=1 out:T!`. A kind is a letter (T Tensor, S Scalar, i int, f float, b bool,
//! s str, d ScalarType, m MemoryFormat), `[]` makes a list of it, `?` lets it be None, `!` marks an out argument,
//! `&` one that is written in place. An operator without outs says its result behind `->`.
//! Nothing here knows values; filling a stack is [`crate::ir::resolve`]'s work.

use std::sync::LazyLock;

/// The letter of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// `Tensor`
    Tensor,
    /// `Scalar`: int, float or bool.
    Scalar,
    /// `int` or `SymInt`
    Int,
    /// `float`
    Float,
    /// `bool`
    Bool,
    /// `str`
    Str,
    /// `ScalarType`, an Int on the stack.
    Dtype,
    /// `MemoryFormat`, an Int on the stack.
    MemoryFormat,
}

/// Kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgKind {
    /// Kind of the argument, or of the list's items.
    pub base: Base,
    /// A list.
    pub list: bool,
    /// The argument may be None.
    pub optional: bool,
    /// The list's items may be None.
    pub optional_items: bool,
}

/// What a call does with an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads it.
    In,
    /// Writes it, and reads it too: the operator works in place.
    InPlace,
    /// Writes it: an out variant's out.
    Out,
}

/// An argument of an operator.
#[derive(Debug, Clone)]
pub struct Arg {
    /// Name in the schema.
    pub name: &'static str,
    /// Kind.
    pub kind: ArgKind,
    /// Read or written.
    pub role: Role,
    /// Text of the default, if it has one: JSON.
    pub default: Option<&'static str>,
}

/// An operator's signature.
#[derive(Debug, Clone)]
pub struct Signature {
    /// Arguments in the order of the stack.
    pub args: Vec<Arg>,
    /// For an operator without outs: what follows the arguments as its result.
    pub result: Option<Base>,
}

impl Signature {
    /// The out arguments; empty for an operator that returns its result or works in place.
    pub fn outs(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|a| a.role == Role::Out)
    }

    /// The arguments a caller states: all but the outs.
    pub fn ins(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|a| a.role != Role::Out)
    }
}

static LINES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    include_str!("operators.table").lines().map(|line| line.split_once(' ').unwrap_or((line, ""))).collect()
});

/// The signature of `name` (`aten::add.out`), if the runtime registers such an operator.
pub fn find(name: &str) -> Option<Signature> {
    let lines = &*LINES;
    let at = lines.binary_search_by(|(n, _)| (*n).cmp(name)).ok()?;
    Some(parse(lines[at].1))
}

/// All names, ascending.
pub fn names() -> impl Iterator<Item = &'static str> {
    LINES.iter().map(|(name, _)| *name)
}

fn parse(text: &'static str) -> Signature {
    let (args, result) = match text.split_once("->") {
        Some((args, result)) => (args, result.trim().bytes().next().map(base)),
        None => (text, None),
    };
    Signature { args: args.split_whitespace().map(parse_arg).collect(), result }
}

fn parse_arg(word: &'static str) -> Arg {
    let (name, rest) = word.split_once(':').expect("the table's words are name:kind");
    let (kind, default) = match rest.split_once('=') {
        Some((kind, default)) => (kind, Some(default)),
        None => (rest, None),
    };
    let role = match kind.chars().last() {
        Some('!') => Role::Out,
        Some('&') => Role::InPlace,
        _ => Role::In,
    };
    let kind = kind.trim_end_matches(['!', '&']);
    let base = base(kind.as_bytes()[0]);
    let list = kind.contains("[]");
    let kind =
        ArgKind { base, list, optional: kind.len() > 1 && kind.ends_with('?'), optional_items: kind.contains("?[]") };
    Arg { name, kind, role, default }
}

fn base(letter: u8) -> Base {
    match letter {
        b'T' => Base::Tensor,
        b'S' => Base::Scalar,
        b'i' => Base::Int,
        b'f' => Base::Float,
        b'b' => Base::Bool,
        b's' => Base::Str,
        b'd' => Base::Dtype,
        b'm' => Base::MemoryFormat,
        _ => unreachable!("the table is part of the program and tested"),
    }
}

impl std::fmt::Display for ArgKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let base = match self.base {
            Base::Tensor => "Tensor",
            Base::Scalar => "Scalar",
            Base::Int => "int",
            Base::Float => "float",
            Base::Bool => "bool",
            Base::Str => "str",
            Base::Dtype => "ScalarType",
            Base::MemoryFormat => "MemoryFormat",
        };
        let (items, list) = (if self.optional_items { "?" } else { "" }, if self.list { "[]" } else { "" });
        write!(f, "{base}{items}{list}{}", if self.optional { "?" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_parses_and_the_table_is_sorted() {
        let all: Vec<_> = names().collect();
        assert_eq!(all.len(), 259);
        assert!(all.windows(2).all(|w| w[0] < w[1]));
        for name in all {
            let signature = find(name).unwrap();
            for arg in &signature.args {
                if let Some(default) = arg.default {
                    serde_json::from_str::<serde_json::Value>(default).expect(name);
                }
            }
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        let index = find("aten::index.Tensor_out").unwrap();
        assert_eq!(index.args[1].kind.to_string(), "Tensor?[]");
        let upsample = find("aten::upsample_nearest2d.vec_out").unwrap();
        assert_eq!(upsample.args[1].kind.to_string(), "int[]?");
        let copy = find("aten::copy_").unwrap();
        assert_eq!((copy.args[0].role, copy.result, copy.outs().count()), (Role::InPlace, Some(Base::Tensor), 0));
        assert!(find("aten::nonsense").is_none());
    }
}
