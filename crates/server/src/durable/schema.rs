//! Which types are inside the files.

/// Rises when a type that is written changes.
pub(crate) fn schema() -> u32 {
    1
}
