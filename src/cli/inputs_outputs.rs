//! `pte-emit io FILE`: inputs and outputs of other types: integers in place of floating point numbers that a program
//! quantizes, other element types and orders of dimensions, normalised inputs, and added quantization.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use pte_emit::ScalarType;
use pte_emit::command::text::{clipped, counted};
use pte_emit::edit::{
    ConvertedIo, ConvertedIoOptions, IoQuantization, IoType, Normalisation, QuantizedIo, QuantizedIoOptions,
};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;
use super::options;

/// Arguments of `io`.
#[derive(Debug, Args)]
pub struct IoArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// With --quantized: inputs and outputs by their names in `dump`; all that can be changed by default
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Remove what quantizes inputs and dequantizes outputs, calls and conversions in XNNPACK payloads
    #[arg(long, conflicts_with_all = ["inputs", "outputs", "normalize", "quantize", "dequantize"])]
    quantized: bool,
    /// Convert an input from this element type, order of dimensions, or both: uint8, channels_last, contiguous; may be
    /// repeated
    #[arg(long = "input-type", value_name = "NAME=TYPE[,ORDER]", value_parser = io_type)]
    inputs: Vec<(String, IoType)>,
    /// Convert an output to this element type, order of dimensions, or both; may be repeated
    #[arg(long = "output-type", value_name = "NAME=TYPE[,ORDER]", value_parser = io_type)]
    outputs: Vec<(String, IoType)>,
    /// Normalise an input: subtract MEAN and divide by STD, one number or one for each channel, separated by commas;
    /// may be repeated
    #[arg(long, value_name = "NAME=MEAN/STD", value_parser = normalisation)]
    normalize: Vec<(String, Normalisation)>,
    /// Pass or return an input or output of floating point numbers as integers, (integer - ZERO_POINT) * SCALE: a call
    /// dequantizes the input or quantizes the output; TYPE is int8 by default; may be repeated
    #[arg(long, value_name = "NAME=SCALE/ZERO_POINT[/TYPE]", value_parser = quantization)]
    quantize: Vec<(String, IoQuantization)>,
    /// Pass or return an input or output of integers as float32: a call quantizes the input or dequantizes the output;
    /// may be repeated
    #[arg(long, value_name = "NAME=SCALE/ZERO_POINT", value_parser = quantization)]
    dequantize: Vec<(String, IoQuantization)>,
    /// Method; by default forward, or the only one that computes
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Parses `x=uint8,channels_last`.
fn io_type(text: &str) -> Result<(String, IoType), String> {
    let expected = "expected NAME=TYPE, such as x=uint8, x=channels_last or x=uint8,channels_last";
    let (name, words) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(expected)?;
    // The first word that is none.
    let parsed = words.split(',').find(|word| IoType::parse(word).is_none());
    match (parsed, IoType::parse(words)) {
        (None, Some(io_type)) => Ok((name.to_owned(), io_type)),
        (word, _) => Err(format!(
            "`{}` is no element type, `channels_last` or `contiguous`; {expected}",
            clipped(word.unwrap_or(words))
        )),
    }
}

/// Parses `x=0.5,0.5,0.5/0.25`.
fn normalisation(text: &str) -> Result<(String, Normalisation), String> {
    let expected = || "expected NAME=MEAN/STD, such as x=127.5/127.5 or x=123.7,116.3,103.5/58.4,57.1,57.4".to_owned();
    let (name, numbers) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
    let (mean, std) = numbers.split_once('/').ok_or_else(expected)?;
    let list = |text: &str| {
        let number = |word: &str| word.trim().parse().ok().filter(|number: &f32| number.is_finite());
        text.split(',').map(number).collect::<Option<Vec<f32>>>().ok_or_else(expected)
    };
    Ok((name.to_owned(), Normalisation { mean: list(mean)?, std: list(std)? }))
}

/// Parses `x=0.5/3/uint8`.
fn quantization(text: &str) -> Result<(String, IoQuantization), String> {
    let expected = || "expected NAME=SCALE/ZERO_POINT or NAME=SCALE/ZERO_POINT/TYPE, such as x=0.5/3/uint8".to_owned();
    let (name, numbers) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
    let mut words = numbers.split('/').map(str::trim);
    let (scale, zero_point) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_no = |word: &str, what: &str| format!("`{}` is no {what}; {}", clipped(word), expected());
    let scale = scale.parse().map_err(|_| is_no(scale, "number"))?;
    let zero_point = zero_point.parse().map_err(|_| is_no(zero_point, "integer"))?;
    let scalar_type = match words.next() {
        Some(word) => Some(ScalarType::parse(word).ok_or_else(|| is_no(word, "element type"))?),
        None => None,
    };
    match words.next() {
        Some(_) => Err(expected()),
        None => Ok((name.to_owned(), IoQuantization { scale, zero_point, scalar_type })),
    }
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, names of others than inputs and outputs that can be changed, an output that cannot be
/// written.
pub fn run(arguments: &IoArguments, messages: &Messages) -> Result<Exit, Failure> {
    let IoArguments { input, names, quantized, inputs, outputs, normalize, quantize, dequantize, method, edit } =
        arguments;
    let is_converted = !inputs.is_empty() || !outputs.is_empty() || !normalize.is_empty();
    if !quantized && !is_converted && quantize.is_empty() && dequantize.is_empty() {
        return Err(Failure::usage(
            "expected `--quantized`, `--input-type`, `--output-type`, `--normalize`, `--quantize` or `--dequantize`",
        ));
    }
    if !quantized && let Some(name) = names.first() {
        let message = format!("`{}` is a name for `--quantized`, found without it", clipped(name));
        return Err(Failure::Usage(message));
    }
    let (model, method) = (edit.open(input, messages)?, options::one_method(method)?);
    let (resolved, done) = if *quantized {
        let options = QuantizedIoOptions::default().names(names.clone()).method(method);
        let (resolved, done) = model.quantize_io(&options)?;
        (resolved, quantized_summary(&done))
    } else {
        let options = ConvertedIoOptions::default().method(method).inputs(inputs.clone()).outputs(outputs.clone());
        let options = options.normalised(normalize.clone()).quantized(quantize.clone()).dequantized(dequantize.clone());
        let (resolved, done) = model.convert_io(&options)?;
        (resolved, converted_summary(&done))
    };
    edit.write(resolved, &edit.options()?, &[input], &done, messages)
}

/// Changes of `--quantized`, for the summary.
fn quantized_summary(done: &QuantizedIo) -> String {
    let mut out = String::new();
    for value in &done.values {
        let (scale, zero_point) = (value.scale, value.zero_point);
        let of = format!("{}, scale {scale}, zero point {zero_point}", value.scalar_type);
        write_value(&value.name, value.is_input, &of, &mut out);
    }
    write_tests(done.removed_tests, &mut out);
    out
}

/// Changes of conversions, for the summary.
fn converted_summary(done: &ConvertedIo) -> String {
    let mut out = String::new();
    for value in &done.values {
        let calls = counted(value.calls as u64, "call");
        let of = format!("{}, dim_order {:?}, {calls}", value.scalar_type, value.dim_order);
        write_value(&value.name, value.is_input, &of, &mut out);
    }
    write_tests(done.removed_tests, &mut out);
    out
}

fn write_value(name: &str, is_input: bool, of: &str, out: &mut String) {
    let _ = writeln!(out, "{} `{}`: {of}", if is_input { "input" } else { "output" }, clipped(name));
}

fn write_tests(removed: usize, out: &mut String) {
    if removed > 0 {
        let _ = writeln!(out, "{} removed, whose inputs or outputs are others", counted(removed as u64, "test"));
    }
}
