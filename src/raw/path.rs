//! Paths to places of a file as a text writes them: `methods.forward.values[3].sizes`, `header.program_size`.
//!
//! What there is at a path, `super::place` knows.

use std::fmt;

/// The way to a place, from the root table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(pub Vec<Step>);

/// A step on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into a field, or to the item of that name.
    Name(String),
    /// To an item.
    Index(usize),
}

impl Path {
    /// Parses a path: names between dots, in double quotes if they are no plain words, and numbers in brackets.
    ///
    /// # Errors
    /// What was expected where.
    pub fn parse(text: &str) -> Result<Path, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            if let Some(quoted) = rest.strip_prefix('"') {
                let Some((name, behind)) = quoted.split_once('"') else {
                    return Err(format!("the quote in `{rest}` has no end"));
                };
                steps.push(Step::Name(name.to_owned()));
                rest = behind;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, behind) = rest.split_at(end);
                if name.is_empty() {
                    return Err(format!("expected a name at the start of `{rest}`"));
                }
                steps.push(Step::Name(name.to_owned()));
                rest = behind;
            }
            while let Some(bracket) = rest.strip_prefix('[') {
                let number = bracket.split_once(']').and_then(|(digits, behind)| Some((digits.parse().ok()?, behind)));
                let Some((index, behind)) = number else {
                    return Err(format!("expected a number and `]` in `{rest}`"));
                };
                steps.push(Step::Index(index));
                rest = behind;
            }
            match rest.strip_prefix('.') {
                Some(behind) => rest = behind,
                None if rest.is_empty() => return Ok(Path(steps)),
                None => return Err(format!("expected `.` or `[` before `{rest}`")),
            }
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            let dot = if position == 0 { "" } else { "." };
            match step {
                Step::Name(name) if name.is_empty() || name.contains(['.', '[']) => write!(f, "{dot}\"{name}\"")?,
                Step::Name(name) => write!(f, "{dot}{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_they_say() {
        for text in ["root", "methods.forward.values[3].sizes[0]", "methods.\"a.b\".values.x", "a[0][1].@vtable.b"] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "a.", ".a", "a[", "a[x]", "a[-1]", "\"a", "a[0]b", "a[99999999999999999999]"] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }
}
