import type { TargetCaches } from '../cluster/caches.ts';
import { NOON } from '../machine/testing.ts';
import { type DrainBudget, type DrainObservation, type DrainPod, NO_DRAIN_MEMORY } from './model/observation.ts';

export const later = (ms: number, from = NOON): Date => new Date(from.getTime() + ms);

export const MINUTE = 60_000;

export const pod = (name: string, change: Partial<DrainPod> = {}): DrainPod => ({
  namespace: 'default',
  name,
  uid: `uid-${name}`,
  phase: 'Running',
  ready: true,
  graceMs: 30_000,
  priority: 0,
  ownerKind: 'ReplicaSet',
  mirror: false,
  localStorage: false,
  hasClaims: false,
  volumes: [],
  budgets: [],
  ...change,
});

export const fixedCaches = (caches: { readonly [K in keyof TargetCaches]?: object }): TargetCaches =>
  caches as TargetCaches;

export const withVolume = (name: string, change: Partial<DrainPod> = {}): DrainPod =>
  pod(name, { hasClaims: true, volumes: [`pv-${name}`], ...change });

export const budget = (change: Partial<DrainBudget> = {}): DrainBudget => ({
  key: 'default/web',
  resourceVersion: '7',
  allowed: 0,
  stale: false,
  misconfigured: false,
  sparesUnready: true,
  ...change,
});

export const look = (pods: readonly DrainPod[], change: Partial<DrainObservation> = {}): DrainObservation => ({
  nodeName: 'fakeNode-0',
  pods,
  attachments: [],
  attachedElsewhere: new Set(),
  tracksVolumes: true,
  memory: NO_DRAIN_MEMORY,
  evictUntil: later(60 * MINUTE),
  forceAt: later(120 * MINUTE),
  forced: false,
  detachTimeoutMs: 2 * MINUTE,
  reattachTimeoutMs: 90_000,
  volumeWindow: 1,
  ...change,
});
