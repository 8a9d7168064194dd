//! The kernels and backends that a build of the runtime needs for some programs, and the forms that the build of
//! ExecuTorch reads.

mod headers;
mod list;
mod selected;

pub use list::{BackendUse, KernelError, KernelList, KernelUse};

/// Forms.
impl KernelList {
    /// Returns `selected_operators.yaml` with `et_kernel_metadata`, as `gen_oplist` writes it for a program.
    pub fn selected_operators(&self) -> String {
        selected::yaml(self)
    }

    /// Returns the headers of a selective build, each with its name and text: `selected_op_variants.h`,
    /// `selected_prim_ops.h` and `selected_max_kernel_num.h`, as the scripts of ExecuTorch write them from
    /// [`KernelList::selected_operators`].
    ///
    /// # Errors
    /// A name that cannot be part of a C++ string or macro.
    pub fn headers(&self) -> Result<Vec<(&'static str, String)>, KernelError> {
        headers::all(self)
    }
}
