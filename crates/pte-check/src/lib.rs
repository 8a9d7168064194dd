//! The validator. It finds the rules that a `.pte`, `.ptd` or `.bpte` violates before a runtime loads it.
//!
//! ```text
//! bytes --header--> metadata --structure--> tables --fields--> Program --semantics--> findings
//! ```
//!
//! Each step runs only if the previous one found nothing malformed. Only the metadata are read, not the weights. The
//! rules are a table ([`rules`]); the checks are in the other modules. Nothing is repaired.

// Types of it are arguments and results.
pub use pte_model;
pub use pte_releases;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod contents;
mod data;
mod errors;
mod fields;
pub mod finding;
mod header;
mod inference;
mod kernels;
mod log;
mod nested;
mod operators;
mod path;
mod payloads;
mod releases;
pub mod rules;
pub mod semantics;
pub mod target;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io, thread};

pub use errors::{Phase, RuntimeError};
pub use finding::{Finding, Findings, Location, SourcePosition, TruncatedRule};
pub use log::{FoundMessage, LogMessage, Recognized, recognize};
pub use pte_operators::OperatorSet;
pub use releases::{Requirements, Unmet};
pub use rules::{Profile, Rule, RuleId, RuleSeverity, UnknownRuleId};
pub use semantics::limits::Work;

use RuleId::*;
use fields::flat_tensor::ExternalKeys;
use header::CheckedHeader;
use path::Reporter;
use pte_model::data::workers;
use pte_model::data::{Blob, BlobSource};
use pte_model::data::{Head, Origin};
use pte_model::diagnostics::{Code, Report};
use pte_model::error::Error;
use pte_model::format::Format;
use pte_model::format::container::HEAD;
use pte_model::format::flatbuffer::verify::verify;
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::foreign::{self, Diagnosis};
use pte_model::format::path::Trail;
use pte_model::format::{bundled_program, flat_tensor, program as pte};
use pte_model::program::Program;
use pte_model::reader::program::{ProgramContents, Ranges, References, read_head};
use pte_model::reader::root;
use pte_releases::Release;
use pte_xnnpack::payloads::Payloads;

pte_model::options! {
    /// Options of [`file()`] and of the other checks.
    ///
    /// ```
    /// use pte_check::{CheckOptions, DataFile, Profile};
    /// use pte_model::data::Origin;
    ///
    /// let mut options = CheckOptions::default().profile(Profile::Portable).data(true);
    /// options.operators.add("my::scale.out self:T factor:f out:T!").unwrap();
    /// let findings = pte_check::file(&Origin::Bytes(pte_model::LINEAR_PTE.into()), &options)?;
    /// assert!(!findings.has_errors());
    ///
    /// // Weights are validated with the program that uses them, or alone.
    /// assert!(DataFile::open("missing.ptd").is_err());
    /// let weights = DataFile::from_bytes("empty.ptd", b"")?;
    /// assert!(weights.check(&options).has_errors());
    /// options.with = vec![weights];
    /// assert!(pte_check::file(&Origin::Bytes(pte_model::LINEAR_PTE.into()), &options)?.has_errors());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct CheckOptions {
        /// Runtime build that the file is for.
        pub profile: Profile,
        /// The `.ptd` files loaded with the program. A model of `pte-emit` uses its own ones if there are none.
        pub with: Vec<DataFile>,
        /// Read and check constants and initial states, too.
        pub data: bool,
        /// Known operators: those of the runtime and custom ones.
        pub operators: OperatorSet,
        /// Names of unknown operators that are reported already and have no finding, such as those of
        /// `Assembly::unknown_operators` of `pte-emit`.
        pub reported: BTreeSet<String>,
        /// Release of ExecuTorch whose runtime the file is for: the rules `V-` compare the file with the behaviour of
        /// that release.
        pub runtime: Option<Release>,
        /// Number of findings of one rule that are kept; `None` is 20. Further findings are only counted.
        pub kept: Option<usize>,
        /// Work that all checks with these options, and with copies of them, may take together, such as those of the
        /// documents of a file; `None` for work of its own in each check. What is not checked because of it is an
        /// error.
        pub work: Option<Work>,
    }
}

