//! Computes the field overrides that turn one FlatBuffer into another: fields that only one of them has, numbers,
//! lengths, and shared tables.
//!
//! Both are traversed together, so that the emitted one bounds the traversal of the untrusted one. Differences outside
//! fields (vtables, padding, order) are left to a comparison of bytes.

use std::collections::HashMap;

use super::OverrideValue;
use super::walker::{FieldContent, FieldLocation, Walker};
use pte_model::format::flatbuffer::{ObjectKind, Scalar};
use pte_model::format::path::{FieldPath, MethodName, PathStep};
use pte_model::format::{TableSchema, program};

/// Limit on the number of overrides: files with more differences are different programs.
const MAX_DIFFERENCES: usize = 256;

/// Returns the overrides with which the fields of `emitted` are those of `original`. `None` if overrides cannot express
/// the difference, or more than [`MAX_DIFFERENCES`] are needed.
pub fn differences(
    original: &[u8],
    emitted: &[u8],
    root: &'static TableSchema,
) -> Option<Vec<(FieldPath, OverrideValue)>> {
    let unnamed = |_: usize| Vec::new();
    let mut diff = Diff {
        original: Walker { bytes: original, root, values: &unnamed },
        emitted: Walker { bytes: emitted, root, values: &unnamed },
        steps: Vec::new(),
        visited: HashMap::new(),
        found: Vec::new(),
    };
    let start = FieldLocation::root(root);
    let tables = (diff.original.target(start).ok()?, diff.emitted.target(start).ok()?);
    diff.table(tables.0, tables.1, root)?;
    Some(diff.found)
}

struct Diff<'d> {
    original: Walker<'d>,
    emitted: Walker<'d>,
    /// Schema names of the steps to the current field.
    steps: Vec<PathStep>,
    /// Tables of `original` visited so far, by offset: the offset in `emitted` and the path.
    visited: HashMap<usize, (usize, FieldPath)>,
    found: Vec<(FieldPath, OverrideValue)>,
}

