//! The rules as a table: each with a stable id, how bad it is to break it, why it exists, and what the real runtime does
//! then. Who looks for it is in the files beside this one; docs/rules.md is printed from here.
//!
//! Ids are those of the paper `runtime-rules.md` where it has one (`H-4`, `T-9`); ours are `O-` (operators' arguments),
//! `X-` (what a method does with its values) and `G-` (gaps of the paper's appendix A without an id of their own).

use std::fmt;

/// How bad it is to break a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The bytes cannot be read.
    Malformed,
    /// The runtime refuses it, aborts, or does what nobody defined.
    Invalid,
    /// Legal, but surely not meant.
    Suspicious,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Malformed => "malformed",
            Severity::Invalid => "invalid",
            Severity::Suspicious => "suspicious",
            Severity::Note => "note",
        })
    }
}

/// The runtime that a file will meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// All of them: what any build refuses is refused.
    #[default]
    Strict,
    /// Portable kernels on a 64-bit machine.
    Portable,
    /// The build with ATen's tensors.
    Aten,
    /// Portable kernels where an address has 32 bits.
    Bits32,
    /// Files of old releases: no header, short headers, constants inside the FlatBuffer.
    Legacy,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Stable name.
    pub id: &'static str,
    /// How bad it is to break it.
    pub severity: Severity,
    /// The profiles in which it counts.
    pub profiles: &'static [Profile],
    /// What must hold, in one sentence.
    pub title: &'static str,
    /// Why.
    pub why: &'static str,
    /// What ExecuTorch 1.5.1 does with a file that breaks it.
    pub runtime: &'static str,
    /// A file that breaks it, in words or as text.
    pub example: &'static str,
}

impl Rule {
    /// Whether it counts for this runtime.
    pub fn applies(&self, profile: Profile) -> bool {
        self.profiles.contains(&profile)
    }
}

/// Every profile.
pub const ALL: &[Profile] = &[Profile::Strict, Profile::Portable, Profile::Aten, Profile::Bits32, Profile::Legacy];

/// All rules, by the step that looks for them.
pub static RULES: &[Rule] = &[Rule {
    id: "H-1",
    severity: Severity::Malformed,
    profiles: ALL,
    title: "A .pte has 64 bytes at least.",
    why: "The runtime reads its first 64 bytes before it knows whether there is a header.",
    runtime: "InvalidArgument when the program is loaded",
    example: "a file of 40 bytes",
}];

/// The rule with this id, and its place in the table.
pub fn find(id: &str) -> Option<(usize, &'static Rule)> {
    RULES.iter().enumerate().find(|(_, rule)| rule.id == id)
}
