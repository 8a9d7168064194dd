//! Compares the planned memory of two methods: sizes and devices of their pools. The locations of tensors are compared
//! with the tensors.

use super::difference::{DiffArea, DiffTopic, Differences};
use super::view::{MethodView, numbers};
use pte_model::diagnostics::counted;

/// Compares the pools of two methods.
pub fn compare(views: [&MethodView<'_>; 2], found: &mut Differences) {
    let (area, topic) = (DiffArea::Layout, DiffTopic::Memory);
    let path = |side: usize, name: &str| format!("{}.{name}", views[side].side.method_path(views[side].number));
    let sizes = views.map(|view| view.plan.memory.non_const_buffer_sizes.as_deref());
    let presence = sizes.map(|sizes| sizes.map(|_| "present".to_owned()));
    let name = "non_const_buffer_sizes";
    found.compared(area, topic, [&path(0, name), &path(1, name)], presence);
    let sizes = sizes.map(Option::unwrap_or_default);
    for pool in 0..sizes[0].len().max(sizes[1].len()) {
        let name = format!("{name}[{pool}]");
        let texts = sizes.map(|sizes| sizes.get(pool).map(|size| counted(i128::from(*size), "byte")));
        found.compared(area, topic, [&path(0, &name), &path(1, &name)], texts);
    }
    let devices = views.map(|view| view.plan.memory.non_const_buffer_device.as_deref());
    let presence = devices.map(|devices| devices.map(|_| "present".to_owned()));
    let name = "non_const_buffer_device";
    found.compared(area, topic, [&path(0, name), &path(1, name)], presence);
    let devices = devices.map(Option::unwrap_or_default);
    for index in 0..devices[0].len().max(devices[1].len()) {
        let name = format!("{name}[{index}]");
        let texts = devices.map(|devices| {
            let device = devices.get(index);
            device.map(|device| format!("pool {} on device {}", device.buffer_idx, numbers(device.device())))
        });
        found.compared(area, topic, [&path(0, &name), &path(1, &name)], texts);
    }
}
