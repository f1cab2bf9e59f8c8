//! Figures for papers: SVG, PDF and PNG of a given width, with text of a given size and embedded
//! fonts.
//!
//! Contract: a file depends on the figure, the style and the font file only. With the font of the
//! binary it has the same bytes on every machine.

mod error;
mod fonts;
mod length;
mod output;
#[cfg(test)]
mod tests;

pub use error::TypesetError;
pub use fonts::{Fonts, is_font_file};
pub use length::{Length, parse_length};
pub use output::{Format, MAX_DPI, MIN_DPI, PaperStyle, render};
