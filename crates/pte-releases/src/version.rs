//! Versions of ExecuTorch.

use std::fmt;
use std::str::FromStr;

/// Version of a release: `1.5.1`.
///
/// ```
/// use pte_releases::Version;
///
/// let version: Version = "1.10".parse().unwrap();
/// assert!(version > "1.9.1".parse().unwrap());
/// assert_eq!(version.to_string(), "1.10");
/// assert!("1.x".parse::<Version>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number; `None` for all releases with the first two.
    pub patch: Option<u32>,
}

impl Version {
    /// Returns `true` if the major and minor numbers are equal.
    pub(crate) fn is_minor_of(self, other: Version) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Version, NotAVersion> {
        // `parse` would accept a sign.
        let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten();
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        match numbers.as_deref() {
            Some(&[major, minor]) => Ok(Version { major, minor, patch: None }),
            Some(&[major, minor, patch]) => Ok(Version { major, minor, patch: Some(patch) }),
            _ => Err(NotAVersion),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

/// A text that is not two or three numbers with points between them, and is not a [`Version`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAVersion;

impl fmt::Display for NotAVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected two or three numbers, such as 1.5 or 1.5.1")
    }
}

impl std::error::Error for NotAVersion {}
