//! Moves the constants of a program, and the named data of its delegates, to `.ptd` files (`--external-data`).
//!
//! Only marks them; the layout places their bytes.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use crate::pattern::Pattern;
use pte_model::data::BlobId;
use pte_model::diagnostics::{clipped, first_names};
use pte_model::program::{
    EValue, ExternalData, ExtraTensorInfo, Memory, Program, Tensor, TensorData, TensorDataLocation,
};
use pte_xnnpack::payloads::{DelegateKeys, Payloads};

/// A rule `FILE.ptd=PATTERN` that moves data to a `.ptd`. A `*` in the name of the file stands for what the first `*`
/// of the pattern matches, and so on.
///
/// ```
/// use pte_transform::externalize::ExternalRule;
///
/// let rule: ExternalRule = "layer*.ptd=layers.*.*".parse().unwrap();
/// assert_eq!(rule.tag("layers.3.attention.weight").unwrap().as_deref(), Ok("layer3"));
/// assert_eq!(rule.tag("head.weight"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalRule {
    /// Name of the file without `.ptd`.
    file: Pattern,
    /// Names of constants, and keys of named data.
    pub names: Pattern,
}

impl FromStr for ExternalRule {
    type Err = String;

    fn from_str(text: &str) -> Result<ExternalRule, String> {
        let (file, names) =
            text.split_once('=').filter(|(_, names)| !names.is_empty()).ok_or("expected FILE.ptd=PATTERN")?;
        let stem = file.strip_suffix(".ptd").ok_or_else(|| format!("`{file}`: expected the name of a .ptd file"))?;
        check_tag(stem)?;
        let (file, names) = (Pattern::new(stem), Pattern::new(names));
        if file.wildcards() > names.wildcards() {
            return Err(format!("`{file}.ptd` has more `*` than `{names}`, which do not stand for anything"));
        }
        Ok(ExternalRule { file, names })
    }
}

impl fmt::Display for ExternalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.ptd={}", self.file, self.names)
    }
}

impl ExternalRule {
    /// Returns the name of the file for a name, without `.ptd`; `None` if the rule does not apply.
    ///
    /// # Errors
    /// The text that a `*` stands for is not valid in a file name.
    pub fn tag(&self, name: &str) -> Option<Result<String, String>> {
        let captures = self.names.captures(name)?;
        let tag = self.file.filled(&captures);
        Some(check_tag(&tag).map(|()| tag).map_err(|error| format!("`{self}` for `{}`: {error}", clipped(name))))
    }
}

/// Returns an error if a text is not the name of a file in the folder of the program.
fn check_tag(tag: &str) -> Result<(), String> {
    let is_name = !tag.is_empty() && !tag.contains(['/', '\\', '\0']) && tag != "." && tag != "..";
    match is_name {
        true => Ok(()),
        false => Err(format!("`{}` is not the name of a file; expected one without a folder", clipped(tag))),
    }
}

/// Data to move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalRequest {
    /// Rules; of several that match, the first one applies.
    pub rules: Vec<ExternalRule>,
    /// Move data that no rule matches to the file without a tag: constants, and named data that delegates refer to.
    pub rest: bool,
}

/// Names of a value of a method.
pub struct ValueNames<'n> {
    /// Returns the name that becomes the key of a constant without a fully qualified name.
    pub key: &'n dyn Fn(usize, usize) -> Option<String>,
    /// Returns the name that patterns match if a constant has neither.
    pub shown: &'n dyn Fn(usize, usize) -> Option<String>,
}

/// Data that [`externalize`] moves, each with the tag of its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalMoves {
    /// Constants: method, value and key.
    constants: Vec<(usize, usize, String, Option<String>)>,
    /// Indices of entries of named data, ascending.
    named_data: Vec<(usize, Option<String>)>,
    /// Names of constants that stay in the program, because they are outputs, or have the data of outputs: applications
    /// replace the memory of outputs that has no data in the program (G-34).
    pub outputs: Vec<String>,
}

/// Finds the constants whose data are in the program, and the named data, that `request` states. The key of a constant
/// is its fully qualified name, or else the name of [`ValueNames::key`], or else [`generated_key`]. If several methods
/// use such a name for different data, it is prefixed with the method's name and a dot. `same` is the result of
/// [`pte_model::data::dedup::find`].
///
/// # Errors
/// A rule matches nothing, or leads to a name that no file has.
pub fn find(
    program: &Program,
    same: &[BlobId],
    request: &ExternalRequest,
    names: &ValueNames<'_>,
) -> Result<ExternalMoves, String> {
    let mut matches = vec![false; request.rules.len()];
    let mut tag = |candidates: &[&str], rest: bool| -> Result<Option<Option<String>>, String> {
        for (rule, is_used) in request.rules.iter().zip(&mut matches) {
            if let Some(tag) = candidates.iter().find_map(|name| rule.tag(name)) {
                *is_used = true;
                return Ok(Some(Some(tag?)));
            }
        }
        Ok((request.rest && rest).then_some(None))
    };
    let (mut moves, mut known) = (ExternalMoves::default(), Vec::new());
    let data = |value: Option<&EValue>| match value?.as_tensor()?.data {
        TensorData::Blob(blob) => Some(same[blob.0 as usize]),
        TensorData::None | TensorData::Elsewhere(_) => None,
    };
    let plans = program.plans();
    let outputs = plans.iter().flat_map(|plan| plan.outputs.iter().flatten().map(|output| plan.value(*output)));
    let outputs: HashSet<BlobId> = outputs.filter_map(data).collect();
    for ((method, index), key) in keys(program, same, names) {
        let shown = if request.rules.is_empty() { None } else { (names.shown)(method, index) };
        let shown = shown.unwrap_or_else(|| key.clone());
        match tag(&[&key, &shown], true)? {
            Some(_) if data(plans[method].values().get(index)).is_some_and(|data| outputs.contains(&data)) => {
                moves.outputs.push(shown.clone());
            }
            Some(tag) => moves.constants.push((method, index, key, tag)),
            None => {}
        }
        known.push(shown);
    }
    let delegates = if request.rest { Payloads::of_program(program).keys() } else { DelegateKeys::default() };
    for (number, entry) in program.named_data.iter().flatten().enumerate() {
        if let Some(tag) = tag(&[&entry.key], delegates.may_refer_to(&entry.key))? {
            moves.named_data.push((number, tag));
        }
        known.push(entry.key.clone());
    }
    check_rules(request, &matches, &known)?;
    Ok(moves)
}

