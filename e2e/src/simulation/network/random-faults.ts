import type { Cloud, FaultRule, OrderedFault } from '@mcm/provider-local';
import type { Dice } from '../script/dice.ts';
import type { Chances, RequestFault } from './request-faults.ts';

const REQUEST_FAULTS: readonly RequestFault[] = [
  'conflict',
  'throttled',
  'internal',
  'lost',
  'killed before',
  'killed after',
];
const OPERATIONS = ['instances.create', 'instances.delete', 'instances.get', 'instances.list', 'instances.*'] as const;
export type FailingOperation = (typeof OPERATIONS)[number];
const FAILURES: readonly Pick<FaultRule, 'error' | 'timeout' | 'effect' | 'stale' | 'latency' | 'zone'>[] = [
  { error: { code: 'InternalError' } },
  { error: { code: 'InternalError' }, effect: true },
  { error: { code: 'RequestLimitExceeded', retryAfterSeconds: 20 } },
  { error: { code: 'InsufficientCapacity' }, zone: 'local-a' },
  { timeout: {} },
  { timeout: {}, effect: true },
  { latency: 8_000 },
  { stale: 15_000 },
];

export interface Draw {
  readonly dice: Dice;
  readonly cloud: Cloud;
  readonly note: (text: string) => void;
}

/** Selects a random operation of the cloud and lets it fail several times. */
export function faultyCloud({ dice, cloud, note }: Draw): OrderedFault {
  const operation = dice.one(OPERATIONS) ?? '*';
  const rule = { operation, ...dice.one(FAILURES), count: 1 + dice.number(4) };
  note(`the cloud gets this fault rule: ${JSON.stringify(rule)}`);
  return cloud.faults.order(rule);
}

/** Terminates a running VM although no client requested it. */
export function lostVm({ dice, cloud, note }: Draw): void {
  const vm = dice.one([...cloud.instances.list()].filter(({ state }) => state === 'running'));
  if (!vm) return;
  note(`VM ${vm.name} is terminated outside of mcm`);
  cloud.instances.terminate(vm.id, 'by hand');
}

export function drawFaultChances({ dice, note }: Pick<Draw, 'dice' | 'note'>): {
  readonly chances: Chances;
  readonly ms: number;
} {
  const mishaps = [dice.one(REQUEST_FAULTS), dice.one(REQUEST_FAULTS)].flatMap((fault) => fault ?? []);
  const chances = Object.fromEntries(mishaps.map((fault) => [fault, 0.05 + dice.number(20) / 100]));
  const ms = dice.pause(120_000);
  note(`for ${ms} ms, write requests fail with ${JSON.stringify(chances)}`);
  return { chances, ms };
}
