//! Validates the files of an assembly before they are written.

use std::collections::{HashMap, HashSet};
use std::io;

use super::{Assembly, OutputFile, positions};
use crate::overrides::Overrides;
use pte_check::{CheckOptions, DataFile, Findings, Releases, bundled_program, program_for, range_of, unread};
use pte_model::data::{Blob, BlobSource, Origin};
use pte_model::format::container::HEAD;

/// Validates the files of an assembly before they are written, for several releases: the program, if there is one, then
/// each `.ptd`. The program is validated together with these `.ptd` files and those of `options`.
///
/// # Errors
/// If data of small files with overrides cannot be read; with [`CheckOptions::data`], elements that cannot be converted
/// to the type of their tensor, since the files cannot be written.
pub fn assembly(assembly: &Assembly, options: &CheckOptions, releases: &Releases) -> io::Result<Vec<Vec<Findings>>> {
    if options.data {
        let mut converted = assembly.program.blobs.iter().filter(|blob| is_converted(blob));
        converted.try_for_each(|blob| blob.copy_to(&mut io::sink()))?;
    }
    let whole = is_checked_whole(assembly);
    let data = assembly.data_files().map(|(tag, file)| {
        let name = tag.unwrap_or("the emitted .ptd");
        match whole {
            true => DataFile::read(name, &Origin::Bytes(file.to_vec()?.into())),
            false => Ok(unwritten(name, &file)),
        }
    });
    let data = data.collect::<io::Result<Vec<DataFile>>>()?;
    let mut findings: Vec<Vec<Findings>> = vec![Vec::new(); releases.len()];
    let mut add = |found: Vec<Findings>| findings.iter_mut().zip(found).for_each(|(all, found)| all.push(found));
    if let Some(file) = assembly.program_file() {
        let mut options = options.clone();
        // The emitted files replace those that their data come from.
        let mut sources = HashSet::new();
        assembly.data_sources(&mut |path| _ = sources.insert(path.display().to_string()));
        let is_replaced =
            |file: &DataFile| sources.contains(file.name()) && data.iter().any(|new| new.has_common_key(file));
        options.with.retain(|file| !is_replaced(file));
        options.with.extend(data.iter().cloned());
        let head = if whole { file.to_vec()? } else { head_of(&file) };
        // `head` of a whole file contains all data.
        let ranges: HashMap<(u64, u64), &Blob> = if whole { HashMap::new() } else { file.emitted.ranges().collect() };
        let data = |offset: u64, len: u64| match ranges.get(&(offset, len)) {
            Some(blob) => Some((*blob).clone()),
            None => range_of(&head, offset, len).map(Blob::bytes).or_else(|| unread(offset, len).filter(|_| !whole)),
        };
        let mut found = program_for(&head, file.size().unwrap_or(u64::MAX), &data, &options, releases);
        found.iter_mut().for_each(|found| positions::locate(assembly, found));
        add(found);
    }
    data.iter().for_each(|file| add(file.check_for(options, releases)));
    Ok(findings)
}

/// Returns `true` if elements are converted to another type while the data are read.
fn is_converted(blob: &Blob) -> bool {
    match &blob.source {
        BlobSource::Converted { .. } => true,
        BlobSource::Reordered { data, .. } => is_converted(data),
        BlobSource::Joined(parts) => parts.iter().any(is_converted),
        BlobSource::Bytes(_)
        | BlobSource::File { .. }
        | BlobSource::Repeat(_)
        | BlobSource::Iota { .. }
        | BlobSource::Random { .. } => false,
    }
}

/// Total size in bytes up to which files with overrides are emitted to be validated.
const MAX_WHOLE: u64 = 16 << 20;

/// Returns `true` if the emitted bytes are validated instead of the plan, which does not contain the overrides.
fn is_checked_whole(assembly: &Assembly) -> bool {
    let files = assembly.program_file().into_iter().chain(assembly.data_files().map(|(_, file)| file));
    let size = files.into_iter().try_fold(0u64, |sum, file| sum.checked_add(file.size()?));
    assembly.overrides != Overrides::default() && size.is_some_and(|size| size <= MAX_WHOLE)
}

/// Returns the metadata of a file that is not written yet, padded to the length that the runtime reads first.
fn head_of(file: &OutputFile<'_>) -> Vec<u8> {
    let mut head = file.metadata();
    let least = HEAD.min(file.size().unwrap_or(u64::MAX)) as usize;
    head.resize(head.len().max(least), 0);
    head
}

/// Validates the `.bpte` of an assembly.
pub fn bundled_assembly(assembly: &Assembly, bytes: &[u8], options: &CheckOptions) -> Findings {
    let mut findings = bundled_program(bytes, options);
    positions::locate(assembly, &mut findings);
    findings
}

/// Returns the metadata of a file that is not written yet.
fn unwritten(name: &str, file: &OutputFile<'_>) -> DataFile {
    let ranges: HashMap<(u64, u64), Blob> = file.emitted.ranges().map(|(range, blob)| (range, blob.clone())).collect();
    let len = file.size().unwrap_or(u64::MAX);
    DataFile::unwritten(name, head_of(file), len, move |at, size| ranges.get(&(at, size)).cloned())
}
