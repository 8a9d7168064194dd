//! The table of layout options. Each row has the name, type, default, kind of value and documentation of an option.
//!
//! [`LayoutConfig`], the keys of `layout:` in the YAML and in its JSON Schema, the options of the command line, the
//! table in docs/yaml-reference.md and the output of the printer follow from the rows.

use pte_model::format::exporter::Exporter;
use pte_model::format::serializer::Serializer;
use pte_model::format::words::words;
use pte_yaml::bytes::parse_bytes;

/// Splitting of a `.ptd` into several files.
///
/// ```
/// use pte_emit::{AssembleOptions, Model};
/// use pte_emit::plan::Shards;
///
/// let options = AssembleOptions::default().external_data(true).shards(Shards::new(50, "linear"));
/// let assembly = Model::open("examples/linear.yaml")?.assemble(&options)?;
/// let tags: Vec<_> = assembly.data_files().map(|(tag, _)| tag.unwrap()).collect();
/// assert_eq!(tags, ["linear-00001-of-00002", "linear-00002-of-00002"]);
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shards {
    /// Maximum bytes of data in a file; a single tensor may exceed it.
    pub max_bytes: u64,
    /// Prefix of the tags, followed by number and count: `model-00002-of-00005`.
    pub name: String,
}

impl Shards {
    /// Creates shards of at most `max_bytes` bytes of data, whose tags begin with `name`.
    pub fn new(max_bytes: u64, name: impl Into<String>) -> Shards {
        Shards { max_bytes, name: name.into() }
    }
}

/// Maximum alignment inside a FlatBuffer in bytes. The header is padded to the alignment (W-4).
pub const MAX_FORCED_ALIGNMENT: u64 = 65536;

/// Size of a page in bytes.
const PAGE: u64 = 4096;

/// Maximum alignment of a segment in bytes.
pub const MAX_ALIGNMENT: u64 = 1 << 30;

/// An alignment in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alignment {
    /// 4096 bytes.
    Page,
    /// This many bytes.
    Bytes(u64),
}

/// The extended header of a `.pte` (rules H-4 to H-6, W-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderMode {
    /// If there are segment bytes, one of the length that the exporter writes: 32, before ExecuTorch 1.0 24. None
    /// otherwise.
    Auto,
    /// None.
    None,
    /// This many bytes: 24 (before ExecuTorch 1.0) or 32.
    Length(u32),
}

words! {
    /// Storage of equal strings in a FlatBuffer. Neither serializer of ExecuTorch shares them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Strings {
        /// Each string is stored separately.
        Separate "separate",
        /// Equal strings are stored once.
        Shared "shared",
    }
}

words! {
    /// Storage of constants or of the payloads of delegates.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Storage {
        /// In segments after the FlatBuffer.
        Segment "segment",
        /// Inside the FlatBuffer, for old loaders.
        Inline "inline",
    }
}

/// Values that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// A number of bytes from 1 to 2^30, or `page`.
    Alignment,
    /// A power of two up to 65,536, or `page`: an alignment inside the FlatBuffer.
    ForcedAlignment,
    /// A number of bytes between these.
    Bytes(u64, u64),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or a number of bytes between these.
    WordsOrBytes(&'static [&'static str], u64, u64),
}

/// A value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionValue {
    /// A number of bytes.
    Bytes(u64),
    /// The word with this index among those of the kind.
    Word(usize),
}

