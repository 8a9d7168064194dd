//! Files of an assembly, in a folder for the runner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pte_emit::Assembly;

/// Writes the `.pte` and its `.ptd` files, and returns their paths.
///
/// # Errors
/// Data that cannot be read, a source without methods, a folder that cannot be written to.
pub fn write(assembly: &Assembly, folder: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let pte = folder.join("model.pte");
    let program = assembly.program_file().ok_or_else(|| io::Error::other("the source has no methods"))?;
    fs::write(&pte, program.to_vec()?)?;
    let mut ptds = Vec::new();
    for (number, (_, file)) in assembly.data_files().enumerate() {
        // Not named by tag, which may be an invalid file name.
        let ptd = folder.join(format!("{number}.ptd"));
        fs::write(&ptd, file.to_vec()?)?;
        ptds.push(ptd);
    }
    Ok((pte, ptds))
}
