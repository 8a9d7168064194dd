//! The judge: what is wrong with a `.pte`, `.ptd` or `.bpte`, rule by rule, before a runtime meets it.
//!
//! ```text
//! bytes --header--> metadata --structure--> tables --fields--> Program --semantics--> findings
//! ```
//!
//! Each step runs only if the one before it found nothing malformed: what cannot be read cannot be judged. Only the
//! metadata are read, never the weights. The rules themselves are a table ([`rules`]); what each step looks at is in the
//! files beside this one. Nothing here repairs anything.

mod data;
mod fields;
pub mod finding;
pub mod header;
mod kernels;
mod operators;
mod path;
pub mod rules;
pub mod semantics;
mod xnnpack;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io, thread};

pub use finding::{Finding, Findings, Place};
pub use rules::{Profile, Rule, Severity};

use crate::assembly::{Assembly, OutputFile};
use crate::data::workers;
use crate::data::{Blob, Source};
use crate::data::{Head, Origin};
use crate::format::Format;
use crate::format::container::HEAD;
use crate::format::{bundled_program, flat_tensor, program as pte};
use crate::raw::Overrides;
use crate::reader::program::{Found, Ranges, read_head};
use fields::flat_tensor::External;
use header::Frame;
use crate::format::flatbuffer::verify::verify;
use path::Reporter;

/// What a file is judged by.
#[derive(Debug, Default)]
pub struct Options {
    /// The runtime that the file will meet.
    pub profile: Profile,
    /// The `.ptd` files that are given with a program.
    pub with: Vec<DataFile>,
    /// Whether to read constants and initial states, too.
    pub data: bool,
    /// Operators beyond those that the runtime registers.
    pub operators: crate::operators::OperatorSet,
}

/// A `.ptd` that is given with a program: its metadata, and a way to its data.
#[derive(Clone)]
pub struct DataFile {
    name: String,
    head: Head,
    len: u64,
    data: Arc<dyn Fn(u64, u64) -> Option<Blob> + Send + Sync>,
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataFile").field("name", &self.name).field("len", &self.len).finish_non_exhaustive()
    }
}

impl DataFile {
    /// Reads the metadata of a file; `name` is what to call it in messages.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(name: impl Into<String>, origin: &Origin) -> io::Result<DataFile> {
        let (head, len) = metadata(origin, Format::FlatTensor)?;
        let origin = origin.clone();
        Ok(DataFile { name: name.into(), head, len, data: Arc::new(move |at, size| origin.blob(at, size, len)) })
    }

    /// The metadata of a file that is yet to be written.
    pub fn unwritten(name: impl Into<String>, file: &OutputFile<'_>) -> DataFile {
        let (head, len) = (Head::Read(head_of(file)), file.size().unwrap_or(u64::MAX));
        let ranges: HashMap<(u64, u64), Blob> =
            file.emitted.ranges().map(|(range, blob)| (range, blob.clone())).collect();
        let data = Arc::new(move |at, size| ranges.get(&(at, size)).cloned());
        DataFile { name: name.into(), head, len, data }
    }

    /// Judges the file by itself.
    pub fn check(&self, options: &Options) -> Findings {
        flat_tensor(&self.head, self.len, options)
    }
}

/// Judges a file of any of the three formats. A file whose identifier is none of them is told apart by its header, then
/// by its name; failing that, it is taken for a `.pte`.
///
/// # Errors
/// A file that cannot be read.
pub fn file(origin: &Origin, options: &Options) -> io::Result<Findings> {
    let format = Format::identify_damaged(&origin.head(HEAD)?, origin.len()?).unwrap_or_else(|| by_name(origin));
    let (head, len) = metadata(origin, format)?;
    let data = |offset, size| origin.blob(offset, size, len);
    Ok(match format {
        Format::Program => program_with(&head, len, &data, options),
        Format::FlatTensor => flat_tensor(&head, len, options),
        Format::BundledProgram => bundled_with(&head, &data, options),
        Format::Safetensors => {
            return Err(io::Error::other("a .safetensors is nothing that a runtime loads; check the .ptd it becomes"));
        }
    })
}

fn by_name(origin: &Origin) -> Format {
    let extension = match origin {
        Origin::File(path) => path.extension().and_then(|extension| extension.to_str()),
        _ => None,
    };
    extension.and_then(Format::of_extension).unwrap_or(Format::Program)
}

/// The metadata of a file, and its length.
fn metadata(origin: &Origin, format: Format) -> io::Result<(Head, u64)> {
    let len = origin.len()?;
    let head = origin.head(HEAD)?;
    Ok((origin.head(format.metadata_len(&head, len))?, len))
}

