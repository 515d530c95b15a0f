import { expect, test } from 'vitest';
import { z } from 'zod';
import { driverReference, referenceText } from './reference.ts';

const reference = driverReference({
  name: 'toy',
  providerSpec: z.object({
    size: z.enum(['small', 'large']).meta({ description: 'of the server' }),
    disks: z.array(z.object({ gigabytes: z.int().optional() })).optional(),
    tags: z.record(z.string(), z.string()).optional(),
  }),
  credentialsSchema: z.looseObject({ token: z.string() }),
});

test('schemas become JSON Schema', () => {
  expect(reference.providerSpec).toMatchObject({
    type: 'object',
    required: ['size'],
    properties: { size: { type: 'string', enum: ['small', 'large'], description: 'of the server' } },
  });
  expect(reference.secret).toMatchObject({ required: ['token'], properties: { token: { type: 'string' } } });
});

test('the reference has a row for each field, at any depth, with its type and whether it is required', () => {
  const rows = referenceText(reference)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows.map(([, ...cells]) => cells.slice(0, 3))).toEqual([
    ['`size`', '`"small"` or `"large"`', 'Required. of the server'],
    ['`disks`', 'list of object', ''],
    ['`disks[].gigabytes`', 'integer', ''],
    ['`tags`', 'map of string', ''],
    ['`token`', 'string', 'Required.'],
  ]);
});
