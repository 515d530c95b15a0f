import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Binary } from './binaries.ts';

/** The file name contains the version of Node.js, so that `load-program.ts` ignores the cache of another version. */
const COMPILED = `program.${process.version}-${process.arch}.cache`;

/**
 * V8 flags that make the compile cache reproducible: fixed seeds, no code aging, a single thread, and enough memory.
 * Gaps between the fields of the cache contain old memory, so V8 must not reuse memory.
 */
const STEADY = [
  ...['--hash-seed=1', '--random-seed=1', '--no-flush-bytecode', '--single-threaded'],
  ...['--min-semi-space-size=256', '--max-semi-space-size=256', '--initial-old-space-size=2000'],
];

/** V8 compares a hash in the cache with the hash of its flags, and rejects the cache if they differ. */
const NOTED_FLAGS = 12;

/**
 * When the program ends, the keeper module writes the compiled code to a file. The program kills itself, because
 * Node.js can wait forever for a thread of V8 at its exit.
 */
const KEEPER = `
  import { writeFileSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import vm from 'node:vm';
  vm.Script = class extends vm.Script {
    constructor(...given) {
      super(...given);
      process.once('exit', () => {
        writeFileSync(process.env.MCM_KEEP_COMPILED, this.createCachedData());
        process.kill(process.pid, 'SIGKILL');
      });
    }
  };
  syncBuiltinESMExports();
`;

const KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'c',
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:9' } }],
  users: [{ name: 'u', user: { token: 't' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
});

/**
 * Arguments with which a controller starts and always ends at the same point, because the kubeconfig file does not
 * exist.
 */
const FLAGS = ['--target-kubeconfig=target', '--control-kubeconfig=not-there', '--namespace=default'];

/** Runs a program with some arguments, and returns its compiled code. */
async function compiledBy(args: readonly string[], cwd: string): Promise<Buffer> {
  const kept = join(cwd, 'kept');
  await rm(kept, { force: true });
  const keeper = `--import=data:text/javascript,${encodeURIComponent(KEEPER)}`;
  const options = { cwd, env: { PATH: process.env.PATH, MCM_KEEP_COMPILED: kept }, maxBuffer: 1 << 24 };
  // The exit code is ignored, because the run of a controller always ends with an error.
  const output = await new Promise<string>((done) =>
    execFile(process.execPath, [keeper, ...args], options, (_error, _out, log) => done(log)),
  );
  if (!existsSync(kept)) throw new Error(`${args.join(' ')}: V8 wrote no compile cache: ${output}`);
  return readFile(kept);
}

/**
 * Writes the compile cache of a bundle next to the bundle. A controller runs until its connection to a cluster fails,
 * and any other program runs its sample command line.
 */
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
