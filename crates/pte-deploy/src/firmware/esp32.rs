//! ESP-IDF: lines of sdkconfig, a table of partitions, and CMake files for the project and for the build of ExecuTorch.

use super::cache;
use super::generated::{Generated, unplanned_inputs};
use super::needs::FirmwareNeeds;
use super::pools::Pools;
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

/// Names of the generated files.
const CONFIG: &str = "sdkconfig.pte-emit";
const PARTITIONS: &str = "partitions.csv";
const CMAKE: &str = "pte-emit.cmake";

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = Pools { methods: &needs.methods, abi: needs.abi };
    let mut generated = Generated {
        pools: vec![
            pools.method_allocator("ET_ESP_METHOD_ALLOCATOR_POOL_SIZE", ESP32.order),
            pools.temporary("ET_ESP_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE"),
        ],
        ..Generated::default()
    };
    generated.warnings.extend(unplanned_inputs(needs, &ESP32));
    let config = config(needs, &generated);
    let cmake = project(needs, &generated);
    generated.file(CONFIG, config);
    generated.file(PARTITIONS, partitions(needs));
    generated.file(CMAKE, cmake);
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

/// Lines of sdkconfig.
fn config(needs: &FirmwareNeeds, generated: &Generated) -> String {
    let mut out =
        Comment::Hash.head(needs, &["Defaults of sdkconfig: pte-emit.cmake adds them to SDKCONFIG_DEFAULTS."]);
    out += "CONFIG_PARTITION_TABLE_CUSTOM=y\n";
    out += &format!("CONFIG_PARTITION_TABLE_CUSTOM_FILENAME=\"{PARTITIONS}\"\n");
    if let Some(flash) = flash(needs) {
        out += &format!("CONFIG_ESPTOOLPY_FLASHSIZE_{flash}MB=y\n");
    }
    let pools = generated.pools.iter().fold(0u64, |sum, pool| sum.saturating_add(pool.bytes));
    if pools > INTERNAL_RAM {
        let text =
            format!("The pools of {pools} bytes exceed the {INTERNAL_RAM} bytes of static data in internal RAM.");
        out += &Comment::Hash.line(&text);
        out += "CONFIG_SPIRAM=y\nCONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY=y\n";
    }
    out
}

/// Table of partitions: the first two are those of ESP-IDF's own tables.
fn partitions(needs: &FirmwareNeeds) -> String {
    let app = application(needs);
    let mut out =
        Comment::Hash.head(needs, &["Table of partitions: `factory` has 1 MiB for code, and room for the program."]);
    out += "# Name, Type, SubType, Offset, Size\n";
    out += "nvs, data, nvs, 0x9000, 0x6000\nphy_init, data, phy, 0xf000, 0x1000\n";
    out += &format!("factory, app, factory, {APP_OFFSET:#x}, {app:#x}\n");
    out
}

/// CMake file of the project.
fn project(needs: &FirmwareNeeds, generated: &Generated) -> String {
    let mut out = Comment::Hash.head(
        needs,
        &["Include it in CMakeLists.txt of the project, whose folder it is in, before project.cmake of ESP-IDF."],
    );
    out += "include_guard(GLOBAL)\n\n";
    out += &cmake_program_path("ET_PTE_FILE_PATH", needs);
    for pool in &generated.pools {
        out += &Comment::Hash.pool(pool);
        out += &cmake_cache(&pool.name, &pool.bytes.to_string(), "STRING", "Size of a pool in bytes");
    }
    out += &format!(
        r#"
if(NOT DEFINED SDKCONFIG_DEFAULTS AND EXISTS "${{CMAKE_CURRENT_LIST_DIR}}/sdkconfig.defaults")
  set(SDKCONFIG_DEFAULTS "${{CMAKE_CURRENT_LIST_DIR}}/sdkconfig.defaults")
endif()
list(APPEND SDKCONFIG_DEFAULTS "${{CMAKE_CURRENT_LIST_DIR}}/{CONFIG}")
"#
    );
    out
}
