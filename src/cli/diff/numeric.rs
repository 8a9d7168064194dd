//! `pte-emit diff --numeric A B`: executes both programs on the same inputs, and prints where the values begin to
//! differ.

use std::fmt::Write;

use clap::Args;
use pte_emit::command::text::{ROW, clipped, clipped_to, counted, escaped};
use pte_emit::{
    Model,
    diff::{InstructionComparison, MethodNumerics, NumericComparison, NumericOptions, ValueComparison},
};

use super::super::exit::{Exit, Failure};
use super::super::interrupt;
use super::super::json;
use super::super::runner::{self, RunnerArguments};
use super::super::stdout;
use super::{DiffArguments, DiffFormat};

/// Arguments of `diff --numeric`.
#[derive(Debug, Args)]
pub struct NumericArguments {
    /// Execute both programs on the same inputs, and compare the values: prints the first instruction whose results
    /// differ, and the outputs
    #[arg(long, conflicts_with_all = ["only", "budget"])]
    pub numeric: bool,
    #[command(flatten)]
    runner: RunnerArguments,
    /// Seed; of the inputs that --numeric generates
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Generate the inputs, even if a program has tests, whose first one has others
    #[arg(long, requires = "numeric")]
    generate_inputs: bool,
    /// Absolute difference of floating point numbers that count as equal [default: 1e-6]
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, requires = "numeric")]
    atol: Option<f64>,
    /// Difference relative to the expected number, which is added to --atol [default: 1e-5]
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, requires = "numeric")]
    rtol: Option<f64>,
    /// Method; its name or a pattern, in which * stands for any characters; may be repeated. By default all are
    /// executed
    #[arg(long, value_name = "METHOD", requires = "numeric")]
    method: Vec<String>,
}

/// Parses a tolerance.
pub fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number that is not negative, such as 0 or 1e-3".into())
}

/// Executes two programs, and prints the differences. Returns the exit status: 0 if they are equal within the
/// tolerance, 1 if not.
///
/// # Errors
/// No runner, programs that cannot be compared, output that cannot be written.
pub fn run(arguments: &DiffArguments, models: [&Model; 2]) -> Result<Exit, Failure> {
    let format = arguments.format.format();
    if format == DiffFormat::Markdown {
        return Err(Failure::usage("`--numeric` prints text or JSON, expected `--format text` or `--format json`"));
    }
    let numeric = &arguments.execution;
    let mut options = NumericOptions::new(numeric.runner.command()?)
        .limits(numeric.runner.limits())
        .methods(numeric.method.clone())
        .seed(numeric.seed)
        .generate_inputs(numeric.generate_inputs || numeric.seed != 0);
    options.tolerance.atol = numeric.atol.unwrap_or(options.tolerance.atol);
    options.tolerance.rtol = numeric.rtol.unwrap_or(options.tolerance.rtol);
    compare(models, &options, format == DiffFormat::Json, arguments.limit.rows())
}

/// Executes two programs with these options, and prints the differences.
///
/// # Errors
/// Programs that cannot be compared, output that cannot be written.
pub fn compare(models: [&Model; 2], options: &NumericOptions, is_json: bool, limit: usize) -> Result<Exit, Failure> {
    let folder = runner::folder()?;
    interrupt::defer();
    let found = models[0].compare_runs(models[1], options, folder.path());
    if interrupt::is_requested() {
        return Ok(Exit::Interrupted);
    }
    let found = found?;
    let out = match is_json {
        true => json::text(&found),
        false => text(&found, models, limit, !options.inputs.is_empty()),
    };
    stdout::write("", |to| to.write_all(out.as_bytes()))?;
    Ok(if found.equal { Exit::Ok } else { Exit::Input })
}

