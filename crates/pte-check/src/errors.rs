//! The errors of ExecuTorch 1.5.1: meaning, causes and remedy of each. The rules whose violation causes one are those whose
//! text about the runtime names it.

use serde::Serialize;

use super::rules::{RULES, Rule};

/// An error of the runtime (`executorch::runtime::Error`).
///
/// ```
/// use pte_check::{RuleId, RuntimeError};
///
/// let missing = RuntimeError::find("0x14").unwrap();
/// assert_eq!((missing.name, missing.code), ("OperatorMissing", 0x14));
/// assert_eq!(RuntimeError::find("Error::OperatorMissing").map(|error| error.code), Some(0x14));
/// assert_eq!(RuntimeError::find("20").map(|error| error.code), Some(20));
/// assert!(missing.rules().any(|rule| rule.id == RuleId::R_1));
/// assert!(RuntimeError::find("0x99").is_none());
/// assert_eq!(RuntimeError::all()[0].name, "Ok");
/// ```
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeError {
    /// Number.
    #[serde(rename = "error")]
    pub code: u32,
    /// Name of the enumerator.
    pub name: &'static str,
    /// Meaning, in one sentence.
    pub meaning: &'static str,
    /// Usual causes that are not properties of a file; may be empty.
    pub causes: &'static str,
    /// Remedy.
    pub remedy: &'static str,
}

impl RuntimeError {
    /// Returns the error with a number (`0x14`, or decimal: `20`) or a name (`OperatorMissing`, `Error::OperatorMissing`), in any case.
    pub fn find(text: &str) -> Option<&'static RuntimeError> {
        let lower = text.to_ascii_lowercase();
        let number = match lower.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => lower.parse().ok(),
        };
        let name = lower.strip_prefix("error::").unwrap_or(&lower);
        ERRORS.iter().find(|error| Some(error.code) == number || error.name.eq_ignore_ascii_case(name))
    }

    /// Returns all errors, by number.
    pub fn all() -> &'static [RuntimeError] {
        ERRORS
    }

    /// Returns the rules of `check` whose violation can cause the error.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        let quoted = format!("`{}`", self.name);
        RULES.iter().filter(move |rule| rule.runtime.contains(&quoted))
    }
}

/// Declares the errors: number, name, meaning, causes, remedy.
macro_rules! errors {
    ($( $code:literal $name:ident $meaning:literal $causes:literal $remedy:literal )*) => {
        static ERRORS: &[RuntimeError] = &[$( RuntimeError {
            code: $code,
            name: stringify!($name),
            meaning: $meaning,
            causes: $causes,
            remedy: $remedy,
        } ),*];
    };
}

