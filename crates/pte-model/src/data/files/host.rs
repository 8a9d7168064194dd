//! Files of a host, in place of those of the file system.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::data::positioned;

/// Content of a file of a host.
pub trait HostFile: Send + Sync {
    /// Returns the length in bytes.
    fn len(&self) -> u64;

    /// Returns true if the file has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with the bytes from `offset` on, which are within the length.
    ///
    /// # Errors
    /// They cannot be read.
    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

/// Files of a host by path.
#[derive(Default, Clone)]
pub struct HostFiles(BTreeMap<PathBuf, Arc<dyn HostFile>>);

impl HostFiles {
    /// Adds a file, in place of one with the same path.
    pub fn add(&mut self, path: &Path, file: Arc<dyn HostFile>) {
        self.0.insert(normalized(path), file);
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &Path) {
        self.0.remove(&normalized(path));
    }

    /// Returns true if both have the same objects by the same paths.
    pub fn is_same(&self, other: &HostFiles) -> bool {
        let is_same = |((a, file), (b, other)): (_, (_, _))| a == b && Arc::ptr_eq(file, other);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(is_same)
    }

    /// Returns the names of the files of a folder; folders have `/` at their end.
    fn names_in(&self, folder: &Path) -> BTreeSet<String> {
        let name = |path: &PathBuf| {
            let mut parts = path.strip_prefix(folder).ok()?.components();
            let name = parts.next()?.as_os_str().to_str()?;
            Some(format!("{name}{}", if parts.next().is_some() { "/" } else { "" }))
        };
        self.0.keys().filter_map(name).collect()
    }
}

thread_local! {
    /// Files of the call of this thread; `None` outside of one.
    static FILES: RefCell<Option<HostFiles>> = const { RefCell::new(None) };
}

/// Calls a function for which these files are the only ones.
pub fn with_files<T>(files: HostFiles, call: impl FnOnce() -> T) -> T {
    /// Restores the files of an outer call, after a panic, too.
    struct Outer(Option<HostFiles>);

    impl Drop for Outer {
        fn drop(&mut self) {
            FILES.set(self.0.take());
        }
    }

    let _outer = Outer(FILES.replace(Some(files)));
    call()
}

/// Returns a path without `.` and without `..` after a name.
fn normalized(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.into_iter().collect()
}

/// An open file.
pub enum File {
    /// A file of the file system, outside of a call.
    Disk(fs::File),
    /// A file of the host.
    Host(Arc<dyn HostFile>),
}

/// Properties of a file.
pub struct Metadata {
    is_file: bool,
    len: u64,
}

impl From<fs::Metadata> for Metadata {
    fn from(metadata: fs::Metadata) -> Metadata {
        Metadata { is_file: metadata.is_file(), len: metadata.len() }
    }
}

impl Metadata {
    /// Returns true if it is a regular file.
    pub fn is_file(&self) -> bool {
        self.is_file
    }

    /// Returns the length in bytes.
    #[allow(clippy::len_without_is_empty)] // As that of the standard library.
    pub fn len(&self) -> u64 {
        self.len
    }
}

impl File {
    /// Opens a file.
    ///
    /// # Errors
    /// It does not exist, or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        FILES.with_borrow(|files| match files {
            None => fs::File::open(path).map(File::Disk),
            Some(files) => files
                .0
                .get(&normalized(path))
                .cloned()
                .map(File::Host)
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file among those of the call")),
        })
    }

    /// Returns the properties of the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn metadata(&self) -> io::Result<Metadata> {
        match self {
            File::Disk(file) => file.metadata().map(Metadata::from),
            File::Host(file) => Ok(Metadata { is_file: true, len: file.len() }),
        }
    }
}

/// Returns the properties of a file.
///
/// # Errors
/// It does not exist, or cannot be read.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    match FILES.with_borrow(Option::is_none) {
        true => fs::metadata(path).map(Metadata::from),
        false => File::open(path)?.metadata(),
    }
}

/// Returns the names of the files of a folder among those of the call, folders with `/` at their end; `None` outside of
/// a call.
pub(super) fn names_in(folder: &Path) -> Option<BTreeSet<String>> {
    FILES.with_borrow(|files| Some(files.as_ref()?.names_in(&normalized(folder))))
}

/// Fills `out` with the bytes from `offset` on.
///
/// # Errors
/// The file cannot be read, or ends before.
pub fn read_exact_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    match file {
        File::Disk(file) => positioned::read_exact_at(file, offset, out),
        File::Host(file) => match offset.checked_add(out.len() as u64) {
            Some(end) if end <= file.len() => file.read_exact_at(offset, out),
            Some(_) | None => Err(io::ErrorKind::UnexpectedEof.into()),
        },
    }
}

/// Reads a file, up to a number of bytes: a device may have no end.
///
/// # Errors
/// The file cannot be read.
pub fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    use io::Read;
    let mut bytes = Vec::new();
    match File::open(path)? {
        File::Disk(file) => drop(file.take(most).read_to_end(&mut bytes)?),
        File::Host(file) => {
            let len = usize::try_from(file.len().min(most)).map_err(|_| io::ErrorKind::OutOfMemory)?;
            bytes.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
            bytes.resize(len, 0);
            file.read_exact_at(0, &mut bytes)?;
        }
    }
    Ok(bytes)
}

impl HostFile for Arc<[u8]> {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(offset).ok().and_then(|start| self.get(start..)?.get(..out.len()));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::files;

    fn bytes(content: &[u8]) -> Arc<dyn HostFile> {
        Arc::new(Arc::<[u8]>::from(content))
    }

    #[test]
    fn a_call_reads_only_its_files() {
        let own = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        assert!(files::read(own).is_ok());
        let mut given = HostFiles::default();
        given.add("folder/./a.bin".as_ref(), bytes(b"abc"));
        let same = given.clone();
        assert!(given.is_same(&same) && !given.is_same(&HostFiles::default()));
        given.add("folder/a.bin".as_ref(), bytes(b"abc"));
        assert!(!given.is_same(&same));
        with_files(given, || {
            assert_eq!(files::read(own).unwrap_err().kind(), io::ErrorKind::NotFound);
            assert_eq!(files::read("other/../folder/a.bin".as_ref()).unwrap(), b"abc");
            assert_eq!(read_up_to("folder/a.bin".as_ref(), 2).unwrap(), b"ab");
            assert_eq!(metadata("./folder/a.bin").unwrap().len(), 3);
            let file = File::open("folder/a.bin").unwrap();
            let mut out = [0; 2];
            read_exact_at(&file, 1, &mut out).unwrap();
            assert_eq!(out, *b"bc");
            for offset in [2, u64::MAX] {
                assert_eq!(read_exact_at(&file, offset, &mut out).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            }
            assert_eq!(files::names_in("".as_ref(), 9), ["folder/"]);
            assert_eq!(files::names_in("./folder".as_ref(), 9), ["a.bin"]);
            with_files(HostFiles::default(), || assert!(File::open("folder/a.bin").is_err()));
            assert!(File::open("folder/a.bin").is_ok());
        });
        assert!(files::read(own).is_ok());
        let folder = own.parent().unwrap();
        assert!(files::names_in(folder, 99).contains(&"src/".to_owned()) && files::names_in(folder, 1).len() == 1);
    }
}
