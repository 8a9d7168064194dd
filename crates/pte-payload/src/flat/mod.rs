//! FlatBuffers by schemas that are data: read to a tree, and written from it as their own writers do.
//!
//! [`schema`] has the types, [`bfbs`] reads those of users. [`value`] is the tree, which [`mod@read`] and [`mod@write`]
//! convert from and to bytes, and [`view`] has by names. [`FlatFormat`] is a payload format that is a FlatBuffer, with
//! what is around it.

pub mod bfbs;
pub mod read;
pub mod schema;
pub mod value;
pub mod view;
pub mod write;

use std::io;
use std::sync::{Arc, LazyLock};

use pte_model::data::Blob;

use super::description::{DescribeError, metadata};
use super::header::{self, HEADER, Sections};
use read::Span;
use schema::Schema;
use value::{FlatError, Table};
use view::View;
pub use write::FlatWriter;

/// Largest size in bytes of a FlatBuffer that is text.
const MAX_TEXT: u64 = 1 << 20;

/// Largest size in bytes of a schema of a user.
pub const MAX_SCHEMA: u64 = 16 << 20;

/// What is around the FlatBuffer of a payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Header {
    /// Nothing.
    #[default]
    None,
    /// That of [`Sections`], with its magic.
    Sections(&'static [u8; 4]),
    /// That of [`header::read_short`], with its magic.
    Short(&'static str),
}

/// Layout of a payload with a FlatBuffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// What is before the FlatBuffer.
    pub header: Header,
    /// Order in the FlatBuffer.
    pub writer: FlatWriter,
}

/// Layout of a FlatBuffer alone, as flatc writes it from JSON.
pub const PLAIN: Layout = Layout { header: Header::None, writer: FlatWriter::Flatc };

/// A format of payloads, or of compile options, that is a FlatBuffer.
#[derive(Debug)]
pub struct FlatFormat {
    /// Name in the YAML.
    pub name: &'static str,
    /// Layout of the backend's own writer.
    pub layout: Layout,
    schema: &'static LazyLock<Arc<Schema>>,
}

macro_rules! formats {
    ($( $schema:ident $format:ident $file:literal $header:expr, $writer:ident; )*) => {$(
        static $schema: LazyLock<Arc<Schema>> = LazyLock::new(|| parsed(include_str!(concat!("../../schemas/", $file, ".schema"))).into());
        #[doc = concat!("The format `", $file, "`.")]
        pub static $format: FlatFormat =
            FlatFormat { name: $file, layout: Layout { header: $header, writer: FlatWriter::$writer }, schema: &$schema };
        )*
        static FORMATS: &[&FlatFormat] = &[$( &$format ),*];
    };
}
formats! {
    ENN_OPTIONS ENN_OPTIONS_FORMAT "enn_options" Header::None, Flatc;
    MLX MLX_FORMAT "mlx" Header::Short("MLX0"), Python;
    MPS MPS_FORMAT "mps" Header::Short("MP00"), Flatc;
    NATIVE NATIVE_FORMAT "native" Header::None, Flatc;
    QCIR QCIR_FORMAT "qcir" Header::None, Cpp;
    QNN_OPTIONS QNN_OPTIONS_FORMAT "qnn_options" Header::None, Flatc;
    TOSA TOSA_FORMAT "tosa" Header::None, Cpp;
    VULKAN VULKAN_FORMAT "vulkan" Header::Sections(b"VH00"), Flatc;
}

fn parsed(text: &str) -> Schema {
    // A test parses all of them.
    Schema::parse(text).expect("schemas of this crate are valid")
}

/// Returns the formats, in alphabetical order.
pub fn formats() -> impl Iterator<Item = &'static FlatFormat> {
    FORMATS.iter().copied()
}

