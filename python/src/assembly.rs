//! `pte_emit.Assembly`: the files that YAML, or a changed program, becomes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::error::{diagnostics, failed};
use crate::model::prepared;
use crate::options::options;
use crate::program::read_only;
use crate::run::{Abandoned, attempt, run};
use pte_emit::cli::destination::Destination;
use pte_emit::cli::exit::Failure;
use pte_emit::cli::outputs::{self, Outputs, Replaced};

/// The files of an assembled source. `pte_emit.assemble` and `Model.assemble` create it.
#[pyclass(frozen, module = "pte_emit")]
pub struct Assembly(Arc<Held>);

/// What holds an assembly.
enum Held {
    /// A source that has been assembled.
    Model(pte_emit::Model),
    /// The assembly of a changed program.
    Own(Box<pte_emit::Assembly>),
}

impl Held {
    fn get(&self) -> Result<&pte_emit::Assembly, pte_emit::Error> {
        match self {
            Held::Model(model) => model.assembly(),
            Held::Own(assembly) => Ok(assembly),
        }
    }
}

/// Assembles YAML into the files of a program.
///
/// `yaml` is the text of YAML or JSON, whose relative paths are resolved from `folder`; a file is opened by
/// `pte_emit.open(path).assemble()`. `name` is used in messages, `define` has the values of `${NAME}`, `confine` is the
/// folder outside of which no file is read. The other arguments are options of `Model.assemble`.
#[pyfunction]
#[pyo3(signature = (yaml, *, folder=None, name=None, define=None, confine=None, **layout))]
pub fn assemble(
    py: Python<'_>,
    yaml: &str,
    folder: Option<PathBuf>,
    name: Option<String>,
    define: Option<BTreeMap<String, String>>,
    confine: Option<PathBuf>,
    layout: Option<&Bound<'_, PyDict>>,
) -> PyResult<Assembly> {
    let options = options(layout)?;
    let (name, folder) = (name.unwrap_or_else(|| "<yaml>".to_owned()), folder.unwrap_or_else(|| PathBuf::from(".")));
    let model = pte_emit::Model::from_yaml(name, yaml, folder);
    let model = prepared(py, model, define.unwrap_or_default(), None, confine)?.with_options(options);
    let assembled = model.clone();
    attempt(py, move |_| assembled.assembly().map(drop))?;
    Ok(Assembly::of_model(model))
}

impl Assembly {
    /// The assembly of a source.
    pub fn of_model(model: pte_emit::Model) -> Assembly {
        Assembly(Arc::new(Held::Model(model)))
    }

    /// The assembly of a changed program.
    pub fn own(assembly: pte_emit::Assembly) -> Assembly {
        Assembly(Arc::new(Held::Own(Box::new(assembly))))
    }

    /// Runs `read` for the assembly.
    fn read<T: Send + 'static>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&pte_emit::Assembly) -> std::io::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let held = self.0.clone();
        attempt(py, move |_| {
            let assembly = held.get()?;
            read(assembly).map_err(|error| pte_emit::Error::io(&assembly.warnings.label(), "", &error))
        })
    }
}

/// Writes the files of an assembly in the format of the extension of `path`: all or none. Returns their paths.
///
/// # Errors
/// The format does not suit the assembly; a file that cannot be written, or data that cannot be read.
fn write(assembly: &pte_emit::Assembly, path: &Path, abandoned: &Abandoned) -> Result<Vec<PathBuf>, Failure> {
    let path = if path == Path::new("-") { Path::new("./-") } else { path };
    let destination = Destination { output: Some(path), ..Destination::default() };
    let format = destination.format_of(assembly)?;
    let files = (format.files)(assembly)?;
    let targets: Vec<PathBuf> = destination.targets(&files, assembly, Some(path))?.into_iter().flatten().collect();
    let mut out = Outputs::default();
    for (target, (_, content)) in targets.iter().zip(&files) {
        out.write(target, Replaced::Binary, content.allocated, &|_| (), |sink| content.write(sink))?;
    }
    if abandoned.is_set() {
        return Ok(Vec::new());
    }
    out.commit()?;
    Ok(targets)
}

