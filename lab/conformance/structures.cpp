// structures.cpp: prints size and alignment of the structures that the runtime
// takes from the method allocator, for the table in crates/pte-inspect/src/allocator.rs.
// Only headers are needed, so that a cross compiler can build it; README.md next
// to this file has the commands.

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/executor/merged_data_map.h>
#include <executorch/runtime/executor/platform_memory_allocator.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdint>
#include <cstdio>
#include <optional>

namespace rt = executorch::runtime;
namespace aten = executorch::aten;

namespace {

// Declared in method.cpp, which is not installed: their members.
struct ExternalConstant {
  const char* key;
  rt::FreeableBuffer buffer;
};

struct Delegate {
  rt::FreeableBuffer segment;
  const rt::BackendInterface* backend;
  rt::DelegateHandle* handle;
};

struct Chain {
  const void* serialized;
  rt::Span<rt::Span<rt::EValue*>> arguments;
  rt::OpFunction* kernels;
};

template <typename T>
void print(const char* name) {
  std::printf("%-18s %3zu %zu\n", name, sizeof(T), alignof(T));
}

} // namespace

int main() {
  print<aten::DimOrderType>("Byte");
  print<aten::StridesType>("Int32");
  print<int64_t>("Int64");
  print<rt::OpFunction>("Pointer");
  print<rt::Span<rt::EValue*>>("Span");
  print<rt::EValue>("Value");
  print<rt::BoxedEvalueList<aten::Tensor>>("BoxedList");
  print<aten::Tensor>("Tensor");
  print<std::optional<aten::Tensor>>("OptionalTensor");
  print<aten::TensorImpl>("TensorImpl");
  print<ExternalConstant>("ExternalConstant");
  print<Delegate>("Delegate");
  print<rt::CompileSpec>("CompileSpec");
  print<Chain>("Chain");
  print<rt::TensorMeta>("TensorMeta");
  print<rt::internal::PlatformMemoryAllocator>("PlatformAllocator");
  print<rt::internal::MergedDataMap>("MergedDataMap");
  return 0;
}