/// A layout option: a row of [`OPTIONS`], for programs that read options from text.
///
/// ```
/// use pte_emit::plan::{LAYOUT_OPTIONS, LayoutOption, LayoutOptionKind, LayoutOptionValue, LayoutOptions};
/// use pte_emit::release::Serializer;
///
/// let builder: &LayoutOption = LAYOUT_OPTIONS.iter().find(|option| option.name == "builder").unwrap();
/// assert!(matches!(builder.kind, LayoutOptionKind::Words(words) if words.contains(&"flatc")));
/// let value: LayoutOptionValue = builder.parse("flatc")?;
/// let mut layout = LayoutOptions::default();
/// builder.set(&mut layout, value);
/// assert_eq!(layout.builder, Some(Serializer::Flatc));
/// assert_eq!(builder.parse("cmake").unwrap_err(), builder.expected());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct OptionSpec {
    /// Key under `layout:`. With hyphens, it is the name of the command line option.
    pub name: &'static str,
    /// Values that it takes.
    pub kind: OptionKind,
    /// Default, for documentation.
    pub default: &'static str,
    /// Documentation.
    pub doc: &'static str,
    get: fn(&LayoutConfig) -> Option<OptionValue>,
    apply: fn(&mut LayoutConfig, OptionValue),
    requested: fn(&LayoutOptions) -> Option<OptionValue>,
    set: fn(&mut LayoutOptions, OptionValue),
}

/// A Rust type of an option.
pub(super) trait OptionType: Sized {
    /// Returns the value; `None` if it is computed.
    fn value(&self) -> Option<OptionValue>;
    /// Converts a value of the option's kind.
    fn of(value: OptionValue) -> Self;
}

impl OptionType for u64 {
    fn value(&self) -> Option<OptionValue> {
        Some(OptionValue::Bytes(*self))
    }

    fn of(value: OptionValue) -> u64 {
        match value {
            OptionValue::Bytes(bytes) => bytes,
            OptionValue::Word(_) => unreachable!("options of this type have no words"),
        }
    }
}

impl OptionType for Alignment {
    fn value(&self) -> Option<OptionValue> {
        Some(OptionValue::Bytes(match self {
            Alignment::Page => PAGE,
            Alignment::Bytes(bytes) => *bytes,
        }))
    }

    fn of(value: OptionValue) -> Alignment {
        Alignment::Bytes(OptionType::of(value))
    }
}

impl<T: OptionType> OptionType for Option<T> {
    fn value(&self) -> Option<OptionValue> {
        self.as_ref().and_then(T::value)
    }

    fn of(value: OptionValue) -> Option<T> {
        Some(T::of(value))
    }
}

impl OptionType for HeaderMode {
    fn value(&self) -> Option<OptionValue> {
        Some(match self {
            HeaderMode::Auto => OptionValue::Word(0),
            HeaderMode::None => OptionValue::Word(1),
            HeaderMode::Length(length) => OptionValue::Bytes((*length).into()),
        })
    }

    fn of(value: OptionValue) -> HeaderMode {
        match value {
            OptionValue::Word(0) => HeaderMode::Auto,
            OptionValue::Word(_) => HeaderMode::None,
            OptionValue::Bytes(bytes) => HeaderMode::Length(bytes.try_into().unwrap_or(u32::MAX)),
        }
    }
}

/// Implements [`OptionType`] for types whose variants are the words of their options.
macro_rules! word_options {
    ($($type:ident)*) => {$(
        impl OptionType for $type {
            fn value(&self) -> Option<OptionValue> {
                Some(OptionValue::Word(*self as usize))
            }

            fn of(value: OptionValue) -> $type {
                match value {
                    OptionValue::Word(word) => $type::ALL[word],
                    OptionValue::Bytes(_) => unreachable!("options of this type have words only"),
                }
            }
        }
    )*};
}

word_options! { Serializer Strings Storage }

