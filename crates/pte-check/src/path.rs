//! Computes the locations of findings in a FlatBuffer: byte offsets and paths.

use std::collections::HashMap;
use std::fmt::{Arguments, Display};

use super::RuleId::{self, *};
use super::finding::{Findings, Location, shown};
use pte_model::format::flatbuffer::verify::{Defect, DefectSink};
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::path::{self, MethodName, Methods, Trail};
use pte_model::format::program::{chain, execution_plan, instruction, kernel_call, program};
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};

/// Reports a violation as [`Reporter::add`] does, with texts in the form of `format!`.
macro_rules! add {
    ($report:expr, $id:expr, $path:expr, $at:expr, $found:literal, $expected:literal) => {
        $report.add($id, $path, $at, format_args!($found), format_args!($expected))
    };
}
pub(crate) use add;

/// Index of the first entry with a name.
pub type FirstByName<'a> = HashMap<&'a [u8], usize>;

/// Adds findings of a FlatBuffer with their locations.
pub struct Reporter<'f, 'a> {
    /// List that the findings are added to.
    pub findings: &'f mut Findings,
    bytes: &'a [u8],
    prefix: &'static str,
    start: u64,
}

impl<'f, 'a> Reporter<'f, 'a> {
    /// Returns a reporter for a FlatBuffer whose `bytes` begin at `start` of the file, and whose paths begin with
    /// `prefix`.
    pub fn new(findings: &'f mut Findings, bytes: &'a [u8], prefix: &'static str, start: u64) -> Reporter<'f, 'a> {
        Reporter { findings, bytes, prefix, start }
    }

    /// Reports a violation of a rule at a path and an offset, with the value found and the value expected.
    pub fn add(&mut self, id: RuleId, path: &Trail<'_>, at: usize, found: impl Display, expected: impl Display) {
        let (bytes, prefix, start) = (self.bytes, self.prefix, self.start);
        self.findings.add(id, || {
            let location =
                Location { offset: Some(start.saturating_add(at as u64)), path: render(bytes, prefix, path) };
            (location, found.to_string(), expected.to_string())
        });
    }

    /// Reports the absence of the field `name` of the table at `path`.
    pub fn missing(&mut self, id: RuleId, path: &Trail<'_>, name: &'static str, at: usize, expected: impl Display) {
        self.add(id, &path.field(name), at, format_args!("no {name}"), expected);
    }

    /// Reports the absence of the list `name` of the table at `path`.
    pub fn missing_list(&mut self, id: RuleId, path: &Trail<'_>, name: &'static str, at: usize) {
        self.missing(id, path, name, at, "a list (may be empty)");
    }

    /// Reports a number that is not `expected`: of the field `name` in `slot`.
    pub fn differs<T: Display + PartialEq>(
        &mut self,
        id: RuleId,
        path: &Trail<'_>,
        (name, table, slot, found): (&'static str, Table<'_>, u16, T),
        expected: T,
    ) {
        if found != expected {
            self.add(id, &path.field(name), table.near(slot), found, expected);
        }
    }

    /// Reports the absence of a name, or that an entry before `index` of the list has it. `entry` says what names are
    /// of. Returns the name.
    pub fn unique<'n>(
        &mut self,
        [missing, duplicate]: [RuleId; 2],
        path: &Trail<'_>,
        (name, table, slot): (&'static str, &Table<'n>, u16),
        names: &mut FirstByName<'n>,
        (entry, index): (&str, usize),
    ) -> Option<&'n [u8]> {
        let Some(text) = table.text(slot) else {
            self.missing(missing, path, name, table.near(slot), format_args!("a {name}"));
            return None;
        };
        if let Some(first) = names.insert(text, index) {
            let found = format_args!("duplicate {name} {:?}, also {entry} {first}", shown(table, slot));
            self.add(duplicate, &path.field(name), table.near(slot), found, format_args!("a unique {name}"));
        }
        Some(text)
    }

    /// Reports an index that is not less than `count`, the number of elements of a kind.
    pub fn out_of_range(
        &mut self,
        id: RuleId,
        path: &Trail<'_>,
        at: usize,
        kind: &str,
        index: impl Display,
        count: usize,
    ) {
        let expected = format_args!("less than {count}, the number of {kind}s");
        self.add(id, path, at, format_args!("{kind} {index}"), expected);
    }
}