/// Writes the files of an assembly without the global lock, as [`write`]. After Ctrl-C no file is written: the
/// temporary ones are removed.
///
/// # Errors
/// Those of [`write`], as exceptions.
pub fn save(py: Python<'_>, assembly: Arc<dyn Source>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
    let done = run(py, move |abandoned| write(assembly.assembly()?, &path, abandoned));
    let done = done.inspect_err(|_| remove_at_exit(py))?;
    done.map_err(|failure| failed(py, failure))
}

/// What has an assembly to write.
pub trait Source: Send + Sync {
    /// Returns the assembly.
    ///
    /// # Errors
    /// Those of assembling it.
    fn assembly(&self) -> Result<&pte_emit::Assembly, pte_emit::Error>;
}

impl Source for Held {
    fn assembly(&self) -> Result<&pte_emit::Assembly, pte_emit::Error> {
        self.get()
    }
}

impl Source for pte_emit::Assembly {
    fn assembly(&self) -> Result<&pte_emit::Assembly, pte_emit::Error> {
        Ok(self)
    }
}

/// Lets Python remove the temporary files of an abandoned write, in case it ends before the thread that writes them.
fn remove_at_exit(py: Python<'_>) {
    let remove = pyo3::wrap_pyfunction!(remove_unfinished, py);
    // Best effort: the interrupt is reported anyway.
    let _ = py.import("atexit").and_then(|atexit| atexit.call_method1("register", (remove?,)));
}

/// Removes the temporary files of all threads.
#[pyfunction]
fn remove_unfinished() {
    drop(outputs::remove_unfinished());
}

#[pymethods]
impl Assembly {
    /// Bytes of the program, a `.pte`; None without methods.
    #[getter]
    fn program<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.read(py, |assembly| assembly.program_file().map(|file| file.to_vec()).transpose())?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Bytes of the `.ptd` files by their tags; the tag of the file of `external_data` is an empty string.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let files = self.read(py, |assembly| {
            let read = |(tag, file): (Option<&str>, pte_emit::OutputFile<'_>)| {
                Ok((tag.unwrap_or_default().to_owned(), file.to_vec()?))
            };
            assembly.data_files().map(read).collect::<std::io::Result<Vec<_>>>()
        })?;
        let dict = PyDict::new(py);
        for (tag, bytes) in files {
            dict.set_item(tag, PyBytes::new(py, &bytes))?;
        }
        read_only(dict)
    }

    /// Bytes of the program with its tests, a `.bpte`.
    #[getter]
    fn bundled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let held = self.0.clone();
        let bytes = attempt(py, move |_| {
            let bundled = held.get()?.bundled()?;
            bundled.to_vec().map_err(|error| pte_emit::Error::io("", "", &error))
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Warnings of assembling: a tuple of `pte_emit.Diagnostic`.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let report = self.read(py, |assembly| Ok(assembly.warnings.clone()))?;
        Ok(diagnostics(py, &report)?.to_tuple())
    }

    /// Writes the files: the format is that of the extension of `path` (.pte, .ptd, .bpte, .safetensors), `.ptd` files
    /// are written beside a program. Returns the paths. All files are written, or none.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
        save(py, self.0.clone(), path)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (program, data) = self.read(py, |assembly| {
            let size = assembly.program_file().and_then(|file| file.size());
            Ok((size, assembly.data_files().count()))
        })?;
        let program = program.map_or_else(|| "no program".to_owned(), |size| format!("program of {size} bytes"));
        Ok(format!("<pte_emit.Assembly: {program}, {}>", pte_emit::command::text::counted(data as u64, "data file")))
    }
}
