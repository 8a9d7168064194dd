//! Lowers the upper bounds of the inputs of a method, or makes inputs static. The sizes of all values that depend on them are inferred again,
//! also in the payloads of XNNPACK delegates.
//!
//! Nothing else changes: numbers that the exporter derived from the old bounds stay, and an instruction that no longer fits them is an error.
//! Memory is not planned here.

mod delegates;
mod inputs;
mod propagate;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use self::propagate::Propagation;
use pte_model::diagnostics::{clipped, counted, first_names};
use pte_model::program::{EValue, ExecutionPlan, Program, TensorShapeDynamism};

/// New bounds of the inputs of a method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundOptions {
    /// The method; `None` for the only one of the program.
    pub method: Option<String>,
    /// New bounds.
    pub inputs: Vec<InputBound>,
    /// All inputs become static, also those without a new bound.
    pub all_static: bool,
}

/// New bound of an input. As text, it is `x=1x64`, and `x=1x64!` if it becomes static; `_` keeps the size of a dimension.
///
/// ```
/// use pte_transform::bound::InputBound;
///
/// let bound: InputBound = "x=1x_x64!".parse().unwrap();
/// assert_eq!((&*bound.input, &bound.sizes[..], bound.is_static), ("x", &[Some(1), None, Some(64)][..], true));
/// assert!("x".parse::<InputBound>().unwrap_err().contains("NAME=SIZES"));
/// assert!("x=1x-2".parse::<InputBound>().unwrap_err().contains("`-2`"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputBound {
    /// Name of the input, or its number from 0.
    pub input: String,
    /// Size of each dimension; `None` to keep it.
    pub sizes: Vec<Option<i32>>,
    /// The input gets exactly these sizes.
    pub is_static: bool,
}

impl FromStr for InputBound {
    type Err = String;

    fn from_str(text: &str) -> Result<InputBound, String> {
        let Some((input, sizes)) = text.rsplit_once('=').filter(|(input, _)| !input.is_empty()) else {
            return Err("expected NAME=SIZES, such as x=1x64, or x=1x64! for an input that becomes static".to_owned());
        };
        let (sizes, is_static) = sizes.strip_suffix('!').map_or((sizes, false), |sizes| (sizes, true));
        let size = |word: &str| match word {
            "_" => Ok(None),
            _ if word.starts_with('+') => Err(format!("`{word}`: expected a number")),
            _ => word.parse::<u32>().ok().and_then(|size| i32::try_from(size).ok()).map(Some).ok_or_else(|| {
                format!(
                    "`{word}` among the sizes of `{input}`: expected a number below 2147483648, or `_` to keep a size"
                )
            }),
        };
        let sizes = if sizes.is_empty() { Ok(Vec::new()) } else { sizes.split('x').map(size).collect() };
        Ok(InputBound { input: input.to_owned(), sizes: sizes?, is_static })
    }
}

/// What [`bound`] changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Bounded {
    /// Index of the method.
    #[serde(skip)]
    pub method: usize,
    /// The inputs with new bounds, or that became static.
    pub inputs: Vec<BoundedInput>,
    /// Number of tensors whose sizes or dynamism changed, with the inputs.
    pub tensors: usize,
    /// Number of them that became static, with the inputs.
    pub made_static: usize,
    /// Delegates whose payloads changed.
    pub delegates: Vec<BoundedDelegate>,
    /// Calls whose results keep their bounds, because they cannot be inferred.
    pub kept: Vec<KeptResults>,
}

/// An input with a new bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BoundedInput {
    /// Name.
    pub name: String,
    /// Former sizes.
    pub before: Vec<i32>,
    /// New sizes.
    pub after: Vec<i32>,
    /// The input was dynamic, and is static.
    pub made_static: bool,
}

/// A delegate whose payload changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BoundedDelegate {
    /// Index.
    pub delegate: usize,
    /// Backend.
    pub backend: String,
    /// Number of values of its graph whose sizes changed.
    pub values: usize,
}