/// A `.ptd` loaded with a program: its metadata, and access to its data.
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
    /// Returns the name in messages.
    #[doc(hidden)]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if both files have a key: the runtime loads only one of them.
    #[doc(hidden)]
    pub fn has_common_key(&self, other: &DataFile) -> bool {
        let mut keys = ExternalKeys::default();
        let add = |file: &DataFile| fields::flat_tensor::add_keys(&file.head, &file.name, &*file.data, &mut keys);
        [self, other].map(add).iter().any(|common| !common.is_empty())
    }

    /// Opens a file and reads its metadata.
    ///
    /// # Errors
    /// The file cannot be read, or is a `.safetensors`.
    pub fn open(path: impl AsRef<Path>) -> Result<DataFile, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let unreadable = |error: io::Error| Error::io(&name, "", &error);
        let origin = Origin::File(path.into());
        if origin.recognized_format().map_err(unreadable)? == Some(Format::Safetensors) {
            let diagnostic = Code::UnexpectedInput
                .whole("expected a .ptd, found a .safetensors, which no runtime loads")
                .help("`pte-emit FILE.safetensors -o FILE.ptd` writes its tensors to a .ptd with the same keys");
            return Err(Error::new(Report::new(&name, "", vec![diagnostic])));
        }
        DataFile::read(&name, &origin).map_err(unreadable)
    }

    /// Reads the metadata of a file in memory; messages call it `name`.
    ///
    /// # Errors
    /// Bytes that do not fit into memory twice.
    pub fn from_bytes(name: impl Into<String>, bytes: impl AsRef<[u8]>) -> Result<DataFile, Error> {
        let name = name.into();
        DataFile::read(&name, &Origin::Bytes(bytes.as_ref().into())).map_err(|error| Error::io(&name, "", &error))
    }

    /// Reads the metadata of a file. Messages use `name` for it.
    ///
    /// # Errors
    /// The file cannot be read.
    #[doc(hidden)]
    pub fn read(name: impl Into<String>, origin: &Origin) -> io::Result<DataFile> {
        let (head, len) = metadata(origin, Format::FlatTensor)?;
        let origin = origin.clone();
        Ok(DataFile { name: name.into(), head, len, data: Arc::new(move |at, size| origin.blob(at, size, len)) })
    }

    /// A file that is not written yet: its first bytes, at least up to the end of its metadata, its size in bytes, and
    /// access to its data by offset and size.
    #[doc(hidden)]
    pub fn unwritten(
        name: impl Into<String>,
        head: Vec<u8>,
        len: u64,
        data: impl Fn(u64, u64) -> Option<Blob> + Send + Sync + 'static,
    ) -> DataFile {
        DataFile { name: name.into(), head: Head::Read(head), len, data: Arc::new(data) }
    }

    /// Validates the file on its own, without a program.
    pub fn check(&self, options: &CheckOptions) -> Findings {
        flat_tensor(&self.head, self.len, options)
    }

    /// Validates the file on its own, for several releases.
    #[doc(hidden)]
    pub fn check_for(&self, options: &CheckOptions, releases: &Releases) -> Vec<Findings> {
        flat_tensor_for(&self.head, self.len, options, releases)
    }
}

/// Validates a file of any of the three formats. A file without a known identifier is recognised by its header, then by
/// its extension; otherwise it is validated as a `.pte`.
///
/// # Errors
/// The file cannot be read, or is a `.safetensors`.
pub fn file(origin: &Origin, options: &CheckOptions) -> io::Result<Findings> {
    file_for(origin, options, std::slice::from_ref(&options.runtime)).map(only)
}

/// Releases that a file is compared with; `None` is the check without one.
pub type Releases = [Option<Release>];

/// Validates a file like [`file()`], once for several releases, which replace that of the options. Returns the findings
/// for each.
///
/// # Errors
/// Those of [`file()`].
pub fn file_for(origin: &Origin, options: &CheckOptions, releases: &Releases) -> io::Result<Vec<Findings>> {
    let format = Format::identify_damaged(&origin.head(HEAD)?, origin.len()?);
    let format = format.or_else(|| origin.format_by_name()).unwrap_or(Format::Program);
    let (head, len) = metadata(origin, format)?;
    let data = |offset, size| origin.blob(offset, size, len);
    let mut findings = match format {
        Format::Program => program_for(&head, len, &data, options, releases),
        Format::FlatTensor => flat_tensor_for(&head, len, options, releases),
        Format::BundledProgram => bundled_for(&head, &data, options, releases),
        Format::Safetensors => {
            return Err(io::Error::other(
                "no runtime loads a .safetensors file; check the .ptd that is emitted from it",
            ));
        }
    };
    if findings.iter().any(Findings::has_errors) {
        let diagnosis = Diagnosis::of(&origin.head(foreign::PROBE)?, len);
        findings.iter_mut().for_each(|findings| findings.diagnosis.clone_from(&diagnosis));
    }
    Ok(findings)
}

