import type { KeptEvidence } from '@mcm/core';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { evidenceLines } from './evidence-lines.ts';

test('each condition of the evidence has its own line', () => {
  const kept = partial<KeptEvidence>({
    failedAt: '2026-01-01T12:00:00Z',
    failure: 'the cloud ended the VM',
    conditions: 'Ready=False\nDiskPressure=True',
    configMap: 'evidence-m',
  });
  const lines = evidenceLines([kept], 'default');
  expect(lines).toContain('  conditions  Ready=False');
  expect(lines).toContain('              DiskPressure=True');
  expect(lines.join('')).not.toContain('\n');
});