/// A call whose results keep their bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeptResults {
    /// The instruction, as in messages: `instruction 3`.
    pub instruction: String,
    /// The operator.
    pub operator: String,
    /// Why they are not inferred.
    pub reason: String,
}

/// Reason why bounds cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundError {
    /// What was found, and where.
    pub message: String,
    /// What is possible.
    pub help: Option<String>,
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl BoundError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> BoundError {
        BoundError { message: message.into(), help: Some(help.into()) }
    }
}

/// Changes the bounds of the inputs of a method. `name` returns the name of a value of a method for messages and options; inputs without one
/// have only a number. The program is unchanged if there are errors.
///
/// # Errors
/// All inputs and sizes that the method does not have, and all instructions and delegates that do not take the new sizes.
pub fn bound(
    program: &mut Program,
    options: &BoundOptions,
    name: impl Fn(usize, usize) -> Option<String>,
) -> Result<Bounded, Vec<BoundError>> {
    let method = method_of(program, options.method.as_deref()).map_err(|error| vec![error])?;
    let plan = &program.plans()[method];
    let label = |value: usize| name(method, value).unwrap_or_else(|| format!("values[{value}]"));
    let inputs = inputs::resolve(plan, options, &label)?;
    let mut propagation = Propagation::new(program, method, &label);
    for input in &inputs {
        propagation.set_input(input);
    }
    propagation.run();
    let outcome = propagation.finish()?;
    let plan = &program.plans()[method];
    let mut report = Bounded { method, delegates: outcome.delegates, kept: outcome.kept, ..Bounded::default() };
    for (before, after) in plan.values().iter().zip(&outcome.values) {
        let (Some(before), Some(after)) = (before.as_tensor(), after.as_tensor()) else { continue };
        let made_static = before.shape_dynamism != after.shape_dynamism;
        report.tensors += usize::from(before.sizes != after.sizes || made_static);
        report.made_static += usize::from(made_static);
    }
    report.inputs = inputs.into_iter().map(|input| input.report).collect();
    let payloads: Vec<_> =
        outcome.payloads.into_iter().map(|(delegate, blob)| (delegate, program.add_blob(blob))).collect();
    if let Some(plan) = program.execution_plan.iter_mut().flatten().nth(method) {
        plan.values = Some(outcome.values);
        for (delegate, blob) in payloads {
            if let Some(delegate) = plan.delegates.iter_mut().flatten().nth(delegate) {
                delegate.processed = blob;
            }
        }
    }
    Ok(report)
}

/// Returns the index of a method.
fn method_of(program: &Program, name: Option<&str>) -> Result<usize, BoundError> {
    let plans = program.plans();
    let names = || first_names(plans.iter().map(|plan| plan.name.as_deref().unwrap_or_default()));
    match name {
        _ if plans.is_empty() => {
            Err(BoundError::new("the file has no methods", "bounds are those of the inputs of a method"))
        }
        None if plans.len() == 1 => Ok(0),
        None => Err(BoundError::new(
            format!("the program has {}", counted(plans.len(), "method")),
            format!("name one of them with `--method`: {}", names()),
        )),
        Some(name) => plans.iter().position(|plan| plan.name.as_deref() == Some(name)).ok_or_else(|| {
            BoundError::new(format!("unknown method `{}`", clipped(name)), format!("the program has {}", names()))
        }),
    }
}

/// Returns `true` for a tensor whose sizes may be smaller at run time.
fn is_dynamic(value: &EValue) -> bool {
    value.as_tensor().is_some_and(|tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC)
}

/// Returns the sizes of a tensor; none of another value.
fn sizes_of(value: &EValue) -> &[i32] {
    value.as_tensor().and_then(|tensor| tensor.sizes.as_deref()).unwrap_or_default()
}

/// Returns the name of an instruction for messages, with its chain if there are several.
fn instruction_name(plan: &ExecutionPlan, chain: usize, number: usize) -> String {
    match plan.chains.as_ref().is_some_and(|chains| chains.len() > 1) {
        true => format!("instruction {number} of chain {chain}"),
        false => format!("instruction {number}"),
    }
}
