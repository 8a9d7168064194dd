// delegates.cpp: counts the heap that the delegates of each method keep after
// loading and after the first execution, in the real runtime. The protocol is
// described in README.md next to this file; fetch.sh builds it.
//
// The functions of the heap are defined here, so that the runtime's libraries
// call these instead of the C library's.

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rt = executorch::runtime;
namespace ext = executorch::extension;

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);
}

namespace {

// Who allocated a block, and whether with an alignment. XNNPACK takes memory
// for data with one: packed weights, workspaces, zeros.
enum Kind : uint8_t { kData, kObjects, kOthers };

struct Record {
  uintptr_t block;
  size_t size;
  Kind kind;
};

// Blocks by address: an open hash table that needs no heap.
constexpr size_t kSlots = size_t{1} << 20;
constexpr uintptr_t kRemoved = 1;
Record records[kSlots];
bool counts = false;
uintptr_t backend[2] = {0, 0};
size_t live = 0;
size_t peak = 0;
// A plain lock: std::mutex allocates nothing, and is usable before main.
std::mutex lock;

size_t first_slot(uintptr_t block) {
  return (block >> 4) * size_t{0x9e3779b97f4a7c15} >> 44;
}

void add(void* block, size_t size, bool aligned, void* caller) {
  if (!counts || block == nullptr) {
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(caller);
  const bool inside = address >= backend[0] && address < backend[1];
  const Kind kind = !inside ? kOthers : aligned ? kData : kObjects;
  const std::lock_guard<std::mutex> guard(lock);
  live += size;
  peak = std::max(peak, live);
  size_t slot = first_slot(reinterpret_cast<uintptr_t>(block));
  for (size_t tries = 0; tries < kSlots; ++tries, ++slot) {
    Record& record = records[slot % kSlots];
    if (record.block <= kRemoved) {
      record = {reinterpret_cast<uintptr_t>(block), size, kind};
      return;
    }
  }
  std::abort();
}

void remove(void* block) {
  if (!counts || block == nullptr) {
    return;
  }
  const std::lock_guard<std::mutex> guard(lock);
  size_t slot = first_slot(reinterpret_cast<uintptr_t>(block));
  for (size_t tries = 0; tries < kSlots; ++tries, ++slot) {
    Record& record = records[slot % kSlots];
    if (record.block == 0) {
      return;
    }
    if (record.block == reinterpret_cast<uintptr_t>(block)) {
      live -= record.size;
      record.block = kRemoved;
      return;
    }
  }
}

// Finds the library of the backend.
int find(dl_phdr_info* info, size_t, void*) {
  if (std::strstr(info->dlpi_name, "libexecutorch_backend_xnnpack") == nullptr) {
    return 0;
  }
  backend[0] = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD) {
      const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
      backend[0] = std::min(backend[0], start);
      backend[1] = std::max(backend[1], start + segment.p_memsz);
    }
  }
  return 1;
}

} // namespace

extern "C" {

void* malloc(size_t size) {
  void* block = __libc_malloc(size);
  add(block, size, false, __builtin_return_address(0));
  return block;
}

void* calloc(size_t count, size_t size) {
  void* block = __libc_calloc(count, size);
  add(block, count * size, false, __builtin_return_address(0));
  return block;
}

void* realloc(void* old, size_t size) {
  remove(old);
  void* block = __libc_realloc(old, size);
  add(block, size, false, __builtin_return_address(0));
  return block;
}

void* memalign(size_t alignment, size_t size) {
  void* block = __libc_memalign(alignment, size);
  add(block, size, true, __builtin_return_address(0));
  return block;
}

void* aligned_alloc(size_t alignment, size_t size) {
  void* block = __libc_memalign(alignment, size);
  add(block, size, true, __builtin_return_address(0));
  return block;
}

int posix_memalign(void** result, size_t alignment, size_t size) {
  void* block = __libc_memalign(alignment, size);
  if (block == nullptr) {
    return ENOMEM;
  }
  add(block, size, true, __builtin_return_address(0));
  *result = block;
  return 0;
}

void free(void* block) {
  remove(block);
  __libc_free(block);
}

} // extern "C"

