//! List of the public API, from the sources: the items that src/lib.rs makes public, with their signatures.
//!
//! Enums of `words!` are listed as what they expand to. What another macro declares is listed as its rows. Known
//! limits: names are looked up by their last segment, so two types of one name cannot both be public; methods that
//! another macro declares are not listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Attribute, Field, Fields, ImplItem, Item, Meta, Signature, TraitItem, UseTree, Visibility};

/// Files of the library and of the crates by module path: `lib`, `model`, `pte_model`, `pte_model::program`.
pub struct Sources(BTreeMap<String, syn::File>);

impl Sources {
    /// Parses files below a folder.
    pub fn read(root: &Path, files: &[std::path::PathBuf]) -> Sources {
        let parse = |path: &std::path::PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            let mut file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            file.items = file.items.into_iter().flat_map(expanded).collect();
            let path = path.strip_prefix(root).unwrap().with_extension("").display().to_string();
            let module = match path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) {
                Some((name, "lib")) => name.replace('-', "_"),
                Some((name, module)) => format!("{}::{}", name.replace('-', "_"), module.replace('/', "::")),
                None => path.trim_start_matches("src/").replace('/', "::"),
            };
            (module.trim_end_matches("::mod").to_owned(), file)
        };
        Sources(files.iter().map(parse).collect())
    }

    /// Returns the lines of the list, by item.
    pub fn list(&self) -> String {
        let mut found = BTreeMap::new();
        self.module("lib", &self.0["lib"].items, "", &mut found);
        let public: BTreeSet<String> = found.values().map(|(_, name)| name.clone()).collect();
        let blocks = found.into_iter().map(|(path, (module, name))| self.block(&path, &module, &name, &public));
        blocks.collect::<Vec<String>>().join("\n")
    }

    /// Collects the public items of a module: path in the API, module that declares it, and name there.
    fn module(&self, module: &str, items: &[Item], prefix: &str, found: &mut BTreeMap<String, (String, String)>) {
        for item in items {
            match item {
                Item::Use(item) if is_public(&item.vis) => {
                    for (path, public) in names(&item.tree, String::new()) {
                        let path = match (path.strip_prefix("crate::"), module) {
                            (Some(path), module) => match module.split("::").next() {
                                Some(name) if name.starts_with("pte_") => format!("{name}::{path}"),
                                _ => path.to_owned(),
                            },
                            (None, "lib") => path,
                            (None, module) => format!("{module}::{path}"),
                        };
                        if let Some(file) = self.0.get(&path) {
                            self.module(&path, &file.items, &format!("{prefix}{public}::"), found);
                            continue;
                        }
                        let (path, name) = path.rsplit_once("::").expect("a module");
                        found.insert(format!("{prefix}{public}"), (path.to_owned(), name.to_owned()));
                    }
                }
                Item::Mod(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                    let (_, items) = item.content.as_ref().expect("an inline module of src/lib.rs");
                    self.module(module, items, &format!("{prefix}{}::", item.ident), found);
                }
                item => {
                    if let Some((name, vis, attrs)) = declaration(item)
                        && is_public(vis)
                        && !is_hidden(attrs)
                    {
                        found.insert(format!("{prefix}{name}"), (module.to_owned(), name));
                    }
                }
            }
        }
    }

    /// Modules of the crate of a module.
    fn siblings(&self, module: &str) -> impl Iterator<Item = (&String, &syn::File)> {
        let name = |module: &str| module.split("::").next().filter(|name| name.starts_with("pte_")).map(str::to_owned);
        let own = name(module);
        self.0.iter().filter(move |(other, _)| name(other) == own)
    }

    /// Lists an item, its public parts and its methods.
    fn block(&self, path: &str, module: &str, name: &str, public: &BTreeSet<String>) -> String {
        let (module, item) = self.find(module, name);
        let mut lines = match item {
            Some(item) => describe(item),
            None => rows(&self.0[module], name).unwrap_or_else(|| panic!("{module}::{name} is not found")),
        };
        lines[0] = format!("{path}: {}", lines[0]);
        let mut parts = Vec::new();
        for item in self.siblings(module).flat_map(|(_, file)| &file.items) {
            let Item::Impl(item) = item else { continue };
            let is_of_type =
                matches!(&*item.self_ty, syn::Type::Path(path) if path.path.segments.last().unwrap().ident == name);
            if !is_of_type || is_hidden(&item.attrs) || is_internal(&item.attrs) {
                continue;
            }
            if let Some((_, of, _)) = &item.trait_ {
                let is_private = self.declares_trait(&of.segments.last().unwrap().ident.to_string());
                if !is_private || public.contains(&of.segments.last().unwrap().ident.to_string()) {
                    parts.push(format!("impl {} for {}", text(of), text(&item.self_ty)));
                }
                continue;
            }
            for part in &item.items {
                match part {
                    ImplItem::Fn(method) if is_public(&method.vis) && !is_hidden(&method.attrs) => {
                        parts.push(signature(&method.sig));
                    }
                    ImplItem::Const(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                        parts.push(format!("const {}: {}", item.ident, text(&item.ty)));
                    }
                    _ => {}
                }
            }
        }
        parts.sort();
        lines.extend(parts);
        lines.join("\n    ") + "\n"
    }

    /// Finds an item in a module, in its children, or in another module of the crate.
    fn find<'s>(&'s self, module: &'s str, name: &str) -> (&'s str, Option<&'s Item>) {
        let is_below = |path: &str| path == module || path.starts_with(&format!("{module}::"));
        let modules = || {
            let near = self.siblings(module).filter(|(path, _)| is_below(path));
            near.chain(self.siblings(module).filter(|(path, _)| !is_below(path)))
        };
        for (path, file) in modules() {
            if let Some(item) =
                file.items.iter().find(|item| declaration(item).is_some_and(|(found, ..)| found == name))
            {
                return (path, Some(item));
            }
        }
        let in_macro = modules().find(|(_, file)| rows(file, name).is_some());
        (in_macro.unwrap_or_else(|| panic!("{module}::{name} is not found")).0, None)
    }

    fn declares_trait(&self, name: &str) -> bool {
        let mut items = self.0.values().flat_map(|file| &file.items);
        items.any(|item| matches!(item, Item::Trait(item) if item.ident == name))
    }
}

