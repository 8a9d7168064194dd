//! Writing for the runtime of a release: the layout of its exporter, calls that it can execute, and errors for the
//! parts that it cannot express.
//!
//! Release and exporter are facts of `pte-releases` and `pte-model`, the rewriting is part of `pte-transform`. Here are
//! the order of the steps, and the messages.

use std::sync::Arc;

use crate::facade::source::Source;
use crate::ir::NodeDiagnostic;
use crate::layout::exporter::{Contradiction, Why};
use crate::layout::options::LayoutOptions;
use crate::pipeline::{AssembleOptions, Resolved};
use pte_check::{Requirements, Unmet};
use pte_model::data::BlobId;
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_releases::Release;
use pte_transform::for_release::{self, Inexpressible, Target, WrittenFor, exporter_of};

impl Resolved {
    /// Sets the layout of the exporter of a release; options of an export stay.
    ///
    /// # Errors
    /// Options of the source or of the caller that contradict it.
    pub(crate) fn lay_out_for(&mut self, release: &Release, options: &AssembleOptions) -> Result<(), Error> {
        let exporter = exporter_of(release);
        let contradictions = |options: &LayoutOptions| {
            let written = options.contradictions(exporter);
            written.into_iter().chain(options.unread_by(release))
        };
        let by_source = contradictions(&self.stated);
        let by_caller = contradictions(&options.layout);
        let is_option = options.for_runtime.is_some() || self.origins.runtime.is_none();
        let source = by_source.map(|found| self.contradiction(release, &found, true, is_option));
        let caller = by_caller.map(|found| self.contradiction(release, &found, false, is_option));
        let errors: Vec<NodeDiagnostic> = source.chain(caller).collect();
        if !errors.is_empty() {
            return Err(self.error(errors));
        }
        self.layout = self.layout.for_exporter(exporter);
        self.stated.apply(&mut self.layout);
        Ok(())
    }

    /// Returns the program of a binary file that was printed as YAML and resolved. The layout and the names stay;
    /// positions in that YAML are removed, and what it requests: a changed program need not be one of the release that
    /// wrote the file.
    pub(crate) fn of_file(mut self, source: Arc<Source>) -> Resolved {
        if let Some(release) = self.runtime.take() {
            self.layout = self.layout.for_exporter(exporter_of(&release));
            std::mem::take(&mut self.stated).apply(&mut self.layout);
        }
        self.stated = LayoutOptions::default();
        self.origins.keep_names();
        self.source = source;
        self
    }

    /// Returns the error about an option that contradicts a release.
    fn contradiction(
        &self,
        release: &Release,
        found: &Contradiction,
        in_source: bool,
        is_option: bool,
    ) -> NodeDiagnostic {
        let Contradiction { option, value, why } = found;
        let version = release.version();
        let requested = match is_option {
            true => format!("the option `for-runtime` {version}"),
            false => format!("`runtime: \"{version}\"`"),
        };
        let other = match in_source {
            true => format!("`{option}: {value}`"),
            false => format!("the option `{}` {value}", option.replace('_', "-")),
        };
        let message = format!("{requested} and {other} contradict each other");
        let (label, reason) = match why {
            Why::Written(written) => (
                format!("expected {written}"),
                format!("the exporter of ExecuTorch {version} writes {option} {written}"),
            ),
            Why::Unread(answer) => ("not read".to_owned(), format!("the runtime of {release} {answer}")),
        };
        let help = format!("{reason}: omit one of the two");
        let node = self.origins.layout.get(option).copied().filter(|_| in_source);
        let diagnostic = match node {
            Some(node) => Code::NotInRelease.error(node, message).label(label),
            None => Code::NotInRelease.whole(message),
        };
        match self.origins.runtime.filter(|_| !is_option) {
            Some(runtime) => diagnostic.related(runtime, "release").help(help),
            None => diagnostic.help(help),
        }
    }

    /// Replaces the parts that a release cannot execute or read.
    ///
    /// # Errors
    /// All calls and operations of payloads that have no replacement; data that cannot be read.
    pub(crate) fn rewrite_for(&mut self, release: &Release) -> Result<WrittenFor, Error> {
        let target = Target::of(release);
        let done = for_release::rewrite(&mut self.program, &target).map_err(|error| self.unreadable(&error))?;
        if !done.problems.is_empty() {
            let mut problems = done.problems;
            problems.extend(Inexpressible::features(&self.program, &target));
            return Err(self.inexpressible(release, &problems));
        }
        self.origins.retain(&done.remaps);
        Ok(done.written)
    }

    /// Checks that a release has the features of the program, and shares delegates as its exporter does. `same` has for
    /// each blob the first one with its bytes.
    ///
    /// # Errors
    /// All parts that need a later release.
    pub(crate) fn finish_for(&mut self, release: &Release, same: &[BlobId]) -> Result<(), Error> {
        let target = Target::of(release);
        let mut found = Inexpressible::features(&self.program, &target);
        // All defects of a part are one error.
        let mut unmet = Requirements::of(&self.program).unmet(release);
        unmet.retain(|unmet| found.iter().all(|known| known.at != unmet.at));
        let inexpressible =
            |Unmet { at, what, expected }| Inexpressible { at, what, help: format!("expected {expected}") };
        found.extend(unmet.into_iter().map(inexpressible));
        if !found.is_empty() {
            return Err(self.inexpressible(release, &found));
        }
        self.origins.retain(&for_release::share_delegates(&mut self.program, same, &target));
        Ok(())
    }

    /// Returns `true` if some tensors need memory that they do not have yet, once the program is rewritten for a
    /// release.
    ///
    /// # Errors
    /// Data of payloads that cannot be read.
    pub(crate) fn needs_memory_for(&self, release: &Release) -> Result<bool, Error> {
        let done = for_release::rewrite(&mut self.program.clone(), &Target::of(release));
        done.map(|done| done.needs_memory).map_err(|error| self.unreadable(&error))
    }

    /// Returns an error about parts that a release cannot express, in the order of the source.
    fn inexpressible(&self, release: &Release, found: &[Inexpressible]) -> Error {
        let message = |Inexpressible { at, what, help }: &Inexpressible| {
            let node = self.origins.node(*at);
            let what = match (node, &*at.path(&self.program)) {
                (Some(_), _) | (None, "") => what.clone(),
                (None, path) => format!("{path}: {what}"),
            };
            let text = format!("not in {release}: {what}");
            let whole = Code::NotInRelease.whole(text);
            NodeDiagnostic { at: node, ..whole }.help(help.clone())
        };
        let mut messages: Vec<NodeDiagnostic> = found.iter().map(message).collect();
        messages.sort_by_key(|message| message.at);
        self.error(messages)
    }
}
