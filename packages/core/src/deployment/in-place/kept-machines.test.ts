import { Annotations, Labels, type MachineDeployment } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { deployment, NOW, set } from '../../set/test-objects.ts';
import { planRollout } from '../plan.ts';
import { machineIn, nodeIn, type UpdateState } from '../testing/updated-machine.ts';

const KEY = Annotations.RolloutOnCannotUpdateInPlace;

const CANDIDATE: UpdateState = { marks: ['candidate'], reason: 'CandidateForUpdate' };
const FAILED: UpdateState = {
  marks: ['candidate', 'selected', 'failed'],
  reason: 'UpdateFailed',
  phase: 'InPlaceUpdateFailed',
};

const pool = (replicas: number, policy: string | undefined, limits: object = {}, type = 'InPlaceUpdate') => {
  const update = { maxSurge: 0, maxUnavailable: 2, orchestrationType: 'Auto', ...limits };
  const strategy = type === 'InPlaceUpdate' ? { type, inPlaceUpdate: update } : { type };
  const made = deployment(replicas, { className: 'large', strategy } as Parameters<typeof deployment>[1]);
  const annotations = { ...made.metadata.annotations, ...(policy === undefined ? {} : { [KEY]: policy }) };
  return { ...made, metadata: { ...made.metadata, annotations } };
};

function planned(
  given: MachineDeployment,
  states: readonly UpdateState[],
  { kept = [], current = 0 }: { readonly kept?: readonly string[]; readonly current?: number } = {},
) {
  const old = set('old', states.length, { age: 90, className: 'former', labels: { [Labels.ScaleUpDisabled]: 'true' } });
  const fresh = set('new', current, { className: 'large' });
  const nodes = new Map<string, Node>(
    states.map((state, index) => {
      const node = nodeIn(state, `m${index}`);
      if (!kept.includes(node.metadata.name)) return [node.metadata.name, node];
      const annotations = { ...node.metadata.annotations, [KEY]: 'Stop' };
      return [node.metadata.name, { ...node, metadata: { ...node.metadata, annotations } }];
    }),
  );
  const plan = planRollout({
    deployment: given,
    sets: [fresh, old],
    machines: new Map([
      [old.metadata.uid, states.map((state, index) => machineIn(state, `m${index}`))],
      [fresh.metadata.uid, Array.from({ length: current }, (_, index) => machineIn({}, `n${index}`))],
    ]),
    creating: () => 0,
    nodeOf: (name) => nodes.get(name),
    now: NOW,
  });
  const changes = plan.inPlace.nodes.map(({ node, change }) => ({ name: node.metadata.name, ...change.metadata }));
  const selects = changes.filter(({ labels }) => labels?.[Labels.SelectedForUpdate] === 'true');
  const policies = Object.fromEntries(
    changes.flatMap(({ name, annotations }) => (annotations?.[KEY] === undefined ? [] : [[name, annotations[KEY]]])),
  );
  const sizes = Object.fromEntries(plan.write.map(({ metadata, spec }) => [metadata.name, spec.replicas]));
  return { plan, selected: selects.map(({ name }) => name), policies, sizes, changes };
}

describe('the annotation on-cannot-update-in-place', () => {
  test('one write selects a node and copies Stop to the node', () => {
    const { changes } = planned(pool(2, 'Stop', { maxUnavailable: 1 }), [CANDIDATE, CANDIDATE]);
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({
      labels: { [Labels.SelectedForUpdate]: 'true' },
      annotations: { [KEY]: 'Stop' },
    });
  });

  test.each([undefined, 'Replace'])('without Stop, nodes get no copy, and the rollout continues: %s', (policy) => {
    const { policies, selected } = planned(pool(3, policy), [FAILED, CANDIDATE, CANDIDATE]);
    expect([policies, selected]).toEqual([{}, ['m1']]);
  });

  test('after a failed update, Stop selects no node, and the condition names the annotation', () => {
    const { plan, selected, policies } = planned(pool(3, 'Stop'), [FAILED, CANDIDATE, CANDIDATE]);
    expect(selected).toEqual([]);
    expect(policies).toEqual({ m0: 'Stop' });
    expect(plan.because).toBe(`waiting: an in-place update failed, and ${KEY} is Stop`);
    expect(plan.condition).toMatchObject({ reason: 'InPlaceUpdateFailed' });
    expect(plan.condition?.message).toContain(
      `mcm keeps the machines and selects no other node, because ${KEY} is Stop. To replace a machine, delete the machine.`,
    );
  });

  test('Stop keeps the failed machine even if the current set has all replicas', () => {
    const states = [FAILED];
    expect(planned(pool(2, 'Stop', { maxSurge: 1 }), states, { current: 2 }).sizes.old ?? 1).toBe(1);
    expect(planned(pool(2, undefined, { maxSurge: 1 }), states, { current: 2 }).sizes.old).toBe(0);
  });

  test('a node whose update to an older template failed is selected again', () => {
    const again: UpdateState = { ...FAILED, marks: ['candidate'], template: '', reason: 'CandidateForUpdate' };
    const { selected } = planned(pool(2, 'Stop'), [again, CANDIDATE]);
    expect(selected).toEqual(['m0']);
  });

  test('the manager removes the copy with the annotation of the deployment', () => {
    const options = { kept: ['m0', 'm1'] };
    expect(planned(pool(2, undefined), [FAILED, CANDIDATE], options).policies).toEqual({ m0: null, m1: null });
    expect(planned(pool(2, 'Stop'), [FAILED, CANDIDATE], options).policies).toEqual({ m1: null });
  });

  test('a node without a selection gets the copy while its update runs', () => {
    const late: UpdateState = { phase: 'InPlaceUpdating', reason: 'ReadyForUpdate' };
    expect(planned(pool(2, 'Stop'), [late, CANDIDATE]).policies.m0).toBe('Stop');
  });

  test('the manager removes the copy when the deployment has another strategy', () => {
    const { policies } = planned(pool(1, 'Stop', {}, 'RollingUpdate'), [FAILED], { kept: ['m0'] });
    expect(policies).toEqual({ m0: null });
  });

  test('a plan without a difference writes no node', () => {
    const { changes } = planned(pool(1, 'Stop'), [FAILED], { kept: ['m0'] });
    expect(changes).toEqual([]);
  });
});
