//! Files of several cases: each has a name, a source, and the messages that it causes.
//!
//! ```text
//! ==== anchor.yaml
//! methods: ...
//! ---- stderr
//! error: unknown key `sizs` in a tensor
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use super::case::{Case, inputs};
use super::snapshot;

const CASE: &str = "==== ";
const MESSAGES: &str = "---- stderr\n";

/// Sources with one error each: the files of the folder, and the cases of its files of several.
pub const ERRORS: &str = "tests/golden/snapshots/errors";

/// A case: the file in which it is, its name with an extension, its source, and the expected messages.
struct Section {
    file: PathBuf,
    name: String,
    source: String,
    messages: String,
}

fn sections(file: &Path) -> Vec<Section> {
    let text = fs::read_to_string(file).unwrap();
    let body = text.strip_prefix(CASE).unwrap_or_else(|| panic!("{} begins with `{CASE}`", file.display()));
    let section = |part: &str| {
        let (name, rest) = part.split_once('\n').expect("a name");
        let (source, messages) = rest.split_once(MESSAGES).unwrap_or((rest, ""));
        let [name, source, messages] = [name, source, messages].map(str::to_owned);
        Section { file: file.to_owned(), name, source, messages }
    };
    body.split(&format!("\n{CASE}")).map(section).collect()
}

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    let files = super::files_below(&super::root().join(ERRORS), &["cases"]);
    assert!(!files.is_empty(), "no files of cases in {ERRORS}");
    files.iter().flat_map(|file| sections(file)).collect()
});

/// Folder in which the sources of all sections are files, beside the data that they read.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let binary = std::env::current_exe().unwrap();
    let folder = binary.parent().unwrap().join("errors");
    fs::create_dir_all(folder.join("files")).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        // Another test binary may read it.
        if fs::read(&path).ok().as_deref() != Some(bytes) {
            let new = tempfile::NamedTempFile::new_in(&folder).unwrap();
            fs::write(&new, bytes).unwrap();
            new.persist(path).unwrap();
        }
    };
    for data in super::files_below(&super::root().join(ERRORS).join("files"), &[]) {
        write(&format!("files/{}", data.file_name().unwrap().to_str().unwrap()), &fs::read(&data).unwrap());
    }
    SECTIONS.iter().for_each(|section| write(&section.name, section.source.as_bytes()));
    folder
});

/// All sources with one error each.
pub fn errors() -> Vec<Case> {
    let sections = SECTIONS.iter().map(|section| Case::read(&FOLDER.join(&section.name)));
    let mut all: Vec<Case> = inputs(ERRORS).into_iter().chain(sections).collect();
    all.sort_by(|a, b| a.input.file_name().cmp(&b.input.file_name()));
    all
}

/// Asserts that the messages of a case are the expected ones, or writes them if [`snapshot::blessing`].
#[track_caller]
pub fn check(case: &Case, messages: &str) {
    let file = case.input.file_name().unwrap().to_str().unwrap();
    let Some(section) = SECTIONS.iter().find(|section| section.name == file) else {
        return snapshot::check(&format!("errors/{}.stderr", case.name()), messages);
    };
    if !snapshot::blessing() {
        pretty_assertions::assert_eq!(section.messages.trim_end(), messages.trim_end(), "{}", section.file.display());
        return;
    }
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock();
    let text: String = sections(&section.file)
        .into_iter()
        .map(|Section { name, source, messages: old, .. }| {
            let messages = if name == file { messages } else { &old };
            format!("{CASE}{name}\n{source}{MESSAGES}{}\n\n", messages.trim_end())
        })
        .collect();
    fs::write(&section.file, text.trim_end().to_owned() + "\n").unwrap();
}
