//! Compares a text with its golden file under `tests/golden/`; `BLESS=1 cargo test` writes the file instead.

use std::path::{Path, PathBuf};

/// The file `name` under `tests/golden/`.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Asserts that the golden file `name` holds `actual`, or writes it when blessing.
pub fn check(name: &str, actual: &str) {
    let path = path(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `BLESS=1 cargo test` writes it", path.display()));
    pretty_assertions::assert_eq!(expected, actual, "{} differs; `BLESS=1 cargo test` accepts", path.display());
}
