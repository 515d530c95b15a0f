import { execFile } from 'node:child_process';
import { cp, readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COPY = `packages/conformance/.my-cloud-${process.pid}`;
afterAll(() => rm(`${ROOT}/${COPY}`, { recursive: true, force: true }));

test("the guide's first step works as it stands", async () => {
  const guide = await readFile(`${ROOT}/docs/providers/README.md`, 'utf8');
  const [, block = ''] = /```sh guide\n([\s\S]*?)```/.exec(guide) ?? [];
  const [copy = '', prove = ''] = block.trim().split('\n');
  expect(copy).toBe('cp -r packages/conformance/examples packages/conformance/my-cloud');
  await cp(`${ROOT}/packages/conformance/examples`, `${ROOT}/${COPY}`, { recursive: true });
  const scripts: Record<string, string> = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')).scripts;
  const said = prove.replace('npx -y pnpm@12 conformance', scripts.conformance ?? '');
  const [, ...args] = said.replaceAll('packages/conformance/my-cloud', COPY).split(' ');
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const [, promised = ''] = /ends with `(\d+ passed, 0 failed, 1 skipped)`/.exec(guide) ?? [];
  expect(stdout).toContain(promised);
  expect(promised).not.toBe('');
});
