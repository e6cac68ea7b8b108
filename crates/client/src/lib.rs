//! HTTP client for the exchange interface.
