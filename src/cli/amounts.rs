//! Limits of `--max` and `--budget`: lists of `KEY=LIMIT`.

use pte_emit::command::text::clipped;

/// Splits `a=1,b=2` into keys and limits. `example` is a part for messages.
///
/// # Errors
/// A message with the expected form.
pub fn pairs<'t>(text: &'t str, example: &str) -> Result<Vec<(&'t str, &'t str)>, String> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for part in text.split(',') {
        let (key, limit) = part.split_once('=').ok_or_else(|| match part.trim() {
            "" => "nothing where a KEY=LIMIT is expected: a comma too many?".to_owned(),
            part => format!("`{part}`: expected KEY=LIMIT, such as {example}"),
        })?;
        let key = key.trim();
        if pairs.iter().any(|(other, _)| *other == key) {
            return Err(format!("duplicate key `{key}`"));
        }
        pairs.push((key, limit.trim()));
    }
    Ok(pairs)
}

/// Returns the message about a key that there is not.
pub fn unknown_key(key: &str, names: impl Iterator<Item = &'static str>) -> String {
    format!("unknown key `{}`; expected one of {}", clipped(key), names.collect::<Vec<_>>().join(", "))
}
