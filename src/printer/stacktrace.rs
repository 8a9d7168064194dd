//! Finds the submodule of an instruction by the lines of code in its stack trace: `first_fc` for a line `self.first(x)`
//! that calls a line `self.fc(x)`. It only suggests names; nothing else depends on it.

use pte_model::program::StackFrame;

/// Name of the variable that containers call for each submodule. It says nothing about the submodule.
const ANY: &str = "module";

/// Returns the attributes that the frames call, outermost first; `None` if no line calls exactly one.
pub fn submodule(frames: &[StackFrame]) -> Option<String> {
    // The last frame calls the operator.
    let (_, callers) = frames.split_last()?;
    let names = callers.iter().filter_map(|frame| called(frame.context.as_deref()?)).filter(|name| *name != ANY);
    let path: Vec<&str> = names.collect();
    (!path.is_empty()).then(|| path.join("_"))
}

/// Returns the attribute of `self`, or otherwise the variable, that a line calls; `None` if it calls none or several.
fn called(line: &str) -> Option<&str> {
    let mut attributes = calls(line).filter_map(|callee| callee.strip_prefix("self."));
    let mut variables = calls(line).filter(|callee| !callee.contains('.'));
    let name = match (attributes.next(), attributes.next()) {
        (Some(name), None) => name,
        (Some(_), Some(_)) => return None,
        (None, _) => variables.next().filter(|_| variables.next().is_none() && calls(line).count() == 1)?,
    };
    // `self.blocks.0(x)` is not Python; `self.a.b(x)` names both.
    let is_word =
        |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic()) && !line.trim_start().starts_with("def ");
    name.split('.').all(is_word).then(|| name.rsplit('.').next().unwrap_or(name))
}

/// Returns the names, with dots, before the opening parentheses of a line.
fn calls(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('(').filter_map(|(end, _)| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let start = line[..end].char_indices().rev().find(|(_, c)| !is_part(*c)).map_or(0, |(at, c)| at + c.len_utf8());
        Some(&line[start..end]).filter(|callee| !callee.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(lines: &[&str]) -> Option<String> {
        let frame = |line: &&str| StackFrame { context: Some((*line).to_owned()), ..StackFrame::default() };
        submodule(&lines.iter().map(frame).collect::<Vec<_>>())
    }

    #[test]
    fn lines_that_call_one_attribute_are_the_path() {
        let linear = "return F.linear(input, self.weight, self.bias)";
        assert_eq!(named(&["x = self.first(x)", "return self.norm(x)", linear]).as_deref(), Some("first_norm"));
        assert_eq!(named(&["x = layer(x)", "x = self.fc(x)", linear]).as_deref(), Some("layer_fc"));
        assert_eq!(named(&["input = module(input)", linear]), None);
        assert_eq!(named(&["y = torch.relu(self.block.fc(x))", linear]).as_deref(), Some("fc"));
        // It may be either of them, or the operator itself.
        assert_eq!(named(&["return self.a(x) + self.b(x)", linear]), None);
        assert_eq!(named(&["return torch.relu(x)"]), None);
        assert_eq!(named(&["def forward(s, x): return s.l(x)", linear]), None);
        assert_eq!(named(&["(((", "self.(x)", "é(x)", linear]), None);
        assert_eq!(named(&[]), None);
    }
}