namespace {

constexpr size_t kMethodMemory = size_t{256} << 20;
constexpr size_t kTempMemory = size_t{64} << 20;
// What a loader that copies data adds to each copy.
constexpr size_t kLoaderAlignment = 1;

struct Free {
  void operator()(void* block) const {
    std::free(block);
  }
};
using Block = std::unique_ptr<uint8_t, Free>;

Block aligned(size_t size) {
  const size_t rounded = (size + 63) / 64 * 64;
  return Block(static_cast<uint8_t*>(
      std::aligned_alloc(64, rounded == 0 ? 64 : rounded)));
}

// Zeros, so that indices in inputs are valid.
Block zeros(size_t size) {
  Block block = aligned(size);
  std::memset(block.get(), 0, size);
  return block;
}

// Bytes and blocks by kind.
struct Count {
  size_t bytes[3] = {0, 0, 0};
  size_t blocks[3] = {0, 0, 0};
};

// Counts the blocks that are allocated, and prints them to stderr.
Count count(const char* phase, bool trace) {
  Count result;
  const std::lock_guard<std::mutex> guard(lock);
  for (const Record& record : records) {
    if (record.block <= kRemoved) {
      continue;
    }
    result.bytes[record.kind] += record.size;
    ++result.blocks[record.kind];
    if (trace) {
      const char* names[] = {"data", "objects", "others"};
      std::fprintf(stderr, "%s %s %zu\n", phase, names[record.kind], record.size);
    }
  }
  return result;
}

void print(const char* phase, const Count& found) {
  std::printf("%s", phase);
  for (size_t kind = 0; kind < 3; ++kind) {
    std::printf(" %zu %zu", found.bytes[kind], found.blocks[kind]);
  }
  std::printf("\n");
}

// A tensor that is an input, with what it refers to.
struct Input {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> order;
  std::vector<int32_t> strides;
  std::unique_ptr<executorch::aten::TensorImpl> tensor;
};

struct Tensors {
  std::vector<Block> blocks;
  std::vector<std::unique_ptr<Input>> inputs;
};

// Gives memory to inputs and outputs that are not planned.
rt::Error provide(rt::Method& method, Tensors& memory) {
  const auto meta = method.method_meta();
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto tag = meta.input_tag(i);
    if (!tag.ok()) {
      continue;
    }
    if (tag.get() != rt::Tag::Tensor) {
      // Other inputs keep the value of the program.
      continue;
    }
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      return info.error();
    }
    memory.inputs.push_back(std::make_unique<Input>());
    Input& input = *memory.inputs.back();
    input.sizes.assign(info->sizes().begin(), info->sizes().end());
    input.order.assign(info->dim_order().begin(), info->dim_order().end());
    input.strides.resize(input.sizes.size());
    int32_t stride = 1;
    for (size_t dim = input.sizes.size(); dim-- > 0;) {
      input.strides[input.order[dim]] = stride;
      stride *= input.sizes[input.order[dim]];
    }
    memory.blocks.push_back(zeros(info->nbytes()));
    input.tensor = std::make_unique<executorch::aten::TensorImpl>(
        info->scalar_type(), static_cast<ssize_t>(input.sizes.size()),
        input.sizes.data(), memory.blocks.back().get(), input.order.data(),
        input.strides.data(), rt::TensorShapeDynamism::DYNAMIC_BOUND);
    const auto error = method.set_input(
        rt::EValue(executorch::aten::Tensor(input.tensor.get())), i);
    if (error != rt::Error::Ok) {
      return error;
    }
  }
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const auto tag = meta.output_tag(i);
    if (!tag.ok() || tag.get() != rt::Tag::Tensor) {
      continue;
    }
    const auto info = meta.output_tensor_meta(i);
    const auto& output = method.get_output(i);
    if (info.ok() && !info->is_memory_planned() && output.isTensor() &&
        output.toTensor().const_data_ptr() == nullptr) {
      memory.blocks.push_back(zeros(info->nbytes()));
      const auto error =
          method.set_output_data_ptr(memory.blocks.back().get(), info->nbytes(), i);
      if (error != rt::Error::Ok) {
        return error;
      }
    }
  }
  return rt::Error::Ok;
}

