//! `pte-emit embed FILE... -o NAME`: programs and `.ptd` files as arrays in C or assembly.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use pte_emit::command::text::{counted, escaped};
use pte_emit::{
    ByteSink, Error, Format, Model,
    command::EMBED_BANNER,
    deploy::{EmbedOptions, EmbedStyle, EmbeddedFile, EmbeddedFileOptions, Embedding, Section, Symbol},
};

use super::depfile::Dependencies;
use super::exit::{Exit, Failure};
use super::formats;
use super::io::{self, Messages, STREAM};
use super::options::ForceArguments;
use super::outputs::{NewFolder, Outputs, Replaced, Writer};
use super::sources::{SourceArguments, Sources};

/// Arguments of `embed`.
#[derive(Debug, Args)]
pub struct EmbedArguments {
    /// A .pte, .bpte or YAML, each followed by its .ptd files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Output: a name without an extension, or with .c, .h or .S, which selects the form: a source and a header, a
    /// header alone, or a source for an assembler, which reads the files itself, and a header
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Names, types and sections of an application
    #[arg(long, value_name = "STYLE", default_value = "c", value_parser = style_parser())]
    style: &'static EmbedStyle,
    /// Section of the arrays, instead of the default: NAME for ELF, SEGMENT,NAME for Mach-O
    #[arg(long, value_name = "NAME", value_parser = Section::new)]
    section: Option<Section>,
    /// Name of an array; may be repeated, once for each FILE. Without it, names are made of those of the files
    #[arg(long, value_name = "NAME", value_parser = Symbol::new)]
    symbol: Vec<Symbol>,
    /// Add macros and tables of what a program needs: memory, inputs and outputs, kernels, and the SHA-256 of the file
    #[arg(long)]
    facts: bool,
    #[command(flatten)]
    replace: ForceArguments,
    /// Accept any file
    #[arg(long)]
    any: bool,
    /// Write the files that are read as a rule of Make
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,
    #[command(flatten)]
    sources: SourceArguments,
}

fn style_parser() -> impl TypedValueParser<Value = &'static EmbedStyle> {
    let values = EmbedStyle::ALL.iter().map(|style| PossibleValue::new(style.name).help(style.doc));
    let find = |name: String| EmbedStyle::ALL.iter().find(|style| style.name == name).ok_or("expected a style");
    PossibleValuesParser::new(values).try_map(find)
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A `.c` and a `.h`.
    Source,
    /// A `.h`.
    Header,
    /// A `.S` and a `.h`.
    Assembly,
}

/// Array with its origin.
struct Input {
    file: EmbeddedFile,
    /// File on disk with the same content; `None` of YAML and standard input.
    path: Option<PathBuf>,
}

/// Writes the content of an output.
type Content<'a> = Box<dyn Fn(&mut dyn ByteSink) -> std::io::Result<()> + 'a>;

/// An output file.
struct Target<'a> {
    path: PathBuf,
    /// Upper bound of its size in bytes; 0 if it is small.
    size: u64,
    /// It is text of this command.
    is_text: bool,
    content: Content<'a>,
}

