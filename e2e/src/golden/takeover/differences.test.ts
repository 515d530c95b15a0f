import { fileURLToPath } from 'node:url';
import type { KubeObject } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { Lens } from './recordings/object-states.ts';
import { type History, readHistories } from './recordings/recording.ts';
import { sameContract } from './same-contract.ts';
import { takeOver } from './take-over.ts';

const histories = await readHistories(fileURLToPath(new URL('../../../testdata/takeover', import.meta.url)));

function historyOf(scenario: string): History {
  const found = histories.find(({ file }) => file === `${scenario}.json`);
  if (!found) throw new Error(`no recording ${scenario}`);
  return found;
}

/** Resolves with the differences that the comparison reports after a lens has changed the results of mcm. */
async function reportedOf(scenario: string, lens: Lens): Promise<string> {
  const failures: string[] = [];
  for await (const { failure } of sameContract(historyOf(scenario), lens)) if (failure) failures.push(failure);
  return failures.join('\n');
}

const inText =
  (kind: string, from: RegExp, to: string): Lens =>
  (object) =>
    object.kind === kind ? (JSON.parse(JSON.stringify(object).replaceAll(from, to)) as KubeObject) : object;

const without =
  (kind: string, field: 'labels' | 'annotations' | 'finalizers' | 'ownerReferences', key?: string): Lens =>
  (object) => {
    const value = object.metadata[field];
    if (object.kind !== kind || value === undefined) return object;
    const rest =
      key === undefined ? undefined : Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
    return { ...object, metadata: { ...object.metadata, [field]: rest } } as KubeObject;
  };

const hiding =
  (kind: string, reason?: string): Lens =>
  (object) =>
    object.kind === kind && (reason === undefined || ('reason' in object && object.reason === reason))
      ? undefined
      : object;

const swapping = (kind: string, one: string, other: string): Lens => {
  const swap = (text: string): string => (text === one ? other : one);
  return (object) =>
    object.kind === kind
      ? (JSON.parse(JSON.stringify(object).replaceAll(new RegExp(`${one}|${other}`, 'g'), swap)) as KubeObject)
      : object;
};

test.each(
  sampled<[string, string, Lens, RegExp]>(
    [
      [
        'a label that a Node lacks',
        'birth',
        without('Node', 'labels', 'node.gardener.cloud/machine-name'),
        /Node pool-<set 1>-<machine>: metadata\.labels\.node\.gardener\.cloud\/machine-name is absent, not pool-<set 1>-<machine>/,
      ],
      [
        'an annotation of a set',
        'birth',
        without('MachineSet', 'annotations', 'deployment.kubernetes.io/max-replicas'),
        /MachineSet pool-<set 1>: metadata\.annotations\.deployment\.kubernetes\.io\/max-replicas is absent, not 4/,
      ],
      [
        'a finalizer',
        'birth',
        without('Machine', 'finalizers'),
        /Machine .*: metadata\.finalizers\[0\] is absent, not machine/,
      ],
      ['an owner', 'birth', without('Machine', 'ownerReferences'), /Machine .*: metadata\.ownerReferences/],
      ['an object', 'birth', hiding('Node'), /Node pool-<set 1>-<machine> is missing/],
      [
        'a phase',
        'birth',
        inText('Machine', /"Running"/g, '"Available"'),
        /status\.currentStatus\.phase is Available, not Running/,
      ],
      [
        "a condition's reason",
        'birth',
        inText('MachineDeployment', /NewMachineSetAvailable/g, 'Complete'),
        /status\.conditions\[Progressing\]\.reason is Complete, not NewMachineSetAvailable/,
      ],
      [
        "an operation's error code",
        'create-unavailable',
        inText('Machine', /"errorCode":"Unavailable"/g, '"errorCode":"Internal"'),
        /status\.lastOperation\.errorCode is Internal, not Unavailable/,
      ],
      [
        'a description',
        'delete-fails',
        inText('Machine', /Aborting operation/g, 'Going on'),
        /status\.lastOperation\.description is .*Going on.*, not .*Aborting operation/,
      ],
      [
        'an event',
        'roll',
        hiding('Event', 'SuccessfulDelete'),
        /the Normal event SuccessfulDelete of a MachineSet 0 times, the original 3 times/,
      ],
      [
        'how far a set was scaled',
        'roll',
        inText('Event', /Scaled down machine set (\S+) to 0/g, 'Scaled down machine set $1 to 1'),
        /events contain a scaling of pool-<set 1> to 3, then 1, then 1 instead of 3, then 0/,
      ],
      [
        'a taint that existed for a while',
        'roll',
        inText('Node', /PreferNoSchedule/g, 'NoSchedule'),
        /order of Node .*prefer-no-schedule.* \(missing: PreferNoSchedule\)/,
      ],
      [
        'the order of phases',
        'roll',
        swapping('Machine', '"Pending"', '"Terminating"'),
        /order of Machine .*phase .* is Terminating → Running → Pending, not .*Running → Terminating/,
      ],
      [
        'a machine that failed and that the original kept',
        'birth',
        inText('Machine', /"phase":"Pending"/g, '"phase":"Failed"'),
        /order of Machine .*phase \(mcm sends an additional write: Failed\)/,
      ],
      [
        'the order of the steps of a deletion',
        'roll',
        swapping(
          'Machine',
          'Set machine status to termination. Now, getting VM Status',
          'Drain successful. Initiate VM deletion',
        ),
        /order of Machine .*lastOperation \(an additional write/,
      ],
      [
        'the order of an in-place update',
        'in-place-auto',
        swapping('Node', 'CandidateForUpdate', 'UpdateSuccessful'),
        /InPlaceUpdate/,
      ],
    ],
    3,
    3,
  ),
)('a difference of %s is reported', async (_what, scenario, lens, reported) => {
  expect(await reportedOf(scenario, lens)).toMatch(reported);
});

test('a replaced machine is reported with its name', async () => {
  const roll = historyOf('birth');
  const last = roll.states.length - 1;
  const kept = roll.states[last]?.objects.keys();
  const name = [...(kept ?? [])].find((key) => key.startsWith('Machine/'))?.slice('Machine/'.length);
  const lens: Lens = (object) =>
    object.kind === 'Machine' && object.metadata.name === name
      ? { ...object, metadata: { ...object.metadata, uid: 'another' } }
      : object;
  expect((await takeOver(roll, last, lens)).failure).toBe(`Machine ${name} no longer exists, but the original kept it`);
});
