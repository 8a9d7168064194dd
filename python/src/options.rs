//! Keyword arguments for planning and writing files: the layout options of the library by name, and the other options
//! of assembling.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use pte_emit::{
    AssembleOptions, edit::Pattern, plan::LAYOUT_OPTIONS, plan::Shards, release::Release, run::RunnerCommand,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

use crate::error::naming;
use crate::model::{Model, open};
use crate::program::Program;

/// One item, or an iterable of several.
#[derive(Default)]
pub struct OneOrMore<T>(pub Vec<T>);

impl<'a, 'py, T> FromPyObject<'a, 'py> for OneOrMore<T>
where
    T: for<'b> FromPyObject<'b, 'py, Error: Into<PyErr>>,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<OneOrMore<T>> {
        let failed = match object.extract() {
            Ok(one) => return Ok(OneOrMore(vec![one])),
            Err(failed) => failed.into(),
        };
        if object.is_instance_of::<PyString>() || object.try_iter().is_err() {
            return Err(failed);
        }
        let items = object.try_iter()?.map(|item| item?.extract().map_err(Into::into));
        Ok(OneOrMore(items.collect::<PyResult<_>>()?))
    }
}

/// Numbers such as sizes: an iterable, also of numbers of numpy.
pub struct Ints(pub Vec<i32>);

impl<'a, 'py> FromPyObject<'a, 'py> for Ints {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Ints> {
        object.try_iter()?.map(|item| item?.extract()).collect::<PyResult<_>>().map(Ints)
    }
}

/// A model: itself, a program, or what `open` takes.
pub struct Source(pub pte_emit::Model);

impl<'a, 'py> FromPyObject<'a, 'py> for Source {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Source> {
        let py = object.py();
        if let Ok(model) = object.cast::<Model>() {
            return Ok(Source(model.get().0.clone()));
        }
        let model = match object.cast::<Program>() {
            Ok(program) => program.get().model(py),
            Err(_) => open(py, &object, None, None, None, None, None, OneOrMore::default()),
        };
        Ok(Source(model?.0))
    }
}

/// Returns the release with this name.
///
/// # Errors
/// An unknown release.
pub fn release(text: &str) -> PyResult<Release> {
    Release::find(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Names of the options besides the layout.
const OTHERS: [&str; 7] =
    ["external_data", "for_runtime", "internal_data", "max_shard_size", "max_size", "prune", "with_files"];

/// Returns the options that keyword arguments state.
///
/// # Errors
/// `TypeError` for an unknown name, `ValueError` for a value that its option does not take.
pub fn options(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<AssembleOptions> {
    let mut options = AssembleOptions::default();
    for (name, value) in arguments.into_iter().flatten() {
        let name: String = name.extract()?;
        if !value.is_none() {
            naming(value.py(), &name, set(&mut options, &name, &value))?;
        }
    }
    Ok(options)
}

fn set(options: &mut AssembleOptions, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Some(option) = LAYOUT_OPTIONS.iter().find(|option| option.name == name) {
        let text = value.str()?.to_string();
        let parsed = option.parse(&text);
        let value = parsed.map_err(|expected| PyValueError::new_err(format!("{name}={text}: expected {expected}")))?;
        option.set(&mut options.layout, value);
        return Ok(());
    }
    match name {
        "external_data" => match words(value)? {
            Ok(all) => options.external_data = all,
            Err(rules) => {
                let rules = rules.iter().map(|rule| rule.parse().map_err(|error| invalid(name, rule, &error)));
                options.external = rules.collect::<PyResult<_>>()?;
            }
        },
        "internal_data" => match words(value)? {
            Ok(all) => options.internal_data = all,
            Err(patterns) => options.internal = patterns.into_iter().map(Pattern::new).collect(),
        },
        // The name of the file is not known yet.
        "max_shard_size" => options.shards = Some(Shards::new(value.extract()?, "model")),
        "max_size" => options.max_size = Some(value.extract()?),
        "prune" => options.prune = value.extract()?,
        "for_runtime" => options.for_runtime = Some(release(value.extract()?)?),
        "with_files" => options.with = value.extract::<OneOrMore<PathBuf>>()?.0,
        _ => return Err(unknown(name)),
    }
    Ok(())
}

/// A truth value, or one or several strings.
fn words(value: &Bound<'_, PyAny>) -> PyResult<Result<bool, Vec<String>>> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Ok(flag.is_true()));
    }
    Ok(Err(match value.extract::<String>() {
        Ok(word) => vec![word],
        Err(_) => value.extract()?,
    }))
}

fn invalid(name: &str, value: &str, expected: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{name}={value:?}: {expected}"))
}

fn unknown(name: &str) -> PyErr {
    let layout = LAYOUT_OPTIONS.iter().map(|option| option.name);
    let mut known: Vec<&str> = layout.chain(OTHERS).collect();
    known.sort_unstable();
    PyTypeError::new_err(format!("unexpected keyword argument '{name}': expected one of {}", known.join(", ")))
}

/// Returns the variant of an enum with words that has this word.
macro_rules! word {
    ($argument:literal, $word:expr, $type:ty) => {{
        let known: Vec<(&str, $type)> = <$type>::WORDS.iter().copied().zip(<$type>::ALL).collect();
        $crate::options::choice($argument, $word, &known)
    }};
}
pub(crate) use word;

/// Returns a time limit of a number of seconds.
///
/// # Errors
/// `ValueError` unless it is positive.
pub fn seconds(timeout: f64) -> PyResult<Duration> {
    let seconds = Duration::try_from_secs_f64(timeout).ok().filter(|time| !time.is_zero());
    seconds.ok_or_else(|| PyValueError::new_err("timeout: expected a positive number of seconds"))
}

/// Returns the command of a runner.
///
/// # Errors
/// `ValueError` without words.
pub fn runner(words: Vec<OsString>) -> PyResult<RunnerCommand> {
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| PyValueError::new_err("runner: expected a command, found no words"))?;
    Ok(RunnerCommand::new(program).with_arguments(words))
}

/// Returns the item with this name, or a `ValueError` that lists the names.
///
/// # Errors
/// An unknown name.
pub fn choice<T: Copy>(argument: &str, name: &str, known: &[(&str, T)]) -> PyResult<T> {
    known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!("{argument}={name:?}: expected one of {}", names.join(", ")))
    })
}
