//! Golden YAML: what a test expects of a produced program, as YAML that people read in a review. A difference is
//! reported by meaning, then as the change of the YAML that blessing writes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::SCHEMA_LINE;
use crate::facade::model::{DiffOptions, Model, value_names};
use crate::facade::source::Source;
use crate::printer::{self, ExtractedFile, LargeData, PrintOptions, Printed};
use pte_diff::{DiffData, DiffText, Differences, lines};
use pte_model::data::{Blob, Origin};
use pte_model::diagnostics::{Code, counted};
use pte_model::error::Error;
use pte_model::format::Format;

/// A golden YAML, which may not exist yet.
///
/// ```
/// use pte_emit::{Golden, Model};
///
/// let folder = std::env::temp_dir().join(format!("golden-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("add.yaml");
/// let produced = Model::open("examples/add.yaml")?;
/// let options = Default::default();
/// let golden = Golden::open(&path)?;
/// assert!(golden.check(&produced, &options, false).unwrap_err().to_string().contains("--bless"));
/// golden.write(&golden.blessed(&produced, &options)?.unwrap())?;
/// assert_eq!(Golden::open(&path)?.check(&produced, &options, false)?, None);
///
/// let yaml = std::fs::read_to_string(&path)?;
/// let changed = Model::from_yaml("sub.yaml", yaml.replace("add.out", "sub.out"), ".");
/// let report = Golden::open(&path)?.check(&changed, &options, false)?.unwrap();
/// assert!(report.contains("meaning: 3 differences"));
/// assert!(report.contains("\n+      - {kernel: aten::sub.out"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Golden {
    path: PathBuf,
    model: Option<Model>,
}

/// What differs between a golden YAML and a produced program, of [`Golden::compare`]; its text has the meaning first.
///
/// ```
/// use pte_emit::{Golden, GoldenDifference, Model, NewGolden};
///
/// let yaml = "methods: {\n  seven: {outputs: [7]} # seven\n}\n";
/// let golden = Golden::new("seven.yaml", Some(Model::from_yaml("seven.yaml", yaml, ".")))?;
/// let produced = Model::from_yaml("eight.yaml", yaml.replace("[7]", "[8]"), ".");
/// let options = Default::default();
///
/// let found: GoldenDifference = golden.compare(&produced, &options)?.unwrap();
/// assert_eq!((found.differences.len(), found.diff.starts_with("--- seven.yaml\n")), (1, true));
/// assert!(found.to_string().starts_with(&found.text(50).totals_text()));
/// let NewGolden { text, files, .. } = golden.blessed(&produced, &options)?.unwrap();
/// assert!(text.contains("outputs: [8]") && text.contains("# seven") && files.is_empty());
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct GoldenDifference {
    /// Differences from the golden file to the produced one.
    pub differences: Differences,
    /// Change of the YAML with which it is equal to the produced file, as a unified diff.
    pub diff: String,
    /// Names of the golden YAML and of the produced file.
    pub names: [String; 2],
    is_data_read: bool,
}

/// Number of lines of an area in the report of a test.
const LINES: usize = 50;

impl GoldenDifference {
    /// Returns the differences as text, with `limit` lines of each area.
    pub fn text(&self, limit: usize) -> DiffText<'_> {
        let names = [&*self.names[0], &*self.names[1]];
        DiffText { found: &self.differences, names, is_data_read: self.is_data_read, limit }
    }
}

impl fmt::Display for GoldenDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text(LINES);
        f.write_str(&text.totals_text())?;
        f.write_str(&text.areas_text(|_, text| Cow::Borrowed(text)))?;
        f.write_str(&self.diff)
    }
}

/// A new version of a golden YAML, of [`Golden::blessed`]; [`GoldenDifference`] has an example.
#[derive(Debug)]
#[non_exhaustive]
pub struct NewGolden {
    /// The YAML.
    pub text: String,
    /// Files with data of more than 256 bytes, in a folder next to the YAML; the caller writes them.
    pub files: Vec<ExtractedFile>,
    /// Files of this folder that the golden YAML named so far, by their paths in the YAML: they may be replaced.
    pub own: Vec<PathBuf>,
    /// Those of them that the YAML no longer names.
    pub unused: Vec<PathBuf>,
}

