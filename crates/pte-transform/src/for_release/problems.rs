//! What a release cannot express.

use super::target::{Target, exporter_of};
use crate::named::DelegateGraphs;
use pte_model::format::exporter::{Exporter, FlatTensorTables};
use pte_model::program::element::{Element, Part};
use pte_model::program::{Device, NamedData, Program};
use pte_releases::{Release, Version};

/// A part of a program that a release cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexpressible {
    /// The part.
    pub at: Element,
    /// What it is, for messages.
    pub what: String,
    /// What would help: the first later release that can.
    pub help: String,
}

impl Inexpressible {
    /// Returns a part that a release cannot express; `first` is the first later one that can.
    pub(super) fn new(at: Element, what: impl Into<String>, first: Option<Version>) -> Inexpressible {
        let help = match first {
            Some(first) => format!("ExecuTorch {first} is the first release that can"),
            None => "no known release can".to_owned(),
        };
        Inexpressible { at, what: what.into(), help }
    }

    /// Returns the features of a rewritten program that a release does not have: external data, named data, devices, fields of newer schemas.
    pub fn features(program: &Program, target: &Target<'_>) -> Vec<Inexpressible> {
        let mut found = Vec::new();
        external_data(program, target, &mut found);
        named_data(program, target, &mut found);
        devices(program, target, &mut found);
        found.extend(program.newer_slots().map(|newer| {
            let what = format!("slot {} of {} at {}, a field of a newer schema", newer.slot, newer.table, newer.path);
            Inexpressible::new(Element::Program, what, None)
        }));
        found
    }
}

/// Returns the first known release whose exporter does something.
pub(super) fn first_exporter(does: impl Fn(&Exporter) -> bool) -> Option<Version> {
    let exporter = |release: &&Release| does(exporter_of(release));
    Release::known().find(exporter).map(Release::version)
}

fn external_data(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    let version = target.release.version();
    let why = match target.exporter.flat_tensor {
        FlatTensorTables::Current => return,
        FlatTensorTables::None => format!("data in a .ptd, which ExecuTorch {version} does not read"),
        FlatTensorTables::Former => format!("data in a .ptd, of which ExecuTorch {version} reads other tables"),
    };
    let first = first_exporter(|exporter| exporter.flat_tensor == FlatTensorTables::Current);
    for (method, plan) in program.plans().iter().enumerate() {
        for (value, _) in plan.tensors().filter(|(_, tensor)| tensor.is_external()) {
            let at = Element::Method(method, Part::Value(value));
            found.push(Inexpressible::new(at, why.clone(), first));
        }
    }
    for entry in 0..program.external_data.len() {
        found.push(Inexpressible::new(Element::ExternalData(entry), why.clone(), first));
    }
}

fn named_data(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    if target.exporter.has_named_data {
        return;
    }
    let version = target.release.version();
    let first = first_exporter(|exporter| exporter.has_named_data);
    // Payloads whose constants cannot be moved inside are reported.
    let keys = DelegateGraphs::of(program).keys();
    let is_constant = |data: &NamedData| keys.refer_to(&data.key);
    let others = program.named_data.iter().flatten().enumerate().filter(|(_, data)| !is_constant(data));
    for (entry, _) in others {
        let what = format!("named data, which ExecuTorch {version} does not read");
        found.push(Inexpressible::new(Element::NamedData(entry), what, first));
    }
}

fn devices(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    if target.exporter.has_devices {
        return;
    }
    let version = target.release.version();
    let first = first_exporter(|exporter| exporter.has_devices);
    let mut add = |at, device: Device| {
        let what = format!("memory on the device `{device}`, of which ExecuTorch {version} knows nothing");
        found.push(Inexpressible::new(at, what, first));
    };
    for (method, plan) in program.plans().iter().enumerate() {
        for (value, tensor) in plan.tensors().filter(|(_, tensor)| tensor.device() != Device::CPU) {
            add(Element::Method(method, Part::Value(value)), tensor.device());
        }
        let buffers = plan.memory.non_const_buffer_device.iter().flatten();
        for entry in buffers.filter(|entry| entry.device() != Device::CPU) {
            add(Element::Method(method, Part::Whole), entry.device());
        }
    }
}