/// Checks a `.pte` of `len` bytes by its metadata alone: `head` is the file up to where the program ends, or farther. Rules about the data
/// themselves are left open. With it the tests make sure that nothing else is read.
#[cfg(feature = "internals")]
pub fn program(head: &[u8], len: u64, options: &Options) -> Findings {
    program_with(head, len, &unread, options)
}

/// Data that are somewhere, and cannot be read.
fn unread(_: u64, len: u64) -> Option<Blob> {
    Some(Blob::new(len, Source::File { path: Path::new("").into(), offset: 0 }))
}

fn program_with(head: &[u8], len: u64, data: &Ranges<'_>, options: &Options) -> Findings {
    let mut findings = Findings::new(options.profile);
    let external = external(options, &mut findings);
    let part = ProgramFile { head, len, data, prefix: "", start: 0 };
    program_at(&part, &mut findings, &external, options);
    findings
}

/// A program that is a file, or a part of one.
struct ProgramFile<'p> {
    /// Its bytes up to where its metadata end, or farther.
    head: &'p [u8],
    /// How many bytes it has.
    len: u64,
    /// Its data.
    data: &'p Ranges<'p>,
    /// What stands in front of its paths.
    prefix: &'static str,
    /// Where in the file it begins.
    start: u64,
}

/// Judges a program; whether it could be read to the end.
fn program_at(part: &ProgramFile<'_>, findings: &mut Findings, external: &External, options: &Options) -> bool {
    let ProgramFile { head, len, data, prefix, start } = *part;
    let mut report = Reporter::new(findings, head, prefix, start);
    let Some(frame) = header::program(head, len, &mut report) else { return false };
    let Some(bytes) = within(head, &frame) else { return false };
    let meaning = |model: Result<Found, _>| {
        let mut findings = Findings::new(options.profile);
        // What the model cannot hold is found by the other steps.
        if let Ok(mut found) = model {
            external.put_into(&mut found.program);
            let place = path::locator(bytes, prefix, start, &found.program);
            semantics::check(&found.program, &options.operators, &mut findings, &place);
            xnnpack::check(&found.program, len, external, &mut findings, &place);
            if options.data {
                let all = options.with.iter().fold(len, |sum, file| sum.saturating_add(file.len));
                data::check(&found.program, all, &mut findings, &place);
            }
        }
        findings
    };
    if cfg!(debug_assertions) {
        // Where our own code is on trial, no file is spared what only large ones meet below.
        meaning(read_head(bytes, len, data));
    }
    thread::scope(|scope| {
        // Of a large program a second core looks for the meaning while it is not sure yet whether there is any.
        let beside = (bytes.len() >= LARGE).then(|| {
            let model = read_head(bytes, len, data);
            scope.spawn(|| meaning(model))
        });
        let mut report = Reporter::new(findings, bytes, prefix, start);
        verify(bytes, &pte::PROGRAM, frame.header.clone(), &mut report);
        if report.findings.count(Severity::Malformed) > 0 {
            return false;
        }
        fields::program::check(bytes, &frame, external, &mut report);
        if !report.findings.has_errors() {
            findings.append(beside.map_or_else(|| meaning(read_head(bytes, len, data)), workers::join));
        }
        true
    })
}

/// So many bytes are worth a second core.
const LARGE: usize = 1 << 20;

/// The metadata, as the header says how many they are.
fn within<'a>(head: &'a [u8], frame: &Frame) -> Option<&'a [u8]> {
    head.get(..usize::try_from(frame.metadata).ok()?)
}

/// Checks the files of an assembly before they are written: the program, if there is one, then each `.ptd`. The `.ptd` files are given
/// to the program, beside those of `options`.
///
/// # Errors
/// Data of small files with overrides that cannot be read.
pub fn assembly(assembly: &Assembly, options: &Options) -> io::Result<Vec<Findings>> {
    let whole = is_checked_whole(assembly);
    let data = assembly.data_files().map(|(tag, file)| {
        let name = tag.unwrap_or("the .ptd beside it");
        match whole {
            true => DataFile::open(name.to_owned(), &Origin::Bytes(file.to_vec()?.into())),
            false => Ok(DataFile::unwritten(name, &file)),
        }
    });
    let data = data.collect::<io::Result<Vec<DataFile>>>()?;
    let mut findings = Vec::new();
    if let Some(file) = assembly.program_file() {
        let with = options.with.iter().cloned().chain(data.iter().cloned()).collect();
        let options =
            Options { profile: options.profile, with, data: options.data, operators: options.operators.clone() };
        let head = if whole { file.to_vec()? } else { head_of(&file) };
        // Of a whole file the bytes are there, as they will be.
        let ranges: HashMap<(u64, u64), &Blob> = if whole { HashMap::new() } else { file.emitted.ranges().collect() };
        let data = |offset: u64, len: u64| match ranges.get(&(offset, len)) {
            Some(blob) => Some((*blob).clone()),
            None => range_of(&head, offset, len).map(Blob::bytes).or_else(|| unread(offset, len).filter(|_| !whole)),
        };
        findings.push(program_with(&head, file.size().unwrap_or(u64::MAX), &data, &options));
    }
    findings.extend(data.iter().map(|file| file.check(options)));
    Ok(findings)
}

