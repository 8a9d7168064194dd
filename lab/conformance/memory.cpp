// memory.cpp: prints what loading each method of a program takes from the
// method allocator of the real runtime, how many bytes of files are in memory,
// and what MethodMeta says about the method. The protocol is described in README.md next to this file; fetch.sh
// builds it.

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cinttypes>
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

constexpr size_t kMethodMemory = size_t{256} << 20;
constexpr size_t kTempMemory = size_t{1} << 20;

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

// Prints each allocation to stderr with --trace.
class Traced : public rt::MemoryAllocator {
 public:
  Traced(uint32_t size, uint8_t* base, bool trace)
      : rt::MemoryAllocator(size, base), trace_(trace) {}

  void* allocate(size_t size, size_t alignment) override {
    if (trace_) {
      std::fprintf(stderr, "allocate %zu %zu\n", size, alignment);
    }
    return rt::MemoryAllocator::allocate(size, alignment);
  }

 private:
  const bool trace_;
};

// Bytes that loaders have read into memory and that are not freed yet, and the
// most of them.
size_t live = 0;
size_t most = 0;

// Reads each part of a file into memory of exactly its size.
class CountingLoader : public rt::DataLoader {
 public:
  explicit CountingLoader(ext::FileDataLoader&& file) : file_(std::move(file)) {}

  rt::Result<rt::FreeableBuffer>
  load(size_t offset, size_t size, const SegmentInfo& info) const override {
    if (size == 0) {
      return rt::FreeableBuffer(nullptr, 0, nullptr);
    }
    void* const memory = std::malloc(size);
    const Error error = file_.load_into(offset, size, info, memory);
    if (error != Error::Ok) {
      std::free(memory);
      return error;
    }
    live += size;
    most = std::max(most, live);
    return rt::FreeableBuffer(memory, size, [](void*, void* data, size_t bytes) {
      live -= bytes;
      std::free(data);
    });
  }
  Error load_into(
      size_t offset, size_t size, const SegmentInfo& info, void* buffer) const override {
    return file_.load_into(offset, size, info, buffer);
  }
  rt::Result<size_t> size() const override { return file_.size(); }

 private:
  const ext::FileDataLoader file_;
};

void print_tensors(
    const char* what,
    size_t count,
    const rt::MethodMeta& meta,
    bool inputs) {
  for (size_t i = 0; i < count; ++i) {
    const auto tag = inputs ? meta.input_tag(i) : meta.output_tag(i);
    if (!tag.ok()) {
      std::printf("%s %zu error 0x%02x\n", what, i, static_cast<unsigned>(tag.error()));
      continue;
    }
    if (tag.get() != rt::Tag::Tensor) {
      std::printf("%s %zu tag %u\n", what, i, static_cast<unsigned>(tag.get()));
      continue;
    }
    const auto info =
        inputs ? meta.input_tensor_meta(i) : meta.output_tensor_meta(i);
    if (!info.ok()) {
      std::printf("%s %zu error 0x%02x\n", what, i, static_cast<unsigned>(info.error()));
      continue;
    }
    std::printf("%s %zu tensor %d", what, i, static_cast<int>(info->scalar_type()));
    for (const int32_t size : info->sizes()) {
      std::printf(" %" PRId32, size);
    }
    std::printf(" bytes %zu planned %d\n", info->nbytes(), info->is_memory_planned());
  }
}

// Prints the used bytes of the method allocator. Sets `held` to the bytes of
// files that the method has, and those that it had in addition.
void load(
    const rt::Program& program,
    const char* name,
    const rt::NamedDataMap* data,
    bool with_temporary,
    bool trace,
    const std::vector<rt::Span<uint8_t>>& planned,
    size_t held[2]) {
  std::vector<rt::Span<uint8_t>> spans = planned;
  rt::HierarchicalAllocator arena({spans.data(), spans.size()});
  const Block memory = aligned(kMethodMemory);
  const Block temp = aligned(kTempMemory);
  Traced allocator(kMethodMemory, memory.get(), trace);
  rt::MemoryAllocator temporary(kTempMemory, temp.get());
  rt::MemoryManager manager(
      &allocator, &arena, with_temporary ? &temporary : nullptr);
  const size_t before = live;
  most = live;
  const auto method = program.load_method(name, &manager, nullptr, data);
  held[0] = live - before;
  held[1] = most - live;
  if (method.ok()) {
    std::printf(" %zu", allocator.used_size());
  } else {
    std::printf(" error 0x%02x", static_cast<unsigned>(method.error()));
  }
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
  rt::runtime_init();
  auto opened_program = ext::FileDataLoader::from(file.c_str(), 4096);
  if (!opened_program.ok()) {
    std::fprintf(stderr, "%s: cannot be opened\n", file.c_str());
    return 2;
  }
  CountingLoader loader(std::move(opened_program.get()));
  std::unique_ptr<CountingLoader> data_loader;
  std::unique_ptr<ext::FlatTensorDataMap> data;
  if (!data_file.empty()) {
    auto opened = ext::FileDataLoader::from(data_file.c_str(), 4096);
    if (!opened.ok()) {
      std::fprintf(stderr, "%s: cannot be opened\n", data_file.c_str());
      return 2;
    }
    data_loader = std::make_unique<CountingLoader>(std::move(opened.get()));
    auto map = ext::FlatTensorDataMap::load(data_loader.get());
    if (!map.ok()) {
      std::fprintf(stderr, "%s: not a .ptd\n", data_file.c_str());
      return 2;
    }
    data = std::make_unique<ext::FlatTensorDataMap>(std::move(map.get()));
  }
  const auto program = rt::Program::load(&loader);
  if (!program.ok()) {
    std::printf("program error 0x%02x\n", static_cast<unsigned>(program.error()));
    return 1;
  }
  std::printf("files %zu\n", live);
  for (size_t i = 0; i < program->num_methods(); ++i) {
    const char* name = program->get_method_name(i).get();
    const auto meta = program->method_meta(name);
    if (!meta.ok()) {
      std::printf("method %s error 0x%02x\n", name, static_cast<unsigned>(meta.error()));
      continue;
    }
    std::vector<Block> blocks;
    std::vector<rt::Span<uint8_t>> planned;
    std::printf("method %s\npools", name);
    for (size_t pool = 0; pool < meta->num_memory_planned_buffers(); ++pool) {
      const size_t size =
          static_cast<size_t>(meta->memory_planned_buffer_size(pool).get());
      std::printf(" %zu", size);
      blocks.push_back(aligned(size));
      planned.emplace_back(blocks.back().get(), size);
    }
    std::printf("\n");
    print_tensors("input", meta->num_inputs(), meta.get(), true);
    print_tensors("output", meta->num_outputs(), meta.get(), false);
    std::printf("backends");
    for (size_t backend = 0; backend < meta->num_backends(); ++backend) {
      std::printf(" %s", meta->get_backend_name(backend).get());
    }
    std::printf("\nused");
    size_t held[2];
    size_t other[2];
    load(program.get(), name, data.get(), true, trace, planned, held);
    load(program.get(), name, data.get(), false, trace, planned, other);
    std::printf("\nheld %zu %zu\n", held[0], held[1]);
  }
  return 0;
}
