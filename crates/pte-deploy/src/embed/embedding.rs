//! Files that become arrays, and their names, which are distinct.

use std::collections::HashMap;
use std::fmt;

use super::facts::ProgramFacts;
use super::macros::{Macro, MacroValue};
use super::section::Section;
use super::style::EmbedStyle;
use super::text::is_header_name;
use crate::symbol::Symbol;
use pte_model::data::Blob;

/// Least alignment of an array, in bytes: `Program::load` of the runtime rejects a program at another address
/// (`alignof(std::max_align_t)` of 64-bit builds), and the schema aligns data inside the FlatBuffer to it.
pub const MIN_ALIGNMENT: u64 = 16;

/// Largest alignment of an array, in bytes: larger ones of a file are for memory mapping, which an array does not need.
pub const MAX_ALIGNMENT: u64 = 4096;

/// File that becomes an array.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EmbeddedFile {
    /// Name of the array, from which those of macros and of other objects are made.
    pub symbol: Symbol,
    /// Name of the file in comments and in the table of files.
    pub name: String,
    /// It is a `.ptd` of the last program before it.
    pub is_companion: bool,
    /// Alignment in bytes that the file requires: a power of two.
    pub alignment: u64,
    /// Content.
    pub content: Blob,
    /// Figures for macros and tables; `None` leaves them out.
    pub facts: Option<ProgramFacts>,
}

impl EmbeddedFile {
    /// Describes a file that is a program or stands alone, with the alignment of [`alignment`] for `requirements`.
    pub fn new(name: &str, content: Blob, requirements: &[u64]) -> EmbeddedFile {
        EmbeddedFile {
            symbol: Symbol::from_name(name),
            name: name.to_owned(),
            is_companion: false,
            alignment: alignment(requirements),
            content,
            facts: None,
        }
    }
}

/// Returns the alignment of an array with a file that has these alignments in it: the largest power of two that divides
/// one of them, from [`MIN_ALIGNMENT`] to [`MAX_ALIGNMENT`].
///
/// ```
/// use pte_deploy::embed::alignment;
///
/// assert_eq!(alignment(&[128, 16]), 128);
/// assert_eq!((alignment(&[]), alignment(&[48]), alignment(&[1 << 20])), (16, 16, 4096));
/// ```
pub fn alignment(requirements: &[u64]) -> u64 {
    let powers =
        requirements.iter().filter(|alignment| **alignment > 0).map(|alignment| 1 << alignment.trailing_zeros());
    powers.max().unwrap_or(MIN_ALIGNMENT).clamp(MIN_ALIGNMENT, MAX_ALIGNMENT)
}

pte_model::options! {
    /// Options of [`Embedding::new`].
    #[derive(Debug, Clone, Default)]
    pub struct EmbedOptions {
        /// Style.
        pub style: &'static EmbedStyle,
        /// Section of the arrays instead of that of the style.
        pub section: Option<Section>,
    }
}

/// Names are not distinct, or a file cannot be an array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbedError {
    /// Two files have an object or a macro of the same name: the name, and the names of the files.
    SameName(String, [String; 2]),
    /// The file has no bytes, which C does not allow.
    Empty(String),
    /// `#include` cannot contain the name of the output.
    HeaderName(String),
}

/// Files with distinct names, ready to be written.
///
/// ```
/// use pte_deploy::Symbol;
/// use pte_deploy::embed::{EmbedError, EmbedOptions, EmbeddedFile, Embedding};
/// use pte_model::data::Blob;
///
/// let mut file = EmbeddedFile::new("linear.pte", Blob::bytes(*b"abc"), &[]);
/// file.symbol = Symbol::new("model")?;
/// let embedding = Embedding::new("model", vec![file], EmbedOptions::default())?;
///
/// let mut header = Vec::new();
/// embedding.write_header(&mut header)?;
/// assert!(String::from_utf8(header)?.contains("extern const uint8_t model[MODEL_SIZE];"));
/// let mut source = Vec::new();
/// embedding.write_source("model.h", &mut source)?;
/// assert!(String::from_utf8(source)?.contains("0x61,0x62,0x63,"));
///
/// // The forms for one source that includes the header, and for an assembler that reads the files.
/// let mut whole = Vec::new();
/// embedding.write_whole_header(&mut whole)?;
/// assert!(whole.len() as u64 <= embedding.source_size());
/// let mut assembly = Vec::new();
/// embedding.write_assembly(&["linear.pte".to_owned()], &mut assembly)?;
/// assert!(String::from_utf8(assembly)?.contains(".incbin \"linear.pte\", 0, 3"));
/// assert_eq!(embedding.alignment_of(&embedding.files()[0]), 16);
///
/// // Several files have a table.
/// let file = |name| EmbeddedFile::new(name, Blob::bytes(*b"x"), &[]);
/// let files: Vec<EmbeddedFile> = ["a.pte", "a.ptd"].map(file).into();
/// let both = Embedding::new("both", files.clone(), EmbedOptions::default())?;
/// let mut tables = Vec::new();
/// both.write_tables("both.h", &mut tables)?;
/// assert!(both.has_tables() && String::from_utf8(tables)?.contains("both_files[BOTH_FILES] = {"));
/// let error = Embedding::new("a", [files.clone(), files].concat(), EmbedOptions::default()).unwrap_err();
/// assert!(matches!(error, EmbedError::SameName(name, _) if name == "A_PTE_SIZE"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Embedding {
    /// Prefix of the include guard and of the table of files.
    pub(super) name: Symbol,
    pub(super) files: Vec<EmbeddedFile>,
    pub(super) options: EmbedOptions,
    /// Macros by file, in the order of the header.
    pub(super) macros: Vec<Vec<Macro>>,
}

