//! Sizes of the tiles that XNNPACK packs weights into, by processor: a table of the microkernels that it selects, as of
//! the commit in ExecuTorch 1.5.1. The sizes that follow are computed in [`super::operators`].

use pte_payload::memory::Processor;

/// A kind of matrix product or convolution: element types of input and weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// float32.
    F32,
    /// float32 with few output channels.
    F32Narrow,
    /// float32 convolution.
    F32Convolution,
    /// float16.
    F16,
    /// Input quantized at run time, weights of 8 bits.
    DynamicInt8,
    /// Convolution of an input quantized at run time, weights of 8 bits.
    DynamicInt8Convolution,
    /// Input quantized at run time, weights of 4 bits with a scale per channel or per group.
    DynamicInt4,
    /// int8.
    Int8,
    /// uint8.
    UInt8,
}

/// Tile of a microkernel.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Numbers of rows for which there is a microkernel.
    pub rows: &'static [u64],
    /// Output channels: the weights are padded to a multiple of it.
    pub columns: u64,
    /// The input channels of a group are padded to a multiple of it.
    pub depth: u64,
    /// Number of weights of 4 bits that are unpacked at once.
    pub planes: u64,
}

/// Tile of a depthwise convolution.
#[derive(Clone, Copy)]
pub struct DepthwiseTile {
    /// Largest number of elements of the kernel, to which it is padded.
    pub elements: u64,
    /// The channels are padded to a multiple of it.
    pub channels: u64,
}

const fn tile(rows: &'static [u64], columns: u64, depth: u64) -> Tile {
    Tile { rows, columns, depth, planes: 1 }
}

const fn nibbles(rows: &'static [u64], columns: u64, depth: u64) -> Tile {
    Tile { rows, columns, depth, planes: 2 }
}

/// Tiles by processor, in the order of [`Processor::ALL`].
const PRODUCTS: [(Product, [Tile; 4]); 9] = [
    (Product::F32, [tile(&[1, 7], 32, 1), tile(&[1, 2, 6], 16, 1), tile(&[1, 4, 7], 8, 1), tile(&[1, 4], 8, 1)]),
    (Product::F32Narrow, [tile(&[1, 7], 16, 1), tile(&[1, 5, 10], 8, 1), tile(&[4], 2, 1), tile(&[4], 2, 1)]),
    (
        Product::F32Convolution,
        [tile(&[1, 7], 32, 1), tile(&[1, 5], 16, 1), tile(&[1, 4, 6], 8, 1), tile(&[1, 4], 8, 1)],
    ),
    (Product::F16, [tile(&[1, 4], 32, 1), tile(&[1, 4], 16, 1), tile(&[1, 4, 6], 16, 1), tile(&[1, 6], 8, 1)]),
    // 64-bit Arm: the kernels of KleidiAI.
    (Product::DynamicInt8, [tile(&[1, 5], 64, 4), tile(&[1, 4], 8, 8), tile(&[1, 4], 4, 32), tile(&[1, 2], 8, 8)]),
    (
        Product::DynamicInt8Convolution,
        [tile(&[1, 10], 16, 8), tile(&[1, 4], 8, 8), tile(&[1, 4], 16, 4), tile(&[1, 2], 8, 8)],
    ),
    (
        Product::DynamicInt4,
        [nibbles(&[1, 8], 16, 8), nibbles(&[1, 4], 8, 8), tile(&[1, 4], 4, 32), nibbles(&[1, 6], 16, 1)],
    ),
    (Product::Int8, [tile(&[1, 7], 16, 8), tile(&[1, 3], 8, 8), tile(&[1, 4], 16, 4), tile(&[1, 2], 8, 8)]),
    (Product::UInt8, [tile(&[1, 7], 16, 8), tile(&[1, 3], 8, 8), tile(&[1, 4], 16, 1), tile(&[1, 4], 8, 1)]),
];

/// Channels of the tiles of depthwise convolutions by processor, and the numbers of elements, in ascending order.
type Depthwise = (&'static [u64], [&'static [u64]; 4]);

