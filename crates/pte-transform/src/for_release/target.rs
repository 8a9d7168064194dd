//! A release that programs are written for, and what it lacks for calls.

use pte_model::format::ScalarType;
use pte_model::format::exporter::Exporter;
use pte_releases::{Release, Version};

/// A release that a program is written for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'r> {
    /// What its runtime has.
    pub release: &'r Release,
    /// How its exporter writes.
    pub exporter: &'r Exporter,
}

/// What the runtime of a release lacks for a call.
pub struct Lack {
    /// What it lacks, for messages.
    pub what: String,
    /// First release that does not lack it.
    pub first: Option<Version>,
}

impl Target<'_> {
    /// Returns `true` if calls of an operator may have to be replaced.
    pub fn may_replace(&self, name: &str) -> bool {
        let is_former = !self.exporter.has_dim_order_operators;
        self.is_missing(name) || !self.release.types(name).is_empty() || is_former
    }

    /// Returns `true` for an operator that another release registers, and this one does not. Custom operators, and those of libraries that an
    /// application links, are in no release.
    fn is_missing(&self, name: &str) -> bool {
        !self.release.has_operator(name) && Release::known().any(|other| other.has_operator(name))
    }

    /// Returns what the release lacks for a call; `types` has the element types of the arguments by position.
    pub fn lack(&self, name: &str, types: &dyn Fn(usize) -> Option<ScalarType>) -> Option<Lack> {
        let version = self.release.version();
        if self.is_missing(name) {
            let what = format!("operator `{name}`, which ExecuTorch {version} does not register");
            return Some(Lack { what, first: self.first(|other| other.has_operator(name)) });
        }
        let operator = pte_operators::find(name)?;
        self.release.types(name).iter().find_map(|facts| {
            let position = operator.signature.args.iter().position(|arg| arg.name == facts.argument)?;
            let word = types(position)?.to_string();
            let refuses = |other: &Release| {
                let mut others = other.types(name).iter();
                others.any(|other| other.argument == facts.argument && other.refused.contains(&word))
            };
            facts.refused.contains(&word).then(|| Lack {
                what: format!(
                    "`{}` of {word} for `{name}`, which the kernel of ExecuTorch {version} refuses",
                    facts.argument
                ),
                first: self.first(|other| other.has_operator(name) && !refuses(other)),
            })
        })
    }

    /// Returns the first later release for which `does` is true.
    pub fn first(&self, does: impl Fn(&Release) -> bool) -> Option<Version> {
        let later = Release::known().filter(|other| other.version() > self.release.version());
        later.map(|other| (other, does(other))).find(|(_, does)| *does).map(|(other, _)| other.version())
    }
}
