import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, Script } from 'node:vm';

// In a bundle, `load-program.ts` replaces the import of the program in `main.ts`, and runs `program.js` in the same
// folder. `load-program.ts` uses the compile cache only if Node.js and the architecture are the same as in the build.

type Program = (require: NodeJS.Require, url: string) => Promise<void>;

const source = new URL('./program.js', import.meta.url);
const compiled = new URL(`./program.${process.version}-${process.arch}.cache`, import.meta.url);
const script = new Script(readFileSync(source, 'utf8'), {
  filename: 'program.js', // The compile cache contains the file name, so V8 rejects the cache if the name changes.
  cachedData: existsSync(compiled) ? readFileSync(compiled) : undefined,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
const run = script.runInThisContext() as Program;
await run(createRequire(import.meta.url), import.meta.url);
