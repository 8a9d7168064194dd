//! Prints a program, alone or with the tests of its bundle. The YAML is assembled, and printed again with more hints,
//! until it gives the program.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::fmt::Write;
use std::io;

use super::data::DataPrinter;
use super::facts::MethodFacts;
use super::facts::names::{self, SharedPlaces};
use super::graph::PayloadGraphs;
use super::hints::{Hints, MemoryHints, Trial};
use super::options::{PayloadForm, Printer, Reproduction};
use super::overrides::{self, OverrideSearch};
use super::printed::Printed;
use super::stats::PrintStats;
use super::text::MethodText;
use super::{layout, nearest, newer, shared_state, test_cases};
use crate::assembly::Assembly;
use crate::detected;
use crate::detected::layout::RecoveredPlacement;
use crate::emitter;
use crate::ir::shape::{document, named_data};
use crate::ir::{write, yaml};
use crate::layout::LayoutConfig;
use crate::overrides::{FileOverrides, residue};
use pte_model::data::{BlobId, Origin, workers};
use pte_model::format::program::PROGRAM;
use pte_model::format::serializer::{PROGRAM_VERSION, Serializer};
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{ExecutionPlan, Program, UnknownParts};
use pte_model::reader;
use pte_releases::{Release, Version};
use pte_transform::for_release::{self, Target, exporter_of};

/// Prints a `.pte`.
///
/// # Errors
/// A file that cannot be read, or is not a program.
pub(super) fn print(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    let read = reader::program::read(origin);
    let printed = read.and_then(|found| print_with_tests(found, origin, None, printer));
    if printed.as_ref().is_ok_and(|printed| printed.difference.is_none()) {
        return printed;
    }
    // The header may be malformed, or the file truncated.
    let repaired = detected::repair::program(origin)?;
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
pub(super) fn print_bundled(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
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
    let placement = detected::layout::placement(&mut found)?;
    if placement.as_ref().is_some_and(|placement| !placement.keeps_newer_parts(&found.program)) {
        // They are in tables that the layout does not have, as in a malformed file: overrides may reproduce it.
        found.program.set_newer_parts(UnknownParts::default());
    }
    let payloads = match printer.options.payload {
        PayloadForm::Graph => PayloadGraphs::decode(&found.program, origin.len()?),
        PayloadForm::Opaque => PayloadGraphs::default(),
    };
    let program = ProgramYaml {
        delegates_inline: placement.as_ref().is_some_and(RecoveredPlacement::inline_delegates),
        tests: bundle.as_ref().map_or(&[], |bundle| bundle.tests),
        ..ProgramYaml::new(&found.program, &payloads, printer)
    };
    let mut hints = Hints { everything: printer.options.explicit, ..Hints::default() };
    let reproduction = printer.options.reproduction;
    hints.memory.replan = reproduction == Reproduction::AllButOffsets;
    // Recovering the layout emits the program, which takes as long as printing it.
    let recover = || placement.map_or(Ok(None), |placement| placement.layout(&found));
    let (recovered, first) = workers::both(true, recover, || Rounds::begin(program, hints));
    let (recovered, mut rounds) = (recovered?, first?);
    let mut layout = recovered.as_ref().map(|recovered| recovered.options.clone()).unwrap_or_default();
    layout.bpte_builder = bundle.as_ref().and_then(|bundle| bundle.order).filter(|order| *order != layout.builder);
    let exact = recovered.as_ref().filter(|recovered| recovered.exact && reproduction == Reproduction::File);
    let raw = match exact {
        // Patches need an exact layout, because their offsets would otherwise be those of another file.
        Some(recovered) => residue::patches(origin, &recovered.file(&found.program))?,
        None => FileOverrides::default(),
    };
    let release = if raw.is_empty() { release(&found, &layout)? } else { None };
    rounds.append(match release {
        Some((release, rest)) => layout::print_all(Some(release), &rest, &raw, printer)?,
        None => layout::print_all(None, &layout, &raw, printer)?,
    });
    if reproduction == Reproduction::Program {
        let difference = "its values are numbered and its memory is planned again".to_owned();
        return Ok(Printed { stats: rounds.stats(), ..Printed::new(rounds.text, Some(difference)) });
    }
    let replanned = (reproduction == Reproduction::AllButOffsets).then(|| rounds.replanned());
    let difference = rounds.complete(|assembly| {
        if replanned.is_some() {
            return Ok(replanned.clone());
        }
        let differs = match assembly.program_file() {
            Some(file) => layout::difference(origin, &file)?,
            None => Some("it has no methods".into()),
        };
        Ok(differs.or_else(|| bundle.as_ref().and_then(|bundle| bundle.difference(assembly))))
    })?;
    let stats = rounds.stats();
    // Field overrides may reproduce the file if the layout does not.
    if difference.is_some() && bundle.is_none() && reproduction == Reproduction::File {
        let layouts = [layout.clone(), LayoutConfig { header: layout.header, ..LayoutConfig::default() }];
        // Prefer few patches.
        for most in [overrides::FEW, overrides::MANY] {
            if let Some(text) = program.overridden(origin, rounds.body(), &layouts, most)? {
                return Ok(Printed { stats, ..Printed::new(text, None) });
            }
        }
    }
    // A known cause is reported before its effect.
    let difference = difference.map(|difference| match found.data.irregularity(found.segments.len()) {
        Some(cause) => format!("{cause}; {difference}"),
        None => difference,
    });
    Ok(Printed { stats, ..Printed::new(rounds.text, difference) })
}

/// Returns the newest release whose exporter wrote a program, and the layout options that it does not decide, if that
/// replaces several options: the program is expressed in this release as it is.
fn release(
    found: &reader::program::ProgramContents,
    layout: &LayoutConfig,
) -> io::Result<Option<(Version, LayoutConfig)>> {
    let has_segments = found.segments.iter().any(|(_, size)| *size > 0);
    let Some((exporter, rest)) = layout.exporter_of_program(has_segments) else { return Ok(None) };
    let release = Release::known().rfind(|release| exporter_of(release) == exporter);
    match release.as_ref().map(Target::of) {
        Some(target) if for_release::is_of(&found.program, &target)? => Ok(Some((target.release.version(), rest))),
        Some(_) | None => Ok(None),
    }
}

/// Maximum number of times that a program is assembled to find its hints.
const MAX_ROUNDS: usize = 16;

/// YAML of a program, which gets hints until assembling it gives the program.
struct Rounds<'p> {
    program: ProgramYaml<'p>,
    hints: Vec<Hints>,
    methods: Vec<MethodFacts<'p>>,
    /// YAML, which ends with `suffix`.
    text: String,
    /// Layout and overrides.
    suffix: String,
}

