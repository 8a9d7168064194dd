//! Numbers, strings and lists of a program as text.

use pte_memory::Subject;
use pte_model::program::{EValue, ExecutionPlan, ValueId};

/// Maximum number of items of a list that are written.
const MAX_ITEMS: usize = 64;

/// Maximum number of characters of a string, and of the name of a tensor.
const MAX_STRING: usize = 200;

/// Number of items that the lists of a program write in total: the lists of a hostile file can share their items.
const MAX_LISTED: usize = 1 << 17;

/// Number of items that lists may still write.
pub struct ItemsLeft(usize);

impl Default for ItemsLeft {
    fn default() -> ItemsLeft {
        ItemsLeft(MAX_LISTED)
    }
}

/// Returns the content of a number, string, list or None; `None` for a tensor.
pub fn text(
    subject: &Subject<'_>,
    method: usize,
    plan: &ExecutionPlan,
    value: &EValue,
    left: &mut ItemsLeft,
) -> Option<String> {
    let name = |id: ValueId| match id.within(plan.values().len()) {
        Some(value) => shortened(&subject.value_name(method, value)),
        None => "none".to_owned(),
    };
    let int = |item: &i64| match i32::try_from(*item).ok().and_then(|id| plan.value(ValueId(id))) {
        Some(EValue::Int(number)) => number.to_string(),
        Some(_) => name(ValueId(*item as i32)),
        None => "none".to_owned(),
    };
    match value {
        EValue::Tensor(_) => None,
        EValue::Null => Some("none".to_owned()),
        EValue::Int(number) => Some(number.to_string()),
        EValue::Bool(value) => Some(value.to_string()),
        EValue::Double(number) => Some(format!("{number:?}")),
        EValue::String(text) => Some(format!("{:?}", shortened(text.as_deref().unwrap_or_default()))),
        EValue::IntList(items) => Some(list(items.as_deref(), int, left)),
        EValue::DoubleList(items) => Some(list(items.as_deref(), |item| format!("{item:?}"), left)),
        EValue::BoolList(items) => Some(list(items.as_deref(), ToString::to_string, left)),
        EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
            Some(list(items.as_deref(), |item| name(*item), left))
        }
        EValue::Unknown(_) => Some(value.kind().to_owned()),
    }
}

fn list<T>(items: Option<&[T]>, text: impl Fn(&T) -> String, left: &mut ItemsLeft) -> String {
    let Some(items) = items else { return "absent".to_owned() };
    let count = items.len().min(MAX_ITEMS).min(left.0);
    left.0 -= count;
    let shown: Vec<String> = items.iter().take(count).map(text).collect();
    match items.len() - count {
        0 => format!("[{}]", shown.join(", ")),
        more if count == 0 => format!("[... ({more} items)]"),
        more => format!("[{}, ... ({more} more)]", shown.join(", ")),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_STRING) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
