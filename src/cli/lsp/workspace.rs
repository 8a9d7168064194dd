//! Names in the YAML of the folders of a workspace. A file is parsed once for each of its states, not assembled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use pte_emit::language::{OutlineItem, OutlineKind};
use serde_json::{Value, json};

use super::answers;
use super::positions::Positions;

/// Maximum number of names of an answer, of entries of folders that are looked at, of files that are searched, and of
/// their bytes together.
const MAX_FOUND: usize = 1000;
const MAX_ENTRIES: usize = 50_000;
const MAX_FILES: usize = 500;
const MAX_BYTES: u64 = 32 << 20;

/// Limits that an answer has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Names that are found.
    Found,
    /// Entries of folders.
    Entries,
    /// Files.
    Files,
    /// Bytes of the files.
    Bytes,
}

impl Limit {
    /// Returns the message for the user.
    pub fn message(self) -> String {
        let rest = "the rest of the workspace is not searched for names";
        match self {
            Limit::Found => format!("of the names in the workspace, the first {MAX_FOUND} are listed"),
            Limit::Entries => format!("after {MAX_ENTRIES} files and folders, {rest}"),
            Limit::Files => format!("after {MAX_FILES} files of YAML, {rest}"),
            Limit::Bytes => format!("after {} MiB of YAML, {rest}", MAX_BYTES >> 20),
        }
    }
}

/// A name of a text.
struct PlacedName {
    name: String,
    kind: u32,
    /// Name that it belongs to.
    container: Arc<str>,
    /// Line and column of its start and of its end.
    range: [(usize, usize); 2],
}

/// Names of a text.
pub struct TextNames(Vec<PlacedName>);

impl TextNames {
    /// Finds the names in the outline of a text.
    pub fn new(outline: &[OutlineItem], positions: &Positions) -> TextNames {
        let mut names = TextNames(Vec::new());
        names.add(outline, positions, &"".into());
        names
    }

    /// Recurses to the depth of the outline.
    fn add(&mut self, outline: &[OutlineItem], positions: &Positions, container: &Arc<str>) {
        for item in outline {
            let OutlineKind::Name(kind) = item.kind else {
                self.add(&item.children, positions, container);
                continue;
            };
            self.0.push(PlacedName {
                name: item.name.clone(),
                kind: answers::name_symbol(kind),
                container: container.clone(),
                range: [item.selection.start, item.selection.end].map(|at| positions.line_column(at)),
            });
            if !item.children.is_empty() {
                self.add(&item.children, positions, &item.name.as_str().into());
            }
        }
    }
}

/// Names that have a part in common: the answer of `workspace/symbol`.
pub struct Search {
    query: String,
    found: Vec<Value>,
    /// Limits that are reached.
    pub limits: BTreeSet<Limit>,
}

impl Search {
    /// Begins to search for a part of names.
    pub fn new(query: &str) -> Search {
        Search { query: query.to_lowercase(), found: Vec::new(), limits: BTreeSet::new() }
    }

    /// Adds the names of a text that have the part.
    pub fn add(&mut self, uri: &str, names: &TextNames) {
        let position = |(line, column)| json!({"line": line, "character": column});
        for PlacedName { name, kind, container, range: [start, end] } in &names.0 {
            if !name.to_lowercase().contains(&self.query) {
                continue;
            }
            if self.found.len() == MAX_FOUND {
                self.limits.insert(Limit::Found);
                return;
            }
            let range = json!({"start": position(*start), "end": position(*end)});
            let location = json!({"uri": uri, "range": range});
            let found = json!({"name": name, "kind": kind, "containerName": &**container, "location": location});
            self.found.push(found);
        }
    }

    /// Returns the answer.
    pub fn answer(self) -> Value {
        self.found.into()
    }
}

/// Size of a file, and when it was written.
type FileState = (u64, Option<SystemTime>);

/// Names of files, each with the state that it had when it was parsed.
#[derive(Default)]
pub struct FileNames(BTreeMap<PathBuf, (FileState, TextNames)>);

