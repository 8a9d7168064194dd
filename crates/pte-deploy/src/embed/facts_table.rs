//! The figures of a program as constant tables of C.

use std::io::{self, Write};

use super::embedding::EmbeddedFile;
use super::facts::{InterfaceFacts, MethodFacts, ProgramFacts, literal};
use super::text::string;
use pte_analysis::quantization::TensorQuantization;

/// Types of the tables. The name of the macro changes with the structs.
pub(super) const FACTS_TYPES: &str = "\
#ifndef PTE_EMIT_FACTS_2
#define PTE_EMIT_FACTS_2
/* Input or output of a method. */
typedef struct pte_emit_tensor_facts {
  const char* name;
  int8_t dtype;           /* executorch::aten::ScalarType; -1 if it is no tensor */
  uint8_t is_dynamic;     /* the sizes and bytes are upper bounds */
  uint8_t is_quantized;   /* scale and zero_point are known */
  size_t dim;
  const int32_t* sizes;
  size_t bytes;
  double scale;           /* real = scale * (integer - zero_point) */
  int64_t zero_point;
} pte_emit_tensor_facts;
/* Method of a program. */
typedef struct pte_emit_method_facts {
  const char* name;
  size_t method_allocator;     /* bytes that loading takes */
  size_t temporary_allocator;  /* bytes that loading and kernels take at most */
  size_t delegate_heap;        /* bytes that delegates take with malloc */
  size_t pools;
  const size_t* pool_sizes;  /* bytes of planned memory, from pool 1 on */
  size_t inputs;
  const pte_emit_tensor_facts* input_facts;
  size_t outputs;
  const pte_emit_tensor_facts* output_facts;
} pte_emit_method_facts;
typedef struct pte_emit_program_facts {
  const char* name;
  const char* sha256;  /* of the file */
  size_t kernels;      /* number of operators */
  size_t methods;
  const pte_emit_method_facts* method_facts;
} pte_emit_program_facts;
#endif
";

/// Null pointer of a table without entries: C has no empty arrays.
const NONE: &str = "0";

impl ProgramFacts {
    /// Writes the table of a file and those that it refers to.
    pub(super) fn write_table(&self, file: &EmbeddedFile, specifiers: &str, out: &mut dyn Write) -> io::Result<()> {
        let (symbol, prefix) = (&file.symbol, file.symbol.to_macro());
        for (index, method) in self.methods.iter().enumerate() {
            method.write_parts(&format!("{symbol}_facts_{index}"), out)?;
        }
        let methods = if self.methods.is_empty() { NONE.to_owned() } else { format!("{symbol}_facts_methods") };
        if !self.methods.is_empty() {
            writeln!(out, "static const pte_emit_method_facts {methods}[] = {{")?;
            let names = super::facts::method_names(&self.methods);
            for (index, (method, name)) in self.methods.iter().zip(names).enumerate() {
                method.write_row(&format!("{symbol}_facts_{index}"), &format!("{prefix}_{name}"), out)?;
            }
            writeln!(out, "}};")?;
        }
        let name = string(&file.name);
        writeln!(out, "{specifiers} pte_emit_program_facts {symbol}_facts = {{")?;
        writeln!(out, "  {name}, {prefix}_SHA256, {prefix}_KERNELS, {prefix}_METHODS, {methods}}};")
    }
}

impl MethodFacts {
    /// Writes the arrays that the row of the method points to; their names begin with `prefix`.
    fn write_parts(&self, prefix: &str, out: &mut dyn Write) -> io::Result<()> {
        let pools: Vec<String> = self.any().pool_sizes().iter().map(u64::to_string).collect();
        if !pools.is_empty() {
            writeln!(out, "static const size_t {prefix}_pools[] = {{{}}};", pools.join(", "))?;
        }
        for (kind, ports) in [("input", &self.inputs), ("output", &self.outputs)] {
            for (index, port) in ports.iter().enumerate() {
                let sizes = port.tensor.iter().map(|tensor| &tensor.sizes).find(|sizes| !sizes.is_empty());
                let Some(sizes) = sizes else { continue };
                let sizes: Vec<String> = sizes.iter().map(i32::to_string).collect();
                writeln!(out, "static const int32_t {prefix}_{kind}_{index}[] = {{{}}};", sizes.join(", "))?;
            }
            if !ports.is_empty() {
                writeln!(out, "static const pte_emit_tensor_facts {prefix}_{kind}s[] = {{")?;
                let rows = ports.iter().enumerate();
                rows.map(|(index, port)| port.row(&format!("{prefix}_{kind}_{index}")))
                    .try_for_each(|row| writeln!(out, "  {row},"))?;
                writeln!(out, "}};")?;
            }
        }
        Ok(())
    }

    fn write_row(&self, prefix: &str, macros: &str, out: &mut dyn Write) -> io::Result<()> {
        let array = |is_empty: bool, name: &str| if is_empty { NONE.to_owned() } else { format!("{prefix}_{name}") };
        let count = self.any().pool_sizes().len();
        let pools = array(count == 0, "pools");
        let (inputs, outputs) = (array(self.inputs.is_empty(), "inputs"), array(self.outputs.is_empty(), "outputs"));
        writeln!(
            out,
            "  {{{}, {macros}_METHOD_ALLOCATOR_SIZE, {macros}_TEMPORARY_ALLOCATOR_SIZE, {macros}_DELEGATE_HEAP_SIZE, {}, {pools}, {}, {inputs}, {}, {outputs}}},",
            string(&self.any().name),
            count,
            self.inputs.len(),
            self.outputs.len()
        )
    }
}

impl InterfaceFacts {
    /// Returns the initializer; `sizes` is the name of the array with the sizes.
    fn row(&self, sizes: &str) -> String {
        let name = string(&self.name);
        let Some(tensor) = &self.tensor else { return format!("{{{name}, -1, 0, 0, 0, {NONE}, 0, 0.0, 0}}") };
        let sizes = if tensor.sizes.is_empty() { NONE } else { sizes };
        let (scale, zero_point) = match tensor.quantization {
            Some(TensorQuantization { scale, zero_point }) => (format!("{scale:?}"), literal(zero_point)),
            None => ("0.0".to_owned(), literal(0)),
        };
        let flags = [tensor.is_dynamic, tensor.quantization.is_some()].map(u8::from);
        let (code, dim, bytes) = (tensor.scalar_type, tensor.sizes.len(), tensor.bytes);
        format!("{{{name}, {code}, {}, {}, {dim}, {sizes}, {bytes}, {scale}, {zero_point}}}", flags[0], flags[1])
    }
}