/// Declares the options. The type after `as` is the one in [`LayoutOptions`], if it is not that of [`LayoutConfig`].
macro_rules! layout_options {
    (@ $type:ty) => { $type };
    (@ $type:ty, $option:ty) => { $option };
    ($( $name:ident : $type:ty $( as $option:ty )? = $value:expr, $default:literal, $kind:expr, $doc:literal; )*) => {
        /// Layout of the files. The defaults are those of the exporter.
        ///
        /// ```
        /// use pte_emit::Model;
        /// use pte_emit::plan::LayoutConfig;
        ///
        /// let mut resolved = Model::open("examples/linear.yaml")?.resolve()?;
        /// assert_eq!(resolved.layout, LayoutConfig::default());
        /// resolved.layout.segment_alignment = 64;
        /// # Ok::<(), pte_emit::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct LayoutConfig {
            $(
                #[doc = concat!($doc, "; default: ", $default, ".")]
                pub $name: $type,
            )*
            /// Splitting of the `.ptd` without a tag; `None`, the default, for a single file. It is not a row of the
            /// table.
            pub shards: Option<Shards>,
            /// Exporter whose files are written; it decides the length of the header.
            pub(crate) exporter: &'static Exporter,
        }

        impl Default for LayoutConfig {
            fn default() -> LayoutConfig {
                LayoutConfig { $( $name: $value, )* shards: None, exporter: Exporter::current() }
            }
        }

        pte_model::options! {
            /// Values of some layout options. They override the values in a [`LayoutConfig`].
            ///
            /// ```
            /// use pte_emit::{AssembleOptions, Model};
            /// use pte_emit::plan::{Alignment, HeaderMode, LayoutOptions, Strings};
            ///
            /// let mut layout = LayoutOptions::default()
            ///     .segment_alignment(Alignment::Page)
            ///     .tensor_alignment(Alignment::Bytes(64))
            ///     .header(HeaderMode::Length(24))
            ///     .strings(Strings::Shared);
            /// let mut options = AssembleOptions::default().layout(layout);
            /// let linear = Model::open("examples/linear.yaml")?;
            /// assert_eq!(linear.assemble(&options)?.plan().segments.len(), 1);
            ///
            /// options.layout.tensor_alignment = Some(Alignment::Bytes(48));
            /// let error = linear.assemble(&options).unwrap_err().to_string();
            /// assert!(error.contains("`tensor_alignment`: 48; expected a power of two"), "{error}");
            /// # Ok::<(), pte_emit::Error>(())
            /// ```
            #[derive(Debug, Clone, Default, PartialEq, Eq)]
            pub struct LayoutOptions {
                $(
                    #[doc = concat!($doc, "; default: ", $default, ".")]
                    pub $name: Option<layout_options!(@ $type $(, $option)?)>,
                )*
            }
        }

        /// All options, in the order in which they are documented.
        pub static OPTIONS: &[OptionSpec] = &[$(
            OptionSpec {
                name: stringify!($name),
                kind: $kind,
                default: $default,
                doc: $doc,
                get: |layout| layout.$name.value(),
                apply: |layout, value| layout.$name = OptionType::of(value),
                requested: |options| options.$name.value(),
                set: |options, value| options.$name = OptionType::of(value),
            },
        )*];
    };
}

layout_options! {
    segment_alignment: u64 as Alignment = 128, "128", OptionKind::Alignment,
        "Segments start at multiples of this, in bytes";
    ptd_segment_alignment: Option<u64> as Alignment = None, "that of the program's segments", OptionKind::Alignment,
        "Segments of the .ptd files start at multiples of this, in bytes";
    tensor_alignment: u64 as Alignment = 16, "16", OptionKind::ForcedAlignment,
        "Constants start at multiples of this in their segment, and inside the FlatBuffer";
    delegate_alignment: u64 as Alignment = 16, "16", OptionKind::ForcedAlignment,
        "Payloads of delegates start at multiples of this inside the FlatBuffer";
    base_alignment: Option<u64> as Alignment = None, "what aligns every segment in the file", OptionKind::Alignment,
        "The first segment starts at a multiple of this in the file";
    builder: Serializer = Serializer::Exir, "exir", OptionKind::Words(Serializer::WORDS),
        "Serializer whose order the program's FlatBuffer has";
    ptd_builder: Serializer = Serializer::Flatc, "flatc", OptionKind::Words(Serializer::WORDS),
        "Serializer whose order the FlatBuffers of the .ptd files have";
    bpte_builder: Option<Serializer> as Serializer = None, "the program's", OptionKind::Words(Serializer::WORDS),
        "Serializer whose order the FlatBuffer of the .bpte has";
    header: HeaderMode = HeaderMode::Auto, "auto: 32 if there are segments, 24 for a runtime before 1.0", OptionKind::WordsOrBytes(&["auto", "none"], 24, 65536),
        "Length of the extended header in bytes";
    header_size: Option<u64> as u64 = None, "the least that keeps the FlatBuffer aligned", OptionKind::Bytes(24, MAX_FORCED_ALIGNMENT),
        "Bytes of the extended header with its padding";
    strings: Strings = Strings::Separate, "separate", OptionKind::Words(Strings::WORDS),
        "Whether equal strings of the program's FlatBuffer are stored once";
    constants: Storage = Storage::Segment, "segment", OptionKind::Words(Storage::WORDS),
        "Storage of constants";
    delegates: Storage = Storage::Segment, "segment", OptionKind::Words(Storage::WORDS),
        "Storage of the payloads of delegates";
}

