import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Named after the Node that it is for, by which `load-program.ts` finds it. */
const COMPILED = `program.${process.version}-${process.arch}.cache`;

/**
 * What makes the same bytes every time: the seeds, and code that does not age. Taken back before they are kept, for V8 takes only
 * what was compiled under its own flags.
 */
const STEADY = {
  '--hash-seed=1': '--hash-seed=0',
  '--random-seed=1': '--random-seed=0',
  '--no-flush-bytecode': '--flush-bytecode',
};

/** Runs before the program: keeps what V8 compiled of it when it ends. */
const KEEPER = `
  import { writeFileSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import v8 from 'node:v8';
  import vm from 'node:vm';
  vm.Script = class extends vm.Script {
    constructor(...given) {
      super(...given);
      process.once('exit', () => {
        for (const flag of ${JSON.stringify(Object.values(STEADY))}) v8.setFlagsFromString(flag);
        writeFileSync(process.env.MCM_KEEP_COMPILED, this.createCachedData());
      });
    }
  };
  syncBuiltinESMExports();
`;

/** Writes what V8 makes of a bundle's program, as far as its start to the first words of `--help` needs it, beside it. */
export async function compile(dist: string): Promise<void> {
  const keeper = `--import=data:text/javascript,${encodeURIComponent(KEEPER)}`;
  const env = { PATH: process.env.PATH, MCM_KEEP_COMPILED: join(dist, COMPILED) };
  await run(process.execPath, [...Object.keys(STEADY), keeper, join(dist, 'main.js'), '--help'], {
    env,
    maxBuffer: 1 << 24,
  });
}
