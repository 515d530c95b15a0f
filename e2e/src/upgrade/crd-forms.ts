import { crds } from '@mcm/api';
import { isRule } from './rules.ts';

type Crd = (typeof crds)[number];

/** For each release of the original, the fields that the release did not have. */
export const LACKING: Readonly<Record<string, readonly string[]>> = {
  'v0.62': [],
  'v0.53': [
    ...['machinePreserveTimeout', 'autoPreserveFailedMachineMax', 'preserveExpiryTime', 'preservedFailedReplicas'],
    ...['autoPreserveFailedMachineCount', 'inPlaceUpdateTimeout', 'disableHealthTimeout', 'inPlaceUpdate'],
    ...['addresses', 'virtualCapacity'],
  ],
};

function strip(value: unknown, lacked: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => strip(item, lacked));
  const kept = Object.entries(value)
    .filter(([key, of]) => !isRule(key, of))
    .map(([key, of]) => [key, key === 'properties' ? stripFields(of, lacked) : strip(of, lacked)]);
  return Object.fromEntries(kept);
}

function stripFields(fields: unknown, lacked: ReadonlySet<string>): unknown {
  const kept = Object.entries(fields ?? {}).filter(([name]) => !lacked.has(name));
  return Object.fromEntries(kept.map(([name, of]) => [name, strip(of, lacked)]));
}

/**
 * Returns the CRDs of mcm in the form of a release of the original: with types and fewer fields, but without rules and
 * defaults.
 */
export const formOf = (release: string): readonly Crd[] =>
  crds.map((crd) => strip(JSON.parse(JSON.stringify(crd)), new Set(LACKING[release])) as Crd);
