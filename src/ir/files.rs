//! Files that a source may refer to: the folder of its paths, the folder that they must not leave, and files that do
//! not exist yet.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pte_model::data::Blob;

/// Files that a source may refer to.
#[derive(Debug, Clone, Default)]
pub struct FileAccess {
    /// Folder of relative paths.
    pub folder: PathBuf,
    /// Folder that contains all files that may be read; `None` for any file.
    pub confined_to: Option<PathBuf>,
    /// Content by path, in place of files on disk.
    pub planned: Arc<BTreeMap<PathBuf, Blob>>,
}

impl FileAccess {
    /// Allows any file, with paths relative to `folder`.
    pub fn of_folder(folder: impl Into<PathBuf>) -> FileAccess {
        FileAccess { folder: folder.into(), ..FileAccess::default() }
    }

    /// Checks that a file is in the folder of [`FileAccess::confined_to`] after symbolic links are resolved. The
    /// message does not reveal whether a file elsewhere exists.
    ///
    /// # Errors
    /// The file is outside the folder, or does not exist.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        let Some(folder) = &self.confined_to else { return Ok(()) };
        let inside = folder.canonicalize().and_then(|folder| Ok(path.canonicalize()?.starts_with(folder)));
        match inside {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => {
                let message = format!("it is not in the folder {}, to which files are confined", folder.display());
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }
}

/// Returns true for a path that cannot leave its folder, except through a symbolic link.
pub fn stays_below(path: &str) -> bool {
    // `\` and `:` separate on other systems.
    !path.is_empty()
        && !path.contains(['\\', ':'])
        && Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_an_index_stays_below_its_folder() {
        for (path, expected) in [
            ("a.safetensors", true),
            ("part/a.safetensors", true),
            ("..a", true),
            ("", false),
            ("/a", false),
            ("../a", false),
            ("part/../../a", false),
            ("part/../a", false),
            ("C:a", false),
            ("..\\a", false),
        ] {
            assert_eq!(stays_below(path), expected, "{path}");
        }
    }

    #[test]
    fn a_confined_file_is_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        for file in [inside.join("a"), folder.path().join("b"), folder.path().join("inside.txt")] {
            std::fs::write(file, "x").unwrap();
        }
        let access = FileAccess { confined_to: Some(inside.clone()), ..FileAccess::default() };
        assert!(access.check(&inside.join("a")).is_ok());
        assert!(access.check(&inside.join("../inside/a")).is_ok());
        assert!(access.check(&inside.join("../b")).is_err());
        assert!(access.check(&folder.path().join("inside.txt")).is_err());
        assert!(access.check(&inside.join("missing")).is_err());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join("b"), inside.join("link")).unwrap();
            assert!(access.check(&inside.join("link")).is_err());
        }
        assert!(FileAccess::of_folder(".").check(Path::new("missing")).is_ok());
    }
}
