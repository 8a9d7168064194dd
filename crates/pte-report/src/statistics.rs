//! Statistics of the elements of constant data: minimum, maximum, mean, zeros and a histogram. Data are read in blocks,
//! twice, in constant memory. Which data are read is for the caller to decide.

use std::collections::HashMap;
use std::io;

use serde::Serialize;

use pte_model::data::{Blob, elements};
use pte_model::format::ScalarType;

/// Number of bins of a histogram.
const BINS: usize = 40;

/// Statistics of the elements of a tensor.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TensorStatistics {
    /// Number of elements.
    pub elements: u64,
    /// Number of elements that are an infinity or NaN. They count for nothing else.
    pub not_finite: u64,
    /// Number of elements that are 0.
    pub zeros: u64,
    /// Smallest finite element; `None` if there is none.
    pub minimum: Option<f64>,
    /// Largest finite element; `None` if there is none.
    pub maximum: Option<f64>,
    /// Mean of the finite elements; `None` if there is none.
    pub mean: Option<f64>,
    /// Numbers of finite elements in bins of equal width from the minimum to the maximum, which belongs to the last
    /// one; a single bin if all are equal, none if there are no finite ones.
    pub histogram: Vec<u64>,
}

impl TensorStatistics {
    /// Reads all elements of data. `None` for element types that are not real numbers, and for data that are not a
    /// multiple of the element size.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn read(blob: &Blob, scalar_type: ScalarType) -> io::Result<Option<TensorStatistics>> {
        let Some(info) = scalar_type.info() else { return Ok(None) };
        if !blob.len().is_multiple_of(info.size) {
            return Ok(None);
        }
        // Several bytes are true.
        let of = |element: f64| if scalar_type == ScalarType::BOOL { element.min(1.0) } else { element };
        let each = |take: &mut dyn FnMut(f64)| elements::each_real(blob, scalar_type, |element| take(of(element)));
        let mut found = TensorStatistics { elements: blob.len() / info.size, ..TensorStatistics::default() };
        // Halves of the elements, and the sum by their number: neither exceeds the range.
        let mut mean = 0.0;
        let mut finite = 0u64;
        let is_real = each(&mut |element| {
            if !element.is_finite() {
                found.not_finite += 1;
                return;
            }
            finite += 1;
            found.zeros += u64::from(element == 0.0);
            found.minimum = Some(found.minimum.map_or(element, |least| least.min(element)));
            found.maximum = Some(found.maximum.map_or(element, |most| most.max(element)));
            mean += (element / 2.0 - mean) / finite as f64;
        })?;
        if !is_real {
            return Ok(None);
        }
        let (Some(minimum), Some(maximum)) = (found.minimum, found.maximum) else { return Ok(Some(found)) };
        found.mean = Some((mean * 2.0).clamp(minimum, maximum));
        found.histogram = vec![0; if minimum < maximum { BINS } else { 1 }];
        let last = found.histogram.len() - 1;
        // Halves, because the difference can exceed the range.
        let width = maximum / 2.0 - minimum / 2.0;
        each(&mut |element| {
            if element.is_finite() {
                let part = if width > 0.0 { (element / 2.0 - minimum / 2.0) / width } else { 0.0 };
                // A conversion to an integer saturates.
                found.histogram[((part * BINS as f64) as usize).min(last)] += 1;
            }
        })?;
        Ok(Some(found))
    }
}

/// Statistics of the data of a program, each read once, up to a total size.
pub struct StatisticsCache {
    /// Number of bytes that may still be read. Ranges of a hostile file can overlap.
    left: u64,
    /// Results by the identity of the data and their type.
    known: HashMap<(DataKey, ScalarType), Option<TensorStatistics>>,
}

/// Identity of data: the number of a blob, or the key of named data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DataKey {
    /// Blob of the program.
    Blob(u32),
    /// Constant of a payload: the number of the payload, and the value.
    Payload(u32, usize),
}

impl StatisticsCache {
    /// Creates statistics that read at most `limit` bytes.
    pub fn new(limit: u64) -> StatisticsCache {
        StatisticsCache { left: limit, known: HashMap::new() }
    }

    /// Returns the statistics of data; `None` if they cannot be read, exceed the limit, or are not real numbers.
    pub fn of(&mut self, key: DataKey, blob: &Blob, scalar_type: ScalarType) -> Option<TensorStatistics> {
        let StatisticsCache { left, known } = self;
        let read = || {
            *left = left.checked_sub(blob.len())?;
            TensorStatistics::read(blob, scalar_type).ok().flatten()
        };
        known.entry((key, scalar_type)).or_insert_with(read).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::data::number;

    fn of(scalar_type: ScalarType, numbers: &[number::NumericValue]) -> TensorStatistics {
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| number::encode(scalar_type, *number, &mut bytes).unwrap());
        TensorStatistics::read(&Blob::bytes(bytes), scalar_type).unwrap().unwrap()
    }

    #[test]
    fn elements_of_all_real_types_count() {
        use number::NumericValue::{Bool, Float, Int};
        let types = [ScalarType::CHAR, ScalarType::SHORT, ScalarType::INT, ScalarType::LONG, ScalarType::HALF];
        for scalar_type in types.into_iter().chain([ScalarType::FLOAT, ScalarType::DOUBLE, ScalarType::BFLOAT16]) {
            let found = of(scalar_type, &[Int(-2), Int(0), Int(0), Int(6)]);
            assert_eq!((found.elements, found.zeros, found.not_finite), (4, 2, 0), "{scalar_type}");
            assert_eq!((found.minimum, found.maximum, found.mean), (Some(-2.0), Some(6.0), Some(1.0)), "{scalar_type}");
            assert_eq!(found.histogram.iter().sum::<u64>(), 4);
            assert_eq!((found.histogram[0], found.histogram[BINS / 4], found.histogram[BINS - 1]), (1, 2, 1));
        }
        let found = of(ScalarType::FLOAT, &[Float(f64::NAN), Float(f64::INFINITY), Float(1.5)]);
        assert_eq!((found.not_finite, found.mean, found.histogram), (2, Some(1.5), vec![1]));
        assert_eq!(of(ScalarType::BOOL, &[Bool(true), Bool(false)]).mean, Some(0.5));
        assert_eq!(of(ScalarType::FLOAT, &[]).minimum, None);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let found = of(ScalarType::DOUBLE, &[f64::MAX, f64::MIN, f64::MAX].map(number::NumericValue::Float));
        assert!(found.mean.unwrap().is_finite());
        assert_eq!((found.histogram[0], found.histogram[BINS - 1]), (1, 2));
    }

    #[test]
    fn other_types_and_lengths_have_none() {
        let read = |bytes: Vec<u8>, scalar_type| TensorStatistics::read(&Blob::bytes(bytes), scalar_type).unwrap();
        assert_eq!(read(vec![0; 8], ScalarType::COMPLEXFLOAT), None);
        assert_eq!(read(vec![0; 7], ScalarType::FLOAT), None);
        assert_eq!(read(vec![0; 8], ScalarType(99)), None);
    }

    #[test]
    fn data_are_read_once_and_up_to_the_limit() {
        let blob = Blob::bytes(vec![1; 8]);
        let mut statistics = StatisticsCache::new(12);
        assert!(statistics.of(DataKey::Blob(0), &blob, ScalarType::CHAR).is_some());
        assert!(statistics.of(DataKey::Blob(0), &blob, ScalarType::CHAR).is_some());
        assert!(statistics.of(DataKey::Blob(1), &blob, ScalarType::CHAR).is_none());
    }
}
