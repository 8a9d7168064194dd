//! Prints a `.ptd`.

use std::io;

use super::data::DataPrinter;
use super::options::Printer;
use super::overrides::{self, OverrideSearch};
use super::printed::Printed;
use super::{layout, nearest};
use crate::assembly::{Assembly, OutputFile};
use crate::detected;
use crate::detected::layout::RecoveredFlatTensor;
use crate::ir::document::ParsedNamedData;
use crate::ir::write;
use crate::overrides::{FileOverrides, residue};
use pte_model::data::Origin;
use pte_model::format::flat_tensor::FLAT_TENSOR;
use pte_model::program::{DimOrder, Program, Tensor};

/// Prints a `.ptd`.
///
/// # Errors
/// The file cannot be read, or is not a `.ptd`.
pub(super) fn print(origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    match print_from(origin, origin, printer) {
        Ok(printed) => Ok(printed),
        Err(error) => match detected::repair::flat_tensor(origin)? {
            Some(repaired) => print_from(&repaired, origin, printer).map_err(|_| error),
            None => Err(error),
        },
    }
}

/// Prints the `.ptd` in `origin`. Its metadata are read from `source`, which is `origin` or a repaired copy of it.
fn print_from(source: &Origin, origin: &Origin, printer: Printer<'_>) -> io::Result<Printed> {
    let RecoveredFlatTensor { program, options, emitted } = detected::layout::flat_tensor(source)?;
    let raw = match &emitted {
        Some((metadata, segments)) => residue::patches(source, &metadata.file(segments, &program.blobs))?,
        None => FileOverrides::default(),
    };
    let out = print_keys(&program, printer)?;
    let text = out.clone() + &layout::print_all(None, &options, &raw, printer)?;
    let difference = match printer.assemble(&text) {
        Ok(assembly) => match assembly.data_files().next() {
            Some((_, file)) => layout::difference(origin, &file)?,
            None => Some("it has no keys".into()),
        },
        Err(error) => Some(format!("YAML cannot express the file: {error}")),
    };
    if difference.is_some() {
        let nearest = print_keys(&nearest::program(&program), printer)?;
        for body in [&out, &nearest] {
            let (root, most, layout) = (&FLAT_TENSOR, overrides::MANY, &options);
            let search = OverrideSearch { origin, printer, root, most, body, layout, file: first_data_file };
            if let Some(text) = search.text()? {
                return Ok(Printed::new(text, None));
            }
        }
    }
    Ok(Printed::new(text, difference))
}

/// Prints the keys of a `.ptd` and their data.
fn print_keys(program: &Program, printer: Printer<'_>) -> io::Result<String> {
    let mut out = String::from("named_data:\n");
    let mut data = DataPrinter::with_name(printer, None);
    for entry in &program.external_data {
        let (blob, layout) = (program.blob(entry.data), entry.tensor_layout.as_ref());
        let bytes = match layout {
            Some(layout) => {
                let tensor = Tensor::new(layout.scalar_type, &layout.sizes);
                let dim_order = Some(layout.dim_order.clone());
                data.tensor(blob, &Tensor { dim_order, ..tensor }, &entry.key)?
            }
            None => data.bytes(blob, &entry.key)?,
        };
        let order = layout.filter(|layout| layout.dim_order != DimOrder::contiguous(layout.sizes.len()));
        let named = ParsedNamedData {
            key: entry.key.as_str().into(),
            scalar_type: layout.map(|layout| layout.scalar_type),
            sizes: layout.map(|layout| layout.sizes.clone().into()),
            dim_order: order.map(|layout| layout.dim_order.clone().into()),
            align: Some(entry.alignment).filter(|alignment| *alignment > 1),
            data: bytes,
            external: None,
        };
        write::entry(&mut out, "  ", &named);
    }
    Ok(data.definitions() + &out)
}

fn first_data_file(assembly: &Assembly) -> Option<OutputFile<'_>> {
    assembly.data_files().next().map(|(_, file)| file)
}
