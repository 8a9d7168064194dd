//! The table of rules: id, severity, profiles, reason, and behaviour of the real runtime. The other files of this
//! folder check them; docs/rules.md is generated from this table.
//!
//! Ids are stable. Rules with `O-` are about arguments of operators, those with `X-` about the semantics of methods;
//! the runtime does not check rules with `G-`. Those with `R-` compare a program with a target, those with `V-` with a release. The runtime checks
//! all others, or requires them without a check.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Severity of the violation of a rule, from the most to the least severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuleSeverity {
    /// The bytes cannot be read.
    Malformed,
    /// The runtime rejects the file, aborts, or has undefined behaviour.
    Invalid,
    /// Valid, but probably a mistake.
    Suspicious,
    /// Information.
    Note,
}

impl fmt::Display for RuleSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RuleSeverity::Malformed => "malformed",
            RuleSeverity::Invalid => "invalid",
            RuleSeverity::Suspicious => "suspicious",
            RuleSeverity::Note => "note",
        })
    }
}

/// Runtime that a file is validated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Profile {
    /// All builds on a 64-bit machine: a file must be valid for each.
    #[default]
    Strict,
    /// Portable kernels on a 64-bit machine.
    Portable,
    /// Build with ATen tensors.
    Aten,
    /// Portable kernels on a 32-bit machine.
    Bits32,
    /// Build that reads files of old releases: no or short header, inline constants.
    Legacy,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::Strict => "strict",
            Profile::Portable => "portable",
            Profile::Aten => "aten",
            Profile::Bits32 => "32-bit",
            Profile::Legacy => "legacy",
        })
    }
}

impl RuleId {
    /// Returns the id as in files and messages, such as `X-25`.
    pub fn as_str(self) -> &'static str {
        IDS[self as usize]
    }

    /// Returns the rule.
    pub fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl FromStr for RuleId {
    type Err = UnknownRuleId;

    fn from_str(id: &str) -> Result<RuleId, UnknownRuleId> {
        RULES.iter().map(|rule| rule.id).find(|rule| rule.as_str() == id).ok_or_else(|| UnknownRuleId(id.to_owned()))
    }
}

/// Error of parsing a [`RuleId`]: no rule has this id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRuleId(pub String);

impl fmt::Display for UnknownRuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown rule `{}`", pte_model::diagnostics::clipped(&self.0))
    }
}

impl std::error::Error for UnknownRuleId {}

/// A rule of the validator. [`Finding`](crate::finding::Finding)s refer to the rule that they violate.
///
/// ```
/// use pte_check::{CheckOptions, Profile, RuleId, RuleSeverity};
/// use pte_model::data::Origin;
///
/// let findings = pte_check::file(&Origin::Bytes([].into()), &CheckOptions::default())?;
/// let rule = findings.list[0].rule;
/// assert_eq!((rule.id, rule.severity), (RuleId::H_1, RuleSeverity::Malformed));
/// assert_eq!(rule.title, "A .pte has at least 64 bytes.");
/// assert!(rule.applies(Profile::Strict));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Stable identifier, such as `H-1`.
    #[serde(rename = "rule")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: RuleId,
    /// Severity of a violation.
    pub severity: RuleSeverity,
    /// Profiles to which the rule applies.
    #[serde(skip)]
    pub profiles: &'static [Profile],
    /// Requirement, in one sentence.
    pub title: &'static str,
    /// Reason for the rule.
    pub why: &'static str,
    /// Behaviour of ExecuTorch 1.5.1 for a violation.
    pub runtime: &'static str,
    /// Example of a violation.
    #[serde(skip)]
    pub example: &'static str,
}

impl Rule {
    /// Returns `true` if the rule applies to a profile.
    pub fn applies(&self, profile: Profile) -> bool {
        self.profiles.contains(&profile)
    }
}

/// All profiles.
pub const ALL: &[Profile] = &[Profile::Strict, Profile::Portable, Profile::Aten, Profile::Bits32, Profile::Legacy];

/// All profiles except the one for old files.
const RECENT: &[Profile] = &[Profile::Strict, Profile::Portable, Profile::Aten, Profile::Bits32];

/// All profiles except the build with ATen tensors.
const PORTABLE: &[Profile] = &[Profile::Strict, Profile::Portable, Profile::Bits32, Profile::Legacy];

/// The profile for 32-bit machines.
const BITS_32: &[Profile] = &[Profile::Bits32];

/// Returns the id that a variant of [`RuleId`] stands for: `X-25` for `X_25`.
const fn hyphenated<const LEN: usize>(variant: &str) -> [u8; LEN] {
    let mut id = [b'-'; LEN];
    let mut at = 0;
    while at < LEN {
        if variant.as_bytes()[at] != b'_' {
            id[at] = variant.as_bytes()[at];
        }
        at += 1;
    }
    id
}

