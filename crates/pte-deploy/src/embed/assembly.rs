//! Source of an [`Embedding`] for an assembler, which reads the files itself: GNU as and Clang, for ELF and Mach-O,
//! after the preprocessor.

use std::io::{self, Write};

use super::embedding::Embedding;
use super::section::Section;
use super::text::string;

/// Macros of the preprocessor.
const PREAMBLE: &str = "\
#if !defined(__ELF__) && !defined(__APPLE__)
#error \"this file is for targets with ELF or Mach-O\"
#endif
#define PTE_EMIT_JOIN_(prefix, name) prefix##name
#define PTE_EMIT_JOIN(prefix, name) PTE_EMIT_JOIN_(prefix, name)
#define PTE_EMIT_SYMBOL(name) PTE_EMIT_JOIN(__USER_LABEL_PREFIX__, name)
";

/// Marks that the stack need not be executable, which GNU ld assumes of files that do not say so.
const POSTAMBLE: &str = "
#if defined(__ELF__)
    .section .note.GNU-stack,\"\",%progbits
#endif
";

impl Embedding {
    /// Writes a source for an assembler. `paths` are those of the files, as the assembler finds them, in the order of
    /// the embedding.
    ///
    /// The size of an array is the present one: the assembler rejects a file that became shorter. Objects with sizes
    /// are in the same section.
    ///
    /// # Errors
    /// `out` returns an error.
    pub fn write_assembly(&self, paths: &[String], out: &mut dyn Write) -> io::Result<()> {
        self.write_banner(out)?;
        writeln!(out, "{PREAMBLE}")?;
        for (file, path) in self.files.iter().zip(paths) {
            self.write_section(file.symbol.as_str(), out)?;
            let (symbol, bytes) = (&file.symbol, file.content.len());
            begin(symbol.as_str(), &bytes.to_string(), self.alignment_of(file), out)?;
            writeln!(out, "    .incbin {}, 0, {bytes}", string(path))?;
            let Some(length) = &self.options.style.length else { continue };
            let name = format!("{symbol}{}", length.suffix);
            begin(&name, length.size_macro, 8, out)?;
            writeln!(out, "#if {} == 8\n    .8byte {bytes}", length.size_macro)?;
            writeln!(out, "#elif {} == 4\n    .4byte {bytes}", length.size_macro)?;
            writeln!(out, "#else\n    .2byte {bytes}\n#endif")?;
        }
        out.write_all(POSTAMBLE.as_bytes())
    }

    fn write_section(&self, symbol: &str, out: &mut dyn Write) -> io::Result<()> {
        let is_mach_o = self.options.section.as_ref().is_some_and(Section::is_mach_o);
        let elf = match self.section().filter(|_| !is_mach_o) {
            Some(name) => string(name),
            None => format!(".rodata.{symbol}"),
        };
        let mach_o = self.section().filter(|_| is_mach_o).unwrap_or("__TEXT,__const");
        writeln!(out, "#if defined(__ELF__)\n    .section {elf},\"a\",%progbits\n#else\n    .section {mach_o}\n#endif")
    }
}

/// Begins a global object of `bytes` bytes.
fn begin(symbol: &str, bytes: &str, alignment: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    .globl PTE_EMIT_SYMBOL({symbol})\n    .p2align {}", alignment.trailing_zeros())?;
    let (object, size) =
        (format!(".type PTE_EMIT_SYMBOL({symbol}), %object"), format!(".size PTE_EMIT_SYMBOL({symbol}), {bytes}"));
    writeln!(out, "#if defined(__ELF__)\n    {object}\n    {size}\n#endif\nPTE_EMIT_SYMBOL({symbol}):")
}
