// declared.h: classes of the runtime whose headers the packages before 1.3 do not have, though their libraries export
// the functions.
//
// They are declared without fields: functions that return such an object return bytes, and where the flag behind an
// object is, is measured at the start (see `Layout`).

#pragma once

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

// Larger than any object that is returned; never destroyed.
struct Bytes {
  Bytes(const Bytes&);
  ~Bytes();
  alignas(16) uint8_t at[4096];
};

namespace executorch {
namespace runtime {
class NamedDataMap;
class EventTracer;
class BackendInterface;
class LoadBackendOptionsMap;

struct Managers {
  MemoryAllocator* method;
  HierarchicalAllocator* planned;
  MemoryAllocator* temporary;
};
class MemoryManager : public Managers {};

class Program {
 public:
  enum class Verification : uint8_t { Minimal, InternalConsistency };
  static Bytes load(DataLoader* loader, Verification verification);
  size_t num_methods() const;
  Result<const char*> get_method_name(size_t index) const;
  Bytes method_meta(const char* name) const;
  // Some libraries do not export it.
  __attribute__((weak)) Result<const char*> get_output_flattening_encoding(const char* method) const;
#if JUDGE_LOAD_METHOD == 3
  Bytes load_method(const char* name, MemoryManager* memory, EventTracer* tracer) const;
#elif JUDGE_LOAD_METHOD == 4
  Bytes load_method(const char* name, MemoryManager* memory, EventTracer* tracer, const NamedDataMap* data) const;
#elif JUDGE_LOAD_METHOD == 5
  Bytes load_method(const char* name, MemoryManager* memory, EventTracer* tracer, const NamedDataMap* data, const LoadBackendOptionsMap*) const;
#else
  Bytes load_method(
      const char* name, MemoryManager* memory, EventTracer* tracer, const NamedDataMap* data, const LoadBackendOptionsMap*, Span<const Kernel>) const;
#endif
};

class MethodMeta {
 public:
  size_t num_inputs() const;
  Result<Tag> input_tag(size_t index) const;
  Bytes input_tensor_meta(size_t index) const;
  size_t num_memory_planned_buffers() const;
  Result<int64_t> memory_planned_buffer_size(size_t index) const;
  Bytes output_tensor_meta(size_t index) const;
};

class TensorInfo {
 public:
  Span<const int32_t> sizes() const;
  Span<const uint8_t> dim_order() const;
  aten::ScalarType scalar_type() const;
  bool is_memory_planned() const;
  size_t nbytes() const;
};

class Method {
 public:
  Error set_input(const EValue& value, size_t index);
  Error set_output_data_ptr(void* data, size_t size, size_t index);
  const EValue& get_input(size_t index) const;
  size_t outputs_size() const;
  const EValue& get_output(size_t index) const;
  Error execute();
};

__attribute__((weak)) BackendInterface* get_backend_class(const char* name);
__attribute__((weak)) size_t get_num_registered_backends();
__attribute__((weak)) Result<const char*> get_backend_name(size_t index);
} // namespace runtime
namespace extension {
class FlatTensorDataMap {
 public:
  __attribute__((weak)) static Bytes load(runtime::DataLoader* loader);
};
namespace merged_data_map {
class MergedDataMap {
 public:
  __attribute__((weak)) static Bytes load(runtime::Span<const runtime::NamedDataMap*> maps);
};
} // namespace merged_data_map
} // namespace extension
} // namespace executorch

namespace rt = executorch::runtime;
namespace aten = executorch::aten;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::merged_data_map::MergedDataMap;
using rt::Error;
