import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { look, pod } from '../../drain/testing.ts';
import type { HookStage } from '../../hooks/definitions.ts';
import { planDeletion } from '../deletion/deletion.ts';
import type { MachineObservation } from '../model/observation.ts';
import { described, dying, nodeless, see, T1, T2, T3, T4, terminating, verbs } from '../test-dying.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';

const waitingFor = (stage: HookStage) => ({
  annotations: {
    [Annotations.Hooks]: `${stage} check owner 1h Block`,
    [Annotations.HooksBegun]: `${stage}=${at(0)}`,
    [`${stage}.${Annotations.HookSuffix}/check`]: 'owner',
  },
});
const hooked = (stage: HookStage, step: string) =>
  dying(terminating(step), { labels: { node: 'fakeNode-0' }, ...waitingFor(stage) });
const drain = look([pod('a')]);
const said = (stage: HookStage, step: string) =>
  `Waiting for ${stage} hook check of owner, since 2026-01-01T12:00:00Z. ${step}`;

test.each<[what: string, observation: MachineObservation, description: string]>([
  ['before its drain', see(hooked('before-drain', T1), { drain }), said('before-drain', T1)],
  ['during its drain', see(hooked('before-drain', T2), { drain }), said('before-drain', T2)],
  ['before its VM is deleted', see(hooked('before-delete', T4)), said('before-delete', 'Initiate VM deletion')],
])('a machine waits for a hook and stays at its step: %s', (_what, observation, description) => {
  const plan = planDeletion(observation, NOON);
  expect([verbs(plan.actions), described(plan.actions)]).toEqual([['writeStatus'], description]);
});

const created = { annotations: waitingFor('before-delete').annotations };
const unmade = machine({ metadata: { deletionTimestamp: at(0), ...created }, status: terminating(T1) });

test.each<[what: string, observation: MachineObservation, actions: string[]]>([
  ['a before-drain hook after the drain', see(hooked('before-drain', T3)), ['call delete']],
  ['a before-drain hook without a Node', { ...nodeless, machine: hooked('before-drain', T2) }, ['call delete']],
  [
    'a before-drain hook without a target cluster',
    see(hooked('before-drain', T2), { hasTarget: false }),
    ['call delete'],
  ],
  [
    'a before-delete hook if no VM was created',
    { ...nodeless, machine: unmade, inherited: false, driver: { initialize: false, status: false } },
    ['call delete'],
  ],
])('a machine does not wait for %s', (_what, observation, actions) => {
  expect(verbs(planDeletion(observation, NOON).actions)).toEqual(actions);
});

test('a Node that joins during a before-delete hook is drained before the VM is deleted', () => {
  const started = { ...nodeless, machine: hooked('before-delete', T1) };
  const [report] = planDeletion(started, NOON).actions;
  if (report?.do !== 'writeStatus') throw new Error('the status does not contain the hook');
  expect(report.status.lastOperation?.description).toBe(said('before-delete', T1));
  const waiting = { ...started.machine, status: report.status };
  const joined = see(waiting, { node: node({ conditions: hc('True') }), drain });
  expect(verbs(planDeletion(joined, NOON).actions)).toEqual(['cordon']);
});
