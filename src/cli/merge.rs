//! `pte-emit merge A B... -o FILE`: the methods of several programs as one program, with equal data stored once.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::text::{clipped, counted, first_names};
use pte_emit::{
    Model, Resolved,
    edit::{MergeOptions, Merged, MethodRename},
};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::{self, Messages};

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// .pte, .bpte or YAML files to merge, or .ptd files; - is standard input
    #[arg(value_name = "INPUT", required = true, num_args = 2..)]
    inputs: Vec<PathBuf>,
    /// Rename a method of an input, or of each input that has it. FILE is an input as given here, or its name without
    /// folder and extension
    #[arg(long, value_name = "[FILE:]OLD=NEW")]
    rename: Vec<String>,
    /// Prefix the names of all methods of an input, or of all inputs, unless `--rename` names them
    #[arg(long, value_name = "[FILE:]PREFIX")]
    prefix: Vec<String>,
    /// Share the mutable buffers of the same fully qualified name between methods; by default, each method has its own
    #[arg(long)]
    share_state: bool,
    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, a conflict between inputs, a result that `check` rejects, an output that cannot be
/// written.
pub fn run(arguments: &MergeArguments, messages: &Messages) -> Result<Exit, Failure> {
    let MergeArguments { inputs, edit, .. } = arguments;
    if io::reads_stream_twice(inputs) {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = inputs.iter().find(|input| !seen.insert(io::canonical(input))) {
        return Err(Failure::Usage(format!("input {} is given twice", twice.display())));
    }
    let options = arguments.options()?;
    let models = edit.open_all(inputs, messages)?;
    // Methods that share state are planned again.
    let resolve = |model: &Model| if options.share_state { model.resolve_for_changes() } else { model.resolve() };
    let mut resolved = models.iter().map(resolve).collect::<Result<Vec<Resolved>, _>>()?;
    let writing = edit.options()?;
    if let Some(release) = &writing.for_runtime {
        resolved.iter_mut().for_each(|input| input.runtime = Some(release.clone()));
    }
    let (resolved, merged) = Resolved::merge(resolved, &options)?;
    let paths: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    edit.write(resolved, &writing, &paths, &done(&merged, inputs.len()), messages)
}

impl MergeArguments {
    /// Options of the merge, with the indices of the inputs that the arguments name.
    fn options(&self) -> Result<MergeOptions, Failure> {
        let mut options = MergeOptions::default().share_state(self.share_state);
        for text in &self.rename {
            let (input, rename) = self.input_of(text)?;
            let invalid = |expected: String| Failure::Usage(format!("`--rename {text}`: {expected}"));
            options.renames.push((input, MethodRename::parse(rename).map_err(invalid)?));
        }
        for text in &self.prefix {
            let (input, prefix) = self.input_of(text)?;
            options.prefixes.push((input, prefix.to_owned()));
        }
        Ok(options)
    }

    /// Splits `FILE:REST`; without an input of this name before a colon, all is the rest.
    fn input_of<'t>(&self, text: &'t str) -> Result<(Option<usize>, &'t str), Failure> {
        let rest = |name: &str| text.strip_prefix(name)?.strip_prefix(':');
        let path = |input: &PathBuf| input.to_str().and_then(rest);
        let stem = |input: &PathBuf| input.file_stem()?.to_str().and_then(rest);
        let found = |split: &dyn Fn(&PathBuf) -> Option<&'t str>| -> Vec<(usize, &'t str)> {
            let all = self.inputs.iter().enumerate();
            all.filter_map(|(number, input)| Some((number, split(input)?))).collect()
        };
        let by_path = found(&path);
        let found = if by_path.is_empty() { found(&stem) } else { by_path };
        match &found[..] {
            [] => Ok((None, text)),
            [(input, rest)] => Ok((Some(*input), rest)),
            [(first, _), (second, _), ..] => {
                let [a, b] = [first, second].map(|input| self.inputs[*input].display());
                Err(Failure::Usage(format!("`{text}`: the name stands for {a} and {b}; write the path of one")))
            }
        }
    }
}

/// Changes, for the summary.
fn done(merged: &Merged, inputs: usize) -> String {
    let what = match merged.methods.len() {
        0 => "the data".to_owned(),
        count => counted(count, "method"),
    };
    let mut out = format!("merged {what} of {}\n", counted(inputs, "input"));
    for method in merged.methods.iter().filter(|method| method.name != method.original) {
        let [name, original] = [&method.name, &method.original].map(|name| clipped(name));
        let _ = writeln!(out, "  {name}: `{original}` of {}", method.input);
    }
    let names = |names: &[String]| first_names(names.iter().map(String::as_str));
    if !merged.equal_constant_methods.is_empty() {
        let _ = writeln!(out, "  constant methods of several inputs: {}", names(&merged.equal_constant_methods));
    }
    if !merged.equal_keys.is_empty() {
        let entries = counted(merged.equal_keys.len(), "entry");
        let _ =
            writeln!(out, "  data with keys of several inputs stored once: {entries}, {}", names(&merged.equal_keys));
    }
    for buffer in &merged.shared_state {
        let (name, bytes) = (clipped(&buffer.name), counted(buffer.bytes, "byte"));
        let _ = writeln!(out, "  buffer {name}, {bytes}: shared by {}", names(&buffer.methods));
    }
    for (pool, input, offset) in &merged.moved_state {
        let _ = writeln!(out, "  state of {} in pool {pool}: moved by {}", input, counted(*offset, "byte"));
    }
    for note in &merged.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    out
}
