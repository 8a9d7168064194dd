//! Functions that change programs: `optimize`, `bound`, `merge`, `extract`; and `embed`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pte_emit::{
    Resolved,
    deploy::{EmbedOptions, EmbedStyle, EmbeddedFileOptions, Embedding, Section, Symbol},
    edit::{BoundOptions, InputBound, MergeOptions, MethodRename, OptimizeOptions, OptimizePass},
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::error::requested;
use crate::model::{json, typed, with};
use crate::options::{OneOrMore, Source, choice};
use crate::program::Program;
use crate::run::attempt;

/// A program after a change, and an object of `pte_emit.results` that says what was changed.
type Changed<'py> = (Program, Bound<'py, PyAny>);

/// Makes a change, and returns the program and the JSON of the report.
fn changed<'py>(
    py: Python<'py>,
    class: &str,
    change: impl FnOnce() -> Result<(Resolved, String), pte_emit::Error> + Send + 'static,
) -> PyResult<Changed<'py>> {
    let (state, report) = attempt(py, move |_| {
        let (resolved, report) = change()?;
        Ok((Program::state(resolved), report))
    })?;
    Ok((Program::new(state), typed(py, class, &report)?))
}

fn unparsed(text: &str, expected: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{text:?}: {expected}"))
}

/// Returns a program with less planned memory and fewer instructions, and the same outputs; and an `Optimization`.
///
/// `passes` are those that run: `"folding"`, `"identity"`, `"memory"`, by default all. Folding may make the file larger
/// by `max_growth` bytes.
#[pyfunction]
#[pyo3(signature = (model, *, passes=None, max_growth=0))]
pub fn optimize<'py>(
    py: Python<'py>,
    model: Source,
    passes: Option<OneOrMore<String>>,
    max_growth: u64,
) -> PyResult<Changed<'py>> {
    let mut options = OptimizeOptions::default().max_growth(max_growth);
    if let Some(words) = passes {
        let known = OptimizePass::ALL.map(|pass| (pass.word(), pass));
        options.passes = words.0.iter().map(|word| choice("passes", word, &known)).collect::<PyResult<_>>()?;
    }
    let model = model.0;
    changed(py, "Optimization", move || {
        let mut resolved = Program::resolve(&model)?;
        let done = resolved.optimize(&options)?;
        Ok((resolved, json(&done)))
    })
}

/// Returns a program with lower bounds of the inputs of a method; and a `BoundReport`.
///
/// `inputs` are such as `"x=1x256"`, where `?` keeps a size; `all_static` makes inputs static. `method` is needed if
/// the program has several.
#[pyfunction]
#[pyo3(signature = (model, *, inputs=OneOrMore::default(), method=None, all_static=false))]
pub fn bound<'py>(
    py: Python<'py>,
    model: Source,
    inputs: OneOrMore<String>,
    method: Option<String>,
    all_static: bool,
) -> PyResult<Changed<'py>> {
    let mut options = BoundOptions::default();
    let parse = |text: &String| text.parse::<InputBound>().map_err(|expected| unparsed(text, expected));
    options.inputs = inputs.0.iter().map(parse).collect::<PyResult<_>>()?;
    (options.method, options.all_static) = (method, all_static);
    if options.inputs.is_empty() && !all_static {
        return Err(PyValueError::new_err("no bounds: pass inputs=[\"NAME=SIZES\"] or all_static=True"));
    }
    let model = model.0;
    changed(py, "BoundReport", move || {
        let mut resolved = Program::resolve(&model)?;
        let done = resolved.bound(&options)?;
        Ok((resolved, json(&done)))
    })
}

