//! The table of codes of diagnostics: id, name and description. docs/diagnostics.md is generated from it. The rules of
//! `check` have ids of their own ([`pte_check::rules`]).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

impl Code {
    /// Returns the id, such as `Y-5`.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns the name in kebab case, such as `unknown-key`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the kind of problem, in one sentence.
    pub fn description(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (&'static str, &'static str, &'static str) {
        &ROWS[self as usize]
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(id: &str) -> Result<Code, UnknownCode> {
        Code::ALL.iter().copied().find(|code| code.as_str() == id).ok_or_else(|| UnknownCode(id.to_owned()))
    }
}

/// Error of parsing a [`Code`]: there is no such code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCode(pub String);

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown code {:?}", self.0)
    }
}

impl std::error::Error for UnknownCode {}

macro_rules! codes {
    ($( $number:literal $code:ident $name:literal $description:literal )*) => {
        /// Stable code of a [`Diagnostic`](crate::diagnostics::Diagnostic). It identifies the kind of problem, whatever
        /// the wording and the severity of the message.
        ///
        /// ```
        /// use pte_model::diagnostics::{Code, UnknownCode};
        ///
        /// assert_eq!("Y-5".parse(), Ok(Code::UnknownKey));
        /// assert_eq!((Code::UnknownKey.as_str(), Code::UnknownKey.name()), ("Y-5", "unknown-key"));
        /// assert_eq!(Code::UnknownKey.description(), "A map has a key that is not one of its keys.");
        /// assert_eq!("unknown".parse::<Code>(), Err(UnknownCode("unknown".to_owned())));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $( #[doc = $description] $code ),*
        }

        impl Code {
            /// All codes, in the order of their numbers.
            pub const ALL: &'static [Code] = &[$( Code::$code ),*];
        }

        /// Ids, names and sentences.
        static ROWS: &[(&str, &str, &str)] = &[$( (concat!("Y-", $number), $name, $description) ),*];
    };
}

// A number is never reused.
codes! {
    // The source as text.
    1 Syntax "syntax" "The source is not well-formed YAML or JSON."
    2 NumberLiteral "number-literal" "A number of the source has no exact meaning: it exceeds its type, or has a leading zero."
    3 Variable "variable" "A variable `${NAME}` is malformed or not defined."
    4 EmptyDocument "empty-document" "The source has nothing to emit."

    // Keys and kinds of values.
    5 UnknownKey "unknown-key" "A map has a key that is not one of its keys."
    6 DuplicateKey "duplicate-key" "A map has a key more than once."
    7 MissingKey "missing-key" "A map lacks a key that it needs."
    8 ConflictingKeys "conflicting-keys" "A key is not allowed beside another key, or in this kind of map."
    9 WrongKind "wrong-kind" "A value is of another kind than its key expects, such as a string instead of a list."
    10 UnknownWord "unknown-word" "A string is none of the words of its key, such as an unknown element type or device."
    11 OutOfRange "out-of-range" "A number is outside of the range of its key or type."
    12 InvalidString "invalid-string" "A string is malformed: digits, a path of a field, a name of a file or of an operator."
    13 InvalidLayoutOption "invalid-layout-option" "A layout option has an invalid value, or contradicts the content of the file."

    // Names.
    14 UnknownValue "unknown-value" "A name or an index refers to no value of its method or graph."
    15 UnknownName "unknown-name" "A name refers to no label, delegate, data or backend."
    16 DuplicateName "duplicate-name" "A label, method, index, input or out is defined or listed more than once."
    17 ConflictingData "conflicting-data" "Data have the same key as others, but other bytes, another type or another file."

    // Tensors.
    18 UndeterminedTensor "undetermined-tensor" "The element type or the sizes of a tensor are neither given nor inferred."
    19 Contradiction "contradiction" "A declared element type, size or bound contradicts what is inferred."
    20 InvalidSizes "invalid-sizes" "Sizes or an order of dimensions that no tensor can have."
    21 InvalidView "invalid-view" "A view does not suit its base."

    // Calls and instructions.
    22 ArgumentCount "argument-count" "A call has too few or too many arguments, outs or stack entries."
    23 ArgumentKind "argument-kind" "An argument, an out or a condition is of another kind than the operator expects."
    24 RejectedCall "rejected-call" "An operator does not support these arguments together."
    25 UnwrittenValue "unwritten-value" "A value is read, or is an output, but nothing writes it before."
    26 WrittenConstant "written-constant" "An instruction writes a constant, or an input has data of its own."
    27 UnknownOperator "unknown-operator" "The runtime registers no operator of this name."

    // Data.
    28 DataSize "data-size" "Data have another number of bytes or of elements than their tensor."
    29 DataType "data-type" "Data have another element type than their tensor, and are not converted."
    30 DataNumber "data-number" "A number cannot be stored in the element type, or a list of numbers is irregular."
    31 InvalidFile "invalid-file" "The content of a file is malformed, or does not suit the operation."
    32 MissingInFile "missing-in-file" "A file of data has no tensor or key of this name."
    33 ConfinedFile "confined-file" "A file is not in the folder to which files are confined."
    34 Io "io" "The operating system reports an error for a file."
    35 LimitExceeded "limit-exceeded" "Data, sizes or a file exceed a limit of the option `max-size`, the format or the assembler."

    // Layout, delegates, tests and overrides.
    36 MemoryPlacement "memory-placement" "A pool, an offset or a pool size that a tensor cannot have."
    37 InvalidGraph "invalid-graph" "A graph of a delegate is incomplete or inconsistent."
    38 InvalidTest "invalid-test" "A test does not suit the inputs or outputs of its method."
    39 InvalidOverride "invalid-override" "A field override or a patch cannot be applied."

    // Probably not intended.
    40 Unused "unused" "A value, a result or data are not used."
    41 IneffectiveOverride "ineffective-override" "A field override changes nothing."
    42 RenumberedValue "renumbered-value" "An explicit index leaves a gap, so the value gets another index."
    43 NotExecutable "not-executable" "No build of the runtime has the kernels that the program calls."
    44 DroppedMetadata "dropped-metadata" "Metadata of a .safetensors are dropped."

    // Inputs of commands and of the Rust interface.
    45 UnexpectedInput "unexpected-input" "The input is of another format or has other parts than the command expects."
    46 UnmetRequest "unmet-request" "The command cannot do with this input what its options request."
    47 OperatorList "operator-list" "A line of a list of custom operators is malformed."
    48 ForeignValue "foreign-value" "A value is one of another `MethodBuilder`."

    // Writing for a release.
    49 NotInRelease "not-in-release" "The release that a file is written for cannot express a part of it, or writes another layout."
}
