//! Statistics and attribution from trades and equity.