/// Runs the command.
///
/// # Errors
/// Contradictory arguments; inputs that cannot be embedded, each of which is reported; outputs that cannot be written.
pub fn run(arguments: &EmbedArguments, messages: &Messages) -> Result<Exit, Failure> {
    if io::reads_stream_twice(&arguments.inputs) {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let form = arguments.form()?;
    let mut dependencies = Dependencies::new(&arguments.inputs, &arguments.sources);
    let (inputs, worst) = arguments.open(&mut dependencies, messages)?;
    if worst != Exit::Ok {
        return Ok(worst);
    }
    let (files, paths): (Vec<EmbeddedFile>, Vec<_>) = inputs.into_iter().map(|input| (input.file, input.path)).unzip();
    let stem = arguments.output.with_extension("");
    let name = stem.file_name().unwrap_or_default().to_str();
    let name = name.ok_or_else(|| Failure::Usage(format!("output {} has no name in UTF-8", stem.display())))?;
    let options = EmbedOptions::default().style(arguments.style).section(arguments.section.clone());
    let embedding = Embedding::new(name, files, options).map_err(|error| Failure::Usage(error.to_string()))?;
    // An assembly has paths relative to it.
    let folder = stem.parent().unwrap_or(Path::new(""));
    let _created =
        NewFolder::create(folder).map_err(|error| Failure::writing(&folder.display().to_string(), &error))?;
    let targets = targets(&embedding, &paths, form, &stem)?;
    check_targets(&targets, &dependencies)?;
    let mut outputs = Outputs::new("", arguments.replace.force);
    for target in &targets {
        let replaced = if target.is_text { OWN } else { Replaced::Binary };
        outputs.write(&target.path, replaced, target.size, &|_| (), |out| (target.content)(out))?;
    }
    if let Some(depfile) = &arguments.depfile {
        dependencies.write(depfile, targets.iter().map(|target| target.path.as_path()), &mut outputs)?;
    }
    outputs.commit()?;
    messages.summary(&summary(&embedding, &targets));
    Ok(Exit::Ok)
}

impl EmbedArguments {
    fn form(&self) -> Result<Form, Failure> {
        let known = [("c", Form::Source), ("h", Form::Header), ("S", Form::Assembly)];
        match formats::of_output(&self.output, known.into_iter(), ", or none")? {
            Some(form) => Ok(form),
            None if self.output.as_os_str() == io::STREAM => {
                Err(Failure::usage("`embed` writes several files: expected a name for them, such as `-o model`"))
            }
            None if self.output.file_name().is_none() => {
                Err(Failure::usage("`-o` names no file: expected a name without an extension"))
            }
            None if self.output.is_dir() => {
                let output = self.output.display();
                Err(Failure::Usage(format!(
                    "output {output} is a folder: expected a name in it, such as {output}/model"
                )))
            }
            None if self.style.is_header => Ok(Form::Header),
            None => Ok(Form::Source),
        }
    }

    /// Opens all inputs. Reports those that cannot be embedded, and returns the worst exit status with the others.
    fn open(&self, dependencies: &mut Dependencies, messages: &Messages) -> Result<(Vec<Input>, Exit), Failure> {
        let sources = Sources::checked(&self.sources)?;
        let (mut inputs, mut worst, mut has_program) = (Vec::new(), Exit::Ok, false);
        // Number of files of each input.
        let mut counts = Vec::new();
        let formats: Vec<_> = self.inputs.iter().map(|path| is_data_file(path)).collect();
        let external = !self.sources.with.is_empty() || formats.iter().any(|format| matches!(format, Ok(true)));
        for (path, format) in self.inputs.iter().zip(formats) {
            match format.and_then(|_| self.open_one(path, external, &sources, dependencies, messages)) {
                Ok(mut found) => {
                    counts.push(found.len());
                    for (input, is_data) in &mut found {
                        input.file.is_companion |= *is_data && has_program;
                        has_program |= !*is_data;
                    }
                    inputs.extend(found.into_iter().map(|(input, _)| input));
                }
                Err(failure) => worst = worst.max(failure.report(messages)),
            }
        }
        sources.warn_unused(messages);
        if worst == Exit::Ok {
            self.name(&mut inputs, &counts)?;
        }
        Ok((inputs, worst))
    }

    /// Opens an input. Returns its files, and true for each `.ptd`.
    fn open_one(
        &self,
        path: &Path,
        external: bool,
        sources: &Sources<'_>,
        dependencies: &mut Dependencies,
        messages: &Messages,
    ) -> Result<Vec<(Input, bool)>, Failure> {
        let on_disk = Some(path.to_owned()).filter(|path| path.as_os_str() != STREAM);
        if self.any && on_disk.is_some() && !io::is_source_name(path) {
            let model = Model::open_binary(path);
            let is_data = model.format()? == Some(Format::FlatTensor);
            let file = match model.format()? {
                Some(Format::Program | Format::BundledProgram | Format::FlatTensor) => {
                    self.files(&model, external)?.remove(0)
                }
                Some(Format::Safetensors) | None => model.embedded_bytes()?,
            };
            return Ok(vec![(Input { file, path: on_disk }, is_data)]);
        }
        let mut found = Vec::new();
        for model in sources.open(path)? {
            let files = self.files(&model, external)?;
            dependencies.add_model(&model)?;
            let is_data = |index: usize| match model.is_text() {
                true => Ok(index > 0 || model.assembly()?.program_file().is_none()),
                false => Ok(model.format()? == Some(Format::FlatTensor)),
            };
            if model.is_text() {
                messages.report(&model.assembly()?.warnings);
            }
            for (index, file) in files.into_iter().enumerate() {
                let path = on_disk.clone().filter(|_| !model.is_text());
                found.push((Input { file, path }, is_data(index).map_err(|error: Error| error)?));
            }
        }
        Ok(found)
    }

    /// Returns the files of an input; `external`: a program is loaded with `.ptd` files.
    fn files(&self, model: &Model, external: bool) -> Result<Vec<EmbeddedFile>, Error> {
        let options = EmbeddedFileOptions::default().facts(self.facts).external(external);
        model.embedded_files(&options)
    }

    /// Names the arrays.
    fn name(&self, inputs: &mut [Input], counts: &[usize]) -> Result<(), Failure> {
        if let ([input], [], Some(symbol)) = (&mut *inputs, &self.symbol[..], self.style.symbol) {
            input.file.symbol = Symbol::from_name(symbol);
        }
        if !self.symbol.is_empty() && self.symbol.len() != counts.len() {
            let (files, symbols) = (counted(counts.len(), "file"), counted(self.symbol.len(), "name"));
            return Err(Failure::Usage(format!("`--symbol` gives {symbols} to {files}: expected one for each file")));
        }
        let mut first = 0;
        for (symbol, count) in self.symbol.iter().zip(counts) {
            inputs[first].file.symbol = symbol.clone();
            first += count;
        }
        Ok(())
    }
}

/// Returns true for a `.ptd` on disk.
///
/// # Errors
/// A file that cannot be read.
fn is_data_file(path: &Path) -> Result<bool, Failure> {
    Ok(path.as_os_str() != STREAM && Model::open_binary(path).format()? == Some(Format::FlatTensor))
}

/// Returns the output files. `paths` are those of the arrays that are files on disk.
fn targets<'a>(
    embedding: &'a Embedding,
    paths: &[Option<PathBuf>],
    form: Form,
    stem: &Path,
) -> Result<Vec<Target<'a>>, Failure> {
    let with = |extension: &str| {
        let mut path = stem.as_os_str().to_owned();
        path.push(extension);
        PathBuf::from(path)
    };
    let text = |path: PathBuf, content: Content<'a>| Target { path, size: 0, is_text: true, content };
    let header = with(".h");
    let header_name = header.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if form == Form::Header {
        let content: Content<'a> = Box::new(|out| embedding.write_whole_header(&mut Writer(out)));
        return Ok(vec![Target { size: embedding.source_size(), ..text(header, content) }]);
    }
    let mut targets = vec![text(header, Box::new(|out| embedding.write_header(&mut Writer(out))))];
    if form == Form::Source {
        let content: Content<'a> = Box::new(move |out| embedding.write_source(&header_name, &mut Writer(out)));
        targets.push(Target { size: embedding.source_size(), ..text(with(".c"), content) });
        return Ok(targets);
    }
    let folder = stem.parent().unwrap_or(Path::new(""));
    let mut names = Vec::new();
    for (file, path) in embedding.files().iter().zip(paths) {
        let Some(path) = path else {
            // The assembler reads a copy.
            let name = match embedding.files().len() {
                1 => with(".bin"),
                _ => with(&format!("-{}.bin", file.symbol)),
            };
            names.push(name.file_name().unwrap_or_default().to_string_lossy().into_owned());
            let content: Content<'a> = Box::new(|out| out.blob(&file.content));
            targets.push(Target { path: name, size: file.content.len(), is_text: false, content });
            continue;
        };
        names.push(relative(path, folder)?);
    }
    targets.push(text(with(".S"), Box::new(move |out| embedding.write_assembly(&names, &mut Writer(out)))));
    if embedding.has_tables() {
        let content: Content<'a> = Box::new(move |out| embedding.write_tables(&header_name, &mut Writer(out)));
        targets.push(text(with("_tables.c"), content));
    }
    Ok(targets)
}