// Loads and executes a method. Prints what it keeps if `measured`.
void run(
    const rt::Program& program,
    const char* name,
    const rt::NamedDataMap* data,
    bool measured,
    bool trace) {
  const auto meta = program.method_meta(name);
  if (!meta.ok()) {
    return;
  }
  std::vector<Block> blocks;
  std::vector<rt::Span<uint8_t>> planned;
  for (size_t pool = 0; pool < meta->num_memory_planned_buffers(); ++pool) {
    const auto size =
        static_cast<size_t>(meta->memory_planned_buffer_size(pool).get());
    blocks.push_back(zeros(size));
    planned.emplace_back(blocks.back().get(), size);
  }
  rt::HierarchicalAllocator arena({planned.data(), planned.size()});
  const Block memory = aligned(kMethodMemory);
  const Block temp = aligned(kTempMemory);
  rt::MemoryAllocator allocator(kMethodMemory, memory.get());
  rt::MemoryAllocator temporary(kTempMemory, temp.get());
  rt::MemoryManager manager(&allocator, &arena, &temporary);
  counts = measured;
  auto method = program.load_method(name, &manager, nullptr, data);
  counts = false;
  if (!method.ok()) {
    if (measured) {
      std::printf("load error 0x%02x\n", static_cast<unsigned>(method.error()));
    }
    return;
  }
  if (measured) {
    print("load", count("load", trace));
    std::printf("peak %zu\n", peak);
  }
  Tensors tensors;
  rt::Error error = provide(method.get(), tensors);
  counts = measured;
  if (error == rt::Error::Ok) {
    error = method->execute();
  }
  counts = false;
  if (measured && error != rt::Error::Ok) {
    std::printf("execute error 0x%02x\n", static_cast<unsigned>(error));
  } else if (measured) {
    print("execute", count("execute", trace));
  }
  // What is freed from here on must not stay in the table.
  counts = measured;
}

} // namespace

int main(int argc, char** argv) {
  bool trace = false;
  std::string file;
  std::string data_file;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--trace") == 0) {
      trace = true;
    } else if (std::strcmp(argv[i], "--data") == 0 && i + 1 < argc) {
      data_file = argv[++i];
    } else {
      file = argv[i];
    }
  }
  dl_iterate_phdr(find, nullptr);
  if (backend[0] == 0) {
    std::fprintf(stderr, "the library of the XNNPACK backend is not loaded\n");
    return 2;
  }
  rt::runtime_init();
  auto loader = ext::FileDataLoader::from(file.c_str(), kLoaderAlignment);
  if (!loader.ok()) {
    std::fprintf(stderr, "%s: cannot be opened\n", file.c_str());
    return 2;
  }
  std::unique_ptr<ext::FileDataLoader> data_loader;
  std::unique_ptr<ext::FlatTensorDataMap> data;
  if (!data_file.empty()) {
    auto opened = ext::FileDataLoader::from(data_file.c_str(), kLoaderAlignment);
    if (!opened.ok()) {
      std::fprintf(stderr, "%s: cannot be opened\n", data_file.c_str());
      return 2;
    }
    data_loader = std::make_unique<ext::FileDataLoader>(std::move(opened.get()));
    auto map = ext::FlatTensorDataMap::load(data_loader.get());
    if (!map.ok()) {
      std::fprintf(stderr, "%s: not a .ptd\n", data_file.c_str());
      return 2;
    }
    data = std::make_unique<ext::FlatTensorDataMap>(std::move(map.get()));
  }
  const auto program = rt::Program::load(&loader.get());
  if (!program.ok()) {
    std::printf("program error 0x%02x\n", static_cast<unsigned>(program.error()));
    return 1;
  }
  for (size_t i = 0; i < program->num_methods(); ++i) {
    const char* name = program->get_method_name(i).get();
    // The first run starts the threads, and fills what the process keeps.
    run(program.get(), name, data.get(), false, false);
    std::printf("method %s\n", name);
    std::memset(records, 0, sizeof(records));
    live = peak = 0;
    run(program.get(), name, data.get(), true, trace);
    counts = false;
  }
  return 0;
}
