//! The commands: a table with their options, and a function each, which calls the library and serializes what it
//! returns.

use std::path::Path;

use pte_emit::check::{CheckOptions, DataFile, Profile, Target, Work};
use pte_emit::command::explanation::{self, Explanation};
use pte_emit::command::findings::{FileFindings, Level, json};
use pte_emit::command::validation::{of_edit, validate_source};
use pte_emit::command::{files, operators};
use pte_emit::diff::{DiffArea, DiffData, DiffOptions};
use pte_emit::edit::{BoundOptions, InputBound, OptimizeOptions, OptimizePass, Pattern, StripKind};
use pte_emit::inspect::{ExplainOptions, InspectOptions, ReportOptions, SizeDimension, SizeOptions};
use pte_emit::memory::{Abi, MemoryOptions, Processor};
use pte_emit::operators::OperatorSet;
use pte_emit::plan::{LAYOUT_OPTIONS, Shards};
use pte_emit::profile::Recording;
use pte_emit::release::Release;
use pte_emit::{
    AssembleOptions, Assembly, Code, Error, Format, LargeData, Model, PayloadForm, PrintOptions, Report, Reproduction,
    Resolved, SourceNames,
};
use serde::Serialize;

use crate::language;
use crate::request::{Request, choice, error, release, unknown};

/// Result of a command.
#[derive(Default)]
pub struct Outcome {
    /// JSON.
    pub result: String,
    /// Files: name and content.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A command: a row of [`COMMANDS`].
struct Command {
    name: &'static str,
    /// Options besides `command` and `files`, by groups.
    options: &'static [&'static [&'static str]],
    run: fn(&Request) -> Result<Outcome, Error>,
}

/// Options of a source.
const SOURCE: &[&str] = &["input", "with", "define", "document", "operators"];
/// Options of memory.
const MEMORY: &[&str] = &["abi", "processor"];
/// Options of output files, without the layout options.
const OUTPUT: &[&str] =
    &["output", "for_runtime", "external_data", "internal_data", "max_shard_size", "max_size", "prune"];

/// The commands. Those whose options have [`OUTPUT`] have the layout options, too.
const COMMANDS: &[Command] = &[
    Command { name: "assemble", options: &[SOURCE, OUTPUT], run: assemble },
    Command { name: "bound", options: &[SOURCE, OUTPUT, &["inputs", "static", "method"]], run: bound },
    Command {
        name: "check",
        options: &[SOURCE, &["runtime", "target", "read_data", "all_notes", "build"]],
        run: check,
    },
    Command { name: "diff", options: &[SOURCE, &["other", "with_a", "with_b", "only", "compare_data"]], run: diff },
    Command { name: "dump", options: &[&["input", "data", "payload", "explicit", "replan"]], run: dump },
    Command { name: "explain", options: &[SOURCE, MEMORY, &["texts", "method"]], run: explain },
    Command { name: "extract", options: &[SOURCE, OUTPUT, &["method"]], run: extract },
    Command { name: "inspect", options: &[SOURCE, &["read_data", "delegation"]], run: inspect },
    Command {
        name: "language",
        options: language::OPTIONS,
        run: |request| language::answer(request).map(Outcome::of_json),
    },
    Command { name: "memory", options: &[SOURCE, MEMORY, &["external"]], run: memory },
    Command { name: "ops", options: &[&["name"]], run: ops },
    Command { name: "optimize", options: &[SOURCE, OUTPUT, &["only", "max_growth"]], run: optimize },
    Command { name: "report", options: &[SOURCE, &["before", "etdump", "method", "data_statistics"]], run: report },
    Command { name: "schema", options: &[], run: |_| Ok(Outcome::of_json(pte_emit::json_schema())) },
    Command { name: "size", options: &[SOURCE, &["levels", "limit"]], run: size },
    Command { name: "split_weights", options: &[SOURCE, OUTPUT], run: split_weights },
    Command { name: "strip", options: &[SOURCE, OUTPUT, &["only"]], run: strip },
    Command { name: "version", options: &[], run: |_| Ok(Outcome::of(&env!("CARGO_PKG_VERSION"))) },
    Command { name: "weights", options: &[SOURCE], run: |request| Ok(Outcome::of(&open(request)?.weights()?)) },
];

/// Largest total size in bytes of the files of an answer, which are in memory, unless `max_size` is larger.
const MAX_OUTPUT: u64 = 1 << 30;

/// Number of findings of a rule with `all_notes`, as in the command line.
const ALL_NOTES: usize = 10_000;

/// Runs the command of a request.
///
/// # Errors
/// An unknown command or option; those of the command.
pub fn run(request: &Request) -> Result<Outcome, Error> {
    let name = request.required("command")?;
    let names = COMMANDS.iter().map(|command| command.name);
    let command = COMMANDS.iter().find(|command| command.name == name);
    let command = command.ok_or_else(|| unknown("command", name, names))?;
    let layout = LAYOUT_OPTIONS.iter().filter(|_| command.options.contains(&OUTPUT)).map(|option| option.name);
    let options = command.options.iter().copied().flatten().copied();
    request.check(name, ["command", "files"].into_iter().chain(options).chain(layout))?;
    (command.run)(request)
}

impl Outcome {
    fn of(result: &impl Serialize) -> Outcome {
        Outcome::of_json(crate::text(result))
    }