impl Golden {
    /// Opens a golden YAML.
    ///
    /// # Errors
    /// A name without the extension of YAML; a file that cannot be read, or has several documents.
    pub fn open(path: impl AsRef<Path>) -> Result<Golden, Error> {
        let path = path.as_ref();
        if !path.exists() {
            return Golden::new(path, None);
        }
        let mut documents = Model::open(path)?.documents(&BTreeMap::new())?.models;
        let golden = Golden::new(path, documents.pop())?;
        let count = documents.len() as u64 + 1;
        if count > 1 {
            Err(golden.refused(format!("{}, expected one", counted(count, "document"))))
        } else {
            Ok(golden)
        }
    }

    /// Creates the golden YAML of a path from its content; `None` if it does not exist.
    ///
    /// # Errors
    /// A name without the extension of YAML; content that is binary.
    pub fn new(path: impl Into<PathBuf>, model: Option<Model>) -> Result<Golden, Error> {
        let golden = Golden { path: path.into(), model };
        let is_yaml = golden.path.extension().is_some_and(|name| name == "yaml" || name == "yml");
        if !is_yaml || golden.model.as_ref().is_some_and(|model| !model.is_text()) {
            return Err(golden.refused("a golden file is YAML: expected the extension .yaml or .yml".to_owned()));
        }
        Ok(golden)
    }

    /// Compares a produced file with the golden YAML: with the file of its format that the YAML assembles to, of
    /// produced YAML with the first one. `None` if the bytes are equal, or nothing differs that the options compare.
    ///
    /// # Errors
    /// A golden YAML that does not exist or cannot be assembled; a file that cannot be read.
    pub fn compare(&self, produced: &Model, options: &DiffOptions) -> Result<Option<GoldenDifference>, Error> {
        let (produced, format) = file_of(produced)?;
        let Some(differences) = self.differences(&produced, format, options)? else { return Ok(None) };
        let old = self.model.as_ref().and_then(Model::text).unwrap_or_default();
        let (new, _) = self.updated(&produced, format, options)?;
        let path = self.path.display().to_string();
        Ok(Some(GoldenDifference {
            differences,
            diff: lines::unified(old, &new.text, [&path, &format!("{path} (from {})", produced.name())]),
            names: [path, produced.name().to_owned()],
            is_data_read: options.data != DiffData::None,
        }))
    }

