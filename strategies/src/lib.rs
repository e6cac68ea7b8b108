//! Strategies and their registry.
