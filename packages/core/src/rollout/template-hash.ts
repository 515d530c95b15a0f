import { Labels, type MachineDeployment, type MachineTemplateSpec } from '@mcm/api';
import { CONFIGURATION_FIELDS } from '../objects/template-sync.ts';
import { fnv1a } from '../values/fnv.ts';
import { canonicalJson, semanticEqual } from '../values/semantic-equal.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * The value of `machine-template-hash` for a template, as decimal text. It only names sets, and {@link sameTemplate}
 * compares templates. So any stable hash is compatible, not only that of Go.
 *
 * @param collisionCount `status.collisionCount`: changes the hash if another template has the name.
 */
export function templateHash(template: MachineTemplateSpec, collisionCount: number | undefined): string {
  let hash = fnv1a(canonicalJson(withoutHashLabel(template)));
  if (collisionCount !== undefined) hash = fnv1a(String(collisionCount), hash);
  return String(hash);
}

/** The end of a set's name: the first five characters of the hash in an alphabet without vowels. */
export const hashSuffix = (hash: string): string =>
  [...hash.slice(0, 5)].map((character) => ALPHABET[character.charCodeAt(0) % ALPHABET.length]).join('');

export const setName = (deployment: MachineDeployment, hash: string): string =>
  `${deployment.metadata.name}-${hashSuffix(hash)}`;

/** The template without the label that distinguishes the sets of a deployment. */
export function withoutHashLabel(template: MachineTemplateSpec): MachineTemplateSpec {
  const labels = template.metadata?.labels;
  if (labels?.[Labels.TemplateHash] === undefined) return template;
  const { [Labels.TemplateHash]: _hash, ...rest } = labels;
  return { ...template, metadata: { ...template.metadata, labels: rest } };
}

const IN_PLACE: ReadonlySet<string> = new Set(['nodeTemplate', ...CONFIGURATION_FIELDS]);

/** The part of a template whose change replaces machines. */
function identity(template: MachineTemplateSpec): unknown {
  const { class: machineClass, ...spec } = template.spec;
  const { kind: _kind, ...reference } = machineClass;
  const rest = Object.fromEntries(Object.entries(spec).filter(([field]) => !IN_PLACE.has(field)));
  // The API server writes `creationTimestamp: null` into templates from typed clients.
  const { creationTimestamp: _time, ...metadata } = { creationTimestamp: null, ...withoutHashLabel(template).metadata };
  return { metadata, spec: { ...rest, class: reference } };
}

/**
 * Returns true if two templates create the same machines. The hash label, node template, configuration and class kind
 * do not count, because they are copied without a rollout (docs/compatibility/rules-deployments.md §2.2). Absent and
 * empty are equal.
 */
export const sameTemplate = (a: MachineTemplateSpec, b: MachineTemplateSpec): boolean =>
  semanticEqual(identity(a), identity(b));
