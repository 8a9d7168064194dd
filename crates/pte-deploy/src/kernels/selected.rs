//! `selected_operators.yaml`: what `gen_oplist` of ExecuTorch writes, and its other scripts read. The text is that of
//! PyYAML, as far as names are ordinary.

use std::fmt::Write;

use super::list::{KernelList, KernelUse};

/// Length of a key from which on YAML needs a `?` before it: at most 1024 characters are allowed without.
const LONG_KEY: usize = 120;

/// Returns the document. Of several programs, `debug_info` of an operator lists those that need it.
pub fn yaml(list: &KernelList) -> String {
    let mut out = "build_features: []\ncustom_classes: []\n".to_owned();
    let called: Vec<&KernelUse> = list.operators.iter().filter(|operator| !operator.variants.is_empty()).collect();
    out += if called.is_empty() { "et_kernel_metadata: {}\n" } else { "et_kernel_metadata:\n" };
    for operator in called {
        let (key, indent) = key(&operator.name, "\n  ", "    ");
        let items: Vec<String> = operator.variants.iter().map(|variant| format!("- {}", scalar(variant))).collect();
        let _ = writeln!(out, "{key}{}", items.join(&format!("\n{indent}")));
    }
    out += "include_all_non_op_selectives: false\ninclude_all_operators: false\nkernel_metadata: {}\n";
    out += if list.operators.is_empty() { "operators: {}\n" } else { "operators:\n" };
    for operator in &list.operators {
        let (key, _) = key(&operator.name, "\n    ", "    ");
        let programs = operator.programs.iter().filter_map(|program| list.programs.get(*program));
        let programs: String = programs.map(|program| format!("    - {}\n", scalar(program))).collect();
        let _ = write!(out, "{key}debug_info:\n{programs}    include_all_overloads: false\n");
        out += "    is_root_operator: true\n    is_used_for_training: true\n";
    }
    out
}

/// Returns a key with what is between it and its value, and the indentation of the further lines of the value. `short`
/// begins the value of an ordinary key on the next line.
fn key(name: &str, short: &'static str, long: &'static str) -> (String, &'static str) {
    let name = scalar(name);
    match name.len() <= LONG_KEY {
        true => (format!("  {name}:{short}"), short.trim_start_matches('\n')),
        false => (format!("  ? {name}\n  : "), long),
    }
}

/// Returns a string as a scalar: plain if it cannot be read as anything else, otherwise in double quotes.
fn scalar(text: &str) -> String {
    let is_word = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | b'/' | b';' | b',' | b'|' | b'-')
    };
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '/'));
    // Words without such a character may be booleans or null.
    let is_string = text.contains(|c: char| matches!(c, ':' | '.' | '/') || c.is_ascii_digit());
    if begins && is_string && text.bytes().all(is_word) && !text.ends_with(':') {
        return text.to_owned();
    }
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02X}"),
                    0x100..=0xffff => write!(out, "\\u{code:04X}"),
                    _ => write!(out, "\\U{code:08X}"),
                };
            }
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::scalar;

    #[test]
    fn strings_are_quoted_if_they_could_be_anything_else() {
        for text in ["aten::add.out", "v1/6;0,1|3;0", "v1", "/a/b.pte"] {
            assert_eq!(scalar(text), text);
        }
        for (text, quoted) in [("", "\"\""), ("no", "\"no\""), ("x:", "\"x:\""), ("1e5", "\"1e5\""), ("- a", "\"- a\"")]
        {
            assert_eq!(scalar(text), quoted);
        }
        assert_eq!(scalar("a\"\\\n\u{2028}\u{1d173}"), "\"a\\\"\\\\\\x0A\\u2028\\U0001D173\"");
    }
}
