//! The size of the stack, as that of a main thread of other systems: 1 MB by default.

fn main() {
    println!("cargo::rustc-link-arg-cdylib=-zstack-size=8388608");
    println!("cargo::rerun-if-changed=build.rs");
}