    fn of_json(result: String) -> Outcome {
        Outcome { result, files: Vec::new() }
    }
}

/// Opens a file by the name of an option. One with the extension of a binary format is not YAML, whatever its content.
fn open_file(request: &Request, path: &str) -> Result<Model, Error> {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    let model = match extension.and_then(Format::of_extension) {
        Some(_) => Model::open_binary(path),
        None => Model::open(path)?,
    };
    let model = model.with_data_files(request.texts("with")?);
    let mut documents = model.documents(&request.map("define")?)?.models;
    let count = documents.len() as u64;
    let number = match request.number("document")? {
        None if count == 1 => 1,
        None => return Err(error(format!("{path} has {count} documents: add `document`, from 1 to {count}"))),
        Some(number) => number,
    };
    match (1..=count).contains(&number) {
        true => Ok(documents.swap_remove(number as usize - 1)),
        false => Err(error(format!("document {number}: {path} has {count}"))),
    }
}

/// Opens the input.
fn open(request: &Request) -> Result<Model, Error> {
    open_file(request, request.required("input")?)
}

/// Options of validation: `.ptd` files and lists of operators.
fn validator(request: &Request) -> Result<CheckOptions, Error> {
    let with = request.texts("with")?.iter().map(DataFile::open).collect::<Result<_, Error>>()?;
    let mut operators = OperatorSet::new();
    for name in request.texts("operators")? {
        let unreadable = |error: std::io::Error| Error::io(&name, "", &error);
        let text = String::from_utf8_lossy(&files::read(name.as_ref()).map_err(unreadable)?).into_owned();
        operators.add(&text).map_err(|errors| {
            let messages = errors.iter().map(|error| Code::OperatorList.whole(error.to_string()));
            Error::new(Report::new(&name, "", messages.collect()))
        })?;
    }
    Ok(CheckOptions::default().with(with).operators(operators))
}

/// Options of planning and writing files: the layout options, and the other ones of [`OUTPUT`].
fn assemble_options(request: &Request) -> Result<AssembleOptions, Error> {
    let mut options = AssembleOptions::default();
    for option in LAYOUT_OPTIONS {
        if let Some(text) = request.word(option.name)? {
            let wrong = |expected| error(format!("option `{}`: expected {expected}, found `{text}`", option.name));
            option.set(&mut options.layout, option.parse(&text).map_err(wrong)?);
        }
    }
    match request.all_or_texts("external_data")? {
        Ok(all) => options.external_data = all,
        Err(rules) => {
            let rule = |rule: String| rule.parse().map_err(|wrong: String| error(format!("`external_data`: {wrong}")));
            options.external = rules.into_iter().map(rule).collect::<Result<_, Error>>()?;
        }
    }
    match request.all_or_texts("internal_data")? {
        Ok(all) => options.internal_data = all,
        Err(patterns) => options.internal = patterns.into_iter().map(Pattern::new).collect(),
    }
    options.shards = request.number("max_shard_size")?.map(|bytes| Shards::new(bytes, stem(request)));
    options.max_size = request.number("max_size")?;
    options.prune = request.flag("prune")?;
    options.for_runtime = request.text("for_runtime")?.map(release).transpose()?;
    options.with = request.texts("with")?.into_iter().map(Into::into).collect();
    Ok(options)
}

/// Name of the output files without extension: that of `output`, by default of the input.
fn stem(request: &Request) -> String {
    let name = request.text("output").ok().flatten().or_else(|| request.text("input").ok().flatten());
    let stem = name.and_then(|name| Path::new(name).file_stem()).and_then(|stem| stem.to_str());
    stem.unwrap_or("model").to_owned()
}

/// Validates and writes the files of an assembly. The extension of `output` selects the format, by default that of the
/// content.
fn write(request: &Request, assembly: &Assembly, result: String) -> Result<Outcome, Error> {
    let label = request.text("output")?.or(request.text("input")?).unwrap_or_default();
    let limit = request.number("max_size")?.unwrap_or(MAX_OUTPUT);
    let stem = stem(request);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut room = limit;
    let mut add = |name: String, size: Option<u64>, write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let size = size.unwrap_or(u64::MAX);
        let fits = room.checked_sub(size);
        room = fits.ok_or_else(|| {
            let message = format!("the files have more than {limit} bytes: `{name}` has {size}");
            Error::new(Report::new(
                label,
                "",
                vec![
                    Code::LimitExceeded.whole(message).help("`max_size` is the limit of an answer, which is in memory"),
                ],
            ))
        })?;
        let mut bytes = Vec::new();
        let memory = |_| error(format!("`{name}` with {size} bytes does not fit in memory"));
        bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX)).map_err(memory)?;
        write(&mut bytes).map_err(|error| Error::io(label, "", &error))?;
        files.push((name, bytes));
        Ok::<(), Error>(())
    };
    let format = match request.text("output")?.and_then(|name| Path::new(name).extension()?.to_str()) {
        Some(extension) => Some(Format::of_extension(extension).ok_or_else(|| {
            let known = ["pte", "ptd", "bpte", "safetensors"];
            unknown("extension of `output`", extension, known.into_iter())
        })?),
        None => None,
    };
    match (format, assembly.program_file()) {
        (Some(Format::BundledProgram), _) => {
            let bundle = assembly.bundled()?;
            add(format!("{stem}.bpte"), bundle.size(), &|out| bundle.write_to(out))?;
        }
        (Some(Format::Safetensors), _) => {
            let tensors = assembly.safetensors()?;
            add(format!("{stem}.safetensors"), Some(tensors.size()), &|out| tensors.write_to(out))?;
        }
        (Some(Format::FlatTensor), Some(_)) => return Err(error("a program is a .pte or .bpte, not a .ptd")),
        (_, Some(program)) => add(format!("{stem}.pte"), program.size(), &|out| program.write_to(out))?,
        (_, None) => {}
    }
    if format != Some(Format::Safetensors) {
        for (tag, file) in assembly.data_files() {
            add(format!("{}.ptd", tag.unwrap_or(&stem)), file.size(), &|out| file.write_to(out))?;
        }
    }
    if files.is_empty() {
        return Err(Error::input(Code::UnmetRequest, label, "nothing to write: a .ptd needs a tensor or a blob"));
    }
    Ok(Outcome { result, files })
}