errors! {
    0x00 Ok
    "The operation was successful."
    ""
    "Nothing."

    0x01 Internal
    "A part of the runtime, a kernel or a backend failed in a way that it does not describe."
    "XNNPACK returns it for a graph that it cannot create, resize or run; other backends for errors of their drivers."
    "Build the runtime with `EXECUTORCH_ENABLE_LOGGING=ON` and read the line before the error; check the program with all of its data: `check --all-data`."

    0x02 InvalidState
    "The operation is not allowed in the state of the object."
    "A method is executed after its loading failed, an input is not set, or a step is executed after the last one."
    "Look at the first error that the application ignored; set all inputs before the method is executed."

    0x03 EndOfMethod
    "There are no more steps to execute."
    "A method is executed step by step beyond its end."
    "Stop there, and begin the next execution with `reset_execution()`."

    0x04 AlreadyLoaded
    "The resource is already loaded."
    "A method or its data are loaded twice."
    "Use the loaded one."

    0x10 NotSupported
    "The runtime does not support the operation for this program or object."
    "A static tensor is resized, a kernel or backend does not support an argument, or a loader does not support an operation."
    "Compare the sizes of the inputs with those that `inspect` prints: only a dynamic dimension can change, up to its bound."

    0x11 NotImplemented
    "The operation is not implemented."
    "A loader, allocator or backend of the application lacks it."
    "Use another loader or backend."

    0x12 InvalidArgument
    "An argument of the operation is invalid."
    "An input has another type, rank or number of dimensions than the method, an index is out of range, or the address of the program is not aligned to 16 bytes (8 on 32-bit Arm)."
    "Compare the inputs with those that `inspect` prints, and check the program."

    0x13 InvalidType
    "A value has another type than the operation needs."
    "An input is a tensor where the method takes a number, or the reverse."
    "Compare the inputs with those that `inspect` prints."

    0x14 OperatorMissing
    "The runtime has no kernel for an operator of the method."
    "The library with the kernel is not linked, or the linker dropped it (it needs `--whole-archive`); a selective build does not select it; the overload `.out` of a custom operator is not registered; the log names the operator."
    "`kernels` lists the operators with their libraries, and `check --target` compares them with a build. Link the library, select the operator, or lower it to a backend."

    0x15 RegistrationExceedingMaxKernels
    "More kernels are registered than the registry has room for."
    "`MAX_KERNEL_NUM`, or the number of a selective build, is too small for the libraries that are linked."
    "`kernels` prints the number for the kernels of a program; build with `-DMAX_KERNEL_NUM=N`, or link fewer libraries."

    0x16 RegistrationAlreadyRegistered
    "A kernel is registered twice."
    "Two libraries with the same operator are linked, such as `portable_ops_lib` beside `optimized_native_cpu_ops_lib`, or a library is loaded twice."
    "Link one of them."

    0x20 NotFound
    "Something that was looked up by name does not exist."
    "A method name is misspelt, the backend of a delegate is not linked or its registration was dropped by the linker, or the `.ptd` with a key is not loaded."
    "`inspect` prints the methods, backends and keys that a program needs; `check --target` compares the backends with a build, and `check --with FILE.ptd` the keys."

    0x21 MemoryAllocationFailed
    "An allocator has no room."
    "The method allocator, the temporary allocator or a pool of planned memory is too small."
    "`memory` prints how many bytes each of them needs, and `check --target` compares them with those of an application. The log may name the method allocator, although the temporary one is too small: the lookup of kernels then takes its memory from the method allocator."

    0x22 AccessFailed
    "A resource cannot be accessed."
    "A file cannot be opened or read, or became shorter."
    "Look at the path and the permissions; compare the file with its `manifest`."

    0x23 InvalidProgram
    "The content of the program is malformed or inconsistent."
    "The file is truncated or damaged, was changed by a transfer in text mode, is of another version, or is not a `.pte`."
    "Check the program: the findings name the part. Compare it with its original by `manifest` and `verify`."

    0x24 InvalidExternalData
    "The content of a `.ptd` is malformed, or does not suit the program."
    "The `.ptd` is damaged, or belongs to another export of the model."
    "Check both together: `check FILE.pte --with FILE.ptd`."

    0x25 OutOfResources
    "There are not enough resources other than memory."
    "A backend has no free device, context or handle."
    "Unload other methods, or wait for the device."

    0x30 DelegateInvalidCompatibility
    "The backend does not support the version or the format of the payload."
    "The model was lowered for another release, processor or SDK than that of the runtime."
    "Lower the model again with the versions of the runtime; `payload show` prints the format and version of the payload."

    0x31 DelegateMemoryAllocationFailed
    "The backend cannot allocate the memory that it needs to load the payload."
    "The allocator of the backend, or the heap, is too small."
    "`memory` prints what is known of the memory of delegates."

    0x32 DelegateInvalidHandle
    "The backend is executed with a handle that is not its own, or is destroyed."
    "The method is used after it was unloaded, or the backend failed to load the payload."
    "Keep the method and its program alive while it is executed."
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn errors_are_unique_and_sentences_are_sentences() {
        assert!(ERRORS.is_sorted_by(|left, right| left.code < right.code));
        assert_eq!(ERRORS.iter().map(|error| error.name).collect::<BTreeSet<_>>().len(), ERRORS.len());
        for error in ERRORS {
            assert!(error.meaning.ends_with('.') && error.remedy.ends_with('.'), "{}", error.name);
            assert!(error.causes.is_empty() || error.causes.ends_with('.'), "{}", error.name);
            assert_eq!(RuntimeError::find(&format!("{:#x}", error.code)).unwrap().name, error.name);
            assert_eq!(RuntimeError::find(&error.name.to_uppercase()).unwrap().code, error.code);
        }
    }

    /// The rules name only errors that exist, in backquotes.
    #[test]
    fn rules_name_errors_of_the_table() {
        let mut named = BTreeSet::new();
        for rule in RULES.iter() {
            for word in rule.runtime.split(['`', ' ', ',', ';']) {
                let is_like_an_error =
                    ["Invalid", "NotFound", "NotSupported", "NotImpl", "Internal", "Failed", "Missing"];
                // An error of Python.
                if !word.ends_with("Error")
                    && is_like_an_error.iter().any(|part| word.starts_with(part) || word.ends_with(part))
                {
                    let error = RuntimeError::find(word).unwrap_or_else(|| panic!("{}: {word} is no error", rule.id));
                    assert!(error.rules().any(|other| other.id == rule.id), "{}: {word} without backquotes", rule.id);
                    named.insert(error.name);
                }
            }
        }
        assert!(named.len() >= 8, "{named:?}");
    }
}
