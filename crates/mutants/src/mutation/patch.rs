//! A source with many mutants, each a switch.

use std::ops::Range;

use super::operators::{Mutant, Piece};

/// A patched source.
#[derive(Debug, Default)]
pub struct Patched {
    /// What it became.
    pub text: String,
    /// Where each mutant is in it, by its number. One that is inside another may be in several places.
    pub places: Vec<(u32, Range<usize>)>,
}

/// Writes a source with these mutants; their numbers go with them.
pub fn patch(source: &str, mutants: &[(u32, &Mutant)]) -> Patched {
    let mut sorted: Vec<_> = mutants.to_vec();
    // Those outside come before those inside them.
    sorted.sort_by_key(|(number, m)| (m.range.start, std::cmp::Reverse(m.range.end), *number));
    let mut words: Vec<_> = mutants
        .iter()
        .filter_map(|(_, m)| m.constness.clone())
        .collect();
    words.sort_by_key(|range| range.start);
    words.dedup();
    let mut writer = Writer {
        source,
        words,
        done: Patched::default(),
    };
    writer.write(0..source.len(), &sorted);
    writer.done
}

struct Writer<'a> {
    source: &'a str,
    /// The words `const` that go.
    words: Vec<Range<usize>>,
    done: Patched,
}

impl Writer<'_> {
    /// Writes a range of the source with the mutants in it. Those of `mutants` that are outside of the range, or
    /// reach over its ends, are not for this place.
    fn write(&mut self, range: Range<usize>, mutants: &[(u32, &Mutant)]) {
        let mut at = range.start;
        for (index, (number, mutant)) in mutants.iter().enumerate() {
            let inside = mutant.range.start >= at && mutant.range.end <= range.end;
            if !inside {
                continue;
            }
            self.plain(at..mutant.range.start);
            let begun = self.done.text.len();
            for piece in &mutant.pieces {
                match piece {
                    Piece::Text(text) => self.done.text.push_str(text),
                    Piece::On => {
                        let asked = format!("cambist_switch::on({number})");
                        self.done.text.push_str(&asked);
                    }
                    Piece::Source(part) => self.write(part.clone(), &mutants[index + 1..]),
                }
            }
            let place = begun..self.done.text.len();
            self.done.places.push((*number, place));
            at = mutant.range.end;
        }
        self.plain(at..range.end);
    }

    fn plain(&mut self, range: Range<usize>) {
        let mut at = range.start;
        let words = self.words.iter();
        for word in words.filter(|word| range.start <= word.start && word.end <= range.end) {
            self.done.text.push_str(&self.source[at..word.start]);
            at = word.end;
        }
        self.done.text.push_str(&self.source[at..range.end]);
    }
}

/// The mutants that an error at `at` is about: the innermost that hold it, or else all on the same line.
pub fn blamed(patched: &Patched, at: Range<usize>) -> Vec<u32> {
    let holds = |place: &Range<usize>| place.start <= at.start && at.end <= place.end;
    let around = patched.places.iter().filter(|(_, place)| holds(place));
    if let Some((number, _)) = around.min_by_key(|(_, place)| place.len()) {
        return vec![*number];
    }
    let text = &patched.text;
    let start = text[..at.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at.end..]
        .find('\n')
        .map_or(text.len(), |end| at.end + end);
    let near = |place: &Range<usize>| place.start < end && place.end > start;
    let near = patched.places.iter().filter(|(_, place)| near(place));
    near.map(|(number, _)| *number).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::super::operators::mutants;
    use super::*;

    #[test]
    fn mutants_inside_each_other_are_all_written() {
        let source = "const fn f(a: u64) -> bool { if a + 1 < 2 { g(); } true }";
        let found = mutants(source).unwrap();
        let numbered: Vec<_> = (1..).zip(&found).collect();
        let patched = patch(source, &numbered);
        syn::parse_file(&patched.text).unwrap();
        assert!(!patched.text.contains("const fn"));
        for (number, mutant) in numbered {
            let asked = format!("cambist_switch::on({number})");
            assert!(
                patched.text.contains(&asked),
                "{mutant:?} in {}",
                patched.text
            );
        }
    }

    #[test]
    fn without_mutants_a_source_stays_as_it_is() {
        let source = "fn f() { g(1) }";
        assert_eq!(patch(source, &[]).text, source);
    }

    #[test]
    fn an_error_names_the_innermost_mutant() {
        let source = "fn f(a: u64) -> bool { if a < 2 { g(); } true }";
        let found = mutants(source).unwrap();
        let numbered: Vec<_> = (1..).zip(&found).collect();
        let patched = patch(source, &numbered);
        let (number, place) = patched
            .places
            .iter()
            .min_by_key(|(_, place)| place.len())
            .unwrap();
        let within = place.start + 1..place.start + 2;
        assert_eq!(blamed(&patched, within), vec![*number]);
    }
}
