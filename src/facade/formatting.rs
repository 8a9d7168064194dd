//! Canonical layout of YAML, which `dump` prints.

use super::model::Model;
use crate::ir::style::Style;
use pte_model::diagnostics::Code;
use pte_model::error::Error;

impl Model {
    /// Returns the YAML in the layout in which files are printed as YAML, with its comments, anchors, variables and
    /// documents. Its meaning is the same, which is verified.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let yaml = "methods: {f: {inputs:   [x], # one\n  values: {x: {'tensor': float32,\n sizes: [0x2]}}}}";
    /// let expected = "\
    /// methods:
    ///   f:
    ///     inputs: [x]  # one
    ///     values:
    ///       x: {tensor: float32, sizes: [0x2]}
    /// ";
    /// assert_eq!(Model::from_yaml("f.yaml", yaml, ".").formatted()?, expected);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A binary file; YAML that is not well-formed.
    pub fn formatted(&self) -> Result<String, Error> {
        if !self.is_text() {
            return Err(Error::input(Code::UnexpectedInput, self.name(), "expected YAML, found a binary file"));
        }
        let text = self.source().text();
        pte_yaml::format::format(text, &Style).map_err(|error| self.source().error(vec![error.diagnostic()]))
    }
}
