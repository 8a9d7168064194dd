//! Compares a program with a target: the rules `R-`.

use pte_model::diagnostics::{clipped, counted, first_names};
use pte_model::format::ScalarType;
use pte_model::program::element::{Element, Part};
use pte_model::program::releases::newest;
use pte_model::program::{ExecutionPlan, Operator, Program};

use super::linked::{LinkedKernel, LinkedOperators};
use super::model::{MethodNeeds, Pools, Release, Target, TargetNeeds};
use crate::RuleId::{self, *};
use crate::finding::{Findings, Location};
use crate::rules::Profile;

/// Backend whose payloads must be at addresses that are multiples of 16.
const ETHOS_U: (&str, u64) = ("EthosUBackend", 16);

struct Comparison<'t> {
    target: &'t Target,
    program: &'t Program,
    needs: &'t TargetNeeds,
    findings: Findings,
}

/// Returns the findings.
pub fn check(target: &Target, program: &Program, needs: &TargetNeeds, kept: Option<usize>) -> Findings {
    let mut comparison = Comparison { target, program, needs, findings: Findings::keeping(Profile::default(), kept) };
    if let Some(linked) = &target.operators {
        comparison.operators(linked);
    }
    comparison.backends();
    for (method, memory) in needs.methods.iter().enumerate() {
        comparison.memory(method, memory);
    }
    comparison.file();
    comparison.findings
}

