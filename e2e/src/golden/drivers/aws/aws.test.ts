import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { callsOf, readRecordings } from '../recording.ts';
import { differenceOf } from './compare.ts';
import { DIFFERENCES } from './differences.ts';
import { awsDriver } from './index.ts';

/** It computes for seconds: on a loaded machine that is a minute. */
const LONGEST_MS = 300_000;

const COPY = fileURLToPath(new URL('../../../../testdata', import.meta.url));

test(
  'every recorded call is sent and answered as the original did, but for the listed differences',
  async () => {
    const failures: string[] = [];
    let played = 0;
    for await (const { name, failure } of awsDriver.run(COPY)) {
      played++;
      if (failure !== undefined) failures.push(`${name}: ${failure}`);
    }
    expect(failures).toEqual([]);
    expect(played).toBe(563);
  },
  LONGEST_MS,
);

test('another request, code, text, answer or metric is seen', async () => {
  const cases = (await readRecordings(COPY, 'aws')).flatMap((recording) => recording.cases);
  const deleted = cases.find(({ name }) => name === 'delete/pid-no-slash');
  const [call] = deleted ? callsOf(deleted) : [];
  if (!deleted || !call) throw new Error('the recording is gone');
  const error = { name: 'MachineError', code: 'InvalidArgument', message: call.result.errorText ?? '' } as const;
  const right = { response: null, error: { ...error, retryAfterMs: undefined }, metrics: call.metrics ?? {} };
  const told = right as Parameters<typeof differenceOf>[2];
  expect(differenceOf(deleted, call, told, [])).toBeUndefined();
  const request = { action: 'TerminateInstances', params: {}, scope: undefined };
  expect(differenceOf(deleted, call, told, [request])).toMatch('request 1: wanted none, sent TerminateInstances');
  expect(differenceOf(deleted, call, { ...told, error: undefined }, [])).toMatch('code: wanted InvalidArgument');
  expect(differenceOf(deleted, call, { ...told, metrics: {} }, [])).toMatch(/^metric /);
});

test.each(Object.keys(DIFFERENCES))('the difference "%s" has its row in the table', async (row) => {
  const docs = await readFile(new URL('../../../../../docs/compatibility.md', import.meta.url), 'utf8');
  expect(docs.split('\n').map((line) => line.split('|')[1]?.trim())).toContain(row);
});
