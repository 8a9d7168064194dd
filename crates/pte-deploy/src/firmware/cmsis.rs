//! CMSIS-Toolbox: a layer (`.clayer.yml`) with the components of ExecuTorch's CMSIS pack, and a linker fragment.

use std::collections::BTreeSet;

use super::components::{CORTEX_M, Component};
use super::generated::{Generated, SECTION, unplanned_inputs};
use super::linker;
use super::needs::FirmwareNeeds;
use super::pools::Pools;
use super::text::Comment;
use crate::Symbol;
use crate::embed::Section;
use pte_memory::runner::{CMSIS, FAST_POOL, Runner};
use pte_model::diagnostics::text::{clipped, first_names};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&CMSIS);

/// Name of the linker fragment.
const LINKER: &str = "pte-emit.ld";

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = Pools { methods: &needs.methods, abi: needs.abi };
    let mut generated = Generated {
        pools: vec![
            pools.method_allocator("ET_ARM_BAREMETAL_METHOD_ALLOCATOR_POOL_SIZE", CMSIS.order),
            pools.temporary("ET_ARM_BAREMETAL_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE"),
        ],
        ..Generated::default()
    };
    if has_fast_pool(needs) {
        generated.pools.push(pools.planned("ET_ARM_BAREMETAL_PLANNED_FAST_MEMORY_SIZE", FAST_POOL));
    }
    generated.warnings.extend(unplanned_inputs(needs, &CMSIS));
    let layer = layer(needs, &mut generated);
    let stem = needs.file.rsplit_once('.').map_or(&*needs.file, |(stem, _)| stem);
    generated.file(format!("{}.clayer.yml", Symbol::from_name(stem)), layer);
    generated.file(LINKER, linker::fragment(needs, needs.section.as_ref().map_or(SECTION, Section::as_str)));
    generated
}

/// Returns true if a method has memory in the fast pool.
fn has_fast_pool(needs: &FirmwareNeeds) -> bool {
    needs.methods.iter().any(|method| method.any().pools.iter().any(|pool| pool.pool == FAST_POOL && pool.bytes > 0))
}

/// The layer. Components that are missing in the pack are warnings.
fn layer(needs: &FirmwareNeeds, generated: &mut Generated) -> String {
    let mut components = BTreeSet::new();
    let mut missing = Vec::new();
    for operator in needs.operators() {
        match Component::of(operator) {
            Some(component) => drop(components.insert(component)),
            // Of an operator that is not known, all platforms warn.
            None => missing.extend(pte_operators::find(operator).map(|_| clipped(operator))),
        }
    }
    if !missing.is_empty() {
        let names = first_names(missing.iter().map(String::as_str));
        generated
            .warnings
            .push(format!("the CMSIS pack has no component for {names}: add sources that register the operators"));
    }
    let uses_cmsis_nn = components.iter().any(|component| component.category == CORTEX_M);
    let mut out =
        Comment::Hash.head(needs, &["Layer of a csolution project: add it to `layers:` of the .cproject.yml."]);
    out += "layer:\n  type: ExecuTorch program\n  description: Memory pools and kernels of an ExecuTorch program\n\n  packs:\n";
    out += "    - pack: PyTorch::ExecuTorch\n";
    if uses_cmsis_nn {
        out += "    - pack: ARM::CMSIS-NN\n";
    }
    out += "\n  define:\n";
    for pool in &generated.pools {
        for line in Comment::Hash.pool(pool).lines() {
            out += &format!("    {line}\n");
        }
        out += &format!("    - {}: {}\n", pool.name, pool.bytes);
    }
    out += "\n  components:\n";
    for name in ["Runtime", "Kernel Utils", "Kernel Registration"] {
        out += &format!("    - component: Machine Learning:ExecuTorch:{name}\n");
    }
    for Component { category, file } in &components {
        out += &format!("    - component: Machine Learning:ExecuTorch Operators:{category} {file}\n");
    }
    if uses_cmsis_nn {
        out += "    - component: ARM::CMSIS:NN Lib\n";
    }
    if needs.uses_ethos_u() {
        out += "    # The layer of the board selects the driver: Machine Learning:NPU Support:Ethos-U Driver.\n";
        out += "    - component: Machine Learning:ExecuTorch:Backend EthosU\n";
    }
    out
}
