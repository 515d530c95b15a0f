import { realClock, secrets } from '@mcm/kube';
import { expect, test } from 'vitest';
import { knownOf } from '../driver/secrets/known.ts';
import { NAMESPACE } from '../run/testing/rig.ts';
import { createRig } from '../run/testing/start.ts';
import { journalPage } from './page.ts';
import { readJournal } from './read-journal.ts';
import { testJournal } from './testing.ts';

const CANARY = 'c4n4ry-9f86d081884c7d65';

async function served() {
  const journal = testJournal();
  const { rig } = await createRig({ controller: { journal } });
  await rig.createClass('small', `export KEY=${CANARY}\n`);
  rig.start();
  await rig.createMachine('m-1', {}, { annotations: { note: `of ${CANARY}` } });
  await rig.createMachine('m-2');
  await rig.until(async () => (await rig.phase('m-1')) === 'Running' && (await rig.phase('m-2')) === 'Running');
  const known = (await rig.admin.resource(secrets, NAMESPACE).list()).items;
  const page = journalPage({
    journal,
    version: '1.2.3',
    controller: 'test',
    clock: realClock,
    known: () => knownOf(known),
  });
  const ask = async (query: string) => {
    const { body } = await page.answer(new URLSearchParams(query));
    return { body, read: readJournal(body.split('\n')) };
  };
  return { journal, ask, page };
}

test('the page has all records without the values of known Secrets', async () => {
  const { journal, ask } = await served();
  const { body, read } = await ask('');
  expect(body).not.toContain(CANARY);
  expect(body).toContain('"note":"of ***"');
  expect(read).toMatchObject({ version: '1.2.3', controller: 'test', problems: [] });
  expect(read.records).toHaveLength(journal.size);
});

test('the parameters select objects and the newest records', async () => {
  const { ask, page } = await served();
  const { records } = (await ask('kind=Machine&namespace=default&name=m-2')).read;
  expect(new Set(records.map(({ subject }) => subject.name))).toEqual(new Set(['m-2']));
  const newest = (await ask('name=m-2&limit=2')).read.records;
  expect(newest.map(({ at, because }) => [at, because])).toEqual(
    records.slice(-2).map(({ at, because }) => [at, because]),
  );
  expect((await ask('limit=0')).read.records).toEqual([]);
  expect((await ask('kind=MachineSet')).read.records).toEqual([]);
  await expect(page.answer(new URLSearchParams('limit=-1'))).rejects.toThrow(RangeError);
});
