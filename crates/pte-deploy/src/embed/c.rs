//! Header and source of an [`Embedding`] in C, which is C++ as well.

use std::io::{self, Write};

use super::embedding::{EmbeddedFile, Embedding};
use super::facts_table::FACTS_TYPES;
use super::macros::{Macro, MacroValue};
use super::text::{HexWriter, comment, is_header_name, string};

/// First words of each file that is written.
///
/// ```
/// use pte_deploy::embed::BANNER;
///
/// assert!("/* Written by pte-emit from linear.pte. Changes will be lost. */".starts_with(BANNER));
/// ```
pub const BANNER: &str = "/* Written by pte-emit";

/// Entry of the table of files. The name of the macro changes with the struct.
const FILE_TYPE: &str = "\
#ifndef PTE_EMIT_FILE_1
#define PTE_EMIT_FILE_1
/* File of a table. */
typedef struct pte_emit_file {
  const char* name;
  const uint8_t* data;
  size_t size;        /* in bytes */
  size_t data_files;  /* number of the entries after it that are the .ptd files of this program */
} pte_emit_file;
#endif
";

impl Embedding {
    /// Writes the header for a source: macros and declarations.
    ///
    /// # Errors
    /// `out` returns an error.
    pub fn write_header(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_header_with(out, false, &mut |out, file| {
            let (symbol, prefix) = (&file.symbol, file.symbol.to_macro());
            writeln!(out, "extern const {} {symbol}[{prefix}_SIZE];", self.options.style.element)?;
            if let Some(length) = &self.options.style.length {
                writeln!(out, "extern const {} {symbol}{};", length.integer, length.suffix)?;
            }
            if file.facts.is_some() {
                writeln!(out, "extern const pte_emit_program_facts {symbol}_facts;")?;
            }
            Ok(())
        })
    }

    /// Writes a header that defines the arrays, for one source that includes it.
    ///
    /// # Errors
    /// `out` returns an error, or the content of a file cannot be read.
    pub fn write_whole_header(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_header_with(out, true, &mut |out, file| {
            self.write_array(file, &format!("{} {}", self.options.style.specifiers, self.options.style.element), out)?;
            self.write_length(file, "static const", out)?;
            self.write_facts(file, "static const", out)
        })
    }

    /// Writes the source of the header that is called `header`.
    ///
    /// # Errors
    /// `out` returns an error, or the content of a file cannot be read.
    pub fn write_source(&self, header: &str, out: &mut dyn Write) -> io::Result<()> {
        self.write_banner(out)?;
        write_include(header, out)?;
        for file in &self.files {
            writeln!(out)?;
            self.write_array(file, &format!("const {}", self.options.style.element), out)?;
            self.write_length(file, "const", out)?;
            self.write_facts(file, "const", out)?;
        }
        self.write_table("const", out)
    }

    /// Writes a source with the tables alone, for arrays that an assembler defines.
    ///
    /// # Errors
    /// `out` returns an error.
    pub fn write_tables(&self, header: &str, out: &mut dyn Write) -> io::Result<()> {
        self.write_banner(out)?;
        write_include(header, out)?;
        for file in self.files.iter().filter(|file| file.facts.is_some()) {
            writeln!(out)?;
            self.write_facts(file, "const", out)?;
        }
        self.write_table("const", out)
    }

    pub(super) fn write_banner(&self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = self.files.iter().map(|file| comment(&file.name)).collect();
        writeln!(out, "{BANNER} from {}. Changes will be lost. */\n", names.join(", "))
    }

