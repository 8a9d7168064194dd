//! Runners among ExecuTorch's examples: what each takes from its method allocator, in which order and with which
//! alignment. The method allocator begins at a multiple of 16 bytes; its size is where its pointer is at the end.
//! Sources: the code of each runner in ExecuTorch, of August 2026.

use crate::abi::{Abi, Bump};
use crate::memory::MethodFootprint;
use pte_payload::ethos_u;

/// A runner among ExecuTorch's examples, and its allocations.
#[derive(Debug, PartialEq, Eq)]
pub struct Runner {
    /// Name: that of the platform of project files.
    pub name: &'static str,
    /// Path in ExecuTorch's repository.
    pub path: &'static str,
    /// Allocations from the method allocator, in this order.
    pub order: &'static [Take],
    /// Backends that it links, if a program calls them.
    pub backends: &'static [&'static str],
}

/// Something that a runner takes from its method allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The planned pools, in their order.
    Planned {
        /// Alignment in bytes; `None` for that of a pointer, the default of the allocator.
        alignment: Option<u64>,
        /// Pools of 0 bytes are not allocated.
        skips_empty: bool,
        /// Number of the pool that has memory of its own.
        apart: Option<usize>,
    },
    /// Bytes that loading the method takes with a temporary allocator.
    Loading,
    /// Bytes that loading the method takes without a temporary allocator.
    LoadingAlone,
    /// A list of the planned pools, with a pointer and a size of each.
    PlannedList,
    /// A list of pointers, one for each input.
    InputPointers,
    /// A buffer for each input that is a tensor.
    InputBuffers,
    /// A list of the inputs as values.
    InputValues,
}

/// Order of an application that has memory for planned pools, inputs and outputs elsewhere.
pub const LOADING: &[Take] = &[Take::Loading];

/// Order of an application that takes its planned pools from the method allocator, each at a multiple of 16 bytes.
pub const PLANNED: &[Take] = &[Take::Planned { alignment: Some(16), skips_empty: false, apart: None }, Take::Loading];

/// The sample `hello-executorch` takes the planned pools with the default alignment of the allocator, the method, a
/// pointer for each input, then a buffer for each input that is a tensor, also for those in planned memory. The sample
/// `mv2-ethosu` has no list of pointers.
pub static ZEPHYR: Runner = Runner {
    name: "zephyr",
    path: "zephyr/samples/hello-executorch",
    order: &[
        Take::Planned { alignment: None, skips_empty: false, apart: None },
        Take::Loading,
        Take::InputPointers,
        Take::InputBuffers,
    ],
    backends: &ethos_u::BACKENDS,
};

/// `arm_executor_runner` takes the planned pools that are not empty, each at a multiple of 16 bytes, without the fast
/// one; the method; a list of the inputs as values. Inputs are in planned memory. A build that dumps outputs takes a
/// buffer for them before the method, which is not counted.
pub static CMSIS: Runner = Runner {
    name: "cmsis",
    path: "examples/arm/executor_runner",
    order: &[
        Take::Planned { alignment: Some(16), skips_empty: true, apart: Some(FAST_POOL) },
        Take::Loading,
        Take::InputValues,
    ],
    backends: &ethos_u::BACKENDS,
};

/// Number of the pool that `arm_executor_runner` has in memory of its own.
pub const FAST_POOL: usize = 3;

/// `esp_executor_runner` takes the planned pools, each at a multiple of 16 bytes; the method; a list of the inputs as
/// values. Inputs are in planned memory. Its processors have pointers of 4 bytes and align integers of 8 bytes to 8, as
/// 32-bit Arm does.
pub static ESP32: Runner = Runner {
    name: "esp32",
    path: "examples/espressif/executor_runner",
    order: &[Take::Planned { alignment: Some(16), skips_empty: false, apart: None }, Take::Loading, Take::InputValues],
    backends: &[],
};

/// The runner of `pico2` takes the method from its `method_allocator_pool`. It has no temporary allocator, and its
/// inputs are variables. `activation_pool` is the planned memory.
pub static PICO: Runner =
    Runner { name: "pico", path: "examples/raspberry_pi/pico2", order: &[Take::LoadingAlone], backends: &[] };

/// `ETModel`, the class of ExecuTorch's Arduino library for sketches, takes a list of the planned pools, the pools with
/// the default alignment of the allocator, and the method. It has no temporary allocator, and inputs stay where the
/// sketch has them.
pub static ARDUINO: Runner = Runner {
    name: "arduino",
    path: "examples/arduino",
    order: &[Take::PlannedList, Take::Planned { alignment: None, skips_empty: false, apart: None }, Take::LoadingAlone],
    backends: &[],
};

/// All runners.
pub static RUNNERS: [&Runner; 5] = [&ZEPHYR, &CMSIS, &ESP32, &PICO, &ARDUINO];

