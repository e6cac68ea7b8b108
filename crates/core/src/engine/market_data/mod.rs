//! Market data: books with own orders removed, mids, circuit breakers.

pub(crate) mod book;
pub(crate) mod circuit_breakers;
pub(crate) mod departed;
pub(crate) mod elsewhere;
pub(crate) mod others;