    /// Returns the golden YAML for a produced file; `None` if it is equal. Lines stay where nothing changed, and so do
    /// comments and the names of values.
    ///
    /// # Errors
    /// A file that cannot be read, or that YAML cannot express; a golden YAML with variables, or that is something
    /// else.
    pub fn blessed(&self, produced: &Model, options: &DiffOptions) -> Result<Option<NewGolden>, Error> {
        self.check_replaceable()?;
        let (produced, format) = file_of(produced)?;
        if self.model.is_some() && matches!(self.differences(&produced, format, options), Ok(None)) {
            return Ok(None);
        }
        let (Printed { text, files, difference, .. }, is_equal) = self.updated(&produced, format, options)?;
        if !is_equal {
            let why = difference.unwrap_or_else(|| "its comments cannot be kept; remove the golden YAML".to_owned());
            return Err(self.refused(format!("no golden YAML is equal to {}: {why}", produced.name())));
        }
        let own = self.own_files();
        let is_unused = |path: &&PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str);
            files.iter().all(|file| file.path != **path) && name.is_some_and(|name| !text.contains(name))
        };
        let unused = own.iter().filter(is_unused).cloned().collect();
        Ok(Some(NewGolden { text, files, own, unused }))
    }

    /// Compares a produced file with the golden YAML, in a test: returns a report if they differ. With `bless`, writes
    /// the golden YAML instead.
    ///
    /// # Errors
    /// Those of [`Golden::compare`]; with `bless`, those of [`Golden::blessed`], and files that cannot be written.
    pub fn check(&self, produced: &Model, options: &DiffOptions, bless: bool) -> Result<Option<String>, Error> {
        if !bless {
            return Ok(self.compare(produced, options)?.map(|difference| difference.to_string()));
        }
        self.blessed(produced, options)?.map_or(Ok(None), |new| self.write(&new).map(|()| None))
    }

    /// Writes a new version of the golden YAML, and its data; removes its files that are unused.
    ///
    /// # Errors
    /// A file with other content, which the golden YAML did not name; a file that cannot be read or written.
    pub fn write(&self, new: &NewGolden) -> Result<(), Error> {
        let NewGolden { text, files, own, .. } = new;
        for file in files.iter().filter(|file| !own.contains(&file.path)) {
            let path = self.folder().join(&file.path);
            let is_same = || Ok(fs::read(&path)? == file.data.to_vec()?);
            if path.exists() && !is_same().map_err(|error| Error::io(&path.display().to_string(), "", &error))? {
                let message = format!("{} exists and would be lost; remove it first", file.path.display());
                return Err(self.refused(message));
            }
        }
        let write = || -> io::Result<()> {
            // Data may come from a file that is written.
            let data = files.iter().map(|file| file.data.to_vec()).collect::<io::Result<Vec<_>>>()?;
            for (file, data) in files.iter().zip(data) {
                let path = self.folder().join(&file.path);
                fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
                fs::write(path, data)?;
            }
            fs::write(&self.path, text)
        };
        write().map_err(|error| Error::io(&self.path.display().to_string(), "cannot write", &error))?;
        self.remove_unused(new)
    }

    /// Removes the unused files of a new version, and their folder if it is empty.
    ///
    /// # Errors
    /// A file that cannot be removed.
    #[doc(hidden)]
    pub fn remove_unused(&self, new: &NewGolden) -> Result<(), Error> {
        for path in &new.unused {
            let path = self.folder().join(path);
            // A link could lead anywhere.
            let folder = path.parent().filter(|folder| !folder.is_symlink());
            let Some(folder) = folder.filter(|_| path.symlink_metadata().is_ok_and(|file| file.is_file())) else {
                continue;
            };
            fs::remove_file(&path)
                .map_err(|error| Error::io(&path.display().to_string(), "cannot remove the unused file", &error))?;
            // It stays if it has other files.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Returns the files in the folder of data that the golden YAML names, by their paths in the YAML; none of YAML
    /// with errors.
    fn own_files(&self) -> Vec<PathBuf> {
        let Some(Ok(assembly)) = self.model.as_ref().map(Model::assembly) else { return Vec::new() };
        let data = self.data_folder();
        let Ok(folder) = self.folder().join(&data).canonicalize() else { return Vec::new() };
        let mut own = BTreeSet::new();
        assembly.data_sources(&mut |path| {
            let is_inside = path.parent().and_then(|parent| parent.canonicalize().ok()).is_some_and(|at| at == folder);
            own.extend(path.file_name().filter(|_| is_inside).map(|name| data.join(name)));
        });
        own.into_iter().collect()
    }

    /// Returns the folder of data, relative to that of the YAML.
    fn data_folder(&self) -> PathBuf {
        let is_yaml = self.path.extension().is_some_and(|extension| extension == "yaml");
        let stem = if is_yaml { self.path.file_stem() } else { self.path.file_name() };
        let mut data = stem.unwrap_or_default().to_owned();
        data.push(".data");
        data.into()
    }

    /// Checks that a new version loses nothing of the golden YAML.
    fn check_replaceable(&self) -> Result<(), Error> {
        let Some(old) = self.model.as_ref().and_then(Model::text) else { return Ok(()) };
        // It may have errors, but what never was YAML of this kind is something else.
        if !old.trim().is_empty() && !["methods", "named_data"].iter().any(|key| old.contains(key)) {
            let message = "expected `methods` or `named_data`, found other YAML; remove the file to write a new one";
            return Err(self.refused(message.to_owned()));
        }
        match fs::read(&self.path) {
            Ok(text) if text != old.as_bytes() => Err(self.refused(
                "the file has variables (`${NAME}`), which would be lost, or has changed; write it by hand".to_owned(),
            )),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::io(&self.path.display().to_string(), "", &error)),
        }
    }

    fn refused(&self, message: String) -> Error {
        Error::input(Code::UnmetRequest, &self.path.display().to_string(), message)
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Returns the differences of the golden file from a produced one; `None` without any.
    fn differences(
        &self,
        produced: &Model,
        format: Option<Format>,
        options: &DiffOptions,
    ) -> Result<Option<Differences>, Error> {
        let missing = "the golden YAML does not exist; `--bless`, or BLESS=1 in the environment, writes it";
        let golden = self.model.as_ref().ok_or_else(|| self.refused(missing.to_owned()))?;
        differences(golden, produced, format, options)
    }

    /// Returns the YAML of a produced file with what is kept of the golden YAML; true if it is equal to the file.
    fn updated(
        &self,
        produced: &Model,
        format: Option<Format>,
        options: &DiffOptions,
    ) -> Result<(Printed, bool), Error> {
        let data = self.data_folder();
        let print = |file: &Model, names| {
            let large_data = LargeData::Extract(data.clone());
            file.to_yaml(self.folder(), &PrintOptions::default().large_data(large_data).names(names))
        };
        let golden = self.model.as_ref().and_then(|golden| golden.file(format).ok());
        let names = match (&self.model, &golden) {
            (Some(written), Some(file)) => written_names(written, file).unwrap_or_default(),
            _ => BTreeMap::new(),
        };
        let mut printed = print(produced, names.clone())?;
        if printed.difference.is_some() && !names.is_empty() {
            printed = print(produced, BTreeMap::new())?;
        }
        let old = self.model.as_ref().and_then(Model::text);
        let base = golden.and_then(|golden| print(&golden, names).ok());
        let merged = old.zip(base).map(|(old, base)| lines::merged(&base.text, &printed.text, old));
        let commented = match old {
            Some(old) => lines::with_comments(&printed.text, old),
            None => format!("{SCHEMA_LINE}{}", printed.text),
        };
        for text in merged.iter().chain([&commented]) {
            let planned = printed.files.iter().map(|file| (self.folder().join(&file.path), file.data.clone()));
            let planned: Arc<BTreeMap<PathBuf, Blob>> = Arc::new(planned.collect());
            let empty = || Model::from_yaml(self.path.display().to_string(), "", self.folder());
            let new = self.model.clone().unwrap_or_else(empty).edited(text, planned);
            if matches!(differences(&new, produced, format, options), Ok(None)) {
                return Ok((Printed { text: text.clone(), ..printed }, true));
            }
        }
        Ok((Printed { text: commented, ..printed }, false))
    }
}

/// Returns a produced file and its format: of YAML, the first file that it assembles to.
fn file_of(produced: &Model) -> Result<(Model, Option<Format>), Error> {
    let file = produced.file(None)?;
    let format = file.format()?;
    Ok((file, format))
}

/// Returns the differences of the file of YAML from a produced one; `None` without any.
fn differences(
    golden: &Model,
    produced: &Model,
    format: Option<Format>,
    options: &DiffOptions,
) -> Result<Option<Differences>, Error> {
    let (yaml, golden) = (golden, golden.file(format)?);
    let whole = |model: &Model| -> io::Result<Option<Blob>> {
        let Some(origin) = model.origin() else { return Ok(None) };
        let len = origin.len()?;
        Ok(origin.blob(0, len, len))
    };
    let is_same = || -> io::Result<bool> {
        let (Some(a), Some(b)) = (whole(&golden)?, whole(produced)?) else { return Ok(false) };
        Ok(a.len() == b.len() && a.first_difference(&b)?.is_none())
    };
    if is_same().map_err(|error| Error::io(produced.name(), "", &error))? {
        return Ok(None);
    }
    let mut found = golden.diff(produced, options)?;
    // A file has no names of values.
    let names = value_names(&yaml.side()?);
    for part in found.list.iter_mut().filter_map(|difference| difference.left.as_mut()) {
        part.name = names.get(&part.path).cloned();
    }
    Ok(Some(found).filter(|found| !found.is_empty()))
}

/// Returns the names of values in YAML that differ from those that `dump` gives them, which are the keys, by method.
fn written_names(yaml: &Model, file: &Model) -> Result<BTreeMap<String, BTreeMap<String, String>>, Error> {
    let (side, program) = (yaml.side()?, file.program()?);
    let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (method, (plan, printed)) in program.plans().iter().zip(printer::values(program)).enumerate() {
        let names = all.entry(plan.name.clone().unwrap_or_default()).or_default();
        for (value, printed) in printed.names.into_iter().enumerate() {
            if let (Some(printed), Some(written)) = (printed, side.value_name(method, value)) {
                names.insert(printed, written.to_owned());
            }
        }
    }
    Ok(all)
}

impl Model {
    /// Returns the file of a format that YAML assembles to, or the first one, as a model of its own; a binary file as
    /// it is.
    fn file(&self, format: Option<Format>) -> Result<Model, Error> {
        if self.origin().is_some() {
            return Ok(self.clone());
        }
        let unreadable = |error: io::Error| self.source().unreadable(&error);
        let origin = match format {
            Some(Format::BundledProgram) => {
                Origin::Bytes(self.assembly()?.bundled()?.to_vec().map_err(unreadable)?.into())
            }
            _ => {
                let found = self.files()?.into_iter().find(|file| format.is_none() || file.format == format);
                let expected = format.map_or("file", |format| format.extension());
                let none = || format!("the YAML assembles to no {expected}, which the produced file is");
                found.ok_or_else(|| Error::input(Code::UnexpectedInput, self.name(), none()))?.origin
            }
        };
        Ok(Model::new(Source { data_files: self.source().data_files.clone(), ..Source::binary(self.label(), origin) }))
    }
}
