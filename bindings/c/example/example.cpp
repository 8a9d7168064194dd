// Assembles YAML, checks the program, and prints its sizes: example FILE.yaml OUTPUT.pte

#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "pte_emit.h"

namespace {

using Answer = std::unique_ptr<pte_emit_answer, decltype(&pte_emit_answer_free)>;

// The file `name` of requests is at `path`.
pte_emit_file at_path(const std::string& name, const std::string& path) {
  return {name.data(), name.size(), nullptr, 0, path.data(), path.size()};
}

// The file `name` of requests is in memory.
pte_emit_file in_memory(const std::string& name, const uint8_t* bytes, size_t length) {
  return {name.data(), name.size(), bytes, length, nullptr, 0};
}

std::string json(const Answer& answer) {
  size_t length = 0;
  const char* text = pte_emit_answer_json(answer.get(), &length);
  return std::string(text, length);
}

Answer call(const std::string& request, const pte_emit_file& file) {
  Answer answer(pte_emit_call(request.data(), request.size(), &file, 1), pte_emit_answer_free);
  const std::string text = json(answer);
  if (text.rfind("{\"error\"", 0) == 0) throw std::runtime_error(text);
  return answer;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: example FILE.yaml OUTPUT.pte\n";
    return 2;
  }
  std::cout << "pte-emit " << pte_emit_version() << "\n";
  const std::string yaml = "model.yaml", pte = "model.pte";
  const Answer assembled = call(R"({"command": "assemble", "input": "model.yaml"})", at_path(yaml, argv[1]));
  size_t length = 0;
  const uint8_t* bytes = pte_emit_answer_file_bytes(assembled.get(), 0, &length);
  if (bytes == nullptr) throw std::runtime_error("no file");
  const pte_emit_file program = in_memory(pte, bytes, length);
  std::cout << json(call(R"({"command": "check", "input": "model.pte"})", program)) << "\n";
  std::cout << json(call(R"({"command": "size", "input": "model.pte"})", program)) << "\n";
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(length));
  return out.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
