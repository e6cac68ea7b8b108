//! Curve, hashes and signatures of the exchange interface.
