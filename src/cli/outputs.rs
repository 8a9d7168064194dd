//! Output files of commands, which are atomic, and which existing files they replace.

use std::io;
use std::path::Path;

use pte_emit::command::text::escaped;
use pte_emit::{Blob, ByteSink, Code, Error, ExtractedFile};

use super::atomic::AtomicFiles;
pub use super::atomic::{NewFolder, remove_unfinished, unwritable};
use super::exit::Failure;
use super::io as files;

/// Uncommitted output files. Dropping it before [`Outputs::commit`] removes them.
#[derive(Default)]
pub struct Outputs {
    files: AtomicFiles,
    /// Name of the input whose data are written, for messages.
    input: String,
    /// Replace any file.
    force: bool,
}

/// Existing files that an output replaces without `--force`: not those that people may have written. Empty files and
/// those with the same content are always replaced.
#[derive(Debug, Clone, Copy)]
pub enum Replaced {
    /// Any, of a command that edits the file.
    Any,
    /// Binary files, by a binary output: neither text nor with the extension of a source.
    Binary,
    /// Text whose first bytes have the mark of files that the command generates.
    Generated(fn(&str) -> bool),
    /// None: people edit such files, or they have no mark.
    Nothing,
}

impl Replaced {
    /// Returns `true` if an output that replaces these may be written to `target`.
    pub fn includes(self, target: &Path) -> bool {
        if !target.metadata().is_ok_and(|file| file.is_file() && file.len() > 0) {
            return true;
        }
        match self {
            Replaced::Any => true,
            Replaced::Binary => !files::is_source_name(target) && !files::is_text_file(target),
            Replaced::Generated(is_own) => files::text_head(target).is_some_and(|head| is_own(&head)),
            Replaced::Nothing => false,
        }
    }

    /// Checks that an output may be written, for commands that work long before they write it.
    ///
    /// # Errors
    /// A file that would be lost.
    pub fn check(self, target: &Path, force: bool) -> Result<(), Failure> {
        if force || self.includes(target) { Ok(()) } else { Err(lost(target)) }
    }
}

/// Error of an output that would replace a file that nothing can write again.
fn lost(target: &Path) -> Failure {
    let target = target.display();
    Failure::Usage(format!(
        "output {target} exists and would be lost; name another, remove it first, or use `--force` of the command"
    ))
}

impl Outputs {
    /// No files yet. `input` is the name of what is written, for messages; with `force`, outputs replace any file.
    pub fn new(input: impl Into<String>, force: bool) -> Outputs {
        Outputs { files: AtomicFiles::default(), input: input.into(), force }
    }

    /// Writes a temporary file of `size` bytes in the folder of `target`, which replaces it at [`Outputs::commit`]. The
    /// file is preallocated: a full disk is detected before the first byte is copied, and copying is faster. `progress`
    /// is called with the number of bytes written since the last call.
    ///
    /// # Errors
    /// A file that would be lost; I/O errors, with the path of the file; invalid data.
    pub fn write(
        &mut self,
        target: &Path,
        replaced: Replaced,
        size: u64,
        progress: &(dyn Fn(u64) + Sync),
        write: impl FnOnce(&mut dyn ByteSink) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let is_kept = !self.force && !replaced.includes(target);
        let count = self.files.list.len();
        self.files.write(target, size, progress, write).map_err(|error| Failure::writing(&self.input, &error))?;
        let is_lost = is_kept && self.files.list.get(count).is_some_and(|file| !file.is_same());
        if is_lost { Err(lost(target)) } else { Ok(()) }
    }

    /// Does the same for text that is in memory.
    ///
    /// # Errors
    /// Those of [`Outputs::write`].
    pub fn write_text(&mut self, target: &Path, replaced: Replaced, text: &str) -> Result<(), Failure> {
        self.write(target, replaced, text.len() as u64, &|_| (), |out| out.write_all(text.as_bytes()))
    }

