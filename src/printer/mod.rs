//! Prints a file as YAML, without what assembling computes. Assembling the YAML shows which hints it needs, and verifies that it
//! reproduces the file byte for byte.
//!
//! Weights are not loaded: the YAML refers to ranges of the file.

mod data;
mod extracted;
mod graph;
mod graph_inference;
mod layout;
mod method;
mod nearest;
mod numbering;
mod options;
mod overrides;
pub(crate) mod payload;
mod shared_state;
mod stacktrace;
mod test_cases;
mod views;
pub(crate) mod yaml;

use std::cell::RefCell;
use std::fmt::Write;
use std::io;
use std::path::Path;

use data::DataPrinter;
pub use extracted::ExtractedFile;
use extracted::ExtractedFiles;
use graph::PayloadGraphs;
use method::{Hints, MethodPrinter, SharedPlaces};
pub use method::{MethodValues, PrintStats};
use options::Printer;
pub use options::{Assembler, LargeData, PayloadForm, PrintOptions};
use overrides::OverrideSearch;
use yaml::FlowMap;

use crate::assembly::{Assembly, OutputFile};
use crate::data::Origin;
use crate::data::workers;
use crate::diagnostics::escaped;
use crate::emitter;
use crate::format::Format;
use crate::format::flat_tensor::FLAT_TENSOR;
use crate::format::program::PROGRAM;
use crate::format::serializer::{PROGRAM_VERSION, Serializer};
use crate::layout::LayoutConfig;
use crate::layout::memory::{DEFAULT_ALIGNMENT, XNNPACK_PADDING, calls_xnnpack};
use crate::program::attributes::TENSOR_ATTRIBUTES;
use crate::program::test_cases::MethodTests;
use crate::program::{Chain, EValue, ExecutionPlan, Memory, MemoryPlanner, Program, TensorData};
use crate::raw::{FileOverrides, residue};
use crate::reader;
use crate::recover;
use crate::recover::layout::{RecoveredFlatTensor, RecoveredPlacement};

/// A file as YAML.
#[derive(Debug)]
pub struct Printed {
    /// YAML.
    pub text: String,
    /// First difference between the original and the assembled file; `None` if the YAML reproduces the file byte for byte.
    pub difference: Option<String>,
    /// Files that the YAML refers to, by path: those of [`LargeData::Extract`].
    pub files: Vec<ExtractedFile>,
    /// What the YAML states of the values; zeros for a file without methods.
    pub stats: PrintStats,
}

impl Printed {
    /// YAML that reproduces the file.
    fn exact(text: String) -> Printed {
        Printed { text, difference: None, files: Vec::new(), stats: PrintStats::default() }
    }
}

/// Prints a file of any format, detected by its identifier, with paths relative to `folder`.
///
/// # Errors
/// A file that cannot be read, or has an unknown format.
pub fn print(origin: &Origin, folder: &Path, options: &PrintOptions, assembler: &Assembler<'_>) -> io::Result<Printed> {
    let extracted = RefCell::new(ExtractedFiles::default());
    let printer = Printer { folder, options, assembler, extracted: &extracted };
    let mut printed = match origin.format()? {
        Some(Format::FlatTensor) => print_flat_tensor(origin, printer),
        Some(Format::BundledProgram) => print_bundled(origin, printer),
        Some(Format::Safetensors) => {
            let message = "expected a .pte, .ptd or .bpte file, found a .safetensors; convert it with `-o FILE.ptd`, and print that";
            Err(io::Error::other(message))
        }
        Some(Format::Program) | None => print_program(origin, printer),
    }?;
    printed.files = extracted.into_inner().used_by(&printed.text);
    Ok(printed)
}

/// Returns what the YAML of each method of a program that is read from a file would say of its values.
pub fn values(program: &Program) -> Vec<MethodValues> {
    let payloads = PayloadGraphs::default();
    let shared = SharedPlaces::of(program);
    let values = |plan| MethodPrinter::new(program, &payloads, plan, Hints::default(), false, &shared).values();
    program.plans().iter().map(values).collect()
}

/// Prints a `.pte`.
///
/// # Errors
/// A file that cannot be read, or is not a program.
fn print_program(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    let read = reader::program::read(origin);
    let printed = read.and_then(|found| print_with_tests(found, origin, None, printer));
    if printed.as_ref().is_ok_and(|printed| printed.difference.is_none()) {
        return printed;
    }
    // The header may be malformed, or the file truncated.
    let repaired = recover::repair::program(origin)?;
    if repaired.is_none() && printed.is_ok() {
        return printed;
    }
    let repaired = repaired.unwrap_or_else(|| origin.clone());
    let found = reader::program::read_cut(&repaired);
    match found.and_then(|found| print_with_tests(found, origin, None, printer)) {
        Ok(repaired) if printed.is_err() || repaired.difference.is_none() => Ok(repaired),
        // Report the error of the original file, not of the repaired copy.
        _ => printed,
    }
}

