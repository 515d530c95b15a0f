import { Labels, type MachineDeployment, type MachineTemplateSpec } from '@mcm/api';
import { CONFIGURATION_FIELDS } from '../objects/template-sync.ts';
import { fnv1a } from '../values/fnv.ts';
import { canonicalJson, semanticEqual } from '../values/semantic-equal.ts';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * The value of `machine-template-hash` for a template, as decimal text. Newness is never decided by it, only by
 * {@link sameTemplate}: it names sets, so another stable hash than Go's dump of its own types is compatible.
 *
 * @param collisionCount `status.collisionCount`: moves the hash when its name is taken by another template.
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

/** The template without the label that tells sibling sets apart. */
export function withoutHashLabel(template: MachineTemplateSpec): MachineTemplateSpec {
  const labels = template.metadata?.labels;
  if (labels?.[Labels.TemplateHash] === undefined) return template;
  const { [Labels.TemplateHash]: _hash, ...rest } = labels;
  return { ...template, metadata: { ...template.metadata, labels: rest } };
}

const IN_PLACE: ReadonlySet<string> = new Set(['nodeTemplate', ...CONFIGURATION_FIELDS]);

/** What of a template decides whether machines must be replaced. */
function identity(template: MachineTemplateSpec): unknown {
  const { class: machineClass, ...spec } = template.spec;
  const { kind: _kind, ...reference } = machineClass;
  const rest = Object.fromEntries(Object.entries(spec).filter(([field]) => !IN_PLACE.has(field)));
  // The API server writes `creationTimestamp: null` into templates that went through typed clients.
  const { creationTimestamp: _time, ...metadata } = { creationTimestamp: null, ...withoutHashLabel(template).metadata };
  return { metadata, spec: { ...rest, class: reference } };
}

/**
 * Whether two templates make the same machines: all but the hash label, node template, configuration and class kind,
 * which flow to machines in place (docs/compatibility/rules-deployments.md §2.2). Absent and empty are the same.
 */
export const sameTemplate = (a: MachineTemplateSpec, b: MachineTemplateSpec): boolean =>
  semanticEqual(identity(a), identity(b));
