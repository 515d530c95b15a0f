import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ROOT } from '../root.ts';
import { RELEASE_FILES, signRelease, verifyRelease } from './release.ts';

const HELP = `usage: pnpm release sign --key PRIVATE.pem --repository URL --builder URL [DIR]
       pnpm release verify --key PUBLIC.pem [DIR]
  sign writes ${Object.values(RELEASE_FILES).join(', ')} for all files in DIR (default: dist), and requires a clean work tree.
  verify checks these files. The exit status is 1 if a file or a signature is wrong, and 2 after an error.
`;

function fail(message: string): never {
  process.stderr.write(`release: ${message}\n`);
  process.exit(2);
}

function read() {
  try {
    return parseArgs({
      args: process.argv.slice(2).filter((argument) => argument !== '--'),
      allowPositionals: true,
      options: {
        key: { type: 'string' },
        repository: { type: 'string' },
        builder: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n${HELP}`);
  }
}

const { values, positionals } = read();

const needed = (flag: 'key' | 'repository' | 'builder'): string =>
  values[flag] ?? fail(`--${flag} must be set\n${HELP}`);

async function git(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('git', [...args], { cwd: ROOT })).stdout.trim();
}

async function run(): Promise<number> {
  const [command, folder = join(ROOT, 'dist')] = positionals;
  if (command === 'verify') {
    const wrong = await verifyRelease(resolve(folder), needed('key'));
    process.stdout.write(wrong.length > 0 ? `${wrong.join('\n')}\n` : 'all files and signatures are correct\n');
    return wrong.length > 0 ? 1 : 0;
  }
  if (command !== 'sign') return fail(`the command must be sign or verify\n${HELP}`);
  const changes = await git('status', '--porcelain');
  if (changes !== '')
    return fail(`the work tree has uncommitted changes, so no commit contains the release:\n${changes}`);
  const sources = {
    repository: needed('repository'),
    builder: needed('builder'),
    commit: await git('rev-parse', 'HEAD'),
    lockFile: await readFile(join(ROOT, 'pnpm-lock.yaml')),
  };
  const count = await signRelease(resolve(folder), needed('key'), sources);
  process.stdout.write(`${count} files are signed, see ${join(folder, RELEASE_FILES.sums)}\n`);
  return 0;
}

if (values.help) process.stdout.write(HELP);
else
  process.exitCode = await run().catch((error: unknown) =>
    fail(error instanceof Error ? error.message : String(error)),
  );