/// Returns the metadata of a file, and the file's length in bytes.
fn metadata(origin: &Origin, format: Format) -> io::Result<(Head, u64)> {
    let len = origin.len()?;
    let head = origin.head(HEAD)?;
    let size = format.metadata_len(&head, len);
    match format.container().map(|container| root::has_table(origin, &head, size, container)).transpose()? {
        Some(false) => Ok((root_only(origin, &head, size)?, len)),
        Some(true) | None => Ok((origin.head(size)?, len)),
    }
}

/// Returns the first bytes of a file, the bytes at its root offset, and zeros in place of the others. In a FlatBuffer
/// whose root is not a table, there is nothing else to validate.
fn root_only(origin: &Origin, head: &[u8], size: u64) -> io::Result<Head> {
    let size = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // Zeros that are never read need no memory.
    let mut bytes = vec![0; size];
    let mut copy = |at: u64, found: &[u8]| {
        let place = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at..)?.get_mut(..found.len()));
        place.into_iter().for_each(|place| place.copy_from_slice(found));
    };
    copy(0, head);
    let offset = head.first_chunk().map_or(0, |offset| u64::from(u32::from_le_bytes(*offset)));
    if let Ok(back) = origin.range(offset, 4) {
        copy(offset, &back);
        let back = back.first_chunk().map_or(0, |back| i64::from(i32::from_le_bytes(*back)));
        let vtable = u64::try_from(offset as i64 - back).ok();
        if let Some((at, length)) = vtable.and_then(|at| Some((at, origin.range(at, 2).ok()?))) {
            copy(at, &length);
        }
    }
    Ok(Head::Read(bytes))
}

/// Validates a `.pte` of `len` bytes by its metadata alone: `head` contains at least all bytes up to the end of the
/// program. Rules about data are skipped. Tests use this function to prove that nothing else is read.
pub fn program(head: &[u8], len: u64, options: &CheckOptions) -> Findings {
    program_with(head, len, &unread, options)
}

/// Returns a blob of `len` bytes that fails to read.
pub fn unread(_: u64, len: u64) -> Option<Blob> {
    Some(Blob::new(len, BlobSource::File { path: Path::new("").into(), offset: 0 }))
}

/// What differs between the releases that a file is compared with.
struct Compared<'r> {
    releases: &'r Releases,
    /// Profile that was asked for, which releases of old files replace.
    profile: Profile,
    /// Number of the other findings that come before these.
    at: usize,
    /// By release; empty if the file is malformed.
    found: Vec<Findings>,
}

/// Returns the only item.
fn only<T>(items: Vec<T>) -> T {
    items.into_iter().next().expect("there is one release")
}

