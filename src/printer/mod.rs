//! Program -> text, as a person would have written it: what assembling computes is left out. Which hints are needed is
//! found by assembling the text and looking at what comes out; whether it gives the file back, bit for bit, too.
//!
//! Weights are not loaded: they are ranges of the file.

mod data;
mod layout;
mod method;
mod nearest;
mod options;
mod overrides;
mod test_cases;
pub(crate) mod yaml;

use std::fmt::Write;
use std::io;

use data::DataPrinter;
pub use data::LargeData;
pub use options::{PrintOptions, Printer};
use method::{Hints, MethodPrinter};
use overrides::OverrideSearch;
use yaml::Fields;

use crate::data::workers;
use crate::emitter;
use crate::format::flat_tensor::FLAT_TENSOR;
use crate::format::program::PROGRAM;
use crate::format::serializer::Serializer;
use crate::layout::Options;
use crate::program::attributes::TENSOR_ATTRIBUTES;
use crate::program::test_cases::MethodTests;
use crate::program::{EValue, ExecutionPlan, Program, TensorData};
use crate::raw::{FileOverrides, residue};
use crate::data::Origin;
use crate::format::Format;
use crate::reader;
use crate::recover;
use crate::recover::layout::{Explained, FlatTensor};
use crate::assembly::{Assembly, OutputFile};
use crate::format::container;

/// A file as text.
#[derive(Debug)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Why the text does not give the file back bit for bit, if it does not: which part differs.
    pub difference: Option<String>,
}

/// Prints a file of any of the formats, told apart by its identifier.
///
/// # Errors
/// A file that cannot be read, or is of none of the formats.
pub fn print(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    match Format::identify(&origin.head(container::IDENTIFYING)?, origin.len()?) {
        Some(Format::FlatTensor) => print_flat_tensor(origin, printer),
        Some(Format::BundledProgram) => print_bundled(origin, printer),
        _ => print_program(origin, printer),
    }
}

/// Prints a `.pte`.
///
/// # Errors
/// A file that cannot be read, or is no program.
fn print_program(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    let read = reader::program::read(origin);
    let printed = read.and_then(|found| print_with_tests(found, origin, None, printer));
    if printed.as_ref().is_ok_and(|printed| printed.difference.is_none()) {
        return printed;
    }
    // Perhaps its frame lies, or its end is missing.
    let mended = recover::repair::program(origin)?;
    if mended.is_none() && printed.is_ok() {
        return printed;
    }
    let mended = mended.unwrap_or_else(|| origin.clone());
    let found = reader::program::read_cut(&mended);
    match found.and_then(|found| print_with_tests(found, origin, None, printer)) {
        Ok(lying) if printed.is_err() || lying.difference.is_none() => Ok(lying),
        // What is said is said of the file, not of what was tried.
        _ => printed,
    }
}

/// Prints a `.bpte`: its program, and the tests with the methods.
///
/// # Errors
/// A file that cannot be read, or is no bundled program.
fn print_bundled(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    let found = reader::bundled_program::read(origin)?;
    let file = origin.head(origin.len()?)?;
    let program = found.program.to_vec()?;
    let same = |order: &Serializer| {
        emitter::bundled_program::emit(&program, &found.tests, *order, None).is_ok_and(|made| made[..] == file[..])
    };
    let order = [Serializer::Exir, Serializer::Flatc].into_iter().find(same);
    let program = found.program_origin()?;
    let bundle = Bundle { tests: &found.tests, file: &file, order };
    print_with_tests(reader::program::read(&program)?, &program, Some(bundle), printer)
}

/// What a `.bpte` has beyond its program.
struct Bundle<'b> {
    tests: &'b [MethodTests],
    file: &'b [u8],
    /// The order that gives the file, if one does.
    order: Option<Serializer>,
}

impl Bundle<'_> {
    /// What of a bundle is not as in the file, whose program is.
    fn difference(&self, assembly: &Assembly) -> Option<String> {
        let same = assembly.bundled().is_ok_and(|bundle| bundle.flatbuffer() == self.file);
        (!same).then(|| "the bundled program differs, though the program in it does not".into())
    }
}

