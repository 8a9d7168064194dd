//! Compares output with its snapshot under `tests/golden/snapshots`; `BLESS=1 cargo test` writes the snapshot instead.
//!
//! Nothing here writes outside that folder: `tests/golden/upstream`, which ExecuTorch wrote, is never blessed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

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

/// Begin of a line before each case of a file of several.
const CASE: &str = "==== ";

/// Cases of a file below `tests/golden/snapshots`, by name; none if there is no file.
///
/// ```text
/// ==== NAME
/// TEXT
///
/// ==== NAME
/// TEXT
/// ```
pub fn cases(file: &str) -> Vec<(String, String)> {
    let Ok(text) = fs::read_to_string(path(file)) else { return Vec::new() };
    let body = text.strip_prefix(CASE).unwrap_or_else(|| panic!("{file} begins with `{CASE}`"));
    let case = |case: &str| {
        let (name, text) = case.split_once('\n').expect("a name");
        (name.to_owned(), text.to_owned())
    };
    body.split(&format!("\n{CASE}")).map(case).collect()
}

/// Writes the text of a case; a new one is added in alphabetical order, and one without text removed.
pub fn write_case(file: &str, name: &str, text: &str) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock();
    let mut all = cases(file);
    match all.iter().position(|(other, _)| other == name) {
        Some(at) => text.clone_into(&mut all[at].1),
        None => all.insert(all.partition_point(|(other, _)| &**other < name), (name.to_owned(), text.to_owned())),
    }
    all.retain(|(_, text)| !text.is_empty());
    let texts: Vec<String> = all.iter().map(|(name, text)| format!("{CASE}{name}\n{text}")).collect();
    // Other tests read the file at the same time.
    let written = path(&format!("{file}.new"));
    fs::write(&written, texts.join("\n")).unwrap();
    fs::rename(written, path(file)).unwrap();
}

/// File of several cases that has a snapshot, and the name of the case: short ones of many inputs.
fn place(name: &str) -> Option<(String, &str)> {
    let (folder, case) = name.split_once('/')?;
    let file = match folder {
        "check" => format!("check/{}.cases", case.split(['-', '/']).next()?),
        "releases" => format!("releases/{}.cases", case.split('/').next()?),
        "malformed" => "malformed.cases".to_owned(),
        _ => return None,
    };
    Some((file, case))
}

/// Names of all snapshots.
pub fn names() -> Vec<String> {
    let folder = path("errors").parent().unwrap().to_owned();
    let relative = |path: PathBuf| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> =
        super::files_below(&folder, &["stdout", "stderr", "txt"]).into_iter().map(relative).collect();
    for file in super::files_below(&folder, &["cases"]).into_iter().map(relative) {
        let folder = file.split(['/', '.']).next().unwrap();
        names.extend(cases(&file).into_iter().map(|(name, _)| format!("{folder}/{name}")));
    }
    names
}

/// Asserts that the snapshot `name` equals `actual`, or writes it if [`blessing`]. Empty output has no snapshot.
#[track_caller]
pub fn check(name: &str, actual: &str) {
    if let Some((file, case)) = place(name) {
        let found = cases(&file).into_iter().find(|(other, _)| other == case);
        let expected = found.map_or_else(String::new, |(_, text)| text);
        if expected != actual && blessing() {
            return write_case(&file, case, actual);
        }
        return compare(&format!("the case {case} of tests/golden/snapshots/{file}"), &expected, actual);
    }
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
    compare(&shown, &expected, actual);
}

#[track_caller]
fn compare(shown: &str, expected: &str, actual: &str) {
    if expected != actual {
        let difference = pretty_assertions::StrComparison::new(expected, actual);
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