impl FileNames {
    /// Finds the files of YAML in folders, without those that are open. `parse` is called for those that have changed.
    pub fn refresh(
        &mut self,
        folders: &[PathBuf],
        open: &BTreeSet<PathBuf>,
        limits: &mut BTreeSet<Limit>,
        parse: impl Fn(&Path, &str) -> TextNames,
    ) {
        let (mut known, mut bytes) = (std::mem::take(&mut self.0), 0);
        for path in yaml_files(folders, limits).into_iter().filter(|path| !open.contains(path)) {
            let Ok(state) = fs::metadata(&path).map(|found| (found.len(), found.modified().ok())) else { continue };
            if state.0 > MAX_BYTES - bytes {
                limits.insert(Limit::Bytes);
                break;
            }
            bytes += state.0;
            let names = match known.remove(&path) {
                Some((before, names)) if before == state => names,
                Some(_) | None => read(&path, state.0).map_or(TextNames(Vec::new()), |text| parse(&path, &text)),
            };
            self.0.insert(path, (state, names));
        }
    }

    /// Returns the files, each with its names.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &TextNames)> {
        self.0.iter().map(|(path, (_, names))| (path.as_path(), names))
    }
}

/// Reads a file that is YAML of a program; `None` for another one.
fn read(path: &Path, size: u64) -> Option<String> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(size).read_to_string(&mut text)).ok()?;
    text.contains("methods:").then_some(text)
}

/// Returns the YAML files of folders and of their folders.
fn yaml_files(folders: &[PathBuf], limits: &mut BTreeSet<Limit>) -> BTreeSet<PathBuf> {
    let (mut files, mut folders, mut entries) = (BTreeSet::new(), folders.to_vec(), 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entries == MAX_ENTRIES {
                limits.insert(Limit::Entries);
                return files;
            }
            entries += 1;
            let (path, kind) = (entry.path(), entry.file_type());
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match kind {
                Ok(kind) if kind.is_dir() && !is_hidden => folders.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "yaml" || end == "yml") => {
                    files.insert(path);
                }
                _ => {}
            }
            if files.len() > MAX_FILES {
                limits.insert(Limit::Files);
                files.pop_last();
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_file_is_parsed_once_for_each_state() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, other] = ["a.yaml", "b.yml", "c.yaml"].map(|name| folder.path().join(name));
        fs::write(&a, "methods: {}").unwrap();
        fs::write(&b, "methods: {f: {}}").unwrap();
        fs::write(other, "services: {}").unwrap();
        let (parsed, mut names) = (Cell::new(0), FileNames::default());
        let mut visit = |open: &[&PathBuf]| {
            parsed.set(0);
            let open = open.iter().map(|path| (*path).clone()).collect();
            let parse = |_: &Path, _: &str| {
                parsed.set(parsed.get() + 1);
                TextNames(Vec::new())
            };
            let mut limits = BTreeSet::new();
            names.refresh(&[folder.path().to_owned()], &open, &mut limits, parse);
            assert!(limits.is_empty());
            (names.iter().count(), parsed.get())
        };
        assert_eq!([visit(&[]), visit(&[])], [(3, 2), (3, 0)]);
        fs::write(&b, "methods: {other: {}}").unwrap();
        assert_eq!([visit(&[]), visit(&[&b])], [(3, 1), (2, 0)]);
        fs::remove_file(&a).unwrap();
        assert_eq!(visit(&[]), (2, 1));
    }

    #[test]
    fn limits_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FILES {
            fs::write(folder.path().join(format!("{number}.yaml")), "").unwrap();
        }
        let (mut limits, folders) = (BTreeSet::new(), [folder.path().to_owned()]);
        assert_eq!(yaml_files(&folders, &mut limits).len(), MAX_FILES);
        assert_eq!(limits.pop_first(), Some(Limit::Files));
        File::create(folder.path().join("0.yaml")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let parse = |_: &Path, _: &str| TextNames(Vec::new());
        let mut names = FileNames::default();
        names.refresh(&folders, &BTreeSet::new(), &mut limits, parse);
        assert!(limits.contains(&Limit::Bytes) && names.iter().next().is_none());
        let mut search = Search::new("");
        let name = || PlacedName { name: "a".into(), kind: 1, container: "".into(), range: [(0, 0), (0, 1)] };
        search.add("untitled:1", &TextNames((0..=MAX_FOUND).map(|_| name()).collect()));
        assert!(search.limits.contains(&Limit::Found) && search.answer()[MAX_FOUND].is_null());
    }
}
