//! Files of arrays that the library does not read: `.npz` of NumPy, pictures, standard input. They become an `.npy` for
//! an input of `run`, and outputs become a `.npz`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use pte_emit::command::text::{clipped, counted, first_names};
use pte_emit::command::{file_of, has_extension, npy};
use pte_emit::program::Tensor;
use pte_emit::run::{InputFile, NamedTensors};
use pte_emit::{Code, Error, ScalarType};
use zip::ZipArchive;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, ZipWriter};
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;

use super::interrupt;
use super::io::STREAM;

/// Extension of the archives.
const NPZ: &str = "npz";

/// Extensions of pictures.
const PICTURES: [&str; 3] = ["png", "jpg", "jpeg"];

/// Extensions of pictures that are not read, and of text.
const OTHERS: [(&str, &[&str]); 2] = [
    ("a picture is a .png or .jpg", &["webp", "bmp", "gif", "tif", "tiff", "heic"]),
    ("a file has elements as bytes, or is a .npy, .npz or .safetensors", &["txt", "csv", "json"]),
];

/// Suffix of a picture that is to be scaled.
const RESIZE: &str = "resize";

/// Bytes that an array may have beside its elements.
const HEADER: u64 = 1 << 16;

/// Bytes of an element at most: those of complex128.
const ELEMENT: u64 = 16;

/// Bytes that a picture for an input may take in memory.
const PICTURE: u64 = 1 << 30;

/// Bytes that a byte of a compressed file can stand for, at most: deflate has 1,032.
const MAX_RATIO: u64 = 2048;

/// Returns the limit in bytes for what a file decodes to.
fn decoded_limit(content: &[u8]) -> u64 {
    (content.len() as u64).saturating_mul(MAX_RATIO).min(PICTURE)
}

/// Opens a file. Pipes and devices, which might never end, are rejected.
fn open_regular(path: impl AsRef<Path>) -> std::io::Result<File> {
    match path.as_ref().metadata()?.is_file() {
        true => File::open(path),
        false => Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, "expected a regular file")),
    }
}

/// Reads a file for an input; `None` for one that the library reads. The path may have a suffix: the name of an array
/// of a `.npz`, or `:resize`.
///
/// # Errors
/// A file that cannot be read, is malformed, or has no single array; a picture that does not suit the input.
pub fn read_input(path: &str, tensor: &Tensor) -> Result<Option<InputFile>, String> {
    let elements = tensor.nbytes().unwrap_or(0) / tensor.scalar_type.element_size().max(1);
    let room = elements.saturating_mul(ELEMENT).saturating_add(HEADER);
    let (file, suffix) = file_of(path);
    if path == STREAM {
        read_stream(tensor, room).map(Some)
    } else if has_extension(file, &[NPZ]) {
        let shown = |error: String| format!("{}: {error}", clipped(file));
        let content = open_regular(file).map_err(|error| format!("cannot read {}: {error}", clipped(file)))?;
        let mut archive = ZipArchive::new(content).map_err(|error| shown(malformed(&error)))?;
        array(&mut archive, suffix, room).map(|npy| Some(InputFile::Npy(npy))).map_err(shown)
    } else if has_extension(file, &PICTURES) {
        let found = match suffix {
            None => picture(file, tensor, false),
            Some(RESIZE) => picture(file, tensor, true),
            Some(other) => {
                Err(format!("expected `:{RESIZE}` or nothing after the picture, found `:{}`", clipped(other)))
            }
        };
        found.map(Some).map_err(|error| format!("{}: {error}", clipped(file)))
    } else {
        let name = path.split(':').next().unwrap_or_default();
        match OTHERS.iter().find(|(_, extensions)| has_extension(name, extensions)) {
            Some((expected, _)) => Err(format!("{}: {expected}; convert it", clipped(path))),
            None => Ok(None),
        }
    }
}

