//! The operators that the runtime registers, with their signatures, and the stack a call of each expects.
//!
//! The table (`operators.table`, made by `tools/operators.py`) has one operator a line, ascending by name:
//! `aten::add.out self:T other:T alpha:S=1 out:T!`. A kind is a letter (T Tensor, S Scalar, i int, f float, b bool,
//! s str, d ScalarType, m MemoryFormat), `[]` makes a list of it, `?` lets it be None, `!` marks an out argument,
//! `&` one that is written in place. An operator without outs says its result behind `->`. Who has operators of their own
//! adds lines of the same form ([`OperatorSet`]).
//! Nothing here knows values; filling a stack is [`crate::ir::resolve`]'s work, judging one [`crate::check`]'s.

pub mod kernels;
pub mod kinds;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
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
    pub name: Cow<'static, str>,
    /// Kind.
    pub kind: ArgKind,
    /// Read or written.
    pub role: Role,
    /// Text of the default, if it has one: JSON.
    pub default: Option<Cow<'static, str>>,
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
    parse(lines[at].1, Cow::Borrowed).ok()
}

/// All names, ascending.
pub fn names() -> impl Iterator<Item = &'static str> {
    LINES.iter().map(|(name, _)| *name)
}

/// The operators of the runtime and those that somebody adds.
#[derive(Debug, Clone, Default)]
pub struct OperatorSet {
    added: BTreeMap<String, Signature>,
}

/// A line of added operators that is no operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for LineError {}

impl OperatorSet {
    /// The operators of the runtime alone.
    pub fn new() -> OperatorSet {
        OperatorSet::default()
    }

    /// Adds operators, one a line in the form of the table; empty lines and lines that begin with `#` say nothing. A name
    /// that is there already gets the new signature.
    ///
    /// # Errors
    /// Every line that is no operator. The others are added all the same.
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

    /// The signature of `name` (`aten::add.out`), if it is known.
    pub fn find(&self, name: &str) -> Option<Signature> {
        self.added.get(name).cloned().or_else(|| find(name))
    }
}

fn parse_line(line: &str) -> Result<(String, Signature), String> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
    if !name.chars().all(plain) || !name.contains("::") {
        return Err(format!("`{name}` is no name of an operator; one is written namespace::name.overload"));
    }
    let signature = parse(rest, |text| Cow::Owned(text.to_owned()))?;
    let mut seen = std::collections::BTreeSet::new();
    match signature.args.iter().find(|arg| !seen.insert(&*arg.name)) {
        Some(twice) => Err(format!("there are two arguments `{}`", twice.name)),
        None => Ok((name.to_owned(), signature)),
    }
}

fn parse<'t>(text: &'t str, keep: impl Fn(&'t str) -> Cow<'static, str>) -> Result<Signature, String> {
    let (args, result) = match text.split_once("->") {
        None => (text, None),
        Some((args, result)) => match result.trim() {
            "" => (args, None),
            letter => (args, Some(base(letter).ok_or_else(|| format!("`{letter}` is no kind of result"))?)),
        },
    };
    let args = args.split_whitespace().map(|word| parse_arg(word, &keep)).collect::<Result<Vec<_>, _>>()?;
    if result.is_some() && args.iter().any(|arg| arg.role == Role::Out) {
        return Err("an operator has outs or a result, not both".into());
    }
    Ok(Signature { args, result })
}

fn parse_arg<'t>(word: &'t str, keep: &impl Fn(&'t str) -> Cow<'static, str>) -> Result<Arg, String> {
    let (name, rest) =
        word.split_once(':').filter(|(name, _)| !name.is_empty()).ok_or(format!("`{word}` is not name:kind"))?;
    let (kind, default) = match rest.split_once('=') {
        Some((kind, default)) => (kind, Some(default)),
        None => (rest, None),
    };
    if let Some(default) = default.filter(|default| serde_json::from_str::<serde_json::Value>(default).is_err()) {
        return Err(format!("the default `{default}` of `{name}` is no JSON"));
    }
    let (kind, role) = match (kind.strip_suffix('!'), kind.strip_suffix('&')) {
        (Some(kind), _) => (kind, Role::Out),
        (_, Some(kind)) => (kind, Role::InPlace),
        _ => (kind, Role::In),
    };
    let kind = arg_kind(kind).ok_or_else(|| format!("`{kind}` is no kind of argument"))?;
    if role != Role::In && kind.base != Base::Tensor {
        return Err(format!("`{name}` is written, so it must be a tensor"));
    }
    Ok(Arg { name: keep(name), kind, role, default: default.map(keep) })
}

/// A letter, then `[]` or `?[]` for a list, then `?` if it may be None.
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
                if let Some(default) = &arg.default {
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
    fn what_is_no_operator_is_an_error_with_its_line() {
        let cases = [
            ("scale self:T", "`scale` is no name"),
            ("m::a self", "`self` is not name:kind"),
            ("m::a :T", "`:T` is not name:kind"),
            ("m::a x:Q", "`Q` is no kind of argument"),
            ("m::a x:", "`` is no kind of argument"),
            ("m::a x:é", "`é` is no kind of argument"),
            ("m::a x:T[", "`T[` is no kind of argument"),
            ("m::a x:i=two", "the default `two` of `x` is no JSON"),
            ("m::a x:i!", "`x` is written"),
            ("m::a x:T -> QQ", "`QQ` is no kind of result"),
            ("m::a x:T out:T! -> T", "outs or a result"),
            ("m::a x:T x:T", "two arguments `x`"),
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
