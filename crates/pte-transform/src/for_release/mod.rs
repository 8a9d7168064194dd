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
mod written;

pub use fields::share_delegates;
pub use problems::Inexpressible;
pub use result::{ForRelease, ReplacedCall};
pub use target::{Target, exporter_of};
pub use written::{ReplacedCalls, WrittenFor};

use std::io;

use pte_model::program::Program;

/// Returns `true` if a program can be written for a release without changes.
///
/// # Errors
/// Data of payloads that cannot be read.
pub fn is_of(program: &Program, target: &Target<'_>) -> io::Result<bool> {
    let mut copy = program.clone();
    let done = rewrite(&mut copy, target)?;
    Ok(done.problems.is_empty() && done.is_unchanged() && Inexpressible::features(program, target).is_empty())
}

/// Rewrites a program for a release. Whether features such as external data can be expressed is a question about the
/// result: [`Inexpressible::features`].
///
/// # Errors
/// Data of payloads that cannot be read.
pub fn rewrite(program: &mut Program, target: &Target<'_>) -> io::Result<ForRelease> {
    let mut done = ForRelease::default();
    let payloads = payload::rewrite(program, target)?;
    done.payloads = payloads.rewritten;
    done.problems = payloads.problems;
    payload::orders(program, target, &mut done.problems);
    for (method, plan) in program.plans_mut().iter_mut().enumerate() {
        let rewritten = method::rewrite(method, plan, target);
        done.replaced.extend(rewritten.replaced);
        done.problems.extend(rewritten.problems);
        done.remaps.push(rewritten.remap);
        done.needs_memory |= rewritten.needs_memory;
        done.names += fields::rewrite(plan, target);
    }
    Ok(done)
}
