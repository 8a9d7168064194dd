//! [`Model::explain`]: the parts of a program that an error of the runtime, or a message of its log, is about. They are
//! computed where `memory`, `kernels` and `inspect` compute them.

use serde::Serialize;

use crate::facade::inspection::{Inspected, MemoryOptions};
use crate::facade::model::Model;
use pte_check::Recognized;
use pte_deploy::kernels::KernelUse;
use pte_inspect::calls::{CallPosition, CallSummary, select_calls};
use pte_inspect::summary::{ValueSummary, payload_graphs, required_keys, value_summary};
use pte_memory::memory::MethodAllocator;
use pte_memory::temporary::TemporaryAllocator;
use pte_model::diagnostics::{Code, clipped};
use pte_model::error::Error;

pte_model::options! {
    /// Options of [`Model::explain`].
    ///
    /// ```
    /// assert!(pte_emit::inspect::ExplainOptions::default().method.is_none());
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct ExplainOptions {
        /// Method that failed; all methods if it is not known.
        pub method: Option<String>,
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
    /// Reason why the message is of another program: the message names a part that this program does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
    /// Names of the methods, if the name of one is unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Inputs of each method.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<MethodInputs>,
    /// The instruction that failed, by method if its operator is not known; or calls of an operator or a backend.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallSummary>,
    /// Operators with their libraries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<KernelUse>,
    /// Memory that each method needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryNeed>,
    /// Delegates, with their backends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegates: Vec<DelegateUse>,
    /// Keys of `.ptd` files that the program needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// Inputs of a method, part of [`Circumstances`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodInputs {
    /// Method; empty if it has no name.
    pub method: String,
    /// Inputs in their order.
    pub inputs: Vec<ValueSummary>,
}

/// Memory of the application that a method needs, part of [`Circumstances`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryNeed {
    /// Method; empty if it has no name.
    pub method: String,
    /// Sizes of the pools in bytes, from pool 1.
    pub pools: Vec<u64>,
    /// Method allocator.
    pub method_allocator: MethodAllocator,
    /// Temporary allocator.
    pub temporary_allocator: TemporaryAllocator,
}

/// Delegate, part of [`Circumstances`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateUse {
    /// Name for `payload show`: `forward/part0`.
    pub name: String,
    /// Backend.
    pub backend: String,
    /// Number of instructions that call it.
    pub calls: usize,
}

impl Model {
    /// Returns the parts of the program that each item of a text is about: the instruction that failed, with its
    /// arguments; the inputs; the memory that the methods need; the library of an operator, and its calls; the
    /// delegates of a backend; keys. The result has an item for each of `found`.
    ///
    /// It consists of [`Circumstances`], [`MethodInputs`], [`CallSummary`], [`MemoryNeed`] and [`DelegateUse`].
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::check::recognize;
    /// use pte_emit::inspect::ExplainOptions;
    ///
    /// let log = recognize("KernelCall failed at instruction 0:1 in operator aten::addmm.out: 0x12");
    /// let about = Model::open("examples/linear.yaml")?.explain(&log, &ExplainOptions::default())?;
    /// let call = &about[0].calls[0];
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
        let name = |method: usize| inspected.program.plans()[method].name.clone().unwrap_or_default();
        let is_asked = |known: &str| options.method.as_deref().is_none_or(|asked| asked == known);
        let methods: Vec<usize> =
            (0..inspected.program.plans().len()).filter(|method| is_asked(&name(*method))).collect();
        if let (Some(method), []) = (&options.method, &methods[..]) {
            let message = format!("unknown method `{}`", clipped(method));
            return Err(Error::input(Code::UnmetRequest, &self.label(), message));
        }
        let needs = |topic| found.iter().any(|found| found.topics().contains(&topic));
        let kernels = if needs("operator") { self.kernels()?.operators } else { Vec::new() };
        let memory =
            if needs("memory") || needs("backend") { self.memory(&options.memory)?.methods } else { Vec::new() };
        let memory: Vec<_> = memory.iter().filter(|method| is_asked(&method.name)).collect();
        let about = |found: &Recognized| {
            let mut about = Circumstances { program: self.label(), ..Circumstances::default() };
            let calls = |is_selected: &dyn Fn(CallPosition<'_>) -> bool| {
                select_calls(&view, |call| methods.contains(&call.0) && is_selected(call))
            };
            let topics = found.topics();
            for topic in &topics {
                let value = found.value(topic);
                match *topic {
                    "instruction" => {
                        let (chain, index) =
                            value.and_then(|at| at.split_once(':')).unwrap_or(("0", value.unwrap_or("")));
                        let at = (chain.parse().ok(), index.parse().ok());
                        let operator = found.value("operator");
                        let is_there = |chain: usize, index: usize| (Some(chain), Some(index)) == at;
                        about.calls = calls(&|(_, chain, index, is_delegate, callee)| {
                            is_there(chain, index) && operator.map_or(is_delegate, |operator| operator == callee)
                        });
                        if about.calls.is_empty() {
                            about.calls = calls(&|(_, chain, index, ..)| is_there(chain, index));
                            let callee =
                                operator.map_or("delegate".to_owned(), |operator| format!("`{}`", clipped(operator)));
                            about.mismatch = Some(format!("it calls no {callee} there"));
                        }
                    }
                    "operator" if topics.contains(&"instruction") => {}
                    "operator" => {
                        let is_meant = |name: &str| value.is_none_or(|value| value == name);
                        about.operators = kernels.iter().filter(|kernel| is_meant(&kernel.name)).cloned().collect();
                        about.calls = calls(&|(.., callee)| value == Some(callee));
                        about.mismatch = (value.is_some() && about.operators.is_empty())
                            .then(|| "it does not have this operator".to_owned());
                    }
                    "memory" => {
                        about.memory.extend(memory.iter().map(|method| MemoryNeed {
                            method: method.name.clone(),
                            pools: method.pool_sizes(),
                            method_allocator: method.method_allocator.clone(),
                            temporary_allocator: method.temporary_allocator.clone(),
                        }));
                    }
                    "backend" => {
                        for method in &memory {
                            about.delegates.extend(method.delegates.iter().map(|delegate| DelegateUse {
                                name: format!("{}/{}", method.name, delegate.name),
                                backend: delegate.backend.clone(),
                                calls: delegate.calls,
                            }));
                        }
                        about.delegates.retain(|delegate| value.is_none_or(|value| value == delegate.backend));
                        about.mismatch = (value.is_some() && about.delegates.is_empty())
                            .then(|| "it has no delegate of this backend".to_owned());
                    }
                    "input" => {
                        about.inputs.extend(methods.iter().map(|method| {
                            MethodInputs {
                                method: name(*method),
                                inputs: inspected.program.plans()[*method]
                                    .inputs
                                    .iter()
                                    .flatten()
                                    .map(|input| value_summary(&view, *method, *input))
                                    .collect(),
                            }
                        }));
                    }
                    "key" => about.keys = required_keys(&inspected.program, &payload_graphs(&view)),
                    "method" => about.methods = (0..inspected.program.plans().len()).map(name).collect(),
                    _ => {}
                }
            }
            about
        };
        Ok(found.iter().map(about).collect())
    }
}
