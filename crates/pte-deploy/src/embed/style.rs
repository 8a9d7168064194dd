//! Styles of arrays: the names, types, sections and alignments that the sample applications of ExecuTorch expect. One
//! row for each; writers read the rows and compare no names.

/// Way in which an array and its size are declared: a row of [`EmbedStyle::ALL`].
#[derive(Debug)]
#[non_exhaustive]
pub struct EmbedStyle {
    /// Name for `--style`.
    pub name: &'static str,
    /// One line for `--help`.
    pub doc: &'static str,
    /// A header defines the array if no other form is requested.
    pub is_header: bool,
    /// Name of the array if there is only one; `None` for a name made of that of the file.
    pub symbol: Option<&'static str>,
    /// Section of the array; `None` leaves it to the compiler.
    pub section: Option<&'static str>,
    /// Alignment in bytes; `None` for that which the file requires.
    pub alignment: Option<u64>,
    /// Specifiers of an array that a header defines.
    pub(super) specifiers: &'static str,
    /// Type of an element, of one byte.
    pub(super) element: &'static str,
    /// Object with the number of bytes; `None` if the application takes `sizeof`.
    pub(super) length: Option<Length>,
}

/// Object with the number of bytes of an array.
#[derive(Debug)]
pub(super) struct Length {
    /// Type.
    pub integer: &'static str,
    /// Suffix that the style appends to the name of the array.
    pub suffix: &'static str,
    /// Macro of GCC and Clang with the size of the type in bytes.
    pub size_macro: &'static str,
}

const SIZE_T: Length = Length { integer: "size_t", suffix: "_size", size_macro: "__SIZEOF_SIZE_T__" };
const UNSIGNED: Length = Length { integer: "unsigned int", suffix: "_len", size_macro: "__SIZEOF_INT__" };

/// Section that the linker scripts of ExecuTorch's Arm examples place.
const ARM_SECTION: &str = "network_model_sec";

/// The row of `arm_executor_runner`.
const ARM: EmbedStyle = EmbedStyle {
    name: "arm",
    doc: "Header for arm_executor_runner (examples/arm)",
    is_header: true,
    symbol: Some("model_pte"),
    section: Some(ARM_SECTION),
    alignment: Some(16),
    specifiers: "const",
    element: "unsigned char",
    length: None,
};

impl EmbedStyle {
    /// All styles; the first one is the default.
    ///
    /// ```
    /// use pte_deploy::embed::EmbedStyle;
    ///
    /// let names: Vec<&str> = EmbedStyle::ALL.iter().map(|style| style.name).collect();
    /// assert_eq!(names, ["c", "arm", "zephyr", "arduino", "esp32", "pico"]);
    /// assert_eq!(EmbedStyle::ALL[1].section, Some("network_model_sec"));
    /// ```
    pub const ALL: &'static [EmbedStyle] = &[
        EmbedStyle {
            name: "c",
            doc: "A .c and a .h, for C and C++",
            is_header: false,
            symbol: None,
            section: None,
            alignment: None,
            specifiers: "static const",
            element: "uint8_t",
            length: Some(SIZE_T),
        },
        ARM,
        EmbedStyle {
            name: "zephyr",
            doc: "Header for the samples of ExecuTorch's Zephyr module (zephyr/samples)",
            ..ARM
        },
        EmbedStyle {
            name: "arduino",
            doc: "Header for sketches with ExecuTorch's Arduino library (examples/arduino)",
            is_header: true,
            symbol: Some("model_pte"),
            section: None,
            alignment: Some(16),
            specifiers: "static const",
            element: "uint8_t",
            length: Some(SIZE_T),
        },
        EmbedStyle {
            name: "esp32",
            doc: "Header for esp_executor_runner (examples/espressif)",
            is_header: true,
            symbol: Some("model_pte"),
            section: None,
            alignment: Some(16),
            specifiers: "static const",
            element: "unsigned char",
            length: None,
        },
        EmbedStyle {
            name: "pico",
            doc: "A .c and a .h for the Raspberry Pi Pico 2 (examples/raspberry_pi/pico2)",
            is_header: false,
            symbol: Some("model_pte"),
            section: None,
            alignment: Some(8),
            specifiers: "static const",
            element: "uint8_t",
            length: Some(UNSIGNED),
        },
    ];
}

impl Default for &EmbedStyle {
    fn default() -> Self {
        &EmbedStyle::ALL[0]
    }
}