impl DefectSink for Reporter<'_, '_> {
    fn add(&mut self, defect: Defect, path: &Trail<'_>, at: usize, found: Arguments<'_>, expected: Arguments<'_>) {
        let id = match defect {
            Defect::BufferSize => F_1,
            Defect::RootOffset => F_2,
            Defect::TablePosition => F_5,
            Defect::FieldStart => F_6,
            Defect::FieldPosition => F_7,
            Defect::FieldOffset => F_8,
            Defect::VectorSize => F_9,
            Defect::ItemOffset => F_10,
            Defect::Terminator => F_11,
            Defect::TableSize => F_12,
            Defect::VtableSize => G_10,
            Defect::LongAlignment => G_11,
            Defect::BytesAlignment => G_12,
            Defect::Utf8 => G_13,
            Defect::ZeroByte => G_14,
            Defect::Bool => G_15,
            Defect::TableCount => G_16,
            Defect::SharedBytes => G_17,
            Defect::HeaderOverlap => G_18,
            Defect::UnknownPart => G_33,
        };
        Reporter::add(self, id, path, at, found, expected);
    }
}

/// Returns the offset of the table of an element, or of its entry in a list of integers.
fn byte_of(bytes: &[u8], element: &Element) -> Option<usize> {
    let root = Table::root(bytes)?;
    let (method, part) = match *element {
        Element::Program | Element::Header | Element::ExternalData(_) => return None,
        Element::NamedData(index) => return Some(root.tables(program::named_data)?.get(index)?.at),
        Element::Method(method, part) => (method, part),
    };
    let plan = root.tables(program::execution_plan)?.get(method)?;
    let entry = |slot: u16, index: usize| Some(plan.tables(slot)?.get(index)?.at);
    let integer = |slot: u16, index: usize| Some(plan.i32s(slot)?.offset(index));
    let instruction = |chain: usize, index: usize| {
        let chain = plan.tables(execution_plan::chains)?.get(chain)?;
        chain.tables(chain::instructions)?.get(index)
    };
    match part {
        Part::Whole => Some(plan.at),
        Part::Value(index) => entry(execution_plan::values, index),
        Part::Output(index) => integer(execution_plan::outputs, index),
        // The payload may be far from the program, so the offset is that of the delegate.
        Part::Delegate(index) | Part::GraphValue(index, _) | Part::GraphNode(index, _) => {
            entry(execution_plan::delegates, index)
        }
        Part::Operator(index) => entry(execution_plan::operators, index),
        Part::Instruction(chain, index) | Part::Field(chain, index, _) => Some(instruction(chain, index)?.at),
        Part::Arg(chain, index, arg) => {
            let call = instruction(chain, index)?.child(instruction::instr_args)?;
            // `KernelCall` and `DelegateCall` have `args` in the same slot.
            Some(call.i32s(kernel_call::args)?.offset(arg))
        }
    }
}

/// Formats a path.
fn render(bytes: &[u8], prefix: &str, path: &Trail<'_>) -> String {
    let steps = path.steps();
    if steps.is_empty() {
        return prefix.trim_end_matches('.').to_owned();
    }
    let mut out = Vec::new();
    path::write(&steps, false, &FileMethods(bytes), &mut out);
    format!("{prefix}{}", String::from_utf8_lossy(&out))
}

/// The methods of a program that may be malformed.
struct FileMethods<'a>(&'a [u8]);

impl Methods for FileMethods<'_> {
    fn write_name(&self, index: usize, out: &mut Vec<u8>) {
        let plans = Table::root(self.0).and_then(|root| root.tables(program::execution_plan));
        let name = |index: usize| plans?.get(index)?.text(execution_plan::name);
        let name = MethodName::of(plans.map_or(0, |plans| plans.len()), name, index);
        out.extend_from_slice(name.to_string().as_bytes());
    }

    fn has_one_chain(&self, index: usize) -> bool {
        let plans = Table::root(self.0).and_then(|root| root.tables(program::execution_plan));
        let chains = plans.and_then(|plans| plans.get(index)?.tables(execution_plan::chains));
        chains.is_some_and(|chains| chains.len() == 1 && chains.get(0).is_some_and(|c| c.has(chain::instructions)))
    }
}

/// Returns the [`Locator`](super::finding::Locator) of a program whose `bytes` begin at `start` of the file.
pub fn locator<'p>(
    bytes: &'p [u8],
    prefix: &'static str,
    start: u64,
    program: &'p Program,
) -> impl Fn(&Element) -> Location + use<'p> {
    move |element| Location {
        offset: byte_of(bytes, element).map(|at| start.saturating_add(at as u64)),
        path: format!("{prefix}{}", element.path(program)),
    }
}