/// Reads an `.npy` or the bytes of the elements from standard input.
fn read_stream(tensor: &Tensor, room: u64) -> Result<InputFile, String> {
    let mut content = Vec::new();
    let found = interrupt::at_once(|| std::io::stdin().lock().take(room + 1).read_to_end(&mut content));
    found.map_err(|error| format!("cannot read standard input: {error}"))?;
    if content.len() as u64 > room {
        return Err(format!("standard input has more than the {} that the input can have", counted(room, "byte")));
    }
    let bytes = tensor.nbytes().unwrap_or(0);
    match content.starts_with(npy::MAGIC) {
        true => Ok(InputFile::Npy(content)),
        false if content.len() as u64 == bytes => Ok(InputFile::Elements(content)),
        false => {
            let found = counted(content.len() as u64, "byte");
            Err(format!("standard input is no .npy, and has {found}; expected {bytes}, those of the elements"))
        }
    }
}

fn malformed(error: &ZipError) -> String {
    format!("it is not a .npz: {error}")
}

/// Returns the names of the arrays of an archive.
fn names<R: Read + Seek>(archive: &ZipArchive<R>) -> Result<Vec<String>, String> {
    let name = |name: Cow<'_, str>| name.strip_suffix(".npy").unwrap_or(&name).to_owned();
    archive.file_names().map(|found| found.map(name).map_err(|error| malformed(&error))).collect()
}

/// Reads an array of an archive: the one of this name, or the only one.
///
/// # Errors
/// There is no such array, or it has more than `room` bytes.
fn array<R: Read + Seek>(archive: &mut ZipArchive<R>, name: Option<&str>, room: u64) -> Result<Vec<u8>, String> {
    let names = names(archive)?;
    let at = match name {
        Some(name) => names.iter().position(|known| known == name),
        None => (names.len() == 1).then_some(0),
    };
    let Some(at) = at else {
        let known = first_names(names.iter().map(String::as_str));
        return Err(match name {
            Some(name) => format!("no array `{}`; it has {known}", clipped(name)),
            None => format!("name an array, as in @FILE.npz:NAME; it has {known}"),
        });
    };
    array_at(archive, at, &names[at], room)
}

fn array_at<R: Read + Seek>(archive: &mut ZipArchive<R>, at: usize, name: &str, room: u64) -> Result<Vec<u8>, String> {
    let entry = archive.by_index(at).map_err(|error| malformed(&error))?;
    let (mut content, stated) = (Vec::new(), entry.size());
    entry.take(room.saturating_add(1)).read_to_end(&mut content).map_err(|error| error.to_string())?;
    if content.len() as u64 > room {
        let (name, room) = (clipped(name), counted(room, "byte"));
        return Err(format!("array `{name}` has {stated} bytes, more than the {room} of any array of these sizes"));
    }
    Ok(content)
}

/// Reads a picture for an input `[1, C, H, W]`, `[1, H, W, C]`, the same without 1, or `[H, W]`: numbers of an integer
/// type from 0 to 255 (of int8 from -128 to 127), others from 0 to 1.
fn picture(path: &str, tensor: &Tensor, is_scaled: bool) -> Result<InputFile, String> {
    let picture = Picture::open(path)?;
    let [height, width] = picture.size;
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    let is_large = tensor.nbytes().is_none_or(|bytes| bytes > PICTURE);
    let Some(layout) = PictureLayout::of(sizes, picture.size).filter(|_| !is_large) else {
        return Err(format!(
            "a picture is for an input [1, C, H, W], [1, H, W, C], [C, H, W], [H, W, C] or [H, W] with C of 1, 3 or 4, \
             found {sizes:?}"
        ));
    };
    let picture = match picture.size == layout.size {
        true => picture,
        false if is_scaled => picture.scaled(layout.size),
        false => {
            let [high, wide] = layout.size;
            return Err(format!(
                "the picture has {width} x {height} pixels, the input {wide} x {high}; `@{path}:{RESIZE}` scales it"
            ));
        }
    };
    let pixels = layout.elements(&picture);
    let npy = |scalar_type: ScalarType, elements: &[u8]| {
        [npy::header(scalar_type, sizes).unwrap_or_default().as_slice(), elements].concat()
    };
    match tensor.scalar_type {
        ScalarType::BYTE => Ok(InputFile::Npy(npy(ScalarType::BYTE, &pixels))),
        ScalarType::CHAR => {
            let signed: Vec<u8> = pixels.iter().map(|pixel| pixel ^ 0x80).collect();
            Ok(InputFile::Npy(npy(ScalarType::CHAR, &signed)))
        }
        ScalarType::FLOAT | ScalarType::HALF | ScalarType::BFLOAT16 | ScalarType::DOUBLE => {
            let numbers: Vec<u8> = pixels.iter().flat_map(|pixel| (f32::from(*pixel) / 255.0).to_le_bytes()).collect();
            Ok(InputFile::Float32Npy(npy(ScalarType::FLOAT, &numbers)))
        }
        other => {
            let known = "float32, float16, bfloat16, float64, uint8 or int8";
            Err(format!("a picture is for an input of {known}, found {other}"))
        }
    }
}

