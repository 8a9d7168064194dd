//! Unit tests on needs that no file has: sizes at the limits, hostile names.

use super::*;
use crate::Symbol;
use pte_analysis::kernels::KernelCalls;
use pte_memory::ProgramNeeds;
use pte_memory::abi::Abi;
use pte_memory::boundary::BoundaryTensor;
use pte_memory::memory::{MemoryPool, MethodFootprint};
use pte_memory::runner::RUNNERS;
use pte_payload::ethos_u;

/// Needs of a program with a method with these pools and three inputs, one of them a tensor, and simple sizes.
fn program(pools: &[u64]) -> ProgramNeeds {
    let mut method = MethodFootprint::default();
    method.name = "forward".to_owned();
    (method.method_allocator.bytes, method.method_allocator.without_temporary_allocator) = (100, 200);
    for (number, bytes) in (1..).zip(pools) {
        let mut pool = MemoryPool::default();
        (pool.pool, pool.bytes, pool.alignment, pool.device) = (number, *bytes, 16, "cpu".to_owned());
        method.pools.push(pool);
    }
    method.pool_count = pools.len();
    let mut tensor = BoundaryTensor::default();
    (tensor.index, tensor.bytes) = (1, 5);
    (method.inputs.count, method.inputs.tensors) = (3, vec![tensor]);
    let mut program = ProgramNeeds { bytes: 1000, ..ProgramNeeds::default() };
    program.memory.iter_mut().for_each(|memory| memory.methods.push(method.clone()));
    program.kernels.operators.insert("aten::add.out".to_owned(), KernelCalls::default());
    program
}

fn needs(program: &ProgramNeeds) -> FirmwareNeeds<'_> {
    FirmwareNeeds {
        program,
        methods: vec![0],
        file: "net.pte".to_owned(),
        sha256: "00".repeat(32),
        alignment: 128,
        path: Some("net.pte".to_owned()),
        symbol: Symbol::new(RUNNER_SYMBOL).unwrap(),
        section: None,
        abi: Abi::Arm32,
    }
}

/// Sizes of the pools.
fn sizes(needs: &FirmwareNeeds<'_>, platform: FirmwarePlatform) -> Vec<u64> {
    firmware(needs, platform).unwrap().pools.iter().map(|pool| pool.bytes).collect()
}

/// A target names the runner of a platform as the platform is named.
#[test]
fn runners_have_the_names_of_platforms() {
    for platform in FirmwarePlatform::ALL {
        assert!(platform.runner().is_none_or(|runner| runner.name == platform.name()), "{platform:?}");
    }
    assert_eq!(FirmwarePlatform::ALL.iter().filter(|platform| platform.runner().is_some()).count(), RUNNERS.len());
}

/// By hand, from the order of each runner. The temporary pool has its smallest size.
#[test]
fn pools_follow_the_order_of_the_runners() {
    let program = program(&[18, 0, 7, 1]);
    let needs = needs(&program);
    // 18, 0 and 7 bytes, the fourth pool at 28; the method at 32 up to 132; three pointers up to 144; the buffer of 5.
    assert_eq!(sizes(&needs, FirmwarePlatform::Zephyr), [149, 16]);
    // 18, the fourth pool at 32; the method at 40 up to 140; the values at 144.
    assert_eq!(sizes(&needs, FirmwarePlatform::Cmsis), [192, 16, 16]);
    // 18, 0 and 7 at 32, the fourth pool at 48; the method at 56 up to 156; the values at 160.
    assert_eq!(sizes(&needs, FirmwarePlatform::Esp32), [208, 16]);
    assert_eq!(sizes(&needs, FirmwarePlatform::Pico), [200, 18, 16, 16, 16]);
    // Four pools of 8 bytes in the list; 18, 0, 7 bytes at 52 and one at 60; the method at 64.
    assert_eq!(sizes(&needs, FirmwarePlatform::Arduino), [264]);
    assert_eq!(sizes(&needs, FirmwarePlatform::Cmake), [100, 16, 100, 16, 18, 16, 16, 16]);
    let wide = FirmwareNeeds { abi: Abi::Bits64, ..needs };
    // 18, 0 at 24 and 7 bytes, the fourth pool at 32; the method at 40 up to 140; three pointers at 144; the buffer
    // of 5.
    assert_eq!(sizes(&wide, FirmwarePlatform::Zephyr), [173, 16]);
}

/// A size that no memory has is the largest number, not a small one.
#[test]
fn sizes_saturate() {
    let program = program(&[u64::MAX, u64::MAX - 3]);
    let needs = needs(&program);
    for platform in FirmwarePlatform::ALL {
        assert!(sizes(&needs, platform).contains(&u64::MAX), "{platform:?}");
    }
}

