//! The world as a whole.
