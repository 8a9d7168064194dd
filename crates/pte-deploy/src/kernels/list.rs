//! The kernels and backends that a build of the runtime needs for some programs, as plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::operator_name::{is_selectable, not_selectable};
use pte_analysis::kernels::{ProgramKernels, TensorVariant};
use pte_model::diagnostics::clipped;
use pte_model::program::MAX_DIMENSIONS;
use serde::Serialize;

/// Version of the serialised form.
const VERSION: u32 = 1;

/// Kernels and backends that programs need: of one program, or of several ([`KernelList::of`]).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KernelList {
    /// Version of the serialised form: it grows when a key changes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// Names of the programs.
    pub programs: Vec<String>,
    /// Operators, sorted by name.
    pub operators: Vec<KernelUse>,
    /// Backends of the delegates, sorted by name.
    pub backends: Vec<BackendUse>,
    /// Largest number of arguments of a call, with the result; 0 without calls.
    pub max_arguments: usize,
    /// Number of kernels that a build which registers only these has: `MAX_KERNEL_NUM` of its runtime. Each combination
    /// of [`KernelUse::variants`] counts, and so do the kernels that the runtime itself always registers.
    pub max_kernels: usize,
}

/// Operator of a [`KernelList`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KernelUse {
    /// Name with the overload: `aten::add.out`.
    pub name: String,
    /// Number of instructions that call it; 0 for an operator that is only in the table of a method, which the runtime
    /// resolves, too.
    pub instructions: u64,
    /// Numbers of arguments of its calls, with the result, in ascending order.
    pub arguments: Vec<usize>,
    /// CMake target of ExecuTorch that registers its kernel; `None` for an unknown operator.
    pub library: Option<&'static str>,
    /// Keys of the kernels in the form of ExecuTorch's `gen_oplist`, sorted: `v1/`, and the number of the element type
    /// and the order of dimensions of each tensor, such as `v1/6;0,1|6;0,1`.
    pub variants: Vec<String>,
    /// Programs that need it: positions in [`KernelList::programs`].
    pub programs: Vec<usize>,
    /// Numbers of the element types of its tensors; `None` if a call has no tensor, since no type is known then.
    #[serde(skip)]
    pub(super) types: Option<BTreeSet<i8>>,
}

/// Backend of a [`KernelList`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BackendUse {
    /// Name.
    pub name: String,
    /// Number of delegates.
    pub delegates: u64,
}

/// Kernels that cannot be stated in a form.
///
/// ```
/// use pte_analysis::kernels::{KernelCalls, ProgramKernels};
/// use pte_deploy::kernels::{KernelError, KernelList};
///
/// let mut kernels = ProgramKernels::default();
/// kernels.operators.insert("my::a,b".to_owned(), KernelCalls::default());
/// let list = KernelList::of(&[("model.pte".to_owned(), kernels)])?;
/// let error: KernelError = list.line().unwrap_err();
/// assert!(error.to_string().contains("`my::a,b`"));
/// assert!(list.selected_operators().contains("  my::a,b:\n"));
/// # Ok::<(), KernelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelError(String);

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KernelError {}

impl KernelError {
    pub(super) fn new(message: String) -> KernelError {
        KernelError(message)
    }
}

/// Calls of an operator in several programs.
#[derive(Default)]
struct Merged {
    instructions: u64,
    arguments: BTreeSet<usize>,
    variants: BTreeSet<String>,
    programs: Vec<usize>,
    types: BTreeSet<i8>,
}

