//! Arbitrary bytes cause no panic, every end has a reason, and offsets ascend.

use proptest::prelude::*;

use crate::fixtures::{ADDRESSES, all, headers, pcap, pcapng, segment};

fn good() -> impl Strategy<Value = Vec<u8>> {
    let (bytes, len) = headers(&ADDRESSES, &segment(5, 900));
    let ethernet = [&[0; 12][..], &[8, 0], &bytes].concat();
    let classic = move |magic, big, link, frame: &[u8]| {
        pcap(magic, big, link, &[(1, 2, frame, len), (3, 4, frame, len)])
    };
    prop_oneof![
        Just(pcapng(4)),
        Just(classic(0xa1b2_c3d4, false, 1, &ethernet)),
        Just(classic(0xa1b2_3c4d, true, 101, &bytes)),
        Just(classic(0xa1b2_c3d4, false, 276, &[&[8, 0][..], &[0; 18], &bytes].concat())),
    ]
}

fn check(file: &[u8]) -> Result<(), TestCaseError> {
    let (frames, _) = all(file);
    let ascend = frames.windows(2).all(|w| w[0].0 < w[1].0);
    prop_assert!(ascend && frames.iter().all(|f| f.0 < file.len() as u64));
    Ok(())
}

proptest! {
    #[test]
    fn random_bytes(file in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&file)?;
    }

    #[test]
    fn random_bytes_after_a_valid_header(
        mut file in good(),
        keep in 24_usize..200,
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        file.truncate(keep);
        file.extend(rest);
        check(&file)?;
    }

    #[test]
    fn valid_files_with_changes(
        mut file in good(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        check(&file)?;
    }
}
