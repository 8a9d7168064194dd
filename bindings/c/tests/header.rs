//! The header is that of the sources.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_src(folder.join("src/lib.rs")).with_config(config);
    let mut expected = Vec::new();
    builder.generate().unwrap().write(&mut expected);
    let path = folder.join("include/pte_emit.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(folder.join("include")).unwrap();
        std::fs::write(&path, &expected).unwrap();
    }
    let expected = String::from_utf8(expected).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), expected, "BLESS=1 cargo test --test header");
}
