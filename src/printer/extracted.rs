//! Assigns names to the files of extracted data. The caller writes them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pte_model::data::{Blob, BlobSource};

/// A file that printed YAML refers to.
///
/// ```
/// use pte_emit::{ExtractedFile, LargeData, Model, PrintOptions};
///
/// let weights = "named_data: {layer/w: {tensor: float32, sizes: [100], data: {fill: 1}}}";
/// let yaml = Model::from_yaml("w.yaml", weights, ".");
/// let assembly = yaml.assembly()?;
/// let mut bytes = Vec::new();
/// assembly.data_files().next().unwrap().1.write(&mut bytes)?;
///
/// let options = PrintOptions::default().large_data(LargeData::Extract("weights".into()));
/// let printed = Model::from_binary("w.ptd", &bytes).to_yaml(".".as_ref(), &options)?;
/// let ExtractedFile { path, data, .. } = &printed.files[0];
/// assert_eq!(path.to_str(), Some("weights/layer_w.bin"));
/// assert_eq!(data.len(), 400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExtractedFile {
    /// Path in the YAML, relative to its folder. The last component has only letters, digits, `.`, `_` and `-`.
    pub path: PathBuf,
    /// Content.
    pub data: Blob,
}

/// Files of extracted data. Printing the same data again returns the same file.
#[derive(Default)]
pub struct ExtractedFiles {
    files: Arc<BTreeMap<PathBuf, Blob>>,
    /// Path by identity of the data.
    known: HashMap<Identity, String>,
    /// Used file names in lower case, because file systems may ignore case.
    taken: HashSet<String>,
    /// Next number for each name.
    next: HashMap<String, u32>,
    /// Digest by identity of the data.
    digests: HashMap<Identity, String>,
}

/// Source, length, and offset or address: equal ones are the same data.
pub type Identity = (bool, u64, u64);

/// Maximum length of a file name without number and extension; file systems allow 255 bytes, some fewer.
const MAX_NAME: usize = 120;

/// Start of the path of a file that is called by its digest.
const DIGEST: &str = "sha256-";

/// File names that Windows reserves, with any extension.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

impl ExtractedFiles {
    /// Returns the path of the file for `blob`, with `/` between its components. `name` is the base of the file name.
    pub fn add(&mut self, folder: &Path, name: &str, blob: &Blob) -> String {
        let base = file_name(name);
        let key = identity(blob);
        if let Some(path) = key.as_ref().and_then(|key| self.known.get(key)) {
            return path.clone();
        }
        let lower = base.to_ascii_lowercase();
        let next = self.next.entry(lower.clone()).or_default();
        let number = loop {
            let number = *next;
            *next += 1;
            if self.taken.insert(numbered(&lower, number)) {
                break number;
            }
        };
        let file = folder.join(numbered(&base, number));
        let parts: Vec<String> = file.components().map(|part| part.as_os_str().display().to_string()).collect();
        let path = parts.join("/").replacen("//", "/", 1);
        Arc::make_mut(&mut self.files).insert(file, blob.clone());
        if let Some(key) = key {
            self.known.insert(key, path.clone());
        }
        path
    }

    /// Keeps a file name for another file.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_lowercase());
    }

    /// Returns the path of a file for `blob` that is its digest.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn add_digest(&mut self, blob: &Blob) -> io::Result<String> {
        let identity = identity(blob);
        if let Some(path) = identity.as_ref().and_then(|identity| self.digests.get(identity)) {
            return Ok(path.clone());
        }
        let path = format!("{DIGEST}{}", data_encoding::HEXLOWER.encode(&blob.digest()?));
        Arc::make_mut(&mut self.files).insert(path.clone().into(), blob.clone());
        if let Some(identity) = identity {
            self.digests.insert(identity, path.clone());
        }
        Ok(path)
    }

    /// Returns the files that this YAML refers to. Rejected versions of it may refer to others.
    pub fn used_by(&self, text: &str) -> Vec<ExtractedFile> {
        let names: HashSet<&str> = text.split(|c| !is_name_char(c)).collect();
        let is_used = |path: &Path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| names.contains(name));
        let used = self.files.iter().filter(|(path, _)| is_used(path));
        used.map(|(path, data)| ExtractedFile { path: path.clone(), data: data.clone() }).collect()
    }

    /// Returns the content of all files by path.
    pub fn files(&self) -> Arc<BTreeMap<PathBuf, Blob>> {
        self.files.clone()
    }
}

