//! Canonical layout of YAML: indentation, brackets and quotes. Comments, spellings of numbers, anchors, block scalars
//! and variables stay; so does the meaning, which is verified.
//!
//! A [`Policy`] says which lists and maps are blocks. `concrete` reads what was written, `layout` writes it. JSON stays
//! JSON, in the layout of `json`.

mod concrete;
mod edits;
mod json;
mod layout;
mod policy;

use pte_model::diagnostics::Code;

use crate::repeat::{DO, REPEAT};
use crate::template;
use crate::tree::{self, NodeValue, SourceNode, SyntaxError};
pub use edits::{Addition, Edits};
pub use json::problem as json_problem;
pub use policy::{Arrangement, Policy, WIDTH};

use concrete::{Builder, Collection, ConcreteDocument, Content, Entry};
use granit_parser::Event;

/// Formats a source, which may have several documents and variables. JSON stays JSON.
///
/// ```
/// use pte_yaml::format::{Arrangement, Policy, format};
///
/// struct Blocks;
/// impl Policy for Blocks {
///     type Place = u32;
///     fn root(&self) -> u32 { 0 }
///     fn value(&self, map: u32, _: &str) -> u32 { map + 1 }
///     fn item(&self, list: u32) -> u32 { list + 1 }
///     fn arrangement(&self, depth: u32) -> Arrangement {
///         if depth < 1 { Arrangement::Block } else { Arrangement::Line }
///     }
///     fn drops_quotes(&self, _: u32) -> bool { true }
/// }
///
/// let text = "a:   'x' # first\nb:\n - 0x10\n - 2";
/// assert_eq!(format(text, &Blocks).unwrap(), "a: x  # first\nb: [0x10, 2]\n");
/// ```
///
/// # Errors
/// The first [`SyntaxError`] of the source. One of [`Code::UnmetRequest`] if the result would have another meaning.
pub fn format<P: Policy>(text: &str, policy: &P) -> Result<String, SyntaxError> {
    edited(text, policy, &Edits::default())
}

/// Formats a source whose maps change; JSON becomes YAML then. The caller verifies the meaning. The offsets of keys are
/// those in their document, with line feeds only.
///
/// ```
/// # use pte_yaml::format::{Addition, Arrangement, Edits, Policy, edited};
/// # struct Lines;
/// # impl Policy for Lines {
/// #     type Place = ();
/// #     fn root(&self) {}
/// #     fn value(&self, _: (), _: &str) {}
/// #     fn item(&self, _: ()) {}
/// #     fn arrangement(&self, _: ()) -> Arrangement { Arrangement::Line }
/// #     fn drops_quotes(&self, _: ()) -> bool { true }
/// # }
/// let mut edits = Edits::default();
/// edits.dropped.insert(4);
/// edits.added.insert(0, vec![Addition { text: "{d: 4, c: 0, e: 5}".to_owned(), is_last: false }]);
/// assert_eq!(edited("a: {b: 1, c: 2}", &Lines, &edits).unwrap(), "{a: {d: 4, c: 2, e: 5}}\n");
/// ```
///
/// # Errors
/// Those of [`format()`].
pub fn edited<P: Policy>(text: &str, policy: &P, edits: &Edits) -> Result<String, SyntaxError> {
    // Errors have the positions of the source as it is.
    for (document, start) in masked_documents(text)? {
        tree::parse(&document)
            .map_err(|error| SyntaxError { span: error.span.start + start..error.span.end + start, ..error })?;
    }
    let source = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source =
        if source.contains('\r') { source.replace("\r\n", "\n").replace('\r', "\n") } else { source.to_owned() };
    let masked = masked_documents(&source)?;
    let is_json = |text: &str| json::problem(text).is_none();
    let mut out =
        if edits.is_empty() && is_json(&source) { source.clone() } else { as_yaml(&source, &masked, policy, edits)? };
    // YAML in brackets can become JSON, too.
    if is_json(&out) {
        out = json::layout(&out);
    }
    verify(&source, &masked, &out, edits.is_empty())?;
    Ok(out)
}

