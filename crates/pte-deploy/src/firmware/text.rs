//! The texts that generated files share: their first line, and names in the syntax of each language.

use std::fmt::{Display, Write};

use super::pools::{FirmwareNeeds, FirmwarePool};
use pte_model::diagnostics::text::escaped;
use pte_model::format::serializer::EXECUTORCH;

/// Begins the first line of all generated files, after the start of a comment.
const MARK: &str = "Written by pte-emit firmware";

/// Returns true if a file that begins with these bytes was generated.
///
/// ```
/// use pte_deploy::firmware::is_generated;
///
/// assert!(is_generated(b"# Written by pte-emit firmware from add.pte\nCONFIG_X=1\n"));
/// assert!(!is_generated(b"CONFIG_X=1\n"));
/// ```
pub fn is_generated(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    ["# ", "/* "]
        .iter()
        .any(|start| line.strip_prefix(start.as_bytes()).is_some_and(|line| line.starts_with(MARK.as_bytes())))
}

/// Returns a template with the value of each `{{name}}`. A line of a name alone is as many lines as its value has.
pub fn filled(template: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut parts = template.split("{{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for (name, rest) in parts.filter_map(|part| part.split_once("}}")) {
        let is_line = out.is_empty() || out.ends_with('\n');
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            let _ = write!(out, "{value}");
        }
        let is_complete = is_line && (out.is_empty() || out.ends_with('\n'));
        out += rest.strip_prefix('\n').filter(|_| is_complete).unwrap_or(rest);
    }
    out
}

/// Comments of a language.
#[derive(Clone, Copy)]
pub enum Comment {
    /// `# ...`: Kconfig, CMake, YAML, CSV.
    Hash,
    /// `/* ... */`: C and linker scripts.
    Block,
}

impl Comment {
    /// Returns a line with a comment. Characters that would end it, or are unsafe on a terminal, are escaped.
    pub fn line(self, text: &str) -> String {
        let text = escaped(text).replace("*/", "* /");
        match self {
            Comment::Hash => format!("# {text}\n"),
            Comment::Block => format!("/* {text} */\n"),
        }
    }

    /// Returns the first line of a file.
    pub fn head(self, needs: &FirmwareNeeds) -> String {
        let FirmwareNeeds { file, sha256, .. } = needs;
        self.line(&format!("{MARK} from {file} (SHA-256 {sha256}), for ExecuTorch {EXECUTORCH}; it rewrites this file when it runs again."))
    }

    /// Returns the lines above the size of a pool: the parts that it has and lacks.
    pub fn pool(self, pool: &FirmwarePool) -> String {
        let mut out = String::new();
        if pool.parts.len() > 1 {
            let parts: Vec<String> =
                pool.parts.iter().map(|part| format!("{} for {}", part.bytes, part.content)).collect();
            out += &self.line(&format!("Bytes in the order of allocation: {}.", parts.join(", ")));
        }
        if pool.at_least {
            let _ = write!(
                out,
                "{}",
                self.line(&format!("At least: the memory of {} is not known.", pool.unknown.join(", ")))
            );
        }
        out
    }
}

/// Returns a string of CMake that is not expanded.
pub fn cmake_string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        if "\\\"$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out + "\""
}

/// Returns a cache entry of CMake, which replaces a value of an earlier run. `value` is an argument.
pub fn cmake_cache(name: &str, value: &str, kind: &str, documentation: &str) -> String {
    format!("set({name} {value} CACHE {kind} {} FORCE)\n", cmake_string(documentation))
}

/// Returns the setting of the path of the program; without a path, an error of the configuration unless the variable is
/// set.
pub fn cmake_program_path(name: &str, needs: &FirmwareNeeds) -> String {
    match &needs.path {
        Some(path) => {
            let quoted = cmake_string(path);
            // The variable is expanded, the path is not.
            let value = format!("\"${{CMAKE_CURRENT_LIST_DIR}}/{}", &quoted[1..]);
            cmake_cache(name, &value, "FILEPATH", "Program to embed")
        }
        None => format!(
            "if(NOT {name})\n  message(FATAL_ERROR {})\nendif()\n",
            cmake_string(&format!("set {name} to the path of {}, which pte-emit assembles", needs.file))
        ),
    }
}
