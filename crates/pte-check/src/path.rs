//! Computes the locations of findings in a FlatBuffer: byte offsets and paths.

use std::collections::HashMap;
use std::fmt::{Arguments, Display};
use std::ops::Deref;

use super::RuleId::{self, *};
use super::finding::{Findings, Location, shown};
use pte_model::format::flatbuffer::verify::{Defect, DefectSink};
use pte_model::format::flatbuffer::view::{Table, Tables};
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

/// A slot, and the name of its field.
pub type Slot = (u16, &'static str);

/// Expands `table::field` to its [`Slot`].
macro_rules! slot {
    ($table:ident::$field:ident) => {
        ($table::$field, stringify!($field))
    };
}
pub(crate) use slot;

/// Expectation of a list that must be present.
pub const LIST: &str = "a list (may be empty)";

/// A table with its path.
#[derive(Clone, Copy)]
pub struct Node<'a, 'p> {
    table: Table<'a>,
    /// Path from the root.
    pub path: &'p Trail<'p>,
}

impl<'a> Deref for Node<'a, '_> {
    type Target = Table<'a>;

    fn deref(&self) -> &Table<'a> {
        &self.table
    }
}

impl<'a, 'p> Node<'a, 'p> {
    /// Returns the root table.
    pub fn root(bytes: &'a [u8]) -> Option<Node<'a, 'static>> {
        Some(Node { table: Table::root(bytes)?, path: &Trail::ROOT })
    }

    /// Returns a table at a path.
    pub fn new(table: Table<'a>, path: &'p Trail<'p>) -> Node<'a, 'p> {
        Node { table, path }
    }

    /// Calls `check` with the tables of a list, each with its index.
    pub fn each(&self, slot: Slot, mut check: impl FnMut(usize, Node<'a, '_>)) {
        let list = self.path.field(slot.1);
        for (index, table) in self.tables(slot.0).iter().flat_map(Tables::iter).enumerate() {
            check(index, Node { table, path: &list.item(index) });
        }
    }
}

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

    /// Reports the content of a field, with the value found and the value expected.
    pub fn field(&mut self, id: RuleId, t: Node<'_, '_>, slot: Slot, found: impl Display, expected: impl Display) {
        self.add(id, &t.path.field(slot.1), t.near(slot.0), found, expected);
    }

    /// Returns a field; reports its absence.
    pub fn required<'t, T>(
        &mut self,
        id: RuleId,
        t: Node<'t, '_>,
        slot: Slot,
        get: impl FnOnce(&Table<'t>, u16) -> Option<T>,
        expected: impl Display,
    ) -> Option<T> {
        let field = get(&t, slot.0);
        if field.is_none() {
            self.field(id, t, slot, format_args!("no {}", slot.1), expected);
        }
        field
    }

    /// Reports the absence of fields.
    pub fn present(&mut self, id: RuleId, t: Node<'_, '_>, slots: &[Slot], expected: &str) {
        for slot in slots {
            self.required(id, t, *slot, Table::offset, expected);
        }
    }

    /// Reports a number that is not `expected`.
    pub fn equals<'t, T: Display + PartialEq>(
        &mut self,
        id: RuleId,
        t: Node<'t, '_>,
        slot: Slot,
        get: impl FnOnce(&Table<'t>, u16) -> T,
        expected: T,
    ) {
        let found = get(&t, slot.0);
        if found != expected {
            self.field(id, t, slot, found, expected);
        }
    }

    /// Returns an index; reports one that is not less than `count`, the number of elements of a kind.
    pub fn index<'t, T: Copy + Display + TryInto<usize>>(
        &mut self,
        id: RuleId,
        t: Node<'t, '_>,
        slot: Slot,
        get: impl FnOnce(&Table<'t>, u16) -> T,
        (kind, count): (&str, usize),
    ) -> Option<usize> {
        let number = get(&t, slot.0);
        let index = number.try_into().ok().filter(|index| *index < count);
        if index.is_none() {
            self.out_of_range(id, &t.path.field(slot.1), t.near(slot.0), kind, number, count);
        }
        index
    }

    /// Reports the absence of a name, or that an entry before `index` of the list has it. `entry` says what names are
    /// of. Returns the name.
    pub fn unique<'n>(
        &mut self,
        [missing, duplicate]: [RuleId; 2],
        t: Node<'n, '_>,
        slot: Slot,
        names: &mut FirstByName<'n>,
        (entry, index): (&str, usize),
    ) -> Option<&'n [u8]> {
        let text = self.required(missing, t, slot, Table::text, format_args!("a {}", slot.1))?;
        if let Some(first) = names.insert(text, index) {
            let found = format_args!("duplicate {} {:?}, also {entry} {first}", slot.1, shown(&t, slot.0));
            self.field(duplicate, t, slot, found, format_args!("a unique {}", slot.1));
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