/// Lays out the documents of a source as YAML.
fn as_yaml<P: Policy>(
    source: &str,
    documents: &[(String, usize)],
    policy: &P,
    edits: &Edits,
) -> Result<String, SyntaxError> {
    let mut out = String::with_capacity(source.len());
    let variables = template::variables(source)?;
    for (document, start) in documents {
        let end = start + document.len();
        let first = variables.partition_point(|range| range.start < *start);
        let inside = variables[first..].iter().take_while(|range| range.end <= end);
        let inside: Vec<_> = inside.map(|range| range.start - start..range.end - start).collect();
        let mut concrete = Builder::new(&source[*start..end], document, &inside).build()?;
        if let Some(root) = &mut concrete.root {
            edits.apply(root)?;
        }
        arrange(&mut concrete, policy);
        layout::write(&concrete, &mut out);
    }
    Ok(out)
}

/// Returns the documents of a source, each with its start, with words of the same length in place of variables.
fn masked_documents(text: &str) -> Result<Vec<(String, usize)>, SyntaxError> {
    let mut masked = text.as_bytes().to_vec();
    for range in template::variables(text)? {
        masked[range].fill(b'v');
    }
    let masked = String::from_utf8(masked).unwrap_or_default();
    let mut start = 0;
    let documents = template::documents(&masked).into_iter();
    Ok(documents
        .map(|(_, document)| {
            let begin = start;
            start += document.len();
            (document.to_owned(), begin)
        })
        .collect())
}

/// Sets what the policy decides, and moves comments to where they are written.
fn arrange<P: Policy>(document: &mut ConcreteDocument<'_>, policy: &P) {
    /// Returns true for a block.
    fn visit<P: Policy>(entry: &mut Entry<'_>, place: P::Place, around: P::Place, policy: &P) -> bool {
        let mut is_block = false;
        if let Content::Text(text) = &mut entry.content {
            text.drops_quotes = policy.drops_quotes(place);
        }
        if let Content::Collection(collection) = &mut entry.content {
            let Collection { is_map, entries, .. } = &mut **collection;
            let mut has_block = false;
            let is_key = |entry: &Entry<'_>, name| entry.key.as_ref().is_some_and(|key| key.text == name);
            let is_repetition = *is_map
                && entries.len() == 2
                && [REPEAT, DO].iter().all(|name| entries.iter().any(|entry| is_key(entry, *name)));
            for entry in entries {
                let inside = match (&entry.key, *is_map) {
                    // What is repeated is laid out as in the list or map around.
                    (Some(key), true) if is_repetition && key.text == DO => around,
                    (Some(key), true) => policy.value(place, &key.text),
                    _ => policy.item(place),
                };
                has_block |= visit(entry, inside, place, policy);
            }
            let own = if is_repetition { policy.arrangement(around) } else { policy.arrangement(place) };
            collection.arrangement = match own {
                Arrangement::OfEntries if has_block => Arrangement::Block,
                Arrangement::OfEntries => Arrangement::Line,
                arrangement => arrangement,
            };
            is_block = collection.arrangement == Arrangement::Block && !collection.entries.is_empty();
        }
        entry.lift();
        is_block
    }
    if let Some(root) = &mut document.root {
        visit(root, policy.root(), policy.root(), policy);
    }
}

/// Compares the formatted source with the original: the trees if `is_same_tree`, the comments and the variables.
fn verify(source: &str, documents: &[(String, usize)], out: &str, is_same_tree: bool) -> Result<(), SyntaxError> {
    let lost = |what: &str| SyntaxError {
        code: Code::UnmetRequest,
        span: 0..0,
        message: format!("internal error: formatting would change {what}; the source stays as it is"),
    };
    let formatted = masked_documents(out).map_err(|_| lost("the variables"))?;
    if formatted.len() != documents.len() {
        return Err(lost("the number of documents"));
    }
    let variables = |text: &str| {
        template::variables(text)
            .map(|ranges| ranges.into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>())
    };
    if variables(source)? != variables(out)? {
        return Err(lost("the variables"));
    }
    for ((before, start), (after, at)) in documents.iter().zip(&formatted) {
        let same = !is_same_tree
            || tree::parse(after).is_ok_and(|found| tree::parse(before).is_ok_and(|old| is_same(&old, &found)));
        if !same {
            return Err(lost("the meaning"));
        }
        let (old, new) = (&source[*start..start + before.len()], &out[*at..at + after.len()]);
        if comments(old, before)? != comments(new, after)? {
            return Err(lost("the comments"));
        }
    }
    Ok(())
}

