//! pte-emit as WebAssembly, for `bindings/npm`: requests and files of JavaScript. Answers are read with the functions
//! of the C ABI.
//!
//! Offsets and lengths of files are numbers of JavaScript, which are exact up to 2^53.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::io;
use std::panic;
use std::ptr;
use std::slice;
use std::sync::Arc;

use pte_emit_c::pte_emit_answer;
use pte_emit_json::{HostFile, HostFiles, call, refused};

#[link(wasm_import_module = "pte_emit")]
unsafe extern "C" {
    /// Copies `length` bytes of a file from `offset` on to `out`. Returns 0, or another number if they cannot be read.
    fn read(id: u32, offset: f64, out: *mut u8, length: usize) -> u32;
    /// Receives the message of a panic, after which the instance cannot be used.
    fn panicked(message: *const u8, length: usize);
}

/// A file of JavaScript, by its number there.
struct JsFile {
    id: u32,
    length: u64,
}

impl HostFile for JsFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        // SAFETY: `out` is valid for its length, and JavaScript writes no more.
        match unsafe { read(self.id, offset as f64, out.as_mut_ptr(), out.len()) } {
            0 => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the host cannot read the file")),
        }
    }
}

thread_local! {
    /// Files that requests can name.
    static FILES: RefCell<HostFiles> = RefCell::default();
}

/// Returns a string of JavaScript.
///
/// # Safety
/// The address is of `pte_emit_alloc` with this length.
unsafe fn text<'a>(address: *const u8, length: usize) -> Option<&'a str> {
    // SAFETY: the requirement of this function.
    str::from_utf8(unsafe { slice::from_raw_parts(address, length) }).ok()
}

/// Allocates memory for a string of JavaScript; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn pte_emit_alloc(length: usize) -> *mut u8 {
    match Layout::array::<u8>(length.max(1)) {
        // SAFETY: the size is not zero.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => ptr::null_mut(),
    }
}

/// Frees memory of `pte_emit_alloc` with the same length.
///
/// # Safety
/// It is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_free(address: *mut u8, length: usize) {
    if let Ok(layout) = Layout::array::<u8>(length.max(1)) {
        // SAFETY: the requirement of this function; the layout is that of `pte_emit_alloc`.
        unsafe { dealloc(address, layout) };
    }
}

/// Adds a file that requests can name, in place of one with the same name.
///
/// # Safety
/// The name is of `pte_emit_alloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_add_file(name: *const u8, name_length: usize, id: u32, length: f64) {
    // SAFETY: the requirement of this function.
    let name = unsafe { text(name, name_length) };
    let file = Arc::new(JsFile { id, length: length as u64 });
    FILES.with_borrow_mut(|files| files.add(name.unwrap_or_default().as_ref(), file));
}

/// Removes a file.
///
/// # Safety
/// The name is of `pte_emit_alloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_remove_file(name: *const u8, name_length: usize) {
    // SAFETY: the requirement of this function.
    let name = unsafe { text(name, name_length) };
    FILES.with_borrow_mut(|files| files.remove(name.unwrap_or_default().as_ref()));
}

/// Answers a request.
///
/// # Safety
/// The request is of `pte_emit_alloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pte_emit_answer(request: *const u8, length: usize) -> *mut pte_emit_answer {
    panic::set_hook(Box::new(|panic| {
        let message = panic.to_string();
        // SAFETY: the message is valid for its length.
        unsafe { panicked(message.as_ptr(), message.len()) };
    }));
    // SAFETY: the requirement of this function.
    let answer = match unsafe { text(request, length) } {
        Some(request) => call(request, &FILES.with_borrow(HostFiles::clone)),
        None => refused("the request is not UTF-8"),
    };
    pte_emit_c::answered(answer)
}
