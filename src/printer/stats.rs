//! Statistics of printed YAML.

/// Numbers of values, over all methods, by what printed YAML states of them and what it leaves to assembling.
///
/// ```
/// use pte_emit::{Model, PrintOptions, PrintStats};
///
/// let file = std::fs::read("tests/golden/upstream/bytes/linear/model.pte")?;
/// let printed = Model::from_binary("linear.pte", &file).to_yaml(".".as_ref(), &PrintOptions::default())?;
/// let PrintStats { results, inferred, indices, places, .. } = printed.stats;
/// assert_eq!((results, inferred, indices, places), (3, 3, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrintStats {
    /// Values of the program.
    pub values: usize,
    /// Literals, which are printed at their use.
    pub literals: usize,
    /// Tensors that instructions write.
    pub results: usize,
    /// Results whose element type, sizes, order of dimensions and dynamism are left to inference.
    pub inferred: usize,
    /// Views among the instructions.
    pub views: usize,
    /// Values whose position among the instructions is stated.
    pub positions: usize,
    /// Values whose index is stated.
    pub indices: usize,
    /// Tensors whose place in planned memory is stated.
    pub places: usize,
    /// Tensors whose `requires_grad` is stated.
    pub gradients: usize,
    /// Calls that inference contradicts, whose arguments are printed as the whole stack.
    pub stacks: usize,
}
