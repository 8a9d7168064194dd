// heap.h: a heap that ends the process if a freed or foreign byte is touched. Each allocation ends at a page that
// cannot be accessed, and its own pages cannot be once it is freed. Replaces malloc and its relatives in the process;
// before `guard_heap`, and once the space is used up, they are those of the C library.

#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);
}

namespace heap {

constexpr size_t kPage = 4096;
constexpr size_t kSpace = size_t{8} << 30;

// Addresses are not used again.
inline std::atomic<uintptr_t> next{0};
inline uintptr_t start = 0;

struct Head {
  size_t size;  // Of the block, in bytes.
  size_t pages; // From the page of the head to the one that cannot be accessed.
};

inline bool owns(const void* block) {
  const auto at = reinterpret_cast<uintptr_t>(block);
  return start != 0 && at >= start && at < start + kSpace;
}

// The page before the block has the head: the block may begin anywhere in its first page.
inline Head* head(void* block) {
  return reinterpret_cast<Head*>(reinterpret_cast<uintptr_t>(block) / kPage * kPage - kPage);
}

inline void* take(size_t alignment, size_t size) {
  const uintptr_t first = next.load();
  if (first == 0 || size > kSpace / 2 || alignment > kPage) {
    return nullptr;
  }
  const size_t inside = (size + alignment + kPage - 1) / kPage * kPage;
  const uintptr_t base = next.fetch_add(inside + 2 * kPage);
  if (base + inside + 2 * kPage > start + kSpace ||
      mprotect(reinterpret_cast<void*>(base), inside + kPage, PROT_READ | PROT_WRITE) != 0) {
    next.store(0);
    return nullptr;
  }
  const uintptr_t end = base + kPage + inside;
  auto* block = reinterpret_cast<void*>((end - size) / alignment * alignment);
  auto* of = head(block);
  *of = {size, (end - reinterpret_cast<uintptr_t>(of)) / kPage};
  return block;
}

inline void give(void* block) {
  Head* of = head(block);
  const size_t length = of->pages * kPage;
  (void)madvise(of, length, MADV_DONTNEED);
  (void)mprotect(of, length, PROT_NONE);
}

} // namespace heap

// Allocations from now on are guarded.
inline void guard_heap() {
  void* space = mmap(nullptr, heap::kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space != MAP_FAILED) {
    heap::start = reinterpret_cast<uintptr_t>(space);
    heap::next.store(heap::start);
  }
}

extern "C" {
void* memalign(size_t alignment, size_t size) noexcept {
  void* block = heap::take(alignment < 16 ? 16 : alignment, size);
  return block != nullptr ? block : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return memalign(alignment, size);
}

int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  *block = memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

void* malloc(size_t size) noexcept {
  void* block = heap::take(16, size);
  return block != nullptr ? block : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) noexcept {
  // New pages are zero.
  void* block = size != 0 && count > heap::kSpace / size ? nullptr : heap::take(16, count * size);
  return block != nullptr ? block : __libc_calloc(count, size);
}

void free(void* block) noexcept {
  heap::owns(block) ? heap::give(block) : __libc_free(block);
}

void* realloc(void* block, size_t size) noexcept {
  if (block == nullptr || !heap::owns(block)) {
    return block == nullptr ? malloc(size) : __libc_realloc(block, size);
  }
  void* moved = malloc(size);
  if (moved != nullptr) {
    const size_t had = heap::head(block)->size;
    std::memcpy(moved, block, had < size ? had : size);
    heap::give(block);
  }
  return moved;
}
}
