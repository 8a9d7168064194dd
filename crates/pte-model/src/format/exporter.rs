//! Conventions by which the exporter of each release of ExecuTorch writes files: a row for each release that changed
//! it. What a runtime reads is in `pte-releases`.

use super::serializer::Serializer;

/// The tables of the `.ptd` that an exporter writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlatTensorTables {
    /// It writes no `.ptd`.
    None,
    /// Other tables under the same identifier, which no later release reads.
    Former,
    /// Those of this crate.
    Current,
}

/// Location of the constants of XNNPACK graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XnnpackConstants {
    /// In the payload, and scales in the graph.
    Inside,
    /// In the named data of the program, but scales in the graph.
    Named,
    /// In the named data of the program, with the scales of channels and groups.
    NamedWithScales,
}

/// Choices of an exporter that depend on its release. Alignments, the storage of payloads and the rest are options of
/// an export.
#[derive(Debug, PartialEq, Eq)]
pub struct Exporter {
    /// First release that writes so: its major and its minor number.
    pub since: (u32, u32),
    /// Serializer of programs.
    pub program: Serializer,
    /// Serializer of bundled programs.
    pub bundled_program: Serializer,
    /// Length of the extended header in bytes, of a program with segments.
    pub header: u32,
    /// Tables of a `.ptd`.
    pub flat_tensor: FlatTensorTables,
    /// Alignment of the segments of a `.ptd` in bytes; `None` if it is that of the program's segments.
    pub flat_tensor_alignment: Option<u64>,
    /// Tensors of a `.pte` may have names, whose data are not in a `.ptd`.
    pub has_names: bool,
    /// A program may have named data.
    pub has_named_data: bool,
    /// Memory may be on another device than the CPU.
    pub has_devices: bool,
    /// Copies with another order of memory call the operators of `dim_order_ops`, not those of `aten`.
    pub has_dim_order_operators: bool,
    /// Location of the constants of XNNPACK graphs.
    pub xnnpack_constants: XnnpackConstants,
    /// Arguments of XNNPACK delegates may be in another order of memory than that of their dimensions.
    pub has_xnnpack_orders: bool,
    /// Dynamic quantization in XNNPACK graphs may have one scale for several trailing dimensions.
    pub has_xnnpack_blocks: bool,
    /// Calls of a method with equal payloads call the same delegate.
    pub shares_delegates: bool,
}

/// The exporter of 1.4 and later.
const CURRENT: Exporter = Exporter {
    since: (1, 4),
    program: Serializer::Exir,
    bundled_program: Serializer::Exir,
    header: 32,
    flat_tensor: FlatTensorTables::Current,
    flat_tensor_alignment: None,
    has_names: true,
    has_named_data: true,
    has_devices: true,
    has_dim_order_operators: true,
    xnnpack_constants: XnnpackConstants::NamedWithScales,
    has_xnnpack_orders: true,
    has_xnnpack_blocks: true,
    shares_delegates: false,
};

const V1_3: Exporter = Exporter { since: (1, 3), bundled_program: Serializer::Flatc, ..CURRENT };
const V1_2: Exporter = Exporter { since: (1, 2), has_devices: false, ..V1_3 };
const V1_1: Exporter = Exporter { since: (1, 1), program: Serializer::Flatc, ..V1_2 };
const V1_0: Exporter = Exporter { since: (1, 0), flat_tensor_alignment: Some(16), ..V1_1 };
const V0_7: Exporter = Exporter { since: (0, 7), header: 24, shares_delegates: true, ..V1_0 };
const V0_6: Exporter = Exporter {
    since: (0, 6),
    flat_tensor: FlatTensorTables::Former,
    has_names: false,
    xnnpack_constants: XnnpackConstants::Named,
    has_xnnpack_orders: false,
    has_xnnpack_blocks: false,
    ..V0_7
};
const V0_5: Exporter =
    Exporter { since: (0, 5), has_named_data: false, xnnpack_constants: XnnpackConstants::Inside, ..V0_6 };
const V0_4: Exporter =
    Exporter { since: (0, 4), flat_tensor: FlatTensorTables::None, has_dim_order_operators: false, ..V0_5 };

/// All exporters, the newest one first.
static EXPORTERS: [Exporter; 9] = [CURRENT, V1_3, V1_2, V1_1, V1_0, V0_7, V0_6, V0_5, V0_4];

impl Exporter {
    /// All exporters, the newest one first.
    pub fn all() -> &'static [Exporter] {
        &EXPORTERS
    }

    /// Returns the exporter of the current release.
    pub fn current() -> &'static Exporter {
        &EXPORTERS[0]
    }

    /// Returns the exporter of a release with these numbers: of the newest change up to it, or else of the oldest known
    /// one.
    ///
    /// ```
    /// use pte_model::format::exporter::Exporter;
    ///
    /// assert_eq!((Exporter::of((0, 6)).header, Exporter::of((1, 3)).header), (24, 32));
    /// assert_eq!(Exporter::of((2, 0)), Exporter::current());
    /// ```
    pub fn of(release: (u32, u32)) -> &'static Exporter {
        let [.., oldest] = &EXPORTERS;
        EXPORTERS.iter().find(|exporter| exporter.since <= release).unwrap_or(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_descend() {
        assert!(EXPORTERS.windows(2).all(|pair| pair[0].since > pair[1].since));
    }
}