impl<'p> Rounds<'p> {
    /// Prints a program with the same hints for all methods.
    ///
    /// # Errors
    /// Data that cannot be read.
    fn begin(program: ProgramYaml<'p>, hints: Hints) -> io::Result<Rounds<'p>> {
        let plans = program.program.plans().iter();
        let hints = plans.map(|plan| {
            let mut hints = hints.clone();
            hints.memory.offsets |= !plan.can_be_planned();
            hints
        });
        let mut hints: Vec<Hints> = hints.collect();
        let mut methods = program.facts(&hints);
        let replanned = hints.iter_mut().zip(&methods).filter(|(hints, _)| hints.memory.replan);
        let mut keeps = false;
        for (hints, _) in replanned.filter(|(_, method)| method.shares_memory()) {
            (hints.memory.replan, keeps) = (false, true);
        }
        if keeps {
            methods = program.facts(&hints);
        }
        Ok(Rounds { program, hints, text: program.print(&methods)?, methods, suffix: String::new() })
    }

    /// Says which memory is planned again.
    fn replanned(&self) -> String {
        let mut text = "its memory is planned again".to_owned();
        for (plan, hints) in self.program.program.plans().iter().zip(&self.hints) {
            let why = match hints.memory {
                MemoryHints { offsets: true, .. } => "no planner can place its tensors",
                MemoryHints { replan: false, .. } => "tensors share bytes while they are alive",
                MemoryHints { .. } => continue,
            };
            let name = plan.name.as_deref().unwrap_or_default();
            text +=
                &format!("; method `{name}` keeps its offsets, because {why}: delete its `memory:` entries to plan it");
        }
        text
    }

    /// Prints the program with the current hints.
    fn print_again(&mut self) -> io::Result<()> {
        self.methods = self.program.facts(&self.hints);
        self.text = self.program.print(&self.methods)? + &self.suffix;
        Ok(())
    }

    /// Appends layout and overrides to the YAML.
    fn append(&mut self, suffix: String) {
        self.text.push_str(&suffix);
        self.suffix = suffix;
    }

    /// Returns the YAML without layout and overrides.
    fn body(&self) -> &str {
        &self.text[..self.text.len() - self.suffix.len()]
    }

    /// Returns the sum of the statistics of all methods.
    fn stats(&self) -> PrintStats {
        let mut stats = PrintStats::default();
        self.methods.iter().for_each(|method| method.count(&mut stats));
        stats
    }

    /// Adds hints until none is missing. Returns the `difference` of the assembled file then, or the reason why no YAML
    /// gives the program; `None` if the YAML reproduces it.
    ///
    /// # Errors
    /// Data that cannot be read.
    fn complete(&mut self, difference: impl Fn(&Assembly) -> io::Result<Option<String>>) -> io::Result<Option<String>> {
        let original = self.program.program;
        let (mut has_order, mut omitted) = (false, None);
        for _ in 0..MAX_ROUNDS {
            match self.program.printer.assemble(&self.text) {
                // The order precedes the plans of the methods, which depend on it.
                Ok(assembly) if !std::mem::replace(&mut has_order, true) && self.add_order(&assembly) => {}
                Ok(assembly) => {
                    let trial = LazyCell::new(|| Trial::new(&assembly.program));
                    let mut is_complete = true;
                    for (method, hints) in self.hints.iter_mut().enumerate() {
                        let facts = &self.methods[method];
                        let (plan, is_movable) = (&original.plans()[method], |value| facts.is_movable(value));
                        is_complete &= !hints.add(&assembly, method, plan, is_movable, facts.has_scratch(), &trial);
                    }
                    if is_complete {
                        let differs = difference(&assembly)?;
                        return Ok(omitted.or(differs));
                    }
                }
                // Tests that no YAML has, such as those of another number of inputs.
                Err(error) if !self.program.tests.is_empty() && self.assembles_without_tests()? => {
                    omitted = Some(format!("YAML cannot express the tests, which are left out: {error}"));
                    self.program.tests = &[];
                }
                Err(error) if self.hints.iter().all(|hints| hints.everything) => {
                    return Ok(Some(format!("YAML cannot express the program: {error}")));
                }
                // The YAML has an error although the runtime may accept the file.
                Err(error) => {
                    let hints = self.hints.iter_mut().filter(|hints| !hints.everything);
                    hints.for_each(|hints| hints.state_everything(format!("shorter YAML has an error, {error}")));
                }
            }
            self.print_again()?;
        }
        Ok(Some("no hints reproduce the methods".into()))
    }

    fn assembles_without_tests(&self) -> io::Result<bool> {
        let program = ProgramYaml { tests: &[], ..self.program };
        let text = program.print(&self.methods)? + &self.suffix;
        Ok(program.printer.assemble(&text).is_ok())
    }

    /// Adds the order in which the state that methods share was placed; returns `true` if that is not the order of the
    /// methods.
    fn add_order(&mut self, assembly: &Assembly) -> bool {
        let original = self.program.program;
        if !shared_state::differs(assembly, original) {
            return false;
        }
        let orders = shared_state::orders(&assembly.program, original);
        let is_other = orders.iter().any(Option::is_some);
        if is_other {
            self.hints.iter_mut().zip(orders).for_each(|(hints, order)| hints.memory.shared_order = order);
        }
        is_other
    }
}

/// Returns the payloads of several delegates.
fn shared_payloads(program: &Program) -> HashSet<BlobId> {
    let mut seen = HashSet::new();
    let delegates = program.plans().iter().flat_map(|plan| plan.delegates());
    delegates.map(|delegate| delegate.processed).filter(|payload| !seen.insert(*payload)).collect()
}

/// Maximum size in bytes of YAML that is assembled repeatedly in search of field overrides.
const LONG: usize = 1 << 19;

/// A program to print.
#[derive(Clone, Copy)]
struct ProgramYaml<'p> {
    program: &'p Program,
    payloads: &'p PayloadGraphs,
    /// `true` if payloads of delegates are inline by default.
    delegates_inline: bool,
    tests: &'p [MethodTests],
    printer: Printer<'p>,
}

