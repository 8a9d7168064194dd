//! Files under `tests/golden` for unit tests: reference files of ExecuTorch, and snapshots, which `BLESS=1 cargo test` writes.

use std::path::{Path, PathBuf};

/// Path of a reference file or folder of ExecuTorch. It is never blessed.
pub fn upstream(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/upstream").join(name)
}

/// Asserts that the snapshot `name` equals `actual`, or writes it when blessing.
pub fn check(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/snapshots").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `BLESS=1 cargo test` writes it", path.display()));
    pretty_assertions::assert_eq!(expected, actual, "{} differs; `BLESS=1 cargo test` accepts", path.display());
}
