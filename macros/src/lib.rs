#![doc = include_str!("../README.md")]

use std::path::{Path, PathBuf};

use proc_macro::{Delimiter, Group, Literal, Span, TokenStream, TokenTree};
use pte_emit::{Error, Model};

/// Assembles YAML when the code is compiled, and returns the program as `&'static [u8]`, aligned to 16 bytes as the
/// runtime requires. The path is relative to the file that calls the macro. An error in the YAML is an error of the
/// compiler, with the position in the YAML. The YAML, and all files that it reads, are tracked: the code is compiled
/// again when one changes.
#[proc_macro]
pub fn include_pte(input: TokenStream) -> TokenStream {
    let at = span(&input);
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    expanded(at, path(&tokens).and_then(|path| included(&path)))
}

/// Compares a produced program (an expression of bytes) with the golden YAML at a path, which is relative to the file
/// that calls the macro. Panics if they differ: the message has what changed in meaning, then the change of the YAML.
/// With `BLESS=1` in the environment, the YAML is written instead; its comments stay.
///
/// The code that calls it depends on `pte-emit`.
#[proc_macro]
pub fn assert_program_eq(input: TokenStream) -> TokenStream {
    let at = span(&input);
    let mut tokens: Vec<TokenTree> = input.into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    tokens.pop_if(|token| is_comma(token));
    let golden = match tokens.iter().rposition(is_comma) {
        Some(comma) if comma > 0 => tokens.split_off(comma),
        _ => return expanded(at, Err("expected `assert_program_eq!(bytes, \"golden.yaml\")`".to_owned())),
    };
    let produced = TokenTree::Group(Group::new(Delimiter::Parenthesis, tokens.into_iter().collect()));
    expanded(at, path(&golden[1..]).and_then(|path| compared(&produced, &path)))
}

/// Returns the place of the call for an error.
fn span(input: &TokenStream) -> Span {
    input.clone().into_iter().last().map_or_else(Span::call_site, |token| token.span())
}

/// Returns the code, or an error of the compiler at this place.
fn expanded(at: Span, code: Result<TokenStream, String>) -> TokenStream {
    code.unwrap_or_else(|message| {
        let text = format!("::core::compile_error!({})", Literal::string(&message));
        let tokens: TokenStream = text.parse().expect("tokens");
        tokens
            .into_iter()
            .map(|mut token| {
                token.set_span(at);
                token
            })
            .collect()
    })
}

/// Returns the path that a string names, from the folder of the file with the call.
fn path(tokens: &[TokenTree]) -> Result<PathBuf, String> {
    let [TokenTree::Literal(literal)] = tokens else { return Err("expected the path of a file in quotes".to_owned()) };
    let text = literal.to_string();
    let text = text.strip_prefix('r').unwrap_or(&text).trim_matches('#');
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(|text| !text.contains('\\'));
    let text = text.ok_or_else(|| format!("expected the path of a file in quotes, with `/`, found `{literal}`"))?;
    let caller = literal.span().local_file().and_then(|file| std::path::absolute(file).ok());
    let folder = caller.as_deref().and_then(Path::parent).map(Path::to_owned);
    let folder = folder.or_else(|| std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from));
    Ok(folder.unwrap_or_default().join(text))
}

/// Returns a path as a string in code.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))?;
    Ok(Literal::string(text).to_string())
}

fn rendered(error: &Error) -> String {
    error.report().render(false).trim_end().to_owned()
}

fn included(path: &Path) -> Result<TokenStream, String> {
    let documents = Model::open(path).and_then(|model| model.documents(&Default::default()));
    let models = documents.map_err(|error| rendered(&error))?.models;
    let [model] = &models[..] else {
        return Err(format!("{}: {} documents, expected one", path.display(), models.len()));
    };
    let assembly = model.assembly().map_err(|error| rendered(&error))?;
    let file = assembly.program_file().ok_or_else(|| format!("{}: expected a source with methods", path.display()))?;
    let bytes = file.to_vec().map_err(|error| format!("{}: {error}", path.display()))?;
    let mut files = vec![path.to_owned()];
    assembly.data_sources(&mut |file| files.push(file.to_owned()));
    let tracked = files.iter().map(|file| {
        let file = quoted(&std::path::absolute(file).unwrap_or_else(|_| file.clone()))?;
        Ok(format!("const _: &[u8] = ::core::include_bytes!({file});"))
    });
    let tracked: String = tracked.collect::<Result<_, String>>()?;
    let bytes = Literal::byte_string(&bytes);
    let code = format!(
        "{{ {tracked} #[repr(C, align(16))] struct Aligned<T: ?Sized>(T);
            const PROGRAM: &Aligned<[u8]> = &Aligned(*{bytes}); &PROGRAM.0 }}"
    );
    code.parse().map_err(|error| format!("{error}"))
}

fn compared(produced: &TokenTree, path: &Path) -> Result<TokenStream, String> {
    let path = quoted(path)?;
    // The test reads the environment, not the library.
    let code = format!(
        "{{
            let produced = ::pte_emit::Model::from_binary(\"<produced>\", {produced});
            let bless = matches!(::std::env::var(\"BLESS\").as_deref(), Ok(\"1\" | \"true\" | \"yes\"));
            let golden = ::pte_emit::Golden::open({path});
            match golden.and_then(|golden| golden.check(&produced, &::core::default::Default::default(), bless)) {{
                Ok(None) => {{}}
                Ok(Some(report)) => panic!(\"{{report}}BLESS=1 in the environment writes this change\"),
                Err(error) => panic!(\"{{error}}\"),
            }}
        }}"
    );
    code.parse().map_err(|error| format!("{error}"))
}
