import { isActivePhase, type Machine, type MachineSpec, phaseOf } from '@mcm/api';
import { mergeDiff } from '../values/merge-diff.ts';
import { semanticEqual } from '../values/semantic-equal.ts';

/**
 * The fields that mcm copies to existing machines, so that a change of these fields needs no rollout. Source:
 * shared_types.go, MachineConfiguration.
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

export const configurationOf = (spec: MachineSpec): Configuration =>
  Object.fromEntries(
    CONFIGURATION_FIELDS.filter((field) => spec[field] !== undefined).map((field) => [field, spec[field]]),
  );

/** A merge patch of a machine's spec, in which null removes a field. */
export type SpecPatch = Record<string, unknown>;

function nodeTemplatePatch({ nodeTemplate: from }: MachineSpec, { nodeTemplate: to }: MachineSpec): unknown {
  if (semanticEqual(from, to)) return undefined;
  return to === undefined ? null : mergeDiff(from, to);
}

/**
 * Some fields of a template need no rollout. Returns the patch that copies these fields from the template of a set to a
 * machine (docs/compatibility/rules-deployments.md §7.4).
 * - For active machines, the patch contains the node template and the machine configuration.
 * - For all machines, the patch contains the kind of the class.
 *
 * A `creationTimeout` from the annotation `effective-creation-timeout` stays. The original overwrites the
 * `creationTimeout`, although the annotation still determines the timeout.
 */
export function machineSpecPatch(
  template: MachineSpec,
  machine: Machine,
  options: { readonly ownCreationTimeout: boolean },
): SpecPatch | undefined {
  const patch: SpecPatch = {};
  if (isActivePhase(phaseOf(machine)) && machine.metadata.deletionTimestamp === undefined) {
    const nodeTemplate = nodeTemplatePatch(machine.spec, template);
    if (nodeTemplate !== undefined) patch.nodeTemplate = nodeTemplate;
    const { creationTimeout: mine, ...have } = configurationOf(machine.spec);
    const { creationTimeout: theirs, ...want } = configurationOf(template);
    if (!semanticEqual(have, want)) Object.assign(patch, mergeDiff(have, want));
    if (!options.ownCreationTimeout && mine !== theirs) patch.creationTimeout = theirs ?? null;
  }
  if (machine.spec.class.kind !== template.class.kind) patch.class = { kind: template.class.kind };
  return Object.keys(patch).length > 0 ? patch : undefined;
}
