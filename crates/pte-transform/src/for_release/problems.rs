//! Parts of a program that a release cannot express.

use super::target::{Target, exporter_of};
use pte_model::format::exporter::{Exporter, FlatTensorTables};
use pte_model::program::element::{Element, Part};
use pte_model::program::releases::{NAMED_BESIDE_EXTERNAL, used};
use pte_model::program::{Device, NamedData, Program};
use pte_releases::{Answer, Release};
use pte_xnnpack::payloads::Payloads;

/// A part of a program that a release cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexpressible {
    /// Element of the program that cannot be expressed.
    pub at: Element,
    /// Description of the part, for messages.
    pub what: String,
    /// First later release that can express it.
    pub help: String,
}

impl Inexpressible {
    /// Returns a part that a release cannot express; `first` is the first later one that can.
    pub(super) fn new(at: Element, what: impl Into<String>, first: Option<Release>) -> Inexpressible {
        let help = match first {
            Some(first) => format!("ExecuTorch {} is the first release that can", first.version()),
            None => "no known release can".to_owned(),
        };
        Inexpressible { at, what: what.into(), help }
    }

    /// Returns the features of a rewritten program that a release does not have: external data, named data, devices,
    /// element types, fields of newer schemas.
    pub fn features(program: &Program, target: &Target<'_>) -> Vec<Inexpressible> {
        let mut found = Vec::new();
        external_data(program, target, &mut found);
        named_data(program, target, &mut found);
        devices(program, target, &mut found);
        if found.is_empty() {
            combination(program, target, &mut found);
        }
        element_types(program, target, &mut found);
        found.extend(program.newer_slots().map(|newer| {
            let what = format!("slot {} of {} at {}, a field of a newer schema", newer.slot, newer.table, newer.path);
            Inexpressible::new(Element::Program, what, None)
        }));
        found
    }
}

/// Returns the first known release whose exporter does something.
pub(super) fn first_exporter(does: impl Fn(&Exporter) -> bool) -> Option<Release> {
    Release::known().find(|release| does(exporter_of(release)))
}

/// Returns the measured behaviour of a runtime for a feature that it does not read.
fn refusal<'r>(release: &'r Release, feature: &str) -> Option<&'r Answer> {
    // Keys that a release ignores are those of named data, about which its exporter says more.
    release.feature(feature).filter(|answer| answer.is_refusal())
}

/// Named data together with data in a `.ptd`: an exporter writes both, but the runtime of the same release may not read
/// them together.
fn combination(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    let both = used(program).into_iter().find(|(feature, _)| feature.key == NAMED_BESIDE_EXTERNAL);
    let Some((feature, at)) = both else { return };
    if let Some(answer) = refusal(target.release, feature.key) {
        let first = target.release.first_later(|release| refusal(release, feature.key).is_none());
        found.push(Inexpressible::new(at, format!("{}: its runtime {answer}", feature.name), first));
    }
}

fn element_types(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    for (method, value, tensor) in program.tensors() {
        let feature = format!("type.{}", tensor.scalar_type);
        let Some(answer) = refusal(target.release, &feature) else { continue };
        let first = target.release.first_later(|release| refusal(release, &feature).is_none());
        let what = format!("a tensor of {}: its runtime {answer}", tensor.scalar_type);
        found.push(Inexpressible::new(Element::Method(method, Part::Value(value)), what, first));
    }
}

fn external_data(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    let runtime = target.release;
    let why = match target.exporter.flat_tensor {
        FlatTensorTables::Current => return,
        FlatTensorTables::None => format!("data in a .ptd, which {runtime} does not read"),
        FlatTensorTables::Former => format!("data in a .ptd, of which {runtime} reads other tables"),
    };
    let first = first_exporter(|exporter| exporter.flat_tensor == FlatTensorTables::Current);
    for (method, value, _) in program.tensors().filter(|(.., tensor)| tensor.is_external()) {
        let at = Element::Method(method, Part::Value(value));
        found.push(Inexpressible::new(at, why.clone(), first.clone()));
    }
    for entry in 0..program.external_data.len() {
        found.push(Inexpressible::new(Element::ExternalData(entry), why.clone(), first.clone()));
    }
}

fn named_data(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    if target.exporter.has_named_data {
        return;
    }
    let runtime = target.release;
    let first = first_exporter(|exporter| exporter.has_named_data);
    // Payloads whose constants cannot be moved inside are reported.
    let keys = Payloads::of_program(program).keys();
    let is_constant = |data: &NamedData| keys.refer_to(&data.key);
    let others = program.named_data.iter().flatten().enumerate().filter(|(_, data)| !is_constant(data));
    for (entry, _) in others {
        let what = format!("named data, which {runtime} does not read");
        found.push(Inexpressible::new(Element::NamedData(entry), what, first.clone()));
    }
}

fn devices(program: &Program, target: &Target<'_>, found: &mut Vec<Inexpressible>) {
    if target.exporter.has_devices {
        return;
    }
    let runtime = target.release;
    let first = first_exporter(|exporter| exporter.has_devices);
    let mut add = |at, device: Device| {
        let what = format!("memory on the device `{device}`, of which {runtime} knows nothing");
        found.push(Inexpressible::new(at, what, first.clone()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::data::BlobId;
    use pte_model::format::ScalarType;
    use pte_model::program::{EValue, ExecutionPlan, ExtraTensorInfo, Tensor, TensorData, TensorDataLocation};

    fn program(tensor: Tensor) -> Program {
        Program::new(vec![ExecutionPlan { values: Some(vec![EValue::Tensor(tensor)]), ..ExecutionPlan::default() }])
    }

    fn problems(program: &Program, release: &str) -> Vec<(String, String)> {
        let release = Release::find(release).unwrap();
        let target = Target::of(&release);
        Inexpressible::features(program, &target).into_iter().map(|found| (found.what, found.help)).collect()
    }

    #[test]
    fn element_types_are_those_that_the_runtime_reads() {
        let complex = program(Tensor::new(ScalarType::COMPLEXFLOAT, &[2]));
        let what = "a tensor of complex64: its runtime rejects it (load: InvalidProgram)".to_owned();
        let help = "ExecuTorch 0.6.0 is the first release that can".to_owned();
        assert_eq!(problems(&complex, "0.5"), [(what, help)]);
        assert!(problems(&complex, "0.6").is_empty());
        assert!(problems(&program(Tensor::new(ScalarType::BITS16, &[2])), "0.4").is_empty());
    }

    /// 0.7 reads data in a `.ptd`, and named data, but not both.
    #[test]
    fn a_combination_that_the_runtime_rejects_is_a_problem() {
        let extra = ExtraTensorInfo { location: TensorDataLocation::EXTERNAL, ..ExtraTensorInfo::default() };
        let tensor = Tensor {
            data: TensorData::Elsewhere(None),
            extra_tensor_info: Some(Box::new(extra)),
            ..Tensor::new(ScalarType::FLOAT, &[2])
        };
        let mut both = program(tensor);
        assert!(problems(&both, "0.7").is_empty());
        both.named_data = Some(vec![NamedData::new("key", BlobId(0))]);
        assert!(problems(&both, "0.7")[0].0.ends_with("in a .ptd: its runtime rejects it (load: NotSupported)"));
        assert_eq!((problems(&both, "0.7").len(), problems(&both, "1.0").len()), (1, 0));
        // Of the tables that 0.6 writes, there is one message.
        assert_eq!(problems(&both, "0.6").len(), 1);
    }
}
