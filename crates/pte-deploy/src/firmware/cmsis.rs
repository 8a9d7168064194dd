//! CMSIS-Toolbox: a layer (`.clayer.yml`) with the components of ExecuTorch's CMSIS pack, and a linker fragment.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::components::{CORTEX_M, Component};
use super::generated::{Generated, SECTION, unplanned_inputs};
use super::linker;
use super::pools::{FirmwareNeeds, FirmwarePool};
use super::text::Comment;
use crate::Symbol;
use crate::embed::Section;
use pte_memory::runner::{CMSIS, FAST_POOL, Runner};
use pte_model::diagnostics::text::{clipped, first_names};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&CMSIS);

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = needs.pools(needs.abi);
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
    layer(needs, &mut generated);
    linker::fragment(&mut generated, needs, needs.section.as_ref().map_or(SECTION, Section::as_str));
    generated
}

/// Returns true if a method has memory in the fast pool.
fn has_fast_pool(needs: &FirmwareNeeds) -> bool {
    needs.loaded().any(|method| method.pools.iter().any(|pool| pool.pool == FAST_POOL && pool.bytes > 0))
}

/// Adds the layer. Components that are missing in the pack are warnings.
fn layer(needs: &FirmwareNeeds, generated: &mut Generated) {
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
    let sized = |pool: &FirmwarePool| {
        let comments: String = Comment::Hash.pool(pool).lines().map(|line| format!("    {line}\n")).collect();
        format!("{comments}    - {}: {}\n", pool.name, pool.bytes)
    };
    let pools: String = generated.pools.iter().map(sized).collect();
    let component = |name: &str| format!("    - component: {name}\n");
    let operators = components
        .iter()
        .map(|Component { category, file }| format!("Machine Learning:ExecuTorch Operators:{category} {file}"));
    let mut components: String = operators.map(|name| component(&name)).collect();
    if uses_cmsis_nn {
        components += &component("ARM::CMSIS:NN Lib");
    }
    if needs.uses_ethos_u() {
        components += "    # The layer of the board selects the driver: Machine Learning:NPU Support:Ethos-U Driver.\n";
        components += &component("Machine Learning:ExecuTorch:Backend EthosU");
    }
    let packs = if uses_cmsis_nn { "    - pack: ARM::CMSIS-NN\n" } else { "" };
    let stem = needs.file.rsplit_once('.').map_or(&*needs.file, |(stem, _)| stem);
    let path = format!("{}.clayer.yml", Symbol::from_name(stem));
    let values: [(&str, &dyn Display); 3] = [("packs", &packs), ("pools", &pools), ("components", &components)];
    generated.template(needs, &path, include_str!("templates/cmsis.clayer.yml"), &values);
}
