//! Tests of drawn figures from outside.

mod drawn;
mod raster;
