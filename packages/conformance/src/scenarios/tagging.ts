import { type ListedInstance, ORPHAN_TAGS, type TagChanges } from '@mcm/core';
import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Process, Stage } from '../stage/stage.ts';
import { requestsOfCreation } from './creation.ts';

const { deleteAfter, quarantined } = ORPHAN_TAGS;
const TIME = '2026-01-31t12-00-00z';
const KEYS = [deleteAfter, quarantined];

/** Each VM has the tag of this control cluster, which must not change. */
const OWNER = 'owner-of-conformance';

type Orphan = ReturnType<Stage['madeUp']>;

const processOf = (stage: Stage): Process => stage.process({ owner: OWNER });

/** Creates a VM, and returns the machine that the controller uses in calls for an orphaned VM. */
async function begun(stage: Stage): Promise<{ readonly process: Process; readonly orphan: Orphan }> {
  const process = processOf(stage);
  if (!process.invoker.can.tag) throw new Skip('the driver has no method tag');
  const machine = stage.machine('tagged');
  const { providerId } = await stage.must('creation', stage.create(process, machine));
  return { process, orphan: stage.madeUp(machine.metadata.name, providerId) };
}

const textOf = (tags: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.fromEntries(Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1))));

/** Fails the scenario unless `list` returns exactly the given tags for the VM. */
async function shows(stage: Stage, process: Process, orphan: Orphan, tags: Readonly<Record<string, string>>) {
  if (!process.invoker.can.list) return;
  const own = async (): Promise<ListedInstance | undefined> =>
    (await stage.must('list', process.invoker.list(stage.machineClass, undefined, KEYS))).find(
      ({ providerId }) => providerId === orphan.spec.providerID,
    );
  await stage.settle();
  const until = stage.world.clock.monotonic() + stage.pace.lateMs;
  let found = await own();
  while (textOf(found?.tags ?? {}) !== textOf(tags) && stage.world.clock.monotonic() < until) {
    await stage.pass(stage.pace.lookMs);
    found = await own();
  }
  expect(found !== undefined, 'after a change of tags, list no longer returns the VM');
  expect((found.owner ?? OWNER) === OWNER, `after a change of tags, the owner of the VM is ${found.owner}`);
  expect(
    textOf(found.tags ?? {}) === textOf(tags),
    `list must return the tags ${textOf(tags)}, but returns ${textOf(found.tags ?? {})}`,
  );
  const plain = (await stage.must('list', process.invoker.list(stage.machineClass))).find(
    ({ providerId }) => providerId === orphan.spec.providerID,
  );
  expect(plain?.tags === undefined, 'list must return no tags if the caller needs none');
}

async function setAndRemove(stage: Stage): Promise<void> {
  const { process, orphan } = await begun(stage);
  await shows(stage, process, orphan, {});
  await stage.must('tag', process.invoker.tag(orphan, { [quarantined]: 'machines-lost' }));
  await stage.must('a second tag', process.invoker.tag(orphan, { [deleteAfter]: TIME }));
  process.stop.abort(new Error('killed'));
  const next = processOf(stage);
  await stage.must('the repeated tag by a new process', next.invoker.tag(orphan, { [deleteAfter]: TIME }));
  await shows(stage, next, orphan, { [deleteAfter]: TIME, [quarantined]: 'machines-lost' });
  for (const call of ['the removal of a tag', 'the repeated removal of a tag'])
    await stage.must(call, next.invoker.tag(orphan, { [quarantined]: null, [deleteAfter]: '2026-02-01t12-00-00z' }));
  await shows(stage, next, orphan, { [deleteAfter]: '2026-02-01t12-00-00z' });
  if (next.invoker.can.stop) {
    await stage.must('stop', next.invoker.stop(orphan, false));
    await stage.must('tag of a stopped VM', next.invoker.tag(orphan, { [deleteAfter]: null }));
    await shows(stage, next, orphan, {});
  }
  await stage.retry('deletion', () => stage.delete(next, orphan));
}

async function atTheSameTime(stage: Stage): Promise<void> {
  const { process, orphan } = await begun(stage);
  const changes: readonly TagChanges[] = [{ [quarantined]: 'machines-lost' }, { [deleteAfter]: TIME }];
  const calls = changes.map((tags) => processOf(stage).invoker.tag(orphan, tags));
  const ended = await stage.must('two changes of tags', Promise.allSettled(calls));
  for (const [index, { status }] of ended.entries())
    if (status === 'rejected') await stage.retry('tag', () => process.invoker.tag(orphan, changes[index] ?? {}));
  await shows(stage, process, orphan, { [deleteAfter]: TIME, [quarantined]: 'machines-lost' });
}

async function lostResponses(stage: Stage): Promise<void> {
  // If the driver does not send its requests over the connection of the kit, the scenario is skipped.
  await requestsOfCreation(stage);
  const { orphan } = await begun(stage);
  for (let at = 0; at < 3; at++) {
    const process = processOf(stage);
    process.wire.assess = (_, index) => (index === at ? 'answer lost' : 'passes');
    const tags = { [deleteAfter]: `2026-01-31t12-00-0${at}z` };
    await stage.retry('tag', () => process.invoker.tag(orphan, tags));
    await shows(stage, processOf(stage), orphan, tags);
  }
}

async function deleted(stage: Stage): Promise<void> {
  const { process, orphan } = await begun(stage);
  await stage.retry('deletion', () => stage.delete(process, orphan));
  await stage.settle();
  for (const tags of [{ [deleteAfter]: TIME }, { [deleteAfter]: null }]) {
    const ended = await stage.end(process.invoker.tag(orphan, tags));
    expect(ended.ok, `tag of a deleted VM must succeed, but fails with ${ended.ok ? '' : ended.error.message}`);
  }
}

export const tagging: readonly Scenario[] = [
  {
    name: 'tag',
    impact: 'the cloud console shows wrong tags of an orphaned VM, or the orphan search no longer finds the VM',
    run: setAndRemove,
  },
  {
    name: 'tag: two changes at the same time',
    impact: 'mcm removes a tag that another program sets',
    run: atTheSameTime,
  },
  {
    name: 'tag: lost responses',
    impact: 'after a broken connection, an orphaned VM has no tag or a wrong tag',
    run: lostResponses,
  },
  {
    name: 'tag: deletion',
    impact: 'mcm reports a failed tag for a VM that no longer exists',
    run: deleted,
  },
];
