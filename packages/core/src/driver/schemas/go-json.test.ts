import { expect, test } from 'vitest';
import { z } from 'zod';
import { foldGoJson } from './go-json.ts';

const spec = z.object({
  region: z.string().optional(),
  iam: z.object({ arn: z.string().optional(), name: z.string().optional() }).optional(),
  disks: z.array(z.object({ sizeGb: z.int().optional() })).optional(),
  tags: z.record(z.string(), z.string()).optional(),
});

test('keys match in any letter case, the last of several applies, and objects are merged', () => {
  expect(foldGoJson(spec, { Region: 'a', REGION: 'b', iam: { name: 'n' }, IAM: { ARN: 'x' } }).value).toEqual({
    region: 'b',
    iam: { name: 'n', arn: 'x' },
  });
});

test('the long s is a form of the letter s, as in Go', () => {
  expect(foldGoJson(spec, { di\u017fks: [{ \u017fizeGb: 1 }] }).value).toEqual({ disks: [{ sizeGb: 1 }] });
});

test('null counts as absent, and in lists and maps as the zero value', () => {
  expect(foldGoJson(spec, { region: null, disks: [null, { sizeGb: null }], tags: { a: null } }).value).toEqual({
    disks: [{}, {}],
    tags: { a: '' },
  });
  expect(foldGoJson(spec, null).value).toBeUndefined();
});

test('unknown fields are removed and reported, with the nearest name; keys of maps are not checked', () => {
  const { value, unknown } = foldGoJson(spec, { regoin: 'a', disks: [{ size: 1, colour: 'red' }], tags: { Any: 'x' } });
  expect(value).toEqual({ disks: [{}], tags: { Any: 'x' } });
  expect(unknown).toEqual([
    { path: '.regoin', nearest: 'region' },
    { path: '.disks[0].size', nearest: 'sizeGb' },
    { path: '.disks[0].colour', nearest: undefined },
  ]);
});

test('the schema reports a wrong type', () => {
  const { value } = foldGoJson(spec, { region: 5, disks: 'x' });
  expect(spec.safeParse(value).success).toBe(false);
});
