// A runner for `pte-emit test`, as a start for a runtime of your own: docs/runners.md describes the protocol and how to
// build this file. Names of methods that need quotes, and strings as inputs, are left out.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>

namespace ext = executorch::extension;
namespace aten = executorch::aten;
using executorch::runtime::Error;
using executorch::runtime::EValue;

template <typename T>
std::vector<T> numbers(const std::string& word) { // "2,3"; "-" is none
  std::vector<T> list;
  std::istringstream items(word == "-" ? "" : word);
  for (std::string item; std::getline(items, item, ',');) list.push_back(static_cast<T>(std::stol(item)));
  return list;
}

template <typename List>
std::string commas(const List& list) {
  std::string word;
  for (auto item : list) word += (word.empty() ? "" : ",") + std::to_string(static_cast<int>(item));
  return word.empty() ? "-" : word;
}

std::string outcome(const char* step, Error error) { // "load ok", "load error 0x12 InvalidArgument"
  if (error == Error::Ok) return std::string(step) + " ok";
  char code[16];
  std::snprintf(code, sizeof(code), "0x%02X", static_cast<unsigned>(error));
  const std::string name = executorch::runtime::to_string(error);
  return std::string(step) + " error " + code + " " + name.substr(name.rfind(':') + 1);
}

EValue input(const std::string& kind, std::istream& words, std::vector<ext::TensorPtr>& tensors) {
  std::string type, sizes, order, digits;
  words >> type;
  if (kind == "int") return EValue(int64_t{std::stoll(type)});
  if (kind == "bool") return EValue(type == "1");
  if (kind == "double") {
    const uint64_t bits = std::stoull(type, nullptr, 16);
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return EValue(value);
  }
  if (kind != "tensor") return EValue();
  words >> sizes >> order >> digits;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) bytes.push_back(std::stoi(digits.substr(i, 2), nullptr, 16));
  tensors.push_back(ext::make_tensor_ptr(
      numbers<aten::SizesType>(sizes), std::move(bytes), numbers<aten::DimOrderType>(order), {},
      static_cast<aten::ScalarType>(std::stoi(type))));
  return EValue(tensors.back());
}

std::string hex(const void* data, size_t size) {
  std::string word;
  char digits[3];
  for (size_t i = 0; i < size; ++i) {
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<const uint8_t*>(data)[i]);
    word += digits;
  }
  return word.empty() ? "-" : word;
}

std::string output(const EValue& value) {
  char bits[17];
  if (value.isInt()) return "int " + std::to_string(value.toInt());
  if (value.isBool()) return value.toBool() ? "bool 1" : "bool 0";
  if (value.isDouble()) {
    const double number = value.toDouble();
    uint64_t word;
    std::memcpy(&word, &number, sizeof(word));
    std::snprintf(bits, sizeof(bits), "%016llx", static_cast<unsigned long long>(word));
    return std::string("double ") + bits;
  }
  if (value.isString()) return "string " + hex(value.toString().data(), value.toString().size());
  if (!value.isTensor()) return value.isNone() ? "none" : "other " + std::to_string(static_cast<int>(value.tag));
  const aten::Tensor& tensor = value.toTensor();
  const bool has_memory = tensor.const_data_ptr() != nullptr || tensor.nbytes() == 0;
  return "tensor " + std::to_string(static_cast<int>(tensor.scalar_type())) + " " + commas(tensor.sizes()) + " " +
      commas(tensor.dim_order()) + " " + (has_memory ? hex(tensor.const_data_ptr(), tensor.nbytes()) : "null");
}

int main(int argc, char** argv) {
  std::vector<std::string> data; // MODEL.pte [--data FILE.ptd]...
  for (int i = 3; i < argc; i += 2) data.emplace_back(argv[i]);
  ext::Module module(argc > 1 ? argv[1] : "", data);
  const Error loaded = module.load();
  std::cout << outcome("program", loaded) << std::endl;
  if (loaded != Error::Ok) return 1;
  std::string method;
  std::vector<EValue> inputs, outputs;
  std::vector<ext::TensorPtr> tensors; // of the inputs
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, kind;
    size_t index = 0;
    words >> command;
    if (command == "load") {
      module.unload_method(method);
      words >> method;
      inputs.clear(), outputs.clear(), tensors.clear();
      std::cout << outcome("load", module.load_method(method)) << std::endl;
    } else if (command == "input" && words >> index >> kind && index <= inputs.size()) {
      inputs.resize(std::max(inputs.size(), index + 1));
      inputs[index] = input(kind, words, tensors);
      std::cout << "input ok" << std::endl;
    } else if (command == "execute") {
      auto result = module.execute(method, inputs);
      if (result.ok()) outputs = result.get();
      std::cout << outcome("execute", result.error()) << std::endl;
    } else if (command == "outputs") {
      std::cout << "outputs " << outputs.size() << std::endl;
      for (size_t i = 0; i < outputs.size(); ++i) std::cout << "output " << i << " " << output(outputs[i]) << std::endl;
    } else {
      std::cout << "bad command" << std::endl;
      return 2;
    }
  }
  return 0;
}
