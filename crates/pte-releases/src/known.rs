//! The releases whose tables are part of the library, and the one that a version in an option stands for.

use std::fmt;
use std::sync::LazyLock;

use super::facts::{Release, TABLES};
use super::version::Version;

macro_rules! known {
    ($($version:literal)*) => {
        // Each is parsed when it is used: most commands need the newest one, or none.
        static KNOWN: [LazyLock<Release>; [$($version),*].len()] = [$(LazyLock::new(|| parsed($version, [
            include_str!(concat!("../releases/", $version, "/release.table")),
            include_str!(concat!("../releases/", $version, "/operators.table")),
            include_str!(concat!("../releases/", $version, "/backends.table")),
            include_str!(concat!("../releases/", $version, "/xnnpack.table")),
            include_str!(concat!("../releases/", $version, "/types.table")),
            include_str!(concat!("../releases/", $version, "/features.table")),
            include_str!(concat!("../releases/", $version, "/answers.table")),
        ]))),*];
    };
}

// In ascending order.
known! { "0.4.0" "0.5.0" "0.6.0" "0.7.0" "1.0.1" "1.1.0" "1.2.0" "1.3.1" "1.4.1" "1.5.1" }

/// Parses tables that are part of the library; a test reads all of them.
fn parsed(version: &str, texts: [&str; TABLES.len()]) -> Release {
    Release::parse(texts).unwrap_or_else(|error| unreachable!("releases/{version}/{error}"))
}

/// A version without facts: the message lists the known releases.
///
/// ```
/// use pte_releases::{Release, UnknownRelease};
///
/// let error: UnknownRelease = Release::find("1.5.7").unwrap_err();
/// assert_eq!(error.text, "1.5.7");
/// for (text, near) in [("1.5.0", "1.5.1"), ("2.0", "1.5.1"), ("0.8", "0.7.0"), ("0.3", "0.4.0")] {
///     let error = Release::find(text).unwrap_err().to_string();
///     assert!(error.ends_with(&format!("; the nearest one is {near}")), "{error}");
/// }
/// assert!(Release::known().all(|release| error.to_string().contains(&release.version().to_string())));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRelease {
    /// As it was written.
    pub text: String,
}

impl fmt::Display for UnknownRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.text.chars().filter(|c| !c.is_control()).take(40).collect();
        let known: Vec<String> = Release::known().map(|release| release.version().to_string()).collect();
        let first = Release::known().next().map(|release| release.version());
        match self.text.parse::<Version>() {
            Ok(version) if first.is_some_and(|first| version < first) => {
                write!(f, "ExecuTorch {text} is older than the first release with a stable format, {}", known[0])?;
            }
            _ => write!(f, "unknown release `{text}` of ExecuTorch")?,
        }
        write!(f, ": expected one of {}", known.join(", "))?;
        // The newest one that is not newer, of the same minor version if there is one.
        let Ok(version) = self.text.trim_start_matches('v').parse::<Version>() else { return Ok(()) };
        let is_near = |known: Version| known.is_minor_of(version) || known < version;
        let near = Release::known().map(|release| release.version()).rfind(|known| is_near(*known));
        near.or(first).map_or(Ok(()), |near| write!(f, "; the nearest one is {near}"))
    }
}

impl std::error::Error for UnknownRelease {}

impl Release {
    /// Returns the releases with facts, the oldest one first.
    pub fn known() -> impl DoubleEndedIterator<Item = Release> + ExactSizeIterator {
        KNOWN.iter().map(|release| Release::clone(release))
    }

    /// Returns the first later release with facts for which `does` is true; for a custom build, also the release of its
    /// version.
    ///
    /// ```
    /// use pte_releases::Release;
    ///
    /// let (name, old) = ("dim_order_ops::_clone_dim_order.out", Release::find("0.7").unwrap());
    /// assert!(old.lacks_operator(name) && !old.lacks_operator("my::custom.out"));
    /// let first = old.first_later(|release| release.has_operator(name)).unwrap();
    /// assert_eq!(first.version().to_string(), "1.0.1");
    /// ```
    pub fn first_later(&self, does: impl Fn(&Release) -> bool) -> Option<Release> {
        let is_candidate = |other: &Release| {
            other.version() > self.version() || (self.is_own_build() && other.version().is_minor_of(self.version()))
        };
        Release::known().filter(is_candidate).find(does)
    }

    /// Returns `true` for an operator that another release registers, and this one does not. Custom operators, and
    /// those of libraries that an application links, are in no release.
    pub fn lacks_operator(&self, name: &str) -> bool {
        !self.has_operator(name) && Release::known().any(|other| other.has_operator(name))
    }

    /// Returns the release with this version; of `1.0`, the newest one that is known.
    ///
    /// ```
    /// use pte_releases::Release;
    ///
    /// assert_eq!(Release::find("1.0").unwrap().version().to_string(), "1.0.1");
    /// let error = Release::find("0.1").unwrap_err();
    /// let older = "ExecuTorch 0.1 is older than the first release with a stable format, 0.4.0: ";
    /// assert!(error.to_string().starts_with(older));
    /// let unknown = "unknown release `2.0` of ExecuTorch: expected one of 0.4.0, ";
    /// assert!(Release::find("2.0").unwrap_err().to_string().starts_with(unknown));
    /// ```
    ///
    /// # Errors
    /// A text that is not a version, or a version without facts.
    pub fn find(text: &str) -> Result<Release, UnknownRelease> {
        let unknown = || UnknownRelease { text: text.to_owned() };
        let version: Version = text.parse().map_err(|_| unknown())?;
        let is_meant = |release: &Release| {
            release.version().is_minor_of(version)
                && (version.patch.is_none() || release.version().patch == version.patch)
        };
        Release::known().rfind(is_meant).ok_or_else(unknown)
    }
}