/// Returns the path of a file relative to a folder, with `/` between its parts.
///
/// # Errors
/// A path that is not UTF-8, or on another drive.
fn relative(path: &Path, folder: &Path) -> Result<String, Failure> {
    let (file, base) = (io::canonical(path), io::canonical(&folder.join("x")));
    let base = base.parent().unwrap_or(Path::new(""));
    io::relative(base, &file).and_then(|path| io::with_slashes(&path)).ok_or_else(|| {
        let (path, folder) = (path.display(), folder.display());
        Failure::Usage(format!(
            "{path} has no path in UTF-8 that is relative to the output folder {folder}: copy it there"
        ))
    })
}

/// Returns an error if an output would replace a file that was read, or another output.
fn check_targets(targets: &[Target<'_>], dependencies: &Dependencies) -> Result<(), Failure> {
    let mut taken = HashSet::new();
    for Target { path, .. } in targets {
        io::check_output(path, dependencies.paths()).map_err(Failure::Usage)?;
        if !taken.insert(io::canonical(path)) {
            return Err(Failure::Usage(format!("two outputs have the same path {}; rename one", path.display())));
        }
    }
    Ok(())
}

/// Text that this command has written.
const OWN: Replaced = Replaced::Generated(|head| head.starts_with(EMBED_BANNER));

fn summary(embedding: &Embedding, targets: &[Target<'_>]) -> String {
    let names: Vec<String> =
        targets.iter().map(|target| escaped(&target.path.display().to_string()).into_owned()).collect();
    let mut out = format!("{}\n", names.join(", "));
    for file in embedding.files() {
        let (symbol, size, alignment) =
            (&file.symbol, counted(file.content.len(), "byte"), embedding.alignment_of(file));
        out += &format!("  {symbol}: {size} of {}, aligned to {alignment}\n", escaped(&file.name));
    }
    out
}