/// Writes an edited program, unless `check` finds errors in it.
fn write_edited(request: &Request, resolved: Resolved, result: &impl Serialize) -> Result<Outcome, Error> {
    let assembly = resolved.to_files(&assemble_options(request)?)?;
    let mut options = validator(request)?;
    options.reported.clone_from(assembly.unknown_operators());
    let findings = assembly.check(&options)?;
    let names = SourceNames::new(&assembly);
    let (_, errors) = of_edit(&findings);
    let message = |finding| Code::UnmetRequest.whole(names.lines(finding).to_string());
    let mut messages: Vec<_> = errors.into_iter().map(message).collect();
    if !messages.is_empty() {
        messages.push(Code::UnmetRequest.whole("the result has errors: it is not written".to_owned()));
        return Err(Error::new(Report::new(request.required("input")?, "", messages)));
    }
    write(request, &assembly, crate::text(result))
}

/// Warnings of assembling as a document.
fn assembled(request: &Request, options: AssembleOptions) -> Result<Outcome, Error> {
    let assembly = open(request)?.assemble(&options)?;
    let warnings = [FileFindings::of_report(assembly.warnings.clone())];
    write(request, &assembly, crate::text(&json(&warnings)))
}

fn assemble(request: &Request) -> Result<Outcome, Error> {
    assembled(request, assemble_options(request)?)
}

fn split_weights(request: &Request) -> Result<Outcome, Error> {
    let mut options = assemble_options(request)?;
    options.external_data = options.external.is_empty();
    assembled(request, options)
}

