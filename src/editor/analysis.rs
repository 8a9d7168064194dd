//! A text with its documents, whose parts are computed when a question needs them. The questions are methods in the
//! other files.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::facts::{Assembled, Facts};
use super::offsets::OffsetMap;
use super::options::LanguageOptions;
use super::results::SourceMessage;
use super::symbols::SymbolIndex;
use super::tree::Syntax;
use crate::facade::model::MAX_DOCUMENTS;
use crate::facade::source::{Source, SourceContent};
use crate::ir::files::FileAccess;
use pte_model::diagnostics::{Code, Diagnostic};
use pte_yaml::template;
use pte_yaml::tree::{NodeId, SyntaxError};

/// Size of a text in bytes above which it is not analysed.
pub const MAX_TEXT: usize = 64 << 20;

/// Analysis of a text: answers of a language server as plain data, with byte ranges of the text. Each part is computed
/// when a question first needs it, and once.
///
/// ```
/// use pte_emit::language::{Analysis, LanguageOptions, MessageLevel, SourceMessage};
///
/// let text = std::fs::read_to_string("examples/linear.yaml").unwrap();
/// let linear = Analysis::new("linear.yaml", &text, "examples", &LanguageOptions::default());
/// assert!(linear.diagnostics().is_empty());
/// let mm = text.find("out: mm").unwrap() + 5;
/// assert!(linear.hover(mm).unwrap().text.contains("float32 [1, 3]"));
/// assert_eq!(linear.references(mm).len(), 2);
///
/// // The results are plain data.
/// use pte_emit::language::{
///     ArrayFile, CallSignature, CompletionItem, CompletionKind, FileLink, HintKind, Hover, InlayHint, LensKind,
///     MethodLens, NameKind, OutlineItem, OutlineKind, Reference, SemanticToken, SourceAction, TextEdit, TokenKind,
/// };
/// let hover: Hover = linear.hover(mm).unwrap();
/// assert_eq!((&linear.text()[hover.range], linear.definition(mm)), ("mm", Some(mm..mm + 2)));
/// let all: Vec<Reference> = linear.references(mm);
/// assert!(all[0].writes && all[0].declares && linear.renameable(mm).is_ok());
/// let edits: Vec<TextEdit> = linear.rename(mm, "product")?;
/// assert_eq!(edits.len(), 2);
/// let hints: Vec<InlayHint> = linear.hints(mm..mm + 2);
/// assert_eq!((hints[0].kind, &*hints[0].label), (HintKind::Type, ": float32 [1, 3]"));
/// let signature: CallSignature = linear.signature(mm).unwrap();
/// assert!(signature.label.starts_with("aten::addmm.out(self: Tensor"));
/// let items: Vec<CompletionItem> = linear.completions(mm);
/// assert!(items.len() < pte_emit::language::MAX_COMPLETIONS);
/// assert!(items.iter().any(|item| item.kind == CompletionKind::Name && item.label == "y"));
/// let outline: Vec<OutlineItem> = linear.symbols();
/// assert_eq!(outline[0].children[0].kind, OutlineKind::Name(NameKind::Method));
/// assert_eq!(linear.names()[0].name, outline[0].name);
/// let tokens: Vec<SemanticToken> = linear.tokens();
/// assert_eq!(tokens[0].kind, TokenKind::Key);
/// let moved: Option<ArrayFile> = linear.data_file(mm);
/// assert_eq!(moved, None);
/// let actions: Vec<SourceAction> = linear.actions(mm..mm);
/// assert_eq!(actions[0].title, "declare this result");
/// assert!(linear.formatting()?.is_empty());
/// let lenses: Vec<MethodLens> = linear.lenses();
/// assert_eq!(lenses[0].kind, LensKind::Run);
/// let links: Vec<FileLink> = linear.links();
/// assert!(links.is_empty() && !linear.folding().is_empty() && linear.selection(mm)[0].contains(&mm));
///
/// // Half a document.
/// let half = text.split_once("out: mm").unwrap().0;
/// let half = Analysis::new("linear.yaml", half, "examples", &LanguageOptions::default());
/// let messages: &[SourceMessage] = half.diagnostics_in_steps(&mut |early| assert!(early.is_empty()));
/// assert_eq!((messages[0].code, messages[0].level), ("Y-1", MessageLevel::Error));
/// assert!(half.hover(mm - 40).is_some() && half.text().len() < pte_emit::language::MAX_TEXT);
/// # Ok::<(), String>(())
/// ```
pub struct Analysis {
    pub(super) text: Arc<str>,
    pub(super) options: LanguageOptions,
    /// Variables that are not defined, and limits of the text.
    pub(super) errors: Vec<SyntaxError>,
    pub(super) documents: Vec<SourceDocument>,
    pub(super) messages: OnceLock<Vec<SourceMessage>>,
}

impl std::fmt::Debug for Analysis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analysis").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

/// A document of a text.
pub(super) struct SourceDocument {
    /// Tree.
    pub syntax: Syntax,
    /// Source of the stages.
    pub source: Arc<Source>,
    /// Variables in the text, and in the expanded text.
    pub expansion: Arc<OffsetMap>,
    /// Range in the expanded text.
    pub part: Range<usize>,
    symbols: OnceLock<SymbolIndex>,
    facts: OnceLock<Facts>,
    rest: OnceLock<Option<Assembled>>,
}

impl SourceDocument {
    /// Returns the range of the text for one of the tree.
    pub fn outer(&self, range: Range<usize>) -> Range<usize> {
        let range = self.syntax.repairs.original(range);
        self.expansion.original(self.part.start + range.start..self.part.start + range.end)
    }

