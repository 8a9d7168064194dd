//! How single things are written in YAML: names, texts, numbers. Everything is written on one line, in flow style.

use crate::program::number::Number;

/// A text as a plain word if that is safe anywhere, else in double quotes, which JSON and YAML share.
pub fn text(text: &str) -> String {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
        && text.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    // What a parser takes for something else, in YAML 1.1 or 1.2.
    const TAKEN: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let taken = TAKEN.iter().any(|taken| text.eq_ignore_ascii_case(taken));
    // The one-letter ones are names that people like; only old parsers mistake them, and ours is told not to.
    if plain && (!taken || text == "y" || text == "n") {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

/// An operator's name, whose colons are safe.
pub fn operator(name: &str) -> String {
    let parts: Vec<&str> = name.split("::").collect();
    match parts.iter().all(|part| self::text(part) == *part) {
        true => name.to_owned(),
        false => serde_json::Value::from(name).to_string(),
    }
}

/// A number that reads back as the same, as a Double.
pub fn double(x: f64) -> String {
    if x.is_nan() {
        ".nan".into()
    } else if x.is_infinite() {
        if x > 0.0 { ".inf".into() } else { "-.inf".into() }
    } else {
        format!("{x:?}")
    }
}

/// A number of a tensor, as short as its type allows: `single` for types whose numbers a float32 holds.
pub fn element(number: Number, single: bool) -> String {
    match number {
        Number::Float(x) if x.is_finite() => {
            let short = if single { format!("{:?}", x as f32) } else { format!("{x:?}") };
            short.strip_suffix(".0").filter(|short| *short != "-0").map_or(short.clone(), str::to_owned)
        }
        Number::Float(x) => double(x),
        Number::Complex(re, im) => format!("{re:?}{im:+?}j"),
        other => other.to_string(),
    }
}

/// Items in brackets.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_words_are_plain() {
        assert_eq!(text("l.weight"), "l.weight");
        assert_eq!(text("yes"), "\"yes\"");
        assert_eq!(text("0.weight"), "\"0.weight\"");
        assert_eq!(text("a b"), "\"a b\"");
        assert_eq!(text(""), "\"\"");
        assert_eq!(operator("aten::add.out"), "aten::add.out");
        assert_eq!(operator("aten::copy_"), "aten::copy_");
    }

    #[test]
    fn elements_are_short() {
        assert_eq!(element(Number::Float(f64::from(0.1f32)), true), "0.1");
        assert_eq!(element(Number::Float(-0.0), true), "-0.0");
        assert_eq!(element(Number::Float(3.0), false), "3");
        assert_eq!(element(Number::Int(7), false), "7");
    }
}
