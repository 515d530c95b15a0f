import { forbidden } from '../../apimachinery/errors/errors.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { inDetail, violations } from './evaluate.ts';
import { type Policy, policyOf, type Standard, showStandard } from './level.ts';
import { assessNamespace } from './namespace.ts';
import { hasTemplate, isSignificant, podOf, templateOf } from './pods.ts';
import type { PodLike } from './words.ts';

const IGNORED: ReadonlySet<string> = new Set('exec attach binding eviction log portforward proxy status'.split(' '));

const policyIn = ({ store }: Registry, namespace: string): Policy =>
  policyOf(store.get('/namespaces', '', namespace)?.labels).policy;

const said = (verb: string, standard: Standard, pod: PodLike): string | undefined => {
  const found = violations(pod, standard);
  return found.length === 0 ? undefined : `${verb} PodSecurity "${showStandard(standard)}": ${inDetail(found)}`;
};

function warnOf(pod: PodLike, standard: Standard, { warn }: AdmissionAttributes): void {
  const warning = said('would violate', standard, pod);
  if (warning !== undefined) warn(warning);
}

function assessPod(registry: Registry, attributes: AdmissionAttributes): void {
  const { object, old, operation, served, namespace, name, subresource } = attributes;
  if (object === undefined || IGNORED.has(subresource)) return;
  const { enforce, warn } = policyIn(registry, namespace);
  if (enforce.level === 'privileged' && warn.level === 'privileged') return;
  if (operation === 'UPDATE' && old !== undefined && !isSignificant(object, old)) return;
  const pod = podOf(object);
  const refusal = said('violates', enforce, pod);
  if (refusal !== undefined) throw forbidden(served.kind, name, refusal);
  warnOf(pod, warn, attributes);
}

/** Checks a workload, such as a Deployment. */
function assessWorkload(registry: Registry, attributes: AdmissionAttributes): void {
  const { object, served, namespace, subresource } = attributes;
  if (object === undefined || subresource !== '') return;
  const { warn } = policyIn(registry, namespace);
  if (warn.level === 'privileged') return;
  const pod = templateOf(served.resource, object);
  if (pod !== undefined) warnOf(pod, warn, attributes);
}

/**
 * @see KEP-2579
 */
export const podSecurity = (registry: Registry): AdmissionPlugin => ({
  name: 'PodSecurity',
  validate(attributes) {
    const { served, operation } = attributes;
    if (operation !== 'CREATE' && operation !== 'UPDATE') return undefined;
    const { resource } = served;
    if (resource === '/pods') assessPod(registry, attributes);
    else if (resource === '/namespaces') assessNamespace(registry, attributes);
    else if (hasTemplate(resource)) assessWorkload(registry, attributes);
    return undefined;
  },
});
