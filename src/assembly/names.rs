//! Findings about the files of a YAML source, with the names that its values have there. Findings about binary files
//! have numbers only.

use super::Assembly;
use super::positions::{MethodPaths, item};
use pte_check::{Finding, RuleId};
use pte_model::diagnostics::clipped;
use pte_model::program::{ExecutionPlan, Memory};

/// Rules about tensors whose memory overlaps.
const OVERLAPS: &[RuleId] = &[RuleId::X_4, RuleId::X_6, RuleId::X_25];

/// Text before the number of a value in a finding.
const VALUES: &str = "values[";

/// Findings about the files of an assembly as text, with the names that the values have in the YAML.
///
/// ```
/// use pte_emit::{Model, SourceNames};
/// use pte_emit::check::{CheckOptions, Finding};
///
/// let yaml = "
/// methods:
///   forward:
///     values:
///       x: {tensor: float32, sizes: [2, 2], memory: {pool: 1, offset: 0}}
///       y: {tensor: float32, sizes: [2, 2], memory: {pool: 1, offset: 8}}
///     inputs: [x]
///     outputs: [y]
///     instructions: [{kernel: aten::mm.out, args: [x, x], out: y}]
/// ";
/// let model = Model::from_yaml("m.yaml", yaml, ".");
/// let (findings, names) = (model.check(&CheckOptions::default())?, SourceNames::new(model.assembly()?));
/// let finding: &Finding = findings[0].1.list.iter()
///     .find(|finding| finding.rule.id.as_str().starts_with("X-"))
///     .unwrap();
/// assert!(finding.lines().contains("values[") && names.lines(finding).contains("`y`"));
/// # Ok::<(), pte_emit::Error>(())
/// ```
pub struct SourceNames<'a> {
    assembly: &'a Assembly,
    methods: MethodPaths,
}

impl<'a> SourceNames<'a> {
    /// Begins with the methods of an assembly.
    pub fn new(assembly: &'a Assembly) -> SourceNames<'a> {
        SourceNames { assembly, methods: MethodPaths::new(&assembly.program) }
    }

    /// Formats a finding as lines: with names, the behaviour of the runtime, and advice about explicit offsets.
    pub fn lines(&self, finding: &Finding) -> String {
        let (named, advice) = self.named(finding);
        let advice = advice.map_or_else(String::new, |advice| format!("    help: {advice}\n"));
        named.lines() + &advice
    }

    /// Returns a finding with names, and advice about explicit offsets.
    pub(crate) fn named(&self, finding: &Finding) -> (Finding, Option<String>) {
        let mut named = finding.clone();
        let is_part = |rest: &&str| ["chains[", "instructions[", VALUES].iter().any(|list| rest.starts_with(list));
        let method = self.methods.split(&finding.location.path).filter(|(_, rest)| is_part(rest));
        let plan = method.and_then(|(method, _)| self.assembly.program.plans().get(method));
        let (Some((method, rest)), Some(plan)) = (method, plan) else { return (named, None) };
        let name = |value: usize| self.assembly.value_name(method, value).map(|name| format!("`{}`", clipped(name)));
        if let Some(name) = value_at(rest, plan).and_then(name) {
            let path = named.source.as_mut().map_or(&mut named.location.path, |source| &mut source.path);
            *path += &format!(" ({name})");
        }
        let mut placed: Vec<String> = Vec::new();
        for text in [&mut named.found, &mut named.expected] {
            *text = with_names(text, &mut |value| {
                let name = name(value)?;
                let tensor = plan.values().get(value)?.as_tensor();
                let is_placed = tensor.is_some_and(|tensor| matches!(tensor.memory, Memory::At { .. }));
                if is_placed && !placed.contains(&name) {
                    placed.push(name.clone());
                }
                Some(name)
            });
        }
        let is_overlap = OVERLAPS.contains(&finding.rule.id) && !placed.is_empty();
        let placed = placed.join(" and ");
        let advice = format!("without `memory` of {placed}, the planner computes where there is room");
        (named, is_overlap.then_some(advice))
    }
}

/// Returns the value that a path in a method is about: `values[3]`, or an argument or operand of an instruction.
fn value_at(path: &str, plan: &ExecutionPlan) -> Option<usize> {
    if let Some((value, _)) = item(path, VALUES) {
        return Some(value);
    }
    let (chain, path) = item(path, "chains[").unwrap_or((0, path));
    let (number, field) = item(path.trim_start_matches('.'), "instructions[")?;
    let instruction = plan.chains.as_ref()?.get(chain)?.instructions.as_ref()?.get(number)?;
    let field = field.strip_prefix('.')?;
    let value = match item(field, "args[") {
        Some((arg, _)) => instruction.args().get(arg).copied(),
        None => instruction.operands().find(|(name, ..)| *name == field).map(|(_, value, _)| value),
    };
    value?.get()
}

/// Replaces the values in a text for which `name` returns something.
fn with_names(text: &str, name: &mut dyn FnMut(usize) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(VALUES) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let named = item(rest, VALUES).and_then(|(value, after)| Some((name(value)?, after)));
        match named {
            Some((name, after)) => {
                out.push_str(&name);
                rest = after;
            }
            None => {
                out.push_str(VALUES);
                rest = &rest[VALUES.len()..];
            }
        }
    }
    out + rest
}
