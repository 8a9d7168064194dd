// firmware.cpp: takes memory in the order of ExecuTorch's runners for
// firmware, from pools of the sizes that the command line names, then executes
// the method. The protocol is described in README.md next to this file;
// fetch.sh builds it.

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace rt = executorch::runtime;
namespace ext = executorch::extension;
using rt::Error;

namespace {

struct Free {
  void operator()(void* block) const {
    std::free(block);
  }
};
using Block = std::unique_ptr<uint8_t, Free>;

// Memory of its own, so that writing after its end damages nothing else.
Block reserve(size_t size) {
  return Block(static_cast<uint8_t*>(std::aligned_alloc(64, (size + 127) / 64 * 64)));
}

// What is different in each runner.
struct Runner {
  const char* name;
  size_t planned_alignment; // of the planned pools in the method allocator
  bool skips_empty;
  size_t fast; // index of the pool apart, or none
  bool planned_apart; // the planned pools are not in the method allocator
  bool temporary;
  bool lists_planned; // the list of the planned pools is in the method allocator
  enum { kNothing, kBuffers, kValues } inputs;
};

constexpr size_t kNone = ~size_t{0};
constexpr size_t kDefault = rt::MemoryAllocator::kDefaultAlignment;

const Runner kRunners[] = {
    {"zephyr", kDefault, false, kNone, false, true, false, Runner::kBuffers},
    {"cmsis", 16, true, 2, false, true, false, Runner::kValues},
    {"esp32", 16, false, kNone, false, true, false, Runner::kValues},
    {"pico", 16, false, kNone, true, false, false, Runner::kNothing},
    {"arduino", kDefault, false, kNone, false, false, true, Runner::kNothing},
};

int failed(const char* step, Error error) {
  std::printf("%s 0x%02x\n", step, static_cast<unsigned>(error));
  return 0;
}

// Takes the memory of the inputs, and sets those that the runner sets to zeros.
Error set_inputs(rt::Method& method, rt::MemoryAllocator& allocator, const Runner& runner) {
  const rt::MethodMeta meta = method.method_meta();
  const size_t count = meta.num_inputs();
  if (runner.inputs == Runner::kValues) {
    // The runners write to the tensors in them, which are in planned memory.
    return allocator.allocateList<rt::EValue>(count) == nullptr
        ? Error::MemoryAllocationFailed
        : Error::Ok;
  }
  if (runner.inputs == Runner::kBuffers &&
      allocator.allocate(count * sizeof(void*)) == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  for (size_t i = 0; i < count; ++i) {
    const auto tag = meta.input_tag(i);
    if (!tag.ok() || tag.get() != rt::Tag::Tensor) {
      continue;
    }
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      return info.error();
    }
    static std::vector<Block> others;
    void* data = nullptr;
    if (runner.inputs == Runner::kBuffers) {
      data = allocator.allocate(info->nbytes());
      if (data == nullptr) {
        return Error::MemoryAllocationFailed;
      }
    } else {
      others.push_back(reserve(info->nbytes()));
      data = others.back().get();
    }
    std::memset(data, 0, info->nbytes());
    executorch::aten::TensorImpl tensor(
        info->scalar_type(),
        static_cast<ssize_t>(info->sizes().size()),
        const_cast<executorch::aten::SizesType*>(info->sizes().data()),
        data,
        const_cast<executorch::aten::DimOrderType*>(info->dim_order().data()));
    const Error error = method.set_input(executorch::aten::Tensor(&tensor), i);
    if (error != Error::Ok) {
      return error;
    }
  }
  return Error::Ok;
}

int run(const Runner& runner, const char* name, const size_t* sizes, rt::Program& program) {
  const auto meta = program.method_meta(name);
  if (!meta.ok()) {
    return failed("meta", meta.error());
  }
  const Block pool = reserve(sizes[0]);
  const Block temporary_pool = reserve(sizes[1]);
  const Block fast_pool = reserve(sizes[2]);
  rt::MemoryAllocator allocator(sizes[0], pool.get());
  rt::MemoryAllocator temporary(sizes[1], temporary_pool.get());
  rt::MemoryAllocator fast(sizes[2], fast_pool.get());
  std::vector<rt::Span<uint8_t>> spans;
  std::vector<Block> apart;
  if (runner.lists_planned &&
      allocator.allocate(meta->num_memory_planned_buffers() * sizeof(rt::Span<uint8_t>)) == nullptr) {
    return failed("planned", Error::MemoryAllocationFailed);
  }
  for (size_t id = 0; id < meta->num_memory_planned_buffers(); ++id) {
    const size_t size = static_cast<size_t>(meta->memory_planned_buffer_size(id).get());
    uint8_t* buffer = nullptr;
    if (runner.skips_empty && size == 0) {
      spans.emplace_back(buffer, size);
      continue;
    }
    if (runner.planned_apart) {
      apart.push_back(reserve(size));
      buffer = apart.back().get();
    } else {
      rt::MemoryAllocator& from = id == runner.fast ? fast : allocator;
      buffer = static_cast<uint8_t*>(from.allocate(size, runner.planned_alignment));
    }
    if (buffer == nullptr) {
      return failed("planned", Error::MemoryAllocationFailed);
    }
    std::memset(buffer, 0, size);
    spans.emplace_back(buffer, size);
  }
  rt::HierarchicalAllocator planned({spans.data(), spans.size()});
  rt::MemoryManager manager(&allocator, &planned, runner.temporary ? &temporary : nullptr);
  auto method = program.load_method(name, &manager);
  if (!method.ok()) {
    return failed("load", method.error());
  }
  const Error inputs = set_inputs(method.get(), allocator, runner);
  if (inputs != Error::Ok) {
    return failed("inputs", inputs);
  }
  const Error executed = method->execute();
  return failed(executed == Error::Ok ? "done" : "execute", executed);
}

} // namespace

// Arguments: RUNNER METHOD FILE, then the sizes of the pools: method allocator,
// temporary allocator, fast memory.
int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: firmware RUNNER METHOD FILE BYTES BYTES BYTES\n");
    return 2;
  }
  rt::runtime_init();
  const size_t sizes[] = {
      std::strtoull(argv[4], nullptr, 10),
      std::strtoull(argv[5], nullptr, 10),
      std::strtoull(argv[6], nullptr, 10)};
  auto loader = ext::FileDataLoader::from(argv[3], 4096);
  if (!loader.ok()) {
    std::fprintf(stderr, "%s: cannot be opened\n", argv[3]);
    return 2;
  }
  auto program = rt::Program::load(&loader.get());
  if (!program.ok()) {
    return failed("program", program.error());
  }
  for (const Runner& runner : kRunners) {
    if (std::strcmp(runner.name, argv[1]) == 0) {
      return run(runner, argv[2], sizes, program.get());
    }
  }
  std::fprintf(stderr, "%s: unknown runner\n", argv[1]);
  return 2;
}
