//! Questions of an editor about YAML that is being written: messages, descriptions, completion, names, changes.
//!
//! [`Analysis`] has the answers about one text, of which parts may be missing or wrong. The stages and tables of the
//! assembler know them: what a key is, of the grammar (`ir::shape`); what an operator is, of its record
//! (`pte_operators`); types, memory and findings, of the stages. No file is written here, and no protocol is spoken:
//! `pte-emit lsp` does that.

mod actions;
mod calls;
mod completion;
mod facts;
mod hints;
mod hover;
mod messages;
mod offsets;
mod outline;
mod places;
mod rename;
mod results;
mod symbols;
mod tokens;
mod tree;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

pub use hover::explain;
pub use results::{
    CallSignature, CompletionItem, CompletionKind, FileLink, HintKind, Hover, InlayHint, LensKind, MessageLevel,
    MethodLens, OutlineItem, OutlineKind, Reference, SemanticToken, SourceAction, SourceMessage, TextEdit, TokenKind,
};
pub use symbols::NameKind;

use crate::facade::model::MAX_DOCUMENTS;
use crate::facade::source::{Source, SourceContent};
use crate::ir::files::FileAccess;
use facts::Facts;
use offsets::OffsetMap;
use pte_check::target::Target;
use pte_model::diagnostics::Code;
use pte_releases::Release;
use pte_yaml::template;
use pte_yaml::tree::{NodeId, SyntaxError};
use symbols::SymbolIndex;
use tree::Syntax;

/// Size of a text in bytes above which it is not analysed.
pub const MAX_TEXT: usize = 64 << 20;

pte_model::options! {
    /// Options of [`Analysis::new`].
    ///
    /// ```
    /// use pte_emit::language::LanguageOptions;
    ///
    /// assert!(LanguageOptions::default().hint_types && !LanguageOptions::default().hint_memory);
    /// ```
    #[derive(Debug, Clone)]
    pub struct LanguageOptions {
        /// Values of variables (`${NAME}`).
        pub definitions: BTreeMap<String, String>,
        /// Release of ExecuTorch that programs are compared with.
        pub runtime: Option<Release>,
        /// Targets that programs are compared with.
        pub targets: Vec<Target>,
        /// Folder that contains all files that the text may refer to; `None` for any file.
        pub confined_to: Option<PathBuf>,
        /// Show inferred types of results.
        pub hint_types: bool,
        /// Show names of literal arguments.
        pub hint_arguments: bool,
        /// Show offsets and sizes in planned memory.
        pub hint_memory: bool,
    }
}

impl Default for LanguageOptions {
    fn default() -> LanguageOptions {
        LanguageOptions {
            definitions: BTreeMap::new(),
            runtime: None,
            targets: Vec::new(),
            confined_to: None,
            hint_types: true,
            hint_arguments: true,
            hint_memory: false,
        }
    }
}

/// Analysis of a text: answers of a language server as plain data, with byte ranges of the text. Each part is computed
/// when a question first needs it, and once.
///
/// ```
/// use pte_emit::language::{Analysis, LanguageOptions};
///
/// let text = std::fs::read_to_string("examples/linear.yaml").unwrap();
/// let linear = Analysis::new("linear.yaml", &text, "examples", &LanguageOptions::default());
/// assert!(linear.diagnostics().is_empty());
/// let mm = text.find("out: mm").unwrap() + 5;
/// assert!(linear.hover(mm).unwrap().text.contains("float32 [1, 3]"));
/// assert_eq!(linear.references(mm).len(), 2);
///
/// // Half a document.
/// let half = text.split_once("out: mm").unwrap().0;
/// let half = Analysis::new("linear.yaml", half, "examples", &LanguageOptions::default());
/// assert_eq!(half.diagnostics()[0].code, "Y-1");
/// assert!(half.hover(mm - 30).unwrap().text.contains("aten::addmm.out"));
/// ```
pub struct Analysis {
    text: Arc<str>,
    options: LanguageOptions,
    /// Variables that are not defined, and limits of the text.
    errors: Vec<SyntaxError>,
    documents: Vec<SourceDocument>,
}

impl std::fmt::Debug for Analysis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analysis").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

/// A document of a text.
pub(crate) struct SourceDocument {
    syntax: Syntax,
    source: Arc<Source>,
    /// Variables in the text, and in the expanded text.
    expansion: Arc<OffsetMap>,
    /// Range in the expanded text.
    part: Range<usize>,
    symbols: OnceLock<SymbolIndex>,
    facts: OnceLock<Facts>,
}

impl SourceDocument {
    /// Returns the range of the text for one of the tree.
    fn outer(&self, range: Range<usize>) -> Range<usize> {
        let range = self.syntax.repairs.original(range);
        self.expansion.original(self.part.start + range.start..self.part.start + range.end)
    }

    /// Returns the range of a node in the text.
    fn node_range(&self, node: NodeId) -> Range<usize> {
        self.outer(self.syntax.range(node))
    }

    /// Returns the offset in the text of the tree for one of the text.
    fn inner(&self, at: usize) -> usize {
        let at = self.expansion.edited(at).clamp(self.part.start, self.part.end);
        self.syntax.repairs.edited(at - self.part.start).min(self.syntax.text().len())
    }