/// Validates a file for several releases: once for all whose profiles make no difference.
fn for_releases(
    options: &CheckOptions,
    releases: &Releases,
    validate: impl Fn(&CheckOptions, &mut Compared<'_>) -> Findings,
) -> Vec<Findings> {
    let profiles = releases.iter().map(|release| match release {
        Some(release) => options.profile.of_release(release),
        None => options.profile,
    });
    let profiles: Vec<Profile> = profiles.collect();
    let profile = options.profile;
    let mut results: Vec<Option<Findings>> = vec![None; releases.len()];
    while let Some(first) = results.iter().position(Option::is_none) {
        let options = match profiles[first] {
            profile if profile != options.profile => Cow::Owned(CheckOptions { profile, ..options.clone() }),
            _ => Cow::Borrowed(options),
        };
        let mut compared = Compared { releases, profile, at: 0, found: Vec::new() };
        let findings = validate(&options, &mut compared);
        let open = results
            .iter_mut()
            .enumerate()
            .filter(|(index, result)| result.is_none() && findings.are_those_of(profiles[*index]));
        for (index, result) in open {
            let mut findings = findings.clone();
            findings.profile = profiles[index];
            if let Some(found) = compared.found.get(index) {
                findings.insert(compared.at, found.clone());
            }
            if let Some(release) = &releases[index] {
                releases::malformed(release, &mut findings);
            }
            *result = Some(findings);
        }
    }
    results.into_iter().flatten().collect()
}

impl Profile {
    /// Returns the profile that a file is validated with for a release: that of old files if the release reads them (no
    /// header or a short one, constants inside the FlatBuffer) and the profile is the default one.
    ///
    /// ```
    /// use pte_check::{Profile, pte_releases::Release};
    ///
    /// let of = |release| Profile::Strict.of_release(&Release::find(release).unwrap());
    /// assert_eq!((of("0.4.0"), of("1.5.1")), (Profile::Legacy, Profile::Strict));
    /// assert_eq!(Profile::Aten.of_release(&Release::find("0.4.0").unwrap()), Profile::Aten);
    /// ```
    pub fn of_release(self, release: &Release) -> Profile {
        let is_old = self == Profile::Strict && LEGACY_FEATURES.iter().all(|feature| release.runs(feature));
        if is_old { Profile::Legacy } else { self }
    }
}

/// Features of files that the profile for old files accepts.
const LEGACY_FEATURES: &[&str] = &["header.none", "header.24", "constants.inline"];

/// Validates a `.pte` like [`program`], and its data with `data`, which returns ranges of the file.
pub fn program_with(head: &[u8], len: u64, data: &Ranges<'_>, options: &CheckOptions) -> Findings {
    only(program_for(head, len, data, options, std::slice::from_ref(&options.runtime)))
}

/// Validates a `.pte` like [`program_with`], for several releases.
pub fn program_for(
    head: &[u8],
    len: u64,
    data: &Ranges<'_>,
    options: &CheckOptions,
    releases: &Releases,
) -> Vec<Findings> {
    program_in(head, len, data, options, releases, 0)
}

/// Validates a `.pte` that is inside `depth` others.
fn program_in(
    head: &[u8],
    len: u64,
    data: &Ranges<'_>,
    options: &CheckOptions,
    releases: &Releases,
    depth: usize,
) -> Vec<Findings> {
    for_releases(options, releases, |options, compared| {
        let mut findings = Findings::keeping(options.profile, options.kept);
        let external = external(options, &mut findings);
        let part = ProgramFile { head, len, data, prefix: "", start: 0, depth };
        program_at(&part, &mut findings, &external, options, compared);
        findings
    })
}

/// A program that is a file of its own or is embedded in a `.bpte`.
struct ProgramFile<'p> {
    /// Bytes from the start of the program to at least the end of its metadata.
    head: &'p [u8],
    /// Size of the program with its data, in bytes.
    len: u64,
    /// Access to the data.
    data: &'p Ranges<'p>,
    /// Prefix of the paths in findings.
    prefix: &'static str,
    /// Offset of the program in the file.
    start: u64,
    /// Number of programs of which one is the payload of the next, and the last has this one.
    depth: usize,
}