/// No name of a file or a method ends a comment or a string, or adds a line.
#[test]
fn hostile_names_stay_in_their_comments() {
    let hostile = "a*/b\n#include <x>\r\u{2028}\"${X};`\\";
    let plain = program(&[16]);
    let mut program = plain.clone();
    for method in program.memory.each_mut().map(|memory| &mut memory.methods[0]) {
        method.name = hostile.to_owned();
        method.method_allocator.unknown_backends = vec![hostile.to_owned()];
    }
    program.kernels.backends.insert(hostile.to_owned(), 1);
    let (mut needs, plain) = (needs(&program), self::needs(&plain));
    (needs.file, needs.path) = (hostile.to_owned(), Some("../a\"\\${X};b.pte".to_owned()));
    for platform in FirmwarePlatform::ALL {
        let [found, plain] = [&needs, &plain].map(|needs| firmware(needs, platform).unwrap());
        assert!(!found.warnings.is_empty(), "{platform:?}");
        for (file, plain) in found.files.iter().zip(&plain.files) {
            let is_code = |line: &&str| !line.trim_start().starts_with(['#', '/']) || line.starts_with("#define");
            let code = |text: &str| text.lines().filter(is_code).map(str::to_owned).collect::<Vec<_>>();
            let (found, plain) = (code(&file.text), code(&plain.text));
            assert_eq!(found.len(), plain.len(), "{}\n{}", file.path, file.text);
            for (found, plain) in found.iter().zip(plain) {
                let quoted = "${CMAKE_CURRENT_LIST_DIR}/../a\\\"\\\\\\${X};b.pte\"";
                assert!(*found == plain || found.contains(quoted), "{}: {found}", file.path);
            }
            assert_eq!(file.text.matches("*/").count(), file.text.matches("/*").count(), "{}", file.path);
        }
    }
}

#[test]
fn all_names_that_no_build_can_express_are_reported() {
    let mut program = program(&[]);
    let names = ["aten::a;b", "aten::", "::x", "a b::c.out", "aten::ok.out", "plain"];
    program.kernels.operators = names.map(|name| (name.to_owned(), KernelCalls::default())).into();
    let mut needs = needs(&program);
    needs.section = Some(Section::new("__TEXT,__const").unwrap());
    let errors = firmware(&needs, FirmwarePlatform::Zephyr).unwrap_err();
    let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 6, "{messages:?}");
    assert!(
        messages.iter().any(|message| message.contains("`aten::a;b` cannot be selected"))
            && messages[5].contains("Mach-O"),
        "{messages:?}"
    );
    needs.methods.clear();
    assert_eq!(firmware(&needs, FirmwarePlatform::Zephyr).unwrap_err().last(), Some(&FirmwareError::NoMethod));
}

/// The flash and the memory that ESP-IDF needs follow from the sizes.
#[test]
fn lines_of_sdkconfig_follow_from_the_sizes() {
    let config = |bytes: u64, pool: u64| {
        let firmware = firmware(&needs(&ProgramNeeds { bytes, ..program(&[pool]) }), FirmwarePlatform::Esp32).unwrap();
        let text = |path: &str| firmware.files.iter().find(|file| file.path == path).unwrap().text.clone();
        (text("sdkconfig.pte-emit"), text("partitions.csv"), firmware.warnings.len())
    };
    let (small, table, _) = config(1000, 16);
    assert!(small.contains("_FLASHSIZE_2MB=y") && !small.contains("SPIRAM"), "{small}");
    assert!(table.ends_with("factory, app, factory, 0x10000, 0x110000\n"), "{table}");
    let (large, table, warnings) = config((3 << 20) - 0x1_0000, 200 << 10);
    assert!(large.contains("_FLASHSIZE_4MB=y") && large.contains("CONFIG_SPIRAM=y"), "{large}");
    assert!(table.ends_with("0x3f0000\n") && warnings == 0, "{table}");
    // 128 MiB are the program, 1 MiB of code, and the bytes before the partition.
    let most = (127 << 20) - 0x1_0000;
    assert!(config(most, 16).0.contains("_FLASHSIZE_128MB=y"));
    for bytes in [most + 1, u64::MAX] {
        let errors = firmware(&needs(&ProgramNeeds { bytes, ..program(&[16]) }), FirmwarePlatform::Esp32).unwrap_err();
        assert_eq!(errors, [FirmwareError::Flash(bytes)]);
    }
}

/// All platforms have the same warnings about operators that their sample does not build, and about memory that no pool
/// has.
#[test]
fn backends_and_their_heap_are_warnings_on_all_platforms() {
    let mut program = program(&[16]);
    program.memory.iter_mut().for_each(|memory| memory.methods[0].delegate_bytes = 5000);
    let warnings = |program: &ProgramNeeds, platform: FirmwarePlatform| {
        firmware(&needs(program), platform).unwrap().warnings.join("\n")
    };
    program.kernels.backends.insert("XnnpackBackend".to_owned(), 1);
    program.kernels.backends.insert("MyBackend".to_owned(), 1);
    for platform in FirmwarePlatform::ALL {
        let found = warnings(&program, platform);
        assert!(found.contains("delegates take 5000 bytes from the heap"), "{platform:?}\n{found}");
        assert!(found.contains("no option of ExecuTorch's build is known for the backend `MyBackend`"), "{found}");
        let is_of_runner = found.contains("does not build the backend `XnnpackBackend`");
        assert_eq!(is_of_runner, platform.runner().is_some(), "{platform:?}\n{found}");
    }
    // The older name of Ethos-U.
    for name in ethos_u::BACKENDS {
        program.kernels.backends = [(name.to_owned(), 1)].into();
        let found =
            FirmwarePlatform::ALL.iter().filter(|platform| warnings(&program, **platform).contains("the backend"));
        assert_eq!(
            found.copied().collect::<Vec<_>>(),
            [FirmwarePlatform::Esp32, FirmwarePlatform::Pico, FirmwarePlatform::Arduino],
            "{name}"
        );
        let zephyr = firmware(&needs(&program), FirmwarePlatform::Zephyr).unwrap();
        assert!(zephyr.files.iter().any(|file| file.text.contains("CONFIG_ETHOS_U=y")), "{name}");
    }
}
