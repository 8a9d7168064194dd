//! A request: its options by name, each read as a type.

use std::collections::BTreeMap;

use pte_emit::check::Target;
use pte_emit::command::text::{clipped, nearest};
use pte_emit::release::Release;
use pte_emit::{Code, Error};
use serde_json::{Map, Value};

use crate::HostFiles;

/// A request.
pub struct Request {
    /// Options by name.
    pub options: Map<String, Value>,
    /// Files of the host, without those of the request.
    pub host: HostFiles,
}

/// Creates an error about a request.
pub fn error(message: impl Into<String>) -> Error {
    Error::input(Code::UnmetRequest, "", message)
}

/// Creates an error about an unknown word.
pub fn unknown<'k>(what: &str, word: &str, known: impl Iterator<Item = &'k str> + Clone) -> Error {
    let near = nearest(word, known.clone()).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let known: Vec<&str> = known.collect();
    error(format!("unknown {what} `{}`: expected one of {}{near}", clipped(word), known.join(", ")))
}

/// Creates an error about the value of an option.
fn mismatch(name: &str, expected: &str, found: &Value) -> Error {
    error(format!("option `{name}`: expected {expected}, found {}", clipped(&found.to_string())))
}

/// Returns the item with a name.
///
/// # Errors
/// An unknown name.
pub fn choice<T: Copy>(what: &str, name: &str, known: &[(&str, T)]) -> Result<T, Error> {
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| unknown(what, name, known.iter().map(|(known, _)| *known)))
}

/// Finds a release of ExecuTorch.
///
/// # Errors
/// An unknown release.
pub fn release(name: &str) -> Result<Release, Error> {
    Release::find(name).map_err(|wrong| error(wrong.to_string()))
}

impl Request {
    /// Parses a request.
    ///
    /// # Errors
    /// It is not a JSON object.
    pub fn parse(text: &str, host: HostFiles) -> Result<Request, Error> {
        match serde_json::from_str(text) {
            Ok(Value::Object(options)) => Ok(Request { options, host }),
            Ok(_) => Err(error("the request is not a JSON object")),
            Err(wrong) => Err(error(format!("the request is not JSON: {wrong}"))),
        }
    }

    /// Checks that all options are known.
    ///
    /// # Errors
    /// An unknown option.
    pub fn check<'k>(&self, command: &str, known: impl Iterator<Item = &'k str> + Clone) -> Result<(), Error> {
        let wrong = self.options.keys().find(|name| !known.clone().any(|known| known == name.as_str()));
        wrong.map_or(Ok(()), |name| Err(unknown(&format!("option of `{command}`"), name, known)))
    }

    /// Texts of files in the request, by name.
    ///
    /// # Errors
    /// It is no object, or has other values than texts.
    pub fn files<'r>(&'r self) -> Result<Vec<(&'r str, &'r str)>, Error> {
        let files = match self.options.get("files") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(files)) => files,
            Some(other) => return Err(mismatch("files", "an object of texts by name", other)),
        };
        let text = |(name, text): (&'r String, &'r Value)| match text {
            Value::String(text) => Ok((name.as_str(), text.as_str())),
            other => Err(mismatch(&format!("files[{name}]"), "a text", other)),
        };
        files.iter().map(text).collect()
    }

    /// Value of an option; `None` if it is not given, or null.
    fn get<T>(&self, name: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, Error> {
        let Some(value) = self.options.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| mismatch(name, expected, value))
    }

    /// A string.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Error> {
        let Some(value) = self.options.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => self.get(name, "a string", |_| None),
        }
    }

    /// A string that is required.
    pub fn required(&self, name: &str) -> Result<&str, Error> {
        self.text(name)?.ok_or_else(|| error(format!("missing option `{name}`")))
    }

    /// A truth value; false by default.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        Ok(self.get(name, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    /// A non-negative integer.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        // JavaScript writes large integers with an exponent.
        let integer = |value: f64| (value.fract() == 0.0 && (0.0..18e18).contains(&value)).then_some(value as u64);
        self.get(name, "a non-negative integer", |value| value.as_u64().or_else(|| value.as_f64().and_then(integer)))
    }

    /// A string, or a list of strings; empty by default.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Error> {
        let texts = |value: &Value| match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        Ok(self.get(name, "a string, or a list of strings", texts)?.unwrap_or_default())
    }

    /// True for all, or a string or a list of strings.
    pub fn all_or_texts(&self, name: &str) -> Result<Result<bool, Vec<String>>, Error> {
        match self.options.get(name) {
            Some(Value::Bool(all)) => Ok(Ok(*all)),
            _ => Ok(Some(self.texts(name)?).filter(|texts| !texts.is_empty()).map_or(Ok(false), Err)),
        }
    }

    /// An object of strings and numbers.
    pub fn map(&self, name: &str) -> Result<BTreeMap<String, String>, Error> {
        let text = |(key, value): (&String, &Value)| {
            let text = value.as_str().map(str::to_owned).or_else(|| value.is_number().then(|| value.to_string()));
            Some((key.clone(), text?))
        };
        let map = |value: &Value| value.as_object()?.iter().map(text).collect();
        Ok(self.get(name, "an object of strings", map)?.unwrap_or_default())
    }

    /// Targets of `target`: names, files, or `all`.
    ///
    /// # Errors
    /// An unknown target, or a file that cannot be read.
    pub fn targets(&self) -> Result<Vec<Target>, Error> {
        let mut targets = Vec::new();
        for name in self.texts("target")? {
            match (&*name, Target::ready(&name)) {
                ("all", _) => targets.extend(Target::ready_names().filter_map(Target::ready)),
                (_, Some(target)) => targets.push(target),
                (_, None) if !name.contains(['.', '/']) => {
                    let known: Vec<&str> = Target::ready_names().collect();
                    return Err(unknown("target", &name, known.into_iter()));
                }
                (_, None) => targets.push(Target::open(name.as_ref(), None)?),
            }
        }
        Ok(targets)
    }

    /// Value of a layout option as text.
    pub fn word(&self, name: &str) -> Result<Option<String>, Error> {
        self.get(name, "a string or a number", |value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    }
}
