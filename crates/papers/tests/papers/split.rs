//! The division of each paper's claims into fitted and held back.

use std::collections::BTreeSet;
use std::path::Path;

use lowtide_papers::experiments;
use lowtide_papers::infer::split_of;

#[test]
fn split_of_each_paper_has_all_its_claims() {
    let papers: BTreeSet<&str> = experiments().iter().map(|row| row.paper).collect();
    assert!(papers.len() >= 4, "{papers:?}");
    for paper in papers {
        let (file, extended) = split_of(paper).expect("the files of the paper are right");
        if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers").join(paper);
            std::fs::write(path.join("split.toml"), extended.to_toml()).expect("it is written");
        } else {
            assert_eq!(
                file, extended,
                "papers/{paper}/split.toml: run `LOWTIDE_WRITE_DOCS=1 cargo test -p lowtide-papers \
                 --test papers split`"
            );
        }
    }
}
