//! C ABI of pte-emit: `pte_emit_call` answers a JSON request. `pte_emit.h` is generated from this file.
//!
//! Functions with pointers are unsafe: they rely on the caller to pass memory that is valid for the length beside it.
//! Strings have a length and need no zero at their end.

#![allow(non_camel_case_types)] // Names of C.

use std::ffi::c_char;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::Arc;

use pte_emit_json::{Answer, HostFile, HostFiles, call, read_exact_at, refused};

/// Answer to a request. `pte_emit_answer_free` frees it.
pub struct pte_emit_answer {
    answer: Answer,
}

/// A file that a request can name: in memory, or of the file system.
#[repr(C)]
pub struct pte_emit_file {
    /// Name in requests and in YAML; `name_length` bytes of UTF-8.
    pub name: *const c_char,
    /// Length of the name in bytes.
    pub name_length: usize,
    /// Content, which is copied; null if the file is at `path`.
    pub bytes: *const u8,
    /// Length of the content in bytes.
    pub length: usize,
    /// Path of a file, of which only the needed ranges are read; null if `bytes` is the content.
    pub path: *const c_char,
    /// Length of the path in bytes.
    pub path_length: usize,
}

/// Returns the items of a pointer and a length; none for null with the length zero. Null with another length is an
/// error.
///
/// # Safety
/// The pointer is null, or `length` items can be read from it, which do not change while the result is used.
unsafe fn items<'a, T>(pointer: *const T, length: usize, what: &str) -> Result<&'a [T], String> {
    match (pointer.is_null(), length) {
        (true, 0) => Ok(&[]),
        (true, _) => Err(format!("{what}: expected a pointer to {length} items, found null")),
        // SAFETY: the requirement of this function.
        (false, _) => Ok(unsafe { slice::from_raw_parts(pointer, length) }),
    }
}

/// Returns a string of the caller. Invalid UTF-8 is an error.
///
/// # Safety
/// As that of [`items`].
unsafe fn text<'a>(pointer: *const c_char, length: usize, what: &str) -> Result<&'a str, String> {
    // SAFETY: the requirement of this function.
    let bytes = unsafe { items(pointer.cast(), length, what) }?;
    str::from_utf8(bytes).map_err(|_| format!("{what} is not UTF-8"))
}

/// A file of the file system.
struct DiskFile {
    file: File,
    length: u64,
}

impl DiskFile {
    fn open(path: &str) -> io::Result<DiskFile> {
        // To open a named pipe waits for a writer, and to open a device can have effects.
        regular(&fs::metadata(path)?)?;
        let file = File::open(path)?;
        let length = regular(&file.metadata()?)?;
        Ok(DiskFile { file, length })
    }
}

/// Returns the length of a regular file; another one is an error.
fn regular(metadata: &Metadata) -> io::Result<u64> {
    match metadata.is_file() {
        true => Ok(metadata.len()),
        false => Err(io::Error::other("expected a regular file")),
    }
}

impl HostFile for DiskFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_exact_at(&self.file, offset, out)
    }
}

/// Reads the request and the files of the caller.
///
/// # Safety
/// As that of [`pte_emit_call`].
unsafe fn read<'a>(
    request: *const c_char,
    length: usize,
    files: *const pte_emit_file,
    count: usize,
) -> Result<(&'a str, HostFiles), String> {
    // SAFETY: the requirement of this function.
    let request = unsafe { text(request, length, "the request") }?;
    // SAFETY: the requirement of this function: `count` structs.
    let files = unsafe { items(files, count, "the files") }?;
    let mut given = HostFiles::default();
    for file in files {
        // SAFETY: the requirement of this function: the pointers of each struct are valid for their lengths.
        let (name, path) = unsafe {
            let name = text(file.name, file.name_length, "the name of a file")?;
            (name, text(file.path, file.path_length, &format!("the path of {name}"))?)
        };
        let host: Arc<dyn HostFile> = match file.path.is_null() {
            true => {
                // SAFETY: as above.
                let content = unsafe { items(file.bytes, file.length, &format!("the bytes of {name}")) }?;
                Arc::new(Arc::<[u8]>::from(content))
            }
            false => Arc::new(DiskFile::open(path).map_err(|error| format!("cannot read {path}: {error}"))?),
        };
        given.add(Path::new(name), host);
    }
    Ok((request, given))
}

