//! A release that programs are written for, and the features that it lacks for calls.

use pte_model::format::ScalarType;
use pte_model::format::exporter::Exporter;
use pte_operators::refused_type;
use pte_releases::{Release, Version};

/// A release that a program is written for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'r> {
    /// Measured facts about its runtime.
    pub release: &'r Release,
    /// Conventions of its exporter.
    pub exporter: &'r Exporter,
}

/// Missing part of the runtime of a release, for a call.
pub(super) struct Lack {
    /// Description of the missing part, for messages.
    pub what: String,
    /// First release that does not lack it.
    pub first: Option<Version>,
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

    /// Returns the feature that the release lacks for a call; `types` has the element types of the arguments by
    /// position.
    pub(super) fn lack(&self, name: &str, types: &dyn Fn(usize) -> Option<ScalarType>) -> Option<Lack> {
        let runtime = self.release;
        if self.release.lacks_operator(name) {
            let what = format!("operator `{name}`, which {runtime} does not register");
            return Some(Lack { what, first: self.first(|other| other.has_operator(name)) });
        }
        let refused = |release: &Release| refused_type(name, release.types(name)?, types);
        let (position, found) = refused(self.release)?;
        let argument = pte_operators::find(name)?.signature.args.get(position).map_or("", |argument| &*argument.name);
        Some(Lack {
            what: format!("`{argument}` of {found} for `{name}`, which the kernel of {runtime} refuses"),
            first: self.first(|other| other.has_operator(name) && refused(other).is_none()),
        })
    }

    /// Returns the first later release for which `does` is true.
    pub fn first(&self, does: impl Fn(&Release) -> bool) -> Option<Version> {
        self.release.first_later(does).map(Release::version)
    }
}
