import { driverReference } from '@mcm/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { unknownFieldCases, wrongTypes } from './spec-cases.ts';

const { providerSpec: schema } = driverReference({
  name: 'toy',
  providerSpec: z.object({
    size: z.string(),
    disks: z.array(z.object({ gigabytes: z.int(), fast: z.boolean().optional() })).optional(),
    tags: z.record(z.string(), z.string()).optional(),
    kind: z.enum(['a', 'b']).optional(),
    anything: z.unknown(),
  }),
  credentialsSchema: z.looseObject({}),
});
const spec = { size: 'small', disks: [{ gigabytes: 5 }, { gigabytes: 6 }] };

test('each field at any depth has one case with a wrong value, and its other fields are unchanged', () => {
  expect(wrongTypes(schema, spec).map(({ path, spec: wrong }) => [path, wrong])).toEqual([
    ['size', { ...spec, size: 7 }],
    ['disks', { ...spec, disks: 'a text' }],
    ['disks[0]', { ...spec, disks: ['a text', { gigabytes: 6 }] }],
    ['disks[0].gigabytes', { ...spec, disks: [{ gigabytes: 'seven' }, { gigabytes: 6 }] }],
    ['disks[0].fast', { ...spec, disks: [{ gigabytes: 5, fast: 'perhaps' }, { gigabytes: 6 }] }],
    ['tags', { ...spec, tags: 'a text' }],
    ['tags.of-the-kit', { ...spec, tags: { 'of-the-kit': 7 } }],
    ['kind', { ...spec, kind: 'no-such-value-of-the-kit' }],
  ]);
});

test('each field has one case with a misspelled name', () => {
  expect(unknownFieldCases(schema, spec).map(({ path, meant }) => `${path} for ${meant}`)).toEqual([
    'siize for size',
    'diisks for disks',
    'disks[0].gigaabytes for gigabytes',
    'disks[0].faast for fast',
    'taags for tags',
    'kiind for kind',
    'anytthing for anything',
  ]);
});
