//! Compares a program with a target: the rules `R-`.

use pte_memory::ProgramNeeds;
use pte_memory::memory::MethodFootprint;
use pte_memory::runner::{self, LOADING, Take, taken};
use pte_model::diagnostics::{clipped, counted, first_names};
use pte_model::format::ScalarType;
use pte_model::format::serializer::EXECUTORCH;
use pte_model::program::element::{Element, Part};
use pte_model::program::{ExecutionPlan, Operator, Program};
use pte_payload::compile_specs::{ANY_SYSTEM, TargetPart};
use pte_payload::ethos_u;
use pte_xnnpack::payloads::Payloads;

use super::linked::{LinkedKernel, LinkedOperators};
use super::model::{Pools, Target};
use crate::RuleId::{self, *};
use crate::finding::{Findings, Location};
use crate::rules::Profile;

/// Alignment in bytes of the payloads of Ethos-U.
const ETHOS_U_ALIGNMENT: u64 = 16;

/// Parts of a total that a finding names.
const LARGEST: usize = 3;

struct Comparison<'t> {
    target: &'t Target,
    program: &'t Program,
    needs: &'t ProgramNeeds,
    findings: Findings,
}

/// Returns the findings.
pub fn check(target: &Target, program: &Program, needs: &ProgramNeeds, kept: Option<usize>) -> Findings {
    let mut comparison = Comparison { target, program, needs, findings: Findings::keeping(Profile::default(), kept) };
    if let Some(linked) = &target.operators {
        comparison.operators(linked);
    }
    comparison.backends();
    comparison.compiled();
    for (method, memory) in needs.methods(target.abi).iter().enumerate() {
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
        for (method, number, delegate) in self.program.delegates() {
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
                    format!("a backend of {target} ({linked}): link the backend, or lower the model to one of these"),
                )
            });
        }
    }

    /// Compares what delegates were compiled for with the chips and the systems.
    fn compiled(&mut self) {
        let Target { chips, systems, .. } = self.target;
        if chips.is_empty() && systems.is_empty() {
            return;
        }
        let payloads = Payloads::of_program(self.program);
        for (method, number, delegate) in self.program.delegates() {
            let parts = payloads.compiled(delegate).compiled_for;
            // Without its multiply-accumulate units, `Ethos-U55` is each of them.
            let is_chip = |chip: &String, part: &str| {
                let rest = part.get(chip.len()..).filter(|rest| rest.is_empty() || rest.starts_with('-'));
                rest.is_some() && part.get(..chip.len()).is_some_and(|start| start.eq_ignore_ascii_case(chip))
            };
            let runs = |part: &TargetPart| match part {
                TargetPart::Chip(part) => chips.is_empty() || chips.iter().any(|chip| is_chip(chip, part)),
                TargetPart::System(needed) => {
                    let is_same = |name: &str| name == needed.name || needed.name == ANY_SYSTEM;
                    let has = systems.iter().find(|system| is_same(system.name));
                    has.is_none_or(|system| system.version >= needed.version)
                }
                TargetPart::Other(_) => true,
            };
            let element = Element::Method(method, Part::Delegate(number));
            for part in parts.iter().filter(|part| !runs(part)) {
                let (has, what) = match part {
                    TargetPart::System(_) => (first_names(systems.iter().map(|system| system.text.as_str())), "system"),
                    TargetPart::Chip(_) | TargetPart::Other(_) => {
                        (first_names(chips.iter().map(String::as_str)), "chip")
                    }
                };
                let target = self.target;
                self.report(R_13, &element, || {
                    let found = format!("a delegate that was compiled for {}", clipped(&part.to_string()));
                    (found, format!("the {what} of {target} ({has}): compile the model for it"))
                });
            }
        }
    }

    fn memory(&mut self, method: usize, memory: &MethodFootprint) {
        let element = Element::Method(method, Part::Whole);
        self.pools(&element, memory);
        self.allocators(&element, memory);
        self.ram(&element, memory);
    }

    fn allocators(&mut self, element: &Element, memory: &MethodFootprint) {
        let target = self.target;
        let temporary = &memory.temporary_allocator;
        if let Some(has) = target.temporary_allocator {
            if temporary.kernels > has {
                self.report(R_7, element, || {
                    let of = temporary
                        .largest
                        .as_deref()
                        .map_or_else(String::new, |name| format!(", which the kernel of {} takes", clipped(name)));
                    let (found, expected) = too_large("the temporary allocator", temporary.kernels, has, target);
                    (found + &of, expected)
                });
            } else {
                let what = ("the temporary allocator", temporary.kernels, has);
                self.not_known(element, what, &temporary.unknown);
            }
        }
        // The lookup of kernels uses the method allocator if the temporary one has no room.
        let steps = taken(target.order(), memory, target.abi, target.temporary_allocator);
        let needed = steps.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        let Some(has) = target.method_allocator else { return };
        if needed <= has {
            return self.not_known(
                element,
                ("the method allocator", needed, has),
                &memory.method_allocator.unknown_backends,
            );
        }
        self.report(R_6, element, || {
            let (found, expected) = too_large("the method allocator", needed, has, target);
            let with: Vec<String> = steps
                .iter()
                .filter(|(take, bytes)| *bytes > 0 && !matches!(take, Take::Loading | Take::LoadingAlone))
                .map(|(take, bytes)| format!("{bytes} for {}", take.content()))
                .collect();
            let with = if with.is_empty() { String::new() } else { format!(", of these {}", with.join(", ")) };
            (format!("{found} as in ExecuTorch {EXECUTORCH}{with}"), expected)
        });
    }

    /// Compares all that a method takes from RAM.
    fn ram(&mut self, element: &Element, memory: &MethodFootprint) {
        let target = self.target;
        let Some(has) = target.ram else { return };
        let mut parts = runner::total(target.order(), memory, target.abi, target.temporary_allocator);
        let needed = parts.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        if needed <= has {
            let lists =
                [&memory.method_allocator.unknown_backends, &memory.temporary_allocator.unknown, &memory.not_counted];
            let mut names: Vec<String> = lists.into_iter().flatten().cloned().collect();
            names.sort_unstable();
            names.dedup();
            return self.not_known(element, ("the method in RAM", needed, has), &names);
        }
        self.report(R_12, element, || {
            parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            let largest: Vec<String> = parts
                .iter()
                .filter(|(_, bytes)| *bytes > 0)
                .take(LARGEST)
                .map(|(name, bytes)| format!("{bytes} for {name}"))
                .collect();
            let found = format!("{} of RAM for the method, of these {}", counted(needed, "byte"), largest.join(", "));
            (found, format!("at most {has}, which {target} has: `pte-emit memory` lists what takes them"))
        });
    }

    /// Compares the planned pools that are not in the method allocator.
    fn pools(&mut self, element: &Element, memory: &MethodFootprint) {
        let target = self.target;
        let order = target.order();
        let pools = memory.pools.iter();
        let apart = pools.filter(|pool| !order.iter().any(|take| take.takes_pool(pool.pool)));
        match &target.pools {
            Some(Pools::Sizes(sizes)) => {
                for pool in apart {
                    let number = pool.pool;
                    let has = sizes.get(number.wrapping_sub(1)).copied().unwrap_or(0);
                    if pool.bytes > has {
                        self.report(R_5, element, || too_large(&format!("pool {number}"), pool.bytes, has, target));
                    }
                }
            }
            Some(Pools::Total(has)) => {
                let aligned = |bytes: u64, to: u64| bytes.checked_next_multiple_of(to.max(1)).unwrap_or(u64::MAX);
                let add = |sum: u64, bytes: u64| sum.saturating_add(bytes);
                let planned = apart.map(|pool| aligned(pool.bytes, pool.alignment)).fold(0, add);
                if planned > *has {
                    self.report(R_5, element, || too_large("planned memory", planned, *has, target));
                }
            }
            Some(Pools::InMethodAllocator) | None => {}
        }
    }

    /// Reports that the known figures fit, but that not all are known.
    fn not_known(&mut self, element: &Element, (what, needed, has): (&str, u64, u64), unknown: &[String]) {
        if unknown.is_empty() {
            return;
        }
        let target = self.target;
        self.report(R_11, element, || {
            let names = first_names(unknown.iter().map(String::as_str));
            let found = format!(
                "at least {} for {what}, but the memory of {names} is not known: it is not known whether it fits",
                counted(needed, "byte")
            );
            (found, format!("at most {has}, which {target} has: measure it on the target"))
        });
    }

    fn file(&mut self) {
        let target = self.target;
        let ethos_u = ethos_u::BACKENDS.into_iter().find(|name| self.needs.kernels.backends.contains_key(*name));
        let needed = target.abi.program_alignment().max(ethos_u.map_or(0, |_| ETHOS_U_ALIGNMENT));
        if let Some(has) = target.alignment.filter(|has| *has < needed) {
            self.report(R_8, &Element::Program, || {
                let reason = ethos_u.filter(|_| needed > target.abi.program_alignment());
                let reason = reason.map_or_else(String::new, |name| format!(" for {name}"));
                let found = format!("a program that {target} aligns to {}", counted(has, "byte"));
                (found, format!("{needed}{reason}: align the array or the section of the program"))
            });
        }
        let size = self.needs.bytes;
        if let Some(most) = target.largest_file.filter(|most| size > *most) {
            self.report(R_9, &Element::Program, || {
                let found = format!("a file of {}", counted(size, "byte"));
                (found, format!("at most {most}, which {target} has: quantize the weights, or store them in a .ptd"))
            });
        }
    }
}

impl Target {
    /// Allocations of its application from the method allocator, in their order.
    fn order(&self) -> &'static [Take] {
        match (self.runner, &self.pools) {
            (Some(runner), _) => runner.order,
            (None, Some(Pools::InMethodAllocator)) => runner::PLANNED,
            (None, Some(Pools::Sizes(_) | Pools::Total(_)) | None) => LOADING,
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

/// Returns the found and the expected memory.
fn too_large(what: &str, needed: u64, has: u64, target: &Target) -> (String, String) {
    (format!("{} for {what}", counted(needed, "byte")), format!("at most {has}, which {target} has: make it larger"))
}
