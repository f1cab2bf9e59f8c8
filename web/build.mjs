// Bundles the script of the pages into crates/charts/assets/page.js.gz. With --check it compares
// that file with the bundle and writes nothing.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const asset = fileURLToPath(new URL("../crates/charts/assets/page.js.gz", import.meta.url));
const banner = "/*! lowtide (MIT OR Apache-2.0) with Apache ECharts (Apache-2.0, (c) The Apache Software"
  + " Foundation), zrender (BSD-3-Clause), tslib (0BSD), tablesort (MIT): crates/charts/assets/NOTICE */";
const built = await build({
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  globalName: "lowtide",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: { js: banner },
  define: { "process.env.NODE_ENV": '"production"' },
});
// A page has the script in a `script` element.
const text = built.outputFiles[0].text.replaceAll("</script", "<\\/script");

if (process.argv.includes("--check")) {
  if (gunzipSync(readFileSync(asset)).toString() !== text) {
    console.error(`${asset} is not what web/ gives: run \`npm ci && npm run build\` in web/ and commit it`);
    process.exit(1);
  }
  console.log("the committed script is what web/ gives");
} else {
  const packed = gzipSync(text, { level: 9 });
  writeFileSync(asset, packed);
  console.log(`${asset}: ${packed.length} bytes, ${text.length} before compression`);
}