impl KernelList {
    /// Joins the kernels of programs, each with its name.
    ///
    /// ```
    /// use pte_analysis::kernels::ProgramKernels;
    /// use pte_deploy::kernels::KernelList;
    /// use pte_model::data::Origin;
    /// use pte_model::reader::program::read;
    ///
    /// let program = read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
    /// let list = KernelList::of(&[("linear.pte".to_owned(), ProgramKernels::of(&program))])?;
    /// assert_eq!(list.line()?, "aten::addmm.out,aten::permute_copy.out,aten::relu.out\n");
    /// assert_eq!((list.max_arguments, list.max_kernels), (7, 31));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A call of a tensor with more than 16 dimensions, which no runtime loads.
    pub fn of(programs: &[(String, ProgramKernels)]) -> Result<KernelList, KernelError> {
        let mut merged: BTreeMap<&str, Merged> = BTreeMap::new();
        let mut backends: BTreeMap<&str, u64> = BTreeMap::new();
        for (number, (_, kernels)) in programs.iter().enumerate() {
            for (name, calls) in &kernels.operators {
                let all = merged.entry(name).or_default();
                all.instructions += calls.instructions;
                all.arguments.extend(&calls.arguments);
                all.programs.push(number);
                for variant in &calls.variants {
                    all.variants.insert(key(name, kernels.tensors_of(variant))?);
                    all.types.extend(kernels.tensors_of(variant).map(|tensor| tensor.scalar_type.0));
                }
            }
            kernels.backends.iter().for_each(|(name, count)| *backends.entry(name).or_default() += count);
        }
        let operators: Vec<KernelUse> = merged.into_iter().map(|(name, merged)| KernelUse::new(name, merged)).collect();
        Ok(KernelList {
            version: VERSION,
            programs: programs.iter().map(|(name, _)| name.clone()).collect(),
            max_arguments: operators
                .iter()
                .filter_map(|operator| operator.arguments.last())
                .max()
                .copied()
                .unwrap_or(0),
            max_kernels: max_kernels(&operators),
            operators,
            backends: backends
                .into_iter()
                .map(|(name, delegates)| BackendUse { name: name.to_owned(), delegates })
                .collect(),
        })
    }

    /// Returns the names in one line, separated by commas: the value of CMake's `EXECUTORCH_SELECT_OPS_LIST`, and of
    /// `--root_ops` of `gen_oplist`.
    ///
    /// # Errors
    /// A name that would be split, or change its meaning in a shell.
    pub fn line(&self) -> Result<String, KernelError> {
        let names = self.operators.iter().map(|operator| plain(&operator.name)).collect::<Result<Vec<_>, _>>()?;
        Ok(names.join(",") + "\n")
    }
}

impl KernelUse {
    fn new(name: &str, merged: Merged) -> KernelUse {
        let has_call_without_tensors = merged.variants.contains(WITHOUT_TENSORS);
        KernelUse {
            library: pte_operators::find(name).map(|operator| operator.target()),
            name: name.to_owned(),
            instructions: merged.instructions,
            arguments: merged.arguments.into_iter().collect(),
            types: (!has_call_without_tensors && !merged.variants.is_empty()).then_some(merged.types),
            variants: merged.variants.into_iter().collect(),
            programs: merged.programs,
        }
    }
}

/// Counts like ExecuTorch's `gen_max_kernel_num`: an operator without calls registers one kernel.
fn max_kernels(operators: &[KernelUse]) -> usize {
    let registered =
        pte_operators::all().filter(|operator| operator.target() == pte_operators::target::PRIM_OPS).count();
    operators.iter().map(|operator| operator.variants.len().max(1)).sum::<usize>() + registered
}

/// Key of a kernel whose call has no tensor.
const WITHOUT_TENSORS: &str = "v1";

/// Returns the key of a kernel for these tensors.
///
/// # Errors
/// A tensor with too many dimensions: without a limit, the keys of a file could be much larger than the file.
fn key<'t>(name: &str, tensors: impl Iterator<Item = &'t TensorVariant>) -> Result<String, KernelError> {
    let mut key = WITHOUT_TENSORS.to_owned();
    for (number, tensor) in tensors.enumerate() {
        let order = &tensor.dim_order;
        if order.len() > MAX_DIMENSIONS {
            let (name, rank) = (clipped(name), order.len());
            let message = format!(
                "a call of `{name}` has a tensor of {rank} dimensions, but the runtime supports {MAX_DIMENSIONS} at most (T-6)"
            );
            return Err(KernelError::new(message));
        }
        let order: Vec<String> = order.iter().map(u8::to_string).collect();
        key += if number == 0 { "/" } else { "|" };
        key += &format!("{};{}", tensor.scalar_type.0, order.join(","));
    }
    Ok(key)
}

/// Returns a name if it can be part of a list, of a C++ string and of a macro.
pub fn plain(name: &str) -> Result<&str, KernelError> {
    match is_selectable(name) {
        true => Ok(name),
        false => Err(KernelError::new(not_selectable(name))),
    }
}
