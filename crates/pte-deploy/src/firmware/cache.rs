//! A file for `cmake -C`: the options of ExecuTorch's own build that a program needs.

use std::collections::BTreeSet;

use super::pools::FirmwareNeeds;
use super::text::{Comment, cmake_cache, cmake_string};
use pte_model::diagnostics::text::{clipped, first_names};
use pte_operators::{find, target};
use pte_payload::ethos_u;

/// Name of the file.
pub const FILE: &str = "executorch-cache.cmake";

/// CMake targets that register kernels, and the options that build them; an empty option for those that are always
/// built.
const TARGETS: &[(&str, &str)] = &[
    (target::CORTEX_M, "EXECUTORCH_BUILD_CORTEX_M"),
    (target::CUSTOM, "EXECUTORCH_BUILD_KERNELS_LLM"),
    (target::OPTIMIZED, "EXECUTORCH_BUILD_KERNELS_OPTIMIZED"),
    (target::PORTABLE, ""),
    (target::QUANTIZED, "EXECUTORCH_BUILD_KERNELS_QUANTIZED"),
    (target::PRIM_OPS, ""),
];

/// Options that build backends other than that of Ethos-U.
const BACKENDS: &[(&str, &str)] = &[
    ("CoreMLBackend", "EXECUTORCH_BUILD_COREML"),
    ("MPSBackend", "EXECUTORCH_BUILD_MPS"),
    ("QnnBackend", "EXECUTORCH_BUILD_QNN"),
    ("VulkanBackend", "EXECUTORCH_BUILD_VULKAN"),
    (pte_xnnpack::BACKEND, "EXECUTORCH_BUILD_XNNPACK"),
];

/// Option of an operator, which may be empty; `None` if it is not known.
fn operator_option(name: &str) -> Option<&'static str> {
    let target = find(name)?.target();
    TARGETS.iter().find(|(known, _)| *known == target).map(|(_, option)| *option)
}

/// Option of a backend; `None` if it is not known.
pub fn backend_option(name: &str) -> Option<&'static str> {
    if ethos_u::BACKENDS.contains(&name) {
        return Some("EXECUTORCH_BUILD_ARM_BAREMETAL");
    }
    BACKENDS.iter().find(|(known, _)| *known == name).map(|(_, option)| *option)
}

/// Returns the file.
pub fn text(needs: &FirmwareNeeds) -> String {
    let usage = "Cache of the build of ExecuTorch: cmake -C executorch-cache.cmake ...";
    let mut out = Comment::Hash.head(needs) + &Comment::Hash.line(usage);
    let operators = cmake_string(&needs.operator_list());
    out += &cmake_cache("EXECUTORCH_SELECT_OPS_LIST", &operators, "STRING", "Operators of the program");
    let of_operators = needs.operators().filter_map(operator_option).filter(|option| !option.is_empty());
    let options: BTreeSet<&str> = of_operators.chain(needs.backends().filter_map(backend_option)).collect();
    for option in options {
        out += &cmake_cache(option, "ON", "BOOL", "Needed by the program");
    }
    out
}

/// Warnings about operators and backends without an option.
pub fn warnings(needs: &FirmwareNeeds) -> Vec<String> {
    let operators = needs.operators().filter(|name| operator_option(name).is_none());
    let backends = needs.backends().filter(|name| backend_option(name).is_none());
    [("the operator", operators.collect::<Vec<_>>()), ("the backend", backends.collect())]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(kind, names)| {
            let names: Vec<String> = names.into_iter().map(clipped).collect();
            let names = first_names(names.iter().map(String::as_str));
            format!("no option of ExecuTorch's build is known for {kind} {names}: link a library that registers it")
        })
        .collect()
}
