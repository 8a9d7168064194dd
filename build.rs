//! Embeds the folder examples/malformed in the command: writes the list of its files, which src/cli/corpus/examples.rs
//! includes.

use std::path::Path;
use std::{env, fs, io};

/// Appends the paths of the YAML files of a folder and its subfolders, in alphabetical order.
fn list(folder: &Path, paths: &mut Vec<String>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        match entry.extension() {
            _ if entry.is_dir() => list(&entry, paths)?,
            Some(extension) if extension == "yaml" => paths.push(entry.to_string_lossy().replace('\\', "/")),
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("examples/malformed");
    let mut paths = Vec::new();
    list(&folder, &mut paths)?;
    let example = |path: &String| {
        let name = path.rsplit_once("/malformed/").map_or(&**path, |(_, name)| name).trim_end_matches(".yaml");
        format!("Example {{ path: {name:?}, text: include_str!({path:?}) }},\n")
    };
    let examples: String = paths.iter().map(example).collect();
    let text = format!("&[\n{examples}]");
    fs::write(Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("examples.rs"), text)?;
    println!("cargo::rerun-if-changed={}", folder.display());
    Ok(())
}