impl Diff<'_> {
    fn add(&mut self, value: OverrideValue) -> Option<()> {
        self.add_at(None, value)
    }

    fn add_at(&mut self, last: Option<&str>, value: OverrideValue) -> Option<()> {
        let mut path = self.path();
        path.0.extend(last.map(|last| PathStep::Name(last.to_owned())));
        self.found.push((path, value));
        (self.found.len() <= MAX_DIFFERENCES).then_some(())
    }

    /// Returns the path of the current field.
    fn path(&self) -> FieldPath {
        FieldPath::of(&self.steps)
    }

    fn table(&mut self, original: usize, emitted: usize, table: &'static TableSchema) -> Option<()> {
        for slot in 0..table.fields.len() as u16 {
            self.steps.push(PathStep::Name(table.fields[usize::from(slot)].name.to_owned()));
            let of = |walker: &Walker<'_>, at: usize| {
                let content = walker.content(at, slot, &table.fields[usize::from(slot)]);
                FieldLocation { field: Some((at, slot)), at: walker.slot(at, slot), content }
            };
            self.field(of(&self.original, original), of(&self.emitted, emitted))?;
            self.steps.pop();
        }
        Some(())
    }

    /// Compares a field, or an item of a vector of tables.
    fn field(&mut self, original: FieldLocation, emitted: FieldLocation) -> Option<()> {
        match (original.at, emitted.at, original.content) {
            (None, None, _) => Some(()),
            (None, Some(_), _) => self.add(OverrideValue::Absent),
            (Some(at), there, FieldContent::Scalar(number)) => {
                let bytes =
                    |walker: &Walker<'_>, at: usize| walker.bytes.get(at..at + number.size()).map(<[u8]>::to_vec);
                let original = bytes(&self.original, at)?;
                let same = there.is_some_and(|there| bytes(&self.emitted, there).as_ref() == Some(&original));
                if same { Some(()) } else { self.add(value_of(number, &original)) }
            }
            (Some(at), there, FieldContent::Offset(target)) => {
                if self.original.u32(at)? == 0 {
                    let null = there.is_some_and(|there| self.emitted.u32(there) == Some(0));
                    return if null { Some(()) } else { self.add(OverrideValue::Null) };
                }
                let to = self.original.target(original).ok()?;
                let Some(_) = there else {
                    let is_empty =
                        matches!(target, Some(ObjectKind::Text | ObjectKind::Scalars(_) | ObjectKind::Tables(_)))
                            && self.original.u32(to) == Some(0);
                    return if is_empty { self.add(OverrideValue::Empty) } else { None };
                };
                let emitted_target = self.emitted.target(emitted).ok()?;
                match target {
                    Some(ObjectKind::Text) => self.items(to, emitted_target, None),
                    Some(ObjectKind::Scalars(number)) => self.items(to, emitted_target, Some(number)),
                    Some(ObjectKind::Tables(table)) => self.tables(to, emitted_target, table),
                    Some(ObjectKind::Table(table)) => self.child(to, emitted_target, table, emitted.content),
                    // The content of a union with an unknown tag is compared as bytes.
                    Some(ObjectKind::Vtable(_)) | None => Some(()),
                }
            }
        }
    }

    /// Compares a table that may have several references.
    fn child(
        &mut self,
        original: usize,
        emitted: usize,
        table: &'static TableSchema,
        emitted_content: FieldContent,
    ) -> Option<()> {
        if let Some((other, path)) = self.visited.get(&original) {
            let same_as = OverrideValue::SameAs(path.clone());
            return if *other == emitted { Some(()) } else { self.add(same_as) };
        }
        self.visited.insert(original, (emitted, self.path()));
        // A different member of a union has different fields.
        let same_type = matches!(
            emitted_content,
            FieldContent::Offset(Some(ObjectKind::Table(other))) if std::ptr::eq(other, table)
        );
        if same_type { self.table(original, emitted, table) } else { Some(()) }
    }

    /// Compares the lengths of two vectors, and returns them.
    fn lengths(&mut self, original: usize, emitted: usize) -> Option<[usize; 2]> {
        match (self.original.u32(original)?, self.emitted.u32(emitted)?) {
            (0, 1..) => self.add(OverrideValue::Empty)?,
            (count, other) if count != other => self.add_at(Some("@length"), OverrideValue::Integer(count.into()))?,
            _ => {}
        }
        Some([self.original.u32(original)? as usize, self.emitted.u32(emitted)? as usize])
    }

    /// Compares the items of a vector of numbers; `None` for a string, which is compared as a whole.
    fn items(&mut self, original: usize, emitted: usize, number: Option<Scalar>) -> Option<()> {
        let [count, emitted_count] = self.lengths(original, emitted)?;
        if count != emitted_count {
            return Some(());
        }
        let size = number.map_or(1, Scalar::size);
        let (original_bytes, emitted_bytes) = (self.original.bytes, self.emitted.bytes);
        let original = original_bytes.get(original + 4..original + 4 + count * size)?;
        let emitted = emitted_bytes.get(emitted + 4..emitted + 4 + count * size)?;
        match number {
            _ if original == emitted => {}
            None => self.add(OverrideValue::Bytes(original.to_vec()))?,
            Some(number) => {
                let pairs = original.chunks(size).zip(emitted.chunks(size)).enumerate();
                for (index, (original, _)) in pairs.filter(|(_, (original, emitted))| original != emitted) {
                    self.steps.push(PathStep::Index(index));
                    self.add(value_of(number, original))?;
                    self.steps.pop();
                }
            }
        }
        Some(())
    }

    fn tables(&mut self, original: usize, emitted: usize, table: &'static TableSchema) -> Option<()> {
        let [count, emitted_count] = self.lengths(original, emitted)?;
        for index in 0..count.min(emitted_count) {
            let at = |vector: usize| FieldLocation {
                field: None,
                at: Some(vector + 4 + 4 * index),
                content: FieldContent::Offset(Some(ObjectKind::Table(table))),
            };
            self.steps.push(self.named(emitted, table, index));
            self.field(at(original), at(emitted))?;
            self.steps.pop();
        }
        Some(())
    }

    /// Returns the step to an item: the name of a method, the index of anything else.
    fn named(&self, vector: usize, table: &'static TableSchema, index: usize) -> PathStep {
        if !std::ptr::eq(table, &program::EXECUTION_PLAN) {
            return PathStep::Index(index);
        }
        let name = |index: usize| self.emitted.text(vector, index, program::execution_plan::name);
        let count = self.emitted.u32(vector).map_or(0, |count| count as usize);
        match (MethodName::of(count, name, index), name(index)) {
            (MethodName::Name(_), Some(name)) => PathStep::Name(String::from_utf8_lossy(name).into_owned()),
            (MethodName::Name(_), None) | (MethodName::Index(_), _) => PathStep::Index(index),
        }
    }
}

/// Converts the little-endian bytes of a number to an override.
fn value_of(number: Scalar, bytes: &[u8]) -> OverrideValue {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    match number {
        Scalar::F32 | Scalar::F64 => {
            let single = f64::from(f32::from_bits(u64::from_le_bytes(wide) as u32));
            let x = if number == Scalar::F32 { single } else { f64::from_le_bytes(wide) };
            // YAML has no notation for the payload of a NaN.
            if x.is_nan() { OverrideValue::Bytes(bytes.to_vec()) } else { OverrideValue::Float(x) }
        }
        Scalar::Bool
        | Scalar::U8
        | Scalar::I8
        | Scalar::U16
        | Scalar::I16
        | Scalar::I32
        | Scalar::U32
        | Scalar::I64
        | Scalar::U64 => {
            let unused = 64 - 8 * bytes.len() as u32;
            OverrideValue::Integer(((i64::from_le_bytes(wide) << unused) >> unused).into())
        }
    }
}