    /// Writes data to a target that must not exist, not even as a symbolic link, unless it is a file with the same
    /// content; with `force`, it may.
    ///
    /// # Errors
    /// An existing target; I/O errors, with the path of the file; data that cannot be read.
    pub fn write_new(&mut self, target: &Path, data: &Blob) -> Result<(), Failure> {
        let found = target.symlink_metadata().ok().filter(|_| !self.force);
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(lost(target));
        }
        self.write(target, Replaced::Nothing, data.len(), &|_| (), |out| out.blob(data))?;
        let is_new = !self.force && found.is_none();
        let Some(file) = self.files.list.last_mut() else { return Ok(()) };
        file.is_new = is_new;
        if found.is_some() && !file.is_same() { Err(lost(target)) } else { Ok(()) }
    }

    /// Writes files with data of the YAML file `yaml`, next to it, in place of what `replaced` says. Returns their new
    /// folders, which stay if they have files when they are dropped.
    ///
    /// # Errors
    /// A symbolic link, which could lead anywhere; those of [`Outputs::write`].
    pub fn write_extracted(
        &mut self,
        yaml: &Path,
        files: &[ExtractedFile],
        replaced: impl Fn(&ExtractedFile) -> Replaced,
    ) -> Result<Vec<NewFolder>, Failure> {
        let (name, folder) = (yaml.display().to_string(), yaml.parent().unwrap_or(Path::new("")));
        let write = |file: &ExtractedFile| {
            let path = folder.join(&file.path);
            if let Some(link) = path.ancestors().take(2).find(|path| path.is_symlink()) {
                let message =
                    format!("{} is a symbolic link: nothing is written", escaped(&link.display().to_string()));
                return Err(Error::input(Code::UnmetRequest, &name, message).into());
            }
            let new = NewFolder::create(path.parent().unwrap_or(folder));
            let new = new.map_err(|error| Failure::writing(&name, &error))?;
            self.write(&path, replaced(file), file.data.len(), &|_| (), |out| out.blob(&file.data))?;
            Ok(new)
        };
        files.iter().map(write).collect()
    }

    /// Adds the files of other outputs, which are committed with these.
    pub fn append(&mut self, mut other: Outputs) {
        self.files.list.append(&mut other.files.list);
    }

    /// Paths of the files after the commit.
    pub fn targets(&self) -> impl Iterator<Item = &Path> {
        self.files.list.iter().map(|file| &*file.target)
    }

    /// Renames all files to their targets. If one fails, those already renamed are rolled back.
    ///
    /// # Errors
    /// I/O errors, with the path of the target.
    pub fn commit(self) -> Result<(), Failure> {
        self.files.commit().map_err(|error| Failure::writing(&self.input, &error))
    }
}

/// A sink as a writer.
pub struct Writer<'a>(pub &'a mut dyn ByteSink);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;

    use pretty_assertions::assert_eq;
    use pte_emit::Model;

    use super::{Outputs, Replaced};

    #[test]
    fn a_data_file_that_shrinks_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("model.pte"), "\0old").unwrap();
        File::create(path("weights.bin")).unwrap().set_len(3 << 20).unwrap();
        let yaml = "methods: {forward: {values: {w: {tensor: float32, sizes: [786432], data: {file: weights.bin}}}, outputs: [w]}}";
        let model = Model::from_yaml("model.yaml", yaml, folder.path());
        let file = model.assembly().unwrap().program_file().unwrap();
        File::options().write(true).open(path("weights.bin")).unwrap().set_len(1 << 20).unwrap();

        let mut outputs = Outputs::new("", false);
        let size = file.size().unwrap();
        let written = outputs.write(&path("model.pte"), Replaced::Binary, size, &|_| (), |out| file.write_to(out));
        let error = format!("{:?}", written.unwrap_err());
        assert!(error.contains("weights.bin: the file became shorter while it was read"), "{error}");
        drop(outputs);
        assert_eq!(fs::read(path("model.pte")).unwrap(), b"\0old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn unused_preallocated_space_is_freed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut outputs, target) = (Outputs::new("", false), folder.path().join("short"));
        outputs.write(&target, Replaced::Nothing, 4 << 20, &|_| (), |out| out.write_all(b"all")).unwrap();
        outputs.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"all");
        let blocks = fs::metadata(&target).unwrap().blocks();
        assert!(blocks * 512 <= 64 << 10, "{blocks} blocks for 3 bytes");
    }
}
