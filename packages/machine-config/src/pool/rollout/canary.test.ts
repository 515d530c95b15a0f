import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { ConfigAnnotations, NodeAnnotations } from '../../constants/annotations.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import { evaluateCanaries } from './canary.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const SOAK_MS = 30 * 60_000;
const at = (config: string) => ({ [CurrentConfig]: config, [DesiredConfig]: config, [State]: 'Done' });

const pool = (target: string, passed: string, since: string) =>
  partial<MachineConfigPool>({
    metadata: {
      name: 'worker',
      annotations: { [ConfigAnnotations.Canary]: '1', [ConfigAnnotations.CanarySoak]: '30m' },
    },
    spec: { configuration: { name: target } },
    status: {
      conditions: [
        {
          type: 'CanaryPassed',
          status: 'True',
          reason: 'Updated',
          lastTransitionTime: since,
          message: `1 canaries have MachineConfig ${passed}`,
        },
      ],
    },
  });

test('the soak time of another target does not count', () => {
  const nodes = [partial<Node>({ metadata: { name: 'n', annotations: at('b') } })];
  const long = new Date(0).toISOString();
  const anew = evaluateCanaries(pool('b', 'a', long), nodes, SOAK_MS * 4);
  expect(anew).toMatchObject({ room: 0, condition: { status: 'False' } });
  expect(anew.againMs).toBeGreaterThan(0);
  expect(evaluateCanaries(pool('b', 'b', long), nodes, SOAK_MS - 1)).toMatchObject({ room: 0, againMs: 1 });
  expect(evaluateCanaries(pool('b', 'b', long), nodes, SOAK_MS).room).toBeGreaterThan(1);
});
