import type { FaultRule } from '@mcm/provider-local';
import type { Mishap } from './network.ts';

/** What may befall a request on its way. */
export const MISHAPS: readonly Mishap[] = [
  'conflict',
  'throttled',
  'internal',
  'lost',
  'killed before',
  'killed after',
];
/** Operations of the cloud that may fail. */
export const OPERATIONS = [
  'instances.create',
  'instances.delete',
  'instances.get',
  'instances.list',
  'instances.*',
] as const;
/** How an operation of the cloud may fail. */
export const FAILURES: readonly Pick<FaultRule, 'error' | 'timeout' | 'effect' | 'stale' | 'latency' | 'zone'>[] = [
  { error: { code: 'InternalError' } },
  { error: { code: 'InternalError' }, effect: true },
  { error: { code: 'RequestLimitExceeded', retryAfterSeconds: 20 } },
  { error: { code: 'InsufficientCapacity' }, zone: 'local-a' },
  { timeout: {} },
  { timeout: {}, effect: true },
  { latency: 8_000 },
  { stale: 15_000 },
];
