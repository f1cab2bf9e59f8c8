//! The font of a figure: that of the binary, a family of the system, or a file.

use std::path::Path;
use std::sync::Arc;

use lowtide_input_files::TYPEFACE;
use resvg::usvg::fontdb::{Database, Family, ID, Query, Source, Weight};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider as _};

use crate::error::TypesetError;

/// Liberation Sans, whose widths are those of Helvetica and Arial (`fonts/LICENSE`).
const BUILT_IN: [&[u8]; 2] = [
    include_bytes!("../fonts/LiberationSans-Regular.ttf"),
    include_bytes!("../fonts/LiberationSans-Bold.ttf"),
];
const BUILT_IN_FAMILY: &str = "Liberation Sans";
/// Limit on the families that an error names.
const MAX_NAMED: usize = 24;
/// Characters that every font of a figure must have.
const NEEDED: &str = "0123456789.-%()abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A regular and a bold face of one family, and the font of the binary for the characters that
/// they do not have.
pub struct Fonts {
    database: Arc<Database>,
    family: String,
    /// Files of the regular and the bold face, with the number of the face.
    faces: [FaceFile; 2],
}

#[derive(Clone)]
struct FaceFile {
    data: Arc<dyn AsRef<[u8]> + Send + Sync>,
    index: u32,
    bold: bool,
}

/// Returns whether a `--font` is a file, by its extension.
pub fn is_font_file(text: &str) -> bool {
    let extension = Path::new(text).extension().map(|e| e.to_string_lossy().to_lowercase());
    extension.is_some_and(|e| ["ttf", "otf", "ttc", "otc"].contains(&e.as_str()))
}

impl Fonts {
    /// Returns the font of the binary.
    pub fn built_in() -> Result<Self, TypesetError> {
        let mut database = Database::new();
        for data in BUILT_IN {
            database.load_font_source(Source::Binary(Arc::new(data)));
        }
        Self::of_family(&database, BUILT_IN_FAMILY)
    }

    /// Returns a font by the name of a family of this system, or by its file.
    pub fn find(text: &str) -> Result<Self, TypesetError> {
        if is_font_file(text) {
            return Self::file(Path::new(text));
        }
        if text.eq_ignore_ascii_case(BUILT_IN_FAMILY) {
            return Self::built_in();
        }
        let mut database = Database::new();
        database.load_system_fonts();
        Self::in_database(&database, text)
    }

    fn in_database(database: &Database, text: &str) -> Result<Self, TypesetError> {
        let mut families = families(database);
        families.push(BUILT_IN_FAMILY.to_owned());
        families.sort();
        families.dedup();
        match families.iter().find(|f| f.eq_ignore_ascii_case(text)) {
            Some(family) => Self::of_family(database, family),
            None => Err(unknown(text, &families)),
        }
    }

    fn file(path: &Path) -> Result<Self, TypesetError> {
        let invalid = |message: String| {
            let help = Some("give a TrueType or OpenType file (.ttf, .otf, .ttc)".to_owned());
            TypesetError::Invalid { message, help }
        };
        let shown = path.display();
        let data = lowtide_input_files::read(path, &TYPEFACE)
            .map_err(|e| invalid(format!("the font file `{shown}` cannot be read: {e}")))?;
        let mut database = Database::new();
        database.load_font_data(data);
        let Some(family) = families(&database).into_iter().next() else {
            return Err(invalid(format!("`{shown}` is not a font file")));
        };
        Self::of_family(&database, &family)
    }

    fn of_family(from: &Database, family: &str) -> Result<Self, TypesetError> {
        let missing = || unknown(family, &families(from));
        let face = |weight: Weight| {
            let families = [Family::Name(family)];
            let id = from.query(&Query { families: &families, weight, ..Query::default() });
            id.ok_or_else(missing)
        };
        let regular = face_file(from, face(Weight::NORMAL)?).ok_or_else(missing)?;
        let bold = face_file(from, face(Weight::BOLD)?).ok_or_else(missing)?;
        // Of the family only these two faces are used, and of the system no other font.
        let mut database = Database::new();
        for file in [&regular, &bold] {
            database.load_font_source(Source::Binary(file.data.clone()));
        }
        for data in BUILT_IN {
            database.load_font_source(Source::Binary(Arc::new(data)));
        }
        let faces = [regular, bold];
        let fonts = Self { database: Arc::new(database), family: family.to_owned(), faces };
        if fonts.width(NEEDED, false, &[]).is_none() {
            let message = format!("the font `{family}` has no Latin letters or no digits");
            return Err(TypesetError::Invalid { message, help: None });
        }
        Ok(fonts)
    }