    /// Returns the range in the text of the tree for one of the text.
    fn inner_range(&self, range: &Range<usize>) -> Range<usize> {
        self.inner(range.start)..self.inner(range.end)
    }

    fn symbols(&self) -> &SymbolIndex {
        self.symbols.get_or_init(|| SymbolIndex::new(&self.syntax))
    }

    fn facts(&self, options: &LanguageOptions) -> &Facts {
        self.facts.get_or_init(|| Facts::new(&self.source, options))
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

    fn of_files(name: String, text: &str, files: &FileAccess, options: &LanguageOptions) -> Analysis {
        let mut analysis =
            Analysis { text: text.into(), options: options.clone(), errors: Vec::new(), documents: Vec::new() };
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
                content: SourceContent::Text(syntax.text().clone()),
                lines_before,
                document: (!is_single).then_some(index + 1),
                quoted_numbers: if syntax.error.is_none() { quoted.collect() } else { Vec::new() },
                keeps_duplicates: true,
                ..Source::default()
            };
            analysis.documents.push(SourceDocument {
                syntax,
                source: Arc::new(source),
                expansion: expansion.clone(),
                part: range,
                symbols: OnceLock::new(),
                facts: OnceLock::new(),
            });
        }
        analysis
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the document at an offset, and the offset in the text of its tree.
    fn at(&self, at: usize) -> Option<(&SourceDocument, usize)> {
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

#[cfg(test)]
mod tests {
    use super::{Analysis, LanguageOptions};

    /// Returns the text without its mark `|`, and the offset of the mark.
    pub fn marked(text: &str) -> (String, usize) {
        let at = text.find('|').expect("the text has a mark");
        (text.replacen('|', "", 1), at)
    }

    pub fn analysis(text: &str) -> Analysis {
        options_analysis(text, &LanguageOptions::default())
    }

    pub fn options_analysis(text: &str, options: &LanguageOptions) -> Analysis {
        Analysis::new("test.yaml", text, "examples", options)
    }

    /// Messages as their code and text.
    fn messages(text: &str) -> Vec<String> {
        let found = analysis(text).diagnostics();
        let line = |message: &super::SourceMessage| {
            let first = message.message.lines().next().unwrap_or_default();
            format!("{} `{}`: {first}", message.code, text.get(message.range.clone()).unwrap_or("OUTSIDE"))
        };
        found.iter().map(line).collect()
    }

    const RELU: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2]}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::relu.out, args: [a], out: b}\n";

    #[test]
    fn messages_are_those_of_all_stages() {
        assert_eq!(messages(RELU), [""; 0]);
        let wrong = messages(&RELU.replace("float32", "float23"));
        assert_eq!(wrong, ["Y-10 `float23`: unknown element type `float23`: expected a torch dtype, such as float32"]);
        let unknown = messages(&RELU.replace("args: [a]", "args: [c]"));
        assert!(unknown.iter().any(|message| message.starts_with("Y-14 `c`: unknown value `c`")), "{unknown:?}");
        let unused = messages(&RELU.replace("    inputs", "      u: {tensor: float32, sizes: [2]}\n    inputs"));
        assert!(unused.contains(&"Y-40 `u`: unused value `u`".to_owned()), "{unused:?}");
        let finding = messages(&std::fs::read_to_string("examples/malformed/buffer_out_of_range.yaml").unwrap());
        assert!(finding.iter().any(|message| message.starts_with("T-21 ")), "{finding:?}");
    }

    #[test]
    fn half_a_document_has_its_own_messages() {
        let half = messages(&RELU.replace("sizes: [2]}", "sizez: [2]}").replace("outputs: [b]", "outputs: [b"));
        assert_eq!(half.len(), 2, "{half:?}");
        assert!(half[0].starts_with("Y-5 `sizez`: unknown key `sizez`") && half[1].starts_with("Y-1 "), "{half:?}");
    }

    #[test]
    fn variables_and_several_documents_keep_their_positions() {
        let text =
            format!("name: ${{NAME:first}}\n{RELU}---\n{}", RELU.replace("[2]", "[${N}]").replace("float32", "float3"));
        let found = messages(&text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("Y-10 `float3`"), "{found:?}");
        assert!(found[1].starts_with("Y-3 `${N}`: undefined variable `N`"), "{found:?}");
        let second = text.rfind("args: [a").unwrap() + 7;
        assert_eq!(analysis(&text).definition(second).unwrap().start, text.rfind("a: {tensor").unwrap());
    }

    #[test]
    fn hostile_texts_are_refused() {
        assert_eq!(messages("a: \0"), ["Y-45 `\0`: byte 3 is zero; expected YAML or JSON"]);
        for text in [
            "",
            "[",
            "{{{{",
            "- - - -",
            "\u{feff}",
            "a: *b",
            "%YAML",
            "---\n---\n",
            "methods:",
            "methods: {f: {values: 3}}",
        ] {
            let found = analysis(text);
            for at in 0..=text.len() {
                let _ = (
                    found.hover(at),
                    found.completions(at),
                    found.signature(at),
                    found.references(at),
                    found.selection(at),
                );
            }
            let _ = (
                found.diagnostics(),
                found.symbols(),
                found.folding(),
                found.tokens(),
                found.hints(0..text.len()),
                found.actions(0..text.len()),
            );
        }
    }
}
