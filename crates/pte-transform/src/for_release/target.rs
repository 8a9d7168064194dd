//! A release that programs are written for, and the features that it lacks for calls.

use pte_model::format::ScalarType;
use pte_model::format::exporter::Exporter;
use pte_operators::Lack;
use pte_releases::{Release, Version};

/// A release that a program is written for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'r> {
    /// Measured facts about its runtime.
    pub release: &'r Release,
    /// Conventions of its exporter.
    pub exporter: &'r Exporter,
}

impl<'r> Target<'r> {
    /// Returns a release with its exporter.
    pub fn of(release: &'r Release) -> Target<'r> {
        Target { release, exporter: exporter_of(release) }
    }
}

/// Returns the exporter of a release.
pub fn exporter_of(release: &Release) -> &'static Exporter {
    let Version { major, minor, .. } = release.version();
    Exporter::of((major, minor))
}

impl Target<'_> {
    /// Returns `true` if calls of an operator may have to be replaced.
    pub fn may_replace(&self, name: &str) -> bool {
        let is_former = !self.exporter.has_dim_order_operators;
        self.release.lacks_operator(name) || self.release.types(name).is_some() || is_former
    }

    /// Returns what the release lacks for a call; `types` has the element types of the arguments by position.
    pub(super) fn lack(&self, name: &str, types: &dyn Fn(usize) -> Option<ScalarType>) -> Option<Lack<'_>> {
        Lack::of_operator(self.release, name).or_else(|| Some(Lack::of_types(self.release, name, types)?.1))
    }
}
