#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lowtide_trial::segments::run(data));
