//! What a FlatBuffer must be made to say to become another one: fields that are there in one only, numbers, lengths, shared tables.
//!
//! Both are walked side by side, so that it ends where the one that was just written ends. What is not told by fields (vtables,
//! padding, order) is left to a comparison of bytes.

use std::collections::HashMap;

use super::OverrideValue;
use super::walker::{Content, Place, Walker};
use crate::format::flatbuffer::{ObjectKind, Scalar};
use crate::format::path::{Path, Step};
use crate::format::{Table, program};

/// More differences than this are another program, not overrides.
const MAX_DIFFERENCES: usize = 256;

/// What `made` must be made to say so that its fields are those of `wanted`. `None` if that cannot be told, or is too much.
pub fn differences(wanted: &[u8], made: &[u8], root: &'static Table) -> Option<Vec<(Path, OverrideValue)>> {
    let nobody = |_: usize| Vec::new();
    let mut diff = Diff {
        wanted: Walker { bytes: wanted, root, values: &nobody },
        made: Walker { bytes: made, root, values: &nobody },
        steps: Vec::new(),
        met: HashMap::new(),
        found: Vec::new(),
    };
    let start = Place { field: None, at: Some(0), what: Content::Root };
    let tables = (diff.wanted.target(start).ok()?, diff.made.target(start).ok()?);
    diff.table(tables.0, tables.1, root)?;
    Some(diff.found)
}

struct Diff<'d> {
    wanted: Walker<'d>,
    made: Walker<'d>,
    /// The way here.
    steps: Vec<Step>,
    /// Tables of `wanted` that were met: where, and which of `made`'s that is.
    met: HashMap<usize, (usize, Path)>,
    found: Vec<(Path, OverrideValue)>,
}

