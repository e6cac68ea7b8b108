//! The check for tests: whether a family's types are the newest version of its history.

use std::path::Path;
use std::sync::Arc;

use crate::history::History;
use crate::plan::Plan;
use crate::shape::Schema;

/// Environment variable: appends a new version to the history instead of failing.
const WRITE: &str = "NEW_VERSION";

/// Compares the types of a program with the history of its stored types.
#[derive(Debug)]
pub struct Check<'a> {
    /// The history.
    pub history: &'a History,
    /// Descriptions of the program's types.
    pub described: Schema,
    /// The file of the history.
    pub file: &'a Path,
}

impl Check<'_> {
    /// Fails with instructions if stored types changed without a version. With `NEW_VERSION` in the environment the
    /// version is appended to the file; its steps have to be written by hand.
    ///
    /// # Panics
    /// If the types changed without a version.
    pub fn assert(&self) {
        let Some(section) = self.history.missing(&self.described) else {
            return;
        };
        let what = self.change();
        let file = self.file.display();
        if std::env::var_os(WRITE).is_some() {
            let written = std::fs::read_to_string(self.file)
                .and_then(|text| std::fs::write(self.file, format!("{text}{section}")));
            panic!("{what}; {file} now has one more version ({written:?}): write the steps to it");
        }
        panic!(
            "stored types changed: {what}. Existing files would be read wrongly. Run this test with {WRITE}=1, which \
             appends a version to {file}, and write the steps to it.\n{section}"
        );
    }

    /// Describes the first difference.
    fn change(&self) -> String {
        let Some(newest) = self.history.schema() else {
            return "there is no version yet".to_owned();
        };
        let (old, new) = (Arc::new(newest.clone()), Arc::new(self.described.clone()));
        let labels = self.described.roots.keys();
        let differs = labels.filter_map(|label| Plan::new(&old, &new, &[], label).err());
        let first = differs.into_iter().next();
        first.unwrap_or_else(|| "fields or variants are in another order, or more".to_owned())
    }
}
