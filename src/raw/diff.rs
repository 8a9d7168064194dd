//! What a FlatBuffer must be made to say to become another one: fields that are there in one only, numbers, lengths, shared tables.
//!
//! Both are walked side by side, so that it ends where the one that was just written ends. What is not told by fields (vtables,
//! padding, order) is left to a comparison of bytes.

use std::collections::HashMap;

use super::Lie;
use super::path::{Path, Step};
use super::place::{Number, Place, Target, Walker, What};
use crate::schema::{Table, program};

/// More differences than this are no lies but another program.
const MAX_DIFFERENCES: usize = 256;

/// What `made` must be made to say so that its fields are those of `wanted`. `None` if that cannot be told, or is too much.
pub fn differences(wanted: &[u8], made: &[u8], root: &'static Table) -> Option<Vec<(Path, Lie)>> {
    let nobody = |_: usize| Vec::new();
    let mut diff = Diff {
        wanted: Walker { bytes: wanted, root, values: &nobody },
        made: Walker { bytes: made, root, values: &nobody },
        steps: Vec::new(),
        met: HashMap::new(),
        found: Vec::new(),
    };
    let start = Place { field: None, at: Some(0), what: What::Root };
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
    found: Vec<(Path, Lie)>,
}

impl Diff<'_> {
    fn add(&mut self, lie: Lie) -> Option<()> {
        self.add_at(None, lie)
    }

    fn add_at(&mut self, last: Option<&str>, lie: Lie) -> Option<()> {
        let mut path = self.path();
        path.0.extend(last.map(|last| Step::Name(last.to_owned())));
        self.found.push((path, lie));
        (self.found.len() <= MAX_DIFFERENCES).then_some(())
    }

    /// The way here as a person writes it: without what need not be said.
    fn path(&self) -> Path {
        let mut path = Vec::with_capacity(self.steps.len());
        let mut steps = self.steps.iter().peekable();
        while let Some(step) = steps.next() {
            match step {
                Step::Name(name) if name == "execution_plan" => path.push(Step::Name("methods".into())),
                // A union's member is told by what comes next.
                Step::Name(name) if matches!(name.as_str(), "val" | "instr_args") && steps.peek().is_some() => {}
                step => path.push(step.clone()),
            }
        }
        Path(path)
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
            (None, Some(_), _) => self.add(Lie::Absent),
            (Some(at), there, What::Number(number)) => {
                let bytes =
                    |walker: &Walker<'_>, at: usize| walker.bytes.get(at..at + number.size()).map(<[u8]>::to_vec);
                let wanted = bytes(&self.wanted, at)?;
                let same = there.is_some_and(|there| bytes(&self.made, there).as_ref() == Some(&wanted));
                if same { Some(()) } else { self.add(lie(number, &wanted)) }
            }
            (Some(at), there, What::Offset(target)) => {
                if self.wanted.u32(at)? == 0 {
                    let null = there.is_some_and(|there| self.made.u32(there) == Some(0));
                    return if null { Some(()) } else { self.add(Lie::Null) };
                }
                let to = self.wanted.target(wanted).ok()?;
                let Some(_) = there else {
                    let is_empty = matches!(target, Target::Text | Target::Numbers(_) | Target::Tables(_))
                        && self.wanted.u32(to) == Some(0);
                    return if is_empty { self.add(Lie::Empty) } else { None };
                };
                let made_to = self.made.target(made).ok()?;
                match target {
                    Target::Text => self.items(to, made_to, 1, |diff, wanted, _| diff.add(Lie::Bytes(wanted.to_vec()))),
                    Target::Numbers(number) => self.items(to, made_to, number.size(), |diff, wanted, made| {
                        let size = number.size();
                        for (index, (wanted, made)) in wanted.chunks(size).zip(made.chunks(size)).enumerate() {
                            if wanted != made {
                                diff.steps.push(Step::Index(index));
                                diff.add(lie(number, wanted))?;
                                diff.steps.pop();
                            }
                        }
                        Some(())
                    }),
                    Target::Tables(table) => self.tables(to, made_to, table),
                    Target::Table(table) => self.child(to, made_to, table, made.what),
                    // What no tag explains is bytes.
                    Target::Nothing => Some(()),
                }
            }
            (Some(_), _, What::Root) => None,
        }
    }

    /// A table that another may share.
    fn child(&mut self, wanted: usize, made: usize, table: &'static Table, made_what: What) -> Option<()> {
        if let Some((other, path)) = self.met.get(&wanted) {
            let same_as = Lie::SameAs(path.clone());
            return if *other == made { Some(()) } else { self.add(same_as) };
        }
        self.met.insert(wanted, (made, self.path()));
        match made_what {
            // Of a member of another kind the fields mean something else.
            What::Offset(Target::Table(other)) if std::ptr::eq(other, table) => self.table(wanted, made, table),
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
            return self.add(Lie::Empty);
        }
        if count != made_count {
            return self.add_at(Some("@length"), Lie::Integer(count.into()));
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
            return self.add(Lie::Empty);
        }
        if count != made_count {
            self.add_at(Some("@length"), Lie::Integer(count.into()))?;
        }
        for index in 0..count.min(made_count) as usize {
            let at = |vector: usize| Place {
                field: None,
                at: Some(vector + 4 + 4 * index),
                what: What::Offset(Target::Table(table)),
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
fn lie(number: Number, bytes: &[u8]) -> Lie {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    match number {
        Number::Double => {
            let x = f64::from_le_bytes(wide);
            // What is no number may be so in several ways.
            if x.is_nan() { Lie::Bytes(bytes.to_vec()) } else { Lie::Float(x) }
        }
        _ => {
            let unused = 64 - 8 * bytes.len() as u32;
            Lie::Integer(((i64::from_le_bytes(wide) << unused) >> unused).into())
        }
    }
}