const DEPTHWISE_F32: Depthwise = (&[3, 4, 9, 25], [&[16; 4], &[16; 4], &[8; 4], &[8; 4]]);
const DEPTHWISE_F16: Depthwise =
    (&[3, 4, 9, 25], [&[16, 16, 16, 8], &[16, 16, 16, 8], &[16, 16, 16, 8], &[16, 16, 8, 8]]);
const DEPTHWISE_CHANNEL: Depthwise = (&[3, 9, 25], [&[32; 3], &[16; 3], &[16; 3], &[16, 16, 8]]);
const DEPTHWISE_INT8: Depthwise = (&[9, 25], [&[32; 2], &[16; 2], &[16; 2], &[16, 8]]);
const DEPTHWISE_UINT8: Depthwise = (&[9, 25], [&[32; 2], &[16; 2], &[16, 8], &[16, 8]]);

/// Returns the position of a processor in tables by processor.
pub fn column(processor: Processor) -> usize {
    Processor::ALL.iter().position(|other| *other == processor).unwrap_or(0)
}

/// Returns the tile of a product.
pub fn of(product: Product, processor: Processor) -> Tile {
    let row = PRODUCTS.iter().find(|(other, _)| *other == product).unwrap_or(&PRODUCTS[0]);
    row.1[column(processor)]
}

/// Returns the tile of a depthwise convolution with a kernel of this many elements; `None` if XNNPACK has none, and
/// treats it as other convolutions. `per_channel` says that there is a scale for each channel.
pub fn depthwise(product: Product, per_channel: bool, elements: u64, processor: Processor) -> Option<DepthwiseTile> {
    let (sizes, channels) = match product {
        Product::F32 | Product::F32Narrow | Product::F32Convolution => DEPTHWISE_F32,
        Product::F16 => DEPTHWISE_F16,
        Product::Int8 if per_channel => DEPTHWISE_CHANNEL,
        Product::Int8 => DEPTHWISE_INT8,
        Product::UInt8 => DEPTHWISE_UINT8,
        Product::DynamicInt8 | Product::DynamicInt8Convolution | Product::DynamicInt4 => return None,
    };
    let position = sizes.iter().position(|size| *size >= elements)?;
    Some(DepthwiseTile { elements: sizes[position], channels: channels[column(processor)][position] })
}

/// Returns `true` if XNNPACK takes the narrow tile for this many output channels: it pads less.
pub fn is_narrow(wide: Tile, narrow: Tile, channels: u64) -> bool {
    let padding = |columns: u64| (columns - channels % columns) % columns;
    let (of_wide, of_narrow) = (padding(wide.columns), padding(narrow.columns));
    wide.columns > channels || (of_narrow < of_wide && of_wide.saturating_mul(100) > channels)
}

/// Returns the number of rows that XNNPACK selects for a convolution with this many output pixels: the exact number, or
/// the cheapest one.
pub fn rows(tile: Tile, pixels: u64) -> u64 {
    if tile.rows.contains(&pixels) {
        return pixels;
    }
    let cost = |rows: u64| {
        let each = 3 * (rows + tile.columns) + rows * tile.columns;
        pixels.div_ceil(rows).saturating_mul(each)
    };
    // Of equal ones, the last.
    tile.rows.iter().copied().rev().min_by_key(|rows| cost(*rows)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_complete() {
        for processor in Processor::ALL {
            for (product, _) in PRODUCTS {
                let tile = of(product, processor);
                assert!(tile.rows.is_sorted() && !tile.rows.is_empty(), "{product:?}");
            }
        }
        for (sizes, channels) in [DEPTHWISE_F32, DEPTHWISE_F16, DEPTHWISE_CHANNEL, DEPTHWISE_INT8, DEPTHWISE_UINT8] {
            assert!(sizes.is_sorted() && channels.iter().all(|channels| channels.len() == sizes.len()));
        }
    }

    #[test]
    fn rows_are_the_exact_number_or_the_cheapest() {
        let tile = of(Product::F32Convolution, Processor::X86Avx512);
        assert_eq!((rows(tile, 1), rows(tile, 7), rows(tile, 1024)), (1, 7, 7));
        let narrow = of(Product::F32Narrow, Processor::X86Avx512);
        assert!(is_narrow(of(Product::F32, Processor::X86Avx512), narrow, 10));
        assert!(!is_narrow(of(Product::F32, Processor::X86Avx512), narrow, 64));
    }
}
