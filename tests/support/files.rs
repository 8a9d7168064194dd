//! The files that a text becomes, in a folder for the runner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pte_emit::Assembly;

/// Writes the `.pte` and its `.ptd` files, and says where they are.
///
/// # Errors
/// Data that cannot be read, a text without methods, a folder that cannot be written to.
pub fn write(assembly: &Assembly, folder: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let pte = folder.join("model.pte");
    let program = assembly.program_file().ok_or_else(|| io::Error::other("the text has no methods"))?;
    fs::write(&pte, program.to_vec()?)?;
    let mut ptds = Vec::new();
    for (number, (_, file)) in assembly.data_files().enumerate() {
        // The runtime goes by content; a tag might be no name for a file.
        let ptd = folder.join(format!("{number}.ptd"));
        fs::write(&ptd, file.to_vec()?)?;
        ptds.push(ptd);
    }
    Ok((pte, ptds))
}
