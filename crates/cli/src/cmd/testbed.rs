//! `lowtide testbed`.

use lowtide_uml::guest;

use super::uml::uml;
use crate::args::TestbedCommand;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn testbed(what: &TestbedCommand, out: Output) -> Result<(), Failure> {
    match what {
        TestbedCommand::Uml(args) => uml(args, out),
        TestbedCommand::UmlGuest { folder, .. } => guest::main(folder),
    }
}
