import { expect, test } from 'vitest';
import { machine, NOON } from '../../machine/testing.ts';
import { draftEvidence, type EvidenceParts } from './bundle.ts';

const parts = (change: Partial<EvidenceParts>): EvidenceParts => ({
  machine: machine(),
  machineClass: undefined,
  failure: { id: 'f', reason: 'it did not join', at: NOON },
  instance: undefined,
  gaps: [],
  known: { secrets: {}, tokens: [] },
  ...change,
});

const lines = (count: number, text: string): string =>
  Array.from({ length: count }, (_, i) => `${i} ${text}\n`).join('');

test('evidence of any size fits into a ConfigMap, and the newest part is kept from the start of a line', () => {
  const endless = lines(3_000, 'x'.repeat(100));
  const conditions = Array.from({ length: 500 }, (_, i) => ({
    type: `T${i}`,
    status: 'True',
    message: 'y'.repeat(200),
  }));
  const { data = {} } = draftEvidence(
    parts({
      machine: machine({ status: { conditions: conditions as never } }),
      failure: { id: 'f', reason: endless, at: NOON },
      instance: { console: endless, state: endless },
      gaps: [endless],
    }),
  );
  const bytes = Object.entries(data).reduce((sum, [key, text]) => sum + key.length + Buffer.byteLength(text), 0);
  expect(bytes).toBeLessThan(256 * 1024);
  expect(data.console?.length).toBeGreaterThan(65_000);
  expect(data.console).toMatch(/^…\n\d+ x{100}\n/);
  expect(data.console?.endsWith(`2999 ${'x'.repeat(100)}\n`)).toBe(true);
});

test('secrets are removed before texts are cut, so no part of a secret remains at the cut', () => {
  const secret = `s3cr3t-${'q'.repeat(400)}`;
  const known = { secrets: { key: secret }, tokens: [] };
  for (const shift of [0, 100, 200, 300, 400]) {
    const console = `${secret} ${'z'.repeat(65_536 - shift)}`;
    const { data = {} } = draftEvidence(parts({ known, instance: { console } }));
    expect(data.console).not.toMatch(/q{9}/);
  }
});