/// Returns the format of options of a compile spec.
pub fn options(value: &[u8]) -> Option<&'static FlatFormat> {
    formats().filter(|format| format.name.ends_with("_options")).find(|format| {
        match format.schema.identifier {
            Some(identifier) => value.get(4..8) == Some(&identifier),
            // Nothing else identifies it: text and numbers are no tables.
            None => value.len() >= 16 && format.read(&Blob::bytes(value)).is_ok(),
        }
    })
}

/// Content of a payload that is a FlatBuffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// The root table.
    pub root: Table,
    /// Layout: with the header that the payload has, if any.
    pub layout: Layout,
    /// Bytes after the FlatBuffer, which only a header allows: constants.
    pub rest: Option<Blob>,
}

impl FlatFormat {
    /// Returns the format with a name.
    pub fn of(name: &str) -> Option<&'static FlatFormat> {
        formats().find(|format| format.name == name)
    }

    /// Returns the schema.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(self.schema)
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// A malformed payload, or one that cannot be read.
    pub fn read(&self, payload: &Blob) -> Result<Content, DescribeError> {
        read_by(self.schema, self.layout, payload)
    }

    /// Returns offset and size of the FlatBuffer in a payload, and what its bytes are.
    ///
    /// # Errors
    /// As [`FlatFormat::read`].
    pub fn spans(&self, payload: &Blob) -> Result<((u64, u64), Vec<Span>), DescribeError> {
        let (part, _) = part_of(self.layout, payload)?;
        let bytes = metadata(payload, part.0, part.1, "a FlatBuffer")?;
        let spans = read::spans(self.schema, &bytes).map_err(|error| DescribeError::Malformed(error.to_string()))?;
        Ok((part, spans))
    }

    /// Calls `take` with the root table of a part of a payload, which is read as by [`read_part`].
    ///
    /// # Errors
    /// As [`FlatFormat::read`], and those of `take`.
    pub fn view<T>(
        &self,
        payload: &Blob,
        part: (u64, u64),
        take: impl FnOnce(View<'_>) -> Result<T, DescribeError>,
    ) -> Result<T, DescribeError> {
        take(View::new(self.schema, &read_part(self.schema, payload, part)?))
    }
}

/// Returns the content of a payload with the writer that reproduces it byte for byte; its own is tried first.
///
/// # Errors
/// The reason why the payload is not reproduced.
pub fn exact(schema: &Schema, mut content: Content, payload: &Blob) -> Result<Content, String> {
    let head = payload.len() - content.rest.as_ref().map_or(0, Blob::len);
    if head > MAX_TEXT {
        return Err(format!("it has more than {MAX_TEXT} bytes without its constants"));
    }
    let found = payload.read_at(0, head as usize).map_err(|error| error.to_string())?;
    let own = content.layout.writer;
    for writer in [own].into_iter().chain(FlatWriter::ALL.into_iter().filter(|writer| *writer != own)) {
        content.layout.writer = writer;
        let written = encode(schema, &content.root, content.layout, content.rest.as_ref());
        let is_equal = |written: &Blob| {
            written.len() == payload.len() && written.read_at(0, head as usize).is_ok_and(|written| written == found)
        };
        if written.as_ref().is_ok_and(is_equal) {
            return Ok(content);
        }
    }
    Err("it is arranged otherwise than the known writers do".to_owned())
}

/// Reads a payload by a schema.
///
/// # Errors
/// As [`FlatFormat::read`].
pub fn read_by(schema: &Schema, layout: Layout, payload: &Blob) -> Result<Content, DescribeError> {
    let len = payload.len();
    let ((at, size), mut layout) = part_of(layout, payload)?;
    let root = read_at(schema, payload, (at, size), read::read)?;
    let end = match layout.header {
        Header::None => None,
        Header::Sections(_) => Some((at + size).next_multiple_of(header::ALIGNMENT)),
        Header::Short(_) => Some(at + size),
    };
    let rest = match end.and_then(|end| Some((end, len.checked_sub(end)?))) {
        Some((end, left)) if left > 0 => payload.part(end, left)?,
        Some(_) | None => None,
    };
    if rest.is_none() && end.is_some_and(|end| end > len) {
        layout.header = Header::None;
    }
    Ok(Content { root, layout, rest })
}