    /// Returns the range of a node in the text.
    pub fn node_range(&self, node: NodeId) -> Range<usize> {
        self.outer(self.syntax.range(node))
    }

    /// Returns the offset in the text of the tree for one of the text.
    pub fn inner(&self, at: usize) -> usize {
        let at = self.expansion.edited(at).clamp(self.part.start, self.part.end);
        self.syntax.repairs.edited(at - self.part.start).min(self.syntax.text().len())
    }

    /// Returns the range in the text of the tree for one of the text.
    pub fn inner_range(&self, range: &Range<usize>) -> Range<usize> {
        self.inner(range.start)..self.inner(range.end)
    }

    /// Returns the names.
    pub fn symbols(&self) -> &SymbolIndex {
        self.symbols.get_or_init(|| SymbolIndex::new(&self.syntax))
    }

    /// Returns what the assembler knows.
    pub fn facts(&self) -> &Facts {
        self.facts_in_steps(&mut |_| {})
    }

    /// Does the same, and calls `early` as [`Facts::new`] does, unless the document is assembled already.
    pub fn facts_in_steps(&self, early: &mut dyn FnMut(&[Diagnostic])) -> &Facts {
        self.facts.get_or_init(|| Facts::new(&self.syntax, &self.source, early))
    }

    /// Returns the assembled document; if it has errors, one without the parts that have them.
    pub fn assembled(&self) -> Option<&Assembled> {
        let facts = self.facts();
        let rest =
            || self.rest.get_or_init(|| super::rest::assembled(&self.syntax, &self.source, &facts.messages)).as_ref();
        facts.assembled.as_ref().or_else(rest)
    }
}

impl Analysis {
    /// Analyses a text. `name` is used in messages; paths in the text are relative to `folder`.
    pub fn new(
        name: impl Into<String>,
        text: impl AsRef<str>,
        folder: impl Into<PathBuf>,
        options: &LanguageOptions,
    ) -> Analysis {
        let files = FileAccess { confined_to: options.confined_to.clone(), ..FileAccess::of_folder(folder) };
        Analysis::of_files(name.into(), text.as_ref(), &files, options)
    }

    pub(super) fn of_files(name: String, text: &str, files: &FileAccess, options: &LanguageOptions) -> Analysis {
        let mut analysis = Analysis {
            text: text.into(),
            options: options.clone(),
            errors: Vec::new(),
            documents: Vec::new(),
            messages: OnceLock::new(),
        };
        if let Some(error) = refused(text) {
            analysis.errors.push(error);
            return analysis;
        }
        // Without a value, a variable stands for a number, so that the rest can be analysed.
        let filled = template::fill(text, &options.definitions).or_else(|errors| {
            let names = errors.iter().filter_map(|error| text.get(error.span.clone())?.strip_prefix("${"));
            let names = names.map(|name| (name.trim_end_matches('}').to_owned(), "1".to_owned()));
            let definitions = options.definitions.clone().into_iter().chain(names).collect();
            analysis.errors = errors;
            template::fill(text, &definitions)
        });
        let Ok(filled) = filled else { return analysis };
        let expansion = Arc::new(OffsetMap::new(filled.replaced));
        let documents = template::documents(&filled.text);
        if documents.len() > MAX_DOCUMENTS {
            let message = format!("{} documents, expected at most {MAX_DOCUMENTS}: split the file", documents.len());
            analysis.errors.push(SyntaxError { code: Code::LimitExceeded, span: 0..0, message });
            return analysis;
        }
        let (mut start, is_single) = (0, documents.len() == 1);
        for (index, (lines_before, part)) in documents.into_iter().enumerate() {
            let range = start..start + part.len();
            start = range.end;
            let text: Arc<str> = part.into();
            let syntax = Syntax::new(&text);
            let quoted = filled.quoted_numbers.iter().filter(|quoted| range.contains(&quoted.start));
            let quoted = quoted.map(|quoted| quoted.start - range.start..quoted.end - range.start);
            let source = Source {
                name: name.clone(),
                files: files.clone(),
                content: SourceContent::Text(syntax.source().clone()),
                lines_before,
                document: (!is_single).then_some(index + 1),
                quoted_numbers: if syntax.error.is_none() { quoted.collect() } else { Vec::new() },
                is_edited: true,
                ..Source::default()
            };
            analysis.documents.push(SourceDocument {
                syntax,
                source: Arc::new(source),
                expansion: expansion.clone(),
                part: range,
                symbols: OnceLock::new(),
                facts: OnceLock::new(),
                rest: OnceLock::new(),
            });
        }
        analysis
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the document at an offset, and the offset in the text of its tree.
    pub(super) fn at(&self, at: usize) -> Option<(&SourceDocument, usize)> {
        let is_after = |document: &&SourceDocument| document.outer_start() <= at;
        let document = self.documents.iter().take_while(is_after).last().or(self.documents.first())?;
        Some((document, document.inner(at)))
    }
}

impl SourceDocument {
    fn outer_start(&self) -> usize {
        self.expansion.original(self.part.start..self.part.start).start
    }
}

/// Returns the error of a text that is not analysed.
fn refused(text: &str) -> Option<SyntaxError> {
    if text.len() > MAX_TEXT {
        let message = format!("the text has {} bytes, more than the {MAX_TEXT} that are analysed", text.len());
        return Some(SyntaxError { code: Code::LimitExceeded, span: 0..0, message });
    }
    let at = text.find('\0')?;
    let message = format!("byte {at} is zero; expected YAML or JSON");
    Some(SyntaxError { code: Code::UnexpectedInput, span: at..at + 1, message })
}
