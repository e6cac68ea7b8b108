//! The cambist program: command line and live shells around the pure rooms.

fn main() {}