/// Prints a `.bpte`: its program, and the tests with the methods.
///
/// # Errors
/// A file that cannot be read, or is not a bundled program.
fn print_bundled(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    let found = reader::bundled_program::read(origin)?;
    let file = origin.head(origin.len()?)?;
    let program = found.program.to_vec()?;
    let same = |order: &Serializer| {
        emitter::bundled_program::emit(&program, &found.tests, *order, None).is_ok_and(|bytes| bytes[..] == file[..])
    };
    let order = Serializer::ALL.into_iter().find(same);
    let program = found.program_origin()?;
    let bundle = Bundle { tests: &found.tests, file: &file, order };
    print_with_tests(reader::program::read(&program)?, &program, Some(bundle), printer)
}

/// The tests of a `.bpte` and its bytes.
struct Bundle<'b> {
    tests: &'b [MethodTests],
    file: &'b [u8],
    /// Serializer that reproduces the file, if one does.
    order: Option<Serializer>,
}

impl Bundle<'_> {
    /// Returns a message if the assembled bundle differs from the file.
    fn difference(&self, assembly: &Assembly) -> Option<String> {
        let same = assembly.bundled().is_ok_and(|bundle| bundle.flatbuffer() == self.file);
        (!same).then(|| "the bundle differs outside its program".into())
    }
}

/// Prints a program, and the tests of its bundle. `found` was read from `origin`, or from a repaired copy.
fn print_with_tests(
    mut found: reader::program::ProgramContents,
    origin: &Origin,
    bundle: Option<Bundle<'_>>,
    printer: Printer<'_>,
) -> io::Result<Printed> {
    let options = printer.options;
    let tests = bundle.as_ref().map_or(&[][..], |bundle| bundle.tests);
    let placement = recover::layout::placement(&mut found)?;
    let inline = placement.as_ref().is_some_and(RecoveredPlacement::inline_delegates);
    let payloads = match options.payload {
        PayloadForm::Graph => PayloadGraphs::decode(&found.program, origin.len()?),
        PayloadForm::Opaque => PayloadGraphs::default(),
    };
    let mut hints = vec![Hints { everything: options.explicit, ..Hints::default() }; found.program.plans().len()];
    // Emitting the program to recover its layout takes as long as printing it.
    let recover = || placement.map_or(Ok(None), |placement| placement.layout(&found));
    let (recovered, (mut methods, body)) = workers::both(true, recover, || {
        let methods = printers(&found.program, &payloads, inline, &hints);
        let body = print_body(&found.program, &payloads, &methods, tests, printer);
        (methods, body)
    });
    let (recovered, body) = (recovered?, body?);
    let mut layout = recovered.as_ref().map(|recovered| recovered.options.clone()).unwrap_or_default();
    layout.bpte_builder = bundle.as_ref().and_then(|bundle| bundle.order).filter(|order| *order != layout.builder);
    let raw = match recovered.as_ref().filter(|recovered| recovered.exact) {
        // Patches apply only if the layout is exact: else they would be for another file.
        Some(recovered) => residue::patches(origin, &recovered.file(&found.program))?,
        None => FileOverrides::default(),
    };
    let suffix = print_layout(&layout, &raw, printer)?;
    let mut text = body + &suffix;
    // Field overrides may reproduce the file if the layout does not.
    let finish = |text: String, why: Option<String>| {
        if let (Some(_), None) = (&why, &bundle) {
            let body = &text[..text.len() - suffix.len()];
            let candidates = [layout.clone(), LayoutConfig { header: layout.header, ..LayoutConfig::default() }];
            // Prefer few patches.
            for most in [overrides::FEW, overrides::MANY] {
                if let Some(text) =
                    overridden_program(origin, &found.program, &payloads, body, &candidates, most, printer)?
                {
                    return Ok::<_, io::Error>(Printed::exact(text));
                }
            }
        }
        // The cause, if it is known, before its effect.
        let why = why.map(|why| match found.data.irregularity(found.segments.len()) {
            Some(cause) => format!("{cause}; {why}"),
            None => why,
        });
        Ok(finish(text, why))
    };
    let with_stats = |printed: Printed, methods: &[MethodPrinter<'_>]| {
        let mut stats = PrintStats::default();
        methods.iter().for_each(|method| stats += method.stats());
        Printed { stats, ..printed }
    };
    // Each round adds a missing hint or tries another plan of memory.
    let mut has_order = false;
    for _ in 0..16 {
        let assembly = match printer.assemble(&text) {
            Ok(assembly) => assembly,
            Err(error) if hints.iter().all(|hint| hint.everything) => {
                let why = format!("YAML cannot express the program: {error}");
                return Ok(with_stats(finish(text, Some(why))?, &methods));
            }
            Err(error) => {
                // The YAML has an error although the runtime may accept the file: state everything.
                for hint in hints.iter_mut().filter(|hint| !hint.everything) {
                    hint.everything = true;
                    hint.reason = Some(format!("shorter YAML has an error, {error}"));
                }
                methods = printers(&found.program, &payloads, inline, &hints);
                text = print_body(&found.program, &payloads, &methods, tests, printer)? + &suffix;
                continue;
            }
        };
        if !std::mem::replace(&mut has_order, true) && shared_state::differs(&assembly, &found.program) {
            let orders = shared_state::orders(&assembly.program, &found.program);
            if orders.iter().any(Option::is_some) {
                // Before the plans of the methods, which depend on it.
                hints.iter_mut().zip(orders).for_each(|(hint, order)| hint.shared_order = order);
                methods = printers(&found.program, &payloads, inline, &hints);
                text = print_body(&found.program, &payloads, &methods, tests, printer)? + &suffix;
                continue;
            }
        }
        let mut complete = true;
        for (method, hint) in hints.iter_mut().enumerate() {
            complete &= !add_hint(hint, &assembly, method, &found.program.plans()[method], &methods[method]);
        }
        if complete {
            let differs = match assembly.program_file() {
                Some(file) => layout::difference(origin, &file)?,
                None => Some("it has no methods".into()),
            };
            let differs = differs.or_else(|| bundle.as_ref().and_then(|bundle| bundle.difference(&assembly)));
            return Ok(with_stats(finish(text, differs)?, &methods));
        }
        methods = printers(&found.program, &payloads, inline, &hints);
        text = print_body(&found.program, &payloads, &methods, tests, printer)? + &suffix;
    }
    Ok(with_stats(finish(text, Some("no hints reproduce the methods".into()))?, &methods))
}

