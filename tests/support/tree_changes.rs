//! Random changes of the fields of a tree, for any schema. What fields mean is known by the tests.

use pte_generate::random::Random;
use pte_model::format::Kind;

use super::tree::{Item, Tree};

/// Position of a table in a tree: slots, and the index in a vector.
pub type TablePath = Vec<(usize, usize)>;

/// Returns the positions of all tables that match.
pub fn paths(tree: &Tree, matches: &dyn Fn(&Tree) -> bool) -> Vec<TablePath> {
    let mut found = Vec::new();
    add_paths(tree, &Vec::new(), matches, &mut found);
    found
}

fn add_paths(tree: &Tree, here: &TablePath, matches: &dyn Fn(&Tree) -> bool, found: &mut Vec<TablePath>) {
    if matches(tree) {
        found.push(here.clone());
    }
    for (slot, item) in tree.fields.iter().enumerate() {
        let children = match item {
            Item::Table(child) => std::slice::from_ref(child),
            Item::Tables(children) => children,
            Item::Absent | Item::Bits(_) | Item::Ints(_) | Item::Longs(_) | Item::Bytes(_) | Item::Text(_) => &[],
        };
        for (index, child) in children.iter().enumerate() {
            add_paths(child, &[&**here, &[(slot, index)]].concat(), matches, found);
        }
    }
}

/// Returns the table at a position.
pub fn table<'t>(tree: &'t mut Tree, path: &[(usize, usize)]) -> &'t mut Tree {
    let Some(((slot, index), rest)) = path.split_first() else { return tree };
    match &mut tree.fields[*slot] {
        Item::Table(child) => table(child, rest),
        Item::Tables(children) => table(&mut children[*index], rest),
        _ => panic!("no table in slot {slot} of {}", tree.schema.name),
    }
}

/// Calls a function with each table.
pub fn each(tree: &mut Tree, visit: &mut dyn FnMut(&mut Tree)) {
    visit(tree);
    for item in &mut tree.fields {
        match item {
            Item::Table(child) => each(child, visit),
            Item::Tables(children) => children.iter_mut().for_each(|child| each(child, visit)),
            Item::Absent | Item::Bits(_) | Item::Ints(_) | Item::Longs(_) | Item::Bytes(_) | Item::Text(_) => {}
        }
    }
}

/// Numbers at the limits of types and of common sizes.
pub const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    16,
    31,
    32,
    33,
    64,
    100,
    127,
    128,
    255,
    256,
    1000,
    4095,
    4096,
    65_535,
    65_536,
    1 << 20,
    1 << 24,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

/// Numbers at the limits of float32.
pub const FLOATS: &[f32] =
    &[0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 1e-45, 1e-30, 1e30, 255.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

/// Changes a number; `others` are those of fields of the same name.
pub fn changed(old: u64, others: &[u64], random: &mut Random) -> u64 {
    match random.below(5) {
        0 | 1 if !others.is_empty() => random.pick(others),
        0..=2 => random.pick(NUMBERS),
        3 => old.wrapping_add(random.pick(&[1, 2, 4, u64::MAX, u64::MAX - 1])),
        _ => random.pick(&[old.wrapping_mul(2), old / 2, old.wrapping_mul(3)]),
    }
}

/// Drops, duplicates, moves or swaps items.
pub fn change_items<T: Clone>(items: &mut Vec<T>, random: &mut Random) -> &'static str {
    let (one, other) = (random.below(items.len()), random.below(items.len()));
    match random.below(4) {
        0 if !items.is_empty() => {
            items.remove(one);
            "drop"
        }
        1 if !items.is_empty() => {
            let item = items[one].clone();
            items.insert(other, item);
            "duplicate"
        }
        2 if !items.is_empty() => {
            let item = items.remove(one);
            items.insert(other.min(items.len()), item);
            "move"
        }
        _ if !items.is_empty() => {
            items.swap(one, other);
            "swap"
        }
        _ => "nothing",
    }
}

/// Fields of a schema that are not what their type says.
pub struct FieldNames {
    /// Numbers of four bytes that are float32.
    pub floats: &'static [&'static str],
    /// Returns `true` if numbers in the second field may be those of the first one.
    pub are_alike: fn(&str, &str) -> bool,
}

