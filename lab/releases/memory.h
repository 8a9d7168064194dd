// memory.h: memory for the runtime, and a loader of files.

#pragma once

#include "declared.h"
#include "heap.h"

#include <sys/mman.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

constexpr size_t kLargest = size_t{1} << 36;
constexpr size_t kGuard = size_t{1} << 20;

inline bool guarding = false;

// Filled with zeros, at a multiple of 64; with guards, at the end of a page that is followed by some that cannot be
// accessed. Null if it is too large.
inline uint8_t* memory(size_t size) {
  if (size > kLargest) {
    return nullptr;
  }
  if (!guarding) {
    const auto block = reinterpret_cast<uintptr_t>(std::calloc(size + 64, 1));
    return block == 0 ? nullptr : reinterpret_cast<uint8_t*>((block + 63) / 64 * 64);
  }
  const size_t page = 4096;
  const size_t inside = (size + page) / page * page;
  auto* base = static_cast<uint8_t*>(mmap(nullptr, inside + kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED || mprotect(base, inside, PROT_READ | PROT_WRITE) != 0) {
    return nullptr;
  }
  // Sizes are rarely multiples of 64; 16 bytes are what runners align to.
  return base + (inside - size) / 16 * 16;
}

class Allocator : public rt::MemoryAllocator {
 public:
  Allocator() : rt::MemoryAllocator(0, nullptr) {}
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    return isPowerOf2(alignment) && alignment <= 64 ? memory(size) : nullptr;
  }
  void reset() override {}
};

// What was freed cannot be accessed, if the heap is guarded, too.
inline void free_memory(void*, void* data, size_t size) {
  if (guarding && heap::start != 0) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(data) / heap::kPage * heap::kPage;
    (void)mprotect(reinterpret_cast<void*>(first), reinterpret_cast<uintptr_t>(data) + size - first, PROT_NONE);
  }
}

// As FileDataLoader: each load is a copy in memory of its own.
class Loader : public rt::DataLoader {
 public:
  explicit Loader(std::string bytes) : bytes_(std::move(bytes)) {}
  rt::Result<rt::FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (!inside(offset, size)) {
      return Error::InvalidArgument;
    }
    if (size == 0) {
      return rt::FreeableBuffer(nullptr, 0, nullptr);
    }
    uint8_t* copy = memory(size);
    if (copy == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    std::memcpy(copy, bytes_.data() + offset, size);
    return rt::FreeableBuffer(copy, size, free_memory);
  }
  Error load_into(size_t offset, size_t size, const SegmentInfo&, void* to) const override {
    if (!inside(offset, size) || to == nullptr) {
      return Error::InvalidArgument;
    }
    std::memcpy(to, bytes_.data() + offset, size);
    return Error::Ok;
  }
  rt::Result<size_t> size() const override { return bytes_.size(); }

 private:
  bool inside(size_t offset, size_t size) const { return offset <= bytes_.size() && size <= bytes_.size() - offset; }
  std::string bytes_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "judge: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}
