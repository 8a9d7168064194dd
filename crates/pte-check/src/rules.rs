//! The rules: id, severity, profiles, reason, and behaviour of the real runtime, read from rules.md, which
//! docs/rules.md shows. The other files of this folder check them.
//!
//! Ids are stable. Rules with `O-` are about arguments of operators, those with `X-` about the semantics of methods;
//! the runtime does not check rules with `G-`. Those with `R-` compare a program with a target, those with `V-` with a
//! release. The runtime checks all others, or requires them without a check.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Serialize, Serializer};

use pte_model::format::words::words;

words! {
    /// Severity of the violation of a rule, from the most to the least severe.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum RuleSeverity {
        /// The bytes cannot be read.
        Malformed "malformed",
        /// The runtime rejects the file, aborts, or has undefined behaviour.
        Invalid "invalid",
        /// Valid, but probably a mistake.
        Suspicious "suspicious",
        /// Information.
        Note "note",
    } Display;
}

words! {
    /// Runtime that a file is validated for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    #[non_exhaustive]
    pub enum Profile {
        /// All builds on a 64-bit machine: a file must be valid for each.
        #[default]
        Strict "strict",
        /// Portable kernels on a 64-bit machine.
        Portable "portable",
        /// Build with ATen tensors.
        Aten "aten",
        /// Portable kernels on a 32-bit machine.
        Bits32 "32-bit",
        /// Build that reads files of old releases: no or short header, inline constants.
        Legacy "legacy",
    } Display;
}

impl RuleId {
    /// Returns the id as in files and messages, such as `X-25`.
    pub fn as_str(self) -> &'static str {
        self.rule().name
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
    /// The id as a string.
    #[serde(skip)]
    name: &'static str,
    /// Severity of a violation.
    pub severity: RuleSeverity,
    /// Profiles to which the rule applies.
    #[serde(skip)]
    pub profiles: Vec<Profile>,
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
    /// Returns all rules, in the order of the validator's steps.
    ///
    /// ```
    /// use pte_check::{Rule, RuleId};
    ///
    /// assert!(Rule::all().iter().any(|rule| rule.id == RuleId::X_25));
    /// ```
    pub fn all() -> &'static [Rule] {
        &RULES
    }

    /// Returns `true` if the rule applies to a profile.
    pub fn applies(&self, profile: Profile) -> bool {
        self.profiles.contains(&profile)
    }

    /// Reads a section of rules.md.
    fn parse(id: RuleId, section: &'static str) -> Option<Rule> {
        let (name, rest) = section.split_once(": ")?;
        let (title, rest) = rest.split_once("\n\n")?;
        let (why, rest) = rest.split_once("\n\n- Severity: ")?;
        let (rest, example) = rest.trim_end().strip_suffix('.')?.split_once(".\n- Example: ")?;
        let (rest, runtime) = rest.split_once(".\n- The runtime: ")?;
        let (severity, profiles) = rest.split_once(".\n- Profiles: ").unwrap_or((rest, ""));
        let severity = RuleSeverity::ALL.into_iter().find(|one| one.to_string() == severity)?;
        let names: Vec<&str> = profiles.split(", ").collect();
        let listed = |profile: &Profile| profiles.is_empty() || names.contains(&&*profile.to_string());
        let profiles = Profile::ALL.into_iter().filter(listed).collect();
        Some(Rule { id, name, severity, profiles, title, why, runtime, example })
    }
}

/// Declares the ids of the rules, in the order of the sections of rules.md.
macro_rules! ids {
    ($($id:ident)*) => {
        /// Stable identifier of a [`Rule`]; ordered as in docs/rules.md.
        ///
        /// ```
        /// use pte_check::RuleId;
        ///
        /// assert_eq!("X-25".parse(), Ok(RuleId::X_25));
        /// assert_eq!(RuleId::X_25.as_str(), "X-25");
        /// assert!("X".parse::<RuleId>().is_err());
        /// let title = "A call writes no bytes that it reads, unless its kernel works in place.";
        /// assert_eq!(RuleId::X_25.rule().title, title);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(non_camel_case_types, missing_docs)]
        pub enum RuleId {
            $($id),*
        }

        const IDS: &[RuleId] = &[$(RuleId::$id),*];
    };
}

