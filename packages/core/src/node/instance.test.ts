import { expect, test } from 'vitest';
import { sameInstance } from './instance.ts';

test.each<[string, string | undefined, string | undefined, boolean]>([
  ['equal', 'gce:///p/z/m-1', 'gce:///p/z/m-1', true],
  ['region and zone', 'aws:///eu-west-1/i-1', 'aws:///eu-west-1a/i-1', true],
  [
    'short and full path, another case',
    'azure:///westeurope/vm-1',
    'azure:///subscriptions/s/virtualMachines/VM-1',
    true,
  ],
  ['another VM', 'aws:///eu-west-1/i-1', 'aws:///eu-west-1/i-2', false],
  ['unknown', 'aws:///eu-west-1/i-1', undefined, true],
  ['unknown the other way round', undefined, 'aws:///eu-west-1/i-1', true],
  ['empty', '', 'aws:///eu-west-1/i-1', true],
  ['another scheme says nothing', 'aws:///eu-west-1/i-1', 'k3s://node', true],
])('%s', (_title, a, b, same) => {
  expect(sameInstance(a, b)).toBe(same);
});
