//! Names of sections of object files.

use std::fmt;

/// Longest name of a segment or a section of Mach-O, in bytes.
const MACH_O: usize = 16;

/// Longest name that is accepted for ELF, whose format has no limit, in bytes.
const ELF: usize = 255;

/// Section of an object file: a name for ELF, or `SEGMENT,SECTION` for Mach-O.
///
/// ```
/// use pte_deploy::embed::Section;
///
/// assert!(!Section::new(".flash.model")?.is_mach_o());
/// let section = Section::new("__TEXT,__const")?;
/// assert!(section.is_mach_o());
/// assert_eq!(section.as_str(), "__TEXT,__const");
/// assert!(Section::new("a\"b").is_err() && Section::new(".bss").is_err());
/// # Ok::<(), pte_deploy::embed::SectionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section(String);

/// Text that is not the name of a [`Section`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionError {
    text: String,
    reason: String,
}

impl Section {
    /// Accepts a name of ASCII letters, digits, `_`, `.`, `-` and `$`, of at most 255 bytes; or two of them with a
    /// comma between, of at most 16 bytes each, as Mach-O stores them.
    ///
    /// # Errors
    /// Any other text.
    pub fn new(text: &str) -> Result<Section, SectionError> {
        let error = |reason: String| Err(SectionError { text: text.to_owned(), reason });
        let parts: Vec<&str> = text.split(',').collect();
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_.-$".contains(c);
        if parts.iter().any(|part| part.is_empty()) {
            return error("a name is empty".to_owned());
        }
        if let Some(other) = text.chars().find(|c| !is_word(*c) && *c != ',') {
            return error(format!(
                "it contains `{}`: expected letters, digits, `_`, `.`, `-` and `$`",
                other.escape_debug()
            ));
        }
        match &parts[..] {
            [".bss"] => error("a section of this name has no content: expected one for constants".to_owned()),
            [name] if name.starts_with(".bss.") => {
                error("sections whose names begin with `.bss.` have no content: expected one for constants".to_owned())
            }
            [name] if name.len() > ELF => error(format!("it has {} bytes; at most {ELF} are supported", name.len())),
            [_] => Ok(Section(text.to_owned())),
            [segment, section] => match [segment, section].into_iter().find(|part| part.len() > MACH_O) {
                Some(long) => error(format!("`{long}` has {} bytes; Mach-O stores at most {MACH_O}", long.len())),
                None => Ok(Section(text.to_owned())),
            },
            _ => error("it has several commas: expected `SEGMENT,SECTION` of Mach-O".to_owned()),
        }
    }

    /// The name, or `SEGMENT,SECTION`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for a section of Mach-O.
    pub fn is_mach_o(&self) -> bool {
        self.0.contains(',')
    }
}

impl fmt::Display for SectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not the name of a section: {}", self.text.escape_debug(), self.reason)
    }
}

impl std::error::Error for SectionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_end_the_attribute_are_refused() {
        for text in ["", "a b", "a\"", "a\\", "a\n", "é", ",", "a,", "a,b,c", "__TEXT,a_name_of_17_bytes", "x)"] {
            let error = Section::new(text).unwrap_err().to_string();
            assert!(error.contains("is not the name of a section: "), "{error}");
        }
        assert!(Section::new(&"s".repeat(256)).unwrap_err().to_string().contains("256 bytes; at most 255"));
        for text in ["network_model_sec", ".ext_ram.bss", "__DATA,__const", "__SIXTEEN_BYTES_,__SIXTEEN_BYTES_"] {
            assert_eq!(Section::new(text).unwrap().is_mach_o(), text.contains(','), "{text}");
        }
    }
}
