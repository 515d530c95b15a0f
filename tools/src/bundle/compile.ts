import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Binary } from './binaries.ts';

/** Named after the Node that it is for, by which `load-program.ts` finds it. */
const COMPILED = `program.${process.version}-${process.arch}.cache`;

/**
 * What makes the same bytes every time: the seeds, code that does not age, nothing next to the one thread, and so much memory that
 * none is used a second time: V8 writes down gaps between its fields with whatever lay there.
 */
const STEADY = [
  ...['--hash-seed=1', '--random-seed=1', '--no-flush-bytecode', '--single-threaded'],
  ...['--min-semi-space-size=256', '--max-semi-space-size=256', '--initial-old-space-size=2000'],
];

/** Where V8 notes the flags that it compiled under, four bytes; it takes only what was compiled under its own. */
const NOTED_FLAGS = 12;

/** Runs before the program: keeps what V8 compiled of it when it ends. */
const KEEPER = `
  import { writeFileSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import vm from 'node:vm';
  vm.Script = class extends vm.Script {
    constructor(...given) {
      super(...given);
      process.once('exit', () => writeFileSync(process.env.MCM_KEEP_COMPILED, this.createCachedData()));
    }
  };
  syncBuiltinESMExports();
`;

/** Nobody listens there, and nobody is asked. */
const KUBECONFIG = JSON.stringify({
  ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:9' } }],
  users: [{ name: 'u', user: { token: 't' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
});

/** A start that ends by itself, the same every time: at the second cluster, of which there is no kubeconfig. */
const FLAGS = ['--target-kubeconfig=target', '--control-kubeconfig=not-there', '--namespace=default'];

/** What V8 made of the program that a command line runs in a folder, by the time it ended. Throws when it never ran. */
async function compiledBy(args: readonly string[], cwd: string): Promise<Buffer> {
  const kept = join(cwd, 'kept');
  await rm(kept, { force: true });
  const keeper = `--import=data:text/javascript,${encodeURIComponent(KEEPER)}`;
  const options = { cwd, env: { PATH: process.env.PATH, MCM_KEEP_COMPILED: kept }, maxBuffer: 1 << 24 };
  // How it ended says nothing: one of the two ways is a refusal.
  const said = await new Promise<string>((done) =>
    execFile(process.execPath, [keeper, ...args], options, (_error, _out, log) => done(log)),
  );
  if (!existsSync(kept)) throw new Error(`${args.join(' ')}: nothing was compiled: ${said}`);
  return readFile(kept);
}

/** Writes what V8 makes of a bundle's program next to it: of a controller up to its clusters, of another in its sample. */
export async function compile({ controller, sample }: Binary, dist: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'mcm-compile-'));
  const main = resolve(dist, 'main.js');
  try {
    await writeFile(join(folder, 'target'), KUBECONFIG);
    const compiled = await compiledBy([...STEADY, main, ...(controller ? FLAGS : sample)], folder);
    const usual = await compiledBy([main, '--help'], folder);
    usual.copy(compiled, NOTED_FLAGS, NOTED_FLAGS, NOTED_FLAGS + 4);
    await writeFile(join(dist, COMPILED), compiled);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
