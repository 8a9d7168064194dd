//! The canonical layout of the YAML, which `dump` prints and `fmt` restores: which maps and lists are blocks.
//!
//! `crates/pte-yaml/src/format.rs` lays a document out. [`crate::printer`] writes what `dump` prints, without this
//! table; tests hold that `fmt` changes nothing of it.

use super::shape::{
    CHAIN, CHECKPOINT, CONTAINER_META, DATA, DELEGATE, DOCUMENT, FIELD_OVERRIDE, FLATBUFFER, Form, GRAPH, LAYOUT,
    METHOD, RAW, Shape, UNKNOWN, data_map,
};
use pte_yaml::format::{Arrangement, Policy};

/// Maps that are blocks, if the maps around them are. Lists of maps in them are blocks, too, and maps of names to maps.
static BLOCKS: [&Shape; 10] =
    [&DOCUMENT, &CHECKPOINT, &METHOD, &CHAIN, &GRAPH, &LAYOUT, &UNKNOWN, &RAW, &CONTAINER_META, &FLATBUFFER];

/// Maps that are blocks if an entry is.
static OPEN: [&Shape; 2] = [&DELEGATE, &DATA];

/// Maps in which `dump` writes quotes that are not needed, and the key, if it is not all of them.
static QUOTED: [(&Shape, Option<&str>); 4] =
    [(&DATA, Some(data_map::hex)), (&CONTAINER_META, None), (&FIELD_OVERRIDE, None), (&FLATBUFFER, None)];

/// The style of documents.
pub struct Style;

/// Place of a node.
#[derive(Clone, Copy)]
pub struct Place {
    /// Form of the node; `None` of one that the grammar does not know.
    form: Option<&'static Form>,
    arrangement: Arrangement,
    drops_quotes: bool,
}

static ROOT: Form = Form::Shape(&DOCUMENT);

impl Policy for Style {
    type Place = Place;

    fn root(&self) -> Place {
        Place { form: Some(&ROOT), arrangement: Arrangement::Block, drops_quotes: true }
    }

    fn value(&self, map: Place, key: &str) -> Place {
        let Some(form) = map.form else { return map.below(None, Arrangement::Line) };
        if let Some(Form::Map(form)) = alternatives(form).find(|form| matches!(form, Form::Map(_))) {
            return map.below(Some(form), own(form));
        }
        let shapes = alternatives(form).filter_map(|form| match form {
            Form::Shape(shape) => Some(*shape),
            _ => None,
        });
        let Some((shape, row)) = shapes.filter_map(|shape| Some((shape, shape.key(key)?))).next() else {
            return map.below(None, Arrangement::Line);
        };
        let is_block = BLOCKS.iter().any(|block| std::ptr::eq(*block, shape));
        let arrangement = match row.form {
            Form::Any => Arrangement::Fitted,
            ref form if is_block && has_maps(form) => Arrangement::Block,
            ref form => own(form),
        };
        let is_quoted = |(quoted, only): &(&Shape, Option<&str>)| {
            std::ptr::eq(*quoted, shape) && only.is_none_or(|only| only == key)
        };
        let below = map.below(Some(&row.form), arrangement);
        Place { drops_quotes: below.drops_quotes && !QUOTED.iter().any(is_quoted), ..below }
    }

    fn item(&self, list: Place) -> Place {
        let item = list.form.and_then(|form| {
            alternatives(form).find_map(|form| match form {
                Form::List(item) => Some(*item),
                _ => None,
            })
        });
        list.below(item, item.map_or(Arrangement::Line, own))
    }

    fn arrangement(&self, place: Place) -> Arrangement {
        place.arrangement
    }

    fn drops_quotes(&self, place: Place) -> bool {
        place.drops_quotes
    }
}

impl Place {
    /// Returns a place in this one: what is on a line has no blocks.
    fn below(self, form: Option<&'static Form>, arrangement: Arrangement) -> Place {
        let arrangement = match self.arrangement {
            Arrangement::Block | Arrangement::OfEntries => arrangement,
            outer @ (Arrangement::Line | Arrangement::Fitted) => outer,
        };
        Place { form, arrangement, drops_quotes: self.drops_quotes && form.is_some() }
    }
}

/// Returns the arrangement of a form by itself.
fn own(form: &Form) -> Arrangement {
    let is_one_of = |shapes: &[&Shape]| {
        alternatives(form).any(|form| match form {
            Form::Shape(shape) => shapes.iter().any(|one| std::ptr::eq(*one, *shape)),
            _ => false,
        })
    };
    match (is_one_of(&BLOCKS), is_one_of(&OPEN)) {
        (true, _) => Arrangement::Block,
        (_, true) => Arrangement::OfEntries,
        (false, false) => Arrangement::Line,
    }
}

/// Returns true for a list of maps, and for a map of names to maps.
fn has_maps(form: &Form) -> bool {
    alternatives(form).any(|form| match form {
        Form::List(item) => matches!(item, Form::Shape(_)),
        Form::Map(entry) => alternatives(entry).any(|form| matches!(form, Form::Shape(_))),
        _ => false,
    })
}

/// Returns the forms that a node may have.
pub fn alternatives(form: &Form) -> Box<dyn Iterator<Item = &Form> + '_> {
    match form {
        Form::Either(forms) => Box::new(forms.iter().flat_map(alternatives)),
        Form::Named(_, form) => alternatives(form),
        form => Box::new(std::iter::once(form)),
    }
}
