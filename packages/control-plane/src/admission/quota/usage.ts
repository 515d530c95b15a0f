import { type Amounts, addAmount, amountsOf, podAmounts, wholeNumber } from '../../apimachinery/objects/amounts.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';

const NAMED = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]);

const UNPREFIXED = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** A finished pod uses no quota. */
const isOver = (pod: ApiObject): boolean => ['Succeeded', 'Failed'].includes(text(look(pod, 'status'), 'phase'));

function addPod(usage: Amounts, pod: ApiObject): void {
  if (isOver(pod)) {
    usage.delete('pods');
    return;
  }
  for (const [name, quantity] of podAmounts(pod, 'requests')) {
    usage.set(`requests.${name}`, quantity);
    if (UNPREFIXED.has(name)) usage.set(name, quantity);
  }
  for (const [name, quantity] of podAmounts(pod, 'limits')) usage.set(`limits.${name}`, quantity);
}

function addService(usage: Amounts, service: ApiObject): void {
  const spec = look(service, 'spec');
  const type = text(spec, 'type');
  const ports = items(spec, 'ports').length;
  if (type === 'LoadBalancer') usage.set('services.loadbalancers', wholeNumber(1));
  const allocates = type === 'NodePort' || (type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
  if (allocates) usage.set('services.nodeports', wholeNumber(ports));
}

function addClaim(usage: Amounts, claim: ApiObject): void {
  const spec = look(claim, 'spec');
  const storage = amountsOf(look(spec, 'resources', 'requests')).get('storage');
  if (storage !== undefined) usage.set('requests.storage', storage);
  const storageClass = text(spec, 'storageClassName');
  if (storageClass === '') return;
  const prefix = `${storageClass}.storageclass.storage.k8s.io`;
  usage.set(`${prefix}/persistentvolumeclaims`, wholeNumber(1));
  if (storage !== undefined) usage.set(`${prefix}/requests.storage`, storage);
}

export function usageOf(group: string, plural: string, object: ApiObject): Amounts {
  const one = wholeNumber(1);
  const usage: Amounts = new Map([[`count/${plural}${group === '' ? '' : `.${group}`}`, one]]);
  if (group !== '') return usage;
  if (NAMED.has(plural)) usage.set(plural, one);
  if (plural === 'pods') addPod(usage, object);
  else if (plural === 'services') addService(usage, object);
  else if (plural === 'persistentvolumeclaims') addClaim(usage, object);
  return usage;
}

export function sumOf(usages: Iterable<Amounts>): Amounts {
  const sum: Amounts = new Map();
  for (const usage of usages) for (const [name, quantity] of usage) addAmount(sum, name, quantity);
  return sum;
}