    fn write_header_with(
        &self,
        out: &mut dyn Write,
        is_whole: bool,
        declare: &mut dyn FnMut(&mut dyn Write, &EmbeddedFile) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write_banner(out)?;
        let guard = format!("{}_H", self.name.to_macro());
        writeln!(out, "#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n")?;
        if self.files.len() > 1 {
            writeln!(out, "{FILE_TYPE}")?;
        }
        if self.files.iter().any(|file| file.facts.is_some()) {
            writeln!(out, "{FACTS_TYPES}")?;
        }
        // A whole header has no names that another source refers to.
        if !is_whole {
            writeln!(out, "#ifdef __cplusplus\nextern \"C\" {{\n#endif")?;
        }
        for (file, macros) in self.files.iter().zip(&self.macros) {
            writeln!(out, "\n/* {} */", comment(&file.name))?;
            macros.iter().try_for_each(|one| one.write(out))?;
            declare(out, file)?;
        }
        if self.files.len() > 1 {
            let (count, name, macro_name) = (self.files.len(), &self.name, self.name.to_macro());
            writeln!(out, "\n/* All files; each program is followed by its .ptd files. */")?;
            writeln!(out, "#define {macro_name}_FILES {count}")?;
            if !is_whole {
                writeln!(out, "extern const pte_emit_file {name}_files[{macro_name}_FILES];")?;
            }
        }
        match is_whole {
            true => self.write_table("static const", out)?,
            false => writeln!(out, "\n#ifdef __cplusplus\n}}\n#endif")?,
        }
        writeln!(out, "\n#endif")
    }

    fn write_array(&self, file: &EmbeddedFile, declaration: &str, out: &mut dyn Write) -> io::Result<()> {
        let section = self.section().map_or_else(String::new, |name| format!("section({}), ", string(name)));
        let (symbol, alignment) = (&file.symbol, self.alignment_of(file));
        writeln!(out, "__attribute__(({section}aligned({alignment}))) {declaration} {symbol}[] = {{")?;
        let mut hex = HexWriter::new(&mut *out);
        file.content.copy_to(&mut hex)?;
        hex.finish()?;
        writeln!(out, "}};")
    }

    fn write_length(&self, file: &EmbeddedFile, specifiers: &str, out: &mut dyn Write) -> io::Result<()> {
        let Some(length) = &self.options.style.length else { return Ok(()) };
        let symbol = &file.symbol;
        writeln!(out, "{specifiers} {} {symbol}{} = sizeof({symbol});", length.integer, length.suffix)
    }

    fn write_facts(&self, file: &EmbeddedFile, specifiers: &str, out: &mut dyn Write) -> io::Result<()> {
        file.facts.as_ref().map_or(Ok(()), |facts| facts.write_table(file, specifiers, out))
    }

    /// Writes the table of several files.
    fn write_table(&self, specifiers: &str, out: &mut dyn Write) -> io::Result<()> {
        if self.files.len() < 2 {
            return Ok(());
        }
        writeln!(out, "\n{specifiers} pte_emit_file {}_files[{}_FILES] = {{", self.name, self.name.to_macro())?;
        for (index, file) in self.files.iter().enumerate() {
            let (name, symbol, size) = (string(&file.name), &file.symbol, format!("{}_SIZE", file.symbol.to_macro()));
            writeln!(out, "  {{{name}, {symbol}, {size}, {}}},", self.companions(index))?;
        }
        writeln!(out, "}};")
    }
}

/// Writes the directive for a header. Its name has no escapes (C23 6.4.7).
fn write_include(header: &str, out: &mut dyn Write) -> io::Result<()> {
    match is_header_name(header) {
        true => writeln!(out, "#include \"{header}\""),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "the header has a name that `#include` cannot contain"))
        }
    }
}

impl Macro {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Macro { name, value, about } = self;
        let about = if about.is_empty() { String::new() } else { format!("  /* {} */", comment(about)) };
        match value {
            MacroValue::Same(value) => writeln!(out, "#define {name} {value}{about}"),
            MacroValue::ByPointer([bits64, bits32]) => writeln!(
                out,
                "#if UINTPTR_MAX > 0xffffffff\n#define {name} {bits64}{about}\n#else\n#define {name} {bits32}{about}\n#endif"
            ),
        }
    }
}
