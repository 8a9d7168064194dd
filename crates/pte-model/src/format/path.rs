//! Paths of fields such as `methods.forward.values[3].sizes` and `header.program_size`: their grammar, parser and
//! rendering.
//!
//! Finding the bytes at a path is left to the users of this module.

use std::fmt;

/// Steps from the root table to a field or an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(pub Vec<PathStep>);

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// A field, or the item with that name.
    Name(String),
    /// The item at this index.
    Index(usize),
}

impl FieldPath {
    /// Parses a path: names separated by dots, in double quotes unless they are words, and indices in brackets.
    ///
    /// # Errors
    /// A message with the expected token and the rest of the path.
    pub fn parse(text: &str) -> Result<FieldPath, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            if let Some(quoted) = rest.strip_prefix('"') {
                let Some((name, behind)) = quoted.split_once('"') else {
                    return Err(format!("unterminated quote in `{rest}`"));
                };
                steps.push(PathStep::Name(name.to_owned()));
                rest = behind;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, behind) = rest.split_at(end);
                if name.is_empty() {
                    return Err(format!("expected a name at the start of `{rest}`"));
                }
                steps.push(PathStep::Name(name.to_owned()));
                rest = behind;
            }
            while let Some(bracket) = rest.strip_prefix('[') {
                let number = bracket.split_once(']').and_then(|(digits, behind)| Some((digits.parse().ok()?, behind)));
                let Some((index, behind)) = number else {
                    return Err(format!("expected a number and `]` in `{rest}`"));
                };
                steps.push(PathStep::Index(index));
                rest = behind;
            }
            match rest.strip_prefix('.') {
                Some(behind) => rest = behind,
                None if rest.is_empty() => return Ok(FieldPath(steps)),
                None => return Err(format!("expected `.` or `[` before `{rest}`")),
            }
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            let dot = if position == 0 { "" } else { "." };
            match step {
                // Structural words such as `@length` begin with `@`.
                PathStep::Name(name) if name.starts_with('@') => write!(f, "{dot}{name}")?,
                PathStep::Name(name) => match name_step(name) {
                    Some(step) => write!(f, "{dot}{step}")?,
                    None => write!(f, "{dot}\"{name}\"")?,
                },
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A step from a table to one of its fields, or from a vector to one of its items, by schema names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaStep {
    /// A field of a table.
    Field(&'static str),
    /// An item of a vector.
    Item(usize),
}

/// A path built on the stack while tables are visited: it allocates only when a finding is reported.
#[derive(Debug, Clone, Copy)]
pub struct Trail<'p> {
    above: Option<&'p Trail<'p>>,
    /// `None` for the root.
    step: Option<SchemaStep>,
}

impl Trail<'static> {
    /// The root table.
    pub const ROOT: Trail<'static> = Trail { above: None, step: None };
}

impl<'p> Trail<'p> {
    /// Extends the path by a field.
    pub fn field(&'p self, name: &'static str) -> Trail<'p> {
        Trail { above: Some(self), step: Some(SchemaStep::Field(name)) }
    }

    /// Extends the path by an item.
    pub fn item(&'p self, index: usize) -> Trail<'p> {
        Trail { above: Some(self), step: Some(SchemaStep::Item(index)) }
    }

    /// Returns the steps from the root.
    pub fn steps(&self) -> Vec<SchemaStep> {
        let mut steps: Vec<SchemaStep> = self.step.into_iter().collect();
        let mut path = self.above;
        while let Some(above) = path {
            steps.extend(above.step);
            path = above.above;
        }
        steps.reverse();
        steps
    }
}

/// Properties of a file's methods that its paths depend on: names, and single chains, which paths omit.
pub trait Methods {
    /// Appends the first steps of a method: `methods.forward`.
    fn write_name(&self, index: usize, out: &mut Vec<u8>);
    /// Returns `true` if the method has exactly one chain.
    fn has_one_chain(&self, index: usize) -> bool;
}

/// Returns the name of a field in paths; `None` for the value of a union, which only the last step of a path names.
fn field_name(name: &str, last: bool) -> Option<&str> {
    match name {
        "execution_plan" => Some("methods"),
        "xvalues" => Some("values"),
        "xnodes" => Some("nodes"),
        "val" | "instr_args" | "xvalue_union" | "xnode_union" | "quant_params" if !last => None,
        name => Some(name),
    }
}

/// Appends the path of the steps. With `open`, a field name will follow, so the value of a union is left out.
pub fn write(steps: &[SchemaStep], open: bool, methods: &dyn Methods, out: &mut Vec<u8>) {
    let start = out.len();
    let mut method = None;
    let mut position = 0;
    while let Some(step) = steps.get(position) {
        position += 1;
        let last = position == steps.len() && !open;
        match (*step, steps.get(position)) {
            (SchemaStep::Field("execution_plan"), Some(SchemaStep::Item(index))) => {
                position += 1;
                method = Some(*index);
                methods.write_name(*index, out);
            }
            (SchemaStep::Field("chains"), Some(SchemaStep::Item(_)))
                if (open || position + 1 < steps.len())
                    && method.is_some_and(|method| methods.has_one_chain(method)) =>
            {
                position += 1;
            }
            (SchemaStep::Field(name), _) => {
                if let Some(name) = field_name(name, last) {
                    write_field(name, start, out);
                }
            }
            (SchemaStep::Item(index), _) => write_item(index as u64, out),
        }
    }
}