/// Prints a program, and what a bundle has beyond it. It was read from `origin`, or from a repaired copy of it.
fn print_with_tests(
    mut found: reader::program::Found,
    origin: &Origin,
    bundle: Option<Bundle<'_>>,
    printer: Printer<'_>,
) -> io::Result<Printed> {
    let Printer { folder, options, assemble } = printer;
    let tests = bundle.as_ref().map_or(&[][..], |bundle| bundle.tests);
    let explained = recover::layout::explain(&mut found)?;
    let inline = explained.as_ref().is_some_and(Explained::inline_delegates);
    let mut hints = vec![Hints { everything: options.explicit, ..Hints::default() }; found.program.plans().len()];
    // Writing the program anew, which tells the rest of its layout, takes as long as printing it.
    let (guess, body) = std::thread::scope(|scope| {
        let found = &found;
        let guess = scope.spawn(|| explained.map_or(Ok(None), |explained| explained.guess(found)));
        let body = print_body(&found.program, &printers(&found.program, inline, &hints), tests, options);
        Ok::<_, io::Error>((workers::join(guess)?, body?))
    })?;
    let mut layout = guess.as_ref().map(|guess| guess.options.clone()).unwrap_or_default();
    layout.bpte_builder = bundle.as_ref().and_then(|bundle| bundle.order).filter(|order| *order != layout.builder);
    let raw = match guess.as_ref().filter(|guess| guess.explained) {
        // What is not explained is not patched either: the patches would be for another file.
        Some(guess) => residue::patches(origin, &guess.file(&found.program))?,
        None => FileOverrides::default(),
    };
    let frame = print_frame(&layout, &raw, options)?;
    let mut text = body + &frame;
    // A file that this does not reproduce may be reproduced with field overrides.
    let finish = |text: String, why: Option<String>| {
        if let (Some(_), None) = (&why, &bundle) {
            let body = &text[..text.len() - frame.len()];
            let candidates = [layout.clone(), Options { header: layout.header, ..Options::default() }];
            // Better few odd bytes than many.
            for most in [overrides::FEW, overrides::MANY] {
                if let Some(text) = overridden_program(origin, &found.program, body, &candidates, most, printer)? {
                    return Ok(Printed { text, difference: None });
                }
            }
        }
        Ok(finish(text, why))
    };
    // Each round adds a hint where one is missing; a method can get five.
    for _ in 0..8 {
        let Some(assembly) = assemble(&text, folder) else {
            if hints.iter().all(|hint| hint.everything) {
                return finish(text, Some("the program is of a kind that YAML cannot express yet".into()));
            }
            // Somewhere a rule of the text is broken by a file that the runtime may well take: say everything.
            hints.iter_mut().for_each(|hint| hint.everything = true);
            text = print_body(&found.program, &printers(&found.program, inline, &hints), tests, options)? + &frame;
            continue;
        };
        let mut complete = true;
        for (method, hint) in hints.iter_mut().enumerate() {
            complete &= !add_hint(hint, &assembly, method, &found.program.plans()[method]);
        }
        if complete {
            let differs = match assembly.program_file() {
                Some(file) => layout::difference(origin, &file)?,
                None => Some("it has no methods".into()),
            };
            let differs = differs.or_else(|| bundle.as_ref().and_then(|bundle| bundle.difference(&assembly)));
            return finish(text, differs);
        }
        text = print_body(&found.program, &printers(&found.program, inline, &hints), tests, options)? + &frame;
    }
    finish(text, Some("no set of hints was found that gives the methods back".into()))
}

/// YAML that reproduces a file with field overrides: that of the program itself, or of the nearest one that YAML can express.
fn overridden_program(
    origin: &Origin,
    program: &Program,
    body: &str,
    layouts: &[Options],
    most: usize,
    printer: Printer<'_>,
) -> io::Result<Option<String>> {
    let options = printer.options;
    if body.len() > LONG {
        // What takes seconds to assemble is not tried again and again.
        return Ok(None);
    }
    let overridden = |body: &str| {
        for layout in layouts {
            let print = |raw: &FileOverrides| Ok(body.to_owned() + &print_frame(layout, raw, options)?);
            let file = Assembly::program_file;
            let search = OverrideSearch { origin, printer, root: &PROGRAM, most, print: &print, file };
            if let Some(text) = search.text()? {
                return Ok(Some(text));
            }
        }
        Ok::<_, io::Error>(None)
    };
    if let Some(text) = overridden(body)? {
        return Ok(Some(text));
    }
    let nearest = nearest::program(program);
    for hints in [Hints::default(), Hints { everything: true, ..Hints::default() }] {
        let hints = vec![hints; nearest.plans().len()];
        let body = print_body(&nearest, &printers(&nearest, false, &hints), &[], options)?;
        if let Some(text) = overridden(&body)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Longer YAML is not assembled again and again in search of field overrides.
const LONG: usize = 1 << 19;

fn finish(text: String, difference: Option<String>) -> Printed {
    match difference {
        None => Printed { text, difference: None },
        Some(why) => Printed {
            text: format!("# Assembling this text does not give the file back bit for bit: {why}.\n{text}"),
            difference: Some(why),
        },
    }
}

/// The methods on their way to text.
fn printers<'p>(program: &'p Program, delegates_inline: bool, hints: &[Hints]) -> Vec<MethodPrinter<'p>> {
    let plans = program.plans().iter().zip(hints);
    plans.map(|(plan, hints)| MethodPrinter::new(program, plan, *hints, delegates_inline)).collect()
}