/// Returns what a call of `words!` declares: the enum, its constant and its functions. Other items are unchanged.
fn expanded(item: Item) -> Vec<Item> {
    let Item::Macro(call) = &item else { return vec![item] };
    let tokens: Vec<TokenTree> = call.mac.tokens.clone().into_iter().collect();
    let is_rows = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let Some(at) = tokens.iter().position(is_rows).filter(|_| call.mac.path.is_ident("words")) else {
        return vec![item];
    };
    let TokenTree::Group(rows) = &tokens[at] else { unreachable!("a group") };
    let rows: TokenStream = rows.stream().into_iter().filter(|token| !matches!(token, TokenTree::Literal(_))).collect();
    let head: TokenStream = tokens[..at].iter().cloned().collect();
    let (name, count) = (&tokens[at - 1], rows.clone().into_iter().filter(|token| token.to_string() == ",").count());
    let mut code = format!("{head} {{ {rows} }} impl {name} {{ pub const ALL: [{name}; {count}] = []; }}");
    for part in tokens[at + 1..].iter().filter(|part| !["fn", ";"].contains(&part.to_string().as_str())) {
        code += &match part.to_string().as_str() {
            "Display" => format!("impl fmt::Display for {name} {{}}"),
            function => format!("impl {name} {{ pub const fn {function}(self) -> &'static str {{}} }}"),
        };
    }
    syn::parse_file(&code).unwrap_or_else(|error| panic!("{code}: {error}")).items
}

/// Returns the names of a `use`: path and public name.
fn names(tree: &UseTree, prefix: String) -> Vec<(String, String)> {
    match tree {
        UseTree::Path(path) if path.ident == "self" => names(&path.tree, prefix),
        UseTree::Path(path) => names(&path.tree, format!("{prefix}{}::", path.ident)),
        UseTree::Name(name) => vec![(format!("{prefix}{}", name.ident), name.ident.to_string())],
        UseTree::Rename(name) => vec![(format!("{prefix}{}", name.ident), name.rename.to_string())],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| names(tree, prefix.clone())).collect(),
        UseTree::Glob(_) => panic!("`{prefix}*`: the list needs names"),
    }
}

