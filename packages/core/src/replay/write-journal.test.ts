import { expect, test } from 'vitest';
import { scrub } from '../driver/secrets/evidence-text.ts';
import { createRig } from '../run/testing/start.ts';
import { Encoder } from './codec.ts';
import { readJournal } from './read-journal.ts';
import { replayJournal } from './replay.ts';
import { testJournal, textOf } from './testing.ts';

const CANARY = 'c4n4ry-9f86d081884c7d65';

test('no secret, user data or provider spec is in the text of a journal, and its decisions are still repeated', async () => {
  const journal = testJournal();
  const { rig } = await createRig({ controller: { journal } });
  await rig.createClass('small', `#!/bin/sh\nexport KEY=${CANARY}\n`, { providerSpec: { startup: `run ${CANARY}` } });
  rig.start();
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': `{"spec":"${CANARY}"}`,
    'example.com/note': `authorization: bearer ${CANARY}`,
    'example.com/password': `"quoted" and ${CANARY}`,
  };
  await rig.createMachine('m-1', {}, { annotations });
  await rig.until(async () => (await rig.phase('m-1')) === 'Running');
  const known = { secrets: [{ key: CANARY }], tokens: [] };
  const text = textOf(journal, (line) => scrub(line, known));
  expect(text.join('\n')).not.toContain(CANARY);
  const { records, problems } = readJournal(text);
  expect(problems).toEqual([]);
  expect(replayJournal(records)).toEqual({ repeated: journal.size, differences: [], problems: [] });
});

test('texts that look like secrets are removed without a known secret, and the lines stay JSON', async () => {
  const journal = testJournal();
  const { rig } = await createRig({ controller: { journal } });
  await rig.createClass();
  rig.start();
  const key = '-----BEGIN RSA PRIVATE KEY-----\nMIIEow';
  const annotations = { 'example.com/key': key, 'example.com/token': '123456789', 'example.com/after': 'kept' };
  await rig.createMachine('m-1', {}, { annotations });
  await rig.until(async () => (await rig.phase('m-1')) === 'Running');
  const text = textOf(journal, (line) => scrub(line, { secrets: [], tokens: [] }));
  expect(text.join('\n')).not.toMatch(/MIIEow|123456789/);
  const { records, problems } = readJournal(text);
  expect(problems).toEqual([]);
  expect(replayJournal(records)).toEqual({ repeated: journal.size, differences: [], problems: [] });
});

test('annotations without their object contain no copy of the object', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': CANARY, 'example.com/note': 'kept' };
  const kept = { $map: [['small', { 'example.com/note': 'kept' }]] };
  expect(new Encoder().encode({ classAnnotations: new Map([['small', annotations]]) })).toEqual({
    classAnnotations: kept,
  });
});

test('an object that several records contain is written once', async () => {
  const encoder = new Encoder();
  const machine = { apiVersion: 'v1', kind: 'Machine', metadata: { name: 'm', uid: 'u', managedFields: [{}] } };
  const records = [encoder.encode({ machine }), encoder.encode({ other: [machine] })];
  expect(records).toEqual([{ machine: { $ref: 0 } }, { other: [{ $ref: 0 }] }]);
  expect(encoder.takeObjects()).toEqual([
    { number: 0, object: { apiVersion: 'v1', kind: 'Machine', metadata: { name: 'm', uid: 'u' } } },
  ]);
  expect(encoder.takeObjects()).toEqual([]);
});
