//! Statistics of printed YAML.

/// Counts of the values of all methods: explicit in the printed YAML, or left to assembling.
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
    /// Values with an explicit position among the instructions.
    pub positions: usize,
    /// Values with an explicit index.
    pub indices: usize,
    /// Tensors with an explicit offset in planned memory.
    pub places: usize,
    /// Tensors with an explicit `requires_grad`.
    pub gradients: usize,
    /// Calls that contradict the rules of inference. Their arguments are printed as the whole stack.
    pub stacks: usize,
}
