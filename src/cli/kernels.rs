//! `pte-emit kernels FILE...`: the kernels and backends that a build of the runtime needs, in the forms that builds
//! read.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::command::text::{ROW, clipped_to, counted, escaped};
use pte_emit::{
    Code, Error, Model,
    deploy::{KernelError, KernelList, KernelUse},
};

use super::exit::{Exit, Failure};
use super::formats;
use super::io::{self, Messages};
use super::json;
use super::options::{ForceArguments, FormatArguments};
use super::outputs::{NewFolder, Outputs, Replaced};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `kernels`.
#[derive(Debug, Args)]
pub struct KernelsArguments {
    /// .pte, .bpte and YAML files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// One list for all programs
    #[arg(long)]
    union: bool,
    /// Output: a file, or the folder of headers; - is standard output, and the default
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replace: ForceArguments,
    #[command(flatten)]
    format: FormatArguments<KernelsFormat>,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KernelsFormat {
    /// Lines for a terminal
    Text,
    /// JSON
    Json,
    /// One line with the operators, for EXECUTORCH_SELECT_OPS_LIST of CMake
    List,
    /// selected_operators.yaml, as gen_oplist of ExecuTorch writes it
    Yaml,
    /// selected_op_variants.h, selected_prim_ops.h and selected_max_kernel_num.h, in the folder of -o
    Header,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or has no program; a form that cannot state the kernels, or the kernels of several
/// programs; output that cannot be written.
pub fn run(arguments: &KernelsArguments, messages: &Messages) -> Result<Exit, Failure> {
    let inputs = &arguments.inputs;
    if io::reads_stream_twice(inputs) {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let sources = Sources::checked(&arguments.sources)?;
    let mut models = Vec::new();
    for input in inputs {
        models.extend(sources.open(input)?);
    }
    sources.warn_unused(messages);
    let lists = match arguments.union {
        true => vec![Model::kernels_of(&models)?],
        false => models.iter().map(Model::kernels).collect::<Result<_, _>>()?,
    };
    let output = arguments.output.as_deref().filter(|path| path.as_os_str() != io::STREAM);
    let check = |target: &Path| {
        let inputs = inputs.iter().map(PathBuf::as_path);
        arguments.sources.check_output(target, inputs, models.iter())
    };
    let format = arguments.format(output)?;
    if format == KernelsFormat::Header {
        let folder = output.ok_or_else(|| Failure::usage("headers are several files: name their folder with `-o`"))?;
        return write_headers(single(&lists)?, folder, arguments.replace.force, check);
    }
    let text = text(format, &lists)?;
    let Some(path) = output else {
        return stdout::write("", |out| out.write_all(text.as_bytes())).map(|()| Exit::Ok);
    };
    check(path)?;
    let mut outputs = Outputs::new("", arguments.replace.force);
    outputs.write_text(path, Replaced::Generated(|head| head.starts_with("build_features:")), &text)?;
    outputs.commit()?;
    Ok(Exit::Ok)
}

/// Returns the list of a form that has one only.
///
/// # Errors
/// Several lists.
fn single(lists: &[KernelList]) -> Result<&KernelList, Failure> {
    match lists {
        [list] => Ok(list),
        _ => {
            let found = counted(lists.len(), "program");
            Err(Failure::usage(format!(
                "this form has the kernels of one build: found {found}; add `--union` to join them"
            )))
        }
    }
}

impl KernelsArguments {
    /// Returns the form: that of the options, else of the extension of the output.
    fn format(&self, output: Option<&Path>) -> Result<KernelsFormat, Failure> {
        let (None, Some(output)) = (self.format.requested(), output) else { return Ok(self.format.format()) };
        let known = [
            ("txt", KernelsFormat::Text),
            ("json", KernelsFormat::Json),
            ("yaml", KernelsFormat::Yaml),
            ("yml", KernelsFormat::Yaml),
        ];
        let advice = "; use `--format FORMAT` to write a file of another name";
        Ok(formats::of_output(output, known.into_iter(), advice)?.unwrap_or(KernelsFormat::Text))
    }
}

/// Returns what is printed.
fn text(format: KernelsFormat, lists: &[KernelList]) -> Result<String, Failure> {
    let mut out = String::new();
    match format {
        KernelsFormat::Text | KernelsFormat::Header => lists.iter().for_each(|list| write_text(list, &mut out)),
        KernelsFormat::Json => lists.iter().for_each(|list| out += &json::text(list)),
        KernelsFormat::List => {
            let list = single(lists)?;
            out += &list.line().map_err(|error| unstated(list, &error))?;
        }
        KernelsFormat::Yaml => out += &single(lists)?.selected_operators(),
    }
    Ok(out)
}

/// Error of a form that cannot state the kernels of a list.
fn unstated(list: &KernelList, error: &KernelError) -> Failure {
    Error::input(Code::UnmetRequest, &list.programs.join(", "), error.to_string()).into()
}

fn write_headers(
    list: &KernelList,
    folder: &Path,
    force: bool,
    check: impl Fn(&Path) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let headers = list.headers().map_err(|error| unstated(list, &error))?;
    let name = folder.display().to_string();
    let new = NewFolder::create(folder).map_err(|error| Error::io(&name, "cannot create folder", &error))?;
    let mut outputs = Outputs::new("", force);
    for (name, text) in headers {
        let target = folder.join(name);
        check(&target)?;
        let is_own = |head: &str| head.contains("enerated by executorch/codegen/tools/");
        outputs.write_text(&target, Replaced::Generated(is_own), &text)?;
    }
    outputs.commit()?;
    drop(new);
    Ok(Exit::Ok)
}

/// Formats a list as a table of operators, the backends, and the numbers of the whole.
fn write_text(list: &KernelList, out: &mut String) {
    let names: Vec<String> = list.programs.iter().map(|name| escaped(name).into_owned()).collect();
    let instructions: u64 = list.operators.iter().map(|operator| operator.instructions).sum();
    let operators = counted(list.operators.len(), "operator");
    let _ = writeln!(out, "{}: {operators}, called by {}", names.join(", "), counted(instructions, "instruction"));
    let mut rows = vec![["calls", "arguments", "library", "operator"].map(str::to_owned)];
    rows.extend(list.operators.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let [calls, arguments, library] = [width(0), width(1), width(2)];
    for [first, second, third, name] in rows.iter().filter(|_| !list.operators.is_empty()) {
        let _ = writeln!(out, "  {first:>calls$}  {second:>arguments$}  {third:library$}  {name}");
    }
    for backend in &list.backends {
        let name = clipped_to(&backend.name, ROW);
        let _ = writeln!(out, "  backend {name}: {}", counted(backend.delegates, "delegate"));
    }
    let most = counted(list.max_arguments, "argument");
    let _ = writeln!(out, "  largest call: {most}; MAX_KERNEL_NUM: {}", list.max_kernels);
}

/// Numbers of arguments in a row; of more, the first and the last are printed, since all rows have the width of the
/// longest.
const MAX_COUNTS: usize = 4;

fn row(operator: &KernelUse) -> [String; 4] {
    let arguments = match &operator.arguments[..] {
        few if few.len() <= MAX_COUNTS => few.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        [first, .., last] => format!("{first}..{last}"),
        [_] | [] => String::new(),
    };
    [
        operator.instructions.to_string(),
        arguments,
        operator.library.unwrap_or("unknown").to_owned(),
        clipped_to(&operator.name, ROW),
    ]
}
