//! The way from the root to an object, such as `methods.forward.values[3].sizes`, made when it is printed.
//!
//! The same words as `check` uses, so that a finding and the bytes it is about are found by one name.

use super::objects::{NONE, What};
use super::part::Part;

/// The schemas nest less deep.
const DEEPEST: usize = 24;

/// Appends the path of an object. `on` is whether a field of it follows: then what a union adds is left out.
pub fn write(part: &Part, object: u32, on: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(part.prefix.as_bytes());
    let objects = &part.objects.list;
    let mut steps = [(0u32, 0u32); DEEPEST];
    let mut count = 0;
    let mut id = object;
    while let Some(object) = objects.get(id as usize)
        && object.parent != NONE
        && count < DEEPEST
    {
        // A vtable goes by the name of its table.
        if !matches!(object.what, What::Vtable(_)) {
            steps[count] = (object.parent, object.step);
            count += 1;
        }
        id = object.parent;
    }
    let mut plan = None;
    let mut position = count;
    while position > 0 {
        position -= 1;
        let (parent, step) = steps[position];
        let last = position == 0 && !on;
        match objects[parent as usize].what {
            What::Table(table) => match table.fields[step as usize].name {
                "execution_plan" if position > 0 => {
                    position -= 1;
                    let index = steps[position].1;
                    plan = part.methods.get(index as usize);
                    match plan {
                        Some(method) => out.extend_from_slice(method.path.as_bytes()),
                        None => {
                            out.extend_from_slice(b"methods");
                            item(index, out);
                        }
                    }
                }
                "execution_plan" => out.extend_from_slice(b"methods"),
                "chains" if position > 0 && (on || position != 1) && plan.is_some_and(|plan| plan.one_chain) => {
                    position -= 1;
                }
                "val" | "instr_args" if !last => {}
                name => field(name, start, out),
            },
            _ => item(step, out),
        }
    }
    if count == 0 && out.last() == Some(&b'.') && !on {
        out.pop();
    }
}

/// Appends a field.
pub fn field(name: &str, start: usize, out: &mut Vec<u8>) {
    if out.len() > start && out.last() != Some(&b'.') {
        out.push(b'.');
    }
    out.extend_from_slice(name.as_bytes());
}

/// Appends an item.
pub fn item(index: u32, out: &mut Vec<u8>) {
    out.push(b'[');
    super::text::decimal(index.into(), out);
    out.push(b']');
}