/// Returns offset and size of the FlatBuffer in a payload, and the layout with the header that the payload has.
fn part_of(layout: Layout, payload: &Blob) -> Result<((u64, u64), Layout), DescribeError> {
    let len = payload.len();
    Ok(match layout.header {
        Header::None => ((0, len), layout),
        Header::Sections(magic) => {
            let head = payload.read_at(0, len.min(HEADER as u64) as usize)?;
            let sections = Sections::read(magic, &head, len).map_err(DescribeError::Malformed)?;
            let header = if sections.constants.is_some() { layout.header } else { Header::None };
            (sections.graph, Layout { header, ..layout })
        }
        Header::Short(magic) => (header::read_short(payload, magic)?.0, layout),
    })
}

/// Reads the FlatBuffer that a payload has at an offset, with a size in bytes, for a description: as
/// [`read::read_known`].
///
/// # Errors
/// As [`FlatFormat::read`].
pub fn read_part(schema: &Schema, payload: &Blob, part: (u64, u64)) -> Result<Table, DescribeError> {
    read_at(schema, payload, part, read::read_known)
}

/// A reader of [`mod@read`].
type Read = fn(&Schema, &[u8], &Blob, u64) -> Result<Table, FlatError>;

fn read_at(schema: &Schema, payload: &Blob, (at, size): (u64, u64), read: Read) -> Result<Table, DescribeError> {
    let bytes = metadata(payload, at, size, "a FlatBuffer")?;
    read(schema, &bytes, payload, at).map_err(|mut error| {
        error.at = error.at.map(|offset| offset.saturating_add(at as usize));
        DescribeError::Malformed(error.to_string())
    })
}

/// Writes a payload: its header, the FlatBuffer, and the bytes after it.
///
/// # Errors
/// Content that is too large for the format, or cannot be read.
pub fn encode(schema: &Schema, root: &Table, layout: Layout, rest: Option<&Blob>) -> Result<Blob, FlatError> {
    let fail = |message: &str| FlatError { path: schema.root().name.clone(), at: None, message: message.to_owned() };
    let bytes = write::write(schema, root, layout.writer)?;
    let rest_len = rest.map_or(0, Blob::len);
    let head = match layout.header {
        Header::None if rest_len > 0 => return Err(fail("bytes after a FlatBuffer without a header")),
        Header::None => bytes,
        Header::Sections(magic) => {
            let sections = Sections::arranged(bytes.len() as u64, rest_len);
            let sections = sections.ok_or_else(|| fail("more than the header can count"))?;
            let mut head = sections.header(magic);
            head.resize(sections.graph.0 as usize, 0);
            head.extend_from_slice(&bytes);
            head.resize(sections.constants.map_or(head.len(), |(at, _)| at as usize), 0);
            head
        }
        Header::Short(magic) => header::write_short(magic, &bytes, rest_len),
    };
    let parts = [Some(Blob::bytes(head)), rest.cloned()];
    Blob::joined(parts.into_iter().flatten()).ok_or_else(|| fail("more than 16 EiB"))
}

