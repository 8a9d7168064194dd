//! Rewrites programs for the runtime of an older release: calls of newer operators as calls of older ones that compute
//! the same, payloads and fields as that release has them. What cannot be expressed is listed.
//!
//! The features of a release are measured ([`pte_releases`]); the conventions of its exporter are a row of
//! [`Exporter`](pte_model::format::exporter::Exporter); nothing here names a release.

mod call;
mod fields;
mod method;
mod payload;
mod problems;
mod replacements;
mod result;
mod target;

pub use fields::share_delegates;
pub use problems::Inexpressible;
pub use result::{ForRelease, ReplacedCalls, WrittenFor};
pub use target::{Target, exporter_of};

use std::collections::BTreeMap;
use std::io;

use payload::RewrittenPayloads;
use pte_model::program::Program;

/// Returns `true` if a program can be written for a release without changes.
///
/// # Errors
/// Data of payloads that cannot be read.
pub fn is_of(program: &Program, target: &Target<'_>) -> io::Result<bool> {
    let mut copy = program.clone();
    let done = rewrite(&mut copy, target)?;
    Ok(done.problems.is_empty() && done.written.is_unchanged() && Inexpressible::features(program, target).is_empty())
}

/// Rewrites a program for a release. Whether features such as external data can be expressed is a question about the
/// result: [`Inexpressible::features`].
///
/// # Errors
/// Data of payloads that cannot be read.
pub fn rewrite(program: &mut Program, target: &Target<'_>) -> io::Result<ForRelease> {
    let RewrittenPayloads { rewritten: payloads, problems } = payload::rewrite(program, target)?;
    let release = target.release.version();
    let written = WrittenFor { release, replaced: BTreeMap::new(), payloads, names: 0, layout: Vec::new() };
    let mut done = ForRelease { written, remaps: Vec::new(), needs_memory: false, problems };
    payload::orders(program, target, &mut done.problems);
    for (method, plan) in program.plans_mut().iter_mut().enumerate() {
        let rewritten = method::rewrite(method, plan, target);
        for (operator, by) in rewritten.replaced {
            let new = ReplacedCalls { count: 0, by };
            done.written.replaced.entry(operator).or_insert(new).count += 1;
        }
        done.problems.extend(rewritten.problems);
        done.remaps.push(rewritten.remap);
        done.needs_memory |= rewritten.needs_memory;
        done.written.names += fields::rewrite(plan, target);
    }
    Ok(done)
}