/// Validates a program. Returns `false` if it is malformed.
fn program_at(
    part: &ProgramFile<'_>,
    findings: &mut Findings,
    external: &ExternalKeys,
    options: &CheckOptions,
    compared: &mut Compared<'_>,
) -> bool {
    let ProgramFile { head, len, data, prefix, start, depth } = *part;
    let mut report = Reporter::new(findings, head, prefix, start);
    let Some(header) = header::program(head, len, &mut report) else { return false };
    let Some(bytes) = metadata_of(head, &header) else { return false };
    let is_large = bytes.len() >= LARGE;
    let (releases, profile) = (compared.releases, compared.profile);
    let work = options.work.clone().unwrap_or_default();
    // Returns the findings before and after those about releases.
    let semantics = || {
        let mut findings = Findings::keeping(options.profile, options.kept);
        // If the other steps have no findings, the reader rejects only tables of a newer schema that share too many
        // bytes.
        let mut program = match read_head(bytes, len, References::Valid, data) {
            Ok(ProgramContents { program, .. }) => program,
            Err(error) => {
                let at = Location { offset: Some(start), path: prefix.trim_end_matches('.').to_owned() };
                findings.add(G_17, || (at, error.to_string(), "tables with bytes of their own".to_owned()));
                let after = findings.empty();
                return (findings, Vec::new(), after);
            }
        };
        external.set_data(&mut program);
        let locate = path::locator(bytes, prefix, start, &program);
        let empty = findings.empty();
        let (mut newest, mut found, mut after) = (empty.clone(), Vec::new(), empty.clone());
        let check_others = || {
            let payloads = Payloads::of(&program, len);
            releases::check(&program, &mut newest, &locate);
            found = compare(&program, &payloads, external, releases, &empty, &locate);
            let own = CheckOptions { profile, work: Some(work.clone()), ..options.clone() };
            let validate = |head: &[u8], len, data: &Ranges<'_>| program_in(head, len, data, &own, releases, depth + 1);
            nested::check((&program, &payloads, depth), &validate, &mut found, &locate);
            payloads::check(&program, &payloads, len, external, &mut after, &locate);
        };
        workers::both(is_large, check_others, || {
            semantics::check(&program, &options.operators, &options.reported, &work, &mut findings, &locate);
        });
        findings.append(newest);
        if options.data {
            let all = options.with.iter().fold(len, |sum, file| sum.saturating_add(file.len));
            data::check(&program, all, &mut after, &locate);
        }
        (findings, found, after)
    };
    thread::scope(|scope| {
        // A second thread reads a large program and checks its semantics while its structure and its fields are still
        // being checked.
        let concurrent = (is_large && workers::HAS_THREADS).then(|| scope.spawn(semantics));
        let mut report = Reporter::new(findings, bytes, prefix, start);
        verify(bytes, &pte::PROGRAM, header.range.clone(), &mut report);
        if report.findings.count(RuleSeverity::Malformed) > 0 {
            return false;
        }
        fields::program::check(bytes, &header, external, &mut report);
        if !report.findings.has_errors() {
            let (before, found, after) = concurrent.map_or_else(semantics, workers::join);
            findings.append(before);
            (compared.at, compared.found) = (findings.list.len(), found);
            findings.append(after);
        }
        true
    })
}

/// Compares a program with each release; without one, with what all releases execute. `empty` is an empty list.
fn compare(
    program: &Program,
    payloads: &Payloads,
    external: &ExternalKeys,
    releases: &Releases,
    empty: &Findings,
    locate: &finding::Locator<'_>,
) -> Vec<Findings> {
    let is_compared = releases.iter().any(Option::is_some);
    let requirements = is_compared.then(|| Requirements::with_payloads(program, payloads));
    let compare = |release: &Option<Release>| {
        let mut findings = empty.clone();
        match release.as_ref().zip(requirements.as_ref()) {
            Some((release, requirements)) => {
                requirements.compare(release, &mut findings, locate);
                releases::several(&external.files, release, &mut findings);
            }
            None => releases::check_calls(program, &mut findings, locate),
        }
        findings
    };
    releases.iter().map(compare).collect()
}

/// Size in bytes of the metadata from which on two threads validate a program.
const LARGE: usize = 1 << 20;

/// Returns the metadata, whose size is in the header.
fn metadata_of<'a>(head: &'a [u8], header: &CheckedHeader) -> Option<&'a [u8]> {
    head.get(..usize::try_from(header.metadata_len).ok()?)
}

/// Validates a `.ptd` of `len` bytes by its metadata: `head` contains at least all bytes up to their end.
pub fn flat_tensor(head: &[u8], len: u64, options: &CheckOptions) -> Findings {
    only(flat_tensor_for(head, len, options, std::slice::from_ref(&options.runtime)))
}

fn flat_tensor_for(head: &[u8], len: u64, options: &CheckOptions, releases: &Releases) -> Vec<Findings> {
    for_releases(options, releases, |options, compared| weights(head, len, options, compared))
}

