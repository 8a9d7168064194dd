//! Wrong on purpose: what a file is made to hold in the end, whatever its layout says.
//!
//! ```text
//! sets --path--> fields to force --emit--> FlatBuffer --place--> patches of the finished file
//! ```
//!
//! Nothing is computed anew: who changes an offset here gets a file whose offset is wrong. What needs room in the FlatBuffer (a
//! field that would be left out) or a vtable of its own (one that is to be left out) is given to the emitter; everything else is
//! a few bytes that are overwritten. Nothing here knows the text or writes a file.

pub mod diff;
pub mod lies;
pub mod make;
pub mod patched;
pub mod path;
pub mod place;

use crate::program::Blob;
use path::Path;

/// What is done to a file when all is laid out, in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Raw {
    /// Places of the header and of the FlatBuffer, and what they are made to say.
    pub sets: Vec<Set>,
    /// What padding around the segments is filled with.
    pub fill: u8,
    /// Bytes that are overwritten; later patches win.
    pub patches: Vec<Patch>,
    /// Where the file is cut off.
    pub truncate: Option<u64>,
    /// What is written behind the end.
    pub append: Option<Blob>,
}

/// What a text does to its files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Raws {
    /// The `.pte`; of a text without methods its `.ptd`.
    pub main: Raw,
    /// The first `.ptd` beside a program.
    pub ptd: Raw,
    /// The `.bpte` around a program.
    pub bpte: Raw,
}

/// A place and what it is made to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// Which of the text's.
    pub number: usize,
    /// The place.
    pub path: Path,
    /// What it says.
    pub lie: Lie,
}

/// What a place is made to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Lie {
    /// Another number, cut to the width of the field.
    Integer(i128),
    /// Another number.
    Float(f64),
    /// The field is left out of its table.
    Absent,
    /// An offset of zero.
    Null,
    /// A vector, or a text, without items.
    Empty,
    /// The offset leads to what another place refers to.
    SameAs(Path),
    /// Other bytes, from the first one on of a number, a text, a vector's items or a table.
    Bytes(Vec<u8>),
}

/// Bytes that are overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Where, from the start of the file.
    pub at: u64,
    /// With what.
    pub bytes: Vec<u8>,
}

impl Patch {
    /// The first byte behind it; `None` beyond what can be addressed.
    pub fn end(&self) -> Option<u64> {
        self.at.checked_add(self.bytes.len() as u64)
    }
}

impl Raw {
    /// Bytes of a file that would have so many; `None` beyond `u64`.
    pub fn size(&self, file: u64) -> Option<u64> {
        let kept = self.truncate.map_or(file, |size| size.min(file));
        kept.checked_add(self.append.as_ref().map_or(0, |append| append.len))
    }

    /// Overwrites bytes that begin at `start` in the file.
    pub fn apply(&self, start: u64, bytes: &mut [u8]) {
        for patch in &self.patches {
            // The part of the patch that is in these bytes.
            let skip = start.saturating_sub(patch.at).min(patch.bytes.len() as u64) as usize;
            let at = patch.at.saturating_sub(start).min(bytes.len() as u64) as usize;
            bytes[at..].iter_mut().zip(&patch.bytes[skip..]).for_each(|(byte, wanted)| *byte = *wanted);
        }
    }

    /// Whether a patch overwrites some of these bytes.
    pub fn touches(&self, start: u64, len: u64) -> bool {
        self.patches
            .iter()
            .any(|patch| patch.at < start.saturating_add(len) && patch.end().is_some_and(|end| end > start))
    }
}
