//! The files that ExecuTorch wrote, under `tests/golden`.

use std::path::{Path, PathBuf};

/// All files under a folder of `tests/golden` with this extension, in order of their names; there are some.
pub fn references(folder: &str, extension: &str) -> Vec<PathBuf> {
    fn visit(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                visit(&entry, extension, found);
            } else if entry.extension().is_some_and(|found| found == extension) {
                found.push(entry);
            }
        }
    }
    let mut found = Vec::new();
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder), extension, &mut found);
    found.sort();
    assert!(!found.is_empty());
    found
}