/// Marks constants as external, and moves named data to external data.
pub fn externalize(program: &mut Program, moves: ExternalMoves) {
    for (method, index, key, tag) in moves.constants {
        let Some(tensor) = tensor_mut(program, method, index) else { continue };
        let extra = tensor.extra_tensor_info.get_or_insert_with(|| Box::new(ExtraTensorInfo::default()));
        extra.location = TensorDataLocation::EXTERNAL;
        extra.tag = tag.or(extra.tag.take());
        extra.fully_qualified_name.get_or_insert(key);
    }
    move_entries(program, moves.named_data);
}

/// Moves entries of named data, by their indices in ascending order. Without any left, the list is absent.
fn move_entries(program: &mut Program, entries: Vec<(usize, Option<String>)>) {
    if entries.is_empty() {
        return;
    }
    let mut tags: HashMap<usize, Option<String>> = entries.into_iter().collect();
    let list = program.named_data.take().unwrap_or_default();
    let mut kept = Vec::with_capacity(list.len());
    for (number, entry) in list.into_iter().enumerate() {
        match tags.remove(&number) {
            None => kept.push(entry),
            Some(tag) => {
                let external =
                    ExternalData { tag, alignment: entry.alignment, ..ExternalData::new(entry.key, entry.data) };
                program.external_data.push(external);
            }
        }
    }
    program.named_data = Some(kept).filter(|kept| !kept.is_empty());
}

/// Returns an error about the rules that match nothing, with the names that they could match.
fn check_rules(request: &ExternalRequest, matches: &[bool], known: &[String]) -> Result<(), String> {
    let unused = request.rules.iter().zip(matches).filter(|(_, is_used)| !**is_used);
    let unused: Vec<String> = unused.map(|(rule, _)| rule.names.to_string()).collect();
    if unused.is_empty() { Ok(()) } else { Err(no_match("--external-data", &unused, known, "data in the program")) }
}

/// Returns a message about patterns of an option that match none of the `known` names of `what`.
pub(crate) fn no_match(option: &str, patterns: &[String], known: &[String], what: &str) -> String {
    let patterns = first_names(patterns.iter().map(String::as_str));
    let known = match known {
        [] => format!("there are no {what}"),
        known => format!("the {what} are {}", first_names(known.iter().map(String::as_str))),
    };
    format!("`{option}`: no name matches {patterns}; {known}")
}

/// Returns the constants with data in the program, each with its key.
fn keys(program: &Program, same: &[BlobId], names: &ValueNames<'_>) -> Vec<((usize, usize), String)> {
    let mut first: HashMap<String, Tensor> = HashMap::new();
    let mut ambiguous: HashMap<String, bool> = HashMap::new();
    let mut keys = Vec::new();
    for (method, index, tensor) in program.tensors().filter(|(.., tensor)| is_inside(tensor)) {
        let generated = || generated_key(program.plans()[method].name.as_deref(), index);
        let stated = tensor.name().map(str::to_owned);
        let is_stated = stated.is_some();
        let name = stated.or_else(|| (names.key)(method, index)).unwrap_or_else(generated);
        let clash = first.get(&name).is_some_and(|other| !is_same(tensor, other, same));
        *ambiguous.entry(name.clone()).or_default() |= clash;
        first.entry(name.clone()).or_insert_with(|| tensor.clone());
        keys.push(((method, index), name, is_stated));
    }
    let keys = keys.into_iter().map(|((method, index), name, is_stated)| {
        let method_name = program.plans()[method].name.as_deref().unwrap_or_default();
        let key = if !is_stated && ambiguous[&name] { format!("{method_name}.{name}") } else { name };
        ((method, index), key)
    });
    keys.collect()
}

pub(crate) fn tensor_mut(program: &mut Program, method: usize, index: usize) -> Option<&mut Tensor> {
    program.plans_mut().get_mut(method)?.tensor_mut(index)
}

/// Returns the key of an unnamed constant: the method's name and the index of the value.
pub fn generated_key(method: Option<&str>, value: usize) -> String {
    format!("{}.{value}", method.unwrap_or_default())
}

/// Returns `true` for a constant whose data are in the program.
fn is_inside(tensor: &Tensor) -> bool {
    matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None && !tensor.is_external()
}

/// Returns `true` if two tensors can share a key.
fn is_same(a: &Tensor, b: &Tensor, same: &[BlobId]) -> bool {
    let blob = |tensor: &Tensor| match tensor.data {
        TensorData::Blob(blob) => Some(same[blob.0 as usize]),
        TensorData::None | TensorData::Elsewhere(_) => None,
    };
    (a.scalar_type, &a.sizes, &a.dim_order, blob(a)) == (b.scalar_type, &b.sizes, &b.dim_order, blob(b))
}