impl Comparison<'_> {
    fn report(&mut self, rule: RuleId, element: &Element, finding: impl FnOnce() -> (String, String)) {
        let program = self.program;
        self.findings.add(rule, || {
            let (found, expected) = finding();
            (Location::new(None, element.path(program)), found, expected)
        });
    }

    /// First method with an operator in its table, for the location of a finding about all of its calls.
    fn element_of(&self, name: &str) -> Element {
        let is_named = |operator: &Operator| operator.full_name().as_deref() == Some(name);
        let find = |(method, plan): (usize, &ExecutionPlan)| {
            let index = plan.operators.iter().flatten().position(is_named)?;
            Some(Element::Method(method, Part::Operator(index)))
        };
        self.program.plans().iter().enumerate().find_map(find).unwrap_or(Element::Program)
    }

    fn operators(&mut self, linked: &LinkedOperators) {
        let (target, kernels) = (self.target, &self.needs.kernels);
        // An operator is located only if its finding is kept.
        for (name, calls) in &kernels.operators {
            let (shown, called) = (clipped(name), counted(calls.instructions, "instruction"));
            let verb = if calls.instructions == 1 { "calls" } else { "call" };
            let Some(LinkedKernel { arguments, types }) = linked.find(name) else {
                let element = self.element_if_kept(R_1, name);
                self.report(R_1, &element, || {
                    let library = pte_operators::find(name).map(|operator| operator.target());
                    let library = library.map_or_else(String::new, |library| format!(" (or {library})"));
                    let found = format!("operator `{shown}` is not linked: {called} {verb} it");
                    (found, format!("a kernel of {target}: add it{library} to the operators{}", or_lower(target)))
                });
                continue;
            };
            if let Some(arguments) = arguments
                && let Some(other) = calls.arguments.iter().find(|count| **count != arguments)
            {
                let element = self.element_if_kept(R_2, name);
                self.report(R_2, &element, || {
                    let found = format!("{} for `{shown}`", counted(*other as u64, "argument"));
                    (found, format!("{arguments}, as the kernel of {target} takes: export the model for its release"))
                });
            }
            let Some(types) = types else { continue };
            let used = calls.variants.iter().flat_map(|variant| kernels.tensors_of(variant));
            let missing = used.map(|tensor| tensor.scalar_type).find(|used| !types.contains(&used.0));
            if let Some(missing) = missing {
                let element = self.element_if_kept(R_3, name);
                self.report(R_3, &element, || {
                    let compiled: Vec<String> = types.iter().map(|code| ScalarType(*code).to_string()).collect();
                    let found = format!("a tensor of {missing} in a call of `{shown}`");
                    let expected = first_names(compiled.iter().map(String::as_str));
                    (found, format!("the element types for which {target} compiles its kernel: {expected}"))
                });
            }
        }
    }

    /// Returns the location of an operator; of the program, if its finding is only counted, since the search is linear.
    fn element_if_kept(&self, rule: RuleId, name: &str) -> Element {
        if self.findings.keeps(rule) { self.element_of(name) } else { Element::Program }
    }

    fn backends(&mut self) {
        let target = self.target;
        let Some(backends) = &target.backends else { return };
        for (method, plan) in self.program.plans().iter().enumerate() {
            for (number, delegate) in plan.delegates().iter().enumerate() {
                let id = delegate.id.as_deref().unwrap_or_default();
                if backends.contains(id) {
                    continue;
                }
                self.report(R_4, &Element::Method(method, Part::Delegate(number)), || {
                    let linked = match backends.len() {
                        0 => "none".to_owned(),
                        _ => first_names(backends.iter().map(String::as_str)),
                    };
                    let found = format!("a delegate of backend `{}`, which is not linked", clipped(id));
                    (
                        found,
                        format!(
                            "a backend of {target} ({linked}): link the backend, or lower the model to one of these"
                        ),
                    )
                });
            }
        }
    }

    fn memory(&mut self, method: usize, memory: &MethodNeeds) {
        let target = self.target;
        let element = Element::Method(method, Part::Whole);
        let align_up = |size: u64, to: u64| size.checked_next_multiple_of(to.max(1)).unwrap_or(u64::MAX);
        let planned = memory.pools.iter().fold(0, |sum: u64, (_, size, to)| sum.saturating_add(align_up(*size, *to)));
        let mut in_allocator = 0;
        match &target.pools {
            Some(Pools::Sizes(sizes)) => {
                for (pool, size, _) in &memory.pools {
                    let has = pool.checked_sub(1).and_then(|index| sizes.get(index)).copied().unwrap_or(0);
                    if *size > has {
                        self.report(R_5, &element, || too_large(&format!("pool {pool}"), *size, has, target));
                    }
                }
            }
            Some(Pools::Total(has)) if planned > *has => {
                self.report(R_5, &element, || too_large("planned memory", planned, *has, target));
            }
            Some(Pools::InMethodAllocator) => in_allocator = planned,
            Some(Pools::Total(_)) | None => {}
        }
        let temporary = target.temporary_allocator;
        if let Some(has) = temporary.filter(|has| memory.temporary_kernels > *has) {
            self.report(R_7, &element, || {
                let (what, of) = match &memory.temporary_largest {
                    Some(name) => ("the temporary allocator", format!(", which the kernel of {} takes", clipped(name))),
                    None => ("the temporary allocator", String::new()),
                };
                let (found, expected) = too_large(what, memory.temporary_kernels, has, target);
                (found + &of, expected)
            });
        }
        // The lookup of kernels takes from the method allocator what the temporary one has no room for.
        let is_looked_up_elsewhere = temporary.is_some_and(|has| memory.temporary_lookup > has);
        let own = if is_looked_up_elsewhere { memory.without_temporary } else { memory.method_allocator };
        let needed = own.saturating_add(in_allocator);
        if let Some(has) = target.method_allocator.filter(|has| needed > *has) {
            self.report(R_6, &element, || {
                let (found, expected) = too_large("the method allocator", needed, has, target);
                let planned = format!(", with {} of planned memory", counted(in_allocator, "byte"));
                (found + if in_allocator > 0 { &planned } else { "" }, expected)
            });
        }
    }

    fn file(&mut self) {
        let target = self.target;
        let has_ethos_u = self.needs.kernels.backends.contains_key(ETHOS_U.0);
        let needed = target.abi.alignment().max(if has_ethos_u { ETHOS_U.1 } else { 0 });
        if let Some(has) = target.alignment.filter(|has| *has < needed) {
            self.report(R_8, &Element::Program, || {
                let reason =
                    if needed > target.abi.alignment() { format!(" for {}", ETHOS_U.0) } else { String::new() };
                let found = format!("a program that {target} aligns to {}", counted(has, "byte"));
                (found, format!("{needed}{reason}: align the array or the section of the program"))
            });
        }
        let size = self.needs.file_size;
        if let Some(most) = target.largest_file.filter(|most| size > *most) {
            self.report(R_9, &Element::Program, || {
                let found = format!("a file of {}", counted(size, "byte"));
                (found, format!("at most {most}, which {target} has: quantize the weights, or store them in a .ptd"))
            });
        }
        let needed = newest(self.program);
        if let (Some(release), Some((feature, element))) = (&target.release, needed) {
            let numbers = Release::parse(feature.release).map(|release| release.numbers);
            if numbers.is_some_and(|numbers| numbers > release.numbers) {
                self.report(R_10, &element, || {
                    let found = format!("{}, which ExecuTorch {} introduced", feature.name, feature.release);
                    let expected =
                        format!("a program for {}, the release of {target}: build a newer runtime", release.text);
                    (found, expected)
                });
            }
        }
    }
}

/// Returns the suggestion to lower an operator to a backend of the target.
fn or_lower(target: &Target) -> String {
    match &target.backends {
        Some(backends) if !backends.is_empty() => {
            format!(", or lower it to {}", first_names(backends.iter().map(String::as_str)))
        }
        Some(_) | None => String::new(),
    }
}

/// Returns what was found and expected of memory.
fn too_large(what: &str, needed: u64, has: u64, target: &Target) -> (String, String) {
    (format!("{} for {what}", counted(needed, "byte")), format!("at most {has}, which {target} has: make it larger"))
}
