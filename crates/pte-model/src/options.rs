//! Declaration of types of options: structs whose fields have defaults, each with a method that sets it, so that calls
//! chain.

/// Declares a struct of options with public fields, and a method of the name of each field that sets it. A field of the
/// type `Option` is set to a value or to an `Option`. More fields may be added in later versions.
///
/// ```
/// pte_model::options! {
///     /// Options of a print.
///     #[derive(Debug, Default)]
///     pub struct PrintOptions {
///         /// Number of copies; `None` for one.
///         pub copies: Option<u64>,
///         /// Print in colour.
///         pub colour: bool,
///     }
/// }
/// let options = PrintOptions::default().copies(2).colour(true);
/// assert_eq!((options.copies, options.colour), (Some(2), true));
/// ```
#[macro_export]
macro_rules! options {
    (@setters) => {};
    (@setters $(#[$doc:meta])* pub $field:ident: Option<$type:ty>, $($rest:tt)*) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $field: impl Into<Option<$type>>) -> Self {
            self.$field = $field.into();
            self
        }
        $crate::options!(@setters $($rest)*);
    };
    (@setters $(#[$doc:meta])* pub $field:ident: $type:ty, $($rest:tt)*) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
        $crate::options!(@setters $($rest)*);
    };
    ($(#[$attribute:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $(#[$attribute])*
        #[non_exhaustive]
        pub struct $name { $($fields)* }

        impl $name {
            $crate::options!(@setters $($fields)*);
        }
    };
}
