//! Names of C and C++ objects, macros and files that are made of the names of models.

use std::fmt;

/// Keywords of C23 and C++23, and the alternative names of C++'s operators: none of them can be the name of an object
/// in both languages.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// Other names that an object cannot have: of the headers that generated files include, of the program, and macros of
/// compilers for Linux.
const TAKEN: &[&str] = &[
    "NULL",
    "linux",
    "main",
    "max_align_t",
    "nullptr_t",
    "offsetof",
    "printf",
    "ptrdiff_t",
    "size_t",
    "unix",
    "unreachable",
];

/// Returns true for the types and macros of `<stdint.h>`, such as `uint8_t` and `UINTPTR_MAX` (C23 7.22).
fn is_integer_name(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_integer = ["int", "uint"].iter().any(|start| lower.starts_with(start));
    let others = ["PTRDIFF", "SIG_ATOMIC", "SIZE", "WCHAR", "WINT"];
    let is_limit = |text: &str| {
        others.iter().any(|name| ["_MIN", "_MAX", "_WIDTH"].iter().any(|end| text == format!("{name}{end}")))
    };
    is_integer && ["_t", "_c", "_max", "_min", "_width"].iter().any(|end| lower.ends_with(end)) || is_limit(text)
}

/// Identifier that names an object in C and in C++: ASCII letters, digits and `_`, neither a keyword nor reserved for
/// the implementation (a leading `_`, or `__` anywhere: C23 6.4.2, [lex.name] of C++23).
///
/// ```
/// use pte_deploy::Symbol;
///
/// let symbol = Symbol::new("model_pte")?;
/// assert_eq!((symbol.as_str(), &*symbol.to_macro()), ("model_pte", "MODEL_PTE"));
/// assert_eq!(Symbol::from_name("my-model v2.pte").as_str(), "my_model_v2_pte");
/// assert!(Symbol::new("2x").is_err());
/// # Ok::<(), pte_deploy::SymbolError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol(String);

/// Text that is not a [`Symbol`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolError {
    text: String,
    reason: &'static str,
}

impl Symbol {
    /// Accepts `text` if it is such an identifier.
    ///
    /// # Errors
    /// Any other text.
    pub fn new(text: &str) -> Result<Symbol, SymbolError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let reason = match text.as_bytes() {
            [] => "it is empty",
            [first, ..] if first.is_ascii_digit() => "it begins with a digit",
            bytes if !bytes.iter().all(|byte| is_word(*byte)) => "it has characters other than a-z, A-Z, 0-9 and `_`",
            [b'_', ..] => "names that begin with `_` are reserved",
            _ if text.contains("__") => "names with `__` are reserved in C++",
            _ if KEYWORDS.contains(&text) => "it is a keyword of C or C++",
            _ if TAKEN.contains(&text) || is_integer_name(text) => "it is a name of the language or its headers",
            _ if text.to_ascii_lowercase().starts_with("pte_emit_") => {
                "names that begin with `pte_emit_` are those of generated types"
            }
            _ => return Ok(Symbol(text.to_owned())),
        };
        Err(SymbolError { text: text.to_owned(), reason })
    }

    /// Makes a symbol of a name, such as that of a file: `_` stands for each run of other characters. Different names
    /// can yield the same symbol.
    pub fn from_name(name: &str) -> Symbol {
        let mut text = String::new();
        for character in name.chars() {
            match character.is_ascii_alphanumeric() {
                true => text.push(character),
                false if !text.is_empty() && !text.ends_with('_') => text.push('_'),
                false => {}
            }
        }
        let text = text.trim_end_matches('_');
        Symbol::new(text).unwrap_or_else(|_| Symbol(format!("model_{text}").trim_end_matches('_').to_owned()))
    }

    /// Returns the identifier, which is valid in C and C++.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The identifier in upper case, as the prefix of macros.
    pub fn to_macro(&self) -> String {
        self.0.to_ascii_uppercase()
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for SymbolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a C identifier: {}", self.text.escape_debug(), self.reason)
    }
}

impl std::error::Error for SymbolError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_identifiers_of_both_languages() {
        let of_headers =
            ["main", "size_t", "uint8_t", "printf", "linux", "NULL", "UINTPTR_MAX", "SIZE_MAX", "pte_emit_file"];
        for text in ["", "9a", "a b", "ä", "_a", "a__b", "int", "class"].into_iter().chain(of_headers) {
            let error = Symbol::new(text).unwrap_err().to_string();
            assert!(error.contains("is not a C identifier"), "{error}");
        }
        assert_eq!(Symbol::new("a1_B").unwrap().to_macro(), "A1_B");
    }

    #[test]
    fn any_name_yields_a_symbol() {
        for (name, symbol) in [
            ("model.pte", "model_pte"),
            ("2.pte", "model_2_pte"),
            ("", "model"),
            ("int", "model_int"),
            ("linux", "model_linux"),
            ("__ä--b", "b"),
        ] {
            assert_eq!(Symbol::from_name(name).as_str(), symbol);
            assert!(Symbol::new(symbol).is_ok());
        }
    }
}
