/* Bundles the scripts of the pages.

   node build.mjs                  writes the bundles beside the package's other assets
   node build.mjs --check [DIR]    fails where those that are there, or in DIR, are not what the sources give
   node build.mjs --test [FILE...] bundles all tests or these, so that any Node.js from 18 on runs them, and runs them */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ASSETS = join(HERE, "../tcprof/render/html/assets");
const HEADER = "/* tcprof, Apache-2.0. Generated from web/src by 'make web': change it there. */";

/* theme.js runs in the head of all pages, before anything is painted; page.js is all the rest. */
async function bundlePages() {
  const { outputFiles } = await build({
    absWorkingDir: HERE,
    entryPoints: ["src/theme.ts", "src/page.ts"],
    outdir: ASSETS,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    banner: { js: HEADER },
    write: false,
  });
  return outputFiles;
}

async function checkPages([folder = ASSETS]) {
  const isStale = ({ path, text }) => {
    const built = join(folder, basename(path));
    return !existsSync(built) || readFileSync(built, "utf8") !== text;
  };
  const stale = (await bundlePages()).filter(isStale).map(({ path }) => basename(path));
  if (!stale.length) return 0;
  console.error(`${stale.join(" and ")} in tcprof/render/html/assets is not what web/src gives: run 'make web' and commit it.`);
  return 1;
}

async function runTests(wanted) {
  const folder = mkdtempSync(join(HERE, "node_modules/.tests-"));
  try {
    const all = readdirSync(join(HERE, "test")).filter((name) => name.endsWith(".test.ts"));
    await build({
      absWorkingDir: HERE,
      entryPoints: (wanted.length ? wanted : all).map((name) => join("test", name)),
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node18",
      sourcemap: "inline",
    });
    const bundles = readdirSync(folder).map((name) => join(folder, name));
    const command = ["--enable-source-maps", "--test", "--test-reporter", "tap", ...bundles];
    return spawnSync(process.execPath, command, { stdio: "inherit" }).status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function writePages() {
  for (const { path, text } of await bundlePages()) writeFileSync(path, text);
  return 0;
}

const MODES = { "--check": checkPages, "--test": runTests };
const [mode, ...rest] = process.argv.slice(2);
process.exitCode = await (MODES[mode] ?? writePages)(rest);