/// Position of the pixels of a picture in an input.
#[derive(Debug, PartialEq)]
struct PictureLayout {
    channels: usize,
    /// Height and width.
    size: [usize; 2],
    /// The channels of a pixel are adjacent.
    is_interleaved: bool,
}

impl PictureLayout {
    /// Returns the layout of an input of these sizes, if it is one. Several may fit: the size of the picture decides,
    /// then three channels, then channels first.
    fn of(sizes: &[i32], picture: [usize; 2]) -> Option<PictureLayout> {
        let sizes: Vec<usize> = sizes.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<_>>()?;
        let candidates = match *sizes {
            [height, width] => vec![(1, [height, width], true)],
            [1, a, b, c] | [a, b, c] => vec![(a, [b, c], false), (c, [a, b], true)],
            _ => Vec::new(),
        };
        let is_layout =
            |(channels, size, _): &(usize, [usize; 2], bool)| matches!(channels, 1 | 3 | 4) && !size.contains(&0);
        let candidates = candidates.into_iter().filter(is_layout);
        let (channels, size, is_interleaved) =
            candidates.min_by_key(|(channels, size, _)| (*size != picture, *channels != 3))?;
        Some(PictureLayout { channels, size, is_interleaved })
    }

    fn elements(&self, picture: &Picture) -> Vec<u8> {
        let pixels = picture.with_channels(self.channels);
        match self.is_interleaved {
            true => pixels,
            false => (0..self.channels).flat_map(|c| pixels[c..].iter().step_by(self.channels)).copied().collect(),
        }
    }
}

/// A decoded picture.
struct Picture {
    /// Gray, gray with alpha, RGB or RGBA.
    channels: usize,
    /// Height and width.
    size: [usize; 2],
    pixels: Vec<u8>,
}

impl Picture {
    fn open(path: &str) -> Result<Picture, String> {
        let mut content = Vec::new();
        let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut content));
        read.map_err(|error| error.to_string())?;
        match content.starts_with(b"\x89PNG") {
            true => Picture::of_png(&content).map_err(|error| error.to_string()),
            false => Picture::of_jpeg(&content).map_err(|error| format!("expected a .png or .jpg: {error}")),
        }
    }

    fn of_png(content: &[u8]) -> Result<Picture, png::DecodingError> {
        let limits = png::Limits { bytes: decoded_limit(content) as usize };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(content), limits);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info()?;
        let bytes = reader.output_buffer_size().filter(|bytes| *bytes as u64 <= decoded_limit(content));
        let mut pixels = vec![0; bytes.ok_or(png::DecodingError::LimitsExceeded)?];
        let frame = reader.next_frame(&mut pixels)?;
        let size = [frame.height, frame.width].map(|size| size as usize);
        Ok(Picture { channels: frame.color_type.samples(), size, pixels })
    }

    fn of_jpeg(content: &[u8]) -> Result<Picture, DecodeErrors> {
        let mut decoder = JpegDecoder::new(ZCursor::new(content));
        decoder.decode_headers()?;
        if decoder.output_buffer_size().is_none_or(|bytes| bytes as u64 > decoded_limit(content)) {
            return Err(DecodeErrors::FormatStatic("its size does not suit the length of the file"));
        }
        let pixels = decoder.decode()?;
        let size = decoder.dimensions().map_or([0; 2], |(width, height)| [height, width]);
        let channels = decoder.output_colorspace().map_or(3, |space| space.num_components());
        Ok(Picture { channels, size, pixels })
    }

    /// Scales the picture by a triangle filter, as Pillow's `Image.Resampling.BILINEAR`.
    fn scaled(self, size: [usize; 2]) -> Picture {
        let [height, width] = self.size;
        let rows = filter_taps(height, size[0]);
        let columns = filter_taps(width, size[1]);
        // Rows first, as numbers: each is rounded once.
        let at = |y: usize, x: usize, c: usize| f32::from(self.pixels[(y * width + x) * self.channels + c]);
        let mut pixels = Vec::with_capacity(size[0] * size[1] * self.channels);
        for (top, of_rows) in &rows {
            let row: Vec<f32> = (0..width * self.channels)
                .map(|at_row| {
                    let (x, c) = (at_row / self.channels, at_row % self.channels);
                    of_rows.iter().enumerate().map(|(y, weight)| weight * at(top + y, x, c)).sum()
                })
                .collect();
            for (left, of_columns) in &columns {
                pixels.extend((0..self.channels).map(|c| {
                    let column = |(x, weight): (usize, &f32)| weight * row[(left + x) * self.channels + c];
                    let sum: f32 = of_columns.iter().enumerate().map(column).sum();
                    sum.round() as u8
                }));
            }
        }
        Picture { channels: self.channels, size, pixels }
    }

    /// Returns the pixels as gray, RGB or RGBA; the brightness is that of ITU-R 601.
    fn with_channels(&self, channels: usize) -> Vec<u8> {
        let convert = |pixel: &[u8]| {
            let (red, green, blue, alpha) = match *pixel {
                [gray] => (gray, gray, gray, u8::MAX),
                [gray, alpha] => (gray, gray, gray, alpha),
                [red, green, blue] => (red, green, blue, u8::MAX),
                [red, green, blue, alpha, ..] => (red, green, blue, alpha),
                [] => (0, 0, 0, 0),
            };
            let [r, g, b] = [red, green, blue].map(u32::from);
            match channels {
                1 => vec![((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16) as u8],
                3 => vec![red, green, blue],
                _ => vec![red, green, blue, alpha],
            }
        };
        self.pixels.chunks_exact(self.channels).flat_map(convert).collect()
    }
}

