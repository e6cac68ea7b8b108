//! Recordings of what was heard and done.
