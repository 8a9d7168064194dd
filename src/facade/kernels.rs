//! The kernels that programs need: a method of [`Model`] and of several of them. They are collected in
//! [`pte_analysis::kernels`], and written by [`pte_deploy::kernels`].

use pte_analysis::kernels::ProgramKernels;
use pte_deploy::kernels::KernelList;
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_model::program::Program;

use crate::facade::inspection::stored_program;
use crate::facade::model::Model;

impl Model {
    /// Returns the kernels and backends that a build of the runtime needs for the program.
    ///
    /// The result consists of [`KernelList`], [`KernelUse`](crate::deploy::KernelUse) and
    /// [`BackendUse`](crate::deploy::BackendUse).
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let add = Model::open("examples/add.yaml")?;
    /// let kernels = add.kernels()?;
    /// assert_eq!((&*kernels.operators[0].name, kernels.operators[0].instructions), ("aten::add.out", 1));
    /// assert_eq!(kernels.operators[0].library, Some("portable_ops_lib"));
    /// assert!(kernels.backends.is_empty());
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let both = Model::kernels_of(&[add, linear])?;
    /// assert!(both.line()?.starts_with("aten::add.out,aten::addmm.out,"));
    /// let headers = both.headers()?;
    /// let (name, macro_name) = ("selected_prim_ops.h", "INCLUDE_ATEN_ADD_OUT");
    /// assert!(headers.iter().any(|(header, text)| *header == name && text.contains(macro_name)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, is malformed or has no program, or the YAML is invalid.
    pub fn kernels(&self) -> Result<KernelList, Error> {
        Model::kernels_of(std::slice::from_ref(self))
    }

    /// Returns the kernels and backends that a build of the runtime needs for several programs.
    ///
    /// # Errors
    /// Those of [`Model::kernels`].
    pub fn kernels_of(models: &[Model]) -> Result<KernelList, Error> {
        let mut programs = Vec::with_capacity(models.len());
        for model in models {
            let (_, kernels) = needed_kernels(model)?;
            // Names the program in errors about its calls.
            KernelList::of(&[(model.label(), kernels.clone())]).map_err(|error| rejected(model, &error.to_string()))?;
            programs.push((model.label(), kernels));
        }
        let name = models.first().map_or_else(String::new, Model::label);
        KernelList::of(&programs).map_err(|error| Error::input(Code::NotExecutable, &name, error.to_string()))
    }
}

/// Reads a program, and collects its kernels.
pub(crate) fn needed_kernels(model: &Model) -> Result<(Program, ProgramKernels), Error> {
    let (program, _) = stored_program(model)?.ok_or_else(|| {
        Error::input(Code::UnexpectedInput, &model.label(), "expected a program: the YAML has no methods")
    })?;
    let kernels = ProgramKernels::of(&program);
    Ok((program, kernels))
}

fn rejected(model: &Model, message: &str) -> Error {
    Error::input(Code::NotExecutable, &model.label(), message)
}