impl Embedding {
    /// Checks the files. `name` is that of the output without an extension: the include guard and the table of files
    /// are named after it.
    ///
    /// # Errors
    /// Two objects or macros with the same name, a file without bytes, a name that `#include` cannot contain.
    pub fn new(name: &str, files: Vec<EmbeddedFile>, options: EmbedOptions) -> Result<Embedding, EmbedError> {
        if !is_header_name(name) {
            return Err(EmbedError::HeaderName(name.to_owned()));
        }
        let mut embedding = Embedding { name: Symbol::from_name(name), files, options, macros: Vec::new() };
        embedding.macros = embedding.files.iter().map(|file| embedding.macros_of(file)).collect();
        if let Some(empty) = embedding.files.iter().find(|file| file.content.is_empty()) {
            return Err(EmbedError::Empty(empty.name.clone()));
        }
        let mut taken: HashMap<String, &str> = HashMap::new();
        let own = format!("{}.h", name);
        let tables = embedding.names_of_tables();
        let of_tables = tables.into_iter().map(|name| (name, own.as_str()));
        let of_files = embedding.files.iter().zip(&embedding.macros).flat_map(|(file, macros)| {
            let names = macros.iter().map(|one| one.name.clone()).chain(embedding.objects_of(file));
            names.map(|name| (name, file.name.as_str()))
        });
        for (name, file) in of_tables.chain(of_files) {
            if let Some(other) = taken.insert(name.clone(), file) {
                return Err(EmbedError::SameName(name, [other.to_owned(), file.to_owned()]));
            }
        }
        Ok(embedding)
    }

    /// The files, in the order of the output.
    pub fn files(&self) -> &[EmbeddedFile] {
        &self.files
    }

    /// Returns the alignment of the array of a file, in bytes.
    pub fn alignment_of(&self, file: &EmbeddedFile) -> u64 {
        self.options.style.alignment.unwrap_or(file.alignment)
    }

    /// Returns true if the output has tables in C, which assembly does not have: of several files, or of facts.
    pub fn has_tables(&self) -> bool {
        self.files.len() > 1 || self.files.iter().any(|file| file.facts.is_some())
    }

    /// Returns an upper bound of the size in bytes of the C source.
    pub fn source_size(&self) -> u64 {
        let bytes = self.files.iter().map(|file| file.content.len()).fold(0, u64::saturating_add);
        bytes.saturating_mul(6).saturating_add(1 << 20)
    }

    /// Name of the section; `None` leaves it to the compiler.
    pub(super) fn section(&self) -> Option<&str> {
        self.options.section.as_ref().map(Section::as_str).or(self.options.style.section)
    }

    /// Number of files in the table that belong to the program at `index`.
    pub(super) fn companions(&self, index: usize) -> usize {
        let after = self.files.iter().skip(index + 1);
        if self.files[index].is_companion { 0 } else { after.take_while(|file| file.is_companion).count() }
    }

    fn objects_of(&self, file: &EmbeddedFile) -> Vec<String> {
        let symbol = &file.symbol;
        let length = self.options.style.length.as_ref().map(|length| format!("{symbol}{}", length.suffix));
        let facts = file.facts.is_some().then(|| format!("{symbol}_facts"));
        [Some(symbol.to_string()), length, facts].into_iter().flatten().collect()
    }

    fn names_of_tables(&self) -> Vec<String> {
        let name = &self.name;
        let mut names = vec![format!("{}_H", name.to_macro())];
        if self.files.len() > 1 {
            names.extend([format!("{name}_files"), format!("{}_FILES", name.to_macro())]);
        }
        names
    }

    fn macros_of(&self, file: &EmbeddedFile) -> Vec<Macro> {
        let prefix = file.symbol.to_macro();
        let same = |name: &str, value: u64| Macro {
            name: format!("{prefix}_{name}"),
            value: MacroValue::Same(value.to_string()),
            about: String::new(),
        };
        let mut macros = vec![same("SIZE", file.content.len()), same("ALIGNMENT", self.alignment_of(file))];
        if let Some(facts) = &file.facts {
            facts.add_macros(&prefix, &mut macros);
        }
        macros
    }
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmbedError::SameName(name, [one, other]) => {
                write!(
                    f,
                    "{} and {} both define `{name}`: name one of the arrays otherwise",
                    one.escape_debug(),
                    other.escape_debug()
                )
            }
            EmbedError::HeaderName(name) => write!(
                f,
                "`#include` cannot contain the name `{}` of the output: expected one without `\"`, `\\`, `??` and control characters",
                name.escape_debug()
            ),
            EmbedError::Empty(file) => write!(f, "{} is empty: an array has at least one byte", file.escape_debug()),
        }
    }
}

impl std::error::Error for EmbedError {}