/// Declares rules. A row has id, severity and profiles, then title, why, runtime and example.
macro_rules! rules {
    ($( $id:ident $severity:ident $profiles:ident $title:literal $why:literal $runtime:literal $example:literal )*) => {
        /// Stable identifier of a [`Rule`]; ordered as in docs/rules.md.
        ///
        /// ```
        /// use pte_check::RuleId;
        ///
        /// assert_eq!("X-25".parse(), Ok(RuleId::X_25));
        /// assert_eq!(RuleId::X_25.as_str(), "X-25");
        /// assert!("X".parse::<RuleId>().is_err());
        /// assert_eq!(RuleId::X_25.rule().title, "A call writes no bytes that it reads, unless its kernel works in place.");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(non_camel_case_types)]
        pub enum RuleId {
            $( #[doc = $title] $id ),*
        }

        /// All rules, in the order of the validator's steps.
        pub static RULES: &[Rule] = &[$( Rule {
            id: RuleId::$id,
            severity: RuleSeverity::$severity,
            profiles: $profiles,
            title: $title,
            why: $why,
            runtime: $runtime,
            example: $example,
        } ),*];

        /// The ids as strings.
        static IDS: &[&str] = &[$( {
            const ID: [u8; stringify!($id).len()] = hyphenated(stringify!($id));
            match str::from_utf8(&ID) {
                Ok(id) => id,
                Err(_) => unreachable!(),
            }
        } ),*];
    };
}

rules! {
    H_1 Malformed ALL
    "A .pte has at least 64 bytes."
    "The runtime reads the first 64 bytes to find the header."
    "rejects it with `InvalidArgument` when the program is loaded"
    "a file of 40 bytes"

    H_3 Suspicious ALL
    "A header that begins with `eh` is `eh00`."
    "Other bytes mean that there is no header, so a damaged header goes unnoticed until data are missing."
    "loads the program without segments; any use of a segment fails later"
    "`eh01` at byte 8"

    H_4 Malformed ALL
    "The length of the extended header of a .pte is at least 24."
    "A shorter header cannot contain `program_size` and `segment_base_offset`."
    "rejects it with `InvalidProgram` when the program is loaded"
    "a header length of 16"

    H_5 Note RECENT
    "The length of the extended header of a .pte is 32."
    "Releases before 1.0 wrote 24, without `segment_data_size`: a truncated file cannot be detected then."
    "loads it; the size of the data is unknown"
    "a header length of 24"

    H_7 Invalid ALL
    "`segment_base_offset + segment_data_size` is less than 2^64."
    "The sum is the end of the file."
    "rejects it with `InvalidProgram` when the program is loaded"
    "a `segment_data_size` of 2^64 - 1"

    H_8 Invalid ALL
    "The segment data of a .pte end inside the file."
    "A truncated file lacks weights."
    "rejects it with `InvalidProgram` when the program is loaded"
    "a file without its last byte"

    H_9 Invalid ALL
    "`segment_base_offset` is not beyond the end of the file, even if `segment_data_size` is 0."
    "The runtime does not compare the offset with the file if the size is 0."
    "rejects it with `InvalidArgument`, when the program is loaded if it has constants, else when another segment is read"
    "a `segment_base_offset` of 2^40 and a `segment_data_size` of 0"

    H_10 Malformed ALL
    "`program_size` is not larger than the file."
    "The program must be readable."
    "rejects it with `InvalidProgram` or `InvalidArgument` when the program is loaded"
    "a `program_size` of 2^40"

    H_12 Malformed ALL
    "`program_size` is at least 8."
    "A FlatBuffer begins with 8 bytes: root offset and identifier."
    "rejects it with `InvalidProgram` when the program is loaded"
    "a `program_size` of 0"

    H_13 Malformed ALL
    "A .pte has the identifier `ET12` at byte 4."
    "Another identifier means another schema, or a version that the runtime does not support."
    "rejects it with `InvalidProgram` when the program is loaded"
    "`ET13` at byte 4"

    H_14 Malformed ALL
    "The root table of a .pte is inside the program, after the first 8 bytes."
    "This is the only check of the FlatBuffer at the default verification level."
    "rejects it with `InvalidProgram` when the program is loaded"
    "a root offset of 4"

    G_1 Invalid ALL
    "Segments begin at or after the end of the program."
    "Segments that overlap the program would change with it."
    "loads it, and uses bytes of the program as weights"
    "a `segment_base_offset` of 8"

    G_2 Invalid ALL
    "A program without `segment_base_offset` has no segment of more than 0 bytes."
    "The runtime reads such segments from the start of the file."
    "loads it; constants are read from the bytes of the program, other data fail with `NotFound`"
    "no header, and `segments: [{offset: 0, size: 16}]`"

    G_3 Suspicious ALL
    "A .pte ends where its segment data end."
    "Additional bytes are unused, or a size is wrong."
    "ignores the additional bytes"
    "a zero byte appended to a .pte"

    G_5 Invalid BITS_32
    "Sizes and offsets are less than 2^32."
    "A 32-bit runtime truncates them without an error."
    "reads at a wrong offset, or with a wrong size"
    "a segment of 5 GiB for a microcontroller"

    H_20 Malformed ALL
    "A .ptd has at least 64 bytes."
    "The runtime reads the first 64 bytes to find the header."
    "rejects it with `InvalidArgument` when the data are loaded"
    "a file of 40 bytes"

    H_21 Malformed ALL
    "A .ptd has the header `FH01` at byte 8."
    "The header gives the size of the metadata; in contrast to a .pte it is mandatory."
    "rejects it with `InvalidExternalData` when the data are loaded"
    "`FH00` at byte 8"

    H_22 Malformed ALL
    "The length of the header of a .ptd is at least 40."
    "It contains four 64-bit fields."
    "rejects it with `InvalidExternalData` when the data are loaded"
    "a header length of 32"

    H_23 Invalid ALL
    "The segment data of a .ptd end inside the file."
    "A truncated file lacks weights; the runtime does not detect an overflow of the sum."
    "rejects it with `InvalidExternalData` when the data are loaded, or at the first key if the sum overflows"
    "a .ptd without its last byte"

    H_24 Malformed ALL
    "The metadata of a .ptd are inside the file."
    "They must be readable; the runtime does not detect an overflow of the sum."
    "rejects it with `InvalidArgument` when the data are loaded; undefined behaviour if the sum overflows"
    "a `flatbuffer_size` of 2^40"

    H_25 Malformed ALL
    "A .ptd has the identifier `FT01` at byte 4."
    "The identifier names the schema."
    "rejects it with `InvalidExternalData` when the data are loaded"
    "`FT02` at byte 4"

    H_27 Invalid ALL
    "A .ptd has a list of segments and a list of keys."
    "They may be empty, but not absent."
    "rejects it with `InvalidExternalData` when the data are loaded"
    "a .ptd without `named_data`"

    G_6 Invalid ALL
    "The version of a .ptd is 0."
    "The runtime rejects newer versions, and the Python reader of ExecuTorch supports no other."
    "rejects it with `InvalidExternalData` when the data are loaded; the Python reader raises NotImplementedError"
    "`version: 1`"

    G_7 Invalid ALL
    "`flatbuffer_offset` of a .ptd is at least 40."
    "The metadata end at `flatbuffer_offset + flatbuffer_size`."
    "reads too few metadata, and does not verify them"
    "a `flatbuffer_offset` of 8"

    G_8 Invalid ALL
    "Segments of a .ptd begin at or after the end of the metadata."
    "Segments that overlap the metadata would change with them."
    "loads it, and uses bytes of the metadata as weights"
    "a `segment_base_offset` of 0"

    H_30 Malformed ALL
    "A .bpte has the identifier `BP08` at byte 4."
    "The identifier names the schema."
    "rejects it with `NotSupported` when the program is requested"
    "`BP07` at byte 4"

    H_31 Malformed ALL
    "A .bpte has at least 12 bytes."
    "The runtime reads the identifier without checking the size of the file."
    "reads beyond the end"
    "a file of 6 bytes"

    F_1 Malformed ALL
    "A FlatBuffer has at least 12 bytes."
    "Fewer bytes cannot contain a root table."
    "rejects it with `InvalidProgram` if the program is verified; undefined behaviour otherwise"
    "a `program_size` of 11"

    F_2 Malformed ALL
    "The root offset is a multiple of 4 inside the FlatBuffer."
    "All tables are found through the root table."
    "rejects a program with `InvalidProgram` if it is verified, and crashes otherwise; rejects a .ptd with `InvalidExternalData`, or crashes if the offset is odd"
    "an odd root offset"

    F_5 Malformed ALL
    "The vtable of every table is inside the FlatBuffer, at an even offset and with an even size."
    "The vtable contains the offsets of the table's fields."
    "rejects it with `InvalidProgram` if the program is verified; crashes otherwise"
    "a table whose first four bytes are 0x7fffffff"

    F_6 Invalid ALL
    "Every field is after the first four bytes of its table."
    "A field elsewhere overlaps the offset of the vtable."
    "reads it"
    "a vtable entry of 2"

    F_7 Malformed ALL
    "Every field is inside the FlatBuffer, at a multiple of its size."
    "It cannot be read otherwise."
    "rejects it with `InvalidProgram` if the program is verified; undefined behaviour otherwise"
    "a vtable entry of 5 for an `int`"

    F_8 Malformed ALL
    "The offset in a field is greater than 0, and leads to a multiple of 4 inside the FlatBuffer."
    "A present field must refer to its table, vector or string."
    "rejects it with `InvalidProgram` if the program is verified; crashes otherwise"
    "an offset of 0"

    F_9 Malformed ALL
    "Every vector ends inside the FlatBuffer."
    "Its items are read without further checks."
    "rejects it with `InvalidProgram` if the program is verified; reads beyond the end otherwise"
    "a vector of 2^31 tables"

    F_10 Malformed ALL
    "Every offset in a vector of tables is greater than 0, and leads to a multiple of 4 inside the FlatBuffer."
    "Other offsets do not lead to a table."
    "rejects it with `InvalidProgram` if the program is verified; crashes otherwise"
    "an item of 0"

    F_11 Malformed ALL
    "Every string is followed by a zero byte."
    "The runtime uses strings as C strings."
    "rejects it with `InvalidProgram` if the program is verified; reads beyond the end of the string otherwise"
    "a name without its zero byte"

    F_12 Note ALL
    "The size of a table, as its vtable states it, ends inside the FlatBuffer and covers all fields."
    "Python's `flatbuffers` before 25.12.19 shares vtables among tables of different sizes; ExecuTorch does not pin the package. Reported once."
    "reads fields by their type, whatever the size"
    "a table of 12 bytes with the vtable of one of 8"

    G_10 Malformed ALL
    "A vtable has at least 4 bytes."
    "Its two sizes take 4 bytes."
    "treats the fields as absent"
    "a vtable size of 2"

    G_11 Invalid ALL
    "The items of a vector of 8-byte scalars are at multiples of 8."
    "The runtime reads them in place. An empty vector may be unaligned, as flatc writes it."
    "undefined behaviour: a bus error on some machines"
    "the items of a `DoubleList` at a multiple of 4 only"

    G_12 Note ALL
    "Bytes with an alignment in the schema are aligned."
    "Inline payloads and constants are used in place. An exporter option reduces their alignment."
    "uses them; a backend may require the alignment"
    "an inline payload at an offset that is not a multiple of 16"

    G_13 Invalid ALL
    "Strings are UTF-8."
    "FlatBuffers requires it, and all readers except the runtime rely on it."
    "compares bytes; the Python reader fails"
    "a method named `\\xff`"

    G_14 Invalid ALL
    "Strings contain no zero byte."
    "The runtime compares names up to the first zero byte, so different names may be equal to it."
    "ignores the rest of the string"
    "a method named `forward\\0x`"

    G_15 Invalid ALL
    "A bool is the byte 0 or 1."
    "Lists of bools are used in place as C++ `bool`, for which other bytes are invalid."
    "undefined behaviour"
    "a `BoolList` with the byte 2 in it"

    G_16 Invalid ALL
    "A FlatBuffer has at most a million tables, counted once per reference."
    "The verifier of FlatBuffers fails above this limit."
    "rejects it with `InvalidProgram` if the program is verified; loads it otherwise"
    "a program with a million values"

    G_17 Malformed ALL
    "Tables and vectors are not shared by many references."
    "Reading a small file could take unbounded time."
    "reads each reference, up to a million tables"
    "a vector of a million offsets of the same table"

    G_18 Invalid ALL
    "No table and no vector overlaps the header."
    "The same bytes would have two meanings."
    "loads it"
    "a vtable at byte 16"

    P_1 Invalid ALL
    "The version of a program is 0."
    "No release wrote another version, and the runtime rejects newer ones."
    "rejects it with `InvalidProgram` when the program is loaded"
    "`version: 1`"

    P_V1 Invalid ALL
    "A program has a list of methods."
    "The runtime iterates over it at every lookup."
    "rejects it with `InvalidProgram` if the program is verified; crashes at the first lookup otherwise"
    "a `Program` without `execution_plan`"

    P_2 Suspicious ALL
    "A program has at least one method."
    "A program without methods cannot be used."
    "loads it, and rejects every method name with `InvalidArgument`"
    "`methods: {}`"

    P_3 Invalid ALL
    "Names of methods are unique."
    "Only the first method with a name can be loaded."
    "loads the first one"
    "two methods named `forward`"

    P_4 Invalid ALL
    "Every method has a name."
    "Methods are loaded by name."
    "rejects every method name with `InvalidArgument`; rejects listing the names with `InvalidProgram`"
    "an `ExecutionPlan` without `name`"

    P_N1 Invalid ALL
    "A program with named data has a list of segments."
    "The runtime requires both lists, even if they are empty."
    "rejects it with `InvalidArgument` when the program is loaded"
    "`named_data: []` without `segments`"

    P_C1 Invalid RECENT
    "`constant_segment` of a program has at least one offset."
    "Otherwise the runtime looks for constants inside the FlatBuffer, which no release since 2024 writes and default builds reject."
    "rejects it with `InvalidProgram` when the program is loaded, unless it was built to read old files; `pte-emit FILE.pte -o NEW.pte --for-runtime 1.5.1` moves the constants to a segment"
    "`constant_buffer` alone"

    P_C3 Invalid ALL
    "Constants are in a segment or inside the FlatBuffer, not in both."
    "The index of a constant would be ambiguous."
    "rejects it with `InvalidProgram` when the program is loaded"
    "a `constant_segment` with two offsets beside a non-empty `constant_buffer`"

    P_C4 Invalid ALL
    "A program with constants in a segment has a list of segments."
    "The segment of the constants is an index into this list."
    "rejects it with `InvalidProgram` when the program is loaded"
    "two offsets and no `segments`"

    P_C5 Invalid ALL
    "`constant_segment.segment_index` is less than the number of segments."
    "The constants cannot be found otherwise."
    "rejects it with `InvalidProgram` when the program is loaded"
    "`segment_index: 9` with one segment"

    P_C6 Invalid ALL
    "A program with constants in a segment has a `segment_base_offset`."
    "The runtime reads the constants from the start of the file otherwise."
    "loads it, and uses bytes of the program as constants"
    "constants and no extended header"

    P_C7 Suspicious ALL
    "Constants of tensors are not in a segment of 0 bytes."
    "Exporters write such a segment for a model whose only constants are empty. Loaded from a file, its address is null, and the runtime then looks for the constants elsewhere."
    "accepts it from memory; rejects it with `InvalidArgument` or `InvalidProgram` from a file"
    "one constant of sizes `[0]`"

    P_K1 Invalid ALL
    "The index of a constant is less than the number of constants."
    "The list contains its offset in the segment."
    "rejects it with `InvalidArgument` when the method is loaded"
    "`data_buffer_idx: 9` with two constants"

    P_K2 Invalid ALL
    "Constants end inside their segment."
    "Further bytes belong to another segment, or are beyond the end of the file."
    "rejects it with `InvalidArgument` when the method is loaded"
    "a tensor of 64 bytes at offset 16 of a segment of 32"

    P_K3 Invalid ALL
    "A constant inside the FlatBuffer is present, and has at least the size of the tensor."
    "It would be read beyond its end."
    "rejects it with `InvalidArgument` when the method is loaded, or with `InvalidProgram` if built without support of inline constants; computes with a null pointer if the bytes are absent"
    "a tensor of 64 bytes whose `storage` has 32"

    P_K5 Invalid ALL
    "A program whose `constant_segment` has no constants has none inside the FlatBuffer."
    "Builds disagree: some use these constants, others reject the program."
    "rejects it with `InvalidProgram` when a constant is read, or loads it, depending on the build"
    "offsets `[0]` beside a non-empty `constant_buffer`"

    P_K6 Invalid ALL
    "Offsets of constants are ascending, and multiples of the element size."
    "Kernels read constants in place."
    "loads it; undefined behaviour in kernels"
    "a float32 constant at offset 3"

    G_20 Suspicious ALL
    "A constant does not overlap the next one."
    "Constants that share some of their bytes are probably a mistake."
    "loads it"
    "32 bytes at offset 0, and the next constant at offset 16"

    S_1 Invalid ALL
    "A program that uses a segment has a `segment_base_offset`."
    "The runtime does not read segments otherwise."
    "rejects it with `NotFound` when the method is loaded"
    "a delegate whose payload is in a segment, and no extended header"

    S_2 Invalid ALL
    "A program that uses a segment has a list of segments."
    "The index of a segment refers to this list."
    "rejects it with `InvalidProgram` when the method is loaded"
    "a delegate whose payload is in segment 0, and no `segments`"

    S_3 Invalid ALL
    "The index of a segment that is used is less than the number of segments."
    "The segment cannot be found otherwise."
    "rejects it with `NotFound` when the method is loaded"
    "a delegate whose payload is in segment 9 of 2"

    S_4 Invalid ALL
    "The end of a segment in the file is less than 2^64."
    "A sum that overflows is an offset in the program."
    "rejects a payload with `InvalidProgram`; reads constants from the bytes of the program"
    "a segment offset of 2^64 - 1"

    S_5 Invalid ALL
    "Segments end inside the segment data of the header."
    "Bytes after the segment data belong to no segment."
    "rejects it with `InvalidArgument` if the end is outside the file; reads it otherwise"
    "a segment of 64 bytes in 32 bytes of data"

    S_6 Invalid ALL
    "Segments of more than 0 bytes are ascending and disjoint."
    "Segments that overlap would change each other; no exporter writes them."
    "loads it"
    "two segments at offset 0"

    S_10 Invalid ALL
    "A program with initial data of mutable tensors has a `segment_base_offset`."
    "The data cannot be found otherwise."
    "rejects it with `NotFound` when the method is loaded"
    "initial data and no extended header"

    S_11 Invalid ALL
    "A program with initial data of mutable tensors has `mutable_data_segments`."
    "The data cannot be found otherwise. An exporter omits the list if all initial data are empty."
    "rejects it with `NotFound` when the method is loaded"
    "a tensor with both `data_buffer_idx` and `allocation_info`, and no list"

    S_12 Invalid ALL
    "The index of initial data is less than the number of their offsets."
    "The list contains their offset in the segment."
    "rejects it with `NotFound` when the method is loaded"
    "`data_buffer_idx: 9` with two offsets"

    S_13 Invalid ALL
    "`mutable_data_segments[0].segment_index` is less than the number of segments."
    "The data cannot be found otherwise."
    "rejects it with `NotFound` when the method is loaded, or with `InvalidProgram` if there are no segments"
    "`segment_index: 9` in `mutable_data_segments`"

    S_14 Invalid ALL
    "The end of initial data is less than 2^64."
    "The sum overflows otherwise."
    "rejects it with `InvalidProgram` when the method is loaded"
    "an offset of 2^64 - 1"

    S_15 Invalid ALL
    "Initial data end inside their segment."
    "Further bytes belong to another segment."
    "rejects it with `InvalidArgument` when the method is loaded"
    "16 bytes at offset 8 of a segment of 16"

    S_18 Suspicious ALL
    "`mutable_data_segments` has one entry."
    "The runtime uses the first entry for all tensors; the Python reader of ExecuTorch rejects further ones."
    "ignores the other entries"
    "two entries"

    N_1 Invalid ALL
    "Every entry of `named_data` of a program has a key."
    "The lookup of each later key compares with it."
    "rejects the lookup with `InvalidArgument`"
    "a `NamedData` without `key`"

    N_2 Invalid ALL
    "Keys are unique."
    "Only the first entry with a key can be found."
    "uses the first; rejects the file if it is merged with others"
    "two entries with the key `weight`"

    N_3 Invalid ALL
    "The segment of a key is less than the number of segments."
    "The data cannot be found otherwise."
    "rejects it with `InvalidArgument` when the key is looked up"
    "`segment_index: 9` with one segment"

    N_11 Invalid ALL
    "Every entry of a .ptd has a key."
    "The lookup of each later key follows a null pointer."
    "crashes at the lookup"
    "a `NamedData` without `key`"

    N_12 Invalid ALL
    "The segment of a key of a .ptd is less than the number of segments."
    "The data cannot be found otherwise."
    "rejects it with `InvalidExternalData` when the key is looked up"
    "`segment_index: 9` with one segment"

    N_16 Invalid ALL
    "The element type of a layout is one that the runtime knows."
    "The runtime aborts at other codes."
    "aborts when the layout is looked up"
    "`scalar_type: 30`"

    N_17 Invalid ALL
    "The sizes of a layout are not negative, and its size in bytes does not overflow."
    "The tensor could not be stored otherwise."
    "rejects it with `InvalidArgument` when the layout is looked up"
    "`sizes: [-1]`"

    N_18 Invalid ALL
    "A layout has sizes, and a dim_order that contains each of up to 16 dimensions once."
    "The runtime reads as many entries of dim_order as there are sizes, without checking its length."
    "depends on the missing part: reads beyond the end, follows a null pointer, or rejects it with `InvalidArgument`"
    "two sizes and a `dim_order` of `[0]`"

    N_19 Invalid ALL
    "The segment of a key has at least the size of its layout."
    "The runtime does not compare the two, and reads the size of the layout."
    "reads beyond the end"
    "a layout of 24 bytes with a segment of 4"

    N_30 Note ALL
    "A .ptd has at least one key."
    "A module rejects .ptd files without any keys."
    "rejects a key with `NotFound` if this is the only .ptd; rejects several .ptd files with `InvalidArgument` if none has a key"
    "a .ptd without keys"

    N_31 Invalid ALL
    "A key is in the program or in a .ptd, not in both."
    "A check of the runtime for this case has no effect."
    "uses the data of the .ptd"
    "`weight` in `named_data` and in a given .ptd"

    N_32 Invalid ALL
    "A key is in only one of the given .ptd files."
    "The key would be ambiguous."
    "rejects it with `InvalidArgument` when the files are merged"
    "the same .ptd given twice"

    N_33 Malformed ALL
    "The tables of a .ptd are those of ExecuTorch 0.7 and later."
    "0.5 and 0.6 wrote other tables with the same identifier: the size of an alignment where the segments are now."
    "follows the alignment as an offset: crashes, or finds no keys"
    "a .ptd written by 0.6"

    G_30 Invalid ALL
    "A given .ptd has no errors."
    "The runtime does not verify it."
    "crashes, or uses wrong weights"
    "a damaged .ptd beside a program"

    G_32 Note ALL
    "The runtime is not older than the schema of the newest field in use."
    "Older runtimes ignore fields that their schema does not have. Reported once, for the newest feature."
    "loads it; a release before the one named loads it without the feature"
    "a tensor of uint16, which 0.5 introduced"

    G_33 Note ALL
    "Tables have no fields, and unions no members, that the schema of 1.5.1 does not have."
    "A newer exporter wrote them, with a meaning that is not known. The runtime verifies nothing of them. `dump`, edits and `diff` keep their bytes. A value or an instruction that is such a member is also reported by M-13 or I-2."
    "ignores the fields; it rejects values and instructions that are such members when the method is loaded"
    "a field after `args` in a `DelegateCall`"

    G_34 Suspicious ALL
    "A constant in a .ptd is no output."
    "The metadata of the method state that nothing provides its memory, so that applications that set the memory of such outputs replace the constant, also where instructions read it. `--internal` moves it into the program."
    "accepts it; with the memory of the application, the constant has what this memory contains"
    "an output whose data are in a .ptd"

    G_22 Invalid ALL
    "A method has lists of inputs, outputs and buffer sizes."
    "They may be empty, but not absent: the runtime rejects the metadata of the method."
    "rejects it with `InvalidProgram` when the method is requested"
    "an `ExecutionPlan` without `inputs`"

    G_23 Invalid ALL
    "Sizes of planned buffers are not negative."
    "A buffer cannot have a negative size."
    "rejects it with `InvalidProgram` when the size is requested"
    "`non_const_buffer_sizes: [0, -1]`"

    G_24 Invalid ALL
    "Devices refer to existing buffers, and have known types."
    "Applications allocate the buffers by this list."
    "ignores unknown entries"
    "`buffer_idx: 9` with one buffer"

    M_1 Invalid ALL
    "A method has a list of values."
    "Instructions, inputs and outputs refer to it."
    "rejects it with `InvalidProgram` when the program is verified or the method loaded"
    "an `ExecutionPlan` without `values`"

    M_2 Invalid ALL
    "Every value has a kind, and content unless it is None."
    "The runtime cannot create the value otherwise."
    "rejects it with `InvalidProgram` when the method is loaded"
    "a value of kind Int without `val`"

    M_5 Invalid ALL
    "A String has a string."
    "Absent is not the same as empty."
    "rejects it with `InvalidProgram` when the method is loaded"
    "a `String` without `string_val`"

    M_6 Invalid ALL
    "A DoubleList or BoolList has items."
    "Absent is not the same as empty."
    "rejects it with `InvalidProgram` when the method is loaded"
    "a `BoolList` without `items`"

    M_7 Invalid ALL
    "An IntList has items, which are indices of values."
    "The list contains indices of values, not integers."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`items: [99]` with five values"

    M_8 Invalid ALL
    "The items of an IntList are Ints; for delegates also Bools."
    "The runtime checks them only when a kernel reads the list."
    "aborts when a kernel reads it"
    "an IntList that contains a Tensor"

    G_29 Suspicious ALL
    "The items of an IntList precede the list."
    "Exporters write them in this order."
    "loads it"
    "an IntList as value 0 that contains value 1"

    M_9 Invalid ALL
    "A TensorList has items, which are tensors that precede the list."
    "The runtime creates values in order, and uses the value at the index even if it does not exist yet."
    "rejects it with `InvalidProgram` or `InvalidType` when the method is loaded; uses uninitialised memory for a later value"
    "a TensorList as value 0 that contains value 1"

    M_11 Invalid ALL
    "An OptionalTensorList has items, which are -1, None, or tensors that precede the list."
    "The runtime creates values in order, and uses the value at the index even if it does not exist yet."
    "rejects it with `InvalidProgram` or `InvalidType` when the method is loaded; uses uninitialised memory for a later value"
    "`items: [-2]`"

    M_13 Invalid ALL
    "The kind of a value is in the schema."
    "An unknown kind passes the verifier, but the runtime cannot create the value."
    "rejects it with `InvalidProgram` when the method is loaded"
    "a value of kind 12"

    M_20 Invalid ALL
    "A method has a list of delegates."
    "It may be empty."
    "rejects it with `InvalidProgram` when the method is loaded"
    "an `ExecutionPlan` without `delegates`"

    M_21 Invalid ALL
    "A method has at least one chain."
    "The chain may have no instructions."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`chains: []`"

    M_22 Invalid ALL
    "A chain has a list of instructions."
    "It may be empty."
    "rejects it with `InvalidProgram` when the method is loaded"
    "a `Chain` without `instructions`"

    M_25 Invalid ALL
    "A method with kernel calls has a list of operators."
    "Kernel calls refer to operators by index."
    "rejects it with `InvalidProgram` when the method is loaded, unless a later call overwrites the error"
    "a `KernelCall` and no `operators`"

    M_26 Invalid ALL
    "Inputs and outputs are indices of values."
    "The runtime does not check them when it loads the method."
    "aborts when the input is set or the output is read"
    "`inputs: [99]` with five values"

    M_27 Invalid ALL
    "An input is not a constant."
    "Setting the input would write to the file's memory."
    "crashes if the file is mapped into memory"
    "an input that is a tensor with data"

    G_21 Suspicious ALL
    "Inputs are distinct values."
    "The second argument would replace the first."
    "loads it"
    "`inputs: [0, 0]`"

    M_28 Invalid ALL
    "An input is a Tensor, Int, Double, Bool, String or None."
    "Other kinds cannot be set."
    "rejects it with `InvalidArgument` when the input is set"
    "an IntList as an input"

    T_1 Invalid ALL
    "The storage offset of a tensor is 0."
    "The runtime does not support tensors that begin inside their storage."
    "rejects it with `NotSupported` when the method is loaded"
    "`storage_offset: 4`"

    T_2 Invalid ALL
    "The element type of a tensor is one that the runtime knows."
    "The size of an element is unknown otherwise."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`scalar_type: 30`"

    T_3 Invalid PORTABLE
    "A tensor has a bounded size."
    "Portable tensors cannot grow; ATen tensors can."
    "rejects it with `NotSupported` when the method is loaded"
    "`dynamism: dynamic_unbound`"

    T_4 Invalid ALL
    "The shape dynamism of a tensor is 0, 1 or 2."
    "Resizing has no effect on a tensor with another value."
    "loads it; kernels write with a wrong shape"
    "`shape_dynamism: 3`"

    T_5 Invalid ALL
    "A tensor has sizes."
    "The list is empty for rank 0."
    "rejects it with `InvalidProgram` when the program is verified or the method loaded"
    "a `Tensor` without `sizes`"

    T_6 Invalid ALL
    "A tensor has at most 16 dimensions."
    "The runtime does not support more."
    "rejects it with `InvalidProgram` when the method is loaded"
    "17 sizes"

    T_7 Invalid ALL
    "The dim_order of a tensor has as many entries as its sizes."
    "It is empty for rank 0."
    "rejects it with `InvalidProgram` when the method is loaded"
    "two sizes and a `dim_order` of `[0]`"

    T_8 Invalid ALL
    "Sizes are not negative."
    "A dimension cannot have a negative size."
    "rejects it with `InvalidProgram` when the program is verified or the method loaded"
    "`sizes: [-1]`"

    T_9 Invalid ALL
    "A dim_order contains each dimension once."
    "Strides are computed from it."
    "rejects it with `Internal` when the method is loaded"
    "`dim_order: [0, 0]`"

    T_11 Invalid ALL
    "The product of all sizes except the outermost is at most 2^31 - 1."
    "The runtime computes strides with 32 bits, and ignores overflows."
    "loads it with a wrong stride"
    "`sizes: [2, 65536, 65536]`"

    T_12 Invalid ALL
    "The size of a tensor in bytes is less than 2^63."
    "A product that overflows may look like a small tensor."
    "rejects it with `InvalidProgram` when the program is verified, if the tensor is static or not an input; loads it otherwise"
    "`sizes: [65536, 65536, 65536, 65536]`"

    P_V4 Invalid ALL
    "The product of the sizes from left to right does not overflow, even if a later size is 0."
    "The verifier multiplies in this order."
    "rejects it with `InvalidProgram` if the program is verified; loads it otherwise"
    "`sizes: [2147483647, 2147483647, 4, 0]`"

    T_13 Invalid ALL
    "The device of a tensor has type 0 or 1, and an index of at least 0."
    "The build with ATen tensors checks it, the portable build does not."
    "loads it, or rejects it with `InvalidProgram`, depending on the build; rejects setting a planned input on such a device with `NotSupported`"
    "`device_type: 7`"

    G_25 Invalid ALL
    "The location of the data of a tensor is 0 or 1."
    "The runtime treats other values as 0."
    "looks for the data in the program"
    "`location: 2`"

    G_26 Invalid ALL
    "The index into `mutable_data_segments` is 0."
    "The runtime ignores the index."
    "loads the bytes of entry 0"
    "`mutable_data_segments_idx: 1`"

    T_21 Invalid ALL
    "The buffer of a planned tensor is at least 1, and less than the number of buffers."
    "Buffer 0 is reserved."
    "rejects it with `InvalidArgument` when the method is loaded"
    "`memory_id: 0`"

    T_22 Invalid ALL
    "The end of a planned tensor is less than 2^64."
    "The sum overflows otherwise."
    "rejects it with `InvalidArgument` when the method is loaded"
    "an offset of 2^64 - 1"

    T_23 Invalid ALL
    "A planned tensor ends inside its buffer."
    "It would overwrite other memory."
    "rejects it with `MemoryAllocationFailed` when the method is loaded, if buffers have the requested sizes"
    "16 bytes at offset 16 of a buffer of 16"

    T_24 Invalid BITS_32
    "Offsets in planned memory are less than 2^32."
    "32-bit machines have no larger memory."
    "rejects it with `NotSupported` when the method is loaded"
    "`memory_offset_high: 1` for a microcontroller"

    T_25 Invalid ALL
    "A planned tensor is at a multiple of its element size."
    "Kernels read and write whole elements."
    "loads it; undefined behaviour in kernels"
    "a float32 tensor at offset 2"

    T_30 Note ALL
    "External data of a program are checked with the .ptd that contains them."
    "Sizes and types in the .pte and the .ptd must agree."
    "rejects it with `InvalidState` when the method is loaded without a .ptd"
    "a program with external weights checked without its .ptd"

    T_31 Invalid ALL
    "A tensor with external data has a name."
    "The name is the key in the .ptd."
    "rejects it with `InvalidExternalData` when the method is loaded"
    "`location: 1` without `fully_qualified_name`"

    T_32 Invalid ALL
    "The key of external data is in a given .ptd."
    "The data cannot be found otherwise; `named_data` of the program are not searched."
    "rejects it with `NotFound` when the method is loaded"
    "a .ptd of another model"

    T_33 Invalid ALL
    "An external tensor has the element type, sizes and dim_order of its key."
    "Its bytes would be misinterpreted. The runtime compares only the first tensor of a key."
    "rejects it with `InvalidExternalData` when the method is loaded; uses wrong memory for a second tensor of the key"
    "float32 in the program, float16 in the .ptd"

    T_34 Invalid ALL
    "External data have at least the size of their tensor."
    "The runtime does not compare the two."
    "reads beyond the end"
    "a tensor of 24 bytes with a segment of 4"

    T_40 Invalid ALL
    "Elements of a bool constant are 0 or 1 (checked with the option `data`)."
    "Compilers assume it, and kernels add them or use them as indices."
    "undefined behaviour"
    "a bool tensor with the byte 2"

    T_41 Note ALL
    "Elements of a constant are not NaN (checked with the option `data`)."
    "NaN propagates to all results; few models contain it on purpose."
    "computes with it"
    "a weight with a NaN"

    T_42 Suspicious ALL
    "The data of a tensor are readable (checked with the option `data`)."
    "Unreadable data cannot be checked."
    "depends on why they are unreadable"
    "a file that is truncated while it is checked"

    N_15 Invalid ALL
    "The key of an external tensor has a layout."
    "Keys of blobs have none, and the runtime follows a null pointer."
    "crashes when the method is loaded"
    "a tensor with the name of a blob of a delegate"

    D_1 Invalid ALL
    "A delegate names its backend."
    "The name selects the backend."
    "rejects it with `InvalidProgram` when the method is loaded"
    "a `BackendDelegate` without `id`"

    D_3 Invalid ALL
    "A delegate has a payload."
    "The runtime follows the reference without a check."
    "crashes when the method is loaded"
    "a `BackendDelegate` without `processed`"

    D_4 Invalid ALL
    "A program with an inline payload has a list of inline payloads."
    "The runtime follows it without a check."
    "crashes when the method is loaded"
    "an inline payload and no `backend_delegate_data`"

    D_5 Invalid ALL
    "An inline payload is in the list, and has data."
    "Absent data are not the same as empty data."
    "rejects it with `NotFound` when the method is loaded; crashes if the data are absent"
    "payload 9 of 1"

    D_7 Invalid ALL
    "The location of a payload is 0 (inline) or 1 (segment)."
    "Other locations are not defined."
    "rejects it with `Internal` when the method is loaded"
    "`location: 2`"

    D_9 Invalid ALL
    "Compile specs of a delegate have a key and a value."
    "The runtime passes both to the backend without a check."
    "crashes when the method is loaded, or passes an invalid pointer to the backend"
    "a `CompileSpec` without `value`"

    D_10 Suspicious ALL
    "Every delegate is called."
    "It is loaded with the method and takes memory."
    "loads it"
    "a delegate without a delegate call"

    D_11 Invalid ALL
    "The payload of an XNNPACK delegate contains its graph and its constants."
    "The backend trusts the offsets and sizes in the header, and reads beyond the end."
    "crashes, or rejects it with `DelegateInvalidCompatibility` or `InvalidArgument` when the method is loaded"
    "a segment that ends inside the graph"

    D_12 Invalid ALL
    "The graph of an XNNPACK delegate is consistent."
    "The backend does not verify the ids of values in its operations, nor that a value is written before it is read, and once, and an output at all. XNNPACK reserves no memory for one of several results of an operation that leads to no output, and refuses an `output_min` above `output_max`. A graph has 4096 arguments at most."
    "crashes, aborts, or rejects it with `DelegateInvalidCompatibility`, `InvalidProgram` or `Internal` when the method is loaded; or executes it, with undefined results"
    "an operation on value 7 of a graph with 3 values"

    D_13 Invalid ALL
    "The constants of an XNNPACK graph exist, and have at least the size of its tensors."
    "They are in the payload, or named data of the program or of a .ptd; XNNPACK packs as many bytes as its tensors have."
    "rejects it with `NotFound` or crashes when the method is loaded"
    "a graph with the constant `w`, and named data `v`"

    D_14 Invalid ALL
    "The arguments of an XNNPACK delegate are the tensors that its graph expects."
    "The backend does not check the number of arguments, nor their types. XNNPACK computes the sizes of outputs: a static tensor must have them, and a dynamic one room for as many elements."
    "crashes or aborts, or rejects it with `NotSupported` or `Internal`, when the call runs"
    "a graph with one input and one output, called with one tensor"

    D_15 Invalid ALL
    "The values of an XNNPACK graph have the quantization that their element types and operations need."
    "XNNPACK reads a scale for each channel or group, also if there are none, of a product of matrices for each column of each matrix, and divides by the size of a group. It takes normal positive scales, zero points of the element type, of weights in int8 0, channels in the dimension of the outputs, one scale in operations that only move elements, and factors below 256 from products to results."
    "crashes or rejects it with `Internal` when the method is loaded"
    "4-bit weights with groups of size 0"

    D_16 Invalid ALL
    "XNNPACK has the operation for the element types of its operands, and knows its flags."
    "It does not compare them in all operations; a kernel for other types reads beyond the end of its operands."
    "crashes, or rejects it with `Internal` when the method is loaded"
    "a clamp of weights with a scale per channel"

    D_17 Invalid ALL
    "The values of an XNNPACK graph have the sizes that its operations compute: at most 2^32 bytes, with windows of at most 2^28 pixels of an image that is not empty."
    "XNNPACK computes the sizes itself, whatever the values have, and reads as many weights as the operations say."
    "crashes, hangs, or rejects it with `Internal` or `NotSupported` when the method is loaded or the call runs"
    "a pooling window of a million rows of an image with 8"

    D_18 Invalid ALL
    "The constants in the payload of an XNNPACK delegate are weights that XNNPACK packs, unless the payload is inside the FlatBuffer."
    "The backend frees the payload in a segment when the method is loaded. XNNPACK has copied filters and biases, if both are constants, and the second operand of a matrix product; it reads other constants when the call runs, so they must be named data."
    "crashes when the call runs, unless the program is loaded from memory that stays"
    "an addition of a constant of the payload"

    D_19 Suspicious ALL
    "Bounds of outputs are on operations of an XNNPACK graph that apply them."
    "The backend passes them to matrix products with a filter, convolutions, poolings, clamps, and add, subtract, multiply and div only."
    "ignores the bounds"
    "a softmax with `output_max` 0.5"

    D_20 Suspicious ALL
    "The lists of inputs and outputs of an XNNPACK graph agree with the flags of its values."
    "The backend takes what the flags say, and ignores the rest."
    "ignores the list"
    "`input_ids: [77]` of a graph with the input 0"

    D_21 Suspicious ALL
    "A call of an XNNPACK delegate has as many arguments as its graph."
    "The backend takes the arguments that the graph numbers, and ignores the rest."
    "ignores the arguments after them"
    "a graph with one input and one output, called with three tensors"

    D_22 Note ALL
    "A delegate names a backend of ExecuTorch."
    "The name of a backend of its own is valid; another one is probably misspelt."
    "rejects it with `NotFound` when the method is loaded, unless such a backend is registered"
    "a delegate of `XnnpackBackened`"

    I_1 Invalid ALL
    "Every instruction has its arguments."
    "An instruction without arguments cannot run."
    "rejects it with `InvalidProgram` when the method is loaded"
    "an `Instruction` without `instr_args`"

    I_2 Invalid ALL
    "The kind of an instruction is in the schema."
    "An unknown kind passes the verifier, but the runtime cannot run it."
    "rejects it with `InvalidProgram` when the method is loaded"
    "an instruction of kind 6"

    I_3 Invalid ALL
    "A kernel call has arguments, which are indices of values."
    "The runtime resolves them when it loads the method."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`args: [99]` with five values"

    I_4 Invalid ALL
    "The operator of a kernel call is less than the number of operators."
    "The runtime reports the error only after all calls are resolved, and a later valid call overwrites it."
    "rejects it with `InvalidProgram` when the method is loaded, or calls an invalid function pointer when it runs"
    "`op_index: 9` with two operators"

    I_5 Invalid ALL
    "An operator that is called has a name and an overload, which may be empty."
    "A later call may overwrite the error of a missing name; a missing overload is used when the kernel fails."
    "rejects it with `InvalidProgram` when the method is loaded, or crashes later"
    "an `Operator` without `overload`"

    I_6 Invalid ALL
    "The name of an operator that is called has at most 99 bytes, including its overload."
    "The runtime has a buffer of fixed size, and a later call may overwrite the error."
    "rejects it with `Internal` when the method is loaded, or calls an invalid function pointer when it runs"
    "a name of 120 letters"

    I_7b Invalid ALL
    "The kernel key of a call has at most 658 bytes."
    "The runtime finds kernels by a string of the element types and dim orders of the tensors, in a buffer of fixed size."
    "rejects it with `InvalidArgument` when the method is loaded, or calls an invalid function pointer when it runs"
    "a call with 219 tensors"

    I_10 Invalid ALL
    "A delegate call has arguments, which are indices of values."
    "The runtime resolves them when it loads the method."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`args: [99]` with five values"

    I_22 Invalid ALL
    "The delegate of a call is less than the number of delegates."
    "The runtime checks it only when the call runs."
    "rejects it with `Internal` when the method runs"
    "`delegate_index: 9` with one delegate"

    I_11 Invalid ALL
    "The condition of a jump is the index of a value."
    "The condition cannot be evaluated otherwise."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`cond_value_index: 99` with five values"

    I_23 Invalid ALL
    "The condition of a jump is a Bool or a Tensor of bool."
    "Other kinds cannot be evaluated."
    "rejects it with `InvalidProgram` when the jump runs"
    "an Int as condition"

    I_24 Invalid ALL
    "The destination of a jump is an instruction of its chain, or its end."
    "The runtime ends the chain without an error, or fails in step-by-step execution."
    "ends the method early"
    "`destination_instruction: 99` in a chain of five"

    I_12 Invalid ALL
    "A move has indices of values."
    "The values cannot be found otherwise."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`move_to: 99` with five values"

    I_25 Invalid ALL
    "A move is between values of the same kind."
    "The target gets the kind of the source, while its uses expect the original kind."
    "moves it; kernels abort at the wrong kind"
    "a move from an Int to a Tensor"

    I_13 Invalid ALL
    "A free call has the index of a value."
    "The value cannot be found otherwise."
    "rejects it with `InvalidProgram` when the method is loaded"
    "`value_index: 99` with five values"

    I_26 Invalid ALL
    "A freed value is an unbounded tensor that is neither input nor output."
    "Other tensors lose their memory permanently."
    "rejects other kinds with `InvalidType`; the next use of a tensor follows a null pointer"
    "a planned tensor"

    B_2 Invalid ALL
    "A .bpte has a program, at a multiple of 16."
    "The runtime follows the offset without a check, and rejects unaligned programs."
    "crashes, or rejects it with `InvalidArgument` when the program is loaded"
    "a `BundledProgram` without `program`"

    G_9 Suspicious ALL
    "The version of a .bpte is 2."
    "Exporters write 2; the runtime does not read it."
    "ignores it"
    "`version: 1`"

    B_3 Invalid ALL
    "A .bpte has its lists of method tests, test cases, inputs and expected outputs; and method tests have a method name."
    "They may be empty, but the runtime follows them without a check."
    "crashes when the tests are looked up"
    "a test case without `inputs`"

    B_4 Invalid ALL
    "Each list of tests is of a method of the program, with one list per method."
    "Other tests cannot be found."
    "rejects the lookup with `InvalidArgument`; a second list of a method is never found"
    "tests of `backward` for a program with `forward` only"

    B_6 Invalid ALL
    "A test case has as many inputs as its method."
    "The runtime reads one for each input of the method."
    "reads beyond the end; ignores additional inputs"
    "one input for a method with two"

    B_7 Invalid ALL
    "An input of a test case is a Tensor, Int, Bool or Double."
    "Other kinds are not in the schema."
    "rejects it with `NotSupported` when the input is set"
    "an input of kind 5"

    B_8 Invalid ALL
    "An input of a test case has the kind, type and shape of the method's input, and the value of an Int, Bool or Double."
    "The runtime rejects all others."
    "rejects it with `NotSupported` when the input is set"
    "int64 for an input of float32"

    B_9 Invalid ALL
    "A tensor of a test case has sizes, a dim_order, and data of its size in bytes."
    "The runtime does not check the size of the data."
    "reads beyond the end, or follows a null pointer; the build with ATen tensors aborts"
    "8 bytes for a tensor of 24 bytes"

    B_10 Invalid ALL
    "A test case has no expected outputs, or one tensor for each output of its method, with the same type and shape."
    "The runtime compares only tensors, one for each output."
    "rejects the comparison of outputs with `NotSupported` or `NotFound`; reads beyond the end if there are too few"
    "one expected output for a method with two outputs"

    G_31 Note ALL
    "An expected output has the dim_order of the method's output."
    "Outputs are compared in memory order. The tools of ExecuTorch always write the default order, so that outputs in another order cannot be compared."
    "loads and executes the method; the function of its devtools that compares outputs aborts"
    "the order 0, 1, 2, 3 for a channels-last output"

    // Arguments of operators (O-) and semantics (X-).

    O_1 Invalid ALL
    "A kernel call has as many arguments as the kernel has parameters."
    "Arguments are positional."
    "rejects it with `InvalidProgram` when the call runs; older releases, and the libraries custom_ops and torchao_ops, read beyond the arguments"
    "aten::add.out with args [x, y, z]: its parameters are self, other, alpha, out, and the out again"

    O_2 Invalid ALL
    "The kind of an argument is accepted by the kernel."
    "Kernels read their arguments without checking their kinds, and without conversions: an Int is not a Double."
    "aborts when the call runs; most of executorch_prim rejects it with `InvalidType`"
    "the scale of quantized_decomposed::quantize_per_tensor.out as the Int 1 instead of the Double 1.0"

    O_3 Invalid ALL
    "A list of ints that a kernel reads contains Int values."
    "An IntList contains indices of values, and a kernel reads each of them as an Int."
    "aborts when the call runs"
    "the dims of aten::sum.IntList_out as an IntList that refers to a Bool"

    O_4 Suspicious ALL
    "The last argument of a call is its result: the out again, a list of all outs, or a value of the type that is returned."
    "Later instructions expect the result there. An out variant ignores it, other operators replace it."
    "an out variant ignores it; a returned value replaces the value, whatever its kind"
    "aten::add.out with args [x, y, alpha, z, w]: the result is z, not w"

    O_6 Invalid ALL
    "The result argument of an operator that returns a value has the kind of the result."
    "The value is replaced, while other instructions may expect the kind in the file. A number or a Bool may take the place of another (X-23)."
    "aborts when another call reads it as the kind in the file"
    "an aten::sym_size.int whose result is a Tensor"

    O_8 Invalid ALL
    "The arguments of a quantization are consistent: types, sizes, channels, and the range of values."
    "The kernels of quantized_decomposed abort instead of rejecting the call."
    "aborts when the call runs"
    "quantize_per_tensor.out from 0 to 255 into a tensor of int8"

    O_5 Suspicious ALL
    "An operator is registered by the default runtime."
    "Other operators need a build that links their library. The arguments of unknown operators cannot be checked."
    "rejects it with `OperatorMissing` when the method is loaded, unless such a kernel is registered"
    "mine::scale.out, not declared as a custom operator"

    O_9 Invalid ALL
    "A delegate call has arguments."
    "A backend reads as many as its payload says, without checking their number."
    "XNNPACK reads beyond the arguments"
    "a delegate call with an empty list"

    O_13 Invalid ALL
    "The out of a copy to another order of dimensions has the order that the call states, by default that of the input."
    "`dim_order: null` keeps the order of the input; the kernels compare it with that of the out, also for dimensions of size 1, and only block."
    "rejects the call with `InvalidArgument` when it runs"
    "a contiguous out of `_to_dim_order_copy` without `dim_order`, and a channels-last input"

    O_12 Invalid ALL
    "A range has at most as many elements as its out."
    "The kernel resizes its out, which cannot grow."
    "aborts when the call runs"
    "aten::arange.start_out from -1 to 4 into a tensor of 4 elements"

    O_14 Invalid ALL
    "The tensors, element types, sizes, dimensions and numbers among the arguments of a call are those that its operator and its kernel take."
    "Kernels compare the sizes of their arguments: operands broadcast, matrices have a common dimension, dimensions exist. Each has code for certain element types, and some divide by a number. Some read beyond an argument instead of rejecting it."
    "rejects the call with `InvalidArgument` when it runs; some kernels abort, divide by zero, or read beyond the argument"
    "aten::mm.out of tensors with the sizes [2, 3] and [4, 5]"

    O_15 Invalid PORTABLE
    "The outs of a call have the sizes and element types of its results."
    "A kernel resizes its out to the result. A static tensor keeps its sizes, a dynamic one its rank and its number of elements."
    "rejects the call with `InvalidArgument` when it runs; some kernels write beyond the out"
    "aten::mm.out of tensors with the sizes [2, 3] and [3, 4] into one with the sizes [4, 2]"

    X_1 Suspicious ALL
    "A tensor is written before it is read."
    "It has the content of another tensor otherwise: it shares its memory, so it is not state."
    "the result depends on earlier content of the memory"
    "a kernel that reads t, which a later one writes, and whose memory u uses as well"

    X_2 Suspicious ALL
    "An output is written, or is an input, a constant or state."
    "The caller reads undefined content otherwise."
    "returns the earlier content of the memory"
    "an output that no instruction uses"

    X_3 Invalid ALL
    "A tensor that instructions use has memory."
    "Without planned memory and data, only inputs, outputs and named tensors get memory from the caller."
    "the kernel gets a null pointer, and rejects it or crashes"
    "a tensor between two kernels with `memory: none`"

    X_4 Suspicious ALL
    "Memory of a live tensor is not overwritten."
    "Tensors may share memory only if their lifetimes are disjoint. After a move, its target has the memory of its source. ExecuTorch's exporter overwrites the result of a `torch.cond` that is read after another one: state `memory: {planner: minimal}` for the method, or run `pte-emit optimize`."
    "the later read reads the bytes of the other tensor"
    "a at 0..64 and b at 32..96 of one pool: a is written, b is written, a is read"

    X_5 Note ALL
    "A tensor that begins at the offset of a live tensor is a view of it."
    "A planning error and a view look the same in the file if both begin at the same byte. If an output is overwritten, it is X-4."
    "both tensors have the bytes that were written last"
    "a and b at byte 0 of one pool: a is written, b is written, a is read"

    X_6 Suspicious ALL
    "The results of a call do not overlap."
    "One of them is lost."
    "the result that is written last remains"
    "aten::topk.values with values and indices at the same offset"

    X_7 Invalid ALL
    "A constant is not written."
    "Constants are used in place, and files are mapped read-only."
    "crashes if the file is mapped; otherwise later executions use the changed constant"
    "aten::add.out whose out has data and no planned memory"

    X_8 Suspicious ALL
    "An input is not the out of a kernel."
    "The kernel may write to the caller's tensor. In-place operators do so on purpose."
    "overwrites the caller's memory, unless the input is planned"
    "aten::relu.out with an input as its out"

    X_9 Suspicious ALL
    "Every instruction is reachable."
    "Instructions after a jump that is always taken never run, unless another jump leads to them."
    "the instructions are loaded, their kernels must exist, and they never run"
    "a jump to the end on a Bool that is always false, followed by instructions"

    X_10 Invalid ALL
    "Every instruction can reach the end."
    "An endless loop runs up to the runtime's limit."
    "rejects it with `InvalidProgram` after 10,000,000 instructions"
    "a jump to itself on a Bool that is always false"

    X_11 Suspicious ALL
    "A loop writes its condition."
    "It never ends otherwise, once it is repeated."
    "rejects it with `InvalidProgram` after 10,000,000 instructions, if the loop is repeated"
    "a jump back on a Bool that is computed before the loop"

    X_12 Note ALL
    "Outputs are distinct values."
    "The caller gets the same tensor twice."
    "both outputs share memory"
    "outputs [y, y]"

    X_13 Note ALL
    "Tensors with data are used."
    "Unused data only increase the size of the file."
    "loads the data, and copies initial data of state, without any use"
    "a weight that is not an argument of any instruction"

    X_14 Note ALL
    "Values are used."
    "Each takes memory when the method is loaded. The exporter leaves some unused values."
    "loads the values"
    "an Int without any reference"

    X_15 Suspicious ALL
    "A delegate is called."
    "It is initialised when the method is loaded, which may take long."
    "initialises the delegate and never runs it"
    "a delegate without a delegate call"

    X_16 Note ALL
    "A program with named data has delegates."
    "Only delegates look up keys of a .pte."
    "never reads the data"
    "`named_data` in a program without delegates"

    X_17 Note ALL
    "State with initial data is read."
    "Initial data that are overwritten before any read have no effect."
    "copies the data when the method is loaded, and overwrites them"
    "a mutable tensor with data that is only used as an out"

    X_18 Invalid ALL
    "The work to check a method is in proportion to its size."
    "A few instructions can stand for a product of work: long lists that many calls take, loops in loops, views of views. Beyond a limit that no exported program reaches, checks stop, and the rest of the method is not checked (docs/check.md lists the limits)."
    "unknown: the method may violate any rule of calls, memory and initialisation"
    "a list of 10,000 tensors that is an argument of 10,000 calls"

    X_20 Invalid ALL
    "Memory of live indices is not overwritten."
    "As X-4; in addition kernels do not check the range of indices."
    "crashes or aborts when the indices are read, or computes wrong results"
    "indices at 0..64 and b at 32..96 of one pool: indices are written, b is written, indices are read"

    X_21 Note ALL
    "State that is read before it is written has initial data."
    "It has the initial content of its memory in the first execution otherwise. Reported once per method."
    "reads zeros in the first execution, if the application clears planned memory"
    "a mutable tensor without data that is read, then written"

    X_22 Note ALL
    "Int, Double and Bool values do not keep changes from one execution to the next."
    "The file has their value at load time; a counter that is not set back at the end begins with its last value. Reported once per method."
    "begins the next execution with the last value"
    "a counter of a loop that is only increased"

    X_23 Invalid ALL
    "A value has a kind that an instruction accepts whenever it is reached."
    "Results and moves replace values, also for the next iteration of a loop and the next execution. A kind on one of several paths is enough."
    "aborts when the kernel takes the argument"
    "the counter of a loop that is null before the first iteration, and an Int that the loop computes afterwards"

    X_24 Invalid ALL
    "A tensor without memory is used after a view gave it some."
    "It has a null pointer before, and on paths without the view."
    "crashes in the kernel"
    "a kernel that reads the result of an executorch_prim::et_view that runs only later"

    X_25 Invalid ALL
    "A call writes no bytes that it reads, unless its kernel works in place."
    "A kernel reads what it has already overwritten otherwise. In place means exactly the bytes, element type and sizes of one argument, for the operators of a measured table."
    "computes other numbers; reads or writes beyond a tensor if the bytes are indices or sizes"
    "the out of aten::index.Tensor_out at the offset of the indices"

    X_26 Invalid ALL
    "A tensor or list is moved over one with the same element type, sizes and items."
    "The target becomes the source, and calls are checked with the properties that the file states for the target."
    "moves it; kernels get other sizes and element types, and may read and write beyond tensors"
    "a move of a tensor of 2 elements over one of 8, which a kernel reads"

    X_27 Suspicious ALL
    "State of one name in several methods has the same offset and size in each."
    "Methods that get the same memory for a pool share bytes, not names. Each method is compared with the first; pool 1 is not, since it is rarely shared."
    "each method uses bytes of its own: one does not see what the other writes"
    "state `s` at 0..8 of pool 2 in one method, and at 16..24 in another"

    X_28 Suspicious ALL
    "A tensor that is read was written on each path to the read."
    "On the other paths it has the content of another tensor, or of the execution before. A loop counts as executed once at least."
    "computes with earlier content of the memory"
    "an output that the instructions between a conditional jump and its destination write"

    X_29 Note ALL
    "State that several methods have under the same name is in a pool that they share."
    "Pool 1 has the activations of a method, and is rarely shared. State in another pool is, if it has the same offset and size (X-27)."
    "each method uses bytes of its own: one does not see what the other writes"
    "state `cache` in pool 1 of the methods `prefill` and `decode`"

    X_19 Note ALL
    "State is written by a method."
    "A tensor without data that is read but never written has the initial content of its memory."
    "reads zeros, if the application clears planned memory"
    "a mutable tensor without data that instructions only read"

    R_1 Invalid ALL
    "The target registers a kernel for each operator."
    "A build links the kernels that are selected for it. Only checked with `--target`; the kernels of the runtime itself are always registered."
    "rejects it with `OperatorMissing` when the method is loaded"
    "a call of `aten::gelu.out` for a build that links `aten::add.out`"

    R_2 Invalid ALL
    "Calls have as many arguments as the kernel of the target takes."
    "Another release may have another schema. Only checked with `--target`, if its list of operators has the arguments."
    "fails with `InvalidProgram` when the call is executed, or aborts"
    "3 arguments for a kernel of the target that takes 4"

    R_3 Invalid ALL
    "The target compiles kernels for the element types of the calls."
    "A build with `EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD` omits the others. Only checked with `--target`, if its operators have `dtype_selective`."
    "aborts when the call is executed, or fails with `InvalidArgument`"
    "a call with int8 tensors, and a kernel that is compiled for float32"

    R_4 Invalid ALL
    "The target links the backends of the delegates."
    "A backend is registered by the library that is linked for it. Only checked with `--target`."
    "rejects it with `NotFound` when the method is loaded"
    "a delegate of `XnnpackBackend` for a microcontroller"

    R_5 Invalid ALL
    "Planned memory fits into the pools of the target."
    "The application provides a buffer for each pool. Only checked with `--target`."
    "rejects it with `MemoryAllocationFailed` when the method is loaded"
    "a pool of 300 KiB, and a buffer of 200 KiB"

    R_6 Invalid ALL
    "The method allocator of the target has room for each method."
    "Loading a method takes memory for its values, instructions and delegates; some applications take the pools from it, too. Each method is loaded alone. Only checked with `--target`."
    "rejects it with `MemoryAllocationFailed` when the method is loaded"
    "a method that takes 20,000 bytes, and an allocator of 16,384"

    R_7 Invalid ALL
    "The temporary allocator of the target has room for what kernels take."
    "Some kernels need memory while they are executed. Only checked with `--target`."
    "fails with `MemoryAllocationFailed` when the call is executed"
    "a call of `aten::topk.values` with rows of 1,000 elements, and a temporary allocator of 2 KiB"

    R_8 Invalid ALL
    "The target aligns the program as the runtime and its backends require."
    "The runtime requires the alignment of `max_align_t`, 16 on 64-bit machines and 8 on 32-bit Arm; Ethos-U requires 16. Only checked with `--target`."
    "rejects it with `InvalidArgument` when the program is loaded; Ethos-U with `InvalidProgram` when the method is loaded"
    "an array that is aligned to 4 bytes"

    R_9 Invalid ALL
    "The program is not larger than the target allows."
    "It is linked or flashed. Only checked with `--target`."
    "is not built, or does not fit into its memory"
    "a program of 5 MiB for a flash of 4 MiB"

    R_10 Invalid ALL
    "The release of the target has all features of the program."
    "An older runtime ignores the fields that it does not know. Only checked with `--target`."
    "ignores the feature, or rejects the program; docs/releases.md lists the features"
    "named data for a runtime of release 0.5"

    R_11 Suspicious ALL
    "It is known how much memory of the target each method takes."
    "What custom operators and some backends take is not known, and the rest fits: only a measurement shows whether all of it does. Only checked with `--target`."
    "rejects the method or a call with `MemoryAllocationFailed`, if the memory is not enough"
    "a custom operator, and a temporary allocator of 16 KiB"

    R_12 Invalid ALL
    "The RAM of the target has room for all that each method takes."
    "Planned memory, allocators, buffers of the caller, and what delegates take from the heap: the total of `memory`. The program is in flash, and each method is loaded alone. Only checked with `--target`."
    "fails with `MemoryAllocationFailed` when the method is loaded or executed, or the application is not linked"
    "a method whose delegates take 6 MiB from the heap, and 512 KiB of RAM"

    V_1 Invalid ALL
    "The release registers the operators of the program."
    "Releases add operators, and exporters use new ones for models that did not change. The operators are those that the Python package of the release registers. Only checked with `--runtime`."
    "the release rejects it with `OperatorMissing` when the method is loaded"
    "`dim_order_ops::_clone_dim_order.out` for ExecuTorch 0.7"

    V_2 Invalid ALL
    "The kernels of the release take the element types of the calls."
    "Kernels take more element types with each release. Only checked with `--runtime`."
    "the release rejects it with `InvalidArgument` when the call is executed, or aborts"
    "a call with bfloat16 tensors for a kernel that did not take them yet"

    V_3 Invalid ALL
    "The backends of the release accept the payloads of the delegates."
    "Payloads are formats of their own, which grow with each release. Only checked with `--runtime`, for payloads of XNNPACK."
    "the release rejects it when the method is loaded, or crashes"
    "a payload with an operation that XNNPACK's delegate of ExecuTorch 0.7 does not have"

    V_4 Invalid ALL
    "The runtime of the release reads the features of the program, and executes its calls."
    "An older runtime does not know fields of later schemas, and its kernels refuse, or do not survive, some calls that later ones execute; what it does is measured. Without `--runtime`, only calls are compared, with 1.5.1."
    "the release rejects the program or the call, or crashes"
    "a tensor whose data are in a `.ptd`, for ExecuTorch 0.4"

    V_5 Invalid ALL
    "The runtime of the release ignores nothing that the program contains."
    "An older runtime skips fields of later schemas without a message, and some kernels compute something else, so that the program has other outputs. Only checked with `--runtime`."
    "the release runs the program without the feature, or computes something else"
    "memory on another device, for ExecuTorch 1.2"

    V_6 Invalid ALL
    "The runtime of the release survives the file."
    "Later releases validate more. Each release ran the malformed examples; the finding names one that violates the same rule. Only checked with `--runtime`."
    "the release crashes or hangs on a file that violates the rule"
    "a list of tensors that contains itself, for ExecuTorch 0.7"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_sentences_are_sentences() {
        assert_eq!(RULES.iter().map(|rule| rule.id.as_str()).collect::<BTreeSet<_>>().len(), RULES.len());
        for rule in RULES {
            assert_eq!(rule.id.as_str().parse(), Ok(rule.id));
            assert_eq!(rule.id.rule().title, rule.title);
            assert!(rule.title.ends_with('.') && rule.why.ends_with('.'), "{}", rule.id);
            assert!(!rule.runtime.is_empty() && !rule.runtime.ends_with('.'), "{}", rule.id);
            assert!(!rule.example.is_empty() && !rule.profiles.is_empty(), "{}", rule.id);
        }
    }
}
