//! Targets: a method of [`Model`] that compares its program with a build of the runtime and its application. The rules
//! are in [`pte_check::target`], the figures those of [`pte_memory`].

use pte_check::target::Target;
use pte_check::{CheckOptions, Findings};
use pte_model::error::Error;

use crate::facade::model::Model;

impl Model {
    /// Compares the program with a target: a build of the runtime and the memory of its application. The findings are
    /// those of the rules `R-`; [`Model::check`] has the others, and a file for which it finds errors should not be
    /// compared.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::check::{CheckOptions, RuleId, Target};
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let options = CheckOptions::default();
    /// let wheel = Target::ready("wheel-1.5.1").unwrap();
    /// assert!(linear.check_target(&wheel, &options)?.list.is_empty());
    ///
    /// let board = Target::parse("board.yaml", "operators: [aten::addmm.out, aten::permute_copy.out]")?;
    /// let findings = linear.check_target(&board, &options)?;
    /// assert_eq!((findings.list.len(), findings.list[0].rule.id), (1, RuleId::R_1));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, is malformed or has no program, or the YAML is invalid.
    pub fn check_target(&self, target: &Target, options: &CheckOptions) -> Result<Findings, Error> {
        let bytes = match self.assembly_size()? {
            Some(size) => size,
            None => self.content_size()?,
        };
        let (inspected, needs) = self.needs(bytes, !options.with.is_empty() || !self.source().data_files.is_empty())?;
        Ok(target.check(&inspected.program, &needs, options.kept))
    }

    /// Returns the size in bytes of the program that YAML assembles to; `None` for a binary file.
    fn assembly_size(&self) -> Result<Option<u64>, Error> {
        match self.is_text() {
            true => Ok(self.assembly()?.program_file().and_then(|file| file.size())),
            false => Ok(None),
        }
    }
}