    /// Returns the name of the family.
    pub fn family(&self) -> &str {
        &self.family
    }

    pub(crate) fn database(&self) -> Arc<Database> {
        self.database.clone()
    }

    /// Returns the file of the regular or the bold face, and whether it is bold.
    pub(crate) fn face(&self, bold: bool) -> (&[u8], bool) {
        let file = &self.faces[usize::from(bold)];
        (file.data.as_ref().as_ref(), file.bold)
    }

    /// Returns the width of a text over its font size.
    pub(crate) fn measure(&self, text: &str, bold: bool) -> f64 {
        self.width(text, bold, &BUILT_IN).unwrap_or(text.chars().count() as f64)
    }

    /// Returns the width, with the fonts `others` for missing characters.
    fn width(&self, text: &str, bold: bool, others: &[&[u8]]) -> Option<f64> {
        let file = &self.faces[usize::from(bold)];
        let first = FontRef::from_index(file.data.as_ref().as_ref(), file.index).ok();
        let others = others.iter().filter_map(|data| FontRef::new(data).ok());
        let size = Size::new(1.0);
        let faces: Vec<_> = first
            .into_iter()
            .chain(others)
            .map(|font| (font.charmap(), font.glyph_metrics(size, LocationRef::default())))
            .collect();
        let advance = |c: char| {
            faces.iter().find_map(|(characters, glyphs)| {
                glyphs.advance_width(characters.map(c)?).map(f64::from)
            })
        };
        text.chars().map(advance).sum()
    }
}

fn face_file(database: &Database, id: ID) -> Option<FaceFile> {
    let bold = database.face(id)?.weight >= Weight::SEMIBOLD;
    database.with_face_data(id, |data, index| {
        let data: Arc<dyn AsRef<[u8]> + Send + Sync> = Arc::new(data.to_vec());
        FaceFile { data, index, bold }
    })
}

/// Returns the families of a database, in order.
fn families(database: &Database) -> Vec<String> {
    let mut families: Vec<String> = database
        .faces()
        .filter_map(|face| face.families.first().map(|(name, _)| name.clone()))
        .collect();
    families.sort();
    families.dedup();
    families
}

fn unknown(text: &str, families: &[String]) -> TypesetError {
    let lower = text.to_lowercase();
    let mut near: Vec<&String> = families.iter().collect();
    near.sort_by(|a, b| {
        let by = |name: &str| strsim::jaro_winkler(&lower, &name.to_lowercase());
        by(b).total_cmp(&by(a)).then_with(|| a.cmp(b))
    });
    let named: Vec<String> = near.iter().take(MAX_NAMED).map(|f| format!("`{f}`")).collect();
    let more = families.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    TypesetError::Invalid {
        message: format!("no font of the family `{text}` is installed"),
        help: Some(format!("the families are {}{more}; or give a font file", named.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_font_has_every_character_of_our_figures() {
        let fonts = Fonts::built_in().unwrap();
        for bold in [false, true] {
            for c in
                "\u{202f}\u{2013}\u{2014}\u{b7}\u{d7}\u{b5}\u{3b1}\u{2264}\u{2265}\u{a0}".chars()
            {
                assert!(fonts.width(&c.to_string(), bold, &[]).is_some(), "{c:?}");
            }
            assert!(fonts.width(NEEDED, bold, &[]).is_some());
        }
        // Digits are 0.556 em wide, as those of Helvetica.
        assert!((fonts.measure("1000", false) - 4.0 * 0.556).abs() < 0.002);
        assert!(fonts.measure("Queue", true) > fonts.measure("Queue", false));
        assert!(fonts.face(true).1 && !fonts.face(false).1);
    }

    #[test]
    fn an_unknown_family_names_the_near_ones() {
        let mut database = Database::new();
        database.load_font_source(Source::Binary(Arc::new(BUILT_IN[0])));
        let Err(TypesetError::Invalid { message, help }) =
            Fonts::in_database(&database, "Liberaton")
        else {
            panic!("an unknown family was accepted")
        };
        assert_eq!(message, "no font of the family `Liberaton` is installed");
        assert!(help.unwrap().contains("`Liberation Sans`"));
        assert_eq!(
            Fonts::in_database(&database, "liberation sans").unwrap().family(),
            "Liberation Sans"
        );
    }

    #[test]
    fn bad_font_files_are_refused() {
        for (name, why) in [("/nowhere/font.ttf", "cannot be read"), (file!(), "not a font file")] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
            let error = Fonts::file(&path).map(|f| f.family).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        assert!(is_font_file("My.TTF") && is_font_file("a/b.otf") && !is_font_file("Times"));
    }
}
