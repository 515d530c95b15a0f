import { readFile } from 'node:fs/promises';
import type { MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { classProblem } from './class-problems.ts';

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
  ['local', { image: '' }, 'providerSpec.image: must not be empty; correct it in MachineClass'],
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
