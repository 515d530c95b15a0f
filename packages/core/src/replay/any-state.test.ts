import { controllerOf } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { planRollout } from '../deployment/plan.ts';
import { decideRecorded } from '../deployment/recorded-decision.ts';
import { PlanRefused } from '../deployment/state/guard.ts';
import { anyState, objectsOf } from '../deployment/testing/any-state.ts';
import { SAFEGUARD_DEFAULTS } from '../disruption/safeguards.ts';
import { DisruptionsUnderWay } from '../disruption/under-way.ts';
import { isFailed } from '../objects/machines.ts';
import { decideReplicas } from '../set/replicas/recorded-replicas.ts';
import { NOW } from '../set/test-objects.ts';
import { replayed, testJournal } from './testing.ts';

const numRuns = thoroughly(600, 150);

const around = fc.record({
  creating: fc.nat(3),
  leaving: fc.nat(5),
  held: fc.boolean(),
  hasClass: fc.boolean(),
  window: fc.constantFrom(undefined, '0 14 * * * UTC 10m'),
  seesNodes: fc.boolean(),
});

test('any decision about a deployment is repeated from its record without the functions of the controller', () => {
  const seen = { creating: 0, leaving: 0, held: 0, closed: 0, refused: 0 };
  fc.assert(
    fc.property(anyState, around, (state, { creating, leaving, held, hasClass, window, seesNodes }) => {
      const { deployment, sets, fleet, nodes } = objectsOf(state);
      const disruptions = new DisruptionsUnderWay();
      for (const { metadata } of fleet.slice(0, leaving)) disruptions.leaving.add(metadata.uid);
      const machinesOf = (uid: string) => fleet.filter((machine) => controllerOf(machine)?.uid === uid);
      const journal = testJournal();
      const decide = () =>
        decideRecorded(
          journal,
          {
            deployment,
            sets,
            machines: new Map(sets.map(({ metadata: { uid } }) => [uid, machinesOf(uid)])),
            creating: () => creating,
            ...(seesNodes
              ? { nodeOf: (name) => nodes.find(({ metadata }) => metadata.name === name) }
              : { nodesUnseen: 'no permission' }),
            guards: {
              ...SAFEGUARD_DEFAULTS,
              rolloutAnnotations: true,
              breakerOf: (machine) =>
                held && isFailed(machine) ? { scope: 'zone a', unreachable: 3, joined: 4 } : undefined,
              hasClass: () => hasClass,
              classAnnotations: () => (window ? { 'rollout.machine.sapcloud.io/windows': window } : undefined),
            },
            disruptions,
            now: NOW,
          },
          planRollout,
        );
      try {
        const { plan } = decide();
        seen.held += plan.repairs.held.length;
        if (plan.because.includes('window')) seen.closed++;
      } catch (error) {
        if (!(error instanceof PlanRefused)) throw error;
        seen.refused++;
      }
      if (creating > 0 && sets.length > 0) seen.creating++;
      seen.leaving += disruptions.leaving.size;
      expect(replayed(journal)).toEqual({ repeated: 1, differences: [], problems: [] });
    }),
    { numRuns },
  );
  for (const [what, count] of Object.entries(seen).filter(([name]) => name !== 'refused'))
    expect(count, what).toBeGreaterThan(0);
});

test('any decision about a set is repeated from its record without the functions of the controller', () => {
  const seen = { postponed: 0, replaceable: 0, deleting: 0, preserved: 0 };
  const given = fc.record({ postponed: fc.boolean(), some: fc.boolean(), deleting: fc.nat(3), room: fc.nat(4) });
  fc.assert(
    fc.property(anyState, given, (state, { postponed, some, deleting, room }) => {
      const { sets, fleet, nodes } = objectsOf(state);
      const [set] = sets;
      if (set === undefined) return;
      const machines = fleet.filter((machine) => controllerOf(machine)?.uid === set.metadata.uid);
      const journal = testJournal();
      const annotationsOf = (name: string) => {
        seen.preserved++;
        return nodes.find(({ metadata }) => metadata.name === name)?.metadata.annotations;
      };
      const replaceable = some ? new Set(machines.filter(isFailed).slice(0, 1)) : undefined;
      decideReplicas(journal, {
        set,
        machines,
        deleting: new Map(machines.slice(0, deleting).map(({ metadata }) => [metadata.uid, 'unanswered' as const])),
        nodeAnnotations: annotationsOf,
        isPostponed: (machine) => {
          if (postponed) seen.postponed++;
          return postponed && machines.indexOf(machine) % 2 === 0;
        },
        replaceable,
        room,
        scaler: {
          named: new Map(machines.slice(0, 1).map(({ metadata }) => [metadata.name, undefined])),
          falling: some,
        },
        now: NOW,
      });
      seen.replaceable += replaceable?.size ?? 0;
      seen.deleting += Math.min(deleting, machines.length);
      expect(replayed(journal)).toEqual({ repeated: 1, differences: [], problems: [] });
    }),
    { numRuns },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
});