/// Returns the identity of data that are in a file or in memory.
pub fn identity(blob: &Blob) -> Option<Identity> {
    match &blob.source {
        BlobSource::File { offset, .. } => Some((false, blob.len, *offset)),
        // The address stays taken, since `files` has a reference.
        BlobSource::Bytes(bytes) => Some((true, blob.len, bytes.as_ptr() as u64)),
        _ => None,
    }
}

fn numbered(base: &str, number: u32) -> String {
    match number {
        0 => format!("{base}.bin"),
        number => format!("{base}_{number}.bin"),
    }
}

/// Returns true for the characters of file names.
fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

/// Returns a file name without extension that all file systems accept.
fn file_name(name: &str) -> String {
    let safe = name.chars().map(|c| if is_name_char(c) { c } else { '_' });
    let safe: String = safe.skip_while(|c| *c == '.').take(MAX_NAME).collect();
    let stem = safe.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_reserved = RESERVED.contains(&stem.trim_end_matches(|c: char| c.is_ascii_digit()));
    match (safe.is_empty(), is_reserved) {
        (true, _) => "data".to_owned(),
        (false, true) => format!("_{safe}"),
        (false, false) => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe_everywhere() {
        for (name, expected) in [
            ("a.weight", "a.weight"),
            ("../a/b", "_a_b"),
            ("", "data"),
            ("...", "data"),
            ("nul", "_nul"),
            ("Com1.x", "_Com1.x"),
            ("company", "company"),
            ("\u{e9}\n\u{202e}", "___"),
            ("-x", "-x"),
        ] {
            assert_eq!(file_name(name), expected, "{name:?}");
        }
        assert_eq!(file_name(&"x".repeat(1000)).len(), MAX_NAME);
    }

    #[test]
    fn names_that_differ_in_case_are_different_files() {
        let mut files = ExtractedFiles::default();
        let blobs: Vec<Blob> = (0..4u8).map(|byte| Blob::bytes([byte])).collect();
        let folder = Path::new("w");
        assert_eq!(files.add(folder, "a", &blobs[0]), "w/a.bin");
        assert_eq!(files.add(folder, "A", &blobs[1]), "w/A_1.bin");
        assert_eq!(files.add(folder, "a_1", &blobs[2]), "w/a_1_1.bin");
        assert_eq!(files.add(folder, "a", &blobs[3]), "w/a_2.bin");
        // Printed again.
        assert_eq!(files.add(folder, "A", &blobs[1]), "w/A_1.bin");
        assert_eq!(files.files().len(), 4);
    }

    #[test]
    fn only_files_of_the_text_are_used() {
        let mut files = ExtractedFiles::default();
        let text = files.add(Path::new("w"), "xa", &Blob::bytes([1]))
            + "\n"
            + &files.add(Path::new("w"), "b", &Blob::bytes([2]));
        files.add(Path::new("w"), "a", &Blob::bytes([3]));
        let used: Vec<PathBuf> = files.used_by(&text).into_iter().map(|file| file.path).collect();
        assert_eq!(used, [PathBuf::from("w/b.bin"), PathBuf::from("w/xa.bin")]);
    }

    #[test]
    fn an_absolute_folder_is_kept() {
        let mut files = ExtractedFiles::default();
        assert_eq!(files.add(Path::new("/w/v"), "a", &Blob::bytes([1])), "/w/v/a.bin");
        assert_eq!(files.add(Path::new(""), "b", &Blob::bytes([2])), "b.bin");
    }
}
