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
    super::root().join("tests/golden/snapshots").join(name)
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

/// Greatest number of lines that [`update`] shows of each side.
const SHOWN: usize = 20;

/// Asserts that a file that is generated has this text, or writes it if [`blessing`]. `command` writes it. Shows only
/// the lines that differ.
#[track_caller]
pub fn update(path: &Path, expected: &str, command: &str) {
    if blessing() {
        return fs::write(path, expected).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == expected {
        return;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (found.lines().collect(), expected.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let end = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(old, new)| old == new).count();
    let lines = |lines: &[&str], sign: char| -> String {
        let part = &lines[same..lines.len() - end];
        let shown =
            part.iter().take(SHOWN).map(|line| format!("{sign} {}\n", line.chars().take(200).collect::<String>()));
        let more = part.len().saturating_sub(SHOWN);
        shown.chain((more > 0).then(|| format!("{sign} ... and {more} more lines\n"))).collect()
    };
    let (old, new) = (lines(&old, '-'), lines(&new, '+'));
    panic!("{} is not up to date from line {} on; `{command}` writes it\n{old}{new}", path.display(), same + 1);
}
