//! Contents of constants, each once: of those in the program, and of results.

use std::collections::HashMap;
use std::io;

use pte_model::data::{Blob, BlobId, BlobSource, dedup};
use pte_model::program::Program;

/// Number of contents of one length with which a content that is not in memory is compared.
const COMPARED: usize = 64;

/// Contents, by number.
pub struct Contents {
    blobs: Vec<Blob>,
    /// By content: its blob in the program, if it has one.
    ids: Vec<Option<BlobId>>,
    /// By blob of the program at first: its content.
    of_blob: Vec<usize>,
    by_digest: HashMap<[u8; 32], usize>,
    /// By length: contents that are not in memory.
    others: HashMap<u64, Vec<usize>>,
}

impl Contents {
    /// Returns the contents of a program.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn of(program: &Program) -> io::Result<Contents> {
        let same = dedup::find(&program.blobs).map_err(|(_, error)| error)?;
        let mut contents = Contents {
            blobs: Vec::new(),
            ids: Vec::new(),
            of_blob: Vec::with_capacity(same.len()),
            by_digest: HashMap::new(),
            others: HashMap::new(),
        };
        for (at, first) in same.iter().enumerate() {
            let first = first.0 as usize;
            let content = if first < at { contents.of_blob[first] } else { contents.add(program.blobs[at].clone()) };
            contents.ids[content].get_or_insert(BlobId(at as u32));
            contents.of_blob.push(content);
        }
        Ok(contents)
    }

    /// Returns the content of a blob of the program.
    pub fn of_blob(&self, id: BlobId) -> Option<usize> {
        self.of_blob.get(id.0 as usize).copied()
    }

    /// Returns a content.
    pub fn get(&self, content: usize) -> &Blob {
        &self.blobs[content]
    }

    /// Returns the number of contents.
    pub fn len(&self) -> usize {
        self.blobs.len()
    }

    /// Returns `true` if the content is one of the program.
    pub fn is_own(&self, content: usize) -> bool {
        self.ids[content].is_some()
    }

    /// Returns the number of a result, which is that of an argument or of an earlier result with the same bytes.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn intern(&mut self, blob: Blob, arguments: &[usize]) -> io::Result<usize> {
        if let Some(same) = arguments.iter().find(|argument| is_same(&self.blobs[**argument], &blob)) {
            return Ok(*same);
        }
        if let BlobSource::Bytes(_) = blob.source() {
            let digest = blob.digest()?;
            if let Some(same) = self.by_digest.get(&digest) {
                return Ok(*same);
            }
            let content = self.add(blob);
            self.by_digest.insert(digest, content);
            return Ok(content);
        }
        let alike = self.others.get(&blob.len()).map_or(&[][..], Vec::as_slice);
        if let Some(same) = alike.iter().take(COMPARED).find(|other| is_same(&self.blobs[**other], &blob)) {
            return Ok(*same);
        }
        let len = blob.len();
        let content = self.add(blob);
        self.others.entry(len).or_default().push(content);
        Ok(content)
    }

    fn add(&mut self, blob: Blob) -> usize {
        self.blobs.push(blob);
        self.ids.push(None);
        self.blobs.len() - 1
    }

    /// Returns the blob of a content in the program, to which it is added if it is not there.
    pub fn stored(&mut self, content: usize, program: &mut Program) -> BlobId {
        *self.ids[content].get_or_insert_with(|| program.add_blob(self.blobs[content].clone()))
    }
}

/// Returns `true` if two blobs certainly have the same bytes, without reading them.
fn is_same(a: &Blob, b: &Blob) -> bool {
    use BlobSource::{Bytes, File, Reordered, Repeat};
    a.len() == b.len()
        && match (a.source(), b.source()) {
            (Bytes(a), Bytes(b)) => a.is_same_memory(b),
            (File { path: a, offset: at }, File { path: b, offset }) => a == b && at == offset,
            (Repeat(a), Repeat(b)) => a == b,
            (
                Reordered { data, element, sizes, from, to },
                Reordered { data: other, element: other_element, sizes: other_sizes, from: other_from, to: other_to },
            ) => {
                (element, sizes, from, to) == (other_element, other_sizes, other_from, other_to) && is_same(data, other)
            }
            _ => false,
        }
}
