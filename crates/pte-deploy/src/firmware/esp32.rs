//! ESP-IDF: lines of sdkconfig, a table of partitions, and CMake files for the project and for the build of ExecuTorch.

use std::fmt::Display;

use super::cache;
use super::generated::{Generated, unplanned_inputs};
use super::pools::{FirmwareNeeds, FirmwarePool};
use super::text::{Comment, cmake_cache, cmake_program_path};
use pte_memory::runner::{ESP32, Runner};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&ESP32);

/// Largest size in bytes of static data in the internal RAM of an ESP32; larger pools need external RAM.
const INTERNAL_RAM: u64 = 160 << 10;

/// Offset in bytes of the partition of the application, after those that ESP-IDF has by default.
const APP_OFFSET: u64 = 0x1_0000;

/// Multiple of bytes for the sizes of partitions of applications.
const APP_ALIGNMENT: u64 = 0x1_0000;

/// Bytes for the code in the partition of the application: its size by default in ESP-IDF.
const CODE: u64 = 1 << 20;

/// Sizes of flash in MiB that ESP-IDF supports.
const FLASH_SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, LARGEST_FLASH];

/// The largest one.
pub const LARGEST_FLASH: u64 = 128;

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = needs.pools(needs.abi);
    let mut generated = Generated {
        pools: vec![
            pools.method_allocator("ET_ESP_METHOD_ALLOCATOR_POOL_SIZE", ESP32.order),
            pools.temporary("ET_ESP_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE"),
        ],
        ..Generated::default()
    };
    generated.warnings.extend(unplanned_inputs(needs, &ESP32));
    let flash = flash(needs).map(|flash| format!("CONFIG_ESPTOOLPY_FLASHSIZE_{flash}MB=y\n")).unwrap_or_default();
    let sum = generated.pools.iter().fold(0u64, |sum, pool| sum.saturating_add(pool.bytes));
    let exceeds = format!(
        "# The pools of {sum} bytes exceed the {INTERNAL_RAM} bytes of static data in internal RAM.\n\
         CONFIG_SPIRAM=y\nCONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY=y\n"
    );
    let external_ram = if sum > INTERNAL_RAM { exceeds } else { String::new() };
    let values: [(&str, &dyn Display); 2] = [("flash", &flash), ("external_ram", &external_ram)];
    generated.template(needs, "sdkconfig.pte-emit", include_str!("templates/sdkconfig"), &values);
    // The first two partitions are those of ESP-IDF's own tables.
    let values: [(&str, &dyn Display); 2] =
        [("offset", &format!("{APP_OFFSET:#x}")), ("size", &format!("{:#x}", application(needs)))];
    generated.template(needs, "partitions.csv", include_str!("templates/partitions.csv"), &values);
    let cached = |pool: &FirmwarePool| {
        let entry = cmake_cache(&pool.name, &pool.bytes.to_string(), "STRING", "Size of a pool in bytes");
        Comment::Hash.pool(pool) + &entry
    };
    let pools: String = generated.pools.iter().map(cached).collect();
    let values: [(&str, &dyn Display); 2] =
        [("program", &cmake_program_path("ET_PTE_FILE_PATH", needs)), ("pools", &pools)];
    generated.template(needs, "pte-emit.cmake", include_str!("templates/esp32.cmake"), &values);
    generated.file(cache::FILE, cache::text(needs));
    generated
}

/// Size in bytes of the partition of the application, with the program.
fn application(needs: &FirmwareNeeds) -> u64 {
    needs.program.bytes.saturating_add(CODE).checked_next_multiple_of(APP_ALIGNMENT).unwrap_or(u64::MAX)
}

/// Returns the size in MiB of the flash; `None` if none is large enough.
pub fn flash(needs: &FirmwareNeeds) -> Option<u64> {
    let end = application(needs).saturating_add(APP_OFFSET);
    FLASH_SIZES.iter().copied().find(|size| size << 20 >= end)
}
