//! The layout that the exporter of a release writes, and the requests that contradict it.
//!
//! An exporter decides some options; the others are options of an export, which stay as they are.

use super::options::{HeaderMode, LayoutConfig, LayoutOptions, OPTIONS, OptionSpec, OptionType, OptionValue};
use pte_model::format::exporter::Exporter;
use pte_model::format::serializer::Serializer;
use pte_releases::{Answer, Release};

impl LayoutConfig {
    /// Returns the layout with the options that an exporter decides. Alignments of the program, the storage of payloads
    /// and shards stay.
    pub(crate) fn for_exporter(&self, exporter: &'static Exporter) -> LayoutConfig {
        let LayoutConfig { strings, constants, ptd_builder, .. } = LayoutConfig::default();
        LayoutConfig {
            exporter,
            builder: exporter.program,
            bpte_builder: Some(exporter.bundled_program).filter(|builder| *builder != exporter.program),
            ptd_builder,
            ptd_segment_alignment: exporter.flat_tensor_alignment,
            header: HeaderMode::Auto,
            strings,
            constants,
            ..self.clone()
        }
    }

    /// Returns the newest exporter whose program has this layout, and what it does not decide, if it replaces several
    /// options. `has_segments` is `true` for a program whose segments have bytes.
    pub(crate) fn exporter_of_program(&self, has_segments: bool) -> Option<(&'static Exporter, LayoutConfig)> {
        Exporter::all().iter().find_map(|exporter| {
            let mut layout = self.clone();
            if has_segments && layout.header == HeaderMode::Length(exporter.header) {
                layout.header = HeaderMode::Auto;
            }
            // A program says nothing about `.ptd` files.
            let LayoutConfig { ptd_builder, ptd_segment_alignment, .. } = self.clone();
            let own = LayoutConfig { ptd_builder, ptd_segment_alignment, ..layout.for_exporter(exporter) };
            let rest = self.for_exporter(Exporter::current());
            let replaced = |option: &&OptionSpec| option.get(self) != option.get(&rest);
            let is_own = LayoutConfig { exporter, ..layout } == own;
            (is_own && OPTIONS.iter().filter(replaced).count() > 1).then_some((exporter, rest))
        })
    }

    /// Returns the alignment of segments in `.ptd` files, in bytes.
    pub(crate) fn alignment_in_data_files(&self) -> u64 {
        self.ptd_segment_alignment.unwrap_or(self.segment_alignment)
    }
}

/// An option that contradicts a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// Key of the option.
    pub option: &'static str,
    /// Value as in the YAML.
    pub value: String,
    /// Reason of the contradiction.
    pub why: Why,
}

/// Reason why an option contradicts a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The exporter writes this value.
    Written(String),
    /// The runtime answers this to files with the option's value.
    Unread(Answer),
}

impl LayoutOptions {
    /// Returns the options that contradict an exporter: serializers, and lengths of the header.
    pub(crate) fn contradictions(&self, exporter: &Exporter) -> Vec<Contradiction> {
        let shared = Serializer::ExirSharedVtables.value();
        let decided = [
            ("builder", exporter.program.value()),
            ("ptd_builder", Serializer::Flatc.value()),
            ("bpte_builder", exporter.bundled_program.value()),
            ("header", Some(OptionValue::Bytes(exporter.header.into()))),
        ];
        let mut found = Vec::new();
        for option in OPTIONS {
            let Some((_, written)) = decided.iter().find(|(name, _)| *name == option.name) else { continue };
            let (Some(value), Some(written)) = (option.requested(self), *written) else { continue };
            // The package `flatbuffers` is not part of a release, and a program without segments has no header.
            let is_package = Some(value) == shared && Some(written) == Serializer::Exir.value();
            let is_header_word = matches!((value, written), (OptionValue::Word(_), OptionValue::Bytes(_)));
            if value != written && !is_package && !is_header_word {
                let (value, written) = (option.print(value), option.print(written));
                found.push(Contradiction { option: option.name, value, why: Why::Written(written) });
            }
        }
        found
    }

