//! [`Model::explain`]: the parts of a program that an error of the runtime, or a message of its log, is about. They are
//! computed where `memory`, `kernels` and `inspect` compute them.

use serde::Serialize;

use crate::facade::inspection::{Inspected, MemoryOptions};
use crate::facade::model::Model;
use crate::facade::profile::Selection;
use pte_check::Recognized;
use pte_deploy::kernels::KernelUse;
use pte_inspect::calls::{CallSummary, calls};
use pte_inspect::summary::{ValueSummary, value_summary};
use pte_memory::delegates::DelegateFootprint;
use pte_memory::memory::{MethodAllocator, MethodFootprint};
use pte_memory::temporary::TemporaryAllocator;
use pte_model::diagnostics::{Code, clipped};
use pte_model::error::Error;

pte_model::options! {
    /// Options of [`Model::explain`].
    ///
    /// ```
    /// assert!(pte_emit::inspect::ExplainOptions::default().methods.is_empty());
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct ExplainOptions {
        /// Methods that can have failed: names or patterns, in which `*` stands for any characters; all if it is empty.
        pub methods: Vec<String>,
        /// Runtime that the figures of memory are for.
        pub memory: MemoryOptions,
    }
}

/// Parts of a program that an error or a message is about: the result of [`Model::explain`].
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Circumstances {
    /// Name of the program.
    pub program: String,
    /// Part that the message names and the program does not have: the message is of another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
    /// Operators with their libraries.
    pub operators: Vec<KernelUse>,
    /// Keys of `.ptd` files that the program needs.
    pub keys: Vec<String>,
    /// Methods that it can be about.
    pub methods: Vec<MethodCircumstances>,
}

/// Parts of a method, part of [`Circumstances`].
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodCircumstances {
    /// Name; empty if it has none.
    pub name: String,
    /// Inputs, if it is about them.
    pub inputs: Option<Vec<ValueSummary>>,
    /// Instruction that failed, or all calls of an operator.
    pub calls: Vec<CallSummary>,
    /// Delegates of a backend.
    pub delegates: Vec<DelegateFootprint>,
    /// Sizes of its pools in bytes, from pool 1, if it is about memory.
    pub pools: Option<Vec<u64>>,
    /// Memory that loading it takes from the method allocator, likewise.
    pub method_allocator: Option<MethodAllocator>,
    /// Memory that it takes from the temporary allocator, likewise.
    pub temporary_allocator: Option<TemporaryAllocator>,
}

impl Model {
    /// Returns the parts of the program that each item of a text is about: the instruction that failed, with its
    /// arguments; the inputs; the memory that the methods need; the library of an operator, and its calls; the
    /// delegates of a backend; keys. The result has an item for each of `found`.
    ///
    /// It consists of [`Circumstances`], [`MethodCircumstances`], [`CallSummary`] and [`ValueSummary`].
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::check::recognize;
    /// use pte_emit::inspect::ExplainOptions;
    ///
    /// let log = recognize("KernelCall failed at instruction 0:1 in operator aten::addmm.out: 0x12");
    /// let about = Model::open("examples/linear.yaml")?.explain(&log, &ExplainOptions::default())?;
    /// let call = &about[0].methods[0].calls[0];
    /// assert_eq!((&*call.callee, &*call.arguments[1].name), ("aten::addmm.out", "x"));
    /// assert_eq!(call.arguments[1].kind, "float32 [1, 4]");
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, is malformed or has no program; the YAML is invalid; the method is unknown.
    pub fn explain(&self, found: &[Recognized], options: &ExplainOptions) -> Result<Vec<Circumstances>, Error> {
        let inspected = Inspected::of(self)?;
        let view = inspected.view();
        let names = inspected.program.plans().iter().map(|plan| plan.name.clone().unwrap_or_default());
        let selection = Selection::new(&options.methods);
        let methods: Vec<(usize, String)> = names.enumerate().filter(|(_, name)| selection.has(name)).collect();
        if let ([first, ..], []) = (&options.methods[..], &methods[..]) {
            let message = format!("unknown method `{}`", clipped(first));
            return Err(Error::input(Code::UnmetRequest, &self.label(), message));
        }
        let needs = |topic| found.iter().any(|found| found.topics().contains(&topic));
        let kernels = if needs("operator") { self.kernels()?.operators } else { Vec::new() };
        let needs_memory = needs("memory") || needs("backend");
        let memory = if needs_memory { self.memory(&options.memory)?.methods } else { Vec::new() };
        let about = |found: &Recognized| {
            let topics = found.topics();
            let is_about = |topic| topics.contains(&topic);
            let [operator, backend, at] = ["operator", "backend", "instruction"].map(|name| found.value(name));
            // Without a chain, it is the first one.
            let position = at.map(|at| at.split_once(':').unwrap_or(("0", at)));
            let position = position.map(|(chain, index)| (chain.parse().ok(), index.parse().ok()));
            let is_failed = |call: &CallSummary| operator.map_or(call.is_delegate, |operator| operator == call.callee);
            let method = |(index, name): &(usize, String)| {
                let plan = &inspected.program.plans()[*index];
                let needed = memory.get(*index);
                let inputs = plan.inputs.iter().flatten().map(|input| value_summary(&view, *index, *input));
                let delegates = needed.filter(|_| is_about("backend")).map_or(&[][..], |needed| &needed.delegates);
                let of_memory = needed.filter(|_| is_about("memory"));
                let is_meant = |delegate: &&DelegateFootprint| backend.is_none_or(|name| name == delegate.backend);
                MethodCircumstances {
                    name: name.clone(),
                    inputs: is_about("input").then(|| inputs.collect()),
                    calls: calls(&view, *index, |chain, index, callee| match position {
                        Some(position) => position == (Some(chain), Some(index)),
                        None => operator == Some(callee),
                    }),
                    delegates: delegates.iter().filter(is_meant).cloned().collect(),
                    pools: of_memory.map(MethodFootprint::pool_sizes),
                    method_allocator: of_memory.map(|needed| needed.method_allocator.clone()),
                    temporary_allocator: of_memory.map(|needed| needed.temporary_allocator.clone()),
                }
            };
            let mut methods: Vec<MethodCircumstances> = methods.iter().map(method).collect();
            let is_right = |method: &MethodCircumstances| match position {
                Some(_) => method.calls.iter().any(is_failed),
                None => !method.calls.is_empty() || !method.delegates.is_empty(),
            };
            let is_found = methods.iter().any(is_right);
            let is_listed =
                |kernel: &&KernelUse| is_about("operator") && operator.is_none_or(|name| name == kernel.name);
            let operators: Vec<_> = kernels.iter().filter(is_listed).cloned().collect();
            // What a message names identifies the method.
            match operator.or(backend).or(at) {
                Some(_) if is_found => methods.retain(is_right),
                _ => methods.retain(|method| {
                    let has_parts = !method.calls.is_empty() || !method.delegates.is_empty();
                    has_parts || method.inputs.is_some() || method.pools.is_some() || is_about("method")
                }),
            }
            let named =
                operator.or(backend).map_or("call of a delegate".to_owned(), |name| format!("`{}`", clipped(name)));
            let place = at.map_or_else(String::new, |at| format!(" at instruction {at}"));
            let is_other = operator.or(backend).or(at).is_some() && !is_found && (at.is_some() || operators.is_empty());
            Circumstances {
                program: self.label(),
                mismatch: is_other.then(|| named + &place),
                operators: if at.is_none() { operators } else { Vec::new() },
                keys: if is_about("key") { inspected.required_keys() } else { Vec::new() },
                methods,
            }
        };
        Ok(found.iter().map(about).collect())
    }
}
