//! A file for `cmake -C`: the options of ExecuTorch's own build that a program needs.

use std::collections::BTreeSet;

use super::text::{Comment, cmake_cache, cmake_string};
use super::{ETHOS_U, FirmwareNeeds};
use pte_model::diagnostics::text::{clipped, first_names};
use pte_operators::{find, library};
use pte_payload::xnnpack;

/// Name of the file.
pub const FILE: &str = "executorch-cache.cmake";

/// Options that build the libraries of kernels which are not portable.
const LIBRARIES: &[(&str, &str)] =
    &[("cortex_m_ops_lib", "EXECUTORCH_BUILD_CORTEX_M"), ("custom_ops", "EXECUTORCH_BUILD_KERNELS_LLM")];

/// Namespace of the kernels that `EXECUTORCH_BUILD_KERNELS_QUANTIZED` builds.
const QUANTIZED: &str = "quantized_decomposed::";

/// Options that build backends.
const BACKENDS: &[(&str, &str)] = &[
    ("CoreMLBackend", "EXECUTORCH_BUILD_COREML"),
    (ETHOS_U, "EXECUTORCH_BUILD_ARM_BAREMETAL"),
    ("MPSBackend", "EXECUTORCH_BUILD_MPS"),
    ("QnnBackend", "EXECUTORCH_BUILD_QNN"),
    ("VulkanBackend", "EXECUTORCH_BUILD_VULKAN"),
    (xnnpack::BACKEND, "EXECUTORCH_BUILD_XNNPACK"),
];

/// Option of an operator that a further library registers; an error without an option that is known.
fn operator_option(name: &str) -> Result<Option<&'static str>, ()> {
    match library(name) {
        Some(library) => {
            LIBRARIES.iter().find(|(known, _)| *known == library).map(|(_, option)| Some(*option)).ok_or(())
        }
        None if name.starts_with(QUANTIZED) => Ok(Some("EXECUTORCH_BUILD_KERNELS_QUANTIZED")),
        None => find(name).map(|_| None).ok_or(()),
    }
}

fn backend_option(name: &str) -> Option<&'static str> {
    BACKENDS.iter().find(|(known, _)| *known == name).map(|(_, option)| *option)
}

/// Returns the file.
pub fn text(needs: &FirmwareNeeds) -> String {
    let mut out = Comment::Hash.head(needs, &["Cache of the build of ExecuTorch: cmake -C executorch-cache.cmake ..."]);
    let operators = cmake_string(&needs.operators.join(","));
    out += &cmake_cache("EXECUTORCH_SELECT_OPS_LIST", &operators, "STRING", "Operators of the program");
    let of_operators = needs.operators.iter().filter_map(|name| operator_option(name).ok().flatten());
    let options: BTreeSet<&str> =
        of_operators.chain(needs.backends.iter().filter_map(|name| backend_option(name))).collect();
    for option in options {
        out += &cmake_cache(option, "ON", "BOOL", "Needed by the program");
    }
    out
}

/// Warnings about operators and backends without an option.
pub fn warnings(needs: &FirmwareNeeds) -> Vec<String> {
    let operators = needs.operators.iter().filter(|name| operator_option(name).is_err());
    let backends = needs.backends.iter().filter(|name| backend_option(name).is_none());
    [("the operator", operators.collect::<Vec<_>>()), ("the backend", backends.collect())]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(kind, names)| {
            let names: Vec<String> = names.into_iter().map(|name| clipped(name)).collect();
            let names = first_names(names.iter().map(String::as_str));
            format!("no option of ExecuTorch's build is known for {kind} {names}: link a library that registers it")
        })
        .collect()
}
