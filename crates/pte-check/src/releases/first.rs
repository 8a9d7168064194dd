//! Expected value of a finding about a release: the first later release that would accept the program.

use pte_releases::Release;

/// Returns the expected value of a finding: the first release after `release` for which `does` is true.
pub fn first_after(release: &Release, does: impl Fn(&Release) -> bool) -> String {
    match release.first_later(does) {
        Some(first) => format!("ExecuTorch {}, the first release that does, or later", first.version()),
        None => "a release that does: no later one is known".to_owned(),
    }
}
