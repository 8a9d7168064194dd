//! Functions that change programs: `optimize`, `bound`, `merge`, `extract`; and `embed`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pte_emit::{
    Blob, Code, Report, Resolved, ScalarType,
    deploy::{EmbedOptions, EmbedStyle, EmbeddedFileOptions, Embedding, Section, Symbol},
    edit::{
        BoundOptions, ConvertedIoOptions, InputBound, IoQuantization, IoType, MergeOptions, MetadataOptions,
        MethodRename, NameRule, Normalisation, OptimizeOptions, OptimizePass, OutputOptions, QuantizedIoOptions,
        StripKind,
    },
    payload::PayloadContent,
    weights::{SetWeightsOptions, WeightChanges},
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyAny, PyDict, PyString};

use crate::buffer::Bytes;
use crate::builder::plain;
use crate::error::requested;
use crate::model::{Model, json, parsed, typed, with};
use crate::options::{OneOrMore, Source, choice, word};
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
        Ok((Program::state(resolved)?, report))
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

/// Returns a program whose method returns more or fewer values; and a `ChangedOutputs`.
///
/// `add` and `remove` are names of values as `to_yaml` prints them: new outputs come after the others, and memory is
/// planned again. `method` is needed if the program has several.
#[pyfunction]
#[pyo3(signature = (model, *, add=OneOrMore::default(), remove=OneOrMore::default(), method=None))]
pub fn change_outputs<'py>(
    py: Python<'py>,
    model: Source,
    add: OneOrMore<String>,
    remove: OneOrMore<String>,
    method: Option<String>,
) -> PyResult<Changed<'py>> {
    let options = OutputOptions::default().method(method).add(add.0).remove(remove.0);
    let model = model.0;
    changed(py, "ChangedOutputs", move || {
        let (resolved, done) = model.change_outputs(&options)?;
        Ok((resolved, json(&done)))
    })
}

/// Returns a program whose inputs and outputs are the integers that it quantized first and dequantized last; and a
/// `QuantizedIo` with their scales and zero points.
///
/// `names` are those of inputs and outputs as `to_yaml` prints them, by default all that can be changed. `method` is
/// needed if the program has several.
#[pyfunction]
#[pyo3(signature = (model, *, names=OneOrMore::default(), method=None))]
pub fn quantize_io<'py>(
    py: Python<'py>,
    model: Source,
    names: OneOrMore<String>,
    method: Option<String>,
) -> PyResult<Changed<'py>> {
    let options = QuantizedIoOptions::default().names(names.0).method(method);
    let model = model.0;
    changed(py, "QuantizedIo", move || {
        let (resolved, done) = model.quantize_io(&options)?;
        Ok((resolved, json(&done)))
    })
}

/// Returns a program whose inputs and outputs have other element types or orders of dimensions, or are normalised; and a
/// `ConvertedIo`.
///
/// `inputs` and `outputs` are by name: an element type such as `"uint8"`, `"channels_last"`, or both as
/// `"uint8,channels_last"`. `normalize` is by name, too: a mean and a standard deviation, each a number or a list with
/// one for each channel. `quantize` gives inputs and outputs of floating point numbers a scale and a zero point, and
/// optionally an element type (`"int8"` by default), with which the caller passes or gets integers; with `dequantize`,
/// the caller passes or gets float32 in place of integers. `method` is needed if the program has several.
#[pyfunction]
#[pyo3(signature = (
    model, *, inputs=BTreeMap::new(), outputs=BTreeMap::new(), normalize=BTreeMap::new(), quantize=BTreeMap::new(),
    dequantize=BTreeMap::new(), method=None
))]
#[allow(clippy::too_many_arguments)]
pub fn convert_io<'py>(
    py: Python<'py>,
    model: Source,
    inputs: BTreeMap<String, String>,
    outputs: BTreeMap<String, String>,
    normalize: BTreeMap<String, (OneOrMore<f32>, OneOrMore<f32>)>,
    quantize: BTreeMap<String, PyQuantization>,
    dequantize: BTreeMap<String, PyQuantization>,
    method: Option<String>,
) -> PyResult<Changed<'py>> {
    let types = |types: BTreeMap<String, String>| {
        let io_type = |(name, words): (String, String)| match IoType::parse(&words) {
            Some(io_type) => Ok((name, io_type)),
            None => Err(PyValueError::new_err(format!(
                "{name}: expected an element type, channels_last, contiguous, or both, found {words:?}"
            ))),
        };
        types.into_iter().map(io_type).collect::<PyResult<Vec<_>>>()
    };
    let mut options = ConvertedIoOptions::default().method(method).inputs(types(inputs)?).outputs(types(outputs)?);
    let by = |(name, (mean, std)): (String, (OneOrMore<f32>, OneOrMore<f32>))| {
        (name, Normalisation { mean: mean.0, std: std.0 })
    };
    options.normalised = normalize.into_iter().map(by).collect();
    let quantizations = |all: BTreeMap<String, PyQuantization>| {
        all.into_iter().map(|(name, by)| Ok((name, by.parsed()?))).collect::<PyResult<Vec<_>>>()
    };
    (options.quantized, options.dequantized) = (quantizations(quantize)?, quantizations(dequantize)?);
    let model = model.0;
    changed(py, "ConvertedIo", move || {
        let (resolved, done) = model.convert_io(&options)?;
        Ok((resolved, json(&done)))
    })
}

