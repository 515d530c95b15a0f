import { invalid } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { inShort, violations } from './evaluate.ts';
import { policyOf, type Standard, sameStandard, showStandard, strictness } from './level.ts';
import { podOf } from './pods.ts';

const MOST_PODS = 3000;

/** Refuses invalid pod security labels of a namespace. A stricter level causes warnings about existing pods. */
export function assessNamespace(registry: Registry, attributes: AdmissionAttributes): void {
  const { object, old, operation, served, subresource, name, warn } = attributes;
  if (object === undefined || subresource !== '' || (operation !== 'CREATE' && operation !== 'UPDATE')) return;
  const next = policyOf(object.metadata.labels);
  const before = policyOf(old?.metadata.labels);
  const isNews = operation === 'CREATE' || JSON.stringify(next.causes) !== JSON.stringify(before.causes);
  if (next.causes.length > 0 && isNews) throw invalid(served.kind, name, next.causes);
  if (operation === 'CREATE') return;
  const [enforce, was] = [next.policy.enforce, before.policy.enforce];
  if (enforce.level === 'privileged' || sameStandard(enforce, was)) return;
  if (enforce.minor === was.minor && strictness(enforce.level) <= strictness(was.level)) return;
  for (const warning of existingPods(registry, name, enforce)) warn(warning);
}

/** Moves one pod of each controller to the start of the list, because pods of one controller are similar. */
function byController(pods: readonly ApiObject[]): ApiObject[] {
  const seen = new Set<string>();
  const [first, others]: [ApiObject[], ApiObject[]] = [[], []];
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    (owner === undefined || !seen.has(owner) ? first : others).push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...others];
}

function existingPods(registry: Registry, namespace: string, enforce: Standard): string[] {
  const pods = registry.store.list('/pods', { namespace }).records.map(({ json }) => JSON.parse(json) as ApiObject);
  const checked = byController(pods).slice(0, MOST_PODS);
  const namesOf = new Map<string, string[]>();
  for (const pod of checked) {
    const found = violations(podOf(pod), enforce);
    if (found.length === 0) continue;
    const short = inShort(found);
    namesOf.set(short, [...(namesOf.get(short) ?? []), pod.metadata.name ?? '']);
  }
  const lines = [...namesOf].map(([short, names]) => {
    const [first = ''] = [...names].sort();
    const more = names.length - 1;
    const others = more === 0 ? '' : ` (and ${more} other ${more === 1 ? 'pod' : 'pods'})`;
    return `${first}${others}: ${short}`;
  });
  const head: string[] = [];
  if (checked.length < pods.length) {
    head.push(
      `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`,
    );
  }
  if (lines.length > 0) {
    head.push(
      `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(showStandard(enforce))}`,
    );
  }
  return [...head, ...lines.sort()];
}