impl Diff<'_> {
    fn add(&mut self, value: OverrideValue) -> Option<()> {
        self.add_at(None, value)
    }

    fn add_at(&mut self, last: Option<&str>, value: OverrideValue) -> Option<()> {
        let mut path = self.path();
        path.0.extend(last.map(|last| Step::Name(last.to_owned())));
        self.found.push((path, value));
        (self.found.len() <= MAX_DIFFERENCES).then_some(())
    }

    /// The path of what is compared now.
    fn path(&self) -> Path {
        Path::of(&self.steps)
    }

    fn table(&mut self, wanted: usize, made: usize, table: &'static Table) -> Option<()> {
        for slot in 0..table.fields.len() as u16 {
            self.steps.push(Step::Name(table.fields[usize::from(slot)].name.to_owned()));
            let of = |walker: &Walker<'_>, at: usize| {
                let what = walker.what(at, slot, &table.fields[usize::from(slot)]);
                Place { field: Some((at, slot)), at: walker.slot(at, slot), what }
            };
            self.field(of(&self.wanted, wanted), of(&self.made, made))?;
            self.steps.pop();
        }
        Some(())
    }

    /// A field, or an item of a list of tables.
    fn field(&mut self, wanted: Place, made: Place) -> Option<()> {
        match (wanted.at, made.at, wanted.what) {
            (None, None, _) => Some(()),
            (None, Some(_), _) => self.add(OverrideValue::Absent),
            (Some(at), there, Content::Scalar(number)) => {
                let bytes =
                    |walker: &Walker<'_>, at: usize| walker.bytes.get(at..at + number.size()).map(<[u8]>::to_vec);
                let wanted = bytes(&self.wanted, at)?;
                let same = there.is_some_and(|there| bytes(&self.made, there).as_ref() == Some(&wanted));
                if same { Some(()) } else { self.add(value_of(number, &wanted)) }
            }
            (Some(at), there, Content::Offset(target)) => {
                if self.wanted.u32(at)? == 0 {
                    let null = there.is_some_and(|there| self.made.u32(there) == Some(0));
                    return if null { Some(()) } else { self.add(OverrideValue::Null) };
                }
                let to = self.wanted.target(wanted).ok()?;
                let Some(_) = there else {
                    let is_empty = matches!(target, Some(ObjectKind::Text | ObjectKind::Scalars(_) | ObjectKind::Tables(_)))
                        && self.wanted.u32(to) == Some(0);
                    return if is_empty { self.add(OverrideValue::Empty) } else { None };
                };
                let made_to = self.made.target(made).ok()?;
                match target {
                    Some(ObjectKind::Text) => self.items(to, made_to, 1, |diff, wanted, _| diff.add(OverrideValue::Bytes(wanted.to_vec()))),
                    Some(ObjectKind::Scalars(number)) => self.items(to, made_to, number.size(), |diff, wanted, made| {
                        let size = number.size();
                        for (index, (wanted, made)) in wanted.chunks(size).zip(made.chunks(size)).enumerate() {
                            if wanted != made {
                                diff.steps.push(Step::Index(index));
                                diff.add(value_of(number, wanted))?;
                                diff.steps.pop();
                            }
                        }
                        Some(())
                    }),
                    Some(ObjectKind::Tables(table)) => self.tables(to, made_to, table),
                    Some(ObjectKind::Table(table)) => self.child(to, made_to, table, made.what),
                    // What no tag explains is bytes.
                    Some(ObjectKind::Vtable(_)) | None => Some(()),
                }
            }
            (Some(_), _, Content::Root) => None,
        }
    }

    /// A table that another may share.
    fn child(&mut self, wanted: usize, made: usize, table: &'static Table, made_what: Content) -> Option<()> {
        if let Some((other, path)) = self.met.get(&wanted) {
            let same_as = OverrideValue::SameAs(path.clone());
            return if *other == made { Some(()) } else { self.add(same_as) };
        }
        self.met.insert(wanted, (made, self.path()));
        match made_what {
            // Of a member of another kind the fields mean something else.
            Content::Offset(Some(ObjectKind::Table(other))) if std::ptr::eq(other, table) => self.table(wanted, made, table),
            _ => Some(()),
        }
    }

    /// Items of a vector of numbers or a text: a length that is another, or items that are.
    fn items(
        &mut self,
        wanted: usize,
        made: usize,
        size: usize,
        mut different: impl FnMut(&mut Self, &[u8], &[u8]) -> Option<()>,
    ) -> Option<()> {
        let (count, made_count) = (self.wanted.u32(wanted)?, self.made.u32(made)?);
        if count == 0 && made_count != 0 {
            return self.add(OverrideValue::Empty);
        }
        if count != made_count {
            return self.add_at(Some("@length"), OverrideValue::Integer(count.into()));
        }
        let bytes = count as usize * size;
        let (wanted_bytes, made_bytes) = (self.wanted.bytes, self.made.bytes);
        let wanted = wanted_bytes.get(wanted + 4..wanted + 4 + bytes)?;
        let made = made_bytes.get(made + 4..made + 4 + bytes)?;
        if wanted == made { Some(()) } else { different(self, wanted, made) }
    }

    fn tables(&mut self, wanted: usize, made: usize, table: &'static Table) -> Option<()> {
        let (count, made_count) = (self.wanted.u32(wanted)?, self.made.u32(made)?);
        if count == 0 && made_count != 0 {
            return self.add(OverrideValue::Empty);
        }
        if count != made_count {
            self.add_at(Some("@length"), OverrideValue::Integer(count.into()))?;
        }
        for index in 0..count.min(made_count) as usize {
            let at = |vector: usize| Place {
                field: None,
                at: Some(vector + 4 + 4 * index),
                what: Content::Offset(Some(ObjectKind::Table(table))),
            };
            self.steps.push(self.named(made, table, index));
            self.field(at(wanted), at(made))?;
            self.steps.pop();
        }
        Some(())
    }

    /// A method is called by its name, anything else by its number.
    fn named(&self, vector: usize, table: &'static Table, index: usize) -> Step {
        let name = || {
            if !std::ptr::eq(table, &program::EXECUTION_PLAN) {
                return None;
            }
            let item = vector + 4 + 4 * index;
            let plan = item + self.made.u32(item)? as usize;
            let at = self.made.slot(plan, program::execution_plan::name)?;
            let text = at + self.made.u32(at)? as usize;
            let name = self.made.bytes.get(text + 4..text + 4 + self.made.u32(text)? as usize)?;
            let plain = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            plain.then(|| String::from_utf8_lossy(name).into_owned())
        };
        name().map_or(Step::Index(index), Step::Name)
    }
}

/// A number as it lies in a file.
fn value_of(number: Scalar, bytes: &[u8]) -> OverrideValue {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    match number {
        Scalar::F64 => {
            let x = f64::from_le_bytes(wide);
            // What is no number may be so in several ways.
            if x.is_nan() { OverrideValue::Bytes(bytes.to_vec()) } else { OverrideValue::Float(x) }
        }
        _ => {
            let unused = 64 - 8 * bytes.len() as u32;
            OverrideValue::Integer(((i64::from_le_bytes(wide) << unused) >> unused).into())
        }
    }
}