fn weights(head: &[u8], len: u64, options: &CheckOptions, compared: &mut Compared<'_>) -> Findings {
    let mut findings = Findings::keeping(options.profile, options.kept);
    let mut report = Reporter::new(&mut findings, head, "", 0);
    let Some(header) = header::flat_tensor(head, len, &mut report) else { return findings };
    let Some(bytes) = metadata_of(head, &header) else { return findings };
    if Table::root(bytes).is_some_and(|root| root.has(flat_tensor::SEGMENTS_OF_0_6)) {
        let expected = format_args!("one of 0.7 or later; export the weights again");
        report.add(N_33, &Trail::ROOT, 0, format_args!("a .ptd of ExecuTorch 0.6 or older"), expected);
        return findings;
    }
    verify(bytes, &flat_tensor::FLAT_TENSOR, header.range.clone(), &mut report);
    if findings.count(RuleSeverity::Malformed) == 0 {
        fields::flat_tensor::check(bytes, &header, &mut Reporter::new(&mut findings, bytes, "", 0));
        compared.at = findings.list.len();
        compared.found.extend(compared.releases.iter().map(|release| {
            let mut found = findings.empty();
            release.iter().for_each(|release| releases::weights(release, &mut found));
            found
        }));
    }
    findings
}

/// Validates a `.bpte` and its program.
pub fn bundled_program(bytes: &[u8], options: &CheckOptions) -> Findings {
    let data = |offset, len| range_of(bytes, offset, len).map(Blob::bytes);
    only(bundled_for(bytes, &data, options, std::slice::from_ref(&options.runtime)))
}

/// Returns a range of bytes; `None` if it exceeds them.
pub fn range_of(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(len)?).ok()?)
}

fn bundled_for(bytes: &[u8], data: &Ranges<'_>, options: &CheckOptions, releases: &Releases) -> Vec<Findings> {
    for_releases(options, releases, |options, compared| bundled_with(bytes, data, options, compared))
}

fn bundled_with(bytes: &[u8], data: &Ranges<'_>, options: &CheckOptions, compared: &mut Compared<'_>) -> Findings {
    let mut findings = Findings::keeping(options.profile, options.kept);
    let external = external(options, &mut findings);
    let mut report = Reporter::new(&mut findings, bytes, "", 0);
    let Some(header) = header::bundled_program(bytes, bytes.len() as u64, &mut report) else { return findings };
    verify(bytes, &bundled_program::BUNDLED_PROGRAM, header.range, &mut report);
    if findings.count(RuleSeverity::Malformed) > 0 {
        return findings;
    }
    let inner = fields::bundled::check_program(bytes, &mut Reporter::new(&mut findings, bytes, "", 0));
    let inner = inner.and_then(|(start, len)| {
        let program = bytes.get(start..start + len)?;
        let data = |offset: u64, len: u64| data(offset.checked_add(start as u64)?, len);
        let (len, start) = (len as u64, start as u64);
        let part = ProgramFile { head: program, len, data: &data, prefix: "program.", start, depth: 0 };
        program_at(&part, &mut findings, &external, options, compared).then_some(program)
    });
    fields::bundled::check(bytes, inner, &mut Reporter::new(&mut findings, bytes, "", 0));
    findings
}

/// Indexes the keys of the given `.ptd` files. For each file with errors, the first error is reported.
fn external(options: &CheckOptions, findings: &mut Findings) -> ExternalKeys {
    let mut external = ExternalKeys::default();
    for file in &options.with {
        let invalid = file.check(&CheckOptions { profile: options.profile, ..CheckOptions::default() });
        findings.depend_on(&invalid);
        if invalid.has_errors() {
            findings.add(G_30, || {
                let first = invalid.list.iter().find(|finding| finding.rule.severity <= RuleSeverity::Invalid);
                let found = first.map_or(String::new(), Finding::to_string);
                let location = Location { offset: None, path: file.name.clone() };
                (location, found, "a .ptd without errors".to_owned())
            });
        }
        if invalid.count(RuleSeverity::Malformed) > 0 {
            external.files.push(file.name.clone());
            continue;
        }
        for (key, other) in fields::flat_tensor::add_keys(&file.head, &file.name, &*file.data, &mut external) {
            findings.add(N_32, || {
                let key = pte_model::diagnostics::clipped(&String::from_utf8_lossy(&key)).to_string();
                let found = format!("duplicate key {key:?}, also in {}", external.files[other]);
                (Location { offset: None, path: file.name.clone() }, found, "each key in one file only".to_owned())
            });
        }
    }
    external
}