/// Returns a program with the methods of all models, and equal data once; and a `Merged`.
///
/// `renames` are such as `{"forward": "encode"}` for all models, or one such map for each model. Methods with buffers
/// of the same name share them with `share_state`. `with_files` are the `.ptd` files of the programs, which are
/// compared.
#[pyfunction]
#[pyo3(signature = (models, *, renames=None, share_state=false, with_files=OneOrMore::default()))]
pub fn merge<'py>(
    py: Python<'py>,
    models: OneOrMore<Source>,
    renames: Option<&Bound<'py, PyAny>>,
    share_state: bool,
    with_files: OneOrMore<PathBuf>,
) -> PyResult<Changed<'py>> {
    let mut options = MergeOptions::default().share_state(share_state);
    if let Some(renames) = renames {
        match renames.cast::<PyDict>() {
            Ok(map) => add_renames(&mut options, None, map)?,
            Err(_) => {
                let maps: Vec<Bound<'_, PyDict>> = renames.extract()?;
                if maps.len() != models.0.len() {
                    let message = format!("renames has {} maps for {} models", maps.len(), models.0.len());
                    return Err(PyValueError::new_err(message));
                }
                maps.iter().enumerate().try_for_each(|(number, map)| add_renames(&mut options, Some(number), map))?;
            }
        }
    }
    let models: Vec<_> = models.0.into_iter().map(|model| with(&model.0, &with_files.0)).collect();
    changed(py, "Merged", move || {
        let resolve = |model: &pte_emit::Model| if share_state { model.resolve_for_changes() } else { model.resolve() };
        let inputs = models.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        let (resolved, done) = Resolved::merge(inputs, &options)?;
        Ok((resolved, json(&done)))
    })
}

fn add_renames(options: &mut MergeOptions, input: Option<usize>, map: &Bound<'_, PyDict>) -> PyResult<()> {
    for (from, to) in map {
        options.renames.push((input, MethodRename::new(from.extract::<String>()?, to.extract::<String>()?)));
    }
    Ok(())
}

/// Returns a program with the methods that the names or patterns (`enc*`) select, and what they need; and an
/// `Extracted`.
#[pyfunction]
pub fn extract<'py>(py: Python<'py>, model: Source, methods: OneOrMore<String>) -> PyResult<Changed<'py>> {
    let model = model.0;
    changed(py, "Extracted", move || {
        let (resolved, done) = model.resolve()?.extract_methods(&methods.0)?;
        Ok((resolved, json(&done)))
    })
}

/// Returns the sources with the files of a model as arrays, by file name: `name.c` and `name.h`, or a header alone for
/// the style of ExecuTorch's runners.
///
/// `style` is one of `pte-emit embed --style`; `section` and `symbol` are those of the array; `facts` adds what the
/// program needs.
#[pyfunction]
#[pyo3(signature = (model, name, *, style="c", section=None, symbol=None, facts=false))]
pub fn embed(
    py: Python<'_>,
    model: Source,
    name: String,
    style: &str,
    section: Option<&str>,
    symbol: Option<&str>,
    facts: bool,
) -> PyResult<BTreeMap<String, String>> {
    let styles: Vec<(&str, &'static EmbedStyle)> = EmbedStyle::ALL.iter().map(|style| (style.name, style)).collect();
    let mut options = EmbedOptions::default().style(choice("style", style, &styles)?);
    let invalid = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    options.section = section.map(|text| Section::new(text).map_err(|error| invalid(&error))).transpose()?;
    let symbol = symbol.map(|text| Symbol::new(text).map_err(|error| invalid(&error))).transpose()?;
    let model = model.0;
    attempt(py, move |_| {
        let wanted = EmbeddedFileOptions::default().facts(facts);
        let mut files = model.embedded_files(&wanted)?;
        let own = symbol.or_else(|| options.style.symbol.filter(|_| files.len() == 1).map(Symbol::from_name));
        if let (Some(symbol), Some(file)) = (own, files.first_mut()) {
            file.symbol = symbol;
        }
        let is_header = options.style.is_header;
        let embedding = Embedding::new(&name, files, options).map_err(|error| requested(&error.to_string()))?;
        let header = format!("{name}.h");
        let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
            let mut out = Vec::new();
            write(&mut out).map_err(|error| pte_emit::Error::io(&name, "", &error))?;
            Ok::<_, pte_emit::Error>(String::from_utf8_lossy(&out).into_owned())
        };
        if is_header {
            return Ok([(header, text(&|out| embedding.write_whole_header(out))?)].into());
        }
        let source = text(&|out| embedding.write_source(&header, out))?;
        let declarations = text(&|out| embedding.write_header(out))?;
        Ok([(header, declarations), (format!("{name}.c"), source)].into())
    })
}
