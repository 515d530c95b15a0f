import { forbidden } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { SYSTEM_PRIORITIES } from '../../kinds/cluster/storage.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { apiReference } from '../node/references.ts';
import { lookup, lookupMarked, markedBy } from './lookup.ts';

const PODS = '/pods';

/**
 * Returns whether a request is for a pod itself. A request for a subresource, such as the status of a pod, does not
 * count.
 */
const isPod = ({ served, subresource, operation }: AdmissionAttributes, ...operations: string[]): boolean =>
  served.resource === PODS && subresource === '' && operations.includes(operation);

const MIRROR = 'kubernetes.io/config.mirror';
const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/**
 * The lifetime of a service account token in a pod. For tokens that kube-apiserver may extend, the lifetime is 3607
 * seconds.
 */
const TOKEN_SECONDS = 3607;
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

function tokenVolume(name: string): Plain {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: 0o644,
    },
  };
}

function mountToken(spec: Plain, random: () => number): void {
  const letter = (): string => SUFFIX_LETTERS.charAt(Math.floor(random() * SUFFIX_LETTERS.length));
  let name: string | undefined;
  for (const container of [...items(spec, 'initContainers'), ...items(spec, 'containers')]) {
    const mounts = items(container, 'volumeMounts');
    if (mounts.some((mount) => mount.mountPath === TOKEN_PATH)) continue;
    name ??= `kube-api-access-${Array.from({ length: 5 }, letter).join('')}`;
    container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: TOKEN_PATH }];
  }
  if (name !== undefined) spec.volumes = [...items(spec, 'volumes'), tokenVolume(name)];
}

/** Returns the first forbidden field of a mirror pod, which represents a static pod on a node. */
function mirrorProblem(pod: ApiObject): string | undefined {
  const spec = look(pod, 'spec');
  if (text(spec, 'serviceAccountName') !== '') return 'a mirror pod may not reference service accounts';
  if (apiReference(pod) === 'secrets') return 'a mirror pod may not reference secrets';
  const projects = items(spec, 'volumes').some((volume) =>
    items(look(volume, 'projected'), 'sources').some((source) => isRecord(source.serviceAccountToken)),
  );
  return projects ? 'a mirror pod may not use ServiceAccountToken volume projections' : undefined;
}

/**
 * A pod runs as a service account of its namespace (by default `default`) and gets a token of the account. If a new
 * namespace has no default account yet, the plugin accepts the pod, but kube-apiserver waits for the account.
 */
export const serviceAccountAdmission = (registry: Registry): AdmissionPlugin => ({
  name: 'ServiceAccount',
  admit(attributes) {
    const { object: pod, namespace, served } = attributes;
    if (pod === undefined || !isPod(attributes, 'CREATE')) return undefined;
    if (pod.metadata.annotations?.[MIRROR] !== undefined) {
      const why = mirrorProblem(pod);
      if (why === undefined) return undefined;
      throw forbidden(served.kind, attributes.name || (pod.metadata.name ?? ''), why);
    }
    const spec = child(pod, 'spec');
    const name = text(spec, 'serviceAccountName') || 'default';
    spec.serviceAccountName = name;
    spec.serviceAccount = name;
    const account = lookup(registry, 'v1', 'ServiceAccount', namespace, name);
    if (account === undefined && name !== 'default') {
      const found = name.includes('/')
        ? `invalid resource name "${name}": [may not contain '/']`
        : `serviceaccount "${name}" not found`;
      const why = `error looking up service account ${namespace}/${name}: ${found}`;
      throw forbidden(served.kind, attributes.name || (pod.metadata.name ?? ''), why);
    }
    const automount = spec.automountServiceAccountToken ?? account?.automountServiceAccountToken ?? true;
    if (automount === true) mountToken(spec, registry.random);
    const secrets = items(account, 'imagePullSecrets');
    if (items(spec, 'imagePullSecrets').length === 0 && secrets.length > 0) spec.imagePullSecrets = secrets;
    return undefined;
  },
});

const DEFAULT_PREEMPTION = 'PreemptLowerPriority';

interface Priority {
  readonly name: string;
  readonly value: number;
  readonly preemptionPolicy: string;
}