/// Returns name, visibility and attributes of an item that has a name.
fn declaration(item: &Item) -> Option<(String, &Visibility, &[Attribute])> {
    let (ident, vis, attrs) = match item {
        Item::Struct(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Enum(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Trait(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Type(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Const(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Static(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Fn(item) => (&item.sig.ident, &item.vis, &item.attrs),
        _ => return None,
    };
    Some((ident.to_string(), vis, attrs))
}

/// Lists an item and its public parts.
fn describe(item: &Item) -> Vec<String> {
    let with = |attrs: &[Attribute], head: String| vec![format!("{}{head}", attributes(attrs))];
    match item {
        Item::Struct(item) => {
            let mut lines = with(&item.attrs, format!("struct {}{}", item.ident, text(&item.generics)));
            lines.extend(fields(&item.fields, true));
            lines
        }
        Item::Enum(item) => {
            let mut lines = with(&item.attrs, format!("enum {}{}", item.ident, text(&item.generics)));
            lines.extend(item.variants.iter().map(|variant| {
                let fields = fields(&variant.fields, false).join(", ");
                match variant.fields {
                    Fields::Unit => variant.ident.to_string(),
                    Fields::Named(_) => format!("{} {{{fields}}}", variant.ident),
                    Fields::Unnamed(_) => format!("{}({fields})", variant.ident),
                }
            }));
            lines
        }
        Item::Trait(item) => {
            let mut lines = with(&item.attrs, format!("trait {}: {}", item.ident, text(&item.supertraits)));
            lines.extend(item.items.iter().filter_map(|item| match item {
                TraitItem::Fn(item) => Some(signature(&item.sig)),
                TraitItem::Const(item) => Some(format!("const {}: {}", item.ident, text(&item.ty))),
                _ => None,
            }));
            lines
        }
        Item::Type(item) => with(&item.attrs, format!("type {} = {}", item.ident, text(&item.ty))),
        Item::Const(item) => with(&item.attrs, format!("const {}: {}", item.ident, text(&item.ty))),
        Item::Static(item) => with(&item.attrs, format!("static {}: {}", item.ident, text(&item.ty))),
        Item::Fn(item) => with(&item.attrs, signature(&item.sig)),
        _ => unreachable!("an item without a name"),
    }
}

/// Lists fields that are not hidden; of a struct only the public ones.
fn fields(fields: &Fields, public_only: bool) -> Vec<String> {
    let is_shown = |field: &&Field| (!public_only || is_public(&field.vis)) && !is_hidden(&field.attrs);
    let mut lines: Vec<String> = fields
        .iter()
        .filter(is_shown)
        .map(|field| match &field.ident {
            Some(name) => format!("{name}: {}", text(&field.ty)),
            None => text(&field.ty),
        })
        .collect();
    if lines.len() < fields.len() {
        lines.push("..".to_owned());
    }
    lines
}

/// Lists the rows of the macro of a file that declares a type, or `None`.
fn rows(file: &syn::File, name: &str) -> Option<Vec<String>> {
    let macros = || file.items.iter().filter_map(|item| if let Item::Macro(item) = item { Some(item) } else { None });
    if let Some(row) = macros().filter(|item| item.ident.is_none()).find_map(|item| row(item, name)) {
        return Some(row);
    }
    let declaring = macros().find(|item| declares(item.mac.tokens.clone(), name))?;
    let of = declaring.ident.as_ref().map_or_else(|| text(&declaring.mac.path), ToString::to_string);
    let mut lines = vec![format!("declared by {of}!")];
    for item in macros().filter(|item| item.ident.is_none() && text(&item.mac.path) == of) {
        lines.extend(separate(without_docs(item.mac.tokens.clone())));
    }
    Some(lines)
}

/// Lists the row `Name { ... }` of the call of a macro that another file defines, or `None`.
fn row(call: &syn::ItemMacro, name: &str) -> Option<Vec<String>> {
    let tokens: Vec<TokenTree> = call.mac.tokens.clone().into_iter().collect();
    let content = tokens.windows(2).find_map(|pair| match pair {
        [TokenTree::Ident(found), TokenTree::Group(content)] if found == name => Some(content.stream()),
        _ => None,
    })?;
    let content: TokenStream = without_docs(content).into_iter().collect();
    let mut lines = vec![format!("declared by {}!", text(&call.mac.path))];
    lines.extend(separate(content.into_iter().collect()));
    Some(lines)
}

/// Returns the rows of a macro as lines, so that two new rows are two lines of a review: a row ends with `,`, `;` or
/// braces, or with a string before another kind of token.
fn separate(tokens: Vec<TokenTree>) -> Vec<String> {
    let is_text = |token: &TokenTree| matches!(token, TokenTree::Literal(text) if text.to_string().starts_with('"'));
    let (mut lines, mut row) = (Vec::new(), TokenStream::new());
    for (at, token) in tokens.iter().enumerate() {
        row.extend([token.clone()]);
        let is_end = match token {
            TokenTree::Punct(punct) => [';', ','].contains(&punct.as_char()),
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Literal(_) => is_text(token) && tokens.get(at + 1).is_some_and(|next| !is_text(next)),
            TokenTree::Ident(_) => false,
        };
        if is_end {
            lines.push(tidy(&std::mem::take(&mut row).to_string()));
        }
    }
    lines.extend((!row.is_empty()).then(|| tidy(&row.to_string())));
    lines
}

/// Removes documentation.
fn without_docs(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_docs = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Group(group)) if group.stream().to_string().starts_with("doc "));
    let is_hash = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '#');
    let numbered = tokens.iter().enumerate();
    let kept = numbered.filter(|(at, token)| !(is_docs(Some(token)) || is_hash(token) && is_docs(tokens.get(at + 1))));
    kept.map(|(_, token)| token.clone()).collect()
}

/// Returns true if tokens declare a type or a static with this name.
fn declares(tokens: TokenStream, name: &str) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_word = |token: &TokenTree, words: &[&str]| matches!(token, TokenTree::Ident(word) if words.contains(&word.to_string().as_str()));
    tokens.windows(2).any(|pair| is_word(&pair[0], &["struct", "enum", "static"]) && is_word(&pair[1], &[name]))
        || tokens.iter().any(|token| matches!(token, TokenTree::Group(group) if declares(group.stream(), name)))
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

fn is_hidden(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attribute| text(&attribute.meta) == "doc(hidden)")
}

/// Returns true for `#[cfg]` of tests.
fn is_internal(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attribute| attribute.path().is_ident("cfg"))
}

/// Returns the attributes that belong to the API: `non_exhaustive`, and derived traits.
fn attributes(attrs: &[Attribute]) -> String {
    let mut out = String::new();
    for attribute in attrs {
        if attribute.path().is_ident("non_exhaustive") {
            out = format!("#[non_exhaustive] {out}");
        } else if attribute.path().is_ident("derive")
            && let Meta::List(list) = &attribute.meta
        {
            let traits = list.parse_args_with(Punctuated::<syn::Path, syn::Token![,]>::parse_terminated).unwrap();
            let mut traits: Vec<String> = traits.iter().map(text).collect();
            traits.sort();
            out += &format!("#[derive({})] ", traits.join(", "));
        }
    }
    out
}

fn signature(signature: &Signature) -> String {
    text(signature)
}

fn text(tokens: &impl ToTokens) -> String {
    tidy(&tokens.to_token_stream().to_string())
}

/// Removes the spaces that rustfmt does not write.
fn tidy(text: &str) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (spaced, plain) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        ("& ", "&"),
        (" ,", ","),
        (" ;", ";"),
        (" :", ":"),
        ("( ", "("),
        (" )", ")"),
        ("[ ", "["),
        (" ]", "]"),
        (" (", "("),
        ("- >", "->"),
        ("' ", "'"),
        (",)", ")"),
        ("->", " -> "),
        (" !", "!"),
    ] {
        text = text.replace(spaced, plain);
    }
    text.replace("  ", " ").replace(" = >", " =>").replace("-  >", "->")
}