/// Larger files with overrides are checked by their plan.
const WHOLE: u64 = 16 << 20;

/// Whether files are checked by all their bytes: the plan does not say what files with overrides hold.
fn is_checked_whole(assembly: &Assembly) -> bool {
    let files = assembly.program_file().into_iter().chain(assembly.data_files().map(|(_, file)| file));
    let size = files.into_iter().try_fold(0u64, |sum, file| sum.checked_add(file.size()?));
    assembly.overrides != Overrides::default() && size.is_some_and(|size| size <= WHOLE)
}

/// The metadata of a file that is yet to be written; as many bytes as the runtime reads first, if the file has them.
fn head_of(file: &OutputFile<'_>) -> Vec<u8> {
    let mut head = file.metadata();
    let least = HEAD.min(file.size().unwrap_or(u64::MAX)) as usize;
    head.resize(head.len().max(least), 0);
    head
}

/// Judges a `.ptd` of `len` bytes by its metadata: `head` is the file up to where they end, or farther.
pub fn flat_tensor(head: &[u8], len: u64, options: &Options) -> Findings {
    let mut findings = Findings::new(options.profile);
    let mut report = Reporter::new(&mut findings, head, "", 0);
    let Some(frame) = header::flat_tensor(head, len, &mut report) else { return findings };
    let Some(bytes) = within(head, &frame) else { return findings };
    verify(bytes, &flat_tensor::FLAT_TENSOR, frame.header.clone(), &mut report);
    if findings.count(Severity::Malformed) == 0 {
        fields::flat_tensor::check(bytes, &frame, &mut Reporter::new(&mut findings, bytes, "", 0));
    }
    findings
}

/// Judges a `.bpte`, and the program in it.
#[cfg(feature = "cli")]
pub fn bundled_program(bytes: &[u8], options: &Options) -> Findings {
    bundled_with(bytes, &|offset, len| range_of(bytes, offset, len).map(Blob::bytes), options)
}

fn range_of(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(len)?).ok()?)
}

fn bundled_with(bytes: &[u8], data: &Ranges<'_>, options: &Options) -> Findings {
    let mut findings = Findings::new(options.profile);
    let external = external(options, &mut findings);
    let mut report = Reporter::new(&mut findings, bytes, "", 0);
    let Some(frame) = header::bundled_program(bytes, bytes.len() as u64, &mut report) else { return findings };
    verify(bytes, &bundled_program::BUNDLED_PROGRAM, frame.header, &mut report);
    if findings.count(Severity::Malformed) > 0 {
        return findings;
    }
    let inner = fields::bundled::program(bytes, &mut Reporter::new(&mut findings, bytes, "", 0));
    let inner = inner.and_then(|(start, len)| {
        let program = bytes.get(start..start + len)?;
        let data = |offset: u64, len: u64| data(offset.checked_add(start as u64)?, len);
        let part = ProgramFile { head: program, len: len as u64, data: &data, prefix: "program.", start: start as u64 };
        program_at(&part, &mut findings, &external, options).then_some(program)
    });
    fields::bundled::check(bytes, inner, &mut Reporter::new(&mut findings, bytes, "", 0));
    findings
}

/// The keys of all `.ptd` files that are given; what is wrong with these files is told in short.
fn external(options: &Options, findings: &mut Findings) -> External {
    let mut external = External::default();
    for file in &options.with {
        let judged = file.check(&Options { profile: options.profile, ..Options::default() });
        if judged.has_errors() {
            findings.add("G-30", || {
                let first = judged.list().iter().find(|finding| finding.rule.severity <= Severity::Invalid);
                let found = first.map_or(String::new(), Finding::to_string);
                let place = Place { offset: None, path: file.name.clone() };
                (place, found, "a .ptd without errors".to_owned())
            });
        }
        if judged.count(Severity::Malformed) > 0 {
            external.files.push(file.name.clone());
            continue;
        }
        for (key, other) in fields::flat_tensor::collect(&file.head, &file.name, &*file.data, &mut external) {
            findings.add("N-32", || {
                let key = crate::diagnostics::clipped(&String::from_utf8_lossy(&key)).to_string();
                let found = format!("{key:?}, which {} has, too", external.files[other]);
                (Place { offset: None, path: file.name.clone() }, found, "each key in one file".to_owned())
            });
        }
    }
    external
}