impl<'p> ProgramYaml<'p> {
    /// Creates a printer of a program without tests.
    fn new(program: &'p Program, payloads: &'p PayloadGraphs, printer: Printer<'p>) -> ProgramYaml<'p> {
        ProgramYaml { program, payloads, delegates_inline: false, tests: &[], printer }
    }

    /// Returns the facts of all methods.
    fn facts(&self, hints: &[Hints]) -> Vec<MethodFacts<'p>> {
        let ProgramYaml { program, payloads, printer, .. } = *self;
        let shared = SharedPlaces::of(program);
        let facts = |(plan, hints): (&'p ExecutionPlan, &Hints)| {
            let mut facts = MethodFacts::new(program, payloads, &shared, plan, hints.clone());
            if let Some(names) = plan.name.as_deref().and_then(|name| printer.options.names.get(name)) {
                names::rename(&mut facts.names, names);
            }
            facts
        };
        program.plans().iter().zip(hints).map(facts).collect()
    }

    /// Prints methods, tests and named data.
    ///
    /// # Errors
    /// Data that cannot be read.
    fn print(&self, methods: &[MethodFacts<'_>]) -> io::Result<String> {
        let ProgramYaml { program, payloads, delegates_inline, tests, printer } = *self;
        let mut out = String::new();
        let mut data = DataPrinter::with_name(printer, Some(payloads.shared()));
        let shared = shared_payloads(program);
        let version = Some(program.version).filter(|version| *version != PROGRAM_VERSION);
        write::line(&mut out, "", document::version, &version);
        out.push_str(if program.plans().is_empty() { "methods: {}\n" } else { "methods:\n" });
        for (plan, method) in program.plans().iter().zip(methods) {
            let _ = writeln!(out, "  {}:", yaml::text(plan.name.as_deref().unwrap_or_default()));
            let text = MethodText { facts: method, program, payloads, shared: &shared, delegates_inline };
            text.print(&mut out, &mut data)?;
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
                let _ = write!(out, "  {}: ", yaml::text(&entry.key));
                write::map(&mut out, |map| {
                    map.value(named_data::data, &bytes);
                    map.value(named_data::align, &Some(entry.alignment).filter(|alignment| *alignment > 1));
                });
                out.push('\n');
            }
        }
        if let Some(parts) = program.newer_parts() {
            newer::print(program, parts, &mut out);
        }
        Ok(data.definitions() + &out)
    }

    /// Returns YAML that reproduces a file with field overrides, of the program itself or the nearest one that YAML can
    /// express; `None` if that needs more than `most` bytes in patches.
    ///
    /// # Errors
    /// A file that cannot be read.
    fn overridden(
        &self,
        origin: &Origin,
        body: &str,
        layouts: &[LayoutConfig],
        most: usize,
    ) -> io::Result<Option<String>> {
        if body.len() > LONG {
            // Each attempt would take seconds.
            return Ok(None);
        }
        let printer = self.printer;
        let overridden = |body: &str| {
            for layout in layouts {
                let (root, file) = (&PROGRAM, Assembly::program_file);
                let search = OverrideSearch { origin, printer, root, most, body, layout, file };
                if let Some(text) = search.text()? {
                    return Ok(Some(text));
                }
            }
            Ok::<_, io::Error>(None)
        };
        if let Some(text) = overridden(body)? {
            return Ok(Some(text));
        }
        let nearest = nearest::program(self.program);
        let nearest = ProgramYaml::new(&nearest, self.payloads, printer);
        for hints in [Hints::default(), Hints { everything: true, ..Hints::default() }] {
            if let Some(text) = overridden(&Rounds::begin(nearest, hints)?.text)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}