/// Answers a request: a JSON object with `command` and its options. The call reads only these files. It may be made on
/// any thread, and returns an answer for every request; never null.
///
/// # Safety
/// `request` is valid for `length` bytes, and `files` for `count` structs, whose pointers are null or valid for their
/// lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_call(
    request: *const c_char,
    length: usize,
    files: *const pte_emit_file,
    count: usize,
) -> *mut pte_emit_answer {
    // SAFETY: the requirement of this function.
    let answer = match unsafe { read(request, length, files, count) } {
        Ok((request, files)) => call(request, &files),
        Err(message) => refused(&message),
    };
    answered(answer)
}

/// Returns an answer to the caller, who frees it.
pub fn answered(answer: Answer) -> *mut pte_emit_answer {
    Box::into_raw(Box::new(pte_emit_answer { answer }))
}

/// Returns the JSON of an answer: `{"result": ..., "files": ...}` or `{"error": ...}`. Its length is in `length`. It is
/// valid until the answer is freed.
///
/// # Safety
/// `answer` is of `pte_emit_call` and not freed; `length` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_answer_json(answer: *const pte_emit_answer, length: *mut usize) -> *const c_char {
    // SAFETY: the requirement of this function.
    let answer = unsafe { &*answer };
    // SAFETY: the requirement of this function.
    unsafe { returned(answer.answer.json.as_bytes(), length).cast() }
}

/// Returns the number of files of an answer.
///
/// # Safety
/// `answer` is of `pte_emit_call` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_answer_file_count(answer: *const pte_emit_answer) -> usize {
    // SAFETY: the requirement of this function.
    let answer = unsafe { &*answer };
    answer.answer.files.len()
}

/// Returns the name of a file of an answer, with its length; null without a file of this index.
///
/// # Safety
/// As that of `pte_emit_answer_json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_answer_file_name(
    answer: *const pte_emit_answer,
    index: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the requirement of this function.
    let answer = unsafe { &*answer };
    match answer.answer.files.get(index) {
        // SAFETY: the requirement of this function.
        Some((name, _)) => unsafe { returned(name.as_bytes(), length).cast() },
        None => ptr::null(),
    }
}

/// Returns the content of a file of an answer, with its length; null without a file of this index.
///
/// # Safety
/// As that of `pte_emit_answer_json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_answer_file_bytes(
    answer: *const pte_emit_answer,
    index: usize,
    length: *mut usize,
) -> *const u8 {
    // SAFETY: the requirement of this function.
    let answer = unsafe { &*answer };
    match answer.answer.files.get(index) {
        // SAFETY: the requirement of this function.
        Some((_, bytes)) => unsafe { returned(bytes, length) },
        None => ptr::null(),
    }
}

/// Returns a pointer, and writes the length.
///
/// # Safety
/// `length` is null or can be written.
unsafe fn returned(bytes: &[u8], length: *mut usize) -> *const u8 {
    if !length.is_null() {
        // SAFETY: the requirement of this function.
        unsafe { *length = bytes.len() };
    }
    bytes.as_ptr()
}

/// Frees an answer; null is ignored.
///
/// # Safety
/// `answer` is null, or of `pte_emit_call` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_answer_free(answer: *mut pte_emit_answer) {
    if !answer.is_null() {
        // SAFETY: the requirement of this function: it was created by `Box::into_raw`.
        drop(unsafe { Box::from_raw(answer) });
    }
}

/// Returns the version of the library, with a zero at its end.
#[unsafe(no_mangle)]
pub extern "C" fn pte_emit_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
