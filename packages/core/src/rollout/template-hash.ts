import { Labels, type MachineDeployment, type MachineSet, type MachineTemplateSpec } from '@mcm/api';
import { CONFIGURATION_FIELDS } from '../objects/template-sync.ts';
import { fnv1a } from '../values/fnv.ts';
import { canonicalJson, semanticEqual } from '../values/semantic-equal.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * Returns the value of `machine-template-hash` for a template, as decimal text. Any stable hash is compatible with the
 * original, because only the names of sets contain the hash. {@link sameTemplate} compares templates.
 * @param collisionCount the value of `status.collisionCount`, which changes the hash if another template already uses
 * the name
 */
export function templateHash(template: MachineTemplateSpec, collisionCount: number | undefined): string {
  let hash = fnv1a(canonicalJson(withoutHashLabel(template)));
  if (collisionCount !== undefined) hash = fnv1a(String(collisionCount), hash);
  return String(hash);
}

/** Returns the first five characters of the hash, in an alphabet without vowels. */
export const hashSuffix = (hash: string): string =>
  [...hash.slice(0, 5)].map((character) => ALPHABET[character.charCodeAt(0) % ALPHABET.length]).join('');

export const setName = (deployment: MachineDeployment, hash: string): string =>
  `${deployment.metadata.name}-${hashSuffix(hash)}`;

/** Returns the template hash of a set. A user can remove the label of a set, so the selector takes precedence. */
export const hashOfSet = ({ metadata, spec }: MachineSet): string | undefined =>
  spec.selector?.matchLabels?.[Labels.TemplateHash] ?? metadata.labels?.[Labels.TemplateHash];

export function withoutHashLabel(template: MachineTemplateSpec): MachineTemplateSpec {
  const labels = template.metadata?.labels;
  if (labels?.[Labels.TemplateHash] === undefined) return template;
  const { [Labels.TemplateHash]: _hash, ...rest } = labels;
  return { ...template, metadata: { ...template.metadata, labels: rest } };
}

const IN_PLACE: ReadonlySet<string> = new Set(['nodeTemplate', ...CONFIGURATION_FIELDS]);

function identity(template: MachineTemplateSpec): unknown {
  const { class: machineClass, ...spec } = template.spec;
  const { kind: _kind, ...reference } = machineClass;
  const rest = Object.fromEntries(Object.entries(spec).filter(([field]) => !IN_PLACE.has(field)));
  // Typed clients write the field `creationTimestamp: null` into templates, so the function ignores this field.
  const { creationTimestamp: _time, ...metadata } = { creationTimestamp: null, ...withoutHashLabel(template).metadata };
  return { metadata, spec: { ...rest, class: reference } };
}

/**
 * Returns true if two templates create equal machines. mcm copies the hash label, node template, machine configuration
 * and class kind without a rollout, so the comparison ignores them (docs/compatibility/rules-deployments.md §2.2).
 */
export const sameTemplate = (a: MachineTemplateSpec, b: MachineTemplateSpec): boolean =>
  semanticEqual(identity(a), identity(b));