/// Largest alignment in bytes of an allocation while a method is loaded.
const LOADING_ALIGNMENT: u64 = 8;

impl Runner {
    /// Returns the runner of this name.
    ///
    /// ```
    /// use pte_memory::runner::Runner;
    ///
    /// assert_eq!(Runner::find("zephyr").unwrap().path, "zephyr/samples/hello-executorch");
    /// assert!(Runner::find("hello").is_none());
    /// ```
    pub fn find(name: &str) -> Option<&'static Runner> {
        RUNNERS.into_iter().find(|runner| runner.name == name)
    }
}

impl Take {
    /// Returns the use of the bytes, in words.
    pub fn content(self) -> &'static str {
        match self {
            Take::Planned { .. } => "planned memory",
            Take::Loading | Take::LoadingAlone => "loading",
            Take::PlannedList => "list of planned pools",
            Take::InputPointers => "pointers to inputs",
            Take::InputBuffers => "input buffers",
            Take::InputValues => "values of inputs",
        }
    }

    /// Returns true if it takes the planned pool of this number, from 1.
    pub fn takes_pool(self, number: usize) -> bool {
        match self {
            Take::Planned { apart, .. } => apart != Some(number),
            Take::Loading
            | Take::LoadingAlone
            | Take::PlannedList
            | Take::InputPointers
            | Take::InputBuffers
            | Take::InputValues => false,
        }
    }

    fn take_from(self, bump: &mut Bump, method: &MethodFootprint, abi: Abi) {
        let pointer = abi.pointer_bytes();
        let inputs = method.inputs.count as u64;
        match self {
            Take::Planned { alignment, skips_empty, .. } => {
                for (number, bytes) in (1..).zip(method.pool_sizes()) {
                    if self.takes_pool(number) && !(skips_empty && bytes == 0) {
                        bump.take(bytes, alignment.unwrap_or(pointer));
                    }
                }
            }
            // The size is that from an aligned start, where what is before has any size: at most 7 bytes too many.
            Take::Loading => bump.take(method.method_allocator.bytes, LOADING_ALIGNMENT),
            Take::LoadingAlone => bump.take(method.method_allocator.without_temporary_allocator, LOADING_ALIGNMENT),
            Take::PlannedList => {
                bump.take((method.pool_count as u64).saturating_mul(pointer.saturating_mul(2)), pointer);
            }
            Take::InputPointers => bump.take(inputs.saturating_mul(pointer), pointer),
            Take::InputBuffers => method.inputs.tensors.iter().for_each(|tensor| bump.take(tensor.bytes, pointer)),
            Take::InputValues => {
                let (size, alignment) = abi.value_layout();
                bump.take(inputs.saturating_mul(size), alignment);
            }
        }
    }
}

/// Returns the allocations of an application from its method allocator for a method, in order: the bytes of each step,
/// with the padding before it. A temporary allocator of `temporary` bytes that is too small for the lookup of kernels
/// is none.
pub fn taken(order: &[Take], method: &MethodFootprint, abi: Abi, temporary: Option<u64>) -> Vec<(Take, u64)> {
    let is_alone = temporary.is_some_and(|has| has < method.temporary_allocator.lookup);
    let mut bump = Bump::new(abi);
    let step = |take: &Take| {
        let take = if is_alone && *take == Take::Loading { Take::LoadingAlone } else { *take };
        let before = bump.used();
        take.take_from(&mut bump, method, abi);
        (take, bump.used() - before)
    };
    order.iter().map(step).collect()
}

/// Returns the RAM that an application takes for a method, in named parts: those of [`taken`], and the rest of the
/// total of `pte-emit memory`, which is the sum for an application with the order [`LOADING`].
pub fn total(order: &[Take], method: &MethodFootprint, abi: Abi, temporary: Option<u64>) -> [(&'static str, u64); 6] {
    let sum = |parts: &mut dyn Iterator<Item = u64>| parts.fold(0, u64::saturating_add);
    let pools = method.pool_sizes();
    let apart = (1..).zip(pools).filter(|(number, _)| !order.iter().any(|take| take.takes_pool(*number)));
    let inputs = if order.contains(&Take::InputBuffers) { 0 } else { sum(&mut method.inputs.provided()) };
    [
        ("the method allocator", sum(&mut taken(order, method, abi, temporary).into_iter().map(|(_, bytes)| bytes))),
        ("planned memory", sum(&mut apart.map(|(_, bytes)| bytes))),
        ("the temporary allocator", temporary.unwrap_or(u64::MAX).min(method.temporary_allocator.bytes)),
        ("inputs", inputs),
        ("outputs", sum(&mut method.outputs.provided())),
        ("the heap of delegates", method.delegate_bytes),
    ]
}
