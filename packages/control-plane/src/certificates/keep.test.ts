import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAuthority } from './authority.ts';
import { keepAuthority } from './keep.ts';

const NOW = new Date('2026-01-01T00:00:00Z');

test('an expired or invalid authority is refused with a hint', () => {
  const dir = mkdtempSync(join(tmpdir(), 'authority '));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const made = keepAuthority(dir, NOW);
  expect(keepAuthority(dir, NOW).certificate).toBe(made.certificate);
  const late = new Date('2066-01-01T00:00:00Z');
  expect(() => keepAuthority(dir, late)).toThrow(
    /^cannot use the certificate authority in .* ca.crt expired at 20.*: remove both/,
  );
  writeFileSync(join(dir, 'ca.key'), createAuthority(NOW).key);
  expect(() => keepAuthority(dir, NOW)).toThrow(
    /ca.key does not match ca.crt; restore the matching pair, or remove both/,
  );
});
