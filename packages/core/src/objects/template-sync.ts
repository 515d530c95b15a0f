import { isActivePhase, type Machine, type MachineSpec } from '@mcm/api';
import { semanticEqual } from '../values/semantic-equal.ts';
import { phaseOf } from './machines.ts';

/**
 * The machine configuration: settings that are copied to machines without a rollout. Source: shared_types.go,
 * MachineConfiguration.
 */
export const CONFIGURATION_FIELDS = [
  'drainTimeout',
  'healthTimeout',
  'creationTimeout',
  'inPlaceUpdateTimeout',
  'machinePreserveTimeout',
  'disableHealthTimeout',
  'maxEvictRetries',
  'nodeConditions',
] as const satisfies readonly (keyof MachineSpec)[];

type Configuration = Pick<MachineSpec, (typeof CONFIGURATION_FIELDS)[number]>;

/** The configuration group of a spec, without absent fields. */
export const configurationOf = (spec: MachineSpec): Configuration =>
  Object.fromEntries(
    CONFIGURATION_FIELDS.filter((field) => spec[field] !== undefined).map((field) => [field, spec[field]]),
  );

/** Fields of a merge patch; null removes a field. */
export type SpecPatch = Record<string, unknown>;

/**
 * Merge patch that changes the map or object `from` to `to`, with null for removed keys. Undefined if they are equal.
 */
function mergeDiff(from: object | undefined, to: object | undefined): SpecPatch | null | undefined {
  if (semanticEqual(from, to)) return undefined;
  if (to === undefined) return null;
  const before = (from ?? {}) as Readonly<Record<string, unknown>>;
  const after = to as Readonly<Record<string, unknown>>;
  const patch: SpecPatch = {};
  for (const key of Object.keys(before)) if (!(key in after)) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    const old = before[key];
    if (semanticEqual(old, value)) continue;
    patch[key] = isPlainObject(old) && isPlainObject(value) ? mergeDiff(old, value) : value;
  }
  return patch;
}

const isPlainObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The patch that copies in-place fields of a set's template to a machine (docs/compatibility/rules-deployments.md
 * §7.4). It contains node template and configuration for active machines, and the class kind for all. Undefined: no
 * difference.
 *
 * A `creationTimeout` from the effective-creation-timeout annotation stays. The original overwrites this field with the value of the
 * template, which has no effect and costs a write for every machine.
 */
export function machineSpecPatch(
  template: MachineSpec,
  machine: Machine,
  options: { readonly ownCreationTimeout: boolean },
): SpecPatch | undefined {
  const patch: SpecPatch = {};
  if (isActivePhase(phaseOf(machine)) && machine.metadata.deletionTimestamp === undefined) {
    const nodeTemplate = mergeDiff(machine.spec.nodeTemplate, template.nodeTemplate);
    if (nodeTemplate !== undefined) patch.nodeTemplate = nodeTemplate;
    const { creationTimeout: mine, ...have } = configurationOf(machine.spec);
    const { creationTimeout: theirs, ...want } = configurationOf(template);
    Object.assign(patch, mergeDiff(have, want));
    if (!options.ownCreationTimeout && mine !== theirs) patch.creationTimeout = theirs ?? null;
  }
  if (machine.spec.class.kind !== template.class.kind) patch.class = { kind: template.class.kind };
  return Object.keys(patch).length > 0 ? patch : undefined;
}
