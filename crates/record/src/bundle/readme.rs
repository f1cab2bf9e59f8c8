//! `README.md` of an archive.

use lowtide_output::markdown::{block, cell, code, code_cell};
use lowtide_output::shell;

use super::contents::{BundleInfo, RESULTS};

/// Text for the reader who unpacked the archive.
pub(crate) fn readme(info: &BundleInfo) -> String {
    let BundleInfo { version, scenario, scenario_hash, digest, runs, command, .. } = info;
    let seeds: Vec<String> = info.seeds.iter().map(u64::to_string).collect();
    let repeat = match (&info.repeat, &info.not_repeatable) {
        (Some(args), _) => format!(
            "In this folder, with lowtide {} (`lowtide --version`; \
             `docs/howto/install.md` of the repository says how to install it):\n\
             {command}\
             It prints the digest below. `lowtide bundle --verify FILE --repeat` runs it and compares \
             the digests. `lowtide diff {RESULTS} DIR` compares the tables, where DIR is the directory \
             that the command names; its exit status is 0 if they are equal.\n",
            cell(version),
            command = block(
                "sh",
                &shell::command(
                    ["lowtide"]
                        .into_iter()
                        .chain(args.iter().map(String::as_str))
                        .chain(["-o", "repeated"])
                )
            ),
        ),
        (None, reason) => format!(
            "No command repeats these runs bit by bit: {}. They were made by\n{}",
            cell(reason.as_deref().unwrap_or("the reason is unknown")),
            block("sh", &shell::requoted(command)),
        ),
    };
    format!(
        "# Results of the scenario {}\n\
         ## Repeat\n{repeat}\n\
         ## Expect\n\
         | fact | value |\n|---|---|\n\
         | digest of all runs | {digest} |\n\
         | hash of the resolved scenario | {scenario_hash} |\n\
         | version of lowtide | {version} |\n\
         | schemes | {schemes} |\n\
         | seeds | {seeds} |\n\
         | runs | {runs} |\n\
         | command of the authors | {command} |\n\n\
         The digest depends on the packets of the runs only: it is the same on every machine and for \
         every number of threads.\n\n\
         ## Contents\n\
         | file | content |\n|---|---|\n\
         | `{RESULTS}/report.html` | the page: figures, tables, settings |\n\
         | `{RESULTS}/*.parquet` | the tables; `lowtide table {RESULTS} flows --csv` prints one |\n\
         | `{RESULTS}/figures/` | the figures as SVG and CSV |\n\
         | `{RESULTS}/manifest.json` | origin, digests of all runs, BLAKE3 hash of each file |\n\
         | `{RESULTS}/resolved/` | every setting of one run for each scheme |\n\
         | {file} | the scenario as run, with the files that it names; absent if the command \
         needs no file |\n\
         | `CITATION.cff`, `REFERENCES.bib` | how to cite the tool and the sources of the schemes |\n\
         | `bundle.json` | this page for programs |\n\
         | `SHA256SUMS` | hashes of all other files: `sha256sum -c SHA256SUMS` |\n",
        code(scenario),
        digest = code_cell(digest),
        scenario_hash = code_cell(scenario_hash),
        version = cell(version),
        schemes = cell(&info.schemes.join(", ")),
        command = code_cell(command),
        file = code_cell(&format!("{scenario}.toml")),
        seeds = ranges(&seeds),
    )
}

/// The seeds, shortened if there are many.
fn ranges(seeds: &[String]) -> String {
    match seeds {
        [first, .., last] if seeds.len() > 8 => {
            format!("{} seeds from {first} to {last}", seeds.len())
        }
        seeds => seeds.join(", "),
    }
}