/// Changes one field of a table that matches.
pub fn change_field(
    tree: &mut Tree,
    names: &FieldNames,
    matches: &dyn Fn(&Tree) -> bool,
    random: &mut Random,
) -> String {
    let all = paths(tree, matches);
    let Some(path) = (!all.is_empty()).then(|| &all[random.below(all.len())]) else { return "nothing".to_owned() };
    let count = table(tree, path).fields.len();
    let mut slot = random.below(count);
    // Tables have changes of their own; most of the other fields are there.
    for _ in 0..4 {
        match table(tree, path).fields.get(slot) {
            Some(Item::Table(_) | Item::Absent) => slot = random.below(count),
            _ => break,
        }
    }
    let Some(field) = table(tree, path).schema.fields.get(slot) else { return "nothing".to_owned() };
    let mut others = Vec::new();
    each(tree, &mut |tree| {
        for (other, item) in tree.schema.fields.iter().zip(&tree.fields) {
            match item {
                _ if other.name != field.name && !(names.are_alike)(field.name, other.name) => {}
                Item::Bits(number) => others.push(*number),
                Item::Ints(items) => others.extend(items.iter().map(|item| u64::from(*item))),
                Item::Longs(items) => others.extend(items),
                Item::Absent | Item::Bytes(_) | Item::Text(_) | Item::Table(_) | Item::Tables(_) => {}
            }
        }
    });
    let tree = table(tree, path);
    let name = format!("{}.{}", tree.schema.name, field.name);
    let item = &mut tree.fields[slot];
    if random.below(20) == 0 {
        *item = Item::Absent;
        return format!("{name} removed");
    }
    if matches!(item, Item::Absent) {
        *item = match field.kind {
            Kind::Ints | Kind::UInts | Kind::Floats => Item::Ints(Vec::new()),
            Kind::Longs | Kind::ULongs | Kind::Doubles => Item::Longs(Vec::new()),
            Kind::Text => Item::Text(b"x".to_vec()),
            Kind::Table(schema) => Item::Table(Tree::new(schema)),
            Kind::Bytes | Kind::AlignedBytes(_) | Kind::Bools => Item::Bytes(vec![1; 8]),
            Kind::Tables(_) | Kind::Union(_) => Item::Absent,
            _ => Item::Bits(0),
        };
    }
    let what = match item {
        Item::Bits(number) if names.floats.contains(&field.name) => {
            *number = u64::from(random.pick(FLOATS).to_bits());
            format!("= {}", f32::from_bits(*number as u32))
        }
        Item::Bits(number) if matches!(field.kind, Kind::Double) => {
            *number = f64::from(random.pick(FLOATS)).to_bits();
            format!("= {}", f64::from_bits(*number))
        }
        Item::Bits(number) => {
            *number = changed(*number, &others, random);
            format!("= {}", *number as i64)
        }
        Item::Ints(items) => change_numbers(items, random, |old, random| changed(old.into(), &others, random) as u32),
        Item::Longs(items) => change_numbers(items, random, |old, random| changed(old, &others, random)),
        Item::Bytes(items) if items.is_empty() || random.below(2) == 0 => {
            items.truncate(random.below(items.len()));
            format!("of {} bytes", items.len())
        }
        Item::Bytes(items) => change_numbers(items, random, |old, random| changed(old.into(), &[], random) as u8),
        Item::Text(items) => {
            let at = random.below(items.len());
            if let Some(byte) = items.get_mut(at) {
                *byte ^= 1;
            }
            "changed".to_owned()
        }
        Item::Tables(items) => change_items(items, random).to_owned(),
        Item::Table(_) | Item::Absent => "kept".to_owned(),
    };
    format!("{name} {what}")
}

/// Changes a list of numbers: one number, the order, or the length.
pub fn change_numbers<T: Copy + Default + std::fmt::Debug>(
    items: &mut Vec<T>,
    random: &mut Random,
    change: impl Fn(T, &mut Random) -> T,
) -> String {
    if items.is_empty() || random.below(4) == 0 {
        let number = change(T::default(), random);
        match random.below(3) {
            0 if !items.is_empty() => {
                items.pop();
            }
            1 => items.insert(0, number),
            _ => items.push(number),
        }
    } else if random.below(4) == 0 {
        change_items(items, random);
    } else {
        let at = random.below(items.len());
        items[at] = change(items[at], random);
    }
    format!("= {:?}", &items[..items.len().min(8)])
}
