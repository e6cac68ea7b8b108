//! The venue's HTTP shell.
