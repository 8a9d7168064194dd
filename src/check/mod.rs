//! The judge: what is wrong with a `.pte`, `.ptd` or `.bpte`, rule by rule, before a runtime meets it.
//!
//! ```text
//! bytes --header--> metadata --structure--> tables --fields--> Program --semantics--> findings
//! ```
//!
//! Each step runs only if the one before it found nothing malformed: what cannot be read cannot be judged. Only the
//! metadata are read, never the weights. The rules themselves are a table ([`rules`]); what each step looks at is in the
//! files beside this one. Nothing here repairs anything.
//!
//! ```
//! use pte_emit::check::{self, Options};
//! use pte_emit::reader::Origin;
//!
//! let findings = check::file(&Origin::Bytes(b"no program".as_slice().into()), &Options::default()).unwrap();
//! assert!(findings.has_errors());
//! assert_eq!(findings.list()[0].rule.id, "H-1");
//! ```

mod fields;
pub mod finding;
pub mod header;
mod kernels;
pub mod locus;
mod operators;
mod path;
pub mod rules;
pub mod semantics;
mod structure;
mod view;

use std::{io, thread};

pub use finding::{Finding, Findings, Place};
pub use locus::{Locus, Part};
pub use rules::{Profile, Rule, Severity};

use crate::emitter::File;
use crate::reader::program::{Found, read_head};
use crate::reader::{Head, Origin};
use crate::schema::{bundled_program, flat_tensor, program as pte};
use crate::workers;
use fields::flat_tensor::External;
use header::Frame;
use path::Reporter;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A `.pte`.
    Program,
    /// A `.ptd`.
    FlatTensor,
    /// A `.bpte`.
    BundledProgram,
}

/// What a file is judged by.
#[derive(Debug, Default)]
pub struct Options {
    /// The runtime that the file will meet.
    pub profile: Profile,
    /// The `.ptd` files that are given with a program.
    pub with: Vec<DataFile>,
    /// Operators beyond those that the runtime registers.
    pub operators: crate::schema::operators::OperatorSet,
}

/// A `.ptd` that is given with a program: its metadata.
#[derive(Debug, Clone)]
pub struct DataFile {
    name: String,
    head: Head,
    len: u64,
}

impl DataFile {
    /// Reads the metadata of a file; `name` is what to call it in messages.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(name: impl Into<String>, origin: &Origin) -> io::Result<DataFile> {
        let (head, len) = metadata(origin, Format::FlatTensor)?;
        Ok(DataFile { name: name.into(), head, len })
    }

    /// The metadata of a file that is yet to be written.
    ///
    /// # Errors
    /// None: writing to memory does not fail.
    pub fn made(name: impl Into<String>, file: &File<'_>) -> io::Result<DataFile> {
        Ok(DataFile { name: name.into(), head: Head::Read(head_of(file)?), len: file.size().unwrap_or(u64::MAX) })
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
    let format = header::format(&origin.head(header::HEAD)?).unwrap_or_else(|| by_name(origin));
    let (head, len) = metadata(origin, format)?;
    Ok(match format {
        Format::Program => program(&head, len, options),
        Format::FlatTensor => flat_tensor(&head, len, options),
        Format::BundledProgram => bundled_program(&head, options),
    })
}

fn by_name(origin: &Origin) -> Format {
    let extension = match origin {
        Origin::File(path) => path.extension().and_then(|extension| extension.to_str()),
        _ => None,
    };
    match extension {
        Some("ptd") => Format::FlatTensor,
        Some("bpte") => Format::BundledProgram,
        _ => Format::Program,
    }
}

/// The metadata of a file, and its length.
fn metadata(origin: &Origin, format: Format) -> io::Result<(Head, u64)> {
    let len = origin.len()?;
    let head = origin.head(header::HEAD)?;
    Ok((origin.head(header::metadata_len(format, &head, len))?, len))
}

/// Judges a `.pte` of `len` bytes by its metadata: `head` is the file up to where the program ends, or farther.
pub fn program(head: &[u8], len: u64, options: &Options) -> Findings {
    let mut findings = Findings::new(options.profile);
    let external = external(options, &mut findings);
    program_at(head, len, &mut findings, "", 0, &external, options);
    findings
}