impl OptionSpec {
    /// Returns the value in `options`; `None` if it is computed.
    pub(crate) fn get(&self, options: &LayoutConfig) -> Option<OptionValue> {
        (self.get)(options)
    }

    /// Returns the value that is requested; `None` if it is not.
    pub(crate) fn requested(&self, options: &LayoutOptions) -> Option<OptionValue> {
        (self.requested)(options)
    }

    /// Sets the option to a value of its kind, such as [`OptionSpec::parse`] returns.
    pub fn set(&self, options: &mut LayoutOptions, value: OptionValue) {
        (self.set)(options, value);
    }

    /// Parses a value of the option: a word, or a number of bytes such as `4096`, `4K` or `page`.
    ///
    /// # Errors
    /// The values that are expected.
    pub fn parse(&self, text: &str) -> Result<OptionValue, String> {
        let words = match self.kind {
            OptionKind::Words(words) | OptionKind::WordsOrBytes(words, ..) => words,
            OptionKind::Alignment | OptionKind::ForcedAlignment | OptionKind::Bytes(..) => &[],
        };
        if let Some(word) = words.iter().position(|word| *word == text) {
            return Ok(OptionValue::Word(word));
        }
        let is_alignment = matches!(self.kind, OptionKind::Alignment | OptionKind::ForcedAlignment);
        let page = if text == "page" && is_alignment { Some(PAGE) } else { None };
        match page.or_else(|| parse_bytes(text)) {
            Some(bytes) => self.bytes(bytes),
            None => Err(self.expected()),
        }
    }

    /// Returns a number of bytes as a value of the option.
    ///
    /// # Errors
    /// The values that are expected.
    pub(crate) fn bytes(&self, bytes: u64) -> Result<OptionValue, String> {
        let valid = match self.kind {
            OptionKind::Alignment => (1..=MAX_ALIGNMENT).contains(&bytes),
            OptionKind::ForcedAlignment => bytes.is_power_of_two() && bytes <= MAX_FORCED_ALIGNMENT,
            OptionKind::Bytes(least, most) | OptionKind::WordsOrBytes(_, least, most) => {
                (least..=most).contains(&bytes)
            }
            OptionKind::Words(_) => false,
        };
        if valid { Ok(OptionValue::Bytes(bytes)) } else { Err(self.expected()) }
    }

    /// Returns the accepted values, for messages.
    pub fn expected(&self) -> String {
        match self.kind {
            OptionKind::Alignment => "1 to 1G, such as 128, 4K or page".into(),
            OptionKind::ForcedAlignment => "a power of two up to 64K, such as 16, 4K or page".into(),
            OptionKind::Bytes(least, most) => format!("{least} to {most} bytes"),
            OptionKind::Words(words) => alternatives(words),
            OptionKind::WordsOrBytes(words, least, most) => {
                format!("{}, or a length from {least} to {most}", words.join(", "))
            }
        }
    }

