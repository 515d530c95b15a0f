import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { callsOf, readRecordings } from '../recording.ts';
import { differenceOf } from './compare.ts';
import { DIFFERENCES } from './differences.ts';
import { azureDriver } from './index.ts';

/** It computes for seconds: on a loaded machine that is a minute. */
const LONGEST_MS = 300_000;

const COPY = fileURLToPath(new URL('../../../../testdata', import.meta.url));

test(
  'every recorded call is sent and answered as the original did, but for the listed differences',
  async () => {
    const failures: string[] = [];
    let played = 0;
    for await (const { name, failure } of azureDriver.run(COPY)) {
      played++;
      if (failure !== undefined) failures.push(`${name}: ${failure}`);
    }
    expect(failures).toEqual([]);
    expect(played).toBe(343);
  },
  LONGEST_MS,
);

test('another request, code, text or metric is seen', async () => {
  const cases = (await readRecordings(COPY, 'azure')).flatMap((recording) => recording.cases);
  const refused = cases.find(({ name }) => name === 'validation/013');
  const [call] = refused ? callsOf(refused) : [];
  if (!call) throw new Error('the recording is gone');
  const error = { name: 'MachineError', code: 'InvalidArgument', message: call.result.errorText ?? '' } as const;
  const told = { response: null, error: { ...error, retryAfterMs: undefined }, metrics: call.metrics ?? {} };
  const differs = (change: object, seen: Parameters<typeof differenceOf>[2] = []) =>
    differenceOf(call, { ...told, ...change } as Parameters<typeof differenceOf>[1], seen);
  expect(differs({})).toBeUndefined();
  const request = { host: 'h', method: 'GET', path: '/x', query: {}, body: '', authorization: undefined };
  expect(differs({}, [request])).toMatch('request 1: wanted none, sent GET /x');
  expect(differs({ error: undefined })).toMatch('code: wanted InvalidArgument');
  expect(differs({ error: { ...error, message: 'other words' } })).toMatch('text: wanted');
  expect(differs({ metrics: {} })).toMatch(/^metric /);
});

test.each(Object.keys(DIFFERENCES))('the difference "%s" has its row in the table', async (row) => {
  const docs = await readFile(new URL('../../../../../docs/compatibility.md', import.meta.url), 'utf8');
  expect(docs.split('\n').map((line) => line.split('|')[1]?.trim())).toContain(row);
});
