//! Endpoint table, wire types and codes of the exchange interface.
