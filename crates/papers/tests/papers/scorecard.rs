//! `docs/reference/reproduction.md` matches the files of claims.

use lowtide_papers::scorecard;

#[test]
fn the_page_matches_the_files_of_claims() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/reproduction.md");
    let text = scorecard().expect("the files of claims are right");
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        std::fs::write(path, &text).expect("it can be written");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "regenerate the page");
}