const priorityOf = (priorityClass: ApiObject): Priority => ({
  name: priorityClass.metadata.name ?? '',
  value: number(priorityClass, 'value') ?? 0,
  preemptionPolicy: text(priorityClass, 'preemptionPolicy') || DEFAULT_PREEMPTION,
});

const IS_GLOBAL_DEFAULT = markedBy(({ globalDefault }) => globalDefault === true);

/** Returns the priority of a pod without a priority class: the value of the lowest default class, or zero. */
function defaultPriority(registry: Registry): Priority {
  let found: Priority | undefined;
  for (const priorityClass of lookupMarked(registry, 'scheduling.k8s.io/v1', 'PriorityClass', IS_GLOBAL_DEFAULT)) {
    const priority = priorityOf(priorityClass);
    if (found === undefined || priority.value < found.value) found = priority;
  }
  return found ?? { name: '', value: 0, preemptionPolicy: DEFAULT_PREEMPTION };
}

function namedPriority(registry: Registry, name: string): Priority | undefined {
  const priorityClass = lookup(registry, 'scheduling.k8s.io/v1', 'PriorityClass', '', name);
  if (priorityClass !== undefined) return priorityOf(priorityClass);
  const value = SYSTEM_PRIORITIES[name];
  return value === undefined ? undefined : { name, value, preemptionPolicy: DEFAULT_PREEMPTION };
}

/** The plugin sets the priority of a pod to the value of its class, and refuses any other priority. */
export const priorityAdmission = (registry: Registry): AdmissionPlugin => ({
  name: 'Priority',
  admit(attributes) {
    const { object: pod, served } = attributes;
    if (pod === undefined || !isPod(attributes, 'CREATE', 'UPDATE')) return undefined;
    const spec = child(pod, 'spec');
    const podName = attributes.name || (pod.metadata.name ?? '');
    if (attributes.operation === 'UPDATE') {
      const before = look(attributes.old, 'spec');
      for (const field of ['priority', 'preemptionPolicy']) spec[field] ??= before[field];
      return undefined;
    }
    const className = text(spec, 'priorityClassName');
    const priority = className === '' ? defaultPriority(registry) : namedPriority(registry, className);
    if (priority === undefined) {
      throw forbidden(served.kind, podName, `no PriorityClass with name ${className} was found`);
    }
    const given = number(spec, 'priority');
    if (given !== undefined && given !== priority.value) {
      const why = `the integer value of priority (${given}) must not be provided in pod spec; priority admission controller computed ${priority.value} from the given PriorityClass name`;
      throw forbidden(served.kind, podName, why);
    }
    const policy = text(spec, 'preemptionPolicy');
    if (policy !== '' && policy !== priority.preemptionPolicy) {
      const why = `the string value of PreemptionPolicy (${policy}) must not be provided in pod spec; priority admission controller computed ${priority.preemptionPolicy} from the given PriorityClass name`;
      throw forbidden(served.kind, podName, why);
    }
    if (priority.name !== '') spec.priorityClassName = priority.name;
    spec.priority = priority.value;
    spec.preemptionPolicy = priority.preemptionPolicy;
    return undefined;
  },
});

const TOLERATED_SECONDS = 300;
const TOLERATED = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

function covers(toleration: Plain, key: string): boolean {
  const own = text(toleration, 'key');
  const effect = text(toleration, 'effect');
  return (own === key || own === '') && (effect === 'NoExecute' || effect === '');
}

/**
 * DefaultTolerationSeconds adds tolerations to a pod, so the pod stays on an unreachable node for five minutes. If the
 * pod already tolerates a taint, the plugin adds no toleration for the taint.
 */
export const tolerationAdmission: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  admit(attributes) {
    const { object: pod } = attributes;
    if (pod === undefined || !isPod(attributes, 'CREATE', 'UPDATE')) return undefined;
    const spec = child(pod, 'spec');
    const tolerations = items(spec, 'tolerations');
    const missing = TOLERATED.filter((key) => !tolerations.some((toleration) => covers(toleration, key)));
    if (missing.length === 0) return undefined;
    const added = missing.map((key) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: TOLERATED_SECONDS,
    }));
    spec.tolerations = [...tolerations, ...added];
    return undefined;
  },
};
