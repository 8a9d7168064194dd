//! Compares output with its snapshot under `tests/golden/snapshots`; `BLESS=1 cargo test` writes the snapshot instead.
//!
//! Nothing here writes outside that folder: `tests/golden/upstream`, which ExecuTorch wrote, is never blessed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Returns true if a relative path stays below the folder of snapshots.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Path of the snapshot `name`.
pub fn path(name: &str) -> PathBuf {
    assert!(is_name(name), "{name} is not a path below tests/golden/snapshots");
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/snapshots").join(name)
}

/// Returns true if `BLESS` is set.
pub fn blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Asserts that the snapshot `name` equals `actual`, or writes it if [`blessing`]. Empty output has no snapshot file.
#[track_caller]
pub fn check(name: &str, actual: &str) {
    let path = path(name);
    if blessing() {
        if actual.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => panic!("{}: {error}", path.display()),
                _ => {}
            };
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(&path, actual).unwrap();
    }
    let shown = format!("tests/golden/snapshots/{name}");
    let expected = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound && actual.is_empty() => return,
        Err(error) => panic!("{shown}: {error}; `BLESS=1 cargo test` writes it; the output is\n{actual}"),
        Ok(expected) => expected,
    };
    if expected != actual {
        let difference = pretty_assertions::StrComparison::new(&expected, actual);
        panic!("{shown} (left) is not the output (right); `BLESS=1 cargo test` accepts the output\n\n{difference}");
    }
}
