//! Keyword arguments for planning and writing files: the layout options of the library by name, and the other options
//! of assembling.

use std::path::PathBuf;

use pte_emit::{AssembleOptions, edit::Pattern, plan::LAYOUT_OPTIONS};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// Names of the options besides the layout.
const OTHERS: [&str; 5] = ["external_data", "internal_data", "max_size", "prune", "with_files"];

/// Returns the options that keyword arguments state.
///
/// # Errors
/// `TypeError` for an unknown name, `ValueError` for a value that its option does not take.
pub fn options(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<AssembleOptions> {
    let mut options = AssembleOptions::default();
    for (name, value) in arguments.into_iter().flatten() {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        if let Some(option) = LAYOUT_OPTIONS.iter().find(|option| option.name == name) {
            let text = value.str()?.to_string();
            let parsed = option.parse(&text);
            let value =
                parsed.map_err(|expected| PyValueError::new_err(format!("{name}={text}: expected {expected}")))?;
            option.set(&mut options.layout, value);
            continue;
        }
        match &*name {
            "external_data" => match words(&value)? {
                Ok(all) => options.external_data = all,
                Err(rules) => {
                    let rules = rules.iter().map(|rule| rule.parse().map_err(|error| invalid(&name, rule, &error)));
                    options.external = rules.collect::<PyResult<_>>()?;
                }
            },
            "internal_data" => match words(&value)? {
                Ok(all) => options.internal_data = all,
                Err(patterns) => options.internal = patterns.into_iter().map(Pattern::new).collect(),
            },
            "max_size" => options.max_size = Some(value.extract()?),
            "prune" => options.prune = value.extract()?,
            "with_files" => options.with = value.extract::<Vec<PathBuf>>()?,
            _ => return Err(unknown(&name)),
        }
    }
    Ok(options)
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
