//! Finds constants inside of payloads that several graphs have, or one that several delegates share: they are printed
//! once under `data`, by the name of their role, so that one edit changes all of them.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::extracted::{Identity, identity};
use pte_model::data::Blob;
use pte_model::format::ScalarType;
use pte_model::program::Tensor;

/// Number of bytes that are compared before whole constants are read.
const HEAD: u64 = 64;

/// Smallest size in bytes of a constant that is printed once: less is equal by chance.
const SMALLEST: u64 = 8;

/// A constant of a printed graph.
pub struct PrintedConstant<'g> {
    /// Name of the value, and what its scales need.
    pub name: String,
    pub blob: &'g Blob,
    pub scalar_type: ScalarType,
    pub sizes: Vec<i32>,
}

/// Names under `data` of constants that are printed once.
#[derive(Debug, Default)]
pub struct SharedConstants(HashMap<Identity, SharedConstant>);

#[derive(Debug, Clone)]
struct SharedConstant {
    name: String,
    scalar_type: ScalarType,
    sizes: Vec<i32>,
}

/// Constants that may be equal: with the same type, sizes, and first bytes.
type Group<'g> = IndexMap<Identity, (usize, PrintedConstant<'g>)>;

impl SharedConstants {
    /// Returns the constants that occur more than once in these. At most `readable` bytes are read to compare them.
    pub fn of<'g>(constants: impl IntoIterator<Item = PrintedConstant<'g>>, mut readable: u64) -> SharedConstants {
        let mut groups: IndexMap<(ScalarType, Vec<i32>, Vec<u8>), Group<'g>> = IndexMap::new();
        for constant in constants {
            let (Some(identity), Ok(head)) = (identity(constant.blob), head(constant.blob)) else { continue };
            let is_repeated = |bytes: &[u8]| is_repetition(bytes, constant.scalar_type);
            if constant.blob.len() < SMALLEST
                || (is_repeated(&head) && tail(constant.blob).is_ok_and(|tail| tail == head))
            {
                continue;
            }
            let group = groups.entry((constant.scalar_type, constant.sizes.clone(), head)).or_default();
            group.entry(identity).or_insert((0, constant)).0 += 1;
        }
        let (mut found, mut taken) = (HashMap::new(), HashMap::new());
        for group in groups.into_values() {
            for equal in by_content(group, &mut readable) {
                let count: usize = equal.values().map(|(count, _)| count).sum();
                let Some((_, (_, first))) = equal.first().filter(|_| count > 1) else { continue };
                let number = taken.entry(first.name.clone()).and_modify(|number| *number += 1).or_insert(0);
                let name = if *number == 0 { first.name.clone() } else { format!("{}_{number}", first.name) };
                let shared = SharedConstant { name, scalar_type: first.scalar_type, sizes: first.sizes.clone() };
                for identity in equal.keys() {
                    found.entry(*identity).or_insert_with(|| shared.clone());
                }
            }
        }
        SharedConstants(found)
    }

    /// Returns the name of a constant that is printed once.
    pub fn name(&self, blob: &Blob, tensor: &Tensor) -> Option<&str> {
        let SharedConstant { name, scalar_type, sizes } = self.0.get(&identity(blob)?)?;
        (*scalar_type == tensor.scalar_type && tensor.sizes.as_deref() == Some(sizes)).then_some(name)
    }
}

fn tail(blob: &Blob) -> std::io::Result<Vec<u8>> {
    let size = blob.len().min(HEAD);
    Ok(blob.contents(blob.len() - size, size as usize)?.into_owned())
}

fn head(blob: &Blob) -> std::io::Result<Vec<u8>> {
    Ok(blob.contents(0, blob.len().min(HEAD) as usize)?.into_owned())
}

/// Returns `true` for equal elements, which are printed as one number.
fn is_repetition(head: &[u8], scalar_type: ScalarType) -> bool {
    let mut elements = head.chunks(scalar_type.element_size().max(1) as usize);
    elements.next().is_none_or(|first| elements.all(|element| element == first))
}

/// Splits a group by content. Those that cannot be read, or are too large in total, are left out.
fn by_content<'g>(group: Group<'g>, readable: &mut u64) -> Vec<Group<'g>> {
    let is_equal = group.len() == 1 || group.values().all(|(_, constant)| constant.blob.len() <= HEAD);
    if is_equal {
        return vec![group];
    }
    let mut split: IndexMap<[u8; 32], Group<'g>> = IndexMap::new();
    for (identity, (count, constant)) in group {
        let Some(left) = readable.checked_sub(constant.blob.len()) else { break };
        *readable = left;
        if let Ok(digest) = constant.blob.digest() {
            split.entry(digest).or_default().insert(identity, (count, constant));
        }
    }
    split.into_values().collect()
}
