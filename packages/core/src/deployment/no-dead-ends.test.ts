import {
  InPlaceUpdateReasons,
  Labels,
  type Machine,
  type MachineDeployment,
  NodeConditions,
  phaseOf,
  TRUE_LOWER,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { SAFEGUARD_DEFAULTS } from '../disruption/safeguards.ts';
import { BREAKER_DEFAULTS } from '../disruption/unreachable.ts';
import { isTerminating, updateReasonOf } from '../objects/machines.ts';
import { NOW } from '../set/test-objects.ts';
import { type SimulatedEnd, simulateRollout } from '../simulation/simulate.ts';
import { type AnyState, anyState, FORMER_DEAD_ENDS, objectsOf } from './testing/any-state.ts';

const MINUTE = 60_000;
/**
 * An open circuit breaker would prevent replacements until an operator acts, so machines become unreachable one by one.
 */
const SAFEGUARDS = { ...SAFEGUARD_DEFAULTS, breaker: { ...BREAKER_DEFAULTS, minimumCount: 1_000 } };
const DURATIONS = { join: () => MINUTE, gone: () => MINUTE, update: () => MINUTE };
const ROUNDS = 12;

const withPhase = (machine: Machine, phase: string, reason?: string): Machine =>
  ({
    ...machine,
    status: {
      ...machine.status,
      currentStatus: { phase },
      ...(reason ? { conditions: [{ type: NodeConditions.InPlaceUpdate, status: 'True', reason }] } : {}),
    },
  }) as Machine;

function assessed(machine: Machine, node: Node | undefined): Machine {
  const phase = phaseOf(machine);
  const labels = node?.metadata.labels ?? {};
  const result = labels[Labels.UpdateResult];
  if (phase === 'CrashLoopBackOff') return withPhase(machine, 'Pending');
  if (phase === 'Unknown') return withPhase(machine, machine.metadata.name.endsWith('1') ? 'Running' : 'Failed');
  if (phase === 'InPlaceUpdateFailed') return withPhase(machine, 'Failed');
  if (phase === 'Failed') return withPhase(machine, 'Failed');
  if (phase === 'InPlaceUpdateSuccessful' && result === undefined) return withPhase(machine, 'Running');
  if (phase === 'InPlaceUpdating' && (result !== undefined || labels[Labels.SelectedForUpdate] === undefined)) {
    return result === 'successful'
      ? withPhase(machine, 'InPlaceUpdateSuccessful', InPlaceUpdateReasons.UpdateSuccessful)
      : withPhase(machine, 'Failed', InPlaceUpdateReasons.UpdateFailed);
  }
  if (
    phase === 'Running' &&
    result === 'successful' &&
    updateReasonOf(machine) !== InPlaceUpdateReasons.UpdateSuccessful
  )
    return withPhase(machine, 'InPlaceUpdateSuccessful', InPlaceUpdateReasons.UpdateSuccessful);
  if (phase === 'Running' && result === 'failed')
    return withPhase(machine, 'Failed', InPlaceUpdateReasons.UpdateFailed);
  const waits = labels[Labels.CandidateForUpdate] !== undefined && labels[Labels.SelectedForUpdate] === undefined;
  if (phase === 'Running' && waits) return withPhase(machine, 'Running', InPlaceUpdateReasons.CandidateForUpdate);
  return machine;
}

function selected(node: Node, { spec }: MachineDeployment): Node {
  const { labels = {} } = node.metadata;
  const byHand = spec.strategy?.inPlaceUpdate?.orchestrationType === 'Manual';
  if (!byHand || labels[Labels.CandidateForUpdate] === undefined || labels[Labels.SelectedForUpdate]) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, [Labels.SelectedForUpdate]: TRUE_LOWER } } };
}

interface Outcome {
  readonly end: SimulatedEnd;
  readonly steps: number;
  readonly because: string;
}

function isLastRolloutComplete({ deployment, sets, machines }: SimulatedEnd): boolean {
  const wanted = deployment.spec.replicas ?? 0;
  const all = [...machines.values()].flat();
  const isCurrent = ({ spec }: (typeof sets)[number]) =>
    spec.template.spec.class.name === deployment.spec.template.spec.class.name;
  const current = sets.filter(isCurrent).flatMap(({ metadata }) => machines.get(metadata.uid) ?? []);
  const sum = (some: typeof sets) => some.reduce((total, { spec }) => total + (spec.replicas ?? 0), 0);
  return (
    all.length === wanted &&
    current.length === wanted &&
    current.every((machine) => phaseOf(machine) === 'Running' && !isTerminating(machine)) &&
    sum(sets) === wanted &&
    sum(sets.filter(isCurrent)) === wanted
  );
}

function live(state: AnyState): Outcome {
  const { deployment, sets, fleet, nodes, classes } = objectsOf(state);
  let steps = 0;
  let because = '';
  let end: SimulatedEnd = { deployment, sets, machines: new Map([['', fleet]]), nodes, now: NOW };
  for (let round = 0; round < ROUNDS; round++) {
    const byName = new Map(end.nodes?.map((node) => [node.metadata.name, node]));
    const machines = [...end.machines.values()].flat();
    const first = round === 0;
    const simulation = simulateRollout({
      deployment: first ? end.deployment : { ...end.deployment, spec: { ...end.deployment.spec, paused: false } },
      sets: end.sets,
      fleet: first
        ? machines
        : machines.map((one) => assessed(one, byName.get(one.metadata.labels?.[Labels.Node] ?? ''))),
      nodes: first ? end.nodes : end.nodes?.map((node) => selected(node, end.deployment)),
      classes,
      overlaps: [],
      safeguards: SAFEGUARDS,
      durations: DURATIONS,
      now: new Date(end.now.getTime() + (first ? 0 : 60 * MINUTE)),
    });
    steps += simulation.steps.length;
    ({ end, because } = simulation);
    if (isLastRolloutComplete(end)) break;
  }
  return { end, steps, because };
}

const runs = {
  numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? thoroughly(40, 10)),
  endOnFailure: process.env.MCM_SHRINK !== 'true',
};
const picture = ({ deployment, sets, machines, nodes }: SimulatedEnd) => ({
  paused: deployment.spec.paused,
  sets: sets.map(({ metadata, spec }) => [
    metadata.name,
    spec.replicas,
    spec.template.spec.class.name,
    metadata.labels?.[Labels.ScaleUpDisabled],
    (machines.get(metadata.uid) ?? []).map((one) => [
      one.metadata.name,
      phaseOf(one),
      one.metadata.deletionTimestamp,
      updateReasonOf(one),
      nodes?.find((node) => node.metadata.name === one.metadata.labels?.[Labels.Node])?.metadata.labels,
    ]),
  ]),
});

function expectArrival(state: AnyState): void {
  const { end, steps, because } = live(state);
  expect(isLastRolloutComplete(end) ? 'arrived' : { because, ...picture(end) }).toEqual('arrived');
  const all = state.sets.reduce((sum, { replicas, machines }) => sum + replicas + machines.length, state.replicas);
  expect(steps).toBeLessThan(20 + 10 * all);
}

test.each(Object.entries(FORMER_DEAD_ENDS))('no dead end: %s', (_title, state) => expectArrival(state));

test('from any state of sets and machines a deployment reaches its goal in a bounded number of steps once faults stop', () => {
  fc.assert(fc.property(anyState, expectArrival), runs);
});