/// Returns YAML that reproduces a file with field overrides, of the program itself or of the nearest one that YAML can express.
fn overridden_program(
    origin: &Origin,
    program: &Program,
    payloads: &PayloadGraphs,
    body: &str,
    layouts: &[LayoutConfig],
    most: usize,
    printer: Printer<'_>,
) -> io::Result<Option<String>> {
    if body.len() > LONG {
        // Each attempt would take seconds.
        return Ok(None);
    }
    let overridden = |body: &str| {
        for layout in layouts {
            let print = |raw: &FileOverrides| Ok(body.to_owned() + &print_layout(layout, raw, printer)?);
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
        let body = print_body(&nearest, payloads, &printers(&nearest, payloads, false, &hints), &[], printer)?;
        if let Some(text) = overridden(&body)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Maximum size in bytes of YAML that is assembled repeatedly in search of field overrides.
const LONG: usize = 1 << 19;

fn finish(text: String, difference: Option<String>) -> Printed {
    match difference {
        None => Printed::exact(text),
        Some(why) => Printed {
            text: format!("# This YAML does not reproduce the file byte for byte: {}.\n{text}", escaped(&why)),
            difference: Some(why),
            ..Printed::exact(String::new())
        },
    }
}

/// Returns the printers of all methods.
fn printers<'p>(
    program: &'p Program,
    payloads: &'p PayloadGraphs,
    delegates_inline: bool,
    hints: &[Hints],
) -> Vec<MethodPrinter<'p>> {
    let plans = program.plans().iter().zip(hints);
    let shared = SharedPlaces::of(program);
    let printer = |(plan, hints): (&'p ExecutionPlan, &Hints)| {
        MethodPrinter::new(program, payloads, plan, hints.clone(), delegates_inline, &shared)
    };
    plans.map(printer).collect()
}

/// Prints methods, tests and named data.
fn print_body(
    program: &Program,
    payloads: &PayloadGraphs,
    methods: &[MethodPrinter<'_>],
    tests: &[MethodTests],
    printer: Printer<'_>,
) -> io::Result<String> {
    let mut out = String::new();
    let mut data = DataPrinter::with_name(printer);
    if program.version != PROGRAM_VERSION {
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
        let tensors = payloads.named_data(program);
        for entry in named {
            let blob = program.blob(entry.data);
            let bytes = match tensors.get(entry.key.as_str()) {
                Some(tensor) => data.typed(blob, tensor, &entry.key)?,
                None => data.bytes(blob, &entry.key)?,
            };
            let align = if entry.alignment > 1 { format!(", align: {}", entry.alignment) } else { String::new() };
            let _ = writeln!(out, "  {}: {{data: {bytes}{align}}}", yaml::text(&entry.key));
        }
    }
    Ok(data.files() + &out)
}

/// Prints `layout:` and `raw:`.
fn print_layout(layout: &LayoutConfig, raw: &FileOverrides, printer: Printer<'_>) -> io::Result<String> {
    let mut out = String::new();
    layout::print(layout, &mut out);
    layout::print_raw(raw, &mut out, &mut DataPrinter::new(printer))?;
    Ok(out)
}

/// Adds a hint that a method lacks; returns `true` if there is one.
fn add_hint(
    hint: &mut Hints,
    assembly: &Assembly,
    method: usize,
    original: &ExecutionPlan,
    printer: &MethodPrinter<'_>,
) -> bool {
    let Some(assembled) = assembly.program.plans().get(method) else { return false };
    let memory = &assembly.plan.memory[method];
    let before = hint.clone();
    let same_values = assembled.values().len() == original.values().len()
        && assembled.values().iter().zip(original.values()).all(|(a, b)| same_value(a, b, &assembly.program));
    if !same_values
        || !same_chains(assembled, original)
        || assembled.inputs != original.inputs
        || assembled.outputs != original.outputs
    {
        match () {
            () if assembled.operators != original.operators && !hint.operators => hint.operators = true,
            () => match numbering::pins(assembled, original, &hint.numbers, |value| printer.is_movable(value)) {
                Some(pins) if pins != hint.numbers => hint.numbers = pins,
                Some(_) | None if hint.everything => {}
                Some(_) | None => {
                    hint.everything = true;
                    hint.reason = Some("shorter YAML gives other values, or another order of them".into());
                }
            },
        }
    } else if assembled.operators != original.operators {
        hint.operators = true;
    } else {
        if !memory.is_stated_by(original) {
            // All combinations, those of the exporter's defaults first.
            match (hint.scratch, hint.planner, hint.alignment) {
                (false, ..) => hint.scratch = true,
                (true, MemoryPlanner::Greedy, _) => (hint.scratch, hint.planner) = (false, MemoryPlanner::Naive),
                (true, MemoryPlanner::Naive, None) if let Some(alignment) = common_alignment(original) => {
                    (hint.scratch, hint.planner) = (false, MemoryPlanner::Greedy);
                    hint.alignment = Some(alignment);
                }
                (true, MemoryPlanner::Naive, _) => {
                    (hint.scratch, hint.planner, hint.alignment) = (false, MemoryPlanner::GreedyNoOverlap, None);
                }
                (true, MemoryPlanner::GreedyNoOverlap, _) => (hint.scratch, hint.memory) = (false, true),
            }
        }
        let numbers = assembly.plan.buffer_index[method].iter().zip(original.values());
        hint.external |= numbers.into_iter().any(|(planned, value)| {
            let data = value.as_tensor().map(|tensor| &tensor.data);
            matches!(data, Some(TensorData::Elsewhere(Some(index))) if index != planned)
        });
    }
    *hint != before
}

/// Returns the largest power of two of which the offsets of all planned tensors and the sizes of the pools are multiples, if it exceeds the
/// default alignment. Pools of methods with XNNPACK delegates may have padding.
fn common_alignment(plan: &ExecutionPlan) -> Option<u64> {
    let offsets = plan.tensors().filter_map(|(_, tensor)| match tensor.memory {
        Memory::At { offset, .. } => Some(offset),
        Memory::None | Memory::Auto { .. } | Memory::View { .. } => None,
    });
    let bits = offsets.fold(0, |bits, offset| bits | offset);
    let sizes = plan.memory.non_const_buffer_sizes.iter().flatten().filter_map(|size| u64::try_from(*size).ok());
    let sizes: Vec<u64> = sizes.collect();
    let has_padding = calls_xnnpack(plan);
    let fits = |alignment: &u64| {
        let is_multiple = |size: &u64| size.is_multiple_of(*alignment);
        let is_padded =
            |size: &u64| has_padding && size.checked_sub(XNNPACK_PADDING).is_some_and(|size| is_multiple(&size));
        is_multiple(&bits)
            && sizes.iter().any(|size| *size > 0)
            && sizes.iter().all(|size| is_multiple(size) || is_padded(size))
    };
    (DEFAULT_ALIGNMENT.trailing_zeros() + 1..u64::BITS).rev().map(|power| 1 << power).find(fits)
}

/// Returns `true` if the chains of two methods are equal, with absent lists of inputs and outputs equal to empty ones: indices and offsets
/// would not make a difference to them, but field overrides do.
fn same_chains(a: &ExecutionPlan, b: &ExecutionPlan) -> bool {
    let list = |list: &Option<Vec<i32>>| list.clone().unwrap_or_default();
    let same = |a: &Chain, b: &Chain| {
        list(&a.inputs) == list(&b.inputs)
            && list(&a.outputs) == list(&b.outputs)
            && a.instructions == b.instructions
            && a.stacktrace == b.stacktrace
    };
    match (&a.chains, &b.chains) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (a, b) => a == b,
    }
}

/// Returns `true` if two values are equal except for the location of tensors and their data.
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
                TensorData::None | TensorData::Elsewhere(_) => None,
            };
            (a.scalar_type, &a.sizes, &a.dim_order) == (b.scalar_type, &b.sizes, &b.dim_order)
                && TENSOR_ATTRIBUTES.iter().all(|attribute| (attribute.get)(a) == (attribute.get)(b))
                && tag(a) == tag(b)
                && has_data(&a.data) == has_data(&b.data)
                // A view of a constant may have its first bytes only.
                && of(&a.data).is_none_or(|len| b.nbytes().is_some_and(|nbytes| nbytes <= len))
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
/// A file that cannot be read, or is not a `.ptd`.
fn print_flat_tensor(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    match print_flat_tensor_from(origin, origin, printer) {
        Ok(printed) => Ok(printed),
        Err(error) => match recover::repair::flat_tensor(origin)? {
            Some(repaired) => print_flat_tensor_from(&repaired, origin, printer).map_err(|_| error),
            None => Err(error),
        },
    }
}

