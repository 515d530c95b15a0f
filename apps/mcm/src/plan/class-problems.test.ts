import { readFile } from 'node:fs/promises';
import type { MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { alternativesProblems, classProblem } from './class-problems.ts';

const PROVIDERS = ['aws', 'azure', 'gcp', 'local'] as const;

async function example(provider: string): Promise<MachineClass> {
  const name = provider === 'local' ? 'machine-class-large' : provider;
  const text = await readFile(new URL(`../../../../examples/${name}.yaml`, import.meta.url), 'utf8');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as MachineClass);
  const found = objects.find(({ kind }) => kind === 'MachineClass');
  if (!found) throw new Error(`examples/${name}.yaml has no MachineClass`);
  return found;
}

test.for(PROVIDERS)('the example class of %s is valid without its Secret', async (provider) => {
  expect(await classProblem(await example(provider))).toBeUndefined();
});

test.for([
  [
    'aws',
    { machineType: '' },
    'error while validating ProviderSpec providerSpec.machineType: Required value: MachineType is required',
  ],
  ['azure', { location: '' }, 'providerSpec.location'],
  ['gcp', { zone: '' }, 'zone'],
  ['local', { image: '' }, 'providerSpec.image: must not be empty; correct the field in MachineClass'],
] as const)('an invalid provider spec of %s is named with its field', async ([provider, broken, said]) => {
  const valid = await example(provider);
  const problem = await classProblem({ ...valid, providerSpec: { ...valid.providerSpec, ...broken } });
  expect(problem).toContain(said);
  expect(problem).not.toMatch(/secret/i);
});

test.for(PROVIDERS)('a provider spec of %s that is not a map is reported as a problem', async (provider) => {
  const valid = await example(provider);
  for (const providerSpec of ['text', 7, [], { tags: 7 }])
    expect(await classProblem({ ...valid, providerSpec } as unknown as MachineClass)).toContain('providerSpec');
});

test('the name of a provider is case-sensitive, and a class of an unknown provider is not checked', async () => {
  const valid = await example('aws');
  expect(await classProblem({ ...valid, provider: 'aws' })).toContain("requested for Provider 'aws'");
  expect(await classProblem({ ...valid, provider: 'OpenStack', providerSpec: {} })).toBeUndefined();
});

test.for([
  ['aws', { zone: 'eu-west-1b' }, 'zone: EC2 takes the zone from the subnet; set subnet to a subnet of the zone'],
  ['aws', { market: 'cheap' }, 'market: is "cheap"; write spot or on-demand'],
  [
    'azure',
    { zone: 'northeurope-2' },
    'zone: is "northeurope-2"; write the number of an availability zone such as "2"',
  ],
  ['gcp', { zone: 'mars-1a' }, 'zone: mars-1a is not in region'],
  ['local', { subnet: 'a' }, 'subnet: is not a field of an alternative of this provider; use machineType, zone'],
  ['local', { machineType: '' }, 'machineType: must be a non-empty string'],
  ['local', {}, ': is empty; write at least one of the fields machineType, zone'],
] as const)(
  'an invalid alternative of %s is named with its field and its fix: %j',
  async ([provider, alternative, said]) => {
    const valid = await example(provider);
    const annotations = { 'capacity.machine.sapcloud.io/alternatives': JSON.stringify([alternative]) };
    const [problem] = await alternativesProblems({ metadata: { ...valid.metadata, annotations } }, valid);
    expect(problem).toContain('capacity.machine.sapcloud.io/alternatives[0]');
    expect(problem).toContain(said);
  },
);

test.for([
  ['aws', { zone: 'eu-west-1b', subnet: 'subnet-2', market: 'spot' }],
  ['azure', { machineType: 'Standard_E4s_v5', zone: '2', market: 'spot' }],
  ['local', { zone: 'local-b', machineType: 'large' }],
] as const)('a valid alternative of %s has no problem', async ([provider, alternative]) => {
  const valid = await example(provider);
  const annotations = { 'capacity.machine.sapcloud.io/alternatives': JSON.stringify([alternative]) };
  expect(await alternativesProblems({ metadata: { ...valid.metadata, annotations } }, valid)).toEqual([]);
});

test('a list that is not JSON, or too long, is a problem', async () => {
  const valid = await example('local');
  const problems = (text: string) =>
    alternativesProblems(
      { metadata: { ...valid.metadata, annotations: { 'capacity.machine.sapcloud.io/alternatives': text } } },
      valid,
    );
  expect(await problems('zone b')).toEqual([expect.stringContaining('is not a JSON list')]);
  expect(await problems(JSON.stringify(Array(21).fill({ zone: 'b' })))).toEqual([
    expect.stringContaining('has 21 entries, but at most 20 are allowed'),
  ]);
});

test('the example of the documentation is valid', async () => {
  const page = await readFile(new URL('../../../../docs/capacity.md', import.meta.url), 'utf8');
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const [shown] = parseAllDocuments(yaml).map((document) => document.toJS() as MachineClass);
  if (!shown) throw new Error('docs/capacity.md has no example');
  const { metadata } = shown;
  expect(metadata.annotations?.['capacity.machine.sapcloud.io/alternatives']).toContain('local-c');
  expect(await alternativesProblems({ metadata }, await example('local'))).toEqual([]);
});
