//! Kernels that calls need and the runtime of a release does not have.

use super::{CURRENT, find};
use crate::inference::constraints::refused_type;
use pte_model::format::ScalarType;
use pte_releases::Release;

/// A kernel that a release does not have, or that does not take the element types of a call.
///
/// ```
/// use pte_model::format::ScalarType;
/// use pte_operators::Lack;
/// use pte_releases::Release;
///
/// let old = &Release::find("0.4")?;
/// let name = "dim_order_ops::_clone_dim_order.out";
/// let lack = Lack::of_operator(old, name).unwrap();
/// assert_eq!(lack.text(name), format!("operator `{name}`, which ExecuTorch 0.4.0 does not register"));
/// assert!(lack.first.is_some_and(|first| first.has_operator(name)));
/// assert!(Lack::of_operator(old, "aten::add.out").is_none() && Lack::of_operator(old, "my::scale.out").is_none());
///
/// let types = "aten::relu.out self:floating|int8";
/// let build = Release::parse(["version 0.4", "aten::relu.out 1", "", "", types, "", ""])?;
/// let relu = |found: ScalarType| Lack::of_types(&build, "aten::relu.out", &|_| Some(found));
/// let (position, lack) = relu(ScalarType::INT).unwrap();
/// assert!(position == 0 && lack.text("relu").starts_with("`self` of int32 for `relu`, which the kernel of "));
/// assert!(relu(ScalarType::FLOAT).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lack<'r> {
    release: &'r Release,
    /// Name and element type of the argument that the kernel refuses; `None` if there is no kernel.
    refused: Option<(&'static str, ScalarType)>,
    /// First later release that has a kernel for the call.
    pub first: Option<Release>,
}

impl<'r> Lack<'r> {
    /// Returns the lack of an operator that another release registers.
    pub fn of_operator(release: &'r Release, name: &str) -> Option<Lack<'r>> {
        let first = || release.first_later(|other| other.has_operator(name));
        release.lacks_operator(name).then(|| Lack { release, refused: None, first: first() })
    }

    /// Returns the lack of a kernel that takes the arguments of a call, with the position of the first one that it
    /// refuses; `types` returns the element type of the argument at a position. Measured constraints that are
    /// malformed, and those of an unknown operator, are met.
    pub fn of_types(
        release: &'r Release,
        name: &str,
        types: &dyn Fn(usize) -> Option<ScalarType>,
    ) -> Option<(usize, Lack<'r>)> {
        let refused = |by: &Release| refused_type(&CURRENT.constraints(name, by.types(name)?)?, types);
        let (position, found) = refused(release)?;
        let argument = find(name)?.signature.args.get(position).map_or("", |argument| &*argument.name);
        let first = release.first_later(|other| other.has_operator(name) && refused(other).is_none());
        Some((position, Lack { release, refused: Some((argument, found)), first }))
    }

    /// Describes the lack for messages, in which the operator is called `name`.
    pub fn text(&self, name: &str) -> String {
        let Lack { release, refused, .. } = self;
        match refused {
            None => format!("operator `{name}`, which {release} does not register"),
            Some((argument, found)) => {
                format!("`{argument}` of {found} for `{name}`, which the kernel of {release} refuses")
            }
        }
    }
}