/// Returns for each of `to` positions the first of `from` ones that count, and their weights.
fn filter_taps(from: usize, to: usize) -> Vec<(usize, Vec<f32>)> {
    let scale = from as f32 / to as f32;
    let support = scale.max(1.0);
    let position = |at: usize| {
        let center = (at as f32 + 0.5) * scale;
        let first = (center - support + 0.5).max(0.0) as usize;
        let end = ((center + support + 0.5) as usize).min(from);
        let weight = |x: usize| (1.0 - ((x as f32 - center + 0.5) / support).abs()).max(0.0);
        let found: Vec<f32> = (first..end).map(weight).collect();
        let sum: f32 = found.iter().sum();
        (first, found.into_iter().map(|weight| weight / sum).collect())
    };
    (0..to).map(position).collect()
}

/// Format of a file of outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayFormat {
    /// `.safetensors`.
    Safetensors,
    /// `.npz`.
    Npz,
    /// `.npy`.
    Npy,
}

impl ArrayFormat {
    /// Returns the format of a file by its extension.
    pub fn of(path: &Path) -> Option<ArrayFormat> {
        let path = path.to_str()?;
        let formats = [("safetensors", ArrayFormat::Safetensors), (NPZ, ArrayFormat::Npz), ("npy", ArrayFormat::Npy)];
        formats.into_iter().find(|(extension, _)| has_extension(path, &[extension])).map(|(_, format)| format)
    }

    /// Returns a file of tensors.
    ///
    /// # Errors
    /// An element type that the format does not have, several tensors for an `.npy`.
    pub fn write(self, tensors: &NamedTensors) -> std::io::Result<Vec<u8>> {
        match self {
            ArrayFormat::Safetensors => tensors.to_safetensors(),
            ArrayFormat::Npz => {
                let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
                for (name, npy) in tensors.to_npy()? {
                    // Without a time, so that equal outputs are equal files.
                    let options = SimpleFileOptions::DEFAULT.compression_method(zip::CompressionMethod::Stored);
                    archive.start_file(format!("{name}.npy"), options)?;
                    archive.write_all(&npy)?;
                }
                Ok(archive.finish()?.into_inner())
            }
            ArrayFormat::Npy => {
                let mut found = tensors.to_npy()?;
                match found.pop().filter(|_| found.is_empty()) {
                    Some((_, npy)) => Ok(npy),
                    None => Err(std::io::Error::other("an .npy has one output, and there are others; a .npz has them")),
                }
            }
        }
    }
}