/// Returns true for trees of the same values.
fn is_same(a: &SourceNode<'_>, b: &SourceNode<'_>) -> bool {
    match (&a.value, &b.value) {
        (NodeValue::Float(a), NodeValue::Float(b)) => a.to_bits() == b.to_bits(),
        (NodeValue::List(a), NodeValue::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (NodeValue::Map(a), NodeValue::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((key, a), (other, b))| key.text == other.text && is_same(a, b))
        }
        (a, b) => a == b,
    }
}

/// Returns all comments in the order of the source, as the parser finds them.
fn comments<'a>(text: &'a str, masked: &str) -> Result<Vec<&'a str>, SyntaxError> {
    let mut parser = tree::parser_with_comments(masked);
    let mut ranges = Vec::new();
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| tree::scan_error(masked, &error))?;
        if let Event::Comment(..) = event {
            ranges.push(tree::range(masked, &span));
        }
    }
    ranges.sort_unstable_by_key(|range| range.start);
    Ok(ranges.into_iter().map(|range| text[range].trim_end()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrangements by depth, beginning with one of them.
    struct ByDepth(usize);

    impl Policy for ByDepth {
        type Place = usize;

        fn root(&self) -> usize {
            self.0
        }

        fn value(&self, map: usize, _: &str) -> usize {
            map + 1
        }

        fn item(&self, list: usize) -> usize {
            list + 1
        }

        fn arrangement(&self, place: usize) -> Arrangement {
            [Arrangement::Block, Arrangement::Line, Arrangement::OfEntries, Arrangement::Fitted][place % 4]
        }

        fn drops_quotes(&self, place: usize) -> bool {
            place.is_multiple_of(2)
        }
    }

    #[test]
    fn an_empty_value_stays_empty() {
        for (text, expected) in [
            ("a:   # c\nb: ~\nc: {d: ,  e: }\n", "a:  # c\nb: null\nc: {d: , e: }\n"),
            ("a:\n -\n - b\n", "a: [null, b]\n"),
            ("a: &x\nb: !!null\n", "a: &x\nb: !!null null\n"),
        ] {
            assert_eq!(format(text, &ByDepth(0)).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(format("-\n-   a\n", &ByDepth(0)).as_deref(), Ok("-\n- a\n"));
    }

    #[test]
    fn the_end_of_a_document_is_no_document() {
        assert_eq!(format("...\n---  # c\nb:  2\n", &ByDepth(0)).as_deref(), Ok("---  # c\nb: 2\n"));
        assert_eq!(format("# c\n... # d\n---\n...\n", &ByDepth(0)).as_deref(), Ok("# c\n# d\n---\n"));
    }

    /// A case of the YAML test suite.
    #[derive(serde::Deserialize)]
    struct SuiteCase {
        id: String,
        yaml: String,
    }

    #[test]
    fn the_yaml_test_suite_keeps_its_meaning() {
        let suite = std::fs::read_to_string("tests/yaml/suite.jsonl").unwrap();
        let (mut count, mut wrong) = (0, Vec::new());
        for line in suite.lines() {
            let SuiteCase { id, yaml } = serde_json::from_str(line).unwrap();
            for policy in (0..4).map(ByDepth) {
                match format(&yaml, &policy) {
                    Ok(once) => {
                        count += 1;
                        let twice = format(&once, &policy);
                        if twice.as_deref() != Ok(&*once) {
                            wrong.push(format!("{id}: {yaml:?}\n{once:?}\n{twice:?}"));
                        }
                    }
                    Err(error) if error.code == Code::UnmetRequest => {
                        wrong.push(format!("{id}: {yaml:?} {}", error.message));
                    }
                    Err(_) => {}
                }
            }
        }
        assert!(wrong.is_empty() && count > 800, "{count}, {} wrong\n{}", wrong.len(), wrong.join("\n"));
    }
}
