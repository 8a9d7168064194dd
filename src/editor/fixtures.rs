//! Texts with a mark, for the tests of the other files.

use super::analysis::Analysis;
use super::options::LanguageOptions;

/// Returns the text without its mark `|`, and the offset of the mark.
pub fn marked(text: &str) -> (String, usize) {
    let at = text.find('|').expect("the text has a mark");
    (text.replacen('|', "", 1), at)
}

/// Analyses a text.
pub fn analysis(text: &str) -> Analysis {
    options_analysis(text, &LanguageOptions::default())
}

/// Analyses a text with options.
pub fn options_analysis(text: &str, options: &LanguageOptions) -> Analysis {
    Analysis::new("test.yaml", text, "examples", options)
}
