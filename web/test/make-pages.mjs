// Makes one page of each kind with the command.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const COMMAND = process.env.LOWTIDE ?? fileURLToPath(new URL("../../target/release/lowtide", import.meta.url));

export function lowtide(...parameters) {
  if (!existsSync(COMMAND)) throw new Error(`no ${COMMAND}: run \`cargo build --release\`, or name the command in LOWTIDE`);
  return execFileSync(COMMAND, ["--quiet", ...parameters], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

export function makePages(root) {
  const at = (...names) => join(root, ...names);
  if (!existsSync(at("analysis"))) makeIn(at);
  return {
    run: at("run", "report.html"),
    matrix: at("matrix", "report.html"),
    share: at("share", "report.html"),
    reproduction: at("papers", "reproduction.html"),
    analysis: at("analysis", "analysis.html"),
    plot: at("plot", "flow-4-dctcp.html"),
  };
}

function makeIn(at) {
  lowtide("run", "queue-buildup", "-o", at("run"));
  lowtide("matrix", "--senders", "sack,dctcp,newreno,ecn", "--receivers", "sack,dctcp,ecn", "--seeds", "2", "-o", at("matrix"));
  lowtide("matrix", "--share", "sack,dctcp", "--hosts", "4", "--seeds", "2", "-o", at("share"));
  lowtide("papers", "reproduce", "--quick", "od-fig4.1", "od-fig7.1", "-o", at("papers"));
  lowtide("plot", at("run"), "--flow", "short.2", "--scheme", "dctcp", "--out", at("plot"));
  lowtide("pcap", at("run"), "--flow", "short.2", "--scheme", "dctcp", "--out", at("flow.pcapng"));
  lowtide("analyze", at("flow.pcapng"), "-o", at("analysis"));
}