/// A program that begins at a byte of a file; whether it could be read to the end.
fn program_at(
    head: &[u8],
    len: u64,
    findings: &mut Findings,
    prefix: &'static str,
    start: u64,
    external: &External,
    options: &Options,
) -> bool {
    let mut report = Reporter::new(findings, head, prefix, start);
    let Some(frame) = header::program(head, len, &mut report) else { return false };
    let Some(bytes) = within(head, &frame) else { return false };
    let meaning = |model: Result<Found, _>| {
        let mut findings = Findings::new(options.profile);
        // What the model cannot hold is found by the other steps.
        if let Ok(found) = model {
            let place = path::locator(bytes, prefix, start, &found.program);
            semantics::check(&found.program, &options.operators, &mut findings, &place);
        }
        findings
    };
    thread::scope(|scope| {
        // Of a large program a second core looks for the meaning while it is not sure yet whether there is any. Where our
        // own code is on trial, that is so of every program: nothing may depend on what the other steps found.
        let beside = (bytes.len() >= LARGE || cfg!(debug_assertions)).then(|| {
            let model = read_head(bytes, len);
            scope.spawn(|| meaning(model))
        });
        let mut report = Reporter::new(findings, bytes, prefix, start);
        structure::check(bytes, &pte::PROGRAM, frame.header.clone(), &mut report);
        if report.findings.count(Severity::Malformed) > 0 {
            return false;
        }
        fields::program::check(bytes, &frame, external, &mut report);
        if !report.findings.has_errors() {
            findings.append(beside.map_or_else(|| meaning(read_head(bytes, len)), workers::join));
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

/// Judges what a text became before it is written: the program, if there is one, then each `.ptd`. The `.ptd` files are
/// given to the program, beside those of `options`.
///
/// # Errors
/// None: writing to memory does not fail.
pub fn assembly(assembly: &crate::Assembly, options: &Options) -> io::Result<Vec<Findings>> {
    let data = assembly.data_files().map(|(tag, file)| DataFile::made(tag.unwrap_or("the .ptd beside it"), &file));
    let data = data.collect::<io::Result<Vec<DataFile>>>()?;
    let mut findings = Vec::new();
    if let Some(file) = assembly.program_file() {
        let with = options.with.iter().cloned().chain(data.iter().cloned()).collect();
        let options = Options { profile: options.profile, with, operators: options.operators.clone() };
        findings.push(program(&head_of(&file)?, file.size().unwrap_or(u64::MAX), &options));
    }
    findings.extend(data.iter().map(|file| file.check(options)));
    Ok(findings)
}

/// The metadata of a file that is yet to be written; as many bytes as the runtime reads first, if the file has them.
fn head_of(file: &File<'_>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.write_flatbuffer(&mut head)?;
    let least = header::HEAD.min(file.size().unwrap_or(u64::MAX)) as usize;
    head.resize(head.len().max(least), 0);
    Ok(head)
}

/// Judges a `.ptd` of `len` bytes by its metadata: `head` is the file up to where they end, or farther.
pub fn flat_tensor(head: &[u8], len: u64, options: &Options) -> Findings {
    let mut findings = Findings::new(options.profile);
    let mut report = Reporter::new(&mut findings, head, "", 0);
    let Some(frame) = header::flat_tensor(head, len, &mut report) else { return findings };
    let Some(bytes) = within(head, &frame) else { return findings };
    structure::check(bytes, &flat_tensor::FLAT_TENSOR, frame.header.clone(), &mut report);
    if findings.count(Severity::Malformed) == 0 {
        fields::flat_tensor::check(bytes, &frame, &mut Reporter::new(&mut findings, bytes, "", 0));
    }
    findings
}

/// Judges a `.bpte`, and the program in it.
pub fn bundled_program(bytes: &[u8], options: &Options) -> Findings {
    let mut findings = Findings::new(options.profile);
    let external = external(options, &mut findings);
    let mut report = Reporter::new(&mut findings, bytes, "", 0);
    let Some(frame) = header::bundled_program(bytes, bytes.len() as u64, &mut report) else { return findings };
    structure::check(bytes, &bundled_program::BUNDLED_PROGRAM, frame.header, &mut report);
    if findings.count(Severity::Malformed) > 0 {
        return findings;
    }
    let inner = fields::bundled::program(bytes, &mut Reporter::new(&mut findings, bytes, "", 0));
    let inner = inner.and_then(|(start, len)| {
        let program = bytes.get(start..start + len)?;
        let whole = program_at(program, len as u64, &mut findings, "program.", start as u64, &external, options);
        whole.then_some(program)
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
        for (key, other) in fields::flat_tensor::collect(&file.head, &file.name, &mut external) {
            findings.add("N-32", || {
                let key = crate::diagnostics::clipped(&String::from_utf8_lossy(&key)).to_string();
                let found = format!("{key:?}, which {} has, too", external.files[other]);
                (Place { offset: None, path: file.name.clone() }, found, "each key in one file".to_owned())
            });
        }
    }
    external
}
