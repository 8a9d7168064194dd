// Runs methods of embedded programs without a heap: all memory is in static arrays, whose sizes are macros that
// `pte-emit embed --facts` writes. Prints the outputs; a method that does not fit prints the error of the runtime, and
// the exit status is 1.

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstdio>

#include "models.h"
#include "sources.h"

namespace rt = executorch::runtime;
namespace ext = executorch::extension;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;

namespace {

// Memory of the method `linear.forward`.
alignas(16) uint8_t linear_memory[LINEAR_FORWARD_METHOD_ALLOCATOR_SIZE - LESS_METHOD_MEMORY];
alignas(16) uint8_t linear_pool_1[LINEAR_FORWARD_POOL_1_SIZE - LESS_PLANNED_MEMORY];

// Memory of the method `sources.npy`, which has no planned memory: its output is a constant.
alignas(16) uint8_t npy_memory[SOURCES_NPY_METHOD_ALLOCATOR_SIZE - LESS_METHOD_MEMORY];
static_assert(SOURCES_NPY_POOLS == 0, "the method has no pools");

// Methods that run one after the other share the temporary memory.
alignas(16) uint8_t temporary_memory
    [std::max(LINEAR_FORWARD_TEMPORARY_ALLOCATOR_SIZE, SOURCES_NPY_TEMPORARY_ALLOCATOR_SIZE) - LESS_TEMPORARY_MEMORY];

int fail(const char* what, rt::Error error) {
  std::printf("%s: error 0x%02x\n", what, static_cast<unsigned>(error));
  return 1;
}

void print(const char* name, const Tensor& tensor) {
  std::printf("%s:", name);
  for (ssize_t i = 0; i < tensor.numel(); i++) {
    std::printf(" %.9g", tensor.const_data_ptr<float>()[i]);
  }
  std::printf("\n");
}

// Loads and runs a method, which has an input if `input` is not null.
int run(
    const rt::Program& program,
    const char* name,
    const char* label,
    rt::MemoryManager& manager,
    const rt::NamedDataMap* data,
    const Tensor* input) {
  auto method = program.load_method(name, &manager, nullptr, data);
  if (!method.ok()) {
    return fail(label, method.error());
  }
  if (input != nullptr) {
    // Copied to planned memory.
    const rt::Error error = method->set_input(*input, 0);
    if (error != rt::Error::Ok) {
      return fail(label, error);
    }
  }
  const rt::Error error = method->execute();
  if (error != rt::Error::Ok) {
    return fail(label, error);
  }
  print(label, method->get_output(0).toTensor());
  return 0;
}

int run_linear() {
  ext::BufferDataLoader loader(linear, linear_size);
  const auto program = rt::Program::load(&loader);
  if (!program.ok()) {
    return fail("linear", program.error());
  }
  ext::BufferDataLoader data_loader(linear_weights, linear_weights_size);
  auto data = ext::FlatTensorDataMap::load(&data_loader);
  if (!data.ok()) {
    return fail("linear_weights", data.error());
  }
  rt::MemoryAllocator method_allocator(sizeof(linear_memory), linear_memory);
  rt::MemoryAllocator temporary(sizeof(temporary_memory), temporary_memory);
  rt::Span<uint8_t> pools[LINEAR_FORWARD_POOLS] = {{linear_pool_1, sizeof(linear_pool_1)}};
  rt::HierarchicalAllocator planned({pools, LINEAR_FORWARD_POOLS});
  rt::MemoryManager manager(&method_allocator, &planned, &temporary);
  float values[] = {1, 2, 3, 4};
  static_assert(sizeof(values) == LINEAR_FORWARD_INPUT_0_BYTES, "the input has four elements");
  Tensor::SizesType sizes[LINEAR_FORWARD_INPUT_0_DIM] = LINEAR_FORWARD_INPUT_0_SIZES;
  Tensor::DimOrderType order[] = {0, 1};
  Tensor::StridesType strides[] = {sizes[1], 1};
  executorch::aten::TensorImpl input(
      static_cast<ScalarType>(LINEAR_FORWARD_INPUT_0_DTYPE), LINEAR_FORWARD_INPUT_0_DIM, sizes, values, order, strides);
  const Tensor tensor(&input);
  return run(*program, "forward", "linear.forward", manager, &data.get(), &tensor);
}

int run_npy() {
  ext::BufferDataLoader loader(sources, sources_size);
  const auto program = rt::Program::load(&loader);
  if (!program.ok()) {
    return fail("sources", program.error());
  }
  rt::MemoryAllocator method_allocator(sizeof(npy_memory), npy_memory);
  rt::HierarchicalAllocator planned(rt::Span<rt::Span<uint8_t>>{});
  rt::MemoryAllocator temporary(sizeof(temporary_memory), temporary_memory);
  rt::MemoryManager manager(&method_allocator, &planned, &temporary);
  return run(*program, "npy", "sources.npy", manager, nullptr, nullptr);
}

} // namespace

int main() {
  rt::runtime_init();
  // The table has the same figures as the macros.
  const pte_emit_method_facts& forward = linear_facts.method_facts[0];
  if (forward.method_allocator != LINEAR_FORWARD_METHOD_ALLOCATOR_SIZE || forward.pool_sizes[0] != LINEAR_FORWARD_POOL_1_SIZE) {
    std::printf("the table and the macros differ\n");
    return 1;
  }
  const int linear_status = run_linear();
  const int npy_status = run_npy();
  return linear_status != 0 || npy_status != 0 ? 1 : 0;
}