impl From<FlatError> for io::Error {
    fn from(error: FlatError) -> io::Error {
        io::Error::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::value::Value;
    use super::*;
    use pte_model::format::flatbuffer::Scalar;

    #[test]
    fn all_schemas_are_valid() {
        for format in formats() {
            assert!(!format.schema().root().fields.is_empty(), "{}", format.name);
        }
    }

    fn shapes() -> Schema {
        let text = "identifier TEST\nroot Root\nenum Kind:uint8 NONE SMALL LARGE=7\nstruct Pair low:int8 high:int32\n\
                    union Member Leaf Root\ntable Leaf name:string! kind:Kind=LARGE\n\
                    table Root leaf:Leaf pair:Pair member:Member leaves:[Leaf] pairs:[Pair] texts:[string]\n  \
                    numbers:[int16] data:bytes@16 ratio:float64=0.5 -";
        Schema::parse(text).unwrap()
    }

    fn sample() -> Table {
        let leaf = |name: &str| Table {
            fields: vec![(0, Value::Text(name.into())), (1, Value::Number(1))],
            ..Table::default()
        };
        let pair = vec![1, 0, 0, 0, 2, 0, 0, 0];
        let fields = vec![
            (0, Value::Table(leaf("a"))),
            (1, Value::Struct(pair.clone())),
            (3, Value::Union(1, leaf("b"))),
            (4, Value::Tables(vec![leaf("c"), leaf("a")])),
            (5, Value::Structs([pair.clone(), pair].concat())),
            (6, Value::Texts(vec!["a".into(), String::new()])),
            (7, Value::Numbers(Blob::bytes([1, 0, 2, 0]))),
            (8, Value::Numbers(Blob::bytes([9; 5]))),
            (9, Value::Number(1.5f64.to_bits())),
        ];
        Table { fields, unknown: vec![value::UnknownField { slot: 11, bytes: vec![7, 0, 0, 0] }] }
    }

    #[test]
    fn what_is_written_is_read_by_every_writer() {
        let schema = shapes();
        for writer in FlatWriter::ALL {
            let layout = Layout { header: Header::None, writer };
            let payload = encode(&schema, &sample(), layout, None).unwrap();
            let content = read_by(&schema, layout, &payload).unwrap();
            assert_eq!(exact(&schema, content, &payload).unwrap().root, sample(), "{writer}");
        }
    }

    #[test]
    fn mutants_are_errors_or_other_content() {
        let schema = shapes();
        let bytes = encode(&schema, &sample(), PLAIN, None).unwrap().to_vec().unwrap();
        let try_to_read = |bytes: &[u8]| {
            let payload = Blob::bytes(bytes);
            read_by(&schema, PLAIN, &payload).is_ok_and(|content| exact(&schema, content, &payload).is_ok())
        };
        assert!(try_to_read(&bytes));
        for at in 0..bytes.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff, bytes[at].wrapping_add(4)] {
                let mut mutant = bytes.clone();
                mutant[at] = byte;
                try_to_read(&mutant);
            }
            try_to_read(&bytes[..at]);
        }
        let error = read_by(&schema, PLAIN, &Blob::bytes(*b"\x08\0\0\0TEXT")).unwrap_err().to_string();
        assert_eq!(error, "Root: expected the file identifier \"TEST\", found \"TEXT\" (at byte 0x4)");
    }

    #[test]
    fn schemas_that_contradict_themselves_are_errors() {
        let error = |text: &str| Schema::parse(text).unwrap_err();
        assert_eq!(error("table A b:B"), "line 1: unknown type `B`");
        assert_eq!(error("table A"), "the schema has no root table");
        assert_eq!(error("root A\nstruct A b:int8"), "the schema has no root table");
        assert!(error("root T\ntable T\nstruct A a:A").contains("struct `A`"));
        // A field without bytes beside a struct that contains itself.
        let mut schema = Schema::parse("root T\ntable T\nstruct A a:uint8 z:uint8").unwrap();
        let a = schema.objects.iter().position(|object| object.name == "A").unwrap();
        schema.objects[a].layout = Some((1, 1));
        schema.objects[a].fields[0].ty = schema::Type::Object(a);
        schema.objects[a].fields[1].ty = schema::Type::Array(Scalar::U8, None, 0);
        assert!(schema.clone().checked().unwrap_err().contains("struct `A`"));
        schema.objects[a].layout = Some((1 << 20, 1));
        assert!(schema.checked().unwrap_err().contains("1048576 bytes"));
    }

    /// The schema of schemas describes itself: the file of a schema is read by it.
    #[test]
    fn binary_schemas_are_read() {
        let error = bfbs::read(b"\x08\0\0\0BFBS\0\0\0\0").unwrap_err();
        assert!(error.starts_with("Schema: "), "{error}");
    }
}