/// A scale, a zero point, and optionally an element type.
#[derive(FromPyObject)]
pub enum PyQuantization {
    /// With the word of an element type.
    Typed(f64, i64, String),
    /// Without one.
    Untyped(f64, i64),
}

impl PyQuantization {
    fn parsed(self) -> PyResult<IoQuantization> {
        let (scale, zero_point, word) = match self {
            PyQuantization::Typed(scale, zero_point, word) => (scale, zero_point, Some(word)),
            PyQuantization::Untyped(scale, zero_point) => (scale, zero_point, None),
        };
        let parse = |word: String| match ScalarType::parse(&word) {
            Some(scalar_type) => Ok(scalar_type),
            None => Err(PyValueError::new_err(format!("expected an element type, found {word:?}"))),
        };
        Ok(IoQuantization { scale, zero_point, scalar_type: word.map(parse).transpose()? })
    }
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

/// Returns a program whose methods have other names: `renames` is such as `{"forward": "encode"}`.
#[pyfunction]
pub fn rename(py: Python<'_>, model: Source, renames: BTreeMap<String, String>) -> PyResult<Program> {
    let renames: Vec<MethodRename> = renames.into_iter().map(|(from, to)| MethodRename::new(from, to)).collect();
    Program::create(py, move || Program::state(model.0.resolve()?.rename_methods(&renames)?.0))
}

/// Returns a program whose weights have other names: `renames` is such as `{"encoder.*": "enc.*"}`.
#[pyfunction]
pub fn rename_weights(py: Python<'_>, model: Source, renames: BTreeMap<String, String>) -> PyResult<Program> {
    let rule = |(from, to): (String, String)| {
        format!("{from}={to}").parse().map_err(|error: String| PyValueError::new_err(format!("renames: {error}")))
    };
    let rules: Vec<NameRule> = renames.into_iter().map(rule).collect::<PyResult<_>>()?;
    Program::create(py, move || Program::state(model.0.resolve()?.rename_weights(rules)?.0))
}

/// Returns a program without what the runtime does not need; and the number of removed parts by kind.
///
/// `only` are the kinds: `"traces"`, `"names"`, `"handles"`, `"tests"`, `"unused"`, by default all.
#[pyfunction]
#[pyo3(signature = (model, *, only=None))]
pub fn strip(
    py: Python<'_>,
    model: Source,
    only: Option<OneOrMore<String>>,
) -> PyResult<(Program, BTreeMap<&'static str, usize>)> {
    let kinds = only.map(|words| words.0.iter().map(|kind| word!("only", kind, StripKind)).collect::<PyResult<_>>());
    let kinds: Vec<StripKind> = kinds.transpose()?.unwrap_or_else(|| StripKind::ALL.to_vec());
    let (state, done) = attempt(py, move |_| {
        let (resolved, done) = model.0.resolve()?.strip(&kinds)?;
        Ok((Program::state(resolved)?, done))
    })?;
    Ok((Program::new(state), done.iter().map(|stripped| (stripped.kind.word(), stripped.count)).collect()))
}

/// Returns a program with other metadata: `entries` are values by key, the name of a constant method or a key of named
/// data that begins with `metadata.`. Arrays of numpy are tensors. `change_types` allows other types.
#[pyfunction]
#[pyo3(signature = (model, entries, *, change_types=false))]
pub fn set_metadata(
    py: Python<'_>,
    model: Source,
    entries: &Bound<'_, PyDict>,
    change_types: bool,
) -> PyResult<Program> {
    let dumps = py.import("json")?.getattr("dumps")?;
    let text = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let verbatim = value.is_instance_of::<PyString>();
        let value = match value.hasattr("dtype")? && !value.getattr("shape")?.is_empty()? {
            true => {
                let dtype = py.import("pte_emit._arrays")?.call_method1("name_of", (value.getattr("dtype")?,))?;
                [("tensor", dtype), ("data", plain(&value)?)].into_py_dict(py)?.into_any()
            }
            false => plain(&value)?,
        };
        let text: String = if verbatim { value.extract()? } else { dumps.call1((value,))?.extract()? };
        let options = MetadataOptions::default().verbatim(verbatim).change_type(change_types);
        Ok((key.extract::<String>()?, text, options))
    };
    let entries: Vec<_> = entries.iter().map(text).collect::<PyResult<_>>()?;
    Program::create(py, move || {
        let mut resolved = model.0.resolve()?;
        for (key, text, options) in entries {
            resolved = resolved.set_metadata(&key, &text, &options)?.0;
        }
        Program::state(resolved)
    })
}

