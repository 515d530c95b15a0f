import { expect, test } from 'vitest';
import { referenceFiles, staleFiles } from './provider-reference.ts';

test('the reference of every provider is what its schemas say (pnpm generate)', () => {
  expect(referenceFiles().size).toBe(8);
  expect(staleFiles()).toEqual([]);
});

test('each field of a provider spec is in its reference, down to the deepest', () => {
  const text = referenceFiles().get('docs/providers/reference/aws.md') ?? '';
  for (const field of ['ami', 'blockDevices[].ebs.volumeSize', 'networkInterfaces[].ipv6PrefixCount', 'tags'])
    expect(text).toContain(`| \`${field}\``);
});
