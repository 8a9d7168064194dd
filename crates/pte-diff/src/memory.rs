//! Compares the planned memory of two methods: sizes and devices of their pools. The locations of tensors are compared
//! with the tensors.

use super::difference::{DiffArea, DiffTopic, Differences};
use super::view::{MethodView, numbers};
use pte_model::diagnostics::counted;
use pte_model::program::NonConstBufferDevice;

/// Compares the pools of two methods.
pub fn compare(views: [&MethodView<'_>; 2], found: &mut Differences) {
    let plans = views.map(|view| &view.plan.memory);
    let sizes = plans.map(|memory| memory.non_const_buffer_sizes.as_deref());
    compare_lists(views, "non_const_buffer_sizes", sizes, |size| counted(i128::from(*size), "byte"), found);
    let devices = plans.map(|memory| memory.non_const_buffer_device.as_deref());
    let text =
        |device: &NonConstBufferDevice| format!("pool {} on device {}", device.buffer_idx, numbers(device.device()));
    compare_lists(views, "non_const_buffer_device", devices, text, found);
}

fn compare_lists<T>(
    views: [&MethodView<'_>; 2],
    name: &str,
    lists: [Option<&[T]>; 2],
    text: impl Fn(&T) -> String,
    found: &mut Differences,
) {
    let (area, topic) = (DiffArea::Layout, DiffTopic::Memory);
    let presence = lists.map(|list| list.map(|_| "present".to_owned()));
    found.compared(area, topic, views.map(|view| view.field(name)), presence);
    let lists = lists.map(Option::unwrap_or_default);
    for index in 0..lists[0].len().max(lists[1].len()) {
        let paths = views.map(|view| view.field(format_args!("{name}[{index}]")));
        found.compared(area, topic, paths, lists.map(|list| list.get(index).map(&text)));
    }
}
