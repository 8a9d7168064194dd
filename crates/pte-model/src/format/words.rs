//! Enums whose variants have words in YAML, in JSON or on the command line, and YAML words for numbers that the schema
//! does not name; the position of a word is its number.

/// Declares an enum from rows `Variant "word"`, with the constants `ALL` and `WORDS`. After the rows, `fn name;`
/// declares the function that returns the word, and `Display;` implements `Display` with it.
#[macro_export]
#[doc(hidden)]
macro_rules! words {
    (@ $vis:vis $enum:ident) => {};
    (@ $vis:vis $enum:ident fn $name:ident; $($rest:tt)*) => {
        impl $enum {
            /// Returns the word of the variant.
            $vis const fn $name(self) -> &'static str {
                $enum::WORDS[self as usize]
            }
        }
        $crate::words!(@ $vis $enum $($rest)*);
    };
    (@ $vis:vis $enum:ident Display; $($rest:tt)*) => {
        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($enum::WORDS[*self as usize])
            }
        }
        $crate::words!(@ $vis $enum $($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis enum $enum:ident { $( $(#[$doc:meta])* $variant:ident $word:literal ),* $(,)? } $($rest:tt)*) => {
        $(#[$attribute])*
        $vis enum $enum {
            $( $(#[$doc])* $variant ),*
        }

        #[allow(dead_code)] // Not all types use both.
        impl $enum {
            /// All variants, in their order.
            $vis const ALL: [$enum; $enum::WORDS.len()] = [$( $enum::$variant ),*];
            /// The words, in the order of the variants.
            #[doc(hidden)]
            $vis const WORDS: &'static [&'static str] = &[$( $word ),*];
        }

        $crate::words!(@ $vis $enum $($rest)*);
    };
}
pub use crate::words;

/// Memory formats (E-6).
pub const MEMORY_FORMATS: &[&str] = &["contiguous", "preserve"];
