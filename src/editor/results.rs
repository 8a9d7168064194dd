//! Results of the language server as plain data. All ranges are byte ranges of the text.

use std::ops::Range;

use serde::Serialize;

use super::symbols::NameKind;

/// Level of a [`SourceMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MessageLevel {
    /// The source cannot be assembled, or the runtime rejects its program.
    Error,
    /// Probably a mistake.
    Warning,
    /// Information.
    Note,
    /// Unused part.
    Hint,
}

/// A message about a range of the text: of the assembler, or a finding of `check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceMessage {
    /// Position; the start of the text for a message about all of it.
    pub range: Range<usize>,
    /// Level.
    pub level: MessageLevel,
    /// Code such as `Y-5`, or id of a rule such as `T-21`, which [`explain`](super::explain) describes.
    pub code: &'static str,
    /// Problem, with what is expected and the suggestion.
    pub message: String,
    /// Related positions with labels.
    pub related: Vec<(Range<usize>, String)>,
    /// The part is unused.
    pub unnecessary: bool,
    /// Text in place of that at the position, which corrects it.
    pub replacement: Option<String>,
}

/// Change of a range of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextEdit {
    /// Range that is replaced.
    pub range: Range<usize>,
    /// New text.
    pub text: String,
}

/// Description of the part of the text at an offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Hover {
    /// The part.
    pub range: Range<usize>,
    /// Description in Markdown.
    pub text: String,
}

/// Kind of an [`InlayHint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum HintKind {
    /// Inferred type of a result.
    Type,
    /// Name of an argument.
    Argument,
    /// Offset and size in planned memory.
    Memory,
}

/// A short text between those of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InlayHint {
    /// Offset.
    pub at: usize,
    /// Text.
    pub label: String,
    /// Kind.
    pub kind: HintKind,
}

/// Kind of a [`CompletionItem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CompletionKind {
    /// Key of a map.
    Key,
    /// One of several words.
    Word,
    /// Operator.
    Operator,
    /// Name that the source declares.
    Name,
    /// File.
    File,
}

/// A text that can be inserted at an offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CompletionItem {
    /// Text in the list.
    pub label: String,
    /// Kind.
    pub kind: CompletionKind,
    /// Short description.
    pub detail: String,
    /// Description in Markdown.
    pub documentation: String,
    /// Range that is replaced.
    pub range: Range<usize>,
    /// New text, in which `$1`, `${1:name}`, `${1|one,other|}` and `$0` are places to fill in.
    pub snippet: String,
    /// Rank: lower ones come first.
    pub rank: u8,
}

/// Signature of the operator of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallSignature {
    /// Operator with its arguments.
    pub label: String,
    /// Byte ranges of the arguments in the label.
    pub arguments: Vec<Range<usize>>,
    /// Index of the argument at the offset.
    pub active: Option<usize>,
    /// Description in Markdown.
    pub documentation: String,
}

/// A place that refers to a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Reference {
    /// The name.
    pub range: Range<usize>,
    /// It declares the name.
    pub declares: bool,
    /// The value is written here.
    pub writes: bool,
}

/// Kind of an [`OutlineItem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutlineKind {
    /// Name that the source declares.
    Name(NameKind),
    /// Instruction.
    Instruction,
    /// Key of the document or of a method.
    Section,
}

/// A part of the text with its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutlineItem {
    /// Name.
    pub name: String,
    /// Type of a value, result of an instruction.
    pub detail: String,
    /// Kind.
    pub kind: OutlineKind,
    /// All of it.
    pub range: Range<usize>,
    /// The name in it.
    pub selection: Range<usize>,
    /// Parts.
    pub children: Vec<OutlineItem>,
}

/// Kind of a [`SemanticToken`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenKind {
    /// Key of the grammar.
    Key,
    /// Operator.
    Operator,
    /// Declared name.
    Name(NameKind),
    /// Element type.
    Dtype,
    /// One of several words.
    Word,
}

/// A part of the text with its meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SemanticToken {
    /// The part, in one line.
    pub range: Range<usize>,
    /// Meaning.
    pub kind: TokenKind,
    /// It declares the name.
    pub declares: bool,
    /// The value is written here.
    pub writes: bool,
}

/// A change of the text that an editor offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceAction {
    /// What it does.
    pub title: String,
    /// It corrects the message at this range.
    pub corrects: Option<Range<usize>>,
    /// Changes.
    pub edits: Vec<TextEdit>,
}

/// A file for data that a text has, with the changes by which the text refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayFile {
    /// Path of a file that does not exist.
    pub path: std::path::PathBuf,
    /// Content, as `.npy`.
    pub content: Vec<u8>,
    /// Changes of the text.
    pub edits: Vec<TextEdit>,
}

/// Question about a method that an editor offers beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LensKind {
    /// Run the method.
    Run,
    /// Run its tests.
    Test,
    /// Write the outputs into its tests.
    Bless,
    /// Memory that it needs.
    Memory,
    /// Report of the program.
    Report,
}

/// A [`LensKind`] of a method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodLens {
    /// Name of the method.
    pub range: Range<usize>,
    /// The part of the text that it is about: the method, or its tests.
    pub part: Range<usize>,
    /// Method.
    pub method: String,
    /// Question.
    pub kind: LensKind,
    /// Text, such as `run 3 tests`.
    pub title: String,
}

/// A file that the text refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileLink {
    /// Its name in the text.
    pub range: Range<usize>,
    /// Path.
    pub path: std::path::PathBuf,
}