    /// Formats a value as in the YAML.
    pub(crate) fn print(&self, value: OptionValue) -> String {
        match (value, self.kind) {
            (OptionValue::Bytes(bytes), _) => bytes.to_string(),
            (OptionValue::Word(word), OptionKind::Words(words) | OptionKind::WordsOrBytes(words, ..)) => {
                words[word].to_owned()
            }
            (OptionValue::Word(word), _) => word.to_string(),
        }
    }
}

/// Lists words: `a, b or c`.
fn alternatives(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => words.concat(),
    }
}

impl LayoutOptions {
    /// Sets the option with this index in `OPTIONS` to a value of its kind.
    pub(crate) fn push(&mut self, index: usize, value: OptionValue) {
        OPTIONS[index].set(self, value);
    }

    /// Validates the values of all options.
    ///
    /// # Errors
    /// A message about the first value that its option does not take.
    pub(crate) fn check(&self) -> Result<(), String> {
        OPTIONS.iter().try_for_each(|option| {
            let Some(OptionValue::Bytes(bytes)) = (option.requested)(self) else { return Ok(()) };
            let wrong = |expected| format!("invalid layout option `{}`: {bytes}; expected {expected}", option.name);
            option.bytes(bytes).map(drop).map_err(wrong)
        })
    }

    /// Applies the values to `layout`.
    pub(crate) fn apply(&self, layout: &mut LayoutConfig) {
        for option in OPTIONS {
            if let Some(value) = (option.requested)(self) {
                (option.apply)(layout, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> &'static OptionSpec {
        OPTIONS.iter().find(|option| option.name == name).unwrap()
    }

    #[test]
    fn every_option_takes_its_default_and_prints_it_back() {
        let default = LayoutConfig::default();
        for option in OPTIONS {
            let Some(value) = option.get(&default) else { continue };
            assert_eq!(option.parse(&option.print(value)), Ok(value), "{}", option.name);
            assert!(option.default.starts_with(&option.print(value)), "{}: {}", option.name, option.default);
        }
    }

    #[test]
    fn values_are_checked_by_kind() {
        let parse = |name: &str, text: &str| find(name).parse(text);
        assert_eq!(parse("segment_alignment", "48"), Ok(OptionValue::Bytes(48)));
        assert_eq!(parse("segment_alignment", "page"), Ok(OptionValue::Bytes(4096)));
        assert_eq!(parse("tensor_alignment", "4K"), Ok(OptionValue::Bytes(4096)));
        assert_eq!(parse("header", "none"), Ok(OptionValue::Word(1)));
        assert_eq!(parse("header", "24"), Ok(OptionValue::Bytes(24)));
        assert_eq!(parse("builder", "flatc"), Ok(OptionValue::Word(1)));
        let wrong = [
            ("segment_alignment", "0"),
            ("segment_alignment", "2G"),
            ("segment_alignment", "+8"),
            ("tensor_alignment", "48"),
            ("tensor_alignment", "128K"),
            ("header", "23"),
            ("header", "page"),
            ("header_size", "page"),
            ("builder", "cmake"),
            ("builder", "1"),
            ("segment_alignment", "99999999999999999999"),
        ];
        for (name, text) in wrong {
            assert!(parse(name, text).is_err(), "{name}: {text}");
        }
    }

    #[test]
    fn overrides_replace_single_options() {
        let mut overrides = LayoutOptions { builder: Some(Serializer::Flatc), ..LayoutOptions::default() };
        for text in ["24", "none"] {
            let header = find("header");
            header.set(&mut overrides, header.parse(text).unwrap());
        }
        let mut options = LayoutConfig { segment_alignment: 64, ..LayoutConfig::default() };
        overrides.apply(&mut options);
        assert_eq!(
            (options.builder, options.header, options.segment_alignment),
            (Serializer::Flatc, HeaderMode::None, 64)
        );
    }
}
