//! Questions of an editor about YAML that is being written: messages, descriptions, completion, names, changes.
//!
//! [`Analysis`] has the answers about one text, of which parts may be missing or wrong. The stages and tables of the
//! assembler know them: what a key is, of the grammar (`ir::shape`); what an operator is, of its record
//! (`pte_operators`); types, memory and findings, of the stages. No file is written here, and no protocol is spoken:
//! `pte-emit lsp` does that.

mod actions;
mod analysis;
mod calls;
mod completion;
mod declarations;
mod edits;
mod facts;
#[cfg(test)]
mod fixtures;
mod formatting;
mod hints;
mod hover;
mod insertion;
mod messages;
mod offsets;
mod options;
mod outline;
mod places;
mod rename;
mod rest;
mod results;
mod symbols;
mod tokens;
mod tree;
mod units;

pub use analysis::{Analysis, MAX_TEXT};
pub use completion::MAX_COMPLETIONS;
pub use hover::explain;
pub use options::LanguageOptions;
pub use results::{
    ArrayFile, CallSignature, CompletionItem, CompletionKind, FileLink, HintKind, Hover, InlayHint, LensKind,
    MessageLevel, MethodLens, OutlineItem, OutlineKind, Reference, SemanticToken, SourceAction, SourceMessage,
    TextEdit, TokenKind,
};
pub use symbols::NameKind;
pub use units::{OffsetUnits, UnitOffsets};