/// Reads the tensors of a file with which outputs are compared.
///
/// # Errors
/// A file that cannot be read, is malformed, or of another format.
pub fn open(path: &Path) -> Result<NamedTensors, Error> {
    if ArrayFormat::of(path) != Some(ArrayFormat::Npz) {
        return NamedTensors::open(path);
    }
    let name = path.display().to_string();
    let wrong = |message: String| Error::input(Code::UnexpectedInput, &name, message);
    let file = open_regular(path).map_err(|error| Error::io(&name, "", &error))?;
    // Of all arrays together: several entries can be the same bytes of the file.
    let mut room =
        file.metadata().map_or(0, |metadata| metadata.len()).saturating_mul(MAX_RATIO).saturating_add(HEADER);
    let mut archive = ZipArchive::new(file).map_err(|error| wrong(malformed(&error)))?;
    let mut tensors = NamedTensors::default();
    for (at, name) in names(&archive).map_err(wrong)?.into_iter().enumerate() {
        let npy = array_at(&mut archive, at, &name, room).map_err(wrong)?;
        room = room.saturating_sub(npy.len() as u64);
        tensors.insert_npy(&name, npy).map_err(|error| wrong(format!("array `{}`: {error}", clipped(&name))))?;
    }
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_found_in_both_layouts() {
        for (sizes, expected) in [
            (&[1, 3, 5, 7][..], Some((3, [5, 7], false))),
            (&[1, 5, 7, 3], Some((3, [5, 7], true))),
            (&[1, 4, 7, 3], Some((3, [4, 7], true))),
            (&[1, 4, 5, 3], Some((4, [5, 3], false))),
            (&[4, 5, 7], Some((4, [5, 7], false))),
            (&[5, 7, 1], Some((1, [5, 7], true))),
            (&[5, 7], Some((1, [5, 7], true))),
            (&[2, 3, 5, 7], None),
            (&[1, 2, 5, 7], None),
            (&[1, 3, 0, 7], None),
            (&[3], None),
        ] {
            let found = PictureLayout::of(sizes, [5, 3]);
            let found = found.map(|found| (found.channels, found.size, found.is_interleaved));
            assert_eq!(found, expected, "{sizes:?}");
        }
    }

    /// A small file does not take much memory.
    #[test]
    fn arrays_larger_than_the_input_are_errors() {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file("x.npy", SimpleFileOptions::DEFAULT).unwrap();
        archive.write_all(&vec![0; 1 << 20]).unwrap();
        let bytes = archive.finish().unwrap().into_inner();
        assert!(bytes.len() < 1 << 14);
        let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
        assert!(array(&mut archive, None, 1000).unwrap_err().contains("1048576 bytes, more than the 1000 bytes"));
    }

    #[test]
    fn archives_are_read_again() {
        let mut tensors = NamedTensors::default();
        for (name, number) in [("a", 7), ("b:c.npy", 8)] {
            tensors.insert(name, &pte_emit::run::OutputValue::Int(number)).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npz");
        std::fs::write(&path, ArrayFormat::Npz.write(&tensors).unwrap()).unwrap();
        assert_eq!(open(&path).unwrap().to_safetensors().unwrap(), tensors.to_safetensors().unwrap());
        let path = path.to_str().unwrap();
        let input = Tensor { scalar_type: ScalarType::LONG, sizes: Some(Vec::new().into()), ..Tensor::default() };
        let read = |name: &str| {
            read_input(&format!("{path}{name}"), &input).map(|file| match file {
                Some(InputFile::Npy(content)) => content,
                _ => panic!("no array"),
            })
        };
        assert!(read(":b:c.npy").unwrap().ends_with(&8u64.to_le_bytes()));
        assert!(read("").unwrap_err().contains("name an array, as in @FILE.npz:NAME; it has `a`"), "{:?}", read(""));
        assert!(read(":d").unwrap_err().contains("no array `d`"));
        std::fs::write(path, b"PK\x03\x04").unwrap();
        assert!(read(":a").unwrap_err().contains("it is not a .npz"));
    }
}