/// Appends a field to the path that begins at `out[start]`.
pub fn write_field(name: &str, start: usize, out: &mut Vec<u8>) {
    if out.len() > start {
        out.push(b'.');
    }
    out.extend_from_slice(name.as_bytes());
}

/// Appends an index in brackets.
pub fn write_item(index: u64, out: &mut Vec<u8>) {
    out.push(b'[');
    write_decimal(index, out);
    out.push(b']');
}

/// Appends decimal digits. `annotate` writes millions of numbers, for which `write!` is too slow.
pub fn write_decimal(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

impl FieldPath {
    /// Converts steps by schema names to a path.
    pub fn of(steps: &[PathStep]) -> FieldPath {
        let step = |(position, step): (usize, &PathStep)| match step {
            PathStep::Name(name) => {
                field_name(name, position + 1 == steps.len()).map(|name| PathStep::Name(name.to_owned()))
            }
            PathStep::Index(index) => Some(PathStep::Index(*index)),
        };
        FieldPath(steps.iter().enumerate().filter_map(step).collect())
    }
}

/// Maximum length in bytes of a method name in paths. Methods with longer names are referred to by index.
const MAX_NAME: usize = 100;

/// Number of methods that paths refer to by name. Later ones are referred to by index.
const MAX_METHODS: usize = 1000;

/// Returns a name as a step of a path: a word, or in double quotes. `None` for a name with quotes, backslashes or
/// characters that need escapes.
pub fn name_step(name: &str) -> Option<String> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    if !name.is_empty() && name.chars().all(word) {
        return Some(name.to_owned());
    }
    let quoted = format!("{name:?}");
    (quoted.len() == name.len() + 2 && !name.contains('"')).then_some(quoted)
}

/// The first steps of the path of a method: `methods.forward`, `methods."a-b"`, or `methods[2]` where the name is
/// absent, long, not unique or not printable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MethodName {
    /// Name, quoted if necessary.
    Name(String),
    /// Index.
    Index(usize),
}

impl MethodName {
    /// Returns the path of the method at `index` of `count` methods; `name` returns the name of each.
    pub fn of<'n>(count: usize, name: impl Fn(usize) -> Option<&'n [u8]>, index: usize) -> MethodName {
        let own = if index < MAX_METHODS { name(index).filter(|name| name.len() <= MAX_NAME) } else { None };
        let unique = |own: &&[u8]| (0..count.min(MAX_METHODS)).filter(|other| name(*other) == Some(own)).count() < 2;
        let own = own.filter(unique).and_then(|name| std::str::from_utf8(name).ok());
        match own.and_then(name_step) {
            Some(name) => MethodName::Name(name),
            None => MethodName::Index(index),
        }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MethodName::Name(name) => write!(f, "methods.{name}"),
            MethodName::Index(index) => write!(f, "methods[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip() {
        for text in ["root", "methods.forward.values[3].sizes[0]", "methods.\"a.b\".values.x", "a[0][1].@vtable.b"] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "a.", ".a", "a[", "a[x]", "a[-1]", "\"a", "a[0]b", "a[99999999999999999999]"] {
            assert!(FieldPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn unions_and_single_chains_are_left_out_of_paths() {
        struct SingleChain;
        impl Methods for SingleChain {
            fn write_name(&self, index: usize, out: &mut Vec<u8>) {
                out.extend_from_slice(format!("methods.m{index}").as_bytes());
            }
            fn has_one_chain(&self, index: usize) -> bool {
                index == 0
            }
        }
        use SchemaStep::{Field, Item};
        let path = |steps: &[SchemaStep], open| {
            let mut out = Vec::new();
            write(steps, open, &SingleChain, &mut out);
            String::from_utf8(out).unwrap()
        };
        let args = |method| {
            let chain = [Field("execution_plan"), Item(method), Field("chains"), Item(0), Field("instructions")];
            [&chain[..], &[Item(3), Field("instr_args"), Field("args"), Item(12)]].concat()
        };
        assert_eq!(path(&args(0), false), "methods.m0.instructions[3].args[12]");
        assert_eq!(path(&args(1), false), "methods.m1.chains[0].instructions[3].args[12]");
        assert_eq!(path(&args(0)[..7], false), "methods.m0.instructions[3].instr_args");
        assert_eq!(path(&args(0)[..7], true), "methods.m0.instructions[3]");
        assert_eq!(path(&args(0)[..4], false), "methods.m0.chains[0]");
        assert_eq!(path(&args(0)[..4], true), "methods.m0");
        assert_eq!(path(&args(0)[..1], false), "methods");
        let steps = ["execution_plan", "values"].map(|name| PathStep::Name(name.to_owned()));
        assert_eq!(FieldPath::of(&steps).to_string(), "methods.values");
    }

    #[test]
    fn methods_appear_by_unique_printable_names() {
        let names = ["forward", "a-b", "a\"b", "same", "same", "", "a\u{1b}b"];
        let name = |index: usize| names.get(index).map(|name| name.as_bytes());
        let shown: Vec<String> = (0..8).map(|index| MethodName::of(8, name, index).to_string()).collect();
        let expected = [
            "methods.forward",
            "methods.\"a-b\"",
            "methods[2]",
            "methods[3]",
            "methods[4]",
            "methods.\"\"",
            "methods[6]",
            "methods[7]",
        ];
        assert_eq!(shown, expected);
    }
}