/// Returns a program without the metadata of these keys or patterns, such as `get_*`.
#[pyfunction]
pub fn remove_metadata(py: Python<'_>, model: Source, keys: OneOrMore<String>) -> PyResult<Program> {
    Program::create(py, move || Program::state(model.0.resolve()?.remove_metadata(&keys.0)?.0))
}

/// Returns the options of `weights`: `map` has the names of constants and those in the source.
fn weight_options(map: BTreeMap<String, String>, like: Option<PathBuf>) -> PyResult<SetWeightsOptions> {
    let rule = |(name, source): (&String, &String)| {
        let text = format!("{name}={source}");
        text.parse::<NameRule>().map_err(|expected| unparsed(&text, expected))
    };
    Ok(SetWeightsOptions::default().map(map.iter().map(rule).collect::<PyResult<_>>()?).like(like))
}

/// Fails if weights cannot be set.
fn check_changes(changes: &WeightChanges, partial: bool, name: &str) -> Result<(), pte_emit::Error> {
    let problems = changes.problems(partial);
    match problems.is_empty() {
        true => Ok(()),
        false => {
            let messages = problems.into_iter().map(|problem| Code::UnmetRequest.whole(problem)).collect();
            Err(pte_emit::Error::new(Report::new(name, "", messages)))
        }
    }
}

/// Returns a program with the weights of a `.safetensors`, `.ptd` or `.npy`; and `WeightChanges`.
///
/// `map` has names of constants, which can be patterns, with those in the source; with `like`, the weights that the
/// program has now with the names of the source, names are found by bytes. With `partial`, constants without a source
/// keep their bytes. Arrays are set by `program["forward"].constants[NAME].data`.
#[pyfunction]
#[pyo3(signature = (model, weights, *, map=BTreeMap::new(), like=None, partial=false))]
pub fn set_weights<'py>(
    py: Python<'py>,
    model: Source,
    weights: PathBuf,
    map: BTreeMap<String, String>,
    like: Option<PathBuf>,
    partial: bool,
) -> PyResult<Changed<'py>> {
    let options = weight_options(map, like)?;
    changed(py, "WeightChanges", move || {
        let mut resolved = model.0.resolve()?;
        let changes = resolved.weight_changes(&[], &weights, &options)?;
        check_changes(&changes, partial, model.0.name())?;
        resolved.set_weights(0, &changes);
        Ok((resolved, json(&changes)))
    })
}

/// Returns a program with another payload of a delegate, `"METHOD/DELEGATE"`.
///
/// `new` are its bytes, or a model of YAML with an XNNPACK graph under the key `graph:`; `weights` replaces the weights
/// of the graph, as those of `set_weights`.
#[pyfunction]
#[pyo3(signature = (model, name, new=None, *, weights=None, map=BTreeMap::new(), like=None, partial=false))]
#[allow(clippy::too_many_arguments)] // They are keywords.
pub fn replace_payload(
    py: Python<'_>,
    model: Source,
    name: String,
    new: Option<&Bound<'_, PyAny>>,
    weights: Option<PathBuf>,
    map: BTreeMap<String, String>,
    like: Option<PathBuf>,
    partial: bool,
) -> PyResult<Program> {
    let options = weight_options(map, like)?;
    let graph = new.and_then(|new| new.cast::<Model>().ok()).map(|model| model.get().0.clone());
    let bytes = new.filter(|_| graph.is_none()).map(|new| Ok::<_, PyErr>(Blob::bytes(Bytes::of(new)?.as_ref())));
    let bytes = bytes.transpose()?;
    if new.is_some() == weights.is_some() {
        return Err(PyTypeError::new_err("expected either the new payload or weights="));
    }
    Program::create(py, move || {
        let mut resolved = model.0.resolve()?;
        let delegate = resolved.find_delegate(Some(&name))?;
        let content = match (bytes, graph, weights) {
            (Some(bytes), ..) => PayloadContent::Bytes(bytes),
            (_, Some(graph), _) => PayloadContent::of_graph(&graph)?,
            (.., weights) => {
                let weights = weights.unwrap_or_default();
                let (changes, content) = resolved.payload_weights(delegate, &weights, &options)?;
                check_changes(&changes, partial, model.0.name())?;
                content
            }
        };
        resolved.replace_payload(delegate, content)?;
        Program::state(resolved)
    })
}

/// Returns the sources with the files of a model as arrays, by file name: `name.c` and `name.h`, or a header alone for
/// the style of ExecuTorch's runners.
///
/// `style` has the names and types of an application: an unknown one is an error with all; `section` and `symbol` are
/// those of the array; `facts` adds what the program needs.
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
    options.section = parsed(section, Section::new)?;
    let symbol = parsed(symbol, Symbol::new)?;
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
