//! Macros of headers, which the figures become and the writers write.

/// Macro of a header.
#[derive(Debug)]
pub(super) struct Macro {
    /// Name.
    pub name: String,
    /// Value.
    pub value: MacroValue,
    /// Comment on the macro.
    pub about: String,
}

/// Value of a [`Macro`].
#[derive(Debug)]
pub(super) enum MacroValue {
    /// One for all runtimes.
    Same(String),
    /// For runtimes with pointers of 64 and of 32 bits.
    ByPointer([String; 2]),
}
