//! Tests of durability.