/// What a program means.
fn print_body(
    program: &Program,
    methods: &[MethodPrinter<'_>],
    tests: &[MethodTests],
    options: &PrintOptions,
) -> io::Result<String> {
    let mut out = String::new();
    let mut data = DataPrinter::new(&options.large_data, &options.file);
    if program.version != 0 {
        let _ = writeln!(out, "version: {}", program.version);
    }
    out.push_str(if program.plans().is_empty() { "methods: {}\n" } else { "methods:\n" });
    for (plan, method) in program.plans().iter().zip(methods) {
        let _ = writeln!(out, "  {}:", yaml::text(plan.name.as_deref().unwrap_or_default()));
        method.print(&mut out, &mut data)?;
        if let Some(tests) = tests.iter().find(|tests| Some(&tests.method) == plan.name.as_ref()) {
            test_cases::print(tests, &mut out, &mut data)?;
        }
    }
    if let Some(named) = &program.named_data {
        out.push_str(if named.is_empty() { "named_data: {}\n" } else { "named_data:\n" });
        for entry in named {
            let bytes = data.bytes(program.blob(entry.data), &entry.key)?;
            let align = if entry.alignment > 1 { format!(", align: {}", entry.alignment) } else { String::new() };
            let _ = writeln!(out, "  {}: {{data: {bytes}{align}}}", yaml::text(&entry.key));
        }
    }
    Ok(out)
}

/// How it is laid out.
fn print_frame(layout: &Options, raw: &FileOverrides, options: &PrintOptions) -> io::Result<String> {
    let mut out = String::new();
    layout::print(layout, &mut out);
    layout::print_raw(raw, &mut out, &mut DataPrinter::new(&options.large_data, &options.file))?;
    Ok(out)
}

/// Adds the hint that a method lacks, if it lacks one: `true` if so.
fn add_hint(hint: &mut Hints, assembly: &Assembly, method: usize, wanted: &ExecutionPlan) -> bool {
    let Some(made) = assembly.program.plans().get(method) else { return false };
    let memory = &assembly.plan.memory[method];
    let before = *hint;
    let same_values = made.values().len() == wanted.values().len()
        && made.values().iter().zip(wanted.values()).all(|(a, b)| same_value(a, b, &assembly.program));
    if !same_values || made.chains != wanted.chains || made.inputs != wanted.inputs || made.outputs != wanted.outputs {
        match () {
            () if made.operators != wanted.operators && !hint.operators => hint.operators = true,
            () if !hint.late_numbers => hint.late_numbers = true,
            () if !hint.numbers => hint.numbers = true,
            () => hint.everything = true,
        }
    } else if made.operators != wanted.operators {
        hint.operators = true;
    } else {
        hint.memory |= !memory.is_stated_by(wanted);
        let numbers = assembly.plan.buffer_index[method].iter().zip(wanted.values());
        hint.external |= numbers.into_iter().any(|(made, value)| match value {
            EValue::Tensor(tensor) => matches!(tensor.data, TensorData::Elsewhere(Some(wanted)) if wanted != *made),
            _ => false,
        });
    }
    *hint != before
}

/// Whether two values are the same but for where they lie and where their data come from.
fn same_value(a: &EValue, b: &EValue, program: &Program) -> bool {
    match (a, b) {
        (EValue::Tensor(a), EValue::Tensor(b)) => {
            let tag = |tensor: &crate::program::Tensor| {
                let mut extra = tensor.extra_tensor_info.clone();
                extra.iter_mut().for_each(|extra| extra.tag = None);
                extra
            };
            let has_data = |data: &TensorData| std::mem::discriminant(data);
            let of = |data: &TensorData| match data {
                TensorData::Blob(id) => Some(program.blob(*id).len),
                _ => None,
            };
            (a.scalar_type, &a.sizes, &a.dim_order) == (b.scalar_type, &b.sizes, &b.dim_order)
                && TENSOR_ATTRIBUTES.iter().all(|attribute| (attribute.get)(a) == (attribute.get)(b))
                && tag(a) == tag(b)
                && has_data(&a.data) == has_data(&b.data)
                && of(&a.data).is_none_or(|len| Some(len) == b.nbytes())
        }
        (EValue::Double(a), EValue::Double(b)) => a.to_bits() == b.to_bits(),
        (EValue::DoubleList(Some(a)), EValue::DoubleList(Some(b))) => {
            a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
        }
        (a, b) => a == b,
    }
}

/// Prints a `.ptd`.
///
/// # Errors
/// A file that cannot be read, or is no `.ptd`.
fn print_flat_tensor(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    match print_flat_tensor_from(origin, origin, printer) {
        Ok(printed) => Ok(printed),
        Err(error) => match recover::repair::flat_tensor(origin)? {
            Some(mended) => print_flat_tensor_from(&mended, origin, printer).map_err(|_| error),
            None => Err(error),
        },
    }
}

/// Prints a `.ptd`, read from itself or from a mended copy.
fn print_flat_tensor_from(
    source: &Origin,
    origin: &Origin,
    printer: Printer<'_>,
) -> io::Result<Printed> {
    let Printer { folder, options, assemble } = printer;
    let FlatTensor { program, options: layout, explained } = recover::layout::flat_tensor(source)?;
    let raw = match &explained {
        Some((metadata, segments)) => residue::patches(source, &metadata.file(segments, &program.blobs))?,
        None => FileOverrides::default(),
    };
    let out = print_keys(&program, options)?;
    let plain = out.clone() + &print_frame(&layout, &raw, options)?;
    let difference = match assemble(&plain, folder) {
        Some(assembly) => match assembly.data_files().next() {
            Some((_, file)) => layout::difference(origin, &file)?,
            None => Some("it has no keys".into()),
        },
        None => Some("the file is of a kind that YAML cannot express yet".into()),
    };
    if difference.is_some() {
        let nearest = print_keys(&nearest::program(&program), options)?;
        for body in [&out, &nearest] {
            let print = |raw: &FileOverrides| Ok(body.clone() + &print_frame(&layout, raw, options)?);
            let (root, most) = (&FLAT_TENSOR, overrides::MANY);
            let search = OverrideSearch { origin, printer, root, most, print: &print, file: first_data_file };
            if let Some(text) = search.text()? {
                return Ok(Printed { text, difference: None });
            }
        }
    }
    Ok(finish(plain, difference))
}

/// The keys of a `.ptd` and their data.
fn print_keys(program: &Program, options: &PrintOptions) -> io::Result<String> {
    let mut out = String::from("named_data:\n");
    let mut data = DataPrinter::new(&options.large_data, &options.file);
    for entry in &program.external_data {
        let _ = write!(out, "  {}: ", yaml::text(&entry.key));
        let mut fields = Fields::new(&mut out);
        let blob = program.blob(entry.data);
        let bytes = match &entry.tensor_layout {
            Some(layout) => {
                yaml::number(layout.scalar_type, fields.key("tensor"));
                yaml::list(fields.key("sizes"), &layout.sizes, yaml::number);
                if layout.dim_order[..] != *crate::program::contiguous(layout.sizes.len()) {
                    yaml::list(fields.key("dim_order"), &layout.dim_order, yaml::number);
                }
                data.tensor(blob, &as_tensor(layout), &entry.key)?
            }
            None => data.bytes(blob, &entry.key)?,
        };
        if entry.alignment > 1 {
            yaml::number(entry.alignment, fields.key("align"));
        }
        fields.key("data").push_str(&bytes);
        fields.end();
        out.push('\n');
    }
    Ok(out)
}

fn first_data_file(assembly: &Assembly) -> Option<OutputFile<'_>> {
    assembly.data_files().next().map(|(_, file)| file)
}

fn as_tensor(layout: &crate::program::TensorLayout) -> crate::program::Tensor {
    let mut tensor = crate::program::Tensor::new(layout.scalar_type, &layout.sizes);
    tensor.dim_order = Some(layout.dim_order.clone().into());
    tensor
}