fn dump(request: &Request) -> Result<Outcome, Error> {
    let input = request.required("input")?;
    let mut options = PrintOptions::default().explicit(request.flag("explicit")?).file(input.to_owned());
    let folder = stem(request);
    let data = request.text("data")?.unwrap_or("refer");
    options.large_data =
        match choice("value of `data`", data, &[("inline", 0), ("refer", 1), ("extract", 2), ("hash", 3)])? {
            0 => LargeData::Inline,
            1 => LargeData::Refer,
            2 => LargeData::Extract(folder.into()),
            _ => LargeData::Hash,
        };
    let payloads = [("graph", PayloadForm::Graph), ("opaque", PayloadForm::Opaque)];
    options.payload = choice("value of `payload`", request.text("payload")?.unwrap_or("graph"), &payloads)?;
    if request.flag("replan")? {
        options.reproduction = Reproduction::AllButOffsets;
    }
    let printed = Model::open_binary(input).to_yaml(Path::new(""), &options)?;
    let mut files = Vec::new();
    for file in &printed.files {
        let bytes = file.data.to_vec().map_err(|error| Error::io(input, "", &error))?;
        files.push((file.path.display().to_string(), bytes));
    }
    Ok(Outcome { result: crate::text(&printed.text), files })
}

fn check(request: &Request) -> Result<Outcome, Error> {
    let mut options = validator(request)?.work(Work::default()).data(request.flag("read_data")?);
    let builds = [
        ("strict", Profile::Strict),
        ("portable", Profile::Portable),
        ("aten", Profile::Aten),
        ("32-bit", Profile::Bits32),
        ("legacy", Profile::Legacy),
    ];
    options.profile = choice("value of `build`", request.text("build")?.unwrap_or("strict"), &builds)?;
    if request.flag("all_notes")? {
        options.kept = Some(ALL_NOTES);
    }
    let mut releases = Vec::new();
    for name in request.texts("runtime")? {
        match &*name {
            "all" => releases.extend(Release::known().map(Some)),
            name => releases.push(Some(release(name)?)),
        }
    }
    if releases.is_empty() {
        releases.push(None);
    }
    let targets = request.targets()?;
    let source = match open(request) {
        Ok(source) => source,
        // Undefined variables.
        Err(error) if error.io_kind().is_none() && !error.report().name.is_empty() => {
            return Ok(Outcome::of(&json(&[FileFindings::of_report(error.report().clone())])));
        }
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for (found, target) in validate_source(&source, &options, &releases, &targets)? {
        files.extend(found.into_iter().zip(&releases).map(|(mut found, release)| {
            found.file.runtime = release.as_ref().map(|release| release.version().to_string());
            found.file.target = target.filter(|_| targets.len() > 1).map(|target| target.name().to_owned());
            found.file
        }));
    }
    for warnings in targets.iter().map(Target::warnings) {
        let warnings = warnings.diagnostics.iter().map(|warning| (Level::Warning, warning.message.clone()));
        files.iter_mut().take(1).for_each(|file| file.messages.extend(warnings.clone()));
    }
    Ok(Outcome::of(&json(&files)))
}

fn inspect(request: &Request) -> Result<Outcome, Error> {
    let model = open(request)?;
    if request.flag("delegation")? {
        return Ok(Outcome::of(&model.delegation()?));
    }
    let options = InspectOptions::default().data(request.flag("read_data")?).check(validator(request)?);
    let files: Vec<_> = model.inspect(&options)?.into_iter().map(|(_, inspection)| inspection).collect();
    Ok(Outcome::of(&files))
}

fn size(request: &Request) -> Result<Outcome, Error> {
    let known = SizeDimension::ALL.map(|dimension| (dimension.name(), dimension));
    let levels = request.texts("levels")?;
    let levels = levels.iter().map(|name| choice("level", name, &known)).collect::<Result<Vec<_>, Error>>()?;
    if let Some((_, twice)) = levels.iter().enumerate().find(|(number, level)| levels[..*number].contains(level)) {
        return Err(error(format!("`levels` has the level {} twice", twice.name())));
    }
    let levels = if levels.is_empty() { vec![SizeDimension::Tensor] } else { levels };
    let limit = request.number("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let sizes = open(request)?.size(&SizeOptions::default().dimensions(levels))?;
    let sizes: Vec<_> = sizes
        .into_iter()
        .map(|(_, mut size)| {
            size.limit(limit);
            size
        })
        .collect();
    Ok(Outcome::of(&sizes))
}

/// Options of [`MEMORY`].
fn memory_options(request: &Request) -> Result<MemoryOptions, Error> {
    let abis = [("64", Abi::Bits64), ("arm32", Abi::Arm32)];
    let abi = choice("value of `abi`", request.text("abi")?.unwrap_or("64"), &abis)?;
    let processors: Vec<_> = Processor::WORDS.iter().copied().zip(Processor::ALL).collect();
    let processor = request.text("processor")?;
    let processor = processor.map(|name| choice("value of `processor`", name, &processors)).transpose()?;
    Ok(MemoryOptions::default().abi(abi).processor(processor))
}

fn memory(request: &Request) -> Result<Outcome, Error> {
    let options = memory_options(request)?.external(request.flag("external")?);
    Ok(Outcome::of(&open(request)?.memory(&options)?))
}

fn diff(request: &Request) -> Result<Outcome, Error> {
    let areas = DiffArea::ALL.map(|area| (area.name(), area));
    let only = request.text("only")?.map(|name| choice("value of `only`", name, &areas)).transpose()?;
    let data = [("none", DiffData::None), ("hash", DiffData::Hash), ("stats", DiffData::Statistics)];
    let data = choice("value of `compare_data`", request.text("compare_data")?.unwrap_or("stats"), &data)?;
    let side = |path: &str, own: &str| {
        let files = request.texts(own)?.into_iter().chain(request.texts("with")?);
        Ok::<_, Error>(open_file(request, path)?.with_data_files(files))
    };
    let (left, right) = (side(request.required("input")?, "with_a")?, side(request.required("other")?, "with_b")?);
    let mut found = left.diff(&right, &DiffOptions::default().data(data).only(only))?;
    found.left.file = Some(left.name().to_owned());
    found.right.file = Some(right.name().to_owned());
    Ok(Outcome::of(&found))
}

fn optimize(request: &Request) -> Result<Outcome, Error> {
    let known = OptimizePass::ALL.map(|pass| (pass.word(), pass));
    let passes = request.texts("only")?;
    let passes = passes.iter().map(|name| choice("pass", name, &known)).collect::<Result<Vec<_>, Error>>()?;
    let mut options = OptimizeOptions::default().max_growth(request.number("max_growth")?.unwrap_or(0));
    if !passes.is_empty() {
        options.passes = passes;
    }
    let mut resolved = open(request)?.resolve_for_changes()?;
    let done = resolved.optimize(&options)?;
    write_edited(request, resolved, &done)
}

fn bound(request: &Request) -> Result<Outcome, Error> {
    let mut options = BoundOptions::default();
    for text in request.texts("inputs")? {
        options.inputs.push(text.parse::<InputBound>().map_err(|wrong| error(format!("`inputs`: {wrong}")))?);
    }
    options.all_static = request.flag("static")?;
    options.method = request.text("method")?.map(str::to_owned);
    if options.inputs.is_empty() && !options.all_static {
        return Err(error("no bounds: add `inputs` with NAME=SIZES, or `static`"));
    }
    let mut resolved = open(request)?.resolve_for_changes()?;
    let done = resolved.bound(&options)?;
    write_edited(request, resolved, &done)
}

fn strip(request: &Request) -> Result<Outcome, Error> {
    let kind =
        |word: &String| StripKind::parse(word).ok_or_else(|| unknown("part", word, StripKind::WORDS.iter().copied()));
    let kinds = request.texts("only")?.iter().map(kind).collect::<Result<Vec<_>, Error>>()?;
    let kinds = if kinds.is_empty() { StripKind::ALL.to_vec() } else { kinds };
    let (resolved, stripped) = open(request)?.resolve()?.strip(&kinds)?;
    write_edited(request, resolved, &stripped)
}

fn extract(request: &Request) -> Result<Outcome, Error> {
    let methods = request.texts("method")?;
    if methods.is_empty() {
        return Err(error("missing option `method`"));
    }
    let (resolved, extracted) = open(request)?.resolve()?.extract_methods(&methods)?;
    write_edited(request, resolved, &extracted)
}

fn explain(request: &Request) -> Result<Outcome, Error> {
    let found = explanation::named(&request.texts("texts")?, None).map_err(error)?;
    let options = ExplainOptions::default().methods(request.texts("method")?).memory(memory_options(request)?);
    let models = request.text("input")?.map(|path| open_file(request, path)).transpose()?;
    Ok(Outcome::of(&Explanation::of(&found, models.as_slice(), &options)?))
}

fn ops(request: &Request) -> Result<Outcome, Error> {
    let name = request.text("name")?.filter(|name| !name.is_empty());
    Ok(Outcome::of(&operators::listed(name).map_err(error)?))
}

fn report(request: &Request) -> Result<Outcome, Error> {
    let mut options =
        ReportOptions::default().check(validator(request)?).data_statistics(request.flag("data_statistics")?);
    let model = open(request)?;
    let before = request.text("before")?.map(|path| open_file(request, path)).transpose()?;
    if let Some(path) = request.text("etdump")? {
        let (recording, methods) = (Recording::open(path)?, request.texts("method")?);
        options.profile = Some(model.profile(&recording, &methods)?);
        options.timeline = Some(model.timeline(&recording, &methods)?);
    }
    model.report_json(before.as_ref(), &options).map(Outcome::of_json)
}
