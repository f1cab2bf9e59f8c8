//! Commands that ask for a mechanism that is not simulated: its sentence, and status 2.

use std::process::Command;

use lowtide_schema::NotSimulated;

#[test]
fn a_command_line_that_asks_for_one_gets_its_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    for (line, name) in [
        ("run first-light --scheme hpcc", "hpcc"),
        ("run first-light --scheme=dctcp,HPCC", "hpcc"),
        ("run first-light --pfc", "pfc"),
        ("run first-light -s compare.schemes=dctcp,timely", "timely"),
        ("run first-light -s transport.sender.cc=timely", "timely"),
        ("run first-light --over transport.sender.cc=cubic,bbr", "bbr"),
        ("run first-light --over switch.pfc=true,false", "pfc"),
        ("check first-light -s switch.trimming=true", "trimming"),
        ("check first-light -s switch.mark.kind=dualpi2", "l4s"),
        ("matrix --senders dcqcn,dctcp", "dcqcn"),
        ("matrix --senders dctcp+cc=bbr", "bbr"),
        ("explain timely", "timely"),
        ("explain dctcp homa", "homa"),
        ("cite homa", "homa"),
        ("list hpcc", "hpcc"),
    ] {
        let mut lowtide = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        let output = lowtide.args(line.split(' ')).current_dir(&folder).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let sentence = NotSimulated::find(name).expect(name).sentence;
        assert!(errors.contains(sentence), "{line}: {errors}");
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
    }
    assert_eq!(folder.path().read_dir().expect("the folder").count(), 0, "nothing was written");
}

#[test]
fn other_mistakes_keep_their_messages() {
    for (line, hint) in [
        ("run first-light --scheme dctcp", "unexpected argument '--scheme'"),
        ("run first-light --seed 3", "'--seeds'"),
        ("explain dctp", "did you mean `dctcp`?"),
        ("check first-light -s compare.schemes=dctp", "did you mean `dctcp`?"),
    ] {
        let mut lowtide = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        let output = lowtide.args(line.split(' ')).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(hint), "{line}: {errors}");
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
}