ids! {
    H_1 H_3 H_4 H_5 H_7 H_8 H_9 H_10 H_12 H_13 H_14 G_1 G_2 G_3 G_5 H_20 H_21 H_22 H_23 H_24 H_25 H_27 G_6 G_7
    G_8 H_30 H_31 F_1 F_2 F_5 F_6 F_7 F_8 F_9 F_10 F_11 F_12 G_10 G_11 G_12 G_13 G_14 G_15 G_16 G_17 G_18 P_1
    P_V1 P_2 P_3 P_4 P_N1 P_C1 P_C3 P_C4 P_C5 P_C6 P_C7 P_K1 P_K2 P_K3 P_K5 P_K6 G_20 S_1 S_2 S_3 S_4 S_5 S_6
    S_10 S_11 S_12 S_13 S_14 S_15 S_18 N_1 N_2 N_3 N_11 N_12 N_16 N_17 N_18 N_19 N_30 N_31 N_32 N_33 G_30 G_32
    G_33 G_34 G_22 G_23 G_24 M_1 M_2 M_5 M_6 M_7 M_8 G_29 M_9 M_11 M_13 M_20 M_21 M_22 M_25 M_26 M_27 G_21 M_28
    T_1 T_2 T_3 T_4 T_5 T_6 T_7 T_8 T_9 T_11 T_12 P_V4 T_13 T_14 G_25 G_26 T_21 T_22 T_23 T_24 T_25 T_30 T_31 T_32
    T_33 T_34 T_40 T_41 T_42 N_15 D_1 D_3 D_4 D_5 D_7 D_9 D_10 D_11 D_12 D_13 D_14 D_15 D_16 D_17 D_18 D_19 D_20
    D_21 D_22 D_23 D_24 D_25 D_26 I_1 I_2 I_3 I_4 I_5 I_6 I_7b I_10 I_22 I_11 I_23 I_24 I_12 I_25 I_13 I_26 B_2
    G_9 B_3 B_4 B_6 B_7 B_8 B_9 B_10 G_31 O_1 O_2 O_3 O_4 O_6 O_8 O_5 O_9 O_13 O_12 O_14 O_15 X_1 X_2 X_3 X_4 X_5 X_6 X_7 X_8 X_9
    X_10 X_11 X_12 X_13 X_14 X_15 X_16 X_17 X_18 X_20 X_21 X_22 X_23 X_24 X_25 X_26 X_27 X_28 X_29 X_30 X_19 R_1 R_2
    R_3 R_4 R_5 R_6 R_7 R_8 R_9 R_11 R_12 R_13 V_1 V_2 V_3 V_4 V_5 V_6
}

/// All rules, in the order of the validator's steps.
pub static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let sections = include_str!("../rules.md").split("### ").skip(1);
    IDS.iter().zip(sections).map(|(id, section)| Rule::parse(*id, section).expect(section)).collect()
});

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_sentences_are_sentences() {
        assert_eq!(RULES.iter().map(|rule| rule.id.as_str()).collect::<BTreeSet<_>>().len(), RULES.len());
        let sections = include_str!("../rules.md").matches("### ").count();
        assert_eq!((RULES.len(), sections), (IDS.len(), IDS.len()), "each section of rules.md has an id");
        for rule in RULES.iter() {
            assert_eq!(rule.id.as_str(), format!("{:?}", rule.id).replace('_', "-"));
            assert_eq!(rule.id.as_str().parse(), Ok(rule.id));
            assert!(rule.title.ends_with('.') && rule.why.ends_with('.'), "{}", rule.id);
            assert!(!rule.runtime.is_empty() && !rule.runtime.ends_with('.'), "{}", rule.id);
            assert!(!rule.example.is_empty() && !rule.profiles.is_empty(), "{}", rule.id);
        }
    }
}
