//! Random numbers that are the same on every machine and computed from their index: any part of a tensor can be
//! produced alone.

use super::number::NumericValue;

/// Distribution of random numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Uniform in `low..high`.
    Uniform {
        /// Lower bound, inclusive.
        low: f64,
        /// Upper bound, exclusive.
        high: f64,
    },
    /// Uniform integers in `low..high`.
    Integers {
        /// Lower bound, inclusive.
        low: i128,
        /// Upper bound, exclusive.
        high: i128,
    },
    /// Approximately normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
}

impl Distribution {
    /// Returns the `index`-th number of the sequence with this seed.
    pub(super) fn sample(&self, seed: u64, index: u64) -> NumericValue {
        let mut random = SplitMix(mix(seed).wrapping_add(index.wrapping_mul(0xd134_2543_de82_ef95)));
        match *self {
            Distribution::Uniform { low, high } => NumericValue::Float(low + (high - low) * random.unit()),
            Distribution::Integers { low, high } => {
                let width = (high - low).max(1) as u128;
                NumericValue::Int(low + ((u128::from(random.next()) * width) >> 64) as i128)
            }
            Distribution::Normal { mean, std } => {
                // The sum of twelve uniform numbers is close to a normal distribution, and needs no logarithm, whose
                // last bit differs between machines.
                let sum: f64 = (0..12).map(|_| random.unit()).sum();
                NumericValue::Float(mean + std * (sum - 6.0))
            }
        }
    }
}

/// The generator SplitMix64 (Steele, Lea, Flood, 2014).
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Returns the generator with this seed. The sequences of adjacent seeds are unrelated.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(mix(seed))
    }

    /// Returns the next number.
    #[allow(clippy::should_implement_trait, reason = "the sequence does not end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a uniform number in `0.0..1.0`.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Blob, BlobSource};
    use crate::format::ScalarType;

    #[test]
    fn random_numbers_are_reproducible() {
        let sample = |distribution, name: &str, len| {
            let scalar_type = ScalarType::parse(name).unwrap();
            let blob = Blob::new(len, BlobSource::Random { scalar_type, seed: 7, distribution });
            data_encoding::HEXLOWER.encode(&blob.to_vec().unwrap())
        };
        let actual: [String; 3] = [
            sample(Distribution::Uniform { low: -1.0, high: 1.0 }, "float32", 16),
            sample(Distribution::Normal { mean: 0.0, std: 1.0 }, "float32", 16),
            sample(Distribution::Integers { low: -100, high: 100 }, "int8", 8),
        ];
        assert_eq!(include_str!("../../tests/random/expected.txt").lines().collect::<Vec<&str>>(), actual);
    }

    #[test]
    fn random_numbers_have_the_requested_mean() {
        let mean = |distribution: Distribution| {
            (0..20_000).map(|i| distribution.sample(3, i).to_f64()).sum::<f64>() / 20_000.0
        };
        assert!((mean(Distribution::Uniform { low: 0.0, high: 1.0 }) - 0.5).abs() < 0.01);
        assert!(mean(Distribution::Normal { mean: 0.0, std: 1.0 }).abs() < 0.03);
        assert!((mean(Distribution::Integers { low: 0, high: 10 }) - 4.5).abs() < 0.1);
    }
}