    /// Returns the options whose values the runtime of a release was measured not to read.
    pub(crate) fn unread_by(&self, release: &Release) -> Vec<Contradiction> {
        let contradiction = |option: &OptionSpec| {
            let value = option.print(option.requested(self)?);
            // Features of layouts are named by the keys of the options.
            match release.feature(&format!("{}.{value}", option.name))? {
                Answer::Runs | Answer::Unable => None,
                answer @ (Answer::Ignores | Answer::Rejects { .. } | Answer::Hangs | Answer::Crashes) => {
                    Some(Contradiction { option: option.name, value, why: Why::Unread(answer.clone()) })
                }
            }
        };
        OPTIONS.iter().filter_map(contradiction).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Storage;
    use crate::layout::options::Alignment;

    #[test]
    fn an_exporter_decides_serializers_and_the_header() {
        let yaml = LayoutConfig { segment_alignment: 4096, constants: Storage::Inline, ..LayoutConfig::default() };
        let old = yaml.for_exporter(Exporter::of((0, 7)));
        assert_eq!((old.builder, old.bpte_builder, old.constants), (Serializer::Flatc, None, Storage::Segment));
        assert_eq!((old.segment_alignment, old.alignment_in_data_files()), (4096, 16));
        let newer = old.for_exporter(Exporter::of((1, 2)));
        assert_eq!((newer.builder, newer.bpte_builder), (Serializer::Exir, Some(Serializer::Flatc)));
        assert_eq!(newer.alignment_in_data_files(), 4096);
        assert_eq!(newer.for_exporter(Exporter::current()).bpte_builder, None);
    }

    #[test]
    fn several_options_are_those_of_an_exporter() {
        let program =
            |builder, header| LayoutConfig { builder, header, segment_alignment: 64, ..LayoutConfig::default() };
        let since = |layout: LayoutConfig, has_segments| Some(layout.exporter_of_program(has_segments)?.0.since);
        let (flatc, header) = (Serializer::Flatc, HeaderMode::Length(24));
        assert_eq!(since(program(flatc, header), true), Some((0, 7)));
        assert_eq!(
            program(flatc, header).exporter_of_program(true).unwrap().1,
            program(Serializer::Exir, HeaderMode::Auto)
        );
        // One option is not replaced, and a header without segments is not of an exporter.
        assert_eq!(since(program(flatc, HeaderMode::Auto), true), None);
        assert_eq!(since(program(flatc, header), false), None);
        assert_eq!(since(program(Serializer::Exir, header), true), None);
        assert_eq!(since(LayoutConfig { constants: Storage::Inline, ..program(flatc, header) }, true), None);
    }

    #[test]
    fn other_serializers_and_lengths_contradict() {
        let found = |options: LayoutOptions, release| -> Vec<String> {
            let contradictions = options.contradictions(Exporter::of(release)).into_iter();
            contradictions.map(|one| format!("{} {} {:?}", one.option, one.value, one.why)).collect()
        };
        let of = |builder, header| LayoutOptions { builder, header, ..LayoutOptions::default() };
        let all = of(Some(Serializer::Exir), Some(HeaderMode::Length(32)));
        assert_eq!(found(all.clone(), (0, 7)), [r#"builder exir Written("flatc")"#, r#"header 32 Written("24")"#]);
        assert_eq!(found(all.clone(), (1, 0)), [r#"builder exir Written("flatc")"#]);
        assert!(found(all, (1, 5)).is_empty());
        assert!(found(of(Some(Serializer::ExirSharedVtables), Some(HeaderMode::None)), (1, 2)).is_empty());
        let shared = found(of(Some(Serializer::ExirSharedVtables), None), (1, 1));
        assert_eq!(shared, [r#"builder exir-shared-vtables Written("flatc")"#]);
        let bundle = LayoutOptions { bpte_builder: Some(Serializer::Exir), ..LayoutOptions::default() };
        assert_eq!(found(bundle, (1, 3)), [r#"bpte_builder exir Written("flatc")"#]);
    }

    /// Releases up to 1.2 read constants inside the FlatBuffer.
    #[test]
    fn what_a_runtime_does_not_read_contradicts() {
        let found = |options: &LayoutOptions, release| options.unread_by(&Release::find(release).unwrap());
        let rejected = Answer::Rejects { step: "program".to_owned(), error: "InvalidProgram".to_owned() };
        let inline = LayoutOptions { constants: Some(Storage::Inline), ..LayoutOptions::default() };
        let expected = Contradiction { option: "constants", value: "inline".to_owned(), why: Why::Unread(rejected) };
        assert_eq!(found(&inline, "1.3"), std::slice::from_ref(&expected));
        assert_eq!(found(&inline, "1.5"), [expected]);
        assert!(found(&inline, "1.2").is_empty() && found(&inline, "0.4").is_empty());
        let read = LayoutOptions {
            constants: Some(Storage::Segment),
            delegates: Some(Storage::Inline),
            header: Some(HeaderMode::None),
            segment_alignment: Some(Alignment::Bytes(4096)),
            ..LayoutOptions::default()
        };
        assert!(Release::known().all(|release| read.unread_by(&release).is_empty()));
    }
}
