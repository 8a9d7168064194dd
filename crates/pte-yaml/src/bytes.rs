//! Numbers of bytes with a unit, and their decimal numbers.

use pte_model::diagnostics::clipped;

/// Parses a number of bytes: `262144`, `256K`, `1.5MiB`, with units that are powers of 1024. `None` for anything else.
///
/// ```
/// use pte_yaml::bytes::parse_bytes;
///
/// assert_eq!((parse_bytes("4K"), parse_bytes("1.5K")), (Some(4096), Some(1536)));
/// assert_eq!((parse_bytes("many"), parse_bytes("")), (None, None));
/// ```
pub fn parse_bytes(text: &str) -> Option<u64> {
    bytes(text).ok()
}

/// Units of byte counts, and the powers of two that they are.
#[doc(hidden)]
pub const UNITS: [(&str, u32); 10] =
    [("", 0), ("B", 0), ("K", 10), ("KiB", 10), ("M", 20), ("MiB", 20), ("G", 30), ("GiB", 30), ("T", 40), ("TiB", 40)];

/// Millionths in one.
#[doc(hidden)]
pub const MILLION: i128 = 1_000_000;

/// Splits a number from its unit.
#[doc(hidden)]
pub fn unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// Returns the message about a unit that there is not. `others` precedes the units of bytes.
#[doc(hidden)]
pub fn unknown_unit(unit: &str, others: &str) -> String {
    let names: Vec<&str> = UNITS[1..].iter().map(|(name, _)| *name).collect();
    let meant = unit.chars().next().map(|first| first.to_ascii_uppercase().to_string()).unwrap_or_default();
    let meant = names.iter().find(|name| **name == meant).map(|name| format!("; did you mean `{name}`?"));
    let (unit, names) = (clipped(unit), names.join(", "));
    format!("unknown unit `{unit}`, expected {others}one of {names}{}", meant.unwrap_or_default())
}

/// Parses a number of bytes: `262144`, `256K`, `1.5MiB`.
///
/// # Errors
/// A message with the expected form.
#[doc(hidden)]
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = unit(text);
    if number.is_empty() {
        return Err("expected a number of bytes, such as 4096, 256K or 1.5MiB".to_owned());
    }
    let millionths = millionths(number)?;
    let Some((_, shift)) = UNITS.iter().find(|(name, _)| *name == unit) else { return Err(unknown_unit(unit, "")) };
    if matches!(unit, "" | "B") && millionths % MILLION != 0 {
        return Err("expected a whole number of bytes".to_owned());
    }
    u64::try_from((millionths << shift) / MILLION).map_err(|_| "the number is too large".to_owned())
}

/// Parses a decimal number as millionths.
///
/// # Errors
/// A message with the expected form.
#[doc(hidden)]
pub fn millionths(number: &str) -> Result<i128, String> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(format!("`{}` is not a number", clipped(number)));
    }
    if fraction.len() > 6 {
        return Err("more than six digits after the decimal point".to_owned());
    }
    let too_large = |_| "the number is too large".to_owned();
    let whole: u64 = whole.parse().map_err(too_large)?;
    let fraction: u64 = format!("{fraction:0<6}").parse().map_err(too_large)?;
    Ok(i128::from(whole) * MILLION + i128::from(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("1.5K"), Ok(1536));
        assert_eq!(bytes("256 KiB"), Ok(256 << 10));
        assert_eq!(bytes("16777215T"), Ok(16_777_215 << 40));
        for (text, expected) in [
            ("", "a number of bytes"),
            ("-1", "a number of bytes"),
            ("1.5", "a whole number"),
            ("4KB", "unknown unit `KB`, expected one of B, K"),
            ("16777216T", "too large"),
            ("99999999999999999999", "too large"),
        ] {
            let error = bytes(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
