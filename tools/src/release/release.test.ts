import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { RELEASE_FILES, signRelease, verifyRelease } from './release.ts';

const SOURCES = {
  repository: 'https://example.com/mcm',
  commit: '1'.repeat(40),
  lockFile: Buffer.from('lockfileVersion: 9\n'),
  builder: 'https://example.com/mcm/actions/release',
};
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

async function release(namedCurve = 'prime256v1') {
  const folder = await mkdtemp(join(tmpdir(), 'mcm-release-'));
  folders.push(folder);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  const [dist, secret, open] = [join(folder, 'dist'), join(folder, 'key.pem'), join(folder, 'public.pem')];
  await mkdir(join(dist, 'packages'), { recursive: true });
  await writeFile(join(dist, 'mcm.tar.gz'), 'archive');
  await writeFile(join(dist, 'packages/core.tgz'), 'package');
  await writeFile(secret, privateKey.export({ type: 'sec1', format: 'pem' }));
  await writeFile(open, publicKey.export({ type: 'spki', format: 'pem' }));
  return { dist, secret, open };
}

async function signed() {
  const { dist, secret, open } = await release();
  expect(await signRelease(dist, secret, SOURCES)).toBe(2);
  return { dist, open, secret };
}

test('a signed release has correct checksums, signatures and provenance', async () => {
  const { dist, open } = await signed();
  expect(await verifyRelease(dist, open)).toEqual([]);
  const { payload } = JSON.parse(await readFile(join(dist, RELEASE_FILES.provenance), 'utf8'));
  expect(JSON.parse(Buffer.from(payload, 'base64').toString())).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    predicateType: 'https://slsa.dev/provenance/v1',
    subject: [{ name: 'mcm.tar.gz' }, { name: 'packages/core.tgz' }],
    predicate: {
      buildDefinition: { externalParameters: { commit: SOURCES.commit } },
      runDetails: { builder: { id: SOURCES.builder } },
    },
  });
});

test('signing again gives the same checksums, and does not sign its own files', async () => {
  const { dist, open, secret } = await signed();
  const before = await readFile(join(dist, RELEASE_FILES.sums), 'utf8');
  expect(await signRelease(dist, secret, SOURCES)).toBe(2);
  expect(await readFile(join(dist, RELEASE_FILES.sums), 'utf8')).toBe(before);
  expect(await verifyRelease(dist, open)).toEqual([]);
});

test.each([
  [
    'a changed file',
    (dist: string) => writeFile(join(dist, 'mcm.tar.gz'), 'other'),
    [/^mcm\.tar\.gz differs from the signed file/],
  ],
  ['a missing file', (dist: string) => rm(join(dist, 'packages/core.tgz')), [/^packages\/core\.tgz is missing$/]],
  ['an additional file', (dist: string) => writeFile(join(dist, 'more'), ''), [/^more has no signature$/]],
  [
    'changed checksums',
    (dist: string) => writeFile(join(dist, RELEASE_FILES.sums), ''),
    [/not a signature of SHA256SUMS/],
  ],
] as const)('%s is reported', async (_, change, reports) => {
  const { dist, open } = await signed();
  await change(dist);
  expect(await verifyRelease(dist, open)).toEqual(reports.map((report) => expect.stringMatching(report)));
});

test('a changed provenance is reported', async () => {
  const { dist, open } = await signed();
  const path = join(dist, RELEASE_FILES.provenance);
  const envelope = JSON.parse(await readFile(path, 'utf8'));
  const other = Buffer.from(envelope.payload, 'base64').toString().replace('example.com', 'other.com');
  await writeFile(path, JSON.stringify({ ...envelope, payload: Buffer.from(other).toString('base64') }));
  expect(await verifyRelease(dist, open)).toEqual(['this key did not sign provenance.intoto.json']);
});

test('a signature of another key is reported', async () => {
  const { dist } = await signed();
  const { open } = await release();
  expect(await verifyRelease(dist, open)).toEqual([expect.stringContaining('by this key')]);
});

test('a key of another curve is refused', async () => {
  const { dist, secret } = await release('secp384r1');
  await expect(signRelease(dist, secret, SOURCES)).rejects.toThrow(/must be an ECDSA key with the curve P-256/);
});

test.skipIf(!isInstalled('openssl') || !isInstalled('sha256sum'))(
  'openssl verifies the signature, and sha256sum verifies the files',
  async () => {
    const { dist, open } = await signed();
    const { sums, signature } = RELEASE_FILES;
    const run = (program: string, ...args: readonly string[]) =>
      execFileSync(program, [...args], { cwd: dist, encoding: 'utf8' });
    expect(run('openssl', 'dgst', '-sha256', '-verify', open, '-signature', signature, sums)).toBe('Verified OK\n');
    expect(run('sha256sum', '--check', '--strict', sums)).toBe('mcm.tar.gz: OK\npackages/core.tgz: OK\n');
  },
);
