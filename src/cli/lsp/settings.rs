//! What the client can do, and the settings of the user: of `initializationOptions`, or of the section `pte-emit` of
//! the configuration.

use std::path::Path;

use pte_emit::check::Target;
use pte_emit::command::is_variable_name;
use pte_emit::language::{LanguageOptions, OffsetUnits};
use pte_emit::release::Release;
use serde_json::Value;

/// What the client can do.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// Units of columns.
    pub encoding: OffsetUnits,
    /// Completions may have places to fill in.
    pub snippets: bool,
    /// The server may create progress of its own.
    pub progress: bool,
    /// The server may change a text of some version.
    pub edits: bool,
    /// The server may ask for notifications about files.
    pub watches_files: bool,
    /// Answers that it asks for again when the server says so.
    pub refreshes: [Option<&'static str>; 3],
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub fn new(params: &Value) -> Client {
        let capabilities = &params["capabilities"];
        let encodings = capabilities["general"]["positionEncodings"].as_array();
        let workspace = &capabilities["workspace"];
        let refreshes = |answer| (workspace[answer]["refreshSupport"] == true).then_some(answer);
        let has_utf8 = encodings.is_some_and(|all| all.iter().any(|name| name == "utf-8"));
        Client {
            encoding: if has_utf8 { OffsetUnits::Utf8 } else { OffsetUnits::Utf16 },
            snippets: capabilities["textDocument"]["completion"]["completionItem"]["snippetSupport"] == true,
            progress: capabilities["window"]["workDoneProgress"] == true,
            edits: workspace["applyEdit"] == true && workspace["workspaceEdit"]["documentChanges"] == true,
            watches_files: workspace["didChangeWatchedFiles"]["dynamicRegistration"] == true,
            refreshes: ["inlayHint", "codeLens", "semanticTokens"].map(refreshes),
        }
    }
}

/// Reads settings: `definitions`, `runtime`, `targets`, `confine`, `hints`. Returns them with a message for each
/// setting that is not understood.
pub fn options(settings: &Value) -> (LanguageOptions, Vec<String>) {
    let mut options = LanguageOptions::default();
    let mut wrong = Vec::new();
    let known = ["definitions", "runtime", "targets", "confine", "hints"];
    for (key, value) in settings.as_object().into_iter().flatten() {
        let mut expected = |what: &str| wrong.push(format!("setting `{key}`: expected {what}, found {value}"));
        match (key.as_str(), value) {
            // `path` is the command, which the extension of VS Code starts.
            (_, Value::Null) | ("path", _) => {}
            ("definitions", Value::Object(definitions)) => {
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                for (name, value) in definitions {
                    if is_variable_name(name) {
                        options.definitions.insert(name.clone(), text(value));
                    } else {
                        let expected = "a name of letters, digits and _";
                        wrong.push(format!("setting `definitions`: expected {expected}, found `{name}`"));
                    }
                }
            }
            ("runtime", Value::String(version)) => match Release::find(version) {
                Ok(release) => options.runtime = Some(release),
                Err(error) => wrong.push(format!("setting `runtime`: {error}")),
            },
            ("targets", Value::Array(names)) => {
                for name in names.iter().filter_map(Value::as_str) {
                    let found = Target::ready(name).map_or_else(|| Target::open(Path::new(name), None), Ok);
                    match found {
                        Ok(target) => options.targets.push(target),
                        Err(error) => wrong.push(format!("setting `targets`: {error}")),
                    }
                }
            }
            ("confine", Value::String(folder)) => options.confined_to = Some(folder.into()),
            ("hints", Value::Object(hints)) => {
                let is_on = |name: &str, default| hints.get(name).and_then(Value::as_bool).unwrap_or(default);
                options.hint_types = is_on("types", options.hint_types);
                options.hint_arguments = is_on("arguments", options.hint_arguments);
                options.hint_memory = is_on("memory", options.hint_memory);
            }
            ("definitions", _) => expected("a map of names to values"),
            ("runtime" | "confine", _) => expected("a string"),
            ("targets", _) => expected("a list of names or files"),
            ("hints", _) => expected("a map of `types`, `arguments` and `memory`"),
            (other, _) => wrong.push(format!("unknown setting `{other}`: expected one of {}", known.join(", "))),
        }
    }
    (options, wrong)
}

#[cfg(test)]
mod tests {
    use super::options;
    use serde_json::json;

    #[test]
    fn settings_are_read_and_mistakes_reported() {
        let (found, wrong) = options(
            &json!({"definitions": {"N": 4}, "runtime": "1.0.1", "targets": ["wheel-1.5.1"], "hints": {"memory": true, "types": false}}),
        );
        assert_eq!((found.definitions["N"].as_str(), found.targets.len()), ("4", 1));
        assert!(found.runtime.is_some() && found.hint_memory && !found.hint_types && wrong.is_empty());
        let (_, wrong) = options(&json!({"runtime": 3, "hint": {}, "targets": ["nothing.yaml"]}));
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