/// Prints the `.ptd` in `origin`, read from `source`: itself or a repaired copy.
fn print_flat_tensor_from(source: &Origin, origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    let RecoveredFlatTensor { program, options: layout, emitted } = recover::layout::flat_tensor(source)?;
    let raw = match &emitted {
        Some((metadata, segments)) => residue::patches(source, &metadata.file(segments, &program.blobs))?,
        None => FileOverrides::default(),
    };
    let out = print_keys(&program, printer)?;
    let text = out.clone() + &print_layout(&layout, &raw, printer)?;
    let difference = match printer.assemble(&text) {
        Ok(assembly) => match assembly.data_files().next() {
            Some((_, file)) => layout::difference(origin, &file)?,
            None => Some("it has no keys".into()),
        },
        Err(error) => Some(format!("YAML cannot express the file: {error}")),
    };
    if difference.is_some() {
        let nearest = print_keys(&nearest::program(&program), printer)?;
        for body in [&out, &nearest] {
            let print = |raw: &FileOverrides| Ok(body.clone() + &print_layout(&layout, raw, printer)?);
            let (root, most) = (&FLAT_TENSOR, overrides::MANY);
            let search = OverrideSearch { origin, printer, root, most, print: &print, file: first_data_file };
            if let Some(text) = search.text()? {
                return Ok(Printed::exact(text));
            }
        }
    }
    Ok(finish(text, difference))
}

/// Prints the keys of a `.ptd` and their data.
fn print_keys(program: &Program, printer: Printer<'_>) -> io::Result<String> {
    let mut out = String::from("named_data:\n");
    let mut data = DataPrinter::with_name(printer);
    for entry in &program.external_data {
        let _ = write!(out, "  {}: ", yaml::text(&entry.key));
        let mut fields = FlowMap::new(&mut out);
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
    Ok(data.files() + &out)
}

fn first_data_file(assembly: &Assembly) -> Option<OutputFile<'_>> {
    assembly.data_files().next().map(|(_, file)| file)
}

fn as_tensor(layout: &crate::program::TensorLayout) -> crate::program::Tensor {
    let mut tensor = crate::program::Tensor::new(layout.scalar_type, &layout.sizes);
    tensor.dim_order = Some(layout.dim_order.clone().into());
    tensor
}
