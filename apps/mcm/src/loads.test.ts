import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'vitest';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

/** Prints the loaded source files and packages at the end of a process. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  process.on('exit', () => process.stderr.write(loaded.join('\\n')));
`)}`;

async function loadedBy(program: readonly string[]): Promise<readonly string[]> {
  const args = ['--conditions=source', `--import=${HOOK}`, ...program];
  const options = { env: { PATH: process.env.PATH }, cwd: dirname(main) };
  const { stderr } = await promisify(execFile)(process.execPath, args, options);
  return stderr.split('\n').filter((url) => url.startsWith('file:'));
}

test.concurrent.for(['version', 'completion bash', 'plan --help'])(
  'mcm %s loads only the definitions of the other commands, not their implementation',
  async (words, context) => {
    const loaded = await loadedBy([main, ...words.split(' ')]);
    const seen = (pattern: RegExp): readonly string[] => loaded.filter((url) => pattern.test(url));
    context.expect(seen(/apps\/mcm\/src\/plan\/command\.ts$/)).toHaveLength(1);
    context
      .expect(seen(/\/run\.ts$|\/packages\/(?!kube\/src\/(?:flags\/|start\/|base\/nearest))|\/(yaml|zod|undici)\//))
      .toEqual([]);
  },
);

test('reading the provider spec of a class loads no cloud SDK', async ({ expect }) => {
  const imports = ['aws', 'azure', 'gcp', 'local'].map((name) => `await import('@mcm/provider-${name}/class');`);
  const loaded = await loadedBy(['--input-type=module', '--eval', imports.join('')]);
  expect(loaded.filter((url) => /\/(driver|spec)\/schemas\.ts$/.test(url))).toHaveLength(4);
  expect(loaded.filter((url) => /\/@(aws-sdk|smithy|azure|googleapis)\/|google-auth|gaxios/.test(url))).toEqual([]);
});
