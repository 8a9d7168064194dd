// layout.h: calls of functions that return objects without headers.

#pragma once

#include "declared.h"
#include "memory.h"

// A `Result<T>` is the object or the error, and then a flag: at the size of the object. It is the byte that a failing
// call writes behind the error.
struct Layout {
  size_t program, meta, method, tensor, data, merged;
};
inline Layout layout;

template <typename Call>
uint8_t* call(const Call& function) {
  void* place = std::aligned_alloc(16, sizeof(Bytes));
  new (place) Bytes(function());
  return static_cast<uint8_t*>(place);
}

// The offset of the flag; `function` must fail.
template <typename Call>
size_t measure(const char* name, const Call& function) {
  std::vector<uint8_t> found[2];
  for (const int fill : {0x5a, 0xa5}) {
    auto* place = static_cast<uint8_t*>(std::aligned_alloc(16, sizeof(Bytes)));
    std::memset(place, fill, sizeof(Bytes));
    new (place) Bytes(function());
    found[fill == 0xa5].assign(place, place + sizeof(Bytes));
  }
  for (size_t i = 4; i < sizeof(Bytes); ++i) {
    if (found[0][i] == 0 && found[1][i] == 0) {
      return i;
    }
  }
  std::fprintf(stderr, "judge: the result of %s has no flag\n", name);
  std::exit(3);
}

inline Error outcome(const uint8_t* object, size_t flag) {
  return object[flag] != 0 ? Error::Ok : *reinterpret_cast<const Error*>(object);
}

// The functions of a class are called on the bytes of its object.
template <typename T>
T& as(uint8_t* object) {
  return *reinterpret_cast<T*>(object);
}

inline uint8_t* load_program(rt::DataLoader* loader, bool verified) {
  using Verification = rt::Program::Verification;
  return call([&] { return rt::Program::load(loader, verified ? Verification::InternalConsistency : Verification::Minimal); });
}

inline Bytes load_method_of(const rt::Program& program, const char* name, rt::MemoryManager* memory, const rt::NamedDataMap* data) {
#if JUDGE_LOAD_METHOD == 3
  (void)data;
  return program.load_method(name, memory, nullptr);
#elif JUDGE_LOAD_METHOD == 4
  return program.load_method(name, memory, nullptr, data);
#elif JUDGE_LOAD_METHOD == 5
  return program.load_method(name, memory, nullptr, data, nullptr);
#else
  return program.load_method(name, memory, nullptr, data, nullptr, {});
#endif
}

// With a valid program.
inline void measure_layout(const std::string& path) {
  Loader empty("");
  Loader loader(read_file(path));
  layout.program = measure("Program::load", [&] { return rt::Program::load(&empty, rt::Program::Verification::Minimal); });
  uint8_t* program = load_program(&loader, false);
  if (outcome(program, layout.program) != Error::Ok) {
    std::fprintf(stderr, "judge: %s is not a valid program\n", path.c_str());
    std::exit(3);
  }
  const auto& valid = as<rt::Program>(program);
  const char* name = valid.get_method_name(0).get();
  layout.meta = measure("Program::method_meta", [&] { return valid.method_meta("no such method"); });
  auto& meta = as<rt::MethodMeta>(call([&] { return valid.method_meta(name); }));
  layout.tensor = measure("MethodMeta::output_tensor_meta", [&] { return meta.output_tensor_meta(9999); });
  layout.method = measure("Program::load_method", [&] { return load_method_of(valid, "no such method", nullptr, nullptr); });
  if (FlatTensorDataMap::load != nullptr) {
    layout.data = measure("FlatTensorDataMap::load", [&] { return FlatTensorDataMap::load(&empty); });
  }
  if (MergedDataMap::load != nullptr) {
    layout.merged = measure("MergedDataMap::load", [] { return MergedDataMap::load({}); });
  }
}

// Memory for a method: its planned buffers, and allocators. It is never freed.
inline Error allocate(const rt::MethodMeta& meta, rt::MemoryManager*& manager) {
  auto* spans = new std::vector<rt::Span<uint8_t>>();
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = meta.memory_planned_buffer_size(i);
    if (!size.ok()) {
      return size.error();
    }
    if (size.get() < 0) {
      return Error::InvalidProgram;
    }
    uint8_t* block = memory(static_cast<size_t>(size.get()));
    if (block == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    spans->emplace_back(block, static_cast<size_t>(size.get()));
  }
  auto* arena = new rt::HierarchicalAllocator({spans->data(), spans->size()});
  manager = static_cast<rt::MemoryManager*>(new rt::Managers{new Allocator(), arena, new Allocator()});
  return Error::Ok;
}

// As an application does: memory for each output that has none.
inline Error execute(rt::Method& method, const rt::MethodMeta& meta) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const rt::EValue& value = method.get_output(i);
    if (!value.isTensor()) {
      continue;
    }
    uint8_t* info = call([&] { return meta.output_tensor_meta(i); });
    if (outcome(info, layout.tensor) != Error::Ok) {
      return outcome(info, layout.tensor);
    }
    const auto& tensor = as<rt::TensorInfo>(info);
    if (tensor.is_memory_planned() || value.toTensor().const_data_ptr() != nullptr) {
      continue;
    }
    uint8_t* data = memory(tensor.nbytes());
    if (data == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    const Error error = method.set_output_data_ptr(data, tensor.nbytes(), i);
    if (error != Error::Ok) {
      return error;
    }
  }
  return method.execute();
}
