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
use std::sync::LazyLock;

use super::case::{Case, inputs};
use super::snapshot;

const MESSAGES: &str = "---- stderr\n";

/// Sources with one error each: the files of the folder, and the cases of its files of several.
pub const ERRORS: &str = "tests/golden/snapshots/errors";

/// A case: the file of snapshots in which it is, its name with an extension, its source, and the expected messages.
struct Section {
    file: String,
    name: String,
    source: String,
    messages: String,
}

fn sections(file: &Path) -> Vec<Section> {
    let file = format!("errors/{}", file.file_name().unwrap().to_str().unwrap());
    let section = |(name, text): (String, String)| {
        let (source, messages) = text.split_once(MESSAGES).unwrap_or((&text, ""));
        let [source, messages] = [source, messages].map(str::to_owned);
        Section { file: file.clone(), name, source, messages }
    };
    snapshot::cases(&file).into_iter().map(section).collect()
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
    let Section { file, name, source, messages: expected } = section;
    if snapshot::blessing() {
        return snapshot::write_case(file, name, &format!("{source}{MESSAGES}{}\n", messages.trim_end()));
    }
    pretty_assertions::assert_eq!(expected.trim_end(), messages.trim_end(), "{file}");
}