fn text(found: &NumericComparison, models: [&Model; 2], limit: usize, is_given: bool) -> String {
    let mut out = String::new();
    let [left, right] = models.map(|model| escaped(model.name()));
    let verdict = if found.equal { "equal" } else { "different" };
    let _ = writeln!(out, "{left} -> {right}: {verdict} values (atol {:?}, rtol {:?})", found.atol, found.rtol);
    for method in &found.methods {
        write_method(method, limit, is_given, &mut out);
    }
    for (mark, names) in ['-', '+'].into_iter().zip(&found.unmatched) {
        for name in names.iter().take(limit) {
            let _ = writeln!(out, "{mark} method {}", clipped(name));
        }
    }
    out
}

fn write_method(method: &MethodNumerics, limit: usize, is_given: bool, out: &mut String) {
    let found = &method.comparison;
    let inputs = match method.seed {
        Some(seed) => format!("inputs of seed {seed}"),
        None if is_given => "the same inputs".to_owned(),
        None => "inputs of a test".to_owned(),
    };
    let compared = counted(found.compared, "execution");
    let unrecorded = match found.unrecorded {
        0 => String::new(),
        count => format!(", {count} without recorded values"),
    };
    let _ = writeln!(
        out,
        "method {}, {inputs}: values of {compared} of aligned instructions{unrecorded}",
        clipped(&found.name)
    );
    if found.unaligned != [0, 0] {
        let [left, right] = found.unaligned;
        let _ = writeln!(out, "  instructions without a counterpart: {left} in A, {right} in B");
    }
    match found.differences.split_first() {
        None => _ = writeln!(out, "  no instruction computes other values"),
        Some((first, others)) => {
            let _ = writeln!(out, "  first instruction with other values:");
            write_instruction(first, out);
            if !others.is_empty() {
                let _ = writeln!(out, "  {} after it", counted(others.len() as u64, "other difference"));
            }
        }
    }
    let _ = writeln!(out, "  outputs:");
    for output in found.outputs.iter().take(limit) {
        let _ = writeln!(out, "    {}", value(output));
    }
    super::super::io::write_more("    ", found.outputs.len(), limit, "output", out);
}

fn write_instruction(found: &InstructionComparison, out: &mut String) {
    let now = if found.right == found.left { String::new() } else { format!(" (now {})", found.right) };
    let execution = if found.execution == 0 { String::new() } else { format!(", execution {}", found.execution) };
    let labels = match &found.labels {
        [left, right] if left == right => clipped_to(left, ROW),
        [left, right] => format!("{} -> {}", clipped_to(left, ROW), clipped_to(right, ROW)),
    };
    let _ = writeln!(out, "    {}{now}: {labels}{execution}", found.left);
    if let Some(mismatch) = &found.mismatch {
        let _ = writeln!(out, "      {}", clipped_to(mismatch, ROW));
    }
    for compared in &found.values {
        let _ = writeln!(out, "      {}", value(compared));
    }
}

/// Returns a line about two values.
fn value(found: &ValueComparison) -> String {
    let name =
        if found.left == found.right { found.left.clone() } else { format!("{} -> {}", found.left, found.right) };
    let name = clipped_to(&name, ROW);
    if let Some(mismatch) = &found.mismatch {
        return format!("{name}: {}", clipped_to(mismatch, ROW));
    }
    let kind = clipped_to(&found.kind, ROW);
    let errors = format!("max abs {:.3e}, max rel {:.3e}", found.max_abs, found.max_rel);
    let nan = match found.nan {
        [0, 0] => String::new(),
        [left, right] => format!(", NaN {left} -> {right}"),
    };
    match &found.first {
        None if found.differing == 0 && found.max_abs == 0.0 => format!("{name}: {kind}, equal{nan}"),
        None if found.differing == 0 => format!("{name}: {kind}, equal within the tolerance, {errors}{nan}"),
        first => {
            let count = counted(found.elements, "element");
            let place = first.as_ref().map_or_else(String::new, |first| {
                let index = if first.index.is_empty() { String::new() } else { format!(" at {:?}", first.index) };
                format!("; first{index}: {} -> {}", first.left, first.right)
            });
            format!("{name}: {kind}, {} of {count} differ, {errors}{nan}{place}", found.differing)
        }
    }
}
